"""Graph RAG: effects of ToG-2's width and depth and of HippoRAG's damping. We know of no such table in the paper.

ToG-2 uses Wikidata with a language model, and the films of MetaQA without one.
"""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, Run, Table, main
from p2 import answered, films, passages, questions_of, ranked, share, wikidata

from conspectus.api import open_index

WIDTHS, DEPTHS = (1, 2, 3, 4), (1, 2, 3)
"""Widths and depths that are tried; the paper uses width 3 and depth 3."""
DAMPINGS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Damping factors that are tried (probability of following an edge); the paper uses 0.5."""
ACCURACY = ("FEVER", "Creak")


def widths_and_depths(run: Run) -> Iterator[Table]:
    folder, question_files = wikidata(run) if run.asks else None, questions_of(run) if run.asks else {}
    index = open_index(folder) if folder else None
    if index is None and (given := films(run)):
        index, question_files = given
    if index is None:
        return
    for name, questions in question_files.items():
        rows = []
        for depth in DEPTHS:
            cells = []
            for width in WIDTHS:
                settings = run.settings("tog2-paper", {"tog.width": width, "tog.depth": depth})
                measured = answered(run, "tog", questions, index, settings, f"-{width}-{depth}")
                cells.append(share(measured, "accuracy" if name in ACCURACY else "EM"))
            rows.append((f"D = {depth}", OURS, cells))
        measure = "accuracy" if name in ACCURACY else "EM"
        head = [f"W = {width}" for width in WIDTHS]
        differs = ["The paper's figures are not known to us."]
        if not run.asks:
            differs.append(
                "No model is asked: relations are chosen by their words, and paths that fit end it."
            )
        yield Table(f"Graph RAG, ToG-2 by width and depth: {measure} ({name})", head, rows, differs)


def dampings(run: Run) -> Table:
    question_sets = passages(run, run.settings("hipporag-paper"))
    rows = []
    for damping in DAMPINGS:
        settings = run.settings("hipporag-paper", {"hippo.damping": damping})
        measured = {name: ranked(run, "hipporag", *where, settings) for name, where in question_sets.items()}
        cells = [" / ".join(share(row, f"R@{k}") for k in (2, 5)) for row in measured.values()]
        rows.append((f"{damping:g}", OURS, cells))
    differs = ["The paper's figures are not known to us."]
    return Table("Graph RAG, HippoRAG by damping: R@2 / R@5", list(question_sets), rows, differs)


def by_settings(run: Run) -> Iterator[Table]:
    yield from widths_and_depths(run)
    yield dampings(run)


if __name__ == "__main__":
    main(by_settings, __doc__)
