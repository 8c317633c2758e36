"""An LLM as judge of answers, head to head (GraphRAG §4): a loop that saves each judgement, and what they all say.

A row is appended for each (pair, criterion, question, replicate); rows that hold are not asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.errors import UsageError
from conspectus.evaluation import charts, run
from conspectus.evaluation.comparison import answers_now, model_names, names_in
from conspectus.evaluation.conditions import condition_order
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement, attempt, each, judgements_in
from conspectus.evaluation.pairs import HeadToHead, criteria_in, criteria_of, plan, save_criteria
from conspectus.evaluation.questions import read_list
from conspectus.evaluation.verdicts import EQUAL, Comparison, Judged, compare, write_statistics
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.llm.model import Session
from conspectus.runtime import Options, path_of, public, run_of
from conspectus.settings import Settings
from conspectus.text.language import AUTO, language_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

TOGETHER = 50
"""Judgements that are written together: the disk is slower than a judge. A kill loses fewer, and not their replies."""


async def judge(
    left: Iterable[HeadToHead],
    model: Model,
    table: JsonlTable[Judgement],
    by: str,
    language: str = "en",
    at_once: int = 50,
    tick: Tick = no_tick,
) -> None:
    """Judge comparisons and save each judgement; one that failed is saved with its error.

    At most `at_once` are given to the model together, so that not all prompts are in memory. Raises Unusable, when
    what is under way has ended, where nothing more can be asked of the model.
    """
    rows: list[Judgement] = []

    def save() -> None:
        table.add_all(rows)
        rows.clear()

    async def work(one: HeadToHead) -> None:
        rows.append(await _judged(one, model, by, language))
        if len(rows) >= TOGETHER:
            save()

    try:
        await each(left, work, tick, at_once)
    finally:
        save()


async def _judged(one: HeadToHead, model: Model, by: str, language: str) -> Judgement:
    if one.equal:
        return one.judged(0, EQUAL, by=by)
    verdict, error = await attempt(model.perform(one.task(language)))
    return one.judged(verdict.winner, verdict.reasoning, by=by) if verdict else one.judged(by=by, error=error)


def judged_in(folder: Path, judge: str | None = None) -> Judged | None:
    """Return the judgements of a folder that hold, of the judge that is named or who judged most; None without any.

    The plan has the pairs of which there is any judgement, in the order of conditions. Raises UsageError where a judge
    is named who made none, and as `plan` does.
    """
    table = judgements_in(folder)
    rows = list(table.rows.values())
    if not rows:
        return None
    judges = names_in(row.made_with for row in rows)
    if judge is not None and judge not in judges:
        raise UsageError(
            f"{judge} made no judgement in {folder}; there are those by {', '.join(judges) or 'hand'}"
        )
    questions = read_list(folder)
    criteria = criteria_in(folder, (row.criterion for row in rows), language_of(one.text for one in questions))
    judged = {frozenset((row.first, row.second)) for row in rows}
    names = sorted({condition for condition, _ in answers_now(folder)}, key=condition_order)
    pairs = [f"{one}:{other}" for one, other in combinations(names, 2) if frozenset((one, other)) in judged]
    if not pairs:  # all are of conditions that have no answers any more
        return None
    planned = plan(folder, questions, criteria, pairs, max(row.replicate for row in rows))
    votes = Counter(row.made_with.rpartition(" ")[0] for row in rows)
    by = judge if judge is not None else max(votes, key=lambda name: (votes[name], name))
    return Judged(planned, tuple(planned.judgements(table, by)), by, tuple(name for name in judges if name != by))


# The API


class JudgeOptions(Options, total=False):
    """What is judged, and by whom.

    criteria: names of the paper's criteria, or files of one's own; the paper's if left out.
    pairs: pairs of conditions, as `C0:SS`; all if left out.
    replicates: the judgements of each comparison, 5 if left out.
    sample: a number of questions that are drawn by a seed.
    judge_model: the name of the language model that judges, in place of `model`.
    progress: is told what is done.
    """

    criteria: Sequence[str]
    pairs: Sequence[str]
    replicates: int
    sample: int | None
    judge_model: str | None
    progress: Progress | None


class _Run:
    """A run of judging: its settings, the comparisons, the judge, and the comparisons that it has not judged."""

    def __init__(self, folder: Path, options: JudgeOptions) -> None:
        chosen = run_of(options)
        self.folder, self.model = folder, chosen.model
        self.settings = (
            chosen.settings if self.model else judge_settings(chosen.settings, options.get("judge_model"))
        )
        self.by = self.model.name if self.model else model_names(self.settings, "Judge")
        questions = read_list(self.folder)
        language = self.settings.language
        self.language = language if language != AUTO else language_of(one.text for one in questions)
        criteria = criteria_of(options.get("criteria", ()), self.language)
        pairs, replicates = options.get("pairs", ()), options.get("replicates", 5)
        self.plan = plan(self.folder, questions, criteria, pairs, replicates, options.get("sample"))
        self.left = self.plan.remaining(judgements_in(self.folder), self.by)

    async def cost(self, session: Session) -> Estimate:
        """Return what the judgements that are left will take."""

        async def work(one: HeadToHead, model: Model) -> None:
            await model.perform(one.task(self.language))

        to_ask = [one for one in self.left if not one.equal]
        return await run.estimate(to_ask, work, session, self.settings)


def judge_settings(settings: Settings, judge_model: str | None) -> Settings:
    """Return settings whose model is the judge's; raise UsageError where there is none."""
    if judge_model:
        others = {task: name for task, name in settings.llm.tasks.items() if task != "Judge"}
        llm = settings.llm.model_copy(update={"tasks": others})
        settings = settings.model_copy(update={"model": judge_model, "llm": llm})
    if settings.model == "extractive":
        raise UsageError("judging needs a language model: name one, as judge_model='openai/gpt-4.1-mini'")
    return settings


