"""Graph RAG, Table III: what ToG-2 adds to models of several sizes, on two data sets. Run it once for each model."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, main
from p2 import answered, questions_of, share, wikidata

SETS = {"AdvHotpotQA": "EM", "FEVER": "accuracy"}
TABLE = {
    "Llama-3-8B": ("20.8", "34.7", "35.5", "52.9"),
    "Qwen2-7B": ("17.9", "30.8", "38.6", "53.1"),
    "GPT-3.5-turbo": ("23.1", "42.9", "51.8", "63.1"),
    "GPT-4o": ("47.7", "53.3", "66.2", "70.1"),
}


def table_3(run: Run) -> Iterator[Table]:
    settings, index, found = run.settings("tog2-paper"), wikidata(run), questions_of(run)
    rows = [(label, PAPER, list(figures)) for label, figures in TABLE.items()]
    cells = [
        share(
            answered(run, method, found[name], index, settings) if index and name in found else None, measure
        )
        for name, measure in SETS.items()
        for method in ("direct", "tog")
    ]
    rows.append((run.arguments.model, OURS, cells))
    columns = [f"{name}, {how}" for name in SETS for how in ("direct", "ToG-2")]
    yield Table("Graph RAG, Table III: EM (AdvHotpotQA) and accuracy (FEVER)", columns, rows)


if __name__ == "__main__":
    main(table_3, __doc__)
