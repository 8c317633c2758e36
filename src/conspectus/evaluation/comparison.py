"""The folder of a comparison: its answers with their questions, results about them, and files that it gets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.errors import UsageError
from conspectus.evaluation.conditions import condition_order
from conspectus.evaluation.jsonl_table import ConditionAnswer, Question, answers_in
from conspectus.evaluation.questions import digest_of, drawn, read_list
from conspectus.readers import list_generated
from conspectus.rows import content_id
from conspectus.settings import Settings

Key = tuple[str, str]
"""A condition, and the id of a question."""


@dataclass(frozen=True)
class QuestionAnswer:
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
    return f"{by} {digest_of(*read)}"


def names_in(made_with: Iterable[str]) -> tuple[str, ...]:
    """Return whose findings they are, each once."""
    return tuple(dict.fromkeys(name for one in made_with if (name := one.rpartition(" ")[0])))


def check_sample(sample: int | None, replicates: int = 1) -> None:
    """Raise UsageError for a number of questions or replicates below 1."""
    if (sample is not None and sample < 1) or replicates < 1:
        raise UsageError("sampled questions and replicates are at least 1")


def questions_in(folder: Path) -> dict[str, Question]:
    """Return the questions of a folder by id."""
    return {one.id: one for one in read_list(folder)}


def answers_now(folder: Path) -> dict[Key, ConditionAnswer]:
    """Return the answers of a folder, failed ones among them, without further samples."""
    return {(row.condition, row.question): row for row in answers_in(folder).rows.values() if not row.sample}


def check_questions(folder: Path, answers: Iterable[Key], questions: Iterable[Question]) -> None:
    """Raise UsageError where there is an answer to a question that is not in questions.json."""
    if unknown := {question for _, question in answers} - {one.id for one in questions}:
        raise UsageError(
            f"{folder / 'answers.jsonl'} answers {len(unknown)} questions that are not in questions.json, "
            f"such as {min(unknown)!r}"
        )


def question_answers(
    folder: Path, conditions: Sequence[str] = (), sample: int | None = None
) -> list[QuestionAnswer]:
    """Return the answers in a folder that are no failures, the paper's conditions first, in the order of questions.

    `conditions` are all where none is named; `sample` draws so many questions, as judging does. Raises UsageError where
    there is no answer, a condition is not there, or an answer is to a question that is not in questions.json.
    """
    check_sample(sample)
    rows = {
        (row.condition, row.question, row.sample): row
        for row in answers_in(folder).rows.values()
        if not row.error
    }
    if not rows:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    questions = read_list(folder)
    check_questions(folder, (key[:2] for key in rows), questions)
    answered = sorted({condition for condition, _, _ in rows}, key=condition_order)
    for name in conditions:
        if name not in answered:
            raise UsageError(
                f"there is no condition {name!r} with answers in {folder}; there are {', '.join(answered)}"
            )
    wanted = {one.id for one in drawn(questions)[:sample]}
    samples = range(1, 1 + max(sample for _, _, sample in rows))
    return [
        QuestionAnswer(
            rows[name, one.id, 0],
            one.text,
            tuple(rows[name, one.id, n] for n in samples if (name, one.id, n) in rows),
        )
        for name in conditions or answered
        for one in questions
        if one.id in wanted and (name, one.id, 0) in rows
    ]


def model_names(settings: Settings, *tasks: str) -> str:
    """Return the names of the models that perform some tasks, with a digest of the user's own prompts for them."""
    names = ", ".join(dict.fromkeys(settings.llm.tasks.get(task, settings.model) for task in tasks))
    folder = Path(settings.llm.prompts) if settings.llm.prompts else None
    own = sorted(path for task in tasks for path in folder.rglob(f"{task}.md")) if folder else []
    return f"{names}#{content_id(*(path.read_text(encoding='utf-8') for path in own))[:8]}" if own else names


def write_text(path: Path, text: str) -> None:
    """Write a file, recorded as generated, so that it is not taken for a document when its folder is indexed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    list_generated(path.parent, [path.name])
    path.write_text(text, encoding="utf-8", newline="")


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON, see `write_text`."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
