"""HippoRAG on a graph small enough to rank on paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripted import ScriptedModel

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.indexing.given_graph import OpenIe, read_openie, with_openie
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.retrieval import hippo
from conspectus.retrieval.hippo import PhraseGraph
from conspectus.settings import HippoSettings, SearchSettings, Settings
from conspectus.tasks import FoundTriple, NameEntities

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


def settings(**hippo_: object) -> Settings:
    return Settings(hippo=HippoSettings.model_validate(hippo_), search=SearchSettings(k=4))


def test_hipporag_ranks_what_joins_the_named_thing_before_what_shares_the_words_of_the_question():
    index = an_index()

    hits = hippo.rank("Where was the owner of Rook born?", index, settings(variant="hipporag"))

    # PageRank of Rook - Ada Byrne - Lune from Rook, damping 1/2: r = 1/2 + a/4, a = r/2 + l/2, l = a/4;
    # p0 holds r + a, p1 holds a + l, and nothing else is reached
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


def test_with_chunks_in_the_graph_the_second_passage_is_reached_too():
    hits = hippo.rank("Where was the owner of Rook born?", an_index(), settings(variant="combined"))

    assert {hit.document for hit in hits[:2]} <= {"p0", "p1", "p3"}
    assert "p1" in [hit.document for hit in hits]


def test_a_question_that_names_nothing_is_ranked_by_its_words():
    hits = hippo.rank("which barge was built", an_index(), settings(variant="combined"))

    assert {hit.document for hit in hits[:2]} == {"p0", "p2"}


async def test_a_language_model_says_what_the_question_names():
    model = ScriptedModel({NameEntities: [("Heron",)]})

    hits = await hippo.rank_with("For whom was it built?", an_index(), model, settings(variant="hipporag"))

    assert [hit.document for hit in hits] == ["p2", "p3"]


def test_an_index_without_a_graph_is_refused():
    with pytest.raises(UsageError, match="needs a graph"):
        hippo.rank("Who?", replace(an_index(), triples=()), Settings())


@pytest.mark.long
def test_gpt_triples_of_musique_lift_recall_far_above_bm25_without_an_embedder(shared: Path):
    from conspectus.evaluation.retrieval import read_beir, recall

    data = read_beir(shared / "docqa/musique")
    index = index_passages(read_texts(data.passages, Settings().read)[0], Settings())
    index = with_openie(index, read_openie(shared / "docqa/musique/openie-gpt-3.5.jsonl"))
    chosen = Settings(hippo=HippoSettings(variant="hipporag"))
    at5 = [
        recall([hit.document for hit in hippo.rank(q.text, index, chosen)], q.relevant, 5)
        for q in data.queries
    ]

    assert np.mean(at5) > 0.62  # BM25: 0.49
