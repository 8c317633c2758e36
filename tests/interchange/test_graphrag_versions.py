"""Tests of reading the output of several releases of Microsoft GraphRAG, whose columns differ."""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from making_graphrag import Rows, as_2x, tables

from conspectus import api
from conspectus.index import Index
from conspectus.interchange.graphrag import Imported, check_schema, read_graphrag
from conspectus.storage import store


def written(folder: Path, rows: Mapping[str, Rows]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in rows.items():
        pq.write_table(pa.Table.from_pylist(table), folder / f"{name}.parquet")
    return folder


def with_levels() -> dict[str, Rows]:
    """Two communities, the second a child of the first, each with a report."""
    rows = tables()
    whole, report = rows["communities"][0] | {"children": [1]}, rows["community_reports"][0]
    part = whole | {
        "id": "c1",
        "human_readable_id": 1,
        "community": 1,
        "level": 1,
        "parent": 0,
        "entity_ids": ["e0"],
    }
    below = report | {"id": "r1", "human_readable_id": 1, "community": 1, "title": "Ada Brook"}
    return rows | {"communities": [whole, part | {"children": []}], "community_reports": [report, below]}


def seen(index: Index) -> list[Any]:
    """Return the rows of an index, except the metadata of documents."""
    told = [(d.id, d.title, d.text) for d in index.documents]
    return [told, *(list(getattr(index, name)) for name in ("chunks", "entities", "relationships", "claims")), [
        (c.number, c.level, c.parent, c.children, c.entity_numbers) for c in index.communities
    ], list(index.reports)]  # fmt: skip


def test_an_index_of_an_earlier_release_is_read_as_that_of_the_latest(tmp_path: Path):
    latest = read_graphrag(written(tmp_path / "3", with_levels()))
    earlier = read_graphrag(written(tmp_path / "earlier" / "output", as_2x(with_levels())).parent)

    assert seen(earlier.index) == seen(latest.index)
    assert latest.index.reports[1].level == 1
    assert latest.index.communities[1].parent == 0
    assert earlier.counts == latest.counts


def test_what_2x_knows_of_a_document_is_its_metadata(tmp_path: Path):
    (document,) = read_graphrag(written(tmp_path, as_2x(tables()))).index.documents

    assert document.metadata == {"author": "A. Brook", "language": "en"}


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ('{"author": "A. Brook", "text": "x"}', {"author": "A. Brook"}),
        (None, {}),
    ],
)
def test_what_3x_keeps_of_a_row_is_its_metadata(raw: str | None, told: dict[str, str], tmp_path: Path):
    rows = tables()
    rows["documents"][0] |= {"raw_data": raw, "creation_date": "2026-01-02"}

    (document,) = read_graphrag(written(tmp_path, rows)).index.documents

    assert document.metadata == told | {"creation_date": "2026-01-02", "language": "en"}


def test_parents_that_were_merged_in_as_numbers_with_gaps_are_read(tmp_path: Path):
    rows = with_levels()
    for row, parent in zip(rows["communities"], (float("nan"), 0.0), strict=True):
        row["parent"] = parent

    assert [c.parent for c in read_graphrag(written(tmp_path, rows)).index.communities] == [-1, 0]


def test_a_graph_that_was_brought_without_its_texts_is_read_stored_and_asked(tmp_path: Path):
    rows = tables()
    for name in ("documents", "text_units", "covariates"):
        del rows[name]

    got: Imported = read_graphrag(written(tmp_path / "in", rows))
    with store.writing(tmp_path / "out"):
        store.commit(tmp_path / "out", got.index, settings=got.index.settings, usage={})

    assert got.counts["rows that name a missing text unit"] == 5
    assert "Ada" in api.ask("What are the main themes?", tmp_path / "out", method="global").text
    assert check_schema(tmp_path / "out") == []
