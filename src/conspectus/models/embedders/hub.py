"""A model fetched from its hub once, and from then on found in a folder of this user.

    FOLDER/OWNER/MODEL/tokenizer.json, onnx/model.onnx, …     FOLDER: `models_folder()`

The hub is that of Hugging Face, or the one that HF_ENDPOINT names; HF_TOKEN opens what is not public. A file is written
beside its place and moved there when it is whole and has the hash that the hub tells; the model comes last, so that
where it is, all is. Nothing but these files is asked for: the hub's own library would also tell it who asks.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from hashlib import file_digest, sha1
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from conspectus.errors import UsageError

ENDPOINT = "https://huggingface.co"
MODEL, TOKENIZER, POOLING = "onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"
OPTIONAL = ("modules.json", POOLING, "sentence_bert_config.json")
SECONDS = 20.0
"""How long the hub may be silent."""


def models_folder() -> Path:
    """Return the folder of fetched models: in CONSPECTUS_CACHE, or where this system has caches."""
    if own := os.environ.get("CONSPECTUS_CACHE"):
        return Path(own).expanduser() / "models"
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "conspectus" / "models"


def download(name: str) -> Path:
    """Return the folder of a model of the hub, `OWNER/MODEL`, fetched unless it was before.

    Raises UsageError, with what to download by hand and where to put it, where it cannot be fetched, or where what
    came is not what the hub says it is.
    """
    folder = models_folder() / name
    if (folder / MODEL).is_file() and (folder / TOKENIZER).is_file():
        return folder
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if sys.stderr.isatty():
        print(f"fetching the embedding model {name} from {endpoint}", file=sys.stderr)
    for file in (*OPTIONAL, TOKENIZER, MODEL):
        try:
            _fetch(f"{endpoint}/{name}/resolve/main/{file}", folder / file)
        except HTTPError as error:
            if error.code == 404 and file in OPTIONAL:
                continue
            hint = "; what is not public needs a token in HF_TOKEN" if error.code in (401, 403) else ""
            raise _unfetched(name, endpoint, folder, f"{file}: HTTP {error.code} {error.reason}{hint}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise _unfetched(name, endpoint, folder, f"{file}: {getattr(error, 'reason', None) or error}") from error
    return folder


def _unfetched(name: str, endpoint: str, folder: Path, why: str) -> UsageError:
    return UsageError(
        f"there is no folder {name}, and no model of this name can be fetched from {endpoint} ({why}). Where there is"
        f" no way to it, download {TOKENIZER}, {MODEL} and, if it is there, {POOLING} from {ENDPOINT}/{name}/tree/main"
        f" elsewhere and put them into {folder} under these names, or name their folder: --embedder local:FOLDER"
    )


class _Redirects(HTTPRedirectHandler):
    """Keeps what the hub tells of a file before it sends elsewhere for its bytes."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        self.headers |= {key.lower(): value for key, value in headers.items() if key.lower().startswith("x-linked-")}
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(url: str, target: Path) -> None:
    """Fetch a file to its place, and hold it to the size and hash that are told of it."""
    request, redirects = Request(url, headers={"User-Agent": "conspectus"}), _Redirects()  # noqa: S310
    if token := os.environ.get("HF_TOKEN"):
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with build_opener(redirects).open(request, timeout=SECONDS) as reply, part.open("wb") as file:
            shutil.copyfileobj(reply, file)
            headers = {key.lower(): value for key, value in reply.headers.items()} | redirects.headers
        _check(part, headers)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _check(path: Path, headers: Mapping[str, str]) -> None:
    """Raise ValueError where a file has not the size or the hash that is told of it.

    A tag of 64 digits is the SHA-256 of a large file, one of 40 Git's SHA-1 of a small one; others say nothing.
    """
    size, expected = path.stat().st_size, headers.get("x-linked-size") or headers.get("content-length")
    if expected and "content-encoding" not in headers and size != int(expected):
        raise ValueError(f"{size:,} of {int(expected):,} bytes came; run again")
    tag = re.sub(r'^W/|"', "", headers.get("x-linked-etag") or headers.get("etag", ""))
    with path.open("rb") as file:
        if len(tag) == 64:
            digest = file_digest(file, "sha256").hexdigest()
        elif len(tag) == 40:
            digest = sha1(b"blob %d\0" % size + file.read(), usedforsecurity=False).hexdigest()
        else:
            return
    if digest != tag:
        raise ValueError("it came damaged, by its hash; run again")
