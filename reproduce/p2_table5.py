"""Graph RAG, Table V: exact match and F1 of short answers to multi-hop questions."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, main
from p2 import PASSAGES, answered, passages, share

TABLE = {
    "None": ("12.5 / 24.1", "31.0 / 39.6", "30.4 / 42.8"),
    "ColBERTv2": ("15.5 / 26.4", "33.4 / 43.3", "43.4 / 57.7"),
    "HippoRAG": ("19.2 / 29.8", "46.6 / 59.5", "41.8 / 55.0"),
    "IRCoT (ColBERTv2)": ("19.1 / 30.5", "35.4 / 45.1", "45.5 / 58.4"),
    "IRCoT + HippoRAG": ("21.9 / 33.3", "47.7 / 62.7", "45.7 / 59.2"),
}
STEPS = {"MuSiQue": 4, "2Wiki": 2, "HotpotQA": 2}
"""Maximum steps of IRCoT per data set, as in the scripts of HippoRAG's authors."""


def table_5(run: Run) -> Iterator[Table]:
    dense = "bm25" if run.arguments.embedder == "none" else "vector"
    methods = {
        "None": ("direct", "hipporag"),
        "ColBERTv2": (dense, "hipporag"),
        "HippoRAG": ("hipporag", "hipporag"),
        "IRCoT (ColBERTv2)": ("ircot", dense),
        "IRCoT + HippoRAG": ("ircot", "hipporag"),
    }
    found = passages(run, run.settings("hipporag-paper"))
    rows = []
    for label, figures in TABLE.items():
        method, around = methods[label]
        rows.append((label, PAPER, figures))
        measured = {}
        for name, (folder, index) in found.items():
            ircot = {"ircot.retriever": around, "ircot.steps": STEPS[name]}
            settings = run.settings("hipporag-paper", ircot)
            measured[name] = answered(run, method, folder, index, settings)
        cells = [
            f"{share(measured.get(name), 'EM')} / {share(measured.get(name), 'F1')}" for name in PASSAGES
        ]
        rows.append((f"`{method}`" + (f" around `{around}`" if method == "ircot" else ""), OURS, cells))
    differs = [
        f"`{dense}` stands for ColBERTv2.",
        "An answer reads as many chunks as its window of 8,000 tokens holds.",
    ]
    if not run.asks:
        differs.append(
            "No model is asked: answers are quotations cut short by rules, and closed-book ones are left out."
        )
    yield Table("Graph RAG, Table V: EM / F1", list(PASSAGES), rows, differs)


if __name__ == "__main__":
    main(table_5, __doc__)
