"""The method for facts: contexts of passages and the graph, full windows, and the ranking of searches."""

from __future__ import annotations

import pytest
from making import Letters, a_built_index, a_claim, a_document, an_entity, an_index
from scripted import ScriptedModel

import conspectus
from conspectus import api, tokens
from conspectus.api.asking import RankingName
from conspectus.index import Index
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.pipeline import index_passages
from conspectus.retrieval import METHODS, mixed
from conspectus.retrieval.base import pack
from conspectus.sentence_graph import SentenceEntityGraph, seeds_of
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext

TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda with twelve masons.",
    "Zorba Orrin saw the weir of Quenda break in the flood.",
    "The oats of Quenda are ground in the mill.",
    "In the town hall a clock stopped.",
)
INDEX = an_index(
    *TEXTS,
    entities=["Mara Tolan", "Quenda", "Zorba Orrin", "weir"],
    edges=[("Mara Tolan", "weir"), ("Zorba Orrin", "weir"), ("weir", "Quenda")],
    claims=[a_claim("Mara Tolan", "Mara Tolan was paid twice.", 0)],
)


def test_the_rows_hold_passages_and_what_the_graph_knows_of_what_is_named():
    rows = mixed.rows_for("What did Mara Tolan rebuild?", INDEX, Settings())

    assert [entity.name for entity in rows.entities][:1] == ["Mara Tolan"]
    assert [(r.source, r.target) for r in rows.relationships] == [("Mara Tolan", "weir")]
    assert [claim.subject for claim in rows.claims] == ["Mara Tolan"]
    assert rows.sources[0].text == TEXTS[0]
    assert rows.reports == ()


async def test_the_answer_counts_what_was_read_of_how_much():
    model = ScriptedModel({AnswerFromContext: ["The weir [Data: Sources (0)]."]})
    answer = await METHODS["mixed"]("What did Mara Tolan rebuild?", INDEX, model, Settings())

    window = model.seen(AnswerFromContext).context
    assert answer.read["sources"] == (len(window.sources), len(TEXTS))
    assert answer.read["claims"] == (1, 1)
    assert answer.context_tokens == tokens.count(window.text)


# Windows


def test_what_one_table_leaves_of_its_share_goes_to_the_others():
    texts = [f"Mara Tolan saw boat {i}. " + "word " * 150 for i in range(30)]
    many = [f"Boat {i}" for i in range(30)]
    edges = [("Mara Tolan", name) for name in many]
    index = an_index(*texts, entities=["Mara Tolan", *many], edges=edges)
    rows = mixed.rows_for("What did Mara Tolan see?", index, Settings())

    small, large = pack(rows, 1000), pack(rows, 20_000)

    assert 0 < len(small.relationships) < 30
    assert small.read["relationships"] == (len(small.relationships), 30)
    assert tokens.count(small.text) <= 1000
    assert large.read == {"entities": (3, 3), "relationships": (30, 30), "sources": (30, 30)}


def test_a_long_description_leaves_room_for_passages_and_is_counted():
    index = an_index(*TEXTS, entities=[an_entity("Mara Tolan", 0, description="She built. " * 200)])
    window = pack(mixed.rows_for("What did Mara Tolan rebuild?", index, Settings()), 500)

    assert window.read["entities"] == (0, 1)
    assert window.sources
    assert tokens.count(window.text) <= 500


@pytest.fixture(scope="module")
def large() -> Index:
    names = ["Ada Brook", "Ruben Vale", "Mabel Finch", "Edwin Sorrel"]
    texts = [
        f"{names[i % 4]} bought the Orran Mill in {1800 + i}. {names[(i + 1) % 4]} sold {i} sacks of rye there. "
        f"Lot {i} was paid by {names[(i + 2) % 4]} of Hollin."
        for i in range(80)
    ]
    return a_built_index(*texts)


