"""From documents to chunks, overlapping windows of tokens (GraphRAG §3.1.1), and from chunks to extractions.

Extraction (GraphRAG §3.1.2, A.2) includes gleaning and claims if a language model performs it. Each chunk is a separate
conversation that waits for no other, so the model never has to idle.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, starmap
from typing import Any, cast

import numpy as np

from conspectus.algorithms.statistics import Floats, Ints, numbers_of
from conspectus.content import content_of
from conspectus.errors import ModelError, Unusable
from conspectus.models.base import Model, Tick, no_tick, performed, portable, run_sync, writes
from conspectus.rows import Chunk, Document, Failure, Span, content_id
from conspectus.settings import ChunkSettings, ExtractSettings, GraphSchema
from conspectus.tasks import (
    AnyMissed,
    ExtractClaims,
    ExtractGraph,
    Extraction,
    ExtractTriples,
    FoundClaim,
    FoundEntity,
    FoundRelationship,
    FoundTriple,
    GleanMore,
    NameEntities,
    Task,
    Turn,
)
from conspectus.text.language import read_word_sets
from conspectus.text.types import CALENDAR
from conspectus.text.words import CJK, STOPWORDS, name_key
from conspectus.tokens import encoding
from conspectus.workers import Texts, Workers


def chunk(
    documents: Sequence[Document], settings: ChunkSettings, workers: Workers | None = None
) -> list[Chunk]:
    """Cut all documents, in their order, into windows of `tokens` tokens that share `overlap` tokens with the previous
    one (GraphRAG §3.1.1).

    The chunks are in order and cover everything except white space. If the edge of a window falls inside a
    character, it moves to the next token boundary that does not. A tail that would add no more tokens than the
    overlap becomes part of the previous window.
    """
    workers, size = workers or Workers(), f"{settings.tokens} {settings.overlap}"
    parts = workers.map_stored(
        windows_in,
        [len(document.text) for document in documents],
        (f"{document.id} {document.omitted} {size}" for document in documents),
        lambda shard: ([documents[i] for i in shard], settings),
        lambda stored, shard: _checked([documents[i] for i in shard], stored),
    )
    chunks: list[Chunk] = []
    for document, windows in zip(documents, chain.from_iterable(parts), strict=True):
        content = content_of(document)
        for first, last, n_tokens in windows:
            text = content.text[first:last]
            if not text.isspace():
                start, end = content.span(first, last)
                id_ = content_id(document.id, str(start), str(end))
                row = Chunk(id_, len(chunks), document.id, start, end, text, n_tokens)
                chunks.append(workers.texts.store(row) if workers.texts else row)
    return chunks


def windows_in(documents: Sequence[Document], settings: ChunkSettings) -> list[list[tuple[int, int, int]]]:
    """Return the windows of each document's content: start, end (exclusive), number of tokens."""
    return [list(_windows(content_of(document).text, settings)) for document in documents]


def _checked(documents: Sequence[Document], stored: Any) -> list[list[tuple[int, int, int]]]:
    """Return stored windows of documents; raise ValueError or TypeError if they are invalid."""
    windows = [[(int(a), int(b), int(n)) for a, b, n in rows] for rows in stored]
    for document, rows in zip(documents, windows, strict=True):
        if not all(0 <= a < b <= len(document.text) and n > 0 for a, b, n in rows):
            raise ValueError("a window is not in its document")
    return windows


def _windows(text: str, settings: ChunkSettings) -> Iterator[tuple[int, int, int]]:
    """Yield the start, the end (exclusive) and the number of tokens of each window."""
    vocabulary = encoding()
    tail = settings.overlap  # a last chunk within the overlap would add nothing
    if (whole := vocabulary.count_up_to(text, settings.tokens + tail)) is not None:
        if whole:
            yield 0, len(text), whole
        return
    ids = vocabulary.encode_long(text)

    def edge(at: int) -> int:
        """Return the first token index from `at` on that is a boundary between characters.
        Tokens that begin inside a character never decode. Those that begin with a character do, as soon as they spell
        it: one to four tokens, or more if tokens straddle characters, which is rare (such an edge may be missed).
        """
        while at < len(ids) and all(
            vocabulary.decode(ids[at : at + n].tolist()) is None for n in range(1, 9)
        ):
            at += 1
        return min(at, len(ids))

    def characters(first: int, last: int) -> int:
        between = vocabulary.decode(ids[first:last].tolist())
        assert between is not None, "both are edges"
        return len(between)

    first, start = 0, 0  # the same position, in tokens and in characters
    while True:
        last = edge(first + settings.tokens)
        if len(ids) - last <= tail:
            last = len(ids)
        yield start, start + characters(first, last), last - first
        if last == len(ids):
            return
        following = edge(last - settings.overlap)
        start += characters(first, following)
        first = following


