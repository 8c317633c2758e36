"""Import an output folder of Microsoft GraphRAG (3.x, 2.x and 1.x): its documents, text units and tables.

Documents, text units, entities, relationships, claims, communities and reports keep their names and ids. Rows that do
not fit our schema are kept, completed or dropped by the rules in `RULES`, and counted. Sentences and what they mention
are computed from the documents, since the extractive model answers from them.
"""
# pyarrow has no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from conspectus import Index, tokens
from conspectus.errors import IndexDamaged
from conspectus.indexing.given_graph import with_sentences
from conspectus.interchange.graphrag_graph import (
    Numbers,
    find_loosely,
    read_claims,
    read_communities,
    read_entities,
    read_relationships,
    read_reports,
)
from conspectus.interchange.graphrag_schema import MIGRATE, PREFIX_OF_1, tables_in
from conspectus.rows import Chunk, Community, Document, Entity, Relationship, content_id
from conspectus.text.language import with_languages

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

T = TypeVar("T", Entity, Relationship, Community)

HEADER_LINES = 8
"""Lines of metadata before the text of a unit: GraphRAG writes `title: ...` there if it is told to."""
LOOSE_CHARS = 20_000
"""Characters of a unit that is searched regardless of white space: a pattern of a longer one is slow to compile."""

RULES = {
    "entities in no community": "kept; no report tells of them, local search finds them",
    "entities of a name that another has": "merged into the first",
    "relationships with a missing end": "kept; the end becomes an entity, described by the relationship",
    "entities made for missing ends": "added, of type concept, in no community",
    "reversed pairs": "merged: relationships are undirected; descriptions joined, weights added",
    "relationships of a thing with itself": "dropped",
    "claims without a subject entity": "kept under the name they give, unless they say nothing",
    "claims that say nothing": "dropped: rows without description, which are quotations of the claim before",
    "references that lead nowhere": "removed from the reports",
    "reports of no community": "dropped",
    "text units found in no document": "kept as documents of their own",
    "rows that name a text unit that is not there": "kept without it",
}
"""What does not fit our schema, and what the import does with it."""


@dataclass(frozen=True)
class Imported:
    """An imported index; `counts` is the number of times that each rule of `RULES` was applied."""

    index: Index
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    def notices(self) -> Iterator[str]:
        """Yield a line for each rule that was applied."""
        for case, rule in RULES.items():
            if self.counts.get(case):
                yield f"{self.counts[case]:,} {case}: {rule}"


def read_graphrag(folder: Path, progress: Progress | None = None) -> Imported:
    """Read an output folder of GraphRAG, or a project folder that contains one.

    Raises IndexMissing if there is none, IndexDamaged if a table or a column is missing.
    """
    if progress:
        progress.stage("read", 0)
    files = tables_in(folder)
    tables = {name: _rows(path) for name, path in files.items()}
    counts: Counter[str] = Counter()
    numbers = Numbers()
    try:
        documents, chunks = _texts(tables.get("documents", []), tables.get("text_units", []), numbers, counts)
        entities = read_entities(tables["entities"], numbers, counts)
        relationships = read_relationships(tables.get("relationships", []), entities, numbers, counts)
        claims = read_claims(tables.get("covariates", []), chunks, documents, numbers, counts)
        communities = read_communities(tables.get("communities", []), entities, relationships, numbers)
        reports = read_reports(tables.get("community_reports", []), communities, numbers, counts)
    except KeyError as missing:
        version_1 = files["entities"].name.startswith(PREFIX_OF_1)
        advice = f"if they are of GraphRAG before 1.0, {MIGRATE}" if version_1 else "export them again"
        raise IndexDamaged(f"the tables in {folder} lack the column or table {missing}; {advice}") from None
    chunk_ids = {chunk.id for chunk in chunks}
    entities = [_with_known_chunks(row, chunk_ids, counts) for row in entities]
    relationships = [_with_known_chunks(row, chunk_ids, counts) for row in relationships]
    communities = [_with_known_chunks(row, chunk_ids, counts) for row in communities]
    if communities:
        members = {number for community in communities for number in community.entity_numbers}
        added = counts["entities made for missing ends"]
        counts["entities in no community"] = len(entities) - len(members) - added
    index = Index(
        documents=with_languages(documents), chunks=chunks, entities=entities, relationships=relationships,
        claims=claims, communities=communities, reports=reports,
        settings={"imported": {"format": "graphrag", "counts": dict(counts)}},
    )  # fmt: skip
    if progress:
        progress.stage("lexical", 0)
    return Imported(with_sentences(index), dict(counts))


