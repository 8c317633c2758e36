"""Tests of exports for other tools."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_report, an_entity, an_index

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.indexing.given_graph import GivenGraph, index_of
from conspectus.interchange import export
from conspectus.interchange.obsidian import MAX_NAME_CHARS, file_names, write_vault
from conspectus.rows import Community

SPACE = {"g": "http://graphml.graphdrawing.org/xmlns"}


@pytest.fixture
def index() -> Index:
    """Four entities in two communities of one root, with names that need escaping."""
    communities = [
        Community("root", 0, 0, -1, (1, 2), (0, 1, 2, 3), (0, 1)),
        Community("left", 1, 1, 0, (), (0, 1), (0,)),
        Community("right", 2, 1, 0, (), (2, 3), (1,)),
    ]
    reports = [
        a_report("All of it", 0, ["Ada met \x01Ruben <here> [Data: Entities (0)]."], children=(1, 2)),
        a_report("Ada [& co]", 1, ["Ada met Ruben [Data: Relationships (0)]."], level=1, parent=0),
        a_report("ada [& CO]", 2, ["C/D holds Zoë."], level=1, parent=0),
    ]
    return an_index(
        "Ada met Ruben. C/D holds Zoë's \"quoted\" words.\nA 'line' \\u0041 more.",
        entities=["Ada", "Ruben", an_entity("C/D", 2, description="Says 'no\\'\nand\x02 <b>."), "Zoë"],
        edges=[("Ada", "Ruben"), ("C/D", "Zoë")],
        communities=communities,
        reports=reports,
    )


# GraphML


def attributes(element: ElementTree.Element, root: ElementTree.Element) -> dict[str, str | None]:
    names = {key.get("id"): str(key.get("attr.name")) for key in root.findall("g:key", SPACE)}
    return {names[d.get("key")]: d.text for d in element.findall("g:data", SPACE)}


def test_graphml_has_every_node_with_its_position_colour_and_communities(index: Index, tmp_path: Path):
    root = ElementTree.parse(export(index, "graphml", tmp_path / "graph.graphml", level=1)).getroot()  # noqa: S314

    nodes = root.findall("g:graph/g:node", SPACE)
    values = attributes(nodes[2], root)
    assert len(nodes) == 4
    assert values["label"] == "C/D"
    assert (values["community_0"], values["community_1"]) == ("0", "2")
    assert values["theme_1"] == "ada [& CO]"
    assert {"x", "y", "size", "r", "g", "b", "degree"} <= values.keys()


def test_the_edges_of_graphml_have_ends_and_weights(index: Index, tmp_path: Path):
    root = ElementTree.parse(export(index, "graphml", tmp_path / "graph.graphml")).getroot()  # noqa: S314
    edges = root.findall("g:graph/g:edge", SPACE)
    nodes = {node.get("id") for node in root.findall("g:graph/g:node", SPACE)}

    assert len(edges) == len(index.relationships)
    assert all({edge.get("source"), edge.get("target")} <= nodes for edge in edges)
    assert all("weight" in attributes(edge, root) for edge in edges)


# Neo4j


def test_the_csv_for_neo4j_names_only_ends_that_are_there(index: Index, tmp_path: Path):
    export(index, "neo4j", tmp_path)
    files = sorted(tmp_path.glob("*.csv"))
    tables = {path.stem: list(csv.DictReader(path.open(encoding="utf-8", newline=""))) for path in files}
    ids = {row[":ID"] for rows in tables.values() for row in rows if ":ID" in row}
    ends = [
        (row[":START_ID"], row[":END_ID"]) for rows in tables.values() for row in rows if ":START_ID" in row
    ]

    assert {
        "document",
        "chunk",
        "entity",
        "community",
        "related_to",
        "named_in",
        "in_community",
        "part_of",
    } <= set(tables)
    assert ends
    assert all(a in ids and b in ids for a, b in ends)
    assert [row["name"] for row in tables["entity"]] == [e.name for e in index.entities]
    assert tables["entity"][2]["description"] == index.entities[2].description
    assert all(path.name in (tmp_path / "import.txt").read_text() for path in files)


def test_triples_between_two_things_stay_apart_with_their_directions(tmp_path: Path):
    said = [("Ann", "met", "Bob"), ("Ann", "likes", "Bob"), ("Bob", "likes", "Ann")]
    graph = index_of(GivenGraph(said))

    export(graph, "neo4j", tmp_path)

    rows = list(csv.DictReader((tmp_path / "triple.csv").open(encoding="utf-8", newline="")))
    name = {f"e{e.number}": e.name for e in graph.entities}
    assert [(name[row[":START_ID"]], row["relation"], name[row[":END_ID"]]) for row in rows] == said


# JSON


def test_json_holds_every_row_of_every_table(index: Index, tmp_path: Path):
    read = json.loads(export(index, "json", tmp_path / "index.json").read_text("utf-8"))

    assert [e["name"] for e in read["entities"]] == [e.name for e in index.entities]
    assert read["documents"][0]["text"] == index.documents[0].text
    assert read["reports"][0]["findings"][0]["summary"] == index.reports[0].findings[0].summary
    assert read["entities"][0]["spans"][0] == list(index.entities[0].spans[0])


# The vault


@given(st.lists(st.text()))
def test_file_names_are_safe_and_unique_on_every_system(titles: list[str]):
    names = file_names(titles)

    assert len(names) == len(titles)
    assert len({unicodedata.normalize("NFKC", n).casefold() for n in names}) == len(names)
    assert all(n == n.strip(". ") and n and not re.search(r'[\\/:*?"<>|#^\[\]\x00-\x1f]', n) for n in names)
    assert all(len(f"{n}.md".encode()) <= 255 and len(n) <= MAX_NAME_CHARS + 10 for n in names)


def test_the_two_halves_of_a_title_stay_apart_in_the_name_of_its_file():
    assert file_names(["Ada Byrne: looms and wages", "a:b"]) == ["Ada Byrne - looms and wages", "a b"]


def test_names_that_a_system_keeps_for_itself_are_not_used():
    assert file_names(["CON", "nul.txt", "../../etc/passwd", ""]) == [
        "CON -",
        "nul.txt -",
        "etc passwd",
        "untitled",
    ]


def test_every_link_of_the_vault_leads_to_a_note(index: Index, tmp_path: Path):
    write_vault(index, tmp_path / "vault")
    notes = {path.stem: path.read_text("utf-8") for path in (tmp_path / "vault").rglob("*.md")}
    links = {link for text in notes.values() for link in re.findall(r"\[\[([^|\]]+)", text)}

    assert len(notes) == 4 + 3 + 1 + 1
    assert links
    assert links <= notes.keys()
    assert {"Ada & co", "ada & CO (2)", "C D"} <= notes.keys()
    assert "[[Ruben]]" in notes["Ada"]


def test_a_folder_of_someone_elses_is_left_alone(index: Index, tmp_path: Path):
    (tmp_path / "mine.md").write_text("mine")

    with pytest.raises(UsageError, match="not empty"):
        write_vault(index, tmp_path)


def test_writing_again_removes_the_notes_that_are_gone_and_nothing_else(index: Index, tmp_path: Path):
    write_vault(index, tmp_path / "vault")
    (tmp_path / "vault/mine.md").write_text("mine")

    write_vault(an_index("Ada was here.", entities=["Ada"]), tmp_path / "vault")

    left = {path.relative_to(tmp_path / "vault").as_posix() for path in (tmp_path / "vault").rglob("*.md")}
    assert left == {"Start.md", "mine.md", "entities/Ada.md", "documents/0.txt.md"}
