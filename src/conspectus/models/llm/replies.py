"""Parses a model's reply into the reply type of its task.

A *form* describes the replies to a task: a `Kind` of JSON, which has the schema for the request and a function that
reads the value, or a function that reads plain text. `FORMS` lists them by task. A task whose reply is a pydantic
model, a text or a boolean needs no entry. `dump` writes a reply as a model would, to continue a conversation from it.

Parts of a reply that cannot be used are left out, and numbers out of bounds are moved to the bounds; `Parsed.notes`
lists both. A reply that as a whole cannot be read without guessing raises BadReply; `model` decides what to do then.

Models write text around their JSON, and some errors in it have only one possible repair: code fences, single and
typographic quotes, quotes and line breaks inside texts, trailing commas, commas missing between records, Python's
`True`, `False` and `None`, keys without quotes, and closing brackets missing at the very end of a reply. An error whose
repair would be a guess is not repaired: the package json_repair, which always returns a value, returned parts of a
truncated reply as the whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from conspectus import tasks
from conspectus.errors import BadReply, NotSupported
from conspectus.models.llm.wire import without_thinking
from conspectus.rows import Finding
from conspectus.tasks import Task
from conspectus.tasks.base import reply_type
from conspectus.tokens import well_formed

R = TypeVar("R")
Schema = Mapping[str, Any]
Notes = list[str]
"""What was left out of a reply, or changed in it, while it was read: one line for each change."""


@dataclass(frozen=True)
class Parsed(Generic[R]):
    """A reply, and what was left out of it or changed in it."""

    reply: R
    notes: tuple[str, ...] = ()


# JSON as models write it

_TOKEN = re.compile(r"""\s*(?:(?P<mark>[{}\[\]:,])|(?P<quote>["'“‘])|(?P<word>[\w.+-]+))?""")
_JSON_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_BRACKETS = {"{": "}", "[": "]"}
_INSIDE = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|\\(?P<other>.)|(?P<quote>")""", re.DOTALL)
"""Matches, in a quoted text, what is rewritten: escapes that are invalid in JSON, and quotes that are not escaped."""
_TRIES = 3
"""Opening braces of a reply that are tried as the start of the JSON: the text before it seldom has two of its own."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dict; raise ValueError if a key occurs twice, since Python would silently drop one value."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)


class NotJson(ValueError):
    """A text contains no JSON that can be read without guessing; the message says what is wrong, and where."""


def read_json(text: str, wanted: Callable[[Any], bool]) -> Any:
    """Return the one JSON value in a reply for which `wanted` is true.

    Raises NotJson if there is no such value, or if there are two different ones.
    """
    try:
        value = _DECODER.decode(text)
        if wanted(value):
            return value
    except (ValueError, RecursionError):
        pass
    values = [value for value in _valid_objects(text) if wanted(value)]
    if values and all(value == values[0] for value in values):
        return values[0]
    if values:
        raise NotJson("there are two replies in it that differ")
    first: NotJson | None = None
    for opening in list(re.finditer(r"\{", text))[:_TRIES]:
        try:
            value = _DECODER.decode(_repaired(text, opening.start()))
            if wanted(value):
                return value
            raise NotJson("it has not the keys that were asked for")
        except (ValueError, RecursionError) as error:
            first = first or NotJson(str(error))
    raise first or NotJson("there is no JSON in it")


def _valid_objects(text: str) -> list[Any]:
    """Return the outermost valid JSON objects in a text."""
    values: list[Any] = []
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
        except (ValueError, RecursionError):
            position += 1
    return values


def _repaired(text: str, position: int) -> str:
    """Return the JSON object that opens at a position, with its errors repaired.

    This function checks brackets and quotes only; the decoder checks whether the rest is valid JSON.
    """
    parts: list[str] = []
    closing: list[str] = []
    while closing or not parts:
        token = _TOKEN.match(text, position)
        mark, quote, word = token.group("mark", "quote", "word") if token else (None, None, None)
        position = token.end() if token else position
        before = parts[-1] if parts else ""
        if mark in _BRACKETS:
            if before in ("}", "]") and closing[-1:] == ["]"]:
                parts.append(",")  # a comma between records is missing
            closing.append(_BRACKETS[mark])
            parts.append(mark)
        elif mark in ("}", "]"):
            if closing.pop() != mark:
                raise NotJson(f"a bracket is wrong at character {position}")
            if before == ",":
                parts.pop()  # a trailing comma
            parts.append(mark)
        elif mark:
            parts.append(mark)
        elif quote:
            is_key = closing[-1] == "}" and before in ("{", ",")
            inside, position = _quoted(text, position, quote, ":" if is_key else ",}]")
            parts.append(inside)
        elif word:
            parts.append(_word(word, text[position : position + 1] == ":"))
        else:
            # Only after a complete record is it certain that nothing but closing brackets is missing.
            if before not in ("}", "]") or text[position:].strip("` \n"):
                raise NotJson(f"it breaks off or is no JSON at character {position + 1}")
            parts += reversed(closing)
            closing.clear()
    return "".join(parts)


def _word(word: str, is_key: bool) -> str:
    if is_key:
        return json.dumps(word)
    word = _WORDS.get(word, word)
    if word not in ("true", "false", "null") and not _JSON_NUMBER.fullmatch(word):
        raise NotJson(f"{word[:20]!r} is no value")
    return word


def _quoted(text: str, start: int, quote: str, after: str) -> tuple[str, int]:
    """Return a text in valid JSON quotes, and the position after its closing quote.

    `start` is after the opening quote. A closing quote is one before a character of `after` or the end of the text.
    """
    closing = re.compile(rf"\\.|{_QUOTES[quote]}(?P<end>\s*(?:[{re.escape(after)}]|```|\Z))?", re.DOTALL)
    for match in closing.finditer(text, start):
        if match["end"] is not None:
            sound = _INSIDE.sub(
                lambda m: '\\"' if m["quote"] else m["other"] or m[0], text[start : match.start()]
            )
            return f'"{sound}"', match.start() + 1
    raise NotJson(f"a text does not end at character {start}")


# Values of a reply


class Unreadable(ValueError):
    """A value of a reply cannot be used; the message says why."""


@dataclass(frozen=True)
class Kind:
    """A kind of value: its JSON schema, and the function that reads it (from the value, its key and the notes)."""

    schema: Schema
    read: Callable[[Any, str, Notes], Any]


def text_of(value: Any) -> str:
    """Return a value (a text, or a number as text) stripped and well-formed; empty for null, lists and objects."""
    return "" if value is None or isinstance(value, dict | list) else well_formed(str(value)).strip()


def line_of(value: Any) -> str:
    """Return a text on one line."""
    return " ".join(text_of(value).split())


def _kind(type_: str, make: Callable[[Any], Any]) -> Kind:
    """Return a kind that is read from the value alone."""
    return Kind({"type": type_}, lambda value, key, notes: make(value))


def _needed(make: Callable[[Any], str]) -> Kind:
    def read(value: Any, key: str, notes: Notes) -> str:
        if not (text := make(value)):
            raise Unreadable(f"no {key}")
        return text

    return Kind({"type": "string"}, read)


def _number(low: int, high: int, *, whole: bool = False) -> Kind:
    """Return the kind of a number, which may be written as text (`"8"`, `8/10`) and is moved to its bounds."""

    def read(value: Any, key: str, notes: Notes) -> float:
        text = text_of(value)
        match = re.fullmatch(rf"(-?\d+(?:\.\d+)?)(?:\s*/\s*{high})?", text)
        if not match or isinstance(value, bool) or not math.isfinite(number := float(match[1])):
            raise Unreadable(f"its {key} is no number" if text else f"no {key}")
        bounded = min(max(number, low), high)
        if bounded != number:
            notes.append(f"a {key} of {number:g} was taken for {bounded:g}")
        return round(bounded) if whole else bounded

    return Kind({"type": "integer" if whole else "number"}, read)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _count(value: Any) -> int:
    if not _is_count(value):
        raise Unreadable("its number is none")
    return value


def _counts(values: Any, key: str, notes: Notes) -> tuple[int, ...]:
    """Return the positive integers of a list, each once."""
    if not isinstance(values, list):
        raise Unreadable(f"no {key}")
    numbers = [value for value in cast("list[Any]", values) if _is_count(value)]
    others = len(cast("list[Any]", values)) - len(numbers)
    notes += [f"left out: one of the {key} that is no number"] * others
    return tuple(dict.fromkeys(numbers))


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the distinct texts of a list (numbers as texts), on one line each, without empty ones."""
    return tuple(dict.fromkeys(text for text in map(line_of, values) if text))


def _yes(value: Any) -> bool:
    return value.strip().casefold() in ("true", "yes") if isinstance(value, str) else bool(value)


def _winner(value: Any) -> int:
    if (text := text_of(value)) not in ("0", "1", "2"):
        raise Unreadable(f"its winner is {text[:20]!r}, and not 1, 2 or 0")
    return int(text)


def _date(value: Any, key: str, notes: Notes) -> str | None:
    text = text_of(value)
    return None if text.upper() in ("", "NONE", "NULL") else text


def _strength(value: Any, key: str, notes: Notes) -> float:
    number: float = _number(1, 10).read(value, key, notes)
    return int(number) if number == int(number) else number


def _list_of(item: Kind, make: Callable[[Any], Any]) -> Kind:
    return Kind({"type": "array", "items": item.schema}, lambda values, key, notes: make(values))


TEXT, NEEDED_TEXT = _kind("string", text_of), _needed(text_of)
LINE, NAME = _kind("string", line_of), _needed(line_of)
OBJECT = _kind("string", lambda value: line_of(value) or "NONE")
STATUS = Kind(
    {"type": "string", "enum": ["TRUE", "FALSE", "SUSPECTED"]},
    lambda value, key, notes: text_of(value).upper(),
)
DATE = Kind({"type": ["string", "null"]}, _date)
YES, COUNT, WINNER = _kind("boolean", _yes), _kind("integer", _count), _kind("integer", _winner)
SCORE, RATING = _number(0, 100, whole=True), _number(0, 10)
STRENGTH = Kind(RATING.schema, _strength)
TEXTS = _list_of(TEXT, _texts)
TYPES = _list_of(TEXT, lambda values: _texts([str(kind).lower() for kind in values]))
COUNTS = Kind({"type": "array", "items": COUNT.schema}, _counts)


# Replies in JSON


def strict(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object in strict form: every property is required, and no others are allowed."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _object(make: Callable[..., Any], **kinds: Kind) -> Kind:
    """Return the kind of an object, whose fields are passed to `make`; a missing key is read as null."""

    def read(value: Any, key: str, notes: Notes) -> Any:
        if not isinstance(value, dict):
            raise Unreadable("it is no object")
        fields = cast("dict[str, Any]", value)
        return make(**{key: kind.read(fields.get(key), key, notes) for key, kind in kinds.items()})

    return Kind(strict({key: kind.schema for key, kind in kinds.items()}), read)


def _rows(name: str, row: Kind) -> Kind:
    """Return the kind of a list of objects; unusable ones are left out, with a note that calls them `name`."""

    def read(values: Sequence[Any], key: str, notes: Notes) -> tuple[Any, ...]:
        made: list[Any] = []
        for n, value in enumerate(values, 1):
            notes_of_row: Notes = []
            try:
                made.append(row.read(value, key, notes_of_row))
            except Unreadable as error:
                notes_of_row = [f"left out: {name} {n}: {error}"]
            notes += notes_of_row
        return tuple(made)

    return Kind({"type": "array", "items": row.schema}, read)


def _single_field(key: str, kind: Kind, make: Callable[[Any], Any] = lambda value: value) -> Kind:
    """Return the kind of an object with one field, which is read as the value of that field."""

    def of_fields(**fields: Any) -> Any:
        return make(fields[key])

    return _object(of_fields, **{key: kind})


def _pydantic(model: type[BaseModel]) -> Kind:
    """Return the kind of an object that is read as a pydantic model, so that a new task needs no form of its own."""
    whole = model.model_json_schema()

    def schema(part: Mapping[str, Any]) -> Schema:
        if reference := part.get("$ref"):
            return schema(whole["$defs"][reference.rpartition("/")[2]])
        if "properties" in part:
            return strict({name: schema(value) for name, value in part["properties"].items()})
        if "items" in part:
            return {"type": "array", "items": schema(part["items"])}
        if "anyOf" in part:
            return {"anyOf": [schema(option) for option in part["anyOf"]]}
        return {key: part[key] for key in ("type", "enum", "description") if key in part}

    def read(value: Any, key: str, notes: Notes) -> BaseModel:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            raise Unreadable(error.errors(include_url=False)[0]["msg"]) from None

    return Kind(schema(whole), read)


# Replies in plain text

_HELPFULNESS = re.compile(
    r"\*{0,2}<?\s*ANSWER_HELPFULNESS\s*>?\s*[:=]?\s*(\d{1,3})(?:\.\d+)?(?:\s*/\s*100|\s*%)?"
    r"(?:\s*<?\s*/\s*ANSWER_HELPFULNESS\s*>?)?\*{0,2}",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\W*(?:(?:answer|reply|答案|回答)\W+)?"
    r"(?:(?P<yes>(?:yes|true)\b|是|有)|(?:no|false)\b|否|不|没有|无)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\d./])\d+(?:\.\d+)?")
_LABEL = re.compile(r"^(?:\W{0,2}(?:standalone |rewritten )?question\W{0,2}|问题)[:：]\s*", re.IGNORECASE)


def _partial_answer(text: str) -> tasks.PartialAnswer:
    match = _HELPFULNESS.search(text)
    if not match:
        raise BadReply("it has no line <ANSWER_HELPFULNESS> 0-100 </ANSWER_HELPFULNESS>")
    if int(match[1]) > 100:
        raise BadReply(f"its helpfulness is {match[1]}, above 100")
    return tasks.PartialAnswer(f"{text[: match.start()]}{text[match.end() :]}".strip(), int(match[1]))


def _yes_or_no(text: str) -> bool:
    match = _YES.match(text)
    if not match:
        raise BadReply(f"it is neither yes nor no: {text[:40]!r}")
    return match["yes"] is not None


def _rating(text: str) -> int:
    """Return the one rating of a reply, `4` or `Relevance: 4/5`."""
    ratings = {float(number) for number in _NUMBER.findall(text)}
    if len(ratings) != 1 or not 0 <= (rating := ratings.pop()) <= 5:
        raise BadReply(f"it is not one number from 0 to 5: {text[:40]!r}")
    return round(rating)


# Forms of tasks


def _probe(answer: str, score: int, follow_ups: tuple[tasks.FollowUp, ...]) -> tasks.Probe:
    return tasks.Probe(answer, score if answer else 0, follow_ups)


def _rated(passage: int, rating: float) -> tasks.Rated:
    return tasks.Rated(passage - 1, rating)


def _pair(**values: Any) -> Any:
    return tuple(values.values())


def _first_ratings(ratings: tuple[tasks.Rated, ...]) -> tuple[tasks.Rated, ...]:
    """Return the first rating of each passage."""
    if not ratings:
        raise BadReply("it rates no passage")
    return tuple({rated.passage: rated for rated in reversed(ratings)}.values())[::-1]


def _chosen(choices: tuple[tuple[int, tuple[int, ...]], ...]) -> tuple[tuple[int, ...], ...]:
    """Return, for each entity, the indices from 0 of its chosen relations; empty for an entity that is not named."""
    chosen: dict[int, list[int]] = {}
    for entity, relations in choices:
        chosen.setdefault(entity - 1, []).extend(relation - 1 for relation in relations)
    return tuple(tuple(dict.fromkeys(chosen.get(n, ()))) for n in range(max(chosen, default=-1) + 1))


def _examined(
    reasoning: str, complete: bool, answers: tuple[str, ...], clues: tuple[tuple[int, str], ...]
) -> tasks.Examined:
    if complete and not answers:
        raise BadReply("it says that the facts are complete and gives no answer")
    of_path = dict(reversed(clues))
    in_order = tuple(of_path.get(path, "") for path in range(1, max(of_path, default=0) + 1))
    return tasks.Examined(answers) if complete else tasks.Examined((), in_order)


_CLAIM = _object(
    tasks.FoundClaim,
    subject=NAME,
    object=OBJECT,
    type=TEXT,
    status=STATUS,
    description=NEEDED_TEXT,
    source_text=TEXT,
    start_date=DATE,
    end_date=DATE,
)
_ENTITY = _object(tasks.FoundEntity, name=NAME, type=TEXT, description=TEXT)
_RELATIONSHIP = _object(
    tasks.FoundRelationship, source=NAME, target=NAME, description=TEXT, strength=STRENGTH
)
_GRAPH = _object(
    tasks.Extraction, entities=_rows("entity", _ENTITY), relationships=_rows("relationship", _RELATIONSHIP)
)
_REPORT = _object(
    tasks.ReportDraft,
    title=NAME,
    summary=NEEDED_TEXT,
    rating=RATING,
    rating_explanation=TEXT,
    findings=_rows("finding", _object(Finding, summary=TEXT, explanation=NEEDED_TEXT)),
)
_PROBE = _object(
    _probe,
    answer=TEXT,
    score=SCORE,
    follow_ups=_rows("follow-up", _object(tasks.FollowUp, question=NAME, score=SCORE)),
)
_RATED = _object(_rated, passage=COUNT, rating=RATING)
_PERSONA = _object(tasks.Persona, name=NAME, description=NAME)
_ENDS = {"head": NAME, "relation": NAME, "tail": NAME}
_TRIPLE = _object(tasks.FoundTriple, **_ENDS, time=LINE, location=LINE, amount=LINE)
_STRICT_TRIPLES = _single_field("triples", _rows("triple", _object(tasks.FoundTriple, **_ENDS)))
_CHOICE = _object(_pair, entity=COUNT, relations=COUNTS)
_NUMBERED = _object(tasks.Numbered, number=COUNT, text=NAME)
FORMS: Mapping[type[Task[Any]], Kind | Callable[[str], Any]] = {
    tasks.ExtractGraph: _GRAPH,
    tasks.GleanMore: _GRAPH,
    tasks.ExtractClaims: _single_field("claims", _rows("claim", _CLAIM)),
    tasks.WriteReport: _REPORT,
    tasks.ProfileCorpus: _object(tasks.Profile, domain=NAME, persona=NAME, entity_types=TYPES),
    tasks.ExtractTriples: _single_field("triples", _rows("triple", _TRIPLE)),
    tasks.RecognizeTriples: _single_field("triples", COUNTS),
    tasks.NameEntities: _single_field("entities", TEXTS),
    tasks.WritePropositions: _single_field("propositions", TEXTS),
    tasks.PrimeAnswer: _PROBE,
    tasks.PursueFollowUp: _PROBE,
    tasks.RatePassages: _single_field("ratings", _rows("rating", _RATED), _first_ratings),
    tasks.ChooseRelations: _single_field("choices", _rows("choice", _CHOICE), _chosen),
    tasks.ExamineEvidence: _object(
        _examined,
        reasoning=TEXT,
        complete=YES,
        answers=TEXTS,
        clues=_rows("clue", _object(_pair, path=COUNT, clue=LINE)),
    ),
    tasks.DraftAnswer: _object(tasks.Draft, reasoning=TEXT, answer=NAME),
    tasks.Personas: _single_field("personas", _rows("persona", _PERSONA)),
    tasks.UserTasks: _single_field("tasks", TEXTS),
    tasks.GlobalQuestions: _single_field("questions", TEXTS),
    tasks.Judge: _object(tasks.Verdict, reasoning=TEXT, winner=WINNER),
    tasks.SelectFactual: _single_field("sentences", COUNTS),
    tasks.ClearSentences: _single_field("sentences", _rows("sentences", _NUMBERED)),
    tasks.FactualClaims: _single_field("claims", _rows("claims", _NUMBERED)),
    tasks.ConfirmJoins: _single_field("same", COUNTS),
    tasks.DescribeElement: tasks.Description,
    tasks.DescribeElements: _single_field("descriptions", _rows("description", _NUMBERED)),
    tasks.MapAnswer: _partial_answer,
    tasks.RateReport: _rating,
    # The question may follow a label, or be in quotation marks:
    tasks.StandaloneQuestion: lambda text: line_of(_LABEL.sub("", text)).strip('"“”「」'),
}
_BY_TYPE: Mapping[Any, Callable[[str], Any]] = {str: str, bool: _yes_or_no}


@cache
def form_of(kind: type[Task[Any]]) -> Kind | Callable[[str], Any]:
    """Return the form of the replies to a type of task.

    Raises NotSupported if `FORMS` has none, and its reply type is neither a text, a boolean nor a pydantic model.
    """
    promised: Any = reply_type(kind)
    if form := FORMS.get(kind) or _BY_TYPE.get(promised):
        return form
    if isinstance(promised, type) and issubclass(promised, BaseModel):
        return _pydantic(promised)
    raise NotSupported(
        f"{kind.__name__} has no reply that a language model can write: a text, or a pydantic model"
    )


def schema_of(task: Task[Any]) -> Schema | None:
    """Return the schema of the reply to a task, None if the reply is not JSON."""
    strict = isinstance(task, tasks.ExtractTriples) and task.strict
    form = _STRICT_TRIPLES if strict else form_of(type(task))
    return form.schema if isinstance(form, Kind) else None


def parse(task: Task[R], text: str) -> Parsed[R]:
    """Parse the text of a reply to a task.

    Raises BadReply, whose message says what is wrong, if it cannot be read without guessing.
    """
    form = form_of(type(task))
    text = well_formed(without_thinking(text)).strip()
    if not text:
        raise BadReply("it is empty")
    if not isinstance(form, Kind):
        return Parsed(form(text))
    properties: Mapping[str, Schema] = form.schema["properties"]

    def wanted(value: Any) -> bool:
        return isinstance(value, dict) and all(
            key in value and (kind.get("type") != "array" or isinstance(value[key], list))
            for key, kind in properties.items()
        )

    notes: Notes = []
    try:
        reply = form.read(read_json(text, wanted), "", notes)
    except NotJson as why:
        raise BadReply(f"it cannot be read as JSON with the keys {', '.join(properties)}: {why}") from None
    except Unreadable as why:
        raise BadReply(f"it cannot be used: {why}") from None
    return Parsed(reply, tuple(notes))


def dump(task: Task[R], reply: R) -> str:
    """Return a reply of rows as JSON, as a model would have written it; `parse` is the inverse."""
    rows = _written(reply, schema_of(task) or {})
    written = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return written.replace("<|", "<\\u007c")  # the reply may contain control tokens from a document


def _written(value: Any, schema: Schema) -> Any:
    """Return the fields of rows that are in a schema."""
    if properties := schema.get("properties"):
        return {key: _written(getattr(value, key), part) for key, part in properties.items()}
    if items := schema.get("items"):
        return [_written(item, items) for item in value]
    return value
