"""Recorded replies of a real model: nothing well-formed in them may be lost.

The expected counts in `data/recorded_replies_counts.json` were made without the parser: they are the keys
`"explanation":` of each report. 84 is a description and 135 an answer, in prose. The extractions among the recorded
replies are in the format of the paper's records, which is not read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conspectus.models.llm.replies import parse
from conspectus.tasks import DescribeElement, ReduceAnswer, WriteReport
from conspectus.tasks.base import Context

EXPECTED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data/recorded_replies_counts.json").read_text()
)


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


@pytest.mark.parametrize("row", of_kind("report"))
def test_every_finding_of_a_report_is_read(row: dict[str, Any], replies: dict[str, str]) -> None:
    parsed = parse(WriteReport(Context()), replies[row["key"]])

    assert len(parsed.reply.findings) == row["findings"]
    assert parsed.notes == ()
    assert parsed.reply.title
    assert 0 <= parsed.reply.rating <= 10


@pytest.mark.parametrize("row", of_kind("description"))
def test_a_description_is_its_whole_text(row: dict[str, Any], replies: dict[str, str]) -> None:
    parsed = parse(DescribeElement("Scrooge", "entity", ("a", "b")), replies[row["key"]])

    assert parsed.reply.text == replies[row["key"]].strip()


@pytest.mark.parametrize("row", of_kind("answer"))
def test_an_answer_is_its_whole_text(row: dict[str, Any], replies: dict[str, str]) -> None:
    assert parse(ReduceAnswer("?", ()), replies[row["key"]]).reply == replies[row["key"]].strip()
