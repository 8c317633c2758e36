"""Print a table of every ranking on every data set of ../shared/data/docqa, with the paper's figures for comparison.

    python benchmarks/retrieval.py [--work DIR] [--embedder local:../shared/models/all-MiniLM-L6-v2] [--json
    FILE]

Indexes are built in the work folder and reused by the next run. R@2/R@5 are in percent; CPU ms are medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conspectus.api import import_openie
from conspectus.evaluation.retrieval import evaluate_retrieval
from conspectus.evaluation.statistics import Measured

SHARED = Path(__file__).parents[1] / "../shared"
SETS = ("2wiki", "musique", "hotpotqa")
PAPER = {  # Graph RAG (table IV), on the full corpora; ours of musique and hotpotqa are smaller
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
"""Measures by row of the table and by data set."""


BY_WORDS = ["bm25", "walk", "mixed", "ircot", "propositions", "raptor"]
"""Every ranking that needs neither vectors nor a language model. `hipporag` and `tog` are not among them: they follow a
graph of triples, which exists only for passages with given triples."""
BY_MEANING = ["vector", "hybrid", "walk", "mixed", "propositions", "raptor"]


def main() -> None:
    arguments = _arguments()
    rows: Rows = {}
    for name in SETS:
        _add(rows, name, "", BY_WORDS, arguments)
        _add(rows, name, " around walk", ["ircot"], arguments, settings={"ircot.retriever": "walk"})
        _add(rows, name, ", titles withheld", ["bm25", "walk"], arguments, titles=False)
        if arguments.embedder != "none":
            _add(rows, name, ", embedder", BY_MEANING, arguments, embedder=arguments.embedder)
    _add_given_triples(rows, "musique", arguments)
    _print(rows)
    chinese: Rows = {}
    _add(chinese, "cmrc-zh", "", ["bm25", "walk", "mixed"], arguments)
    print("\n| cmrc-zh | R@1/R@5 | ms |\n|---|---|---|")
    for label, measured in chinese.items():
        row = measured["cmrc-zh"].as_row()
        print(f"| {label} | {100 * row['R@1']:.1f}/{100 * row['R@5']:.1f} | {row['ms']:.1f} |")
    if arguments.json:
        everything = {
            label: {name: m.as_row() for name, m in sets.items()} for label, sets in (rows | chinese).items()
        }
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
    kind: str = "",
    settings: Mapping[str, str] = {},
) -> None:
    """Measure methods on a data set, and add each to its row; `kind` distinguishes several indexes of one data set."""
    kind = f"{name}{'' if titles else '-untitled'}{'' if embedder == 'none' else '-vectors'}{kind}"
    for method in methods:
        print(f"{name}{note}: {method}", file=sys.stderr)
        found = evaluate_retrieval(
            arguments.data / name, [method], index_folder=arguments.work / kind, titles=titles,
            settings={"vectors.embedder": embedder, **settings},
        )  # fmt: skip
        rows.setdefault(f"{method}{note}", {})[name] = found[method]


def _add_given_triples(rows: Rows, name: str, arguments: argparse.Namespace) -> None:
    """Measure HippoRAG's methods and `tog` on the triples that GPT-3.5 extracted from the passages of a data set."""
    triples = arguments.data / name / "openie-gpt-3.5.jsonl"
    if not triples.is_file():
        return
    for embedder in dict.fromkeys(("none", arguments.embedder)):
        folder = arguments.work / f"{name}{'' if embedder == 'none' else '-vectors'}-openie"
        evaluate_retrieval(
            arguments.data / name, ["bm25"], index_folder=folder, settings={"vectors.embedder": embedder}
        )
        import_openie(triples, folder, settings={"vectors.embedder": embedder})
        note = f", GPT-3.5's triples{'' if embedder == 'none' else ', embedder'}"
        methods = ["hipporag", "hipporag2", "combined", "tog"]
        _add(rows, name, note, methods, arguments, embedder=embedder, kind="-openie")


def _print(rows: Rows) -> None:
    print(f"| R@2/R@5 | {' | '.join(SETS)} | ms |\n|{'---|' * (len(SETS) + 2)}")
    for label, figures in PAPER.items():
        print(f"| {label}, the paper | {' | '.join(figures)} | |")
    for label, sets in rows.items():
        means = {name: measured.as_row() for name, measured in sets.items()}
        cells = [
            f"{100 * means[n]['R@2']:.1f}/{100 * means[n]['R@5']:.1f}" if n in means else "" for n in SETS
        ]
        print(f"| {label} | {' | '.join(cells)} | {next(iter(means.values()))['ms']:.1f} |")


if __name__ == "__main__":
    main()
