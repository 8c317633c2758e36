"""Replies are parsed leniently if they have one meaning and refused if they have two; every defect is reported."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import BadReply
from conspectus.models.llm.replies import dump, parse, schema_of
from conspectus.rows import Chunk, Entity, Finding, Report
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    DescribeElement,
    Description,
    ExtractClaims,
    ExtractGraph,
    Extraction,
    FoundClaim,
    FoundEntity,
    FoundRelationship,
    GleanMore,
    MapAnswer,
    PartialAnswer,
    RateReport,
    ReduceAnswer,
    ReportDraft,
    Turn,
    WriteReport,
)
from conspectus.tasks.base import Context

CHUNK = Chunk("c", 0, "d", 0, 1, "x", 1)
EXTRACT = ExtractGraph(CHUNK, ("person",))
GLEAN = GleanMore(Turn(EXTRACT, Extraction()))
MISSED = AnyMissed(Turn(EXTRACT, Extraction()))
CLAIMS = ExtractClaims(CHUNK, ("Ada",))
REPORT = WriteReport(Context(entities=(Entity("e", 7, "Ada", "person", "A miller."),)))
MAP = MapAnswer("Who?", Context())
RATE = RateReport("Who?", Report("r", 1, 1, 0, -1, (), "T", "S", 5, "", (), 3))

ADA = FoundEntity("Ada", "person", "Ada is a miller.")
BO = FoundEntity("Bo", "person", "Bo is a baker.")
BOTH = Extraction((ADA, BO), (FoundRelationship("Ada", "Bo", "Ada sells Bo flour.", 7),))
SOUND = dump(EXTRACT, BOTH)


# Property: parsing reverses dumping

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(str.strip)
some_text = text.filter(bool)
name = some_text.map(lambda t: " ".join(t.split())).filter(bool)
strength = st.floats(1, 10).map(lambda x: round(x, 3))
date = st.none() | st.dates().map(str)
graphs = st.builds(
    Extraction,
    st.lists(st.builds(FoundEntity, name, text, text, st.none()), max_size=4).map(tuple),
    st.lists(st.builds(FoundRelationship, name, name, text, strength, st.none()), max_size=4).map(tuple),
)
status = st.sampled_from(["TRUE", "FALSE", "SUSPECTED"])
claims = st.lists(
    st.builds(FoundClaim, name, name, some_text, status, some_text, some_text, date, date), max_size=4
).map(tuple)
reports = st.builds(
    ReportDraft,
    name,
    some_text,
    st.floats(0, 10).map(lambda x: round(x, 2)),
    text,
    st.lists(st.builds(Finding, text, some_text), max_size=4).map(tuple),
)


def unthinking(reply: str) -> bool:
    return "</think" not in reply and "<" not in reply[:20]


@given(graph=graphs)
def test_a_graph_survives_being_written_and_read(graph: Extraction) -> None:
    for task in (EXTRACT, GLEAN):
        parsed = parse(task, dump(task, graph))
        assert parsed.reply == graph
        assert parsed.notes == ()


@given(found=claims)
def test_claims_are_read_as_they_are_written(found: tuple[FoundClaim, ...]) -> None:
    parsed = parse(CLAIMS, json.dumps({"claims": [asdict(claim) for claim in found]}))
    assert parsed.reply == found
    assert parsed.notes == ()


@given(report=reports)
def test_a_report_survives_being_written_and_read(report: ReportDraft) -> None:
    assert parse(REPORT, dump(REPORT, report)).reply == report


@given(
    said=some_text.filter(unthinking),
    score=st.integers(0, 100),
    rating=st.integers(0, 5),
    missed=st.booleans(),
)
def test_texts_and_numbers_are_read_as_they_are_written(
    said: str, score: int, rating: int, missed: bool
) -> None:
    for task in (ReduceAnswer("?", ()), AnswerFromContext("?", Context())):
        assert parse(task, said).reply == said
    assert parse(DescribeElement("Ada", "entity", ("a",)), said).reply == Description(said)
    helpfulness = f"<ANSWER_HELPFULNESS> {score} </ANSWER_HELPFULNESS>"
    assert parse(MAP, f"{helpfulness}\n{said}").reply == PartialAnswer(said, score)
    assert parse(RATE, str(rating)).reply == rating
    assert parse(MISSED, "yes" if missed else "no").reply is missed


@given(reply=st.text(max_size=200) | st.text(st.sampled_from("{}[]\",:'ab1 \n\\"), max_size=80))
def test_whatever_a_model_writes_gives_a_reply_or_a_bad_reply(reply: str) -> None:
    tasks: tuple[Any, ...] = (EXTRACT, REPORT, MAP)
    for task in tasks:
        with suppress(BadReply):
            parse(task, reply)


# JSON with one meaning


MENDED = {
    "a code fence": f"```json\n{SOUND}\n```",
    "text around": f"Here is the graph you {{asked}} for:\n{SOUND}\nLet me know if you need more.",
    "thinking before": f'<think>Maybe {{"entities": []}}?</think>\n{SOUND}',
    "trailing commas": SOUND.replace("}]", "},]").replace("7}", "7,}"),
    "single quotes": SOUND.replace('"', "'"),
    "typographic quotes": SOUND.replace('":', "”:").replace('",', "”,").replace('"}', "”}").replace('"', "“"),
    "a comma missing between records": SOUND.replace("},{", "} {"),
    "closing brackets missing": SOUND.removesuffix("]}"),
    "the last bracket missing in a fence": f"```json\n{SOUND.removesuffix('}')}\n```",
    "keys without quotes": SOUND.replace('"entities":', "entities: ").replace('"name":', "name: "),
    "a number as a text": SOUND.replace(":7", ':"7"'),
    "a number out of ten": SOUND.replace(":7", ':"7/10"'),
}


@pytest.mark.parametrize("reply", MENDED.values(), ids=MENDED.keys())
def test_json_that_has_one_reading_is_read(reply: str) -> None:
    parsed = parse(EXTRACT, reply)

    assert parsed.reply == BOTH
    assert parsed.notes == ()


def test_line_breaks_and_quotes_inside_a_text_are_kept() -> None:
    reply = SOUND.replace("Ada is a miller.", 'Ada, "the owl",\nis a miller.').replace(",\n", " \n")

    parsed = parse(EXTRACT, reply)

    assert parsed.reply.entities[0].description == 'Ada, "the owl" \nis a miller.'


# JSON with no meaning, or several


REFUSED = {
    "nothing": "",
    "prose": "I could not find any entities in this text.",
    "another shape": '{"nodes": [], "edges": []}',
    "a list for a table is missing": '{"entities": []}',
    "a table that is no list": '{"entities": {}, "relationships": []}',
    "two replies that differ": f'{SOUND}\nOn reflection:\n{{"entities":[],"relationships":[]}}',
    "cut inside a text": SOUND[: SOUND.index("baker")],
    "cut after a number": SOUND.removesuffix("}]}"),
    "cut after a comma": SOUND[: SOUND.index('{"name":"Bo"')],
    "cut before the second table": SOUND[: SOUND.index(',"relationships"')],
    "a key twice": SOUND.replace('"entities":', '"entities":[],"entities":'),
    "brackets without end": "[" * 5000,
    "braces without end": '{"a":' * 5000,
}


@pytest.mark.parametrize("reply", REFUSED.values(), ids=REFUSED.keys())
def test_json_that_would_have_to_be_guessed_is_refused(reply: str) -> None:
    with pytest.raises(BadReply):
        parse(EXTRACT, reply)


@given(place=st.integers(1, len(SOUND) - 1), end=st.sampled_from(["", "\n\n[and so on]"]))
def test_the_beginning_of_a_reply_is_never_taken_for_the_whole(place: int, end: str) -> None:
    try:
        parsed = parse(EXTRACT, SOUND[:place] + end)
    except BadReply:
        return
    assert parsed.reply == BOTH


# Records that cannot be used


def test_a_record_that_cannot_be_used_is_left_out_and_told() -> None:
    value: dict[str, list[Any]] = json.loads(SOUND)
    value["entities"] += [{"type": "person", "description": "?"}, "Cy"]
    value["relationships"] += [{"source": "Ada", "target": "Cy", "description": "?", "strength": "strong"}]

    parsed = parse(EXTRACT, json.dumps(value))

    assert parsed.reply == BOTH
    assert parsed.notes == (
        "left out: entity 3: no name",
        "left out: entity 4: it is no object",
        "left out: relationship 2: its strength is no number",
    )


def test_a_number_beyond_its_bounds_is_held_to_them_and_told() -> None:
    parsed = parse(EXTRACT, SOUND.replace(":7", ":70"))

    assert parsed.reply.relationships[0].strength == 10
    assert parsed.notes == ("a strength of 70 was taken for 10",)


def test_names_are_one_line_and_storable() -> None:
    parsed = parse(EXTRACT, SOUND.replace('"Bo","type"', '" Bo\\n \\ud800 ","type"'))

    assert parsed.reply.entities[1].name == "Bo \ufffd"


# Plain text replies


@pytest.mark.parametrize(
    "said",
    [
        "yes",
        "Yes.",
        "YES, some",
        "**yes**",
        '{"answer":"yes"}',
        "Answer: yes",
        "是",
        "是的",
        "有",
        "答案：是",
    ],
)
def test_yes_is_read(said: str) -> None:
    assert parse(MISSED, said).reply is True


@pytest.mark.parametrize("said", ["no", "No.", "否", "没有"])
def test_no_is_read(said: str) -> None:
    assert parse(MISSED, said).reply is False


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("<ANSWER_HELPFULNESS> 80 </ANSWER_HELPFULNESS>\nBees.", 80),
        ("**<ANSWER_HELPFULNESS>80</ANSWER_HELPFULNESS>**\n\nBees.", 80),
        ("<ANSWER_HELPFULNESS> 80/100\nBees.", 80),
        ("ANSWER_HELPFULNESS: 0\nBees.", 0),
    ],
)
def test_helpfulness_is_read_and_taken_out_of_the_answer(said: str, score: int) -> None:
    assert parse(MAP, said).reply == PartialAnswer("Bees.", score)


@pytest.mark.parametrize("said", ["Bees.", "<ANSWER_HELPFULNESS> high </ANSWER_HELPFULNESS> Bees."])
def test_an_answer_that_is_not_rated_is_refused(said: str) -> None:
    with pytest.raises(BadReply, match="ANSWER_HELPFULNESS"):
        parse(MAP, said)


@pytest.mark.parametrize(("said", "rating"), [("4", 4), ("Relevance: 4/5", 4), ("**0**", 0)])
def test_a_rating_is_read(said: str, rating: int) -> None:
    assert parse(RATE, said).reply == rating


@pytest.mark.parametrize("said", ["9", "between 2 and 4", "high", "-"])
def test_a_rating_that_is_not_one_number_is_refused(said: str) -> None:
    with pytest.raises(BadReply):
        parse(RATE, said)


def objects(schema: Any) -> list[Any]:
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return ([schema] if schema["type"] == "object" else []) + [o for s in inner for o in objects(s)]


@pytest.mark.parametrize("task", [EXTRACT, CLAIMS, REPORT])
def test_schemas_are_in_the_strict_form(task: Any) -> None:
    for found in objects(schema_of(task)):
        assert found["required"] == list(found["properties"])
        assert found["additionalProperties"] is False
    assert schema_of(MAP) is None
