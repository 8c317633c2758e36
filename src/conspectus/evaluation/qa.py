"""Short answers to questions with gold answers: EM and F1 after SQuAD's normalisation, accuracy, Hits@1."""

from __future__ import annotations

import re
import string
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from conspectus import Index
from conspectus.api.asking import IndexLike as IndexSource
from conspectus.api.asking import View, viewed
from conspectus.api.building import Agree
from conspectus.errors import UsageError
from conspectus.evaluation.answers import TRIED
from conspectus.evaluation.comparison import JsonlTable, Question, read_list
from conspectus.evaluation.conditions import digest
from conspectus.evaluation.run import AT_ONCE, agreed, attempt, each, estimate
from conspectus.evaluation.statistics import Measured
from conspectus.indexing.estimate import Estimate, TaskEstimate
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model
from conspectus.models.llm.model import Session
from conspectus.models.rerankers import Reranker, open_reranker
from conspectus.retrieval import METHODS, RANKINGS, rerank
from conspectus.retrieval.base import extractive
from conspectus.retrieval.model_wrappers import WithAnswerOptions, WrappedModel
from conspectus.rows import Answer, Usage
from conspectus.runtime import DEFAULT_FOLDER, Options, Run, check_question, named, public, run_of, run_sync
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import (
    SHORT,
    AnswerFromContext,
    DraftAnswer,
    ExamineEvidence,
    MapAnswer,
    ReduceAnswer,
    Task,
)
from conspectus.text.words import CJK

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation + "，。！？；：、“”‘’（）《》【】…—·")
_UNITS = re.compile(rf"{CJK.pattern}|(?:(?!{CJK.pattern})\S)+")
_MARKERS = re.compile(r"\s*(?<!\\)\[\d+\]")
_YES = frozenset("yes true supports supported support correct right 是 对 真".split())
_NO = frozenset("no false refutes refuted refute incorrect wrong 否 不是 不对 错 假".split())
FEVER = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
"""The labels of FEVER (Thorne et al., 2018)."""
_UNKNOWN = ("not enough info", "信息不足")
"""The beginnings of an answer, normalised, that stand for the last of these labels."""
_ANSWERING = (AnswerFromContext, DraftAnswer, ExamineEvidence, MapAnswer, ReduceAnswer)
"""The tasks whose replies are or become the answer: they are given the labels, if a set of questions has labels."""


# Questions


def read_questions(path: Path) -> list[Question]:
    """Read questions with their answers from a file, see `read_list`, or from `queries.jsonl` in a folder.

    Raises DocumentError if the file cannot be read, UsageError if a question has no answer or is too long.
    """
    questions = read_list(path / "queries.jsonl" if path.is_dir() else path)
    for question in questions:
        check_question(question.text)
        if not question.answers:
            fields = "give each question an `answer`, or a list of `answers`"
            raise UsageError(f"{path} has no answer to {question.text!r}: {fields}")
    return questions


# Measures


def normalised(text: str) -> str:
    """Return a text in lower case without punctuation, articles and extra spaces (SQuAD, Rajpurkar et al., 2016)."""
    text = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if the answer is one of the accepted ones after normalisation, else 0."""
    return float(normalised(answer) in map(normalised, accepted))


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the highest F1 of the answer's words (in Chinese: characters) over the accepted answers."""
    words = Counter(_UNITS.findall(normalised(answer)))
    return max((_f1(words, Counter(_UNITS.findall(normalised(one)))) for one in accepted), default=0.0)


def _f1(words: Counter[str], others: Counter[str]) -> float:
    if not words or not others:
        return float(words == others)
    return 2 * (words & others).total() / (words.total() + others.total())


def verdict(answer: str) -> str:
    """Return the verdict of an answer to a yes-or-no question or a claim: yes, no, unknown, or "" if it has none."""
    plain = normalised(answer)
    if plain.startswith(_UNKNOWN):
        return "unknown"
    first = {plain, plain.partition(" ")[0]}
    return "yes" if first & _YES else "no" if first & _NO else ""


