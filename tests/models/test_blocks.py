"""Vectors that are stored in blocks while they are being computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from making import Letters

from conspectus.models import embedders
from conspectus.models.base import Tick, no_tick
from conspectus.models.embedders import StoredBlocks

TEXTS = [f"text {chr(97 + i)}" for i in range(7)]


class Breaking(Letters):
    """An embedder that is interrupted at one text."""

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> np.ndarray[Any, np.dtype[np.float32]]:
        if TEXTS[5] in texts:
            raise KeyboardInterrupt
        return super().embed(texts, tick)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "BLOCK", 2)


def test_a_run_that_was_interrupted_goes_on_after_the_last_whole_block(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        StoredBlocks(Breaking(), tmp_path / "kept").embed(TEXTS)
    again = Letters()
    ticks: list[None] = []

    vectors = StoredBlocks(again, tmp_path / "kept").embed(TEXTS, lambda: ticks.append(None))

    assert again.given == TEXTS[4:]
    assert len(ticks) == len(TEXTS)
    assert np.array_equal(vectors, Letters().embed(TEXTS))


def test_blocks_of_other_texts_are_not_taken(tmp_path: Path):
    StoredBlocks(Letters(), tmp_path / "kept").embed(TEXTS)
    again = Letters()

    StoredBlocks(again, tmp_path / "kept").embed(TEXTS[1:])

    assert again.given == TEXTS[1:]


def test_no_texts_have_no_vectors(tmp_path: Path):
    assert StoredBlocks(Letters(), tmp_path / "kept").embed([]).shape == (0, 26)
