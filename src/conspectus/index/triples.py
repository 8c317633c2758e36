"""Triples as rows: those a model found in chunks, those of an OpenIE file, and those of a graph given without
text.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from conspectus.errors import DocumentError, UsageError
from conspectus.formats.text import decode
from conspectus.rows import Entity, Failure, Relationship, Triple, content_id
from conspectus.tables import Index
from conspectus.tasks import FoundTriple

Said = tuple[str, str, str]
"""Head, relation and tail."""

_NAMES = (
    {"head", "subject", "source", "s", "h"},
    {"relation", "predicate", "property", "p", "r"},
    {"tail", "object", "target", "o", "t"},
)
_NTRIPLE = re.compile(
    r"\s*(<[^>]*>|_:\S+)\s+<([^>]*)>\s+(<[^>]*>|_:\S+|\"(?:[^\"\\]|\\.)*\"(?:@[\w-]+|\^\^<[^>]*>)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


# A graph without text


def read_triples(path: Path) -> tuple[list[Said], list[Failure]]:
    """Read a file of triples, and what of it could not be read.

    Lines `head|relation|tail`; CSV or TSV, with a header (head, relation, tail; subject, predicate, object;
    source, relation, target) or three columns without one; N-Triples (.nt), whose addresses become the names
    at their ends.

    Raises DocumentError where the file cannot be read or holds no triple.
    """
    try:
        text = decode(path.read_bytes())
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    suffix = path.suffix.lower()
    rows = _of_ntriples(text) if suffix == ".nt" else _of_columns(text, suffix)
    triples: list[Said] = []
    failures: list[Failure] = []
    for line, parts in rows:
        values = [" ".join(part.split()) for part in parts]
        if len(values) == 3 and all(values):
            triples.append((values[0], values[1], values[2]))
        elif any(values):
            failures.append(Failure("import", f"line {line} is no triple of head, relation and tail", str(path)))
    if not triples:
        raise DocumentError(f"{path} holds no triples; write one on each line as head|relation|tail")
    return list(dict.fromkeys(triples)), failures


def _of_columns(text: str, suffix: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield line number and columns of each line; of a file with a header the three columns that it names."""
    lines = text.split("\n")
    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix) or next((d for d in "|\t" if d in lines[0]), ",")
    if delimiter == "|":  # nothing is quoted there; a relation holds no bar, a tail may
        yield from ((n, line.split("|", 2)) for n, line in enumerate(lines, 1))
        return
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    picked: list[int] | None = None
    for row in reader:
        if reader.line_num == 1:
            header = [cell.strip().casefold() for cell in row]
            places = [next((i for i, cell in enumerate(header) if cell in names), -1) for names in _NAMES]
            if min(places) >= 0:
                picked = places
                continue
        yield reader.line_num, [row[i] for i in picked if i < len(row)] if picked else row


def _of_ntriples(text: str) -> Iterator[tuple[int, Sequence[str]]]:
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found = _NTRIPLE.fullmatch(line)
            yield n, [_term(term) for term in (found[1], f"<{found[2]}>", found[3])] if found else [line]


