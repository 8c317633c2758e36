"""Models as ONNX, run here on the processor: sentence-transformers models, and what cross-encoders share with them.

A model of the hub is fetched once, and from then on found in a folder of this user:

    FOLDER/OWNER/MODEL/tokenizer.json, onnx/model.onnx, …     FOLDER: `models_folder()`

The hub is that of Hugging Face, or the one that HF_ENDPOINT names; HF_TOKEN opens what is not public.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from conspectus.errors import UsageError
from conspectus.models.base import Tick, no_tick
from conspectus.rows import Usage
from conspectus.text.words import CJK

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
MOST_TOKENS = 256
"""Tokens that a model reads at once where its folder does not say: what all-MiniLM-L6-v2, the default, was made for."""
MOST_THREADS = 8
"""Threads at the most: each holds the tensors of a text."""
UNKNOWN = ("[UNK]", "<unk>")
POOLINGS = ("mean_tokens", "cls_token", "lasttoken")
ENDPOINT = "https://huggingface.co"
SECONDS = 20.0
"""How long the hub may be silent when it is asked which files a model has; its library retries the files themselves."""
MODEL, TOKENIZER, POOLING = "onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"
OPTIONAL = ("modules.json", POOLING, "sentence_bert_config.json", "config.json")
_FILES = ("model.onnx", MODEL, "model_quantized.onnx", "onnx/model_quantized.onnx")


def import_extra(user: str, *packages: str) -> list[Any]:
    """Import packages that the extra `embed` brings; raise UsageError with those that are missing.

    `user` says in that message what needs them: the local embedder or the local reranker.
    """
    modules: list[Any] = []
    missing: list[str] = []
    for package in packages:
        try:
            modules.append(import_module(package))
        except ImportError:
            missing.append(package.partition(".")[0])
    if missing:
        raise UsageError(
            f"the local {user} needs {' and '.join(dict.fromkeys(missing))}: pip install 'conspectus[embed]'"
        )
    return modules


class OnnxModel:
    """A model from a folder with an `.onnx` file and `tokenizer.json`.

    `user` and `kind` name in messages who runs it (`embedder`) and what it is (`embedding model`).

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path, user: str, kind: str) -> None:
        runtime, tokenizers = import_extra(user, "onnxruntime", "tokenizers")
        files = [folder / name for name in _FILES if (folder / name).is_file()] or sorted(
            folder.glob("**/*.onnx")
        )
        if not files or not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"{folder} holds no {kind}: it needs an .onnx file and {TOKENIZER}, as sentence-transformers publishes"
                " them"
            )
        self.path = files[0]
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
            self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # both raise kinds of their own, or none
            message = " ".join(str(error).split())[:200]
            raise UsageError(f"the {kind} in {folder} cannot be opened ({message})") from error
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        self.outputs: list[Any] = self._session.get_outputs()

    def run(self, output: str, ids: list[int], type_ids: list[int] | None = None) -> NDArray[np.float32]:
        """Return an output for the tokens of one text, or of a pair of texts whose `type_ids` tell them apart."""
        tokens = np.array([ids], np.int64)
        values = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.array([type_ids], np.int64) if type_ids else np.zeros_like(tokens),
            "position_ids": np.arange(len(ids))[None],
        }
        return self._session.run([output], {name: values[name] for name in self._inputs})[0][0]


