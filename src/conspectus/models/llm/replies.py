"""From a model's reply to what its task promised, and back.

What JSON answers a task is a pydantic model, of which the schema in the request, the reading and the writing (`dump`)
follow. A task whose reply is a pydantic model itself, a text or a yes or no needs nothing here; for others
`reply_models.MODELS` has one. `dump` is the inverse of `parse`: a conversation that goes on is written from the rows.

What cannot be used of a reply is left out and named in `Parsed.dropped`. A reply that as a whole cannot be read without
guessing is a BadReply. Nothing here decides what to do then: see `model`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from conspectus import tasks
from conspectus.errors import BadReply, NotSupported
from conspectus.models.llm import json_reader
from conspectus.models.llm.reply_models import MODELS, Notes, Reply, line_of
from conspectus.models.llm.wire import without_thinking
from conspectus.tasks import Task
from conspectus.tasks.base import reply_type
from conspectus.tokens import well_formed

R = TypeVar("R")
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Parsed(Generic[R]):
    """A reply, what was left out of it and what was mended (one line each), and whether it was cut off."""

    reply: R
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    cut: bool = False


# Replies in plain text


@dataclass(frozen=True)
class Plain:
    """How a reply in plain text is read and written."""

    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str


_HELPFULNESS = re.compile(
    r"\*{0,2}<?\s*ANSWER_HELPFULNESS\s*>?\s*[:=]?\s*(\d{1,3})(?:\.\d+)?(?:\s*/\s*100|\s*%)?"
    r"(?:\s*<?\s*/\s*ANSWER_HELPFULNESS\s*>?)?\*{0,2}",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\W*(?:(?:answer|reply|答案|回答)\W+)?(?:(?P<yes>(?:yes|true)\b|是|有)|(?:no|false)\b|否|不|没有|无)",
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


def _question(text: str) -> str:
    """Return the one question of a reply, without the quotation marks or the label that it may stand behind."""
    return line_of(_LABEL.sub("", text)).strip('"“”「」')


_BY_TYPE: Mapping[Any, Plain] = {str: Plain(), bool: Plain(_yes_or_no, lambda yes: "yes" if yes else "no")}
_PLAIN: Mapping[type[Task[Any]], Plain] = {
    tasks.DescribeElement: Plain(tasks.Description, lambda description: description.text),
    tasks.MapAnswer: Plain(
        _partial_answer,
        lambda answer: f"<ANSWER_HELPFULNESS> {answer.score} </ANSWER_HELPFULNESS>\n{answer.text}",
    ),
    tasks.RateReport: Plain(_rating),
    tasks.StandaloneQuestion: Plain(_question),
}


# Reading and writing


def form_of(kind: type[Task[Any]]) -> type[BaseModel] | Plain:
    """Return what answers a type of task: a pydantic model, or how its plain text is read.

    Raises NotSupported where the type of its reply says nothing of that and `MODELS` has nothing.
    """
    if form := MODELS.get(kind) or _PLAIN.get(kind):
        return form
    promised: Any = reply_type(kind)
    if isinstance(promised, type) and issubclass(promised, BaseModel):
        return promised
    if form := _BY_TYPE.get(promised):
        return form
    raise NotSupported(
        f"{kind.__name__} has no reply that a language model can write: a text, or a pydantic model"
    )


@cache
def schema_of_model(model: type[BaseModel]) -> Schema:
    """Return a JSON schema in the strict form: every property required, no others, no references."""
    whole = model.model_json_schema()

    def strict(part: Mapping[str, Any]) -> Schema:
        if reference := part.get("$ref"):
            return strict(whole["$defs"][reference.rpartition("/")[2]])
        if "properties" in part:
            return {
                "type": "object",
                "properties": {name: strict(value) for name, value in part["properties"].items()},
                "required": list(part["properties"]),
                "additionalProperties": False,
            }
        if "items" in part:
            return {"type": "array", "items": strict(part["items"])}
        if "anyOf" in part:
            return {"anyOf": [strict(option) for option in part["anyOf"]]}
        return {key: part[key] for key in ("type", "enum", "description") if key in part}

    return strict(whole)


def schema_of(task: Task[Any], reply_format: str = "json") -> Schema | None:
    """Return the schema that the reply to a task has, None where it is no JSON."""
    form = form_of(type(task))
    if isinstance(form, Plain) or _records(form, reply_format):
        return None
    return schema_of_model(form)


def parse(task: Task[R], text: str, reply_format: str = "json") -> Parsed[R]:
    """Read the reply to a task.

    Raises BadReply, saying what is wrong, where it cannot be read without guessing.
    """
    form, notes = form_of(type(task)), Notes()
    text = well_formed(without_thinking(text)).strip()
    if not text:
        raise BadReply("it is empty")
    if isinstance(form, Plain):
        return Parsed(form.read(text))
    cut = False
    if keys := _records(form, reply_format):
        value, cut = _tuples_of(text, keys, notes)
    else:
        value = _object_of(text, schema_of_model(form), notes)
    try:
        read = form.model_validate(value, context=notes)
    except ValidationError as error:
        raise BadReply(f"it cannot be used: {error.errors(include_url=False)[0]['msg']}") from None
    reply: Any = read.made() if isinstance(read, Reply) else read
    return Parsed(reply, tuple(notes.dropped), tuple(notes.repaired), cut)


def dump(task: Task[R], reply: R, reply_format: str = "json") -> str:
    """Return a reply as a model would have written it, so that `parse` gives it back."""
    form = form_of(type(task))
    if isinstance(form, Plain):
        return form.write(reply)
    value = form.model_validate(reply, context=Notes()).model_dump(mode="json")
    keys = _records(form, reply_format)
    if not keys:
        return _compact(value)
    records = ((kind, row) for key, kind in keys.items() for row in value[key])
    empty = {"claim": "NONE"}
    return write_tuples(
        (kind, [row[key] or empty.get(kind, "") for key in TUPLE_KEYS[kind]]) for kind, row in records
    )


def _records(form: type[BaseModel], reply_format: str) -> Mapping[str, str]:
    """Return the keys of the lists that are written as tuples, by the kinds of their records; none for JSON."""
    return form.records if reply_format == "tuples" and issubclass(form, Reply) else {}


def _object_of(text: str, schema: Schema, notes: Notes) -> dict[str, Any]:
    """Return the object of a reply that has all keys of the schema; lists must be lists."""
    properties: Mapping[str, Schema] = schema["properties"]

    def wanted(value: Any) -> bool:
        return isinstance(value, dict) and all(
            key in value and (kind.get("type") != "array" or isinstance(value[key], list))
            for key, kind in properties.items()
        )

    try:
        value, repairs = json_reader.read(text, wanted)
    except json_reader.NotJson as why:
        raise BadReply(f"it cannot be read as JSON with the keys {', '.join(properties)}: {why}") from None
    notes.repaired += repairs
    return value


def _tuples_of(text: str, keys: Mapping[str, str], notes: Notes) -> tuple[dict[str, Any], bool]:
    """Return the records of a reply as lists by their keys, and whether it was cut off."""
    records = read_tuples(text)
    if records.cut and not records.rows:
        raise BadReply("there are no records in it and no end mark")
    notes.repaired += records.repaired
    strays = [kind for kind, _ in records.rows if kind not in keys.values()]
    notes.dropped += [
        *records.dropped,
        *(f"a record of kind {kind!r}, which was not asked for" for kind in strays),
    ]
    return {key: [row for of, row in records.rows if of == kind] for key, kind in keys.items()}, records.cut


def _compact(value: Any) -> str:
    """Return short JSON with no control token of a model's in it, such as a document may have brought in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<|", "<\\u007c")


