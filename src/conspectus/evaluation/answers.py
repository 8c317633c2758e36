"""The answers of conditions to questions, and what each of them takes, though many are made at once (GraphRAG §4.1)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus import Index, tokens
from conspectus.errors import UsageError
from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import COMPARISON, CitedText, ConditionAnswer, Question, Source
from conspectus.evaluation.conditions import (
    Condition,
    Units,
    Work,
    answering,
    check,
    conditions_of,
    made_with,
    possible,
    save_set_up,
    settings_for,
    table2,
)
from conspectus.evaluation.run import Step, StepFunction, attempt, estimate
from conspectus.evaluation.statistics import Figures
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import ChatModel, Session
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Chunk, Report
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, Options, Run, opened, path_of, run_of
from conspectus.settings import Settings
from conspectus.tasks import Task
from conspectus.tasks.base import Context

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.models.llm.sender import CachingSender
    from conspectus.models.llm.wire import Completion, Request
else:
    CachingSender = object  # `MeteredSender` has its type, and hands on to one all but what it counts

R = TypeVar("R")
SAMPLES = 1000
"""What the number of a sampled answer counts for in the numbers of samples that a method draws by itself."""
AHEAD = 1000.0
"""What a position counts for in the priority of tasks, which methods set to less than that by themselves."""
TRIED = 4
"""Questions that an estimate tries by a condition whose context depends on the question."""
OMISSION = " […] "
"""Stands between passages of the documents that are not next to each other."""


# One answer


@dataclass
class Tally:
    """What an answer took."""

    tasks: int = 0
    calls: int = 0
    """Replies of a server, those from the cache and those that could not be read among them."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    read: dict[str, int] = field(default_factory=dict[str, int])
    """Tokens of the reports and chunks that were read, by id."""


class AnswerModel(WithAnswerOptions):
    """The model of one answer, which books what its tasks read.

    With a `sample` each task asks for that sample; those of an answer that is `ahead` of others go before theirs.
    """

    def __init__(
        self, model: Model, work: Work, languages: Sequence[str], tally: Tally, ahead: int = 0
    ) -> None:
        super().__init__(model, work.question.text, work.settings.answer, languages)
        self._tally = tally
        self._sample = work.sample
        self._ahead = ahead

    def _styled(self, task: Task[R]) -> Task[R]:
        self._tally.tasks += 1
        self._tally.read.update((row.id, row.n_tokens) for row in _units(task))
        styled = super()._styled(task) if self.generative else task
        sample = self._sample and (SAMPLES * self._sample + task.sample if task.sample else self._sample)
        return replace(styled, sample=sample or task.sample, priority=task.priority + AHEAD * self._ahead)


def _units(task: Task[Any]) -> Iterator[Report | Chunk]:
    """Yield the reports and chunks that a task reads."""
    context = getattr(task, "context", None)
    if isinstance(context, Context):
        yield from context.reports
        yield from context.sources
    for name in ("report", "chunk"):
        row = getattr(task, name, None)
        if isinstance(row, Report | Chunk):
            yield row


class MeteredSender(CachingSender):
    """A sender that books each completion, from the cache or not, for the answer that it is a part of."""

    def __init__(self, sender: CachingSender, tally: Tally) -> None:
        self._sender = sender
        self._tally = tally

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sender, name)

    async def send(self, request: Request) -> Completion:
        completion = await self._sender.send(request)
        self._tally.calls += 1
        self._tally.prompt_tokens += completion.prompt_tokens
        self._tally.completion_tokens += completion.completion_tokens
        return completion


async def answer(
    work: Work, index: Index, metered: Callable[[Tally], Model], ahead: int = 0
) -> ConditionAnswer:
    """Return one answer, or that it failed and why; what is `ahead` of other answers is asked before them.

    `metered` makes a model that books its calls into a tally. Raises UsageError where the index lacks what the
    condition needs, Unusable where the model is of no more use.
    """
    tally = Tally()
    model = AnswerModel(metered(tally), work, index.languages, tally, ahead)
    clock = time.perf_counter if model.generative else time.process_time
    began = clock()
    try:
        made, error = await attempt(_answer(work, index, model))
    except UsageError as wrong:
        raise UsageError(f"{work.condition.name}: {wrong}") from None
    cited = (
        CitedText(
            citation.marker,
            citation.title,
            OMISSION.join(dict.fromkeys(source.text for source in citation.sources)),
            tuple(dict.fromkeys(source.document for source in citation.sources)),
        )
        for citation in (made.citations if made else ())
    )
    return ConditionAnswer(
        *work.key[:2],
        made.text if made else "",
        tuple(cited),
        units=len(tally.read),
        context_tokens=(made.context_tokens if made else 0) or sum(tally.read.values()),
        calls=tally.calls or (tally.tasks if model.generative else 0),
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        seconds=round(clock() - began, 4),
        sample=work.sample,
        made_with=work.made_with,
        error=error,
    )


