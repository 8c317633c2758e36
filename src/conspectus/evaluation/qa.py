"""Measures of short answers: EM and F1 after the normalisation of SQuAD, and accuracy of judgements."""

from __future__ import annotations

import json
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from conspectus.api.asking import Asked as IndexSource
from conspectus.api.asking import viewed
from conspectus.errors import CallFailed, UsageError
from conspectus.evaluation.jsonl_table import AT_ONCE, each
from conspectus.evaluation.qa_files import Asked, read_questions
from conspectus.index import Index
from conspectus.messages import says_nothing
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.rerankers import Reranker, open_reranker
from conspectus.retrieval import METHODS, RANKINGS, rerank
from conspectus.retrieval.base import extractive
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer
from conspectus.runtime import DEFAULT_FOLDER, Given, named, resolved, run_sync, session_for
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import SHORT
from conspectus.text.words import CJK

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation + "，。！？；：、“”‘’（）《》【】…—·")
_YES = frozenset("yes true supports supported support correct right 是 对 真".split())
_NO = frozenset("no false refutes refuted refute incorrect wrong 否 不是 不对 错 假".split())


def normalised(text: str) -> str:
    """Return a text in lower case, without punctuation, articles and extra space (SQuAD, Rajpurkar et al.,
    2016).
    """
    text = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where the answer is one of those accepted, normalised, else 0."""
    return float(normalised(answer) in {normalised(one) for one in accepted})


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best F1 of the words of the answer (in Chinese: the characters) with an accepted one."""
    return max((_f1(_units(answer), _units(one)) for one in accepted), default=0.0)


def _units(text: str) -> list[str]:
    plain = normalised(text)
    return re.findall(rf"{CJK.pattern}|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+", plain)


def _f1(one: Sequence[str], other: Sequence[str]) -> float:
    if not one or not other:
        return float(list(one) == list(other))
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other))


def verdict(answer: str) -> str:
    """Return what an answer says to a yes-or-no question or a claim: yes, no, or "" for neither (not enough
    to tell).
    """
    words = normalised(answer).split()
    first = words[0] if words else ""
    if first in _YES or normalised(answer) in _YES:
        return "yes"
    return "no" if first in _NO or normalised(answer) in _NO else ""


def accuracy(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where an answer judges as an accepted one does, else 0."""
    return float(verdict(answer) in {verdict(one) for one in accepted})


def is_judgement(accepted: Sequence[str]) -> bool:
    """Tell whether what is accepted are judgements: yes or no, supports or refutes (or not enough
    information).
    """
    plain = {normalised(one) for one in accepted}
    return bool(plain) and all(verdict(one) or one == "not enough info" for one in plain)


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


async def answer_all(
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


# The API


def evaluate_answers(
    questions: str | Path,
    index: IndexSource = DEFAULT_FOLDER,
    methods: Sequence[str] = ("walk",),
    *,
    kind: str = "qa",
    where: str | Sequence[str] = (),
    answers: str | Path | None = None,
    limit: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> list[Scored]:
    """Answer the questions of a file by each method, and measure the answers: `qa` by EM and F1, `kgqa` by Hits@1.

    `answers` is a file in which every answer is saved: a run that is broken off goes on from there. Failures are
    counted and have no score. Indexes and `where` are those of `ask`.
    """
    scores = {"qa": answers_qa, "kgqa": answers_kgqa}
    if kind not in scores:
        raise UsageError(f"answers are measured as {' or '.join(scores)}, not as {kind!r}")
    asked = read_questions(Path(questions))[:limit]
    view = viewed(index, where)
    for method in methods:
        view.check(named(METHODS, method).needs)
    chosen, opened = resolved(settings), view.index
    file = None if answers is None else Path(answers)

    async def work() -> list[Scored]:
        async with (
            session_for(chosen, opened.folder, model) as session,
            open_reranker(chosen, opened.folder, model=model, session=session) as reranker,
        ):
            performer = model or (session.model if session else extractive(opened))
            return await answer_all(asked, methods, opened, performer, chosen, scores[kind], file, reranker=reranker)

    return run_sync(work())
