"""Reads an output folder of Microsoft GraphRAG (3.x, 2.x and 1.x) as an index of ours.

Everything it holds is taken over: documents, text units, entities, relationships, claims, communities and
reports, with its names and ids. What does not fit is kept, completed or dropped by the rules in `RULES`, and
counted. The sentences of the documents are read anew, since the extractive model answers from them, and what
they mention is found by the names of the entities.
"""

# pyarrow carries no types of its own:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from conspectus import tokens
from conspectus.errors import IndexDamaged
from conspectus.index import Index
from conspectus.interchange.graphrag_graph import (
    Numbers,
    read_claims,
    read_communities,
    read_entities,
    read_relationships,
    read_reports,
)
from conspectus.interchange.graphrag_schema import BEFORE_2, MIGRATE, tables_in
from conspectus.interchange.placing import find_unit, plain
from conspectus.interchange.sentences import with_sentences
from conspectus.rows import Chunk, Community, Document, Entity, Relationship, content_id
from conspectus.text.language import with_languages

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

T = TypeVar("T", Entity, Relationship, Community)

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
"""What does not fit, and what becomes of it."""


@dataclass(frozen=True)
class Imported:
    """An index that was read from another tool's files; `counts` says how often each of its rules was
    applied."""

    index: Index
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    def told(self) -> Iterator[str]:
        """Yield a line for each rule that was applied."""
        for what, rule in RULES.items():
            if self.counts.get(what):
                yield f"{self.counts[what]:,} {what}: {rule}"


def read_graphrag(folder: Path, progress: Progress | None = None) -> Imported:
    """Read an output folder of GraphRAG, or a project folder that has one.

    Raises IndexMissing where there is none, IndexDamaged where a table lacks what is needed.
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
        old = files["entities"].name.startswith(BEFORE_2)
        advice = f"if they are of GraphRAG before 1.0, {MIGRATE}" if old else "export them again"
        raise IndexDamaged(f"the tables in {folder} lack the column or table {missing}; {advice}") from None
    known = {chunk.id for chunk in chunks}
    entities = [_within(known, row, counts) for row in entities]
    relationships = [_within(known, row, counts) for row in relationships]
    communities = [_within(known, row, counts) for row in communities]
    held = {number for community in communities for number in community.entity_numbers}
    if communities:
        made = counts["entities made for missing ends"]
        counts["entities in no community"] = len(entities) - len(held) - made
    index = Index(
        documents=with_languages(documents), chunks=chunks, entities=entities, relationships=relationships,
        claims=claims, communities=communities, reports=reports,
        settings={"imported": {"format": "graphrag", "counts": dict(counts)}},
    )  # fmt: skip
    if progress:
        progress.stage("lexical", 0)
    return Imported(with_sentences(index), dict(counts))


def _within(known: Container[str], row: T, counts: Counter[str]) -> T:
    """Return a row without the text units that are not there."""
    if all(chunk in known for chunk in row.chunk_ids):
        return row
    counts["rows that name a text unit that is not there"] += 1
    return replace(row, chunk_ids=tuple(chunk for chunk in row.chunk_ids if chunk in known))


def _rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexDamaged(f"{path} is not a Parquet file that can be read ({error}); export it again") from error


def _texts(
    documents: Sequence[Mapping[str, Any]],
    units: Sequence[Mapping[str, Any]],
    numbers: Numbers,
    counts: Counter[str],
) -> tuple[list[Document], list[Chunk]]:
    """Return documents and chunks, the chunks at their places in the documents."""
    rows = [_document(place, row) for place, row in enumerate(documents)]
    by_id = {document.id: document for document in rows}
    behind: dict[str, int] = {}
    chunks: list[Chunk] = []
    for place, unit in enumerate(units):
        document, span = _place(unit, by_id, behind)
        if document is None:
            counts["text units found in no document"] += 1
            text = plain(unit["text"] or "")
            document = Document(
                content_id("text unit", unit["id"]), len(rows), f"Text unit {place}", text, f"unit-{place}"
            )
            rows.append(document)
            span = (0, len(text))
        text = document.text[span[0] : span[1]]
        chunks.append(Chunk(unit["id"], place, document.id, *span, text, tokens.count(text)))
        numbers.note("Sources", unit, place)
    return rows, chunks


def _document(number: int, row: Mapping[str, Any]) -> Document:
    told = _fields(row.get("metadata")) | _fields(row.get("raw_data"))
    if row.get("creation_date"):
        told["creation_date"] = str(row["creation_date"])
    title = str(row["title"])
    return Document(row["id"], number, title, plain(row["text"] or ""), title, metadata=told)


def _fields(said: Any) -> dict[str, str]:
    """Return what it knows more of a document: fields, which may stand in a text as JSON."""
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except ValueError:
            return {"metadata": said} if said.strip() else {}
    if not isinstance(said, Mapping):
        return {}
    fields = cast("Mapping[str, Any]", said)
    return {name: str(value) for name, value in fields.items() if value is not None and name not in ("text", "title")}


def _place(
    unit: Mapping[str, Any], documents: Mapping[str, Document], behind: dict[str, int]
) -> tuple[Document | None, tuple[int, int]]:
    """Return the document of a unit and its characters there; 2.x lets a unit name several documents."""
    named = [unit["document_id"]] if unit.get("document_id") else list(unit.get("document_ids") or ())
    for document in filter(None, map(documents.get, named)):
        span = find_unit(unit["text"] or "", document.text, behind.get(document.id, 0))
        if span:
            behind[document.id] = span[0] + 1
            return document, span
    return None, (0, 0)
