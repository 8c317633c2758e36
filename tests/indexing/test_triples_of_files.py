"""Triples from files: the formats, errors in them, and the index that they make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conspectus import api, interchange
from conspectus.errors import DocumentError, UsageError
from conspectus.index import Index
from conspectus.index_status import status_of
from conspectus.indexing.given_graph import GivenGraph, index_of, read_openie, with_openie
from conspectus.indexing.graph import triples_of
from conspectus.interchange.importing import read_triples
from conspectus.rows import Chunk, Document
from conspectus.storage import store
from conspectus.tasks import FoundTriple

KELL = [("Rook", "built at", "Kell"), ("Rook", "owned by", "Ada Byrne")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kb.txt", "Rook|built at|Kell\nRook|owned by|Ada Byrne\n"),
        ("kb.tsv", "Rook\tbuilt at\tKell\nRook\towned by\tAda Byrne\n"),
        ("kb.csv", "id,subject,object,predicate\n1,Rook,Kell,built at\n2,Rook,Ada Byrne,owned by\n"),
        ("kb.csv", 'head,relation,tail\nRook,built at,"Kell"\nRook,owned by,Ada Byrne\n'),
        (
            "kb.nt",
            "# two\n<http://a.org/Rook> <http://a.org/p#built_at> <http://a.org/Kell> .\n"
            '<http://a.org/Rook> <http://a.org/p#owned_by> "Ada Byrne"@en .\n',
        ),
    ],
)
def test_a_file_of_triples_is_read_in_every_form(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert read_triples(tmp_path / name) == GivenGraph(KELL, [])


def test_a_line_that_is_no_triple_is_named_and_the_others_are_read(tmp_path: Path):
    (tmp_path / "kb.txt").write_text("Rook|built at|Kell\nRook|\n\nRook|owned by|Ada|Byrne\n")

    graph = read_triples(tmp_path / "kb.txt")

    assert graph.triples == [("Rook", "built at", "Kell"), ("Rook", "owned by", "Ada|Byrne")]
    assert [failure.error.split(" is")[0] for failure in graph.failures] == ["line 2"]


def test_a_file_without_triples_is_refused(tmp_path: Path):
    (tmp_path / "kb.txt").write_text("nothing here\n")

    with pytest.raises(DocumentError, match=r"head\|relation\|tail"):
        read_triples(tmp_path / "kb.txt")
    with pytest.raises(DocumentError, match="cannot be read"):
        read_triples(tmp_path / "gone.txt")


def test_relations_between_one_pair_are_one_relationship_and_none_is_lost():
    index = index_of(GivenGraph([("Ann", "met", "Bob"), ("Bob", "likes", "Ann"), ("Ann", "is", "Ann")]))

    assert [(t.head, t.relation, t.tail) for t in index.triples] == [
        ("Ann", "met", "Bob"), ("Bob", "likes", "Ann"), ("Ann", "is", "Ann"),
    ]  # fmt: skip
    assert [(r.source, r.target, r.description, r.weight) for r in index.relationships] == [
        ("Ann", "Bob", "Ann met Bob; Bob likes Ann", 2.0)
    ]
    assert [(e.name, e.degree) for e in index.entities] == [("Ann", 1), ("Bob", 1)]


def test_a_graph_without_text_is_stored_opened_counted_and_asked_by_every_method(tmp_path: Path):
    (tmp_path / "kb.txt").write_text("Rook|built at|Kell\nRook|owned by|Ada Byrne\n")

    index = interchange.import_triples(tmp_path / "kb.txt", tmp_path / "index")

    assert list(index.triples) == list(index_of(GivenGraph(KELL)).triples)
    assert (status_of(index).entities, status_of(index).documents) == (3, 0)
    assert api.search("Rook", index, method="bm25") == []
    assert api.ask("Who owned Rook?", index, method="local").citations == ()
    answer = api.ask("Who owned Rook?", index)
    assert (answer.method, answer.short) == ("tog", ("Ada Byrne",))


def test_every_tenth_line_of_the_film_graph_is_imported(shared: Path, tmp_path: Path):
    lines = (shared / "kgqa/metaqa/kb.txt").read_text("utf-8").splitlines()[::10]
    (tmp_path / "films.txt").write_text("\n".join(lines), "utf-8")

    index = interchange.import_triples(tmp_path / "films.txt", tmp_path / "index")

    assert len(lines) == len(set(lines)) == 12942
    assert {f"{t.head}|{t.relation}|{t.tail}" for t in index.triples} == set(lines)


def passages() -> Index:
    documents = [
        Document(f"d{i}", i, "", text, f"p{i}", metadata={}) for i, text in enumerate(("Rook.", "Ada."))
    ]
    chunks = [Chunk(f"c{i}", i, f"d{i}", 0, len(d.text), d.text, 1) for i, d in enumerate(documents)]
    return Index(documents=documents, chunks=chunks)


def test_an_openie_file_gives_passages_their_triples(tmp_path: Path):
    lines = [
        {"_id": "p0", "entities": ["Rook"], "triples": [["Rook", "owned by", "Ada"], ["Rook", "sank"]]},
        {"_id": "p1", "entities": [], "triples": [["Rook", "owned by", "Ada"]]},
        {"_id": "p9", "entities": [], "triples": []},
    ]
    (tmp_path / "openie.jsonl").write_text("\n".join(map(json.dumps, lines)))

    index = with_openie(passages(), read_openie(tmp_path / "openie.jsonl"), "openie.jsonl")

    assert [(t.head, t.relation, t.tail, t.chunk_ids) for t in index.triples] == [
        ("Rook", "owned by", "Ada", ("c0", "c1"))
    ]
    assert [f.error for f in index.failures] == [
        "1 passages have no document here, the first p9",
        "1 entries are not triples of head, relation and tail",
    ]
    assert (
        with_openie(index, read_openie(tmp_path / "openie.jsonl"), "openie.jsonl").failures == index.failures
    )


def test_an_openie_file_of_other_passages_or_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "other.jsonl").write_text('{"_id": "x", "triples": []}\n')
    with pytest.raises(UsageError, match="none of the 1 passages"):
        with_openie(passages(), read_openie(tmp_path / "other.jsonl"))
    (tmp_path / "bad.jsonl").write_text('{"_id": "x", "triples": []}\n{"_id": "y"}\n')
    with pytest.raises(DocumentError, match="line 2"):
        read_openie(tmp_path / "bad.jsonl")


def test_what_several_chunks_say_is_one_triple_that_names_them():
    said = FoundTriple("Rook", "owned by", "Ada")

    assert [t.chunk_ids for t in triples_of([("c0", [said, said]), ("c1", [said])])] == [("c0", "c1")]


def test_an_index_with_triples_comes_back_equal(tmp_path: Path):
    index = index_of(GivenGraph(KELL))
    with store.writing(tmp_path):
        store.commit(tmp_path, index, settings={}, usage={})

    assert list(store.read(tmp_path).triples) == list(index.triples)
    assert list(store.read(tmp_path).relationships) == list(index.relationships)