# Extraction

_ISO_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}(?!\d)")


def dates_of(documents: Iterable[Document]) -> dict[str, str]:
    """Return the dates of documents in ISO format, without a time of day, by id; others are left out."""
    dates = ((document.id, _ISO_DATE.match(document.day)) for document in documents)
    return {id_: match[0] for id_, match in dates if match}


@dataclass(frozen=True)
class Extractions(Sequence[Extraction]):
    """The entities and relationships of chunks; as a sequence, the extraction of each chunk, created when accessed.

    Since there are millions, they are columns of two arrays of six rows: the index of the chunk, those of the name (or
    source) and type (or target) in `names`, that of the description in `texts`, and the start and end of the span in
    which they were found, -1 for anywhere in the chunk.
    """

    names: Sequence[str]
    texts: Sequence[str]
    entities: Ints
    relationships: Ints
    strengths: Floats
    """The strengths of the relationships."""
    documents: Sequence[str]
    """The id of the document of each chunk's spans: the chunk's own document, except for facts that people added."""
    chunks: Sequence[Chunk] = ()
    failures: Sequence[Failure] = ()

    @classmethod
    def of(cls, extracted: Iterable[tuple[Chunk, Extraction]]) -> Extractions:
        """Convert the extractions of chunks to columns."""
        name, text = (defaultdict[str, int](count().__next__) for _ in range(2))
        chunks, documents, strengths = list[Chunk](), list[str](), list[float]()
        rows = array("i"), array("i")  # a sixth of the memory of lists
        for chunk, graph in extracted:
            document = chunk.document_id
            tables = graph.entities, graph.relationships
            for flat, table in zip(rows, tables, strict=True):
                for one, other, words, *_, span in table:
                    document, *where = span or (document, -1, -1)
                    flat.extend((len(chunks), name[one], name[other], text[words], *where))
            strengths += [edge.strength for edge in graph.relationships]
            chunks.append(chunk)
            documents.append(document)
        entities, edges = (np.array(flat, np.int32).reshape(-1, 6).T for flat in rows)
        columns = entities, edges, np.array(strengths, float)
        return cls(list(name), list(text), *columns, documents, chunks)

    @classmethod
    def joined(cls, parts: Iterable[Extractions], chunks: Sequence[Chunk], texts: Texts) -> Extractions:
        """Concatenate the extractions of consecutive groups of chunks, adding their descriptions to `texts`."""
        name, done, failures = dict[str, int](), 0, list[Failure]()
        none = np.zeros((6, 0), np.int32)
        tables, strengths = ([none], [none]), [np.zeros(0)]
        for part in parts:
            numbers = numbers_of(part.names, name)
            for table, own in zip(tables, (part.entities, part.relationships), strict=True):
                chunk, one, other, text, *where = own
                columns = chunk + done, numbers[one], numbers[other], text + len(texts), *where
                table.append(np.array(columns, np.int32).reshape(6, -1))
            texts.extend(part.texts)
            strengths.append(part.strengths)
            failures += part.failures
            done += len(part.documents)
        entities, edges = (np.concatenate(table, axis=1) for table in tables)
        documents = [chunk.document_id for chunk in chunks]
        columns = list(name), texts, entities, edges, np.concatenate(strengths)
        return cls(*columns, documents, chunks, failures)

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, at: Any) -> Any:
        names, texts = self.names, self.texts
        document = self.documents[int(at)]

        def rows(table: Ints, *more: Floats) -> Iterator[tuple[Any, ...]]:
            inside = slice(*np.searchsorted(table[0], (at, at + 1)))
            each = *table[1:4], *more, *table[4:]
            columns: list[list[Any]] = [column[inside].tolist() for column in each]
            for one, other, text, *own, start, end in zip(*columns, strict=True):
                span = Span(document, start, end) if start >= 0 else None
                yield names[one], names[other], texts[text], *own, span

        edges = starmap(FoundRelationship, rows(self.relationships, self.strengths))
        return Extraction(tuple(starmap(FoundEntity, rows(self.entities))), tuple(edges))


