"""The stage that divides entities and relationships into a hierarchy of communities."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.index import Index
from conspectus.indexing.communities import find_communities
from conspectus.rows import Chunk, Community, Entity, Relationship, content_id
from conspectus.settings import CommunitySettings

SMALL = CommunitySettings(max_size=4)

Corpus = tuple[list[Entity], list[Relationship]]


def entity(number: int, chunk_ids: tuple[str, ...] = ()) -> Entity:
    name = f"Entity {number:03}"
    return Entity(content_id(name), number, name, "concept", "", chunk_ids)


def relationship(
    number: int, source: Entity, target: Entity, weight: float = 1.0, chunk_ids: tuple[str, ...] = ()
) -> Relationship:
    one, other = sorted((source.name, target.name))
    return Relationship(content_id(one, other), number, one, other, "", weight, chunk_ids=chunk_ids)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Entities, some without relationships, and relationships, each with its chunks."""
    n = draw(st.integers(1, 30))
    chunks = st.lists(st.sampled_from([f"chunk {i}" for i in range(8)]), unique=True, max_size=3)
    entities = [entity(i, tuple(draw(chunks))) for i in range(n)]
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), unique_by=lambda p: (min(p), max(p)), max_size=4 * n))
    linked = [(a, b) for a, b in pairs if a != b]
    relationships = [
        relationship(number, entities[a], entities[b], draw(st.integers(1, 9)), tuple(draw(chunks)))
        for number, (a, b) in enumerate(linked)
    ]
    return entities, relationships


@given(corpora())
def test_the_view_of_every_level_is_a_partition_of_the_entities(corpus: Corpus):
    index = Index(communities=find_communities(*corpus, SMALL))

    assert [c.number for c in index.communities] == list(range(len(index.communities)))
    assert len(index.levels) > 0
    for level in index.levels:
        held = [number for community in index.communities_at(level) for number in community.entity_numbers]
        assert sorted(held) == [e.number for e in corpus[0]]


@given(corpora())
def test_children_are_within_their_parent_and_make_it_up(corpus: Corpus):
    communities = find_communities(*corpus, SMALL)

    for community in communities:
        children = [communities[number] for number in community.children]
        assert all(child.parent == community.number for child in children)
        assert all(child.level == community.level + 1 for child in children)
        for child in children:
            assert set(child.relationship_numbers) <= set(community.relationship_numbers)
            assert set(child.chunk_ids) <= set(community.chunk_ids)
        if children:
            held = sorted(number for child in children for number in child.entity_numbers)
            assert held == list(community.entity_numbers)
        assert community.size <= SMALL.max_size or children or community.unsplit


@given(corpora())
def test_a_community_lists_what_lies_inside_it(corpus: Corpus):
    entities, relationships = corpus
    names = {e.number: e.name for e in entities}

    for community in find_communities(entities, relationships, SMALL):
        members = {names[number] for number in community.entity_numbers}
        inside = [r for r in relationships if r.source in members and r.target in members]
        chunks = {c for e in entities if e.name in members for c in e.chunk_ids}
        chunks |= {c for r in inside for c in r.chunk_ids}
        assert community.relationship_numbers == tuple(r.number for r in inside)
        assert set(community.chunk_ids) == chunks
        assert len(community.chunk_ids) == len(chunks)


@given(corpora())
def test_a_community_is_connected_by_its_relationships(corpus: Corpus):
    entities, relationships = corpus
    number = {e.name: e.number for e in entities}

    for community in find_communities(entities, relationships, SMALL):
        reached: set[int] = set()
        edge = {community.entity_numbers[0]}
        inside = [relationships[n] for n in community.relationship_numbers]
        while edge:
            reached |= edge
            ends = [{number[r.source], number[r.target]} for r in inside]
            edge = {n for pair in ends if pair & reached for n in pair} - reached
        assert reached == set(community.entity_numbers)


@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_in_which_rows_are_given_does_not_matter(corpus: Corpus, shuffler: random.Random):
    entities, relationships = corpus
    expected = find_communities(entities, relationships, SMALL)
    mixed_entities = shuffler.sample(entities, len(entities))
    mixed_relationships = shuffler.sample(relationships, len(relationships))

    assert find_communities(mixed_entities, mixed_relationships, SMALL) == expected


@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_of_relationships_in_their_table_does_not_matter_to_who_is_with_whom(
    corpus: Corpus, shuffler: random.Random
):
    entities, relationships = corpus
    mixed = shuffler.sample(relationships, len(relationships))
    renumbered = [replace(r, number=number) for number, r in enumerate(mixed)]

    def found(links: list[Relationship]) -> list[tuple[object, ...]]:
        communities = find_communities(entities, links, SMALL)
        return [(c.id, c.level, c.parent, c.entity_numbers, c.children) for c in communities]

    assert found(renumbered) == found(relationships)


def test_an_id_depends_on_the_level_and_the_members_only():
    entities = [entity(i) for i in range(3)]
    link = [relationship(0, entities[0], entities[1])]
    turned = [replace(e, number=7 - e.number, description="new") for e in entities]

    community, lone = find_communities(entities, link, SMALL)
    same, _ = find_communities(turned, link, SMALL)

    assert community.id == content_id("0", *sorted(e.id for e in entities[:2])) == same.id
    assert lone.id == content_id("0", entities[2].id)
    assert (community.entity_numbers, same.entity_numbers) == ((0, 1), (6, 7))


def test_an_entity_without_relationships_is_a_community_with_its_chunks():
    (lone,) = find_communities([entity(0, ("b", "a"))], [], SMALL)

    assert (lone.level, lone.parent, lone.entity_numbers) == (0, -1, (0,))
    assert lone.chunk_ids == ("b", "a")


def test_without_entities_there_are_no_communities():
    assert find_communities([], [], SMALL) == []


def test_chunks_are_listed_in_the_order_of_their_table():
    names = ["first", "second", "third"]
    chunks = [Chunk(name, number, "d", 0, 1, "", 1) for number, name in enumerate(names)]
    entities = [entity(0, ("third", "elsewhere")), entity(1, ("second", "third"))]
    links = [relationship(0, entities[0], entities[1], chunk_ids=("first",))]

    community = find_communities(entities, links, SMALL, chunks)[0]

    assert community.chunk_ids == ("first", "second", "third", "elsewhere")


def test_weight_decides_between_two_neighbours():
    entities = [entity(i) for i in range(9)]
    triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    links = [relationship(n, entities[a], entities[b], 3) for n, (a, b) in enumerate(triangles)]

    def with_whom(to_first: float, to_second: float) -> Community:
        torn = [
            relationship(6, entities[0], entities[6], to_first),
            relationship(7, entities[3], entities[6], to_second),
        ]
        communities = find_communities(entities, links + torn, CommunitySettings())
        return next(c for c in communities if 6 in c.entity_numbers)

    assert with_whom(5, 1).entity_numbers == (0, 1, 2, 6)
    assert with_whom(1, 5).entity_numbers == (3, 4, 5, 6)


@pytest.mark.parametrize("max_size", [3, 10])
def test_a_star_larger_than_allowed_says_that_it_is_one(max_size: int):
    entities = [entity(i) for i in range(20)]
    links = [relationship(i, entities[0], entities[i + 1]) for i in range(19)]

    (star,) = find_communities(entities, links, CommunitySettings(max_size=max_size))

    assert (star.size, star.unsplit) == (20, "a star around one node")
    assert star.relationship_numbers == tuple(range(19))
