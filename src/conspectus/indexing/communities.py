"""Communities of the graph (GraphRAG §3.1.4), descriptions of its elements (§3.1.3), and reports (§3.1.5).

An element whose instances have only one description takes it without a task, and one of few and short ones without a
call. Reports are written deepest first, so that a parent can stand on its parts; `community_context` says what each is
written from. Where the model has to be waited for, both are done at once: a report waits for the descriptions of its
own community, and of what is described together with that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise, starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conspectus import tokens
from conspectus.community_context import CommunityContextBuilder, Rows, brief_draft, report_of
from conspectus.errors import ModelError, Unusable
from conspectus.index import Index
from conspectus.indexing.graph import Element, Instances, Merged
from conspectus.lazy import lazy_module
from conspectus.messages import wording
from conspectus.models.base import Model, Tick, no_tick, run_sync, together, when_answered, writes
from conspectus.references import renumbered
from conspectus.rows import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Finding,
    Relationship,
    Report,
    Span,
    column,
    content_id,
)
from conspectus.settings import CommunitySettings, ReportSettings
from conspectus.tasks import DescribeElement, Description, ReportDraft, WriteReport
from conspectus.text.mentions import Hashes
from conspectus.text.vocabulary import Bools, unique_numbers
from conspectus.text.words import WORD, is_unspaced
from conspectus.workers import Workers

if TYPE_CHECKING:
    from conspectus.algorithms import leiden
else:
    leiden = lazy_module("conspectus.algorithms.leiden")  # workers that write reports need no scipy

Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints]
"""Rows, and the rank of a chunk that each names."""


def find_communities(
    entities: Sequence[Entity],
    relationships: Sequence[Relationship],
    settings: CommunitySettings,
    chunks: Sequence[Chunk] = (),
    before: Index | None = None,
) -> list[Community]:
    """Return the communities level by level, in a level the largest first; every entity is in one of level 0.

    Relationships join entities by their names and pull with their weight. `chunks` gives the order of
    `chunk_ids`; a chunk that it does not hold comes later, in the order in which entities, then
    relationships, name it. The communities of an index `before` are carried on, as far as they are as good as new
    ones: what did not change keeps its members, and with them its id.
    """
    entities = sorted(entities, key=lambda entity: entity.number)
    relationships = sorted(relationships, key=lambda relationship: relationship.number)
    node = {row.name: i for i, row in enumerate(entities)}
    ends = np.array([(node[r.source], node[r.target]) for r in relationships], np.int64)
    source, target = ends.reshape(-1, 2).T
    weight = np.array([r.weight for r in relationships], np.float64)
    parts = leiden.hierarchical_leiden(
        leiden.adjacency(source, target, weight, len(entities)),
        max_size=settings.max_size,
        seed=settings.seed,
        start=_earlier(before, entities) if before else (),
        changed=_changed(before, relationships, node) if before else None,
    )
    rank = {chunk.id: i for i, chunk in enumerate(chunks)}
    named = [_pairs((row.chunk_ids for row in rows), rank) for rows in (entities, relationships)]
    contents = _contents(parts, (source, target), named, len(entities))
    chunk_ids = list(rank)
    entity_ids = [row.id for row in entities]
    own, edge = ([row.number for row in rows] for rows in (entities, relationships))
    communities: list[Community] = []
    for part, (inside, mentioned) in zip(parts, contents, strict=True):
        nodes: list[int] = part.members.tolist()
        id_ = content_id(str(part.level), *sorted(map(entity_ids.__getitem__, nodes)))
        within = tuple(map(own.__getitem__, nodes)), tuple(map(edge.__getitem__, inside))
        ids = tuple(map(chunk_ids.__getitem__, mentioned))
        above_below = part.level, part.parent, tuple(part.children)
        communities.append(Community(id_, len(communities), *above_below, *within, ids, part.unsplit))
    return communities


def _contents(
    parts: Sequence[leiden.Part], ends: tuple[Ints, Ints], named: Sequence[Pairs], n: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the relationships inside each part, and the ranks of the chunks that mention what is in it.
    `named` are the ranks of the chunks that mention each entity, and those of each relationship.
    """
    (source, target), ((entity, entity_rank), (edge, edge_rank)) = ends, named
    last_of: list[int] = np.cumsum(np.bincount([part.level for part in parts])).tolist() if parts else []
    for first, last in pairwise([0, *last_of]):  # where the parts of each level begin and end
        part_of = _part_of(parts[first:last], n)
        part_of_relationship = np.where(part_of[source] == part_of[target], part_of[source], -1)
        inside = _grouped(part_of_relationship, np.arange(len(source)), last - first)
        owner = np.concatenate((part_of[entity], part_of_relationship[edge]))
        values = np.concatenate((entity_rank, edge_rank))
        yield from zip(inside, _grouped(owner, values, last - first), strict=True)


