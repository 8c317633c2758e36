"""Columns that no row holds: they are computed from the whole index, for other tools alone."""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.errors import UsageError
from conspectus.rows import (
    Report,
)

if TYPE_CHECKING:
    from conspectus.index import Index

T = TypeVar("T")


def nothing(table: str) -> Callable[[Index], Iterable[Any]]:
    return lambda index: [None] * len(getattr(index, table))


def naming(table: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of chunks that holds the ids of the rows of a table that name the chunk."""

    def column(index: Index) -> Iterable[Any]:
        found: dict[str, list[str]] = {}
        for row in getattr(index, table):
            for chunk in row.chunk_ids:
                found.setdefault(chunk, []).append(row.id)
        return [found.get(c.id, ()) for c in index.chunks]

    return column


def chunks_of_documents(index: Index) -> Iterable[Any]:
    found: dict[str, list[str]] = {}
    for chunk in index.chunks:
        found.setdefault(chunk.document_id, []).append(chunk.id)
    return [found.get(d.id, ()) for d in index.documents]


def ids(table: str, numbers: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of communities that holds the ids of the rows of a table whose numbers they hold."""

    def column(index: Index) -> Iterable[Any]:
        ids = [row.id for row in getattr(index, table)]
        try:
            return [[ids[n] for n in getattr(c, numbers)] for c in index.communities]
        except IndexError:
            raise UsageError(f"a community names a row of {table} that is not there") from None

    return column


def quotations(index: Index) -> Iterable[Any]:
    """Yield the text that each claim stands on."""
    texts = {d.id: d.text for d in index.documents} if index.claims else {}
    for claim in index.claims:
        quoted = [texts[s.document_id][s.start : s.end] for s in claim.spans if s.document_id in texts]
        yield "\n".join(quoted) if quoted else None


def as_json(report: Report) -> str:
    content = {
        "title": report.title,
        "summary": report.summary,
        "findings": [{"summary": f.summary, "explanation": f.explanation} for f in report.findings],
        "rating": report.rating,
        "rating_explanation": report.rating_explanation,
    }
    return json.dumps(content, ensure_ascii=False)