# The paper's format of records (GraphRAG appendix E.1): `("entity"<|>"NAME"<|>"TYPE"<|>"DESCRIPTION")`, with `##`
# between. `<|COMPLETE|>` stands after the last; without it a reply was cut off. Models number their records, forget the
# `##`, put headings between, leave out a quote or part of a `<|>`. A record is found by how it opens, so that a broken
# one never takes its neighbours along.

END = "<|COMPLETE|>"
TUPLE_KEYS: Mapping[str, Sequence[str]] = {
    "entity": ("name", "type", "description"),
    "relationship": ("source", "target", "description", "strength"),
    "claim": ("subject", "object", "type", "status", "start_date", "end_date", "description", "source_text"),
}
_ALSO = {"relation": "relationship"}

_OPENING = re.compile(r"""\(\s*(?:"(\w+)"|“(\w+)”|'(\w+)'|(\w+))\s*(?:<\|>|</?\|>|(?<=["”'])\|>)""")
_PART = re.compile(r"""\s*<\|>\s*|(?<=["”'])\s*(?:</)?\|>\s*""")
_NOISE = r"(?>\*\*[^*\n]+\*\*|[\s#*`>-]+|\d+\.|<\|complete\|>)*"
_CLOSING = re.compile(rf"\){_NOISE}\Z", re.IGNORECASE)
_EARLY_CLOSING = re.compile(r"""(?<=["”\d])\s*\)\s*(?:##|\n)""")
_END = re.compile(r"<\|\s*complete\s*\|>", re.IGNORECASE)
_END_OF_ALL = re.compile(r"<\|\s*complete\s*\|>[\s`]*\Z", re.IGNORECASE)
_ESCAPE = re.compile(r'\\u([0-9a-fA-F]{4})|\\(")')
_MARKS = re.compile(r"<\||\|>")
_BAR = "\\u007c"


