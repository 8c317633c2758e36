"""Files of triples: lines `head|relation|tail`, separated values with or without a header, JSON, N-Triples."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from conspectus.errors import DocumentError
from conspectus.indexing.triples import GivenGraph
from conspectus.readers.encodings import decode
from conspectus.readers.records import JSON, delimited, json_values
from conspectus.rows import Failure

HEADERS = (
    ("head", "subject", "source", "from", "start", "subj", "head_entity", "entity1", "entity_1", "node1", "node_1",
     ":start_id", "s", "h"),
    ("relation", "predicate", "relationship", "property", "rel", "edge", "pred", ":type", "type", "label", "p", "r"),
    ("tail", "object", "target", "to", "end", "obj", "tail_entity", "entity2", "entity_2", "node2", "node_2",
     ":end_id", "o", "t"),
)  # fmt: skip
"""What a header may call head, relation and tail; what stands first is taken first."""
NAMED = 20
"""Lines without a triple that are named each; of the others the number is told."""
_OTHER_RDF = {".ttl", ".rdf", ".owl", ".nq", ".trig", ".jsonld", ".n3"}


def read_triples(path: Path) -> GivenGraph:
    """Read a file of triples.

    Lines `head|relation|tail`; CSV or TSV, with a header (`HEADERS`) or three columns without one; JSON or JSON
    lines, each an object with such fields or a list of three; N-Triples (.nt), whose addresses become names (see
    `ntriples`). Lines of a table that begin with `#` and are no triple are comments.

    Raises DocumentError where the file cannot be read or holds no triple.
    """
    suffix = path.suffix.lower()
    if suffix in _OTHER_RDF:
        advice = f"rapper, riot or rdflib make N-Triples of it; save them as {path.with_suffix('.nt').name}"
        raise DocumentError(f"{path} is RDF in another form than N-Triples, which is not read: {advice}")
    try:
        text = decode(path.read_bytes()).text
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        raise DocumentError(f"{path} {error}") from None
    if suffix == ".nt":
        return _of_ntriples(text, path)
    return _of_json(text, path) if suffix in JSON else _of_columns(text, path)


def _of_ntriples(text: str, path: Path) -> GivenGraph:
    from conspectus.interchange.ntriples import named, statements

    lines = list(statements(text))
    said, told = named([statement for _, statement in lines if statement])
    return _graph(said, [n for n, statement in lines if not statement], path, told)


def _of_json(text: str, path: Path) -> GivenGraph:
    said: list[Sequence[str]] = []
    bad: list[int] = []
    for n, value in json_values(text, path.suffix.lower()):
        parts = list(_parts(value))
        if len(parts) == 3 and all(isinstance(part, str | int | float) for part in parts):
            said.append([str(part) for part in parts])
        else:
            bad.append(n)
    return _graph(said, bad, path, {}, "record")


def _parts(value: object) -> Iterator[object]:
    """Yield head, relation and tail of a record: three fields of an object, or a list of three."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        values = list(fields.values())
        yield from (values[place] for place in columns_of(list(fields), HEADERS) or ())
    elif isinstance(value, list):
        yield from cast("list[object]", value)


def _of_columns(text: str, path: Path) -> GivenGraph:
    said: list[Sequence[str]] = []
    bad: list[int] = []
    picked: Sequence[int] | None = None
    for place, (n, row) in enumerate(_rows(text, path.suffix.lower())):
        if not place and (picked := columns_of(row, HEADERS)):
            continue
        values = [row[i] for i in picked if i < len(row)] if picked else row
        if len(values) == 3 and all(value.strip() for value in values):
            said.append(values)
        elif any(value.strip() for value in values):
            bad.append(n)
    return _graph(said, bad, path, {})


def columns_of(header: Sequence[str], names: Sequence[Sequence[str]]) -> list[int] | None:
    """Return where a header has a column of each list of names, None where it lacks one: it is none then."""
    cells = [cell.strip().casefold() for cell in header]
    places = [next((cells.index(name) for name in known if name in cells), -1) for known in names]
    return places if min(places) >= 0 and len(set(places)) == len(places) else None


def _graph(
    said: Sequence[Sequence[str]], bad: Sequence[int], path: Path, told: Mapping[str, str], unit: str = "line"
) -> GivenGraph:
    values = ((" ".join(head.split()), " ".join(r.split()), " ".join(tail.split())) for head, r, tail in said)
    triples = list(dict.fromkeys(value for value in values if all(value)))
    if not triples:
        raise DocumentError(
            f"{path} holds no triples; write one on each line as head|relation|tail, or as a table whose first "
            "line names the columns head, relation and tail"
        )
    failures = [
        Failure("import", f"{unit} {n} is no triple of head, relation and tail", str(path)) for n in bad[:NAMED]
    ]
    if len(bad) > NAMED:
        failures.append(Failure("import", f"{len(bad) - NAMED:,} more {unit}s are no triples", str(path)))
    return GivenGraph(triples, failures, told)


def _rows(text: str, suffix: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield line number and columns of each line that is not empty or a comment."""
    first = next((line for line in text.split("\n") if line.strip() and not _is_comment(line)), "")
    delimiter = _delimiter(first, suffix)
    if delimiter == "|":  # nothing is quoted there; a relation holds no bar, a tail may
        lines = ((n, line.split("|", 2)) for n, line in enumerate(text.split("\n"), 1))
    else:
        lines = delimited(text, delimiter)
    for n, row in lines:
        if any(row) and not (len(row) < 3 and row[0].lstrip().startswith("#")):
            yield n, row


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#") and max(map(line.count, "|\t,;")) < 2


def _delimiter(line: str, suffix: str) -> str:
    """Return what divides a line into three or more, at best what the suffix says."""
    usual = {".csv": ",;\t|", ".tsv": "\t,;|"}.get(suffix, "|\t,;")
    fits = (d for d in usual if len(next(csv.reader([line], delimiter=d), list[str]())) >= 3)
    return next(fits, usual[0])
