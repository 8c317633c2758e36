"""DRIFT: a first answer over reports, follow-up questions, one final answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from making import a_built_index, a_report, an_index
from scripted import ScriptedModel

from conspectus.errors import BadReply, UsageError
from conspectus.messages import wording
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import drift
from conspectus.retrieval.base import NOTHING, run_ready
from conspectus.retrieval.drift import primer_reports
from conspectus.rows import Answer
from conspectus.settings import DriftSettings, Settings
from conspectus.tasks import FollowUp, PrimeAnswer, Probe, PursueFollowUp, ReduceAnswer

TEXTS = ("Mara Tolan rebuilt the weir.", "Zorba Orrin sold oats.", "Ada Brook owned the mill.")
INDEX = an_index(
    *TEXTS, entities=["Mara Tolan", "Zorba Orrin", "Ada Brook"], reports=["On the weir", "On oats", "On bees"]
)


def leads(*questions: tuple[str, int]) -> tuple[FollowUp, ...]:
    return tuple(FollowUp(question, score) for question, score in questions)


def a_model(primer: Probe, pursue: Callable[[PursueFollowUp], Probe | Exception]) -> ScriptedModel:
    return ScriptedModel(
        {PrimeAnswer: [primer], PursueFollowUp: pursue, ReduceAnswer: lambda _: "All of it."}
    )


def settings(**more: int) -> Settings:
    return Settings(drift=DriftSettings(**more))


async def test_the_best_follow_ups_of_each_step_are_asked_until_the_depth_is_reached(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(drift, "FOLLOW_UPS", 2)
    primer = Probe(
        "P.", 20, leads(("Who is Mara Tolan?", 10), ("Who is Zorba Orrin?", 90), ("Who is Ada Brook?", 50))
    )
    further = leads(("Did Mara Tolan know Ada Brook?", 99))
    model = a_model(primer, lambda task: Probe(f"To {task.follow_up}", 60, further))

    answer = await drift.answer("Who?", INDEX, model, settings(depth=2))

    asked = [task.follow_up for task in model.all_seen(PursueFollowUp)]
    assert asked == [
        "Who is Zorba Orrin?",
        "Who is Ada Brook?",
        "Did Mara Tolan know Ada Brook?",
        "Who is Mara Tolan?",
    ]
    assert "“Who is Zorba Orrin?”" in answer.why
    assert answer.text == "All of it."


async def test_a_follow_up_is_answered_from_what_local_gathers_for_it():
    model = a_model(Probe("P.", 20, leads(("Who is Zorba Orrin?", 90))), lambda _: Probe("Z.", 60))

    await drift.answer("Who?", INDEX, model, settings(depth=1))

    task = model.seen(PursueFollowUp)
    assert [e.name for e in task.context.entities] == ["Zorba Orrin"]
    assert task.context.sources[0].text == TEXTS[1]


async def test_nothing_is_asked_twice_and_what_was_asked_is_told():
    again = leads(("who is ZORBA Orrin", 90), ("Who is Ada Brook?", 50), ("Who?", 99), ("Worthless?", 0))
    model = a_model(Probe("P.", 20, leads(("Who is Zorba Orrin?", 90))), lambda _: Probe("Z.", 60, again))

    await drift.answer("Who?", INDEX, model, settings(depth=4))

    first, second = model.all_seen(PursueFollowUp)
    assert (first.follow_up, first.asked) == ("Who is Zorba Orrin?", ())
    assert (second.follow_up, second.asked) == ("Who is Ada Brook?", ("Who is Zorba Orrin?",))


async def test_the_final_answer_is_made_of_all_that_helps_the_most_helpful_first():
    scores = iter((70, 0))
    primer = Probe("P.", 30, leads(("Who is Zorba Orrin?", 90), ("Who is Ada Brook?", 50)))
    model = a_model(primer, lambda task: Probe(task.follow_up, next(scores)))

    await drift.answer("Who?", INDEX, model, settings(depth=1))

    assert [a.text for a in model.seen(ReduceAnswer).answers] == ["Who is Zorba Orrin?", "P."]


async def test_without_depth_the_primer_is_the_answer():
    model = a_model(Probe("P.", 30, leads(("Who is Zorba Orrin?", 90))), lambda _: Probe("", 0))

    await drift.answer("Who?", INDEX, model, settings(depth=0))

    assert model.all_seen(PursueFollowUp) == []


async def test_a_follow_up_that_fails_is_told_and_a_primer_that_fails_is_an_error():
    primer = Probe("P.", 30, leads(("Who is Zorba Orrin?", 90)))
    answer = await drift.answer("Who?", INDEX, a_model(primer, lambda _: BadReply("gone")), settings())

    assert answer.notices[0] == "1 follow-ups could not be answered: gone"
    with pytest.raises(BadReply):
        await drift.answer("Who?", INDEX, ScriptedModel({PrimeAnswer: [BadReply("gone")]}), settings())


async def test_where_nothing_helps_there_is_no_answer():
    model = a_model(Probe("", 0, leads(("Who is Zorba Orrin?", 90))), lambda _: Probe("", 0))

    assert (await drift.answer("Who?", INDEX, model, settings())).text == NOTHING


def test_the_primer_reads_the_reports_of_what_matches_then_the_most_important(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(drift, "PRIMER_REPORTS", 2)
    reports = [
        a_report("On bees", 0, rating=9.0),
        a_report("On the weir", 1, rating=1.0),
        a_report("On oats", 2),
    ]
    index = an_index(*TEXTS, reports=reports)

    chosen = primer_reports("Who rebuilt the weir?", index, settings())

    assert [report.title for report in chosen] == ["On the weir", "On bees"]


def test_without_reports_there_is_nothing_to_start_from():
    with pytest.raises(UsageError, match="reports"):
        run_ready(drift.answer("Who?", an_index("x"), ScriptedModel({}), settings()))


# Without a language model


STORY = (
    "Mara Tolan rebuilt the weir of Quenda with Zorba Orrin. Mara Tolan and Zorba Orrin cut its stones in winter.",
    "Zorba Orrin saw the weir of Quenda break in the flood. The flood took the bridge of Leith Vale.",
    "Ada Brook keeps the oat mill in Leith Vale. Tom Reed grinds oats with Ada Brook in Leith Vale.",
)
BUILT = a_built_index(*STORY, reports={"min_report_entities": 2})


def asked(question: str) -> Answer:
    return run_ready(drift.answer(question, BUILT, ExtractiveModel.of_index(BUILT), Settings()))


def test_the_question_is_crossed_with_names_that_it_led_to_and_the_reader_is_told():
    answer = asked("Who rebuilt the weir?")

    assert "“Who rebuilt the weir (" in answer.why
    assert wording("en").crossing in answer.notices
    assert "Mara Tolan rebuilt the weir" in answer.text


def test_no_heading_and_no_quotation_stands_there_twice():
    for question in ("Who rebuilt the weir?", "What are the main themes?", "What did the flood take?"):
        lines = [line.partition(" [")[0] for line in asked(question).text.splitlines() if line]
        assert len(lines) == len(set(lines)), question


def test_the_same_question_has_the_same_answer():
    assert asked("What did the flood take?") == asked("What did the flood take?")


def test_what_the_corpus_does_not_speak_of_has_no_answer():
    assert asked("Which zebras yodel?").text == NOTHING