@dataclass
class Records:
    """The records of a reply, by their kinds; `cut` where the end mark is missing."""

    rows: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])
    dropped: list[str] = field(default_factory=list[str])
    repaired: list[str] = field(default_factory=list[str])
    cut: bool = False


def read_tuples(text: str) -> Records:
    """Return every record of a reply that can be read without guessing, and what is wrong with the others."""
    records = Records()
    openings = list(_OPENING.finditer(text))
    starts = [opening.start() for opening in openings] + [len(text)]
    rest = text[: starts[0]]
    _strays(rest, records)
    for n, opening in enumerate(openings, 1):
        rest = _record(text[starts[n - 1] : starts[n]], opening, f"record {n}", records)
        _strays(rest, records)
    records.cut = not (_END.search(rest) or _END_OF_ALL.search(text))
    return records


def _record(text: str, opening: re.Match[str], which: str, records: Records) -> str:
    """Read the record that a text opens with, and return what follows it."""
    kind = opening[opening.lastindex or 0].lower()
    if kind in _ALSO:
        records.repaired.append(f"{which}: {kind!r} was read as {_ALSO[kind]!r}")
        kind = _ALSO[kind]
    keys = TUPLE_KEYS.get(kind, ())
    closings = [found for closing in (_CLOSING, _EARLY_CLOSING) if (found := closing.search(text))]
    if not closings:
        records.dropped.append(f"{which}: it does not end")
        return ""
    bodies = [text[opening.end() - opening.start() : closing.start()] for closing in closings]
    # What follows a record may have a bracket too: of two endings, the one with the right number of fields.
    best = next((n for n, body in enumerate(bodies) if len(_PART.split(body)) == len(keys)), 0)
    parts = [_unquoted(part, which, records) for part in _PART.split(bodies[best])]
    if not keys:
        records.dropped.append(f"{which}: there are no records of kind {kind!r}")
    elif len(parts) != len(keys):
        records.dropped.append(f"{which}: {len(parts)} fields where a record of kind {kind!r} has {len(keys)}")
    else:
        if len(_MARKS.findall(bodies[best])) != bodies[best].count("<|>"):
            records.repaired.append(f"{which}: a damaged <|>")
        records.rows.append((kind, dict(zip(keys, parts, strict=True))))
    return text[text.index(")", closings[best].start()) + 1 :]


def _strays(text: str, records: Records) -> None:
    """Report what looks like a record but does not open like one."""
    for line in re.split(r"##|\n", _END.sub("", text)):
        if _MARKS.search(line) or re.match(r"""\s*\(\s*["“]""", line):
            records.dropped.append(f"{line.strip()[:40]!r}: it does not open as a record does")


def _unquoted(part: str, which: str, records: Records) -> str:
    part = part.strip()
    if len(part) > 1 and part[0] == part[-1] == "'":
        part = f'"{part[1:-1]}"'
    for opening, closing in ('""', "“”"):
        if part.startswith(opening) or (opening == '"' and part.endswith(closing)):
            if not (len(part) > 1 and part.startswith(opening) and part.endswith(closing)):
                records.repaired.append(f"{which}: a quote was missing")
            part = part.removeprefix(opening).removesuffix(closing)
            break
    return _ESCAPE.sub(lambda m: m[2] or chr(int(m[1], 16)), part)


def write_tuples(records: Iterator[tuple[str, Sequence[str | float]]]) -> str:
    """Return records in the format; what a text may not contain in it is written as `\\u0022`."""
    lines = ["<|>".join((f'("{kind}"', *map(_tuple_field, values))) + ")" for kind, values in records]
    return "\n##\n".join(lines) + f"\n{END}"


def _tuple_field(value: str | float) -> str:
    if isinstance(value, float | int):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    safe = value.replace("\\", "\\u005c").replace('"', "\\u0022").replace("##", "#\\u0023")
    return f'"{safe.replace("|", _BAR)}"'
