"""Graphs too large for tables: Wikidata's dumps and compressed tables are stored and searched in a database file."""

from __future__ import annotations

import bz2
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from scripted import ScriptedModel

import conspectus
from conspectus import interchange
from conspectus.errors import DocumentError, IndexDamaged, UsageError
from conspectus.index import Index
from conspectus.indexing.pipeline import Silent
from conspectus.models.base import Tick
from conspectus.storage import store
from conspectus.tasks import ChooseRelations, Examined, ExamineEvidence, NameEntities
from conspectus.triple_graph import MOST_STEPS, StoredTripleGraph, TripleGraph

ENTITY = "<http://www.wikidata.org/entity/"
DIRECT = "<http://www.wikidata.org/prop/direct/"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
TRUTHY = [
    f'{ENTITY}P170> {LABEL} "creator"@en .',
    f'{ENTITY}P19> {LABEL} "place of birth"@en .',
    f'{ENTITY}P571> {LABEL} "inception"@en .',
    f'{ENTITY}Q1> {LABEL} "The Tide Gauge"@en .',
    f'{ENTITY}Q1> {LABEL} "Der Pegel"@de .',
    f'{ENTITY}Q2> {LABEL} "Ada L\\u00fcne"@en .',
    f'{ENTITY}Q3> {LABEL} "Kell"@en .',
    f'{ENTITY}Q4> {LABEL} "Kell"@en .',
    f"{ENTITY}Q1> {DIRECT}P170> {ENTITY}Q2> .",
    f"{ENTITY}Q2> {DIRECT}P19> {ENTITY}Q3> .",
    f"{ENTITY}Q2> {DIRECT}P19> {ENTITY}Q77> .",
    f'{ENTITY}Q1> {DIRECT}P571> "1911-05-02T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .',
    f'{ENTITY}Q1> {DIRECT}P214> "113230702" .',
    f"{ENTITY}Q4> {DIRECT}P170> {ENTITY}Q2> .",
]


def truthy(folder: Path) -> Path:
    path = folder / "latest-truthy.nt.gz"
    path.write_bytes(gzip.compress("\n".join(TRUTHY).encode() + b"\n"))
    return path


def imported(source: Path, folder: Path) -> Index:
    interchange.import_triples(source, folder)
    return conspectus.open_index(folder)


def around(name: str, index: Index) -> set[tuple[str, bool, str]]:
    graph = TripleGraph.of(index)
    steps = graph.steps(graph.number_of[name])
    return {(graph.relations[step.relation], step.inverse, graph.names[step.to]) for step in steps}


def test_truthy_statements_are_read_with_labels_times_and_names_told_apart(tmp_path: Path):
    index = imported(truthy(tmp_path), tmp_path / "index")

    assert around("Ada Lüne", index) == {
        ("place of birth", False, "Kell (Q3)"),
        ("place of birth", False, "Q77"),
        ("creator", True, "The Tide Gauge"),
        ("creator", True, "Kell (Q4)"),
    }
    assert ("inception", False, "1911-05-02") in around("The Tide Gauge", index)
    assert len(TripleGraph.of(index)) == 5  # identifiers are left out
    assert len(TripleGraph.of(index).numbers_of_key["kell"]) == 2


