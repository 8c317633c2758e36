"""An index for Neo4j: CSV files for its bulk import, or Cypher for a database that runs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from conspectus.index import Index
from conspectus.interchange.property_graph import Edge, Node, edges, nodes
from conspectus.readers.found import list_generated

BATCH = 500
"""Rows of one Cypher statement."""
_KINDS = {int: ":long", float: ":double", str: ""}


def write_csv(index: Index, folder: Path) -> list[Path]:
    """Write one CSV file for each label and type, and `import.txt` with the command that reads them; return
    the files.

    Edges name their ends by ids that are unique over all labels. Text is UTF-8, quoted where it must be, and
    may hold newlines: `--multiline-fields=true` lets them through.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    command = ["neo4j-admin database import full neo4j --multiline-fields=true"]
    for label, group in groupby(nodes(index), key=lambda node: node.label):
        rows = [({":ID": node.id} | node.properties) for node in group]
        files.append(_write(folder / f"{label.lower()}.csv", rows))
        command.append(f"--nodes={label}={files[-1].name}")
    for type_, found in sorted(_by_type(edges(index)).items()):
        rows = [{":START_ID": edge.source, ":END_ID": edge.target} | edge.properties for edge in found]
        files.append(_write(folder / f"{type_.lower()}.csv", rows))
        command.append(f"--relationships={type_}={files[-1].name}")
    (folder / "import.txt").write_text(" \\\n  ".join(command) + "\n", "utf-8")
    list_generated(folder, ["import.txt", *(file.name for file in files)])
    return [*files, folder / "import.txt"]


def _by_type(found: Iterable[Edge]) -> dict[str, list[Edge]]:
    by_type: dict[str, list[Edge]] = {}
    for edge in found:
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
    """Yield statements, one a line, that put an index into a database; run again, they change nothing."""
    yield "CREATE CONSTRAINT conspectus_id IF NOT EXISTS FOR (n:Conspectus) REQUIRE n.id IS UNIQUE;"
    for label, group in groupby(nodes(index), key=lambda node: node.label):
        for rows in _batches([{"id": n.id, "set": n.properties} for n in group]):
            yield f"UNWIND {rows} AS row MERGE (n:Conspectus {{id: row.id}}) SET n:{label}, n += row.set;"
    for type_, found in sorted(_by_type(edges(index)).items()):
        one = " {key: row.set.key}" if "key" in found[0].properties else ""  # there may be several between two nodes
        for rows in _batches([{"a": e.source, "b": e.target, "set": e.properties} for e in found]):
            yield (
                f"UNWIND {rows} AS row MATCH (a:Conspectus {{id: row.a}}), (b:Conspectus {{id: row.b}}) "
                f"MERGE (a)-[r:{type_}{one}]->(b) SET r += row.set;"
            )


def _batches(rows: list[dict[str, Any]]) -> Iterator[str]:
    for start in range(0, len(rows), BATCH):
        yield literal(rows[start : start + BATCH])


def literal(value: Any) -> str:
    """Return a value as Cypher writes it; every string stays one string, whatever stands in it."""
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
"""A backslash goes first of all: Cypher also reads \\uXXXX, even outside of strings."""


def write_cypher(index: Index, path: Path) -> None:
    """Write the statements to a file, for `cypher-shell -f`."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in cypher(index))


__all__ = ["Node", "cypher", "literal", "write_csv", "write_cypher"]
