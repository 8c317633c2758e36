"""Progress bars on standard error, and the times of the stages in the log."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from conspectus.cli.terminal import clean
from conspectus.models.base import Tick, no_tick

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


class Bars:
    """A bar for each stage, with count, rate and time left; only the log's lines where it is not shown.

    Use it as a context manager; it is an `index.pipeline.Progress`.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self._bars: Progress | None = None
        self._stage = ""
        self._began = 0.0
        self._total = self._done = 0

    def __enter__(self) -> Bars:
        if self.shown:
            self._bars = _bars()
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if self._bars:
            self._bars.stop()

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage and close the one before."""
        self._close()
        self._stage, self._began, self._total, self._done = name, time.perf_counter(), total, 0
        log.debug("stage %s: %d pieces of work", name, total)
        if self._bars is None:
            return no_tick
        bars, task = self._bars, self._bars.add_task(LABELS.get(name, name), total=total or None)
        shown = 0.0

        def tick() -> None:
            nonlocal shown
            self._done += 1
            if (now := time.monotonic()) - shown > EVERY:  # a bar takes longer to update than many a piece of work
                shown = now
                bars.update(task, completed=self._done)

        return tick

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        log.info(text)
        if self._bars:
            self._bars.console.print(clean(text), markup=False, highlight=False)

    def _close(self) -> None:
        if not self._stage:
            return
        log.debug("stage %s took %.2f s", self._stage, time.perf_counter() - self._began)
        if self._bars:
            done = self._total or self._done or 1
            self._bars.update(self._bars.task_ids[-1], total=done, completed=done)
        self._stage = ""


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
            minutes, seconds = divmod(round(seconds), 60)
            return Text(f"{minutes}:{seconds:02}" + (" left" if left is not None else ""), no_wrap=True)

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), Count(), Time())
    return Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
