"""Ranking and answers by words alone."""

from __future__ import annotations

from making import an_index
from scripted import ScriptedModel

from conspectus import tokens
from conspectus.retrieval import METHODS, bm25
from conspectus.retrieval.base import NOTHING
from conspectus.settings import SearchSettings, Settings
from conspectus.tasks import AnswerFromContext

INDEX = an_index(
    "Bees swarm in May. Bees sting.",
    "The wax of bees is sold in Quenda by many people of the town in the market.",
    "Cows graze.",
)


def ranked(question: str, k: int = 5) -> list[str]:
    return [hit.document for hit in bm25.rank(question, INDEX, Settings(search=SearchSettings(k=k)))]


def test_chunks_that_hold_more_of_the_question_come_first():
    assert ranked("bees of Quenda") == ["1.txt", "0.txt"]


def test_what_holds_no_word_of_the_question_is_not_ranked():
    assert ranked("zebras") == []
    assert ranked("cow grazing") == ["2.txt"]


def test_no_more_than_k_are_ranked():
    assert ranked("bees", k=1) == ["0.txt"]


def test_scores_fall_and_a_hit_says_where_it_stands():
    hits = bm25.rank("bees of Quenda", INDEX, Settings())

    assert hits[0].score > hits[1].score > 0
    for hit in hits:
        chunk = INDEX.chunk_of[hit.chunk]
        assert (hit.start, hit.end, hit.text) == (chunk.start, chunk.end, chunk.text)


async def test_an_answer_is_made_from_the_chunks_of_the_ranking_alone():
    model = ScriptedModel({AnswerFromContext: ["By the pound [Data: Sources (1)]."]})
    answer = await METHODS["bm25"]("Who sells wax?", INDEX, model, Settings())

    task = model.seen(AnswerFromContext)
    assert task.context.sources == (INDEX.chunks[1],)
    assert not task.context.entities
    assert answer.text == "By the pound [1]."
    assert answer.context_tokens == tokens.count(task.context.text)
    assert answer.read == {"sources": (1, len(INDEX.chunks))}


async def test_where_nothing_is_found_no_task_is_asked_and_nothing_cited():
    answer = await METHODS["bm25"]("zebras", INDEX, ScriptedModel({}), Settings())

    assert (answer.text, answer.citations) == (NOTHING, ())
