"""Reranking of the best chunks of a ranking, in searches, answers and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_built_index, an_index
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

from conspectus import api, evaluation, tokens
from conspectus.errors import BadReply, ServerDown
from conspectus.index import Index
from conspectus.retrieval import RANKINGS, rerank
from conspectus.retrieval.rerank import order, reranked
from conspectus.rows import Hit, Usage
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext, NextThought, Rated, RatePassages

TEXTS = (
    "Ada Brook bought the Orran Mill. Ada Brook paid. The mill ground rye.",
    "The river Tarn flooded Hollin. Ada Brook asked the council of Hollin for help.",
    "Ruben Vale called Ada Brook a coward. Ruben Vale laughed at Ada Brook and went home.",
    "Mabel Finch sang for Ada Brook. Mabel Finch sang of the river.",
    "Edwin Sorrel kept bees. Bees swarm. He never saw a mill.",
)


class Fixed:
    """Scores a passage by the first of the given words that it contains, 0 without any."""

    name = "fixed"
    usage = Usage()

    def __init__(self, **scores: float | None) -> None:
        self.given = scores
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        self.seen.append((question, tuple(passages)))
        return [next((s for word, s in self.given.items() if word in text), 0.0) for text in passages]


def a_hit(text: str, score: float = 1.0) -> Hit:
    return Hit("d", "T", text, 0, len(text), score, text)


def settings(by: str, **more: Any) -> Settings:
    return Settings.model_validate({"rerank": {"by": by, **more.pop("rerank", {})}, **more})


# The order


async def test_hits_are_put_in_the_order_of_their_scores_and_bear_them():
    reranker = Fixed(owl=0.2, rook=0.9, bee=0.5)

    hits = await reranked("Who?", [a_hit("owl"), a_hit("bee"), a_hit("rook")], reranker, 2)

    assert [(hit.text, hit.score) for hit in hits] == [("rook", 0.9), ("bee", 0.5)]
    assert reranker.seen == [("Who?", ("T\nowl", "T\nbee", "T\nrook"))]


async def test_what_could_not_be_scored_comes_last_in_its_old_order():
    hits = await reranked(
        "Who?", [a_hit("owl"), a_hit("bee"), a_hit("rook")], Fixed(owl=None, bee=None, rook=-2.0), 3
    )

    assert [(hit.text, hit.score) for hit in hits] == [("rook", -2.0), ("owl", -2.0), ("bee", -2.0)]


async def test_no_hits_are_not_scored():
    reranker = Fixed()

    assert await reranked("Who?", [], reranker, 5) == []
    assert reranker.seen == []


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.5])), max_size=8))
async def test_the_order_is_a_permutation_by_falling_scores_and_earlier_places(scores: list[float | None]):
    passages = [f"p{i}." for i in range(len(scores))]

    found = await order("Who?", passages, Fixed(**dict(zip(passages, scores, strict=True))))

    assert sorted(i for i, _ in found) == list(range(len(scores)))
    assert all(scores[i] == score for i, score in found)
    keys = [(score is None, -(score or 0.0), i) for i, score in found]
    assert keys == sorted(keys)


# Searches


@pytest.fixture(scope="module")
def index() -> Index:
    return a_built_index(*TEXTS)


METHODS = ("bm25", "walk", "hipporag", "ircot", "tog", "raptor", "propositions")


@pytest.mark.parametrize("method", [m for m in RANKINGS if m in METHODS])
def test_a_server_ranks_the_hits_of_every_method_again(index: Index, method: str):
    question = "Who laughed at Ada Brook?"
    with SimulatedServer(Behaviour()) as server:
        hits = api.search(question, index, method=method, k=2, settings=settings(server.url))
        every = api.search(question, index, method=method, k=5, settings=Settings())

    assert len(hits) == min(2, len(every))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in hits)
    if "2.txt" in {hit.document for hit in every}:
        assert hits[0].document == "2.txt"


def test_as_many_chunks_are_looked_at_as_the_depth_says(index: Index, monkeypatch: pytest.MonkeyPatch):
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        monkeypatch.setattr(rerank, "DEPTH", 3)
        api.search("Ada Brook", index, k=1, settings=settings(server.url))
        monkeypatch.setattr(rerank, "DEPTH", 2)
        api.search("Ada Brook", index, k=4, settings=settings(server.url))

    assert [len(body["documents"]) for body in server.bodies] == [3, 4]


async def test_a_search_inside_an_event_loop_waits_for_its_server(index: Index):
    with SimulatedServer(Behaviour()) as server:
        assert api.search("Ada Brook", index, settings=settings(server.url))


def test_scores_are_kept_with_the_index(index: Index, tmp_path: Path):
    stored = replace(index, folder=tmp_path)
    with SimulatedServer(Behaviour()) as server:
        for _ in range(2):
            api.search("Ada Brook", stored, settings=settings(server.url))

    assert server.counts["rerank"] == 1


def test_a_server_that_is_not_there_is_an_error(index: Index):
    with pytest.raises(ServerDown, match=r"rerank\.by"):
        api.search("Ada Brook", index, settings=settings("http://127.0.0.1:1", llm={"attempts": 1}))


# Answers


@pytest.mark.parametrize("method", METHODS)
def test_an_answer_is_made_from_the_chunks_in_their_new_order(index: Index, method: str):
    question = "Who laughed at Ada Brook?"
    with SimulatedServer(Behaviour()) as server:
        context = api.context(question, index, method=method, settings=settings(server.url))
        answer = api.ask(question, index, method=method, settings=settings(server.url))

    read = [chunk.number for window in context.windows for chunk in window.sources]
    if 2 in read:
        assert read[0] == 2
        assert "chunks reranked by " in answer.why
    assert answer.context_tokens == context.context_tokens


def test_a_language_model_reads_first_what_it_rated_highest():
    index = an_index(*TEXTS)
    model = ScriptedModel(
        {
            RatePassages: lambda task: tuple(
                Rated(i, 9.0 * ("coward" in t)) for i, t in enumerate(task.passages)
            ),
            AnswerFromContext: ["Ruben Vale did. [Data: Sources (2)]"],
        }
    )

    answer = api.ask("Ada Brook?", index, method="bm25", settings=settings("model"), model=model)

    (read,) = model.all_seen(AnswerFromContext)
    assert read.context.sources[0].number == 2
    assert len(read.context.sources) == 4
    assert answer.citations[0].sources[0].document == "2.txt"
    assert answer.context_tokens == tokens.count(read.context.text)
    assert answer.why == f"the first 4 chunks reranked by {model.name}"


def test_what_the_window_cannot_hold_may_be_reranked_into_it():
    texts = [f"Ada Brook bought mill {i}. " + "The mill ground rye. " * 60 for i in range(4)]
    index = an_index(*texts, "Ada Brook sold it all to a man of Hollin. " + "He never saw a mill. " * 60)
    rated = {
        RatePassages: lambda task: tuple(Rated(i, 9.0 * ("sold" in t)) for i, t in enumerate(task.passages))
    }
    model = ScriptedModel({**rated, AnswerFromContext: ["So.", "So."]})
    small = {"answer": {"context_tokens": 500}}

    plain = api.context("Which mill was bought?", index, method="bm25", settings=small)
    answer = api.ask(
        "Which mill was bought?",
        index,
        method="bm25",
        settings=settings("model", **small),
        model=model,
    )

    assert 4 not in [chunk.number for chunk in plain.windows[0].sources]
    assert [chunk.number for chunk in model.seen(AnswerFromContext).context.sources] == [4]
    assert answer.read == {"sources": (1, 5)}


def test_chunks_without_a_rating_are_told():
    index = an_index(*TEXTS)
    model = ScriptedModel({RatePassages: [(Rated(0, 5.0),)], AnswerFromContext: ["So."]})

    answer = api.ask("Ada Brook?", index, method="bm25", settings=settings("model"), model=model)

    assert any("3 of 4 chunks could not be scored" in notice for notice in answer.notices)


def test_a_rating_that_fails_is_a_failure():
    model = ScriptedModel({RatePassages: [BadReply("no sense")], AnswerFromContext: ["So."]})

    with pytest.raises(BadReply):
        api.ask("Ada Brook?", an_index(*TEXTS), method="bm25", settings=settings("model"), model=model)


def test_each_thought_of_a_chain_reads_the_best_chunks_first():
    model = ScriptedModel(
        {
            RatePassages: lambda task: tuple(
                Rated(i, 9.0 * ("coward" in t)) for i, t in enumerate(task.passages)
            ),
            NextThought: ["So the answer is Ruben Vale."],
            AnswerFromContext: ["Ruben Vale."],
        }
    )

    api.ask(
        "Ada Brook?",
        an_index(*TEXTS),
        method="ircot",
        settings=settings("model"),
        model=model,
    )

    assert model.all_seen(NextThought)[0].context.sources[0].number == 2


def test_a_method_that_does_not_rank_says_that_nothing_was_reranked(index: Index):
    with SimulatedServer(Behaviour()) as server:
        answer = api.ask("Ada Brook?", index, method="local", settings=settings(server.url))

    assert "Nothing was reranked: local does not rank chunks." in answer.notices
    assert server.counts["requests"] == 0


def test_what_would_be_read_is_what_is_read(index: Index):
    with SimulatedServer(Behaviour()) as server:
        context = api.context(
            "Who laughed at Ada Brook?", index, method="bm25", settings=settings(server.url)
        )

    assert context.windows[0].sources[0].number == 2


# Measurements


def test_a_measurement_is_of_what_was_reranked(tmp_path: Path):
    (tmp_path / "qrels").mkdir()
    rows = [f'{{"_id": "p{i}", "title": "", "text": "{text}"}}' for i, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "Who laughed at Ada Brook and called?"}')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp2\t1\n")
    with SimulatedServer(Behaviour()) as server:
        measured = evaluation.evaluate_retrieval(tmp_path, ["bm25"], settings=settings(server.url))

    assert measured["bm25"].as_row()["R@1"] == 1.0
    assert server.counts["rerank"] > 0
