"""The choice of the method for a question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from making import an_entity, an_index

from conspectus.index import Index
from conspectus.retrieval.auto import choose
from conspectus.rows import Community, Triple

TEXTS = [f"Text {i} of the town." for i in range(12)]


def an_index_with(*reports: str) -> Index:
    chunks = tuple(c.id for c in an_index(*TEXTS).chunks)
    named = [("Mara Tolan", "person"), ("weir", "concept"), ("王丽", "person"), ("永和米行", "organization")]
    known = [an_entity(name, i, kind, chunk_ids=chunks[:1]) for i, (name, kind) in enumerate(named)]
    return an_index(
        *TEXTS,
        entities=[*known, an_entity("Quenda", len(known), "location", chunk_ids=chunks)],
        reports=reports,
    )


WITH_REPORTS = an_index_with("On the weir", "On the town")
WITHOUT = an_index_with()


@pytest.mark.parametrize(
    ("question", "method", "why"),
    [
        ("What are the main themes of these documents?", "global", "as a whole"),
        ("Summarise the corpus.", "global", "as a whole"),
        ("What recurring patterns are there in the talk of Mara Tolan?", "global", "as a whole"),
        ("What do residents say about the weir?", "global", "several sources"),
        ("How do people speak of loss?", "global", "several sources"),
        ("人们对大坝普遍有什么看法？", "global", "several sources"),
        ("请概括全部资料的内容。", "global", "as a whole"),
        ("Who is Mara Tolan?", "local", "about Mara Tolan"),
        ("What do residents say about Mara Tolan?", "local", "about Mara Tolan"),
        ("Why did the weir break?", "local", "about weir"),
        ("What has Mara Tolan to do with the weir?", "local", "how Mara Tolan, weir go together"),
        ("Mara Tolan", "local", "about Mara Tolan"),
        ("介绍一下王丽。", "local", "about 王丽"),
        ("王丽和永和米行有什么关系？", "local", "how 永和米行, 王丽 go together"),
        ("Where was the builder of the weir born?", "mixed", "joins facts"),
        ("Who is older, Mara Tolan or Ruben Vale?", "mixed", "joins facts"),
        ("王丽的丈夫的父亲是谁？", "mixed", "joins facts"),
        ("When was Mara Tolan born?", "mixed", "a fact"),
        ("When was the weir of Quenda built?", "mixed", "a fact"),
        ("Who built the weir?", "mixed", "a fact"),
        ("How much did the roof cost?", "mixed", "a fact"),
        ("塔有多高？", "mixed", "a fact"),
        ("Tell me of zebras", "mixed", "names nothing"),
    ],
)
def test_a_question_is_answered_by_what_it_asks_for(question: str, method: str, why: str):
    chosen, reason = choose(question, WITH_REPORTS)

    assert (chosen, why in reason) == (method, True), (chosen, reason)


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("What are the main themes of these documents?", "source-summary"),
        ("What do residents say about the weir?", "mixed"),
        ("Who is Mara Tolan?", "local"),
        ("Tell me of zebras", "mixed"),
    ],
)
def test_without_communities_nothing_is_global(question: str, method: str):
    assert choose(question, WITHOUT)[0] == method


def test_where_no_reports_were_written_a_roll_up_takes_the_place_of_global():
    index = replace(WITHOUT, communities=[Community("c", 0, 0, -1, (), (0, 1))])

    assert choose("What are the main themes of these documents?", index)[0] == "rollup"


def test_a_graph_without_text_is_searched_along_its_relations():
    index = Index(triples=[Triple("t", 0, "Ada", "owns", "Lune Mills")])

    assert choose("What are the main themes?", index)[0] == "tog"


def test_what_the_whole_corpus_names_tells_no_question_from_another():
    assert choose("What do people do in Quenda?", an_index_with("R"))[0] == "global"


@pytest.mark.parametrize(
    "question",
    [
        "What are the uses of the weir?",
        "What do weirs do?",
        "What are the signs and symptoms of weir?",
        "What do people of the northern islands tell their children in long winter evenings about early tidal harvests"
        " and ruined farms?",
    ],
)
def test_what_is_asked_of_one_specific_thing_is_no_question_to_all(question: str):
    index = an_index(
        *[f"Text {i} of the town." for i in range(19)], "A weir.", entities=["weir"], reports=["R"]
    )

    assert choose(question, index)[0] != "global"
    assert choose("What are the uses of the town?", index)[0] == "global"


@pytest.mark.parametrize(
    "question",
    [
        "What are the first symptoms of kuru?",
        "How often do the orchids flower?",
        "How many experts worked on the report of the mill?",
        "Which medicines were approved in Lunland for kuru?",
    ],
)
def test_what_one_sentence_may_answer_is_not_asked_of_all(question: str):
    texts = [f"Text {i} of the town and its symptoms." for i in range(60)]
    index = an_index(
        *texts, "Kuru has few first symptoms, for medicines were approved.", "Orchids flower.", reports=["R"]
    )

    assert choose(question, index)[0] != "global"
    assert choose("What are the symptoms of the town?", index)[0] == "global"


def test_what_has_typical_wording_is_asked_of_the_one_rare_thing_that_is_named():
    texts = [f"Text {i} of the town and its symptoms." for i in range(60)]
    rare = "Kuru is rare.", "They found kuru.", "Babies sleep."
    index = an_index(*texts, *rare, entities=["Kuru", "town"], reports=["R"])

    assert choose("What are the symptoms of kuru in babies?", index)[0] != "global"
    assert choose("What are the symptoms of the town?", index)[0] == "global"


def test_how_things_go_together_is_local_however_often_they_are_named():
    method, why = choose("How are Quenda and the weir connected?", WITH_REPORTS)

    assert method == "local"
    assert "go together" in why


def test_what_things_are_is_not_asked_of_all():
    question = "What are salt water marsh orchids?"

    assert choose(question, WITH_REPORTS)[0] == "mixed"
    assert choose("What are the trades of the town?", WITH_REPORTS)[0] == "global"
