"""How things are printed: results to standard output, notes and progress to standard error, bold on terminals only."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import typer

from conspectus import api, rows
from conspectus.cli import terminal
from conspectus.cli.terminal import line, printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from conspectus.api import Estimate
    from conspectus.rows import Citation, Failure, Source, Usage

SNIPPET = 160
"""Characters of a passage that are shown."""
PASSAGES = 2
"""Passages that are shown for one citation."""
LINES = 10
"""Lines of a list that are shown."""
LONG = 400
"""Characters from which on a source is no quotation, but a whole chunk."""
NARROWEST = 20
"""Columns of a terminal that a text in a table is wrapped to at least."""
_ESCAPED = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON may hold as they are, and terminals obey."""
_ARGUMENTS = re.compile(
    r"conspectus\.(?P<function>[a-z_]+)\((?P<inside>[^()]*)\)"
    r"|(?P<kind>settings|varied)=\{'(?P<key>[\w.]+)': (?P<value>[^{}]*)\}"
    r"|(?<![\w?&/.])(?<!\bwhere )(?<!\band )"
    r"(?P<argument>model|judge_model|base_url|embedder|where|method|questions|create|folder|index)"
    r"=(?P<given>'[^']*'|\.\.\.|[^\s,;:()'.]+)"
)
"""What messages of the library name as Python does; a condition ("those where folder=notes") is no argument."""
OPTION_OF: dict[str, str] = {}
"""The option of each setting that has one, by its key; `options` fills it."""
_COMMANDS = {"build": "index", "draw_map": "map", "import_graphrag": "import graphrag"}
"""Commands that are called otherwise than the functions."""
_UNQUOTED = str.maketrans("", "", "'[]")
_CITED = re.compile(r"([^\[\]\n]*)((?:\[\d+\])+)")

log = logging.getLogger("conspectus")


# Text


def out(text: str = "") -> None:
    """Print a result: without control characters of documents, and wrapped to the width of a terminal."""
    typer.echo(printable(text, sys.stdout))


def note(text: str) -> None:
    """Print what is not part of the result, in the same way, and after what was printed before it."""
    sys.stdout.flush()
    typer.echo(printable(with_options(text), sys.stderr), err=True)


