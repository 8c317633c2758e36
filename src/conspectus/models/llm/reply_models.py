"""The JSON that answers each task, as pydantic models: its schema, its reading and its writing follow from them.

A row of a list that cannot be used is left out and noted, and so is what had to be mended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    create_model,
    field_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from conspectus import tasks
from conspectus.errors import BadReply
from conspectus.rows import Finding
from conspectus.tasks import Task
from conspectus.tokens import well_formed

M = TypeVar("M", bound="type[Reply]")


@dataclass
class Notes:
    """What is noticed while a reply is read: the context of all validators."""

    dropped: list[str] = field(default_factory=list[str])
    repaired: list[str] = field(default_factory=list[str])


# Kinds of fields, as models write them


def _notes(info: ValidationInfo) -> Notes:
    return cast("Notes", info.context)


def _wrong(why: str) -> PydanticCustomError:
    return PydanticCustomError("reply", "{why}", {"why": why})


def text_of(value: Any) -> str:
    """Return a text (or a number, as one), stripped and fit to be stored; empty where there is none."""
    return "" if value is None or isinstance(value, dict | list) else well_formed(str(value)).strip()


def line_of(value: Any) -> str:
    """Return a text on one line."""
    return " ".join(text_of(value).split())


def _needed(make: Callable[[Any], str]) -> BeforeValidator:
    def read(value: Any, info: ValidationInfo) -> str:
        if not (text := make(value)):
            raise _wrong(f"no {info.field_name}")
        return text

    return BeforeValidator(read)


def within(low: float, high: float) -> BeforeValidator:
    """Read a number that may be written as text (`"8"`, `8/10`), and move it to its bounds."""

    def read(value: Any, info: ValidationInfo) -> float:
        text, name = text_of(value), info.field_name
        match = re.fullmatch(rf"(-?\d+(?:\.\d+)?)(?:\s*/\s*{high:g})?", text)
        if not match or isinstance(value, bool) or not math.isfinite(number := float(match[1])):
            raise _wrong(f"its {name} is no number" if text else f"no {name}")
        bounded = min(max(number, low), high)
        if bounded != number:
            _notes(info).repaired.append(f"a {name} of {number:g} was taken for {bounded:g}")
        return bounded

    return BeforeValidator(read)


def _count(value: Any) -> int:
    """Return a whole number from 1."""
    if not is_count(value):
        raise _wrong("its number is none")
    return value


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def texts_of(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of a list (numbers as texts) on one line each, the empty ones left out, each once."""
    return tuple(dict.fromkeys(text for text in map(line_of, values) if text))


def _counts(values: Sequence[Any], info: ValidationInfo) -> tuple[int, ...]:
    numbers = [value for value in values if is_count(value)]
    _notes(info).dropped += ["a sentence that is no number"] * (len(values) - len(numbers))
    return tuple(dict.fromkeys(numbers))


def rows(name: str) -> WrapValidator:
    """Read a list of rows, and leave out those that cannot be used."""

    def read(values: Sequence[Any], handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        notes = _notes(info)
        repaired = len(notes.repaired)
        try:
            return handler(values)
        except ValidationError as error:
            wrong: dict[Any, str] = {}
            for details in error.errors(include_url=False, include_context=False):
                wrong.setdefault(details["loc"][0], details["msg"])
            notes.dropped += [f"{name} {n + 1}: {wrong[n]}" for n in sorted(wrong)]
            del notes.repaired[repaired:]
            return handler([value for n, value in enumerate(values) if n not in wrong])

    return WrapValidator(read)


def _date(value: Any) -> str | None:
    text = text_of(value)
    return None if text.upper() in ("", "NONE", "NULL") else text


def _yes(value: Any) -> Any:
    return value.strip().casefold() in ("true", "yes") if isinstance(value, str) else bool(value)


Text = Annotated[str, BeforeValidator(text_of)]
NeededText = Annotated[str, _needed(text_of)]
Line = Annotated[str, BeforeValidator(line_of)]
Name = Annotated[str, _needed(line_of)]
Count = Annotated[int, BeforeValidator(_count)]
Texts = Annotated[tuple[str, ...], BeforeValidator(texts_of)]
Counts = Annotated[tuple[int, ...], BeforeValidator(_counts)]
Score = Annotated[int, BeforeValidator(round), within(0, 100)]
Rating = Annotated[float, within(0, 10)]
Date = Annotated[str | None, BeforeValidator(_date), WithJsonSchema({"type": ["string", "null"]})]


class Reply(BaseModel):
    """JSON of a model: a whole reply, or a row in one; `makes` is what the task promised instead.

    A key that is missing is read as null. An object of `makes` is read by its attributes.
    """

    model_config = ConfigDict(frozen=True)
    makes: ClassVar[type[Any]]
    records: ClassVar[Mapping[str, str]] = {}
    """The keys of lists by the kinds of records that they are, where the reply can be in tuples too."""

    @model_validator(mode="before")
    @classmethod
    def _by_keys(cls, value: Any) -> Any:
        if isinstance(value, cls.makes):
            return cls.fields_of(value)
        if not isinstance(value, dict):
            raise _wrong("it is no object")
        given = cast("dict[str, Any]", value)
        return {name: given.get(name) for name in cls.model_fields}

    def made(self) -> Any:
        """Return what the task promised."""
        return self.makes(**{name: _made(value) for name, value in self})

    @classmethod
    def fields_of(cls, reply: Any) -> dict[str, Any]:
        """Return the fields for what the task promised."""
        return {name: getattr(reply, name) for name in cls.model_fields}


def _made(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_made, cast("tuple[Any, ...]", value)))
    return value.made() if isinstance(value, Reply) else value


