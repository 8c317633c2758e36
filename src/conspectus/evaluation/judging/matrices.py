"""Win rates as in Figure 2 of GraphRAG: how often the row's condition wins over the column's, in %; a tie is half a
win."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.evaluation.judging.compared import Comparison
from conspectus.readers import list_generated

FILE = "win_rates.json"
EVEN = 50.0  # percent of the judgements: neither side wins


@dataclass(frozen=True)
class Matrix:
    """Win rates by one criterion, rows and columns in the order of the conditions.

    A condition against itself has 50, a pair that was not compared None; `significant` tells for each cell whether it
    differs from 50 after correction.
    """

    criterion: str
    conditions: tuple[str, ...]
    rates: tuple[tuple[float | None, ...], ...]
    significant: tuple[tuple[bool, ...], ...]


def matrices(comparison: Comparison) -> list[Matrix]:
    """Return the matrix of each criterion that any pair was judged by, of the conditions of those pairs."""
    return [_matrix(comparison, criterion) for criterion in comparison.criteria if comparison.of(criterion)]


def _matrix(comparison: Comparison, criterion: str) -> Matrix:
    rates: dict[tuple[str, str], float] = {}
    significant: set[tuple[str, str]] = set()
    paired: set[str] = set()
    for one in comparison.of(criterion):
        there, back = (one.first, one.second), (one.second, one.first)
        paired |= {*there}
        rates |= {there: one.mean_first, back: one.mean_second}
        if one.significant:
            significant |= {there, back}
    names = tuple(name for name in comparison.conditions if name in paired)
    return Matrix(
        criterion,
        names,
        tuple(tuple(EVEN if row == column else rates.get((row, column)) for column in names) for row in names),
        tuple(tuple((row, column) in significant for column in names) for row in names),
    )


def as_json(found: list[Matrix]) -> Mapping[str, Any]:
    """Return win rates by criterion, row and column."""
    return {
        one.criterion: {
            row: {column: _rounded(rate) for column, rate in zip(one.conditions, rates, strict=True)}
            for row, rates in zip(one.conditions, one.rates, strict=True)
        }
        for one in found
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def write(found: list[Matrix], folder: Path) -> None:
    """Write win_rates.json into a folder."""
    list_generated(folder, [FILE])
    (folder / FILE).write_text(json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
