"""What `print` and the last line of a notebook cell show is short, readable and harmless."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from making import a_built_index

import conspectus

INDEX = a_built_index(
    "Orran Mill was founded by Ada Brook in 1901. Orran Mill stands in Hollin.",
    "Tarn Works was founded by Ruben Vale in 1850. Ruben Vale kept Tarn Works until the flood.",
)
QUESTION = "Who founded Tarn Works?"


def test_an_answer_is_printed_with_its_sources():
    answer = INDEX.ask(QUESTION)
    assert answer.citations
    shown = str(answer)
    assert shown.startswith(answer.text)
    for citation in answer.citations:
        assert f"[{citation.marker}]" in shown
        assert citation.sources[0].document in shown
        assert citation.sources[0].document.replace("_", r"\_") in answer._repr_markdown_()  # pyright: ignore[reportPrivateUsage]


def test_what_a_document_holds_does_not_command_the_terminal():
    answer = INDEX.ask(QUESTION)
    citation = answer.citations[0]
    source = replace(citation.sources[0], text="\x1b[31mred\x07 <script>*a*</script>", document="a\x1b]8;;x")
    hostile = replace(
        answer, text="x\x1b[2J", citations=(replace(citation, sources=(source,), title="t\x1b"),)
    )
    assert "\x1b" not in str(hostile) + hostile._repr_markdown_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in hostile._repr_markdown_()  # pyright: ignore[reportPrivateUsage]


def test_an_answer_can_be_written_as_json():
    answer = INDEX.ask(QUESTION)
    assert json.loads(json.dumps(answer.to_dict()))["citations"][0]["marker"] == answer.citations[0].marker


def test_what_is_shown_of_a_row_is_one_line():
    things = [INDEX, INDEX.ask(QUESTION), *INDEX.search("Tarn"), INDEX.entity("Tarn Works"), *INDEX.reports]
    things += [*conspectus.report_tree(INDEX), conspectus.Conversation(INDEX)]
    for thing in things:
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 300


def test_scores_are_shown_with_three_digits():
    (best, *_) = INDEX.search("Tarn")
    assert re.match(r"<Hit 0\.333, ", repr(replace(best, score=1 / 3)))


def test_an_index_an_entity_and_a_report_show_themselves_in_a_notebook():
    for thing in (INDEX, INDEX.entity("Tarn Works"), *INDEX.reports):
        assert thing._repr_markdown_()  # pyright: ignore[reportPrivateUsage]
    assert "Ruben Vale" in str(INDEX.entity("tarn works"))
    assert "entities" in INDEX._repr_markdown_()  # pyright: ignore[reportPrivateUsage]


def test_every_table_is_a_data_frame(tmp_path: Path):
    index = conspectus.build(documents=[chunk.text for chunk in INDEX.chunks], folder=tmp_path).index
    for table in ("documents", "chunks", "entities", "relationships", "communities", "reports"):
        assert len(getattr(index, table).to_pandas()) == len(getattr(index, table)), table
    entities: Any = index.entities
    chunks: Any = index.chunks
    assert list(entities.to_pandas()["title"]) == [entity.name for entity in index.entities]
    assert chunks.to_polars()["text"].to_list() == [chunk.text for chunk in index.chunks]


def test_the_graph_is_one_of_networkx_where_that_is_installed():
    pytest.importorskip("networkx")
    graph = INDEX.to_networkx()
    assert set(graph) == {entity.name for entity in INDEX.entities}
    assert graph.number_of_edges() == len(INDEX.relationships)


def test_what_a_build_returns_is_asked_like_its_index(tmp_path: Path):
    built = conspectus.build(documents=[chunk.text for chunk in INDEX.chunks], folder=tmp_path)
    assert built.ask(QUESTION).text == built.index.ask(QUESTION).text
    assert built.search("Tarn") == built.index.search("Tarn")
    assert built.entities == built.index.entities  # type: ignore[attr-defined]
    assert "entities" in built._repr_markdown_()  # pyright: ignore[reportPrivateUsage]
    assert "1 notice>" in repr(replace(built, notices=("one",)))
    assert copy.copy(built) == built
    with pytest.raises(AttributeError, match="no attribute 'index'"):
        _ = built.__class__.__new__(built.__class__).index


def test_an_answer_in_short_is_its_first_sentence():
    assert "Tarn Works was founded by Ruben Vale" in repr(INDEX.ask(QUESTION))
