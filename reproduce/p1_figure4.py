"""GraphRAG, Figure 4: a page with the communities of a graph at the first two levels, and a table of their sizes.

The paper draws the graph of the news articles, as `--dataset news` does. It gives no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from common import OURS, Run, Table, main
from p1 import Experiment, add_dataset

from conspectus.interchange import draw_map


def figure_4(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    index = experiment.index
    page = run.work / f"p1-figure4-{experiment.name}.html"
    draw_map(index, page)
    rows = []
    for level in index.levels[:2]:
        sizes = sorted(community.size for community in index.communities_at(level))
        covered = sum(sizes) / max(1, len(index.entities))
        cells = [str(len(sizes)), f"{median(sizes):g}", str(sizes[-1]), f"{100 * covered:.0f}"]
        rows.append((f"level {level}", OURS, cells))
    differs = [f"The picture is {page}: nested discs for the levels, and not the paper's layout of nodes."]
    head = ("communities", "median size", "largest", "% of the entities")
    yield Table(f"GraphRAG, Figure 4 ({experiment.corpus.name})", head, rows, differs)


if __name__ == "__main__":
    main(figure_4, __doc__, add_dataset)
