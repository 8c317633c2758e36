"""Files of triples as people write them: byte order marks, comments, quotation marks, headers, RDF of other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conspectus.errors import DocumentError, UsageError
from conspectus.indexing.given_graph import GivenGraph
from conspectus.interchange.importing import MAX_FAILURES, read_triples

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
BUILT, OWNED = "<http://a.org/p/built_at>", "<http://a.org/p/owned_by>"
KELL = [("Rook", "built at", "Kell"), ("Rook", "owned by", "Byrne, Ada")]


def read(folder: Path, name: str, text: str, encoding: str = "utf-8") -> GivenGraph:
    (folder / name).write_bytes(text.encode(encoding))
    return read_triples(folder / name)


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("kb.csv", 'head,relation,tail\r\nRook,built at,Kell\r\nRook,owned by,"Byrne, Ada"\r\n', "utf-8-sig"),
        ("kb.csv", "Source;Target;Type\nRook;Kell;built at\nRook;Byrne, Ada;owned by\n", "utf-8"),
        ("kb.csv", '# by hand\n\nRook,built at,Kell\n"Rook","owned by","Byrne, Ada"\n', "utf-16"),
        ("kb.csv", "id,head,relation,tail,p\n1,Rook,built at,Kell,0.9\n2,Rook,owned by,\"Byrne, Ada\",0.2\n", "utf-8"),
        ("kb.tsv", ":START_ID\t:TYPE\t:END_ID\nRook\tbuilt at\tKell\nRook\towned by\tByrne, Ada\n", "utf-8"),
        ("kb.txt", "head|relation|tail\nRook|built at|Kell\n# who\nRook | owned by | Byrne, Ada\n", "utf-8"),
        ("kb.jsonl", '{"s": "Rook", "p": "built at", "o": "Kell"}\n["Rook", "owned by", "Byrne, Ada"]\n', "utf-8"),
        ("kb.json", '[{"h": "Rook", "r": "built at", "t": "Kell"}, ["Rook", "owned by", "Byrne, Ada"]]', "utf-8"),
        ("kb", "Rook\tbuilt at\tKell\nRook\tbuilt at\tKell\nRook\towned by\tByrne, Ada\n", "utf-8"),
    ],
)  # fmt: skip
def test_a_table_is_read_whatever_its_marks_header_and_encoding(
    tmp_path: Path, name: str, text: str, encoding: str
):
    assert read(tmp_path, name, text, encoding) == GivenGraph(KELL, [])


def test_a_quotation_mark_that_is_left_open_is_a_character(tmp_path: Path):
    graph = read(tmp_path, "kb.tsv", '"Weird Al" Yankovic\tsang\t"Eat It\nRook\tbuilt at\tKell\n')

    assert graph.triples == [('"Weird Al" Yankovic', "sang", '"Eat It'), ("Rook", "built at", "Kell")]


def test_a_record_that_is_no_triple_is_named(tmp_path: Path):
    text = (
        '["Rook", "built at", "Kell"]\n["Rook", "built '
        'at"]\nnone\n{"head": "Rook", "relation": [], "tail": "Kell"}\n'
    )
    graph = read(tmp_path, "kb.jsonl", text)

    assert graph.triples == KELL[:1]
    assert [failure.error[:8] for failure in graph.failures] == ["record 2", "record 3", "record 4"]


def test_a_cell_of_a_megabyte_is_read(tmp_path: Path):
    graph = read(tmp_path, "kb.csv", f"head,relation,tail\nRook,is,{'x' * 1_000_000}\n")

    assert len(graph.triples[0][2]) == 1_000_000


def test_of_many_bad_lines_some_are_named_and_the_others_counted(tmp_path: Path):
    graph = read(tmp_path, "kb.txt", "Rook|built at|Kell\n" + "nothing\n" * 1_000)

    assert len(graph.failures) == MAX_FAILURES + 1
    assert graph.failures[-1].error == "980 more lines are not triples"


@pytest.mark.parametrize("name", ["kb.ttl", "kb.rdf", "kb.jsonld"])
def test_rdf_in_another_form_says_what_makes_n_triples_of_it(tmp_path: Path, name: str):
    with pytest.raises(DocumentError, match=r"N-Triples.*kb\.nt"):
        read(tmp_path, name, "@prefix a: <http://a.org/> .\na:Rook a:is a:Boat .\n")


def test_a_table_without_known_columns_says_what_to_call_them(tmp_path: Path):
    with pytest.raises(DocumentError, match="columns head, relation and tail"):
        read(tmp_path, "kb.csv", "w,x,y,z\n1,2,3,4\n")
    with pytest.raises(DocumentError, match=r"kb\.csv is binary"):
        read(tmp_path, "kb.csv", "a\0b")


# N-Triples


def test_without_rdflib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module in ("rdflib", "rdflib.plugins.parsers.ntriples"):  # other tests import both
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UsageError, match=r"conspectus\[graph\]"):
        read(tmp_path, "kb.nt", f'<http://a.org/Rook> {BUILT} "Kell" .\n')


def test_terms_of_every_kind_are_read(tmp_path: Path):
    text = (
        "# from elsewhere\r\n"
        f'<http://a.org/Rook> {OWNED} "Ada \\"Oar\\" Byrne"@en-GB . # who owned it\r\n'
        f"<http://a.org/Rook> {BUILT} <http://b.org/Port_Kell> .\r\n"
        '<http://a.org/Rook> <http://a.org/p#year> "1901"^^<http://www.w3.org/2001/XMLSchema#gYear> .\n'
        f"_:b0 {OWNED} _:b1 .\n"
        f'<http://a.org/Caf%C3%A9_Nord> <http://a.org/p#sign> "Caf\\u00E9\\nNord \\U0001F600" .\n'
        f"<urn:isbn:0451450523> {OWNED} <http://a.org/people/> .\n"
    )

    graph = read(tmp_path, "kb.nt", text)

    assert graph.triples == [
        ("Rook", "owned by", 'Ada "Oar" Byrne'),
        ("Rook", "built at", "Port Kell"),
        ("Rook", "year", "1901"),
        ("_:b0", "owned by", "_:b1"),
        ("Café Nord", "sign", "Café Nord 😀"),
        ("urn:isbn:0451450523", "owned by", "people"),
    ]
    assert graph.failures == []


def test_a_label_names_a_thing_the_english_one_before_others(tmp_path: Path):
    text = (
        f'<http://a.org/Q1> {LABEL} "Krähe"@de .\n<http://a.org/Q1> {LABEL} "Rook"@en .\n'
        f'<http://a.org/Q2> {LABEL} "Kell" .\n<http://a.org/Q1> {BUILT} <http://a.org/Q2> .\n'
    )

    assert read(tmp_path, "kb.nt", text).triples == [("Rook", "label", "Krähe"), ("Rook", "built at", "Kell")]


@pytest.mark.parametrize("labelled", [False, True])
def test_two_things_of_one_name_stay_two(tmp_path: Path, labelled: bool):
    one, other = "http://a.org/film/1", "http://a.org/person/1"
    labels = "".join(f'<{thing}> {LABEL} "Heat"@en .\n' for thing in (one, other)) if labelled else ""
    text = f'<{one}> {OWNED} "Ann" .\n<{one}> {BUILT} "Kell" .\n<{other}> {OWNED} "Bob" .\n{labels}'
    name = "Heat" if labelled else "1"

    heads = {head for head, _, _ in read(tmp_path, "kb.nt", text).triples}

    assert heads == {name, f"{name} ({other})"}


def test_a_long_literal_describes_and_is_no_thing(tmp_path: Path):
    said = "Rook was a barge. " * 20
    graph = read(
        tmp_path, "kb.nt", f'<http://a.org/Rook> {BUILT} "Kell" .\n<http://a.org/Rook> {OWNED} "{said}" .\n'
    )

    assert graph.triples == [("Rook", "built at", "Kell")]
    assert graph.descriptions == {"Rook": said.strip()}


@pytest.mark.parametrize("line", ["<a> <b>", "<a> b <c> .", '<a> <b> "c .', "<a> <b> <c>", "<a b> <c> <d> ."])
def test_a_line_that_is_no_statement_is_named(tmp_path: Path, line: str):
    graph = read(tmp_path, "kb.nt", f"<http://a.org/Rook> {BUILT} <http://a.org/Kell> .\n{line}\n")

    assert [failure.error[:6] for failure in graph.failures] == ["line 2"]
