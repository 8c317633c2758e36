"""GraphRAG, Figure 2: win rates of the row's condition against the column's condition, by criterion."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, main
from p1 import CONDITIONS, Experiment, add_dataset
from p1_table6 import TABLE


def figure_2(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    comparison = experiment.judgements()
    paper = {
        pair: mean for pair, (mean, _, _) in TABLE[experiment.name].items()
    }  # for comprehensiveness, the figure shows the means of Table 6
    for criterion, rates in comparison.win_rates.items():
        rows = []
        if criterion == "comprehensiveness":
            for one in CONDITIONS:
                known = [paper.get((one, other), 100 - paper.get((other, one), 50)) for other in CONDITIONS]
                rows.append((one, PAPER, [f"{mean:.0f}" for mean in known]))
        for one, others in rates.items():
            cells = []
            for name in CONDITIONS:
                rate = others.get(name)
                star = "*" if rate is not None and comparison.is_significant(criterion, one, name) else ""
                cells.append("-" if rate is None else f"{rate:.0f}{star}")
            rows.append((one, OURS, cells))
        differs = [
            f"{comparison.questions} questions, each pair judged {comparison.replicates} times by"
            f" {', '.join(comparison.judges)}; the paper: 125 and 5. A star: p below .05 after Holm.",
            comparison.position_bias,
        ]
        if criterion != "comprehensiveness":
            differs.append(
                "The paper's figures for this criterion are in a picture that we cannot read for certain."
            )
        yield Table(f"GraphRAG, Figure 2: {criterion} ({experiment.corpus.name})", CONDITIONS, rows, differs)


if __name__ == "__main__":
    main(figure_2, __doc__, add_dataset)
