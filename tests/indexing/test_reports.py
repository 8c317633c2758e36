"""Reports: the evidence of each (GraphRAG §3.1.5), their order, and the index if one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import floor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_claim, a_report, an_edge, an_entity
from scripted import ScriptedModel

import conspectus
from conspectus import tokens
from conspectus.community_context import TITLE_CHARS, headline
from conspectus.configuration import preset
from conspectus.errors import BadKey, BadReply
from conspectus.index import Index
from conspectus.indexing.communities import CommunityContextBuilder, priorities, write_reports
from conspectus.messages import wording
from conspectus.references import Reference, find
from conspectus.rows import Claim, Community, Entity, Failure, Finding, Relationship, Report, content_id
from conspectus.settings import ReportSettings
from conspectus.tasks import ReportDraft, WriteReport

NAMES = ("Ant", "Bee", "Cow", "Doe", "Elk", "Fox")


def rows(pairs: Sequence[tuple[str, str]], words: int = 0) -> tuple[list[Entity], list[Relationship]]:
    """Return entities of all names and relationships of pairs, with `words` more words in each description."""
    more = " word" * words
    degree = {name: sum(name in pair for pair in pairs) for name in NAMES}
    entities = [an_entity(n, i, description=f"{n}.{more}", degree=degree[n]) for i, n in enumerate(NAMES)]
    edges = [
        an_edge(a, b, i, description=f"{a}-{b}.{more}", combined_degree=degree[a] + degree[b])
        for i, (a, b) in enumerate(sorted(pairs))
    ]
    return entities, edges


def a_community(
    number: int, entities: Sequence[int], edges: Sequence[Relationship] = (), **more: Any
) -> Community:
    held = {NAMES[e] for e in entities}
    inside = tuple(r.number for r in edges if {r.source, r.target} <= held)
    level, parent, children = more.get("level", 0), more.get("parent", -1), more.get("children", ())
    return Community(content_id("c", str(number)), number, level, parent, children, tuple(entities), inside)


CHAIN = [
    ("Ant", "Bee"),
    ("Bee", "Cow"),
    ("Cow", "Doe"),
    ("Doe", "Elk"),
    ("Elk", "Fox"),
    ("Bee", "Fox"),
    ("Ant", "Cow"),
]


def a_tree(words: int) -> tuple[list[Community], list[Entity], list[Relationship]]:
    """A root of six entities with two children: the first four entities, and the last two; seven relationships."""
    entities, edges = rows(CHAIN, words)
    root = a_community(0, range(6), edges, children=(1, 2))
    parts = [
        a_community(1, range(4), edges, level=1, parent=0),
        a_community(2, (4, 5), edges, level=1, parent=0),
    ]
    return [root, *parts], entities, edges


def draft(title: str, *findings: str) -> ReportDraft:
    return ReportDraft(title, f"{title}.", 5.0, "", tuple(Finding("Found", text) for text in findings))


def by_title(task: WriteReport) -> ReportDraft:
    return draft(" ".join(e.name for e in task.context.entities) or "none")


async def written(
    communities: Sequence[Community],
    entities: Sequence[Entity],
    edges: Sequence[Relationship],
    model: ScriptedModel,
    limit: int = 8000,
    least: int = 1,
) -> tuple[list[Report], list[Failure]]:
    settings = ReportSettings(context_tokens=limit, min_report_entities=least)
    gatherer = CommunityContextBuilder(communities, entities, edges, limit)
    return await write_reports(communities, gatherer, model, settings)


# The evidence of a report


def test_relationships_come_by_decreasing_combined_degree_each_after_its_two_ends():
    communities, entities, edges = a_tree(words=0)
    evidence = CommunityContextBuilder(communities, entities, edges, 8000).build(communities[0], {})

    degrees = [r.combined_degree for r in evidence.relationships]
    assert degrees == sorted(degrees, reverse=True)
    assert len(evidence.relationships) == len(CHAIN)
    first = evidence.relationships[0]
    assert {e.name for e in evidence.entities[:2]} == {first.source, first.target}


def test_what_stands_alone_comes_last():
    entities, edges = rows([("Bee", "Cow")])
    community = a_community(0, (0, 1, 2), edges)
    evidence = CommunityContextBuilder([community], entities, edges, 8000).build(community, {})

    assert [e.name for e in evidence.entities] == ["Bee", "Cow", "Ant"]


@given(st.integers(500, 3000))
def test_the_window_is_kept_and_filled_in_order(limit: int):
    communities, entities, edges = a_tree(words=150)
    gatherer = CommunityContextBuilder(communities, entities, edges, limit)
    evidence = gatherer.build(communities[0], {})
    everything = CommunityContextBuilder(communities, entities, edges, 100_000).build(communities[0], {})

    assert tokens.count(evidence.text) <= limit + 40  # headings of the tables
    assert evidence.relationships == everything.relationships[: len(evidence.relationships)]
    ends = {name for r in evidence.relationships for name in (r.source, r.target)}
    assert ends <= {e.name for e in evidence.entities}


# The subject of a community


def test_what_is_found_everywhere_is_less_of_a_topic_than_what_is_found_here():
    entities, edges = rows([("Bee", "Cow"), ("Bee", "Doe"), ("Cow", "Doe")])
    entities[1] = replace(entities[1], degree=90, chunk_ids=tuple(map(str, range(40))))
    community = a_community(0, (1, 2, 3), edges)
    topics = CommunityContextBuilder([community], entities, edges, 8000).build(community, {}).topics

    assert set(topics) == {"Bee", "Cow", "Doe"}
    assert topics[-1] == "Bee"


def test_each_part_of_a_community_is_among_its_first_topics():
    communities, entities, edges = a_tree(words=0)
    topics = CommunityContextBuilder(communities, entities, edges, 8000).build(communities[0], {}).topics

    assert not {NAMES.index(name) for name in topics[:2]} <= set(communities[1].entity_numbers)
    assert not {NAMES.index(name) for name in topics[:2]} <= set(communities[2].entity_numbers)


def test_topics_do_not_depend_on_which_relationships_have_room():
    communities, entities, edges = a_tree(words=150)
    small, large = (CommunityContextBuilder(communities, entities, edges, limit) for limit in (500, 8000))

    assert small.build(communities[0], {}).topics == large.build(communities[0], {}).topics


def a_title(*topics: Entity, language: str = "en") -> str:
    return wording(language).title(*headline(topics))


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["Ada Byrne", "Oran Mill", "looms", "wages"], "Ada Byrne and Oran Mill: looms and wages"),
        (["looms", "power looms", "Oran Mill", "wages"], "Looms: wages and Oran Mill"),
        (["looms", "wages", "strike", "Oran Mill"], "Looms: wages and strike"),
        (["Ada Byrne", "Byrne", "Oran Mill", "Pell"], "Ada Byrne, Oran Mill and Pell"),
        (["Ada Byrne", "May"], "Ada Byrne and May"),
        (["Ada Byrne"], "Ada Byrne"),
    ],
)
def test_a_title_is_the_best_names_and_the_terms_that_share_no_word_with_them(names: list[str], title: str):
    assert a_title(*(an_entity(name, i) for i, name in enumerate(names))) == title


def test_a_title_is_short_and_names_no_dates():
    words = (
        "boatmen of the upper estuary",
        "birdwatchers beyond that weir",
        "bellringers around our harbour",
    )
    long = [an_entity(name, i) for i, name in enumerate(words)]
    dated = [an_entity("Ada Byrne"), an_entity("1811", 1, "date"), an_entity("looms", 2)]

    assert len(words[0]) < len(a_title(*long)) <= TITLE_CHARS + 10
    assert a_title(*dated) == "Ada Byrne: looms"
    assert a_title(dated[1]) == "1811"
    assert a_title()


def test_a_title_in_a_script_without_capitals_goes_by_types():
    entities = [an_entity("武隆县", 0, "location"), an_entity("天坑", 1), an_entity("峡谷", 2)]

    assert a_title(*entities, language="zh") == "武隆县：天坑和峡谷"


# Claims, and reports of child communities


def test_claims_come_with_the_relationship_or_the_entity_that_they_are_about():
    entities, edges = rows([("Bee", "Cow")])
    claims: list[Claim] = [
        a_claim("Bee", "It met the cow.", 0, object="Cow"),
        a_claim("Ant", "It left.", 1),
        a_claim("Elk", "Not here.", 2),
    ]
    community = a_community(0, (0, 1, 2), edges)
    evidence = CommunityContextBuilder([community], entities, edges, 8000, claims).build(community, {})

    assert evidence.claims == (claims[0], claims[1])


def test_claims_about_the_ends_of_the_first_relationships_come_before_later_relationships():
    entities, edges = rows([("Ant", name) for name in NAMES[1:]])
    claims = [a_claim("Ant", "It owns all that the others asked for.", 0, start_date="1911-05-04")]
    community = a_community(0, range(6), edges)
    whole = CommunityContextBuilder([community], entities, edges, 8000, claims).build(community, {})
    limit = tokens.count(whole.text) - 40  # not all of it fits

    cut = CommunityContextBuilder([community], entities, edges, limit, claims).build(community, {})

    assert cut.claims == tuple(claims)
    assert 0 < len(cut.relationships) < len(edges)
    assert "1911-05-04" in cut.text


async def test_every_community_has_a_report_by_the_model_with_the_paper_s_settings():
    entities, edges = rows([("Ant", "Bee")])
    communities = [a_community(0, (0, 1), edges), a_community(1, (5,), [])]
    least = preset("graphrag-paper").values["reports.min_report_entities"]

    reports, failures = await written(
        communities, entities, edges, ScriptedModel({WriteReport: by_title}), least=least
    )

    assert [report.brief for report in reports] == [False, False]
    assert not failures


def test_a_community_that_fits_is_written_from_its_elements_though_its_parts_have_reports():
    communities, entities, edges = a_tree(words=0)
    reports = {1: a_report("First", 1), 2: a_report("Second", 2)}

    assert (
        CommunityContextBuilder(communities, entities, edges, 8000).build(communities[0], reports).reports
        == ()
    )


def test_what_does_not_fit_is_replaced_by_the_report_of_its_largest_part():
    communities, entities, edges = a_tree(words=100)
    reports = {1: a_report("First", 1), 2: a_report("Second", 2)}
    evidence = CommunityContextBuilder(communities, entities, edges, 900).build(communities[0], reports)

    assert [r.title for r in evidence.reports] == ["First"]
    assert {e.name for e in evidence.entities} >= {"Elk", "Fox"}
    inside = {"Ant", "Bee", "Cow", "Doe"}
    assert not any({r.source, r.target} <= inside for r in evidence.relationships)
    assert tokens.count(evidence.text) <= 900 + 40


def test_part_after_part_is_replaced_until_it_fits():
    communities, entities, edges = a_tree(words=300)
    reports = {1: a_report("First", 1), 2: a_report("Second", 2)}
    evidence = CommunityContextBuilder(communities, entities, edges, 700).build(communities[0], reports)

    assert [r.title for r in evidence.reports] == ["First", "Second"]


def test_a_part_without_a_report_is_read_by_its_elements():
    communities, entities, edges = a_tree(words=100)
    evidence = CommunityContextBuilder(communities, entities, edges, 900).build(
        communities[0], {2: a_report("Second", 2)}
    )

    assert [r.title for r in evidence.reports] == ["Second"]
    assert evidence.relationships


# In which order


async def test_reports_stand_in_the_order_of_their_communities_and_know_their_place():
    communities, entities, edges = a_tree(words=0)
    reports, failures = await written(communities, entities, edges, ScriptedModel({WriteReport: by_title}))

    assert failures == []
    assert [(r.number, r.community, r.level, r.parent, r.children) for r in reports] == [
        (0, 0, 0, -1, (1, 2)), (1, 1, 1, 0, ()), (2, 2, 1, 0, ()),
    ]  # fmt: skip
    assert all(r.n_tokens == tokens.count(r.text) for r in reports)


async def test_a_parent_waits_for_its_children_and_stands_on_their_reports():
    communities, entities, edges = a_tree(words=300)
    model = ScriptedModel({WriteReport: by_title})
    await written(communities, entities, edges, model, limit=700)

    asked = [task.context for task in model.all_seen(WriteReport)]
    assert [bool(evidence.reports) for evidence in asked] == [False, False, True]
    assert len(asked[2].reports) == 2


async def test_a_report_waits_until_its_elements_are_ready():
    communities, entities, edges = a_tree(words=0)
    model = ScriptedModel({WriteReport: by_title})
    gate = asyncio.Event()
    told: list[int] = []

    async def ready(community: Community, claims: object) -> None:
        told.append(community.number)
        if community.number == 1:
            await gate.wait()

    work = asyncio.ensure_future(
        write_reports(
            communities,
            CommunityContextBuilder(communities, entities, edges, 8000),
            model,
            ReportSettings(min_report_entities=1),
            ready=ready,
        )
    )
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(model.all_seen(WriteReport)) == 1
    gate.set()
    await work
    assert sorted(told) == [0, 1, 2]


async def test_a_community_below_the_least_size_gets_a_brief_report_without_a_call():
    communities, entities, edges = a_tree(words=0)
    model = ScriptedModel({WriteReport: by_title})
    reports, _ = await written(communities, entities, edges, model, least=3)

    assert [(r.community, r.brief) for r in reports] == [(0, False), (1, False), (2, True)]
    assert len(model.all_seen(WriteReport)) == 2
    small = reports[2]
    assert "Elk" in small.title
    assert "Fox" in small.title
    numbers = [entity.number for entity in entities if entity.name in ("Elk", "Fox")]
    assert [r for r in find(small.summary) if r.table == "Entities"] == [
        Reference("Entities", number) for number in numbers
    ]
    assert small.n_tokens == tokens.count(small.text)


async def test_a_parent_is_written_from_the_elements_of_a_small_part_and_not_from_its_brief_report():
    communities, entities, edges = a_tree(words=300)
    model = ScriptedModel({WriteReport: by_title})
    await written(communities, entities, edges, model, limit=700, least=3)

    assert [report.community for report in model.all_seen(WriteReport)[-1].context.reports] == [1]


async def test_a_line_that_describes_several_elements_is_told_once_with_all_of_them():
    communities, entities, edges = a_tree(words=0)
    entities = [replace(entity, description="They met.") for entity in entities]
    reports, _ = await written(communities, entities, edges, ScriptedModel({WriteReport: by_title}), least=9)

    assert reports[2].summary.count("They met.") == 1
    assert {r.number for r in find(reports[2].summary) if r.table == "Entities"} == {4, 5}


def in_reports(index: Index, level: int) -> set[int]:
    return {
        entity
        for report in index.reports_at(level)
        for entity in index.communities[report.community].entity_numbers
    }


def test_every_entity_is_in_a_report_at_every_level_also_after_an_update(tmp_path: Path):
    sample = Path(conspectus.__file__).parent / "sample"
    for sources in ([sample / "minutes"], [sample / "minutes", sample / "mail"]):
        index = conspectus.build(sources, tmp_path).index
        assert len(index.levels) > 1
        assert any(report.brief for report in index.reports)
        for level in index.levels:
            assert in_reports(index, level) == set(range(len(index.entities)))


# After a failure


async def test_a_failed_report_is_recorded_and_a_brief_one_stands_in_its_place():
    communities, entities, edges = a_tree(words=300)

    def reply(task: WriteReport) -> ReportDraft | Exception:
        if task.context.reports:
            numbers = ", ".join(str(r.number) for r in task.context.reports)
            return draft("Root", f"All of it [Data: Reports ({numbers})].")
        return BadReply("cut off") if task.context.entities[0].name not in ("Elk", "Fox") else draft("Last")

    reports, failures = await written(
        communities, entities, edges, ScriptedModel({WriteReport: reply}), limit=700
    )

    assert [(r.number, r.brief) for r in reports] == [(0, False), (1, True), (2, False)]
    assert reports[0].findings[0].explanation == "All of it [Data: Reports (2)]."
    (failure,) = failures
    assert (failure.stage, "community 1" in failure.error, "cut off" in failure.error) == (
        "reports",
        True,
        True,
    )


async def test_where_nothing_more_can_be_asked_of_the_model_the_work_stops():
    communities, entities, edges = a_tree(words=0)

    with pytest.raises(BadKey):
        await written(communities, entities, edges, ScriptedModel({WriteReport: lambda _: BadKey("no key")}))


def test_rows_are_as_urgent_as_the_deepest_report_that_waits_for_them():
    communities, entities, edges = a_tree(words=0)
    alone = an_entity("Gnu", len(entities))
    claims = [a_claim(subject, "NONE", n) for n, subject in enumerate(("Ant", "Elk", "Gnu"))]
    gatherer = CommunityContextBuilder(communities, [*entities, alone], edges, 8000, claims)
    of_entities, of_relationships, of_claims = (
        [floor(x) for x in rows] for rows in priorities(communities[:2], gatherer)
    )

    assert of_entities == [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, -1.0]
    assert max(of_relationships) == 2.0
    assert min(of_relationships) == 1.0
    assert of_claims == [2.0, 1.0, -1.0]
