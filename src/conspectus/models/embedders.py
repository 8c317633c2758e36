"""Who makes vectors of texts: nobody, a model in a folder run here, or a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from conspectus.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from conspectus.settings import ModelSettings

NONE, LOCAL = "none", "local"
DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""What `local` alone stands for."""
MOST_TOKENS = 256
"""Tokens of a text that a local model reads; the rest is cut off."""
_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


class Embedder(Protocol):
    """Makes vectors. Two embedders of one `name` make the same vectors."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text, as an array of shape (texts, dimension)."""
        ...


class LocalEmbedder:
    """A sentence-transformers model as ONNX, from a folder with the model and `tokenizer.json`.

    Texts go through the model one by one: a quantised model scales its numbers by all texts that it is given
    at once, so that in batches a vector would depend on its neighbours, and on one core batches are not
    faster.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path) -> None:
        runtime, tokenizers = _extra("onnxruntime"), _extra("tokenizers")
        model, tokenizer = _files(folder)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.name = f"{LOCAL}:{folder.resolve().name}"
        self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.no_padding()
        self._of_first_token = _pools_first_token(folder)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self._session.get_outputs()[0].shape[-1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self._vector(self._tokenizer.encode(text).ids)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def _vector(self, ids: list[int]) -> NDArray[np.float32]:
        import numpy as np

        tokens = np.array([ids], np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        output = self._session.run(None, {name: given[name] for name in self._inputs})[0][0]
        if output.ndim == 1:  # pooled by the model itself
            return output
        return output[0] if self._of_first_token else output.mean(axis=0)


def _extra(package: str) -> Any:
    """Import a package of the extra `embed`."""
    try:
        return import_module(package)
    except ImportError as error:
        raise UsageError(f"the local embedder needs {package}; install it: pip install 'conspectus[embed]'") from error


def _files(folder: Path) -> tuple[Path, Path]:
    """Return the files of the model and of its tokenizer."""
    found = [folder / name for name in _FILES if (folder / name).is_file()] or sorted(folder.glob("**/*.onnx"))
    tokenizer = folder / "tokenizer.json"
    if not found or not tokenizer.is_file():
        raise UsageError(
            f"{folder} holds no embedding model: it needs an .onnx file and tokenizer.json, "
            "as sentence-transformers publishes them"
        )
    return found[0], tokenizer


def _pools_first_token(folder: Path) -> bool:
    pooling = folder / "1_Pooling" / "config.json"
    return pooling.is_file() and bool(json.loads(pooling.read_text()).get("pooling_mode_cls_token"))


def _fetched(name: str) -> Path:
    """Return the folder of a model of the hub, fetched unless it was before."""
    hub = _extra("huggingface_hub")
    patterns = ["tokenizer.json", "onnx/model.onnx", "1_Pooling/config.json"]
    try:
        return Path(hub.snapshot_download(name, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the embedding model {name} could not be fetched ({type(error).__name__}); "
            "download it elsewhere and name its folder: --embedder local:FOLDER"
        ) from error


class ServedEmbedder:
    """A model behind a server, by the name under which it is asked for chat too:
    `openai/text-embedding-3-small`.

    Its vectors are kept in the folder of the index, where one is given, and bought once. Raises what
    `Sender.embed` does.
    """

    def __init__(self, name: str, settings: ModelSettings, folder: Path | None) -> None:
        self.name = name
        self._settings = settings
        self._folder = folder

    @property
    def dimension(self) -> int:
        """Numbers in a vector, which only the server can tell."""
        return self._probe.shape[1]

    @cached_property
    def _probe(self) -> NDArray[np.float32]:
        return self.embed(["dimension"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text."""
        import numpy as np

        # a thread of its own: who asks may be inside an event loop already
        with ThreadPoolExecutor(1) as thread:
            vectors = thread.submit(lambda: asyncio.run(self._asked(texts))).result()
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    async def _asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from conspectus.models.server.sender import open_sender

        async with open_sender(self._settings, self._folder, embedder=self.name) as sender:
            return await sender.embed(texts, self.name)


def open_embedder(name: str, settings: ModelSettings, folder: Path | None = None) -> Embedder | None:
    """Return the embedder of a name, None for `none`.

    Names are `none`, `local`, `local:FOLDER`, `local:OWNER/MODEL` of the hub, and `provider/model`, which is
    asked as the settings say and whose vectors are kept in `folder`.

    Raises UsageError for another name, or where what it needs is missing.
    """
    kind, _, place = name.partition(":")
    if name == NONE:
        return None
    if kind == LOCAL:
        return _local(place)
    if "/" in name:
        return ServedEmbedder(name, settings, folder)
    raise UsageError(f"there is no embedder {name!r}; there are {NONE}, {LOCAL}, {LOCAL}:FOLDER and provider/model")


@cache
def _local(place: str) -> LocalEmbedder:
    folder = Path(place).expanduser()
    if place and folder.is_dir():
        return LocalEmbedder(folder)
    if place and place.count("/") != 1:
        raise UsageError(f"there is no folder {place!r} with an embedding model")
    return LocalEmbedder(_fetched(place or DEFAULT_MODEL))