def _earlier(before: Index, entities: Sequence[Entity]) -> list[Ints]:
    """Return for each level of an index the number of the community that each entity was in there, -1 for a new one."""
    rank = {entity.id: i for i, entity in enumerate(entities)}
    at = np.array([rank.get(id_, -1) for id_ in column(before.entities, "id")], np.int64)
    parts = list[leiden.Part]()
    rows = zip(*(column(before.communities, name) for name in ("level", "entity_numbers")), strict=True)
    for level, entity_numbers in rows:
        members = at[list(entity_numbers)]
        parts.append(leiden.Part(level, -1, members[members >= 0]))
    return leiden.memberships(parts, len(entities))


def _changed(before: Index, relationships: Iterable[Relationship], node: Mapping[str, int]) -> Bools:
    """Tell which nodes have other relationships than their entities had in an index before, or of other weights."""
    names = "source", "target", "weight"
    earlier = zip(*(column(before.relationships, name) for name in names), strict=True)
    changed = np.zeros(len(node), bool)
    for source, target, _ in set(earlier) ^ {(r.source, r.target, r.weight) for r in relationships}:
        changed[[node[name] for name in (source, target) if name in node]] = True
    return changed


def _pairs(chunk_ids: Iterable[Sequence[str]], rank: dict[str, int]) -> Pairs:
    """Return rows and the ranks of their chunks, a pair for each mention; a new chunk takes the next rank."""
    rows = list(chunk_ids)
    ranks = [rank.setdefault(chunk, len(rank)) for chunk in chain.from_iterable(rows)]
    return np.repeat(np.arange(len(rows)), list(map(len, rows))), np.array(ranks, np.int64)


def _part_of(parts: Sequence[leiden.Part], n: int) -> Ints:
    """Return which of the parts each node is in, -1 where in none."""
    part_of = np.full(n, -1)
    sizes = [part.members.size for part in parts]
    part_of[np.concatenate([part.members for part in parts])] = np.repeat(np.arange(len(parts)), sizes)
    return part_of


def _grouped(owner: Ints, value: Ints, n: int) -> list[list[int]]:
    """Return the distinct values of each of n owners, ascending; what has the owner -1 belongs to none."""
    width = int(value.max(initial=0)) + 1
    pairs = unique_numbers((owner * width + value)[owner >= 0])
    ends: list[int] = np.searchsorted(pairs, np.arange(n + 1) * width).tolist()
    values: list[int] = (pairs % width).tolist()
    return [values[a:b] for a, b in pairwise(ends)]


MOST_SPANS = 8
"""Spans stored for one row, those that its description rests on first; a row stays a few hundred bytes."""
FEW_LINES, FEW_TOKENS = 3, 80
"""Descriptions of an element, and their tokens together, that are joined without a call. Of 200 elements that a strong
model described (sample corpus), 111 have no more, and what it wrote of these has 0.89 of the tokens of the joined."""
TOGETHER = 40
"""Elements that are given to a model at a time, five calls of eight: a report waits for all that come with its own."""
LAST = -1.0
"""The priority of a description that no report waits for; that of a report of the root is 0."""

