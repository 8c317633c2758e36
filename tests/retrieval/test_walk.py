"""The walk finds passages without words of the question; passages that cover the question are ranked by words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from making import Letters, a_document
from scripted import ScriptedModel

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.indexing.embed import with_vectors
from conspectus.indexing.pipeline import index_passages
from conspectus.retrieval import METHODS, RANKINGS, walk
from conspectus.retrieval.base import hits_of
from conspectus.sentence_graph import SentenceEntityGraph, seeds_of, walk_among
from conspectus.settings import Settings
from conspectus.tasks import MapAnswer, PartialAnswer, ReduceAnswer

FILMS = {
    "The Glass Orchard": "The Glass Orchard is a 1961 drama film directed by Edla Marrow. It was brief.",
    "Edla Marrow": "Edla Marrow was a director of stage and screen. She died in Tarn on 3 May 1980.",
    "Tarn": "Tarn is a town on the river Ouse. Its market is held on Fridays.",
    "Stone Harvest": "Stone Harvest is a 1958 comedy film directed by Paul Ender.",
    "Paul Ender": "Paul Ender was a director and actor. He died in Quenda.",
    "The birthday film": "The birthday film is a film about where a director of a film died and was born.",
    "Cows": "Cows graze on meadows. Cows give milk.",
}
QUESTION = "Where did the director of The Glass Orchard die?"


def an_index(passages: Mapping[str, str] = FILMS, titles: bool = True) -> Index:
    documents = [
        a_document(text, number, path=title, title=title if titles else " ")
        for number, (title, text) in enumerate(passages.items())
    ]
    return index_passages(documents, Settings())


def best_of(scores: np.ndarray[Any, Any], index: Index) -> list[str]:
    return [hit.document for hit in hits_of(scores, index, 2)]


def without_vectors(index: Index) -> Index:
    return replace(
        index, arrays={name: a for name, a in index.arrays.items() if not name.startswith("vectors.")}
    )


def ranked(question: str, index: Index, method: str = "walk", settings: Settings | None = None) -> list[str]:
    return [hit.document for hit in RANKINGS[method](question, index, settings or Settings())]


def test_it_finds_the_second_hop_that_words_miss():
    index = an_index()
    scores = walk.scores_of(QUESTION, index, Settings())

    assert best_of(scores, index) == ["The Glass Orchard", "Edla Marrow"]
    assert "Edla Marrow" not in ranked(QUESTION, index, method="bm25")[:2]


def test_it_finds_the_second_hop_where_titles_are_withheld():
    assert ranked(QUESTION, an_index(titles=False))[:2] == ["The Glass Orchard", "Edla Marrow"]


def test_the_same_question_has_the_same_ranking():
    index = an_index()

    assert np.array_equal(
        walk.scores_of(QUESTION, index, Settings()), walk.scores_of(QUESTION, an_index(), Settings())
    )


def test_a_passage_that_holds_all_that_the_question_says_comes_first():
    assert ranked("Which market is held on Fridays on the river Ouse?", an_index())[0] == "Tarn"


def test_a_question_that_names_nothing_is_left_to_words():
    assert ranked("grazing meadows", an_index())[0] == "Cows"


def test_what_has_nothing_to_do_with_the_corpus_finds_nothing():
    assert ranked("zyx", an_index()) == []


def test_rare_names_weigh_more_than_common_ones_and_parts_less_than_wholes():
    graph = SentenceEntityGraph.of(an_index())
    seeds = seeds_of("Did Edla Marrow of Tarn make The Glass Orchard?", graph)
    weight = dict(zip(seeds.names.tolist(), seeds.weights.tolist(), strict=True))
    number = {key: int(graph.find([key.split()])[0]) for key in ("edla marrow", "glass orchard", "tarn")}

    assert sum(weight.values()) == pytest.approx(1)
    assert weight[number["glass orchard"]] >= weight[number["edla marrow"]]
    assert set(number.values()) <= weight.keys()


def test_what_is_written_small_beside_a_name_is_no_name():
    graph = SentenceEntityGraph.of(
        an_index({**FILMS, "Place of birth": "The place of birth is in a passport."})
    )
    question = "What is the place of birth of Edla Marrow?"

    assert len(seeds_of(question, graph).names) == 1
    assert seeds_of(question, graph).rest == "what is the place of birth of"
    assert len(seeds_of(question.lower(), graph).names) == 2


def test_the_rest_of_a_question_is_what_is_asked_of_its_names():
    assert seeds_of(QUESTION, SentenceEntityGraph.of(an_index())).rest == "where did the director of the die"


def test_a_first_word_is_a_name_only_where_the_corpus_says_so():
    graph = SentenceEntityGraph.of(
        an_index(FILMS | {"Notes": "It says Film in capitals, and film, film and film in small."})
    )

    assert len(seeds_of("Film of the year?", graph).names) == 0
    assert len(seeds_of("Tarn is where?", graph).names) == 1


def test_an_index_without_the_arrays_says_how_to_get_them():
    index = an_index()
    old = replace(index, arrays={k: v for k, v in index.arrays.items() if not k.startswith("walk")})

    with pytest.raises(UsageError, match="documents again"):
        ranked(QUESTION, old)


@pytest.mark.parametrize("titles", [True, False])
def test_among_some_sentences_the_walk_is_that_by_the_lists_of_names(titles: bool):
    index = an_index(titles=titles)
    graph = SentenceEntityGraph.of(index)
    sentences = np.arange(len(index.arrays["sentences.start"]))
    names = np.arange(len(graph.names))

    back = graph.matrix("back", sentences, names).T.toarray()

    by_name = graph.matrix("in", names, sentences).toarray()
    assert back.any()
    np.testing.assert_array_equal(back, by_name)


def test_an_index_that_lacks_the_weights_back_is_walked_by_the_lists_of_names():
    index = an_index()
    arrays = {name: array for name, array in index.arrays.items() if name != "walk.back_weights"}
    earlier = replace(index, arrays=arrays)
    sentences = range(len(index.arrays["sentences.start"]))

    masses = [walk_among(QUESTION, sentences, each) for each in (index, earlier)]

    assert masses[0].max() > 0
    np.testing.assert_allclose(masses[0], masses[1], rtol=1e-5)


def test_chinese_questions_follow_names_too():
    index = an_index(
        {
            "玻璃果园": "《玻璃果园》是1961年上映的剧情片，由林小梅执导。",
            "林小梅": "林小梅是中国导演。她于1980年在苏州逝世。",
            "牛": "牛在草地上吃草。",
        }
    )

    assert ranked("《玻璃果园》的导演在哪里逝世？", index)[:2] in (
        ["玻璃果园", "林小梅"],
        ["林小梅", "玻璃果园"],
    )


# With vectors


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr("conspectus.index_models.open_embedder", lambda *_: Letters())
    return with_vectors(an_index(), Letters(), "letters")


def test_every_chunk_and_sentence_has_a_vector_of_length_1(vectors: Index):
    assert vectors.arrays["vectors.chunks"].shape == (len(FILMS), 26)
    assert len(vectors.arrays["vectors.sentences"]) == len(vectors.arrays["sentences.document"])
    assert np.linalg.norm(vectors.arrays["vectors.chunks"], axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("method", ["vector", "hybrid"])
def test_a_passage_is_nearest_to_itself(vectors: Index, method: str):
    assert ranked(f"Cows\n{FILMS['Cows']}", vectors, method)[0] == "Cows"


async def test_the_baseline_ss_answers_from_one_window_by_the_prompts_of_global_answers(vectors: Index):
    model = ScriptedModel({MapAnswer: [PartialAnswer("Cows graze.", 60)], ReduceAnswer: ["They graze."]})

    answer = await METHODS["semantic-search"](f"Cows\n{FILMS['Cows']}", vectors, model, Settings())

    (read,) = model.all_seen(MapAnswer)
    assert read.context.sources[0].text == FILMS["Cows"]
    assert len(read.context.sources) == len(FILMS)
    (reduced,) = model.all_seen(ReduceAnswer)
    assert reduced.answers == (PartialAnswer("Cows graze.", 60),)
    assert answer.text.startswith("They graze.")


def test_the_walk_uses_the_vectors_of_an_index_that_has_them(vectors: Index):
    by_vectors = walk.scores_of(QUESTION, vectors, Settings())
    by_words = walk.scores_of(QUESTION, without_vectors(vectors), Settings())

    assert best_of(by_vectors, vectors)[0] == "The Glass Orchard"
    assert not np.allclose(by_vectors, by_words)


def test_another_embedder_than_the_index_has_is_an_error_that_names_the_command(
    vectors: Index, monkeypatch: pytest.MonkeyPatch
):
    class Other(Letters):
        name = "other"

    monkeypatch.setattr("conspectus.index_models.open_embedder", lambda *_: Other())
    asked = Settings.model_validate({"vectors": {"embedder": "local:other"}})

    with pytest.raises(UsageError, match=r"vectors of letters .*embedder=.local:other"):
        ranked(QUESTION, vectors, "vector", asked)


def test_an_index_without_vectors_says_how_to_make_them():
    with pytest.raises(UsageError, match=r"conspectus\.embed\(embedder=.local"):
        ranked(QUESTION, an_index(), "vector")


def test_vectors_of_a_model_that_cannot_read_the_texts_are_left_to_other_methods():
    index = with_vectors(
        an_index({"玻璃果园": "玻璃果园由林小梅执导。", "林小梅": "林小梅于1980年在苏州逝世。"}),
        Letters(),
        "letters",
    )
    question = "玻璃果园的导演在哪里逝世？"

    assert index.settings["vectors"]["unread"] > 0.3
    by_words = walk.scores_of(question, without_vectors(index), Settings())
    assert np.array_equal(walk.scores_of(question, index, Settings()), by_words)
