"""An index as a property graph: nodes with labels, edges with types. What a graph database is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conspectus.index import Index


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    label: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    type: str
    properties: dict[str, Any]


def nodes(index: Index) -> Iterator[Node]:
    """Yield documents, chunks, entities, claims and communities with their reports; those of a label have
    equal keys."""
    for d in index.documents:
        yield Node(f"d{d.number}", "Document", {"key": d.id, "title": d.title, "date": d.date or ""})
    for c in index.chunks:
        yield Node(
            f"s{c.number}",
            "Chunk",
            {"key": c.id, "text": c.text, "start": c.start, "end": c.end, "tokens": c.n_tokens},
        )
    for e in index.entities:
        facts = {"key": e.id, "name": e.name, "type": e.type, "description": e.description}
        yield Node(f"e{e.number}", "Entity", facts | {"degree": e.degree, "frequency": e.frequency})
    for c in index.claims:
        facts = {"key": c.id, "subject": c.subject, "object": c.object, "type": c.type, "status": c.status}
        dates = {"start": c.start_date or "", "end": c.end_date or ""}
        yield Node(f"k{c.number}", "Claim", facts | {"description": c.description} | dates)
    for c in index.communities:
        report = index.report_of_community.get(c.number)
        told = (
            (report.title, report.summary, report.text, report.rating)
            if report
            else (f"Community {c.number}", "", "", 0.0)
        )
        facts = dict(zip(("title", "summary", "report", "rating"), told, strict=True))
        yield Node(f"c{c.number}", "Community", {"key": c.id, "level": c.level, "size": c.size} | facts)


def edges(index: Index) -> Iterator[Edge]:
    """Yield what joins them; an entity is `IN_COMMUNITY` of the deepest that holds it, the rest follows by
    `PART_OF`."""
    entity = index.entity_of_name
    for c in index.chunks:
        yield Edge(f"s{c.number}", f"d{index.document_of[c.document_id].number}", "OF_DOCUMENT", {})
    for e in index.entities:
        for chunk in e.chunk_ids:
            yield Edge(f"e{e.number}", f"s{index.chunk_of[chunk].number}", "NAMED_IN", {})
        for community in index.communities_of(e.number)[:1]:
            yield Edge(f"e{e.number}", f"c{community}", "IN_COMMUNITY", {})
    for r in index.relationships:
        facts = {"key": r.id, "description": r.description, "weight": r.weight, "strength": r.strength}
        yield Edge(f"e{entity[r.source]}", f"e{entity[r.target]}", "RELATED_TO", facts)
    for t in index.triples:
        if t.head in entity and t.tail in entity:
            yield Edge(f"e{entity[t.head]}", f"e{entity[t.tail]}", "TRIPLE", {"key": t.id, "relation": t.relation})
    for c in index.claims:
        if c.subject in entity:
            yield Edge(f"k{c.number}", f"e{entity[c.subject]}", "ABOUT", {})
        for chunk in c.chunk_ids:
            yield Edge(f"k{c.number}", f"s{index.chunk_of[chunk].number}", "STATED_IN", {})
    for c in index.communities:
        if c.parent >= 0:
            yield Edge(f"c{c.number}", f"c{c.parent}", "PART_OF", {})
