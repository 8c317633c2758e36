"""The report as one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from conspectus.evaluation.jsonl_table import Question
from conspectus.evaluation.pages import filled
from conspectus.evaluation.report.parts import Block, Cell, Folded, Heading, Missing, Picture, Section, Table
from conspectus.text.language import language_of


def page(title: str, sections: Sequence[Section], data: Any, questions: Sequence[Question]) -> str:
    """Return the page; `data` is what it looks up when somebody opens a question or a cell."""
    language = language_of(one.text for one in questions)
    links = [(section.id, section.title) for section in sections]
    if questions:
        links.append(("questions", f"Questions and answers ({len(questions):,})"))
    listed = "".join(f'<li><a href="#{id}">{escape(name)}</a></li>' for id, name in links)
    body = f"<nav><ul>{listed}</ul></nav>\n<main>\n<h1>{escape(title)}</h1>\n" + "\n".join(map(_section, sections))
    return filled("conspectus.evaluation.report", "report", title, data, body, language)


def _section(section: Section) -> str:
    return f'<section id="{section.id}"><h2>{escape(section.title)}</h2>\n{"".join(_blocks(section.blocks))}</section>'


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield _table(block)
            case Picture(svg, _, title):
                yield f'<figure role="img" aria-label="{escape(title)}">{svg}</figure>\n'
            case Missing(what, command):
                told = f" <code>conspectus {escape(command)}</code>" if command else ""
                yield f'<p class="missing">{escape(what)}{told}</p>\n'
            case Folded(title, paragraphs):
                said = "".join(
                    f'<dt>{escape(about)}</dt><dd lang="{language_of([text])}">{escape(text)}</dd>'
                    for about, text in paragraphs
                )
                yield f"<details><summary>{escape(title)}</summary><dl>{said}</dl></details>\n"
            case Heading(text):
                yield f"<h3>{escape(text)}</h3>\n"
            case str():
                yield f"<p>{escape(block)}</p>\n"


def _table(table: Table) -> str:
    head = "".join(f"<th{_class(place, table)}>{escape(name)}</th>" for place, name in enumerate(table.head))
    rows = "".join(f"<tr>{''.join(_cells(row, table))}</tr>\n" for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n'


def _cells(row: Sequence[str | Cell], table: Table) -> Iterator[str]:
    for place, cell in enumerate(row):
        if isinstance(cell, str):
            yield f"<td{_class(place, table)}>{escape(cell)}</td>"
            continue
        text = f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text)
        to = "/".join(quote(part, safe="") for part in cell.to)
        inside = f'<a href="#{to}">{text}</a>' if to else text
        heat = f' style="background:{cell.colour}"' if cell.colour else ""
        yield f"<td{_class(place, table, heated=bool(cell.colour))}{heat}>{inside}</td>"


def _class(place: int, table: Table, *, heated: bool = False) -> str:
    names = ["text"] if place < table.texts else []
    names += ["heat"] if heated else []
    return f' class="{" ".join(names)}"' if names else ""
