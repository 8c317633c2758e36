"""Answer questions under several conditions, and record what each answer cost (GraphRAG §4.1)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
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
from conspectus.indexing.estimate import Estimate, TaskEstimate
from conspectus.indexing.pipeline import Progress
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import Session, completions
from conspectus.models.llm.wire import Completion
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Chunk, Report
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, Options, Run, opened, path_of, run_of
from conspectus.settings import Settings
from conspectus.tasks import Task
from conspectus.tasks.base import Context

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")
TRIED = 4
"""Questions that an estimate tries under a condition whose context depends on the question."""
OMISSION = " […] "
"""The separator between the passages of one citation, which are usually not adjacent in the document."""


# One answer


class AnswerModel(WithAnswerOptions):
    """The model of one answer, which counts its tasks and records the reports and chunks that they read."""

    def __init__(self, model: Model, work: Work, languages: Sequence[str]) -> None:
        super().__init__(model, work.question.text, work.settings.answer, languages)
        self.tasks = 0
        self.read: dict[str, int] = {}
        """The tokens of each report and chunk that was read, by its id."""

    async def prepare(self, task: Task[R]) -> Task[R]:
        self.tasks += 1
        self.read.update((row.id, row.n_tokens) for row in _units(task))
        return await super().prepare(task) if self.generative else task


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


async def answer(work: Work, index: Index, model: Model) -> ConditionAnswer:
    """Return one answer; if a call failed, its `error` is the message.

    Raises UsageError if the index lacks what the condition needs, Unusable if no more calls of the model are possible.
    """
    replies: list[Completion] = []
    completions.set(replies)
    own = AnswerModel(model, work, index.languages)
    question, name = work.question.text, work.condition.name
    clock = time.perf_counter if model.generative else time.process_time
    began = clock()
    try:
        method = answering(question, work.condition, index)
        made, error = await attempt(method(question, index, own, work.settings))
    except UsageError as wrong:
        raise UsageError(f"{name}: {wrong}") from None
    seconds = round(clock() - began, 4)
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
        name,
        work.question.id,
        made.text if made else "",
        tuple(cited),
        units=len(own.read),
        context_tokens=(made.context_tokens if made else 0) or sum(own.read.values()),
        calls=len(replies) or (own.tasks if model.generative else 0),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        seconds=seconds,
        made_with=work.made_with,
        error=error,
    )


# All answers


@dataclass(frozen=True)
class Summary:
    """The results and the cost of all answers of one condition; means are over the answers that did not fail."""

    condition: str
    answers: int
    nothing: int
    """Number of answers that report that nothing was found."""
    failed: int
    units: float
    """Mean number of reports or chunks read; the next three fields are means as well."""
    context_tokens: float
    answer_tokens: float
    citations: float
    calls: int
    """The sum over all answers; the fields below are sums as well."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """CPU seconds if no language model was asked, else elapsed seconds."""


def summary(condition: str, rows: Sequence[ConditionAnswer]) -> Summary:
    """Return the results and the cost of the answers of one condition."""
    good = [row for row in rows if not row.error]
    means = {
        "units": [row.units for row in good],
        "context_tokens": [row.context_tokens for row in good],
        "answer_tokens": [tokens.count(row.text) for row in good],
        "citations": [len(row.cited) for row in good],
    }
    sums = ("calls", "prompt_tokens", "completion_tokens")
    return Summary(
        condition,
        answers=len(good),
        nothing=sum(is_empty_answer(row.text) for row in good),
        failed=len(rows) - len(good),
        **{name: round(mean(values), 1) if values else 0.0 for name, values in means.items()},
        **{name: sum(getattr(row, name) for row in rows) for name in sums},
        seconds=round(sum(row.seconds for row in rows), 2),
    )


@dataclass(frozen=True)
class Answered(Figures):
    """The results and the cost of each condition, over its answers to the questions of the run."""

    folder: Path
    questions: int
    conditions: tuple[Summary, ...]
    table2: tuple[Units, ...]
    """What is read by those conditions that read the same for every question."""


class AnswerOptions(Options, total=False):
    """What is answered, and how.

    conditions: `C0`, `TS`, `SS` or methods; if left out, those of the paper's that the index can be asked by.
    sample: a number of questions, drawn at random with a fixed seed.
    progress: True shows progress on standard error; or an object that shows it.
    """

    conditions: Sequence[str]
    sample: int | None
    progress: Progress | bool | None


class AnswerStep(Step[Work, Answered]):
    """The step that answers questions under conditions; `suffix` is appended to the names of the conditions."""

    stage = "answers"

    def __init__(
        self,
        questions: Sequence[Question],
        index: Index,
        folder: Path,
        options: AnswerOptions,
        run: Run,
        suffix: str = "",
    ) -> None:
        """Raise UsageError if a condition cannot be asked, or if the folder belongs to other questions."""
        super().__init__(folder, run, options.get("progress"))
        names = options.get("conditions", ())
        comparison.check_sample(options.get("sample"))
        if names:
            conditions = conditions_of(names)
        else:
            conditions, self.notices = possible(index, self.settings, self.generative)
        listed = comparison.once(questions)
        if duplicates := len(questions) - len(listed):
            self.notices.append(f"{duplicates:,} of {len(questions):,} questions are repeated and asked once")
        self.index, self.table = index, comparison.answers_in(folder)
        self.questions = comparison.joined(listed, folder)
        self.taken = {question.id for question in comparison.drawn(listed)[: options.get("sample")]}
        model = self.model.name if self.model else self.settings.model
        ways: list[tuple[Condition, Settings, str]] = []
        for condition in conditions:
            own = settings_for(condition, self.settings)
            check(condition, index, own, generative=self.generative)
            digest = made_with(condition, index, model, own)
            ways.append((replace(condition, name=condition.name + suffix), own, digest))
        self.conditions = [condition.name for condition, _, _ in ways]
        self.pieces = tuple(
            Work(condition, question, own, digest)
            for question in listed
            if question.id in self.taken
            for condition, own, digest in ways
        )
        self.remaining = [work for work in self.pieces if not self.table.done(work.key, work.made_with)]

    def extractive(self) -> Model:
        return ExtractiveModel.of_index(self.index)

    def begin(self) -> None:
        comparison.write_list(self.questions, self.folder)
        model = self.model.name if self.model else self.settings.model
        save_set_up(self.pieces, self.index, model, self.folder)

    async def work(self, piece: Work, model: Model) -> ConditionAnswer:
        return await answer(piece, self.index, model)

    def save(self, piece: Work, result: ConditionAnswer, error: str) -> None:
        self.errors.update([result.error] if result.error else [])
        self.table.add(result)

    async def cost(self, session: Session) -> Estimate:
        """Return an estimate with a row for each task of each condition.

        Where the context depends on the question, `TRIED` questions are tried, else one.
        """
        self.index = replace(self.index)  # a copy: what methods cache in it must not affect the run
        rows: list[TaskEstimate] = []
        for name in self.conditions:
            works = [work for work in self.remaining if work.condition.name == name]
            if works:
                method, level = works[0].condition.method, works[0].settings.global_.level
                tried = 1 if method in ("global", "source-summary") and level != "auto" else TRIED
                cost = await estimate(works, self.work, session, works[0].settings, self.extractive(), tried)
                rows += cost.labelled(name)
        return Estimate(tuple(rows))

    def value(self) -> Answered:
        rows = [row for work in self.pieces if (row := self.table.get(work.key))]
        summaries = (
            summary(name, [row for row in rows if row.condition == name]) for name in self.conditions
        )
        units = tuple(row for row in table2(self.index) if row.condition in self.conditions)
        digests = {work.condition.name: work.made_with for work in self.pieces}
        others = Counter(
            row.condition
            for row in self.table.rows.values()
            if row.made_with != digests.get(row.condition, row.made_with)
        )
        self.notices += (
            f"{n} answers of {name} to other questions were made with another index, model or settings; "
            "ask all questions again before you compare"
            for name, n in sorted(others.items())
        )
        return Answered(self.folder, len(self.taken), tuple(summaries), units)


@StepFunction
def answer_questions(
    questions: Source,
    index: AnyIndex = DEFAULT_FOLDER,
    folder: str | Path = COMPARISON,
    **options: Unpack[AnswerOptions],
) -> AnswerStep:
    """Answer questions under each condition, and save each answer in a folder (GraphRAG §4.1).

    The same call, made again, continues with the missing answers and retries failed ones. Raises UsageError, before
    anything is asked, if a question cannot be answered under a condition.

    Example: `answer_questions("questions.txt", "idx", "study", conditions=["C0", "TS"])`
    """
    index = opened(index)
    run = run_of(options, [index.settings])
    return AnswerStep(comparison.questions_of(questions), index, path_of(folder), options, run)


def units_read(index: AnyIndex = DEFAULT_FOLDER) -> list[Units]:
    """Return how much global answers from each level of an index read, and how much TS reads (GraphRAG Table 2)."""
    return table2(opened(index))