@pytest.mark.parametrize(
    "method",
    ["local", "drilldown", "bm25", "mixed", "walk", "combined", "ircot", "tog", "raptor", "propositions"],
)
def test_every_method_fills_its_window_whatever_a_search_returns(method: str, large: Index):
    settings = {"answer.context_tokens": 1000, "search.k": 1}
    context = api.context(
        "Who bought the Orran Mill from Ada Brook?", large, method=method, settings=settings
    )

    (window,) = context.windows
    assert 800 < tokens.count(window.text) <= 1000
    assert context.context_tokens == tokens.count(window.text)
    assert window.read["sources"][0] == len(window.sources) < 80


# Weights of the walk and of similarity

ASKED = "Where did the director of The Glass Orchard die?"
"""The passage about the named film does not say the rest: the walk has to continue from it."""
FILMS = (
    "The Glass Orchard is a 1961 drama film directed by Edla Marrow. It was brief.",
    "Edla Marrow was a director of stage and screen. She died in Tarn on 3 May 1980.",
    "Tarn is a town on the river Ouse. Its market is held on Fridays.",
    "The director of a film died where the film was made.",
    "Paul Ender was a director and actor. He died in Quenda.",
    "Cows graze on meadows. Cows give milk.",
)


def passages(*texts: str) -> Index:
    return index_passages([a_document(text, number) for number, text in enumerate(texts)], Settings())


def order(question: str, index: Index, method: RankingName = "mixed") -> list[str]:
    return [hit.chunk for hit in conspectus.search(question, index, method=method)]


def weight(question: str, *texts: str) -> float:
    index = passages(*texts)
    graph = SentenceEntityGraph.of(index)
    return mixed.weight_of_likeness(seeds_of(question, graph), 0.25, index, graph)


def test_a_search_is_ranked_so_where_no_method_is_named():
    index = passages(*FILMS)

    assert [hit.chunk for hit in conspectus.search(ASKED, index)] == order(ASKED, index)


@pytest.mark.parametrize(
    "question", ["grazing meadows", "who was a director and died in a film", "town market milk"]
)
def test_a_question_that_names_nothing_is_ranked_by_its_words(question: str):
    index = passages(*FILMS)

    assert order(question, index) == order(question, index, "bm25")


def test_a_question_about_what_a_rare_name_leads_to_is_ranked_by_the_walk():
    index = passages(*FILMS)

    assert (
        order(ASKED, index)[:2] == order(ASKED, index, "walk")[:2] == [index.chunks[0].id, index.chunks[1].id]
    )
    assert index.chunks[1].id not in order(ASKED, index, "bm25")[:2]


def test_the_more_chunks_hold_the_rarest_name_the_more_likeness_counts():
    weights = [
        weight(ASKED, *FILMS, *[f"The Glass Orchard, part {i}, is long." for i in range(n)])
        for n in (0, 5, 50)
    ]

    assert weights == sorted(weights)
    assert weights[0] < 0.25 < 0.9 < weights[-1]


def test_a_common_name_beside_a_rare_one_changes_little():
    common = [f"Quenda has a mill, number {i}." for i in range(50)]

    assert weight(f"Did one of Quenda die? {ASKED}", *FILMS, *common) < 0.1


def test_likeness_counts_for_more_where_the_passage_of_the_name_answers():
    assert weight("When was The Glass Orchard directed as a drama film?", *FILMS) > weight(ASKED, *FILMS)


def test_an_index_without_sentences_to_walk_over_is_ranked_by_words():
    question = "What did Mara Tolan rebuild?"

    assert order(question, INDEX) == order(question, INDEX, "bm25")


def test_a_question_that_names_nothing_is_ranked_by_words_and_vectors_where_there_are_vectors(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("conspectus.index_models.open_embedder", lambda *_: Letters())
    index = with_vectors(passages(*FILMS), Letters(), "letters")

    assert order("grazing meadows", index) == order("grazing meadows", index, "hybrid")