def is_judgement(accepted: Sequence[str]) -> bool:
    """Return whether all accepted answers are verdicts: yes or no, supports or refutes (or not enough information)."""
    return bool(accepted) and all(map(verdict, accepted))


def labels_of(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the labels that answers are chosen from, if all accepted answers of a set are verdicts; else none.

    They are FEVER's if one of those occurs, else the labels that occur (in Creak: true and false).
    """
    given = [answer for question in questions for answer in question.answers]
    if not is_judgement(given):
        return ()
    labels = dict.fromkeys(given)
    return FEVER if any(label.upper() in FEVER for label in labels) else tuple(sorted(labels))


def measures(short: Sequence[str], accepted: Sequence[str]) -> Mapping[str, float]:
    """Return the accuracy of a verdict, or for other answers EM, F1 and Hits@1 of the first one, and `all`.

    A verdict that is none of the labels is wrong, and so is an empty answer, whichever label is right. Hits@1 is EM
    without normalisation; `all` is 1 if the short answers are exactly the accepted ones.
    """
    first = short[0] if short else ""
    if is_judgement(accepted):
        return {"accuracy": float(verdict(first) in map(verdict, accepted))}  # none of them is ""
    return {
        "EM": exact_match(first, accepted),
        "F1": f1(first, accepted),
        "Hits@1": float(first in accepted),
        "all": float(set(map(normalised, short)) == set(map(normalised, accepted))),
    }


# Answers


class QaOptions(Options, total=False):
    """What is asked and measured.

    where: conditions on documents, as in `ask`.
    answers: a file in which every answer is saved, and from which a run continues.
    limit: the number of questions to ask, from the start of the file.
    agree: called with the estimate of the language model calls before the first one; it stops the run by raising.
    """

    where: str | Sequence[str]
    answers: str | Path | None
    limit: int | None
    agree: Agree | None


@dataclass(frozen=True)
class Answered:
    """The answer of one method to one question: the short answers, or why there are none."""

    method: str
    id: str
    question: str
    short: tuple[str, ...] = ()
    milliseconds: float = 0.0
    made_with: str = ""
    """A digest of index, model, settings and labels."""
    error: str = ""


def short_of(answer: Answer) -> tuple[str, ...]:
    """Return the short answers of an answer; if the method gives none, its text without citation markers."""
    if answer.short or is_empty_answer(answer.text):
        return answer.short
    return (_MARKERS.sub("", answer.text).strip(),)


class WithLabels(WrappedModel):
    """A language model that is given, with each question, the labels from which its answer must be chosen."""

    def __init__(self, model: Model, labels: Sequence[str]) -> None:
        super().__init__(model)
        self._labels = labels

    async def prepare(self, task: Task[R]) -> Task[R]:
        if not isinstance(task, _ANSWERING):
            return task
        labels = ", ".join(self._labels)
        question = f"{task.question}\n\nThe answer is exactly one of these labels, and nothing else: {labels}"
        return cast("Task[R]", replace(task, question=question))


@dataclass(frozen=True)
class _Answering:
    """All that answering a question depends on, except the model."""

    index: Index
    settings: Settings
    labels: Sequence[str]
    """The labels that an answer is chosen from; empty for free answers."""
    reranker: Reranker | None

    async def answer(self, method: str, question: Question, model: Model) -> Answer:
        text, index, settings = question.text, self.index, self.settings
        model = WithLabels(model, self.labels) if self.labels else model
        styled = WithAnswerOptions(model, text, settings.answer, index.languages)
        ranker = self.reranker if method in RANKINGS else None
        return await rerank.answer_reranked(METHODS[method], text, index, styled, settings, ranker)

    async def cost(self, remaining: Mapping[str, Sequence[Question]], session: Session) -> Estimate:
        """Return an estimate of the remaining questions by method, on a copy of the index and without reranking."""
        rows: list[TaskEstimate] = []
        tried = replace(self, index=replace(self.index), reranker=None)
        for method, asked in remaining.items():
            work = partial(tried.answer, method)
            cost = await estimate(asked, work, session, self.settings, extractive(tried.index), TRIED)
            rows += cost.labelled(method)
        return Estimate(tuple(rows))


@public
def evaluate_answers(
    questions: str | Path,
    index: IndexSource = DEFAULT_FOLDER,
    methods: str | Sequence[str] = ("walk",),
    **options: Unpack[QaOptions],
) -> list[Measured]:
    """Answer the questions of a file with each method, and measure the answers.

    Failures are counted and have no score. Indexes are given as to `ask`; their models are used if none is named.
    Raises UsageError if the file or a method is not usable.

    Example: `evaluate_answers("data/hotpotqa", "idx", ["bm25", "walk"], limit=100)`
    """
    methods = [methods] if isinstance(methods, str) else methods
    if not methods:
        raise UsageError(f"no method is named; there are {', '.join(METHODS)}")
    every = read_questions(Path(questions))
    selected, labels = every[: options.get("limit")], labels_of(every)
    view = viewed(index, options.get("where", ()))
    for method in methods:
        view.check(named(METHODS, method).needs)
    file = options.get("answers")
    table = JsonlTable(Path(file) if file else None, Answered, lambda row: (row.method, row.id, row.question))
    run = run_of(options, view.built)
    short = run.settings.answer
    if short.response == AnswerSettings().response:
        short = short.model_copy(update={"response": SHORT})
    changed = run.settings.model_copy(update={"answer": short})
    run = replace(run, settings=changed)
    used = run_sync(_answer_all(selected, labels, methods, view, run, table, options.get("agree")))
    results: list[Measured] = []
    for method in methods:
        rows = [table.rows[_key(method, question)] for question in selected]
        results.append(_measured(method, selected, rows, used[method]))
    return results


def _key(method: str, question: Question) -> tuple[str, str, str]:
    return method, question.id, question.text


async def _answer_all(
    questions: Sequence[Question],
    labels: Sequence[str],
    methods: Sequence[str],
    view: View,
    run: Run,
    table: JsonlTable[Answered],
    agree: Agree | None,
) -> dict[str, Usage]:
    """Save the answer of each method to each question, or the failure of a call; return the usage of each method."""
    index, settings = view.index, run.settings
    async with (
        run.session(index.folder, to_ask=not agree) as session,
        open_reranker(settings, index.folder, model=run.model, session=session) as reranker,
    ):
        model = extractive(index)
        model = run.model or (session.model_with(model) if session else model)
        offered = labels if model.generative else ()
        made_with = digest([index.snapshot, model.name, settings.model_dump(mode="json"), *offered])
        remaining = {
            method: [one for one in questions if not table.done(_key(method, one), made_with)]
            for method in methods
        }
        answering = _Answering(index, settings, offered, reranker)
        await agreed(session, partial(answering.cost, remaining), agree)
        clock = time.perf_counter if model.generative else time.process_time

        async def ask(method: str, question: Question) -> None:
            began = clock()
            answer, error = await attempt(answering.answer(method, question, model))
            short = short_of(answer) if answer else ()
            milliseconds = round((clock() - began) * 1000, 3)
            table.add(Answered(method, question.id, question.text, short, milliseconds, made_with, error))

        def total() -> Usage:
            return session.total if session else reranker.usage if reranker else Usage()

        used: dict[str, Usage] = {}
        for method, asked in remaining.items():
            before = total()
            await each(asked, partial(ask, method), at_once=AT_ONCE if model.generative else 1)
            used[method] = total() - before
        return used


def _measured(
    method: str, questions: Sequence[Question], answered: Sequence[Answered], usage: Usage
) -> Measured:
    pairs = [(question, row) for question, row in zip(questions, answered, strict=True) if not row.error]
    columns: dict[str, list[float]] = {}
    for question, row in pairs:
        for name, value in measures(row.short, question.answers).items():
            columns.setdefault(name, []).append(value)
    failures = {row.id: row.error for row in answered if row.error}
    return Measured(method, columns, [row.milliseconds for _, row in pairs], failures, usage)
