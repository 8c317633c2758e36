"""One open index with many users: a task has the same reply for all, and threads get the same answers as one user."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from making import SEED

import conspectus
from conspectus import api
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.search import QUESTIONS as QUESTIONS_CACHED
from conspectus.models.extractive.search import Searcher
from conspectus.relation_paths import likeness, root, roots_of_label
from conspectus.retrieval import METHODS
from conspectus.retrieval.base import extractive
from conspectus.rows import Answer
from conspectus.settings import Settings
from conspectus.text.mentions import is_name
from conspectus.text.words import name_key, stem, undeclined

SAMPLE = Path(__file__).parents[2] / "src" / "conspectus" / "sample"
QUESTIONS = (
    "What are the main themes?",
    "Who is Dorothea Quill?",
    "What happened to the bridge?",
    "How are the council and the harbour office related?",
)
WITHOUT_A_MODEL = [m for m in METHODS if not METHODS[m].needs]


class Recording:
    """The extractive model, which records every task with its reply."""

    generative = False
    name = "extractive"

    def __init__(self, index: Index) -> None:
        self._model = ExtractiveModel.of_index(index)
        self.done: list[tuple[Any, Any]] = []

    async def perform(self, task: Any) -> Any:
        reply = await self._model.perform(task)
        self.done.append((task, reply))
        return reply

    async def perform_all(self, tasks: Sequence[Any], tick: Tick = no_tick) -> list[Any]:
        return [await self.perform(task) for task in tasks]

    async def stream(self, task: Any) -> AsyncIterator[str]:
        yield await self.perform(task)


@pytest.fixture(scope="module")
def folder(sample_index: Path) -> Path:
    return sample_index


@pytest.fixture(scope="module")
def done(folder: Path) -> list[tuple[Any, Any]]:
    """Every task that the methods give to the model, with its reply, in order."""
    index = conspectus.open_index(folder)
    bare = replace(index, reports=())  # so that reports are written too
    recording, writing = Recording(index), Recording(bare)
    for question in QUESTIONS:
        for method in WITHOUT_A_MODEL:
            conspectus.ask(question, index, method=method, model=recording)
        conspectus.ask(question, bare, method="rollup", model=writing)
    conspectus.ask(QUESTIONS[1], index, method="global", level="auto", model=recording)
    return recording.done + [pair for pair in writing.done if type(pair[0]).__name__ == "WriteReport"]


def tasks_of_kind(done: list[tuple[Any, Any]]) -> dict[str, list[tuple[Any, Any]]]:
    kinds: dict[str, list[tuple[Any, Any]]] = {}
    for task, reply in done:
        kinds.setdefault(type(task).__name__, []).append((task, reply))
    return kinds


def test_the_methods_give_every_kind_of_task_that_answers(done: list[tuple[Any, Any]]) -> None:
    assert {
        "MapAnswer", "ReduceAnswer", "AnswerFromContext", "PrimeAnswer", "PursueFollowUp", "RateReport", "WriteReport",
        "ChooseRelations", "ExamineEvidence", "NextThought",
    } <= tasks_of_kind(done).keys()  # fmt: skip


async def test_a_task_has_the_same_reply_from_a_fresh_model(
    done: list[tuple[Any, Any]], folder: Path
) -> None:
    index = conspectus.open_index(folder)
    for kind, pairs in tasks_of_kind(done).items():
        for task, reply in pairs[:6]:
            assert await ExtractiveModel.of_index(index).perform(task) == reply, kind


async def test_a_task_has_the_same_reply_in_any_order(done: list[tuple[Any, Any]], folder: Path) -> None:
    model = ExtractiveModel.of_index(conspectus.open_index(folder))
    for task, reply in random.Random(3 + SEED).sample(done, len(done)):
        assert await model.perform(task) == reply, type(task).__name__


@pytest.mark.parametrize("settings", [{}, {"extract.style": "triples"}], ids=["graph", "triples"])
async def test_a_task_of_indexing_has_the_same_reply_from_a_fresh_model_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    done: list[tuple[Any, Any]] = []
    perform = ExtractiveModel.perform

    async def recorded(self: ExtractiveModel, task: Any) -> Any:
        done.append((task, await perform(self, task)))
        return done[-1][1]

    monkeypatch.setattr(ExtractiveModel, "perform", recorded)
    index = (
        await conspectus.abuild(SAMPLE, tmp_path / "index", settings={"model": "extractive", **settings})
    ).index
    kinds = tasks_of_kind(done)
    fresh = ExtractiveModel.fit(index.documents, Settings().extract.entity_types)

    assert {"DescribeElement", "WriteReport"} < kinds.keys()
    assert {"ExtractGraph", "ExtractTriples"} & kinds.keys()
    for task, reply in random.Random(5 + SEED).sample(done, len(done)):
        assert await fresh.perform(task) == reply, type(task).__name__


def facts(answer: Answer) -> tuple[Any, ...]:
    """Return the parts of an answer without its reason, which mentions the number of reports written first."""
    return answer.text, answer.citations, answer.notices, answer.short, answer.level, answer.context_tokens


def test_threads_get_the_answers_of_one_after_the_other(folder: Path) -> None:
    works = [(question, method) for method in WITHOUT_A_MODEL for question in QUESTIONS]
    alone = conspectus.open_index(folder)
    expected = {work: facts(conspectus.ask(work[0], alone, method=work[1])) for work in works}
    shared = conspectus.open_index(folder)
    start = threading.Barrier(12)

    def ask(seed: int) -> dict[tuple[str, str], tuple[Any, ...]]:
        start.wait()
        mine = random.Random(seed).sample(works, len(works) // 6)
        return {work: facts(conspectus.ask(work[0], shared, method=work[1])) for work in mine}

    with ThreadPoolExecutor(12) as pool:
        for answers in pool.map(ask, range(12)):
            for work, answer in answers.items():
                assert answer == expected[work], work


def test_threads_that_ask_at_once_by_one_method_get_its_answer(folder: Path) -> None:
    expected = facts(conspectus.ask(QUESTIONS[0], conspectus.open_index(folder), method="global"))
    for _ in range(2):
        index = conspectus.open_index(folder)
        start = threading.Barrier(12)

        def ask(_: int, index: Index = index, start: threading.Barrier = start) -> tuple[Any, ...]:
            start.wait()
            return facts(conspectus.ask(QUESTIONS[0], index, method="global"))

        with ThreadPoolExecutor(12) as pool:
            assert all(answer == expected for answer in pool.map(ask, range(12)))


def test_an_index_has_one_model_however_many_are_asked_in_turn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Index] = []

    class Counted(Searcher):
        def __init__(self, index: Index) -> None:
            searched.append(index)
            super().__init__(index)

    monkeypatch.setattr("conspectus.models.extractive.search.Searcher", Counted)
    indexes = conspectus.open_index(folder), conspectus.open_index(folder)
    for _ in range(3):
        for index in indexes:
            for method in ("global", "drift", "local"):
                conspectus.ask(QUESTIONS[1], index, method=method)
            extractive(index)

    assert list(map(id, searched)) == list(map(id, indexes))


def test_what_is_cached_does_not_grow_with_the_questions(folder: Path) -> None:
    searcher = Searcher(conspectus.open_index(folder))
    for number in range(300):
        searcher.by_community(searcher.read(f"What happened to bridge {number} of Dunmarrow?"), 1)

    assert searcher.find.cache_info().currsize <= QUESTIONS_CACHED
    assert searcher.by_community.cache_info().currsize <= QUESTIONS_CACHED


@pytest.mark.parametrize("function", [name_key, stem, undeclined, is_name, root, roots_of_label, likeness])
def test_what_is_cached_of_words_has_a_limit(function: Any) -> None:
    assert function.cache_info().maxsize is not None


def test_threads_that_open_views_of_an_index_share_them(folder: Path) -> None:
    index = conspectus.open_index(folder)
    conditions = [f"title~{letter}" for letter in "aeiou"] * 6
    with ThreadPoolExecutor(12) as pool:
        views = list(pool.map(lambda where: api.viewed(index, where), conditions))

    assert all(len(view.index.documents) for view in views)
