"""Tests of reading an output folder of Microsoft GraphRAG."""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from making import a_built_index
from making_graphrag import TEXT, Rows, claim, edge, tables

from conspectus import api, interchange
from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.interchange.exporting import write_graphrag
from conspectus.interchange.graphrag import Imported, check_schema, read_graphrag
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.references import find
from conspectus.storage import store


def imported(folder: Path, rows: dict[str, Rows]) -> Imported:
    for name, table in rows.items():
        pq.write_table(pa.Table.from_pylist(table), folder / f"{name}.parquet")
    return read_graphrag(folder)


def test_a_row_of_each_table_is_taken_over_with_its_id(tmp_path: Path):
    index = imported(tmp_path, tables()).index

    assert [e.id for e in index.entities] == ["e0", "e1", "e2"]
    assert [e.type for e in index.entities] == ["person", "location", "person"]
    assert (index.relationships[0].source, index.relationships[0].weight) == ("ADA BROOK", 8.0)
    assert index.reports[0].rating == 7.5
    assert index.claims[0].spans
    assert index.claims[0].start_date is None


def test_a_unit_stands_in_its_document_without_the_metadata_before_it(tmp_path: Path):
    index = imported(tmp_path, tables()).index

    assert (
        index.chunks[0].text == TEXT == index.documents[0].text[index.chunks[0].start : index.chunks[0].end]
    )


def test_a_missing_end_becomes_an_entity_and_reversed_pairs_are_one(tmp_path: Path):
    rows = tables()
    rows["relationships"] += [
        edge(1, "ORRAN MILL", "ADA BROOK", 3.0),
        edge(2, "ADA BROOK", "TARN"),
        edge(3, "TARN", "TARN"),
    ]

    got = imported(tmp_path, rows)

    assert got.counts["reversed pairs"] == 1
    assert got.counts["relationships with a missing end"] == 2
    assert got.counts["entities made for missing ends"] == 1
    assert got.counts["relationships of an entity with itself"] == 1
    assert [(r.source, r.target, r.weight) for r in got.index.relationships] == [
        ("ADA BROOK", "ORRAN MILL", 11.0),
        ("ADA BROOK", "TARN", 1.0),
    ]
    assert got.index.entities[3].name == "TARN"
    assert [e.degree for e in got.index.entities] == [2, 1, 0, 1]


def test_a_reference_to_a_merged_pair_leads_to_what_it_was_merged_into(tmp_path: Path):
    rows = tables()
    rows["relationships"].append(edge(1, "ORRAN MILL", "ADA BROOK"))
    rows["community_reports"][0]["findings"][0]["explanation"] = (
        "So it was [Data: Relationships (1); Entities (77)]."
    )

    got = imported(tmp_path, rows)

    assert got.index.reports[0].findings[0].explanation == "So it was [Data: Relationships (0)]."
    assert got.counts["references that lead nowhere"] == 1


def test_a_claim_that_says_nothing_is_dropped_and_one_without_entity_is_kept(tmp_path: Path):
    rows = tables()
    rows["covariates"] += [
        claim(1, "a quotation", None),
        claim(2, "THE COUNCIL", "The council paid nothing."),
    ]

    got = imported(tmp_path, rows)

    assert [c.subject for c in got.index.claims] == ["ADA BROOK", "THE COUNCIL"]
    assert got.counts["claims without a subject entity"] == 2
    assert got.counts["claims that say nothing"] == 1


def test_numbers_of_communities_that_are_not_their_places_are_mapped(tmp_path: Path):
    rows = tables()
    below = rows["communities"][0] | {
        "id": "c9",
        "community": 9,
        "level": 1,
        "parent": 4,
        "entity_ids": ["e0"],
    }
    rows["communities"] = [below, rows["communities"][0] | {"community": 4, "children": [9]}]
    rows["community_reports"] = [
        rows["community_reports"][0] | {"id": "r9", "community": 9, "human_readable_id": 9, "title": "Ada"},
        rows["community_reports"][0] | {"community": 4, "human_readable_id": 4},
    ]
    rows["community_reports"][0]["summary"] = "See [Data: Reports (4)]."

    index = imported(tmp_path, rows).index

    assert [(c.level, c.parent, c.children) for c in index.communities] == [(0, -1, (1,)), (1, 0, ())]
    assert [(r.title, r.community, r.number) for r in index.reports] == [("The mill", 0, 0), ("Ada", 1, 1)]
    assert index.reports[1].summary == "See [Data: Reports (0)]."


def test_a_unit_that_is_in_no_document_becomes_one(tmp_path: Path):
    rows = tables()
    rows["text_units"].append(
        rows["text_units"][0] | {"id": "u1", "human_readable_id": 1, "text": "Something else."}
    )

    got = imported(tmp_path, rows)

    assert got.counts["text units found in no document"] == 1
    assert got.index.documents[1].text == "Something else."


