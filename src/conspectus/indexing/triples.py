"""Triples as rows: those that a model extracted from chunks, of an OpenIE file, and of a graph given without text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from conspectus.errors import DocumentError, UsageError
from conspectus.index import Index
from conspectus.indexing.arrays import inverted_indexes
from conspectus.indexing.communities import find_communities
from conspectus.indexing.merge import merge
from conspectus.indexing.resolve import resolve
from conspectus.readers.encodings import decode
from conspectus.rows import Entity, Failure, Relationship, Triple, content_id
from conspectus.settings import CommunitySettings, ResolveSettings
from conspectus.tasks import FoundTriple
from conspectus.text.lexicon import read_lexicon

OPENIE = "openie"
"""Where the origin of an index names the file whose triples it was given."""

TripleText = tuple[str, str, str]
"""Subject, relation and object, as texts."""

# Knowledge graphs without documents


@dataclass(frozen=True)
class GivenGraph:
    """A knowledge graph read from a file: each triple once, and what could not be read."""

    triples: Sequence[TripleText]
    failures: Sequence[Failure] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Long texts about entities, by name."""


def index_of(graph: GivenGraph, settings: CommunitySettings | None = None) -> Index:
    """Return an index of a graph alone: names as entities, pairs of names as relationships, and their communities."""
    rows = graph_rows(graph)
    communities = find_communities(rows["entities"], rows["relationships"], settings or CommunitySettings())
    return Index(**rows, communities=communities, failures=graph.failures, **_no_text())


def graph_rows(graph: GivenGraph) -> dict[str, Any]:
    """Return the entities, relationships and triples of a given graph."""
    rows = [Triple(content_id(*texts), i, *texts) for i, texts in enumerate(graph.triples)]
    entities = [replace(e, description=graph.descriptions.get(e.name, e.description)) for e in entities_of(rows)]
    return {"entities": entities, "relationships": relationships_of(rows), "triples": rows}


def _no_text() -> dict[str, Any]:
    """Return the words and arrays of an index without documents, which every method expects to be there."""
    names = resolve([], [], [], ResolveSettings())
    words, arrays = inverted_indexes([], [], read_lexicon([], ()), merge([], names), names)
    return {"words": words, "arrays": arrays}


def entities_of(triples: Sequence[Triple]) -> list[Entity]:
    """Return the names of triples as entities, in the order in which they occur; the degree counts neighbours."""
    near: dict[str, set[str]] = {}
    chunks: dict[str, dict[str, None]] = {}
    for triple in triples:
        near.setdefault(triple.head, set()).add(triple.tail)
        near.setdefault(triple.tail, set()).add(triple.head)
        for chunk in triple.chunk_ids:
            chunks.setdefault(triple.head, {})[chunk] = None
            chunks.setdefault(triple.tail, {})[chunk] = None
    return [
        Entity(
            content_id("entity", name), i, name, "", "", tuple(chunks.get(name, ())), degree=len(others - {name})
        )
        for i, (name, others) in enumerate(near.items())
    ]


def relationships_of(triples: Sequence[Triple]) -> list[Relationship]:
    """Return an undirected relationship for each pair of names, with all triples between them as its description."""
    pairs: dict[tuple[str, str], list[Triple]] = {}
    degree: dict[str, int] = {}
    for triple in triples:
        if triple.head != triple.tail:
            pair = (triple.head, triple.tail) if triple.head < triple.tail else (triple.tail, triple.head)
            if pair not in pairs:
                pairs[pair] = []
                for end in pair:
                    degree[end] = degree.get(end, 0) + 1
            pairs[pair].append(triple)
    rows: list[Relationship] = []
    for i, ((source, target), between) in enumerate(pairs.items()):
        text = "; ".join(f"{t.head} {t.relation.replace('_', ' ')} {t.tail}" for t in between)
        chunks = tuple(dict.fromkeys(c for t in between for c in t.chunk_ids))
        rows.append(
            Relationship(
                content_id("relationship", source, target), i, source, target, text, float(len(between)),
                chunk_ids=chunks, combined_degree=degree[source] + degree[target],
            )
        )  # fmt: skip
    return rows


# Triples of chunks


