"""Make an index from what other tools made: a knowledge graph, or the output of Microsoft GraphRAG.

A graph may come with documents. A document is linked to the entities that it lists (a field `entities` of its record),
to the entity whose name is its title, and to those in a table of links. An entity is linked to all chunks of its
documents.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from conspectus import Index
from conspectus.errors import DocumentError, UsageError
from conspectus.indexing.chunk import chunk
from conspectus.indexing.communities import find_communities
from conspectus.indexing.given_graph import with_sentences
from conspectus.indexing.triples import GivenGraph, graph_rows, index_of
from conspectus.interchange.graphrag import read_graphrag
from conspectus.interchange.triples import columns_of, read_triples
from conspectus.readers import suffix_of
from conspectus.readers.encodings import decode
from conspectus.readers.records import JSON_SUFFIXES, delimited, delimiter_of, json_values
from conspectus.rows import Document, Entity, Failure
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, public, read_sources, resolved, shown
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.text.words import name_key

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress
    from conspectus.interchange.graphrag import Imported

ENTITIES = "entities"
"""The field of a record that lists the entities of the document."""
HEADERS = (("entity", "name", "node", "head"), ("document", "doc", "id", "_id", "path", "title", "text"))
"""Names of the two columns in the header of a table of links."""

MARKDOWN = (".md", ".markdown")

Link = tuple[str, str]
"""The name of an entity, and the name, path or id of a document."""


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

    See `interchange.triples.read_triples` for the files it takes, this module for how documents are linked;
    `links` names a table of entities and documents. What stood in the folder is replaced.

    Raises DocumentError where the file holds no triples, UsageError for links that cannot be read or without
    documents, and what `build` does for sources.
    """
    if links and not documents:
        raise UsageError("links go from entities to documents: name the documents, too")
    with shown(progress) as bars:
        if bars:
            bars.stage("read", 0)
        graph, chosen = read_triples(Path(file)), resolved(settings)
        if documents:
            listed = read_links(Path(links)) if links else []
            texts, failures, *_ = read_sources(documents, None, chosen)
            if bars:
                bars.stage("lexical", 0)
            index = linked_index(graph, texts, [*listed_links(texts), *listed], chosen, failures)
        else:
            if bars:
                bars.stage("communities", 0)
            index = index_of(graph, chosen.communities)
        return _stored(index, path_of(folder))


@public
def import_graphrag(
    source: str | Path, folder: str | Path = DEFAULT_FOLDER, *, progress: Progress | bool | None = None
) -> Imported:
    """Make the index in a folder from an output folder of Microsoft GraphRAG, and return it with what did not fit.

    See `interchange.graphrag` for the rules. What stood in the folder is replaced.

    Raises IndexMissing where there is no such output, IndexDamaged where its tables lack what is needed.
    """
    with shown(progress) as bars:
        imported = read_graphrag(Path(source), bars)
        return replace(imported, index=_stored(imported.index, path_of(folder)))


def _stored(index: Index, folder: Path) -> Index:
    with store.writing(folder):
        store.commit(folder, index, settings=index.settings, usage={})
    return store.read(folder)


# Documents about the entities of a graph


@dataclass(frozen=True)
class Linked:
    """The number of documents and entities of an index that are linked, and of links."""

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

    failures: those of reading the documents. Links that name an unknown entity or document are added as failures of
        stage `import`.
    """
    chunks = chunk(documents, settings.chunk)
    rows = graph_rows(graph)
    entities: list[Entity] = rows.pop("entities")
    pairs, unknown = _resolve(links, entities, documents)
    pairs += _title_links(entities, documents)
    of_document: dict[str, list[str]] = defaultdict(list)
    for c in chunks:
        of_document[c.document_id].append(c.id)
    chunk_ids: dict[int, dict[str, None]] = defaultdict(dict)
    for entity, document in sorted(set(pairs)):
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


# Names of entities and documents


class _NameTable:
    """Finds rows by name: by equal spelling, else regardless of case, accents and punctuation."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._normalised: dict[str, list[int]] = defaultdict(list)
        for name, number in names:
            self._exact[name].append(number)
            self._normalised[name_key(name)].append(number)

    def find(self, name: str) -> list[int]:
        return self._exact.get(name) or self.find_normalised(name)

    def find_normalised(self, name: str) -> list[int]:
        key = name_key(name)
        return self._normalised.get(key, []) if key else []


