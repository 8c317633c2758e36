"""GraphRAG, appendix C: answers of SS with windows of 8k, 16k, 32k and 64k tokens, judged in pairs."""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, PAPER, Run, Table, cell, figures, main
from p1 import Experiment, add_dataset

from conspectus import evaluation
from conspectus.errors import UsageError

WINDOWS = {"16k": 16_000, "32k": 32_000, "64k": 64_000}
AVERAGE = {"comprehensiveness": 58.1, "diversity": 52.4, "empowerment": 51.3}
"""Mean win rate of 8k against the three larger windows, in percent; we do not know that of directness."""


def appendix_c(run: Run) -> Iterator[Table]:
    if not run.asks:
        raise UsageError(
            "appendix C compares answers that a language model wrote and judged: name one with --model"
        )
    experiment = Experiment(run)
    index = experiment.index
    if "vectors.chunks" not in index.arrays:
        raise UsageError("appendix C asks by SS, which needs vectors: name an --embedder")
    experiment.questions()
    folder = run.work / f"p1-{experiment.name}-windows"
    settings = experiment.settings()
    run.step(
        evaluation.ablate, index, folder, preset="window", conditions=["SS"], sample=run.sample,
        questions=experiment.folder, settings=settings,
    )  # fmt: skip
    pairs = [f"SS@8k:SS@{size}" for size in WINDOWS]
    comparison = run.step(
        evaluation.judge_answers,
        folder,
        pairs=pairs,
        judge_model=run.arguments.judge or None,
        settings=settings,
    )
    for criterion in comparison.criteria:
        results = {row.second.partition("@")[2]: row for row in comparison.of(criterion)}
        cells = [cell((row.mean_first, row.low, row.high)) for row in map(results.get, WINDOWS) if row]
        mean = sum(row.mean_first for row in results.values()) / max(1, len(results))
        rows = [
            ("8k wins, %", PAPER, ["-", "-", "-", *figures([AVERAGE.get(criterion)], 1)]),
            ("8k wins, %", OURS, [*cells, f"{mean:.1f}"]),
        ]
        differs = [f"{comparison.questions} questions, judged {comparison.replicates} times."]
        yield Table(f"GraphRAG, appendix C: {criterion}", (*WINDOWS, "mean"), rows, differs)


if __name__ == "__main__":
    main(appendix_c, __doc__, add_dataset)
