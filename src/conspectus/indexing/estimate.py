"""Estimate what a build with a language model will take, before anything is asked.

The first prompts of all chunks are counted exactly, and cached replies are taken off: every chunk, description and
report is taken through its prompts by cached replies alone. The rest is a range: names that rules read in the text
times what was measured for a name (docs/estimates.md), or, with a sample, what the sampled chunks took for their text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import NamedTuple

from conspectus.community_context import CommunityContextBuilder
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.indexing.describe import DescribedGraph, describe
from conspectus.indexing.extract import Extracted, extract
from conspectus.indexing.pipeline import BuildInput, build_graph
from conspectus.indexing.reports import reported, write_reports
from conspectus.indexing.update import Changes
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Feature, Request, Status, prompt_tokens
from conspectus.rows import Chunk, Claim, Community, Document, Entity, Relationship, Usage
from conspectus.settings import ReportSettings, Settings
from conspectus.tasks import ExtractClaims, ExtractTriples, WriteReport
from conspectus.text.lexicon import read_lexicon

# Ranges


class Range(NamedTuple):
    """From `low` to `high`; both are equal where a number is known."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def within(self, other: Range) -> Range:
        """Return the overlap with another range; where there is none, the end of this one that is nearer to it."""
        low = min(max(self.low, other.low), max(self.high, other.low))
        return Range(low, max(low, min(self.high, other.high)))

    def whole(self) -> Range:
        """Return the narrowest range of whole numbers that are not negative around it."""
        return Range(max(0, floor(round(self.low, 6))), max(0, ceil(round(self.high, 6))))

    @property
    def likely(self) -> float:
        """The number to count on: the geometric mean, or `OF_MAXIMUM` of the end of a range that begins at 0."""
        return sqrt(self.low * self.high) if self.low else OF_MAXIMUM * self.high

    def text(self, digits: int = 0) -> str:
        """Return `12`, or `12 to 15`."""
        low, high = (f"{number:,.{digits}f}" for number in self)
        return low if low == high else f"{low} to {high}"


NONE = Range(0, 0)
OF_MAXIMUM = 0.3
"""Of the end of a range that begins at 0: rounds of gleaning took 0.3 to 0.6 of the prompt tokens that they may take,
and 0.07 to 0.2 of the reply tokens, on six corpora (docs/estimates.md)."""


def exactly(number: float) -> Range:
    """Return the range of a known number."""
    return Range(number, number)


def total(ranges: Iterable[Range]) -> Range:
    """Return the sum of ranges."""
    ranges = list(ranges)
    return Range(sum(r.low for r in ranges), sum(r.high for r in ranges))


# What was measured. Per name: the recorded replies of GPT-4o and GPT-4.1 and of the simulated server on four corpora,
# with a margin. All in tokens unless it says otherwise.

UNNAMED, UNNAMED_ONCE, UNNAMED_SHARED = 0.006, 0.003, 0.0007
"""Entities without capitals, which rules do not read, for each token of text: in all chunks, different ones, and those
in several chunks."""
LONE, LINKED = 40, 25
"""Names that may be in no community; elements that may need a description however few names several chunks share."""
GRAPH, GLEANED = Range(36, 140), Range(0, 60)
"""An extraction, and one round of gleaning, for each name in a chunk."""
DESCRIBED = (Range(0.52, 1.8), Range(180, 720), Range(52, 220))
"""For each name that several chunks share: calls, prompts and replies of descriptions."""
REPORTED = (Range(0.08, 0.31), Range(140, 560), Range(38, 310))
"""For each different name: calls, prompts and replies of reports on communities of `SMALLEST` entities or more."""
SMALLEST = 3
WITH_CLAIMS = 2
"""How many times more there may be to describe and report where claims are extracted too."""
CLAIMS, TRIPLES = Range(0.1, 2.5), Range(0.2, 3.0)
"""The claims and the triples of a chunk, for each token of it."""
NAMES = Range(10, 200)
"""The names that a prompt for claims or triples lists."""
REPEATED, QUESTION = Range(0.4, 1.0), Range(20, 60)
"""What a further turn repeats, as a share of the reply before it, and what it adds."""
DESCRIPTION_PROMPT, DESCRIPTION, REPORT = Range(150, 900), Range(20, 220), Range(200, 1300)
TEMPLATE = 600
"""The prompt of a report without its context."""
CHANGED = 30
"""Elements and reports that one new chunk changes at most, those of communities above among them."""
FEW = 8
"""Cached replies from which on they are better than measured ranges."""
ALIKE, SAMPLED = Range(0.7, 1.4), Range(0.6, 1.6)
"""The mean of new prompts or replies, as a share of that of cached ones: of elements and reports, and of chunks."""


