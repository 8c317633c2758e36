"""Reports by extraction: the community's own sentences, the central ones first, each with its references."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from making import a_report, an_edge, an_entity

from conspectus.models.extractive.graph import MOST_FINDINGS, write_report
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import statements
from conspectus.references import find, strip
from conspectus.tasks import ReportDraft, WriteReport
from conspectus.tasks.base import Context

WEIR = "The weir at Quenda was rebuilt by Mara Tolan and twelve masons in 1811."
MILL = "The mill at Quenda grinds the oats of nine villages for Mara Tolan."
FLOOD = "A flood carried the bridge of Orrin down the river in one night."
EVIDENCE = Context(
    entities=(
        an_entity("Quenda", 4, "location", description=f"{WEIR}\n{MILL}", degree=2),
        an_entity("Mara Tolan", 5, "person", description=WEIR, degree=2),
        an_entity("Orrin", 6, "location", description=FLOOD, degree=1),
        an_entity("1811", 7, "date", description=WEIR, degree=1),
    ),
    relationships=(
        an_edge("Mara Tolan", "Quenda", 8, description=f"{WEIR}\n{MILL}", weight=5.0),
        an_edge("Mara Tolan", "Orrin", 9, description=FLOOD, weight=1.0),
    ),
)


def report(evidence: Context = EVIDENCE) -> ReportDraft:
    return write_report(WriteReport(evidence))


def texts(draft: ReportDraft) -> list[str]:
    return [draft.summary, *(finding.explanation for finding in draft.findings)]


def test_the_title_is_of_the_topics_that_the_context_gives():
    about = replace(EVIDENCE, headline=(("Orrin", "Mara Tolan"), ("floods",)))

    assert report().title.startswith("Quenda")
    assert report(about).title == "Orrin and Mara Tolan: floods"


def test_every_sentence_of_a_report_is_the_sources_own_and_bears_a_reference():
    said = {s.text for s in statements(EVIDENCE)}

    for finding in report().findings:
        for line in finding.explanation.splitlines():
            assert strip(line) in said
            assert find(line)
    assert report().summary.startswith(f"{WEIR} [Data: ")


def test_every_reference_is_to_a_row_of_the_evidence_by_its_number_in_the_index():
    rows = {(name.capitalize(), row.number) for name, rows in EVIDENCE.tables() for row in rows}

    for text in texts(report()):
        assert rows.issuperset((r.table, r.number) for r in find(text))


def test_nothing_is_said_twice():
    lines = [strip(line) for text in texts(report())[1:] for line in text.splitlines()]

    assert len(set(lines)) == len(lines)


def test_the_rating_grows_with_how_often_the_relationships_are_stated():
    once = report(Context(EVIDENCE.reports, EVIDENCE.entities, EVIDENCE.relationships[1:]))

    assert 0 <= once.rating < report().rating <= 10
    assert re.findall(r"\d+", report().rating_explanation) == ["2", "4", "6"]


def test_statements_of_what_tells_the_community_from_others_come_first():
    of_flood = report(replace(EVIDENCE, topics=("Orrin",)))

    assert report().summary.startswith(WEIR)
    assert of_flood.summary.startswith(FLOOD)


def test_no_heading_comes_twice():
    deeds = (
        "drained the marsh",
        "burned its ferry",
        "taxed every loom",
        "sold two barges",
        "crowned a miller",
    )
    described = "\n".join(f"In that year Quenda {deed}." for deed in deeds)
    findings = report(Context(entities=(an_entity("Quenda", description=described),))).findings

    assert len(findings) == len(deeds) - 1
    assert len({finding.summary for finding in findings}) == len(findings)


def test_a_statement_that_opens_the_summary_is_no_finding_too():
    draft = report()
    alone = report(Context(entities=(an_entity("Orrin", description=FLOOD),)))

    assert WEIR not in "".join(finding.explanation for finding in draft.findings)
    assert "".join(texts(alone)).count(FLOOD) == 1


def test_a_parent_is_rated_above_its_parts_and_tells_of_them():
    part = a_report("Orrin, Zorba", 3, findings=[f"{FLOOD} [Data: Entities (1)]"], rating=8.0)
    parent = report(Context((part,), EVIDENCE.entities[:2], EVIDENCE.relationships[:1]))

    assert parent.rating == 8.5
    assert FLOOD in "".join(texts(parent))


def test_there_are_at_most_ten_findings():
    many = tuple(
        an_entity(
            f"Qu{chr(97 + i)}rl",
            i,
            description=f"The {i} boats of Qu{chr(97 + i)}rl{i} sank off cape{i} near isle{i}.",
        )
        for i in range(26)
    )

    assert len(report(Context(entities=many)).findings) <= MOST_FINDINGS


@pytest.mark.parametrize("evidence", [Context(), Context(entities=(an_entity("Quenda", description=""),))])
def test_there_is_a_report_however_little_is_known(evidence: Context):
    draft = report(evidence)

    assert draft.title
    assert draft.summary
    assert 0 <= draft.rating <= 10


async def test_the_model_gives_references_in_the_numbers_of_the_index():
    draft = await ExtractiveModel().perform(WriteReport(EVIDENCE))
    numbers = {(r.table, r.number) for text in texts(draft) for r in find(text)}

    assert ("Relationships", 8) in numbers
    assert numbers <= {("Entities", n) for n in (4, 5, 6, 7)} | {("Relationships", n) for n in (8, 9)}
