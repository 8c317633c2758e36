"""Between rows and Parquet: the columns of every table, and how values become Arrow arrays and back.

Each table has the columns of Microsoft GraphRAG 3.x first, in its names, order and types, then our own; so
other tools read our tables as they are. A column that holds a field of the row is read back into it. A column
that is computed (`entity_ids` of a chunk, the JSON of a report) is written for those tools alone.
"""

import os

# Arrow reads it when it is imported. Its own pool keeps some 16 MB for itself, whatever pool Python is told to use.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

from conspectus.storage.tables import TABLES, Stored, encode

__all__ = ["TABLES", "Stored", "encode"]
