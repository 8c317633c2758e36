"""Estimate the calls, tokens and cost of a build with a language model, before it is asked anything.

The prompts of every chunk, description and report are rendered with cached replies only. If the reply to an extraction
is missing, the extraction of the extractive model replaces it. So the prompts of descriptions and reports are counted
over a whole graph, and measured ratios correct for the size of a language model's extraction of the same text
(docs/estimates.md). With a sample, the usage of the sampled chunks, relative to their text, estimates extraction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, sqrt
from typing import NamedTuple

from conspectus.community_context import CommunityContextBuilder
from conspectus.errors import ModelError
from conspectus.indexing.chunks import Extracted, dates_of, extract
from conspectus.indexing.communities import DescribedGraph, write_reports
from conspectus.indexing.pipeline import BuildInput, GraphBuild, build_graph, resolve_names
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Feature, Request, prompt_tokens
from conspectus.rows import Chunk, Usage
from conspectus.settings import Settings
from conspectus.tasks import ExtractClaims, Extraction, ExtractTriples, FoundClaim, NameEntities

# Ranges


class Range(NamedTuple):
    """The range from `low` to `high`, which are equal if a number is known exactly."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def whole(self) -> Range:
        """Return the narrowest range of non-negative integers that includes this range."""
        return Range(max(0, floor(round(self.low, 6))), max(0, ceil(round(self.high, 6))))

    @property
    def likely(self) -> float:
        """The likely number: the geometric mean, or `OF_MAXIMUM` of the high end of a range that begins at 0."""
        return sqrt(self.low * self.high) if self.low else OF_MAXIMUM * self.high

    def text(self, digits: int = 0) -> str:
        """Return `12`, or `12 to 15`."""
        low, high = (f"{number:,.{digits}f}" for number in self)
        return low if low == high else f"{low} to {high}"


NONE = Range(0, 0)
OF_MAXIMUM = 0.45
"""Likely share of the high end of a range that begins at 0: gleaning took 0.41 to 0.60 of its maximum prompt tokens."""


def exactly(number: float) -> Range:
    """Return the range of a known number."""
    return Range(number, number)


def total(ranges: Iterable[Range]) -> Range:
    """Return the sum of ranges."""
    ranges = list(ranges)
    return Range(sum(r.low for r in ranges), sum(r.high for r in ranges))


# Ranges measured in builds of the sample corpus, the podcast and MuSiQue with the simulated server of the tests, and of
# the sample corpus with a strong language model (docs/estimates.md). The geometric mean of a range is near the measured
# value, and its ends leave a margin. The unit is tokens unless stated otherwise.

