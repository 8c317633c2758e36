"""The stage that divides the graph into a hierarchy of communities (GraphRAG §3.1.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conspectus.algorithms.leiden import Part, adjacency, hierarchical_leiden
from conspectus.index import Index
from conspectus.rows import Chunk, Community, Entity, Relationship, content_id
from conspectus.settings import CommunitySettings

Ints = NDArray[np.int64]


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
    inside: list[list[int]] = []
    mentioned: list[list[int]] = []
    ends: list[int] = np.cumsum(np.bincount([part.level for part in parts])).tolist() if parts else []
    for first, last in pairwise([0, *ends]):  # where the parts of each level begin and end
        part_of = _part_of(parts[first:last], len(entities))
        part_of_relationship = np.where(part_of[source] == part_of[target], part_of[source], -1)
        inside += _grouped(part_of_relationship, np.arange(len(relationships)), last - first)
        owner = np.concatenate((part_of[entity_chunks[0]], part_of_relationship[relationship_chunks[0]]))
        mentioned += _grouped(owner, np.concatenate((entity_chunks[1], relationship_chunks[1])), last - first)
    chunk_ids = list(rank)
    return [
        _community(
            number,
            part,
            entities,
            tuple(relationships[place].number for place in inside[number]),
            tuple(chunk_ids[place] for place in mentioned[number]),
        )
        for number, part in enumerate(parts)
    ]


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


def _community(
    number: int,
    part: Part,
    entities: Sequence[Entity],
    relationship_numbers: tuple[int, ...],
    chunk_ids: tuple[str, ...],
) -> Community:
    places: list[int] = part.members.tolist()
    return Community(
        id=content_id(str(part.level), *sorted(entities[place].id for place in places)),
        number=number,
        level=part.level,
        parent=part.parent,
        children=tuple(part.children),
        entity_numbers=tuple(entities[place].number for place in places),
        relationship_numbers=relationship_numbers,
        chunk_ids=chunk_ids,
        unsplit=part.unsplit,
    )


def _pairs(chunk_ids: Iterable[Sequence[str]], rank: dict[str, int]) -> tuple[Ints, Ints]:
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
