"""The JSON that answers each task, as pydantic models: its schema, its reading and its writing follow from them.

A row of a list that cannot be used is left out and noted, and so is what had to be mended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from conspectus import tasks
from conspectus.errors import BadReply
from conspectus.rows import Finding
from conspectus.tasks import Task
from conspectus.tokens import well_formed


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


def _date(value: Any) -> str | None:
    text = text_of(value)
    return None if text.upper() in ("", "NONE", "NULL") else text


def _yes(value: Any) -> Any:
    return value.strip().casefold() in ("true", "yes") if isinstance(value, str) else bool(value)


def _winner(value: Any) -> int:
    if (text := text_of(value)) not in ("0", "1", "2"):
        raise _wrong(f"its winner is {text[:20]!r}, and not 1, 2 or 0")
    return int(text)


def _positions(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list):
        raise _wrong("no entity and relations")
    return tuple(value for value in cast("list[Any]", values) if is_count(value))


def _short(number: float) -> int | float:
    return int(number) if number == int(number) else number


Text = Annotated[str, BeforeValidator(text_of)]
NeededText = Annotated[str, _needed(text_of)]
Line = Annotated[str, BeforeValidator(line_of)]
Name = Annotated[str, _needed(line_of)]
Count = Annotated[int, BeforeValidator(_count)]
Texts = Annotated[tuple[str, ...], BeforeValidator(texts_of)]
Types = Annotated[
    tuple[str, ...], BeforeValidator(lambda values: texts_of([str(kind).lower() for kind in values]))
]
Counts = Annotated[tuple[int, ...], BeforeValidator(_counts)]
Positions = Annotated[tuple[int, ...], BeforeValidator(_positions)]
Score = Annotated[int, BeforeValidator(round), within(0, 100)]
Rating = Annotated[float, within(0, 10)]
Strength = Annotated[float, within(1, 10), PlainSerializer(_short)]
Winner = Annotated[int, BeforeValidator(_winner)]
YesOrNo = Annotated[bool, BeforeValidator(_yes)]
Object = Annotated[str, BeforeValidator(lambda value: line_of(value) or "NONE")]
STATUSES = {"type": "string", "enum": ["TRUE", "FALSE", "SUSPECTED"]}
ClaimStatus = Annotated[str, BeforeValidator(lambda value: text_of(value).upper()), WithJsonSchema(STATUSES)]
Date = Annotated[str | None, BeforeValidator(_date), WithJsonSchema({"type": ["string", "null"]})]


class Reply(BaseModel):
    """JSON of a model: a whole reply, or a row in one; `makes` is the type of what the task promised instead.

    A key that is missing is read as null. What the task promised is read by `write`.
    """

    model_config = ConfigDict(frozen=True)
    makes: ClassVar[type[Any]]
    read: ClassVar[Callable[..., Any]]
    """Returns what the task promised, for the fields."""
    write: ClassVar[Callable[[Any], dict[str, Any]]]
    """Returns the fields for what the task promised."""
    records: ClassVar[Mapping[str, str]] = {}
    """The keys of lists by the kinds of records that they are, where the reply can be in tuples too."""

    @model_validator(mode="before")
    @classmethod
    def _by_keys(cls, value: Any) -> Any:
        if isinstance(value, cls.makes):
            return cls.write(value)
        if not isinstance(value, dict):
            raise _wrong("it is no object")
        fields = cast("dict[str, Any]", value)
        return {name: fields.get(name) for name in cls.model_fields}

    def made(self) -> Any:
        """Return what the task promised."""
        return type(self).read(**{name: _made(value) for name, value in self})


def _made(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_made, cast("tuple[Any, ...]", value)))
    return value.made() if isinstance(value, Reply) else value


def row(
    makes: type[Any],
    read: Callable[..., Any] | None = None,
    write: Callable[[Any], dict[str, Any]] | None = None,
    records: Mapping[str, str] | None = None,
    **kinds: Any,
) -> Any:
    """Return the model of an object of JSON, by the kinds of its fields; what it is read as has the same fields.

    `read` and `write` are for what has others. A tuple is what its one field holds.
    """
    create: Any = create_model
    model: Any = create(
        f"{makes.__name__}Row", __base__=Reply, **{name: (kind, ...) for name, kind in kinds.items()}
    )

    def fields_of(reply: Any) -> dict[str, Any]:
        return {name: reply if makes is tuple else getattr(reply, name) for name in kinds}

    model.makes, model.records = makes, records or {}
    model.read, model.write = read or (_only if makes is tuple else makes), write or fields_of
    return model


def _only(**fields: Any) -> Any:
    (value,) = fields.values()
    return value


def rows(name: str, model: Any) -> Any:
    """Return the kind of a list of rows, of which those that cannot be used are left out, under their name."""

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

    return Annotated[tuple[model, ...], WrapValidator(read)]


# What is read as something with other fields


def _read_probe(answer: str, score: int, follow_ups: tuple[tasks.FollowUp, ...]) -> tasks.Probe:
    return tasks.Probe(answer, score if answer else 0, follow_ups)


def _write_probe(probe: tasks.Probe) -> dict[str, Any]:
    return {"answer": probe.text, "score": probe.score, "follow_ups": probe.follow_ups}


def _read_rated(passage: int, rating: float) -> tasks.Rated:
    return tasks.Rated(passage - 1, rating)


def _write_rated(rated: tasks.Rated) -> dict[str, Any]:
    return {"passage": rated.passage + 1, "rating": rated.rating}


def _read_ratings(ratings: tuple[tasks.Rated, ...]) -> tuple[tasks.Rated, ...]:
    """Return the first rating of each passage."""
    if not ratings:
        raise BadReply("it rates no passage")
    return tuple({rated.passage: rated for rated in reversed(ratings)}.values())[::-1]


def _read_choice(entity: int, relations: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return entity, relations


def _read_choices(choices: tuple[tuple[int, tuple[int, ...]], ...]) -> tuple[tuple[int, ...], ...]:
    """Return positions from 0 for each entity; those of one that is not named are empty."""
    chosen: dict[int, list[int]] = {}
    for entity, relations in choices:
        chosen.setdefault(entity - 1, []).extend(relation - 1 for relation in relations)
    return tuple(tuple(dict.fromkeys(chosen.get(n, ()))) for n in range(max(chosen, default=-1) + 1))


def _write_choices(chosen: Sequence[Sequence[int]]) -> dict[str, Any]:
    return {"choices": [{"entity": n, "relations": [r + 1 for r in of]} for n, of in enumerate(chosen, 1)]}


def _read_examined(reasoning: str, complete: bool, answers: tuple[str, ...], clue: str) -> tasks.Examined:
    if complete and not answers:
        raise BadReply("it says that the facts are complete and gives no answer")
    return tasks.Examined(answers) if complete else tasks.Examined((), clue)


def _write_examined(examined: tasks.Examined) -> dict[str, Any]:
    return {"reasoning": "", "complete": examined.complete, "answers": examined.answers, "clue": examined.clue}


# What each task is answered by

CLAIM = row(
    tasks.FoundClaim,
    subject=Name,
    object=Object,
    type=Text,
    status=ClaimStatus,
    description=NeededText,
    source_text=Text,
    start_date=Date,
    end_date=Date,
)
ENTITY = row(tasks.FoundEntity, name=Name, type=Text, description=Text)
RELATIONSHIP = row(tasks.FoundRelationship, source=Name, target=Name, description=Text, strength=Strength)
FINDING = row(Finding, summary=Text, explanation=NeededText)
TRIPLE = row(tasks.FoundTriple, head=Name, relation=Name, tail=Name)
FOLLOW_UP = row(tasks.FollowUp, question=Name, score=Score)
PERSONA = row(tasks.Persona, name=Name, description=Name)
NUMBERED = row(tasks.Numbered, number=Count, text=Name)
RATED = row(tasks.Rated, _read_rated, _write_rated, passage=Count, rating=Rating)
CHOICE = row(tuple, _read_choice, entity=Count, relations=Positions)
GRAPH = row(
    tasks.Extraction,
    records={"entities": "entity", "relationships": "relationship"},
    entities=rows("entity", ENTITY),
    relationships=rows("relationship", RELATIONSHIP),
)
PROBE = row(
    tasks.Probe, _read_probe, _write_probe, answer=Text, score=Score, follow_ups=rows("follow-up", FOLLOW_UP)
)
REPORT = row(
    tasks.ReportDraft,
    title=Name,
    summary=NeededText,
    rating=Rating,
    rating_explanation=Text,
    findings=rows("finding", FINDING),
)
EXAMINED = row(
    tasks.Examined,
    _read_examined,
    _write_examined,
    reasoning=Text,
    complete=YesOrNo,
    answers=Texts,
    clue=Line,
)
MODELS: Mapping[type[Task[Any]], type[Reply]] = {
    tasks.ExtractGraph: GRAPH,
    tasks.GleanMore: GRAPH,
    tasks.ExtractClaims: row(tuple, records={"claims": "claim"}, claims=rows("claim", CLAIM)),
    tasks.WriteReport: REPORT,
    tasks.ProfileCorpus: row(tasks.Profile, domain=Name, persona=Name, entity_types=Types),
    tasks.ExtractTriples: row(tuple, triples=rows("triple", TRIPLE)),
    tasks.NameEntities: row(tuple, entities=Texts),
    tasks.WritePropositions: row(tuple, propositions=Texts),
    tasks.PrimeAnswer: PROBE,
    tasks.PursueFollowUp: PROBE,
    tasks.RatePassages: row(tuple, _read_ratings, ratings=rows("rating", RATED)),
    tasks.ChooseRelations: row(tuple, _read_choices, _write_choices, choices=rows("choice", CHOICE)),
    tasks.ExamineEvidence: EXAMINED,
    tasks.DraftAnswer: row(tasks.Draft, reasoning=Text, answer=Name),
    tasks.Personas: row(tuple, personas=rows("persona", PERSONA)),
    tasks.UserTasks: row(tuple, tasks=Texts),
    tasks.GlobalQuestions: row(tuple, questions=Texts),
    tasks.Judge: row(tasks.Verdict, reasoning=Text, winner=Winner),
    tasks.SelectFactual: row(tuple, sentences=Counts),
    tasks.ClearSentences: row(tuple, sentences=rows("sentences", NUMBERED)),
    tasks.FactualClaims: row(tuple, claims=rows("claims", NUMBERED)),
}
