"""Graph RAG, Table IV: recall of the relevant passages among the first two and the first five."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, main
from p2 import PASSAGES, passages, ranked, share

TABLE = {
    "BM25": ("32.3 / 41.2", "51.8 / 61.9", "55.4 / 72.2"),
    "Contriever": ("34.8 / 46.6", "46.6 / 57.5", "57.2 / 75.5"),
    "GTR": ("37.4 / 49.1", "60.2 / 67.9", "59.4 / 73.3"),
    "ColBERTv2": ("37.9 / 49.2", "59.2 / 68.2", "64.7 / 79.3"),
    "RAPTOR": ("35.7 / 45.3", "46.3 / 53.8", "58.1 / 71.2"),
    "Proposition": ("37.6 / 49.3", "56.4 / 63.1", "58.7 / 71.1"),
    "HippoRAG (Contriever)": ("41.0 / 52.1", "71.5 / 89.5", "59.0 / 76.2"),
    "HippoRAG (ColBERTv2)": ("40.9 / 51.9", "70.7 / 89.1", "60.5 / 77.7"),
}
OF_OURS = {"BM25": "bm25", "ColBERTv2": "vector", "RAPTOR": "raptor", "Proposition": "propositions"}
"""Our method below a row of the paper, by the label of that row."""


def table_4(run: Run) -> Iterator[Table]:
    settings = run.settings("hipporag-paper")
    found = passages(run, settings)
    rows = []
    for label, figures in TABLE.items():
        rows.append((label, PAPER, figures))
        method = "hipporag" if label == "HippoRAG (ColBERTv2)" else OF_OURS.get(label)
        if method is None or (method == "vector" and run.arguments.embedder == "none"):
            continue
        measured = {name: ranked(run, method, *where, settings) for name, where in found.items()}
        cells = [" / ".join(share(measured.get(name), f"R@{k}") for k in (2, 5)) for name in PASSAGES]
        rows.append((f"`{method}`", OURS, cells))
    differs = [
        f"Vectors: {run.arguments.embedder} (the paper: Contriever, GTR, ColBERTv2).",
        "RAPTOR reduces by PCA, not UMAP.",
    ]
    if not run.asks:
        differs.append(
            "No model is asked: HippoRAG goes along triples of GPT-3.5 where they are beside the passages, rules find"
            " the names in a question; summaries and propositions are sentences."
        )
    yield Table("Graph RAG, Table IV: R@2 / R@5", list(PASSAGES), rows, differs)


if __name__ == "__main__":
    main(table_4, __doc__)