def triples_of(extracted: Iterable[tuple[str, Sequence[FoundTriple]]]) -> list[Triple]:
    """Return the triples of chunks, given by their ids, as rows; a triple of several chunks is one row."""
    chunks: dict[TripleText, dict[str, None]] = {}
    for chunk, triples in extracted:
        for triple in triples:
            chunks.setdefault((triple.head, triple.relation, triple.tail), {})[chunk] = None
    return [Triple(content_id(*texts), i, *texts, tuple(ids)) for i, (texts, ids) in enumerate(chunks.items())]


@dataclass(frozen=True)
class OpenIe:
    """The triples of one passage in an OpenIE file; `dropped` counts entries that are no triple of three texts."""

    id: str
    triples: tuple[FoundTriple, ...]
    dropped: int = 0


def read_openie(path: Path) -> list[OpenIe]:
    """Read named entities and triples of passages, a JSON object a line: `_id`, `entities`, `triples` as lists of 3.

    Raises DocumentError, naming the line, where a line is no such object.
    """
    try:
        lines = decode(path.read_bytes()).text.split("\n")
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    read: list[OpenIe] = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = cast("Mapping[str, Any]", json.loads(line))
            given = cast("list[Any]", record["triples"])
            lists = (cast("list[Any]", t) for t in given if isinstance(t, list))
            triples = [FoundTriple(*(" ".join(str(part).split()) for part in t)) for t in lists if len(t) == 3]
            whole = tuple(t for t in triples if t.head and t.relation and t.tail)
            read.append(OpenIe(str(record["_id"]), whole, len(given) - len(whole)))
        except (ValueError, KeyError, TypeError) as error:
            raise DocumentError(f"{path}, line {n}: not an object with _id and triples ({error})") from None
    return read


def with_openie(index: Index, passages: Sequence[OpenIe], source: str = "") -> Index:
    """Return the index with the triples of passages in place of its own; its graph and reports stay as they are.

    A passage is the document whose record had its `_id` (or `id`), and its triples belong to all its chunks. What has
    no document, or is no triple, is a failure of stage `import`.

    Raises UsageError where no passage has a document.
    """
    chunks: dict[str, list[str]] = {}
    for chunk in index.chunks:
        chunks.setdefault(chunk.document_id, []).append(chunk.id)
    documents = {
        key: d for d in index.documents for key in (d.metadata.get("_id"), d.metadata.get("id"), d.path) if key
    }
    matched = [p for p in passages if p.id in documents]
    if not matched:
        raise UsageError(
            f"none of the {len(passages)} passages of {source or 'the file'} is a document of this index; "
            "index the corpus whose records have their _id first"
        )
    by_chunk = [(chunk, p.triples) for p in matched for chunk in chunks.get(documents[p.id].id, ())]
    unmatched = [p for p in passages if p.id not in documents]
    dropped = sum(p.dropped for p in matched)
    failures = [f for f in index.failures if f.stage != "import"]
    if unmatched:
        missing = f"{len(unmatched)} passages have no document here, the first {unmatched[0].id}"
        failures.append(Failure("import", missing, source))
    if dropped:
        failures.append(Failure("import", f"{dropped} entries are no triples of head, relation and tail", source))
    return replace(
        index, triples=triples_of(by_chunk), failures=failures, origin={**index.origin, OPENIE: source}
    )


def with_openie_of(before: Index, index: Index) -> tuple[Index, tuple[str, ...]]:
    """Return an index with the imported triples of one before, as far as their chunks are the same, and what of them
    is gone or missing. An index whose model found triples keeps those.
    """
    if OPENIE not in before.origin or index.triples:
        return index, ()
    source, present = before.origin[OPENIE], {chunk.id for chunk in index.chunks}
    rows = ((t, tuple(chunk for chunk in t.chunk_ids if chunk in present)) for t in before.triples)
    remaining = [(triple, chunks) for triple, chunks in rows if chunks]
    triples = [replace(triple, number=i, chunk_ids=chunks) for i, (triple, chunks) in enumerate(remaining)]
    removed = sum(chunk.id not in present for chunk in before.chunks)
    new = len(present) - (len(before.chunks) - removed)
    notice = (
        f"Imported triples were kept of {len(present) - new:,} chunks that are the same; {removed:,} chunks are gone "
        f"with theirs, and {new:,} new ones have none: conspectus import openie {source or 'FILE'} brings them.",
    )
    return replace(
        index, triples=triples, origin={**index.origin, OPENIE: source}
    ), notice if removed or new else ()
