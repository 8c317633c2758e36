"""Measures of rankings on data in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv` (Thakur et al.,
2021).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from conspectus import Index
from conspectus.errors import IndexMissing, UsageError
from conspectus.evaluation.statistics import Measured
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.models.embedders import open_embedder, same_model
from conspectus.retrieval import RANKINGS
from conspectus.retrieval.rerank import rank_reranked
from conspectus.rows import Document
from conspectus.runtime import Given, check_question, path_of, public, resolved, run_sync
from conspectus.settings import Settings
from conspectus.storage import store

LAYOUT = "corpus.jsonl, queries.jsonl and qrels/test.tsv"
DEFAULT, UNTITLED = ".conspectus", ".conspectus-untitled"
"""Folders, beside the passages, of their index with titles and without."""
DEPTH = 10
"""Passages ranked for each question, or as many as a measure asks for."""
RECALLS, ALLS = (1, 2, 5, 10), (5, 8)
"""The k of recall and of all@k, beside those that are asked for."""
Relevant = Mapping[str, float]
"""The relevance, above 0, of passages by their ids."""


@dataclass(frozen=True)
class Query:
    """A question, the passages that answer it, and the accepted answers."""

    id: str
    text: str
    relevant: Relevant
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetrievalData:
    """Passages as they stand in the file (`id`, `title`, `text`), and questions that have a relevant one."""

    name: str
    passages: Sequence[Mapping[str, str]]
    queries: Sequence[Query]


class _Row(BaseModel):
    """A line of corpus.jsonl or queries.jsonl."""

    id: str = Field(alias="_id")
    text: str
    title: str | None = None
    answers: tuple[str, ...] | None = None


def read_beir(folder: Path, titles: bool = True) -> RetrievalData:
    """Read a folder; without `titles`, those of the passages are withheld.

    Raises UsageError where a file is missing or a line of it is not as the layout has it.
    """
    corpus, relevant = _rows(folder / "corpus.jsonl"), _judgements(folder / "qrels" / "test.tsv")
    passages = [{"id": row.id, "title": (titles and row.title) or "", "text": row.text} for row in corpus]
    rows = [row for row in _rows(folder / "queries.jsonl") if row.id in relevant]
    for row in rows:
        if row.text.strip():  # two of the questions of CMRC 2018 are empty: they find nothing, and count
            check_question(row.text)
    if not rows:
        raise UsageError(f"no question of {folder / 'queries.jsonl'} has a relevant passage in qrels/test.tsv")
    queries = [Query(row.id, row.text, relevant[row.id], row.answers or ()) for row in rows]
    return RetrievalData(folder.resolve().name, passages, queries)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"there is no {path}; a folder in the BEIR layout has {LAYOUT}") from None
    yield from ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _rows(path: Path) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in _lines(path):
        try:
            rows.append(_Row.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")
            raise UsageError(f"line {number} of {path} is no passage or question ({problem})") from None
    return rows


def _judgements(path: Path) -> dict[str, dict[str, float]]:
    relevant: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        if number == 1 and line.startswith("query-id\t"):
            continue
        try:
            query, passage, score = line.rstrip("\r").split("\t")[:3]
            if float(score) > 0:
                relevant.setdefault(query, {})[passage] = float(score)
        except ValueError:
            raise UsageError(
                f"line {number} of {path} is not query, passage and score, with tabs between"
            ) from None
    return relevant


# Measures


def recall(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the share of the relevant passages that are among the first `k`."""
    return len(set(ranking[:k]) & relevant.keys()) / len(relevant)