ALONE = 2000
"""Rows described at a time that no report is written from: 0.1 CPU s, as a shard of reports of a million tokens."""
_ROW = 400
"""Characters of the descriptions of an entity and of its three relationships, on average (podcasts)."""
Ready = Callable[[Community, Iterable[int]], Awaitable[None]]

# Descriptions


_DESCRIBED = Element()
"""In the place of the instances of a row that is described: they take more memory than the row."""
Work = tuple[int, int, Mapping[str, Span], DescribeElement]
"""A row whose descriptions are to become one: its table, its number, what is said of it and where, and the task."""


class DescribedGraph:
    """The graph, whose rows are complete as their descriptions come in."""

    def __init__(
        self, merged: Merged, model: Model, documents: Iterable[Document] = (), *, strict: bool = False
    ) -> None:
        """Complete the rows of `merged`; few short descriptions are joined without a model, unless `strict`."""
        self.entities, self.relationships, self.claims = merged.entities, merged.relationships, merged.claims
        self._tables: tuple[list[Any], ...] = (self.entities, self.relationships, self.claims)
        self._elements = merged.entity_elements, merged.relationship_elements, merged.claim_elements
        self._model, self._writes = model, writes(model, DescribeElement)
        self._join = self._writes and not strict
        self._documents = {document.id: document for document in documents if self._writes}
        self._failures: dict[tuple[int, int], Failure] = {}
        self._under_way: dict[tuple[int, int], asyncio.Future[None]] = {}
        self.digests: dict[str, Hashes] = {}  # `instance_digests`, where rows can be carried on

    def instance_digests(self) -> dict[str, Hashes]:
        """Return by the name of their array what tells that rows are described alike (see `Instances.digests`)."""
        return {
            name: each.digests(column(table, "id"))
            for name, table, each in zip(_DIGESTS, self._tables, self._elements, strict=False)
            if isinstance(each, Instances)
        }

    def carry_on(self, before: Index) -> list[list[int]]:
        """Describe rows of which the same is said as an index before does.
        Returns the numbers there of entities and of relationships of which all is the same, -1 for others.
        """
        were = before.entities, before.relationships
        numbers = list[list[int]]()
        for (name, digest), table, was in zip(self.digests.items(), self._tables, were, strict=False):
            earlier = before.arrays.get(name)
            if earlier is None:  # an older version made it
                earlier = np.zeros(0, np.uint64)
            _, now, then = np.intersect1d(digest, earlier, return_indices=True)
            texts = column(was, "description")[:]
            spans = column(was, "spans")[:]
            for number, old in zip(now.tolist(), then.tolist(), strict=True):
                _complete(table[number], texts[old], spans[old])
            known = np.full(len(table), -1)
            known[now] = then
            for attribute in _DIGESTS[name]:
                one = np.array(column(table, attribute))[now]
                other = np.array(column(was, attribute)[:])[then]
                known[now[one != other]] = -1
            numbers.append(known.tolist())
        return numbers

    async def describe(
        self,
        language: str = "en",
        priority: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ()),
        tick: Tick = no_tick,
    ) -> None:
        """Describe all rows, or, where the model has to be waited for, begin to: `ready` and `done` wait.

        `priority` is of the entities, the relationships and the claims: those that reports wait for longest go first.
        """
        works = self.works(language, [range(len(table)) for table in self._tables], priority)
        if self._writes:
            works = iter(sorted(works, key=lambda work: -work[3].priority))
        while group := list(islice(works, TOGETHER)):
            describing = self._describe(group, tick)
            if not self._writes:
                await describing
                continue
            future = asyncio.ensure_future(describing)
            self._under_way |= {(table, number): future for table, number, _, _ in group}
            await asyncio.sleep(0)  # the first calls go out meanwhile

    def works(
        self, language: str, rows: Sequence[Iterable[int]], priority: Sequence[Sequence[float]] = ((), (), ())
    ) -> Iterator[Work]:
        """Yield the rows that are to be described by the model, what is said of each from the oldest to the newest.
        Describes the others.
        """
        known = self._documents
        for table, numbers in enumerate(rows):
            kind, elements, first = KINDS[table], self._elements[table], priority[table]
            for number in numbers:
                row = self._tables[table][number]
                done = not self._writes and row.description
                texts = {} if done else elements[number].descriptions
                if not texts:  # it is being described
                    continue
                if not self._writes:  # where a model does, an estimate reads them, too
                    elements[number] = _DESCRIBED
                if known and len(texts) > 1:
                    texts = dict(sorted(texts.items(), key=lambda item: known[item[1].document_id].day))
                joined = joined_descriptions(list(texts)) if self._join and len(texts) > 1 else ""
                if joined or len(texts) <= 1:
                    _complete(row, joined or "".join(texts), texts.values())
                    continue
                name, urgent = _name(row), first[number] if first else 0.0
                labels = tuple(known[span.document_id].label for span in texts.values()) if known else ()
                task = DescribeElement(name, kind, tuple(texts), labels, language=language, priority=urgent)
                yield table, number, texts, task

    async def _describe(self, works: Sequence[Work], tick: Tick) -> None:
        self.complete(works, await self._model.perform_all([task for *_, task in works], tick))

    def complete(self, works: Sequence[Work], replies: Sequence[Description | ModelError]) -> None:
        """Describe rows by what a model replied."""
        for (table, number, texts, task), reply in zip(works, replies, strict=True):
            if isinstance(reply, ModelError):
                self._failures[table, number] = Failure("describe", f"{task.kind} {task.name}: {reply}")
            description, spans = _description(task, reply), list(texts.values())
            used = [spans[n] for n in description.used if n < len(spans)]  # else the first ones
            _complete(self._tables[table][number], description.text, used or spans)
            self._under_way.pop((table, number), None)

    async def ready(self, community: Community, claims: Iterable[int] = ()) -> None:
        """Wait for the descriptions of all that is in a community."""
        rows = (community.entity_numbers, community.relationship_numbers, claims)
        for row in ((table, number) for table, numbers in enumerate(rows) for number in numbers):
            if work := self._under_way.get(row):
                await work

    async def done(self) -> None:
        """Wait for all descriptions; raise Unusable where nothing more can be asked of the model."""
        await together(set(self._under_way.values()))

    def cancel(self) -> None:
        """Give up what is on its way."""
        for work in self._under_way.values():
            work.cancel()

    @property
    def failures(self) -> list[Failure]:
        """What could not be described, in the order of the rows."""
        return [self._failures[row] for row in sorted(self._failures)]


