"""Local answers: the part of the graph around the entities that a question names."""

from __future__ import annotations

import re
from pathlib import Path

from making import a_claim, a_report, an_entity, an_index
from scripted import ScriptedModel

import conspectus
from conspectus import tokens
from conspectus.filters import select_view
from conspectus.index import Index
from conspectus.retrieval import local
from conspectus.retrieval.base import NOTHING
from conspectus.rows import Community
from conspectus.runtime import run_of
from conspectus.settings import AnswerSettings, Settings
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
    """A root of all entities and a child of the first and fourth, both with reports."""
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


def test_a_first_name_before_another_family_name_names_nobody():
    tolan = an_entity("Mara Tolan", aliases=("Mara",), type="person")
    index = an_index(*TEXTS, entities=[tolan])

    assert [e.name for e in local.entities_in("Why did Mara leave Lowmoor?", index)] == ["Mara Tolan"]
    assert local.entities_in("Why did Mara Byrne leave Lowmoor?", index) == []


def test_the_evidence_holds_what_is_named_its_neighbours_and_what_tells_of_them():
    evidence = local.context("What did Mara Tolan do?", INDEX, AnswerSettings())

    assert [e.name for e in evidence.entities] == ["Mara Tolan", "weir"]
    assert [(r.source, r.target) for r in evidence.relationships] == [("Mara Tolan", "weir")]
    assert evidence.sources[0].text == TEXTS[0]
    assert TEXTS[3] not in [chunk.text for chunk in evidence.sources]


def test_the_report_of_the_smallest_community_is_taken():
    evidence = local.context("What did Mara Tolan do?", INDEX, AnswerSettings())

    assert [r.title for r in evidence.reports] == ["Of the weir"]


def test_where_the_smallest_community_has_no_report_that_of_the_next_larger_one_is_taken():
    evidence = local.context("What did Zorba Orrin do?", INDEX, AnswerSettings())

    assert [r.title for r in evidence.reports] == ["All"]


def test_relationships_between_two_named_things_come_first():
    evidence = local.context("What has Mara Tolan to do with the weir?", INDEX, AnswerSettings())

    assert (evidence.relationships[0].source, evidence.relationships[0].target) == ("Mara Tolan", "weir")


def test_chunks_have_what_the_other_tables_leave_of_the_window():
    texts = [f"Mara Tolan saw boat {i}. " + "word " * 150 for i in range(30)]
    index = an_index(*texts, entities=["Mara Tolan"])
    evidence = local.context("What did Mara Tolan see?", index, AnswerSettings(context_tokens=2000))

    assert 1 < len(evidence.sources) < 30
    assert 1500 < tokens.count(evidence.text) <= 2000


def test_a_question_that_names_nothing_is_answered_from_the_chunks_of_its_words():
    evidence = local.context("Which clock stopped?", INDEX, AnswerSettings())

    assert evidence.entities == ()
    assert [chunk.text for chunk in evidence.sources] == [TEXTS[3]]


async def test_the_answer_says_what_it_looked_at():
    model = ScriptedModel({AnswerFromContext: ["She rebuilt it [Data: Relationships (0)]."]})
    answer = await local.answer("What did Mara Tolan do?", INDEX, model, Settings())

    assert answer.text == "She rebuilt it [1]."
    assert answer.citations[0].sources[0].text == TEXTS[0]
    assert "Mara Tolan" in answer.why
    assert answer.context_tokens == tokens.count(model.seen(AnswerFromContext).context.text)


async def test_where_nothing_is_found_no_task_is_asked_and_nothing_cited():
    answer = await local.answer("Zebras?", INDEX, ScriptedModel({}), Settings())

    assert (answer.text, answer.citations) == (NOTHING, ())


CLAIMED = an_index(
    *TEXTS,
    entities=NAMES,
    edges=EDGES,
    claims=[
        a_claim("Mara Tolan", "Mara Tolan was paid twice.", 0),
        a_claim("weir", "The weir was badly built.", 1, object="Mara Tolan"),
        a_claim("mill", "The mill burnt.", 2),
    ],
)


def test_the_window_holds_claims_about_what_is_named():
    evidence = local.context("What did Mara Tolan do?", CLAIMED, AnswerSettings())

    assert [c.number for c in evidence.claims] == [0, 1]
    assert [
        c.number for c in local.context("Mara Tolan and the weir?", CLAIMED, AnswerSettings()).claims
    ] == [
        1,
        0,
    ]