GRAPH = Range(24, 123)
"""Reply of an extraction, per entity that the extractive model finds in the chunk: 56 to 74 (57 for web pages), and 25
for a few short made-up texts; since that model finds 3 to 11 % fewer entities, the maximum is higher by this much."""
GLEANED = 0.135
"""Maximum reply of a round of gleaning, as a share of the longest extraction; it was 0.10 to 0.17 of the actual one."""
REPEATED, QUESTION = Range(0.46, 0.86), Range(15, 60)
"""What a further turn of a conversation repeats, as a share of the previous reply (0.69 to 0.75; less on a corpus of
ten short texts, whose replies are shorter than `GRAPH` says), and the tokens that it adds."""
DESCRIBED, DESCRIBED_PROMPTS = Range(0.17, 0.77), Range(0.15, 0.88)
"""Calls and prompts for descriptions, as shares of those for the graph of the extractive model: 0.21 to 0.50 and 0.20
to 0.53, 0.145 for three short papers, 0.57 and 0.60 for the strong model, which found 7 % more pairs."""
REPORTED, REPORTED_PROMPTS = Range(0.5, 1.55), Range(0.32, 0.95)
"""The same for reports: 0.52 to 0.93, and 0.38 to 0.75."""
DESCRIPTIONS, REPORT = Range(0.22, 0.9), Range(230, 1050)
"""The descriptions in a reply, as a share of its prompt (0.33 to 0.61; 0.55 for the strong model), and the reply with a
report (303 to 523; 619 for the strong model)."""
MARGIN = Range(-4, 4)
"""Number of reports by which the number may be off on a graph without cached replies, because the other ranges are
shares: on a graph of 20 names, 3 of 12 reports were written."""
UPDATED = 3.0
"""Maximum share of descriptions or reports that an update asks for, divided by the share of chunks that are new: it was
0.1 to 2 when words, sentences and documents of the sample corpus were added or edited."""
CONTEXT = Range(0.75, 1.25)
"""Prompts of reports whose descriptions are still to be written, as a share of the prompts without these."""
COMPARED, CONFIRMED = Range(0.5, 3), Range(8, 40)
"""Calls that compare names, as a share of those for the names of the extractive model (vectors select other pairs), and
the tokens of one reply, a list of numbers."""
WITH_CLAIMS = 1.6
"""Maximum factor by which claims increase descriptions and reports: 1.0 to 1.25 for the sample and the podcast."""
CLAIMS, TRIPLES = Range(0.1, 2.5), Range(0.2, 3.0)
"""The replies with claims and with triples, per token of the chunk."""
NAMES = Range(10, 200)
"""The names that a prompt for claims or triples lists, also the reply that names them."""
FEW = 8
"""Minimum number of cached replies for an estimate from these instead of the measured ranges."""
ALIKE, SAMPLED = Range(0.7, 1.4), Range(0.6, 1.6)
"""The mean of new prompts or replies, as a share of that of cached ones: for elements and reports, and for chunks."""


# An estimate


@dataclass(frozen=True)
class TaskEstimate:
    """The estimate for one task; `cost` (US dollars) is None if the price of its model is unknown."""

    task: str
    model: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    cost: Range | None


@dataclass(frozen=True)
class Estimate:
    """The estimate for all tasks, not counting cached replies."""

    tasks: tuple[TaskEstimate, ...]
    seen: int = 0
    """Chunks with cached replies that the estimate of extraction is based on; 0 if it is based on the text."""
    replaced_documents: int = 0
    """The number of documents of the existing index if the build replaces them all with others."""
    sampling: Usage = field(default=Usage())
    """The usage for asking a sample, which is not included in the estimate."""

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
        """The likely number of tokens: within a factor of two on the corpora of docs/estimates.md."""
        return sum(t.prompt_tokens.likely + t.completion_tokens.likely for t in self.tasks)

    @property
    def cost(self) -> Range | None:
        """The cost in US dollars; None if the price of a model is unknown."""
        costs = [task.cost for task in self.tasks if task.cost is not None]
        return total(costs) if len(costs) == len(self.tasks) else None

    def labelled(self, label: str) -> Iterable[TaskEstimate]:
        """Yield the estimates of tasks with a label before the model's name."""
        return (replace(task, model=f"{label}: {task.model}") for task in self.tasks)

    @property
    def likely_cost(self) -> float | None:
        """The likely cost in US dollars; None if the price of a model is unknown."""
        return None if self.cost is None else sum(task.cost.likely for task in self.tasks if task.cost)


def check_budget(rest: Estimate, budget: Budget) -> None:
    """Raise BudgetReached if even the low end of an estimate exceeds the budget."""
    budget.check_room(rest.tokens.low, (rest.cost or NONE).low, "with less to do, as a sample")


def in_words(taken: Estimate | Usage) -> str:
    """Return calls, tokens and, if known, cost as a text: `120 calls and 9,000 to 12,000 tokens`."""
    amounts = taken.calls, taken.tokens, taken.cost
    calls, used, cost = (it if isinstance(it, Range) else exactly(it or 0) for it in amounts)
    money = f" ({cost.text(2)} USD)" if cost.high else ""
    return f"{calls.text()} calls and {used.text()} tokens{money}"


# Cached replies


