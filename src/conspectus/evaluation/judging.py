"""Judge a folder of answers head to head, and write what the judgements say: statistics, win rates, reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation import charts, run, verdicts
from conspectus.evaluation.comparison import found_by, names_in
from conspectus.evaluation.jsonl_table import judgements_in
from conspectus.evaluation.judge import HeadToHead, Judged, criteria_of, judge, judged_in, plan, save_criteria
from conspectus.evaluation.questions import read_list
from conspectus.evaluation.verdicts import Comparison, compare, reasons_in, summarise, tasks_of
from conspectus.indexing.estimate import Estimate, Estimator, Range
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model
from conspectus.models.llm.session import Session
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.text.language import AUTO, language_of

SUMMARY_PROMPT, SUMMARY = Range(200, verdicts.MOST_TOKENS + 150), Range(60, 250)
"""Tokens of the prompt and of the reply of a summary of reasons."""


@dataclass(frozen=True)
class JudgeOptions:
    """What to judge of a folder: `criteria` by name or file, `pairs` as `C0:SS`; empty means all.

    `sample` draws so many questions; `reasons` has the judge's reasons summarised.
    """

    criteria: Sequence[str] = ()
    pairs: Sequence[str] = ()
    replicates: int = 5
    sample: int | None = None
    reasons: bool = True


ALL = JudgeOptions()


class _Run:
    """A run of judging: its settings, the comparisons, the judge, and the comparisons that it has not judged."""

    def __init__(
        self, folder: str | Path, options: JudgeOptions, settings: Given, judge_model: str | None, model: Model | None
    ) -> None:
        self.folder, self.options = path_of(folder), options
        self.settings = resolved(settings) if model else judge_settings(resolved(settings), judge_model)
        self.by = model.name if model else found_by(self.settings, "Judge")
        questions = read_list(self.folder)
        chosen = self.settings.language
        self.language = chosen if chosen != AUTO else language_of(one.text for one in questions)
        criteria = criteria_of(options.criteria, self.language)
        self.plan = plan(self.folder, questions, criteria, options.pairs, options.replicates, options.sample)
        self.left = self.plan.left(judgements_in(self.folder), self.by)
        self.to_ask = [one for one in self.left if not one.equal]

    async def cost(self, session: Session) -> Estimate:
        """Return what the judgements that are left, and the summaries of reasons, will take."""

        async def work(one: HeadToHead, model: Model) -> None:
            await model.perform(one.task(self.language))

        judging = await run.estimate(self.to_ask, work, session, self.settings)
        if not self.options.reasons or not self.to_ask:
            return judging
        groups = len({(one.pair, one.criterion.name) for one in self.to_ask})
        calls = Range(groups, 2 * groups)  # one or both of a pair are preferred by somebody
        estimator = Estimator(session.model, session.sender, self.settings)
        row = estimator.row("SummariseReasons", calls, calls.times(SUMMARY_PROMPT), calls.times(SUMMARY))
        return run.total((judging, Estimate((row,))))


def judge_settings(settings: Settings, judge_model: str | None) -> Settings:
    """Return settings whose model is the judge's; raise UsageError where there is none."""
    if judge_model:
        others = {task: name for task, name in settings.llm.tasks.items() if task not in ("Judge", "SummariseReasons")}
        llm = settings.llm.model_copy(update={"tasks": others})
        settings = settings.model_copy(update={"model": judge_model, "llm": llm})
    if settings.model == "extractive":
        raise UsageError("judging needs a language model: name one with --judge-model, as openai/gpt-4.1-mini")
    return settings


def preview_judging(
    folder: str | Path, *, options: JudgeOptions = ALL, judge_model: str | None = None, settings: Given = None
) -> run.Preview:
    """Return what `judge_answers` would ask of its judge and what that would cost; no model is asked."""
    judging = _Run(folder, options, settings, judge_model, None)
    cost = run.preview(judging.settings, None, judging.cost)
    return run.Preview(len(judging.plan.comparisons), len(judging.left), cost)


def judge_answers(
    folder: str | Path,
    *,
    options: JudgeOptions = ALL,
    judge_model: str | None = None,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> run.Result[Comparison]:
    """Have a model judge the answers of a comparison's folder head to head, and test what it preferred (GraphRAG §4,
    G).

    Judgements that are there are not asked for again, failed ones are. Statistics and win rates of all judgements of
    this judge are written into the folder. Raises UsageError where there is nothing to compare or no judge, IndexBusy
    where another process writes there.
    """
    judging = _Run(folder, options, settings, judge_model, model)
    target, planned, by, language = judging.folder, judging.plan, judging.by, judging.language

    async def work(performer: Model | None, _: Session | None) -> Comparison:
        assert performer is not None
        save_criteria(planned.criteria, target)
        table = judgements_in(target)
        left = planned.left(table, by)
        ready = 2 * judging.settings.llm.concurrency  # so that one waits wherever a call ends
        await judge(left, performer, table, by, language, ready, run.tick_of(progress, "judge", len(left)))
        if options.reasons:
            tasks = tasks_of(planned.judgements(table, by), planned.criteria, language)
            await summarise(tasks, performer, reasons_in(target), by, run.tick_of(progress, "reasons", len(tasks)))
        return judge_statistics(target, judge_model=by)

    return run.perform(judging.settings, target, model, judging.cost, work)


def judge_statistics(folder: str | Path, *, judge_model: str | None = None) -> Comparison:
    """Return what the judgements in a folder say, and write it there with win rates and their pictures.

    p values are corrected for all pairs that were judged by a criterion (GraphRAG appendix G). No model is asked.
    Raises UsageError where there are no judgements, and where several judges judged and none is named.
    """
    target = path_of(folder)
    judges = names_in(row.made_with for row in judgements_in(target).rows.values())
    if judge_model is None and len(judges) > 1:
        raise UsageError(f"several judges judged, {', '.join(judges)}: name one with --judge-model")
    judged = judged_in(target, judge_model)
    if judged is None:
        raise UsageError(f"there are no judgements in {target}: make them with conspectus eval judge")
    comparison = comparison_of(target, judged)
    verdicts.write_statistics(comparison, target)
    charts.heat_maps(comparison, target)
    return comparison


def comparison_of(folder: Path, judged: Judged) -> Comparison:
    """Return what the current judgements of a judge say, with what was summarised of the reasons."""
    names = {criterion.name for criterion in judged.plan.criteria}
    by = judged.judge
    rows = reasons_in(folder).rows.values()
    reasons = [row for row in rows if row.criterion in names and row.made_with.rpartition(" ")[0] == by]
    return compare(judged, sorted(reasons, key=lambda row: (row.criterion, row.winner, row.loser)))