class ListReply(Reply):
    """JSON of one list, of which the task promised the items."""

    makes = tuple

    def made(self) -> Any:
        ((_, values),) = self
        return _made(values)

    @classmethod
    def fields_of(cls, reply: Any) -> dict[str, Any]:
        return dict.fromkeys(cls.model_fields, reply)


# What each task is answered by


MODELS: dict[type[Task[Any]], type[Reply]] = {}


def reply_to(*kinds: type[Task[Any]]) -> Callable[[M], M]:
    """Register the class below as the JSON that answers some types of tasks."""

    def register(model: M) -> M:
        MODELS.update(dict.fromkeys(kinds, model))
        return model

    return register


class EntityRow(Reply):
    makes = tasks.FoundEntity
    name: Name
    type: Text
    description: Text


class RelationshipRow(Reply):
    makes = tasks.FoundRelationship
    source: Name
    target: Name
    description: Text
    strength: Annotated[float, within(1, 10)]

    @field_serializer("strength")
    def _short(self, strength: float) -> int | float:
        return int(strength) if strength == int(strength) else strength


@reply_to(tasks.ExtractGraph, tasks.GleanMore)
class GraphReply(Reply):
    makes = tasks.Extraction
    records = {"entities": "entity", "relationships": "relationship"}
    entities: Annotated[tuple[EntityRow, ...], rows("entity")]
    relationships: Annotated[tuple[RelationshipRow, ...], rows("relationship")]


class ClaimRow(Reply):
    makes = tasks.FoundClaim
    subject: Name
    object: Annotated[str, BeforeValidator(lambda value: line_of(value) or "NONE")]
    type: Text
    status: Annotated[
        str,
        BeforeValidator(lambda value: text_of(value).upper()),
        WithJsonSchema({"type": "string", "enum": ["TRUE", "FALSE", "SUSPECTED"]}),
    ]
    description: NeededText
    source_text: Text
    start_date: Date
    end_date: Date


@reply_to(tasks.ExtractClaims)
class ClaimsReply(ListReply):
    records = {"claims": "claim"}
    claims: Annotated[tuple[ClaimRow, ...], rows("claim")]


class FindingRow(Reply):
    makes = Finding
    summary: Text
    explanation: NeededText


@reply_to(tasks.WriteReport)
class ReportReply(Reply):
    makes = tasks.ReportDraft
    title: Name
    summary: NeededText
    rating: Rating
    rating_explanation: Text
    findings: Annotated[tuple[FindingRow, ...], rows("finding")]


@reply_to(tasks.ProfileCorpus)
class ProfileReply(Reply):
    makes = tasks.Profile
    domain: Name
    persona: Name
    entity_types: Annotated[tuple[str, ...], BeforeValidator(lambda v: texts_of([str(kind).lower() for kind in v]))]


class TripleRow(Reply):
    makes = tasks.FoundTriple
    head: Name
    relation: Name
    tail: Name


@reply_to(tasks.ExtractTriples)
class TriplesReply(ListReply):
    triples: Annotated[tuple[TripleRow, ...], rows("triple")]


for _kind, _key in {
    tasks.NameEntities: "entities",
    tasks.WritePropositions: "propositions",
    tasks.UserTasks: "tasks",
    tasks.GlobalQuestions: "questions",
}.items():
    _fields: dict[str, Any] = {_key: (Texts, ...)}
    reply_to(_kind)(create_model(f"{_kind.__name__}Reply", __base__=ListReply, **_fields))


class PointRow(Reply):
    makes = tasks.PartialAnswer
    description: NeededText
    score: Score

    def made(self) -> tasks.PartialAnswer:
        return tasks.PartialAnswer(self.description, self.score)

    @classmethod
    def fields_of(cls, reply: tasks.PartialAnswer) -> dict[str, Any]:
        return {"description": reply.text, "score": reply.score}


