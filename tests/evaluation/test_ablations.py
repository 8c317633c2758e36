"""Ablations: one thing varies, each cell is kept, and what is found is a table and a chart."""

from __future__ import annotations

import csv
import importlib.util
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_built_index, a_document, a_report, an_index

from conspectus import api
from conspectus.algorithms.division import leiden
from conspectus.algorithms.graph import Graph, Ints, adjacency
from conspectus.algorithms.leiden import hierarchical_leiden, memberships
from conspectus.errors import BadReply, UsageError
from conspectus.evaluation import charts, drawing
from conspectus.evaluation.ablations.chunks import references, with_cut
from conspectus.evaluation.ablations.communities import communities_of
from conspectus.evaluation.ablations.found import Ablation
from conspectus.evaluation.ablations.hierarchies import hierarchy, louvain
from conspectus.evaluation.ablations.levels import JOINING, LOOKUP, THING, WHOLE, type_of
from conspectus.evaluation.ablations.report_texts import Support, named, support
from conspectus.evaluation.charts import Panel, Series, axis_ticks
from conspectus.evaluation.comparing.conditions import place_of
from conspectus.evaluation.comparing.run_info import set_ups_in
from conspectus.evaluation.jsonl_table import Question, answers_in
from conspectus.index import Index
from conspectus.indexing.extract import Extracted
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.scripted import ScriptedModel
from conspectus.rows import Community, Document
from conspectus.settings import Settings
from conspectus.tasks import (
    AnyMissed,
    Entails,
    ExtractGraph,
    FoundEntity,
    GleanMore,
    MapAnswer,
    PartialAnswer,
    ReduceAnswer,
    ReportDraft,
    WriteReport,
)
from conspectus.tasks import (
    Extraction as FoundGraph,
)

SENTENCES = [
    f"{a} met {b} at the {place} in {1900 + n}."
    for n, (a, b, place) in enumerate(
        [
            ("Ada Brook", "Ruben Vale", "Orran Mill"), ("Ruben Vale", "Dora Pask", "Tarn Bridge"),
            ("Ada Brook", "Dora Pask", "Orran Mill"), ("Ivo Lang", "Rosa Field", "North Quay"),
            ("Rosa Field", "Sam Orr", "North Quay"), ("Ivo Lang", "Sam Orr", "Gull Rock"),
        ]
        * 4
    )
]  # fmt: skip
QUESTIONS = [
    Question("all", "What are the main themes?"),
    Question("ada", "Tell me about Ada Brook."),
    Question("when", "When did Rosa Field meet Sam Orr?"),
]


def built() -> Index:
    return a_built_index(" ".join(SENTENCES[:12]), " ".join(SENTENCES[12:]), chunk={"tokens": 60, "overlap": 10})


def columns(found: Ablation, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in found.rows]


# Charts


@given(st.floats(-1e5, 1e5), st.floats(0.001, 1e6))
def test_ticks_are_at_equal_distances_and_reach_over_all_values(low: float, span: float):
    ticks = axis_ticks(low, low + span)
    steps = np.diff(ticks)

    assert ticks[0] <= low + 1e-6 * span
    assert ticks[-1] >= low + span - 1e-6 * span
    assert 2 <= len(ticks) <= 8
    assert np.allclose(steps, steps[0])


def test_a_chart_is_xml_with_a_dot_for_each_value_and_a_legend_for_each_series():
    lines = Panel("a <b>", ("0", "1", "2"), "rounds", (Series("x & y", (1, None, 3)), Series("z", (0, 2, 4))))
    bars = Panel("bars", ("C0",), "level", (Series("z", (5,)),), "bars")
    drawn = charts.drawing([lines, bars])
    root = ElementTree.fromstring(drawing.svg(drawn))  # noqa: S314  # our own
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]

    assert sum(element.tag.endswith("circle") for element in root.iter()) == 5
    assert {"a <b>", "x & y", "z", "rounds", "level"} <= set(texts)
    assert texts.count("z") == 1
    colours = {shape.colour for shape in drawn.shapes if isinstance(shape, drawing.Box)}
    assert colours <= set(charts.COLOURS)  # the legend, and the bar in the colour of its series


def test_a_chart_of_nothing_can_be_drawn():
    empty = Panel("nothing yet", ("a",), "", (Series("none", (None,)),))

    assert "nothing yet" in drawing.svg(charts.drawing([empty]))


