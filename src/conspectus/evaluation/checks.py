"""Checks of a comparison's answers by a model: one row for each answer, saved and resumed in one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from conspectus.evaluation import run
from conspectus.evaluation.comparison import (
    Key,
    QuestionAnswer,
    made_with,
    model_names,
    names_in,
    question_answers,
)
from conspectus.evaluation.jsonl_table import JsonlTable, attempt, each
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import Session
from conspectus.runtime import Options, Run, path_of, run_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


class CheckOptions(Options, total=False):
    """Which answers are checked.

    conditions: all that have answers where none is named.
    sample: a number of questions that are drawn by a seed, as judging does.
    progress: is told what is done.
    """

    conditions: Sequence[str]
    sample: int | None
    progress: Progress | None


@dataclass(frozen=True)
class AnswerRow:
    """The result of a check of one answer, by condition and question (its id)."""

    condition: str
    question: str
    made_with: str = ""
    """Who checked, and a digest of the texts that were read."""
    error: str = ""


Row = TypeVar("Row", bound=AnswerRow)


@dataclass(frozen=True)
class Check(Generic[Row]):
    """A check: its rows are in `NAME.jsonl` of the folder of a comparison."""

    name: str
    row: type[Row]
    tasks: tuple[str, ...]
    """The names of the language tasks that it needs."""
    texts: Callable[[QuestionAnswer], Iterable[str]]
    """The texts that a result depends on, beside the question and the answer."""
    work: Callable[[QuestionAnswer, Model], Awaitable[Mapping[str, Any]]]
    """Checks one answer and returns the values of its row; raises CallFailed."""

    def table(self, folder: Path) -> JsonlTable[Row]:
        """Return the rows in a folder, by condition and question."""
        return JsonlTable(folder / f"{self.name}.jsonl", self.row, lambda row: (row.condition, row.question))

    def current(self, folder: Path) -> dict[Key, Row]:
        """Return the rows on the answers as they are now, without failed ones."""
        table = self.table(folder)
        checkers = names_in(row.made_with for row in table.rows.values())
        answers = question_answers(folder)

        def is_current(answer: QuestionAnswer) -> bool:
            return any(table.done(answer.key, self._made_with(answer, by)) for by in checkers)

        return {answer.key: table.rows[answer.key] for answer in answers if is_current(answer)}

    def preview(self, folder: str | Path, **options: Unpack[CheckOptions]) -> run.Preview:
        """Return what `run` would ask; no model is asked."""
        chosen, target = run_of(options), path_of(folder)
        answers, left, _ = self._plan(target, options, chosen)

        async def cost(session: Session) -> Estimate:
            return await run.estimate(left, self.work, session, chosen.settings)

        return run.Preview(len(answers), len(left), run.preview(chosen.settings, target, cost))

    def run(self, folder: str | Path, **options: Unpack[CheckOptions]) -> run.Result[list[Row]]:
        """Check the answers that have no result yet, and return the rows of all, failed ones with their errors.

        Raises UsageError where there are no answers or no such condition, ModelError where nothing more can be asked.
        """
        chosen, target = run_of(options), path_of(folder)
        answers, left, by = self._plan(target, options, chosen)
        table = self.table(target)

        async def work(performer: Model | None, _: Session | None) -> list[Row]:
            async def check(answer: QuestionAnswer) -> None:
                values, error = await attempt(self.work(answer, performer or ExtractiveModel()))
                with_ = self._made_with(answer, by)
                table.add(self.row(*answer.key, made_with=with_, error=error, **(values or {})))

            await each(left, check, run.tick_of(options.get("progress"), self.name, len(left)))
            return [row for answer in answers if (row := table.get(answer.key))]

        async def cost(session: Session) -> Estimate:
            return await run.estimate(left, self.work, session, chosen.settings)

        return run.perform(chosen.settings, target, chosen.model, cost, work)

    def _plan(
        self, folder: Path, options: CheckOptions, chosen: Run
    ) -> tuple[list[QuestionAnswer], list[QuestionAnswer], str]:
        """Return the answers to check, those of them that have no result yet, and who checks."""
        answers = question_answers(folder, options.get("conditions", ()), options.get("sample"))
        table = self.table(folder)
        by = chosen.model.name if chosen.model else model_names(chosen.settings, *self.tasks)
        return answers, [a for a in answers if not table.done(a.key, self._made_with(a, by))], by

    def _made_with(self, answer: QuestionAnswer, by: str) -> str:
        return made_with(by, answer.question, answer.answer.text, *self.texts(answer))
