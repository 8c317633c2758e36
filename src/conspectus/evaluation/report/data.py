"""What the page looks up when somebody opens a question or a cell: answers, claims, sentences, judgements, ratings.

Conditions, questions and criteria are named by their places in their lists, so that tens of thousands of judgements
stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conspectus.evaluation.comparing.current_results import Key
from conspectus.evaluation.jsonl_table import AnswerClaims, AnswerGrounding, ConditionAnswer
from conspectus.evaluation.judging.reasons import named
from conspectus.evaluation.report.comparison import Held


def data_of(held: Held) -> dict[str, Any]:
    """Return it as it goes into JSON."""
    return {
        "conditions": held.conditions,
        "questions": [[one.id, one.text, one.persona, one.task] for one in held.questions],
        "answers": _grid(held, lambda key: _answer(held.answers.get(key))),
        "claims": _grid(held, lambda key: _claims(held.claims.get(key))),
        "grounding": _grid(held, lambda key: _grounding(held.grounding.get(key))),
        "criteria": [[one.name, one.description] for one in held.judged.plan.criteria] if held.judged else [],
        "judgements": list(_judgements(held)),
        "ratings": list(_ratings(held)),
    }


def _grid(held: Held, of: Callable[[Key], Any]) -> list[list[Any]]:
    """Return for each condition a value for each question; an empty list where a condition has none."""
    rows = [[of((name, one.id)) for one in held.questions] for name in held.conditions]
    return [row if any(value is not None for value in row) else [] for row in rows]


def _answer(row: ConditionAnswer | None) -> list[Any] | None:
    if row is None:
        return None
    cited = [[one.marker, one.title, one.text, one.documents] for one in row.cited]
    took = [row.units, row.context_tokens, row.calls, row.prompt_tokens, row.completion_tokens, round(row.seconds, 2)]
    return [row.text, cited, took, row.error]


def _claims(row: AnswerClaims | None) -> list[str] | None:
    return None if row is None else list(row.claims)


def _grounding(row: AnswerGrounding | None) -> list[Any] | None:
    if row is None:
        return None
    return [row.samples, [[one.text, int(one.supported), one.markers, one.samples] for one in row.sentences]]


def _judgements(held: Held) -> Iterator[list[Any]]:
    if held.judged is None:
        return
    condition, question, criterion = _places(held)
    for one in held.judged.sound:
        places = [criterion[one.criterion], condition[one.first], condition[one.second], question[one.question]]
        yield [*places, one.replicate, one.winner, named(one)]


def _ratings(held: Held) -> Iterator[list[Any]]:
    condition, question, _ = _places(held)
    for one in held.ratings:
        places = [condition[one.first], condition[one.second], question[one.question]]
        yield [one.criterion, *places, one.rater, one.winner, one.comment]


def _places(held: Held) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    criteria = [one.name for one in held.judged.plan.criteria] if held.judged else []
    return (
        {name: place for place, name in enumerate(held.conditions)},
        {one.id: place for place, one in enumerate(held.questions)},
        {name: place for place, name in enumerate(criteria)},
    )
