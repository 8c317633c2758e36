"""How well methods answer: every question of a file, every method, each answer kept, so that a run can go on.

Answers are appended to a JSON-lines file, keyed by method, question and what they were asked with; those that
are there are not asked again. A question that failed is counted as failed and asked again by the next run; it
has no score.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from conspectus.errors import CallFailed, UsageError
from conspectus.evaluation.answering.asked import Asked
from conspectus.evaluation.answering.qa import accuracy, exact_match, f1, is_judgement, normalised
from conspectus.evaluation.at_once import AT_ONCE, each
from conspectus.index import Index
from conspectus.messages import says_nothing
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.rerankers import Reranker
from conspectus.retrieval import METHODS, RANKINGS, rerank
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import SHORT

_MARKERS = re.compile(r"\s*\[\d+\]")

Score = Callable[[Sequence[str], Asked], Mapping[str, float]]
"""Measures of the short answers to a question, the best first."""


@dataclass(frozen=True)
class Answered:
    """One question answered by one method: the short answers, or why there are none."""

    method: str
    id: str
    short: tuple[str, ...] = ()
    error: str = ""
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Scored:
    """One method on all questions: means over those that it answered, and how many failed."""

    method: str
    means: Mapping[str, float]
    questions: int
    failures: Mapping[str, str]
    """Why there is no answer, by the ids of the questions that failed."""
    milliseconds: float
    """The median, in CPU time; with a language model the time that passes, many questions being under way at once."""

    @property
    def failed(self) -> int:
        """The number of questions that failed."""
        return len(self.failures)

    def as_row(self) -> dict[str, float]:
        """Return the figures as they go into JSON."""
        means = {name: round(value, 4) for name, value in self.means.items()}
        return {**means, "queries": self.questions, "failed": self.failed, "ms": round(self.milliseconds, 2)}


def answers_qa(short: Sequence[str], asked: Asked) -> Mapping[str, float]:
    """Return EM and F1 of an answer, or the accuracy of a judgement."""
    said = short[0] if short else ""
    if is_judgement(asked.answers):
        return {"accuracy": accuracy(said, asked.answers)}
    return {"EM": exact_match(said, asked.answers), "F1": f1(said, asked.answers)}


def answers_kgqa(short: Sequence[str], asked: Asked) -> Mapping[str, float]:
    """Return Hits@1, EM of the first answer after normalisation, and whether the answers are all and only
    those.
    """
    if is_judgement(asked.answers):
        return answers_qa(short, asked)
    first = short[0] if short else ""
    plain = {normalised(answer) for answer in asked.answers}
    return {
        "Hits@1": float(first in asked.answers),
        "EM": exact_match(first, asked.answers),
        "all": float({normalised(answer) for answer in short} == plain),
    }


async def run(
    asked: Sequence[Asked],
    methods: Sequence[str],
    index: Index,
    model: Model,
    settings: Settings,
    score: Score,
    kept: Path | None = None,
    tick: Tick = no_tick,
    reranker: Reranker | None = None,
) -> list[Scored]:
    """Ask every question by every method; `kept` is the file of answers that a run goes on from.

    The reranker looks again at the chunks of methods that rank.

    Raises UsageError where a method is not known. A failed call of one question leaves the others standing.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not methods:
        raise UsageError(f"there is no method {', '.join(unknown) or 'named'}; there are {', '.join(METHODS)}")
    settings = _shortly(settings)
    with_ = _asked_with(index, model, settings)
    known = _read(kept, with_) if kept else {}
    scored: list[Scored] = []
    for method in methods:
        answered = [known.get((method, one.id, one.text)) for one in asked]

        async def answer(place: int, method: str = method, answered: list[Answered | None] = answered) -> None:
            one = asked[place]
            done = await _ask(one, method, index, model, settings, reranker if method in RANKINGS else None)
            if kept:
                _append(kept, done, one, with_)
            answered[place] = done

        new = [place for place, done in enumerate(answered) if done is None]
        await each(new, answer, tick, AT_ONCE if model.generative else 1)
        scored.append(_scored(method, asked, [done for done in answered if done], score))
    return scored


async def _ask(
    one: Asked, method: str, index: Index, model: Model, settings: Settings, reranker: Reranker | None
) -> Answered:
    clock = time.perf_counter if model.generative else time.process_time
    began = clock()
    try:
        styled = WithAnswerOptions(model, one.text, settings.answer, index.languages)
        answer = await rerank.answer_reranked(METHODS[method], one.text, index, styled, settings, reranker)
    except CallFailed as error:  # of this question; what makes all fail ends the run
        return Answered(method, one.id, error=str(error) or type(error).__name__)
    return Answered(method, one.id, short_of(answer), milliseconds=(clock() - began) * 1000)


def _shortly(settings: Settings) -> Settings:
    """Return the settings with short answers, unless they ask for some other form."""
    if settings.answer.response != AnswerSettings().response:
        return settings
    return settings.model_copy(update={"answer": settings.answer.model_copy(update={"response": SHORT})})


def short_of(answer: Answer) -> tuple[str, ...]:
    """Return the short answers of an answer; its text where the method gives none."""
    return answer.short or ((_MARKERS.sub("", answer.text).strip(),) if not says_nothing(answer.text) else ())


def _scored(method: str, asked: Sequence[Asked], answered: Sequence[Answered], score: Score) -> Scored:
    good = [(one, done) for one, done in zip(asked, answered, strict=True) if not done.error]
    values: dict[str, list[float]] = {}
    for one, done in good:
        for name, value in score(done.short, one).items():
            values.setdefault(name, []).append(value)
    means = {name: float(np.mean(found)) for name, found in values.items()}
    spent = float(np.median([done.milliseconds for _, done in good])) if good else 0.0
    return Scored(method, means, len(asked), {done.id: done.error for done in answered if done.error}, spent)


def _asked_with(index: Index, model: Model, settings: Settings) -> str:
    """Return what must be the same for a kept answer to hold: the index, the model and the settings."""
    said = json.dumps([index.snapshot, model.name, settings.model_dump(mode="json")], sort_keys=True)
    return sha256(said.encode()).hexdigest()[:16]


def _read(kept: Path, with_: str) -> dict[tuple[str, str, str], Answered]:
    """Return the answers of a file that are no failures; a last line that was cut off is left out."""
    known: dict[tuple[str, str, str], Answered] = {}
    if not kept.is_file():
        return known
    for line in kept.read_text(encoding="utf-8").splitlines():
        try:
            row: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        if row["with"] == with_ and not row["error"]:
            key = row["method"], row["id"], row["question"]
            known[key] = Answered(row["method"], row["id"], tuple(row["short"]), "", row["milliseconds"])
    return known


def _append(kept: Path, done: Answered, one: Asked, with_: str) -> None:
    row = {
        "method": done.method,
        "id": done.id,
        "question": one.text,
        "short": done.short,
        "error": done.error,
    }
    line = json.dumps(row | {"milliseconds": round(done.milliseconds, 3), "with": with_}, ensure_ascii=False)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read() != b"\n":
                file.write(b"\n")  # after a line that was cut off
        file.write(line.encode() + b"\n")
