"""Progress bars on standard error, and the times of the stages in the log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING

from conspectus.cli import show
from conspectus.cli.show import usage_line
from conspectus.cli.terminal import clean
from conspectus.models.base import Tick
from conspectus.rows import Usage

if TYPE_CHECKING:
    from rich.progress import Progress

log = logging.getLogger("conspectus")

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
    "neighbours": "linking neighbours",
    "questions": "writing questions",
    "answers": "answering",
    "judge": "judging",
    "claims": "finding claims",
    "grounding": "checking what is cited",
    "loss": "following facts",
    "reasons": "summarising reasons",
}
EVERY = 0.1
"""Seconds between two updates of a bar."""
LINE_EVERY = 30.0
"""Seconds between two lines without a terminal: 120 an hour, few enough for a log; a shorter run prints none."""


class Bars:
    """Shows how far a run is: a bar for each stage on a terminal, else a line every 30 seconds on standard error.

    Both say what was spent of a language model so far: calls, tokens and, if there is a price, money. `quiet` leaves
    only the log's lines. Use it as a context manager; it is an `index.pipeline.Progress`. `wait` sleeps for the
    seconds it is given and returns whether the run has ended meanwhile (for tests).
    """

    def __init__(self, *, quiet: bool, wait: Callable[[float], bool] | None = None) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self._lines = not quiet and not self.shown
        self._ended = Event()
        self._wait = wait or self._ended.wait
        self._bars: Progress | None = None
        self._usage: Callable[[], Usage] = Usage
        self._stage = ""
        self._began = 0.0
        self._total = self._done = 0

    def __enter__(self) -> Bars:
        if self.shown:
            self._bars = _bars()
            self._bars.start()
        if self._lines:
            Thread(target=self._print_lines, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage and close the one before."""
        self._close()
        self._stage, self._began, self._total, self._done = name, time.perf_counter(), total, 0
        log.debug("stage %s: %d pieces of work", name, total)
        bars = self._bars
        task = bars.add_task(LABELS.get(name, name), total=total or None, spent="") if bars else None
        shown, done = 0.0, 0

        def tick() -> None:
            nonlocal shown, done
            done += 1
            if self._stage == name:  # descriptions come to their end while reports are written
                self._done = done
            if bars is None or task is None:
                return
            if (now := time.monotonic()) - shown > EVERY:  # a bar takes longer to update than many a piece of work
                shown = now
                bars.update(task, completed=done, spent=self._spent())

        return tick

    def note(self, text: str) -> None:
        """Print a line, above the bars where there are any."""
        log.info(text)
        if self._bars:
            self._bars.console.print(clean(text), markup=False, highlight=False)
        elif self._lines:
            show.note(text)

    def _print_lines(self) -> None:
        while not self._wait(LINE_EVERY):
            sys.stderr.write(f"{self._line()}\n")
            sys.stderr.flush()

    def _line(self) -> str:
        """Return how far the run is, in words."""
        done, total = self._done, self._total
        parts = [LABELS.get(self._stage, self._stage) or "starting"]
        if total > 1:
            parts.append(f"{done:,} of {total:,}")
        elif done:
            parts.append(f"{done:,}")
        seconds = time.perf_counter() - self._began
        if 0 < done < total:
            parts.append(f"about {_clock(seconds / done * (total - done))} left in this stage")
        if spent := self._spent():
            parts.append(f"spent so far: {spent}")
        return "; ".join(parts)

    def _spent(self) -> str:
        used = self._usage()
        return usage_line(used) if used.calls or used.cached_calls else ""

    def _close(self) -> None:
        if not self._stage:
            return
        log.debug("stage %s took %.2f s", self._stage, time.perf_counter() - self._began)
        if self._bars:
            done = self._total or self._done or 1
            self._bars.update(self._bars.task_ids[-1], total=done, completed=done, spent="")
        self._stage = ""


def _clock(seconds: float) -> str:
    """Return `4:05`, or `2:04:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Count(ProgressColumn):
        """How many are done, of how many, and how many a second; nothing for a stage that is one piece."""

        def render(self, task: Task) -> Text:
            if not task.completed or task.total == 1:
                return Text("")
            of = f"/{task.total:,.0f}" if task.total else ""
            rate = task.finished_speed or task.speed
            return Text(f"{task.completed:,.0f}{of}" + (f" {rate:,.0f}/s" if rate else ""), no_wrap=True)

    class Time(ProgressColumn):
        """The time left, where it can be told, else the time taken."""

        def render(self, task: Task) -> Text:
            left = None if task.finished else task.time_remaining
            seconds = left if left is not None else task.finished_time or task.elapsed or 0
            return Text(_clock(seconds) + (" left" if left is not None else ""), no_wrap=True)

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=20), Count(), Time(), TextColumn("{task.fields[spent]}")
    )  # fmt: skip
    return Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
