"""An LLM as judge of pairs of answers, and the statistics of its judgements (GraphRAG §4 and appendix G).

The statistics are majorities, win rates, and a test of each pair by each criterion. One row is saved for each (pair,
criterion, question, replicate); valid rows are not asked for again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.evaluation import charts, comparison
from conspectus.evaluation.comparison import JsonlTable, Judgement, Pair, Study
from conspectus.evaluation.pairs import HeadToHead, Plan, criteria_in, criteria_of, plan, save_criteria
from conspectus.evaluation.run import Step, StepFunction, model_names
from conspectus.evaluation.statistics import (
    ALPHA,
    Figures,
    PairTest,
    bootstrap,
    corrected,
    paired,
    plain,
    shapiro,
)
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model
from conspectus.runtime import Options, path_of, run_of
from conspectus.settings import Settings
from conspectus.tasks import Verdict
from conspectus.text.language import AUTO

if TYPE_CHECKING:
    from typing_extensions import Unpack

DECIMALS = 9
"""Decimals to which margins are rounded, so that averages of thirds which are equal also compare equal."""
EQUAL = "The two answers are the same text."
"""The reasoning of a tie between two equal texts, which no model was asked about."""
EVEN = 50.0
"""The score of a tie, from 0 to 100."""
Unit = tuple[Pair, str, str]
"""What is judged: a pair in alphabetical order, the name of a criterion, and the id of a question."""


def winners(judgements: Iterable[Judgement]) -> dict[Unit, list[str | None]]:
    """Return the conditions that the judgements of each unit prefer, None for a tie; failed judgements do not count."""
    units: defaultdict[Unit, list[str | None]] = defaultdict(list)
    for row in judgements:
        if not row.error:
            low, high = sorted((row.first, row.second))
            units[(low, high), row.criterion, row.question].append((None, row.first, row.second)[row.winner])
    return units


def labels(judgements: Iterable[Judgement]) -> dict[Unit, str | None]:
    """Return the condition that more than half of the judgements of each unit prefer; None, a tie, if there is none."""
    majorities: dict[Unit, str | None] = {}
    for unit, preferred in winners(judgements).items():
        name, votes = Counter(preferred).most_common(1)[0]
        majorities[unit] = name if 2 * votes > len(preferred) else None
    return majorities


@dataclass(frozen=True, kw_only=True)
class Compared(PairTest):
    """The result of one pair by one criterion; means are scores from 0 to 100, the interval is that of `mean_first`."""

    criterion: str
    wins: int
    """Number of judgements that preferred the first condition."""
    ties: int
    losses: int
    mean_first: float
    mean_second: float
    shapiro_w: float | None
    shapiro_p: float | None


@dataclass(frozen=True)
class Judged:
    """The valid judgements of one judge, and the plan that they belong to."""

    plan: Plan
    judgements: tuple[Judgement, ...]
    """The valid judgements, including failed ones."""
    judge: str
    others: tuple[str, ...] = ()
    """Other judges whose judgements are in the folder."""
    outdated: int = 0
    """Number of judgements of this judge that no longer apply."""

    @property
    def outdated_notice(self) -> str:
        """The message for the case that no judgement applies."""
        made = f"The judgements by {self.judge} ({self.outdated:,}) are of an earlier prompt"
        return f"{made}, other answers or criteria. Judge again."

    @property
    def successful(self) -> list[Judgement]:
        """The judgements that did not fail."""
        return [row for row in self.judgements if not row.error]


@dataclass(frozen=True)
class Comparison(Figures):
    """The statistics of one judge's judgements of a folder of answers."""

    judges: tuple[str, ...]
    conditions: tuple[str, ...]
    criteria: Mapping[str, str]
    """The description of each criterion, by its name."""
    questions: int
    replicates: int
    judgements: int
    """Number of judgements, without failed ones."""
    failed: int
    equal: int
    """Judgements that are ties because both answers are the same text; no model was asked."""
    missing: int
    """Judgements of the plan that were not made yet, or whose answers have changed since."""
    omitted: tuple[str, ...]
    decided: int
    """Number of judgements that are not ties."""
    first_wins: float | None
    """The percentage of these that the answer shown first won (50: no bias); None if all judgements are ties."""
    results: tuple[Compared, ...]

    def of(self, criterion: str) -> list[Compared]:
        """Return the results of one criterion, in the order of the pairs."""
        return [row for row in self.results if row.criterion == criterion]

    @property
    def normality(self) -> str:
        """A sentence on how many of the comparisons are not normally distributed."""
        tested = [row.shapiro_p for row in self.results if row.shapiro_p is not None]
        odd = sum(p < ALPHA for p in tested)
        return f"By Shapiro and Wilk, {odd} of {len(tested)} comparisons are not normally distributed."

    @property
    def position_bias(self) -> str:
        """A sentence on how much the order of the answers influenced the judge."""
        if self.first_wins is None:
            return "All judgements are ties."
        of = f"of {self.decided:,} decided judgements"
        return f"The answer shown first won {self.first_wins:.1f} % {of}; 50 is no bias."

    @property
    def win_rates(self) -> charts.WinRates:
        """The win rates in % by criterion, for the conditions that were judged by it (GraphRAG Figure 2).

        The rate of a condition against itself is 50, that of a pair that was not compared None.
        """
        rates: dict[str, dict[str, dict[str, float | None]]] = {}
        for criterion in self.criteria:
            means: dict[Pair, float] = {}
            for row in self.of(criterion):
                means[row.first, row.second] = row.mean_first
                means[row.second, row.first] = row.mean_second
            judged = {name for pair in means for name in pair}
            names = [name for name in self.conditions if name in judged]
            means |= {(name, name): EVEN for name in names}
            if names:
                rates[criterion] = {one: {other: means.get((one, other)) for other in names} for one in names}
        return rates

    def is_significant(self, criterion: str, one: str, other: str) -> bool:
        """Whether the win rate of two conditions differs significantly from 50 after correction."""
        return any(row.significant for row in self.of(criterion) if {row.first, row.second} == {one, other})

    def as_json(self) -> dict[str, Any]:
        return plain(self, 6)


