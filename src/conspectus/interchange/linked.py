"""A knowledge graph and documents that are linked to its entities, as one index.

A document is linked to the entities that it lists itself (a field `entities` of its record), to the one
whose name is its title, and to those that a table of links gives it. The links of an entity are the chunks
of its documents; its triples say nothing of texts, and stay as they were given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from conspectus.errors import DocumentError, UsageError
from conspectus.index import Index
from conspectus.indexing.chunk import chunk
from conspectus.indexing.communities import find_communities
from conspectus.indexing.given_graph import with_sentences
from conspectus.indexing.triples import graph_rows
from conspectus.interchange.triples import GivenGraph, columns_of
from conspectus.readers import suffix_of
from conspectus.readers.encodings import decode
from conspectus.readers.records import JSON, delimited, delimiter_of, json_values
from conspectus.rows import Document, Entity, Failure
from conspectus.settings import Settings
from conspectus.text.words import name_key

ENTITIES = "entities"
"""The field of a record that lists the entities of its document."""
HEADERS = (("entity", "name", "node", "head"), ("document", "doc", "id", "_id", "path", "title", "text"))
"""What the header of a table of links may call its two columns."""

MARKDOWN = (".md", ".markdown")

Link = tuple[str, str]
"""What an entity is called, and what a document is called."""


@dataclass(frozen=True)
class Linked:
    """How many documents and entities of an index are linked."""

    documents: int
    entities: int
    links: int

    @classmethod
    def of(cls, index: Index) -> Linked:
        """Count them."""
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

    `failures` are those of reading the documents. Links that name no entity or no document are failures of
    stage `import`; entities and documents that are linked to nothing stay.
    """
    chunks = chunk(documents, settings.chunk)
    rows = graph_rows(graph)
    entities: list[Entity] = rows.pop("entities")
    found, unknown = _resolved(links, entities, documents)
    found += _titled(entities, documents)
    of_document: dict[str, list[str]] = defaultdict(list)
    for c in chunks:
        of_document[c.document_id].append(c.id)
    held: dict[int, dict[str, None]] = defaultdict(dict)
    for entity, document in sorted(set(found)):
        held[entity] |= dict.fromkeys(of_document[documents[document].id])
    entities = [replace(e, chunk_ids=tuple(held.get(e.number, ()))) for e in entities]
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


# What entities and documents are called


class _Names:
    """Finds rows by what they are called: spelt the same, else alike but for case, accents and marks."""

    def __init__(self, named: Iterable[tuple[str, int]]) -> None:
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._alike: dict[str, list[int]] = defaultdict(list)
        for name, number in named:
            self._exact[name].append(number)
            self._alike[name_key(name)].append(number)

    def find(self, name: str) -> list[int]:
        return self._exact.get(name) or self.alike(name)

    def alike(self, name: str) -> list[int]:
        key = name_key(name)
        return self._alike.get(key, []) if key else []


def _resolved(
    links: Iterable[Link], entities: Sequence[Entity], documents: Sequence[Document]
) -> tuple[list[tuple[int, int]], list[Failure]]:
    """Return the links in numbers of entities and documents, and what names none."""
    by_name = _Names((e.name, e.number) for e in entities)
    tiers = [_Names(tier) for tier in _calls(documents)]
    found: list[tuple[int, int]] = []
    unknown: dict[str, dict[str, None]] = {"entity": {}, "document": {}}
    for entity, document in links:
        numbers = by_name.find(entity)
        places = next((at for tier in tiers if (at := tier.find(document))), list[int]())
        found += ((number, place) for number in numbers for place in places)
        for what, name, there in (("entity", entity, numbers), ("document", document, places)):
            if not there:
                unknown[what][name] = None
    return found, [_unknown(what, list(names)) for what, names in unknown.items() if names]


def _unknown(what: str, names: list[str]) -> Failure:
    where = "the graph has no entity" if what == "entity" else "there is no document"
    more = f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
    return Failure("import", f"{where} {names[0]!r}{more}, which the links name; they were left out")


def _calls(documents: Sequence[Document]) -> Iterator[list[tuple[str, int]]]:
    """Yield what documents are called: their ids, paths, file names, stems, titles; the surest first."""
    yield [(d.metadata[key], d.number) for d in documents for key in ("_id", "id") if key in d.metadata]
    yield [(d.path, d.number) for d in documents]
    yield [(PurePosixPath(d.path).name, d.number) for d in documents]
    yield [(PurePosixPath(d.path).stem, d.number) for d in documents]
    yield [(d.title, d.number) for d in documents]


def _titled(entities: Sequence[Entity], documents: Sequence[Document]) -> Iterator[tuple[int, int]]:
    """Yield the links of documents to the entities that have their titles for names, in whatever case."""
    by_name = _Names((e.name, e.number) for e in entities)
    yield from ((number, d.number) for d in documents for number in by_name.alike(d.title))


# Where links are given


def listed_links(documents: Sequence[Document]) -> Iterator[Link]:
    """Yield the links to what documents list: a list in a JSON record, else a text parted by `;` or `|`, or the
    list of front matter, which commas part.
    """
    files = {file for d in documents if (file := _json_file(d.path))}
    lists = {path: names for file in sorted(files) for path, names in _lists_of(file)}
    for d in documents:
        parted = "[;|,]" if suffix_of(d.path) in MARKDOWN else "[;|]"
        stated = (name.strip() for name in re.split(parted, d.metadata.get(ENTITIES, "")))
        yield from ((name, d.path) for name in dict.fromkeys((*lists.get(d.path, ()), *stated)) if name)


def _json_file(path: str) -> str:
    file = path.rpartition("#")[0]
    return file if PurePosixPath(file).suffix.lower() in JSON else ""


def _lists_of(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield path and listed entities of each record of a file that was read before: only its lists are new."""
    for number, record in json_values(decode(Path(file).read_bytes()).text, PurePosixPath(file).suffix.lower()):
        names = cast("Mapping[str, Any]", record).get(ENTITIES) if isinstance(record, Mapping) else None
        if isinstance(names, list):
            yield f"{file}#{number}", [str(name) for name in cast("list[Any]", names) if name]


def read_links(path: Path) -> list[Link]:
    """Read a table of links, entity and document, with a header or without one.

    Raises UsageError where the file cannot be read or a row has not two columns.
    """
    try:
        text = decode(path.read_bytes()).text
    except OSError as error:
        raise UsageError(f"the links {path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        raise UsageError(f"the links {path} cannot be read: the file {error}") from None
    rows = [(n, row) for n, row in delimited(text, delimiter_of(text, "entity")) if any(map(str.strip, row))]
    picked = columns_of(rows[0][1], HEADERS) if rows else None
    links: list[Link] = []
    for n, row in rows[1 if picked else 0 :]:
        values = [row[i].strip() for i in picked if i < len(row)] if picked else [cell.strip() for cell in row]
        if len(values) != 2 or not all(values):
            raise UsageError(f"{path}, line {n}: not an entity and a document; each line has the two, in that order")
        links.append((values[0], values[1]))
    return links
