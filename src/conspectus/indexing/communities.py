"""Communities of the graph (GraphRAG §3.1.4), descriptions of its elements (§3.1.3), and reports (§3.1.5).

An element whose instances have only one description uses it without a task; a few short descriptions are joined without
a call. Reports are written from the deepest level up, so that a parent can use those of its children;
`community_context` defines what each is written from. With a language model, both are done concurrently: a report waits
only for the descriptions of its own community and for those in the same batches.
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
from conspectus.algorithms.statistics import Bools, Hashes, unique_numbers
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
from conspectus.text.words import WORD, is_unspaced
from conspectus.workers import Workers

if TYPE_CHECKING:
    from conspectus.algorithms import leiden
else:
    leiden = lazy_module("conspectus.algorithms.leiden")  # workers that write reports need no scipy

Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints]
"""Pairs of rows and ranks of chunks that they occur in, as two arrays."""


def find_communities(
    entities: Sequence[Entity],
    relationships: Sequence[Relationship],
    settings: CommunitySettings,
    chunks: Sequence[Chunk] = (),
    before: Index | None = None,
) -> list[Community]:
    """Return the communities level by level, the largest of a level first; every entity is in one at level 0.

    Relationships refer to entities by name and are weighted. `chunks` determines the order of `chunk_ids`; chunks that
    are not among them come last, in the order in which entities, then relationships, refer to them. The communities of
    an index `before` are the warm start and stay as far as they are as good as new ones: a community that did not
    change has the same members and therefore the same id.
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
    """Yield for each part the relationships inside it, and the ranks of the chunks that mention its elements.
    `named` are the pairs of entities and ranks of chunks that mention them, and those of relationships.
    """
    (source, target), ((entity, entity_rank), (edge, edge_rank)) = ends, named
    last_of: list[int] = np.cumsum(np.bincount([part.level for part in parts])).tolist() if parts else []
    for first, last in pairwise([0, *last_of]):  # the range of parts of each level
        part_of = _part_of(parts[first:last], n)
        part_of_relationship = np.where(part_of[source] == part_of[target], part_of[source], -1)
        inside = _grouped(part_of_relationship, np.arange(len(source)), last - first)
        owner = np.concatenate((part_of[entity], part_of_relationship[edge]))
        values = np.concatenate((entity_rank, edge_rank))
        yield from zip(inside, _grouped(owner, values, last - first), strict=True)


def _earlier(before: Index, entities: Sequence[Entity]) -> list[Ints]:
    """Return for each level of an index the number of the community of each entity, -1 for a new entity."""
    rank = {entity.id: i for i, entity in enumerate(entities)}
    at = np.array([rank.get(id_, -1) for id_ in column(before.entities, "id")], np.int64)
    parts = list[leiden.Part]()
    rows = zip(*(column(before.communities, name) for name in ("level", "entity_numbers")), strict=True)
    for level, entity_numbers in rows:
        members = at[list(entity_numbers)]
        parts.append(leiden.Part(level, -1, members[members >= 0]))
    return leiden.memberships(parts, len(entities))


def _changed(before: Index, relationships: Iterable[Relationship], node: Mapping[str, int]) -> Bools:
    """Return a mask of the nodes whose relationships, or the weights of these, differ from those in an index before."""
    names = "source", "target", "weight"
    earlier = zip(*(column(before.relationships, name) for name in names), strict=True)
    changed = np.zeros(len(node), bool)
    for source, target, _ in set(earlier) ^ {(r.source, r.target, r.weight) for r in relationships}:
        changed[[node[name] for name in (source, target) if name in node]] = True
    return changed


def _pairs(chunk_ids: Iterable[Sequence[str]], rank: dict[str, int]) -> Pairs:
    """Return pairs of rows and ranks of their chunks; a chunk that is not in `rank` is added with the next rank."""
    rows = list(chunk_ids)
    ranks = [rank.setdefault(chunk, len(rank)) for chunk in chain.from_iterable(rows)]
    return np.repeat(np.arange(len(rows)), list(map(len, rows))), np.array(ranks, np.int64)


