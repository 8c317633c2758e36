"""A sentence-transformers model as ONNX, run here on the processor."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.models.base import Tick, no_tick
from conspectus.rows import Usage
from conspectus.text.words import CJK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TOKENS = 256
"""Tokens that a model reads at once, where its folder does not say."""
MOST_THREADS = 8
UNKNOWN = ("[UNK]", "<unk>")
POOLINGS = ("mean_tokens", "cls_token", "lasttoken")
_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


class LocalEmbedder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`.

    Beside them it may hold `modules.json`, `sentence_bert_config.json` and `1_Pooling/config.json`, as
    sentence-transformers writes them: what comes after the transformer, how many tokens are read at once, and how a
    text's vector is made of those of its tokens.

    Texts go through the model one by one, on several threads: a quantised model scales its numbers by all texts that
    it is given at once, so that in batches a vector would depend on its neighbours, and on one core batches are not
    faster.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        runtime, tokenizers = runtimes("embedder")
        model, tokenizer = _files(folder)
        self._pooling = _pooling(folder)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # both raise kinds of their own, or none
            raise UsageError(f"the embedding model in {folder} cannot be opened ({_line(error)})") from error
        reads = _json(folder / "sentence_bert_config.json").get("max_seq_length", MOST_TOKENS)
        self._tokenizer.enable_truncation(reads)
        self._tokenizer.no_padding()
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        outputs: list[str] = [value.name for value in self._session.get_outputs()]
        self._output = next((name for name in outputs if "sentence" in name), outputs[0])
        with model.open("rb") as file:
            self.name = f"local:{name or folder.resolve().name}@{file_digest(file, 'sha256').hexdigest()[:12]}"
        self.dimension = len(self._vector("dimension"))
        self.usage = Usage()

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        threads = min(MOST_THREADS, os.cpu_count() or 1, len(texts))
        if threads < 2:
            for place, text in enumerate(texts):
                vectors[place] = self._vector(text)
                tick()
            return vectors
        pool = ThreadPoolExecutor(threads)
        try:
            for place, vector in enumerate(pool.map(self._vector, texts)):
                vectors[place] = vector
                tick()
        finally:
            pool.shutdown(cancel_futures=True)  # an interrupt need not wait for the rest
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
        import numpy as np

        encoded = self._tokenizer.encode(text)
        parts: list[list[int]] = [encoded.ids, *(more.ids for more in encoded.overflowing)]
        total = np.zeros(0, np.float32)
        for ids in parts:
            vector = _unit(self._pooled(ids)) * (len(ids) if len(parts) > 1 else 1)
            total = total + vector if len(total) else vector
        return _unit(total)

    def _pooled(self, ids: list[int]) -> NDArray[np.float32]:
        import numpy as np

        tokens = np.array([ids], np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
            "position_ids": np.arange(len(ids))[None],
        }
        output = self._session.run([self._output], {name: given[name] for name in self._inputs})[0][0]
        if output.ndim == 1:  # pooled by the model itself
            return output
        if self._pooling == "mean_tokens":
            return output.mean(axis=0)
        return output[0 if self._pooling == "cls_token" else -1]


def runtimes(user: str) -> tuple[Any, Any]:
    """Import onnxruntime and tokenizers, which the extra `embed` brings; raise UsageError with those that are missing.

    `user` says in that message what needs them: the local embedder or the local reranker.
    """
    modules: list[Any] = []
    missing: list[str] = []
    for package in ("onnxruntime", "tokenizers"):
        try:
            modules.append(import_module(package))
        except ImportError:
            missing.append(package)
    if missing:
        raise UsageError(f"the local {user} needs {' and '.join(missing)}: pip install 'conspectus[embed]'")
    return modules[0], modules[1]


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return vector / max(float(np.linalg.norm(vector)), 1e-12)


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


def _pooling(folder: Path) -> str:
    """Return how vectors of tokens become one: of `POOLINGS`; UsageError where the model wants another way."""
    layers: Any = _json(folder / "modules.json")
    if any(str(layer.get("type")).endswith(".Dense") for layer in layers):
        raise UsageError(f"the model in {folder} has a dense layer after its pooling, which cannot be run here")
    modes = _json(folder / "1_Pooling" / "config.json")
    asked = [mode.removeprefix("pooling_mode_") for mode, on in modes.items() if mode.startswith("pooling") and on]
    if len(asked) > 1 or any(mode not in POOLINGS for mode in asked):
        raise UsageError(f"the model in {folder} pools by {', '.join(asked)}; known are {', '.join(POOLINGS)}")
    return asked[0] if asked else POOLINGS[0]


def _json(path: Path) -> Any:
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UsageError(f"{path} is not JSON; fetch it anew") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
