"""What raters are given: one page that works offline, and a table for spreadsheets, of the same blinded pairs."""

from __future__ import annotations

import csv
import io

from conspectus.evaluation.pages import filled
from conspectus.evaluation.people.pairs import Blinded
from conspectus.text.language import language_of

COLUMNS = ("export", "item", "criterion", "rater", "choice", "comment")
"""What is read of a table of ratings; `choice` is 1, 2 or tie."""
TABLE: tuple[str, ...] = (
    "export",
    "item",
    "question",
    "answer_1",
    "answer_2",
    "criterion",
    "description",
    *COLUMNS[3:],
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for a formula."""


def page(made: Blinded, title: str) -> str:
    """Return the page; it keeps choices in the browser and gives them back as a table."""
    data = {
        "export": made.id,
        "criteria": [[one.name, one.description] for one in made.criteria],
        "items": [[one.id, one.question, one.answer_1, one.answer_2] for one in made.shown],
    }
    language = language_of(one.question for one in made.shown)
    return filled("conspectus.evaluation.people", "rate", title, data, language=language)


def table(made: Blinded) -> str:
    """Return a row for each pair and criterion, whose `choice` and `comment` are to be filled in."""
    told = io.StringIO()
    writer = csv.DictWriter(told, TABLE, lineterminator="\n", restval="")
    writer.writeheader()
    for one in made.shown:
        for criterion in made.criteria:
            cells = {"question": one.question, "answer_1": one.answer_1, "answer_2": one.answer_2}
            about = {"criterion": criterion.name, "description": criterion.description}
            row = {"export": made.id, "item": one.id, **cells, **about}
            writer.writerow({name: _harmless(value) for name, value in row.items()})
    return told.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
