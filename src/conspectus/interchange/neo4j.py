"""Export an index to Neo4j as a property graph: CSV files for its bulk import, or Cypher for a running database."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from conspectus import Index
from conspectus.readers import list_generated

BATCH = 500
"""Rows per Cypher statement: larger statements take the database longer to parse than to run."""
_KINDS = {int: ":long", float: ":double", str: ""}


def write_csv(index: Index, folder: Path) -> list[Path]:
    """Write one CSV file per label and type, and `import.txt` with the command that imports them; return the files.

    Edges name their ends by ids that are unique over all labels. Texts may contain newlines, which need
    `--multiline-fields=true`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    command = ["neo4j-admin database import full neo4j --multiline-fields=true"]
    for label, group in groupby(nodes(index), key=lambda node: node.label):
        rows = [({":ID": node.id} | node.properties) for node in group]
        files.append(_write(folder / f"{label.lower()}.csv", rows))
        command.append(f"--nodes={label}={files[-1].name}")
    for type_, group in sorted(_by_type(edges(index)).items()):
        rows = [{":START_ID": edge.source, ":END_ID": edge.target} | edge.properties for edge in group]
        files.append(_write(folder / f"{type_.lower()}.csv", rows))
        command.append(f"--relationships={type_}={files[-1].name}")
    (folder / "import.txt").write_text(" \\\n  ".join(command) + "\n", "utf-8")
    list_generated(folder, ["import.txt", *(file.name for file in files)])
    return [*files, folder / "import.txt"]


def _by_type(all_edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    by_type: dict[str, list[Edge]] = {}
    for edge in all_edges:
        by_type.setdefault(edge.type, []).append(edge)
    return by_type


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = list(rows[0])
        writer.writerow([name if name[0] == ":" else name + _KINDS[type(rows[0][name])] for name in names])
        writer.writerows([row[name] for name in names] for row in rows)
    return path


def cypher(index: Index) -> Iterator[str]:
    """Yield statements, one per line, that add an index to a database; running them again changes nothing."""
    yield "CREATE CONSTRAINT conspectus_id IF NOT EXISTS FOR (n:Conspectus) REQUIRE n.id IS UNIQUE;"
    for label, group in groupby(nodes(index), key=lambda node: node.label):
        for rows in _batches([{"id": n.id, "set": n.properties} for n in group]):
            yield f"UNWIND {rows} AS row MERGE (n:Conspectus {{id: row.id}}) SET n:{label}, n += row.set;"
    for type_, group in sorted(_by_type(edges(index)).items()):
        key = " {key: row.set.key}" if "key" in group[0].properties else ""  # several may join the same two nodes
        for rows in _batches([{"a": e.source, "b": e.target, "set": e.properties} for e in group]):
            yield (
                f"UNWIND {rows} AS row MATCH (a:Conspectus {{id: row.a}}), (b:Conspectus {{id: row.b}}) "
                f"MERGE (a)-[r:{type_}{key}]->(b) SET r += row.set;"
            )


def _batches(rows: list[dict[str, Any]]) -> Iterator[str]:
    for start in range(0, len(rows), BATCH):
        yield literal(rows[start : start + BATCH])


def literal(value: Any) -> str:
    """Return a value as a Cypher literal, with every character of a string escaped that could end it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {literal(inner)}" for key, inner in value.items()) + "}"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        return "'" + "".join(_ESCAPES.get(c, c) for c in value) + "'"
    return repr(value)


def _key(name: str) -> str:
    return f"`{name}`"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": ""}
"""The backslash matters most: Cypher reads \\uXXXX everywhere, even outside of strings."""


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
    """Yield documents, chunks, entities, claims and communities with their reports, grouped by label.

    Nodes of the same label have the same properties.
    """
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
        facts: dict[str, Any] = {"title": f"Community {c.number}", "summary": "", "report": "", "rating": 0.0}
        if report:
            facts = {"title": report.title, "summary": report.summary, "report": report.text, "rating": report.rating}
        yield Node(f"c{c.number}", "Community", {"key": c.id, "level": c.level, "size": c.size} | facts)


def edges(index: Index) -> Iterator[Edge]:
    """Yield the edges between them; an entity is `IN_COMMUNITY` of its deepest one only, which is `PART_OF` others."""
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
