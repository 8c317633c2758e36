"""GraphRAG, Figure 3: number of entity references by chunk size and rounds of gleaning.

The paper uses a sample of HotpotQA. Its passages are far shorter than a chunk, so that the chunk size would have no
effect: the script joins them into documents of `--tokens` each before it cuts these into chunks.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from common import OURS, PAPER, SAMPLE, Corpus, Run, Table, figures, main

import conspectus
from conspectus import evaluation, tokens

HOTPOTQA = Corpus(
    "HotpotQA",
    "docqa/hotpotqa",
    "https://github.com/OSU-NLP-Group/HippoRAG (branch legacy, data/hotpotqa*.json)",
)
ROUNDS = (0, 1, 2, 3)
SIZES = (600, 1200, 2400)
FIGURE = {600: (9_500, 16_000, 19_500, 26_500), 1200: (7_000, None, None, None)}
"""References by chunk size and rounds of gleaning, as read from the figure within a few hundred; None: unreadable."""
PASSAGES = 100
"""Default number of passages: the paper does not say how many it used."""


def joined(texts: list[str], size: int) -> list[str]:
    """Join texts, in their order, into documents of about `size` tokens."""
    documents: list[list[str]] = []
    room = 0
    for text in texts:
        if room <= 0:
            documents.append([])
            room = size
        documents[-1].append(text)
        room -= tokens.count(text)
    return ["\n\n".join(parts) for parts in documents]


def figure_3(run: Run) -> Iterator[Table]:
    path = run.documents(HOTPOTQA)
    if path == SAMPLE:
        texts = [file.read_text("utf-8") for file in sorted(SAMPLE.rglob("*.txt"))]
    else:
        lines = (path / "corpus.jsonl").read_text("utf-8").splitlines()
        texts = [f"{row['title']}\n{row['text']}" for row in map(json.loads, lines)]
    texts = texts[: run.arguments.passages]
    documents = joined(texts, run.arguments.tokens)
    settings = run.settings("graphrag-paper", {"reports.write": False})
    rounds = ROUNDS if run.asks else ROUNDS[:1]
    folder = run.work / f"p1-figure3-{'model' if run.asks else 'extractive'}"
    rules = conspectus.build(documents=documents, folder=folder / "documents", model="extractive").index
    varied: dict[str, Any] = {"chunk.tokens": SIZES}
    varied |= {"extract.max_gleanings": ROUNDS} if run.asks else {}
    done = run.step(evaluation.ablate, rules, folder, preset="figure3", varied=varied, settings=settings)
    found = {
        (row["chunk.tokens"], row.get("extract.max_gleanings", 0)): row["references"] for row in done.rows
    }
    rows = []
    for size in SIZES:
        if size in FIGURE:
            rows.append((f"{size:,} tokens", PAPER, figures(FIGURE[size][: len(rounds)], 0)))
        rows.append((f"{size:,} tokens", OURS, figures((found.get((size, n)) for n in rounds), 0)))
    differs = [
        f"{len(texts)} passages of ours, joined into {len(documents)} documents; the paper's sample is not known, so"
        " that only the order of the rows and the growth along them compare.",
    ]
    if not run.asks:
        differs.append("No language model: nothing is gleaned, and references are names that rules find.")
    names = [f"{n} round{'s' * (n != 1)}" for n in rounds]
    yield Table("GraphRAG, Figure 3: entity references", names, rows, differs)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the number of passages and the size of documents."""
    parser.add_argument("--passages", type=int, default=PASSAGES, metavar="N", help="passages that are taken")
    parser.add_argument("--tokens", type=int, default=8000, metavar="N", help="tokens of a joined document")


if __name__ == "__main__":
    main(figure_3, __doc__, add_options)
