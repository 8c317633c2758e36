"""Corrections apply to any corpus: general properties of corrections of a merged graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from making import a_document, whole_chunk

from conspectus.corrections import (
    ADDED_FACTS,
    AddFact,
    Correction,
    Delete,
    Merge,
    Rename,
    Retype,
    Split,
)
from conspectus.indexing.arrays import text_arrays
from conspectus.indexing.chunks import Extracted
from conspectus.indexing.corrections import CorrectionResult, apply_corrections, correct_triples
from conspectus.indexing.graph import Merged, merge, merge_claims, resolve
from conspectus.rows import Chunk, Entity, Relationship, Span
from conspectus.settings import ResolveSettings
from conspectus.tasks import Extraction, FoundClaim, FoundEntity, FoundRelationship, FoundTriple
from conspectus.text.lexicon import read_sentences
from conspectus.text.mentions import hash_of, units

TEXTS = {
    "planets/orbit.txt": "Mercury circles the Sun. Venus follows Mercury.",
    "metals/lamp.txt": "Mercury fills the lamp. Quicksilver is Mercury.",
    "people/brook.txt": "Ada Brook saw Venus. Brook Hall has a lamp.",
}
DOCUMENTS = [a_document(text, i, path) for i, (path, text) in enumerate(TEXTS.items())]
CHUNKS = [whole_chunk(document) for document in DOCUMENTS]
ORBIT, LAMP, BROOK = (document.id for document in DOCUMENTS)


def thing(name: str, document: int, words: str, type: str = "object") -> FoundEntity:
    return FoundEntity(name, type, words, spot(document, words))


def pair(source: str, target: str, document: int, words: str) -> FoundRelationship:
    return FoundRelationship(source, target, words, 6.0, spot(document, words))


def spot(document: int, words: str) -> Span:
    start = DOCUMENTS[document].text.index(words)
    return Span(DOCUMENTS[document].id, start, start + len(words))


CIRCLES, FOLLOWS = "Mercury circles the Sun.", "Venus follows Mercury."
FILLS, IS = "Mercury fills the lamp.", "Quicksilver is Mercury."
SAW, HAS = "Ada Brook saw Venus.", "Brook Hall has a lamp."
GRAPHS = [
    Extraction(
        (
            thing("Mercury", 0, CIRCLES, "planet"),
            thing("Sun", 0, CIRCLES),
            thing("Venus", 0, FOLLOWS, "planet"),
        ),
        (pair("Mercury", "Sun", 0, CIRCLES), pair("Venus", "Mercury", 0, FOLLOWS)),
        (FoundTriple("Mercury", "circles", "Sun"),),
    ),
    Extraction(
        (thing("Mercury", 1, FILLS, "metal"), thing("lamp", 1, FILLS), thing("Quicksilver", 1, IS, "metal")),
        (pair("Mercury", "lamp", 1, FILLS), pair("Quicksilver", "Mercury", 1, IS)),
    ),
    Extraction(
        (thing("Ada Brook", 2, SAW, "person"), thing("Venus", 2, SAW, "planet"), thing("lamp", 2, HAS)),
        (pair("Ada Brook", "Venus", 2, SAW), pair("Brook Hall", "lamp", 2, HAS)),
    ),
]
CLAIMS = [
    (FoundClaim("Mercury", "Sun", "ORBIT", "TRUE", "Mercury circles the Sun."),),
    (FoundClaim("Quicksilver", "NONE", "METAL", "TRUE", "Quicksilver is a metal."),),
    (),
]


@dataclass(frozen=True)
class Made:
    """The result of applying corrections to the small corpus."""

    result: CorrectionResult
    graphs: Sequence[tuple[Chunk, Extraction]]
    merged: Merged
    corrections: Sequence[Correction]

    @property
    def entities(self) -> dict[str, Entity]:
        return {entity.name: entity for entity in self.merged.entities}

    @property
    def pairs(self) -> dict[tuple[str, str], Relationship]:
        return {(edge.source, edge.target): edge for edge in self.merged.relationships}

    @property
    def problems(self) -> list[str]:
        errors = {failure.stage: failure.error for failure in self.result.failures}
        return [errors.get(c.title, "").removeprefix(f"{c}: ") for c in self.corrections]

    @property
    def joins(self) -> list[tuple[str, str]]:
        return [(join.name, join.into) for join in self.result.joins if join.rule == "person"]

    @property
    def triples(self) -> set[tuple[str, str, str]]:
        found = correct_triples(self.graphs, self.result.names)
        return {(t.head, t.relation, t.tail) for _, triples in found for t in triples}

    def spans(self, name: str) -> set[Span]:
        return {span for span, _ in self.merged.entity_elements[self.entities[name].number].instances}


def made(*corrections: Correction, graphs: Sequence[Extraction] = GRAPHS, language: str = "en") -> Made:
    numbered = [replace(correction, number=number) for number, correction in enumerate(corrections, 1)]
    names = resolve(CHUNKS, graphs, DOCUMENTS, ResolveSettings())
    extracted = Extracted(list(graphs), [*CLAIMS])
    result = apply_corrections(numbered, names, CHUNKS, extracted, DOCUMENTS, language)
    every = [*result.extracted, *zip(CHUNKS, graphs, strict=True)]
    merged = merge_claims(DOCUMENTS, CHUNKS, CLAIMS, result.names, merge(every, result.names))
    return Made(result, every, merged, numbered)


BEFORE = made()


# Merge


def test_merged_names_are_one_entity_with_the_places_of_all():
    now = made(Merge(("Quicksilver", "Mercury"), "Mercury"))

    assert now.entities.keys() == BEFORE.entities.keys() - {"Quicksilver"}
    assert now.entities["Mercury"].aliases == ("Quicksilver",)
    assert now.spans("Mercury") == BEFORE.spans("Mercury") | BEFORE.spans("Quicksilver")
    assert ("Mercury", "Quicksilver") not in now.pairs, "a pair of one with itself is none"
    assert now.joins == [("Quicksilver", "Mercury")]
    assert now.problems == [""]


def test_relationships_of_merged_entities_to_the_same_third_become_one():
    now = made(Merge(("Ada Brook", "Mercury"), "Ada Brook"))

    assert now.pairs["Ada Brook", "Venus"].weight == 2
    assert now.pairs["Ada Brook", "Venus"].chunk_ids == (CHUNKS[0].id, CHUNKS[2].id)


def test_claims_follow_their_subject():
    now = made(Merge(("Quicksilver", "Mercury"), "Hg"))

    assert {claim.subject for claim in now.merged.claims} == {"Hg"}
    assert now.entities["Hg"].aliases == ("Mercury", "Quicksilver")


def test_merging_into_another_entity_takes_that_in_too():
    now = made(Merge(("Quicksilver", "lamp"), "Mercury"))

    assert now.entities["Mercury"].aliases == ("Quicksilver", "lamp")


def test_a_merged_entity_has_the_type_that_most_of_its_instances_have():
    assert made(Merge(("Venus", "Sun"), "Heavens")).entities["Heavens"].type == "planet"


def test_a_merge_that_finds_one_name_only_says_so_and_keeps_to_the_name():
    now = made(Merge(("Quicksilver", "Cinnabar"), "Cinnabar"))

    assert "Cinnabar" in now.entities
    assert now.problems == ["nothing is called 'Cinnabar'"]


def test_what_was_merged_is_found_by_any_of_its_names():
    now = made(Merge(("Quicksilver", "Mercury"), "Hg"), Rename("Quicksilver", "Element 80"))

    assert "Element 80" in now.entities
    assert now.entities["Element 80"].aliases == ("Mercury", "Quicksilver")


# Split


def test_an_entity_is_split_by_documents():
    now = made(Split("Mercury", "Mercury (planet)", documents=("planets/*",)))

    assert now.spans("Mercury (planet)") == {spot(0, CIRCLES)}
    assert now.spans("Mercury") == {spot(1, FILLS)}
    assert now.entities["Mercury (planet)"].type == "planet"
    assert ("Mercury (planet)", "Sun") in now.pairs
    assert ("Mercury", "lamp") in now.pairs
    assert now.merged.claims[0].subject == "Mercury (planet)"


def test_part_of_an_entity_is_given_to_another_one():
    now = made(Split("Mercury", "Quicksilver", documents=("metals/*",)))

    assert now.spans("Quicksilver") == {spot(1, FILLS), spot(1, IS)}
    assert now.spans("Mercury") == {spot(0, CIRCLES)}


def test_an_alias_is_split_off_wherever_it_was_taken_for_the_entity():
    joined = made(Merge(("Quicksilver", "Mercury"), "Mercury"))
    now = made(*joined.corrections, Split("Mercury", "Quicksilver"))

    assert joined.entities["Mercury"].aliases == ("Quicksilver",)
    assert now.entities["Mercury"].aliases == ()
    assert now.spans("Quicksilver") == {spot(1, IS)}
    assert now.spans("Mercury") == BEFORE.spans("Mercury")
    assert now.joins == []


def test_an_alias_that_rules_joined_is_split_off():
    graphs = [
        *GRAPHS[:2],
        replace(GRAPHS[2], entities=(*GRAPHS[2].entities, thing("Brook", 2, HAS, "person"))),
    ]
    before = made(graphs=graphs)
    now = made(Split("Ada Brook", "Brook"), graphs=graphs)

    assert before.entities["Ada Brook"].aliases == ("Brook",)
    assert [join.name for join in before.result.joins] == ["Brook"]
    assert now.entities["Ada Brook"].aliases == ()
    assert now.spans("Brook") == {spot(2, HAS)}
    assert not now.result.joins


def test_only_an_alias_is_split_off_without_documents():
    now = made(Split("Mercury", "Venus"), Split("Mercury", "Hg"))

    assert now.entities == BEFORE.entities
    assert now.problems == ["'Mercury' is not called 'Venus'", "'Mercury' is not called 'Hg'"]


def test_a_split_that_takes_nothing_is_told():
    now = made(
        Split("Mercury", "M", documents=("nowhere/*",)), Split("Mercury", "M", documents=("people/*",))
    )

    assert now.entities == BEFORE.entities
    assert now.problems == ["no document is at nowhere/*", "nothing is called 'Mercury' in people/*"]


# Rename


def test_a_renamed_entity_keeps_its_places_weights_and_old_name():
    now = made(Rename("Ada Brook", "Dame Ada"))

    was, is_ = BEFORE.entities["Ada Brook"], now.entities["Dame Ada"]
    assert is_.aliases == ("Ada Brook",)
    assert (is_.type, is_.chunk_ids, is_.degree) == (was.type, was.chunk_ids, was.degree)
    assert now.spans("Dame Ada") == BEFORE.spans("Ada Brook")
    assert now.pairs["Dame Ada", "Venus"].weight == BEFORE.pairs["Ada Brook", "Venus"].weight
    assert now.pairs["Dame Ada", "Venus"].strength == BEFORE.pairs["Ada Brook", "Venus"].strength


def test_an_entity_that_only_relationships_name_is_renamed_too():
    now = made(Rename("Brook Hall", "The Hall"))

    assert ("The Hall", "lamp") in now.pairs


def test_documents_that_use_the_new_name_later_mean_the_same_entity():
    later = [
        *GRAPHS[:2],
        Extraction((thing("Element 80", 2, SAW), *GRAPHS[2].entities), GRAPHS[2].relationships),
    ]
    now = made(Rename("Mercury", "Element 80"), graphs=later)

    assert now.spans("Element 80") == {spot(0, CIRCLES), spot(1, FILLS), spot(2, SAW)}
    assert now.problems == [""]


def test_an_entity_is_not_given_the_alias_of_another():
    now = made(Merge(("Quicksilver", "Mercury"), "Mercury"), Rename("lamp", "Quicksilver"))

    assert "lamp" in now.entities
    assert now.problems[1] == "'Quicksilver' is a name of Mercury"


# Retype and delete


def test_a_type_goes_with_an_entity_that_is_merged_or_renamed():
    now = made(Retype("lamp", "device"), Rename("lamp", "Lantern"), Merge(("Lantern", "Sun"), "Light"))

    assert now.entities["Light"].type == "device"


def test_what_is_deleted_leaves_no_trace():
    now = made(Delete("Mercury"))

    named = {row.name for row in now.merged.entities} | {
        end for row in now.merged.relationships for end in (row.source, row.target)
    }
    assert named == BEFORE.entities.keys() - {"Mercury"}
    assert [claim.subject for claim in now.merged.claims] == ["Quicksilver"]
    assert now.entities["Sun"].degree == 0
    assert now.result.deleted == {"mercury"}
    assert not now.triples


def test_a_name_that_others_still_have_is_not_gone():
    now = made(Split("Mercury", "Mercury (planet)", documents=("planets/*",)), Delete("Mercury (planet)"))

    assert now.spans("Mercury") == {spot(1, FILLS)}
    assert now.result.deleted == {"mercury planet"}


def test_what_was_deleted_is_not_corrected_any_more():
    now = made(Delete("Mercury"), Retype("Mercury", "god"))

    assert now.problems == ["", "an earlier correction deletes 'Mercury'"]


# Facts


def test_a_fact_that_a_person_says_stands_on_their_words():
    now = made(AddFact("Ada Brook", "Mercury", "Ada Brook discovered Mercury."))

    edge = now.pairs["Ada Brook", "Mercury"]
    ((span, _), text), *others = now.merged.relationship_elements[edge.number].instances.items()
    (document,) = now.result.documents
    assert not others
    assert (edge.weight, edge.strength) == (1, 8)
    assert document.path == ADDED_FACTS
    assert document.text[span.start : span.end] == text == 'A person: "Ada Brook discovered Mercury."'
    assert document.place(span.start, span.end) == "correction 1"
    assert edge.chunk_ids == (now.result.chunks[0].id,)


def test_what_people_say_is_told_in_the_language_of_the_corpus():
    (document,) = made(AddFact("Sun", "Venus", "太阳照亮金星。"), language="zh").result.documents
    assert document.text == "一位编者：“太阳照亮金星。”"
    assert document.language == "zh"


def test_each_fact_is_a_chunk_of_the_document_of_added_facts():
    now = made(
        AddFact("Ada Brook", "Mercury", "She discovered it."),
        AddFact("Sun", "Venus", "The Sun lights Venus."),
    )

    first, second = (chunk.text for chunk in now.result.chunks)
    assert first == 'A person: "She discovered it."'
    assert second == 'A person: "The Sun lights Venus."'
    assert now.result.documents[0].text == f"{first}\n{second}"


def test_a_fact_adds_to_a_relationship_that_is_there():
    now = made(AddFact("Venus", "Ada Brook", "Ada Brook drew Venus."))

    edge = now.pairs["Ada Brook", "Venus"]
    assert (edge.weight, edge.strength) == (2, 7)


def test_a_fact_about_an_unknown_entity_is_a_failure():
    now = made(AddFact("Sun", "Moon", "They meet."))

    assert now.pairs == BEFORE.pairs
    assert now.problems == ["nothing is called 'Moon'"]


def test_facts_follow_what_becomes_of_their_ends():
    fact = AddFact("Quicksilver", "Ada Brook", "Ada Brook sold Quicksilver.")
    now = made(fact, Merge(("Quicksilver", "Mercury"), "Mercury"), Rename("Mercury", "Hg"))

    assert ("Ada Brook", "Hg") in now.pairs
    for later in (Delete("Quicksilver"), Merge(("Quicksilver", "Ada Brook"), "X")):
        failed = made(fact, later)
        assert "'Quicksilver' and 'Ada Brook' are one by now, or deleted" in failed.problems[0]
        assert not failed.result.documents


def test_facts_are_triples_where_chunks_were_read_for_triples():
    now = made(AddFact("Ada Brook", "Sun", "Ada Brook painted the Sun."), Rename("Mercury", "Hg"))

    assert now.triples == {("Hg", "circles", "Sun"), ("Ada Brook", "painted the", "Sun")}


# All of them


ALL: list[Correction] = [
    Merge(("Quicksilver", "Mercury"), "Hg"),
    Split("Mercury", "Mercury (planet)", documents=("planets/*",)),
    Rename("Venus", "Morning Star"),
    Retype("Sun", "star"),
    Delete("lamp"),
    AddFact("Ada Brook", "Sun", "Ada Brook painted the Sun."),
]


@given(st.permutations(ALL), st.integers(0, len(ALL)))
def test_corrections_applied_twice_do_what_they_do_once(order: list[Correction], most: int):
    chosen = order[:most]
    once, twice = made(*chosen), made(*chosen, *chosen)

    assert twice.merged.entities == once.merged.entities
    assert twice.merged.relationships == once.merged.relationships
    assert twice.merged.claims == once.merged.claims


@given(st.permutations(ALL))
def test_every_relationship_ends_in_entities_and_every_span_in_a_document(order: list[Correction]):
    now = made(*order)

    lengths = {document.id: len(document.text) for document in (*DOCUMENTS, *now.result.documents)}
    for edge in now.merged.relationships:
        assert {edge.source, edge.target} <= now.entities.keys()
    for element in (*now.merged.entity_elements, *now.merged.relationship_elements):
        assert all(0 <= span.start < span.end <= lengths[span.document_id] for span, _ in element.instances)
    assert len({entity.name for entity in now.merged.entities}) == len(now.merged.entities)
    assert sum(entity.degree for entity in now.merged.entities) == 2 * len(now.merged.relationships)


def test_without_a_name_the_walk_is_that_of_the_others():
    sentences = read_sentences(DOCUMENTS)
    _, before = text_arrays(DOCUMENTS, CHUNKS, sentences)

    _, after = text_arrays(DOCUMENTS, CHUNKS, sentences, without={"mercury", "nobody"})

    dropped = before["walk.names"] == hash_of(units("mercury"))
    assert dropped.sum() == 1
    assert after["walk.names"].tolist() == before["walk.names"][~dropped].tolist()
    assert after["walk.frequency"].tolist() == before["walk.frequency"][~dropped].tolist()
    starts = after["walk.out_starts"]
    for start, end in pairwise(starts[[0, *np.flatnonzero(np.diff(starts)) + 1]]):
        np.testing.assert_allclose(after["walk.out_weights"][start:end].sum(), 1, rtol=1e-5)
    assert after["walk.out_names"].max() < len(after["walk.names"])


def test_no_corrections_change_nothing():
    names = resolve(CHUNKS, GRAPHS, DOCUMENTS, ResolveSettings())

    result = apply_corrections([], names, CHUNKS, Extracted(GRAPHS, [*CLAIMS]), DOCUMENTS)

    assert result.names is names
    assert result == CorrectionResult(names, names.joins)