KINDS = ("entity", "relationship", "claim")
_DIGESTS = {
    "graph.entity_digests": ("type", "frequency", "degree"),
    "graph.edge_digests": ("weight", "combined_degree"),
}
"""The array with a digest for each row, and what else reports state of it."""


def _complete(row: Entity | Relationship | Claim, description: str, spans: Iterable[Span]) -> None:
    """Describe a row, by the first distinct ones of some spans."""
    # in place, for `replace` takes fourteen times as long: nobody has had a row before it is complete
    object.__setattr__(row, "description", description)
    object.__setattr__(row, "spans", tuple(dict.fromkeys(spans))[:MOST_SPANS])


def _description(task: DescribeElement, reply: Description | ModelError) -> Description:
    """Return what a model replied; where it failed, the longest description of the instances."""
    return Description(max(task.descriptions, key=len)) if isinstance(reply, ModelError) else reply


_END = tuple(".!?。！？…")


def joined_descriptions(descriptions: Sequence[str]) -> str:
    """Return few and short descriptions as one text, without those that another repeats; "" where there is more."""
    distinct: list[str] = []
    for text in sorted(descriptions, key=len, reverse=True):
        if len(distinct) <= FEW_LINES and not any(_repeats(text, longer) for longer in distinct):
            distinct.append(text)
    if len(distinct) > FEW_LINES or not tokens.at_most("\n".join(distinct), FEW_TOKENS):
        return ""
    texts = [" ".join(text.split()) for text in descriptions if text in distinct]
    end, space = ("。", "") if is_unspaced("".join(texts)) else (".", " ")
    return space.join(text if text.endswith(_END) else text + end for text in texts)


