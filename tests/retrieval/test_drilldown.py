"""Drill-down: from the root along the most relevant reports to the chunks behind them."""

from __future__ import annotations

from typing import Any

import pytest
from making import a_built_index, a_report, an_index
from scripted import ScriptedModel

from conspectus.errors import BadReply, UsageError
from conspectus.index import Index
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import drilldown
from conspectus.retrieval.base import NOTHING, run_ready
from conspectus.retrieval.drilldown import community_rows, follow
from conspectus.rows import Answer, Community
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext, RateReport

NAMES = ["Ant", "Bee", "Cow", "Doe", "Elk", "Fox"]
TEXTS = [f"{name} lives in the wood." for name in NAMES]


def a_tree() -> Index:
    """Two roots, of the first four and the last two entities; the first has two children, one of which has two more."""
    shape = [(0, -1, (2, 3), (0, 1, 2, 3)), (0, -1, (), (4, 5)), (1, 0, (4, 5), (0, 1)), (1, 0, (), (2, 3))]
    shape += [(2, 2, (), (0,)), (2, 2, (), (1,))]
    plain = an_index(*TEXTS, entities=NAMES)
    communities = [
        Community(f"c{i}", i, level, parent, children, held, (), tuple(plain.chunks[e].id for e in held))
        for i, (level, parent, children, held) in enumerate(shape)
    ]
    reports = [
        a_report(f"R{c.number}", c.number, level=c.level, parent=c.parent, children=c.children)
        for c in communities
    ]
    return an_index(*TEXTS, entities=NAMES, communities=communities, reports=reports)


def rated(ratings: dict[int, Any]) -> ScriptedModel:
    return ScriptedModel(
        {RateReport: lambda task: ratings[task.report.number], AnswerFromContext: lambda _: "A."}
    )


async def ends(ratings: dict[int, Any], **settings: int) -> list[str]:
    return [report.path for report in (await follow("?", [], a_tree(), rated(ratings), **settings)).chosen]


async def test_the_best_reports_are_followed_to_where_no_part_is_relevant():
    assert await ends({0: 4, 1: 0, 2: 3, 3: 0, 4: 0, 5: 0}) == ["R0 (4) > R2 (3)"]


async def test_no_more_reports_of_a_level_are_followed_than_the_beam_is_wide():
    ratings = {0: 4, 1: 3, 2: 2, 3: 5, 4: 1, 5: 5}

    assert await ends(ratings, width=1) == ["R0 (4) > R3 (5)"]
    assert await ends(ratings, width=2) == ["R0 (4) > R3 (5)", "R0 (4) > R2 (2) > R5 (5)"]


async def test_what_is_not_followed_is_never_rated_further_down():
    model = rated({0: 0, 1: 2})
    found = await follow("?", [], a_tree(), model)

    assert [report.path for report in found.chosen] == ["R1 (2)"]
    assert found.rated == 2


async def test_of_reports_rated_alike_the_one_goes_first_that_holds_more_of_the_question():
    index = an_index(
        "Owls hoot.", "Bees swarm.",
        entities=["Owls", "Bees"],
        reports=[a_report("On bees", 0, ["Bees swarm."]), a_report("On owls", 1, ["Owls hoot."])],
    )  # fmt: skip

    found = await follow("Do owls hoot?", [], index, rated({0: 3, 1: 3}), width=1)

    assert [rated.report.title for rated in found.chosen] == ["On owls"]


async def test_a_report_that_cannot_be_rated_is_just_relevant_and_told():
    ratings: dict[int, Any] = {0: BadReply("gone"), 1: 0, 2: 0, 3: 0}
    answer = await drilldown.answer("?", a_tree(), rated(ratings), Settings())

    assert "R0 (1)" in answer.why
    assert answer.notices[0] == "not rated, of 4 reports: 1 (gone)"
    with pytest.raises(BadReply):
        await drilldown.answer("?", a_tree(), rated({0: BadReply("a"), 1: BadReply("b")}), Settings())


async def test_the_answer_is_made_from_the_communities_reached_alone():
    model = rated({0: 4, 1: 0, 2: 0, 3: 3})
    answer = await drilldown.answer("Which lives there?", a_tree(), model, Settings())
    evidence = model.seen(AnswerFromContext).context

    assert [e.name for e in evidence.entities] == ["Cow", "Doe"]
    assert [c.text for c in evidence.sources] == TEXTS[2:4]
    assert [r.title for r in evidence.reports] == ["R3"]
    assert "4 reports rated from the root down, followed R0 (4) > R3 (3)" in answer.why
    assert answer.read["sources"] == (2, 2)


async def test_what_is_relevant_nowhere_has_no_answer():
    answer = await drilldown.answer("?", a_tree(), rated({0: 0, 1: 0}), Settings())

    assert answer.text == NOTHING
    assert "none of them relevant" in answer.why


def test_without_reports_there_is_nothing_to_follow():
    with pytest.raises(UsageError, match="rollup"):
        run_ready(drilldown.answer("?", an_index("x"), ScriptedModel({}), Settings()))


# Without a language model


STORY = (
    "Mara Tolan rebuilt the weir of Quenda with Zorba Orrin. Mara Tolan and Zorba Orrin cut its stones in winter.",
    "Ada Brook keeps the oat mill in Leith Vale. Tom Reed grinds oats with Ada Brook in Leith Vale.",
)
INDEX = a_built_index(*STORY, reports={"min_report_entities": 2})


def asked(question: str) -> Answer:
    return run_ready(drilldown.answer(question, INDEX, ExtractiveModel.of_index(INDEX), Settings()))


def test_the_sentences_of_a_community_are_its_scent():
    answer = asked("Who rebuilt the weir?")

    assert "Mara Tolan rebuilt the weir" in answer.text
    assert "oat" not in answer.text
    assert "rated from the root down, followed" in answer.why


def test_citations_lead_to_the_words_that_are_quoted():
    sources = [source for citation in asked("Who grinds oats?").citations for source in citation.sources]

    assert "Tom Reed grinds oats with Ada Brook in Leith Vale." in [source.text for source in sources]


def test_a_question_about_the_whole_is_answered_by_the_reports_reached():
    assert "### " in asked("What are the main themes?").text


def test_evidence_holds_what_matches_first():
    index = a_tree()
    from conspectus.retrieval.rollup import match_annotations

    evidence = community_rows("Doe?", index.reports[:1], match_annotations("Doe?", index, Settings()), index)

    assert evidence.entities[0].name == "Doe"
    assert evidence.sources[0].text == TEXTS[3]
