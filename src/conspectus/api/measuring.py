"""Measure methods on sets of questions, and models by what they support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.api.asking import Asked, model_of, viewed
from conspectus.errors import UsageError
from conspectus.evaluation.answering import runs as answering
from conspectus.evaluation.answering.asked import read_questions
from conspectus.evaluation.comparing.asked_answers import found_by
from conspectus.evaluation.judging import judge_folder
from conspectus.evaluation.judging.judge_folder import statistics
from conspectus.evaluation.ranking.retrieval import evaluate
from conspectus.indexing.estimate import check_budget
from conspectus.models.base import Model
from conspectus.models.llm.session import check, open_session
from conspectus.models.rerankers import open_reranker
from conspectus.retrieval import METHODS
from conspectus.runtime import DEFAULT_FOLDER, Given, named, path_of, resolved, run_sync, session_for
from conspectus.storage import locks

if TYPE_CHECKING:
    from conspectus.evaluation.answering.runs import Scored
    from conspectus.evaluation.judging.compared import Comparison
    from conspectus.evaluation.judging.judge_folder import Done, JudgingPreview
    from conspectus.evaluation.ranking.retrieval import Measured
    from conspectus.indexing.pipeline import Progress
    from conspectus.models.llm.session import Checked


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
    target = None if index_folder is None else Path(index_folder)
    return evaluate(path_of(folder), methods, ks, target, resolved(settings), titles)


def evaluate_answers(
    questions: str | Path,
    index: Asked = DEFAULT_FOLDER,
    methods: Sequence[str] = ("walk",),
    *,
    kind: str = "qa",
    where: str | Sequence[str] = (),
    answers: str | Path | None = None,
    limit: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> list[Scored]:
    """Answer the questions of a file by each method, and measure the answers: `qa` by EM and F1, `kgqa` by Hits@1.

    `answers` is a file in which every answer is kept: a run that is broken off goes on from there. Failures are
    counted and have no score. Indexes and `where` are those of `ask`.
    """
    scores = {"qa": answering.answers_qa, "kgqa": answering.answers_kgqa}
    if kind not in scores:
        raise UsageError(f"answers are measured as {' or '.join(scores)}, not as {kind!r}")
    asked = read_questions(Path(questions))[:limit]
    view = viewed(index, where)
    opened = view.index
    for method in methods:
        view.check(named(METHODS, method).needs)
    chosen = resolved(settings)
    kept = None if answers is None else Path(answers)

    async def work() -> list[Scored]:
        async with (
            session_for(chosen, opened.folder, model) as session,
            open_reranker(chosen, opened.folder, model=model, session=session) as reranker,
        ):
            performer = model or (session.model if session else model_of(opened))
            return await answering.run(asked, methods, opened, performer, chosen, scores[kind], kept, reranker=reranker)

    return run_sync(work())


def estimate_judge(
    folder: str | Path,
    *,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    replicates: int = 5,
    sample: int | None = None,
    judge_model: str | None = None,
    reasons: bool = True,
    settings: Given = None,
) -> JudgingPreview:
    """Return what `evaluate_judge` would ask of its judge and what that would cost, and ask nothing."""
    chosen = judge_folder.judged_by(resolved(settings), judge_model)
    asked = judge_folder.ToJudge(tuple(criteria), tuple(pairs), replicates, sample, reasons)

    async def work() -> JudgingPreview:
        async with open_session(chosen, None, to_ask=False) as session:
            return judge_folder.preview(path_of(folder), asked, chosen, session)

    return run_sync(work())


def evaluate_judge(
    folder: str | Path,
    *,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    replicates: int = 5,
    sample: int | None = None,
    judge_model: str | None = None,
    reasons: bool = True,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Done:
    """Have a model judge the answers of a comparison's folder head to head, and test what it preferred (GraphRAG §4,
    G).

    `criteria` are names of the paper's and files of more, `pairs` are named as `C0:SS`; empty means all. `sample`
    draws so many questions. Judgements that are there are not asked for again, failed ones are. What all judgements of
    this judge say, win rates and their pictures are written into the folder. A budget is checked before the first call.

    Raises UsageError where there is nothing to compare or no judge, IndexBusy where another process writes there.
    """
    chosen = resolved(settings) if model else judge_folder.judged_by(resolved(settings), judge_model)
    asked = judge_folder.ToJudge(tuple(criteria), tuple(pairs), replicates, sample, reasons)
    target = path_of(folder)
    judge_folder.lay_out(target, asked, chosen)  # what is wrong is told before a file is written

    async def work() -> Done:
        async with session_for(chosen, target, model) as session:
            if session and session.sender.ledger.limited:
                check_budget(judge_folder.preview(target, asked, chosen, session).estimate, session.sender.ledger)
            performer = session.model if session else model
            assert performer is not None
            by = model.name if model else found_by(chosen, "Judge")
            found = await judge_folder.judge_folder(target, asked, chosen, performer, by, progress)
            return judge_folder.Done(found, session.total, session.notices) if session else judge_folder.Done(found)

    with locks.writing(target, "comparison"):
        return run_sync(work())


def evaluate_statistics(folder: str | Path, *, judge_model: str | None = None) -> Comparison:
    """Test what the judgements that a comparison's folder has say, ask nothing, and write it there (GraphRAG
    appendix G).

    p values are corrected for all pairs that were judged by a criterion. Raises UsageError where there are no
    judgements, or those of several judges and none is named.
    """
    return statistics(path_of(folder), judge_model)


def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to what is configured, and return what the servers support."""
    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model needs no server: name a language model with --model")
    embedder = chosen.vectors.embedder
    remote = "" if embedder.partition(":")[0] in ("none", "local") else embedder

    async def work() -> list[Checked]:
        async with open_session(chosen, None) as session:
            return await check(session, chosen, remote)

    return run_sync(work())
