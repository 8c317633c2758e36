"""The tables of Microsoft GraphRAG 3.x, column by column, and a check of tables against them.

Written from GraphRAG's own output and not from `storage.schema`, so that each can be tested against the other.
"""
# pyarrow has no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.storage import store

PREFIX_OF_1 = "create_final_"
"""Prefix of the table files of GraphRAG 1.x."""
MIGRATE = "bring it up to date with its notebook index_migration_to_v1.ipynb, then import it again"

_TYPES = {
    "int64": "human_readable_id n_tokens frequency degree combined_degree community level parent size",
    "double": "weight rank",
    "list<element: string>": "text_unit_ids entity_ids relationship_ids covariate_ids",
    "list<element: int64>": "children",
    "list<element: struct<explanation: string, summary: string>>": "findings",
}
"""The columns of each Arrow type; those that are not named are strings."""
_TYPE_OF = {name: type_ for type_, names in _TYPES.items() for name in names.split()}
_TREE = "community level parent children title"
_COLUMNS = {
    "documents": "title text text_unit_ids creation_date raw_data",
    "text_units": "text n_tokens document_id entity_ids relationship_ids covariate_ids",
    "entities": "title type description text_unit_ids frequency degree",
    "relationships": "source target description weight combined_degree text_unit_ids",
    "communities": f"{_TREE} entity_ids relationship_ids text_unit_ids period size",
    "community_reports": f"{_TREE} summary full_content rank rating_explanation findings full_content_json period size",
    "covariates": "covariate_type type description subject_id object_id status start_date end_date source_text "
    "text_unit_id",
}
SCHEMA: Mapping[str, Mapping[str, str]] = {
    table: {name: _TYPE_OF.get(name, "string") for name in f"id human_readable_id {columns}".split()}
    for table, columns in _COLUMNS.items()
}
"""Names and Arrow types of the columns of each table, in order."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A column that differs from what readers of GraphRAG's tables expect."""

    table: str
    column: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column} should be {self.expected} and is {self.actual}"


def check_schema(folder: Path) -> list[Mismatch]:
    """Compare the tables of a folder with the schema of GraphRAG 3.x; return the columns that differ.

    The folder is an index or an output folder of GraphRAG. The columns of GraphRAG must come first, in their order;
    our own may follow. Raises IndexMissing if the folder is neither.
    """
    files = tables_in(folder)
    mismatches: list[Mismatch] = []
    for table in SCHEMA:
        if table in files:
            mismatches += _differences(table, files[table])
        elif table != "covariates":  # written only if claims are extracted
            mismatches.append(Mismatch(table, "*", "a table", "missing"))
    return mismatches


def _differences(table: str, file: Path) -> Iterator[Mismatch]:
    try:
        schema = pq.read_schema(file)
    except (OSError, ValueError) as error:
        raise IndexDamaged(f"{file} is not a Parquet file ({error}); write it again") from error
    for position, (name, type_) in enumerate(SCHEMA[table].items()):
        expected = f"{type_} in column {position + 1}"
        if name not in schema.names:
            yield Mismatch(table, name, expected, "missing")
            continue
        at = schema.get_field_index(name)
        actual = _type(schema.field(at).type)
        if at != position or actual not in (type_, "null"):  # null: a column without any value
            yield Mismatch(table, name, expected, f"{actual} in column {at + 1}")


def _type(type_: Any) -> str:
    """Return an Arrow type as text, without differences that no reader sees (large texts, names of list elements)."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<element: {_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = sorted((field.name, _type(field.type)) for field in type_)
        return f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields)}>"
    return str(type_).removeprefix("large_")


def tables_in(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of a folder by table, named as in GraphRAG 3.x.

    Raises IndexMissing if the folder is neither an index nor an output folder of GraphRAG 1.0 or later.
    """
    for output in (folder, folder / "output"):
        for prefix in ("", PREFIX_OF_1):
            if (output / f"{prefix}entities.parquet").is_file():
                files = {name: output / f"{prefix}{name}.parquet" for name in SCHEMA}
                return {name: path for name, path in files.items() if path.is_file()}
    if (folder / "manifest.json").is_file():
        return {name: path for name, path in store.table_files(folder).items() if name in SCHEMA}
    if old := sorted(folder.glob(f"**/artifacts/{PREFIX_OF_1}entities.parquet")):
        raise IndexMissing(f"{old[-1].parent} was written by GraphRAG before 1.0; {MIGRATE}")
    raise IndexMissing(f"there is no entities.parquet in {folder} or {folder / 'output'}; name the output folder")
