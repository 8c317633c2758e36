"""Conditions on documents: `folder=reports/2024`, `date>=2023-01-01`, `author!=Quill`, `path~*.pdf`.

A condition is a field, a comparison and a value; case does not matter. The fields are `path`, `folder`, `title`,
`date` (that of the document or, if it states none, of its file name, as in `2021-09-09-minutes.txt`), and the fields of
the documents' metadata. `=` on a folder also matches files in subfolders; folders and paths may be given by their last
parts. `~` matches a pattern with `*` and `?` or, without these, a text that contains the value. Numbers are compared as
numbers, dates as dates: `date<=2023` includes the whole of that year. A document without the field meets only `!=` and
`!~`.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from conspectus.errors import NotFound, UsageError
from conspectus.readers import iso_date
from conspectus.rows import Document, snippet

OWN_FIELDS = ("path", "folder", "title", "date")
"""The fields that every document has."""
SHOWN, LONGEST = 5, 40
"""Maximum number of values of a field in a message, and characters of each, to fit on two lines of a terminal."""

_CONDITION = re.compile(r"\s*([^=!<>~]*[^=!<>~\s])\s*(!=|!~|<=|>=|=|<|>|~)\s*(.+?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """One parsed condition."""

    field: str
    comparison: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.comparison}{self.value}"

    def matches(self, document: Document) -> bool:
        """Return whether a document meets the condition."""
        comparison, own = self.comparison.removeprefix("!"), _value(document, self.field)
        if comparison == "~":
            values = [document.path, document.file] if self.field == "path" else [own]
            met = any(_like(value.casefold(), self.value.casefold()) for value in values)
        elif comparison == "=" and self.field == "path":
            met = any(
                _slashes(path).endswith(_slashes(self.value)) for path in (document.path, document.file)
            )
        elif comparison == "=" and self.field == "folder":
            folder, wanted = _slashes(own), _slashes(self.value)
            met = folder.startswith(wanted) if self.value.startswith("/") else wanted in folder
        else:
            met = _compares(own, comparison, self.value)
        return met != self.comparison.startswith("!")


def read(where: str | Iterable[str]) -> tuple[Condition, ...]:
    """Parse conditions, given as one text or several. Raises UsageError for a text that is not a condition."""
    conditions: list[Condition] = []
    for text in (where,) if isinstance(where, str) else where:
        match = _CONDITION.fullmatch(text)
        if match is None:
            form = "FIELD=VALUE, with =, !=, <, <=, >, >=, ~ or !~ between, as date>=2023-01-01"
            raise UsageError(f"a condition (where=...) is {form}, not {text!r}")
        conditions.append(Condition(*match.groups()))
    return tuple(conditions)


def matching(corpora: Sequence[Sequence[Document]], where: Sequence[Condition]) -> list[list[bool]]:
    """Return, for each corpus, whether each of its documents meets all conditions.

    Raises UsageError for a field that no document has, and NotFound, with existing values, if no document meets them.
    """
    documents = [document for corpus in corpora for document in corpus]
    metadata = [name for document in documents for name in document.metadata]
    fields = {name.casefold(): name for name in (*OWN_FIELDS, *metadata)} | {
        name: name for name in OWN_FIELDS
    }
    conditions: list[Condition] = []
    for condition in where:
        if condition.field.casefold() not in fields:
            names = ", ".join(fields.values())
            raise UsageError(f"no document has a field {condition.field!r}; there are {names}")
        condition = replace(condition, field=fields[condition.field.casefold()])
        is_date = condition.field == "date" and "~" not in condition.comparison
        if is_date and not iso_date(condition.value):
            form = "dates are written as 2023-01-31, 2023-01 or 2023"
            raise UsageError(f"{form}, and not {condition.value!r} (in {str(condition)!r})")
        conditions.append(condition)
    masks = [[all(c.matches(document) for c in conditions) for document in corpus] for corpus in corpora]
    if not any(map(any, masks)):
        raise NotFound(_no_match(documents, conditions))
    return masks


# Fields and comparisons


def _value(document: Document, field: str) -> str:
    match field:
        case "path":
            return document.path
        case "folder":
            return document.file.replace("\\", "/").rpartition("/")[0]
        case "title":
            return document.title
        case "date":
            return document.day
        case _:
            return document.metadata.get(field, "")


def _slashes(path: str) -> str:
    """Return a path with one slash before and after each of its parts."""
    parts = [part for part in path.casefold().replace("\\", "/").split("/") if part not in ("", ".")]
    return f"/{'/'.join(parts)}/"


def _like(own: str, wanted: str) -> bool:
    if any(sign in wanted for sign in "*?["):
        return fnmatchcase(own, wanted) or fnmatchcase(own.rpartition("/")[2], wanted)
    return wanted in own


def _compares(own: str, comparison: str, value: str) -> bool:
    """Compare as numbers, dates or texts, depending on the value; return False if `own` is not of that kind."""
    compare = _COMPARE[comparison]
    if _NUMBER.fullmatch(own) and _NUMBER.fullmatch(value):
        return compare(float(own), float(value))
    date, wanted = iso_date(own), iso_date(value)
    if wanted and (date or comparison != "="):
        if not date:
            return False
        # a month and a day are compared by month, but for "=" a month does not equal a day in it
        digits = len(wanted) if comparison == "=" else min(len(date), len(wanted))
        return compare(date[:digits], wanted[:digits])
    if not own or (_NUMBER.fullmatch(value) and comparison != "="):
        return False
    return compare(*(" ".join(text.casefold().split()) for text in (own, value)))


def _no_match(documents: Sequence[Document], conditions: Sequence[Condition]) -> str:
    """Return a message with the condition that no document meets, and the nearest existing values."""
    if not documents:
        return "there is no document to choose from: the index has none"
    counts = [sum(map(condition.matches, documents)) for condition in conditions]
    if all(counts):
        met = ", ".join(
            f"{count} meet {condition}" for count, condition in zip(counts, conditions, strict=True)
        )
        return f"no document meets all of these at once: {met}"
    condition = conditions[counts.index(0)]
    values = sorted({value for document in documents if (value := _value(document, condition.field))})
    if not values:
        return f"no document meets {condition}; none of them states a {condition.field}"
    if condition.field == "date":
        return f"no document meets {condition}; dates go from {values[0]} to {values[-1]}"
    near = difflib.get_close_matches(condition.value, values, n=SHOWN) or values[:SHOWN]
    shown = ", ".join(snippet(value, LONGEST) for value in near)
    more = f", and {len(values) - len(near):,} more" if len(values) > len(near) else ""
    return f"no document meets {condition}; there are {shown}{more}"