class Counted(Silent):
    """Counts the ticks of each stage."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()

    def stage(self, name: str, total: int) -> Tick:
        return lambda: self.stages.update([name])


def test_progress_counts_the_triples_that_are_on_disk(tmp_path: Path):
    counted = Counted()

    interchange.import_triples(truthy(tmp_path), tmp_path / "index", progress=counted)

    stored = conspectus.open_index(tmp_path / "index").settings["imported"]["stored"]
    assert counted.stages["read"] == stored > 1


def test_entities_in_json_give_their_statements_of_best_rank(tmp_path: Path):
    def statement(value: object, rank: str = "normal") -> dict[str, object]:
        return {"rank": rank, "mainsnak": {"datavalue": {"value": value}}}

    ranked = (6, "normal"), (7, "preferred"), (8, "deprecated")
    entities = [
        {"id": "P6", "labels": {"en": {"value": "head of government"}}},
        {"id": "Q5", "labels": {"en": {"value": "Kell"}}, "claims": {
            "P6": [statement({"id": f"Q{n}"}, rank) for n, rank in ranked],
            "P571": [statement({"time": "+1203-00-00T00:00:00Z"})],
            "P1082": [statement({"amount": "+4100", "unit": "1"})],
            "P281": [statement("KL 1")],
        }},
    ]  # fmt: skip
    source = tmp_path / "latest-all.json.bz2"
    rows = ",\n".join(json.dumps(entity) for entity in entities)
    source.write_bytes(bz2.compress(f"[\n{rows}\n]\n".encode()))

    index = imported(source, tmp_path / "index")

    assert around("Kell", index) == {
        ("head of government", False, "Q7"), ("P571", False, "1203"), ("P1082", False, "4100"),
    }  # fmt: skip


def test_the_figures_of_an_index_count_what_is_on_disk(tmp_path: Path):
    index = imported(truthy(tmp_path), tmp_path / "index")

    assert conspectus.status_of(index).triples == 5
    assert conspectus.status_of(index).entities == 6  # Q1 to Q4, Q77, and a year


def test_a_graph_that_no_snapshot_has_any_more_is_removed(tmp_path: Path):
    folder, settings = tmp_path / "index", {"store": {"snapshots": 1}}
    imported(truthy(tmp_path), folder)
    (folder / "triples-mine.sqlite").touch()
    other = tmp_path / "graph.tsv.gz"
    other.write_bytes(gzip.compress(b"Rook\towner\tAda Byrne\n"))
    index = imported(other, folder)
    assert index.graph_file
    assert len(list(folder.glob("triples-*.sqlite"))) == 3  # so that a rollback to the first is possible

    with store.writing(folder):
        store.trim(folder, settings)

    assert {path.name for path in folder.glob("*.sqlite")} == {"triples-mine.sqlite", index.graph_file.name}


async def test_a_search_goes_along_a_graph_on_disk(tmp_path: Path):
    imported(truthy(tmp_path), tmp_path / "index")
    model = ScriptedModel(
        {
            NameEntities: [("the tide gauge",)],
            ChooseRelations: lambda task: tuple((0,) for _ in task.topics),
            ExamineEvidence: [Examined((), ("Where was she born?",)), Examined(("Kell",))],
        }
    )

    answer = await conspectus.aask(
        "Where was the creator of the Tide Gauge born?", tmp_path / "index", model=model, method="tog"
    )

    assert answer.short == ("Kell",)
    assert "Kell (Q3)" in [path.end for path in answer.reasoning_paths]


def test_without_a_model_plain_questions_are_read_off_a_graph_on_disk(tmp_path: Path):
    source = tmp_path / "graph.tsv.gz"
    source.write_bytes(
        gzip.compress(b"Rook\towner\tAda Byrne\nAda Byrne\tborn in\tLune\nHeron\towner\tTom Pike\n")
    )
    imported(source, tmp_path / "index")

    answer = conspectus.ask("Who is the owner of Rook?", tmp_path / "index")

    assert answer.method == "tog"
    assert answer.short == ("Ada Byrne",)


def test_a_name_with_very_many_edges_is_left_along_the_first_of_each_relation(tmp_path: Path):
    source = tmp_path / "graph.tsv.gz"
    lines = [f"Person {n}\tcitizen of\tMarland" for n in range(MOST_STEPS + 50)] + ["Marland\tcapital\tOrrin"]
    source.write_bytes(gzip.compress("\n".join(lines).encode()))

    edges = around("Marland", imported(source, tmp_path / "index"))

    assert len(edges) == MOST_STEPS + 1
    assert ("capital", False, "Orrin") in edges


def test_documents_are_linked_to_names_of_a_graph_on_disk(tmp_path: Path):
    document = {"title": "Ada Lüne", "text": "Ada Lüne was a painter of tide gauges."}
    (tmp_path / "texts.json").write_text(json.dumps([document]))

    interchange.import_triples(truthy(tmp_path), tmp_path / "index", documents=tmp_path / "texts.json")

    index = conspectus.open_index(tmp_path / "index")
    entity = index.entities[index.entity_of_name["Ada Lüne"]]
    assert [index.chunk_of[chunk].number for chunk in entity.chunk_ids] == [0]
    assert isinstance(TripleGraph.of(index), StoredTripleGraph)


def test_what_is_no_dump_or_is_lost_is_told(tmp_path: Path):
    (tmp_path / "cut.nt.gz").write_bytes(gzip.compress(b"x" * 1000)[:30])
    (tmp_path / "empty.tsv.gz").write_bytes(gzip.compress(b"\n"))
    for name in ("cut.nt.gz", "empty.tsv.gz"):
        with pytest.raises(DocumentError, match=name):
            interchange.import_triples(tmp_path / name, tmp_path / "index")
    index = imported(truthy(tmp_path), tmp_path / "index")
    with pytest.raises(UsageError, match="tog"):
        conspectus.search("Kell", index, method="hipporag")

    for path in (tmp_path / "index").glob("*.sqlite"):
        path.unlink()
    with pytest.raises(IndexDamaged, match="import it again"):
        conspectus.ask("Where is Kell?", tmp_path / "index", method="tog")
