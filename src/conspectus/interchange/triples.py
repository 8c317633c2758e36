"""Read knowledge graphs: lines `head|relation|tail`, CSV or TSV with or without a header, JSON, N-Triples."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote

from conspectus.errors import DocumentError, UsageError
from conspectus.indexing.triples import GivenGraph, TripleText
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
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
"""Predicates of N-Triples whose literal names the subject; the first is preferred."""
MAX_NAME_CHARS = 200
"""Characters of a literal that is taken as a name; a longer one is a text about the subject."""
OTHER_RDF = {".ttl", ".rdf", ".owl", ".nq", ".trig", ".jsonld", ".n3"}
"""Suffixes of RDF formats that are not read."""


def read_triples(path: Path) -> GivenGraph:
    """Read a file of triples.

    path: lines `head|relation|tail`; CSV or TSV with a header (see `HEADERS`), or with three columns without one; JSON
        or JSON lines, each an object with such fields or a list of three; N-Triples (.nt; extra `graph`), whose IRIs
        become names. Lines of a table that begin with `#` and are no triple are comments.

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
        failures.append(
            Failure("import", f"{len(invalid) - MAX_FAILURES:,} more {unit}s are no triples", str(path))
        )
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


# N-Triples


Term = Any
"""A term of rdflib: an IRI, a blank node or a literal, each a str."""
Statement = tuple[Term, Term, Term]
"""Subject, predicate and object."""


def _from_ntriples(text: str, path: Path) -> GivenGraph:
    """Read N-Triples (RDF 1.1), with a readable name for every IRI.

    An entity is named by its label, else by the last part of its IRI. Of several entities with the same name, the one
    with the most statements keeps it; the others get a suffix that tells them apart.
    """
    try:
        import rdflib  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise UsageError("N-Triples need rdflib: pip install 'conspectus[graph]'") from error
    statements, invalid = _statements(text)
    triples, descriptions = _named_triples(statements)
    return _graph(triples, invalid, path, descriptions)


def _statements(text: str) -> tuple[list[Statement], list[int]]:
    """Return the statements of a file in order, and the numbers of the lines that are invalid."""
    from rdflib import BNode
    from rdflib.exceptions import ParserError
    from rdflib.plugins.parsers.ntriples import W3CNTriplesParser

    statements: list[Statement] = []
    invalid: list[int] = []
    blank_nodes: dict[str, BNode] = {}

    def add(*statement: Term) -> None:
        statements.append(cast("Statement", statement))

    sink: Any = SimpleNamespace(triple=add)
    parser = W3CNTriplesParser(sink, blank_nodes)
    for number, line in enumerate(text.split("\n"), 1):
        try:
            parser.line = line.rstrip("\r")
            parser.parseline()
        except (ParserError, ValueError):
            invalid.append(number)
    labels: dict[Term, Term] = {node: BNode(label) for label, node in blank_nodes.items()}  # rdflib's are random
    return [(labels.get(s, s), p, labels.get(o, o)) for s, p, o in statements], invalid


def _named_triples(statements: Sequence[Statement]) -> tuple[list[TripleText], dict[str, str]]:
    """Return statements as triples of names, in their order, and the long literals of entities by name.

    Statements that only give an entity the name that it has here are left out.
    """
    labels = _labels(statements)
    names = _names(statements, labels)
    triples: list[TripleText] = []
    texts: dict[str, list[str]] = defaultdict(list)
    for subject, predicate, object_ in statements:
        if not _is_literal(object_):
            triples.append((names[subject], _last_part(predicate), names[object_]))
        elif len(object_) > MAX_NAME_CHARS:
            texts[names[subject]].append(" ".join(object_.split()))
        elif str(predicate) not in LABELS or str(object_) != labels.get(subject):
            triples.append((names[subject], _last_part(predicate), str(object_)))
    return triples, {name: " ".join(dict.fromkeys(parts)) for name, parts in texts.items()}


def _labels(statements: Sequence[Statement]) -> dict[Term, str]:
    """Return the label of each entity that has one: the English one, else one without a language, else the first."""
    best: dict[Term, tuple[tuple[int, int], str]] = {}
    for subject, predicate, object_ in statements:
        if str(predicate) in LABELS and _is_literal(object_) and object_.strip():
            language = (object_.language or "")[:2]
            rank = {"en": 0, "": 1}.get(language, 2), LABELS.index(str(predicate))
            if len(object_) <= MAX_NAME_CHARS and (subject not in best or rank < best[subject][0]):
                best[subject] = (rank, str(object_))
    return {subject: label for subject, (_, label) in best.items()}


def _names(statements: Sequence[Statement], labels: Mapping[Term, str]) -> dict[Term, str]:
    """Return a unique name for each IRI and blank node."""
    count = Counter(term for s, _, o in statements for term in (s, o) if not _is_literal(term))
    same_name: dict[str, list[Term]] = defaultdict(list)
    for term, _ in count.most_common():
        same_name[" ".join((labels.get(term) or _last_part(term)).split()) or f"<{term}>"].append(term)
    names: dict[Term, str] = {}
    for name, (first, *others) in same_name.items():
        names[first] = name
        names |= {
            t: f"{name} ({suffix})" for t, suffix in zip(others, _suffixes(others, first, labels), strict=True)
        }
    return names


def _suffixes(terms: Sequence[Term], first: Term, labels: Mapping[Term, str]) -> Sequence[str]:
    """Return what tells entities of one name apart: the last parts of their IRIs, else those before, else the IRIs."""
    for suffixes in ([_last_part(t) if t in labels else "" for t in terms], [_part_before(t) for t in terms]):
        if len({*suffixes, _part_before(first), ""}) == len(terms) + 2:
            return suffixes
    return [str(term) for term in terms]


def _is_literal(term: Term) -> bool:
    return hasattr(term, "language")


def _last_part(term: Term) -> str:
    if not re.match(r"\w+:", term):  # a blank node
        return f"_:{term}"
    return _readable(re.split(r"[/#]", term.rstrip("/#"))[-1])


def _part_before(term: Term) -> str:
    parts = [part for part in re.split(r"[/#]", term) if part]
    return _readable(parts[-2]) if len(parts) > 1 else ""


def _readable(part: str) -> str:
    return unquote(part).replace("_", " ")
