"""The replies to the tasks of reasoning over triples, as the JSON objects that models write and are read
from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from conspectus.errors import BadReply
from conspectus.models.llm.records import Malformed, Notes, Record, name_of, number_of, rows, text_of
from conspectus.models.llm.schemas import NUMBER, TEXT, Schema, many, record
from conspectus.tasks import Draft, Examined, FoundTriple, Rated

BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}

NAMES = record(entities=many(TEXT))
TRIPLES = record(triples=many(record(head=TEXT, relation=TEXT, tail=TEXT)))
PROPOSITIONS = record(propositions=many(TEXT))
CHOICES = record(choices=many(record(entity=INTEGER, relations=many(INTEGER))))
EXAMINED = record(reasoning=TEXT, complete=BOOLEAN, answers=many(TEXT), clue=TEXT)
DRAFT = record(reasoning=TEXT, answer=TEXT)
RATINGS = record(ratings=many(record(passage=INTEGER, rating=NUMBER)))


@dataclass(frozen=True)
class Reading:
    """How an object becomes a reply, and a reply an object."""

    read: Callable[[Mapping[str, Any], Notes], Any]
    write: Callable[[Any], Mapping[str, Any]]


def texts(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of a list (numbers as texts) on one line each, the empty ones left out, each once."""
    found = (" ".join(text_of({"": value}, "").split()) for value in values)
    return tuple(dict.fromkeys(text for text in found if text))


def _triple(value: Record, notes: Notes) -> FoundTriple:
    return FoundTriple(name_of(value, "head"), name_of(value, "relation"), name_of(value, "tail"))


def _choices(value: Mapping[str, Any], notes: Notes) -> tuple[tuple[int, ...], ...]:
    """Return places from 0 for each entity; those of one that is not named are empty."""
    chosen: dict[int, list[int]] = {}

    def choice(one: Record, _: Notes) -> None:
        entity, relations = one.get("entity"), one.get("relations")
        if entity is None or not _is_number(entity) or not isinstance(relations, list):
            raise Malformed("no entity and relations")
        chosen.setdefault(int(entity) - 1, []).extend(int(r) - 1 for r in cast("list[Any]", relations) if _is_number(r))

    rows(value["choices"], "choice", choice, notes)
    last = max(chosen, default=-1)
    return tuple(tuple(dict.fromkeys(chosen.get(i, ()))) for i in range(last + 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _examined(value: Mapping[str, Any], notes: Notes) -> Examined:
    complete = value["complete"]
    if isinstance(complete, str):
        complete = complete.strip().casefold() in ("true", "yes")
    answers = texts(value["answers"])
    if complete and not answers:
        raise BadReply("it says that the facts are complete and gives no answer")
    clue = " ".join(text_of(value, "clue").split())
    return Examined(answers) if complete else Examined((), clue)


def _draft(value: Mapping[str, Any], notes: Notes) -> Draft:
    try:
        return Draft(name_of(value, "answer"), text_of(value, "reasoning"))
    except Malformed as why:
        raise BadReply(f"it is no answer: {why}") from None


def _rated(value: Record, notes: Notes) -> Rated:
    passage = value.get("passage")
    if passage is None or not _is_number(passage):
        raise Malformed("no number of a passage")
    return Rated(int(passage) - 1, number_of(value, "rating", 0, 10, notes))


def _ratings(value: Mapping[str, Any], notes: Notes) -> tuple[Rated, ...]:
    """Return the first rating of each passage."""
    found = rows(value["ratings"], "rating", _rated, notes)
    if not found:
        raise BadReply("it rates no passage")
    return tuple({rated.passage: rated for rated in reversed(found)}.values())[::-1]


names_of = Reading(lambda value, _: texts(value["entities"]), lambda reply: {"entities": list(reply)})
triples_of = Reading(
    lambda value, notes: rows(value["triples"], "triple", _triple, notes),
    lambda reply: {"triples": [{"head": t.head, "relation": t.relation, "tail": t.tail} for t in reply]},
)
propositions_of = Reading(lambda value, _: texts(value["propositions"]), lambda reply: {"propositions": list(reply)})
choices_of = Reading(
    _choices,
    lambda reply: {"choices": [{"entity": n, "relations": [r + 1 for r in rs]} for n, rs in enumerate(reply, 1)]},
)
examined_of = Reading(
    _examined,
    lambda reply: {
        "reasoning": "",
        "complete": reply.complete,
        "answers": list(reply.answers),
        "clue": reply.clue,
    },
)
draft_of = Reading(_draft, lambda reply: {"reasoning": reply.reasoning, "answer": reply.answer})
ratings_of = Reading(
    _ratings, lambda reply: {"ratings": [{"passage": r.passage + 1, "rating": r.rating} for r in reply]}
)
