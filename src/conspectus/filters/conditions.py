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
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import translate
from typing import Any

from conspectus.errors import NotFound, UsageError
from conspectus.readers import iso_date
from conspectus.rows import Document, snippet

OWN_FIELDS = ("path", "folder", "title", "date")
"""The fields that every document has."""
SHOWN, LONGEST = 5, 40
"""Values of a field that a message names, and characters of one: they fit on two lines of a terminal."""
FORM = "FIELD=VALUE, with =, !=, <, <=, >, >=, ~ or !~ between, as date>=2023-01-01"

_DAY = re.compile(r"(?<!\d)[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_CONDITION = re.compile(r"\s*([^=!<>~]+?)\s*(!=|!~|<=|>=|=|<|>|~)\s*(.+?)\s*", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Test = Callable[[Document], bool]


@dataclass(frozen=True)
class Condition:
    """One condition as it was read."""

    field: str
    comparison: str
    value: str

    @classmethod
    def read(cls, text: str) -> Condition:
        """Read one condition; raise UsageError where it is none."""
        match = _CONDITION.fullmatch(text)
        if match is None or not match[1].strip():
            raise UsageError(f"a condition (where=...) is {FORM}; and not {text!r}")
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
    metadata = (name for document in every for name in document.metadata)
    fields = {name.casefold(): name for name in (*reversed(list(dict.fromkeys(metadata))), *OWN_FIELDS)}
    conditions = [replace(condition, field=_field_name(condition, fields)) for condition in where]
    tests = [_test(condition) for condition in conditions]
    masks = [[all(test(document) for test in tests) for document in documents] for documents in corpora]
    if not any(map(any, masks)):
        raise NotFound(_no_match(every, list(zip(tests, conditions, where, strict=True))))
    return masks


def _field_name(condition: Condition, fields: dict[str, str]) -> str:
    key = condition.field.casefold()
    if key in fields:
        return fields[key]
    near = difflib.get_close_matches(key, fields, n=1)
    hint = f"did you mean {fields[near[0]]}? There are" if near else "there are"
    names = dict.fromkeys((*OWN_FIELDS, *reversed(fields.values())))
    raise UsageError(f"no document has a field {condition.field!r}; {hint} {', '.join(names)}")


# What documents have


def _value(document: Document, field: str) -> str:
    match field:
        case "path":
            return document.path
        case "folder":
            return "/".join(_folder(document))
        case "title":
            return document.title
        case "date":
            of_name = _DAY.search(_file(document).replace("\\", "/").rpartition("/")[2])
            return document.date or (of_name[0] if of_name else "")
        case _:
            return document.metadata.get(field, "")


def _parts(path: str) -> list[str]:
    return [part for part in path.casefold().replace("\\", "/").split("/") if part not in ("", ".")]


def _file(document: Document) -> str:
    """Return the path of a document's file: a record of it is `path#n`."""
    return re.sub(r"#\d+$", "", document.path)


def _folder(document: Document) -> list[str]:
    return _parts(_file(document))[:-1]


# What conditions ask


def _test(condition: Condition) -> Test:
    field, comparison, value = condition.field, condition.comparison, condition.value
    if comparison.startswith("!"):
        opposite = _test(replace(condition, comparison=comparison[1:]))
        return lambda document: not opposite(document)
    if comparison == "~":
        return _like(field, value)
    if comparison == "=" and field == "folder":
        return _within(value)
    if comparison == "=" and field == "path":
        wanted = _parts(value)
        return lambda d: any(_parts(path)[-len(wanted) :] == wanted for path in (d.path, _file(d)))
    if field == "date" and not iso_date(value):
        form = "dates are written as 2023-01-31, 2023-01 or 2023"
        raise UsageError(f"{form}, and not {value!r} (in {str(condition)!r})")
    return lambda document: _compares(_value(document, field), comparison, value)


def _like(field: str, value: str) -> Test:
    wanted = value.casefold()
    if not any(sign in value for sign in "*?["):
        return lambda document: wanted in _value(document, field).casefold()
    pattern = re.compile(translate(wanted))

    def like(document: Document) -> bool:
        values = {_value(document, field)}
        if field == "path":
            values |= {_file(document)}
            values |= {path.rpartition("/")[2] for path in values}
        return any(pattern.match(own.casefold()) for own in values)

    return like


def _within(value: str) -> Test:
    wanted = _parts(value)

    def within(document: Document) -> bool:
        parts = _folder(document)
        starts = range(1 if value.startswith("/") else len(parts) - len(wanted) + 1)
        return any(parts[at : at + len(wanted)] == wanted for at in starts)

    return within


def _compares(own: str, comparison: str, value: str) -> bool:
    """Compare as numbers, as dates, or as texts, by what the value is; what is none of the kind does not compare."""
    compare = _COMPARE[comparison]
    number, wanted_number = _number(own), _number(value)
    if number is not None and wanted_number is not None:
        return compare(number, wanted_number)
    date, wanted_date = iso_date(own), iso_date(value)
    if wanted_date and (date or comparison != "="):
        if date is None:
            return False
        # a month and a day compare by their months, but a month is not a day of it
        digits = len(wanted_date) if comparison == "=" else min(len(date), len(wanted_date))
        return compare(date[:digits], wanted_date[:digits])
    if not own or (wanted_number is not None and comparison != "="):
        return False
    return compare(*(" ".join(text.casefold().split()) for text in (own, value)))


def _number(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None


# What there is instead


def _no_match(documents: Sequence[Document], tests: Sequence[tuple[Test, Condition, Condition]]) -> str:
    if not documents:
        return "there is no document to choose from: the index holds none"
    counts = [(sum(map(test, documents)), condition, given) for test, condition, given in tests]
    for count, condition, given in counts:
        if not count:
            return f"no document meets {given}; {_there_is(documents, condition, given)}"
    alone = ", ".join(f"{count} meet {given}" for count, _, given in counts)
    return f"no document meets all of these at once: {alone}"


def _there_is(documents: Sequence[Document], condition: Condition, given: Condition) -> str:
    field = condition.field
    values = Counter(value for document in documents if (value := _value(document, field)))
    if not values:
        return f"none of them states a {field}"
    if field == "date":
        return f"dates go from {min(values)} to {max(values)}"
    if field in ("path", "folder"):
        values = Counter(value.rpartition("/")[2] for value in values.elements())
    wanted, folded = condition.value.casefold(), {value.casefold(): value for value in values}
    if near := difflib.get_close_matches(wanted, folded, n=1):
        return f"did you mean {folded[near[0]]}?"
    if condition.comparison == "=" and any(wanted in value for value in folded):
        return f"did you mean {given.field}~{given.value}, which takes a part of it?"
    shown = [snippet(value, LONGEST) for value, _ in values.most_common(SHOWN)]
    more = f", and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    return f"there are {', '.join(shown)}{more}"
