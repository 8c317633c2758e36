"""Entities and relationships by extraction: the things that sentences mention, and mention together."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

from making import some_documents, whole_chunk

from conspectus.algorithms.statistics import MAX_MEMBERS
from conspectus.models.extractive.graph import extract_graph
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.tasks import ExtractGraph, Extraction
from conspectus.text.lexicon import read_lexicon
from conspectus.text.types import ALL

FRIEND = "The keeper of the lock, Mara Tolan, went to Quenda with her old friend from the mill."


def extracted(*texts: str) -> Extraction:
    """Return the graph of the first text, extracted with the statistics of all texts."""
    documents = some_documents(*texts)
    passages = SentenceStore.read(documents, read_lexicon(documents))
    return extract_graph(ExtractGraph(whole_chunk(documents[0]), ALL), passages)


def pairs(graph: Extraction) -> set[tuple[str, str]]:
    return {(r.source, r.target) for r in graph.relationships}


def test_two_things_in_one_sentence_are_related_and_the_sentence_says_how():
    graph = extracted(FRIEND)
    (found,) = graph.relationships

    assert pairs(graph) == {("Mara Tolan", "Quenda")}
    assert found.description == FRIEND
    assert found.span == (some_documents(FRIEND)[0].id, 0, len(FRIEND))


def test_things_in_neighbouring_sentences_are_related():
    graph = extracted("The keeper of the lock was Mara Tolan. The fair in spring was held at Quenda.")
    (found,) = graph.relationships

    assert pairs(graph) == {("Mara Tolan", "Quenda")}
    assert (
        found.description == "The keeper of the lock was Mara Tolan.\nThe fair in spring was held at Quenda."
    )


def test_neighbours_that_share_a_thing_already_are_not_related_again():
    graph = extracted("We met Mara Tolan at Quenda. Then at Quenda we saw Zorba Orrin.")

    assert ("Mara Tolan", "Zorba Orrin") not in pairs(graph)


def test_sentences_far_apart_are_no_neighbours():
    gap = "\n\n" + "* * *\n" * 60
    graph = extracted(f"The keeper of the lock was Mara Tolan.{gap}The fair in spring was held at Quenda.")

    assert not pairs(graph)


def test_who_speaks_is_related_to_what_they_speak_of_and_quoted_by_name():
    graph = extracted(
        "ZORBA: The keeper of the lock near the mill was Mara Tolan.\nZORBA: So it was.\nZORBA: That is all."
    )
    (found,) = graph.relationships

    assert pairs(graph) == {("ZORBA", "Mara Tolan")}
    assert found.description == 'ZORBA: "The keeper of the lock near the mill was Mara Tolan."'


def test_an_entity_is_described_by_the_sentence_that_tells_most_of_it():
    graph = extracted(f"So there was Mara Tolan? {FRIEND} And yes, Mara Tolan, you know.")

    assert {e.name: e.description for e in graph.entities}["Mara Tolan"] == FRIEND
    assert {e.name: e.type for e in graph.entities}["Mara Tolan"] == "person"


def test_a_sentence_that_lists_very_many_things_relates_none_of_them():
    letters = [chr(ord("a") + i) for i in range(MAX_MEMBERS + 4)]
    listed = " who then saw ".join(f"Qu{letter}rl Z{letter}m" for letter in letters)
    graph = extracted(f"Then we met {listed} there.")

    assert len(graph.entities) == MAX_MEMBERS + 4
    assert not graph.relationships


def test_a_chunk_holds_what_lies_wholly_inside_it():
    documents = some_documents(f"We saw Zorba Orrin. {FRIEND}")
    passages = SentenceStore.read(documents, read_lexicon(documents))
    chunk = whole_chunk(documents[0])
    part = replace(chunk, start=10, text=chunk.text[10:])

    assert [passages.text(i) for i in passages.within(part)] == [FRIEND]


def test_the_sentences_of_a_shard_go_with_it_though_cycles_are_not_collected():
    documents = some_documents("Ann Lee met Bob Ray. Ann Lee likes tea.")
    passages = SentenceStore.read(documents, read_lexicon(documents))
    extract_graph(ExtractGraph(whole_chunk(documents[0]), ALL), passages)
    alive = weakref.ref(passages)

    gc.disable()
    try:
        del passages
        assert alive() is None
    finally:
        gc.enable()


def test_a_chunk_of_an_unknown_corpus_is_read_by_itself():
    chunk = whole_chunk(some_documents(FRIEND)[0])
    passages = SentenceStore.of_chunk(chunk, ALL)

    assert pairs(extract_graph(ExtractGraph(chunk, ALL), passages)) == {("Mara Tolan", "Quenda")}
