"""Local answers: what the graph holds around the things that a question names."""

from __future__ import annotations

from making import a_report, an_entity, an_index

from conspectus import tokens
from conspectus.models.scripted import ScriptedModel
from conspectus.query import local
from conspectus.query.finish import NOTHING
from conspectus.rows import Community
from conspectus.settings import LocalSettings
from conspectus.tasks import AnswerFromContext

TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda with twelve masons.",
    "Zorba Orrin saw the weir of Quenda break in the flood.",
    "The oats of Quenda are ground in the mill.",
    "In the town hall a clock stopped.",
)
NAMES = ["Mara Tolan", "Quenda", "Zorba Orrin", "weir", "mill"]
EDGES = [("Mara Tolan", "weir"), ("Zorba Orrin", "weir"), ("weir", "Quenda"), ("mill", "Quenda")]


def communities() -> list[Community]:
    """A root of all, reported, and a part of the first and fourth, reported too."""
    return [
        Community("root", 0, 0, -1, (1, 2), tuple(range(len(NAMES)))),
        Community("part", 1, 1, 0, (), (0, 3)),
        Community("rest", 2, 1, 0, (), (1, 2, 4)),
    ]


INDEX = an_index(
    *TEXTS,
    entities=NAMES,
    edges=EDGES,
    communities=communities(),
    reports=[a_report("All", 0, community=0), a_report("Of the weir", 1, community=1, level=1, parent=0)],
)


def named(question: str) -> list[str]:
    return [entity.name for entity in local.entities_in(question, INDEX)]


def test_entities_are_found_by_any_spelling_of_their_names_the_longest_first():
    assert named("did MARA TOLAN see the Weirs?") == ["Mara Tolan", "weir"]
    assert named("who went to quenda's mill?") == ["Quenda", "mill"]


def test_a_name_inside_a_longer_name_is_not_named():
    index = an_index("x", entities=["Tolan", "Mara Tolan"])

    assert [e.name for e in local.entities_in("Who is Mara Tolan?", index)] == ["Mara Tolan"]


def test_an_alias_leads_to_its_entity_unless_several_share_it():
    index = an_index(
        "x",
        entities=[
            an_entity("Mara Tolan", 0, aliases=("Tolan", "MT")),
            an_entity("Marek Tolan", 1, aliases=("Tolan",)),
        ],
    )

    assert [e.name for e in local.entities_in("Who is MT?", index)] == ["Mara Tolan"]
    assert local.entities_in("Who is Tolan?", index) == []


def test_words_without_content_name_nothing():
    index = an_index("x", entities=["Who", "will"])

    assert local.entities_in("who will come?", index) == []


def test_the_evidence_holds_what_is_named_its_neighbours_and_what_tells_of_them():
    evidence = local.context("What did Mara Tolan do?", INDEX, LocalSettings())

    assert [e.name for e in evidence.entities] == ["Mara Tolan", "weir"]
    assert [(r.source, r.target) for r in evidence.relationships] == [("Mara Tolan", "weir")]
    assert evidence.sources[0].text == TEXTS[0]
    assert TEXTS[3] not in [chunk.text for chunk in evidence.sources]


def test_the_report_of_the_smallest_community_is_taken():
    evidence = local.context("What did Mara Tolan do?", INDEX, LocalSettings())

    assert [r.title for r in evidence.reports] == ["Of the weir"]


def test_where_the_smallest_community_has_no_report_that_of_the_next_larger_one_is_taken():
    evidence = local.context("What did Zorba Orrin do?", INDEX, LocalSettings())

    assert [r.title for r in evidence.reports] == ["All"]


def test_relationships_between_two_named_things_come_first():
    evidence = local.context("What has Mara Tolan to do with the weir?", INDEX, LocalSettings())

    assert (evidence.relationships[0].source, evidence.relationships[0].target) == ("Mara Tolan", "weir")


def test_each_table_keeps_to_its_part_of_the_window():
    texts = [f"Mara Tolan saw boat {i}. " + "word " * 150 for i in range(30)]
    index = an_index(*texts, entities=["Mara Tolan"])
    evidence = local.context("What did Mara Tolan see?", index, LocalSettings(context_tokens=2000))

    assert 1 < len(evidence.sources) < 30
    assert sum(chunk.n_tokens for chunk in evidence.sources) <= 1000
    assert tokens.count(evidence.text) <= 2000


def test_a_question_that_names_nothing_is_answered_from_the_chunks_of_its_words():
    evidence = local.context("Which clock stopped?", INDEX, LocalSettings())

    assert evidence.entities == ()
    assert [chunk.text for chunk in evidence.sources] == [TEXTS[3]]


async def test_the_answer_says_what_it_looked_at():
    model = ScriptedModel({AnswerFromContext: ["She rebuilt it [Data: Relationships (0)]."]})
    answer = await local.answer("What did Mara Tolan do?", INDEX, model, LocalSettings())

    assert answer.text == "She rebuilt it [1]."
    assert answer.citations[0].sources[0].text == TEXTS[0]
    assert "Mara Tolan" in answer.why
    assert answer.context_tokens == tokens.count(model.seen(AnswerFromContext).evidence.text)


async def test_where_nothing_is_found_no_task_is_asked_and_nothing_cited():
    answer = await local.answer("Zebras?", INDEX, ScriptedModel({}), LocalSettings())

    assert (answer.text, answer.citations) == (NOTHING, ())