@dataclass
class Extracted:
    """The extractions and claims of each chunk, in their order, and the failures of the model."""

    graphs: Sequence[Extraction] = ()
    claims: Sequence[tuple[FoundClaim, ...]] = ()
    failures: list[Failure] = field(default_factory=list[Failure])

    def check(self, model: str) -> None:
        """Raise ModelError if the model failed on every chunk, so that there is nothing to build an index from."""
        any_entity = any(graph.entities for graph in self.graphs)
        if self.failures and len(self.failures) == len(self.graphs) and not any_entity:
            _, _, why = self.failures[-1].error.partition("): ")
            raise ModelError(f"{model} could not read any of the {len(self.graphs)} chunks: {why}")


async def extract(
    chunks: Sequence[Chunk],
    model: Model,
    settings: ExtractSettings,
    language: str = "en",
    tick: Tick = no_tick,
    dates: Mapping[str, str] | None = None,
) -> Extracted:
    """Return the extractions of chunks; `dates` are those of documents, by id.
    A failed chunk has an empty extraction; if gleaning or the extraction of claims fails, earlier results are
    retained. Raises Unusable if the model can no longer be used.
    """

    async def read(chunk: Chunk) -> tuple[Extraction, tuple[FoundClaim, ...], tuple[Failure, ...]]:
        graphs: list[Extraction] = []
        claims: tuple[FoundClaim, ...] = ()
        failures: tuple[Failure, ...] = ()
        try:
            date = (dates or {}).get(chunk.document_id, "")
            async for graph in _rounds(chunk, model, settings, language, date):
                graphs.append(graph)
            if settings.claims and writes(model, ExtractClaims):
                names = tuple(dict.fromkeys(entity.name for graph in graphs for entity in graph.entities))
                claims = await model.perform(ExtractClaims(chunk, names, language=language)) if names else ()
        except Unusable:
            raise
        except ModelError as error:
            where = f"characters {chunk.start} to {chunk.end}"
            if chunk.id not in str(error):  # some errors of models already name the chunk
                where = f"chunk {chunk.id} ({where})"
            failures = (Failure("extract", f"{where}: {error}", chunk.document_id),)
        tick()
        return _by_schema(_joined(graphs), settings), claims, failures

    results = await performed(model, read, chunks)
    graphs, claims = [graph for graph, _, _ in results], [claims for _, claims, _ in results]
    failures = chain.from_iterable(failures for *_, failures in results)
    return Extracted(graphs, claims, list(failures))


def extract_shard(
    chunks: Sequence[Chunk], model: Model, settings: ExtractSettings, language: str, dates: Mapping[str, str]
) -> Extractions:
    """Return the extractions of chunks like `extract`, by a model that works in this process and needs no waiting."""
    extracted = run_sync(extract(chunks, model, settings, language, dates=dates))
    part = Extractions.of(zip(chunks, extracted.graphs, strict=True))
    return replace(part, chunks=(), failures=extracted.failures)