def _part_of(parts: Sequence[leiden.Part], n: int) -> Ints:
    """Return the index of the part that contains each node, -1 for none."""
    part_of = np.full(n, -1)
    sizes = [part.members.size for part in parts]
    part_of[np.concatenate([part.members for part in parts])] = np.repeat(np.arange(len(parts)), sizes)
    return part_of


def _grouped(owner: Ints, value: Ints, n: int) -> list[list[int]]:
    """Return the distinct values of each of n owners, ascending; values with the owner -1 are dropped."""
    width = int(value.max(initial=0)) + 1
    pairs = unique_numbers((owner * width + value)[owner >= 0])
    ends: list[int] = np.searchsorted(pairs, np.arange(n + 1) * width).tolist()
    values: list[int] = (pairs % width).tolist()
    return [values[a:b] for a, b in pairwise(ends)]


MOST_SPANS = 8
"""Maximum spans stored for one row, first those that support its description; so a row takes a few hundred bytes."""
FEW_LINES, FEW_TOKENS = 3, 80
"""Maximum number of descriptions of an element, and of their tokens in total, that are joined without a call. Of 200
elements that a strong model described (sample corpus), 111 have no more; its texts have 0.89 of the joined tokens."""
TOGETHER = 40
"""Elements that are passed to a model at a time, five calls of eight: a report waits for whole batches of these."""
LAST = -1.0
"""The priority of a description that no report waits for; a report of the root level has the priority 0."""

ALONE = 2000
"""Number of rows in a shard of rows that no report uses: 0.1 CPU s, like a shard of reports of a million tokens."""
_ROW = 400
"""Average characters of the descriptions of an entity and of its three relationships (podcasts)."""
Ready = Callable[[Community, Iterable[int]], Awaitable[None]]

# Descriptions


_DESCRIBED = Element()
"""Replaces the element of a row once it is described, because the instances take more memory than the row."""
Work = tuple[int, int, Mapping[str, Span], DescribeElement]
"""A row to describe: the index of its table, its number, its descriptions with their spans, and the task."""


