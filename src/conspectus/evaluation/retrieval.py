"""Retrieval data in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv` (Thakur et al.,
2021).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any, cast

import numpy as np

from conspectus.errors import IndexMissing, UsageError
from conspectus.evaluation.statistics import Interval, bootstrap, paired_difference
from conspectus.index import Index
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.models.embedders import open_embedder, same_model
from conspectus.retrieval import RANKINGS, Ranking
from conspectus.retrieval.rerank import rank_reranked
from conspectus.rows import Document
from conspectus.runtime import Given, check_question, path_of, resolved, run_sync
from conspectus.settings import Settings
from conspectus.storage import store


@dataclass(frozen=True)
class Query:
    """A question, the passages that answer it with their relevance (above 0), and the accepted answers."""

    id: str
    text: str
    relevant: Mapping[str, float]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetrievalData:
    """Passages as they stand in the file (`id`, `title`, `text`), and questions that have a relevant one."""

    name: str
    passages: Sequence[Mapping[str, str]]
    queries: Sequence[Query]


def read_beir(folder: Path, titles: bool = True) -> RetrievalData:
    """Read a folder; without `titles`, those of the passages are withheld.

    Raises UsageError where a file is missing or a line of it is not what the layout says.
    """
    passages = [
        {"id": row["_id"], "title": row.get("title") or "" if titles else "", "text": row["text"]}
        for row in _rows(folder / "corpus.jsonl", "_id", "text")
    ]
    relevant = _judgements(folder / "qrels" / "test.tsv")
    queries = [
        Query(row["_id"], row["text"], relevant[row["_id"]], tuple(row.get("answers") or ()))
        for row in _rows(folder / "queries.jsonl", "_id", "text")
        if row["_id"] in relevant
    ]
    for query in queries:
        if query.text.strip():  # two of the questions of CMRC 2018 are empty: they find nothing, and count
            check_question(query.text)
    if not queries:
        raise UsageError(f"no question of {folder / 'queries.jsonl'} has a relevant passage in qrels/test.tsv")
    return RetrievalData(folder.resolve().name, passages, queries)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError):
        layout = "corpus.jsonl, queries.jsonl and qrels/test.tsv"
        raise UsageError(f"there is no {path}; a folder in the BEIR layout has {layout}") from None


def _rows(path: Path, *needed: str) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"line {number} of {path} is not JSON ({error})") from None
        fields = cast("dict[str, Any]", row if isinstance(row, dict) else {})
        if not all(isinstance(fields.get(name), str) for name in needed):
            raise UsageError(f"line {number} of {path} lacks {' or '.join(needed)}")
        yield fields


def _judgements(path: Path) -> dict[str, dict[str, float]]:
    relevant: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        parts = line.split("\t")
        if number == 1 and parts[0] == "query-id":
            continue
        try:
            query, passage, score = parts[0], parts[1], float(parts[2])
        except (IndexError, ValueError):
            raise UsageError(f"line {number} of {path} is not query, passage and score, with tabs between") from None
        if score > 0:
            relevant.setdefault(query, {})[passage] = score
    return relevant


def recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return the share of the relevant passages that are among the first `k`."""
    return len(set(ranking[:k]) & relevant.keys()) / len(relevant)


def all_found(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return 1 where every relevant passage is among the first `k`, else 0."""
    return float(relevant.keys() <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """Return 1 / the place of the first relevant passage, 0 where there is none."""
    return next((1 / place for place, passage in enumerate(ranking, start=1) if passage in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` (Järvelin and Kekäläinen, 2002)."""
    gained = _discounted([relevant.get(passage, 0.0) for passage in ranking[:k]])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


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
    target = Path(index_folder) if index_folder else source / (DEFAULT if titles else UNTITLED)
    index = passage_index(data, target, chosen)
    return {measured.method: measured for measured in measure(data, index, methods, chosen, ks)}


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
