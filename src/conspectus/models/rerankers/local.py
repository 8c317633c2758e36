"""A cross-encoder as ONNX, run here on the processor: it reads the question and a passage together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.errors import UsageError
from conspectus.models.embedders.local import OnnxModel, in_threads, read_json
from conspectus.rows import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_TOKENS = 512
"""Tokens of question and passage that are read at once, where the model does not read fewer: the limit of BERT."""
OVERLAP = 1 / 16
"""Part of these tokens that the parts of a longer passage share: a sentence of 32 tokens is whole in one of them."""


class CrossEncoder:
    """A model from a folder with an `.onnx` file and `tokenizer.json`, as sentence-transformers publishes them.

    It has one output for a pair of texts, or two, of which the second is that the passage helps. Of a passage that is
    longer than the model reads the best part counts. `config.json` beside it may say how many tokens it reads.

    Raises UsageError where the extra is not installed or the folder holds no such model.
    """

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, "reranker", "cross-encoder")
        self.name = f"local:{folder.resolve().name}"
        self.usage = Usage()
        self._most = _tokens(folder)
        self._of_question: Any = self._model.tokenizer
        self._of_pair: Any = deepcopy(self._of_question)
        self._of_question.no_truncation()
        self._of_pair.enable_truncation(self._most, stride=int(OVERLAP * self._most), strategy="only_second")
        self._of_pair.no_padding()
        output: Any = self._model.outputs[0]
        self._output: str = output.name
        if isinstance(count := output.shape[-1], int) and count > 2:
            raise UsageError(
                f"the model in {folder} has {count} outputs for a pair of texts, and no reranker has"
            )

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return a score from 0 to 1 for each passage; see `Reranker.scores`."""
        return await asyncio.to_thread(self._scores, question, passages)

    def _scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        room = self._most // 2  # at the least is left to the passage
        encoded = self._of_question.encode(question, add_special_tokens=False)
        question = question[: encoded.offsets[room - 1][1]] if len(encoded.ids) > room else question

        def score(passage: str) -> float:
            pair: Any = self._of_pair.encode(question, passage)
            parts: list[Any] = [pair, *pair.overflowing]
            return max(
                _chance(self._model.run(self._output, part.ids, part.type_ids).reshape(-1)) for part in parts
            )

        return [*in_threads(score, passages)]


def _chance(output: NDArray[np.float32]) -> float:
    """Return how likely the passage helps, of one logit or of those of no and yes."""
    logit = float(output[-1]) - (float(output[0]) if len(output) == 2 else 0.0)
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))


def _tokens(folder: Path) -> int:
    """Return how many tokens a model reads at once."""
    try:
        return min(MOST_TOKENS, int(read_json(folder, "config.json").get("max_position_embeddings", MOST_TOKENS)))
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"config.json in {folder} does not say what the model reads; fetch it anew") from None
