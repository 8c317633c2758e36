"""Roll-up: from the matches of a question up the hierarchy, with reports written on demand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from making import a_built_index, a_claim, an_index
from scripted import ScriptedModel

from conspectus.errors import BadKey, BadReply, UsageError
from conspectus.index import Index
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import rollup
from conspectus.retrieval.base import NOTHING, run_ready
from conspectus.retrieval.rollup import communities_of, community_of, match_annotations, roll_up
from conspectus.rows import Answer, Community, Finding, Report
from conspectus.settings import AnswerSettings, ReportSettings, Settings
from conspectus.tasks import MapAnswer, PartialAnswer, ReduceAnswer, ReportDraft, WriteReport

TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda with Zorba Orrin. Mara Tolan and Zorba Orrin cut its stones in winter.",
    "Zorba Orrin saw the weir of Quenda break in the flood. Mara Tolan measured the flood at the weir.",
    "Ada Brook keeps the oat mill in Leith Vale. Tom Reed grinds oats with Ada Brook in Leith Vale.",
    "Tom Reed sold the oats of Leith Vale. Ada Brook bought a millstone from Tom Reed.",
)
SETTINGS = {"reports": {"min_report_entities": 2}}


WITH = a_built_index(*TEXTS, **SETTINGS)
WITHOUT = a_built_index(*TEXTS, reports={"min_report_entities": 2, "write": False})
"""The same index without reports, as `--no-reports` makes it."""
CHOSEN = Settings(reports=ReportSettings(min_report_entities=2))


def asked(question: str, index: Index, settings: Settings = CHOSEN) -> Answer:
    return run_ready(rollup.answer(question, index, ExtractiveModel.of_index(index), settings))


# Matching


def test_a_question_matches_annotations_by_the_words_of_their_names_and_descriptions(
    monkeypatch: pytest.MonkeyPatch,
):
    index = an_index(
        "x",
        entities=["weir", "oats"],
        edges=[("weir", "oats")],
        claims=[a_claim("weir", "The weir was sold.")],
        reports=["On oats", "On the weir"],
    )

    found = match_annotations("What of the weir?", index, Settings())

    kinds = [(a.kind, a.number) for a in found]
    assert kinds[0] == ("entity", 0)  # the question names it
    assert {("claim", 0), ("report", 1), ("relationship", 0)} <= set(kinds)
    assert ("entity", 1) not in kinds
    monkeypatch.setattr(rollup, "MATCHES", 2)
    assert len(match_annotations("What of the weir?", index, Settings())) == 2


def test_an_annotation_is_at_home_in_the_deepest_community_that_holds_it_and_is_large_enough():
    communities = [
        Community("r", 0, 0, -1, (1, 2), (0, 1, 2)),
        Community("a", 1, 1, 0, (), (0, 1)),
        Community("b", 2, 1, 0, (), (2,)),
    ]
    index = an_index(
        "x", entities=["Ant", "Bee", "Cow"], edges=[("Ant", "Bee"), ("Bee", "Cow")], communities=communities
    )
    entity, near, across = (
        next(a for a in match_annotations("Ant Bee Cow", index, Settings()) if (a.kind, a.number) == one)
        for one in (("entity", 2), ("relationship", 0), ("relationship", 1))
    )

    homes = [community_of(a, index, least) for a, least in ((entity, 1), (entity, 2), (near, 1), (across, 1))]
    assert [c.number for c in homes if c] == [2, 0, 1, 0]
    assert communities_of([entity, near], index, 1) == {2: entity.score, 1: near.score}


def test_where_there_are_vectors_what_the_nearest_sentences_mention_matches_too(
    monkeypatch: pytest.MonkeyPatch,
):
    plain = an_index("The kittiwake starved.", "A clock stopped.", entities=["kittiwake", "clock"])
    vectors = {
        "vectors.chunks": np.eye(2, dtype=np.float32),
        "vectors.sentences": np.eye(2, dtype=np.float16),
    }
    index = replace(plain, arrays={**plain.arrays, **vectors})
    monkeypatch.setattr(rollup, "question_vectors", lambda *_: np.array([[1.0, 0.0]], np.float32))

    assert [a.name for a in match_annotations("Were birds hungry?", index, Settings())] == ["kittiwake"]
    assert match_annotations("Were birds hungry?", plain, Settings()) == []


# Climbing


def a_tree() -> list[Community]:
    """A root of eight entities with two children, each with two children of two entities."""
    root = Community("0", 0, 0, -1, (1, 2), tuple(range(8)))
    halves = [
        Community("1", 1, 1, 0, (3, 4), (0, 1, 2, 3)),
        Community("2", 2, 1, 0, (5, 6), (4, 5, 6, 7)),
    ]
    parts = [Community(str(3 + i), 3 + i, 2, 1 + i // 2, (), (2 * i, 2 * i + 1)) for i in range(4)]
    return [root, *halves, *parts]


def test_parts_give_way_to_a_whole_that_they_are_most_of():
    chosen, replaced = roll_up({3: 1.0, 4: 2.0}, a_tree(), share=0.9)

    assert chosen == [1]
    assert replaced == {3, 4}


def test_a_part_that_is_a_small_share_of_its_whole_stays():
    assert roll_up({3: 1.0, 5: 2.0}, a_tree(), share=0.9)[0] == [5, 3]


def test_relevance_may_carry_the_climb_to_the_root():
    assert roll_up({3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0}, a_tree(), share=1.0)[0] == [0]


def test_where_there_is_no_room_parts_give_way_whatever_their_share_and_then_the_best_stay():
    wide = [replace(c, entity_numbers=tuple(range(100))) if c.number < 3 else c for c in a_tree()]

    assert roll_up({3: 1.0, 4: 1.0, 5: 3.0}, wide, reports=2)[0] == [5, 1]
    cousins = roll_up({3: 1.0, 5: 3.0}, wide, reports=1)
    assert cousins == ([0], {1, 2, 3, 5})
    unjoined = [replace(c, level=c.level - 1, parent=-1) for c in a_tree()[1:3]]
    assert roll_up({0: 1.0, 1: 3.0}, unjoined, reports=1)[0] == [1]


def test_of_a_community_and_a_part_of_it_the_part_is_started_from():
    assert roll_up({1: 5.0, 3: 1.0}, a_tree(), share=0.9)[0] == [3]


# On-demand reports


def test_a_report_written_for_a_question_is_the_one_that_indexing_would_have_written():
    asked("Who rebuilt the weir?", WITHOUT)

    stored = {r.community: r for r in WITH.reports}
    assert WITHOUT.further_reports
    for report in WITHOUT.further_reports.values():
        assert replace(report, number=stored[report.community].number) == stored[report.community]


def test_an_index_without_reports_answers_as_one_that_has_them():
    one, other = asked("Who rebuilt the weir?", WITH), asked("Who rebuilt the weir?", WITHOUT)

    assert "Mara Tolan rebuilt the weir" in one.text
    assert other.text == one.text
    assert "written for it" not in one.why


def test_the_second_question_finds_the_reports_of_the_first():
    index = replace(WITHOUT)

    assert "written for it" in asked("Who rebuilt the weir?", index).why
    assert "written for it" not in asked("Who saw the weir break?", index).why


def test_a_reference_to_such_a_report_leads_to_characters():
    answer = asked("Who rebuilt the weir?", replace(WITHOUT))

    assert {"report", "source"} <= {c.kind for c in answer.citations}
    assert all(c.sources for c in answer.citations)
    assert answer.removed_references == 0


def a_draft(task: WriteReport) -> ReportDraft:
    return ReportDraft("T", "S.", 5.0, "", (Finding("F", "F. [Data: Entities (0)]"),))


async def test_a_language_model_is_asked_for_the_same_report_as_by_indexing_and_once():
    index = replace(WITHOUT)
    model = ScriptedModel(
        {WriteReport: a_draft, MapAnswer: lambda _: PartialAnswer("A.", 50), ReduceAnswer: lambda _: "A."}
    )

    await rollup.answer("Who rebuilt the weir?", index, model, CHOSEN)
    await rollup.answer("Who rebuilt the weir?", index, model, CHOSEN)

    written = model.all_seen(WriteReport)
    assert written
    assert len({task.context.text for task in written}) == len(written)
    assert all(task.language == "en" for task in written)


async def test_a_report_that_fails_is_left_out_and_told_and_none_at_all_is_an_error():
    index = replace(WITHOUT)
    said = iter([BadReply("gone")])
    model = ScriptedModel(
        {
            WriteReport: lambda task: next(said, None) or a_draft(task),
            MapAnswer: lambda _: PartialAnswer("A.", 50),
            ReduceAnswer: lambda _: "A.",
        }
    )
    answer = await rollup.answer("Mara Tolan and Ada Brook", index, model, CHOSEN)
    assert answer.notices[0] == "1 reports could not be written: gone"

    failing = ScriptedModel({WriteReport: lambda _: BadReply("gone")})
    with pytest.raises(BadReply):
        await rollup.answer("Who rebuilt the weir?", replace(WITHOUT), failing, CHOSEN)
    with pytest.raises(BadKey):
        await rollup.answer(
            "Who rebuilt the weir?", replace(WITHOUT), ScriptedModel({WriteReport: [BadKey("no")]}), CHOSEN
        )


async def test_a_whole_that_is_too_large_stands_on_the_reports_of_the_parts_that_gave_way_to_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(rollup, "roll_up", partial(roll_up, share=0.9))
    names = ["Ant", "Bee", "Cow", "Doe", "Elk", "Fox", "Gnu", "Hen"]
    index = replace(
        an_index(" ".join(names), entities=names, edges=[(names[i], names[i + 1]) for i in (0, 2, 4, 6)]),
        communities=a_tree(),
        settings={"reports": {"context_tokens": 30}},
    )
    model = ScriptedModel(
        {WriteReport: a_draft, MapAnswer: lambda _: PartialAnswer("A.", 50), ReduceAnswer: lambda _: "A."}
    )
    chosen = Settings(reports=ReportSettings(min_report_entities=1))

    await rollup.answer("Ant, Bee, Cow and Doe", index, model, chosen)

    *parts, whole = (task.context for task in model.all_seen(WriteReport))
    assert [len(part.reports) for part in parts] == [0, 0]
    assert whole.reports


# Answers


def test_a_question_about_the_whole_is_answered_from_the_root():
    answer = asked("What are the main themes?", WITHOUT)

    assert answer.text != NOTHING
    assert "the whole is" in answer.why


def test_what_matches_nothing_has_no_answer():
    assert asked("Zebras?", WITH).text == NOTHING


def test_an_index_without_communities_is_refused():
    with pytest.raises(UsageError, match="communities"):
        asked("Who?", an_index("x"))


def test_the_reason_says_what_matched_and_which_levels_were_used():
    why = asked("Who rebuilt the weir?", WITH).why

    assert "annotations match (" in why
    assert "of level" in why
    assert "(communities " in why


async def test_windows_are_packed_as_for_a_global_answer():
    model = ScriptedModel({MapAnswer: lambda _: PartialAnswer("A.", 50), ReduceAnswer: lambda _: "A."})
    settings = Settings(answer=AnswerSettings(context_tokens=500), reports=CHOSEN.reports)

    answer = await rollup.answer("Who rebuilt the weir and who sold oats?", WITH, model, settings)

    read = [r for task in model.all_seen(MapAnswer) for r in task.context.reports]
    assert answer.context_tokens == sum(r.n_tokens for r in read)
    assert len(read) == len(set(read))
    assert isinstance(read[0], Report)