async def _answer(work: Work, index: Index, model: Model) -> Answer:
    question = work.question.text
    return await answering(question, work.condition, index)(question, index, model, work.settings)


# All answers


@dataclass(frozen=True)
class Summary:
    """What one condition took for all its answers, and what came of it; means are over those that did not fail."""

    condition: str
    answers: int
    nothing: int
    """Answers that say that nothing was found."""
    failed: int
    units: float
    """The mean of reports or chunks read, and so on."""
    context_tokens: float
    answer_tokens: float
    citations: float
    calls: int
    """Of all answers together, and so on."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """CPU seconds where no model was asked, else time waited."""


def summary(condition: str, rows: Sequence[ConditionAnswer]) -> Summary:
    """Return what the answers of a condition took, and what came of them."""
    good = [row for row in rows if not row.error]

    def mean(values: Sequence[int]) -> float:
        return round(sum(values) / len(values), 1) if values else 0.0

    return Summary(
        condition,
        answers=len(good),
        nothing=sum(is_empty_answer(row.text) for row in good),
        failed=len(rows) - len(good),
        units=mean([row.units for row in good]),
        context_tokens=mean([row.context_tokens for row in good]),
        answer_tokens=mean([tokens.count(row.text) for row in good]),
        citations=mean([len(row.cited) for row in good]),
        calls=sum(row.calls for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        seconds=round(sum(row.seconds for row in rows), 2),
    )


@dataclass(frozen=True)
class Answered(Figures):
    """What each condition took and answered, over all its answers in the folder."""

    folder: Path
    questions: int
    conditions: tuple[Summary, ...]
    table2: tuple[Units, ...]
    """What the conditions read that always read the same."""


class AnswerOptions(Options, total=False):
    """What is answered.

    conditions: `C0`, `TS`, `SS` or methods; the paper's, as far as the index has them, if left out.
    sample: a number of questions that are drawn by a seed.
    samples: further answers to each question, for self-consistency.
    progress: True shows on standard error how far it is; or an object that shows it.
    """

    conditions: Sequence[str]
    sample: int | None
    samples: int
    progress: Progress | bool | None


class AnswerStep(Step[Work, Answered]):
    """All answers of conditions to questions; `suffix` is added to the names of the conditions."""

    stage = "answers"
    folder: Path

    def __init__(
        self,
        questions: Sequence[Question],
        index: Index,
        folder: Path,
        options: AnswerOptions,
        run: Run,
        suffix: str = "",
    ) -> None:
        """Raise UsageError where a condition or samples cannot be asked, or the folder is of other questions."""
        super().__init__(folder, run, options.get("progress"))
        sample, samples, names = (
            options.get("sample"),
            options.get("samples", 0),
            options.get("conditions", ()),
        )
        if (sample is not None and sample < 1) or samples < 0:
            raise UsageError("sampled questions are at least 1, and samples of answers not below 0")
        listed = comparison.once(questions)
        if samples and not self.generative:
            raise UsageError(
                "the extractive model answers the same each time: samples need a language model (model=NAME)"
            )
        chosen, notices = (
            (conditions_of(names), []) if names else possible(index, self.settings, self.generative)
        )
        ways: list[tuple[Condition, Settings, str]] = []
        for condition in chosen:
            own = settings_for(condition, self.settings, index)
            check(condition, index, own, generative=self.generative)
            digest = made_with(condition, index, self.model.name if self.model else self.settings.model, own)
            ways.append((replace(condition, name=condition.name + suffix), own, digest))
        taken = {question.id for question in comparison.drawn(listed)[:sample]}
        self.pieces = tuple(
            Work(condition, question, own, digest, number)
            for question in listed
            if question.id in taken
            for condition, own, digest in ways
            for number in range(samples + 1)
        )
        if duplicates := len(questions) - len(listed):
            notices.append(f"{duplicates:,} of {len(questions):,} questions came twice and are asked once")
        self.notices = notices
        self.index, self.table, self.sampled_questions = index, comparison.answers_in(folder), len(taken)
        self.questions = comparison.joined(listed, folder)
        self.conditions = [condition.name for condition, _, _ in ways]
        self.remaining = [work for work in self.pieces if not self.table.done(work.key, work.made_with)]
        self._ahead = {work.key: n for n, work in enumerate(reversed(self.remaining), 1)}
        self._metered: Callable[[Tally], Model] = lambda tally: self.extractive()

    @property
    def at_once(self) -> int:
        return self.settings.llm.concurrency

    def extractive(self) -> Model:
        return ExtractiveModel.of_index(self.index)

    async def begin(self, session: Session | None, model: Model) -> None:
        comparison.write_list(self.questions, self.folder)
        name = self.settings.model if session else model.name
        save_set_up(self.pieces, self.index, name, self.folder)

        def metered(tally: Tally) -> Model:
            if session is None:
                return model
            chat = ChatModel(MeteredSender(session.sender, tally), self.settings)
            chat.notices = session.model.notices
            return chat

        self._metered = metered

    async def work(self, piece: Work, model: Model) -> Answer:
        return await _answer(piece, self.index, AnswerModel(model, piece, self.index.languages, Tally()))

    async def do(self, piece: Work, model: Model) -> None:
        row = await answer(piece, self.index, self._metered, self._ahead[piece.key])
        self.save(piece, row, row.error)

    def save(self, piece: Work, result: ConditionAnswer, error: str) -> None:
        self.errors.update([error] if error else [])
        self.table.add(result)

    async def cost(self, session: Session) -> Estimate:
        """Return a row for each task of each condition.

        A few questions are tried where what is read depends on the question.
        """
        self.index = replace(self.index)  # what methods cache of this copy is none of the run's
        cost = Estimate(())
        for name in self.conditions:
            works = [work for work in self.remaining if work.condition.name == name]
            if works:
                method, level = works[0].condition.method, works[0].settings.global_.level
                sampled = 1 if method in ("global", "source-summary") and level != "auto" else TRIED
                one = await estimate(works, self.work, session, works[0].settings, self.extractive(), sampled)
                rows = (replace(row, model=f"{name}: {row.model}") for row in one.tasks)
                cost = Estimate((*cost.tasks, *rows))
        return cost

    def value(self) -> Answered:
        rows = [row for work in self.pieces if (row := self.table.get(work.key))]
        summaries = (summary(name, [row for row in rows if row.condition == name]) for name in self.conditions)
        units = tuple(row for row in table2(self.index) if row.condition in self.conditions)
        made_with = {work.condition.name: work.made_with for work in self.pieces}
        other = Counter(
            row.condition
            for row in self.table.rows.values()
            if row.made_with != made_with.get(row.condition, row.made_with)
        )
        self.notices += (
            f"{n} answers of {name} to other questions were made with another index, model or settings; "
            "ask all questions again before you compare"
            for name, n in sorted(other.items())
        )
        return Answered(self.folder, self.sampled_questions, tuple(summaries), units)


@StepFunction
def answer_questions(
    questions: Source,
    index: AnyIndex = DEFAULT_FOLDER,
    folder: str | Path = COMPARISON,
    **options: Unpack[AnswerOptions],
) -> AnswerStep:
    """Answer questions by each condition and save each answer in a folder (GraphRAG §4.1).

    The same call goes on from what is there and tries failures again. Raises UsageError, before anything is asked,
    where a condition cannot be answered.

    Example: `answer_questions("questions.txt", "idx", "study", conditions=["C0", "TS"])`
    """
    index = opened(index)
    run = run_of(options, [index.settings])
    return AnswerStep(comparison.questions_of(questions), index, path_of(folder), options, run)


def units_read(index: AnyIndex = DEFAULT_FOLDER) -> list[Units]:
    """Return what global answers from each level of an index read, and what TS reads (GraphRAG Table 2)."""
    return table2(opened(index))