class DescribedGraph:
    """The graph, whose rows are completed in place as their descriptions are written."""

    def __init__(
        self, merged: Merged, model: Model, documents: Iterable[Document] = (), *, strict: bool = False
    ) -> None:
        """Complete the rows of `merged`; a few short descriptions are joined without a model, unless `strict`."""
        self.entities, self.relationships, self.claims = merged.entities, merged.relationships, merged.claims
        self._tables: tuple[list[Any], ...] = (self.entities, self.relationships, self.claims)
        self._elements = merged.entity_elements, merged.relationship_elements, merged.claim_elements
        self._model, self._writes = model, writes(model, DescribeElement)
        self._join = self._writes and not strict
        self._documents = {document.id: document for document in documents if self._writes}
        self._failures: dict[tuple[int, int], Failure] = {}
        self._under_way: dict[tuple[int, int], asyncio.Future[None]] = {}
        self.digests: dict[str, Hashes] = {}  # `instance_digests`, if rows can be reused

    def instance_digests(self) -> dict[str, Hashes]:
        """Return digests by array name; rows with equal digests have equal descriptions (see `Instances.digests`)."""
        return {
            name: each.digests(column(table, "id"))
            for name, table, each in zip(_DIGESTS, self._tables, self._elements, strict=False)
            if isinstance(each, Instances)
        }

    def carry_on(self, before: Index) -> list[list[int]]:
        """Describe rows whose instances are the same as in an index before, with its descriptions.
        Return for each entity and each relationship the number in that index of the identical row, -1 for none.
        """
        were = before.entities, before.relationships
        numbers = list[list[int]]()
        for (name, digest), table, was in zip(self.digests.items(), self._tables, were, strict=False):
            earlier = before.arrays.get(name)
            if earlier is None:  # built by an older version
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
        """Describe all rows; with a language model, only start the calls, for which `ready` and `done` wait.

        `priority` has the priorities of entities, relationships and claims; rows with high ones are described first.
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
            await asyncio.sleep(0)  # lets the first calls be sent

    def works(
        self, language: str, rows: Sequence[Iterable[int]], priority: Sequence[Sequence[float]] = ((), (), ())
    ) -> Iterator[Work]:
        """Yield the rows to be described by the model, with descriptions from the oldest document to the newest.
        Rows that need no model are completed directly.
        """
        known = self._documents
        for table, numbers in enumerate(rows):
            kind, elements, first = KINDS[table], self._elements[table], priority[table]
            for number in numbers:
                row = self._tables[table][number]
                done = not self._writes and row.description
                texts = {} if done else elements[number].descriptions
                if not texts:  # it is described, or about to be
                    continue
                if not self._writes:  # with a language model, estimates need the instances again
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
        """Complete rows by the replies of a model."""
        for (table, number, texts, task), reply in zip(works, replies, strict=True):
            if isinstance(reply, ModelError):
                self._failures[table, number] = Failure("describe", f"{task.kind} {task.name}: {reply}")
            description, spans = _description(task, reply), list(texts.values())
            used = [spans[n] for n in description.used if n < len(spans)]  # otherwise the first spans
            _complete(self._tables[table][number], description.text, used or spans)
            self._under_way.pop((table, number), None)

    async def ready(self, community: Community, claims: Iterable[int] = ()) -> None:
        """Wait for the descriptions of all elements of a community, including the given claims."""
        rows = (community.entity_numbers, community.relationship_numbers, claims)
        for row in ((table, number) for table, numbers in enumerate(rows) for number in numbers):
            if work := self._under_way.get(row):
                await work

    async def done(self) -> None:
        """Wait for all descriptions; raise Unusable if the model can no longer be used."""
        await together(set(self._under_way.values()))

    def cancel(self) -> None:
        """Cancel the descriptions in progress."""
        for work in self._under_way.values():
            work.cancel()

    @property
    def failures(self) -> list[Failure]:
        """The failed descriptions, in the order of the rows."""
        return [self._failures[row] for row in sorted(self._failures)]


KINDS = ("entity", "relationship", "claim")
_DIGESTS = {
    "graph.entity_digests": ("type", "frequency", "degree"),
    "graph.edge_digests": ("weight", "combined_degree"),
}
"""The array with a digest for each row, and the other attributes that reports use."""


def _complete(row: Entity | Relationship | Claim, description: str, spans: Iterable[Span]) -> None:
    """Set the description of a row, and its spans to the first `MOST_SPANS` distinct ones."""
    # in place, because `replace` takes fourteen times as long, and rows are not used before they are complete
    object.__setattr__(row, "description", description)
    object.__setattr__(row, "spans", tuple(dict.fromkeys(spans))[:MOST_SPANS])


def _description(task: DescribeElement, reply: Description | ModelError) -> Description:
    """Return the reply of a model or, if it failed, the longest description of the instances."""
    return Description(max(task.descriptions, key=len)) if isinstance(reply, ModelError) else reply


_END = tuple(".!?。！？…")


def joined_descriptions(descriptions: Sequence[str]) -> str:
    """Return a few short descriptions as one text, without those that another one repeats; "" if they are too long."""
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
    """Return whether a longer text has the words of a text in order, and apart from them only names and numbers."""
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
    """Write the reports that are not in `contexts.known`, and return all reports and the failures.

    Reports are in the order of their communities. Each starts when those of its children are written and its elements
    are `ready` (given the community and its claims), the deepest first. A community that is too small, or whose report
    failed, gets a brief report without a call, and its parent's report uses its elements instead. Raises Unusable.
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
    """Some communities of level 0, each with all its descendants, and the data of rows that their reports need."""

    trees: Sequence[Sequence[Community]]
    entities: Sequence[tuple[int, str, str, str, int, int]]
    """Number, name, type, description, number of chunks and degree."""
    relationships: Sequence[tuple[int, str, str, str, float, int]]
    """Number, source, target, description, weight and combined degree."""
    tasks: Mapping[tuple[int, int], DescribeElement]
    """The tasks for rows without descriptions, by table and number, including rows that no report uses."""
    known: Mapping[int, Report]
    """Reports that are reused, by community."""

    @classmethod
    def of(
        cls, trees: Sequence[Sequence[Community]], contexts: CommunityContextBuilder, works: Iterable[Work]
    ) -> ReportShard:
        """Return a shard with the data that the trees need from the rows of the whole graph."""
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
        """Return a builder of the contexts of these communities; without a language model, estimated tokens suffice."""
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
"""The reports of each tree, and the failures."""