# Communities


def ring_of_cliques(cliques: int, size: int) -> tuple[list[int], list[int], list[float], int]:
    source, target = [], []
    for c in range(cliques):
        nodes = range(c * size, (c + 1) * size)
        pairs = [(a, b) for a in nodes for b in nodes if a < b] + [(c * size, (c + 1) % cliques * size)]
        source += [a for a, _ in pairs]
        target += [b for _, b in pairs]
    return source, target, [1.0] * len(source), cliques * size


edges = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.integers(1, 5)), min_size=1, max_size=60)


@given(edges)
def test_the_recursion_with_leiden_finds_what_an_index_finds(drawn: list[tuple[int, int, int]]):
    source, target, weight = (list(column) for column in zip(*drawn, strict=True))
    graph = adjacency(source, target, [float(w) for w in weight], 20)

    found = hierarchy(graph, leiden, max_size=4, resolution=1.0, seed=1)
    known = hierarchical_leiden(source, target, [float(w) for w in weight], 20, max_size=4, seed=1)

    told = [(p.level, p.parent, p.members.tolist(), p.children, p.unsplit) for p in found.parts]
    assert told == [(p.level, p.parent, p.members.tolist(), p.children, p.unsplit) for p in known]
    assert all(whole == n for n, whole in found.returned)  # what Leiden returns hangs together
    assert len(found.returned) == 1 + max(p.level for p in found.parts)


def test_communities_that_do_not_hang_together_are_counted_and_parted():
    graph = adjacency([0, 2, 4], [1, 3, 5], [1.0] * 3, 6)

    def two(given: Graph, resolution: float, seed: int) -> Ints:
        return np.array([0, 0, 1, 1, 0, 0])[: given.n]  # 0, 1 and 4, 5 are no neighbours

    found = hierarchy(graph, two, max_size=10, resolution=1.0, seed=0)

    assert found.returned == [(2, 1)]
    assert [p.members.tolist() for p in found.parts] == [[0, 1], [2, 3], [4, 5]]


def test_louvain_needs_its_extra_or_finds_cliques():
    graph = adjacency(*ring_of_cliques(4, 5))
    if importlib.util.find_spec("networkx") is None:
        with pytest.raises(UsageError, match=r"conspectus\[eval\]"):
            louvain(graph, 1.0, 0)
        return
    labels = louvain(graph, 1.0, 0).reshape(4, 5)
    assert all(len(set(row)) == 1 for row in labels.tolist())
    assert louvain(graph, 1.0, 0).tolist() == labels.ravel().tolist()


def test_leiden_and_louvain_are_compared_over_seeds_and_runs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("conspectus.evaluation.ablations.communities.METHODS", {"Leiden": leiden, "Louvain": _one_each})
    index, settings = built(), Settings.model_validate({"communities": {"max_size": 3}})
    experiment = api.vary_communities(index, tmp_path, seeds=2, settings=settings)
    assert (experiment.cells, experiment.left) == (4, 4)

    found = api.ablate(experiment).found

    assert {row["method"] for row in found.rows} == {"Leiden", "Louvain"}
    first = found.rows[0]
    known = hierarchical_leiden(*_edges(index), len(index.entities), max_size=3, seed=settings.communities.seed)
    levels = memberships(known, len(index.entities))
    assert first["communities"] == len(set(levels[0].tolist()))
    assert first["connected_%"] == 100.0
    assert isinstance(first["report_tokens"], int)
    assert first["report_tokens"] > 0
    again = api.vary_communities(index, tmp_path, seeds=3, settings=settings)
    assert (again.cells, again.left) == (6, 2)


def _one_each(graph: Graph, resolution: float, seed: int) -> Ints:
    return leiden(graph, 2 * resolution, seed)


def _edges(index: Index) -> tuple[list[int], list[int], list[float]]:
    node = {e.name: e.number for e in index.entities}
    rows = index.relationships
    return [node[r.source] for r in rows], [node[r.target] for r in rows], [r.weight for r in rows]