def _repeats(text: str, longer: str) -> bool:
    """Tell whether a longer text has the words of a text in their order, and between them names and numbers alone."""
    words = WORD.findall(text)[::-1]
    for word in WORD.findall(longer):
        if words and word.casefold() == words[-1].casefold():
            words.pop()
        elif words and not (word[0].isupper() or word[0].isdigit()):
            return False
    return not words


def _name(row: Entity | Relationship | Claim) -> str:
    match row:
        case Entity():
            return row.name
        case Relationship():
            return f"{row.source} - {row.target}"
        case Claim():
            return " - ".join(part for part in (row.subject, row.object, row.type) if part != "NONE")


# Reports


async def write_reports(
    communities: Sequence[Community],
    contexts: CommunityContextBuilder,
    model: Model,
    settings: ReportSettings,
    language: str = "en",
    tick: Tick = no_tick,
    ready: Ready | None = None,
) -> tuple[list[Report], list[Failure]]:
    """Write the reports of communities that `contexts` does not know, and return all, and what could not be written.

    Reports are in the order of their communities. Each starts when those of its parts are written and its elements are
    `ready` (given the community and its claims); the deepest go first. A community that is too small, or whose report
    failed, gets a brief one without a call; what it is part of is written from its elements. Raises Unusable.
    """
    large = {c.number for c in reported(communities, settings)}
    written = {number: report for number, report in contexts.known.items() if number in large}
    brief = dict(contexts.known)
    failures, pending = dict[int, Failure](), dict[int, asyncio.Task[None]]()

    async def draft_of(community: Community) -> ReportDraft:
        context = contexts.build(community, written)
        return await model.perform(WriteReport(context, language=language, priority=community.level))

    async def write(community: Community) -> None:
        number = community.number
        await together([pending[child] for child in community.children if child in pending])
        if ready is not None:
            claims = contexts.claims_in(community.entity_numbers, community.relationship_numbers)
            await ready(community, claims)
        if number in large:
            try:
                draft = await when_answered(partial(draft_of, community))
                written[number] = report_of(community, number, draft)
            except Unusable:
                raise
            except ModelError as error:
                failures[number] = Failure("reports", f"community {number}: {error}")
            tick()
        if number not in written:
            brief[number] = report_of(community, number, brief_draft(contexts.build(community, {}), language))

    if settings.write:
        new = (community for community in communities if community.number not in brief)
        for community in sorted(new, key=lambda c: (-c.level, c.number)):
            pending[community.number] = asyncio.ensure_future(write(community))
    await together(pending.values())
    reports = brief | written
    made = [reports[community.number] for community in communities if community.number in reports]
    return made, [failures[number] for number in sorted(failures)]


@dataclass(frozen=True)
class ReportShard:
    """Some communities of the root, each with all that is below it, and what reports are written from of their rows."""

    trees: Sequence[Sequence[Community]]
    entities: Sequence[tuple[int, str, str, str, int, int]]
    """Number, name, type, description, number of chunks and degree."""
    relationships: Sequence[tuple[int, str, str, str, float, int]]
    """Number, source, target, description, weight and combined degree."""
    tasks: Mapping[tuple[int, int], DescribeElement]
    """How rows are described that are not, by table and number; there may be some that no report is written from."""
    known: Mapping[int, Report]
    """Reports that are not written again, by community."""

    @classmethod
    def of(
        cls, trees: Sequence[Sequence[Community]], contexts: CommunityContextBuilder, works: Iterable[Work]
    ) -> ReportShard:
        """Take what the trees need of the rows of a whole graph."""
        known = contexts.known
        roots = [tree[0] for tree in trees]
        entities = (contexts.entities[number] for root in roots for number in root.entity_numbers)
        edges = (contexts.relationships[number] for root in roots for number in root.relationship_numbers)
        return cls(
            [[replace(community, chunk_ids=()) for community in tree] for tree in trees],
            [(e.number, e.name, e.type, e.description, e.frequency, e.degree) for e in entities],
            [(r.number, r.source, r.target, r.description, r.weight, r.combined_degree) for r in edges],
            {(table, number): task for table, number, _, task in works},
            {c.number: known[c.number] for tree in trees for c in tree if c.number in known},
        )

    def contexts(self, limit: int, replies: Sequence[Description | ModelError]) -> CommunityContextBuilder:
        """Return what gathers the contexts of these communities; their sizes matter to no language model."""
        replied = zip(self.tasks.items(), replies, strict=True)
        made = {row: _description(task, reply).text for (row, task), reply in replied}
        communities = {community.number: community for tree in self.trees for community in tree}
        entities = {
            number: Entity("", number, name, kind, made.get((0, number), text), ("",) * chunks, degree=degree)
            for number, name, kind, text, chunks, degree in self.entities
        }
        edges = {
            n: Relationship("", n, source, target, made.get((1, n), text), weight, combined_degree=degree)
            for n, source, target, text, weight, degree in self.relationships
        }
        contexts = CommunityContextBuilder(communities, entities, edges, limit, count=tokens.estimate)
        contexts.known = self.known
        return contexts