def map_extract(
    chunks: Sequence[Chunk],
    model: Model,
    documents: Sequence[Document],
    more: tuple[ExtractSettings, str, Mapping[str, str]],
    workers: Workers,
    tick: Tick,
    begin: Callable[[], object],
) -> Extracted:
    """Return the extractions of chunks like `extract`, shard by shard; the model must be portable to other processes
    (`models.base.portable`). `begin` is called when all shards are queued, to queue the work that follows.
    """
    number = {document.id: i for i, document in enumerate(documents)}
    marks = {document.id: content_id(str(document.omitted)) for document in documents}

    def documents_of(shard: range) -> range:
        first, last = (number[chunks[i].document_id] for i in (shard[0], shard[-1]))
        return range(first, last + 1)

    parts = workers.map_stored(
        extract_shard,
        [chunk.end - chunk.start for chunk in chunks],
        (f"{chunk.id} {marks[chunk.document_id]}" for chunk in chunks),
        lambda shard: (chunks[shard.start : shard.stop], portable(model, documents_of(shard)), *more),
        lambda stored, shard: _loaded(stored, chunks[shard.start : shard.stop]),
        lambda part, _: _stored(part),
        lambda shard: f"{more[0].model_dump_json()} {cast('Any', model).digest(documents_of(shard))}",
    )
    begin()

    def counted() -> Iterator[Extractions]:
        for part in parts:
            yield part
            for _ in part.documents:
                tick()

    all_parts = Extractions.joined(counted(), chunks, Texts(workers.texts))
    return Extracted(all_parts, [()] * len(chunks), list(all_parts.failures))


_STORED = "names", "texts", "entities", "relationships", "strengths"


def _stored(part: Extractions) -> dict[str, Any]:
    """Return extractions in the form in which they are stored; empty after failures, so that they are retried."""
    if part.failures:
        return {}
    tables = part.entities.ravel(), part.relationships.ravel()
    columns = part.names, part.texts, *tables, part.strengths
    return dict(zip(_STORED, columns, strict=True))


def _loaded(stored: Mapping[str, Any], chunks: Sequence[Chunk]) -> Extractions:
    """Return the stored extractions of chunks; raise ValueError or another exception if they are invalid."""
    *texts, entities, edges, strengths = map(stored.__getitem__, _STORED)
    names, texts = (list(map(str, each)) for each in texts)
    entities, edges = entities.reshape(6, -1), edges.reshape(6, -1)
    every = np.concatenate((entities, edges), axis=1)
    sizes = map(len, (chunks, names, names, texts))
    limits = np.array([*sizes])[:, None]
    numbers = every[:4]
    known = ((numbers >= 0) & (numbers < limits)).all()
    known &= len(strengths) == edges.shape[1]
    first, last = np.array([(chunk.start, chunk.end) for chunk in chunks]).T[:, every[0]]
    inside = (first <= every[4]) & (every[4] < every[5]) & (every[5] <= last)
    ordered = all((np.diff(table[0]) >= 0).all() for table in (entities, edges))
    weighed = (strengths >= 1) & (strengths <= 10)
    if not (known and ordered and inside.all() and weighed.all()):
        raise ValueError("there is nothing of the kind in the chunks")
    documents = [chunk.document_id for chunk in chunks]
    return Extractions(names, texts, entities, edges, strengths, documents)


async def _rounds(
    chunk: Chunk, model: Model, settings: ExtractSettings, language: str, date: str
) -> AsyncIterator[Extraction]:
    """Yield the first extraction of a chunk, then that of each round of gleaning, then open triples.

    If both a graph and triples are extracted, the graph is the same as without triples, which have their own prompts.
    """
    style = settings.style if writes(model, ExtractTriples) else "graph"
    if style != "triples":
        guidance, relations = _guides(settings.graph_schema)
        task: Task[Extraction] = ExtractGraph(
            chunk, settings.types, date, guidance, relations, language=language
        )
        graph = await model.perform(task)
        yield graph
        for _ in range(settings.max_gleanings if writes(model, ExtractGraph) else 0):
            turn = Turn(task, graph)
            if not await model.perform(AnyMissed(turn, language=language)):
                break
            task = GleanMore(turn, language=language)
            graph = await model.perform(task)
            yield graph
    # first the named entities, then triples about them and other noun phrases (HippoRAG)
    if style != "graph":
        strict = settings.strict
        names = await model.perform(NameEntities(chunk.text, strict, language=language))
        when = "" if strict else date
        triples = await model.perform(ExtractTriples(chunk, names, when, strict, language=language))
        yield open_extraction(names, triples, date) if style == "triples" else Extraction(triples=triples)