def read_json(folder: Path, name: str) -> Any:
    """Return what a file of a folder holds, an empty object where there is none."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        raise UsageError(f"{path} is not JSON; fetch it anew") from None


def in_threads(function: Callable[[str], T], texts: Sequence[str]) -> Iterator[T]:
    """Yield what a function makes of each text, in their order, on several threads.

    Texts go through a model one by one: a quantised model scales its numbers by all texts that it is given at once, so
    that in batches a result would depend on its neighbours, and on one core batches are not faster.
    """
    threads = min(MOST_THREADS, os.cpu_count() or 1, len(texts))
    if threads < 2:
        yield from map(function, texts)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(function, texts)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt need not wait for the rest


class LocalEmbedder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`.

    Beside them it may hold `modules.json`, `sentence_bert_config.json` and `1_Pooling/config.json`, as
    sentence-transformers writes them: what comes after the transformer, how many tokens are read at once, and how a
    text's vector is made of those of its tokens.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        self._pooling = _pooling(folder)
        self._model = OnnxModel(folder, "embedder", "embedding model")
        self._tokenizer = self._model.tokenizer
        self._tokenizer.enable_truncation(
            read_json(folder, "sentence_bert_config.json").get("max_seq_length", MOST_TOKENS)
        )
        self._tokenizer.no_padding()
        outputs: list[str] = [value.name for value in self._model.outputs]
        self._output = next((name for name in outputs if "sentence" in name), outputs[0])
        with self._model.path.open("rb") as file:
            self.name = f"local:{name or folder.resolve().name}@{file_digest(file, 'sha256').hexdigest()[:12]}"
        self.dimension = len(self._vector("dimension"))
        self.usage = Usage()

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for position, vector in enumerate(in_threads(self._vector, texts)):
            vectors[position] = vector
            tick()
        return vectors

    def unread(self, texts: Sequence[str]) -> float:
        """Return the share of letters that have no token, or one of their own though words are written apart."""
        letters = unread = 0
        for text in texts:
            encoded = self._tokenizer.encode(text)
            for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True):
                of_token = [letter for letter in text[start:end] if letter.isalpha()]
                letters += len(of_token)
                if token in UNKNOWN or (len(of_token) == 1 and not CJK.match(of_token[0])):
                    unread += len(of_token)
        return unread / max(letters, 1)

    def _vector(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text: the mean of those of its parts, by their tokens."""
        encoded = self._tokenizer.encode(text)
        parts: list[list[int]] = [encoded.ids, *(more.ids for more in encoded.overflowing)]
        total = np.zeros(0, np.float32)
        for ids in parts:
            vector = _unit(self._pooled(ids)) * (len(ids) if len(parts) > 1 else 1)
            total = total + vector if len(total) else vector
        return _unit(total)

    def _pooled(self, ids: list[int]) -> NDArray[np.float32]:
        output = self._model.run(self._output, ids)
        if output.ndim == 1:  # pooled by the model itself
            return output
        if self._pooling == "mean_tokens":
            return output.mean(axis=0)
        return output[0 if self._pooling == "cls_token" else -1]


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _pooling(folder: Path) -> str:
    """Return how vectors of tokens become one: of `POOLINGS`; UsageError where the model wants another way."""
    layers: Iterable[Any] = read_json(folder, "modules.json")
    if any(str(layer.get("type")).endswith(".Dense") for layer in layers):
        raise UsageError(f"the model in {folder} has a dense layer after its pooling, which cannot be run here")
    modes = read_json(folder, POOLING)
    wanted = [
        mode.removeprefix("pooling_mode_") for mode, on in modes.items() if mode.startswith("pooling") and on
    ]
    if len(wanted) > 1 or any(mode not in POOLINGS for mode in wanted):
        raise UsageError(f"the model in {folder} pools by {', '.join(wanted)}; known are {', '.join(POOLINGS)}")
    return wanted[0] if wanted else POOLINGS[0]


# Models of the hub


def models_folder() -> Path:
    """Return the folder of fetched models: in CONSPECTUS_CACHE, or where this system has caches."""
    if own := os.environ.get("CONSPECTUS_CACHE"):
        return Path(own).expanduser() / "models"
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "conspectus" / "models"


def download(
    name: str, user: str = "embedder", kind: str = "embedding model", name_it: str = "embedder='local:FOLDER'"
) -> Path:
    """Return the folder of a model of the hub, `OWNER/MODEL`, fetched unless it was before.

    Raises UsageError, with what to download by hand and where to put it, where it cannot be fetched.
    """
    folder = models_folder() / name
    if (folder / MODEL).is_file() and (folder / TOKENIZER).is_file():
        return folder
    hub, utils = import_extra(user, "huggingface_hub", "huggingface_hub.utils")
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if sys.stderr.isatty():
        print(f"fetching the {kind} {name} from {endpoint}", file=sys.stderr)
    else:
        utils.disable_progress_bars()
    try:
        published = {file.rfilename for file in hub.HfApi(endpoint).model_info(name, timeout=SECONDS).siblings}
        if missing := {MODEL, TOKENIZER} - published:
            raise FileNotFoundError(f"it has no {' and no '.join(sorted(missing))}")
        for file in (*OPTIONAL, TOKENIZER, MODEL):  # the model last: where it is, all is
            if file in published:
                hub.hf_hub_download(name, file, local_dir=folder, endpoint=endpoint)
    except (
        Exception
    ) as error:  # the errors of the HTTP client come through, and which that is depends on the version
        raise UsageError(
            f"there is no folder {name}, and no model of this name can be fetched from {endpoint} ({_reason(error)})."
            f" Where there is no way to it, download {TOKENIZER}, {MODEL} and, if it is there, {POOLING} from"
            f" {ENDPOINT}/{name}/tree/main elsewhere and put them into {folder} under these names, or name their"
            f" folder: {name_it}"
        ) from error
    return folder


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    hint = "; what is not public needs a token in HF_TOKEN" if status in (401, 403) else ""
    return " ".join(str(error).split())[:200] + hint