def all_retrieved(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return 1 where every relevant passage is among the first `k`, else 0."""
    return float(relevant.keys() <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], relevant: Relevant) -> float:
    """Return 1 / the rank of the first relevant passage, 0 where there is none."""
    return next((1 / rank for rank, passage in enumerate(ranking, start=1) if passage in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: Relevant, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` (Järvelin and Kekäläinen, 2002)."""
    gained = _discounted([relevant.get(passage, 0.0) for passage in ranking[:k]])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _measures(ks: Sequence[int]) -> dict[str, Callable[[Sequence[str], Relevant], float]]:
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
) -> dict[str, Measured]:
    """Rank the passages of a folder in the BEIR layout for each of its questions, and measure each method.

    The index of the passages is built once, in `index_folder` or in the folder itself; `ks` are depths of recall
    beside the usual ones. `as_row` of a result gives its means as they go into JSON. Raises UsageError where the
    folder, a method or a `k` makes no sense.
    """
    source, chosen = path_of(folder), resolved(settings)
    data = read_beir(source, titles)
    unknown = [name for name in methods if name not in RANKINGS]
    if unknown or not methods:
        raise UsageError(
            f"there is no method {', '.join(unknown) or 'named'}; there are {', '.join(RANKINGS)}"
        )
    if any(k < 1 for k in ks):
        raise UsageError(f"k is a number of passages, at least 1, and not {min(ks)}")
    target = Path(index_folder) if index_folder else source / (DEFAULT if titles else UNTITLED)
    index = passage_index(data, target, chosen)
    depth = max(DEPTH, *RECALLS, *ALLS, *ks)
    search = chosen.model_copy(update={"search": chosen.search.model_copy(update={"k": depth})})
    return {name: _measured(name, data.queries, index, search, ks) for name in methods}


def _measured(
    method: str, queries: Sequence[Query], index: Index, settings: Settings, ks: Sequence[int]
) -> Measured:
    def rank(question: str) -> list[str]:
        if settings.rerank.enabled:
            hits = run_sync(rank_reranked(RANKINGS[method], question, index, settings))
        else:
            hits = RANKINGS[method](question, index, settings)
        return list(dict.fromkeys(hit.document for hit in hits))

    rank(queries[0].text)  # what is made once for an index counts for no question
    measures = _measures(ks)
    values: dict[str, list[float]] = {name: [] for name in measures}
    milliseconds: list[float] = []
    for query in queries:
        began = time.process_time()
        ranking = rank(query.text)
        milliseconds.append((time.process_time() - began) * 1000)
        for name, measure in measures.items():
            values[name].append(measure(ranking, query.relevant))
    return Measured(method, values, milliseconds)


# The index


def passage_index(data: RetrievalData, folder: Path, settings: Settings) -> Index:
    """Return the index of the passages in a folder: the one that exists if it is of them, else a new one.

    Where the settings name an embedder it has vectors by that; an existing one keeps what else it has. The ids of
    documents are those of the passages.

    Raises UsageError where the folder holds an index with a graph that is not of these passages, or cannot be written.
    """
    documents = read_texts(data.passages, settings.read)[0]
    existing = _existing(documents, folder)
    index = existing or index_passages(documents, settings)
    embedder = open_embedder(settings.vectors.embedder, settings, folder)
    if embedder is not None and not same_model(
        index.settings.get("vectors", {}).get("model", ""), embedder.name
    ):
        index = with_vectors(index, embedder, settings.vectors.embedder)
    if index is existing:
        return index
    try:
        with store.writing(folder):
            store.commit(folder, index, settings=index.settings, usage=index.usage)
    except OSError as error:
        raise UsageError(
            f"the index cannot be written to {folder} ({error.strerror}); name another folder"
        ) from error
    return store.read(folder)


def _existing(documents: Sequence[Document], folder: Path) -> Index | None:
    """Return the index in a folder if it is of these passages, each one chunk; None where it may be replaced."""
    try:
        index = store.read(folder)
    except IndexMissing:
        return None
    if (
        len(index.documents) == len(index.chunks) == len(documents)
        and {"walk.names", "sentences.templated"} <= index.arrays.keys()
        and [(d.path, d.id, d.title) for d in index.documents] == [(d.path, d.id, d.title) for d in documents]
    ):
        return index
    if len(index.entities) or len(index.triples):
        raise UsageError(f"the index in {folder} is of other documents; name another with index=DIR")
    return None
