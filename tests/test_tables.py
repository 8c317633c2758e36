"""An index as one value, and its look-ups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from making import a_report, an_edge, an_entity, an_index

import conspectus
from conspectus.index import Index
from conspectus.indexing.arrays import graph_arrays
from conspectus.name_lookup import entities_with, entity_keys, entity_of_key
from conspectus.rows import Community

TREE = [
    Community("root", 0, 0, -1, (2, 3), (0, 1, 2)),
    Community("lone", 1, 0, -1, (), (3,)),
    Community("left", 2, 1, 0, (4,), (0, 1)),
    Community("right", 3, 1, 0, (), (2,)),
    Community("deep", 4, 2, 2, (), (0, 1)),
]
INDEX = an_index(
    "Ants dig.",
    entities=["Ants", "Bees", "Cows", "Does"],
    edges=[("Ants", "Bees"), ("Bees", "Cows")],
    communities=TREE,
    reports=[
        a_report(name, i, community=i, level=TREE[i].level) for i, name in enumerate(("A", "B", "C", "D"))
    ],
)


def test_an_index_is_shown_by_what_it_holds_and_not_by_its_texts():
    assert repr(INDEX).endswith("1 document, 1 chunk, 4 entities, 2 relationships, 5 communities, 4 reports>")
    assert repr(Index()) == "<Index not stored: empty>"


def test_the_package_completes_to_what_it_offers():
    assert "ask" in dir(conspectus)
    assert "store" not in dir(conspectus)


def test_the_levels_of_a_hierarchy_run_from_the_root():
    assert list(INDEX.levels) == [0, 1, 2]
    assert list(Index().levels) == []


@pytest.mark.parametrize(
    ("level", "ids"), [(0, ["root", "lone"]), (1, ["lone", "left", "right"]), (2, ["lone", "right", "deep"])]
)
def test_a_level_is_a_partition_in_which_what_is_not_split_stands_for_itself(level: int, ids: list[str]):
    communities = list(INDEX.communities_at(level))

    assert [c.id for c in communities] == ids
    assert sorted(e for c in communities for e in c.entity_numbers) == [0, 1, 2, 3]


def test_the_reports_of_a_level_are_those_of_its_communities():
    assert [r.title for r in INDEX.reports_at(1)] == ["B", "C", "D"]
    assert [r.title for r in INDEX.reports_at(2)] == ["B", "D"]


def test_rows_are_found_by_what_names_them():
    assert INDEX.document_of[INDEX.documents[0].id] is INDEX.documents[0]
    assert INDEX.chunk_of[INDEX.chunks[0].id] is INDEX.chunks[0]
    assert INDEX.entity_of_name["Cows"] == 2
    assert INDEX.edges_of(1) == [0, 1]
    assert INDEX.edges_of(3) == []
    assert "Emus" not in INDEX.entity_of_name
    assert INDEX.communities_of(0) == [4, 2, 0]
    assert INDEX.report_of_community[2].title == "C"


def test_what_an_index_has_arrays_for_is_what_its_tables_say():
    stored = replace(INDEX, arrays={**INDEX.arrays, **graph_arrays(INDEX)})
    keys = INDEX.derive(entity_keys)

    for entity in range(len(INDEX.entities)):
        assert stored.edges_of(entity) == INDEX.edges_of(entity)
        assert stored.communities_of(entity) == INDEX.communities_of(entity)
        assert stored.listed("entity_chunk", entity) == INDEX.listed("entity_chunk", entity)
    for document in range(len(INDEX.documents)):
        assert stored.listed("chunk", document) == INDEX.listed("chunk", document)
    for name in ("number_of_document", "number_of_chunk", "entity_of_name", "number_of_word"):
        assert dict(getattr(stored, name)) == dict(getattr(INDEX, name))
    for index in (stored, INDEX):
        assert {key: entity_of_key(key, index) for key in keys} == keys
        assert entity_of_key("emus", index) is None


def test_entities_are_found_by_words_of_their_names():
    index = an_index("Ann Li.", entities=["Ann Li", "Ann", "The Li of Rome"])
    stored = replace(index, arrays=graph_arrays(index))

    for each in (index, stored):
        assert entities_with(["ann"], each) == {0, 1}
        assert entities_with(["li", "ann"], each) == {0}
        assert entities_with(["li", "emu"], each) == set()


def test_a_name_goes_before_an_alias_and_a_shared_alias_leads_nowhere():
    index = an_index(
        entities=[
            an_entity("Tolan", 0),
            an_entity("Mara Tolan", 1, aliases=("Tolan", "Mara", "MT")),
            an_entity("Mara Orrin", 2, aliases=("Mara",)),
        ],
        edges=[an_edge("Mara Orrin", "Tolan")],
    )

    keys = index.derive(entity_keys)
    assert (keys["tolan"], keys["mt"], keys.get("mara")) == (0, 1, None)


def test_a_name_is_found_with_its_last_word_in_its_stem():
    index = an_index(entities=["wind turbines"])

    assert index.derive(entity_keys)["wind turbin"] == 0


def test_a_name_of_one_word_is_not_found_by_what_its_stem_happens_to_be():
    index = an_index(entities=[an_entity("Maine", 0, "location"), an_entity("Beekeepers", 1, "organization")])

    assert "main" not in index.derive(entity_keys)
    assert index.derive(entity_keys)["beekeep"] == 1
