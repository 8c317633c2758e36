"""Write an index as tables (Parquet, CSV, DuckDB, pandas), as JSON, as a GraphRAG output folder, and as GraphML.

Tables have the names and columns of the files in `tables/` of an index: those of Microsoft GraphRAG first, then ours.
"""
# pyarrow, duckdb and networkx have no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from conspectus.errors import UsageError
from conspectus.interchange.graphrag_schema import SCHEMA
from conspectus.readers import GENERATED
from conspectus.rows import Report
from conspectus.storage import TABLES, encode

if TYPE_CHECKING:
    import pyarrow as pa

    from conspectus import Index
    from conspectus.interchange.map.scene import Scene

JSON_TABLES = (
    "documents",
    "chunks",
    "entities",
    "relationships",
    "triples",
    "claims",
    "communities",
    "reports",
    "joins",
    "failures",
)
"""The attributes of `Index` that the JSON export writes."""
_XML_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


# Tables


def arrow_tables(index: Index, only: str = "") -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the Arrow table of every table, or of the table `only`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, content in encode(index):
        if only in ("", name):
            yield name, pq.read_table(pa.BufferReader(pa.py_buffer(content)))


def write_parquet(index: Index, folder: Path) -> list[Path]:
    """Write one Parquet file per table; return the files."""
    written: list[Path] = []
    for name, content in encode(index):
        written.append(_with_folder(folder / f"{name}.parquet"))
        written[-1].write_bytes(content)
    return written


def write_graphrag(index: Index, folder: Path) -> list[Path]:
    """Write an output folder of Microsoft GraphRAG, with its columns only; return the files."""
    import pyarrow.parquet as pq

    written: list[Path] = []
    for name, table in arrow_tables(index):
        if name in SCHEMA:
            written.append(_with_folder(folder / f"{name}.parquet"))
            pq.write_table(table.select([column for column, _ in SCHEMA[name]]), written[-1])
    return written


def write_csv(index: Index, folder: Path) -> list[Path]:
    """Write one CSV file per table, lists and mappings as JSON; return the files."""
    from pyarrow import csv

    written: list[Path] = []
    for name, table in arrow_tables(index):
        written.append(_with_folder(folder / f"{name}.csv"))
        csv.write_csv(_with_json_columns(table), str(written[-1]))
    return written


def write_duckdb(index: Index, path: Path) -> list[str]:
    """Write a DuckDB database with the tables of the index; return their names.

    Raises UsageError if duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            "a DuckDB database needs duckdb: pip install 'conspectus[duckdb]'. Without it, DuckDB reads the tables as"
            " they are: SELECT * FROM '.conspectus/tables/entities.parquet'"
        ) from None
    temporary = _with_folder(path).with_name(f"{path.name}.part")
    temporary.unlink(missing_ok=True)
    names: list[str] = []
    try:
        with duckdb.connect(str(temporary)) as database:
            for name, table in arrow_tables(index):
                database.register("arrow_table", table)
                database.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arrow_table')  # noqa: S608  # names of ours
                database.unregister("arrow_table")
                names.append(name)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return names


def data_frame(index: Index, table: str) -> Any:
    """Return a table as a pandas DataFrame, by our name for it (`chunks`) or the name of its file (`text_units`).

    Raises UsageError for an unknown table, and if pandas is not installed.
    """
    files = {name: schema.file for name, schema in TABLES.items()}
    file = files.get(table, table)
    if file not in files.values():
        raise UsageError(f"there is no table {table!r}; there are {', '.join(files)}")
    try:
        import pandas  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise UsageError("a DataFrame needs pandas: pip install pandas") from None
    return next(arrow for name, arrow in arrow_tables(index, file) if name == file).to_pandas()


def _with_json_columns(table: pa.Table) -> pa.Table:
    """Return a table whose nested columns are JSON texts."""
    import pyarrow as pa

    for position, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in table[column.name].to_pylist()]
            table = table.set_column(position, column.name, pa.array(values, pa.string()))
    return table


def _with_folder(path: Path) -> Path:
    """Create the folder of a path; return the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another path") from None
    return path


# JSON


def json_parts(index: Index) -> Iterator[str]:
    """Yield an index as one JSON object in parts, one row a line: tables as lists of objects, named as in `rows`.

    Spans are lists of document id, start and end.
    """
    head = {"generator": GENERATED, "format": "conspectus", "version": 1, "snapshot": index.snapshot}
    yield json.dumps(head).removesuffix("}")
    for table in JSON_TABLES:
        yield f',\n"{table}": ['
        for position, row in enumerate(getattr(index, table)):
            value = _as_dict(row)
            if isinstance(row, Report):
                value["text"] = row.text
            yield (",\n" if position else "\n") + json.dumps(value, ensure_ascii=False, default=_as_dict)
        yield "]"
    yield "}\n"


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):  # json writes only mappings that are dicts
        return dict(cast("Mapping[str, Any]", value))
    return {field.name: getattr(value, field.name) for field in fields(value)}


# Graphs


def networkx_graph(index: Index) -> Any:
    """Return the graph of an index as a `networkx.Graph`; raise UsageError if networkx is not installed."""
    graph = _networkx().Graph()
    for entity in index.entities:
        graph.add_node(entity.name, type=entity.type, description=entity.description, frequency=entity.frequency)
    for edge in index.relationships:
        attributes = {"weight": edge.weight, "strength": edge.strength, "description": edge.description}
        graph.add_edge(edge.source, edge.target, **attributes)
    return graph


def graphml(scene: Scene, level: int = 0) -> Iterator[str]:
    """Yield the lines of a GraphML file for Gephi: the graph with the positions, sizes and colours of the map.

    Nodes are coloured by the communities of `level`. `community_0`, `community_1`, … are the community of a node on
    each level, `theme_0`, … the titles of their reports; a node without a community has -1 and no title.

    Raises UsageError if networkx is not installed.
    """
    networkx = _networkx()
    graph = networkx.Graph()
    for entity in scene.index.entities:
        x, y = scene.positions[entity.number].tolist()
        homes = [int(home[entity.number]) for home in scene.home]
        colour = scene.entity_colour(entity.number, level)
        attributes: dict[str, Any] = {
            "label": entity.name,
            "type": entity.type,
            "description": entity.description,
            "degree": entity.degree,
            "frequency": entity.frequency,
            "x": round(x, 2),
            "y": round(-y, 2),  # the y axis of Gephi points up
            "size": round(2 * float(scene.radius[entity.number]), 2),
            **dict(zip("rgb", (int(colour[i : i + 2], 16) for i in (1, 3, 5)), strict=True)),
            **{f"community_{n}": home for n, home in enumerate(homes)},
            **{f"theme_{n}": scene.title(home) if home >= 0 else "" for n, home in enumerate(homes)},
        }
        graph.add_node(f"n{entity.number}", **_xml_valid(attributes))
    number = scene.index.entity_of_name
    for edge in scene.index.relationships:
        attributes = {"weight": edge.weight, "strength": edge.strength, "description": edge.description}
        graph.add_edge(f"n{number[edge.source]}", f"n{number[edge.target]}", **_xml_valid(attributes))
    yield from networkx.generate_graphml(graph)


def _xml_valid(attributes: dict[str, Any]) -> dict[str, Any]:
    return {k: _XML_INVALID.sub(" ", v) if isinstance(v, str) else v for k, v in attributes.items()}


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise UsageError("a networkx graph and GraphML need networkx: pip install 'conspectus[graph]'") from None
    return networkx
