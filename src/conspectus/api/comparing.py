"""Compare ways of answering, as the paper does (GraphRAG §3.2, 4): questions about a whole corpus, and answers to them.

A comparison is a folder; see `evaluate.kept` for its files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.api.asking import model_of
from conspectus.api.building import open_index
from conspectus.errors import UsageError
from conspectus.evaluation.comparing.answers_estimate import estimate_questions as estimate
from conspectus.evaluation.comparing.question_files import once, read_list, write_list
from conspectus.evaluation.comparing.questions import make_questions as make
from conspectus.evaluation.comparing.questions import plain
from conspectus.evaluation.jsonl_table import answers_in
from conspectus.index import Index
from conspectus.indexing.estimate import Estimator
from conspectus.indexing.pipeline import Silent
from conspectus.models.base import Model
from conspectus.models.llm.session import open_session
from conspectus.models.llm.session import open_session as opened_model
from conspectus.rows import Usage
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, resolved, run_sync, session_for
from conspectus.text.language import language_of

if TYPE_CHECKING:
    from conspectus.evaluation.comparing.answers import Summary
    from conspectus.evaluation.comparing.table2 import Units
    from conspectus.evaluation.jsonl_table import Question
    from conspectus.indexing.estimate import Estimate
    from conspectus.indexing.pipeline import Progress

    Source = str | Path | Sequence[Question]
COMPARISON = "comparison"
"""The folder of a comparison where none is named."""
NONE = Usage()


@dataclass(frozen=True)
class Listed:
    """The questions of a comparison, as they stand in its folder now."""

    questions: tuple[Question, ...]
    folder: Path
    failed: int = 0
    """Lists of tasks or questions that a failure of the model left short."""
    notices: tuple[str, ...] = ()
    usage: Usage = NONE


@dataclass(frozen=True)
class AnswersPreview:
    """What `answer_questions` would do: answers that are left for each condition, and what they would take."""

    questions: int
    left: Mapping[str, int]
    kept: int
    estimates: Mapping[str, Estimate]
    """By condition; empty where no language model is asked."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answered:
    """What each condition took and found, over all its answers that are kept."""

    folder: Path
    questions: int
    conditions: tuple[Summary, ...]
    table2: tuple[Units, ...]
    """What the conditions that always read the same read."""
    notices: tuple[str, ...] = ()
    usage: Usage = NONE
    """What this run took of a language model."""