def _guides(schema: GraphSchema | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the descriptions of a schema's types, and its relations, as texts for a prompt."""
    if not schema:
        return (), ()
    types = {name: ", ".join(filter(None, (e.description, *e.names))) for name, e in schema.entities.items()}
    relations = tuple(f"{r.source} {r.relation} {r.target}" for r in schema.relations)
    return tuple(f"{name}: {text}" for name, text in types.items() if text), relations


def _by_schema(graph: Extraction, settings: ExtractSettings) -> Extraction:
    """Set the types of names that a schema lists; if the schema is strict, remove elements that it does not allow."""
    schema = settings.graph_schema
    if not schema:
        return graph
    known = {name_key(name): type_ for name, type_ in settings.type_of_name.items()}
    entities = [e._replace(type=known.get(name_key(e.name), e.type.lower())) for e in graph.entities]
    if not schema.strict:
        return replace(graph, entities=tuple(entities))
    entities = [e for e in entities if e.type in schema.entities]
    type_of = {name_key(e.name): e.type for e in entities}
    pairs = {frozenset((r.source, r.target)) for r in schema.relations}

    def allowed(relationship: FoundRelationship) -> bool:
        ends = frozenset(type_of.get(name_key(end), "") for end in (relationship.source, relationship.target))
        return "" not in ends and (not pairs or ends in pairs)

    return replace(graph, entities=tuple(entities), relationships=tuple(filter(allowed, graph.relationships)))


def open_extraction(names: Sequence[str], triples: Sequence[FoundTriple], date: str = "") -> Extraction:
    """Return a graph made from triples: entities described by the statements about them, and their relationships.
    Besides `names`, ends of triples are entities if they are capitalised or recur; values such as dates never are.
    """
    recurring = Counter(end for triple in triples for end in (triple.head, triple.tail))
    types = dict.fromkeys(names, "entity")
    for end, uses in recurring.items():
        if end[0].isupper() or (uses > 1 and end[0].isalpha()):
            types.setdefault(end, "concept")
    described: dict[str, list[str]] = {name: [] for name in types if not _is_value(name)}
    relationships: list[FoundRelationship] = []
    for triple in triples:
        sentence = _sentence(triple, date)
        ends = [end for end in dict.fromkeys((triple.head, triple.tail)) if end in described]
        for end in ends:
            described[end].append(sentence)
        if len(ends) == 2:
            relationships.append(FoundRelationship(triple.head, triple.tail, sentence, 5.0))
    entities = (FoundEntity(name, types[name], ". ".join(texts)) for name, texts in described.items())
    return Extraction(tuple(entities), tuple(relationships), tuple(triples))


def _sentence(triple: FoundTriple, date: str) -> str:
    """Return the statement of a triple as a text; if it has no time, with the date of its document, if known."""
    head, relation, tail = triple.head, triple.relation, triple.tail
    if CJK.search(relation):
        text = "，".join(
            filter(None, (triple.time, triple.location, f"{head}{relation}{tail}", triple.amount))
        )
    else:
        text = " ".join(filter(None, (head, relation, tail, triple.amount, triple.location, triple.time)))
    return f"{text} ({date})" if date and not triple.time else text


_OF_VALUES = read_word_sets("words")["values"]
_CHINESE_VALUE = re.compile(
    r"[\d零〇一二三四五六七八九十百千万亿两几多余约第"
    r"年月日号周时分秒元块美欧镑公里米吨个%％.,，、至到－—-]+"
)


def _is_value(name: str) -> bool:
    """Return whether a phrase is only a time, a duration or an amount: `10 to 18 April`, `£7.3 million`."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(_CHINESE_VALUE.fullmatch(name)) or all(
        word in CALENDAR or word in _OF_VALUES or word in STOPWORDS for word in words
    )


def _joined(graphs: Sequence[Extraction]) -> Extraction:
    return Extraction(
        tuple(entity for graph in graphs for entity in graph.entities),
        tuple(pair for graph in graphs for pair in graph.relationships),
        tuple(triple for graph in graphs for triple in graph.triples),
    )