def test_parts_become_communities_with_their_relationships():
    index = built()
    parts = hierarchical_leiden(*_edges(index), len(index.entities), max_size=3, seed=42)

    made = communities_of(parts, index)

    assert [c.entity_numbers for c in made] == [tuple(p.members.tolist()) for p in parts]
    names = [{index.entities[e].name for e in c.entity_numbers} for c in made]
    for community, inside in zip(made, names, strict=True):
        assert list(community.relationship_numbers) == [
            r.number for r in index.relationships if {r.source, r.target} <= inside
        ]


# Chunks and gleaning


def gleaned(*rounds: Sequence[str]) -> ScriptedModel:
    """A model that finds the names of the first round in every chunk, and those of the next when it looks again."""

    def depth(task: Any) -> int:
        return 0 if isinstance(task, ExtractGraph) else 1 + depth(task.after.task)

    def graph(task: Any) -> FoundGraph:
        return FoundGraph(tuple(FoundEntity(name, "person", name) for name in rounds[depth(task)]), ())

    return ScriptedModel(
        {ExtractGraph: graph, GleanMore: graph, AnyMissed: lambda task: depth(task.after.task) + 1 < len(rounds)}
    )


def some_text() -> list[Document]:
    return [a_document(" ".join(SENTENCES))]


def test_references_are_counted_by_size_and_round(tmp_path: Path):
    model = gleaned(["Ada", "ADA"], ["Bo"], ["Cy", "Bo"])
    experiment = api.vary_chunks(
        folder=tmp_path, documents=[" ".join(SENTENCES)], sizes=[200, 400], rounds=3, settings={"chunk.overlap": 20},
        model=model,
    )  # fmt: skip

    done = api.ablate(experiment, model=model)

    rows = columns(done.found, "chunk_tokens", "rounds", "references_per_chunk", "entities")
    assert rows == [(size, n, float(min(n, 2) + 1), min(n, 2) + 1) for size in (200, 400) for n in range(4)]
    chunks = dict(columns(done.found, "chunk_tokens", "chunks"))
    assert chunks[200] > chunks[400] > 0
    assert [s.name for s in done.found.panels[0].series] == ["200 tokens", "400 tokens"]
    again = api.vary_chunks(
        folder=tmp_path, documents=[" ".join(SENTENCES)], sizes=[200, 400], rounds=3, settings={"chunk.overlap": 20},
        model=model,
    )  # fmt: skip
    assert (again.cells, again.left) == (8, 0)


def test_a_name_counts_once_a_chunk_however_it_is_written():
    ada, bo = FoundEntity("Ada Brook", "person", ""), FoundEntity("BO", "person", "")
    shouted = FoundEntity("ADA BROOK", "person", "")

    assert references(Extracted([FoundGraph((ada, bo, shouted), ()), FoundGraph((ada,), ())])) == 3


def test_chunks_that_fail_are_counted_and_tried_again(tmp_path: Path):
    replies = iter([BadReply("no JSON")])

    def graph(task: Any) -> FoundGraph:
        if (error := next(replies, None)) is not None:
            raise error
        return FoundGraph((FoundEntity("Ada", "person", ""),), ())

    model = ScriptedModel({ExtractGraph: graph})
    told: dict[str, Any] = {"documents": [" ".join(SENTENCES)], "sizes": [200], "rounds": 0, "model": model}
    first = api.ablate(api.vary_chunks(folder=tmp_path, **told), model=model)
    assert (first.found.rows[0]["failed"], first.found.errors) == (1, {"no JSON": 1})

    second = api.ablate(api.vary_chunks(folder=tmp_path, **told), model=model)

    assert (second.found.rows[0]["failed"], second.found.errors) == (0, {})


def test_without_a_model_only_the_size_varies_and_it_says_so(tmp_path: Path):
    done = api.ablate(api.vary_chunks(folder=tmp_path, index=built(), sizes=[60, 120], settings={"chunk.overlap": 10}))

    assert columns(done.found, "chunk_tokens", "rounds") == [(60, 0), (120, 0)]
    small, large = columns(done.found, "references", "references_per_chunk")
    assert small[0] >= large[0]
    assert small[1] < large[1]
    assert any("gleaning does nothing" in line for line in done.found.notices)


