"""Measures of rankings, on data in the BEIR layout (Thakur et al., 2021): `corpus.jsonl`, `queries.jsonl` and
`qrels/test.tsv`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import log2
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from conspectus import Index
from conspectus.api.asking import context
from conspectus.api.building import Agree
from conspectus.errors import IndexMissing, UsageError
from conspectus.evaluation.comparison import Question, read_list
from conspectus.evaluation.run import AT_ONCE, agreed, attempt, each, estimate
from conspectus.evaluation.statistics import Measured
from conspectus.indexing.chunks import dates_of, extract
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.estimate import Estimate, TaskEstimate
from conspectus.indexing.graph import triples_of
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.models.base import Model
from conspectus.models.embedders import open_embedder, same_model
from conspectus.models.llm.model import Session, open_session
from conspectus.models.rerankers import open_reranker
from conspectus.retrieval import METHODS, RANKINGS, with_depth
from conspectus.retrieval.base import extractive
from conspectus.retrieval.rerank import DEPTH as RERANKED
from conspectus.retrieval.rerank import reranked
from conspectus.rows import Document, Usage, counted
from conspectus.runtime import (
    DEFAULT_FOLDER,
    AnyIndex,
    Given,
    check_question,
    named,
    opened,
    path_of,
    public,
    resolved,
    run_sync,
)
from conspectus.settings import ExtractSettings, Settings
from conspectus.storage import store
from conspectus.tasks import FoundTriple

T = TypeVar("T")
LAYOUT = "corpus.jsonl, queries.jsonl and qrels/test.tsv"
DEFAULT, UNTITLED = ".conspectus", ".conspectus-untitled"
"""Folders, next to the passages, of the index with titles and of the index without."""
DEPTH = 10
"""Passages ranked for each question, unless a measure needs more."""
SAMPLED = 10
"""Questions and passages whose prompts an estimate renders; few, because ranking 2wiki takes 50 ms a question."""
WITHOUT_TRIPLES = ("mixed",)
"""Rankings that use only the names in a graph and do not follow its triples."""
STUB = 20
"""Characters of the names in the single triple that stands for missing ones in an estimate."""
RECALLS, ALLS = (1, 2, 5, 10), (5, 8)
"""The depths k of recall, in addition to those that are asked for, and of all@k."""
Relevant = Mapping[str, float]
"""The relevance of passages, above 0, by their ids."""
Measure = Callable[[Sequence[str], Relevant], float]
"""A measure of a ranking of passages, given by their ids."""


@dataclass(frozen=True)
class Query:
    """A question and the passages that answer it."""

    id: str
    text: str
    relevant: Relevant
    kind: str = ""


@dataclass(frozen=True)
class RetrievalData:
    """Passages as in the file (`id`, `title`, `text`), and the questions that have a relevant passage."""

    name: str
    passages: Sequence[Mapping[str, str]]
    queries: Sequence[Query]

    def documents(self, settings: Settings) -> Sequence[Document]:
        """Return the passages as documents, with the ids of the passages as paths."""
        return read_texts(self.passages, settings.read)[0]

    def ids(self, settings: Settings) -> Mapping[str, str]:
        """Return the passage id of each document, by the document's id; several passages may have the same id."""
        given = {passage["id"] for passage in self.passages}
        paths = {document.id: document.path for document in self.documents(settings)}
        # the second passage with the same id has the path `id#2`
        return {id_: path if path in given else path.rpartition("#")[0] for id_, path in paths.items()}


class _Row(BaseModel):
    """A line of corpus.jsonl or queries.jsonl."""

    id: str = Field(alias="_id")
    text: str
    title: str | None = None
    type: str = ""


def read_beir(folder: Path, titles: bool = True) -> RetrievalData:
    """Read a folder; without `titles`, the titles of the passages are left out.

    Raises UsageError if a file is missing or a line of it does not follow the layout.
    """
    relevant: dict[str, dict[str, float]] = {}
    for query, passage, score in _parsed(folder / "qrels" / "test.tsv", _judgement):
        if score > 0:
            relevant.setdefault(query, {})[passage] = score
    passages = [
        {"id": row.id, "title": (titles and row.title) or "", "text": row.text}
        for row in _parsed(folder / "corpus.jsonl", _Row.model_validate_json)
    ]
    rows = _parsed(folder / "queries.jsonl", _Row.model_validate_json)
    queries = [Query(row.id, row.text, relevant[row.id], row.type) for row in rows if row.id in relevant]
    if not queries:
        raise UsageError(
            f"no question of {folder / 'queries.jsonl'} has a relevant passage in qrels/test.tsv"
        )
    for query in queries:
        # Two questions of CMRC 2018 are empty: they retrieve nothing, but count.
        if query.text.strip():
            check_question(query.text)
    return RetrievalData(folder.resolve().name, passages, queries)


