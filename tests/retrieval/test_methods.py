"""The registry of methods: a method is declared in one place, and everything else is derived from that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from making import a_built_index
from typer.testing import CliRunner

import conspectus
from conspectus import api
from conspectus.cli.app import app
from conspectus.errors import UsageError
from conspectus.evaluation import evaluate_retrieval
from conspectus.index import Index
from conspectus.retrieval import METHODS, MODULES, RANKINGS, auto, ranking, unregister
from conspectus.retrieval.base import hits_of
from conspectus.rows import Hit
from conspectus.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda. She cut its stones in winter, and measured the flood in spring.",
    "Zorba Orrin saw the weir of Quenda break.",
)
QUESTION = "Who rebuilt the weir of Quenda?"


@pytest.fixture
def toy() -> Iterator[str]:
    """A method that ranks chunks by their length, defined by a single function."""

    @ranking("toy-by-length", help="longest chunks first")
    def by_length(question: str, index: Index, settings: Settings) -> list[Hit]:
        import numpy as np

        return hits_of(np.array([len(chunk.text) for chunk in index.chunks], float), index, settings.search.k)

    assert by_length.__name__ == "by_length"
    yield "toy-by-length"
    unregister("toy-by-length")


@pytest.fixture(scope="module")
def index() -> Index:
    return a_built_index(*TEXTS)


def squeezed(text: str) -> str:
    """Return a text without white space, because lines of help break anywhere, even after hyphens."""
    return "".join(text.split())


def shown_help(command: str) -> str:
    return squeezed(CliRunner().invoke(app, [command, "--help"]).output)


def test_one_decorated_function_searches_and_answers(toy: str, index: Index):
    hits = api.search(QUESTION, index, method=toy)
    answer = conspectus.ask(QUESTION, index, method=toy)

    assert [hit.text for hit in hits] == sorted(TEXTS, key=len, reverse=True)
    assert answer.method == toy
    assert answer.citations


def test_it_keeps_to_the_documents_of_a_condition(toy: str, index: Index):
    assert [hit.document for hit in api.search(QUESTION, index, method=toy, where="path=1.txt")] == ["1.txt"]
    assert conspectus.ask(QUESTION, index, method=toy, where="path=1.txt").method == toy


def test_its_context_is_shown_without_an_answer(toy: str, index: Index):
    context = api.context(QUESTION, index, method=toy)
    assert [chunk.text for chunk in context.windows[0].sources] == sorted(TEXTS, key=len, reverse=True)


def test_it_is_evaluated_like_every_other_ranking(toy: str, tmp_path: Path):
    rows = [{"_id": str(i), "title": "", "text": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": QUESTION}) + "\n", "utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t0\t1\n", "utf-8")

    measured = evaluate_retrieval(tmp_path, methods=(toy,), settings={})

    assert measured[toy].as_row()["R@1"] == 1


def test_the_command_line_lists_it(toy: str):
    for command in ("ask", "search"):
        assert squeezed(f"{toy}: longest chunks first") in shown_help(command)


def test_every_method_is_in_the_help_and_the_documentation():
    shown = shown_help("ask")
    described = (DOCS / "methods.md").read_text("utf-8")
    for name in METHODS:
        assert squeezed(f"{name}: {METHODS[name].help}") in shown
        assert f"`{name}`" in described


def test_the_table_of_modules_is_what_they_declare():
    assert set(METHODS) == set(MODULES)
    assert all(METHODS[name].answer.__module__.startswith("conspectus.retrieval") for name in MODULES)
    assert all((name in RANKINGS) == (METHODS[name].rank is not None) for name in METHODS)


def test_auto_chooses_among_the_methods():
    assert set(get_args(auto.Choice)) <= set(METHODS)


def test_a_method_that_ranks_nothing_cannot_be_searched_by(index: Index):
    with pytest.raises(UsageError, match="bm25"):
        api.search(QUESTION, index, method="global")


def test_a_method_is_imported_when_it_is_first_used():
    code = "import sys; from conspectus.retrieval import METHODS; METHODS['bm25']; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "conspectus.retrieval.bm25" in run.stdout.split()
    assert "conspectus.retrieval.hippo" not in run.stdout.split()
