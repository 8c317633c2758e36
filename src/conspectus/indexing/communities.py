"""Communities of the graph (GraphRAG §3.1.4), descriptions of its elements (§3.1.3), and reports (§3.1.5).

An element whose instances have only one description takes it without a task. Reports are written deepest first, so that
a parent can stand on its parts; `community_context` says what each is written from. Where the model has to be waited
for, both are done at once: a report waits for the descriptions of its own community alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from conspectus.algorithms.leiden import Part, adjacency, hierarchical_leiden
from conspectus.community_context import CommunityContextBuilder, brief_draft, report_of
from conspectus.errors import ModelError, Unusable
from conspectus.index import Index
from conspectus.indexing.graph import Element, Merged
from conspectus.models.base import AT_ONCE, Model, Tick, no_tick, together, writes
from conspectus.rows import Chunk, Claim, Community, Entity, Failure, Relationship, Report, content_id
from conspectus.settings import CommunitySettings, ReportSettings
from conspectus.tasks import DescribeElement, WriteReport

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
    node = {entity.name: place for place, entity in enumerate(entities)}
    source = np.array([node[r.source] for r in relationships], np.int64)
    target = np.array([node[r.target] for r in relationships], np.int64)
    weight = np.array([r.weight for r in relationships], np.float64)
    parts = hierarchical_leiden(
        adjacency(source, target, weight, len(entities)),
        max_size=settings.max_size,
        seed=settings.seed,
        start=_earlier(before, entities) if before else (),
    )
    rank = {chunk.id: place for place, chunk in enumerate(chunks)}
    entity_chunks = _pairs((entity.chunk_ids for entity in entities), rank)
    relationship_chunks = _pairs((relationship.chunk_ids for relationship in relationships), rank)
    inside, mentioned = _contents(parts, (source, target), entity_chunks, relationship_chunks, len(entities))
    chunk_ids = list(rank)
    communities: list[Community] = []
    for number, part in enumerate(parts):
        places: list[int] = part.members.tolist()
        members = [entities[place] for place in places]
        communities.append(
            Community(
                id=content_id(str(part.level), *sorted(entity.id for entity in members)),
                number=number,
                level=part.level,
                parent=part.parent,
                children=tuple(part.children),
                entity_numbers=tuple(entity.number for entity in members),
                relationship_numbers=tuple(relationships[place].number for place in inside[number]),
                chunk_ids=tuple(chunk_ids[place] for place in mentioned[number]),
                unsplit=part.unsplit,
            )
        )
    return communities


def _contents(
    parts: Sequence[Part], ends: tuple[Ints, Ints], entity_chunks: Pairs, relationship_chunks: Pairs, n: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the relationships inside each part, and the ranks of the chunks that mention what is in it."""
    source, target = ends
    inside: list[list[int]] = []
    mentioned: list[list[int]] = []
    last_of: list[int] = np.cumsum(np.bincount([part.level for part in parts])).tolist() if parts else []
    for first, last in pairwise([0, *last_of]):  # where the parts of each level begin and end
        part_of = _part_of(parts[first:last], n)
        part_of_relationship = np.where(part_of[source] == part_of[target], part_of[source], -1)
        inside += _grouped(part_of_relationship, np.arange(len(source)), last - first)
        owner = np.concatenate((part_of[entity_chunks[0]], part_of_relationship[relationship_chunks[0]]))
        mentioned += _grouped(owner, np.concatenate((entity_chunks[1], relationship_chunks[1])), last - first)
    return inside, mentioned


def _earlier(before: Index, entities: Sequence[Entity]) -> list[Ints]:
    """Return for each level of an index the number of the community that each entity was in there, -1 for a new one."""
    place = {entity.id: i for i, entity in enumerate(entities)}
    at = np.array([place.get(entity.id, -1) for entity in before.entities], np.int64)
    levels: list[Ints] = []
    for community in before.communities:  # level by level
        if community.level == len(levels):
            levels.append(levels[-1].copy() if levels else np.full(len(entities), -1))
        members = at[list(community.entity_numbers)]
        levels[community.level][members[members >= 0]] = community.number
    return levels


