"""A model fetched from its hub once, and from then on found in a folder of this user.

    FOLDER/OWNER/MODEL/tokenizer.json, onnx/model.onnx, …     FOLDER: `models_folder()`

The hub is that of Hugging Face, or the one that HF_ENDPOINT names; HF_TOKEN opens what is not public. Files are
written beside their places and moved there when they are whole and have the hash that the hub tells; the model comes
last, so that where it is, all is.
"""

from __future__ import annotations

import os
import sys
from hashlib import file_digest, sha1
from pathlib import Path
from typing import Any

from conspectus.errors import UsageError
from conspectus.models.embedders.local import extra

ENDPOINT = "https://huggingface.co"
MODEL, TOKENIZER = "onnx/model.onnx", "tokenizer.json"
OPTIONAL = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")


def models_folder() -> Path:
    """Return the folder of fetched models: in CONSPECTUS_CACHE, or where this system has caches."""
    if own := os.environ.get("CONSPECTUS_CACHE"):
        return Path(own).expanduser() / "models"
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "conspectus" / "models"


def fetched(name: str) -> Path:
    """Return the folder of a model of the hub, `OWNER/MODEL`, fetched unless it was before.

    Raises UsageError, with what to download by hand and where to put it, where it cannot be fetched, or where what
    came is not what the hub says it is.
    """
    folder = models_folder() / name
    if (folder / MODEL).is_file() and (folder / TOKENIZER).is_file():
        return folder
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    hub = extra("huggingface_hub")
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()
    for file in (*OPTIONAL, TOKENIZER, MODEL):
        try:
            _fetch(hub, endpoint, name, file, folder)
        except hub.errors.EntryNotFoundError:
            if file not in OPTIONAL:
                raise UsageError(f"{endpoint}/{name} has no {file}; name a model that has an ONNX form") from None
        except UsageError:
            raise
        except Exception as error:  # the hub's library raises errors of its own, of HTTP and of the system
            raise UsageError(
                f"the embedding model {name} cannot be fetched from {endpoint} ({_told(error)}). Where there is no"
                f" way to it, download {TOKENIZER} and {MODEL} from {ENDPOINT}/{name}/tree/main elsewhere and put"
                f" them into {folder} under these names, or name their folder: --embedder local:FOLDER"
            ) from error
    return folder


def _fetch(hub: Any, endpoint: str, name: str, file: str, folder: Path) -> None:
    """Fetch one file, unless it is there, and hold it to the hash and size that the hub tells."""
    told = hub.get_hf_file_metadata(hub.hf_hub_url(name, file, endpoint=endpoint), timeout=10)
    waiting = folder / ".fetched"  # the library's own folder; what is whole is moved out of it
    got = Path(hub.hf_hub_download(name, file, revision=told.commit_hash, local_dir=waiting, endpoint=endpoint))
    size = got.stat().st_size
    if (told.size is not None and size != told.size) or not _has_hash(got, told.etag or ""):
        got.unlink()
        raise UsageError(
            f"{file} of {name} came damaged from {endpoint} ({size:,} bytes, {told.size:,} expected);"
            " it was removed: run again to fetch it anew"
        )
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    got.replace(place)


def _has_hash(path: Path, tag: str) -> bool:
    """Tell whether a file has the hash of its tag: SHA-256 of large files, Git's SHA-1 of small ones, or neither."""
    with path.open("rb") as file:
        if len(tag) == 64:
            return file_digest(file, "sha256").hexdigest() == tag
        if len(tag) == 40:
            content = file.read()
            return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == tag
    return True


def _told(error: Exception) -> str:
    line = " ".join(str(error).split())
    return f"{type(error).__name__}: {line[:160]}"
