"""The extractive model: performs every task of indexing, answering and checking by selecting from the sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, singledispatchmethod
from threading import Lock
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError, NotSupported
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.models.extractive.answer import answer_from_context, map_answer, reduce_answer
from conspectus.models.extractive.describe import describe_element
from conspectus.models.extractive.drift import follow_up, prime_answer
from conspectus.models.extractive.extract import extract_graph
from conspectus.models.extractive.facts import clear_sentences, entails, factual_claims, select_factual
from conspectus.models.extractive.rate import rate_report
from conspectus.models.extractive.reason import (
    choose_relations,
    draft_answer,
    examine,
    name_entities,
    next_thought,
)
from conspectus.models.extractive.report import write_report
from conspectus.models.extractive.search import Searcher
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Document, Finding
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    ChooseRelations,
    ClearSentences,
    DescribeElement,
    Description,
    Draft,
    DraftAnswer,
    Entails,
    Examined,
    ExamineEvidence,
    ExtractGraph,
    Extraction,
    FactualClaims,
    MapAnswer,
    NameEntities,
    NextThought,
    Numbered,
    PartialAnswer,
    PrimeAnswer,
    Probe,
    PursueFollowUp,
    RateReport,
    ReduceAnswer,
    ReportDraft,
    SelectFactual,
    Task,
    WriteReport,
)
from conspectus.tasks.context import Context
from conspectus.text.language import language_of
from conspectus.text.lexicon import read_lexicon

R = TypeVar("R")
LOOKED_AT = 8
"""Descriptions, and reports of parts, that tell the language of a report."""


def globalized(draft: ReportDraft, evidence: Context) -> ReportDraft:
    """Return a draft with its references in the index's numbers."""
    findings = tuple(Finding(f.summary, evidence.globalize(f.explanation)[0]) for f in draft.findings)
    return replace(draft, summary=evidence.globalize(draft.summary)[0], findings=findings)


class ExtractiveModel:
    """Needs no key and no network. Fitted on a corpus it indexes it; opened on an index it answers."""

    name = "extractive"
    generative = False

    def __init__(self, passages: SentenceStore | None = None, index: Index | None = None) -> None:
        self._passages = passages
        self._index = index
        self._searcher: Searcher | None = None
        self._opening = Lock()
        self._known_worth: Mapping[str, float] | None = passages.worth if passages else None

    @classmethod
    def fit(cls, documents: Sequence[Document], entity_types: tuple[str, ...]) -> ExtractiveModel:
        """Read a corpus, so that its chunks can be read in its light; without that each is read by itself."""
        return cls(SentenceStore.read(documents, read_lexicon(documents, entity_types)))

    @classmethod
    def of_index(cls, index: Index) -> ExtractiveModel:
        """Open the sentences of an index, so that questions can be answered from them."""
        return cls(index=index)

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
    def _(self, task: ExtractGraph) -> Extraction:
        passages = self._passages
        if passages is None or not passages.knows(task.chunk):
            passages = SentenceStore.of_chunk(task.chunk, task.entity_types)
        return extract_graph(task, passages)

    @_do.register
    def _(self, task: DescribeElement) -> Description:
        return describe_element(task, self._worth())

    @_do.register
    def _(self, task: WriteReport) -> ReportDraft:
        spoken = replace(task, language=self._language_of(task))
        return globalized(write_report(spoken, self._worth()), task.evidence)

    @_do.register
    def _(self, task: AnyMissed) -> bool:
        return False

    @_do.register
    def _(self, task: RateReport) -> int:
        return rate_report(task, self._opened())

    @_do.register
    def _(self, task: MapAnswer) -> PartialAnswer:
        return map_answer(task, self._opened())

    @_do.register
    def _(self, task: ReduceAnswer) -> str:
        return reduce_answer(task, self._opened())

    @_do.register
    def _(self, task: AnswerFromContext) -> str:
        return answer_from_context(task, self._opened())

    @_do.register
    def _(self, task: PrimeAnswer) -> Probe:
        return prime_answer(task, self._opened())

    @_do.register
    def _(self, task: PursueFollowUp) -> Probe:
        return follow_up(task, self._opened())

    @_do.register
    def _(self, task: NameEntities) -> tuple[str, ...]:
        return name_entities(task.text)

    @_do.register
    def _(self, task: ChooseRelations) -> tuple[tuple[int, ...], ...]:
        return choose_relations(task, self._read())

    @_do.register
    def _(self, task: ExamineEvidence) -> Examined:
        return examine(task, self._read())

    @_do.register
    def _(self, task: NextThought) -> str:
        return next_thought(task, self._read())

    @_do.register
    def _(self, task: DraftAnswer) -> Draft:
        return draft_answer(task)

    @_do.register
    def _(self, task: SelectFactual) -> tuple[int, ...]:
        return select_factual(task)

    @_do.register
    def _(self, task: ClearSentences) -> tuple[Numbered, ...]:
        return clear_sentences(task)

    @_do.register
    def _(self, task: FactualClaims) -> tuple[Numbered, ...]:
        return factual_claims(task)

    @_do.register
    def _(self, task: Entails) -> bool:
        return entails(task)

    def _language_of(self, task: WriteReport) -> str:
        """Return the language of a report: that of its evidence, where a corpus has several."""
        several = len(self._languages) > 1 if self._index is None else len(self._index.languages) > 1
        if not several:
            return task.language
        evidence = task.evidence
        told = (
            *(e.description for e in evidence.entities[:LOOKED_AT]),
            *(r.summary for r in evidence.reports[:LOOKED_AT]),
        )
        return language_of(told, [task.language])

    @cached_property
    def _languages(self) -> frozenset[str]:
        return frozenset(document.language for document in (self._passages.documents if self._passages else ()))

    def _worth(self) -> Mapping[str, float]:
        """Return what set phrases leave of the worth of sentences, by their words."""
        if self._known_worth is None:
            self._known_worth = self._opened().passages.worth if self._index is not None else {}
        return self._known_worth

    def _read(self) -> Index:
        if self._index is None:
            raise ModelError("the extractive model answers from an index: open it with ExtractiveModel.of_index")
        return self._index

    def _opened(self) -> Searcher:
        with self._opening:  # threads that ask at once share one searcher
            if self._searcher is None:
                self._searcher = Searcher(self._read())
            return self._searcher