def test_claims_take_of_the_window_no_more_than_they_fill():
    texts = [f"Mara Tolan saw boat {i}. " + "word " * 90 for i in range(30)]
    paid = [a_claim("Mara Tolan", "Mara Tolan was paid. " * 9, i) for i in range(9)]
    none, one, many = (
        an_index(*texts, entities=["Mara Tolan"], claims=claims) for claims in ((), paid[:1], paid)
    )

    def chunks(index: Index) -> int:
        return len(
            local.context("What did Mara Tolan see?", index, AnswerSettings(context_tokens=2000)).sources
        )

    assert chunks(none) == chunks(one) + 1 > chunks(many) > 1


def test_chinese_names_are_found_in_the_run_of_a_question():
    index = an_index("王丽在南京大学。", entities=["南京", "南京大学", "王丽", "在"])

    assert [e.name for e in local.entities_in("王丽是南京大学的吗？", index)] == ["南京大学", "王丽"]


# Descriptions compared by vectors

MEANINGS = ({"boat", "vessel", "barge"}, {"bread", "loaves", "bakery"}, {"clock", "hour"})
HARBOUR = [
    "Rook Wherry is an old barge. Ada Byrne painted Rook Wherry in May.",
    "Lune Mills sells loaves. Bo Quill bought Lune Mills in June.",
    "Kell Tower has a clock. Dora Pask wound the clock of Kell Tower.",
]


def by_meaning(texts: list[str]) -> list[list[float]]:
    """Return vectors of texts, with one component for each meaning that a word of the text may have."""
    words = [set(re.findall(r"\w+", text.lower())) for text in texts]
    return [[0.05, *(float(bool(of & meaning)) for meaning in MEANINGS)] for of in words]


def test_what_a_question_describes_without_naming_it_is_found_by_the_vectors_of_descriptions(tmp_path: Path):
    index = conspectus.build(documents=HARBOUR, folder=tmp_path, embedder=by_meaning).index
    assert local.entities_in("Which vessel was it?", index) == []

    chosen = run_of({"embedder": by_meaning}).settings
    start = local.matching("Which vessel was it?", index, chosen)

    assert start[0].name == "Rook Wherry"
    answer = index.ask("Which vessel was it?", method="local", embedder=by_meaning)
    assert "Rook Wherry" in answer.why


def test_what_is_named_goes_first_and_without_vectors_it_is_all(tmp_path: Path):
    index = conspectus.build(documents=HARBOUR, folder=tmp_path / "with", embedder=by_meaning).index
    plain = conspectus.build(documents=HARBOUR, folder=tmp_path / "without").index
    question, chosen = "Did Bo Quill see the vessel?", run_of({"embedder": by_meaning}).settings

    assert [e.name for e in local.matching(question, plain, chosen)] == ["Bo Quill"]
    start = [entity.name for entity in local.matching(question, index, chosen)]
    assert start[0] == "Bo Quill"
    assert len(start) == local.FILLED_UP


def test_descriptions_that_did_not_change_are_not_embedded_again(tmp_path: Path):
    asked: list[str] = []

    def embedder(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return by_meaning(texts)

    conspectus.build(documents=HARBOUR, folder=tmp_path, embedder=embedder)
    assert any(text.startswith("Rook Wherry: ") for text in asked)
    asked.clear()

    more = [*HARBOUR, "Elder Press prints the hour. Sam Orr owns Elder Press."]
    index = conspectus.build(documents=more, folder=tmp_path, embedder=embedder).index

    assert any(text.startswith("Elder Press: ") for text in asked)
    assert not any(text.startswith("Rook Wherry: ") for text in asked)
    assert len(index.arrays["vectors.entities"]) == len(index.entities)


def test_vectors_of_descriptions_stay_where_a_part_of_the_documents_is_asked(tmp_path: Path):
    index = conspectus.build(documents=HARBOUR, folder=tmp_path, embedder=by_meaning).index
    part = select_view([index], "path~2").index

    assert len(part.arrays["vectors.entities"]) == len(part.entities)


def test_a_small_word_is_no_name_in_capitals_that_has_its_stem():
    index = an_index("Harding of STEM spoke. Muslims came.", entities=["Harding", "STEM", "Muslims"])

    def named(question: str) -> set[str]:
        return {entity.name for entity in local.entities_in(question, index)}

    assert named("Why is it hard to find stem cells?") == set()
    assert named("What did Harding say of STEM?") == {"Harding", "STEM"}
    assert named("Which muslim women came?") == {"Muslims"}
    assert named("what is stem?") == {"STEM"}
