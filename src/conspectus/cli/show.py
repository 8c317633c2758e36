"""How things are printed: results to standard output, notes to standard error, colour on terminals only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import typer

from conspectus.cli import terminal
from conspectus.cli.terminal import line, printable
from conspectus.rows import Citation, Failure, Source, Usage

if TYPE_CHECKING:
    from conspectus.index_status import VectorFigures
    from conspectus.indexing.estimate import Estimate, Range

SNIPPET = 160
"""Characters of a place that are shown."""
PLACES = 2
"""Places that are shown for one citation."""
LINES = 10
"""Lines of a list that are shown."""
NARROWEST = 20
"""Columns of a terminal that a text in a table is wrapped to at least."""
_ESCAPED = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON may hold as they are, and terminals obey."""


def out(text: str = "") -> None:
    """Print a result: without control characters of documents, and wrapped to the width of a terminal."""
    typer.echo(printable(text, sys.stdout))


def note(text: str) -> None:
    """Print what is not part of the result, in the same way, and after what was printed before it."""
    sys.stdout.flush()
    typer.echo(printable(text, sys.stderr), err=True)


def as_json(value: Any, *, lines: bool = False) -> None:
    """Print a value as JSON, on one line where many follow each other."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    plain = asdict(cast("Any", value)) if is_dataclass(value) else value
    text = json.dumps(plain, ensure_ascii=not utf8, indent=None if lines else 2, default=asdict)
    typer.echo(_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def markdown(text: str) -> None:
    """Print Markdown: set on a terminal, as it is elsewhere."""
    if width := terminal.columns(sys.stdout):
        typer.echo("\n".join(terminal.markdown(text, sys.stdout, width)))
    else:
        out(text)


@contextmanager
def streaming(streams: bool) -> Generator[terminal.Stream | None]:
    """Give what shows the pieces of an answer as they come, None for nothing."""
    stream = terminal.Stream() if streams else None
    try:
        yield stream
    finally:
        if stream and stream.any:
            stream.finish()


def bold(text: str) -> str:
    """Return a text on one line that `out` and `note` make bold on a terminal."""
    return f"{terminal.BOLD}{line(text)}{terminal.PLAIN}"


def counted(n: int, noun: str) -> str:
    """Return `1 document`, `1,669 documents`."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def size(n: int) -> str:
    """Return a number of bytes as people read it: 38 kB, 5.5 MB."""
    return f"{n / 1e6:,.1f} MB" if n >= 999_500 else f"{-(-n // 1000)} kB"


