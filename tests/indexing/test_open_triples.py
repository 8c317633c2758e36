"""Extraction of open triples: named entities first, then triples, both in the graph and as triples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from making import a_document
from scripted import ScriptedModel

from conspectus.errors import BadReply
from conspectus.indexing.chunks import dates_of, extract, open_extraction
from conspectus.indexing.graph import triples_of
from conspectus.models.llm.prompts import Prompts
from conspectus.models.llm.replies import schema_of
from conspectus.rows import Chunk
from conspectus.settings import ExtractSettings
from conspectus.tasks import ExtractGraph, ExtractTriples, FoundTriple, NameEntities

CHUNKS = [Chunk(f"c{i}", i, "d", 0, 1, text, 1) for i, text in enumerate(("Ada owned Rook.", "Bo sang."))]


async def test_the_named_entities_of_a_chunk_are_in_the_prompt_of_its_triples():
    owned = FoundTriple("Ada", "owned", "Rook")
    model = ScriptedModel({NameEntities: [("Ada",), BadReply("x")], ExtractTriples: [(owned,)]})

    found = await extract(CHUNKS, model, ExtractSettings(style="triples"))

    assert model.seen(ExtractTriples).entities == ("Ada",)
    graph, failed = found.graphs
    assert graph.triples == (owned,)
    assert [(e.name, e.type) for e in graph.entities] == [("Ada", "entity"), ("Rook", "concept")]
    assert [(r.source, r.target, r.description) for r in graph.relationships] == [
        ("Ada", "Rook", "Ada owned Rook")
    ]
    assert failed.entities == ()
    assert [failure.stage for failure in found.failures] == ["extract"]


def test_entities_are_described_by_the_sentences_of_their_triples_with_qualifiers():
    bought = FoundTriple("Ada", "bought", "Rook", "in May 1911", "in Kell", "for £40")
    graph = open_extraction(("Ada", "Rook"), (bought, FoundTriple("Rook", "is", "a barge")), "1912-03-01")

    (ada, rook), (pair,) = graph.entities, graph.relationships
    assert ada.description == pair.description == "Ada bought Rook for £40 in Kell in May 1911"
    assert rook.description == f"{ada.description}. Rook is a barge (1912-03-01)", (
        "an undated fact has its document's"
    )


def test_a_chinese_sentence_opens_with_its_time():
    bought = FoundTriple("周秀兰", "买下了", "白鹭号", "1911年5月", "在柳州")

    assert open_extraction(("周秀兰", "白鹭号"), (bought,)).relationships[0].description == (
        "1911年5月，在柳州，周秀兰买下了白鹭号"
    )


VALUES = [
    "10 to 18 April",
    "£7.3 million",
    "2022",
    "Thursday 11 April 2024",
    "29 to 6",
    "1911年5月",
    "Nothing at all",
]


@pytest.mark.parametrize("value", VALUES)
def test_values_are_no_entities_though_the_model_names_them(value: str):
    graph = open_extraction(("Ada", value), (FoundTriple("Ada", "had", value),))

    assert [entity.name for entity in graph.entities] == ["Ada"]
    assert graph.relationships == ()


def test_a_phrase_that_is_no_name_is_an_entity_only_where_it_recurs():
    feared = (FoundTriple("Ada", "feared", "a refusal"), FoundTriple("Ada", "laid", "the cable"))
    graph = open_extraction(("Ada",), (*feared, FoundTriple("the cable", "goes to", "Kell")))

    assert [entity.name for entity in graph.entities] == ["Ada", "the cable", "Kell"]


def test_statements_of_different_times_are_different_triples():
    met = [FoundTriple("Council", "met in", "Kell", time) for time in ("in 1911", "in 1912", "in 1912")]

    assert [t.relation for t in triples_of([("c", met)])] == ["met in (in 1911)", "met in (in 1912)"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_date_of_the_document_is_in_the_prompt_outside_of_the_data(language: str):
    for task in (
        ExtractGraph(CHUNKS[0], ("person",), "1912-03-01", language=language),
        ExtractTriples(CHUNKS[0], ("Ada",), "1912-03-01", language=language),
    ):
        user = Prompts().render(task)[-1].content
        assert "1912-03-01" in user.partition("<data>")[0]
        undated = Prompts().render(replace(task, date=""))[-1].content
        assert undated.startswith("<data>")


def test_only_a_date_is_taken_from_what_a_document_states_as_its_date():
    documents = [
        replace(a_document("x", i), date=date)
        for i, date in enumerate(["2021-05-04T10:00", "2021: do this", "May 4"])
    ]

    assert list(dates_of(documents).values()) == ["2021-05-04", "2021"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_strict_triples_are_asked_for_as_the_paper_does(language: str):
    ours, papers = (
        ExtractTriples(CHUNKS[0], (), strict=strict, language=language) for strict in (False, True)
    )
    rows = [
        (schema_of(task) or {})["properties"]["triples"]["items"]["properties"] for task in (ours, papers)
    ]

    assert [list(row) for row in rows] == [
        ["head", "relation", "tail", "time", "location", "amount"],
        ["head", "relation", "tail"],
    ]
    assert "amount" not in Prompts().render(papers)[0].content
