"""Retrieval data in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv` (Thakur et al.,
2021)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from conspectus.errors import UsageError
from conspectus.runtime import check_question


@dataclass(frozen=True)
class Query:
    """A question, the passages that answer it with their relevance (above 0), and the accepted answers."""

    id: str
    text: str
    relevant: Mapping[str, float]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetrievalData:
    """Passages as they stand in the file (`id`, `title`, `text`), and questions that have a relevant one."""

    name: str
    passages: Sequence[Mapping[str, str]]
    queries: Sequence[Query]


def read_beir(folder: Path, titles: bool = True) -> RetrievalData:
    """Read a folder; without `titles`, those of the passages are withheld.

    Raises UsageError where a file is missing or a line of it is not what the layout says.
    """
    passages = [
        {"id": row["_id"], "title": row.get("title") or "" if titles else "", "text": row["text"]}
        for row in _rows(folder / "corpus.jsonl", "_id", "text")
    ]
    relevant = _judgements(folder / "qrels" / "test.tsv")
    queries = [
        Query(row["_id"], row["text"], relevant[row["_id"]], tuple(row.get("answers") or ()))
        for row in _rows(folder / "queries.jsonl", "_id", "text")
        if row["_id"] in relevant
    ]
    for query in queries:
        if query.text.strip():  # two of the questions of CMRC 2018 are empty: they find nothing, and count
            check_question(query.text)
    if not queries:
        raise UsageError(f"no question of {folder / 'queries.jsonl'} has a relevant passage in qrels/test.tsv")
    return RetrievalData(folder.resolve().name, passages, queries)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError):
        layout = "corpus.jsonl, queries.jsonl and qrels/test.tsv"
        raise UsageError(f"there is no {path}; a folder in the BEIR layout has {layout}") from None


def _rows(path: Path, *needed: str) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"line {number} of {path} is not JSON ({error})") from None
        fields = cast("dict[str, Any]", row if isinstance(row, dict) else {})
        if not all(isinstance(fields.get(name), str) for name in needed):
            raise UsageError(f"line {number} of {path} lacks {' or '.join(needed)}")
        yield fields


def _judgements(path: Path) -> dict[str, dict[str, float]]:
    relevant: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        parts = line.split("\t")
        if number == 1 and parts[0] == "query-id":
            continue
        try:
            query, passage, score = parts[0], parts[1], float(parts[2])
        except (IndexError, ValueError):
            raise UsageError(f"line {number} of {path} is not query, passage and score, with tabs between") from None
        if score > 0:
            relevant.setdefault(query, {})[passage] = score
    return relevant