def plural(noun: str) -> str:
    """Return the plural of one of the nouns that we count."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def snippet(text: str, most: int = SNIPPET) -> str:
    """Return the start of a text on one line."""
    start = line(text)
    return start if len(start) <= most else f"{start[: most - 1].rstrip()}…"


def place(source: Source, indent: str = "    ", language: str = "en", statement: str = "") -> str:
    """Return where something is said, and what, on two lines; of a long source what is nearest to a statement."""
    from conspectus.messages import wording

    where = wording(language).where(source.document, source.place, source.start, source.end)
    return f"{line(where)}\n{indent}“{snippet(nearest(source.text, statement))}”"


def citations(cited: Sequence[Citation], language: str = "en", text: str = "") -> None:
    """Print what the numbers in a text lead to, in its language; neighbours that lead to the same places together."""
    from conspectus.messages import wording

    words, said = wording(language), statements(text)
    if cited:
        out(f"\n{bold(words.sources)}\n")
    for sources, group in groupby(cited, key=lambda c: c.sources):
        same = list(group)
        head = "".join(f"[{c.marker}]" for c in same) + " "
        if len(sources) > 1:  # what is cited is a row with all that it stands on, not one quotation
            out(head + line(words.apart.join(words.label.format(words.kind(c.kind), c.title) for c in same)))
            head = "    "
        shown = 1 if same[0].kind == "report" else PLACES  # `conspectus report` shows all of a report's
        for source in sources[:shown]:
            out(head + place(source, language=language, statement=said.get(same[0].marker, "")))
            head = "    "
        if (more := len(sources) - shown) > 0 and same[0].kind != "report":
            out(f"    {words.more_places.format(more)}")


def table(rows: Iterable[Sequence[str]], say: Callable[[str], None] = out, *, texts: int = 1) -> None:
    """Print rows as columns: the first ones, which hold texts, to the left, the others to the right.

    On a terminal that is too narrow the words of the head stand below each other, and a text in the last column is
    wrapped; where that is not enough, each row is a list of what its columns hold.
    """
    head, *listed = ([_indented(cell) for cell in row] for row in rows)
    most = terminal.columns(sys.stderr if say is note else sys.stdout) or sys.maxsize
    heads = [head]
    if _width(_widths([head, *listed])) > most:
        words = [cell.split() for cell in head]
        deepest = max(map(len, words))
        heads = [[([""] * (deepest - len(cell)) + cell)[i] for cell in words] for i in range(deepest)]
    widths = _widths([*heads, *listed])
    over = _width(widths) - most
    if over > 0 and texts == len(head) and widths[-1] - over >= NARROWEST:
        widths[-1] -= over
        over = 0
    if over > 0:
        for row in listed:
            say(bold("  ".join(filter(None, row[:texts]))))
            for name, cell in zip(head[texts:], row[texts:], strict=True):
                say(f"  {name}: {cell}")
        return
    for row in (*heads, *listed):
        for part in _parts(row, widths[-1]) if texts == len(head) else [row]:
            gaps = [" " * (w - terminal.cells(cell)) for cell, w in zip(part, widths, strict=True)]
            left = [cell + gap for cell, gap in zip(part[:texts], gaps, strict=False)]
            right = [gap + cell for cell, gap in zip(part[texts:], gaps[texts:], strict=True)]
            say("  ".join([*left, *right]).rstrip())


def _indented(cell: str) -> str:
    return cell[: len(cell) - len(cell.lstrip(" "))] + line(cell)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(terminal.cells, column)) for column in zip(*rows, strict=True)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _parts(row: Sequence[str], width: int) -> Iterator[Sequence[str]]:
    """Yield the lines of a row whose last cell is wrapped to a width."""
    first, *rest = terminal.wrap(row[-1], width)
    yield [*row[:-1], first]
    for part in rest:
        yield [*("" for _ in row[:-1]), part]


def costs(estimate: Estimate) -> Iterator[Sequence[str]]:
    """Yield a row for each task: calls, tokens of prompts and replies, and money if the price is known."""
    from conspectus.tasks.base import task_label

    yield ["Task", "Model", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]
    for t in estimate.tasks:
        figures = (ranging(r) for r in (t.calls, t.prompt_tokens, t.completion_tokens))
        yield [task_label(t.task), t.model, *figures, costing(t.cost)]
    figures = (ranging(r) for r in (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens))
    yield ["All", "", *figures, costing(estimate.cost)]


def likely(estimate: Estimate) -> str:
    """Return what to count on, as `about 120,000 tokens (80,000 to 300,000) and about $0.12 ($0.08 to $0.30)`."""
    tokens = f"{round(estimate.likely_tokens, -3):,.0f} tokens ({ranging(estimate.tokens)})"
    cost, bounds = estimate.likely_cost, estimate.cost
    if cost is None or bounds is None:
        return f"about {tokens}; the price of a model is not known (setting `prices`)"
    return (
        f"about {tokens} and about {money(cost)} ({money(bounds.low)} to {money(bounds.high)})"
        if cost
        else f"about {tokens}"
    )


def costing(cost: Range | None) -> str:
    """Return US dollars as `0.0040 to 0.0120`, `0.35 to 1.10`, `0` or `unknown`."""
    if cost is None:
        return "unknown"
    return ranging(cost, 2 if cost.high >= 0.1 else 4) if cost.high else "0"


def ranging(value: Range, digits: int = 0) -> str:
    """Return `12`, or `12 to 15`."""
    return value.text(digits)


def money(cost: float) -> str:
    """Return US dollars to the cent, small amounts to the hundredth of one: `$12.50`, `$0.0042`."""
    return f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.4f}"


def dollars(cost: float | None) -> str:
    """Return what was paid, as `$0.0042`, `$0` of what is free, or `cost unknown` without a price."""
    return "cost unknown" if cost is None else money(cost) if cost else "$0"


def usage_line(used: Usage, cost: str = "") -> str:
    """Return what was spent: calls, tokens, money, and how many replies came from the cache."""
    tokens = f"{counted(used.prompt_tokens + used.completion_tokens, 'token')}"
    cost = cost or (money(used.cost) if used.cost else "")
    parts = [counted(used.calls, "call"), tokens, *([cost] if cost else [])]
    cached = f" ({used.cached_calls:,} more from the cache)" if used.cached_calls else ""
    return f"{', '.join(parts)}{cached}"


def spent(used: Usage, say: Callable[[str], None] = note, *, cost: str = "") -> None:
    """Print what a run took of a language model, if it took any."""
    if used.calls or used.cached_calls:
        say(f"Spent: {usage_line(used, cost)}.")


def vectors(figures: VectorFigures | None) -> str:
    """Return in a sentence what vectors an index has, and how the nearest are found."""
    from conspectus.models.embedders import MOST_UNREAD

    if figures is None:
        return "No vectors; conspectus embed makes them."
    held = f"{counted(figures.chunks, 'chunk')} and {counted(figures.sentences, 'sentence')}"
    found = "the nearest are found exactly"
    if not figures.exact:
        found = f"of the 10 nearest {100 * figures.recall:.1f} % are found, by a graph of neighbours"
    elif figures.many:
        found += ", which the extra `ann` would make faster: pip install 'conspectus[ann]', then conspectus embed"
    told = f"Vectors: {held} by {figures.model}, {figures.dimension:,} numbers each; {found}."
    if figures.query_prefix or figures.passage_prefix:
        told += f"\nBefore questions stands {figures.query_prefix!r}, before passages {figures.passage_prefix!r}."
    if figures.unread >= MOST_UNREAD:
        told += (
            f"\nThe model does not know {100 * figures.unread:.0f} % of the letters of these texts, and walk leaves its"
            " vectors out: one that is made for their language would say more."
        )
    return told


def listed(heading: str, lines: Sequence[str], say: Callable[[str], None] = note) -> None:
    """Print lines under a heading, the first of them where there are many."""
    if lines:
        say(heading)
        for text in lines[:LINES]:
            say(f"  {line(text)}")
        if len(lines) > LINES:
            say(f"  and {len(lines) - LINES:,} more (--json lists all)")


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first of many names in a line: `a.txt, b.txt, c.txt and 4 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def by_reason(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines for what has a reason, those of the same reason as one, the most frequent reason first."""
    groups: dict[str, list[str]] = {}
    for name, reason in rows:
        groups.setdefault(reason, []).append(name)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [
        f"{names[0]}: {reason}" if len(names) == 1 else f"{len(names):,} ({some(names)}): {reason}"
        for reason, names in ordered
    ]


