"""Make an index from data of other tools: a knowledge graph of triples, or the output of Microsoft GraphRAG.

A graph may come with documents. A document is linked to the entities that it lists (a field `entities` of its record),
to the entity whose name is its title, and to the entities that a table of links gives for it. An entity is linked to
all chunks of its documents.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from conspectus import Index
from conspectus.errors import DocumentError, UsageError
from conspectus.indexing.chunks import chunk
from conspectus.indexing.communities import find_communities
from conspectus.indexing.given_graph import (
    GivenGraph,
    TripleText,
    graph_rows,
    index_of,
    store_triples,
    triples_about,
    with_sentences,
)
from conspectus.interchange.graphrag import read_graphrag
from conspectus.lazy import lazy_module
from conspectus.readers import suffix_of
from conspectus.readers.encodings import decode
from conspectus.readers.records import JSON_SUFFIXES, delimited, delimiter_of, json_values
from conspectus.rows import Document, Entity, Failure, content_id
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, public, read_sources, resolved, shown
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.text.words import name_key
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    import rdflib
    from rdflib import exceptions as rdf_errors
    from rdflib.plugins.parsers import ntriples

    from conspectus.indexing.pipeline import Progress
    from conspectus.interchange.graphrag import Imported
else:
    rdflib, rdf_errors = lazy_module("rdflib"), lazy_module("rdflib.exceptions")
    ntriples = lazy_module("rdflib.plugins.parsers.ntriples", "conspectus[graph]")

TRIPLE_HEADERS = (
    "head subject source from start subj head_entity entity1 entity_1 node1 node_1 :start_id s h",
    "relation predicate relationship property rel edge pred :type type label p r",
    "tail object target to end obj tail_entity entity2 entity_2 node2 node_2 :end_id o t",
)
"""Names of the columns head, relation and tail in a header; of each, the first name that occurs is used."""
LINK_HEADERS = ("entity name node head", "document doc id _id path title text")
"""Names of the two columns in the header of a table of links."""
MAX_FAILURES = 20
"""Number of lines without a triple that are reported individually; the others are counted."""
PACKED = {".gz", ".bz2"}
"""Suffixes of files that are read as a stream, into a file on disk."""
OTHER_RDF = {".ttl", ".rdf", ".owl", ".nq", ".trig", ".jsonld", ".n3"}
"""Suffixes of RDF formats that are not supported."""
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
"""Predicates of N-Triples whose literal is the name of the subject; the first is preferred."""
MAX_NAME_CHARS = 200
"""Maximum characters of a literal that is used as a name; a longer one is a text about the subject."""

Link = tuple[str, str]
"""The name of an entity, and the name, path or id of a document."""
Term = Any
"""A term of rdflib: an IRI, a blank node or a literal, each a str."""
Statement = tuple[Term, Term, Term]
"""Subject, predicate and object."""


@public
def import_triples(
    file: str | Path,
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: str | Path | Sequence[str | Path] = (),
    links: str | Path | None = None,
    settings: Given = None,
    progress: Progress | bool | None = None,
) -> Index:
    """Make the index in a folder from a knowledge graph, alone or with documents about its entities, and return it.

    `read_triples` describes the accepted files, `store_triples` compressed files, whose triples stay on disk, and the
    docstring of this module how documents are linked; `links` is a table of entities and documents. An index that is
    already in the folder is replaced.

    Raises DocumentError if the file contains no triples, UsageError for links that cannot be read or without
    documents, and what `build` raises for sources.
    """
    if links and not documents:
        raise UsageError("links go from entities to documents: name the documents, too")
    with shown(progress) as bars:
        tick = bars.stage("read", 0) if bars else lambda: None
        chosen, target = resolved(settings), path_of(folder)
        packed = Path(file).suffix.lower() in PACKED
        stored, n = _to_disk(Path(file), target, chosen, tick) if packed else ("", 0)
        graph = GivenGraph(()) if stored else read_triples(Path(file))
        listed = read_links(Path(links)) if links else []
        if bars:
            bars.stage("lexical" if documents else "communities", 0)
        if documents:
            texts, failures, *_ = read_sources(documents, None, chosen)
            if stored:
                names = {*(name for name, _ in (*listed_links(texts), *listed)), *(d.title for d in texts)}
                graph = GivenGraph(triples_about(names, target / stored))
            index = linked_index(graph, texts, [*listed_links(texts), *listed], chosen, failures)
        else:
            index = index_of(graph, chosen.communities)
        if stored:
            made = {**index.settings, "imported": {"format": "triples", "stored": n}}
            index = replace(index, origin={**index.origin, "triples": stored}, settings=made)
        return _stored(index, target)


def _to_disk(file: Path, folder: Path, settings: Settings, tick: Callable[[], None]) -> tuple[str, int]:
    """Write the triples of a file into a new file beside the index; return its name and the number of triples.

    Raises DocumentError if the file cannot be read.
    """
    if not file.is_file():
        raise DocumentError(f"there is no file {file}")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"triples-{content_id(file.name, str(file.stat().st_size))[:12]}.sqlite"
    unfinished = target.with_suffix(".unfinished")
    language = "en" if settings.language == "auto" else settings.language
    try:
        written = store_triples(file, unfinished, language, tick)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target.name, written


@public
def import_graphrag(
    source: str | Path, folder: str | Path = DEFAULT_FOLDER, *, progress: Progress | bool | None = None
) -> Imported:
    """Make the index in a folder from an output folder of Microsoft GraphRAG; return it with counts of adapted rows.

    See `interchange.graphrag` for the rules. An index that is already in the folder is replaced.

    Raises IndexMissing if there is no such output, IndexDamaged if its tables lack required columns.
    """
    with shown(progress) as bars:
        imported = read_graphrag(Path(source), bars)
        return replace(imported, index=_stored(imported.index, path_of(folder)))


def _stored(index: Index, folder: Path) -> Index:
    with store.writing(folder):
        store.commit(folder, index, settings=index.settings, usage={})
    return store.read(folder)


# Files of triples


def read_triples(path: Path) -> GivenGraph:
    """Read a file of triples.

    path: lines `head|relation|tail`; CSV or TSV with a header (see `TRIPLE_HEADERS`), or with three columns without
        one; JSON or JSON lines, each an object with such fields or a list of three; N-Triples (.nt; extra `graph`),
        whose IRIs become names. Lines of a table that begin with `#` and are not triples are comments.

    Raises DocumentError if the file cannot be read or has no triple, UsageError if the extra is missing.
    """
    suffix = path.suffix.lower()
    if suffix in OTHER_RDF:
        advice = f"rapper, riot or rdflib convert it; save it as {path.with_suffix('.nt').name}"
        raise DocumentError(f"{path} is RDF, but not N-Triples: {advice}")
    try:
        text = decode(path.read_bytes()).text
    except (OSError, DocumentError) as error:
        message = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        raise DocumentError(f"{path} {message}") from None
    descriptions: Mapping[str, str] = {}
    if suffix == ".nt":
        statements, invalid = _statements(text)
        rows, descriptions = _named_triples(statements)
    else:
        cells_of = _json_cells if suffix in JSON_SUFFIXES else _table_cells
        cells = dict(cells_of(text, suffix))
        invalid = [number for number, row in cells.items() if len(row) != 3 or not all(row)]
        rows = [(row[0], row[1], row[2]) for row in cells.values() if len(row) == 3 and all(row)]
    triples: dict[TripleText, None] = {}
    for row in rows:
        head, relation, tail = (" ".join(cell.split()) for cell in row)
        if head and relation and tail:
            triples[head, relation, tail] = None
    if not triples:
        raise DocumentError(
            f"{path} contains no triples; write one on each line as head|relation|tail, or as a table whose first "
            "line names the columns head, relation and tail"
        )
    unit = "record" if suffix in JSON_SUFFIXES else "line"
    errors = [f"{unit} {n} is not a triple of head, relation and tail" for n in invalid[:MAX_FAILURES]]
    if len(invalid) > MAX_FAILURES:
        errors.append(f"{len(invalid) - MAX_FAILURES:,} more {unit}s are not triples")
    failures = [Failure("import", error, str(path)) for error in errors]
    return GivenGraph(list(triples), failures, descriptions)


def _columns_of(header: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return the column of each list of names in a header row; None if one is missing: the row is not a header."""
    cells = [cell.strip().casefold() for cell in header]
    columns = [
        next((cells.index(name) for name in choices.split() if name in cells), -1) for choices in names
    ]
    return columns if min(columns) >= 0 and len(set(columns)) == len(columns) else None


