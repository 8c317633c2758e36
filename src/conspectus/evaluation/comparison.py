"""The answers of a comparison's folder, each with the text of its question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation.conditions import place_of
from conspectus.evaluation.jsonl_table import ConditionAnswer, Question, answers_in
from conspectus.evaluation.questions import drawn, read_list
from conspectus.rows import content_id
from conspectus.settings import Settings

Key = tuple[str, str]
"""A condition, and the id of a question."""


@dataclass(frozen=True)
class AskedAnswer:
    """An answer, the question that it is to, and other answers that were sampled for it."""

    answer: ConditionAnswer
    question: str
    samples: tuple[ConditionAnswer, ...] = ()

    @property
    def key(self) -> Key:
        """The condition and the id of the question."""
        return self.answer.condition, self.answer.question


def made_with(by: str, *read: str) -> str:
    """Return what must be the same for a finding to hold: `by`, whose it is, and a digest of all that was read."""
    return f"{by} {sha256(chr(0).join(read).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def names_in(made_with: Iterable[str]) -> tuple[str, ...]:
    """Return whose findings they are, each once."""
    return tuple(dict.fromkeys(name for one in made_with if (name := one.rpartition(" ")[0])))


def asked_answers(folder: Path, conditions: Sequence[str] = (), sample: int | None = None) -> list[AskedAnswer]:
    """Return the answers in a folder that are no failures, the paper's conditions first, in the order of questions.

    `conditions` are all where none is named; `sample` draws so many questions, as judging does. Raises UsageError where
    there is no answer, a condition is not there, or an answer is to a question that is not in questions.json.
    """
    if sample is not None and sample < 1:
        raise UsageError("at least one question must be sampled")
    rows = [row for row in answers_in(folder).rows.values() if not row.error]
    if not rows:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    there = sorted({row.condition for row in rows}, key=place_of)
    for name in conditions:
        if name not in there:
            raise UsageError(f"there is no condition {name!r} with answers in {folder}; there are {', '.join(there)}")
    questions = {one.id: one for one in read_list(folder)}
    if unknown := {row.question for row in rows} - questions.keys():
        raise UsageError(
            f"{folder / 'answers.jsonl'} answers {len(unknown)} questions that are not in questions.json, "
            f"such as {min(unknown)!r}"
        )
    wanted = questions if sample is None else {one.id for one in drawn(list(questions.values()))[:sample]}
    by_key = {(row.condition, row.question, row.sample): row for row in rows}
    numbers = sorted({row.sample for row in rows} - {0})
    return [
        AskedAnswer(
            by_key[name, one, 0],
            questions[one].text,
            tuple(by_key[name, one, number] for number in numbers if (name, one, number) in by_key),
        )
        for name in conditions or there
        for one in questions
        if one in wanted and (name, one, 0) in by_key
    ]


def found_by(settings: Settings, *tasks: str) -> str:
    """Return the names of the models that perform some tasks, with a digest of the user's own prompts for them."""
    names = ", ".join(dict.fromkeys(settings.llm.tasks.get(task, settings.model) for task in tasks))
    folder = Path(settings.llm.prompts) if settings.llm.prompts else None
    own = sorted(path for task in tasks for path in folder.rglob(f"{task}.md")) if folder else []
    return f"{names}#{content_id(*(path.read_text(encoding='utf-8') for path in own))[:8]}" if own else names


def questions_in(folder: Path) -> dict[str, Question]:
    """Return the questions of a folder by id."""
    return {one.id: one for one in read_list(folder)}


def answers_now(folder: Path) -> dict[Key, ConditionAnswer]:
    """Return the answers of a folder, failed ones among them, without further samples."""
    return {(row.condition, row.question): row for row in answers_in(folder).rows.values() if not row.sample}