def _resolve(
    links: Iterable[Link], entities: Sequence[Entity], documents: Sequence[Document]
) -> tuple[list[tuple[int, int]], list[Failure]]:
    """Return the links as numbers of entities and documents, and a failure for names that are unknown."""
    by_name = _NameTable((e.name, e.number) for e in entities)
    tiers = [_NameTable(tier) for tier in _document_names(documents)]
    pairs: list[tuple[int, int]] = []
    unknown: dict[str, dict[str, None]] = {"entity": {}, "document": {}}
    for entity, document in links:
        numbers = by_name.find(entity)
        matches = next((rows for tier in tiers if (rows := tier.find(document))), list[int]())
        pairs += ((number, match) for number in numbers for match in matches)
        for kind, name, rows in (("entity", entity, numbers), ("document", document, matches)):
            if not rows:
                unknown[kind][name] = None
    return pairs, [_unknown(kind, list(names)) for kind, names in unknown.items() if names]


def _unknown(kind: str, names: list[str]) -> Failure:
    where = "the graph has no entity" if kind == "entity" else "there is no document"
    more = f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
    return Failure("import", f"{where} {names[0]!r}{more}, which the links name; they were left out")


def _document_names(documents: Sequence[Document]) -> Iterator[list[tuple[str, int]]]:
    """Yield the names of documents: ids, paths, file names, stems, titles; the most specific first."""
    yield [(d.metadata[key], d.number) for d in documents for key in ("_id", "id") if key in d.metadata]
    yield [(d.path, d.number) for d in documents]
    yield [(PurePosixPath(d.path).name, d.number) for d in documents]
    yield [(PurePosixPath(d.path).stem, d.number) for d in documents]
    yield [(d.title, d.number) for d in documents]


def _title_links(entities: Sequence[Entity], documents: Sequence[Document]) -> Iterator[tuple[int, int]]:
    """Yield links of documents to the entities whose name is their title."""
    by_name = _NameTable((e.name, e.number) for e in entities)
    yield from ((number, d.number) for d in documents for number in by_name.find_normalised(d.title))


# Sources of links


def listed_links(documents: Sequence[Document]) -> Iterator[Link]:
    """Yield the links to entities that documents list: a list in a JSON record, a text separated by `;` or `|`, or a
    list in front matter, separated by commas.
    """
    files = {file for d in documents if (file := _json_file(d.path))}
    lists = {path: names for file in sorted(files) for path, names in _lists_of(file)}
    for d in documents:
        separators = "[;|,]" if suffix_of(d.path) in MARKDOWN else "[;|]"
        stated = (name.strip() for name in re.split(separators, d.metadata.get(ENTITIES, "")))
        yield from ((name, d.path) for name in dict.fromkeys((*lists.get(d.path, ()), *stated)) if name)


def _json_file(path: str) -> str:
    file = path.rpartition("#")[0]
    return file if PurePosixPath(file).suffix.lower() in JSON_SUFFIXES else ""


def _lists_of(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the path and the listed entities of each record of a JSON file."""
    for number, record in json_values(decode(Path(file).read_bytes()).text, PurePosixPath(file).suffix.lower()):
        names = cast("Mapping[str, Any]", record).get(ENTITIES) if isinstance(record, Mapping) else None
        if isinstance(names, list):
            yield f"{file}#{number}", [str(name) for name in cast("list[Any]", names) if name]


def read_links(path: Path) -> list[Link]:
    """Read a table of links with the columns entity and document, with or without a header.

    Raises UsageError if the file cannot be read or a row does not have two columns.
    """
    try:
        text = decode(path.read_bytes()).text
    except OSError as error:
        raise UsageError(f"the links {path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        raise UsageError(f"the links {path} cannot be read: the file {error}") from None
    rows = [(n, row) for n, row in delimited(text, delimiter_of(text, "entity")) if any(map(str.strip, row))]
    columns = columns_of(rows[0][1], HEADERS) if rows else None
    links: list[Link] = []
    for n, row in rows[1 if columns else 0 :]:
        values = [row[i].strip() for i in columns if i < len(row)] if columns else [cell.strip() for cell in row]
        if len(values) != 2 or not all(values):
            raise UsageError(
                f"{path}, line {n}: not an entity and a document; each line has the two, in that order"
            )
        links.append((values[0], values[1]))
    return links
