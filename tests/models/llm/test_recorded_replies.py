"""What a real model returned, 187 times: nothing well-formed in it may be lost.

The expected counts in `data/recorded_replies_counts.json` were made without the parser. Where every line
of a reply has the regular form they are its opening marks, `("entity"` and `("relationship"`, or its keys
`"explanation":`; the lines that have not were read by eye: reply 5 calls its edges "relation", 14 forgets
a quote, 46 has two edges in typographic quotes, 56, 68 and 75 damage a `<|>`, 66 writes its end mark
small, 70 and 77 number their records and put headings between; ten have no end mark; 84 is a description
and 135 an answer, in prose.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conspectus.models.llm.replies import parse
from conspectus.rows import Chunk
from conspectus.tasks import DescribeElement, ExtractGraph, ReduceAnswer, WriteReport
from conspectus.tasks.base import Context

EXPECTED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data/recorded_replies_counts.json").read_text()
)
CHUNK = Chunk("c", 0, "d", 0, 1, "x", 1)


@pytest.fixture(scope="session")
def replies(shared: Path) -> dict[str, str]:
    lines = (shared / "recorded-replies/christmas-carol.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["key"]: row["reply"] for row in map(json.loads, lines)}


def of_kind(kind: str) -> list[Any]:
    found = [(n, row) for n, row in enumerate(EXPECTED) if row["kind"] == kind]
    return [pytest.param(row, id=str(n)) for n, row in found]


def test_every_reply_is_accounted_for(replies: dict[str, str]) -> None:
    assert set(replies) == {row["key"] for row in EXPECTED}
    assert len(EXPECTED) == 187


@pytest.mark.parametrize("row", of_kind("graph"))
def test_every_record_of_an_extraction_is_read(row: dict[str, Any], replies: dict[str, str]) -> None:
    parsed = parse(ExtractGraph(CHUNK, ()), replies[row["key"]], "tuples")

    assert len(parsed.reply.entities) == row["entities"]
    assert len(parsed.reply.relationships) == row["relationships"]
    assert len(parsed.repaired) == row["mended"]
    assert parsed.dropped == ()
    assert parsed.cut is not row["ended"]
    for entity in parsed.reply.entities:
        assert all("<|" not in text and '"' not in text for text in (entity.name, entity.type))


@pytest.mark.parametrize("row", of_kind("report"))
def test_every_finding_of_a_report_is_read(row: dict[str, Any], replies: dict[str, str]) -> None:
    parsed = parse(WriteReport(Context()), replies[row["key"]])

    assert len(parsed.reply.findings) == row["findings"]
    assert parsed.dropped == parsed.repaired == ()
    assert parsed.reply.title
    assert 0 <= parsed.reply.rating <= 10


@pytest.mark.parametrize("row", of_kind("description"))
def test_a_description_is_its_whole_text(row: dict[str, Any], replies: dict[str, str]) -> None:
    parsed = parse(DescribeElement("Scrooge", "entity", ("a", "b")), replies[row["key"]])

    assert parsed.reply.text == replies[row["key"]].strip()


@pytest.mark.parametrize("row", of_kind("answer"))
def test_an_answer_is_its_whole_text(row: dict[str, Any], replies: dict[str, str]) -> None:
    assert parse(ReduceAnswer("?", ()), replies[row["key"]]).reply == replies[row["key"]].strip()
