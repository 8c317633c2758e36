"""A cross-encoder as ONNX, run here on the processor: it reads the question and a passage together."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.models.embedders import hub
from conspectus.models.embedders.local import runtimes
from conspectus.rows import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TOKENS = 512
"""Tokens of question and passage that are read at once, where the model does not read fewer."""
OVERLAP = 1 / 16
"""Part of these tokens that the parts of a longer passage share."""
MOST_THREADS = 8
_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


class CrossEncoder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`, as sentence-transformers publishes them.

    It has one output for a pair of texts, or two, of which the second is that the passage helps. Of a passage that is
    longer than the model reads the best part counts. `config.json` beside it may say how many tokens it reads.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path) -> None:
        runtime, tokenizers = runtimes("reranker")
        model, tokenizer = _files(folder)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._of_question, self._of_pair = (tokenizers.Tokenizer.from_file(str(tokenizer)) for _ in range(2))
        except Exception as error:  # both raise kinds of their own, or none
            line = " ".join(str(error).split())[:200]
            raise UsageError(f"the cross-encoder in {folder} cannot be opened ({line})") from error
        self.name = f"local:{folder.resolve().name}"
        self.usage = Usage()
        self._most = _tokens(folder)
        self._of_question.no_truncation()
        self._of_pair.enable_truncation(self._most, stride=int(OVERLAP * self._most), strategy="only_second")
        self._of_pair.no_padding()
        self._inputs: list[str] = [value.name for value in self._session.get_inputs()]
        outputs: Any = self._session.get_outputs()[0].shape[-1]
        if isinstance(outputs, int) and outputs > 2:
            raise UsageError(f"the model in {folder} has {outputs} outputs for a pair of texts, and no reranker has")

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return a score from 0 to 1 for each passage; see `Reranker.scores`."""
        return await asyncio.to_thread(self._scores, question, passages)

    def _scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        # one by one, on several threads, for what a quantised model gives depends on all that it is given at once
        room = self._most // 2  # at the least is left to the passage
        asked = self._of_question.encode(question, add_special_tokens=False)
        question = question[: asked.offsets[room - 1][1]] if len(asked.ids) > room else question

        def score(passage: str) -> float:
            encoded = self._of_pair.encode(question, passage)
            return max(_chance(self._output(part)) for part in (encoded, *encoded.overflowing))

        with ThreadPoolExecutor(max(1, min(MOST_THREADS, os.cpu_count() or 1, len(passages)))) as pool:
            return list(pool.map(score, passages))

    def _output(self, encoded: Any) -> NDArray[np.float32]:
        import numpy as np

        given = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": np.ones((1, len(encoded.ids)), np.int64),
            "token_type_ids": np.array([encoded.type_ids], np.int64),
            "position_ids": np.arange(len(encoded.ids))[None],
        }
        return self._session.run(None, {name: given[name] for name in self._inputs})[0].reshape(-1)


def _chance(output: NDArray[np.float32]) -> float:
    """Return how likely the passage helps, of one logit or of those of no and yes."""
    import numpy as np

    logit = float(output[-1]) - (float(output[0]) if len(output) == 2 else 0.0)
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))


def fetched(name: str) -> Path:
    """Return the folder of a cross-encoder of the hub, `OWNER/MODEL`, fetched unless it was before."""
    try:
        return hub.download(name)
    except UsageError as error:
        message = str(error).replace("embedding model", "cross-encoder").replace("local embedder", "local reranker")
        raise UsageError(message.replace("--embedder", "--rerank")) from error


def _files(folder: Path) -> tuple[Path, Path]:
    """Return the files of the model and of its tokenizer."""
    files = [folder / name for name in _FILES if (folder / name).is_file()] or sorted(folder.glob("**/*.onnx"))
    tokenizer = folder / "tokenizer.json"
    if not files or not tokenizer.is_file():
        raise UsageError(
            f"{folder} holds no cross-encoder: it needs an .onnx file and tokenizer.json, "
            "as sentence-transformers publishes them"
        )
    return files[0], tokenizer


def _tokens(folder: Path) -> int:
    """Return how many tokens a model reads at once."""
    config = folder / "config.json"
    if not config.is_file():
        return MOST_TOKENS
    try:
        values: Any = json.loads(config.read_text(encoding="utf-8"))
        return min(MOST_TOKENS, int(values.get("max_position_embeddings", MOST_TOKENS)))
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"{config} does not say what the model reads; fetch it anew") from None