def _parsed(path: Path, parse: Callable[[str], T]) -> Iterator[T]:
    """Yield the parsed lines of a file; raise UsageError if the file or a line cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"there is no {path}; a folder in the BEIR layout has {LAYOUT}") from None
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                yield parse(line)
        except ValueError as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise UsageError(f"line {number} of {path} is not in BEIR format ({reason})") from None


def _judgement(line: str) -> tuple[str, str, float]:
    """Return the question, passage and relevance in a line of qrels/test.tsv; the relevance of the header is 0."""
    query, passage, score = line.rstrip("\r").split("\t")[:3]
    return query, passage, 0.0 if query == "query-id" else float(score)


# Measures


def recall(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the share of the relevant passages that are among the first `k`."""
    return len(set(ranking[:k]) & relevant.keys()) / len(relevant)


def all_retrieved(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return 1 if every relevant passage is among the first `k`, else 0."""
    return float(relevant.keys() <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], relevant: Relevant) -> float:
    """Return 1 divided by the rank of the first relevant passage, 0 if there is none."""
    return next((1 / rank for rank, passage in enumerate(ranking, start=1) if passage in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` (Järvelin and Kekäläinen, 2002)."""
    gains = [relevant.get(passage, 0.0) for passage in ranking[:k]]
    ideal = sorted(relevant.values(), reverse=True)[:k]
    gained, most = (
        sum(g / log2(rank + 1) for rank, g in enumerate(part, start=1)) for part in (gains, ideal)
    )
    return gained / most


def _measures(ks: Sequence[int]) -> dict[str, Measure]:
    recalls = {f"R@{k}": partial(recall, k=k) for k in sorted({*RECALLS, *ks})}
    alls = {f"all@{k}": partial(all_retrieved, k=k) for k in ALLS}
    return {**recalls, **alls, "MRR": reciprocal_rank, f"nDCG@{DEPTH}": partial(ndcg, k=DEPTH)}


@public
def evaluate_retrieval(
    folder: str | Path,
    methods: Sequence[str] = ("bm25", "walk"),
    ks: Sequence[int] = (),
    index_folder: str | Path | None = None,
    *,
    settings: Given = None,
    titles: bool = True,
    agree: Agree | None = None,
) -> dict[str, Measured]:
    """Rank the passages of a folder in the BEIR layout for each of its questions, and measure each method.

    The index of the passages is built once, in `index_folder` or in the folder itself; an existing index of the same
    passages is used, however it was built. With a language model in the settings, each method asks it the same as for
    an answer: triples of the passages, which are stored in the index, summaries, propositions, names in a question,
    thoughts. `agree` is called with the estimate before the model is asked, and stops the run by raising. `ks` are
    depths of recall beside the usual ones. `as_row` of a result gives its means for JSON. Raises UsageError if the
    folder, a method or a `k` is not usable.
    """
    source, chosen = path_of(folder), resolved(settings)
    if not methods:
        raise UsageError(f"no method is named; there are {', '.join(RANKINGS)}")
    for method in methods:
        named(RANKINGS, method)
    if any(k < 1 for k in ks):
        raise UsageError(f"k is a number of passages, at least 1, and not {min(ks)}")
    data = read_beir(source, titles)
    index = passage_index(data, path_of(index_folder or source / (DEFAULT if titles else UNTITLED)), chosen)
    search = with_depth(chosen, max(DEPTH, *RECALLS, *ALLS, *ks))
    return run_sync(_Rankings(data, search, _measures(ks), index).measured(methods, agree))


@dataclass
class _Rankings:
    """The rankings of passages for questions, measured one method after the other."""

    data: RetrievalData
    settings: Settings
    measures: Mapping[str, Measure]
    index: Index

    async def measured(self, methods: Sequence[str], agree: Agree | None) -> dict[str, Measured]:
        """Measure methods, with a language model if the settings name one."""
        model, settings = extractive(self.index), self.settings
        asks, folder = settings.language_models, self.index.folder
        opening = open_session(settings, folder, to_ask=not agree) if asks else nullcontext()
        async with opening as session:
            await agreed(session, partial(self.cost, methods), agree)
            model = session.model_with(model) if session else model
            results: dict[str, Measured] = {}
            for method in methods:
                before = session.total if session else Usage()
                if session and self.lacks_triples(method):
                    self.index = await with_triples(self.index, model, settings)
                result = await self.method(method, model, session)
                results[method] = replace(result, usage=session.total - before) if session else result
        return results

    def lacks_triples(self, method: str) -> bool:
        """Return whether a method follows triples, which a model has to extract from the passages first."""
        around = self.settings.ircot.retriever if method == "ircot" else method
        goes_along = "graph" in METHODS[around].reads and around not in WITHOUT_TRIPLES
        return goes_along and not len(self.index.triples)

    async def method(self, name: str, model: Model, session: Session | None) -> Measured:
        """Measure a method; time spent once per index is not counted for any question."""
        index, settings = self.index, self.settings
        ranking = named(METHODS, name).rank_with
        assert ranking is not None, "it is of RANKINGS"
        passage = self.data.ids(settings)
        clock = time.perf_counter if model.generative else time.process_time
        rows: dict[str, tuple[list[str], float]] = {}
        failures: dict[str, str] = {}
        async with open_reranker(settings, index.folder, session=session) as reranker:
            k = settings.search.k
            deep = with_depth(settings, max(RERANKED, k)) if reranker else settings

            async def rank(query: Query) -> None:
                began, hits, error = clock(), None, ""
                if query.text.strip():
                    hits, error = await attempt(ranking(query.text, index, model, deep))
                if reranker and hits:
                    hits = await reranked(query.text, hits, reranker, k)
                ended = clock()
                ranked = dict.fromkeys(passage[index.chunk_of[hit.chunk].document_id] for hit in hits or ())
                rows[query.id] = [*ranked], (ended - began) * 1000
                if error:
                    failures[query.id] = error

            await rank(self.data.queries[0])
            await each(self.data.queries, rank, at_once=AT_ONCE if model.generative else 1)
        sound = [query for query in self.data.queries if query.id not in failures]
        values = {
            label: [measure(rows[query.id][0], query.relevant) for query in sound]
            for label, measure in self.measures.items()
        }
        return Measured(name, values, [rows[query.id][1] for query in sound], failures)

    async def cost(self, methods: Sequence[str], session: Session) -> Estimate:
        """Return an estimate with two rows of calls for each method: once per index, then for the questions.

        For methods that follow triples which do not exist yet, the calls for the questions are a lower bound.
        """
        rows: list[TaskEstimate] = []
        index = replace(self.index)  # a copy: what methods cache in it must not affect the run
        queries = [query for query in self.data.queries if query.text.strip()]

        async def add(
            pieces: Sequence[Any], work: Callable[[Any, Model], Awaitable[Any]], label: str
        ) -> None:
            cost = await estimate(pieces, work, session, self.settings, extractive(index), SAMPLED)
            rows.extend(cost.labelled(label))

        for name in methods:
            if self.lacks_triples(name) and not len(index.triples):
                await add(
                    index.chunks, lambda chunk, model: extract([chunk], model, _triples(self.settings)), name
                )
                stub = FoundTriple(index.chunks[0].text[:STUB], "is", index.chunks[0].text[:STUB])
                index = replace(index, triples=triples_of([(index.chunks[0].id, [stub])]))

            async def rank(query: Query, model: Model, method: str = name, on: Index = index) -> None:
                ranking = METHODS[method].rank_with
                assert ranking is not None
                await ranking(query.text, on, model, self.settings)

            await add(queries[:1], rank, f"{name}, index")
            await add(queries[1:], rank, name)
        return Estimate(tuple(rows))


def _triples(settings: Settings) -> ExtractSettings:
    return settings.extract.model_copy(update={"style": "triples", "claims": False})


async def with_triples(index: Index, model: Model, settings: Settings) -> Index:
    """Return an index of passages with the open triples that a model extracts from them, and commit it to its folder.

    Raises ModelError if the model failed on every passage.
    """
    assert index.folder is not None, "an index of passages is stored"
    chosen = _triples(settings)
    extracted = await extract(
        index.chunks, model, chosen, index.languages[0], dates=dates_of(index.documents)
    )
    extracted.check(model.name)
    ids = [chunk.id for chunk in index.chunks]
    triples = triples_of(zip(ids, [graph.triples for graph in extracted.graphs], strict=True))
    recorded = {**index.settings, "model": settings.model, "extract": chosen.model_dump(mode="json")}
    made = replace(index, triples=triples, failures=[*index.failures, *extracted.failures], settings=recorded)
    embedder = open_embedder(settings.vectors.embedder, settings, index.folder)
    if embedder is not None:
        made = with_vectors(made, embedder, settings.vectors.embedder, index)
    with store.writing(index.folder):
        store.commit(index.folder, made, settings=made.settings, usage=made.usage)
    return store.read(index.folder)


# Contexts


@public
def evaluate_context(
    questions: str | Path,
    methods: Sequence[str] = ("auto",),
    index: AnyIndex | None = None,
    *,
    settings: Given = None,
    limit: int | None = None,
) -> dict[str, dict[str, Measured]]:
    """Measure how often the context of an answer contains every document that answers the question.

    questions: a folder in the BEIR layout, or a file of questions with the `documents` that answer each (paths, or ends
        of paths) and an optional `kind`, by default the number of documents; only the first `limit` count.
    index: the index of the file's documents, or the folder for that of the passages (by default the usual ones).

    Returns `evidence`, 1 if all documents are in the context, and `documents`, their share, by method and kind, with
    `all` first. Raises UsageError if there is no such method or document.
    """
    source, chosen = path_of(questions), resolved(settings)
    if source.is_dir():
        data = read_beir(source)
        queries, asked = data.queries, passage_index(data, path_of(index or source / DEFAULT), chosen)
        names = data.ids(chosen)
    else:
        asked = opened(index or DEFAULT_FOLDER)
        queries = [_query(question, asked) for question in read_list(source) if question.documents]
        names = {document.id: document.path for document in asked.documents}
    if not queries:
        raise UsageError(f"no question of {source} says which documents answer it: give each its `documents`")
    return {method: _gathered(method, queries[:limit], asked, names, chosen) for method in methods}


def _query(question: Question, index: Index) -> Query:
    relevant: dict[str, float] = {}
    for end in question.documents:
        paths = [d.path for d in index.documents if f"/{d.path}".endswith(f"/{end}")]
        if not paths:
            raise UsageError(f"the index has no document {end!r}, which is said to answer {question.text!r}")
        relevant[paths[0]] = 1.0
    return Query(question.id, question.text, relevant, question.kind)


def _gathered(
    method: str, queries: Sequence[Query], index: Index, names: Mapping[str, str], settings: Settings
) -> dict[str, Measured]:
    """Return the measures of a method by kind of question; `names` are the names of documents in questions, by id."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for query in queries:
        began = time.process_time()
        windows = (
            context(query.text, index, method=method, settings=settings).windows if query.text.strip() else ()
        )
        milliseconds = (time.process_time() - began) * 1000
        read = {names[chunk.document_id] for window in windows for chunk in window.sources}
        for kind in ("all", query.kind or counted(len(query.relevant), "document")):
            share = recall([*read], query.relevant, len(read))
            rows.setdefault(kind, []).append((share, milliseconds))
    by_kind: dict[str, Measured] = {}
    for kind, pairs in rows.items():
        shares = [share for share, _ in pairs]
        values = {"evidence": [float(share == 1) for share in shares], "documents": shares}
        by_kind[kind] = Measured(method, values, [took for _, took in pairs])
    return by_kind


# The index


def passage_index(data: RetrievalData, folder: Path, settings: Settings) -> Index:
    """Return the index of the passages in a folder: an existing one if it is of these passages, else a new one.

    If the settings name an embedder, the index gets its vectors; an existing index keeps its other tables. In a new
    index the paths of documents are the ids of the passages.

    Raises UsageError if the folder contains an index with a graph that is not of these passages.
    """
    documents = data.documents(settings)
    existing = _existing(documents, folder)
    index = existing or index_passages(documents, settings)
    embedder = open_embedder(settings.vectors.embedder, settings, folder)
    current = index.settings.get("vectors", {}).get("model", "")
    if embedder is not None and not same_model(current, embedder.name):
        index = with_vectors(index, embedder, settings.vectors.embedder)
    if index is existing:
        return index
    with store.writing(folder):
        store.commit(folder, index, settings=index.settings, usage=index.usage)
    return store.read(folder)


def _existing(documents: Sequence[Document], folder: Path) -> Index | None:
    """Return the index in a folder if it is of these passages; None if it may be replaced."""
    try:
        index = store.read(folder)
    except IndexMissing:
        return None
    is_walkable = {"walk.names", "sentences.speaker"} <= index.arrays.keys()
    if is_walkable and _names(index.documents) == _names(documents):
        return index
    if len(index.entities) or len(index.triples):
        raise UsageError(f"the index in {folder} was built from other documents; name another with index=DIR")
    return None


def _names(documents: Iterable[Document]) -> set[tuple[str, str]]:
    """Return the ids, which depend only on the texts, and titles of documents, wherever they were read from."""
    return {(document.id, document.title) for document in documents}
