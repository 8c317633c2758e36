"""An index as an output folder of Microsoft GraphRAG: its tables, in its names, with its columns alone."""
# pyarrow carries no types of its own:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from pathlib import Path

from conspectus.index import Index
from conspectus.interchange.graphrag_schema import SCHEMA
from conspectus.storage import encode


def write_graphrag(index: Index, folder: Path) -> list[Path]:
    """Write the tables that GraphRAG's readers read; return the files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for table, content in encode(index):
        if table in SCHEMA:
            path = folder / f"{table}.parquet"
            columns = [name for name, _ in SCHEMA[table]]
            pq.write_table(pq.read_table(pa.BufferReader(pa.py_buffer(content)), columns=columns), path)
            written.append(path)
    return written