def _term(term: str) -> str:
    """Return a literal without its quotes and type, an address as the name that it ends in."""
    if term.startswith('"'):
        return _ESCAPE.sub(_unescaped, term[1 : term.rindex('"')])
    if term.startswith("<"):
        from urllib.parse import unquote

        end = re.split(r"[/#]", term[1:-1].rstrip("/#"))[-1]
        return unquote(end).replace("_", " ")
    return term


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1] or escape[2]:
        return chr(int(escape[1] or escape[2], 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(escape[3], escape[3])


def index_of(triples: Sequence[Said], failures: Sequence[Failure] = ()) -> Index:
    """Return an index of a graph alone: names as entities, triples, and what joins two names as
    relationships.
    """
    rows = [Triple(content_id(*said), i, *said) for i, said in enumerate(triples)]
    return Index(
        entities=entities_of(rows),
        relationships=relationships_of(rows),
        triples=rows,
        failures=failures,
        **_no_text(),
    )


def _no_text() -> dict[str, Any]:
    """Return the words and arrays of an index without documents, which every method expects to be there."""
    from conspectus.index.lexical import lexical_arrays
    from conspectus.index.merge import merge
    from conspectus.index.resolve import resolve
    from conspectus.settings import ResolveSettings
    from conspectus.text.lexicon import read_lexicon

    names = resolve([], [], [], ResolveSettings())
    words, arrays = lexical_arrays([], [], read_lexicon([], ()), merge([], [], names), names)
    return {"words": words, "arrays": arrays}


def entities_of(triples: Sequence[Triple]) -> list[Entity]:
    """Return the names of triples as entities, in the order in which they are met; the degree counts
    neighbours.
    """
    near: dict[str, set[str]] = {}
    chunks: dict[str, dict[str, None]] = {}
    for triple in triples:
        near.setdefault(triple.head, set()).add(triple.tail)
        near.setdefault(triple.tail, set()).add(triple.head)
        for chunk in triple.chunk_ids:
            chunks.setdefault(triple.head, {})[chunk] = None
            chunks.setdefault(triple.tail, {})[chunk] = None
    return [
        Entity(
            content_id("entity", name),
            i,
            name,
            "",
            "",
            tuple(chunks.get(name, ())),
            degree=len(others - {name}),
        )
        for i, (name, others) in enumerate(near.items())
    ]


def relationships_of(triples: Sequence[Triple]) -> list[Relationship]:
    """Return what joins two names: one undirected relationship that says all triples between them."""
    pairs: dict[tuple[str, str], list[Triple]] = {}
    degree: dict[str, int] = {}
    for triple in triples:
        if triple.head != triple.tail:
            pair = (triple.head, triple.tail) if triple.head < triple.tail else (triple.tail, triple.head)
            if pair not in pairs:
                pairs[pair] = []
                for end in pair:
                    degree[end] = degree.get(end, 0) + 1
            pairs[pair].append(triple)
    rows: list[Relationship] = []
    for i, ((source, target), said) in enumerate(pairs.items()):
        text = "; ".join(f"{t.head} {t.relation.replace('_', ' ')} {t.tail}" for t in said)
        chunks = tuple(dict.fromkeys(c for t in said for c in t.chunk_ids))
        rows.append(
            Relationship(
                content_id("relationship", source, target), i, source, target, text, float(len(said)),
                chunk_ids=chunks, combined_degree=degree[source] + degree[target],
            )
        )  # fmt: skip
    return rows


# Triples of chunks


def triples_of(found: Iterable[tuple[str, Sequence[FoundTriple]]]) -> list[Triple]:
    """Return the rows of what was found in chunks, given by their ids; what several chunks say is one row."""
    chunks: dict[Said, dict[str, None]] = {}
    for chunk, triples in found:
        for triple in triples:
            chunks.setdefault((triple.head, triple.relation, triple.tail), {})[chunk] = None
    return [Triple(content_id(*said), i, *said, tuple(ids)) for i, (said, ids) in enumerate(chunks.items())]


@dataclass(frozen=True)
class OpenIe:
    """What an OpenIE file says of one passage; `dropped` counts what is no triple of three texts."""

    id: str
    triples: tuple[FoundTriple, ...]
    dropped: int = 0


def read_openie(path: Path) -> list[OpenIe]:
    """Read named entities and triples of passages, a JSON object a line: `_id`, `entities`, `triples` as
    lists of 3.

    Raises DocumentError, naming the line, where a line is no such object.
    """
    try:
        lines = decode(path.read_bytes()).split("\n")
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    read: list[OpenIe] = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = cast("Mapping[str, Any]", json.loads(line))
            given = cast("list[Any]", record["triples"])
            lists = (cast("list[Any]", t) for t in given if isinstance(t, list))
            good = [t for t in lists if len(t) == 3]
            triples = [FoundTriple(*(" ".join(str(part).split()) for part in t)) for t in good]
            kept = tuple(t for t in triples if t.head and t.relation and t.tail)
            read.append(OpenIe(str(record["_id"]), kept, len(given) - len(kept)))
        except (ValueError, KeyError, TypeError) as error:
            raise DocumentError(f"{path}, line {n}: not an object with _id and triples ({error})") from None
    return read


def with_openie(index: Index, passages: Sequence[OpenIe], source: str = "") -> Index:
    """Return the index with the triples of passages in place of its own; its graph and reports stay what they
    are.

    A passage is the document whose record had its `_id` (or `id`), and its triples are said by all its
    chunks. What has no document, or is no triple, is a failure of stage `import`.

    Raises UsageError where no passage has a document.
    """
    chunks: dict[str, list[str]] = {}
    for chunk in index.chunks:
        chunks.setdefault(chunk.document_id, []).append(chunk.id)
    documents = {
        key: d for d in index.documents for key in (d.metadata.get("_id"), d.metadata.get("id"), d.path) if key
    }
    known = [p for p in passages if p.id in documents]
    if not known:
        raise UsageError(
            f"none of the {len(passages)} passages of {source or 'the file'} is a document of this index; "
            "index the corpus whose records have their _id first"
        )
    found = [(chunk, p.triples) for p in known for chunk in chunks.get(documents[p.id].id, ())]
    lost = [p for p in passages if p.id not in documents]
    dropped = sum(p.dropped for p in known)
    failures = [f for f in index.failures if f.stage != "import"]
    if lost:
        failures.append(
            Failure("import", f"{len(lost)} passages have no document here, the first {lost[0].id}", source)
        )
    if dropped:
        failures.append(Failure("import", f"{dropped} entries are no triples of head, relation and tail", source))
    return replace(index, triples=triples_of(found), failures=failures)