@public
def preview_judging(folder: str | Path, **options: Unpack[JudgeOptions]) -> run.Preview:
    """Return what `judge_answers` would ask of its judge and what that would cost; no model is asked."""
    judging = _Run(path_of(folder), options)
    cost = run.preview(judging.settings, None, judging.cost)
    return run.Preview(len(judging.plan.comparisons), len(judging.left), cost)


@public
def judge_answers(folder: str | Path, **options: Unpack[JudgeOptions]) -> run.Result[Comparison]:
    """Have a model judge the answers of a comparison's folder head to head, and test what it preferred (GraphRAG §4,
    G).

    Judgements that are there are not asked for again, failed ones are. Statistics and win rates of all judgements of
    this judge are written into the folder. Raises UsageError where there is nothing to compare or no judge, IndexBusy
    where another process writes there.
    """
    judging = _Run(path_of(folder), options)
    target, planned, by, language = judging.folder, judging.plan, judging.by, judging.language

    async def work(performer: Model | None, _: Session | None) -> Comparison:
        assert performer is not None
        save_criteria(planned.criteria, target)
        table = judgements_in(target)
        left = planned.remaining(table, by)
        ready = 2 * judging.settings.llm.concurrency  # so that one waits wherever a call ends
        tick = run.tick_of(options.get("progress"), "judge", len(left))
        await judge(left, performer, table, by, language, ready, tick)
        return judge_statistics(target, judge_model=by)

    return run.perform(judging.settings, target, judging.model, judging.cost, work)


def judge_statistics(folder: str | Path, *, judge_model: str | None = None) -> Comparison:
    """Return what the judgements in a folder say, and write it there with win rates and their pictures.

    p values are corrected for all pairs that were judged by a criterion (GraphRAG appendix G). No model is asked.
    Raises UsageError where there are no judgements, and where several judges judged and none is named.
    """
    target = path_of(folder)
    judges = names_in(row.made_with for row in judgements_in(target).rows.values())
    if judge_model is None and len(judges) > 1:
        raise UsageError(f"several judges judged, {', '.join(judges)}: name one with judge_model=NAME")
    judged = judged_in(target, judge_model)
    if judged is None:
        raise UsageError(f"there are no judgements in {target}: make them with conspectus eval judge")
    comparison = compare(judged)
    write_statistics(comparison, target)
    charts.heat_maps(comparison, target)
    return comparison