def _pairs(chunk_ids: Iterable[Sequence[str]], rank: dict[str, int]) -> Pairs:
    """Return rows and the ranks of their chunks, a pair for each mention; a new chunk takes the next rank."""
    ranks = [[rank.setdefault(chunk, len(rank)) for chunk in row] for row in chunk_ids]
    rows = np.repeat(np.arange(len(ranks)), [len(row) for row in ranks])
    return rows, np.array([place for row in ranks for place in row], np.int64)


def _part_of(parts: Sequence[Part], n: int) -> Ints:
    """Return which of the parts each node is in, -1 where in none."""
    part_of = np.full(n, -1)
    sizes = [part.members.size for part in parts]
    part_of[np.concatenate([part.members for part in parts])] = np.repeat(np.arange(len(parts)), sizes)
    return part_of


def _grouped(owner: Ints, value: Ints, n: int) -> list[list[int]]:
    """Return the distinct values of each of n owners, ascending; what has the owner -1 belongs to none."""
    width = int(value.max(initial=0)) + 1
    pairs = np.sort((owner * width + value)[owner >= 0])
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # np.unique takes ten times as long
    ends: list[int] = np.searchsorted(pairs, np.arange(n + 1) * width).tolist()
    values: list[int] = (pairs % width).tolist()
    return [values[a:b] for a, b in pairwise(ends)]


R = TypeVar("R", Entity, Relationship, Claim)
MOST_SPANS = 8
"""Spans stored for one row, those that its description rests on first; a row stays a few hundred bytes."""
LAST = -1.0
"""The priority of a description that no report waits for; that of a report of the root is 0."""

Ready = Callable[[Community, Iterable[int]], Awaitable[None]]

# Descriptions


class Described(Generic[R]):
    """The rows of one table, complete in `rows` as their descriptions come in."""

    def __init__(self, kind: str, rows: Sequence[R], elements: Sequence[Element]) -> None:
        self.rows = list(rows)
        self.failures: dict[int, Failure] = {}
        self.under_way: dict[int, asyncio.Future[None]] = {}
        self._kind = kind
        self._texts = [element.descriptions for element in elements]
        for i, texts in enumerate(self._texts):
            if len(texts) <= 1:
                self._set_description(i, next(iter(texts), ""), ())

    async def describe(self, model: Model, language: str, priority: Sequence[float], tick: Tick) -> None:
        """Describe all rows, or, where the model has to be waited for, begin to."""
        for i, texts in enumerate(self._texts):
            if len(texts) <= 1:
                continue
            first = priority[i] if priority else 0.0
            task = DescribeElement(
                _name(self.rows[i]), self._kind, tuple(texts), language=language, priority=first
            )
            work = self._describe_row(i, task, model, tick)
            if not writes(model, DescribeElement):
                await work
                continue
            self.under_way[i] = asyncio.ensure_future(work)
            if i % AT_ONCE == 0:
                await asyncio.sleep(0)  # so that the first calls go out before all are thought of

    async def _describe_row(self, i: int, task: DescribeElement, model: Model, tick: Tick) -> None:
        """Describe one row; where the model fails, by the longest description of its instances."""
        try:
            reply = await model.perform(task)
        except Unusable:
            raise
        except ModelError as error:
            self.failures[i] = Failure("describe", f"{self._kind} {task.name}: {error}")
            self._set_description(i, max(task.descriptions, key=len), ())
        else:
            self._set_description(i, reply.text, reply.used)
        tick()
        self.under_way.pop(i, None)

    def _set_description(self, i: int, description: str, used: Sequence[int]) -> None:
        """Describe a row, by the instances `used` of it; without any, by the first ones."""
        spans = list(self._texts[i].values())
        first = [spans[n] for n in used if n < len(spans)]
        distinct = tuple(dict.fromkeys(first or spans))
        self.rows[i] = replace(self.rows[i], description=description, spans=distinct[:MOST_SPANS])


