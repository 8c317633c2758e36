"""Measure methods on sets of questions, and models by what they support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.asking import model_of
from conspectus.building import open_index
from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.tables import Index
from conspectus.working import DEFAULT_FOLDER, Given, folder_of, resolved, run, session_for

if TYPE_CHECKING:
    from conspectus.evaluate.answering import Scored
    from conspectus.evaluate.retrieval import Measured
    from conspectus.models.check import Checked


def evaluate_retrieval(
    folder: str | Path,
    methods: Sequence[str] = ("bm25", "walk"),
    ks: Sequence[int] = (),
    index_folder: str | Path | None = None,
    *,
    settings: Given = None,
    titles: bool = True,
) -> dict[str, Measured]:
    """Rank the passages of a folder in the BEIR layout for each of its questions, and measure each method.

    The index of the passages is built once, in `index_folder` or in the folder itself; `ks` are depths of recall
    beside the usual ones. `as_row` of a result gives its means as they go into JSON.
    """
    from conspectus.evaluate.retrieval import evaluate

    target = None if index_folder is None else Path(index_folder)
    return evaluate(Path(folder), methods, ks, target, resolved(settings), titles)


def evaluate_answers(
    questions: str | Path,
    index: Index | str | Path = DEFAULT_FOLDER,
    methods: Sequence[str] = ("walk",),
    *,
    kind: str = "qa",
    answers: str | Path | None = None,
    limit: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> list[Scored]:
    """Answer the questions of a file by each method, and measure the answers: `qa` by EM and F1, `kgqa` by Hits@1.

    `answers` is a file in which every answer is kept: a run that is broken off goes on from there. Failures are
    counted and have no score.
    """
    from conspectus.evaluate import answering
    from conspectus.evaluate.asked import read_questions

    scores = {"qa": answering.answers_qa, "kgqa": answering.answers_kgqa}
    if kind not in scores:
        raise UsageError(f"answers are measured as {' or '.join(scores)}, not as {kind!r}")
    asked = read_questions(Path(questions))[:limit]
    opened = index if isinstance(index, Index) else open_index(index)
    chosen = resolved(settings)
    kept = None if answers is None else Path(answers)

    async def work() -> list[Scored]:
        async with session_for(chosen, folder_of(index, opened), model) as session:
            performer = model or (session.model if session else model_of(opened))
            return await answering.run(asked, methods, opened, performer, chosen, scores[kind], kept)

    return run(work())


def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to what is configured, and return what the servers support."""
    from conspectus.models.check import check
    from conspectus.models.opening import opened

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model needs no server: name a language model with --model")
    embedder = chosen.vectors.embedder
    remote = "" if embedder.partition(":")[0] in ("none", "local") else embedder

    async def work() -> list[Checked]:
        async with opened(chosen, None) as session:
            return await check(session, chosen, remote)

    return run(work())