def _json_cells(text: str, suffix: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each record and its cells: of a list, or the three fields of an object; else no cells."""
    for number, value in json_values(text, suffix):
        parts = cast("list[object]", value) if isinstance(value, list) else []
        if isinstance(value, dict):
            record = cast("dict[str, object]", value)
            fields = list(record.values())
            parts = [fields[column] for column in _columns_of(list(record), TRIPLE_HEADERS) or ()]
        scalars = [part if isinstance(part, str | int | float) else "" for part in parts]
        yield number, [well_formed(str(scalar)).strip() for scalar in scalars]


def _table_cells(text: str, suffix: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line of a table that is neither empty nor a comment, and the cells of its triple.

    Quotation marks have no meaning in lines separated by bars; only the tail may contain a bar.
    """
    lines = text.split("\n")
    delimiter = _delimiter(lines, suffix)
    bars = ((n, line.split("|", 2)) for n, line in enumerate(lines, 1))
    columns: Sequence[int] | None = None
    is_first = True
    for number, row in bars if delimiter == "|" else delimited(text, delimiter):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (len(cells) < 3 and cells[0].startswith("#")):
            continue
        columns = _columns_of(cells, TRIPLE_HEADERS) if is_first else columns
        if not columns or not is_first:
            yield number, [cells[c] for c in columns if c < len(cells)] if columns else cells
        is_first = False


def _delimiter(lines: Sequence[str], suffix: str) -> str:
    """Return a delimiter that splits the first line into three or more columns; that of the suffix is tried first."""
    candidates = {".csv": ",;\t|", ".tsv": "\t,;|"}.get(suffix, "|\t,;")
    for line in lines:
        for delimiter in candidates:
            if len(next(csv.reader([line], delimiter=delimiter), list[str]())) >= 3:
                return delimiter
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return candidates[0]


# N-Triples


def _statements(text: str) -> tuple[list[Statement], list[int]]:
    """Return the statements of N-Triples (RDF 1.1) in order, and the numbers of the lines that are invalid."""
    statements: list[Statement] = []
    invalid: list[int] = []
    blank_nodes: dict[str, Term] = {}

    def add(*statement: Term) -> None:
        statements.append(cast("Statement", statement))

    sink: Any = SimpleNamespace(triple=add)
    parser = ntriples.W3CNTriplesParser(sink, blank_nodes)
    for number, line in enumerate(text.split("\n"), 1):
        try:
            parser.line = line.rstrip("\r")
            parser.parseline()
        except (rdf_errors.ParserError, ValueError):
            invalid.append(number)
    labels = {node: rdflib.BNode(label) for label, node in blank_nodes.items()}  # rdflib's are random
    return [(labels.get(s, s), p, labels.get(o, o)) for s, p, o in statements], invalid


def _named_triples(statements: Sequence[Statement]) -> tuple[list[TripleText], dict[str, str]]:
    """Return statements as triples of names, in their order, and the long literals of entities by name.

    The name of an entity is its label, else the last part of its IRI. Statements that only give an entity this name are
    omitted.
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
    """Return the label of each entity that has one: an English one, else one without a language, else the first."""
    ranks: dict[Term, tuple[int, int]] = {}
    labels: dict[Term, str] = {}
    for subject, predicate, object_ in statements:
        if str(predicate) not in LABELS or not _is_literal(object_):
            continue
        rank = {"en": 0, "": 1}.get((object_.language or "")[:2], 2), LABELS.index(str(predicate))
        if 0 < len(object_.strip()) <= MAX_NAME_CHARS and rank < ranks.get(subject, (3, 0)):
            ranks[subject], labels[subject] = rank, str(object_)
    return labels


def _names(statements: Sequence[Statement], labels: Mapping[Term, str]) -> dict[Term, str]:
    """Return a unique name for each IRI and blank node.

    Of several terms with the same name, the one in the most statements gets it; the IRI is added to the other names.
    """
    count = Counter(term for s, _, o in statements for term in (s, o) if not _is_literal(term))
    names: dict[Term, str] = {}
    used: set[str] = set()
    for term, _ in count.most_common():
        name = " ".join((labels.get(term) or _last_part(term)).split()) or f"<{term}>"
        names[term] = f"{name} ({term})" if name in used else name
        used.add(name)
    return names


def _is_literal(term: Term) -> bool:
    return hasattr(term, "language")


def _last_part(term: Term) -> str:
    """Return the last part of an IRI in readable form."""
    if not re.match(r"\w+:", term):  # a blank node
        return f"_:{term}"
    parts = [part for part in re.split(r"[/#]", term) if part]
    return unquote(parts[-1]).replace("_", " ")


# Documents about the entities of a graph


@dataclass(frozen=True)
class Linked:
    """The numbers of linked documents, of linked entities, and of links of an index."""

    documents: int
    entities: int
    links: int

    @classmethod
    def of(cls, index: Index) -> Linked:
        """Count the links of an index."""
        document = {c.id: c.document_id for c in index.chunks}
        pairs = {(e.number, document[c]) for e in index.entities for c in e.chunk_ids if c in document}
        return cls(len({d for _, d in pairs}), len({e for e, _ in pairs}), len(pairs))


def linked_index(
    graph: GivenGraph,
    documents: Sequence[Document],
    links: Iterable[Link],
    settings: Settings,
    failures: Sequence[Failure] = (),
) -> Index:
    """Return an index of a graph and of documents that are linked to its entities.

    failures: failures of reading the documents. Links to an unknown entity or document are added as failures of the
        stage `import`.
    """
    chunks = chunk(documents, settings.chunk)
    rows = graph_rows(graph)
    entities: list[Entity] = rows.pop("entities")
    pairs, unknown = _resolve(links, entities, documents)
    of_document: dict[str, list[str]] = defaultdict(list)
    for c in chunks:
        of_document[c.document_id].append(c.id)
    chunk_ids: dict[int, dict[str, None]] = defaultdict(dict)
    for entity, document in sorted(pairs):
        chunk_ids[entity] |= dict.fromkeys(of_document[documents[document].id])
    entities = [replace(e, chunk_ids=tuple(chunk_ids.get(e.number, ()))) for e in entities]
    index = Index(
        documents=documents,
        chunks=chunks,
        entities=entities,
        communities=find_communities(entities, rows["relationships"], settings.communities, chunks),
        failures=[*graph.failures, *failures, *unknown],
        settings=settings.model_dump(mode="json", by_alias=True) | {"imported": {"format": "triples"}},
        **rows,
    )
    return with_sentences(index)


class _NameTable:
    """Finds rows by name: by equal spelling, else regardless of case, accents and punctuation."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._normalised: dict[str, list[int]] = defaultdict(list)
        for name, number in names:
            self._exact[name].append(number)
            if key := name_key(name):
                self._normalised[key].append(number)

    def find(self, name: str) -> list[int]:
        return self._exact.get(name) or self._normalised.get(name_key(name)) or []


def _resolve(
    links: Iterable[Link], entities: Sequence[Entity], documents: Sequence[Document]
) -> tuple[set[tuple[int, int]], list[Failure]]:
    """Return links as pairs of entity and document numbers, including those of documents to the entities named by
    their titles, and a failure each for unknown entities and unknown documents.
    """
    by_name = _NameTable((e.name, e.number) for e in entities)
    by_document = _NameTable((name, d.number) for d in documents for name in _names_of(d))
    pairs = {(number, d.number) for d in documents for number in by_name.find(d.title)}
    unknown_entities: list[str] = []
    unknown_documents: list[str] = []
    for entity, document in links:
        numbers, matches = by_name.find(entity), by_document.find(document)
        pairs |= {(number, match) for number in numbers for match in matches}
        if not numbers:
            unknown_entities.append(entity)
        if not matches:
            unknown_documents.append(document)
    failures: list[Failure] = []
    for problem, names in (
        ("the graph has no entity", dict.fromkeys(unknown_entities)),
        ("there is no document", dict.fromkeys(unknown_documents)),
    ):
        if names:
            more = f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
            message = f"{problem} {next(iter(names))!r}{more}, which the links name; they were left out"
            failures.append(Failure("import", message))
    return pairs, failures


def _names_of(document: Document) -> list[str]:
    """Return the names by which a link may refer to a document: its ids, path, file name and title."""
    path = PurePosixPath(document.path)
    ids = [document.metadata[key] for key in ("_id", "id") if key in document.metadata]
    return [*ids, document.path, path.name, path.stem, document.title]


def listed_links(documents: Sequence[Document]) -> Iterator[Link]:
    """Yield the links to entities that documents list in a field `entities`: a list in a JSON record, a text separated
    by `;` or `|`, or a list in front matter, separated by commas.
    """
    files = sorted({d.path.rpartition("#")[0] for d in documents})
    lists: dict[str, list[str]] = {}
    for file in files:
        suffix = PurePosixPath(file).suffix.lower()
        if suffix not in JSON_SUFFIXES:
            continue
        for number, record in json_values(decode(Path(file).read_bytes()).text, suffix):
            if not isinstance(record, Mapping):
                continue
            names = cast("Mapping[str, Any]", record).get("entities")
            if isinstance(names, list):
                lists[f"{file}#{number}"] = [str(name) for name in cast("list[Any]", names)]
    for d in documents:
        separators = "[;|,]" if suffix_of(d.path) in (".md", ".markdown") else "[;|]"
        stated = (name.strip() for name in re.split(separators, d.metadata.get("entities", "")))
        names = dict.fromkeys((*lists.get(d.path, ()), *stated))
        yield from ((name, d.path) for name in names if name)


def read_links(path: Path) -> list[Link]:
    """Read a table of links with the columns entity and document, with or without a header.

    Raises UsageError if the file cannot be read or a row does not have two columns.
    """
    try:
        text = decode(path.read_bytes()).text
    except (OSError, DocumentError) as error:
        message = error.strerror if isinstance(error, OSError) else f"the file {error}"
        raise UsageError(f"the links {path} cannot be read: {message}") from None
    rows = [(n, row) for n, row in delimited(text, delimiter_of(text, "entity")) if any(map(str.strip, row))]
    columns = _columns_of(rows[0][1], LINK_HEADERS) if rows else None
    links: list[Link] = []
    for n, row in rows[1 if columns else 0 :]:
        cells = [row[i] for i in columns if i < len(row)] if columns else row
        values = [cell.strip() for cell in cells]
        if len(values) != 2 or not all(values):
            advice = "each line has the two, in that order"
            raise UsageError(f"{path}, line {n}: not an entity and a document; {advice}")
        links.append((values[0], values[1]))
    return links