Written = list[tuple[list[Report], list[Failure]]]
"""The reports of each tree, and what could not be written."""


def write_shard(
    shard: ReportShard, model: Model, settings: ReportSettings, language: str
) -> tuple[list[Description | ModelError], Written]:
    """Describe the rows of a shard and write its reports, tree by tree, by a model that need not be waited for.
    Returns the replies to the tasks, and the reports.
    """

    async def write() -> tuple[list[Description | ModelError], Written]:
        replies = await model.perform_all(list(shard.tasks.values()))
        contexts = shard.contexts(settings.context_tokens, replies)
        written = [await write_reports(tree, contexts, model, settings, language) for tree in shard.trees]
        return replies, written

    return run_sync(write())


def _below(communities: Rows[Community], number: int) -> list[Community]:
    """Return a community with all that is below it, level by level."""
    tree = [communities[number]]
    for community in tree:  # which grows
        tree += [communities[child] for child in community.children]
    return sorted(tree, key=lambda community: community.number)


def _trees(communities: Rows[Community]) -> list[list[Community]]:
    """Return the trees of the communities of the root."""
    every = range(len(communities))
    return [_below(communities, number) for number in every if not communities[number].level]


async def map_reports(
    graph: DescribedGraph,
    contexts: CommunityContextBuilder,
    how: tuple[Model, ReportSettings, str],
    workers: Workers,
    tick: Tick = no_tick,
) -> tuple[list[Report], list[Failure]]:
    """Do what `write_reports` does shard by shard: no report needs anything of the tree of another root.
    `how` is the model, its settings and the language. Rows are described with the reports that are written from them.
    """
    _, settings, language = how
    every = _trees(contexts.communities) if settings.write else []
    known = [community.number for tree in every if tree[0].number in contexts.known for community in tree]
    every = [tree for tree in every if tree[0].number not in contexts.known]
    shards = workers.shards([sum(_ROW * c.size for c in tree) for tree in every])
    works: deque[list[Work]] = deque()

    def calls() -> Iterator[tuple[Any, ...]]:
        for shard in shards:
            trees = [every[i] for i in shard]
            entities = chain(*(root.entity_numbers for root, *_ in trees))
            edges = chain(*(root.relationship_numbers for root, *_ in trees))
            works.append(list(graph.works(language, (entities, edges))))
            yield ReportShard.of(trees, contexts, works[-1]), *how
        rest = graph.works(language, [range(len(table)) for table in (graph.entities, graph.relationships)])
        while group := list(islice(rest, ALONE)):
            works.append(group)
            yield ReportShard.of([], contexts, group), *how

    reports, failures = [contexts.known[number] for number in known], list[Failure]()
    results = (workers.map if len(shards) > 1 else starmap)(write_shard, calls())
    await asyncio.sleep(0)  # the arrays come before it helps
    for replies, of_shard in results:
        graph.complete(works.popleft(), replies)
        for written, failed in of_shard:
            reports += written
            failures += failed
            for report in written:
                if report.size >= settings.min_report_entities:
                    tick()
    return sorted(reports, key=lambda report: report.community), failures


