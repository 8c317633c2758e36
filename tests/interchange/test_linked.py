"""A knowledge graph and documents linked to its entities: how they are linked, and that every method works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conspectus import api, interchange
from conspectus.errors import DocumentError, UsageError
from conspectus.index import Index
from conspectus.indexing.given_graph import GivenGraph
from conspectus.interchange.importing import Linked, linked_index, listed_links, read_links
from conspectus.retrieval import tog
from conspectus.rows import Document
from conspectus.settings import Settings

KB = """Rook|built_at|Kell
Rook|owned_by|Ada Byrne
Swift|owned_by|Ada Byrne
Swift|built_at|Tarn Lock
Ada Byrne|born_in|Tarn Lock
"""
GRAPH = GivenGraph([(h, r, t) for h, r, t in (line.split("|") for line in KB.splitlines())])
RECORDS = [
    {"id": "w1", "title": "rook", "text": "Rook is a barge of 1901. Her mast was cut from an Oslin pine."},
    {
        "id": "w2",
        "title": "On owners",
        "text": "She kept bees in the hold and sold the honey at Kell.",
        "entities": ["Ada Byrne", "Nobody"],
    },
    {"id": "w3", "title": "On bread", "text": "Sourdough needs a warm kitchen."},
    {
        "id": "w4",
        "title": "On locks",
        "text": "The lock gates were hung by the monks of Mere.",
        "entities": [],
    },
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kb.txt").write_text(KB)
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, RECORDS)) + "\n")
    (tmp_path / "links.csv").write_text('entity,document\n"Tarn Lock",w4\nSwift,w9\n')
    return tmp_path


@pytest.fixture
def index(folder: Path) -> Index:
    return interchange.import_triples(
        folder / "kb.txt", folder / "index", documents=folder / "docs.jsonl", links=folder / "links.csv"
    )


def told_by(index: Index) -> dict[str, list[str]]:
    """Return the titles of the documents of each entity that has documents."""
    title = {c.id: index.document_of[c.document_id].title for c in index.chunks}
    return {e.name: [title[c] for c in e.chunk_ids] for e in index.entities if e.chunk_ids}


def test_documents_are_linked_by_their_lists_by_their_titles_and_by_a_table(index: Index):
    assert told_by(index) == {"Rook": ["rook"], "Ada Byrne": ["On owners"], "Tarn Lock": ["On locks"]}
    assert Linked.of(index) == Linked(documents=3, entities=3, links=3)


def test_what_is_linked_to_nothing_stays_and_what_names_nothing_is_told(index: Index):
    assert [d.title for d in index.documents] == [str(r["title"]) for r in RECORDS]
    assert [e.name for e in index.entities] == ["Rook", "Kell", "Ada Byrne", "Swift", "Tarn Lock"]
    assert [f.error for f in index.failures] == [
        "the graph has no entity 'Nobody', which the links name; they were left out",
        "there is no document 'w9', which the links name; they were left out",
    ]


def test_an_entity_has_the_places_that_name_it_in_its_own_documents(index: Index):
    (rook,) = (e for e in index.entities if e.name == "Rook")

    assert [index.document_of[s.document_id].text[s.start : s.end] for s in rook.spans] == [
        "Rook is a barge of 1901."
    ]


def test_a_folder_of_texts_is_linked_by_the_names_of_its_files(folder: Path):
    (folder / "in").mkdir()
    (folder / "in" / "Ada Byrne.txt").write_text("She kept bees.")
    (folder / "in" / "tarn_lock.md").write_text(
        "---\nentities: [Kell, rook]\n---\n# Tarn Lock\n\nGates of oak."
    )
    (folder / "in" / "broken.json").write_text("{")

    index = interchange.import_triples(folder / "kb.txt", folder / "index", documents=folder / "in")

    gates = {name: ["Tarn Lock"] for name in ("Rook", "Kell", "Tarn Lock")}
    assert told_by(index) == gates | {"Ada Byrne": ["Ada Byrne"]}
    assert [f.stage for f in index.failures] == ["read"]


@pytest.mark.parametrize("call", ["w2", "docs.jsonl#2", "On owners", "ON OWNERS"])
def test_a_table_of_links_may_call_a_document_by_its_id_its_path_or_its_title(call: str):
    documents = [
        Document("a", 0, "On owners", "She kept bees.", "docs.jsonl#2", metadata={"id": "w2"}),
        Document("b", 1, "On bread", "It rises.", "docs.jsonl#3", metadata={"id": "w3"}),
    ]

    index = linked_index(GRAPH, documents, [("ada byrne", call)], Settings())

    assert told_by(index) == {"Ada Byrne": ["On owners"]}


@pytest.mark.parametrize("text", ["Rook,w1\nAda Byrne,w2\n", "document\tentity\nw1\tRook\nw2\tAda Byrne\n"])
def test_a_table_of_links_needs_no_header_but_may_have_one(tmp_path: Path, text: str):
    (tmp_path / "links.csv").write_text(text)

    assert read_links(tmp_path / "links.csv") == [("Rook", "w1"), ("Ada Byrne", "w2")]


def test_links_that_cannot_be_read_are_an_error_before_anything_is_written(folder: Path):
    (folder / "bad.csv").write_text("entity,document\nRook\n")
    for links, documents, why in (
        ("bad.csv", "docs.jsonl", r"bad\.csv, line 2"),
        ("gone.csv", "docs.jsonl", "cannot be read"),
        ("links.csv", "", "name the documents"),
    ):
        with pytest.raises(UsageError, match=why):
            interchange.import_triples(
                folder / "kb.txt",
                folder / "x",
                documents=folder / documents if documents else (),
                links=folder / links,
            )
    with pytest.raises(DocumentError, match="contains no triples"):
        interchange.import_triples(folder / "docs.jsonl", folder / "x", documents=folder / "docs.jsonl")
    assert not (folder / "x").exists()


def test_names_in_a_column_are_parted_by_semicolons():
    document = Document("a", 0, "", "x", "a.csv#1", metadata={"entities": "Byrne, Ada; Rook |Kell"})

    assert [entity for entity, _ in listed_links([document])] == ["Byrne, Ada", "Rook", "Kell"]


# Asking


@pytest.mark.parametrize("method", ["bm25", "local", "walk", "combined", "tog", "auto"])
def test_the_documents_answer_what_the_graph_does_not_say(index: Index, method: str):
    answer = api.ask("From what was the mast of Rook cut?", index, method=method)

    assert "Oslin pine" in answer.text
    assert answer.citations[0].sources[0].document.endswith("docs.jsonl#1")


@pytest.mark.parametrize("method", ["tog", "auto"])
def test_the_graph_answers_what_the_documents_do_not_say(index: Index, method: str):
    answer = api.ask("Who owned Swift?", index, method=method)

    assert answer.method == "tog"
    assert answer.short == ("Ada Byrne",)
    assert answer.text.startswith("- Ada Byrne\n\nPaths:\n\n- Swift – owned by – Ada Byrne")


async def test_the_search_along_the_graph_reads_what_is_linked_to_where_it_begins_and_arrives(index: Index):
    from conspectus.models.extractive.model import ExtractiveModel

    model = ExtractiveModel.of_index(index)

    found = await tog.explore("Who owned Rook and what did she keep?", index, model, Settings())

    assert {index.document_of[index.chunks[c].document_id].title for c, _ in found.chunks} >= {
        "rook",
        "On owners",
    }


def test_an_entity_without_documents_can_still_be_gone_through(index: Index):
    answer = api.ask("Which boats share an owner with Swift?", index, method="tog")

    assert answer.short == ("Rook",)
    assert [t.relation for t in answer.reasoning_paths[0].triples] == ["owned_by", "owned_by"]
