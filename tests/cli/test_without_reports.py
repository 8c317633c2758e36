"""`conspectus index --no-reports`: reports are written on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_questions_about_the_whole_are_rolled_up_and_other_methods_say_what_to_do(run: Run, corpus: Path):
    assert "Reports: none.\n" in run("index", corpus, "--index", "i", "--no-reports").stdout
    answer = run("ask", "What are the main themes?", "--index", "i")

    assert "### " in answer.stdout
    assert "rollup: it asks about the corpus as a whole" in answer.stderr
    assert "written for it" in answer.stderr
    for method in ("global", "drilldown", "drift"):
        assert "rollup" in run("ask", "What then?", "--index", "i", "--method", method, code=2).stderr


def test_where_no_report_speaks_to_a_question_about_the_whole_passages_do_and_the_reason_is_given(run: Run):
    Path("one").mkdir()
    for text in (
        "The bakery opens at six. Bread is sold until noon.",
        "Ada runs the bakery. The oven was repaired.",
    ):
        Path("one/a.txt").write_text(text)
        run("index", "one", "--index", "i", "--fresh")
        answer = run("ask", "What are the main themes?", "--index", "i")

        assert text.partition(".")[0] in answer.stdout
        assert "whole" in answer.stderr
        assert "report" in answer.stderr
