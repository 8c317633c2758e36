"""Conditions on documents: `folder=reports/2024`, `date>=2023-01-01`, `author!=Quill`, `path~*.pdf`.

A condition is a field, a comparison and a value; case does not matter. The fields are `path`, `folder`, `title`,
`date` (where a document states none, that of its file's name, as `2021-09-09-minutes.txt`), and whatever the documents'
metadata hold. `=` on a folder holds for what lies anywhere in it; folders and
paths may be named by their last parts. `~` holds for what matches a pattern with `*` and `?`, or without these for
what contains the value. Numbers compare as numbers, dates as dates: `date<=2023` holds for the whole of that year.
A document that does not have the field meets `!=` and `!~` alone.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate

from conspectus.errors import NotFound, UsageError
from conspectus.readers.base import iso_date
from conspectus.rows import Document

OWN = ("path", "folder", "title", "date")
"""The fields that every document has."""
SHOWN, LONGEST = 5, 40
"""Values of a field that a message names, and characters of one."""
FORM = "FIELD=VALUE, with =, !=, <, <=, >, >=, ~ or !~ between, as date>=2023-01-01"

_DAY = re.compile(r"(?<!\d)[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_SAID = re.compile(r"\s*([^=!<>~]*?)\s*(!=|!~|<=|>=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_ORDER: dict[str, Callable[[int], bool]] = {
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


@dataclass(frozen=True)
class Condition:
    """One condition as it was read."""

    field: str
    comparison: str
    value: str

    @classmethod
    def read(cls, text: str) -> Condition:
        """Read one condition; raise UsageError where it is none."""
        match = _SAID.fullmatch(text)
        if match is None or not match[1] or not match[3]:
            raise UsageError(f"--where takes {FORM}; and not {text!r}")
        value = match[3]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        return cls(match[1], match[2], value)

    def __str__(self) -> str:
        return f"{self.field}{self.comparison}{self.value}"


def read(where: str | Iterable[str]) -> tuple[Condition, ...]:
    """Read conditions, given as one text or several; all have to be met."""
    return tuple(map(Condition.read, (where,) if isinstance(where, str) else where))


def matching(corpora: Sequence[Sequence[Document]], where: Sequence[Condition]) -> list[list[bool]]:
    """Tell which documents of each corpus meet all conditions.

    Raises UsageError for a field that no document has, and NotFound where no document meets them, with what there is.
    """
    every = [document for documents in corpora for document in documents]
    fields = _fields(every)
    tests = [(_test(condition, _field_name(condition, fields)), condition) for condition in where]
    met = [[all(test(d) for test, _ in tests) for d in documents] for documents in corpora]
    if not any(map(any, met)):
        raise NotFound(_none_meets(every, tests, fields))
    return met


def _fields(documents: Iterable[Document]) -> dict[str, str]:
    """Return the names of all fields, by their lower-case forms."""
    field_names = {name: name for name in OWN}
    for document in documents:
        for name in document.metadata:
            field_names.setdefault(name.casefold(), name)
    return field_names


def _field_name(condition: Condition, fields: dict[str, str]) -> str:
    key = condition.field.casefold()
    if key in fields:
        return fields[key]
    near = difflib.get_close_matches(key, fields, n=1)
    hint = f"did you mean {fields[near[0]]}? There are" if near else "there are"
    raise UsageError(f"no document has a field {condition.field!r}; {hint} {', '.join(fields.values())}")


# What documents have


def _value(document: Document, field: str) -> str | None:
    match field:
        case "path":
            return document.path
        case "folder":
            return "/".join(_folder(document))
        case "title":
            return document.title
        case "date":
            return document.date or _dated(document)
        case _:
            return document.metadata.get(field)


def _parts(path: str) -> list[str]:
    return [part for part in path.casefold().replace("\\", "/").split("/") if part not in ("", ".")]


def _file(document: Document) -> str:
    """Return the path of a document's file: a record of it is `path#n`."""
    return re.sub(r"#\d+$", "", document.path)


def _dated(document: Document) -> str | None:
    """Return the date that the name of a file says, as `2021-09-09-minutes.txt`, for a document that states none."""
    match = _DAY.search(_parts(_file(document))[-1]) if document.path else None
    return match[0] if match else None


def _folder(document: Document) -> list[str]:
    return _parts(_file(document))[:-1]


# What conditions ask