def _with_known_chunks(row: T, chunk_ids: Container[str], counts: Counter[str]) -> T:
    """Return a row without references to missing text units."""
    if all(chunk in chunk_ids for chunk in row.chunk_ids):
        return row
    counts["rows that name a text unit that is not there"] += 1
    return replace(row, chunk_ids=tuple(chunk for chunk in row.chunk_ids if chunk in chunk_ids))


def _rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexDamaged(f"{path} is not a Parquet file that can be read ({error}); export it again") from error


# Documents and text units


def _texts(
    documents: Sequence[Mapping[str, Any]],
    units: Sequence[Mapping[str, Any]],
    numbers: Numbers,
    counts: Counter[str],
) -> tuple[list[Document], list[Chunk]]:
    """Return the documents, and the text units as chunks with their positions in the documents."""
    rows = [_document(number, row) for number, row in enumerate(documents)]
    by_id = {document.id: document for document in rows}
    search_from: dict[str, int] = {}
    chunks: list[Chunk] = []
    for number, unit in enumerate(units):
        document, span = _locate(unit, by_id, search_from)
        if document is None:
            counts["text units found in no document"] += 1
            text = plain(unit["text"] or "")
            id_ = content_id("text unit", unit["id"])
            document = Document(id_, len(rows), f"Text unit {number}", text, f"unit-{number}")
            rows.append(document)
            span = (0, len(text))
        text = document.text[span[0] : span[1]]
        chunks.append(Chunk(unit["id"], number, document.id, *span, text, tokens.count(text)))
        numbers.note("Sources", unit, number)
    return rows, chunks


def _document(number: int, row: Mapping[str, Any]) -> Document:
    metadata = _metadata(row.get("metadata")) | _metadata(row.get("raw_data"))
    if row.get("creation_date"):
        metadata["creation_date"] = str(row["creation_date"])
    title = str(row["title"])
    return Document(row["id"], number, title, plain(row["text"] or ""), title, metadata=metadata)


def _metadata(value: Any) -> dict[str, str]:
    """Return further fields of a document, which may be a mapping or JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {"metadata": value} if value.strip() else {}
    if not isinstance(value, Mapping):
        return {}
    fields = cast("Mapping[str, Any]", value)
    return {name: str(value) for name, value in fields.items() if value is not None and name not in ("text", "title")}


def _locate(
    unit: Mapping[str, Any], documents: Mapping[str, Document], search_from: dict[str, int]
) -> tuple[Document | None, tuple[int, int]]:
    """Return the document of a text unit and its characters there; in 2.x a unit may name several documents."""
    ids = [unit["document_id"]] if unit.get("document_id") else list(unit.get("document_ids") or ())
    for document in filter(None, map(documents.get, ids)):
        span = find_unit(unit["text"] or "", document.text, search_from.get(document.id, 0))
        if span:
            search_from[document.id] = span[0] + 1
            return document, span
    return None, (0, 0)


def plain(text: str) -> str:
    """Return a text as it is stored: newlines as `\\n`, without a byte order mark."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")


def find_unit(unit: str, text: str, after: int = 0) -> tuple[int, int] | None:
    """Return the characters of a document that a text unit was cut from, None if the document lacks them.

    The unit is searched from `after` (the start of the unit before it), then anywhere; first as it is, then without
    lines of metadata before it, at last ignoring white space and case.
    """
    body = ""
    for body in _bodies(plain(unit)):
        at = text.find(body, after)
        if at < 0:
            at = text.find(body)
        if at >= 0:
            return at, at + len(body)
    return find_loosely(body, text, 0, len(text)) if len(body) < LOOSE_CHARS else None


def _bodies(unit: str) -> Iterator[str]:
    """Yield a unit, then the rest of it after each leading line of metadata, without half characters at its ends."""
    unit = unit.strip("\ufffd")
    if unit.strip():
        yield unit
    for _ in range(HEADER_LINES):
        line, newline, unit = unit.partition("\n")
        if not newline or not re.match(r"[\w ]{1,40}: .*\.$", line):
            return
        if unit.strip("\ufffd").strip():
            yield unit.strip("\ufffd")
