"""Judging a folder of answers: laid out, estimated, asked, and written down as statistics, win rates and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus.costs.estimate import Estimate, Estimator
from conspectus.errors import UsageError
from conspectus.evaluate.comparing.listed import read_list
from conspectus.evaluate.judging import heatmap, matrices
from conspectus.evaluate.judging.compared import Comparison, compare
from conspectus.evaluate.judging.compared import write as write_statistics
from conspectus.evaluate.judging.criteria import PAPER, criteria_of
from conspectus.evaluate.judging.judge import judge, judges_of, pending, standing
from conspectus.evaluate.judging.judging_estimate import estimate
from conspectus.evaluate.judging.pairing import LeftOut, Plan, plan
from conspectus.evaluate.judging.reasons import reasons_in, summarise, tasks_of
from conspectus.evaluate.kept import judgements_in
from conspectus.index.pipeline import Progress, Silent
from conspectus.models.base import Model
from conspectus.models.opening import Session
from conspectus.rows import Usage, content_id
from conspectus.settings import Settings
from conspectus.text.language import AUTO, language_of

NONE = Usage()
PICTURES = ("win_rates.svg", "win_rates.png")


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
class Judged:
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


def judge_name(settings: Settings) -> str:
    """Return who judges: the name of the model, with a digest of the user's own prompt where there is one."""
    name = settings.llm.tasks.get("Judge", settings.model)
    own = sorted(Path(settings.llm.prompts).rglob("Judge.md")) if settings.llm.prompts else []
    return f"{name}#{content_id(*(path.read_text(encoding='utf-8') for path in own))[:8]}" if own else name


def lay_out(folder: Path, asked: ToJudge, settings: Settings) -> tuple[Plan, str]:
    """Return all comparisons of a folder, and the language to judge in."""
    questions = read_list(folder)
    language = settings.language if settings.language != AUTO else language_of(one.text for one in questions)
    criteria = criteria_of(asked.criteria, language)
    return plan(folder, questions, criteria, asked.pairs, asked.replicates, asked.sample), language


def preview(folder: Path, asked: ToJudge, settings: Settings, session: Session) -> JudgingPreview:
    """Say what judging would take, and ask nothing."""
    planned, language = lay_out(folder, asked, settings)
    by = judge_name(settings)
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
    """Judge what is left to judge in a folder, and write what all judgements say.

    Raises Unusable where nothing more can be asked of the model; what was judged until then is kept.
    """
    planned, language = lay_out(folder, asked, settings)
    kept = judgements_in(folder)
    left = pending(planned, kept, by)
    shown = progress or Silent()
    ready = 2 * settings.llm.concurrency  # so that one waits wherever a call ends
    await judge(left, model, kept, by, language, ready, shown.stage("judge", len(left.to_ask)))
    judgements = standing(planned, kept)
    if asked.reasons:
        tasks = tasks_of(judgements, planned.criteria, language)
        await summarise(tasks, model, reasons_in(folder), by, shown.stage("reasons", len(tasks)))
    return compare_folder(folder, planned, judges=(by,))


def statistics(folder: Path, asked: ToJudge, settings: Settings, judge: str | None = None) -> Comparison:
    """Say what the judgements that a folder has say, and ask nothing.

    Without criteria named it takes those that there are judgements by. Raises UsageError where there are none, where
    one is neither the paper's nor defined by a file, and where several judges judged and none is named.
    """
    rows = judgements_in(folder).rows.values()
    if not rows:
        raise UsageError(f"there are no judgements in {folder}: make them with conspectus eval judge")
    judges = judges_of(rows)
    if judge is None and len(judges) > 1:
        raise UsageError(f"several judges judged, {', '.join(judges)}: name one with --judge-model")
    if judge is not None and judge not in judges:
        raise UsageError(f"{judge} made no judgement in {folder}; there are those by {', '.join(judges) or 'hand'}")
    there = {row.criterion for row in rows}
    wanted = asked.criteria or tuple(name for name in PAPER if name in there)
    if not asked.criteria and (unknown := there - PAPER.keys()):
        raise UsageError(f"the criterion {min(unknown)!r} is not the paper's: name its file with --criteria")
    replicates = max(row.replicate for row in rows)
    planned, _ = lay_out(folder, replace(asked, criteria=wanted, replicates=replicates), settings)
    return compare_folder(folder, planned, judges=(judge,) if judge else tuple(judges))


def compare_folder(folder: Path, planned: Plan, judges: Sequence[str]) -> Comparison:
    """Compare by the judgements that are kept, and write statistics, win rates and their pictures into the folder."""
    names = {criterion.name for criterion in planned.criteria}
    paired = {frozenset(pair) for pair in planned.pairs}
    reasons = [
        one
        for one in reasons_in(folder).rows.values()
        if one.criterion in names
        and frozenset((one.winner, one.loser)) in paired
        and one.made_with.rpartition(" ")[0] in judges
    ]
    judgements = standing(planned, judgements_in(folder), judges)
    comparison = compare(planned, judgements, judges, sorted(reasons, key=lambda r: (r.criterion, r.winner, r.loser)))
    write_statistics(comparison, folder)
    found = matrices.matrices(comparison)
    matrices.write(found, folder)
    svg, png = (folder / name for name in PICTURES)
    svg.write_text(heatmap.svg(found), encoding="utf-8")
    png.unlink(missing_ok=True)  # none is better than one of earlier figures
    if heatmap.can_draw():
        heatmap.png(found, png)
    return comparison