def compare(judged: Judged) -> Comparison:
    """Return the statistics of judgements, for each criterion and each pair judged by it (GraphRAG appendix G)."""
    plan, sound = judged.plan, judged.successful
    unequal = [row for row in sound if row.reasoning != EQUAL]
    decided = [row.winner for row in unequal if row.winner]
    preferred = winners(sound)
    results = (row for one in plan.criteria for row in _family(preferred, plan.pairs, one.name))
    return Comparison(
        (judged.judge,),
        plan.conditions,
        {criterion.name: criterion.description for criterion in plan.criteria},
        plan.questions,
        plan.replicates,
        judgements=len(sound),
        failed=len(judged.judgements) - len(sound),
        equal=len(sound) - len(unequal),
        missing=len(plan.comparisons) - len(judged.judgements),
        omitted=plan.omitted,
        decided=len(decided),
        first_wins=100 * decided.count(1) / len(decided) if decided else None,
        results=tuple(results),
    )


def _family(
    preferred: Mapping[Unit, list[str | None]], pairs: Sequence[Pair], criterion: str
) -> list[Compared]:
    """Return the results of all pairs that were judged by one criterion, their p values corrected together.

    A win is 100, a tie 50 and a loss 0, averaged over the replicates and then over the questions (GraphRAG appendix G).
    The margin of a question is the score of the first condition minus that of the second.
    """
    results: list[Compared] = []
    for first, second in pairs:
        of_pair = {
            question: names
            for (pair, by, question), names in preferred.items()
            if by == criterion and set(pair) == {first, second}
        }
        margins = [
            round(100 * (names.count(first) - names.count(second)) / len(names), DECIMALS)
            for _, names in sorted(of_pair.items())
        ]
        if not margins:
            continue
        votes = Counter(name for names in of_pair.values() for name in names)
        scores = bootstrap([EVEN + margin / 2 for margin in margins])
        w, p = shapiro(margins)
        test = Compared(
            **paired((first, second), margins, scores),
            criterion=criterion,
            wins=votes[first],
            ties=votes[None],
            losses=votes[second],
            mean_first=scores.mean,
            mean_second=100 - scores.mean,
            shapiro_w=w,
            shapiro_p=p,
        )
        results.append(test)
    return corrected(results)


def plan_of(study: Study, table: JsonlTable[Judgement]) -> Plan | None:
    """Return the plan that judgements belong to, its pairs in the order of conditions; None without judgements."""
    rows = table.rows.values()
    judged = {frozenset((row.first, row.second)) for row in rows}
    pairs = combinations(study.conditions, 2)
    names = [f"{one}:{other}" for one, other in pairs if frozenset((one, other)) in judged]
    if not names:
        return None
    used = {row.criterion for row in rows}
    criteria = [criterion for criterion in criteria_in(study) if criterion.name in used]
    return plan(study, criteria, names, max(row.replicate for row in rows))


def judged_in(study: Study, judge: str | None = None) -> Judged | None:
    """Return the valid judgements of the named judge, or of the one who judged most; None if there are none.

    Raises UsageError if the named judge made no judgements.
    """
    table = comparison.judgements_in(study.folder)
    votes = Counter(row.by for row in table.rows.values())
    if judge is not None and judge not in votes and votes:
        raise UsageError(
            f"{judge} made no judgement in {study.folder}; there are those by {', '.join(votes)}"
        )
    planned = plan_of(study, table)
    if planned is None:
        return None
    by = judge if judge is not None else max(votes, key=lambda name: (votes[name], name))
    others = tuple(name for name in votes if name != by)
    judgements = tuple(planned.judgements(table, by))
    return Judged(planned, judgements, by, others, votes[by] - len(judgements))


