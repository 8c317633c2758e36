"""Rows are stored as Parquet tables that other tools can read, and are equal when read again."""
# pyarrow has no type annotations, so the type checker knows nothing about it:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import IndexDamaged, UsageError
from conspectus.index import Index
from conspectus.rows import (
    AliasDecision,
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Finding,
    Relationship,
    Report,
    Span,
    Triple,
)
from conspectus.storage import TABLES, Stored, encode

S, I, F, SS, II = "string", "int64", "double", "list<string>", "list<int64>"  # noqa: E741
FINDINGS = "list<struct<explanation: string, summary: string>>"
KEYS = {"id": S, "human_readable_id": I}
PLACE = {"community": I, "level": I, "parent": I, "children": II}
MICROSOFT: dict[str, dict[str, str]] = {
    "documents": KEYS | {"title": S, "text": S, "text_unit_ids": SS, "creation_date": S, "raw_data": S},
    "text_units": KEYS
    | {"text": S, "n_tokens": I, "document_id": S}
    | {"entity_ids": SS, "relationship_ids": SS, "covariate_ids": SS},
    "entities": KEYS
    | {"title": S, "type": S, "description": S, "text_unit_ids": SS, "frequency": I, "degree": I},
    "relationships": KEYS
    | {"source": S, "target": S, "description": S, "weight": F, "combined_degree": I, "text_unit_ids": SS},
    "communities": KEYS
    | PLACE
    | {"title": S, "entity_ids": SS, "relationship_ids": SS, "text_unit_ids": SS, "period": S, "size": I},
    "community_reports": KEYS
    | PLACE
    | {"title": S, "summary": S, "full_content": S, "rank": F, "rating_explanation": S}
    | {"findings": FINDINGS, "full_content_json": S, "period": S, "size": I},
    "covariates": KEYS
    | {"covariate_type": S, "type": S, "description": S, "subject_id": S, "object_id": S, "status": S}
    | {"start_date": S, "end_date": S, "source_text": S, "text_unit_id": S},
}


def name_of(type_: pa.DataType) -> str:
    return str(type_).replace("element: ", "").replace("item: ", "")


def tables_of(index: Index) -> dict[str, pa.Table]:
    return {name: pq.read_table(pa.BufferReader(pa.py_buffer(content))) for name, content in encode(index)}


def back(index: Index) -> dict[str, Stored[Any]]:
    contents = dict(encode(index))
    ids = [d.id for d in index.documents]
    return {
        name: Stored(table, partial(contents.__getitem__, table.file), lambda: ids)
        for name, table in TABLES.items()
    }


MET = Span("d1", 0, 11)
AN_INDEX = Index(
    documents=[
        Document("d0", 0, "Bees", "Ann keeps bees.", "bees.txt"),
        Document("d1", 1, "Ann", "Ann met Bob in May.", "ann.txt", "2024-05-01", {"b": "2", "a": "ä"}),
    ],
    chunks=[
        Chunk("c0", 0, "d0", 0, 15, "Ann keeps bees.", 5),
        Chunk("c1", 1, "d1", 0, 19, "Ann met Bob in May.", 6),
    ],
    entities=[
        Entity("e0", 0, "Ann", "person", "", ("c0", "c1"), (Span("d1", 0, 3), Span("d0", 0, 3)), ("A.",), 1),
        Entity("e1", 1, "Bob", "person", "", ("c1",), (Span("d1", 8, 11),), (), 1),
    ],
    relationships=[Relationship("r0", 0, "Ann", "Bob", "They met.", 1.0, 7.5, ("c1",), (MET,), 2)],
    triples=[Triple("t0", 0, "Ann", "met", "Bob", ("c1",)), Triple("t1", 1, "Ann", "keeps", "bees")],
    claims=[Claim("k0", 0, "Ann", "Bob", "meeting", "TRUE", "They met.", ("c1",), (MET,), "2024-05-01")],
    communities=[
        Community("m0", 0, 0, -1, (1,), (0, 1), (0,), ("c0", "c1")),
        Community("m1", 1, 1, 0, (), (1,), unsplit="complete"),
    ],
    reports=[
        Report("p0", 0, 0, 0, -1, (1,), "Ann", "A keeper.", 6.5, "Some.", (Finding("Met", "In May."),), 2, 9)
    ],
    joins=[AliasDecision("A.", "Ann", "initial", "only one A")],
    failures=[Failure("read", "encrypted", "x.pdf"), Failure("describe", "timeout")],
    words=["ann", "bee"],
)