def _test(condition: Condition, field: str) -> Callable[[Document], bool]:
    comparison, value = condition.comparison, condition.value
    if comparison.startswith("!"):
        opposite = _test(Condition(condition.field, comparison[1:], value), field)
        return lambda document: not opposite(document)
    if comparison == "~":
        return _like(field, value)
    if comparison == "=" and field in ("path", "folder"):
        return _within(value) if field == "folder" else _ending(value)
    if field == "date" and not iso_date(value):
        raise UsageError(
            f"dates are written as 2023-01-31, 2023-01 or 2023, and not {value!r} (in --where {condition})"
        )

    def compared(document: Document) -> bool:
        own = _value(document, field)
        if not own:
            return False
        return _same(own, value) if comparison == "=" else _ordered(own, value, _ORDER[comparison])

    return compared


def _like(field: str, value: str) -> Callable[[Document], bool]:
    wanted = value.casefold()
    pattern = re.compile(translate(wanted)) if any(sign in value for sign in "*?[") else None

    def like(document: Document) -> bool:
        own = (_value(document, field) or "").casefold()
        if pattern is None:
            return wanted in own
        if field != "path":
            return pattern.match(own) is not None
        forms = {own, _file(document).casefold()}
        return any(pattern.match(form) for path in forms for form in (path, path.rpartition("/")[2]))

    return like


def _within(value: str) -> Callable[[Document], bool]:
    wanted = _parts(value)
    rooted = value.startswith("/")

    def within(document: Document) -> bool:
        parts = _folder(document)
        starts = range(1 if rooted else len(parts) - len(wanted) + 1)
        return any(parts[at : at + len(wanted)] == wanted for at in starts)

    return within


def _ending(value: str) -> Callable[[Document], bool]:
    wanted = _parts(value)
    return lambda document: any(_parts(path)[-len(wanted) :] == wanted for path in (document.path, _file(document)))


def _same(own: str, value: str) -> bool:
    numbers = _number(own), _number(value)
    if None not in numbers:
        return numbers[0] == numbers[1]
    day, wanted = iso_date(own), iso_date(value)
    if day and wanted:
        return day.startswith(wanted)
    return own.casefold().split() == value.casefold().split()


def _ordered(own: str, value: str, holds: Callable[[int], bool]) -> bool:
    """Compare as numbers, as dates, or as texts, by what the value is; what is none of the kind does not hold."""
    number, wanted = _number(own), _number(value)
    if number is not None and wanted is not None:
        return holds((number > wanted) - (number < wanted))
    if date := iso_date(value):
        day = iso_date(own)
        if day is None:
            return False
        digits = min(len(day), len(date))  # a month compares with a day by their months
        return holds((day[:digits] > date[:digits]) - (day[:digits] < date[:digits]))
    if wanted is not None:
        return False
    first, second = own.casefold(), value.casefold()
    return holds((first > second) - (first < second))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# What there is instead


def _none_meets(
    documents: Sequence[Document],
    tests: Sequence[tuple[Callable[[Document], bool], Condition]],
    fields: dict[str, str],
) -> str:
    if not documents:
        return "there is no document to choose from: the index holds none"
    for test, condition in tests:
        if not any(map(test, documents)):
            return (
                f"no document meets {condition}; {_there_is(documents, fields[condition.field.casefold()], condition)}"
            )
    alone = ", ".join(f"{sum(map(test, documents))} meet {condition}" for test, condition in tests)
    return f"no document meets all of these at once: {alone}"


def _there_is(documents: Sequence[Document], field: str, condition: Condition) -> str:
    values = Counter(value for d in documents if (value := _value(d, field)))
    if not values:
        return f"none of them states a {field}"
    if field == "date":
        return f"dates go from {min(values)} to {max(values)}"
    if field in ("path", "folder"):
        values = Counter(value.rpartition("/")[2] for value in values.elements())
    near = difflib.get_close_matches(condition.value.casefold(), {v.casefold(): v for v in values}, n=1)
    if near:
        return f"did you mean {next(value for value in values if value.casefold() == near[0])}?"
    value = condition.value.casefold()
    if condition.comparison == "=" and any(value in v.casefold() for v in values):
        return f"did you mean {condition.field}~{condition.value}, which takes a part of it?"
    common = [value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…" for value, _ in values.most_common(SHOWN)]
    more = f", and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    return f"there are {', '.join(common)}{more}"
