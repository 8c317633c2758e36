"""The tables of Microsoft GraphRAG 3.x, column by column, and a check of tables against them.

Written from GraphRAG's own output and not from `storage.schema`, so that each can be tested against the other.
"""
# pyarrow has no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.storage import store

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = "id string, human_readable_id int64"
_TEXTS, _NUMBERS = "list<element: string>", "list<element: int64>"
_FINDINGS = "list<element: struct<explanation: string, summary: string>>"
_TREE = f"community int64, level int64, parent int64, children {_NUMBERS}, title string"

_TABLES = {
    "documents": f"{_KEYS}, title string, text string, text_unit_ids {_TEXTS}, creation_date string, raw_data string",
    "text_units": f"{_KEYS}, text string, n_tokens int64, document_id string, entity_ids {_TEXTS}, "
    f"relationship_ids {_TEXTS}, covariate_ids {_TEXTS}",
    "entities": f"{_KEYS}, title string, type string, description string, "
    f"text_unit_ids {_TEXTS}, frequency int64, degree int64",
    "relationships": f"{_KEYS}, source string, target string, description string, weight double, "
    f"combined_degree int64, text_unit_ids {_TEXTS}",
    "communities": f"{_KEYS}, {_TREE}, entity_ids {_TEXTS}, relationship_ids {_TEXTS}, "
    f"text_unit_ids {_TEXTS}, period string, size int64",
    "community_reports": f"{_KEYS}, {_TREE}, summary string, full_content string, rank double, "
    f"rating_explanation string, findings {_FINDINGS}, full_content_json string, period string, size int64",
    "covariates": f"{_KEYS}, covariate_type string, type string, description string, subject_id string, "
    "object_id string, status string, start_date string, end_date string, source_text string, "
    "text_unit_id string",
}


def _columns(line: str) -> tuple[tuple[str, str], ...]:
    """Return the names and types in a line of columns; commas inside angle brackets do not separate columns."""
    parts, depth = [""], 0
    for character in line:
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return tuple((name, type_) for name, _, type_ in (part.strip().partition(" ") for part in parts))


PREFIX_OF_1 = "create_final_"
"""Prefix of the table files of GraphRAG 1.x."""
MIGRATE = "bring it up to date with its notebook index_migration_to_v1.ipynb, then import it again"

SCHEMA = {table: _columns(line) for table, line in _TABLES.items()}
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
    for table, columns in SCHEMA.items():
        if table not in files:
            if table != "covariates":  # written only if claims are extracted
                mismatches.append(Mismatch(table, "*", "a table", "missing"))
            continue
        mismatches += _differences(table, columns, files[table])
    return mismatches


def _differences(table: str, columns: tuple[tuple[str, str], ...], file: Path) -> Iterator[Mismatch]:
    import pyarrow.parquet as pq

    try:
        schema: pa.Schema = pq.read_schema(file)
    except (OSError, ValueError) as error:
        raise IndexDamaged(f"{file} is not a Parquet file ({error}); write it again") from error
    for position, (name, type_) in enumerate(columns):
        expected = f"{type_} in column {position + 1}"
        if name not in schema.names:
            yield Mismatch(table, name, expected, "missing")
            continue
        at = schema.get_field_index(name)
        kind = _type(schema.field(at).type)
        if at != position or kind not in (type_, "null"):  # null: a column without any value
            yield Mismatch(table, name, expected, f"{kind} in column {at + 1}")


def _type(type_: Any) -> str:
    """Return an Arrow type as text, without differences that no reader sees (large texts, names of list elements)."""
    import pyarrow as pa

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