class Warnings(logging.Handler):
    """Prints what the library warns of as notes; without a handler Python itself would print tracebacks, too."""

    bars: ClassVar[Bars | None] = None
    """What shows progress meanwhile: lines go above its bars."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            say = self.bars.note if self.bars else note
            say(record.getMessage())


def with_options(text: str) -> str:
    """Return a message of the library, which names arguments as Python does, with options in their place.

    `settings={'read.text_field': NAME}` becomes `--text-field NAME`, `conspectus.embed(embedder='local')` becomes
    `conspectus embed --embedder local`.
    """

    def option(match: re.Match[str]) -> str:
        if function := match["function"]:
            words = with_options(match["inside"]).replace(", ", " ").translate(_UNQUOTED)
            return f"conspectus {_COMMANDS.get(function, function)} {words}".rstrip()
        if name := match["argument"]:
            name = "--index" if name == "folder" else f"--{name.replace('_', '-')}"
        elif match["kind"] == "varied" or match["key"] not in OPTION_OF:
            return f"--set {match['key']}={match['value'].replace(', ', ',').translate(_UNQUOTED)}"
        else:
            name = OPTION_OF[match["key"]]
        value = (match["given"] or match["value"]).translate(_UNQUOTED)
        return name if value in ("...", "True", "False") else f"{name} {value}"

    return _ARGUMENTS.sub(option, text)


def as_json(value: Any, *, lines: bool = False) -> None:
    """Print a value as JSON, on one line where many follow each other."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    plain = asdict(cast("Any", value)) if is_dataclass(value) else value
    text = json.dumps(plain, ensure_ascii=not utf8, indent=None if lines else 2, default=asdict)
    typer.echo(_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


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
    return rows.counted(n, noun)


def plural(noun: str) -> str:
    """Return the plural of one of the nouns that we count."""
    return rows.plural(noun)


def size(n: int) -> str:
    """Return a number of bytes as people read it: 38 kB, 5.5 MB."""
    return f"{n / 1e6:,.1f} MB" if n >= 999_500 else f"{-(-n // 1000)} kB"


def snippet(text: str, most: int = SNIPPET) -> str:
    """Return the start of a text on one line."""
    return rows.snippet(line(text), most)


# Lists and tables


def listed(heading: str, lines: Sequence[str], say: Callable[[str], None] = note) -> None:
    """Print lines under a heading, the first of them where there are many."""
    if lines:
        say(heading)
        for text in lines[:LINES]:
            say(f"  {line(with_options(text))}")
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


def table(rows: Iterable[Sequence[str]], say: Callable[[str], None] = out, *, texts: int = 1) -> None:
    """Print rows as columns: the first ones, which hold texts, to the left, the others, figures, to the right.

    On a terminal that is too narrow heads and texts are wrapped; where that is not enough, each row is a list.
    """
    head, *body = ([cell[: len(cell) - len(cell.lstrip(" "))] + line(cell) for cell in row] for row in rows)
    most = terminal.columns(sys.stderr if say is note else sys.stdout) or sys.maxsize
    widths = [max(map(terminal.cells, column)) for column in zip(*body, strict=True)] or [0] * len(head)
    whole = [max(width, terminal.cells(cell)) for width, cell in zip(widths, head, strict=True)]
    if sum(whole) + 2 * (len(whole) - 1) <= most:
        widths = whole
    widths = [max(w, *map(terminal.cells, cell.split() or [""])) for w, cell in zip(widths, head, strict=True)]
    widest = max(range(texts), key=widths.__getitem__)
    over = max(0, sum(widths) + 2 * (len(widths) - 1) - most)
    if over and widths[widest] - over < NARROWEST:
        for row in body:
            say(bold("  ".join(filter(None, row[:texts]))))
            for name, cell in zip(head[texts:], row[texts:], strict=True):
                say(f"  {name}: {cell}")
        return
    widths[widest] -= over
    for row in (head, *body):
        cells = [terminal.wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        deepest = max(map(len, cells))
        padded = [
            [""] * (deepest - len(c)) + c if row is head else c + [""] * (deepest - len(c)) for c in cells
        ]
        for parts in zip(*padded, strict=True):
            gaps = [" " * (width - terminal.cells(part)) for part, width in zip(parts, widths, strict=True)]
            aligned = [
                p + gap if n < texts else gap + p for n, (p, gap) in enumerate(zip(parts, gaps, strict=True))
            ]
            say("  ".join(aligned).rstrip())


# Sources


def passage(source: Source, indent: str = "    ", language: str = "en", statement: str = "") -> str:
    """Return where something is said, and what, on two lines; of a long source what is nearest to a statement."""
    where = api.wording(language).where(source.document, source.place, source.start, source.end)
    return f"{line(where)}\n{indent}“{snippet(nearest(source.text, statement))}”"


def citations(cited: Sequence[Citation], language: str = "en", text: str = "") -> None:
    """Print what the numbers in a text lead to, in its language."""
    words, cited_for = api.wording(language), statements(text)
    if cited:
        out(f"\n{bold(words.sources)}\n")
    for citation, sources in rows.distinct_sources(cited):
        is_report = citation.kind == "report"  # `conspectus report` shows all of its sources
        head = f"[{citation.marker}] "
        if len(citation.sources) > 1:  # what is cited is a row with all that it stands on, not one quotation
            out(head + line(words.label.format(words.kind(citation.kind), citation.title)))
            head = "    "
        shown = sources[: 1 if is_report else PASSAGES]
        for source in shown:
            out(head + passage(source, language=language, statement=cited_for.get(citation.marker, "")))
            head = "    "
        if len(sources) > len(shown) and not is_report:
            out(f"    {words.more_places.format(len(sources) - len(shown))}")


def statements(text: str) -> dict[int, str]:
    """Return for each number of a citation what it stands behind, where it first does."""
    texts: dict[int, str] = {}
    before = ""
    for cited in _CITED.finditer(text):
        before = cited[1] if cited[1].strip(" .,;:*_-") else before  # `[1]. [2]`: both stand behind the same
        for number in re.findall(r"\d+", cited[2]):
            texts.setdefault(int(number), before)
    return texts


def nearest(source: str, statement: str) -> str:
    """Return a source from the sentence on that shares most words with a statement; a short one as it is."""
    wanted = set(api.terms(statement))
    if len(source) <= LONG or not wanted:
        return source
    best, start = 0.0, 0
    for a, b in api.sentences(source):
        words = set(api.terms(source[a:b]))
        shared = len(wanted & words) / (len(words) + 5) ** 0.5  # a long sentence has some by chance
        if shared > best:
            best, start = shared, a
    return f"… {source[start:]}" if start else source


# Tokens, money and vectors


def costs(estimate: Estimate) -> Iterator[Sequence[str]]:
    """Yield a row for each task: calls, tokens of prompts and replies, and money if the price is known."""
    models = {t.model for t in estimate.tasks}
    head = f"Task ({models.pop()})" if len(models) == 1 else "Task (model)"
    yield [head, "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]
    named = [(api.task_label(t.task) + (f" ({t.model})" if models else ""), t) for t in estimate.tasks]
    for name, t in (*named, ("All", estimate)):
        cost = "unknown" if t.cost is None else "0"
        if t.cost and t.cost.high:
            cost = t.cost.text(2 if t.cost.high >= 0.1 else 4)
        figures = (t.calls.text(), t.prompt_tokens.text(), t.completion_tokens.text(), cost)
        yield [name, *(figure.replace(" to ", "–") for figure in figures)]


def likely(estimate: Estimate) -> str:
    """Return what to count on, as `about 120,000 tokens (80,000 to 300,000) and about $0.12 ($0.08 to $0.30)`."""
    tokens = f"about {round(estimate.likely_tokens, -3):,.0f} tokens ({estimate.tokens.text()})"
    cost, bounds = estimate.likely_cost, estimate.cost
    if cost is None or bounds is None:
        return f"{tokens}; the price of a model is not known (setting `prices`)"
    return (
        f"{tokens} and about {money(cost)} ({money(bounds.low)} to {money(bounds.high)})" if cost else tokens
    )


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
    cached = f" ({used.cached_calls:,} more from the cache)" if used.cached_calls else ""
    return ", ".join(filter(None, (counted(used.calls, "call"), tokens, cost))) + cached


def spent(used: Usage, say: Callable[[str], None] = note, *, cost: str = "") -> None:
    """Print what a run took of a language model, if it took any."""
    if used.calls or used.cached_calls:
        say(f"Spent: {usage_line(used, cost)}.")


def vectors(figures: Mapping[str, Any] | None) -> str:
    """Return in a sentence what vectors an index has."""
    if figures is None:
        return "No vectors; conspectus embed makes them."
    embedded = f"{counted(figures['chunks'], 'chunk')} and {counted(figures['sentences'], 'sentence')}"
    text = f"Vectors: {embedded} by {figures['model']}, {figures['dimension']:,} numbers each."
    if figures["unread"] >= api.MOST_UNREAD:
        text += (
            f"\nThe model does not know {100 * figures['unread']:.0f} % of the letters of these texts, and walk leaves"
            " its vectors out: one that is made for their language would say more."
        )
    return text


# Progress

LABELS = {
    "read": "reading files",
    "lexicon": "learning the vocabulary",
    "extract": "extracting the graph",
    "resolve": "joining names",
    "communities": "finding communities",
    "describe": "describing elements",
    "reports": "writing reports",
    "lexical": "indexing words",
    "embed": "making vectors",
    "questions": "writing questions",
    "answers": "answering",
    "judge": "judging",
    "claims": "finding claims",
    "grounding": "checking what is cited",
}
EVERY = 0.1
"""Seconds between two updates of a bar."""
LINE_EVERY = 30.0
"""Seconds between two lines without a terminal: 120 an hour, few enough for a log; a shorter run prints none."""


class Bars:
    """Shows how far a run is: a bar for each stage on a terminal, else a line every 30 seconds on standard error.

    Both say what was spent of a language model so far: calls, tokens and, if there is a price, money. `quiet` leaves
    only the log's lines. Use it as a context manager; it is an `indexing.pipeline.Progress`. `wait` sleeps for the
    seconds it is given and returns whether the run has ended meanwhile (for tests).
    """

    def __init__(self, *, quiet: bool, wait: Callable[[float], bool] | None = None) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self._quiet = quiet
        self._ended = Event()
        self._wait = wait or self._ended.wait
        self._bars: Progress | None = None
        self._usage: Callable[[], Usage] | None = None
        self._stage = ""
        self._began = 0.0
        self._total = self._done = 0

    def __enter__(self) -> Bars:
        Warnings.bars = self
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            names = ("description", "fields[count]", "fields[spent]")
            label, count, spent = (TextColumn(f"{{task.{name}}}") for name in names)
            remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
            columns = (label, BarColumn(bar_width=20), count, remaining, spent)
            console = Console(stderr=True)
            self._bars = Progress(*columns, console=console, transient=True, refresh_per_second=5)
            self._bars.start()
        elif not self._quiet:
            Thread(target=self._print_lines, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Warnings.bars = None
        self._ended.set()
        self._close()
        if self._bars:
            self._bars.stop()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to somebody else, as a question."""
        if self._bars:
            self._bars.stop()
        yield
        if self._bars:
            self._bars.start()

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show from now on what `usage` returns: what the run took of servers so far."""
        self._usage = usage

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Open a stage and close the one before."""
        self._close()
        self._stage, self._began, self._total, self._done = name, time.perf_counter(), total, 0
        log.debug("stage %s: %d pieces of work", name, total)
        bars = self._bars
        task = bars.add_task(LABELS.get(name, name), total=total or None, count="", spent="") if bars else None
        shown, done = 0.0, 0

        def tick() -> None:
            nonlocal shown, done
            done += 1
            if self._stage == name:  # descriptions come to their end while reports are written
                self._done = done
            if bars is None or task is None:
                return
            now = time.monotonic()
            if now - shown > EVERY:  # a bar takes longer to update than many a piece of work
                shown = now
                bars.update(task, completed=done, count=_count(done, total), spent=self._spent())

        return tick

    def note(self, text: str) -> None:
        """Print a line, above the bars where there are any."""
        log.info(text)
        if self._bars:
            self._bars.console.print(terminal.clean(with_options(text)), markup=False, highlight=False)
        elif not self._quiet:
            note(text)

    def _print_lines(self) -> None:
        while not self._wait(LINE_EVERY):
            note(self._line())

    def _line(self) -> str:
        """Return how far the run is, in words."""
        done, total = self._done, self._total
        seconds = time.perf_counter() - self._began
        remaining = ""
        if 0 < done < total:
            remaining = f"about {timedelta(seconds=round(seconds / done * (total - done)))} left in this stage"
        spent = f"spent so far: {text}" if (text := self._spent()) else ""
        stage = LABELS.get(self._stage, self._stage) or "starting"
        return "; ".join(filter(None, (stage, _count(done, total).replace("/", " of "), remaining, spent)))

    def _spent(self) -> str:
        used = self._usage() if self._usage else None
        return usage_line(used) if used and (used.calls or used.cached_calls) else ""

    def _close(self) -> None:
        if not self._stage:
            return
        log.debug("stage %s took %.2f s", self._stage, time.perf_counter() - self._began)
        if self._bars:
            done = self._total or self._done or 1
            count = _count(self._done, self._total)
            self._bars.update(self._bars.task_ids[-1], total=done, completed=done, count=count, spent="")
        self._stage = ""


def _count(done: int, total: int) -> str:
    """Return `12/40`; nothing for a stage that is one piece."""
    return f"{done:,}/{total:,}" if total > 1 else f"{done:,}" if done > 1 else ""
