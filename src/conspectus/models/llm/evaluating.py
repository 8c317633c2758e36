"""The tasks of evaluating: what their prompts are filled with, and the JSON that answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conspectus.errors import BadReply
from conspectus.models.llm.fencing import fence
from conspectus.models.llm.reasoning import INTEGER, Reading, texts
from conspectus.models.llm.records import Malformed, Notes, Record, name_of, rows, text_of
from conspectus.models.llm.schemas import TEXT, Schema, many, record
from conspectus.tasks import (
    ClearSentences,
    Entails,
    FactualClaims,
    GlobalQuestions,
    Judge,
    Numbered,
    Persona,
    Personas,
    SelectFactual,
    SummariseReasons,
    UserTasks,
    Verdict,
)

Fields = Mapping[str, Callable[[Any, str], str]]


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(lines, 1))


def _pair(task: Judge) -> str:
    """Return both answers, each fenced alone: no line of one can pass for the beginning of the other."""
    return f"Answer 1:\n{fence(task.first, task.second)}\n\nAnswer 2:\n{fence(task.second, task.first)}"


def _checked(task: Entails) -> str:
    """Return a text and then a statement: servers keep the beginning of a prompt that many statements share."""
    return f"Text:\n{fence(task.text, task.statement)}\n\nStatement:\n{fence(task.statement, task.text)}"


def _chosen(task: ClearSentences) -> str:
    return ", ".join(map(str, task.chosen))


_PERSONA: Fields = {
    "description": lambda task, _: fence(task.description),
    "persona": lambda task, _: f"{task.persona.name}: {task.persona.description}",
    "count": lambda task, _: str(task.count),
    "known": lambda task, _: _numbered(task.known) or "-",
}
_SENTENCES: Fields = {
    "question": lambda task, _: task.question,
    "data": lambda task, _: fence(_numbered(task.sentences)),
}
FIELDS: Mapping[str, Fields] = {
    Personas.__name__: {key: _PERSONA[key] for key in ("description", "count", "known")},
    UserTasks.__name__: _PERSONA,
    GlobalQuestions.__name__: {**_PERSONA, "task": lambda task, _: task.task},
    Judge.__name__: {
        "question": lambda task, _: task.question,
        "criterion": lambda task, _: task.criterion.name,
        "description": lambda task, _: task.criterion.description,
        "data": lambda task, _: _pair(task),
    },
    SummariseReasons.__name__: {
        "criterion": lambda task, _: task.criterion.name,
        "winner": lambda task, _: task.winner,
        "loser": lambda task, _: task.loser,
        "data": lambda task, _: fence(_numbered(task.reasons)),
    },
    SelectFactual.__name__: _SENTENCES,
    ClearSentences.__name__: {**_SENTENCES, "chosen": lambda task, _: _chosen(task)},
    FactualClaims.__name__: _SENTENCES,
    Entails.__name__: {"data": lambda task, _: _checked(task)},
}


def _persona(value: Record, _: Notes) -> Persona:
    return Persona(name_of(value, "name"), name_of(value, "description"))


def _numbered_text(value: Record, _: Notes) -> Numbered:
    number = value.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise Malformed("its number is none")
    return Numbered(number, name_of(value, "text"))


def _verdict(value: Mapping[str, Any], _: Notes) -> Verdict:
    winner = text_of(value, "winner")
    if winner not in ("0", "1", "2"):
        raise BadReply(f"its winner is {winner[:20]!r}, and not 1, 2 or 0")
    return Verdict(int(winner), text_of(value, "reasoning"))


def _numbers(value: Mapping[str, Any], notes: Notes) -> tuple[int, ...]:
    found = [n for n in value["sentences"] if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    notes.dropped += ["a sentence that is no number"] * (len(value["sentences"]) - len(found))
    return tuple(dict.fromkeys(found))


def _list_of(key: str) -> tuple[Schema, Reading]:
    return record(**{key: many(TEXT)}), Reading(lambda value, _: texts(value[key]), lambda reply: {key: list(reply)})


def _numbered_list_of(key: str) -> tuple[Schema, Reading]:
    return record(**{key: many(record(number=INTEGER, text=TEXT))}), Reading(
        lambda value, notes: rows(value[key], key, _numbered_text, notes),
        lambda reply: {key: [{"number": one.number, "text": one.text} for one in reply]},
    )


READINGS: Mapping[type[Any], tuple[Schema, Reading]] = {
    Personas: (
        record(personas=many(record(name=TEXT, description=TEXT))),
        Reading(
            lambda value, notes: rows(value["personas"], "persona", _persona, notes),
            lambda reply: {"personas": [{"name": p.name, "description": p.description} for p in reply]},
        ),
    ),
    UserTasks: _list_of("tasks"),
    GlobalQuestions: _list_of("questions"),
    Judge: (
        record(reasoning=TEXT, winner=INTEGER),
        Reading(_verdict, lambda reply: {"reasoning": reply.reasoning, "winner": reply.winner}),
    ),
    SelectFactual: (
        record(sentences=many(INTEGER)),
        Reading(_numbers, lambda reply: {"sentences": list(reply)}),
    ),
    ClearSentences: _numbered_list_of("sentences"),
    FactualClaims: _numbered_list_of("claims"),
}
"""The replies that are JSON, each with its schema; the others are plain text."""