def earlier_reports(
    before: Index, communities: Sequence[Community], graph: DescribedGraph, model: Model, language: str
) -> dict[int, Report]:
    """Return by community the reports of an index before that would be written alike, but for the numbers of rows.
    Rows of which the same is said are described as there.

    A report depends on its community and those below it, and on their entities and relationships. So the reports of all
    that is below a community are taken over with its own.
    """
    several = len({document.language for document in before.documents}) > 1
    if before.claims or several != getattr(model, "multilingual", None):
        return {}
    entities, edges = graph.carry_on(before)
    earlier = {id_: number for number, id_ in enumerate(column(before.communities, "id"))}
    edges_in = list(map(len, column(before.communities, "relationship_numbers")))
    reports: dict[int, Report] = {}
    stored = before.reports[:]  # one by one they take ten times as long
    trees = _trees(communities)
    for tree in trees:  # which grows
        root = tree[0]
        old = [earlier.get(community.id, -1) for community in tree]
        numbers = {
            "Reports": {a: b.number for a, b in zip(old, tree, strict=True)},
            "Entities": {entities[number]: number for number in root.entity_numbers},
            "Relationships": {edges[number]: number for number in root.relationship_numbers},
        }
        new = any(-1 in rows or list(rows) != sorted(rows) for rows in numbers.values())
        new = new or edges_in[old[0]] != len(root.relationship_numbers)
        written = [] if new else [stored[number] for number in old]
        if new or any(report.summary.endswith(wording(language).instructs) for report in written):
            trees += [_below(communities, child) for child in root.children]
            continue
        pairs = [pair for rows in numbers.values() for pair in rows.items()]
        if all(old == new for old, new in pairs):
            numbers = {}
        # a number of more digits may take more tokens
        longer = any(len(str(old)) != len(str(new)) for old, new in pairs)
        for community, report in zip(tree, written, strict=True):
            report = _renumbered(report, community, numbers)
            if longer:
                report = replace(report, n_tokens=tokens.count(report.text))
            reports[community.number] = report
    return reports


def _renumbered(report: Report, community: Community, numbers: Mapping[str, Mapping[int, int]]) -> Report:
    """Return the report of a community whose rows had other numbers before; none are given where they are the same."""
    texts = report.summary, *(finding.explanation for finding in report.findings)
    summary, *explanations = (renumbered(text, numbers) for text in texts) if numbers else texts
    names = (finding.summary for finding in report.findings)
    return replace(
        report,
        number=community.number,
        community=community.number,
        parent=community.parent,
        children=community.children,
        summary=summary,
        findings=tuple(map(Finding, names, explanations)),
    )


def reported(communities: Sequence[Community], settings: ReportSettings) -> list[Community]:
    """Return the communities that are large enough to ask a model for; none where no reports are to be written."""
    return [c for c in communities if settings.write and c.size >= settings.min_report_entities]


def priorities(
    communities: Sequence[Community], contexts: CommunityContextBuilder
) -> tuple[list[float], list[float], list[float]]:
    """Return how urgent the descriptions of entities, relationships and claims are: by the deepest report that waits.
    It is the number of calls that have to follow on one another, and a fraction that keeps those of one community
    together; what no report waits for comes last.
    """
    rows = (contexts.entities, contexts.relationships, contexts.claims)
    entities, relationships, claims = ([LAST] * len(table) for table in rows)
    for community in sorted(communities, key=lambda c: c.level):
        urgent = community.level + 1.0 + community.number / (2 * len(contexts.communities))
        for number in community.entity_numbers:
            entities[number] = urgent
        for number in community.relationship_numbers:
            relationships[number] = urgent
        for number in contexts.claims_in(community.entity_numbers, community.relationship_numbers):
            claims[number] = urgent
    return entities, relationships, claims
