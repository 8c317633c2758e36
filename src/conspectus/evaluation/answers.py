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
from conspectus.evaluation import run
from conspectus.evaluation.conditions import (
    PAPER,
    Condition,
    Units,
    Work,
    answering,
    check,
    conditions_of,
    made_with,
    save_set_up,
    settings_for,
    table2,
)
from conspectus.evaluation.jsonl_table import (
    CitedText,
    ConditionAnswer,
    JsonlTable,
    Question,
    answers_in,
    attempt,
    each,
)
from conspectus.evaluation.questions import COMPARISON, Source, drawn, joined, once, questions_of, write_list
from conspectus.indexing.estimate import Estimate, TaskEstimate
from conspectus.indexing.pipeline import Progress
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import ChatModel, Session
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Chunk, Report, Usage
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, Options, Run, opened, path_of, public, run_of
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


# What an answer takes


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


Metered = Callable[[Tally], Model]
"""Makes a model that performs for one answer and books into its tally."""


class AnswerModel(WithAnswerOptions):
    """The model of one answer, which books what its tasks read.

    With a `sample` each task asks for that sample; those of an answer that is `ahead` of others go before theirs.
    """

    def __init__(self, model: Model, work: Work, languages: Sequence[str], tally: Tally, ahead: int = 0) -> None:
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


def metered_by(session: Session | None, settings: Settings, model: Model) -> Metered:
    """Return what makes the model of each answer; a session's books its calls, and all note into the same list."""

    def metered(tally: Tally) -> Model:
        if session is None:
            return model
        chat = ChatModel(MeteredSender(session.sender, tally), settings)
        chat.notices = session.model.notices
        return chat

    return metered


async def answer(work: Work, index: Index, metered: Metered, ahead: int = 0) -> ConditionAnswer:
    """Return one answer, or that it failed and why; what is `ahead` of other answers is asked before them.

    Raises UsageError where the index lacks what the condition needs, Unusable where the model is of no more use.
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


# What came of it


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


# A run


class AnswerOptions(Options, total=False):
    """What is answered.

    conditions: `C0`, `TS`, `SS` or methods; the paper's, as far as the index has them, if left out.
    sample: a number of questions that are drawn by a seed.
    samples: further answers to each question, for self-consistency.
    progress: is told what is done.
    """

    conditions: Sequence[str]
    sample: int | None
    samples: int
    progress: Progress | None


@dataclass(frozen=True)
class AnswerPlan:
    """A run planned out: all questions of the folder, and the answers that are to be there."""

    folder: Path
    questions: tuple[Question, ...]
    asked: int
    index: Index
    settings: Settings
    works: tuple[Work, ...]
    table: JsonlTable[ConditionAnswer]
    notices: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions, in their order."""
        return tuple(dict.fromkeys(work.condition.name for work in self.works))

    @property
    def left(self) -> list[Work]:
        """The answers that are not there, failed, or were made with something else."""
        return [work for work in self.works if not self.table.done(work.key, work.made_with)]

    def summaries(self) -> list[Summary]:
        """Return a summary of each condition, over those of its answers that are there."""
        pairs = [(work, row) for work in self.works if (row := self.table.get(work.key)) is not None]
        rows = [row for work, row in pairs if row.made_with == work.made_with]
        return [summary(name, [row for row in rows if row.condition == name]) for name in self.conditions]

    def outdated(self) -> list[str]:
        """Return a line on each condition that has answers to other questions, made with something else."""
        made_with = {work.condition.name: work.made_with for work in self.works}
        rows = self.table.rows.values()
        other = Counter(
            row.condition for row in rows if row.made_with != made_with.get(row.condition, row.made_with)
        )
        return [
            f"{n} answers of {name} to other questions were made with another index, model or settings; "
            "ask all questions again before you compare"
            for name, n in sorted(other.items())
        ]


def plan_answers(
    folder: Path,
    questions: Sequence[Question],
    options: AnswerOptions,
    index: Index,
    settings: Settings,
    model: Model | None = None,
) -> AnswerPlan:
    """Return the answers that a model (by default that of the settings) is to make, question by question.

    Raises UsageError where a condition cannot be asked, samples are asked of a model that does not vary, or the folder
    is a comparison of other questions.
    """
    sample, samples, names = options.get("sample"), options.get("samples", 0), options.get("conditions", ())
    if (sample is not None and sample < 1) or samples < 0:
        raise UsageError("sampled questions are at least 1, and samples of answers not below 0")
    listed = once(questions)
    name = model.name if model else settings.model
    generative = model.generative if model else name != "extractive"
    if samples and not generative:
        raise UsageError(
            "the extractive model answers the same each time: samples need a language model (model=NAME)"
        )
    chosen, notices = (conditions_of(names), []) if names else possible(index, settings, generative)
    ways: list[tuple[Condition, Settings, str]] = []
    for condition in chosen:
        own = settings_for(condition, settings, index)
        check(condition, index, own, generative=generative)
        ways.append((condition, own, made_with(condition, index, name, own)))
    taken = {question.id for question in drawn(listed)[:sample]}
    asked = [question for question in listed if question.id in taken]
    works = tuple(
        Work(condition, question, own, digest, number)
        for question in asked
        for condition, own, digest in ways
        for number in range(samples + 1)
    )
    if twice := len(questions) - len(listed):
        notices.append(f"{twice:,} of {len(questions):,} questions came twice and are asked once")
    return AnswerPlan(
        folder,
        tuple(joined(listed, folder)),
        len(asked),
        index,
        settings,
        works,
        answers_in(folder),
        tuple(notices),
    )


