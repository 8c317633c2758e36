"""GraphRAG, Table 6: significance tests of the win rates of each pair of conditions (appendix G)."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, cell, main
from p1 import Experiment, add_dataset

from conspectus.evaluation.tables import probability

PAIRS = (
    "C0-TS", "C1-TS", "C2-TS", "C3-TS", "C0-SS", "C1-SS", "C2-SS", "C3-SS", "TS-SS",
    "C0-C1", "C0-C2", "C1-C2", "C0-C3", "C1-C3", "C2-C3",
)  # fmt: skip
FIGURES = {
    "podcast": (
        (50.24, -0.06, "1"), (51.92, -1.56, "0.633"), (57.28, -4.10, "<0.001"), (56.48, -3.42, "0.006"),
        (71.92, -6.20, "<0.001"), (75.44, -7.45, "<0.001"), (77.76, -8.17, "<0.001"), (78.96, -8.12, "<0.001"),
        (83.12, -8.85, "<0.001"), (53.20, -1.96, "0.389"), (50.24, -0.23, "1"), (51.52, -1.62, "0.633"),
        (49.12, -0.56, "1"), (50.32, -0.66, "1"), (52.24, -1.97, "0.389"),
    ),
    "news": (
        (55.52, -2.03, "0.17"), (58.80, -3.62, "0.002"), (62.08, -5.07, "<0.001"), (63.60, -5.63, "<0.001"),
        (71.76, -6.30, "<0.001"), (74.72, -7.78, "<0.001"), (79.20, -8.34, "<0.001"), (79.44, -8.44, "<0.001"),
        (79.60, -8.27, "<0.001"), (51.92, -0.45, "0.777"), (53.68, -1.54, "0.371"), (57.76, -4.01, "<0.001"),
        (52.16, -0.86, "0.777"), (55.12, -2.94, "0.016"), (58.64, -3.68, "0.002"),
    ),
}  # fmt: skip
"""Comprehensiveness, for each of PAIRS: mean win rate of the first, Z, p after Holm. We lack the other criteria."""
TABLE = {
    name: {tuple(pair.split("-")): row for pair, row in zip(PAIRS, rows, strict=True)}
    for name, rows in FIGURES.items()
}


def table_6(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    comparison = experiment.judgements()
    for criterion in comparison.criteria:
        rows = []
        for row in comparison.of(criterion):
            paper = TABLE[experiment.name].get((row.first, row.second))
            label = f"{row.first} - {row.second}"
            if paper and criterion == "comprehensiveness":
                mean, z, p = paper
                rows.append((label, PAPER, [f"{mean:.2f}", f"{z:.2f}", p, "125"]))
            z = "-" if row.z is None else f"{row.z:.2f}"
            cells = [
                cell((row.mean_first, row.low, row.high)),
                z,
                probability(row.p_holm),
                str(row.questions),
            ]
            rows.append((label, OURS, cells))
        differs = [
            f"Each pair was judged {comparison.replicates} times by {', '.join(comparison.judges)} (paper: 5).",
            f"p is corrected for {len(comparison.of(criterion))} pairs (15 in the paper).",
        ]
        head = ("mean of the first", "Z", "p (Holm)", "questions")
        yield Table(f"GraphRAG, Table 6: {criterion} ({experiment.corpus.name})", head, rows, differs)


if __name__ == "__main__":
    main(table_6, __doc__, add_dataset)
