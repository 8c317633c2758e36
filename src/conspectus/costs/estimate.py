"""What a build with a language model will cost, told before it is spent.

What is asked first of each chunk is known to the token. What depends on the replies is a range: by what replies are
usually like, or, where enough chunks have kept replies, by what those took. When extraction is done it is told anew,
from the graph that is there by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.community_context import CommunityContextBuilder
from conspectus.corrections import Entry
from conspectus.costs.cache_replay import FEW, CacheReplay, Step, found_by, rehearse_rest, replay, told
from conspectus.costs.entity_estimates import GLEANED, GRAPH, EntityEstimate, Taken, counted
from conspectus.costs.ranges import NONE, Range, exactly, share, total
from conspectus.index import Index
from conspectus.indexing.describe import DescribedGraph
from conspectus.indexing.pipeline import BuildInput, build_graph
from conspectus.indexing.reports import reported
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import CachingSender
from conspectus.rows import Chunk, Claim, Community, Document, Entity, Relationship, Usage
from conspectus.settings import Settings
from conspectus.tasks import ExtractClaims, ExtractTriples, WriteReport

CLAIMS = Range(0.1, 2.5)
"""Tokens of the claims of a chunk for each of its own."""
NAMES = Range(10, 200)
"""Tokens of the names that claims and triples are asked about."""
TRIPLES = Range(0.2, 3.0)
"""Tokens of the triples of a chunk for each of its own."""
SAID_AGAIN = Range(0.4, 1.0)
"""What of a reply a further turn of its conversation says again, which has no spaces and none of what was left out."""
QUESTION = Range(20, 60)
"""Tokens that a further turn of a conversation takes."""
CHANGED = 30
"""Elements and reports that one more chunk changes at the most, those of the communities above among them."""
DESCRIBING, DESCRIPTION = Range(150, 900), Range(20, 220)
"""Tokens of what is asked and replied for one element."""
REPORT = Range(200, 1300)
"""Tokens of a report."""
ALIKE = Range(0.7, 1.4)
"""The mean of more prompts or replies, by the mean of those that are kept."""
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
    seen: int = 0
    """Chunks whose kept replies tell what extraction will take; 0 where it is told by what replies are usually like."""

    @property
    def calls(self) -> Range:
        return total(t.calls for t in self.tasks)

    @property
    def prompt_tokens(self) -> Range:
        return total(t.prompt_tokens for t in self.tasks)

    @property
    def completion_tokens(self) -> Range:
        return total(t.completion_tokens for t in self.tasks)

    @property
    def tokens(self) -> Range:
        """Tokens of prompts and replies."""
        return self.prompt_tokens.plus(self.completion_tokens)

    @property
    def likely_tokens(self) -> float:
        """The tokens to count on, within a factor of two of what was measured on six corpora (docs/estimates.md)."""
        return sum(t.prompt_tokens.likely + t.completion_tokens.likely for t in self.tasks)

    @property
    def likely_cost(self) -> float | None:
        """The money to count on, in US dollars; None if the price of a model is not known."""
        costs = [task.cost for task in self.tasks]
        return None if None in costs else sum(cost.likely for cost in costs if cost is not None)

    @property
    def cost(self) -> Range | None:
        """US dollars; None where the price of a model is not known."""
        costs = [task.cost for task in self.tasks]
        return None if None in costs else total(cost for cost in costs if cost is not None)


def check_budget(rest: Estimate, ledger: Budget) -> None:
    """Raise BudgetReached, before anything is asked, where what is left to do would pass the budget at the least."""
    ledger.check_room(rest.tokens.low, (rest.cost or NONE).low, "with less to do, as a sample")


def _like(steps: Sequence[Step], part: int, usual: Range) -> Range:
    """Return the tokens of one more prompt (part 0) or reply (part 1), by those of kept ones where there are some."""
    kept = [(s.prompt_tokens, s.completion_tokens)[part] for s in steps if s.completion_tokens is not None]
    mean = sum(n for n in kept if n) / max(1, len(kept))
    return Range(mean * ALIKE.low, mean * ALIKE.high) if len(kept) >= FEW else usual


def in_words(taken: Estimate | Usage) -> str:
    """Return calls and tokens, and money where the price is known, as `120 calls and 9,000 to 12,000 tokens`."""
    if isinstance(taken, Usage):
        tokens = taken.prompt_tokens + taken.completion_tokens
        calls, used, cost = exactly(taken.calls), exactly(tokens), exactly(taken.cost) if taken.cost else None
    else:
        calls, used, cost = taken.calls, taken.tokens, taken.cost
    money = f" ({cost.told(2)} USD)" if cost and cost.high else ""
    return f"{calls.told()} calls and {used.told()} tokens{money}"


class Estimator:
    """Estimates with the prompts and the cache of one opened model."""

    def __init__(self, model: ChatModel, sender: CachingSender, settings: Settings) -> None:
        self._model = model
        self._sender = sender
        self._settings = settings

    async def build(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        language: str,
        before: Index | None = None,
        corrections: Sequence[Entry] = (),
    ) -> Estimate:
        """Estimate a whole build, which carries on the communities of an index `before`."""
        walks = await replay(chunks, self._sender, self._settings, language)
        extraction = self._extraction(walks, language)
        left = sum(not walk.whole for walk in walks)
        steps: list[Step] = []
        evidence: Range | None = None
        if left < len(walks):
            found, settings = found_by(walks), self._settings
            drawn = build_graph(BuildInput(documents, settings, (), corrections, before), chunks, found, language)
            evidence = None if left else self._evidence(drawn.graph, drawn.communities, language)
            steps = await rehearse_rest(drawn.graph, drawn.communities, self._sender, settings, language)
        usual = self._usual(chunks, language) if left else {}
        rows = (row for row in self._later(left, steps, evidence, usual) if row.calls.high)
        return Estimate((*extraction.tasks, *rows), extraction.seen)

    async def extraction(self, chunks: Sequence[Chunk], language: str) -> Estimate:
        """Estimate what chunks alone are asked about, and nothing of the rest of a build."""
        return self._extraction(await replay(chunks, self._sender, self._settings, language), language)

    def _extraction(self, walks: Sequence[CacheReplay], language: str) -> Estimate:
        seen = [walk for walk in walks if walk.whole]
        left = [walk for walk in walks if not walk.whole]
        known = len(seen) if len(seen) >= FEW else 0
        rows = self._by_kept(seen, left) if known else self._by_use(left, language)
        return Estimate(tuple(row for row in rows if row.calls.high), known)

    def _by_kept(self, seen: Sequence[CacheReplay], left: Sequence[CacheReplay]) -> list[TaskEstimate]:
        """Estimate an extraction by what the chunks whose replies are kept took.

        A chunk takes as many calls as another; what is more in their prompts than in the first one, and the replies,
        are in proportion to its text.
        """
        rows: list[TaskEstimate] = []
        for task in dict.fromkeys(step.task for walk in seen for step in walk.steps):
            taken = [(float(walk.chunk.n_tokens), walk.first, *walk.taken(task)) for walk in seen]
            unseen = [walk for walk in left if not walk.taken(task)[0]]
            texts = [float(walk.chunk.n_tokens) for walk in unseen]
            each = sum(calls for _, _, calls, _, _ in taken) / len(taken)
            most = max(calls for _, _, calls, _, _ in taken) * len(unseen)
            calls = told([(1.0, calls) for _, _, calls, _, _ in taken], [1.0] * len(unseen))
            more = told([(text, asked - each * first) for text, first, _, asked, _ in taken], texts)
            written = told([(text, written) for text, _, _, _, written in taken], texts)
            asked = exactly(each * sum(walk.first for walk in unseen)).plus(Range(*more))
            within = Range(max(0, round(calls[0])), min(most, round(calls[1])))
            rows.append(self.row(task, within, asked.positive(), Range(*written).positive()))
        return rows

    def _by_use(self, left: Sequence[CacheReplay], language: str) -> list[TaskEstimate]:
        """Estimate an extraction by what replies are usually like."""
        chunks = [walk.chunk for walk in left]
        calls, text = exactly(len(left)), float(sum(chunk.n_tokens for chunk in chunks))
        fresh = [walk for walk in left if walk.steps[0].completion_tokens is None]
        first, asked = exactly(len(fresh)), exactly(sum(walk.first for walk in fresh))
        if self._settings.extract.style == "triples":
            bare = self._bare([ExtractTriples(c, (), language=language) for c in chunks])
            rows = [
                self.row("NameEntities", first, asked, first.times(NAMES)),
                self.row("ExtractTriples", calls, bare.plus(calls.times(NAMES)), share(text, TRIPLES)),
            ]
        else:
            names = self._counted(chunks, language).mentions
            part = sum(walk.chunk.n_tokens for walk in fresh) / max(1.0, text)
            rows = [self.row("ExtractGraph", first, asked, share(part * names, GRAPH)), *self._gleaning(left, names)]
        if self._settings.extract.claims:
            bare = self._bare([ExtractClaims(c, (), language=language) for c in chunks])
            rows.append(self.row("ExtractClaims", calls, bare.plus(calls.times(NAMES)), share(text, CLAIMS)))
        return rows

    def _gleaning(self, left: Sequence[CacheReplay], names: float) -> list[TaskEstimate]:
        calls, first = exactly(len(left)), exactly(sum(walk.first for walk in left))
        conversation = first.plus(share(names, GRAPH).times(SAID_AGAIN)).plus(calls.times(QUESTION))
        rounds = self._settings.extract.max_gleanings
        asked, more = Range(1 if rounds else 0, rounds), Range(0, rounds)
        return [
            self.row("AnyMissed", calls.times(asked), conversation.times(asked), calls.times(asked)),
            self.row("GleanMore", calls.times(more), conversation.times(more), share(names, GLEANED).times(more)),
        ]

    def _bare(self, tasks: Sequence[ExtractClaims | ExtractTriples]) -> Range:
        """Return the tokens of prompts that lack only what earlier replies will say."""
        return exactly(sum(prompt_tokens(self._model.request(task)) for task in tasks))

    def _usual(self, chunks: Sequence[Chunk], language: str) -> dict[str, Taken]:
        """Return what descriptions and reports of a text like this usually take."""
        found, claims = self._counted(chunks, language), self._settings.extract.claims
        reported = found.reported(self._settings.reports, claims=claims)
        return {"DescribeElement": found.described(claims=claims), "WriteReport": reported}

    def _counted(self, chunks: Sequence[Chunk], language: str) -> EntityEstimate:
        return counted(chunks, self._settings.extract.entity_types, language)

    def _later(
        self, left: int, steps: Sequence[Step], evidence: Range | None, usual: Mapping[str, Taken]
    ) -> list[TaskEstimate]:
        """Estimate what depends on the extraction of the chunks that are left; `steps` are known without them.

        `evidence` are the tokens of the prompts of all reports, where the graph is known; else there is the `usual`.
        """
        if not steps:
            return [self.row(task, *taken) for task, taken in usual.items()]
        rows = self._by_steps(left, steps, evidence)
        kept = any(step.completion_tokens is not None for step in steps)
        for n, row in enumerate(rows if left else ()):
            most = [Range(0 if kept else of.low, of.high) for of in usual[row.task]]
            found = (row.calls, row.prompt_tokens, row.completion_tokens)
            rows[n] = self.row(row.task, *(taken.within(of) for taken, of in zip(found, most, strict=True)))
        return rows

    def _by_steps(self, left: int, steps: Sequence[Step], evidence: Range | None) -> list[TaskEstimate]:
        described, reports = ([s for s in steps if s.task == task] for task in ("DescribeElement", "WriteReport"))
        open_ = [s for s in described if s.completion_tokens is None]
        more = Range(0, left * CHANGED)
        calls = exactly(len(open_)).plus(more)
        asked = exactly(sum(s.prompt_tokens for s in open_)).plus(more.times(_like(described, 0, DESCRIBING)))
        written = calls.times(_like(described, 1, DESCRIPTION))
        rows = [self.row("DescribeElement", calls, asked, written)]
        unwritten = sum(s.completion_tokens is None for s in reports)
        calls = Range(unwritten, unwritten + left * CHANGED)
        whole = Range(TEMPLATE, TEMPLATE + self._settings.reports.context_tokens)
        asked = evidence if evidence and unwritten == len(reports) else calls.times(_like(reports, 0, whole))
        return [*rows, self.row("WriteReport", calls, asked, calls.times(_like(reports, 1, REPORT)))]

    def rest(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> Estimate:
        """Estimate what is left when extraction is done: which descriptions and reports is known by then."""
        tables = (graph.entities, graph.relationships, graph.claims)
        tasks = [task for table in tables for task in table.tasks(language).values()]
        requests = [request for task in tasks if not self._sender.has(request := self._model.request(task))]
        count = Range(len(requests), len(requests))
        asked = float(sum(map(prompt_tokens, requests)))
        large = len(reported(communities, self._settings.reports))
        evidence = self._evidence(graph, communities, language)
        if len(requests) < len(tasks):  # some are kept, and so may be reports
            reports, evidence = Range(0, large), Range(0, evidence.high)
        else:
            reports = exactly(large)
        return Estimate(
            (
                self.row("DescribeElement", count, Range(asked, asked), count.times(DESCRIPTION)),
                self.row("WriteReport", reports, evidence, reports.times(REPORT)),
            )
        )

    def _evidence(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> Range:
        """Return the tokens of the prompts of reports: what is to be described has no description, or all it can."""
        large = reported(communities, self._settings.reports)
        limit = self._settings.reports.context_tokens

        def asked(entities: Sequence[Entity], relationships: Sequence[Relationship], claims: Sequence[Claim]) -> float:
            gatherer = CommunityContextBuilder(communities, entities, relationships, limit, claims)
            tasks = (WriteReport(gatherer.gather(community, {}), language=language) for community in large)
            return float(sum(prompt_tokens(self._model.request(task)) for task in tasks))

        return Range(asked(graph.entities.rows, graph.relationships.rows, graph.claims.rows), asked(*graph.drafts()))

    def row(self, task: str, calls: Range, asked: Range, written: Range) -> TaskEstimate:
        """Return what a task of that name takes, given its calls and the tokens of its prompts and replies."""
        model = self._settings.llm.tasks.get(task, self._settings.model)
        ledger, asked, written = self._sender.ledger, asked.whole(), written.whole()
        cost = (
            Range(*(ledger.cost(model, int(a), int(w)) for a, w in zip(asked, written, strict=True)))
            if ledger.price(model)
            else None
        )
        return TaskEstimate(task, model, calls.whole(), asked, written, cost)
