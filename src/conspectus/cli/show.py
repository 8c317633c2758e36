"""Printing: results to standard output, notes and progress to standard error, bold only on terminals."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, ClassVar, cast

import typer

from conspectus import api, rows
from conspectus.cli import terminal
from conspectus.lazy import lazy_module
from conspectus.rows import counted as counted
from conspectus.rows import one_line as line
from conspectus.rows import plain
from conspectus.rows import plural as plural

if TYPE_CHECKING:
    from rich import console as rich_console
    from rich import progress as rich_progress

    from conspectus.api import Estimate
    from conspectus.rows import Citation, Failure, Source, Usage
else:
    rich_console, rich_progress = lazy_module("rich.console"), lazy_module("rich.progress")

LINES = 10
"""Maximum lines of a list that are shown."""
LONG = 400
"""Characters above which a source is a whole chunk rather than a quotation."""
_ESCAPED = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON may contain unescaped, and that terminals obey."""
_ARGUMENTS = re.compile(
    r"conspectus\.(?P<function>[a-z_]+)\((?P<inside>[^()]*)\)"
    r"|(?P<kind>settings|varied)=\{'(?P<key>[\w.]+)': (?P<value>[^{}]*)\}"
    r"|(?<![\w?&/.])(?<!\bwhere )(?<!\band )"
    r"(?P<argument>model|judge_model|base_url|embedder|where|method|questions|create|folder|index)"
    r"=(?P<given>'[^']*'|\.\.\.|[^\s,;:()'.]+)"
)
"""Arguments in Python's notation in library messages; a condition ("those where folder=notes") does not match."""
OPTION_OF: dict[str, str] = {}
"""The option for a setting, if there is one, by the setting's key; filled by `options`."""
_COMMANDS = {"build": "index", "draw_map": "map", "import_graphrag": "import graphrag"}
"""Commands by the names of functions, where the two differ."""
_UNQUOTED = str.maketrans("", "", "'[]")
_CITED = re.compile(r"([^\[\]\n]*)(?<!\\)((?:\[\d+\])+)")

log = logging.getLogger("conspectus")


# Text


def out(text: str = "") -> None:
    """Print a result without control characters of documents, wrapped to the width of the terminal."""
    typer.echo(terminal.printable(text, sys.stdout))


def note(text: str) -> None:
    """Print a text that is not part of the result, in the same way, after flushing standard output."""
    sys.stdout.flush()
    typer.echo(terminal.printable(with_options(text), sys.stderr), err=True)