@pytest.mark.parametrize("name", MICROSOFT)
def test_the_first_columns_are_those_of_microsoft_graphrag_by_name_order_and_type(name: str):
    for index in (Index(), AN_INDEX):
        schema = tables_of(index)[name].schema

        found = [(f.name, name_of(f.type)) for f in schema][: len(MICROSOFT[name])]

        assert found == list(MICROSOFT[name].items())


def test_the_first_columns_are_those_of_an_index_that_microsoft_graphrag_wrote(shared: Path):
    for name in MICROSOFT:
        theirs = pq.read_schema(shared / f"graphrag-index/christmas-carol/{name}.parquet")

        ours = list(tables_of(AN_INDEX)[name].schema)[: len(theirs)]

        assert [f.name for f in ours] == theirs.names
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.type == other.type or pa.types.is_null(other.type), (name, mine.name)


def test_computed_columns_say_what_other_tools_expect_there():
    tables = {name: table.to_pylist() for name, table in tables_of(AN_INDEX).items()}

    assert [d["text_unit_ids"] for d in tables["documents"]] == [["c0"], ["c1"]]
    assert [(c["entity_ids"], c["relationship_ids"], c["covariate_ids"]) for c in tables["text_units"]] == [
        (["e0"], [], []),
        (["e0", "e1"], ["r0"], ["k0"]),
    ]
    assert [e["frequency"] for e in tables["entities"]] == [2, 1]
    root, leaf = tables["communities"]
    assert (root["community"], root["parent"], root["size"], root["period"]) == (0, -1, 2, None)
    assert (root["entity_ids"], root["relationship_ids"], leaf["entity_ids"]) == (
        ["e0", "e1"],
        ["r0"],
        ["e1"],
    )
    [claim] = tables["covariates"]
    assert (claim["covariate_type"], claim["text_unit_id"], claim["source_text"]) == (
        "claim",
        "c1",
        "Ann met Bob",
    )
    [report] = tables["community_reports"]
    assert report["full_content"] == AN_INDEX.reports[0].text
    assert json.loads(report["full_content_json"])["findings"] == [
        {"summary": "Met", "explanation": "In May."}
    ]


def test_a_span_names_its_document_by_row_number():
    entities = tables_of(AN_INDEX)["entities"]

    assert entities.schema.field("spans").type.value_type == pa.struct(
        [("document", pa.int32()), ("start", pa.int32()), ("end", pa.int32())]
    )
    assert entities.column("spans")[0].as_py()[0] == {"document": 1, "start": 0, "end": 3}


def test_pandas_reads_every_table():
    pytest.importorskip("pandas")
    for name, table in tables_of(AN_INDEX).items():
        frame = table.to_pandas()
        assert list(frame.columns) == table.column_names, name
        assert len(frame) == table.num_rows


def test_every_field_of_every_row_is_stored():
    for name, table in TABLES.items():
        if name != "words":
            assert [c.source for c in table.stored] == [f.name for f in fields(table.make)], name  # type: ignore[arg-type]


def test_rows_that_name_what_is_not_there_are_refused():
    lost_span = Index(entities=[Entity("e", 0, "Ann", "person", "", spans=(Span("gone", 0, 3),))])
    lost_claim = Index(claims=[Claim("k", 0, "A", "B", "t", "TRUE", "", spans=(Span("gone", 0, 3),))])
    lost_member = Index(communities=[Community("m", 0, 0, -1, (), (7,))])

    for index in (lost_span, lost_claim):
        with pytest.raises(UsageError, match="gone"):
            list(encode(index))
    with pytest.raises(UsageError, match="entities"):
        list(encode(lost_member))


def test_text_that_is_not_unicode_is_refused_with_the_name_of_its_column():
    with pytest.raises(UsageError, match=r"documents\.title"):
        list(encode(Index(documents=[Document("d", 0, "\ud800", "", "a.txt")])))


def test_a_table_that_is_no_parquet_is_damaged():
    with pytest.raises(IndexDamaged, match="entities"):
        Stored(TABLES["entities"], lambda: b"no such thing" * 9, list).rows(0, 1)


