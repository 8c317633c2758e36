"""`conspectus index --no-reports`: reports are written when a question needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_questions_about_the_whole_are_rolled_up_and_other_methods_say_what_to_do(run: Run, corpus: Path):
    assert "Reports by level: none." in run("index", corpus, "--index", "i", "--no-reports").stdout
    answer = run("ask", "What are the main themes?", "--index", "i")

    assert "### " in answer.stdout
    assert "rollup: it asks about the corpus as a whole" in answer.stderr
    assert "written for it" in answer.stderr
    for method in ("global", "drilldown", "drift"):
        assert "rollup" in run("ask", "What then?", "--index", "i", "--method", method, code=2).stderr