class Warnings(logging.Handler):
    """Prints warnings of the library as notes; without a handler, Python itself would print tracebacks as well."""

    bars: ClassVar[Bars | None] = None
    """The progress bars that are shown at the moment, if any: notes are printed above them."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            show = self.bars.note if self.bars else note
            show(record.getMessage())


def with_options(text: str) -> str:
    """Return a message of the library with arguments in Python's notation replaced by options.

    `settings={'read.text_field': NAME}` becomes `--text-field NAME`, `conspectus.embed(embedder='local')` becomes
    `conspectus embed --embedder local`.
    """

    def option(match: re.Match[str]) -> str:
        if function := match["function"]:
            words = with_options(match["inside"]).replace(", ", " ").translate(_UNQUOTED)
            return f"conspectus {_COMMANDS.get(function, function)} {words}".rstrip()
        value = (match["given"] or match["value"]).translate(_UNQUOTED)
        if name := match["argument"]:
            name = "--index" if name == "folder" else f"--{name.replace('_', '-')}"
        elif match["kind"] == "varied" or match["key"] not in OPTION_OF:
            return f"--set {match['key']}={value.replace(', ', ',')}"
        else:
            name = OPTION_OF[match["key"]]
        return name if value in ("...", "True", "False") else f"{name} {value}"

    return _ARGUMENTS.sub(option, text)


def as_json(value: Any, *, lines: bool = False) -> None:
    """Print a value as JSON; `lines` prints it on one line, because several values follow each other."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    fields = asdict(cast("Any", value)) if is_dataclass(value) else value
    text = json.dumps(fields, ensure_ascii=not utf8, indent=None if lines else 2, default=asdict)
    typer.echo(_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def markdown(text: str) -> None:
    """Print Markdown, formatted on a terminal and unchanged elsewhere."""
    if width := terminal.columns(sys.stdout):
        typer.echo("\n".join(terminal.markdown(text, sys.stdout, width)))
    else:
        out(text)


def bold(text: str) -> str:
    """Return a text on one line, marked so that `out` and `note` print it bold on a terminal."""
    return f"{terminal.BOLD}{line(text)}{terminal.PLAIN}"


def size(n: int) -> str:
    """Return a number of bytes in readable form: 38 kB, 5.5 MB."""
    return f"{n / 1e6:,.1f} MB" if n >= 999_500 else f"{-(-n // 1000)} kB"


def snippet(text: str, most: int = rows.SNIPPET) -> str:
    """Return the start of a text on one line."""
    return rows.snippet(plain(text), most)


# Lists and tables


def listed(heading: str, lines: Sequence[str], say: Callable[[str], None] = note) -> None:
    """Print lines under a heading; if there are many, only the first of them."""
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
    """Return one line for each reason with the items that share it, the most frequent reason first."""
    groups: dict[str, list[str]] = {}
    for name, reason in rows:
        groups.setdefault(reason, []).append(name)
    return [
        f"{names[0]}: {reason}" if len(names) == 1 else f"{len(names):,} ({some(names)}): {reason}"
        for reason, names in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def failures(failed: Sequence[Failure], say: Callable[[str], None] = note) -> None:
    """Print failures, grouped by reason."""
    listed(f"Failed {len(failed):,}:", by_reason((f.document or f.stage, f.error) for f in failed), say)


def table(rows: Iterable[Sequence[str]], say: Callable[[str], None] = out, *, texts: int = 1) -> None:
    """Print rows as a table with a head: the first `texts` columns to the left, the others, figures, to the right."""
    for row in terminal.table([*rows], sys.stderr if say is note else sys.stdout, texts=texts):
        say(row)


# Sources


def citations(cited: Sequence[Citation], language: str = "en", text: str = "") -> None:
    """Print the sources of the citations in a text, in its language."""
    if cited:
        out(f"\n{bold(api.wording(language).sources)}\n")
    cited_for = statements(text)

    def excerpt(marker: int, source: Source) -> str:
        return nearest(api.without_markup(source.text), cited_for.get(marker, ""))

    for row in rows.source_lines(cited, language, excerpt=excerpt):
        out(row)


def statements(text: str) -> dict[int, str]:
    """Return, for each number of a citation, the text before its first occurrence."""
    texts: dict[int, str] = {}
    before = ""
    for cited in _CITED.finditer(text):
        before = cited[1] if cited[1].strip(" .,;:*_-") else before  # both cite the same text
        for number in re.findall(r"\d+", cited[2]):
            texts.setdefault(int(number), before)
    return texts


def nearest(source: str, statement: str) -> str:
    """Return a source from the sentence that shares most words with a statement; a short source as it is."""
    wanted = set(api.terms(statement))
    if len(source) <= LONG or not wanted:
        return source
    best, start = 0.0, 0
    for a, b in api.sentences(source):
        words = set(api.terms(source[a:b]))
        shared = len(wanted & words) / (len(words) + 5) ** 0.5  # a long sentence shares some words by chance
        if shared > best:
            best, start = shared, a
    return f"… {source[start:]}" if start else source


# Tokens and money


def costs(estimate: Estimate) -> Iterator[Sequence[str]]:
    """Yield a row for each task: calls, tokens of prompts and replies, and the cost if the price is known."""
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


def estimate_text(estimate: Estimate) -> str:
    """Return an estimate as text: `about 120,000 tokens (80,000 to 300,000) and about $0.12 ($0.08 to $0.30)`."""
    tokens = f"about {round(estimate.likely_tokens, -3):,.0f} tokens ({estimate.tokens.text()})"
    cost, bounds = estimate.likely_cost, estimate.cost
    if cost is None or bounds is None:
        return f"{tokens}; the price of a model is not known (setting `prices`)"
    if not cost:
        return tokens
    return f"{tokens} and about {money(cost)} ({money(bounds.low)} to {money(bounds.high)})"


def money(cost: float | None) -> str:
    """Return US dollars to the cent, small amounts to the hundredth of one: `$12.50`, `$0.0042`, `cost unknown`."""
    if cost is None:
        return "cost unknown"
    if not cost:
        return "$0"
    return f"${cost:,.2f}" if cost >= 0.1 else f"${cost:.4f}"


def usage_line(used: Usage, cost: str = "") -> str:
    """Return the usage as text: calls, tokens, cost, and the number of replies from the cache."""
    parts = [counted(used.calls, "call"), counted(used.tokens, "token")]
    if cost or used.cost:
        parts.append(cost or money(used.cost))
    cached = f" ({used.cached_calls:,} more from the cache)" if used.cached_calls else ""
    return ", ".join(parts) + cached


def spent(used: Usage, say: Callable[[str], None] = note, *, cost: str = "") -> None:
    """Print the usage of language models in a run, if any."""
    if used.calls or used.cached_calls:
        say(f"Spent: {usage_line(used, cost)}.")


def vectors(figures: Mapping[str, Any] | None) -> str:
    """Return a sentence on the vectors of an index."""
    if figures is None:
        return "No vectors; conspectus embed computes them."
    embedded = f"{counted(figures['chunks'], 'chunk')} and {counted(figures['sentences'], 'sentence')}"
    text = f"Vectors: {embedded} by {figures['model']}, {figures['dimension']:,} numbers each."
    if figures["in_lists"]:
        text += (
            f"\nThey are many: a question is compared with likely {' and '.join(figures['in_lists'])} alone."
        )
    if figures["unread"] >= api.MOST_UNREAD:
        unread = f"{100 * figures['unread']:.0f} %"
        text += f"\nThe model does not know {unread} of the letters of these texts: walk ignores it."
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
"""Minimum seconds between two updates of a bar."""
LINE_EVERY = 30.0
"""Seconds between two lines without a terminal: 120 an hour, few enough for a log; a shorter run prints none."""


@dataclass
class Stage:
    """A stage of a run and its progress."""

    name: str = ""
    total: int = 0
    """Number of pieces of work; 0 if unknown."""
    done: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def label(self) -> str:
        return LABELS.get(self.name, self.name) or "starting"

    def state(self, spent: str) -> str:
        """Return the progress as text, as far as it is known: `12 of 40; about 0:01:05 left; 40 calls`."""
        parts: list[str] = []
        if self.total > 1:
            parts.append(f"{self.done:,} of {self.total:,}")
        elif self.done > 1:
            parts.append(f"{self.done:,}")
        if 0 < self.done < self.total:
            seconds = (time.perf_counter() - self.began) / self.done * (self.total - self.done)
            parts.append(f"about {timedelta(seconds=round(seconds))} left")
        return "; ".join(filter(None, (*parts, spent)))


class Bars:
    """Shows the progress of a run: a bar for each stage on a terminal, else a line every 30 seconds on standard error.

    Both show the usage of language models so far: calls, tokens and, if there is a price, the cost. `quiet` leaves
    only the log's lines. Use it as a context manager; it is an `indexing.pipeline.Progress`. `wait` sleeps for the
    seconds it is given and returns whether the run has ended in the meantime (for tests).
    """

    def __init__(self, *, quiet: bool, wait: Callable[[float], bool] | None = None) -> None:
        self._quiet = quiet
        self._ended = Event()
        self._wait = wait or self._ended.wait
        self._usage: Callable[[], Usage] | None = None
        self._stage = Stage()
        self._bars: rich_progress.Progress | None = None
        self.shown = not quiet and sys.stderr.isatty()
        if self.shown:
            bar, text = (
                rich_progress.BarColumn(bar_width=20),
                rich_progress.TextColumn("{task.fields[state]}"),
            )
            self._bars = rich_progress.Progress(
                rich_progress.TextColumn("{task.description}"), bar, text,
                console=rich_console.Console(stderr=True), transient=True, refresh_per_second=5,
            )  # fmt: skip

    def __enter__(self) -> Bars:
        Warnings.bars = self
        if self._bars:
            self._bars.start()
        elif not self._quiet:
            Thread(target=self._print_lines, name="progress", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        Warnings.bars = None
        self._ended.set()
        self._close()
        if self._bars:
            self._bars.stop()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Hide the bars while something else, such as a question, uses the terminal."""
        if self._bars:
            self._bars.stop()
        yield
        if self._bars:
            self._bars.start()

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show from now on the usage so far that `usage` returns."""
        self._usage = usage

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Open a stage, close the previous one, and return a function that counts the stage's steps."""
        self._close()
        stage = self._stage = Stage(name, total)
        log.debug("stage %s: %d pieces of work", name, total)
        bars = self._bars
        task = bars.add_task(stage.label, total=total or 1, state="") if bars else None
        shown = 0.0

        def tick() -> None:
            nonlocal shown
            stage.done += 1
            now = time.monotonic()
            # Updating a bar takes longer than many a piece of work; without a total it stays empty until the end.
            if bars and task is not None and now - shown > EVERY:
                shown = now
                bars.update(task, completed=stage.done if total else 0, state=stage.state(self._spent()))

        return tick

    def note(self, text: str) -> None:
        """Print a line, above the bars if there are any."""
        log.info(text)
        if self._bars:
            self._bars.console.print(plain(with_options(text)), markup=False, highlight=False)
        elif not self._quiet:
            note(text)

    def _print_lines(self) -> None:
        while not self._wait(LINE_EVERY):
            spent = self._spent()
            state = self._stage.state(spent and f"spent so far: {spent}")
            note("; ".join(filter(None, (self._stage.label, state))))

    def _spent(self) -> str:
        used = self._usage() if self._usage else None
        return usage_line(used) if used and (used.calls or used.cached_calls) else ""

    def _close(self) -> None:
        stage = self._stage
        if not stage.name:
            return
        log.debug("stage %s took %.2f s", stage.name, time.perf_counter() - stage.began)
        if self._bars:
            total = stage.total or 1
            self._bars.update(self._bars.task_ids[-1], completed=total, state=stage.state(""))
        self._stage = Stage()
