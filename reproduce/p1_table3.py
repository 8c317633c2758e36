"""GraphRAG, Tables 3 and 4: number of factual claims in an answer, and of clusters of similar claims."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, cell, figures, main
from p1 import CONDITIONS, Experiment, add_dataset

TABLE_3 = {
    "podcast": (32.21, 32.20, 32.46, 32.28, 31.39, 26.50),
    "news": (34.18, 32.50, 31.62, 33.14, 32.89, 25.23),
}
TABLE_4 = {
    "podcast": {
        0.5: (23.16, 22.62, 22.52, 21.93, 21.14, 18.55),
        0.8: (19.26, 18.77, 18.46, 17.89, 16.66, 15.07),
    },
    "news": {
        0.5: (23.42, 21.85, 21.90, 22.13, 21.80, 17.92),
        0.8: (18.86, 17.78, 17.82, 17.79, 17.30, 14.80),
    },
}
"""Clusters by the threshold of the distance, 1 - ROUGE-L; 0.6 and 0.7 are illegible in our copy of the paper."""
AGREEMENT = {"claims": "78", "clusters": "69 to 70"}
"""Percentage of pairs in which the measure prefers the same answer as the majority of the judgements."""


def tables_3_and_4(run: Run, tables: tuple[int, ...] = (3, 4)) -> Iterator[Table]:
    experiment = Experiment(run)
    counts = experiment.claims()
    averages = {one.condition: one.averages for one in counts.conditions if one.averages}

    def ours(measure: str) -> list[str]:
        return [cell(averages.get(name, {}).get(measure)) for name in CONDITIONS]

    differs = [
        f"{max((one.answers for one in counts.conditions), default=0)} questions; the paper has 125.",
        f"{counts.unique:,} different claims in all answers; the paper has 47,075 on both corpora, by 1,500 answers.",
    ]
    corpus = experiment.corpus.name
    if 3 in tables:
        rows = [("claims", PAPER, figures(TABLE_3[experiment.name])), ("claims", OURS, ours("claims"))]
        yield Table(f"GraphRAG, Table 3: claims of an answer ({corpus})", CONDITIONS, rows, differs)
    if 4 in tables:
        rows = []
        for threshold in (0.5, 0.6, 0.7, 0.8):
            paper = TABLE_4[experiment.name].get(threshold, [None] * len(CONDITIONS))
            rows.append((f"at {threshold}", PAPER, figures(paper)))
            rows.append((f"at {threshold}", OURS, ours(f"clusters at {threshold}")))
        yield Table(f"GraphRAG, Table 4: clusters of an answer ({corpus})", CONDITIONS, rows, differs)
    if counts.agreement:
        rows = [
            ("agreement, %", PAPER, [AGREEMENT[one.measure.partition(" ")[0]] for one in counts.agreement])
        ]
        rows.append(("agreement, %", OURS, figures((one.rate for one in counts.agreement), 1)))
        rows.append(("pairs", OURS, [str(one.compared) for one in counts.agreement]))
        names = [one.measure for one in counts.agreement]
        yield Table(f"GraphRAG, §4.2: claims and judges ({corpus})", names, rows, differs)


if __name__ == "__main__":
    main(tables_3_and_4, __doc__, add_dataset)
