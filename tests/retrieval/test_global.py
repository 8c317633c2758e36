"""Global answers: map-reduce over the reports of one level."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_built_index, a_report, an_index
from scripted import ScriptedModel

from conspectus import tokens
from conspectus.errors import BadReply, UsageError
from conspectus.index import Index
from conspectus.retrieval import global_
from conspectus.retrieval.base import NOTHING
from conspectus.rows import Answer, Community, Report
from conspectus.settings import AnswerSettings, GlobalSettings, Settings
from conspectus.tasks import MapAnswer, PartialAnswer, RateReport, ReduceAnswer
from conspectus.tasks.base import Context

QUESTION = "What do bees do?"
LONG = "word " * 400
"""Words of a report: each report then needs its own window of 500 tokens."""


def partial(text: str, score: int) -> PartialAnswer:
    return PartialAnswer(text, score)


def long_reports(*titles: str) -> Index:
    return an_index(
        "Bees.", entities=["Bees"], reports=[a_report(t, i, [LONG]) for i, t in enumerate(titles)]
    )


async def answered(index: Index, model: ScriptedModel, **settings: int) -> Answer:
    chosen = Settings.model_validate({"answer": {"context_tokens": 500}, "global": settings})
    return await global_.answer(QUESTION, index, model, chosen)


async def test_an_answer_scored_zero_never_reaches_the_final_prompt():
    model = ScriptedModel(
        {MapAnswer: [partial("Bees swarm.", 80), partial("Bees knit.", 0)], ReduceAnswer: ["They swarm."]}
    )

    answer = await answered(long_reports("On bees", "On knitting"), model)

    assert answer.text == "They swarm."
    assert [p.text for p in model.seen(ReduceAnswer).answers] == ["Bees swarm."]


async def test_answers_reach_the_final_prompt_in_descending_helpfulness():
    said = {"On bees": partial("Swarm.", 20), "On wax": partial("Melt.", 90), "On hives": partial("Hum.", 50)}
    model = ScriptedModel({MapAnswer: lambda t: said[t.context.reports[0].title], ReduceAnswer: ["So."]})

    await answered(long_reports(*said), model)

    assert [p.score for p in model.seen(ReduceAnswer).answers] == [90, 50, 20]


async def test_whole_answers_are_taken_until_the_window_is_full():
    model = ScriptedModel({MapAnswer: lambda _: partial("word " * 200, 50), ReduceAnswer: ["So."]})

    await answered(long_reports("a", "b", "c", "d"), model)

    assert len(model.seen(ReduceAnswer).answers) == 2


async def test_one_answer_is_taken_even_if_it_fills_more_than_the_window():
    model = ScriptedModel({MapAnswer: lambda _: partial("word " * 900, 50), ReduceAnswer: ["So."]})

    await answered(long_reports("a", "b"), model)

    assert len(model.seen(ReduceAnswer).answers) == 1


async def test_where_no_window_helps_nothing_is_written_and_nothing_cited():
    model = ScriptedModel({MapAnswer: lambda _: partial("No idea.", 0)})

    answer = await answered(long_reports("On bees"), model)

    assert (answer.text, answer.citations, answer.level) == (NOTHING, (), 0)


async def test_a_window_that_failed_is_told_and_the_others_answer():
    model = ScriptedModel(
        {MapAnswer: [BadReply("cut off"), partial("Swarm.", 10)], ReduceAnswer: ["They swarm."]}
    )

    answer = await answered(long_reports("On bees", "On wax"), model)

    assert answer.text == "They swarm."
    assert any("1 of 2 windows" in notice and "cut off" in notice for notice in answer.notices)


async def test_where_every_window_failed_the_error_is_raised():
    with pytest.raises(BadReply, match="cut off"):
        await answered(
            long_reports("On bees", "On wax"), ScriptedModel({MapAnswer: lambda _: BadReply("cut off")})
        )


async def test_the_final_reply_is_cited():
    index = an_index(
        "Bees swarm in May.",
        entities=["Bees"],
        reports=[a_report("On bees", 0, ["They swarm. [Data: Entities (0)]"])],
    )
    model = ScriptedModel(
        {
            MapAnswer: [partial("x", 9)],
            ReduceAnswer: ["They swarm [Data: Reports (0)], or knit [Data: Reports (4)]."],
        }
    )

    answer = await answered(index, model)

    assert answer.text == "They swarm [1], or knit."
    assert answer.citations[0].sources[0].text == "Bees swarm in May."
    assert answer.removed_references == 1


def windows(index: Index, level: int = 0, **settings: int) -> list[tuple[Report, ...]]:
    answer = AnswerSettings.model_validate(settings)
    return [window.reports for window in global_.report_windows(index.reports_at(level), answer)]


some_lengths = st.lists(st.integers(1, 450), min_size=1, max_size=12)


@given(some_lengths, st.integers(500, 1500))
def test_windows_hold_every_report_once_and_stay_within_the_limit(lengths: Sequence[int], limit: int):
    index = an_index(reports=[a_report(f"R{i}", i, ["word " * n]) for i, n in enumerate(lengths)])

    packed = windows(index, context_tokens=limit)

    assert sorted(r.number for window in packed for r in window) == list(range(len(lengths)))
    assert all(tokens.count(Context(reports=tuple(window)).text) <= limit for window in packed)


def test_brief_reports_come_after_the_others_and_do_not_change_their_order():
    full = [a_report(f"R{i}", i, ["word " * 300]) for i in range(7)]
    brief = [a_report(f"B{i}", 7 + i, rating=0.0) for i in range(3)]
    without = [r for window in windows(an_index(reports=full)) for r in window]

    packed = windows(an_index(reports=[*full, *brief]), context_tokens=1000)

    assert [r for window in packed for r in window] == [*without, *brief]
    assert len(packed) == len(windows(an_index(reports=full), context_tokens=1000))


BUILT = a_built_index(
    "Ada Brook founded Orran Mill with Bo Hale.",
    "Ada Brook sold Orran Mill to Cy Dane.",
    "Vega Fenn keeps bees.",
)


async def test_reports_are_selected_from_the_root_down_without_rating_brief_ones():
    brief = [report for report in BUILT.reports if report.brief]
    model = ScriptedModel({RateReport: lambda _: 3})

    selection = await global_.select_communities("Who owned the mill?", BUILT, model)

    assert brief
    assert selection.rated == len(model.all_seen(RateReport))
    assert not any(rated.report.brief for rated in selection.chosen)


def test_reports_are_shuffled_the_same_way_each_time():
    index = an_index(reports=[f"R{i}" for i in range(20)])

    assert windows(index) == windows(index)
    assert [report for window in windows(index) for report in window] != list(index.reports)


def a_hierarchy(*sizes: int) -> Index:
    """Return an index with `sizes` communities per level, each with a report; all but the deepest have children."""
    communities: list[Community] = []
    for level, size in enumerate(sizes):
        children = (0,) if level + 1 < len(sizes) else ()
        first = len(communities)
        communities += (Community(f"{level}.{i}", first + i, level, -1, children, ()) for i in range(size))
    reports = [a_report(c.id, c.number, community=c.number, level=c.level) for c in communities]
    return an_index(reports=reports, communities=communities)


@pytest.mark.parametrize(("sizes", "level"), [((3, 12, 40), 1), ((20, 50), 0), ((2, 5), 1), ((4,), 0)])
def test_where_no_level_is_asked_for_the_first_with_enough_reports_is_taken(
    sizes: tuple[int, ...], level: int
):
    assert global_.level_of(a_hierarchy(*sizes), GlobalSettings()) == level


def test_a_level_that_is_asked_for_is_taken_or_named_as_missing():
    assert global_.level_of(a_hierarchy(3, 12), GlobalSettings(level=0)) == 0
    with pytest.raises(UsageError, match="levels 0 to 1, and no level 2"):
        global_.level_of(a_hierarchy(3, 12), GlobalSettings(level=2))


def test_an_index_without_reports_says_so():
    with pytest.raises(UsageError, match="no reports"):
        global_.level_of(an_index("Bees."), GlobalSettings())