# An estimate


@dataclass(frozen=True)
class TaskEstimate:
    """What one task will take; `cost` (US dollars) is None where the price of its model is unknown."""

    task: str
    model: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    cost: Range | None


@dataclass(frozen=True)
class Estimate:
    """What all tasks will take together, without cached replies."""

    tasks: tuple[TaskEstimate, ...]
    seen: int = 0
    """Chunks with cached replies that the estimate of extraction is based on; 0 where measured ranges are."""

    @property
    def calls(self) -> Range:
        return total(task.calls for task in self.tasks)

    @property
    def prompt_tokens(self) -> Range:
        return total(task.prompt_tokens for task in self.tasks)

    @property
    def completion_tokens(self) -> Range:
        return total(task.completion_tokens for task in self.tasks)

    @property
    def tokens(self) -> Range:
        """Tokens of prompts and replies."""
        return self.prompt_tokens.plus(self.completion_tokens)

    @property
    def likely_tokens(self) -> float:
        """The tokens to count on: within a factor of two on the corpora of docs/estimates.md."""
        return sum(t.prompt_tokens.likely + t.completion_tokens.likely for t in self.tasks)

    @property
    def cost(self) -> Range | None:
        """US dollars; None where the price of a model is unknown."""
        costs = [task.cost for task in self.tasks]
        return None if None in costs else total(cost for cost in costs if cost is not None)

    @property
    def likely_cost(self) -> float | None:
        """The US dollars to count on; None where the price of a model is unknown."""
        costs = [task.cost for task in self.tasks]
        return None if None in costs else sum(cost.likely for cost in costs if cost is not None)


def check_budget(rest: Estimate, budget: Budget) -> None:
    """Raise BudgetReached, before anything is asked, where even the low end of an estimate passes the budget."""
    budget.check_room(rest.tokens.low, (rest.cost or NONE).low, "with less to do, as a sample")


def in_words(taken: Estimate | Usage) -> str:
    """Return calls, tokens and, if known, money, as `120 calls and 9,000 to 12,000 tokens`."""
    if isinstance(taken, Usage):
        calls, used = exactly(taken.calls), exactly(taken.prompt_tokens + taken.completion_tokens)
        cost = exactly(taken.cost) if taken.cost else None
    else:
        calls, used, cost = taken.calls, taken.tokens, taken.cost
    money = f" ({cost.text(2)} USD)" if cost and cost.high else ""
    return f"{calls.text()} calls and {used.text()} tokens{money}"


# Names in a text

