"""The answers of a comparison's folder: laid out, estimated, made, and summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation.comparing.answers import Summary, Work, left, plan, run, summaries
from conspectus.evaluation.comparing.answers_estimate import estimate_answers, total
from conspectus.evaluation.comparing.conditions import PAPER, Condition, check, conditions_of, settings_for
from conspectus.evaluation.comparing.question_files import joined, once, write_list
from conspectus.evaluation.comparing.run_info import keep_set_up
from conspectus.evaluation.comparing.usage_meter import Metered, MeteredSender, Tally
from conspectus.evaluation.jsonl_table import ConditionAnswer, JsonlTable, Question, answers_in
from conspectus.evaluation.judging.pairing import drawn
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate, Estimator, check_budget
from conspectus.indexing.pipeline import Progress, Silent
from conspectus.models.base import Model
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.session import Session
from conspectus.settings import Settings
from conspectus.storage import locks


@dataclass(frozen=True)
class Laid:
    """A run laid out: all questions of the folder, the answers that are to be there, and those that are not yet."""

    folder: Path
    questions: tuple[Question, ...]
    asked: int
    index: Index
    settings: Settings
    works: tuple[Work, ...]
    kept: JsonlTable[ConditionAnswer]
    notices: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions, in their order."""
        return tuple(dict.fromkeys(work.condition.name for work in self.works))

    @property
    def left(self) -> list[Work]:
        return left(self.works, self.kept)


def lay_out(
    folder: Path,
    questions: Sequence[Question],
    conditions: Sequence[str],
    index: Index,
    settings: Settings,
    model: Model | None = None,
    *,
    sample: int | None = None,
    samples: int = 0,
) -> Laid:
    """Lay out the answers by conditions, the paper's as far as can be where none is named, of a model or the settings'.

    Raises UsageError where a condition cannot be asked, or the folder is a comparison of other questions.
    """
    if (sample is not None and sample < 1) or samples < 0:
        raise UsageError("sampled questions are at least 1, and samples of answers not below 0")
    listed = once(questions)
    name = model.name if model else settings.model
    generative = model.generative if model else name != "extractive"
    chosen, notices = (conditions_of(conditions), []) if conditions else possible(index, settings, generative)
    taken = {question.id for question in drawn(listed)[:sample]}
    asked = [question for question in listed if question.id in taken]
    works = plan(asked, chosen, index, settings, name, generative=generative, samples=samples)
    if twice := len(questions) - len(listed):
        notices.append(f"{twice} questions came twice and are asked once")
    return Laid(
        folder,
        tuple(joined(listed, folder)),
        len(asked),
        index,
        settings,
        tuple(works),
        answers_in(folder),
        tuple(notices),
    )


def possible(index: Index, settings: Settings, generative: bool) -> tuple[list[Condition], list[str]]:
    """Return those of the paper's conditions that an index can be asked by, and a line on each of the others."""
    found: list[Condition] = []
    lines: list[str] = []
    for condition in conditions_of(PAPER):
        try:
            check(condition, index, settings_for(condition, settings, index), generative=generative)
            found.append(condition)
        except UsageError as error:
            lines.append(f"left out {error}")
    return found, lines


async def estimates(laid: Laid, session: Session, stand_in: Model) -> dict[str, Estimate]:
    """Return what the answers that are left will take, by condition; `stand_in` replies while that is found out."""
    estimator = Estimator(session.model, session.sender, laid.settings)
    return await estimate_answers(laid.left, laid.index, session.model, stand_in, estimator)


async def make(
    laid: Laid, session: Session | None, model: Model, stand_in: Model, progress: Progress | None = None
) -> None:
    """Make the answers that are left and keep them; those of a session's model, or else of the model that is given.

    Raises Unusable where nothing more can be asked of the model (a budget is checked before the first call), IndexBusy
    where another process answers into the folder.
    """
    waiting = laid.left
    if session and session.sender.ledger.limited and waiting:
        check_budget(total((await estimates(laid, session, stand_in)).values()), session.sender.ledger)
    with locks.writing(laid.folder, "comparison"):
        write_list(laid.questions, laid.folder)
        keep_set_up(laid.works, laid.index, laid.settings.model if session else model.name, laid.folder)
        tick = (progress or Silent()).stage("answers", len(waiting))
        await run(
            waiting, laid.index, _metered(session, laid.settings, model), laid.kept, tick, laid.settings.llm.concurrency
        )


def _metered(session: Session | None, settings: Settings, model: Model) -> Metered:
    """Return what makes a model for each answer; a session's books into its tally, and notes where all others do."""

    def metered(tally: Tally) -> Model:
        if session is None:
            return model
        chat = ChatModel(MeteredSender(session.sender, tally), settings)
        chat.notices = session.model.notices
        return chat

    return metered


def summed_up(laid: Laid) -> tuple[list[Summary], list[str]]:
    """Return a summary of each condition, and a line on answers of theirs that were made with something else."""
    with_ = {work.condition.name: work.made_with for work in laid.works}
    other = Counter(
        row.condition for row in laid.kept.rows.values() if row.made_with != with_.get(row.condition, row.made_with)
    )
    lines = [
        f"{n} answers of {name} to other questions were made with another index, model or settings; "
        "ask all questions again before you compare"
        for name, n in sorted(other.items())
    ]
    return summaries(laid.works, laid.kept), lines
