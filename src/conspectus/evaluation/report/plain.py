"""The report as Markdown, without the answers, which are in the page and in answers.jsonl."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conspectus.evaluation.jsonl_table import Question
from conspectus.evaluation.report.parts import Block, Cell, Folded, Heading, Missing, Picture, Section, Table, text_of
from conspectus.readers import GENERATED_MARKDOWN

_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def markdown(title: str, sections: Sequence[Section], questions: Sequence[Question]) -> str:
    """Return the report's figures, and the questions that they are of."""
    lines = [GENERATED_MARKDOWN, "", f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", "", *_blocks(section.blocks)]
    lines += ["## Questions", ""]
    lines += [f"{n}. {_line(one.text)}" for n, one in enumerate(questions, 1)]
    return "\n".join(lines) + "\n"


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield from _table(block)
            case Picture(_, file, name):
                yield f"![{_line(name)}]({file})"
            case Missing(what, command):
                yield f"*{_line(what)}*" + (f" `conspectus {command}`" if command else "")
            case Folded(title, paragraphs):
                yield f"{_line(title)}:\n"
                yield from (f"- {_line(about)}: {_line(text)}" for about, text in paragraphs)
            case Heading(text):
                yield f"### {_line(text)}"
            case str():
                yield _line(block)
        yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, table.head))} |"
    yield f"|{'|'.join('---' if place < table.texts else '---:' for place in range(len(table.head)))}|"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    if table.caption:
        yield ""
        yield _line(table.caption)


def _cell(cell: str | Cell) -> str:
    text = _line(text_of(cell)).replace("|", "\\|")
    return f"**{text}**" if isinstance(cell, Cell) and cell.bold and text else text


def _line(text: str) -> str:
    """Return a text on one line, in which nothing is a tag."""
    return _TAG.sub(r"\\<", " ".join(text.split()))
