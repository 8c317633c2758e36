"""The tables of an index under plain names: a folder of Parquet or CSV files, a DuckDB database, a DataFrame.

Names and columns are those of the files in `tables/` of an index: Microsoft GraphRAG's first, then our own.
"""
# pyarrow and duckdb carry no types of their own:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.storage import TABLES, encode

if TYPE_CHECKING:
    import pyarrow as pa

    from conspectus.index import Index


def write_parquet(index: Index, folder: Path) -> list[Path]:
    """Write a Parquet file for each table; return the files."""
    written: list[Path] = []
    for name, content in encode(index):
        written.append(_made(folder / f"{name}.parquet"))
        written[-1].write_bytes(content)
    return written


def write_csv(index: Index, folder: Path) -> list[Path]:
    """Write a CSV file for each table; lists and mappings are in it as JSON. Return the files."""
    from pyarrow import csv

    written: list[Path] = []
    for name, table in arrow_tables(index):
        written.append(_made(folder / f"{name}.csv"))
        csv.write_csv(_flat(table), str(written[-1]))
    return written


def write_duckdb(index: Index, path: Path) -> list[str]:
    """Write a DuckDB database with a table for each of the index; return their names.

    Raises UsageError where duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            "a DuckDB database needs duckdb: pip install 'conspectus[duckdb]'. Without it, DuckDB reads the tables as"
            " they are: SELECT * FROM '.conspectus/tables/entities.parquet'"
        ) from None
    temporary = _made(path).with_name(f"{path.name}.part")
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
    """Return a table as a pandas DataFrame: by our name for it (`chunks`) or by that of its file (`text_units`).

    Raises UsageError for another name, and where pandas is not installed.
    """
    files = {name: known.file for name, known in TABLES.items()}
    wanted = files.get(table, table)
    if wanted not in files.values():
        raise UsageError(f"there is no table {table!r}; there are {', '.join(files)}")
    try:
        import pandas  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise UsageError("a DataFrame needs pandas: pip install pandas") from None
    return next(arrow for name, arrow in arrow_tables(index, wanted) if name == wanted).to_pandas()


def networkx_graph(index: Index) -> Any:
    """Return the graph of an index as a `networkx.Graph`; raise UsageError where networkx is not installed."""
    try:
        import networkx  # pyright: ignore[reportMissingImports, reportMissingModuleSource]
    except ImportError:
        raise UsageError("a graph of networkx needs networkx: pip install networkx") from None
    graph = networkx.Graph()
    for entity in index.entities:
        graph.add_node(entity.name, type=entity.type, description=entity.description, frequency=entity.frequency)
    for edge in index.relationships:
        more = {"weight": edge.weight, "strength": edge.strength, "description": edge.description}
        graph.add_edge(edge.source, edge.target, **more)
    return graph


def arrow_tables(index: Index, only: str = "") -> Iterator[tuple[str, pa.Table]]:
    """Yield name and Arrow table of each table, or of one alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, content in encode(index):
        if only in ("", name):
            yield name, pq.read_table(pa.BufferReader(pa.py_buffer(content)))


def _flat(table: pa.Table) -> pa.Table:
    """Return a table whose nested columns are JSON."""
    import pyarrow as pa

    for place, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in table[column.name].to_pylist()]
            table = table.set_column(place, column.name, pa.array(values, pa.string()))
    return table


def _made(path: Path) -> Path:
    """Return a path after making the folder that holds it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another path") from None
    return path
