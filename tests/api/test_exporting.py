"""Tables under plain names for pandas, DuckDB and spreadsheets, and the map, from Python."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from making import a_built_index

import conspectus
from conspectus.errors import UsageError

INDEX = a_built_index(
    "Orran Mill was founded by Ada Brook in 1901. Orran Mill stands in Hollin.",
    "Tarn Works was founded by Ruben Vale in 1850. Ruben Vale kept Tarn Works until the flood.",
)
TABLES = {"documents", "text_units", "entities", "relationships", "communities", "community_reports"}


def test_parquet_and_csv_have_a_file_for_each_table(tmp_path: Path):
    for format, read in (("parquet", pd.read_parquet), ("csv", pd.read_csv)):
        folder = conspectus.export(INDEX, format, tmp_path / format)
        assert {path.stem for path in folder.iterdir()} >= TABLES
        shown = {
            path for path in folder.iterdir() if not path.name.startswith(".")
        }  # except the file that marks our output
        assert {path.suffix for path in shown} == {f".{format}"}
        entities = read(folder / f"entities.{format}")
        assert list(entities["title"]) == [entity.name for entity in INDEX.entities]


@pytest.mark.parametrize(
    ("package", "install", "use"),
    [
        ("duckdb", "conspectus[duckdb]", lambda index, to: conspectus.export(index, "duckdb", to / "a.duckdb")),
        ("networkx", "conspectus[graph]", lambda index, to: conspectus.export(index, "graphml", to / "a.graphml")),
        ("pandas", "pandas", lambda index, _: index.chunks.to_pandas()),
        ("polars", "polars", lambda index, _: index.chunks.to_polars()),
    ],
)  # fmt: skip
def test_a_package_that_is_missing_is_named_with_what_installs_it(
    package: str,
    install: str,
    use: Callable[[Any, Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, package, None)  # marks it as missing
    index = conspectus.build(documents=[chunk.text for chunk in INDEX.chunks], folder=tmp_path).index
    with pytest.raises(UsageError, match=f"{package} is not installed: pip install '{re.escape(install)}'"):
        use(index, tmp_path)


def test_duckdb_has_a_table_for_each_table(tmp_path: Path):
    for _ in range(2):  # the second export replaces the first
        path = conspectus.export(INDEX, "duckdb", tmp_path / "index.duckdb")
    with duckdb.connect(str(path)) as database:
        assert {row[0] for row in database.execute("SHOW TABLES").fetchall()} >= TABLES
        names = database.execute("SELECT title FROM entities").fetchall()
    assert names == [(entity.name,) for entity in INDEX.entities]
    assert [p.name for p in tmp_path.iterdir()] == ["index.duckdb"]


def test_duckdb_reads_the_tables_of_an_index_by_the_names_that_stay(tmp_path: Path):
    conspectus.build(
        documents=["Ada Brook founded Orran Mill. Orran Mill stands in Hollin."], folder=tmp_path
    )
    found = duckdb.connect().execute(f"SELECT title FROM '{tmp_path}/tables/entities.parquet'").fetchall()  # noqa: S608
    assert ("Orran Mill",) in found


def test_a_map_is_a_page(tmp_path: Path):
    assert "<html" in conspectus.draw_map(INDEX, tmp_path / "map.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"\.html"):
        conspectus.draw_map(INDEX, tmp_path / "map.gif")
    with pytest.raises(UsageError, match="levels"):
        conspectus.export(INDEX, "graphml", tmp_path / "graph", level=99)
    with pytest.raises(UsageError, match="graphml"):
        conspectus.export(INDEX, "exel")
