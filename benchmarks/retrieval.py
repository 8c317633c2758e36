"""One table of every ranking on every set of ../shared/data/docqa, the paper's figures beside it.

    python benchmarks/retrieval.py [--work DIR] [--embedder local:../shared/models/all-MiniLM-L6-v2] [--json
    FILE]

Indexes are built in the work folder and found there by the next run. R@2/R@5 in percent; CPU ms are medians.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from conspectus.api import evaluate_retrieval
from conspectus.evaluate.retrieval import Measured

SHARED = Path(__file__).parents[1] / "../shared"
SETS = ("2wiki", "musique", "hotpotqa")
PAPER = {  # Graph RAG (table IV), on the full corpora: those of musique and hotpotqa are larger than ours
    "BM25": ("51.8/61.9", "32.3/41.2", "55.4/72.2"),
    "Contriever": ("46.6/57.5", "34.8/46.6", "57.2/75.5"),
    "GTR": ("60.2/67.9", "37.4/49.1", "59.4/73.3"),
    "ColBERTv2": ("59.2/68.2", "37.9/49.2", "64.7/79.3"),
    "RAPTOR": ("46.3/53.8", "35.7/45.3", "58.1/71.2"),
    "Proposition": ("56.4/63.1", "37.6/49.3", "58.7/71.1"),
    "HippoRAG (Contriever)": ("71.5/89.5", "41.0/52.1", "59.0/76.2"),
    "HippoRAG (ColBERTv2)": ("70.7/89.1", "40.9/51.9", "60.5/77.7"),
}

Rows = dict[str, dict[str, Measured]]
"""Measures by row of the table and set."""


def main() -> None:
    arguments = _arguments()
    rows: Rows = {}
    for name in SETS:
        _add(rows, name, "", ["bm25", "walk"], arguments)
        _add(rows, name, ", titles withheld", ["bm25", "walk"], arguments, titles=False)
        if arguments.embedder != "none":
            _add(rows, name, ", embedder", ["vector", "hybrid", "walk"], arguments, embedder=arguments.embedder)
    _print(rows)
    chinese: Rows = {}
    _add(chinese, "cmrc-zh", "", ["bm25", "walk"], arguments)
    print("\n| cmrc-zh | R@1/R@5 | ms |\n|---|---|---|")
    for label, measured in chinese.items():
        row = measured["cmrc-zh"].as_row()
        print(f"| {label} | {100 * row['R@1']:.1f}/{100 * row['R@5']:.1f} | {row['ms']:.1f} |")
    if arguments.json:
        everything = {label: {name: m.as_row() for name, m in sets.items()} for label, sets in (rows | chinese).items()}
        arguments.json.write_text(json.dumps(everything, indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "docqa")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "conspectus-benchmark")
    model = SHARED / "models" / "all-MiniLM-L6-v2"
    parser.add_argument("--embedder", default=f"local:{model}" if model.is_dir() else "none")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _add(
    rows: Rows,
    name: str,
    note: str,
    methods: list[str],
    arguments: argparse.Namespace,
    *,
    titles: bool = True,
    embedder: str = "none",
) -> None:
    """Measure methods on a set, and put each into its row."""
    kind = f"{name}{'' if titles else '-untitled'}{'' if embedder == 'none' else '-vectors'}"
    found = evaluate_retrieval(
        arguments.data / name, methods, index_folder=arguments.work / kind, titles=titles,
        settings={"vectors.embedder": embedder},
    )  # fmt: skip
    for method, measured in found.items():
        rows.setdefault(f"{method}{note}", {})[name] = measured


def _print(rows: Rows) -> None:
    print(f"| R@2/R@5 | {' | '.join(SETS)} | ms |\n|{'---|' * (len(SETS) + 2)}")
    for label, figures in PAPER.items():
        print(f"| {label}, the paper | {' | '.join(figures)} | |")
    for label, sets in rows.items():
        means = [sets[name].as_row() for name in SETS]
        cells = [f"{100 * row['R@2']:.1f}/{100 * row['R@5']:.1f}" for row in means]
        print(f"| {label} | {' | '.join(cells)} | {means[0]['ms']:.1f} |")


if __name__ == "__main__":
    main()
