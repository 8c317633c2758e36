"""Judging a folder of answers: laid out, estimated, asked, and written down as statistics, win rates and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation import drawing
from conspectus.evaluation.comparing.asked_answers import found_by, names_in
from conspectus.evaluation.comparing.current_results import Judged, judged_in
from conspectus.evaluation.comparing.question_files import read_list
from conspectus.evaluation.jsonl_table import judgements_in
from conspectus.evaluation.judging import heatmap, matrices
from conspectus.evaluation.judging.compared import Comparison, compare
from conspectus.evaluation.judging.compared import write as write_statistics
from conspectus.evaluation.judging.criteria import criteria_of, keep_criteria
from conspectus.evaluation.judging.judge import judge, pending, standing
from conspectus.evaluation.judging.judging_estimate import estimate
from conspectus.evaluation.judging.pairing import LeftOut, Plan, plan
from conspectus.evaluation.judging.reasons import reasons_in, summarise, tasks_of
from conspectus.indexing.estimate import Estimate, Estimator
from conspectus.indexing.pipeline import Progress, Silent
from conspectus.models.base import Model
from conspectus.models.llm.session import Session
from conspectus.rows import Usage
from conspectus.settings import Settings
from conspectus.text.language import AUTO, language_of

NONE = Usage()
PICTURE = "win_rates"


@dataclass(frozen=True)
class ToJudge:
    """What is to be judged of a folder: criteria by name or file, pairs as `C0:SS`; empty means all."""

    criteria: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    replicates: int = 5
    sample: int | None = None
    """Questions, drawn by a seed."""
    reasons: bool = True
    """Have the judges' reasons summarised."""


@dataclass(frozen=True)
class JudgingPreview:
    """What judging would take: `judgements` in all, of which `to_ask` are left for the model and `ties` by rule."""

    judge: str
    conditions: tuple[str, ...]
    pairs: int
    criteria: tuple[str, ...]
    questions: int
    replicates: int
    judgements: int
    to_ask: int
    ties: int
    left_out: tuple[LeftOut, ...]
    estimate: Estimate


@dataclass(frozen=True)
class Done:
    """What judging found, what it took, and what else there is to say, a line each."""

    comparison: Comparison
    usage: Usage = NONE
    notices: tuple[str, ...] = ()


def judged_by(settings: Settings, judge_model: str | None) -> Settings:
    """Return settings whose model is the judge's; raise UsageError where there is none."""
    if judge_model:
        others = {task: name for task, name in settings.llm.tasks.items() if task not in ("Judge", "SummariseReasons")}
        llm = settings.llm.model_copy(update={"tasks": others})
        settings = settings.model_copy(update={"model": judge_model, "llm": llm})
    if settings.model == "extractive":
        raise UsageError("judging needs a language model: name one with --judge-model, as openai/gpt-4.1-mini")
    return settings


def lay_out(folder: Path, asked: ToJudge, settings: Settings) -> tuple[Plan, str]:
    """Return all comparisons of a folder, and the language to judge in."""
    questions = read_list(folder)
    language = settings.language if settings.language != AUTO else language_of(one.text for one in questions)
    criteria = criteria_of(asked.criteria, language)
    return plan(folder, questions, criteria, asked.pairs, asked.replicates, asked.sample), language


def preview(folder: Path, asked: ToJudge, settings: Settings, session: Session) -> JudgingPreview:
    """Say what judging would take, and ask nothing."""
    planned, language = lay_out(folder, asked, settings)
    by = found_by(settings, "Judge")
    left = pending(planned, judgements_in(folder), by)
    estimator = Estimator(session.model, session.sender, settings)
    cost = estimate(left.to_ask, session.model, estimator, language, asked.reasons)
    return JudgingPreview(
        by,
        planned.conditions,
        len(planned.pairs),
        tuple(criterion.name for criterion in planned.criteria),
        planned.questions,
        planned.replicates,
        len(planned.comparisons),
        len(left.to_ask),
        len(left.ties),
        planned.left_out,
        cost,
    )


async def judge_folder(
    folder: Path, asked: ToJudge, settings: Settings, model: Model, by: str, progress: Progress | None = None
) -> Comparison:
    """Judge what is left to judge in a folder, and write what all of the judge's judgements there say.

    Raises Unusable where nothing more can be asked of the model; what was judged until then is kept.
    """
    planned, language = lay_out(folder, asked, settings)
    keep_criteria(planned.criteria, folder)
    kept = judgements_in(folder)
    left = pending(planned, kept, by)
    shown = progress or Silent()
    ready = 2 * settings.llm.concurrency  # so that one waits wherever a call ends
    await judge(left, model, kept, by, language, ready, shown.stage("judge", len(left.to_ask)))
    judgements = standing(planned, kept, by)
    if asked.reasons:
        tasks = tasks_of(judgements, planned.criteria, language)
        await summarise(tasks, model, reasons_in(folder), by, shown.stage("reasons", len(tasks)))
    return statistics(folder, by)


def statistics(folder: Path, judge: str | None = None) -> Comparison:
    """Say what the judgements in a folder say, ask nothing, and write it there with win rates and their pictures.

    Raises UsageError where there are none, and where several judges judged and none is named.
    """
    judges = names_in(row.made_with for row in judgements_in(folder).rows.values())
    if judge is None and len(judges) > 1:
        raise UsageError(f"several judges judged, {', '.join(judges)}: name one with --judge-model")
    judged = judged_in(folder, judge)
    if judged is None:
        raise UsageError(f"there are no judgements in {folder}: make them with conspectus eval judge")
    comparison = compared_in(folder, judged)
    write_statistics(comparison, folder)
    found = matrices.matrices(comparison)
    matrices.write(found, folder)
    drawing.write(heatmap.drawing(found), folder, PICTURE)
    return comparison


def compared_in(folder: Path, judged: Judged) -> Comparison:
    """Return what the judgements of a judge that hold in a folder say, with what was summarised of the reasons."""
    names = {criterion.name for criterion in judged.plan.criteria}
    reasons = [
        one
        for one in reasons_in(folder).rows.values()
        if one.criterion in names and one.made_with.rpartition(" ")[0] == judged.judge
    ]
    ordered = sorted(reasons, key=lambda one: (one.criterion, one.winner, one.loser))
    return compare(judged.plan, judged.judgements, [judged.judge] if judged.judge else [], ordered)
