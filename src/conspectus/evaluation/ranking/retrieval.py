"""How well methods rank: every question of a folder in the BEIR layout, every method, one index."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conspectus.errors import IndexMissing, UsageError
from conspectus.evaluation.ranking.beir import Query, RetrievalData, read_beir
from conspectus.evaluation.ranking.measures import all_found, ndcg, recall, reciprocal_rank
from conspectus.evaluation.statistics import Interval, bootstrap, paired_difference
from conspectus.index import Index
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.models.embedders import open_embedder, same_model
from conspectus.retrieval import RANKINGS, Ranking
from conspectus.retrieval.rerank import rank_reranked
from conspectus.rows import Document
from conspectus.runtime import run_sync
from conspectus.settings import Settings
from conspectus.storage import store

DEFAULT, UNTITLED = ".conspectus", ".conspectus-untitled"
"""Folders, beside the passages, in which their index is."""
DEPTH = 10
"""Passages ranked for each question, or as many as a measure asks for."""
RECALLS, ALLS = (1, 2, 5, 10), (5, 8)
"""The k of recall and of all@k, beside those that are asked for."""


@dataclass(frozen=True)
class Measured:
    """One method on every question: its measures question by question, and CPU milliseconds."""

    method: str
    values: Mapping[str, Sequence[float]]
    milliseconds: Sequence[float]

    @property
    def queries(self) -> int:
        """The number of questions."""
        return len(self.milliseconds)

    def interval(self, measure: str) -> Interval:
        """Return the mean of a measure and its 95 % interval."""
        return bootstrap(self.values[measure])

    def over(self, other: Measured, measure: str) -> Interval:
        """Return by how much it is better than another method, with the 95 % interval of that."""
        return paired_difference(self.values[measure], other.values[measure])

    def as_row(self) -> dict[str, float]:
        """Return the means as they go into JSON; `ms` is the median of CPU milliseconds a question."""
        means = {name: round(float(np.mean(values)), 4) for name, values in self.values.items()}
        median, late = (round(float(np.percentile(self.milliseconds, p)), 2) for p in (50, 95))
        return {**means, "queries": self.queries, "ms": median, "ms_p95": late}


def measure(
    data: RetrievalData, index: Index, methods: Sequence[str], settings: Settings, ks: Sequence[int] = ()
) -> list[Measured]:
    """Rank the passages of an index for every question by every method.

    Raises UsageError where a method is not known, or needs what the index lacks.
    """
    unknown = [name for name in methods if name not in RANKINGS]
    if unknown or not methods:
        raise UsageError(f"there is no method {', '.join(unknown) or 'named'}; there are {', '.join(RANKINGS)}")
    if any(k < 1 for k in ks):
        raise UsageError(f"k is a number of passages, at least 1, and not {min(ks)}")
    depth = max(DEPTH, *RECALLS, *ALLS, *ks)
    search = settings.model_copy(update={"search": settings.search.model_copy(update={"k": depth})})
    return [_measured(name, data.queries, index, search, ks) for name in methods]


def _measured(method: str, queries: Sequence[Query], index: Index, settings: Settings, ks: Sequence[int]) -> Measured:
    rank = _reranking(RANKINGS[method]) if settings.rerank.enabled else RANKINGS[method]
    rank(queries[0].text, index, settings)  # what is made once for an index counts for no question
    measures = _measures(ks)
    values: dict[str, list[float]] = {name: [] for name in measures}
    spent: list[float] = []
    for query in queries:
        began = time.process_time()
        hits = rank(query.text, index, settings)
        spent.append((time.process_time() - began) * 1000)
        ranking = list(dict.fromkeys(hit.document for hit in hits))
        for name, take in measures.items():
            values[name].append(take(ranking, query.relevant))
    return Measured(method, values, spent)


def _reranking(ranking: Ranking) -> Ranking:
    return lambda question, index, settings: run_sync(rank_reranked(ranking, question, index, settings))


def _measures(ks: Sequence[int]) -> dict[str, Callable[[Sequence[str], Mapping[str, float]], float]]:
    def at(
        k: int, measure: Callable[[Sequence[str], Mapping[str, float], int], float]
    ) -> Callable[[Sequence[str], Mapping[str, float]], float]:
        return lambda ranking, relevant: measure(ranking, relevant, k)

    recalls = {f"R@{k}": at(k, recall) for k in sorted({*RECALLS, *ks})}
    alls = {f"all@{k}": at(k, all_found) for k in ALLS}
    return {**recalls, **alls, "MRR": reciprocal_rank, f"nDCG@{DEPTH}": at(DEPTH, ndcg)}


def evaluate(
    folder: Path,
    methods: Sequence[str],
    ks: Sequence[int],
    index_folder: Path | None,
    settings: Settings,
    titles: bool = True,
) -> dict[str, Measured]:
    """Measure methods on a folder in the BEIR layout; see `passage_index` for where its index is.

    Raises UsageError where the folder, a method or a `k` makes no sense.
    """
    data = read_beir(folder, titles)
    index = passage_index(data, index_folder or folder / (DEFAULT if titles else UNTITLED), settings)
    return {measured.method: measured for measured in measure(data, index, methods, settings, ks)}


# The index


def passage_index(data: RetrievalData, folder: Path, settings: Settings) -> Index:
    """Return the index of the passages in a folder: the one that stands there if it is of them, else a new one.

    Where the settings name an embedder it has vectors by that; one that stands keeps what else it has, and gets them.
    Documents bear the ids of the passages as their paths.

    Raises UsageError where an index stands there that has more than passages and is not of these, or the folder cannot
    be written to.
    """
    documents = read_texts(data.passages, settings.read)[0]
    standing = _standing(documents, folder)
    index = standing or index_passages(documents, settings)
    embedder = open_embedder(settings.vectors.embedder, settings, folder)
    if embedder is not None and not same_model(index.settings.get("vectors", {}).get("model", ""), embedder.name):
        index = with_vectors(index, embedder, settings.vectors.embedder)
    if index is standing:
        return index
    try:
        with store.writing(folder):
            store.commit(folder, index, settings=index.settings, usage=index.usage)
    except OSError as error:
        raise UsageError(
            f"the index of the passages cannot be written to {folder} ({error.strerror}); "
            "name another folder by --index"
        ) from error
    return store.read(folder)


def _standing(documents: Sequence[Document], folder: Path) -> Index | None:
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
        raise UsageError(f"the index in {folder} is of other documents; name another folder by --index")
    return None