def possible(index: Index, settings: Settings, generative: bool) -> tuple[list[Condition], list[str]]:
    """Return those of the paper's conditions that an index can be asked by, and a line on each of the others."""
    conditions: list[Condition] = []
    lines: list[str] = []
    for condition in conditions_of(PAPER):
        try:
            check(condition, index, settings_for(condition, settings, index), generative=generative)
            conditions.append(condition)
        except UsageError as error:
            lines.append(f"left out {error}")
    return conditions, lines


async def estimate(planned: AnswerPlan, session: Session) -> Estimate:
    """Return what the answers that are left will take, a row for each task of each condition.

    A few questions are tried where what is read depends on the question.
    """
    index = replace(planned.index)  # what methods cache of this copy is none of the run's
    extractive = ExtractiveModel.of_index(index)

    async def work(one: Work, model: Model) -> None:
        await _answer(one, index, AnswerModel(model, one, index.languages, Tally()))

    rows: list[TaskEstimate] = []
    for name in planned.conditions:
        works = [one for one in planned.left if one.condition.name == name]
        if works:
            fixed = (
                works[0].condition.method in ("global", "source-summary")
                and works[0].settings.global_.level != "auto"
            )
            cost = await run.estimate(works, work, session, works[0].settings, extractive, 1 if fixed else TRIED)
            rows += [replace(row, model=f"{name}: {row.model}") for row in cost.tasks]
    return Estimate(tuple(rows))


def make_answers(
    planned: AnswerPlan, settings: Settings, model: Model | None = None, progress: Progress | None = None
) -> run.Result[None]:
    """Make the answers that are left and save them; one that fails is saved with its error.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """
    left = planned.left

    async def work(performer: Model | None, session: Session | None) -> None:
        chosen = performer or ExtractiveModel.of_index(planned.index)
        metered = metered_by(session, planned.settings, chosen)
        write_list(planned.questions, planned.folder)
        save_set_up(
            planned.works, planned.index, planned.settings.model if session else chosen.name, planned.folder
        )

        async def make(numbered: tuple[int, Work]) -> None:
            number, one = numbered
            planned.table.add(await answer(one, planned.index, metered, ahead=len(left) - number))

        await each(
            enumerate(left), make, run.tick_of(progress, "answers", len(left)), planned.settings.llm.concurrency
        )

    return run.perform(settings, planned.folder, model, lambda session: estimate(planned, session), work)


# The API


@dataclass(frozen=True)
class Answered:
    """What each condition took and answered, over all its answers in the folder."""

    folder: Path
    questions: int
    conditions: tuple[Summary, ...]
    table2: tuple[Units, ...]
    """What the conditions read that always read the same."""
    notices: tuple[str, ...] = ()
    usage: Usage = run.NO_USAGE
    """What this run took of a language model."""


@public
def preview_answers(
    questions: Source,
    index: AnyIndex = DEFAULT_FOLDER,
    folder: str | Path = COMPARISON,
    **options: Unpack[AnswerOptions],
) -> run.Preview:
    """Return what `answer_questions` would do and take; no model is asked, and answers that are there are taken off."""
    planned, chosen = _planned(questions, opened(index), path_of(folder), options)
    cost = run.preview(chosen.settings, None, lambda session: estimate(planned, session))
    return run.Preview(len(planned.works), len(planned.left), cost)


@public
def answer_questions(
    questions: Source,
    index: AnyIndex = DEFAULT_FOLDER,
    folder: str | Path = COMPARISON,
    **options: Unpack[AnswerOptions],
) -> Answered:
    """Answer questions by each condition and save each answer in a folder (GraphRAG §4.1).

    The same call goes on from what is there and tries failures again. Raises UsageError, before anything is asked,
    where a condition cannot be answered.

    Example: `answer_questions("questions.txt", "idx", "study", conditions=["C0", "TS"])`
    """
    planned, chosen = _planned(questions, opened(index), path_of(folder), options)
    result = make_answers(planned, chosen.settings, chosen.model, options.get("progress"))
    units = tuple(row for row in table2(planned.index) if row.condition in planned.conditions)
    notices = (*planned.notices, *planned.outdated(), *result.notices)
    return Answered(planned.folder, planned.asked, tuple(planned.summaries()), units, notices, result.usage)


def _planned(questions: Source, index: Index, folder: Path, options: AnswerOptions) -> tuple[AnswerPlan, Run]:
    chosen = run_of(options, [index.settings])
    return plan_answers(folder, questions_of(questions), options, index, chosen.settings, chosen.model), chosen


def units_read(index: AnyIndex = DEFAULT_FOLDER) -> list[Units]:
    """Return what global answers from each level of an index read, and what TS reads (GraphRAG Table 2)."""
    return table2(opened(index))