def test_files_hold_the_same_figures(tmp_path: Path):
    done = api.ablate(api.vary_chunks(folder=tmp_path, index=built(), sizes=[60], settings={"chunk.overlap": 10}))

    told = json.loads((tmp_path / "ablation_chunks.json").read_text(encoding="utf-8"))
    table = list(csv.DictReader((tmp_path / "ablation_chunks.csv").open(encoding="utf-8")))
    assert told["rows"] == [dict(row) for row in done.found.rows]
    assert [{k: str(v) for k, v in row.items()} for row in done.found.rows] == table
    assert {"ablation_chunks.json", "ablation_chunks.csv", "ablation_chunks.svg"} <= set(done.files)
    ElementTree.parse(tmp_path / "ablation_chunks.svg")  # noqa: S314  # our own


def test_a_size_below_the_overlap_makes_no_sense():
    with pytest.raises(UsageError, match="no larger than their overlap"):
        with_cut(Settings(), 100, 0)


def test_documents_come_from_sources_or_an_index_and_not_from_both(tmp_path: Path):
    with pytest.raises(UsageError, match="not both"):
        api.vary_chunks([str(tmp_path)], tmp_path, index=built())


# Windows and levels


def test_every_condition_is_answered_under_every_window(tmp_path: Path):
    index = built()
    experiment = api.vary_window(QUESTIONS, index, tmp_path, conditions=["C0", "TS"], windows=[1000, 500], settings={})

    found = api.ablate(experiment).found

    assert columns(found, "condition", "window", "answers") == [
        ("C0", 500, 3), ("C0", 1000, 3), ("TS", 500, 3), ("TS", 1000, 3),
    ]  # fmt: skip
    assert {row.condition for row in answers_in(tmp_path).rows.values()} == {"C0@500", "C0@1k", "TS@500", "TS@1k"}
    settings = {row.condition: row.settings for row in set_ups_in(tmp_path).rows.values()}
    assert settings["TS@500"] != settings["TS@1k"]
    assert all(isinstance(row["documents_cited"], float) for row in found.rows)
    assert any("--pairs C0@1k:C0@500,TS@1k:TS@500" in line for line in found.notices)
    assert api.vary_window(QUESTIONS, index, tmp_path, conditions=["C0"], windows=[500], settings={}).left == 0


def test_a_folder_of_windows_is_a_comparison_and_its_claims_go_into_the_table(tmp_path: Path):
    index = built()
    told: dict[str, Any] = {"conditions": ["TS"], "windows": [500, 1000], "settings": {}}
    api.ablate(api.vary_window(QUESTIONS, index, tmp_path, **told))
    api.evaluate_claims(tmp_path, settings={})

    found = api.ablate(api.vary_window(QUESTIONS, index, tmp_path, **told)).found

    assert found.panels[0].title == "Claims an answer"
    assert all(isinstance(row["claims"], float) for row in found.rows)


def test_variants_of_a_condition_stand_in_the_order_of_their_numbers():
    names = ["TS@8k", "C2@16k", "C2@8k", "local", "C2", "C0"]

    assert sorted(names, key=place_of) == ["C0", "C2", "C2@8k", "C2@16k", "TS@8k", "local"]


def test_levels_are_told_by_type_of_question(tmp_path: Path):
    index = built()
    model = ScriptedModel(
        {
            MapAnswer: lambda task: PartialAnswer(
                f"{task.question} [Data: Reports (0)]", 50 * (task.question[0] != "W")
            ),
            ReduceAnswer: lambda task: task.answers[0].text,
        }
    )
    experiment = api.vary_levels(QUESTIONS, index, tmp_path, settings={}, model=model)

    found = api.ablate(experiment, model=model).found

    groups = dict.fromkeys(row["question_type"] for row in found.rows)
    assert list(groups) == ["all", WHOLE, THING, LOOKUP]
    nothing = {row["question_type"]: row["nothing_found_%"] for row in found.rows if row["level"] == "C0"}
    assert nothing == {"all": 66.7, WHOLE: 100.0, THING: 0.0, LOOKUP: 100.0}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What are the main themes?", WHOLE),
        ("Tell me about Ada Brook.", THING),
        ("When did Rosa Field meet Sam Orr?", LOOKUP),
        ("Who is the brother of the man that Ada Brook met?", JOINING),
    ],
)
def test_questions_are_told_apart_as_auto_does(question: str, kind: str):
    assert type_of(question, built()) == kind


def test_levels_need_reports(tmp_path: Path):
    with pytest.raises(UsageError, match="no reports to answer from"):
        api.vary_levels(QUESTIONS, an_index("Ada met Bo.", entities=["Ada", "Bo"]), tmp_path, settings={})


