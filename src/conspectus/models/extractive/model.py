"""The extractive model: performs every task of indexing and answering by selecting from the sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError, NotSupported
from conspectus.evidence import Evidence
from conspectus.models.base import Tick, no_tick
from conspectus.models.extractive.describe import describe_element
from conspectus.models.extractive.extract import extract_graph
from conspectus.models.extractive.passages import Passages
from conspectus.models.extractive.report import write_report
from conspectus.rows import Document, Finding
from conspectus.tasks import AnyMissed, DescribeElement, Description, ExtractGraph, Graph, ReportDraft, Task, WriteReport
from conspectus.text.lexicon import read_lexicon

R = TypeVar("R")


def globalized(draft: ReportDraft, evidence: Evidence) -> ReportDraft:
    """Return a draft with its references in the index's numbers."""
    findings = tuple(Finding(f.summary, evidence.globalize(f.explanation)[0]) for f in draft.findings)
    return replace(draft, summary=evidence.globalize(draft.summary)[0], findings=findings)


class ExtractiveModel:
    """Needs no key and no network. It is fitted on a corpus; without one it reads each chunk by itself."""

    name = "extractive"
    generative = False

    def __init__(self, passages: Passages | None = None) -> None:
        self.passages = passages

    @classmethod
    def fit(cls, documents: Sequence[Document], entity_types: tuple[str, ...]) -> ExtractiveModel:
        """Read a corpus, so that its chunks can be read in its light."""
        return cls(Passages(documents, read_lexicon(documents, entity_types)))

    async def perform(self, task: Task[R]) -> R:
        return cast("R", self._do(task))

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        replies: list[R | ModelError] = []
        for task in tasks:
            replies.append(cast("R", self._do(task)))
            tick()
        return replies

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        yield await self.perform(task)

    @singledispatchmethod
    def _do(self, task: Any) -> Any:
        raise NotSupported(f"{type(task).__name__} needs a language model: name one with --model")

    @_do.register
    def _(self, task: ExtractGraph) -> Graph:
        passages = self.passages
        if passages is None or not passages.knows(task.chunk):
            passages = Passages.of_chunk(task.chunk, task.entity_types)
        return extract_graph(task, passages)

    @_do.register
    def _(self, task: DescribeElement) -> Description:
        return describe_element(task)

    @_do.register
    def _(self, task: WriteReport) -> ReportDraft:
        return globalized(write_report(task), task.evidence)

    @_do.register
    def _(self, task: AnyMissed) -> bool:
        return False