def make_questions(
    description: str,
    folder: str | Path = COMPARISON,
    *,
    users: int = 5,
    tasks: int = 5,
    questions: int = 5,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Listed:
    """Have a model write questions about a corpus from its description alone, and write them into a folder (GraphRAG
    §3.2).

    It names `users`, `tasks` of each, and `questions` of each for each task. Raises UsageError without a language
    model, and where the folder has answers to other questions.
    """
    chosen, target = resolved(settings), path_of(folder)
    if chosen.model == "extractive" and model is None:
        raise UsageError(
            "questions are written by a language model: name one with --model, or bring your own with --from FILE"
        )
    tick = (progress or Silent()).stage("questions", 1 + users + users * tasks)

    async def work() -> Listed:
        async with session_for(chosen, target, model) as session:
            performer = session.model if session else model
            assert performer is not None
            made = await make(description, performer, users, tasks, questions, tick)
            notices = (*made.notices, *(session.notices if session else ()))
            usage = session.total if session else NONE
            return Listed(made.questions, target, made.failed, notices, usage)

    listed = run_sync(work())
    _write(listed.questions, target)
    return listed


def list_questions(source: Source, folder: str | Path = COMPARISON) -> Listed:
    """Write questions of one's own into the folder of a comparison, each once; see `evaluate.listed` for files."""
    given = _questions(source)
    questions = tuple(once(given))
    _write(questions, path_of(folder))
    twice = len(given) - len(questions)
    return Listed(
        questions, path_of(folder), notices=(f"{twice} questions came twice and are kept once",) * bool(twice)
    )


def estimate_questions(
    description: str, *, users: int = 5, tasks: int = 5, questions: int = 5, settings: Given = None
) -> Estimate:
    """Return what `make_questions` would ask of the model that the settings name, and ask nothing."""
    chosen = resolved(settings)

    async def work() -> Estimate:
        async with open_session(chosen, None, to_ask=False) as session:
            estimator = Estimator(session.model, session.sender, chosen)
            line = plain(description)
            return estimate(line, language_of([line]), users, tasks, questions, session.model, estimator)

    return run_sync(work())


def estimate_answers(
    questions: Source,
    index: Index | str | Path = DEFAULT_FOLDER,
    conditions: Sequence[str] = (),
    folder: str | Path = COMPARISON,
    *,
    sample: int | None = None,
    samples: int = 0,
    settings: Given = None,
) -> AnswersPreview:
    """Return what `answer_questions` would do and ask, and ask nothing; answers that are kept are taken off."""
    from conspectus.evaluation.comparing.answer_folder import estimates, lay_out

    opened, chosen = _opened(index), resolved(settings)
    asked = _questions(questions)
    laid = lay_out(path_of(folder), asked, conditions, opened, chosen, sample=sample, samples=samples)
    left = dict.fromkeys(laid.conditions, 0) | Counter(one.condition.name for one in laid.left)

    async def work() -> dict[str, Estimate]:
        if chosen.model == "extractive":
            return {}
        async with opened_model(chosen, None, to_ask=False) as session:
            return await estimates(laid, session, model_of(opened))

    return AnswersPreview(laid.asked, left, len(laid.works) - len(laid.left), run_sync(work()), laid.notices)


def answer_questions(
    questions: Source,
    index: Index | str | Path = DEFAULT_FOLDER,
    conditions: Sequence[str] = (),
    folder: str | Path = COMPARISON,
    *,
    sample: int | None = None,
    samples: int = 0,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Answered:
    """Answer questions by each condition, and keep each answer in a folder; the same call goes on from those
    (GraphRAG §4.1).

    `conditions` are named as `C0` to `C3` (the levels), `TS`, `SS`, or as methods; without names they are the paper's,
    as far as the index has what they need. `sample` draws so many questions, `samples` are further answers to each for
    self-consistency. Failures are kept and asked again by the next call. Raises UsageError, before anything is asked,
    where a condition cannot be.
    """
    from conspectus.evaluation.comparing.answer_folder import lay_out, make, summed_up

    opened, chosen, target = _opened(index), resolved(settings), path_of(folder)
    asked = _questions(questions)
    laid = lay_out(target, asked, conditions, opened, chosen, model, sample=sample, samples=samples)

    async def work() -> tuple[tuple[str, ...], Usage]:
        async with session_for(chosen, target, model) as session:
            extractive = model_of(opened)
            await make(laid, session, model or extractive, extractive, progress)
            return (session.notices, session.total) if session else ((), NONE)

    notices, usage = run_sync(work())
    found, lines = summed_up(laid)
    units = tuple(row for row in table2(opened) if row.condition in laid.conditions)
    return Answered(target, laid.asked, tuple(found), units, (*laid.notices, *lines, *notices), usage)


def table2(index: Index | str | Path = DEFAULT_FOLDER) -> list[Units]:
    """Return what global answers from each level of an index read, and what TS reads (GraphRAG Table 2)."""
    from conspectus.evaluation.comparing.table2 import table2 as units

    return units(_opened(index))


def _opened(index: Index | str | Path) -> Index:
    return index if isinstance(index, Index) else open_index(index)


def _questions(source: Source) -> list[Question]:
    return read_list(Path(source)) if isinstance(source, str | Path) else list(source)


def _write(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison, in place of others where those have no answers yet."""
    ids = {question.id for question in questions}
    answered = {row.question for row in answers_in(folder).rows.values()}
    if answered - ids:
        raise UsageError(f"{folder} has answers to {len(answered - ids)} other questions: name another folder by --out")
    write_list(questions, folder)
