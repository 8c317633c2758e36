"""HippoRAG on a graph small enough to rank by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripted import ScriptedModel

import conspectus
from conspectus.errors import SettingsError, UsageError
from conspectus.index import Index
from conspectus.indexing.given_graph import OpenIe, read_openie, with_openie
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.retrieval import METHODS, RANKINGS, hippo
from conspectus.retrieval.hippo import PhraseGraph
from conspectus.settings import IrcotSettings, SearchSettings, Settings
from conspectus.tasks import FoundTriple, NameEntities, NextThought, RecognizeTriples

TEXTS = {
    "p0": "The barge Rook was built for Ada Byrne.",
    "p1": "Ada Byrne was born at Lune.",
    "p2": "The barge Heron was built for Tom Pike.",
    "p3": "Tom Pike was born at Kell.",
}
TRIPLES = {
    "p0": [("Rook", "built for", "Ada Byrne")],
    "p1": [("Ada Byrne", "born at", "Lune")],
    "p2": [("Heron", "built for", "Tom Pike")],
    "p3": [("Tom Pike", "born at", "Kell")],
}


def an_index() -> Index:
    passages = [{"id": key, "title": "", "text": text} for key, text in TEXTS.items()]
    index = index_passages(read_texts(passages, Settings().read)[0], Settings())
    found = [OpenIe(key, tuple(FoundTriple(*said) for said in triples)) for key, triples in TRIPLES.items()]
    return with_openie(index, found)


SETTINGS = Settings(search=SearchSettings(k=4))
OWNER = "Where was the owner of Rook born?"


def ranked(method: str, question: str, index: Index) -> list[str]:
    return [hit.document for hit in RANKINGS[method](question, index, SETTINGS)]


def test_hipporag_ranks_what_joins_the_named_thing_before_what_shares_the_words_of_the_question():
    index = an_index()

    hits = RANKINGS["hipporag"](OWNER, index, SETTINGS)

    # PageRank of Rook - Ada Byrne - Lune from Rook, damping 1/2: r = 1/2 + a/4, a = r/2 + l/2, l = a/4;
    # p0 scores r + a, p1 scores a + l, and nothing else is reached
    assert [hit.document for hit in hits] == ["p0", "p1"]
    r, a, lune = 7 / 12, 1 / 3, 1 / 12
    assert hits[0].score == pytest.approx(r + a, abs=1e-3)
    assert hits[1].score == pytest.approx(a + lune, abs=1e-3)


def test_rare_names_weigh_more_where_specificity_counts():
    phrases = PhraseGraph.of(an_index())
    place = {key: i for i, key in enumerate(phrases.keys)}

    assert phrases.specificity[place["rook"]] == 1
    assert phrases.specificity[place["ada byrne"]] == 0.5


def test_spellings_are_one_phrase_and_near_ones_are_joined_by_their_likeness(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hippo, "SYNONYMS", 0.6)
    index = an_index()
    more = OpenIe("p3", (FoundTriple("ada byrnes", "of", "KELL"),))
    kept = [OpenIe(k, tuple(FoundTriple(*s) for s in t)) for k, t in TRIPLES.items() if k != "p3"]
    phrases = PhraseGraph.of(
        with_openie(index, [*kept, more, OpenIe("p2", (FoundTriple("Kell", "near", "Lune"),))])
    )
    place = {key: i for i, key in enumerate(phrases.keys)}

    assert "kell" in place
    assert "KELL" not in place
    weight = phrases.edges[place["ada byrne"], place["ada byrnes"]]
    assert 0.6 < weight < 1
    assert abs(phrases.edges - phrases.edges.T).sum() == 0


def test_a_passage_counts_how_often_a_phrase_occurs_in_it():
    passages = [
        {"id": "a", "title": "", "text": "Rook is a barge. Rook was built for Ada Byrne; the ROOK was sold."},
        {"id": "b", "title": "Rook", "text": "Ada Byrne was born at Lune."},
        {"id": "c", "title": "", "text": "It was hers."},
    ]
    index = index_passages(read_texts(passages, Settings().read)[0], Settings())
    triples = (FoundTriple("Rook", "is", "barge"), FoundTriple("Rook", "built for", "Ada Byrne"))
    index = with_openie(index, [OpenIe("a", triples), OpenIe("c", (FoundTriple("Rook", "of", "Ada Byrne"),))])
    place = {key: i for i, key in enumerate(PhraseGraph.of(index).keys)}

    counts = hippo.occurrences(index).toarray()

    assert counts[place["rook"]].tolist() == [3, 0, 1]  # the last triple was extracted from other words
    assert PhraseGraph.of(index).specificity[place["rook"]] == 0.5  # by the passages with triples of it


@pytest.mark.parametrize("method", ["hipporag2", "combined"])
def test_with_chunks_in_the_graph_the_second_passage_is_reached_too(method: str):
    documents = ranked(method, OWNER, an_index())

    assert set(documents[:2]) <= {"p0", "p1", "p3"}
    assert "p1" in documents


def test_a_question_that_names_nothing_is_ranked_by_its_words():
    assert set(ranked("combined", "which barge was built", an_index())[:2]) == {"p0", "p2"}


@pytest.mark.parametrize("method", ["hipporag", "combined"])
async def test_a_language_model_says_what_the_question_names(method: str):
    model = ScriptedModel({NameEntities: [("Heron",)]})
    rank = METHODS[method].rank_with
    assert rank is not None

    hits = await rank("For whom was it built?", an_index(), model, SETTINGS)

    assert hits[0].document == "p2"
    assert model.seen(NameEntities).strict == (method == "hipporag")


async def test_hipporag2_starts_from_the_triples_that_a_language_model_recognizes():
    def chosen(task: RecognizeTriples) -> tuple[int, ...]:
        return tuple(n for n, text in enumerate(task.triples, 1) if "Tom Pike" in text)

    model = ScriptedModel({RecognizeTriples: chosen})
    rank = METHODS["hipporag2"].rank_with
    assert rank is not None

    hits = await rank("Where was he born, for whom it was built?", an_index(), model, SETTINGS)

    assert len(model.seen(RecognizeTriples).triples) <= hippo.LINKED
    assert {hit.document for hit in hits[:2]} == {"p2", "p3"}


async def test_hipporag2_ranks_by_likeness_where_no_triple_is_recognized():
    model = ScriptedModel({RecognizeTriples: [()]})
    rank = METHODS["hipporag2"].rank_with
    assert rank is not None

    hits = await rank(OWNER, an_index(), model, SETTINGS)

    assert [hit.document for hit in hits] == ranked("bm25", OWNER, an_index())


async def test_names_in_the_thoughts_of_ircot_come_from_the_model():
    thoughts = ["Rook was built for Ada Byrne.", "So the answer is: Lune."]
    model = ScriptedModel({NextThought: thoughts, NameEntities: lambda task: (task.text[:4],)})
    rank = METHODS["ircot"].rank_with
    assert rank is not None

    await rank(
        OWNER, an_index(), model, SETTINGS.model_copy(update={"ircot": IrcotSettings(retriever="hipporag")})
    )

    assert [task.text for task in model.all_seen(NameEntities)] == [OWNER, thoughts[0]]


@pytest.mark.parametrize("method", ["hipporag", "hipporag2", "combined"])
def test_an_index_without_a_graph_is_refused(method: str):
    with pytest.raises(UsageError, match="needs a graph"):
        RANKINGS[method]("Who?", replace(an_index(), triples=()), Settings())


def test_the_old_name_is_refused_with_the_new_ones():
    with pytest.raises(UsageError, match="hipporag2"):
        conspectus.search("Who?", an_index(), method="hippo")
    with pytest.raises(SettingsError, match="method"):
        conspectus.search("Who?", an_index(), settings={"hippo.variant": "hipporag"})


@pytest.mark.long
def test_gpt_triples_of_musique_lift_recall_far_above_bm25_without_an_embedder(shared: Path):
    from conspectus.evaluation.retrieval import read_beir, recall

    data = read_beir(shared / "docqa/musique")
    index = index_passages(read_texts(data.passages, Settings().read)[0], Settings())
    index = with_openie(index, read_openie(shared / "docqa/musique/openie-gpt-3.5.jsonl"))
    at5 = [
        recall([hit.document for hit in RANKINGS["hipporag"](q.text, index, Settings())], q.relevant, 5)
        for q in data.queries
    ]

    assert np.mean(at5) > 0.62  # BM25: 0.49
