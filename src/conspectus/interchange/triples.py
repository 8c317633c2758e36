"""Read knowledge graphs: lines `head|relation|tail`, CSV or TSV with or without a header, JSON, N-Triples."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from conspectus.errors import DocumentError
from conspectus.indexing.triples import GivenGraph
from conspectus.readers.encodings import decode
from conspectus.readers.records import JSON_SUFFIXES, delimited, json_values
from conspectus.rows import Failure

HEADERS = (
    ("head", "subject", "source", "from", "start", "subj", "head_entity", "entity1", "entity_1", "node1", "node_1",
     ":start_id", "s", "h"),
    ("relation", "predicate", "relationship", "property", "rel", "edge", "pred", ":type", "type", "label", "p", "r"),
    ("tail", "object", "target", "to", "end", "obj", "tail_entity", "entity2", "entity_2", "node2", "node_2",
     ":end_id", "o", "t"),
)  # fmt: skip
"""Names of the columns head, relation and tail in a header; the first that occurs is taken."""
MAX_FAILURES = 20
"""Lines without a triple that are reported one by one; the others are counted."""
OTHER_RDF = {".ttl", ".rdf", ".owl", ".nq", ".trig", ".jsonld", ".n3"}
"""Suffixes of RDF formats that are not read."""


def read_triples(path: Path) -> GivenGraph:
    """Read a file of triples.

    path: lines `head|relation|tail`; CSV or TSV with a header (see `HEADERS`), or with three columns without one; JSON
        or JSON lines, each an object with such fields or a list of three; N-Triples (.nt; extra `graph`), whose IRIs
        become names (see `ntriples`). Lines of a table that begin with `#` and are no triple are comments.

    Raises DocumentError if the file cannot be read or has no triple, UsageError if the extra is missing.
    """
    suffix = path.suffix.lower()
    if suffix in OTHER_RDF:
        advice = f"rapper, riot or rdflib convert it; save it as {path.with_suffix('.nt').name}"
        raise DocumentError(f"{path} is RDF in another format than N-Triples, which is not supported: {advice}")
    try:
        text = decode(path.read_bytes()).text
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        raise DocumentError(f"{path} {error}") from None
    if suffix == ".nt":
        return _from_ntriples(text, path)
    return _from_json(text, path) if suffix in JSON_SUFFIXES else _from_columns(text, path)


def columns_of(header: Sequence[str], names: Sequence[Sequence[str]]) -> list[int] | None:
    """Return the column of each list of names in a row; None if one is missing, which means it is no header."""
    cells = [cell.strip().casefold() for cell in header]
    columns = [next((cells.index(name) for name in choices if name in cells), -1) for choices in names]
    return columns if min(columns) >= 0 and len(set(columns)) == len(columns) else None


def _from_ntriples(text: str, path: Path) -> GivenGraph:
    from conspectus.interchange.ntriples import named_triples, read_statements  # needs the extra `graph`

    statements, invalid = read_statements(text)
    triples, descriptions = named_triples(statements)
    return _graph(triples, invalid, path, descriptions)


def _from_json(text: str, path: Path) -> GivenGraph:
    triples: list[Sequence[str]] = []
    invalid: list[int] = []
    for number, value in json_values(text, path.suffix.lower()):
        parts = list(_parts(value))
        if len(parts) == 3 and all(isinstance(part, str | int | float) for part in parts):
            triples.append([str(part) for part in parts])
        else:
            invalid.append(number)
    return _graph(triples, invalid, path, {}, "record")


def _parts(record: object) -> Iterator[object]:
    """Yield head, relation and tail of a record: three fields of an object, or a list of three."""
    if isinstance(record, Mapping):
        fields = cast("Mapping[str, object]", record)
        values = list(fields.values())
        yield from (values[column] for column in columns_of(list(fields), HEADERS) or ())
    elif isinstance(record, list):
        yield from cast("list[object]", record)


def _from_columns(text: str, path: Path) -> GivenGraph:
    triples: list[Sequence[str]] = []
    invalid: list[int] = []
    columns: Sequence[int] | None = None
    for position, (number, row) in enumerate(_rows(text, path.suffix.lower())):
        if not position and (columns := columns_of(row, HEADERS)):
            continue
        values = [row[column] for column in columns if column < len(row)] if columns else row
        if len(values) == 3 and all(value.strip() for value in values):
            triples.append(values)
        elif any(value.strip() for value in values):
            invalid.append(number)
    return _graph(triples, invalid, path, {})


def _graph(
    rows: Sequence[Sequence[str]],
    invalid: Sequence[int],
    path: Path,
    descriptions: Mapping[str, str],
    unit: str = "line",
) -> GivenGraph:
    """Return the distinct triples, and a failure for each invalid line or record."""
    values = ((" ".join(head.split()), " ".join(r.split()), " ".join(tail.split())) for head, r, tail in rows)
    triples = list(dict.fromkeys(value for value in values if all(value)))
    if not triples:
        raise DocumentError(
            f"{path} holds no triples; write one on each line as head|relation|tail, or as a table whose first "
            "line names the columns head, relation and tail"
        )
    failures = [
        Failure("import", f"{unit} {n} is no triple of head, relation and tail", str(path))
        for n in invalid[:MAX_FAILURES]
    ]
    if len(invalid) > MAX_FAILURES:
        failures.append(Failure("import", f"{len(invalid) - MAX_FAILURES:,} more {unit}s are no triples", str(path)))
    return GivenGraph(triples, failures, descriptions)


def _rows(text: str, suffix: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield line number and columns of each line that is not empty or a comment."""
    first = next((line for line in text.split("\n") if line.strip() and not _is_comment(line)), "")
    delimiter = _delimiter(first, suffix)
    if delimiter == "|":  # has no quotation; only the tail may contain a bar
        lines = ((n, line.split("|", 2)) for n, line in enumerate(text.split("\n"), 1))
    else:
        lines = delimited(text, delimiter)
    for number, row in lines:
        if any(row) and not (len(row) < 3 and row[0].lstrip().startswith("#")):
            yield number, row


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#") and max(map(line.count, "|\t,;")) < 2


def _delimiter(line: str, suffix: str) -> str:
    """Return the delimiter that divides a line into three columns or more, that of the suffix first."""
    candidates = {".csv": ",;\t|", ".tsv": "\t,;|"}.get(suffix, "|\t,;")
    matching = (d for d in candidates if len(next(csv.reader([line], delimiter=d), list[str]())) >= 3)
    return next(matching, candidates[0])