class DescribedGraph:
    """The graph, with descriptions that are there or on their way."""

    def __init__(self, merged: Merged) -> None:
        """Describe what needs no task."""
        self.entities = Described("entity", merged.entities, merged.entity_elements)
        self.relationships = Described("relationship", merged.relationships, merged.relationship_elements)
        self.claims = Described("claim", merged.claims, merged.claim_elements)
        self._tables = self.entities, self.relationships, self.claims

    async def describe(
        self,
        model: Model,
        language: str = "en",
        priority: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ()),
        tick: Tick = no_tick,
    ) -> None:
        """Describe all rows, or, where the model has to be waited for, begin to: `ready` and `done` wait.

        `priority` is of the entities, the relationships and the claims: those that reports wait for longest go first.
        """
        for table, first in zip(self._tables, priority, strict=True):
            await table.describe(model, language, first, tick)

    async def ready(self, community: Community, claims: Iterable[int] = ()) -> None:
        """Wait for the descriptions of all that is in a community."""
        numbers = (community.entity_numbers, community.relationship_numbers, claims)
        for table, of_table in zip(self._tables, numbers, strict=True):
            for number in of_table if table.under_way else ():
                if (work := table.under_way.get(number)) is not None:
                    await work

    async def done(self) -> None:
        """Wait for all descriptions; raise Unusable where nothing more can be asked of the model."""
        await together(self._under_way())

    def cancel(self) -> None:
        """Give up what is on its way."""
        for work in self._under_way():
            work.cancel()

    def _under_way(self) -> list[asyncio.Future[None]]:
        return [work for table in self._tables for work in table.under_way.values()]

    @property
    def failures(self) -> list[Failure]:
        """What could not be described, in the order of the rows."""
        return [table.failures[i] for table in self._tables for i in sorted(table.failures)]


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
    """Write a report for each community, and return what could not be written.

    Reports are in the order of their communities. Each starts when those of its own parts are written and its
    elements are `ready` (given the community and its claims); the deepest go first. A community that is too small, or
    whose report failed, gets a brief one without a call; what it is part of is written from its elements. Raises
    Unusable where nothing more can be asked of the model.
    """
    written: dict[int, Report] = {}
    brief: dict[int, Report] = {}
    failures: dict[int, Failure] = {}
    pending: dict[int, asyncio.Task[None]] = {}
    large = {community.number for community in reported(communities, settings)}

    async def write(community: Community) -> None:
        number = community.number
        for child in community.children:
            await pending[child]
        if ready is not None:
            claims = contexts.claims_in(community.entity_numbers, community.relationship_numbers)
            await ready(community, claims)
        if number in large:
            task = WriteReport(contexts.build(community, written), language=language, priority=community.level)
            try:
                written[number] = report_of(community, number, await model.perform(task))
            except Unusable:
                raise
            except ModelError as error:
                failures[number] = Failure("reports", f"community {number}: {error}")
            tick()
        if number not in written:
            brief[number] = report_of(community, number, brief_draft(contexts.build(community, {}), language))

    if settings.write:
        for community in sorted(communities, key=lambda c: (-c.level, c.number)):
            pending[community.number] = asyncio.ensure_future(write(community))
    await together(pending.values())
    return [(written | brief)[number] for number in sorted(pending)], [failures[n] for n in sorted(failures)]


def reported(communities: Sequence[Community], settings: ReportSettings) -> list[Community]:
    """Return the communities that are large enough to ask a model for; none where no reports are to be written."""
    return [c for c in communities if settings.write and c.size >= settings.min_report_entities]


def priorities(
    communities: Sequence[Community], contexts: CommunityContextBuilder
) -> tuple[list[float], list[float], list[float]]:
    """Return how urgent the descriptions of entities, relationships and claims are: by the deepest report that waits.

    It is the number of calls that have to follow on one another; what no report waits for comes last.
    """
    rows = (contexts.entities, contexts.relationships, contexts.claims)
    entities, relationships, claims = ([LAST] * len(table) for table in rows)
    for community in sorted(communities, key=lambda c: c.level):
        urgent = community.level + 1.0
        for number in community.entity_numbers:
            entities[number] = urgent
        for number in community.relationship_numbers:
            relationships[number] = urgent
        for number in contexts.claims_in(community.entity_numbers, community.relationship_numbers):
            claims[number] = urgent
    return entities, relationships, claims