class Step(NamedTuple):
    """One request; `completion_tokens` is None if its reply is not cached."""

    task: str
    prompt_tokens: int
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The extraction of a chunk as far as its replies are cached."""

    chunk: Chunk
    steps: tuple[Step, ...]
    graph: Extraction
    claims: tuple[FoundClaim, ...]

    @property
    def complete(self) -> bool:
        return all(step.completion_tokens is not None for step in self.steps)

    def lacks(self, *tasks: str) -> bool:
        """Return whether a reply for any of the given tasks is not cached."""
        return any(step.task in tasks and step.completion_tokens is None for step in self.steps)

    def taken(self, task: str) -> list[Step]:
        """Return the requests of a task whose replies are cached."""
        return [step for step in self.steps if step.task == task and step.completion_tokens is not None]


class _NotCached(ModelError):
    """The reply to a request is not cached."""


class _CacheOnly:
    """A sender that returns only cached replies and records every request."""

    def __init__(self, sender: CachingSender) -> None:
        self._sender = sender
        self.steps: list[Step] = []

    def peek(self, request: Request) -> Completion | None:
        return self._sender.peek(request)

    async def send(self, request: Request) -> Completion:
        reply = self.peek(request)
        tokens = (reply.prompt_tokens if reply else 0) or prompt_tokens(request)
        self.steps.append(Step(request.task, tokens, reply.completion_tokens if reply else None))
        if reply is None:
            raise _NotCached("its reply is not cached")
        return reply

    async def stream(self, request: Request) -> AsyncIterator[str]:
        yield (await self.send(request)).text

    async def reject(self, request: Request) -> None: ...

    async def keep(self, request: Request, reply: Completion) -> None: ...

    def accepts(self, model: str, feature: Feature) -> bool | None:
        return self._sender.accepts(model, feature)


# Estimating


class Estimator:
    """Estimates builds with the prompts and the cache of an opened model; `batched` calls have half the price."""

    def __init__(
        self, model: ChatModel, sender: CachingSender, settings: Settings, *, batched: bool = False
    ) -> None:
        self._model = model
        self._batched = batched
        self._sender = sender
        self._settings = settings

    def row(self, task: str, calls: Range, prompts: Range, replies: Range) -> TaskEstimate:
        """Return the estimate of a task, given its calls and the tokens of its prompts and replies."""
        model = self._settings.model_of(task)
        budget, prompts, replies = self._sender.budget, prompts.whole(), replies.whole()
        ends = zip(prompts, replies, strict=True)
        costs = (budget.cost(model, int(p), int(r), batched=self._batched) for p, r in ends)
        cost = Range(*costs) if budget.price(model) else None
        return TaskEstimate(task, model, calls.whole(), prompts, replies, cost)

    async def build(self, build: BuildInput, chunks: Sequence[Chunk], language: str) -> Estimate:
        """Estimate a whole build."""
        types, dates = self._settings.extract.types, dates_of(build.documents)
        rules = ExtractiveModel.fit(build.documents, types)
        if self._model.selected:
            self._model.extractive = rules
        replays = [await self._replay(chunk, language, dates) for chunk in chunks]
        complete = [replay for replay in replays if replay.complete and replay.steps]
        waiting = [replay for replay in replays if not replay.complete]
        extracted = await extract([r.chunk for r in waiting], rules, self._settings.extract, language)
        drafts = {r.chunk.id: graph for r, graph in zip(waiting, extracted.graphs, strict=True)}
        if sampled := len(complete) >= FEW:
            rows = self._from_sample(complete, waiting)
        else:
            rows = self._from_text(waiting, drafts, language)
        graphs = [r.graph if r.graph.entities else drafts.get(r.chunk.id, r.graph) for r in replays]
        cache = _CacheOnly(self._sender)
        names, _ = await resolve_names(build, chunks, graphs, ChatModel(cache, self._settings), language)
        rows.append(self._missing("ConfirmJoins", cache.steps, CONFIRMED, [COMPARED, COMPARED], NONE))
        made = build_graph(build, chunks, Extracted(graphs, [r.claims for r in replays]), names, language)
        drafted = sum(not replay.graph.entities for replay in waiting)
        rest = await self.rest(made, language, drafted / max(1, len(chunks)))
        tasks = *(row for row in rows if row.calls.high), *rest.tasks
        return Estimate(tasks, len(complete) if sampled else 0)

    async def rest(self, made: GraphBuild, language: str, drafted: float = 0.0) -> Estimate:
        """Estimate the descriptions and reports of a graph; `drafted` is the share of chunks without cached replies."""
        steps = await self._replay_rest(made, language)
        described = [step for step in steps if step.task == "DescribeElement"]
        reports = [step for step in steps if step.task == "WriteReport"]
        shares, margin = [exactly(1), exactly(1), exactly(1), exactly(1)], NONE
        if drafted:
            shares = [DESCRIBED, DESCRIBED_PROMPTS, REPORTED, REPORTED_PROMPTS]
            claims = WITH_CLAIMS if self._settings.extract.claims else 1
            if any(step.completion_tokens is not None for step in steps):  # an update
                most = [UPDATED * drafted / (_missing_share(of) or 1) for of in (described, reports)]
                ends = [min(claims, most[0])] * 2 + [min(claims, most[1])] * 2
                shares = [share.times(Range(0, end)) for share, end in zip(shares, ends, strict=True)]
            else:
                shares, margin = [share.times(Range(1, claims)) for share in shares], MARGIN
        elif any(step.completion_tokens is None for step in described):
            shares[3] = CONTEXT
        rows = (
            self._missing("DescribeElement", described, DESCRIPTIONS, shares[:2], NONE),
            self._missing("WriteReport", reports, REPORT, shares[2:], margin),
        )
        return Estimate(tuple(row for row in rows if row.calls.high))

    async def _replay_rest(self, made: GraphBuild, language: str) -> list[Step]:
        """Write the descriptions and reports of a graph with cached replies only, and return the requests."""
        cache = _CacheOnly(self._sender)
        model = ChatModel(cache, self._settings, self._model.extractive)
        settings = self._settings.reports
        graph = DescribedGraph(made.merged, model, made.documents, strict=settings.strict)
        await graph.describe(language)
        await graph.done()
        rows = graph.entities, graph.relationships
        contexts = CommunityContextBuilder(made.communities, *rows, settings.context_tokens, graph.claims)
        await write_reports(made.communities, contexts, model, settings, language)
        return cache.steps

    def _missing(
        self, task: str, steps: Sequence[Step], reply: Range, shares: Sequence[Range], margin: Range
    ) -> TaskEstimate:
        """Estimate the steps without cached replies: `shares` scale calls and prompts, `margin` is added to calls."""
        missing = [step.prompt_tokens for step in steps if step.completion_tokens is None]
        replies = [step.completion_tokens for step in steps if step.completion_tokens is not None]
        usual = sum(step.prompt_tokens for step in steps) / max(1, len(steps))
        calls = exactly(len(missing)).times(shares[0]).plus(margin) if steps else NONE
        prompts = exactly(sum(missing)).times(shares[1]).plus(margin.times(exactly(usual)))
        if reply is DESCRIPTIONS:  # a share of the prompt
            return self.row(task, calls, prompts, prompts.times(reply))
        if len(replies) >= FEW:
            reply = exactly(sum(replies) / len(replies)).times(ALIKE)
        return self.row(task, calls, prompts, calls.times(reply))

    # Extraction

    async def _replay(self, chunk: Chunk, language: str, dates: Mapping[str, str]) -> Replay:
        """Extract from a chunk with cached replies only."""
        cache, settings = _CacheOnly(self._sender), self._settings
        model = ChatModel(cache, settings, self._model.extractive)
        extracted = await extract([chunk], model, settings.extract, language, dates=dates)
        return Replay(chunk, tuple(cache.steps), extracted.graphs[0], extracted.claims[0])

    def _from_sample(self, seen: Sequence[Replay], waiting: Sequence[Replay]) -> list[TaskEstimate]:
        """Estimate extraction from the chunks whose replies are cached, in proportion to the length of the text."""
        rows: list[TaskEstimate] = []
        size = sum(replay.chunk.n_tokens for replay in seen)
        for task in dict.fromkeys(step.task for replay in seen for step in replay.steps):
            counts = [len(replay.taken(task)) for replay in seen]
            steps = [step for replay in seen for step in replay.taken(task)]
            unseen = [replay for replay in waiting if not replay.taken(task)]
            share = sum(replay.chunk.n_tokens for replay in unseen) / size
            calls = exactly(len(steps) / len(seen) * len(unseen))
            prompts = exactly(share * sum(step.prompt_tokens for step in steps)).times(SAMPLED)
            if len(set(counts)) > 1:
                most = max(counts) * len(unseen)
                calls = Range(calls.low * SAMPLED.low, min(calls.high * SAMPLED.high, most))
            else:  # the first prompts are known exactly; only the rest is estimated
                first = [counts[0] * sum(r.steps[0].prompt_tokens for r in of) for of in (unseen, seen)]
                more = share * (sum(step.prompt_tokens for step in steps) - first[1])
                prompts = exactly(first[0]).plus(Range(*sorted(more * bound for bound in SAMPLED)))
            replies = exactly(share * sum(step.completion_tokens or 0 for step in steps)).times(SAMPLED)
            rows.append(self.row(task, calls, prompts, replies))
        return rows

    def _from_text(
        self, waiting: Sequence[Replay], drafts: Mapping[str, Extraction], language: str
    ) -> list[TaskEstimate]:
        """Estimate extraction by measured ranges, from the number of entities in the draft of each chunk."""
        extraction = self._settings.extract
        graphs = [replay for replay in waiting if replay.lacks("ExtractGraph", "AnyMissed", "GleanMore")]
        fresh = [replay for replay in graphs if replay.lacks("ExtractGraph")]
        first, prompts = (exactly(sum(r.steps[0].prompt_tokens for r in of)) for of in (graphs, fresh))
        every, replies = (
            exactly(sum(len(drafts[r.chunk.id].entities) for r in of)).times(GRAPH) for of in (graphs, fresh)
        )
        calls, rounds = exactly(len(graphs)), extraction.max_gleanings
        conversation = first.plus(every.times(REPEATED)).plus(calls.times(QUESTION))
        asked, more = Range(1 if rounds else 0, rounds), Range(0, rounds)
        gleaned = every.times(exactly(GLEANED)).times(more)
        rows = [
            self.row("ExtractGraph", exactly(len(fresh)), prompts, replies),
            self.row("AnyMissed", calls.times(asked), conversation.times(asked), calls.times(asked)),
            self.row("GleanMore", calls.times(more), conversation.times(more), gleaned),
        ]
        if extraction.style != "graph":
            strict = extraction.strict
            fresh = [replay.chunk for replay in waiting if not replay.taken("NameEntities")]
            prompts = self._bare_prompts([NameEntities(c.text, strict, language=language) for c in fresh])
            calls = exactly(len(fresh))
            rows.append(self.row("NameEntities", calls, prompts, calls.times(NAMES)))
        for kind, per_token, taken in (
            (ExtractTriples, TRIPLES, extraction.style != "graph"),
            (ExtractClaims, CLAIMS, extraction.claims),
        ):
            chunks = [replay.chunk for replay in waiting if taken and not replay.taken(kind.__name__)]
            bare = self._bare_prompts([kind(chunk, (), language=language) for chunk in chunks])
            calls, size = exactly(len(chunks)), exactly(sum(chunk.n_tokens for chunk in chunks))
            rows.append(self.row(kind.__name__, calls, bare.plus(calls.times(NAMES)), size.times(per_token)))
        return rows

    def _bare_prompts(self, tasks: Sequence[ExtractClaims | ExtractTriples | NameEntities]) -> Range:
        """Return the tokens of prompts, not counting what earlier replies will add to them."""
        return exactly(sum(prompt_tokens(self._model.request(task)) for task in tasks))


def _missing_share(steps: Sequence[Step]) -> float:
    """Return the share of prompt tokens in requests whose replies are not cached."""
    missing = sum(step.prompt_tokens for step in steps if step.completion_tokens is None)
    return missing / max(1, sum(step.prompt_tokens for step in steps))
