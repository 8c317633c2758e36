"""What a build with a language model will cost, told before it is spent.

What is asked of the chunks is known to the token. What depends on the replies is a range, by what replies are
usually like; when extraction is done it is told anew, from the graph that is there by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.index.describe import DescribedGraph
from conspectus.index.reports import reported
from conspectus.models.chat.model import ChatModel
from conspectus.models.server.client import prompt_tokens
from conspectus.models.server.sender import CachingSender
from conspectus.rows import Chunk, Community
from conspectus.settings import Settings
from conspectus.tasks import ExtractClaims, ExtractGraph


class Range(NamedTuple):
    """From `low` to `high`; what is known has both alike."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)


NONE = Range(0, 0)
GRAPH = Range(0.2, 4.0)
"""Tokens of an extraction for each token of its chunk, short chunks having the most."""
GLEANED = Range(0.0, 1.5)
"""The same of a round of gleaning."""
CLAIMS = Range(0.1, 2.5)
NAMES = Range(10, 200)
"""Tokens of the names that claims are asked about."""
QUESTION = Range(20, 60)
"""Tokens that a further turn of a conversation takes."""
DESCRIBED, REPORTED = Range(0.2, 8), Range(0.05, 2.0)
"""Elements to be described, and communities to be reported, for each chunk."""
DESCRIBING, DESCRIPTION = Range(150, 900), Range(20, 300)
"""Tokens of what is asked and replied for one element."""
REPORT = Range(200, 1800)
TEMPLATE = 600
"""Tokens of the prompt of a report, without its evidence."""


@dataclass(frozen=True)
class TaskEstimate:
    """What one task will take; `cost` is None where the price of its model is not known."""

    task: str
    model: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    cost: Range | None


@dataclass(frozen=True)
class Estimate:
    """What all tasks will take together; replies that are kept are not in it."""

    tasks: tuple[TaskEstimate, ...]

    @property
    def calls(self) -> Range:
        return _sum(t.calls for t in self.tasks)

    @property
    def prompt_tokens(self) -> Range:
        return _sum(t.prompt_tokens for t in self.tasks)

    @property
    def completion_tokens(self) -> Range:
        return _sum(t.completion_tokens for t in self.tasks)

    @property
    def tokens(self) -> Range:
        """Tokens of prompts and replies."""
        return self.prompt_tokens.plus(self.completion_tokens)

    @property
    def cost(self) -> Range | None:
        """Money; None where the price of a model is not known."""
        costs = [task.cost for task in self.tasks]
        return None if None in costs else _sum(cost for cost in costs if cost is not None)


def _sum(ranges: Iterable[Range]) -> Range:
    total = NONE
    for part in ranges:
        total = total.plus(part)
    return total


class Estimator:
    """Estimates with the prompts and the cache of one opened model."""

    def __init__(self, model: ChatModel, sender: CachingSender, settings: Settings) -> None:
        self._model = model
        self._sender = sender
        self._settings = settings

    def build(self, chunks: Sequence[Chunk], language: str) -> Estimate:
        """Estimate a whole build."""
        types = self._settings.extract.entity_types
        pairs = [(c, self._model.request(ExtractGraph(c, types, language=language))) for c in chunks]
        asked = [(c, r) for c, r in pairs if not self._sender.has(r)]
        text = float(sum(c.n_tokens for c, _ in asked))
        known = Range(len(asked), len(asked))
        first = float(sum(prompt_tokens(r) for _, r in asked))
        replies = Range(text * GRAPH.low, text * GRAPH.high)
        conversation = Range(first, first).plus(replies).plus(known.times(QUESTION))
        rounds = self._settings.extract.max_gleanings
        gleaning = Range(1 if rounds else 0, rounds)
        rows = [
            self.row("ExtractGraph", known, Range(first, first), replies),
            self.row("AnyMissed", known.times(gleaning), conversation.times(gleaning), known.times(gleaning)),
            self.row(
                "GleanMore",
                Range(0, len(asked) * rounds),
                Range(0, conversation.high * rounds),
                Range(0, text * GLEANED.high * rounds),
            ),
        ]
        if self._settings.extract.claims:
            rows.append(self._claims([c for c, _ in asked], language))
        return Estimate((*(r for r in rows if r.calls.high), *self._later(len(chunks), bool(asked))))

    def _claims(self, chunks: Sequence[Chunk], language: str) -> TaskEstimate:
        tasks = (ExtractClaims(c, (), language=language) for c in chunks)
        bare = float(sum(prompt_tokens(self._model.request(task)) for task in tasks))
        count = Range(len(chunks), len(chunks))
        text = float(sum(c.n_tokens for c in chunks))
        replies = Range(text * CLAIMS.low, text * CLAIMS.high)
        return self.row("ExtractClaims", count, Range(bare, bare).plus(count.times(NAMES)), replies)

    def _later(self, chunks: int, new: bool) -> list[TaskEstimate]:
        """Estimate what depends on the extraction; where all of that is kept, the rest may be kept too."""
        limit = self._settings.reports.context_tokens
        described = Range(chunks * DESCRIBED.low if new else 0, chunks * DESCRIBED.high)
        large = Range(chunks * REPORTED.low if new else 0, chunks * REPORTED.high)
        evidence = Range(TEMPLATE, TEMPLATE + limit)
        return [
            self.row("DescribeElement", described, described.times(DESCRIBING), described.times(DESCRIPTION)),
            self.row("WriteReport", large, large.times(evidence), large.times(REPORT)),
        ]

    def rest(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> Estimate:
        """Estimate what is left when extraction is done: which descriptions and reports is known by then."""
        tables = (graph.entities, graph.relationships, graph.claims)
        tasks = [task for table in tables for task in table.tasks(language).values()]
        requests = [request for task in tasks if not self._sender.has(request := self._model.request(task))]
        count = Range(len(requests), len(requests))
        asked = float(sum(map(prompt_tokens, requests)))
        large = reported(communities, self._settings.reports)
        fresh = len(requests) == len(tasks)
        reports = Range(len(large) if fresh else 0, len(large))
        limit = self._settings.reports.context_tokens
        evidence = Range(TEMPLATE, TEMPLATE + limit)
        return Estimate(
            (
                self.row("DescribeElement", count, Range(asked, asked), count.times(DESCRIPTION)),
                self.row("WriteReport", reports, reports.times(evidence), reports.times(REPORT)),
            )
        )

    def row(self, task: str, calls: Range, asked: Range, written: Range) -> TaskEstimate:
        """Return what a task of that name takes, given its calls and the tokens of its prompts and replies."""
        model = self._settings.llm.tasks.get(task, self._settings.model)
        ledger = self._sender.ledger
        cost = (
            Range(*(ledger.cost(model, round(a), round(w)) for a, w in zip(asked, written, strict=True)))
            if ledger.price(model)
            else None
        )
        return TaskEstimate(task, model, calls, asked, written, cost)