def failures(failed: Sequence[Failure], say: Callable[[str], None] = note) -> None:
    """Print what could not be done."""
    listed(f"Failed {len(failed):,}:", by_reason((f.document or f.stage, f.error) for f in failed), say)


LONG = 400
"""Characters from which on a source is no quotation, but a whole chunk."""
_CITED = re.compile(r"([^\[\]\n]*)((?:\[\d+\])+)")


def statements(text: str) -> dict[int, str]:
    """Return for each number of a citation what it stands behind, where it first does."""
    found: dict[int, str] = {}
    before = ""
    for cited in _CITED.finditer(text):
        before = cited[1] if cited[1].strip(" .,;:*_-") else before  # `[1]. [2]`: both stand behind the same
        for number in re.findall(r"\d+", cited[2]):
            found.setdefault(int(number), before)
    return found


def nearest(source: str, statement: str) -> str:
    """Return a source from the sentence on that shares most words with a statement; a short one as it is."""
    from conspectus.text.sentences import sentences
    from conspectus.text.words import terms

    asked = set(terms(statement))
    if len(source) <= LONG or not asked:
        return source
    best, start = 0.0, 0
    for a, b in sentences(source):
        held = set(terms(source[a:b]))
        shared = len(asked & held) / (len(held) + 5) ** 0.5 if held else 0.0  # a long sentence shares some by chance
        if shared > best:
            best, start = shared, a
    return f"… {source[start:]}" if start else source
