"""GraphRAG, Table 2: units and tokens that an answer from each level reads, and their share of the source text."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, figures, main
from p1 import GRAPHS, Experiment, add_dataset

from conspectus import evaluation

CONDITIONS = ("C0", "C1", "C2", "C3", "TS")
TABLE = {
    "podcast": {
        "units": (34, 367, 969, 1310, 1669),
        "tokens": (26657, 225756, 565720, 746100, 1014611),
        "% of TS": (2.6, 22.2, 55.8, 73.5, 100.0),
    },
    "news": {
        "units": (55, 555, 1797, 2142, 3197),
        "tokens": (39770, 352641, 980898, 1140266, 1707694),
        "% of TS": (2.3, 20.7, 57.4, 66.8, 100.0),
    },
}


def table_2(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    index = experiment.index
    found = {row.condition: row for row in evaluation.units_read(index)}
    levels = [found.get(name) for name in CONDITIONS]
    ours = {
        "units": figures((row and row.units for row in levels), 0),
        "tokens": figures((row and row.tokens for row in levels), 0),
        "% of TS": figures((row and 100 * row.share for row in levels), 1),
    }
    rows = []
    for name, values in TABLE[experiment.name].items():
        rows += [(name, PAPER, figures(values, 1 if "%" in name else 0)), (name, OURS, ours[name])]
    nodes, edges = GRAPHS[experiment.name]
    alone = sum(community.size == 1 for community in index.communities_at(0))
    differs = [
        f"Of the units of C0 to C3, {alone} each are reports on one entity that nothing joins to another.",
        f"The graph has {len(index.entities):,} nodes and {len(index.relationships):,} edges, and {nodes:,} and"
        f" {edges:,} in the paper.",
        f"The hierarchy has {len(index.levels)} levels here, of which the first four are shown.",
    ]
    yield Table(f"GraphRAG, Table 2 ({experiment.corpus.name})", CONDITIONS, rows, differs)


if __name__ == "__main__":
    main(table_2, __doc__, add_dataset)