def write_shard(
    shard: ReportShard, model: Model, settings: ReportSettings, language: str
) -> tuple[list[Description | ModelError], Written]:
    """Describe the rows of a shard and write its reports, tree by tree, with a model that works in this process.
    Return the replies to the tasks, and the reports.
    """

    async def write() -> tuple[list[Description | ModelError], Written]:
        replies = await model.perform_all(list(shard.tasks.values()))
        contexts = shard.contexts(settings.context_tokens, replies)
        written = [await write_reports(tree, contexts, model, settings, language) for tree in shard.trees]
        return replies, written

    return run_sync(write())


def _below(communities: Rows[Community], number: int) -> list[Community]:
    """Return a community and all its descendants, in the order of their numbers, which is level by level."""
    tree = [communities[number]]
    for community in tree:  # `tree` grows
        tree += [communities[child] for child in community.children]
    return sorted(tree, key=lambda community: community.number)


def _trees(communities: Rows[Community]) -> list[list[Community]]:
    """Return the tree of each community of level 0."""
    every = range(len(communities))
    return [_below(communities, number) for number in every if not communities[number].level]


async def map_reports(
    graph: DescribedGraph,
    contexts: CommunityContextBuilder,
    how: tuple[Model, ReportSettings, str],
    workers: Workers,
    tick: Tick = no_tick,
) -> tuple[list[Report], list[Failure]]:
    """Write reports like `write_reports`, shard by shard, which is possible because trees are independent.
    `how` is the model, its settings and the language. Rows are described in the shard of the reports that use them.
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
    await asyncio.sleep(0)  # lets the task that computes arrays run before this process works on shards
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
    """Return, by community, the reports of an index before that would be the same except for the numbers of rows.
    Rows whose instances are the same get their earlier descriptions.

    A report depends on its community and all descendants, and on their entities and relationships; so the reports of
    the descendants can be reused together with it.
    """
    several = len({document.language for document in before.documents}) > 1
    if before.claims or several != getattr(model, "multilingual", None):
        return {}
    entities, edges = graph.carry_on(before)
    earlier = {id_: number for number, id_ in enumerate(column(before.communities, "id"))}
    edges_in = list(map(len, column(before.communities, "relationship_numbers")))
    reports: dict[int, Report] = {}
    stored = before.reports[:]  # reading them one by one takes ten times as long
    trees = _trees(communities)
    for tree in trees:  # `trees` grows
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
        # a number with more digits may take more tokens
        longer = any(len(str(old)) != len(str(new)) for old, new in pairs)
        for community, report in zip(tree, written, strict=True):
            report = _renumbered(report, community, numbers)
            if longer:
                report = replace(report, n_tokens=tokens.count(report.text))
            reports[community.number] = report
    return reports


def _renumbered(report: Report, community: Community, numbers: Mapping[str, Mapping[int, int]]) -> Report:
    """Return a report for a community, with new row numbers in its references; `numbers` is empty if none changed."""
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
    """Return the communities that are large enough for a report by a model; none if the settings disable reports."""
    return [c for c in communities if settings.write and c.size >= settings.min_report_entities]


def priorities(
    communities: Sequence[Community], contexts: CommunityContextBuilder
) -> tuple[list[float], list[float], list[float]]:
    """Return priorities of the descriptions of entities, relationships and claims, by the deepest report that waits.
    A priority is the number of calls that must follow one after another, plus a fraction that keeps the rows of one
    community together; rows that no report waits for have the lowest priority, `LAST`.
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