def test_documents_of_an_index_from_before_the_column_omitted_are_read():
    older = pa.BufferOutputStream()
    pq.write_table(tables_of(AN_INDEX)["documents"].drop_columns(["omitted"]), older)

    stored = Stored(TABLES["documents"], older.getvalue().to_pybytes, list)

    assert stored.rows(0, 2) == AN_INDEX.documents
    assert [document.omitted for document in stored.rows(0, 2)] == [(), ()]


# Property: reading returns what was written.

text = st.text(max_size=8)
texts = st.lists(text, max_size=3).map(tuple)
whole = st.integers(-(2**63), 2**63 - 1)
number = st.floats(allow_nan=False)
place = st.integers(0, 2**31 - 1)
dates = st.none() | text


def several(row: type[Any], *values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.builds(row, *values), max_size=3)


def few(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=3).map(tuple)


def few_of(values: Collection[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return few(st.sampled_from(list(values))) if values else st.just(())


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    metadata = st.dictionaries(text, text, max_size=3)
    stated = (text, whole, text, text, text, dates, metadata, st.just(()), few(place))
    documents = {d.id: d for d in draw(several(Document, *stated))}
    ids = st.sampled_from(list(documents) or [""])
    spans = few_of(draw(several(Span, ids, place, place)) if documents else ())
    whole_numbers, findings = few(whole), few(st.builds(Finding, text, text))
    entities = draw(several(Entity, text, whole, text, text, text, texts, spans, texts, whole))
    relationships = draw(
        several(Relationship, text, whole, text, text, text, number, number, texts, spans, whole)
    )
    members, edges = few_of(range(len(entities))), few_of(range(len(relationships)))
    return Index(
        documents=list(documents.values()),
        chunks=draw(several(Chunk, text, whole, text, whole, whole, text, whole)),
        entities=entities,
        relationships=relationships,
        triples=draw(several(Triple, text, whole, text, text, text, texts)),
        claims=draw(several(Claim, text, whole, *[text] * 5, texts, spans, dates, dates)),
        communities=[  # each the child of the one before: a community must be below its parent
            replace(community, level=number, parent=number - 1)
            for number, community in enumerate(
                draw(
                    several(Community, text, whole, whole, whole, whole_numbers, members, edges, texts, text)
                )
            )
        ],
        reports=draw(
            several(
                Report, text, *[whole] * 4, whole_numbers, text, text, number, text, findings, whole, whole
            )
        ),
        joins=draw(several(AliasDecision, text, text, text, text)),
        failures=draw(several(Failure, text, text, text)),
        words=draw(st.lists(text, max_size=3)),
    )


def parts(length: int) -> Iterator[tuple[int, int]]:
    return ((start, stop) for start in range(length) for stop in range(start + 1, length + 1))


@given(indexes())
def test_rows_and_any_part_of_them_come_back_equal(index: Index):
    for name, stored in back(index).items():
        rows = list(getattr(index, name))
        assert stored.rows(0, len(rows)) == rows
        for start, stop in parts(len(rows)):
            assert stored.rows(start, stop) == rows[start:stop]
            for field in fields(rows[0]) if name != "words" else ():
                values = stored.column(field.name, start, stop)
                assert values == [getattr(row, field.name) for row in rows[start:stop]]


@given(indexes())
def test_equal_rows_give_equal_bytes(index: Index):
    def turned(metadata: Mapping[str, str]) -> dict[str, str]:
        return dict(reversed(list(metadata.items())))

    same = replace(index, documents=[replace(d, metadata=turned(d.metadata)) for d in index.documents])

    assert dict(encode(index)) == dict(encode(same))


def test_four_times_the_rows_of_a_large_table_are_twice_the_groups(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "conspectus.storage.tables.PER_GROUP", 70_000
    )  # simulates rows that are a hundred times as long

    def groups(count: int) -> int:
        failures = [Failure("read", f"error {number:06} " * 60, f"{number}.txt") for number in range(count)]
        content = dict(encode(Index(failures=failures)))["failures"]
        return pq.ParquetFile(pa.BufferReader(pa.py_buffer(content))).metadata.num_row_groups

    assert groups(32_000) == pytest.approx(2 * groups(8_000), abs=1)