Needs = tuple[Range, Range, Range]
"""Calls, prompt tokens and reply tokens."""


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Mentions of names, each counted once in a chunk; different names; names that several chunks share."""

    mentions: float
    names: float
    shared: float

    def descriptions(self, *, claims: bool) -> Needs:
        """Return what descriptions take."""
        calls, prompts, replies = (Range(self.shared * f.low, (self.shared + LINKED) * f.high) for f in DESCRIBED)
        return _with_claims(calls, claims), _with_claims(prompts, claims), _with_claims(replies, claims)

    def reports(self, settings: ReportSettings, *, claims: bool) -> Needs:
        """Return what reports take, which depends on the smallest community that gets one."""
        if not settings.write:
            return NONE, NONE, NONE
        size = SMALLEST / settings.min_report_entities
        least, most = max(0.0, self.names - LONE) * min(1.0, size), self.names * max(0.5, size)
        calls, prompts, replies = (Range(least * f.low, most * f.high) for f in REPORTED)
        return calls, _with_claims(prompts, claims), _with_claims(replies, claims)


def _with_claims(usual: Range, claims: bool) -> Range:
    return Range(usual.low, usual.high * WITH_CLAIMS) if claims else usual


def count_names(chunks: Sequence[Chunk], entity_types: Sequence[str], language: str) -> NameCounts:
    """Count the names that rules read in chunks, without dates, and add what rules do not read."""
    texts = [Document(c.id, i, "", c.text, c.document_id, None, {"language": language}) for i, c in enumerate(chunks)]
    lexicon = read_lexicon(texts, [kind for kind in entity_types if kind != "date"])
    chunk_of = lexicon.sentences.document.repeat(lexicon.starts[1:] - lexicon.starts[:-1]).tolist()
    chunks_with = Counter(name for _, name in set(zip(chunk_of, lexicon.mentions.tolist(), strict=True)))
    size = sum(chunk.n_tokens for chunk in chunks)
    shared = sum(number > 1 for number in chunks_with.values())
    mentions, names = chunks_with.total() + UNNAMED * size, len(chunks_with) + UNNAMED_ONCE * size
    return NameCounts(mentions, names, shared + UNNAMED_SHARED * size)


# Cached replies


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `completion_tokens` is None where its reply is not cached."""

    task: str
    prompt_tokens: int
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The extraction of a chunk as far as cached replies go."""

    chunk: Chunk
    steps: tuple[Step, ...]
    extracted: Extracted

    @property
    def complete(self) -> bool:
        return all(step.completion_tokens is not None for step in self.steps)

    def taken(self, task: str) -> tuple[int, int, int]:
        """Return the calls of a task that are cached, and the tokens of their prompts and replies."""
        cached = [step for step in self.steps if step.task == task and step.completion_tokens is not None]
        prompts, replies = sum(s.prompt_tokens for s in cached), sum(s.completion_tokens or 0 for s in cached)
        return len(cached), prompts, replies


class _NotCached(ModelError):
    """There is no cached reply to a request."""


class _CacheOnly:
    """A sender of cached replies that asks nothing and records every request."""

    def __init__(self, sender: CachingSender) -> None:
        self._sender = sender
        self.steps: list[Step] = []

    async def send(self, request: Request) -> Completion:
        reply = self._sender.peek(request)
        tokens = (reply.prompt_tokens if reply else 0) or prompt_tokens(request)
        self.steps.append(Step(request.task, tokens, reply.completion_tokens if reply else None))
        if reply is None:
            raise _NotCached("its reply is not cached")
        return reply

    async def stream(self, request: Request) -> AsyncIterator[str]:
        yield (await self.send(request)).text

    async def mark(self, request: Request, status: Status) -> None: ...

    async def keep(self, request: Request, reply: Completion) -> None: ...

    def has(self, request: Request) -> bool:
        return self._sender.has(request)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        return self._sender.accepts(model, feature)


# Estimating


class Estimator:
    """Estimates with the prompts and the cache of one opened model."""

    def __init__(self, model: ChatModel, sender: CachingSender, settings: Settings) -> None:
        self._model = model
        self._sender = sender
        self._settings = settings

    def row(self, task: str, calls: Range, prompts: Range, replies: Range) -> TaskEstimate:
        """Return the estimate of a task from its calls and the tokens of its prompts and replies."""
        model = self._settings.llm.tasks.get(task, self._settings.model)
        budget, prompts, replies = self._sender.ledger, prompts.whole(), replies.whole()
        ends = zip(prompts, replies, strict=True)
        cost = Range(*(budget.cost(model, int(p), int(r)) for p, r in ends)) if budget.price(model) else None
        return TaskEstimate(task, model, calls.whole(), prompts, replies, cost)

    async def build(self, build: BuildInput, chunks: Sequence[Chunk], language: str) -> Estimate:
        """Estimate a whole build."""
        replays = await self._replay(chunks, language)
        extraction = self._extraction(replays, language)
        left = sum(not replay.complete for replay in replays)
        steps: list[Step] = []
        contexts: Range | None = None
        if left < len(replays):
            graphs = [replay.extracted.graphs[0] for replay in replays]
            claims = [replay.extracted.claims[0] for replay in replays]
            made = build_graph(build, chunks, Extracted(graphs, claims), language)
            contexts = None if left else self._report_prompts(made.graph, made.communities, language)
            steps = await self._replay_rest(made.graph, made.communities, language)
        rows = self._after_extraction(left, steps, contexts, chunks, language)
        return Estimate((*extraction.tasks, *(row for row in rows if row.calls.high)), extraction.seen)

    async def extraction(self, chunks: Sequence[Chunk], language: str) -> Estimate:
        """Estimate the extraction of chunks alone."""
        return self._extraction(await self._replay(chunks, language), language)

    def rest(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> Estimate:
        """Estimate the rest of a build after extraction, when the descriptions and reports to write are known."""
        tasks = [
            t for table in (graph.entities, graph.relationships, graph.claims) for t in table.tasks(language).values()
        ]
        requests = [request for task in tasks if not self._sender.has(request := self._model.request(task))]
        calls, prompts = exactly(len(requests)), exactly(sum(map(prompt_tokens, requests)))
        reports = exactly(len(reported(communities, self._settings.reports)))
        contexts = self._report_prompts(graph, communities, language)
        if len(requests) < len(tasks):  # some are cached, and reports may be too
            reports, contexts = Range(0, reports.high), Range(0, contexts.high)
        descriptions = self.row("DescribeElement", calls, prompts, calls.times(DESCRIPTION))
        return Estimate((descriptions, self.row("WriteReport", reports, contexts, reports.times(REPORT))))

    async def _replay(self, chunks: Sequence[Chunk], language: str) -> list[Replay]:
        """Take every chunk through its extraction by cached replies."""
        cache = _CacheOnly(self._sender)
        model = ChatModel(cache, self._settings)
        replays: list[Replay] = []
        for chunk in chunks:
            cache.steps = []
            extracted = await extract([chunk], model, self._settings.extract, language)
            replays.append(Replay(chunk, tuple(cache.steps), extracted))
        return replays

    async def _replay_rest(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> list[Step]:
        """Take descriptions and reports of a graph through cached replies."""
        cache = _CacheOnly(self._sender)
        model, settings = ChatModel(cache, self._settings), self._settings.reports
        await describe(graph, model, language)
        await graph.done()
        entities, relationships, claims = graph.entities.rows, graph.relationships.rows, graph.claims.rows
        contexts = CommunityContextBuilder(communities, entities, relationships, settings.context_tokens, claims)
        await write_reports(communities, contexts, model, settings, language)
        return cache.steps

    def _extraction(self, replays: Sequence[Replay], language: str) -> Estimate:
        complete = [replay for replay in replays if replay.complete]
        left = [replay for replay in replays if not replay.complete]
        seen = len(complete) if len(complete) >= FEW else 0
        rows = self._from_sample(complete, left) if seen else self._from_text(left, language)
        return Estimate(tuple(row for row in rows if row.calls.high), seen)

    def _from_sample(self, seen: Sequence[Replay], left: Sequence[Replay]) -> list[TaskEstimate]:
        """Estimate an extraction by the chunks whose replies are cached, in proportion to the text."""
        rows: list[TaskEstimate] = []
        size = sum(replay.chunk.n_tokens for replay in seen)
        for task in dict.fromkeys(step.task for replay in seen for step in replay.steps):
            taken = [replay.taken(task) for replay in seen]
            unseen = [replay for replay in left if not replay.taken(task)[0]]
            share = sum(replay.chunk.n_tokens for replay in unseen) / size
            each = sum(calls for calls, _, _ in taken) / len(seen)
            same = len({calls for calls, _, _ in taken}) == 1  # every chunk takes as many calls
            margin = exactly(1) if same else SAMPLED
            most = max(calls for calls, _, _ in taken) * len(unseen)
            calls = exactly(each * len(unseen)).times(margin).within(Range(0, most))
            prompts = exactly(share * sum(prompts for _, prompts, _ in taken)).times(margin)
            if same:  # a prompt is at least as long as the first one, which is known
                known, first = (each * sum(replay.steps[0].prompt_tokens for replay in of) for of in (unseen, seen))
                more = share * (sum(prompts for _, prompts, _ in taken) - first)
                prompts = exactly(known).plus(Range(*sorted(more * bound for bound in SAMPLED)))
            replies = exactly(share * sum(replies for _, _, replies in taken)).times(SAMPLED)
            rows.append(self.row(task, calls, prompts, replies))
        return rows

    def _from_text(self, left: Sequence[Replay], language: str) -> list[TaskEstimate]:
        """Estimate an extraction by measured ranges."""
        if not left:
            return []
        extraction, chunks = self._settings.extract, [replay.chunk for replay in left]
        calls, size = exactly(len(left)), exactly(sum(chunk.n_tokens for chunk in chunks))
        fresh = [replay for replay in left if replay.steps[0].completion_tokens is None]
        first, prompts = exactly(len(fresh)), exactly(sum(replay.steps[0].prompt_tokens for replay in fresh))
        if extraction.style == "triples":
            bare = self._bare_prompts([ExtractTriples(c, (), language=language) for c in chunks])
            rows = [
                self.row("NameEntities", first, prompts, first.times(NAMES)),
                self.row("ExtractTriples", calls, bare.plus(calls.times(NAMES)), size.times(TRIPLES)),
            ]
        else:
            names = exactly(count_names(chunks, extraction.entity_types, language).mentions)
            part = exactly(sum(replay.chunk.n_tokens for replay in fresh) / max(1.0, size.low))
            rows = [self.row("ExtractGraph", first, prompts, names.times(part).times(GRAPH))]
            rows += self._gleaning(left, names)
        if extraction.claims:
            bare = self._bare_prompts([ExtractClaims(c, (), language=language) for c in chunks])
            rows.append(self.row("ExtractClaims", calls, bare.plus(calls.times(NAMES)), size.times(CLAIMS)))
        return rows

    def _gleaning(self, left: Sequence[Replay], names: Range) -> list[TaskEstimate]:
        calls, first = exactly(len(left)), exactly(sum(replay.steps[0].prompt_tokens for replay in left))
        conversation = first.plus(names.times(GRAPH).times(REPEATED)).plus(calls.times(QUESTION))
        rounds = self._settings.extract.max_gleanings
        asked, more = Range(1 if rounds else 0, rounds), Range(0, rounds)
        return [
            self.row("AnyMissed", calls.times(asked), conversation.times(asked), calls.times(asked)),
            self.row("GleanMore", calls.times(more), conversation.times(more), names.times(GLEANED).times(more)),
        ]

    def _bare_prompts(self, tasks: Sequence[ExtractClaims | ExtractTriples]) -> Range:
        """Return the tokens of prompts without what earlier replies will add."""
        return exactly(sum(prompt_tokens(self._model.request(task)) for task in tasks))

    def _after_extraction(
        self, left: int, steps: Sequence[Step], contexts: Range | None, chunks: Sequence[Chunk], language: str
    ) -> list[TaskEstimate]:
        """Estimate descriptions and reports, of which `steps` are known and `left` chunks will add more.

        `contexts` are the tokens of the prompts of all reports, where the graph is complete.
        """
        usual: Mapping[str, Needs] = {}
        if left:
            claims = self._settings.extract.claims
            counts = count_names(chunks, self._settings.extract.entity_types, language)
            reports = counts.reports(self._settings.reports, claims=claims)
            usual = {"DescribeElement": counts.descriptions(claims=claims), "WriteReport": reports}
        if not steps:
            return [self.row(task, *needs) for task, needs in usual.items()]
        rows = self._from_steps(left, steps, contexts)
        cached = any(step.completion_tokens is not None for step in steps)
        for n, row in enumerate(rows if left else ()):
            bounds = [Range(0 if cached else of.low, of.high) for of in usual[row.task]]
            ranges = zip((row.calls, row.prompt_tokens, row.completion_tokens), bounds, strict=True)
            rows[n] = self.row(row.task, *(value.within(bound) for value, bound in ranges))
        return rows

    def _from_steps(self, left: int, steps: Sequence[Step], contexts: Range | None) -> list[TaskEstimate]:
        more = Range(0, left * CHANGED)
        described, reports = ([s for s in steps if s.task == task] for task in ("DescribeElement", "WriteReport"))
        missing = [s for s in described if s.completion_tokens is None]
        calls = exactly(len(missing)).plus(more)
        known = exactly(sum(s.prompt_tokens for s in missing))
        prompts = known.plus(more.times(_like(described, "prompt_tokens", DESCRIPTION_PROMPT)))
        replies = calls.times(_like(described, "completion_tokens", DESCRIPTION))
        rows = [self.row("DescribeElement", calls, prompts, replies)]
        unwritten = sum(s.completion_tokens is None for s in reports)
        calls = exactly(unwritten).plus(more)
        whole = Range(TEMPLATE, TEMPLATE + self._settings.reports.context_tokens)
        prompts = calls.times(_like(reports, "prompt_tokens", whole))
        if contexts and unwritten == len(reports):
            prompts = contexts
        replies = calls.times(_like(reports, "completion_tokens", REPORT))
        return [*rows, self.row("WriteReport", calls, prompts, replies)]

    def _report_prompts(self, graph: DescribedGraph, communities: Sequence[Community], language: str) -> Range:
        """Return the tokens of the prompts of reports: with no pending description, and with all that is drafted."""
        large = reported(communities, self._settings.reports)
        limit = self._settings.reports.context_tokens

        def tokens(entities: Sequence[Entity], relationships: Sequence[Relationship], claims: Sequence[Claim]) -> float:
            contexts = CommunityContextBuilder(communities, entities, relationships, limit, claims)
            tasks = (WriteReport(contexts.build(community, {}), language=language) for community in large)
            return float(sum(prompt_tokens(self._model.request(task)) for task in tasks))

        return Range(tokens(graph.entities.rows, graph.relationships.rows, graph.claims.rows), tokens(*graph.drafts()))


def _like(steps: Sequence[Step], field: str, measured: Range) -> Range:
    """Return the tokens of one more prompt or reply: like cached ones, if there are enough."""
    cached: list[int] = [getattr(step, field) for step in steps if step.completion_tokens is not None]
    return exactly(sum(cached) / max(1, len(cached))).times(ALIKE) if len(cached) >= FEW else measured


# Updates


class Redone(NamedTuple):
    """Of `total` rows of an index, between `low` and about `high` are made again, new ones among them."""

    low: int
    high: int
    total: int


@dataclass(frozen=True, slots=True)
class UpdateEstimate:
    """How much an update makes again; chunks are known, the others a range."""

    chunks: Redone
    descriptions: Redone
    communities: Redone
    reports: Redone


def estimate_update(
    before: Index, changes: Changes, documents: Sequence[Document], chunks: Sequence[Chunk], least_size: int
) -> UpdateEstimate:
    """Compare an index with the documents and chunks that replace its own.

    `least_size` is that of a community with a report. A new chunk is taken to touch as many rows as the others do, an
    edited document as many as its number of new words.
    """
    known, now = {chunk.id for chunk in before.chunks}, {chunk.id for chunk in chunks}
    removed, new_chunks = known - now, _new_chunks(before, changes, documents, chunks)

    def redone(rows: Sequence[Entity | Relationship | Claim | Community]) -> Redone:
        touched = sum(not removed.isdisjoint(row.chunk_ids) for row in rows)
        new = ceil(new_chunks * sum(len(row.chunk_ids) for row in rows) / max(1, len(known)))
        return Redone(0, min(touched, len(rows)) + new, len(rows))

    elements = [*before.entities, *before.relationships, *before.claims]
    large = [community for community in before.communities if community.size >= least_size]
    new = len(now - known)
    return UpdateEstimate(Redone(new, new, len(chunks)), redone(elements), redone(before.communities), redone(large))


def _new_chunks(before: Index, changes: Changes, documents: Sequence[Document], chunks: Sequence[Chunk]) -> float:
    """Return the number of chunks of new text, an edited document counted by the share of its new words."""
    count = Counter(chunk.document_id for chunk in chunks)
    old = {document.path: document.text for document in before.documents}
    added, edited = set(changes.added), set(changes.edited)
    new = 0.0
    for document in documents:
        if document.path in added:
            new += count[document.id]
        elif document.path in edited and document.path in old:
            words = Counter(document.text.split())
            share = (words - Counter(old[document.path].split())).total() / max(1, words.total())
            new += count[document.id] * share
    return new


def limit_to_update(estimate: Estimate, update: UpdateEstimate) -> Estimate:
    """Return the estimate of an update, limited to what the update can make again.

    Without the limit it takes every edited text as wholly new; most of it will say again what it said.
    """
    if not update.chunks.high:  # documents were only deleted: what is to be written is known
        return estimate
    most = {"DescribeElement": update.descriptions.high, "WriteReport": update.reports.high}
    return replace(estimate, tasks=tuple(_at_most(most.get(t.task), t) for t in estimate.tasks))


def _at_most(calls: float | None, task: TaskEstimate) -> TaskEstimate:
    if calls is None:
        return task
    share = Range(0, min(1.0, calls / max(1.0, task.calls.high)))
    prompts, replies = task.prompt_tokens.times(share), task.completion_tokens.times(share)
    cost = task.cost.times(share) if task.cost else None
    return replace(
        task,
        calls=task.calls.times(share).whole(),
        prompt_tokens=prompts.whole(),
        completion_tokens=replies.whole(),
        cost=cost,
    )
