"""How answers, reports, entities and indexes show themselves: `print` in a terminal, the last line of a cell."""

from __future__ import annotations

import os
import re
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from conspectus.messages import wording

if TYPE_CHECKING:
    from conspectus.explore import EntityView
    from conspectus.index import Index
    from conspectus.rows import Answer, Citation, Source

SNIPPET = 200
"""Characters of a source that are shown."""
PLACES = 3
"""Sources that are shown for one citation."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKDOWN = re.compile(r"([\\`*_\[\]|#~$])")


def snippet(text: str, most: int = 60) -> str:
    """Return the start of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def located(document: str, place: str = "") -> str:
    """Return the path of a document with a place in it; an absolute path as it is seen from the working directory."""
    if os.path.isabs(document):
        relative = os.path.relpath(document)
        document = document if relative.startswith("..") else relative
    return f"{document}, {place}" if place else document


def _start(text: str) -> str:
    """Return the start of a text on one line, without control characters."""
    return snippet(_CONTROL.sub(" ", text), SNIPPET)


def plain(text: str) -> str:
    """Return a text as it may go to a terminal: what a document holds must not command it."""
    return _CONTROL.sub("", text)


def _escaped(text: str) -> str:
    """Return a text of a document as Markdown that shows it as it is."""
    return _MARKDOWN.sub(r"\\\1", escape(_start(text), quote=False))


def answer_text(answer: Answer) -> str:
    """Return an answer with its sources and notices as plain text."""
    words = wording(answer.language)
    lines = [plain(answer.text)]
    if answer.citations:
        lines += ["", words.sources, ""]
    for head, title, sources in _cited(answer):
        if title:
            lines.append(f"{head} {plain(title)}")
        for n, source in enumerate(sources):
            before = head if not title and not n else "   "
            where = words.where(located(source.document), source.place, source.start, source.end)
            lines += [f"{before} {plain(where)}", f"    “{_start(source.text)}”"]
    lines += ["", *map(plain, answer.notices)] if answer.notices else []
    return "\n".join(lines)


def answer_markdown(answer: Answer) -> str:
    """Return an answer with its sources and notices as Markdown."""
    words = wording(answer.language)
    lines = [plain(answer.text)]
    if answer.citations:
        lines += ["", f"**{words.sources}**", ""]
    for head, title, sources in _cited(answer):
        places = "; ".join(
            f"{_escaped(words.where(located(s.document), s.place, s.start, s.end))}: “{_escaped(s.text)}”"
            for s in sources
        )
        lines.append(f"- {_escaped(head)} " + (f"*{_escaped(title)}* — {places}" if title else places))
    lines += ["", *(f"> {_escaped(notice)}\n" for notice in answer.notices)] if answer.notices else []
    return "\n".join(lines)


def _cited(answer: Answer) -> list[tuple[str, str, tuple[Source, ...]]]:
    """Return marks, title and sources of what is cited; neighbours that lead to the same sources together."""
    cited: list[tuple[str, str, tuple[Source, ...]]] = []
    for sources, group in groupby(answer.citations, key=lambda c: c.sources):
        same: list[Citation] = list(group)
        title = "; ".join(dict.fromkeys(c.title for c in same)) if len(sources) != 1 else ""
        cited.append(("".join(f"[{c.marker}]" for c in same), title, sources[:PLACES]))
    return cited


def entity_text(view: EntityView) -> str:
    """Return an entity with its strongest relationships as plain text."""
    head = f"{view.name} ({view.type}): {view.description}" if view.description else f"{view.name} ({view.type})"
    lines = [head, *(f"- {edge.target}: {_start(edge.description)}" for edge in view.relationships)]
    lines += [f"{view.degree} relationships; {view.frequency} chunks in {len(view.documents)} documents"]
    return plain("\n".join(lines))


def entity_markdown(view: EntityView) -> str:
    """Return an entity with its strongest relationships, its communities and its documents as Markdown."""
    lines = [f"### {_escaped(view.name)} ({_escaped(view.type)})", "", _escaped(view.description), ""]
    lines += [f"- **{_escaped(edge.target)}**: {_escaped(edge.description)}" for edge in view.relationships]
    titles = [_escaped(c.title) for c in view.communities if c.title]
    lines += ["", "Communities: " + ", ".join(titles)] if titles else []
    lines += ["", "Documents: " + ", ".join(_escaped(m.document) for m in view.documents[:10])]
    return "\n".join(lines)


def index_markdown(index: Index, counts: list[tuple[str, int]]) -> str:
    """Return what an index holds as a table in Markdown."""
    lines = [f"**Index** `{index.folder or 'not stored'}` {index.snapshot}", "", "| table | rows |", "| --- | ---: |"]
    return "\n".join([*lines, *(f"| {name} | {count:,} |" for name, count in counts)])