# Reports


def test_a_report_names_entities_by_whole_words():
    index = an_index("Ada met Bo. Adam met Cy.", entities=["Ada", "Adam", "Bo", "Cy"])
    community = Community("c", 0, 0, -1, (), (0, 1, 2, 3))

    assert (
        named(a_report("On Adam and Bo", findings=["Adam met. [Data: Entities (3)]"]), community, index.entities) == 2
    )


async def test_sentences_of_a_report_are_held_against_the_rows_that_they_cite():
    index = an_index("Ada Brook bought the Orran Mill in 1901.", entities=["Ada Brook", "Orran Mill"])
    report = a_report(
        "A mill",
        findings=[
            "Ada Brook bought the Orran Mill in 1901. [Data: Sources (0)] Ruben Vale sold it. [Data: Entities (1)]\n\n"
            "Nobody knows why."
        ],
    )

    assert await support(report, [report], index, ExtractiveModel()) == Support(3, 2, 1)


async def test_a_report_that_could_not_be_checked_has_an_error():
    index = an_index("Ada Brook bought the Orran Mill.", entities=["Ada Brook"])
    report = a_report("A mill", findings=["Ada Brook bought a mill. [Data: Sources (0)]"])

    def fails(task: Entails) -> bool:
        raise BadReply("neither yes nor no")

    assert (await support(report, [report], index, ScriptedModel({Entails: fails}))).error == "neither yes nor no"


def written(make: Callable[[WriteReport], ReportDraft]) -> ScriptedModel:
    return ScriptedModel(
        {
            WriteReport: make,
            Entails: lambda task: "Nothing" not in task.statement,
            MapAnswer: lambda task: PartialAnswer("They met. [Data: Reports (0)]", 50),
            ReduceAnswer: lambda task: task.answers[0].text,
        }
    )


def draft(task: WriteReport) -> ReportDraft:
    from conspectus.rows import Finding

    first = task.context.entities[0]
    said = f"{first.name} met many. [Data: Entities ({first.number})] Nothing more. [Data: Entities ({first.number})]"
    return ReportDraft(first.name, "Who met whom.", 5.0, "", (Finding("Meetings", said),))


def test_reports_of_two_writers_are_compared_and_answer_the_questions(tmp_path: Path):
    index = built()
    model = written(draft)
    told: dict[str, Any] = {"questions": QUESTIONS, "checked": 2, "settings": {}, "model": model}

    done = api.ablate(api.vary_reports(index, tmp_path, **told), model=model)

    rows = {(row["writer"], row["level"]): row for row in done.found.rows}
    extractive, other = rows["extractive", "all"], rows["scripted", "all"]
    assert extractive["reports"] == other["reports"] == len(index.reports)
    assert other["findings"] == 1.0
    assert (other["cited_%"], other["supported_%"]) == (100.0, 50.0)
    assert (extractive["answers"], other["answers"]) == (3, 3)
    conditions = {row.condition for row in answers_in(tmp_path).rows.values()}
    assert {name.partition("@")[2] for name in conditions} == {"extractive", "model"}
    assert len({row.made_with for row in answers_in(tmp_path).rows.values()}) == 2
    again = api.vary_reports(index, tmp_path, **told)
    assert again.left == 0
    quiet = ScriptedModel({})
    assert api.ablate(again, model=quiet).found.rows == done.found.rows
    assert not quiet.tasks


def test_a_report_that_failed_is_counted_and_written_by_the_next_run(tmp_path: Path):
    index = built()
    failed = iter([BadReply("cut off")])

    def once(task: WriteReport) -> ReportDraft:
        if (error := next(failed, None)) is not None:
            raise error
        return draft(task)

    model = written(once)
    first = api.ablate(api.vary_reports(index, tmp_path, checked=0, settings={}, model=model), model=model)
    assert first.found.errors == {"cut off": 1}

    second = api.ablate(api.vary_reports(index, tmp_path, checked=0, settings={}, model=model), model=model)

    assert second.found.errors == {}
    assert {row["reports"] for row in second.found.rows if row["level"] == "all"} == {len(index.reports)}


def test_reports_need_a_second_writer(tmp_path: Path):
    with pytest.raises(UsageError, match="name a language model to write reports with --model"):
        api.vary_reports(built(), tmp_path, settings={})