@reply_to(tasks.MapPoints)
class PointsReply(ListReply):
    points: Annotated[tuple[PointRow, ...], rows("point")]


class FollowUpRow(Reply):
    makes = tasks.FollowUp
    question: Name
    score: Score


@reply_to(tasks.PrimeAnswer, tasks.PursueFollowUp)
class ProbeReply(Reply):
    makes = tasks.Probe
    answer: Text
    score: Score
    follow_ups: Annotated[tuple[FollowUpRow, ...], rows("follow-up")]

    def made(self) -> tasks.Probe:
        return tasks.Probe(self.answer, self.score if self.answer else 0, _made(self.follow_ups))

    @classmethod
    def fields_of(cls, reply: tasks.Probe) -> dict[str, Any]:
        return {"answer": reply.text, "score": reply.score, "follow_ups": reply.follow_ups}


class RatingRow(Reply):
    makes = tasks.Rated
    passage: Count
    rating: Rating

    def made(self) -> tasks.Rated:
        return tasks.Rated(self.passage - 1, self.rating)

    @classmethod
    def fields_of(cls, reply: tasks.Rated) -> dict[str, Any]:
        return {"passage": reply.passage + 1, "rating": reply.rating}


@reply_to(tasks.RatePassages)
class RatingsReply(ListReply):
    ratings: Annotated[tuple[RatingRow, ...], rows("rating")]

    def made(self) -> tuple[tasks.Rated, ...]:
        """Return the first rating of each passage."""
        if not self.ratings:
            raise BadReply("it rates no passage")
        return _made(tuple({row.passage: row for row in reversed(self.ratings)}.values())[::-1])


def _places(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list):
        raise _wrong("no entity and relations")
    return tuple(value for value in cast("list[Any]", values) if is_count(value))


class ChoiceRow(Reply):
    makes = tuple
    entity: Count
    relations: Annotated[tuple[int, ...], BeforeValidator(_places)]


@reply_to(tasks.ChooseRelations)
class ChoicesReply(Reply):
    makes = tuple
    choices: Annotated[tuple[ChoiceRow, ...], rows("choice")]

    def made(self) -> tuple[tuple[int, ...], ...]:
        """Return positions from 0 for each entity; those of one that is not named are empty."""
        chosen: dict[int, list[int]] = {}
        for row in self.choices:
            chosen.setdefault(row.entity - 1, []).extend(relation - 1 for relation in row.relations)
        return tuple(tuple(dict.fromkeys(chosen.get(n, ()))) for n in range(max(chosen, default=-1) + 1))

    @classmethod
    def fields_of(cls, reply: Sequence[Sequence[int]]) -> dict[str, Any]:
        return {"choices": [{"entity": n, "relations": [r + 1 for r in chosen]} for n, chosen in enumerate(reply, 1)]}


@reply_to(tasks.ExamineEvidence)
class ExaminedReply(Reply):
    makes = tasks.Examined
    reasoning: Text
    complete: Annotated[bool, BeforeValidator(_yes)]
    answers: Texts
    clue: Line

    def made(self) -> tasks.Examined:
        if self.complete and not self.answers:
            raise BadReply("it says that the facts are complete and gives no answer")
        return tasks.Examined(self.answers) if self.complete else tasks.Examined((), self.clue)

    @classmethod
    def fields_of(cls, reply: tasks.Examined) -> dict[str, Any]:
        return {"reasoning": "", "complete": reply.complete, "answers": reply.answers, "clue": reply.clue}


@reply_to(tasks.DraftAnswer)
class DraftReply(Reply):
    makes = tasks.Draft
    reasoning: Text
    answer: Name


class PersonaRow(Reply):
    makes = tasks.Persona
    name: Name
    description: Name


@reply_to(tasks.Personas)
class PersonasReply(ListReply):
    personas: Annotated[tuple[PersonaRow, ...], rows("persona")]


def _winner(value: Any) -> int:
    if (text := text_of(value)) not in ("0", "1", "2"):
        raise _wrong(f"its winner is {text[:20]!r}, and not 1, 2 or 0")
    return int(text)


@reply_to(tasks.Judge)
class VerdictReply(Reply):
    makes = tasks.Verdict
    reasoning: Text
    winner: Annotated[int, BeforeValidator(_winner)]


class NumberedRow(Reply):
    makes = tasks.Numbered
    number: Count
    text: Name


@reply_to(tasks.SelectFactual)
class FactualReply(ListReply):
    sentences: Counts


@reply_to(tasks.ClearSentences)
class SentencesReply(ListReply):
    sentences: Annotated[tuple[NumberedRow, ...], rows("sentences")]


@reply_to(tasks.FactualClaims)
class FactualClaimsReply(ListReply):
    claims: Annotated[tuple[NumberedRow, ...], rows("claims")]
