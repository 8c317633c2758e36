"""Lexical arrays: the words of sentences and chunks, and the entities that sentences mention."""

from __future__ import annotations

from dataclasses import replace

from making import a_built_index

from conspectus.algorithms.ranking import Postings
from conspectus.index import Index
from conspectus.models.extractive.search import Searcher
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.text.words import terms

TEXTS = (
    "The keeper of the lock was Mara Tolan. Then Dr Tolan went to Quenda by boat, and nobody at Quenda saw her.",
    "ZORBA: We saw Mara Tolan at Quenda.\nZORBA: Nobody saw the boat.\nZORBA: The tide took it.",
    "潮汐发电站在小镇。",
)


def test_every_chunk_holds_the_terms_of_its_words_and_of_its_title():
    index = a_built_index(*TEXTS)
    held = Postings.of(index.arrays, "chunk_terms")
    number = index.number_of_word

    for chunk in index.chunks:
        for term in terms(chunk.text) + terms(index.document_of[chunk.document_id].title):
            at = number[term]
            assert chunk.number in held.texts[held.starts[at] : held.starts[at + 1]]


def test_every_sentence_mentions_entities_by_their_number_joined_ones_by_the_name_they_joined():
    index = a_built_index(*TEXTS)
    passages = SentenceStore.of_index(index)
    mentioned = {
        passages.text(i): [index.entities[m].name for m in passages.mentioned(i)]
        for i in range(len(passages))
    }

    assert mentioned["The keeper of the lock was Mara Tolan."] == ["Mara Tolan"]
    assert mentioned["Then Dr Tolan went to Quenda by boat, and nobody at Quenda saw her."] == [
        "Mara Tolan",
        "Quenda",
        "boat",
    ]


def test_who_says_a_sentence_is_an_entity():
    index = a_built_index(*TEXTS)
    passages = SentenceStore.of_index(index)
    said = [
        index.entities[s].name if (s := passages.speaker_of(i)) >= 0 else "" for i in range(len(passages))
    ]

    assert said.count("ZORBA") == 3
    assert passages.quoted(said.index("ZORBA")) == 'ZORBA: "We saw Mara Tolan at Quenda."'


def test_an_index_without_the_list_of_speakers_knows_who_speaks():
    index = a_built_index(*TEXTS)
    before = {name: array for name, array in index.arrays.items() if name != "graph.speakers"}

    for each in (index, replace(index, arrays=before)):
        speakers = Searcher(each).speakers_named(["Zorba", "Mara Tolan"])
        assert {each.entities[number].name for number in speakers} == {"ZORBA"}


def test_what_is_no_entity_of_the_index_is_mentioned_nowhere():
    index = a_built_index(*TEXTS, extract={"entity_types": ["location"]})

    assert {index.entities[m].type for m in index.arrays["sentences.mentions"].tolist()} <= {"location"}


def test_an_index_of_nothing_but_numbers_has_empty_arrays():
    index: Index = a_built_index("1 2 3")

    assert len(SentenceStore.of_index(index)) == 0
    assert index.entities == []