def test_2x_lets_a_unit_name_several_documents(tmp_path: Path):
    rows = tables()
    unit = rows["text_units"][0]
    del unit["document_id"]
    unit["document_ids"] = ["gone", "d0"]

    assert imported(tmp_path, rows).index.chunks[0].document_id == "d0"


def test_a_table_without_a_needed_column_is_an_error_that_names_it(tmp_path: Path):
    rows = tables()
    for row in rows["entities"]:
        del row["title"]

    with pytest.raises(IndexDamaged, match="title"):
        imported(tmp_path, rows)


def test_a_folder_without_tables_says_what_to_name(tmp_path: Path):
    with pytest.raises(IndexMissing, match="output folder"):
        read_graphrag(tmp_path)


def test_what_is_written_for_graphrag_is_read_back_as_the_same_graph(tmp_path: Path):
    texts = [
        TEXT,
        "Ada Brook asked Ruben Vale to pay for the Orran Mill.",
        "Ruben Vale met Ada Brook at the Orran Mill.",
    ]
    index = a_built_index(*texts)
    write_graphrag(index, tmp_path)

    got = read_graphrag(tmp_path).index

    assert check_schema(tmp_path) == []
    assert [(e.name, e.type, e.chunk_ids) for e in got.entities] == [
        (e.name, e.type, e.chunk_ids) for e in index.entities
    ]
    assert [(r.source, r.target, r.weight) for r in got.relationships] == [
        (r.source, r.target, r.weight) for r in index.relationships
    ]
    assert [(c.level, c.parent, set(c.entity_numbers)) for c in got.communities] == [
        (c.level, c.parent, set(c.entity_numbers)) for c in index.communities
    ]
    assert [r.text for r in got.reports] == [r.text for r in index.reports]


def test_what_the_format_can_hold_comes_back_as_it_was(tmp_path: Path):
    notes = "# Notes\n\nAda Brook bought the [Orran Mill](mill.html).\n\n---\n\nRuben Vale paid **nothing** for it.\n"
    records = [
        {
            "title": "Notes",
            "text": notes,
            "date": "2021-09-09",
            "path": "notes/mill.md",
            "author": "A. Brook",
        },
        {"title": "Letter", "text": "Ruben Vale met Ada Brook at the Orran Mill."},
    ]
    index = api.build(documents=records, folder=tmp_path / "index").index
    assert index.documents[0].omitted

    interchange.export(index, "graphrag", tmp_path / "once")
    again = read_graphrag(tmp_path / "once")
    interchange.export(again.index, "graphrag", tmp_path / "twice")

    assert not any(again.counts.values())
    assert list(again.index.chunks) == list(index.chunks)
    assert list(again.index.reports) == list(index.reports)
    for path in (tmp_path / "once").glob("*.parquet"):
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "twice" / path.name)), path.name
    for name in ("path", "date", "metadata", "omitted"):
        assert [getattr(d, name) for d in again.index.documents] == [
            getattr(d, name) for d in index.documents
        ]


# A real index


@pytest.fixture(scope="module")
def carol(shared: Path) -> Imported:
    return read_graphrag(shared / "graphrag-index/christmas-carol")


def test_the_counts_of_a_real_index_are_told(carol: Imported):
    assert {what: n for what, n in carol.counts.items() if n} == {
        "entities in no community": 25,
        "relationships with a missing end": 84,
        "entities made for missing ends": 32,
        "reversed pairs": 43,
        "claims without a subject entity": 71,
        "claims that say nothing": 25,
        "references that lead nowhere": 9,
    }
    assert len(list(carol.notices())) == 7
    assert (len(carol.index.entities), len(carol.index.relationships)) == (529 + 32, 978 - 43)
    assert (len(carol.index.claims), len(carol.index.communities)) == (406 - 25, 122)


def test_every_reference_of_a_real_index_leads_somewhere(carol: Imported):
    index = carol.index
    size = {
        "Reports": index.reports,
        "Sources": index.chunks,
        "Entities": index.entities,
        "Relationships": index.relationships,
        "Claims": index.claims,
    }
    references = [r for report in index.reports for f in report.findings for r in find(f.explanation)]

    assert len(references) > 1000
    assert all(r.number < len(size[r.table]) for r in references)


@pytest.mark.parametrize("level", range(4))
def test_a_real_index_answers_from_each_of_its_four_levels(carol: Imported, level: int):
    answer = api.ask(
        "What are the main themes?",
        carol.index,
        method="global",
        level=level,
        model=ExtractiveModel.of_index(carol.index),
    )

    assert answer.level == level
    assert len(answer.citations) >= 3
    assert all(source.text for citation in answer.citations for source in citation.sources)


def test_a_real_index_answers_a_question_about_one_thing(carol: Imported, tmp_path: Path):
    with store.writing(tmp_path):
        store.commit(tmp_path, carol.index, settings=carol.index.settings, usage={})

    answer = api.ask("Who is Tiny Tim?", tmp_path, method="local")

    assert "crutch" in answer.text
    assert check_schema(tmp_path) == []