def judge_statistics(folder: str | Path, *, judge_model: str | None = None) -> Comparison:
    """Return the statistics of the judgements in a folder, and write them there with win rates and heat maps.

    p values are corrected for all pairs that were judged by a criterion (GraphRAG appendix G). No model is asked.
    Raises UsageError if there are no judgements, or if several judges judged and none is named.
    """
    target = path_of(folder)
    judged = judged_in(comparison.study_in(target), judge_model)
    if judged is None or not judged.judgements:
        why = f". {judged.outdated_notice}" if judged else ": conspectus eval judge makes them"
        raise UsageError(f"there are no judgements of these answers in {target}{why}")
    if judge_model is None and judged.others:
        judges = ", ".join((judged.judge, *judged.others))
        raise UsageError(f"several judges judged, {judges}: name one with judge_model=NAME")
    compared = compare(judged)
    comparison.write_json(target / "statistics.json", compared.as_json())
    comparison.write_json(target / "win_rates.json", plain(compared.win_rates))
    charts.heat_maps(compared.win_rates, compared.is_significant, target)
    return compared


# The judge


class JudgeOptions(Options, total=False):
    """What is judged, and by whom.

    criteria: names of the paper's criteria, or files with your own; the paper's if left out.
    pairs: pairs of conditions, such as `C0:SS`; all if left out.
    replicates: the number of judgements of each comparison; 5 if left out.
    sample: a number of questions, drawn at random with a fixed seed.
    judge_model: the name of the language model that judges, in place of `model`.
    progress: True shows progress on standard error; or an object that shows it.
    """

    criteria: Sequence[str]
    pairs: Sequence[str]
    replicates: int
    sample: int | None
    judge_model: str | None
    progress: Progress | bool | None


class JudgeStep(Step[HeadToHead, Comparison]):
    """The step in which a model judges pairs of answers, with each condition shown first half of the time."""

    stage = "judge"

    def __init__(self, folder: Path, options: JudgeOptions) -> None:
        """Raise UsageError if there is nothing to compare or no judge."""
        super().__init__(folder, run_of(options), options.get("progress"))
        if not self.model:
            self.settings = judge_settings(self.settings, options.get("judge_model"))
        self.by = self.model.name if self.model else model_names(self.settings, "Judge")
        study, language = comparison.study_in(folder), self.settings.language
        self.language = language if language != AUTO else study.language
        self.criteria = criteria_of(options.get("criteria", ()), self.language)
        pairs, replicates = options.get("pairs", ()), options.get("replicates", 5)
        planned = plan(study, self.criteria, pairs, replicates, options.get("sample"))
        self.table = comparison.judgements_in(folder)
        self.pieces, self.remaining = planned.comparisons, planned.remaining(self.table, self.by)

    def begin(self) -> None:
        save_criteria(self.criteria, self.folder)

    async def work(self, piece: HeadToHead, model: Model) -> Verdict:
        return Verdict(0, EQUAL) if piece.equal else await model.perform(piece.task(self.language))

    def save(self, piece: HeadToHead, result: Verdict | None, error: str) -> None:
        winner, reasoning = (result.winner, result.reasoning) if result else (0, "")
        self.table.add(piece.judged(winner, reasoning, by=self.by, error=error))

    def value(self) -> Comparison:
        return judge_statistics(self.folder, judge_model=self.by)


def judge_settings(settings: Settings, judge_model: str | None) -> Settings:
    """Return settings whose model is the judge; raise UsageError if no language model is named."""
    if judge_model:
        others = {task: name for task, name in settings.llm.tasks.items() if task != "Judge"}
        llm = settings.llm.model_copy(update={"tasks": others})
        settings = settings.model_copy(update={"model": judge_model, "llm": llm})
    if settings.model == "extractive":
        raise UsageError("judging needs a language model: name one, as judge_model='openai/gpt-4.1-mini'")
    return settings


@StepFunction
def judge_answers(folder: str | Path, **options: Unpack[JudgeOptions]) -> JudgeStep:
    """Let a model judge the answers in a comparison's folder in pairs, and test its preferences (GraphRAG §4, G).

    Existing judgements are not asked for again, except failed ones. Statistics and win rates of all judgements of this
    judge are written into the folder. Raises UsageError if there is nothing to compare or no judge, IndexBusy if
    another process writes there.
    """
    return JudgeStep(path_of(folder), options)
