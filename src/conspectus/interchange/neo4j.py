"""Export an index to Neo4j as a property graph: CSV files for its bulk import, or Cypher for a running database."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conspectus import Index
from conspectus.readers import list_generated

BATCH = 500
"""Rows per Cypher statement: larger statements take the database longer to parse than to run."""
_KINDS = {int: ":long", float: ":double", str: ""}
"""How the header of a CSV file names the type of a column."""

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""Rows by the label of a node or the type of an edge; those of one have the same properties."""


def write_neo4j(index: Index, folder: Path) -> None:
    """Write one CSV file per label and type, and `import.txt` with the command that imports them.

    Edges name their ends by ids that are unique over all labels. Texts may contain newlines, which need
    `--multiline-fields=true`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = ["neo4j-admin database import full neo4j --multiline-fields=true"]
    names = ["import.txt"]
    for option, tables in (("nodes", nodes(index)), ("relationships", edges(index))):
        for label, rows in tables.items():
            names.append(f"{label.lower()}.csv")
            command.append(f"--{option}={label}={names[-1]}")
            with (folder / names[-1]).open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                header = rows[0].items()
                writer.writerow(
                    [name if name[0] == ":" else name + _KINDS[type(value)] for name, value in header]
                )
                writer.writerows(row.values() for row in rows)
    (folder / "import.txt").write_text(" \\\n  ".join(command) + "\n", "utf-8")
    list_generated(folder, names)


def cypher(index: Index) -> Iterator[str]:
    """Yield statements, one per line, that add an index to a database; running them again changes nothing."""
    yield "CREATE CONSTRAINT conspectus_id IF NOT EXISTS FOR (n:Conspectus) REQUIRE n.id IS UNIQUE;\n"
    for label, rows in nodes(index).items():
        for batch in _batches(rows, {"id": ":ID"}):
            yield f"UNWIND {batch} AS row MERGE (n:Conspectus {{id: row.id}}) SET n:{label}, n += row.set;\n"
    for type_, rows in edges(index).items():
        key = " {key: row.set.key}" if "key" in rows[0] else ""  # several may join the same two nodes
        for batch in _batches(rows, {"a": ":START_ID", "b": ":END_ID"}):
            yield (
                f"UNWIND {batch} AS row MATCH (a:Conspectus {{id: row.a}}), (b:Conspectus {{id: row.b}}) "
                f"MERGE (a)-[r:{type_}{key}]->(b) SET r += row.set;\n"
            )


def _batches(rows: list[Row], ids: dict[str, str]) -> Iterator[str]:
    for start in range(0, len(rows), BATCH):
        batch = [
            {name: row[column] for name, column in ids.items()}
            | {"set": {name: value for name, value in row.items() if name[0] != ":"}}
            for row in rows[start : start + BATCH]
        ]
        yield "[" + ", ".join(map(literal, batch)) + "]"


def literal(value: Any) -> str:
    """Return a value as a Cypher literal, with every character of a string escaped that could end it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"`{key}`: {literal(inner)}" for key, inner in value.items()) + "}"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, str):
        return "'" + value.replace("\x00", "").translate(_ESCAPES) + "'"
    return json.dumps(value)


_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""The backslash matters most: Cypher reads \\uXXXX everywhere, even outside of strings."""


def nodes(index: Index) -> Rows:
    """Return documents, chunks, entities, claims and communities with their reports, by label."""
    rows: Rows = {
        "Document": [
            {":ID": f"d{d.number}", "key": d.id, "title": d.title, "date": d.date or ""} for d in index.documents
        ],
        "Chunk": [
            {
                ":ID": f"s{c.number}",
                "key": c.id,
                "text": c.text,
                "start": c.start,
                "end": c.end,
                "tokens": c.n_tokens,
            }
            for c in index.chunks
        ],
        "Entity": [
            {":ID": f"e{e.number}"}
            | {name: getattr(e, name) for name in ("name", "type", "description", "degree", "frequency")}
            | {"key": e.id}
            for e in index.entities
        ],
        "Claim": [
            {":ID": f"k{c.number}"}
            | {name: getattr(c, name) for name in ("subject", "object", "type", "status", "description")}
            | {"key": c.id, "start": c.start_date or "", "end": c.end_date or ""}
            for c in index.claims
        ],
        "Community": [],
    }
    for c in index.communities:
        report = index.report_of_community.get(c.number)
        text = {"title": f"Community {c.number}", "summary": "", "report": "", "rating": 0.0}
        if report:
            text = {
                "title": report.title,
                "summary": report.summary,
                "report": report.text,
                "rating": report.rating,
            }
        rows["Community"].append({":ID": f"c{c.number}", "key": c.id, "level": c.level, "size": c.size} | text)
    return {label: of_label for label, of_label in rows.items() if of_label}


def edges(index: Index) -> Rows:
    """Return the edges by type; an entity is `IN_COMMUNITY` of its deepest one only, which is `PART_OF` others."""
    rows: Rows = {}

    def add(type_: str, start: str, end: str, **properties: Any) -> None:
        rows.setdefault(type_, []).append({":START_ID": start, ":END_ID": end} | properties)

    entity = index.entity_of_name
    for c in index.chunks:
        add("OF_DOCUMENT", f"s{c.number}", f"d{index.document_of[c.document_id].number}")
    for e in index.entities:
        for chunk in e.chunk_ids:
            add("NAMED_IN", f"e{e.number}", f"s{index.chunk_of[chunk].number}")
        for community in index.communities_of(e.number)[:1]:
            add("IN_COMMUNITY", f"e{e.number}", f"c{community}")
    for r in index.relationships:
        facts = {"key": r.id, "description": r.description, "weight": r.weight, "strength": r.strength}
        add("RELATED_TO", f"e{entity[r.source]}", f"e{entity[r.target]}", **facts)
    for t in index.triples:
        if t.head in entity and t.tail in entity:
            add("TRIPLE", f"e{entity[t.head]}", f"e{entity[t.tail]}", key=t.id, relation=t.relation)
    for c in index.claims:
        if c.subject in entity:
            add("ABOUT", f"k{c.number}", f"e{entity[c.subject]}")
        for chunk in c.chunk_ids:
            add("STATED_IN", f"k{c.number}", f"s{index.chunk_of[chunk].number}")
    for c in index.communities:
        if c.parent >= 0:
            add("PART_OF", f"c{c.number}", f"c{c.parent}")
    return rows
