"""How things are printed: results to standard output, notes to standard error, Markdown and colour on terminals only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, cast

import typer

from conspectus.rows import Citation, Source

SNIPPET = 160
"""Characters of a place that are shown."""
PLACES = 2
"""Places that are shown for one citation."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def out(text: str = "") -> None:
    """Print a result. Control characters of documents do not reach a terminal."""
    typer.echo(_CONTROL.sub("", text) if sys.stdout.isatty() else text)


def note(text: str) -> None:
    """Print what is not part of the result."""
    typer.echo(_CONTROL.sub("", text), err=True)


def as_json(value: Any, *, lines: bool = False) -> None:
    """Print a value as JSON, on one line where many follow each other."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    plain = asdict(cast("Any", value)) if is_dataclass(value) else value
    typer.echo(json.dumps(plain, ensure_ascii=not utf8, indent=None if lines else 2, default=asdict))


def markdown(text: str) -> None:
    """Print Markdown: set on a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        out(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(_CONTROL.sub("", text)), width=min(console.width, 100))


def bold(text: str) -> str:
    """Return a text that is bold on a terminal."""
    return typer.style(text, bold=True) if sys.stdout.isatty() else text


def counted(n: int, noun: str) -> str:
    """Return `1 document`, `1,669 documents`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def snippet(text: str, most: int = SNIPPET) -> str:
    """Return the start of a text on one line."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def place(source: Source, indent: str = "    ") -> str:
    """Return where something is said, and what, on two lines."""
    return f"{source.document}, characters {source.start}-{source.end}\n{indent}“{snippet(source.text)}”"


def citations(cited: Sequence[Citation]) -> None:
    """Print what the numbers in a text lead to."""
    if not cited:
        return
    out(f"\n{bold('Sources')}\n")
    for citation in cited:
        head = f"[{citation.marker}] "
        if citation.kind != "source":
            out(f"{head}{citation.kind}: {citation.title}")
            head = "    "
        for source in citation.sources[:PLACES]:
            out(head + place(source))
            head = "    "
        if (more := len(citation.sources) - PLACES) > 0:
            out(f"    and {counted(more, 'more place')} (--json lists all)")


def table(rows: Iterable[Sequence[str]]) -> None:
    """Print rows as columns, the first one to the left, the others to the right."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        cells = (cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
        out("  ".join([row[0].ljust(widths[0]), *cells]))


def listed(heading: str, lines: Sequence[str], most: int = 10) -> None:
    """Print notes under a heading, the first of them where there are many."""
    if lines:
        note(heading)
        for line in lines[:most]:
            note(f"  {line}")
        if len(lines) > most:
            note(f"  and {len(lines) - most:,} more (--json lists all)")
