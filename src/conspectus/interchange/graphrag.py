"""Reads an output folder of Microsoft GraphRAG (3.x, 2.x and 1.x) as an index of ours.

Everything it holds is taken over: documents, text units, entities, relationships, claims, communities and
reports, with its names and ids. What does not fit is kept, completed or dropped by the rules in `RULES`, and
counted. The sentences of the documents are read anew, since the extractive model answers from them, and what
they mention is found by the names of the entities.
"""

# pyarrow carries no types of its own:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conspectus import tokens
from conspectus.errors import IndexDamaged
from conspectus.interchange.graphrag_graph import (
    Numbers,
    read_claims,
    read_communities,
    read_entities,
    read_relationships,
    read_reports,
)
from conspectus.interchange.graphrag_schema import MIGRATE, tables_in
from conspectus.interchange.matching import Names
from conspectus.interchange.placing import find_unit, plain
from conspectus.rows import Chunk, Document, Entity, Join, Relationship, Span, content_id
from conspectus.tables import Index
from conspectus.text.quality import quality

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
}
"""What does not fit, and what becomes of it."""
SPANS = 10
"""Places kept for one entity or relationship."""


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


def read_graphrag(folder: Path) -> Imported:
    """Read an output folder of GraphRAG, or a project folder that has one.

    Raises IndexMissing where there is none, IndexDamaged where a table lacks what is needed.
    """
    tables = {name: _rows(path) for name, path in tables_in(folder).items()}
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
        advice = MIGRATE if "title" not in tables.get("entities", [{}])[0] else "write them again"
        raise IndexDamaged(f"the tables in {folder} lack the column or table {missing}; {advice}") from None
    held = {number for community in communities for number in community.entity_numbers}
    if communities:
        made = counts["entities made for missing ends"]
        counts["entities in no community"] = len(entities) - len(held) - made
    index = Index(
        documents=documents, chunks=chunks, entities=entities, relationships=relationships, claims=claims,
        communities=communities, reports=reports,
        settings={"imported": {"format": "graphrag", "counts": dict(counts)}},
    )  # fmt: skip
    return Imported(_with_sentences(index), dict(counts))


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
    facts = {name: str(row[name]) for name in ("creation_date", "raw_data", "metadata") if row.get(name)}
    title = str(row["title"])
    return Document(row["id"], number, title, plain(row["text"] or ""), title, metadata=facts)


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


# The sentences


def _with_sentences(index: Index) -> Index:
    """Add the lexical arrays, and the places in the text that entities and relationships are named at."""
    import numpy as np

    from conspectus.index.incidence import walk_arrays, walk_terms
    from conspectus.index.lexical import lexical_arrays
    from conspectus.index.merge import Element, Merged
    from conspectus.index.resolve import Names as Resolved
    from conspectus.text.lexicon import read_lexicon
    from conspectus.text.words import name_key

    lexicon = read_lexicon(index.documents)
    elements = [Element((name_key(e.name) or e.name,)) for e in index.entities]
    merged = Merged(list(index.entities), list(index.relationships), elements, [])
    words, arrays = lexical_arrays(index.documents, index.chunks, lexicon, merged, Resolved({}, {}, {}, {}, []))
    table = lexicon.sentences
    number = {word: i for i, word in enumerate(words)}
    arrays |= walk_terms(index.documents, table, lexicon.term_starts, lexicon.term_ids, number)
    arrays |= walk_arrays(index.documents, index.chunks, table, lexicon.texts, lexicon.vocabulary)
    names = Names(index.entities, lexicon.texts)
    found = [names.find(text) for text in lexicon.texts]
    starts = np.cumsum([0, *map(len, found)]).astype(np.int32)
    mentions = np.array([number for row in found for number in row], np.int32)
    arrays |= {"sentences.mention_starts": starts, "sentences.mentions": mentions}
    rows = zip(table.document.tolist(), table.start.tolist(), table.end.tolist(), strict=True)
    spans = [Span(index.documents[d].id, start, end) for d, start, end in rows]
    worth = [quality(text) for text in lexicon.texts]
    entities, relationships = _placed(index, found, spans, worth, names.short)
    joins = [
        Join(word, index.entities[number].name, "last name", "no other entity has it at its end")
        for number, word in sorted(names.short.items())
        if entities[number].aliases
    ]
    return replace(index, entities=entities, relationships=relationships, joins=joins, words=words, arrays=arrays)


def _placed(
    index: Index,
    found: Sequence[Sequence[int]],
    spans: Sequence[Span],
    worth: Sequence[float],
    short: Mapping[int, str],
) -> tuple[list[Entity], list[Relationship]]:
    """Return the graph with the sentences that name each thing, or both ends, in its own chunks; the
    clearest first."""
    naming: dict[int, list[int]] = defaultdict(list)
    for sentence, numbers in enumerate(found):
        for number in numbers:
            naming[number].append(sentence)

    def places(sentences: Sequence[int], chunk_ids: Sequence[str]) -> tuple[Span, ...]:
        own = [index.chunk_of[c].span for c in chunk_ids]
        inside = [s for s in sentences if any(_holds(chunk, spans[s]) for chunk in own)]
        return tuple(spans[s] for s in sorted(inside, key=lambda s: (-worth[s], s))[:SPANS])

    entities = [
        replace(
            e,
            spans=places(naming[e.number], e.chunk_ids),
            aliases=(*e.aliases, short[e.number]) if e.number in short else e.aliases,
        )
        for e in index.entities
    ]
    number = index.entity_of_name
    relationships = [
        replace(r, spans=places(sorted({*naming[number[r.source]]} & {*naming[number[r.target]]}), r.chunk_ids))
        for r in index.relationships
    ]
    return entities, relationships


def _holds(outer: Span, inner: Span) -> bool:
    return outer.document_id == inner.document_id and outer.start <= inner.start and inner.end <= outer.end
