"""Tests of comparing tables with the schema of GraphRAG 3.x."""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from making import an_index

from conspectus.interchange.exporting import write_graphrag
from conspectus.interchange.graphrag import SCHEMA, check_schema
from conspectus.storage import store


def test_our_own_tables_are_what_its_readers_expect(tmp_path: Path):
    index = an_index(
        "Ada met Ruben.", entities=["Ada", "Ruben"], edges=[("Ada", "Ruben")], reports=["On Ada"]
    )
    with store.writing(tmp_path):
        store.commit(tmp_path, index, settings={}, usage={})

    assert check_schema(tmp_path) == []


def test_an_index_without_rows_has_the_same_columns(tmp_path: Path):
    with store.writing(tmp_path):
        store.commit(tmp_path, an_index("Nothing."), settings={}, usage={})

    assert check_schema(tmp_path) == []


def test_its_own_output_passes(shared: Path):
    assert check_schema(shared / "graphrag-index/christmas-carol") == []


def test_pandas_reads_what_we_write_with_exactly_its_columns(tmp_path: Path):
    import pandas as pd

    write_graphrag(an_index("Ada met Ruben.", entities=["Ada"], reports=["On Ada"]), tmp_path)

    for table, columns in SCHEMA.items():
        assert list(pd.read_parquet(tmp_path / f"{table}.parquet").columns) == list(columns)


def test_a_column_of_another_type_place_or_name_is_told(tmp_path: Path):
    write_graphrag(an_index("Ada met Ruben.", entities=["Ada"]), tmp_path)
    file = tmp_path / "entities.parquet"
    table = pq.read_table(file)
    degree = table.schema.get_field_index("degree")
    table = table.set_column(degree, "degree", pa.array([1.5])).drop_columns(["type"])
    pq.write_table(table, file)

    told = {m.column: str(m) for m in check_schema(tmp_path)}

    assert told["type"] == "entities.type should be string in column 4 and is missing"
    assert told["degree"] == "entities.degree should be int64 in column 8 and is double in column 7"
    assert "description" in told  # its position changed
    assert "title" not in told


def test_a_missing_table_is_told_but_claims_may_be_missing(tmp_path: Path):
    write_graphrag(an_index("Ada met Ruben.", entities=["Ada"]), tmp_path)
    (tmp_path / "covariates.parquet").unlink()
    (tmp_path / "communities.parquet").unlink()

    assert [str(m) for m in check_schema(tmp_path)] == ["communities.* should be a table and is missing"]
