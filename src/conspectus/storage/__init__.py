"""Conversion between rows and Parquet: the columns of every table, and how values become Arrow arrays and back.

Each table first has the columns of Microsoft GraphRAG 3.x, with its names, order and types, then our own, so that
other tools can read our tables. A column that stores a field of a row is read back into it. A computed column
(`entity_ids` of a chunk, the JSON of a report) is written only for other tools.
"""

import os

# Arrow reads this on import. Its own pool would take some 16 MB, whichever pool is selected in Python later.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

from conspectus.storage.tables import TABLES, Stored, encode

__all__ = ["TABLES", "Stored", "encode"]
