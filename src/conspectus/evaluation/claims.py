"""How many different things claims say: clusters of them by ROUGE-L (GraphRAG §4.2, table 4).

The distance of two claims is 1 - ROUGE-L, the F measure of their longest common subsequence of words (Lin, 2004);
clusters are agglomerative with complete linkage: every two claims of one are nearer to each other than the threshold.
Words are runs of letters and digits, without case, as `rouge-score` has them; in scripts without spaces, characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from conspectus.errors import CallFailed
from conspectus.evaluation import comparison, run
from conspectus.evaluation.comparison import AskedAnswer, Key, asked_answers, found_by, made_with, names_in
from conspectus.evaluation.grounding import Sentence, sentences_in
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement, Pair, each
from conspectus.evaluation.judge import judged_in
from conspectus.evaluation.statistics import Interval, bootstrap, cohens_d, holm, paired_difference, rounded, wilcoxon
from conspectus.evaluation.verdicts import labels
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.session import Session
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.tasks import ClearSentences, FactualClaims, SelectFactual
from conspectus.text.language import language_of
from conspectus.text.words import CJK, fold

CLAIMS_BY_RULES = (
    "Found by rules: a claim is a sentence as it stands, and nothing is taken apart. Not comparable with the paper's."
)
STEPS = ("SelectFactual", "ClearSentences", "FactualClaims")
"""The tasks by which claims are extracted."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)
"""Distances at which GraphRAG cuts."""
_WORD = re.compile(rf"{CJK.pattern}|(?:(?!{CJK.pattern})[^\W_])+")


@dataclass(frozen=True)
class AnswerClaims:
    """The factual claims of one answer, each once."""

    condition: str
    question: str
    claims: tuple[str, ...] = ()
    made_with: str = ""
    error: str = ""


def claims_in(folder: Path) -> JsonlTable[AnswerClaims]:
    """Return the claims of a comparison's answers, by condition and question."""
    return JsonlTable(folder / "claims.jsonl", AnswerClaims, lambda row: (row.condition, row.question))


@lru_cache(maxsize=1 << 16)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text that ROUGE-L compares."""
    return tuple(_WORD.findall(fold(text)))


def distinct(claims: Iterable[str]) -> tuple[str, ...]:
    """Return claims in their order, each once: of those with the same words (ROUGE-L 1), the first."""
    first: dict[tuple[str, ...], str] = {}
    for claim in claims:
        if words(claim):
            first.setdefault(words(claim), claim)
    return tuple(first.values())


def distances(claims: Sequence[str]) -> list[float]:
    """Return 1 - ROUGE-L of each two claims, in the order of scipy's condensed matrices: (0, 1), (0, 2), … (1, 2), ….

    The common subsequence is found for all words of one claim at a time, as bits of a number (Hyyrö, 2004): some fifty
    times as fast as the table that libraries fill, with the same result.
    """
    texts = [words(claim) for claim in claims]
    found: list[float] = []
    for i, one in enumerate(texts):
        places: dict[str, int] = {}
        for at, word in enumerate(one):
            places[word] = places.get(word, 0) | 1 << at
        found += (_apart(places, len(one), other) for other in texts[i + 1 :])
    return found


def _apart(places: dict[str, int], length: int, other: Sequence[str]) -> float:
    every = left = (1 << length) - 1
    for word in other:
        if at := places.get(word):
            met = left & at
            left = ((left + met) | (left - met)) & every
    both = length + len(other)
    common = length - left.bit_count()
    return (both - 2 * common) / both if both else 0.0


def clusters(claims: Sequence[str], thresholds: Sequence[float] = THRESHOLDS) -> list[int]:
    """Return how many clusters claims fall into at each threshold.

    As in scikit-learn, which asks scipy for the same tree, clusters at the very threshold are not merged.
    """
    if len(claims) < 2:
        return [len(claims)] * len(thresholds)
    from scipy.cluster.hierarchy import linkage

    heights = linkage(distances(claims), "complete")[:, 2]
    return [1 + int((heights >= threshold).sum()) for threshold in thresholds]


def pending(asked: Iterable[AskedAnswer], table: JsonlTable[AnswerClaims], by: str) -> list[AskedAnswer]:
    """Return the answers whose claims are missing, failed, or were extracted from another text or by another model."""
    return comparison.pending(asked, table, by, _made_with)


def claims_now(folder: Path) -> dict[Key, AnswerClaims]:
    """Return the results of a folder that are on its answers as they are now, without failed ones."""
    return comparison.results_now(folder, claims_in(folder), _made_with)


def _made_with(one: AskedAnswer, by: str) -> str:
    return made_with(by, one.question, one.answer.text)


async def find_claims(
    left: Sequence[AskedAnswer], model: Model, kept: JsonlTable[AnswerClaims], by: str, tick: Tick = no_tick
) -> None:
    """Find the claims of answers and keep them; what failed is kept with its error.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """

    async def work(one: AskedAnswer) -> None:
        claims: tuple[str, ...] = ()
        error = ""
        try:
            claims = await claims_of(one.question, sentences_in(one.answer), model)
        except CallFailed as failure:
            error = str(failure) or type(failure).__name__
        kept.add(AnswerClaims(one.answer.condition, one.answer.question, claims, _made_with(one, by), error))

    await each(left, work, tick)


async def claims_of(question: str, sentences: Sequence[Sentence], model: Model) -> tuple[str, ...]:
    """Return the claims that sentences make in answer to a question, each once, in their order.

    Headings are context and make no claims. Numbers of a reply that lead to no sentence are passed over.
    """
    if not any(not sentence.heading for sentence in sentences):
        return ()
    selection = selecting(question, sentences)
    language = selection.language
    factual = await model.perform(selection)
    chosen = tuple(n for n in sorted(set(factual)) if 0 < n <= len(sentences) and not sentences[n - 1].heading)
    if not chosen:
        return ()
    clear = await model.perform(ClearSentences(question, selection.sentences, chosen, language=language))
    texts = tuple(one.text for one in clear if one.number in chosen)
    if not texts:
        return ()
    claims = await model.perform(FactualClaims(question, texts, language=language))
    return distinct(one.text for one in claims if 0 < one.number <= len(texts))


def selecting(question: str, sentences: Sequence[Sentence]) -> SelectFactual:
    """Return the task of the first step."""
    shown = tuple(sentence.shown for sentence in sentences)
    return SelectFactual(question, shown, language=language_of(shown))


CLAIMS = "claims"
MEASURES = (CLAIMS, *(f"clusters at {threshold:g}" for threshold in THRESHOLDS))
CRITERION = {measure: "comprehensiveness" if measure == CLAIMS else "diversity" for measure in MEASURES}
"""The judge's criterion that each is held against."""

Values = Mapping[str, Mapping[str, float]]
"""Of one condition: for each question the values of all measures."""


@dataclass(frozen=True)
class ConditionClaims:
    """The averages of one condition over its answers, by measure."""

    condition: str
    answers: int
    failed: int
    """Answers whose claims could not be found."""
    averages: Mapping[str, Interval]


@dataclass(frozen=True)
class Difference:
    """One pair by one measure over the questions that both answered: how many more the first has, and the test."""

    measure: str
    first: str
    second: str
    questions: int
    mean: float
    low: float
    high: float
    """Of the 95 % bootstrap interval of the mean difference."""
    z: float | None
    p: float | None
    p_holm: float | None
    """p corrected for all pairs of the measure."""
    rank_biserial: float | None
    cohens_d: float | None
    note: str = ""
    """Why there is no z or p."""


@dataclass(frozen=True)
class ClaimAgreement:
    """How often a measure prefers the condition that the judges' majority does (GraphRAG §4.2).

    Counted over pairs of answers of which a majority prefers one and the measure too.
    """

    measure: str
    criterion: str
    pairs: int
    """Pairs of answers that were judged."""
    labelled: int
    """Those of which more than half of the judgements prefer one."""
    equal: int
    """Of these, the pairs that the measure takes for equal; they are left out of the rate."""
    agreeing: int

    @property
    def rate(self) -> float | None:
        """The share of agreement in %; None where nothing can be compared."""
        counted = self.labelled - self.equal
        return 100 * self.agreeing / counted if counted else None


@dataclass(frozen=True)
class ClaimCounts:
    """All of it for one folder of answers."""

    found_by: tuple[str, ...]
    conditions: tuple[ConditionClaims, ...]
    unique: int
    """Different claims of all answers together."""
    differences: tuple[Difference, ...]
    agreement: tuple[ClaimAgreement, ...]
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""

    @property
    def failed(self) -> int:
        """Answers whose claims could not be found."""
        return sum(one.failed for one in self.conditions)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as they go into JSON."""
        conditions = [
            asdict(one) | {"averages": {name: rounded(value) for name, value in one.averages.items()}}
            for one in self.conditions
        ]
        return {
            "found_by": self.found_by,
            "conditions": conditions,
            "unique": self.unique,
            "differences": [_rounded_figures(asdict(one)) for one in self.differences],
            "agreement": [asdict(one) | {"rate": one.rate} for one in self.agreement],
            "errors": self.errors,
        }


def _rounded_figures(figures: dict[str, Any]) -> dict[str, Any]:
    """Round as far as figures go; p values keep what they have, being small."""
    return {
        name: round(value, 4) if isinstance(value, float) and name not in ("p", "p_holm") else value
        for name, value in figures.items()
    }


def count(rows: Sequence[AnswerClaims], judgements: Iterable[Judgement] = ()) -> ClaimCounts:
    """Count the claims of a folder's answers; conditions in the order in which they first come."""
    names = list(dict.fromkeys(row.condition for row in rows))
    sound = [row for row in rows if not row.error]
    values = {name: {row.question: _measured(row.claims) for row in sound if row.condition == name} for name in names}
    conditions = [
        ConditionClaims(
            name,
            len(values[name]),
            sum(bool(row.error) for row in rows if row.condition == name),
            {m: bootstrap([one[m] for one in values[name].values()]) for m in MEASURES} if values[name] else {},
        )
        for name in names
    ]
    errors = dict(Counter(row.error for row in rows if row.error))
    return ClaimCounts(
        names_in(row.made_with for row in sound),
        tuple(conditions),
        len(distinct(claim for row in sound for claim in row.claims)),
        tuple(d for measure in MEASURES for d in _family(values, measure)),
        tuple(_agreement(values, list(judgements))),
        errors,
    )


def _measured(claims: Sequence[str]) -> dict[str, float]:
    found = clusters(claims)
    return dict(zip(MEASURES, map(float, (len(claims), *found)), strict=True))


def _family(values: Mapping[str, Values], measure: str) -> list[Difference]:
    """Return the differences of all pairs by one measure, which are corrected together."""
    found = [_difference(values, pair, measure) for pair in combinations(values, 2)]
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def _difference(values: Mapping[str, Values], pair: Pair, measure: str) -> Difference:
    first, second = (values[name] for name in pair)
    shared = [question for question in first if question in second]
    one, other = ([side[question][measure] for question in shared] for side in (first, second))
    margins = [a - b for a, b in zip(one, other, strict=True)]
    test = wilcoxon(margins)
    interval = paired_difference(one, other)
    return Difference(
        measure, *pair, len(shared), *interval, test.z, test.p, None, test.rank_biserial, cohens_d(margins), test.note
    )


def _agreement(values: Mapping[str, Values], judgements: Sequence[Judgement]) -> Iterable[ClaimAgreement]:
    """Yield the agreement of each measure with its criterion, where there are judgements by it."""
    majorities = labels(judgements)
    for measure in MEASURES:
        pairs = labelled = equal = agreeing = 0
        for ((low, high), criterion, question), preferred in majorities.items():
            if criterion != CRITERION[measure]:
                continue
            sides = [values.get(name, {}).get(question) for name in (low, high)]
            if sides[0] is None or sides[1] is None:
                continue
            pairs += 1
            if preferred is None:
                continue
            labelled += 1
            a, b = sides[0][measure], sides[1][measure]
            equal += a == b
            agreeing += a != b and preferred == (low if a > b else high)
        if pairs:
            yield ClaimAgreement(measure, CRITERION[measure], pairs, labelled, equal, agreeing)


# The API


def extract_claims(
    folder: str | Path,
    *,
    conditions: Sequence[str] = (),
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> run.Result[ClaimCounts]:
    """Extract the factual claims of the answers in a comparison's folder; count them and their clusters (GraphRAG
    §4.2).

    Answers that have their claims are skipped, failed ones are tried again. Without a language model the sentences that
    state something are the claims. They are compared with the judgements of the judge who judged most. Raises
    UsageError where there are no answers, or no such condition.
    """
    chosen, target = resolved(settings), path_of(folder)
    answers, table = asked_answers(target, conditions, sample), claims_in(target)
    by = model.name if model else found_by(chosen, *STEPS)
    left = pending(answers, table, by)

    async def work(performer: Model | None, _: Session | None) -> None:
        tick = run.tick_of(progress, "claims", len(left))
        await find_claims(left, performer or ExtractiveModel(), table, by, tick)

    done = run.perform(chosen, target, model, lambda session: _cost(left, session, chosen), work)
    rows = [row for answer in answers if (row := table.get(answer.key))]
    judged = judged_in(target)
    return run.Result(count(rows, judged.sound if judged else ()), done.usage, done.notices)


def preview_claims(
    folder: str | Path, *, conditions: Sequence[str] = (), sample: int | None = None, settings: Given = None
) -> run.Preview:
    """Return what `extract_claims` would ask; no model is asked."""
    chosen, target = resolved(settings), path_of(folder)
    answers = asked_answers(target, conditions, sample)
    left = pending(answers, claims_in(target), found_by(chosen, *STEPS))
    return run.Preview(
        len(answers), len(left), run.preview(chosen, target, lambda session: _cost(left, session, chosen))
    )


async def _cost(left: Sequence[AskedAnswer], session: Session, settings: Settings) -> Estimate:
    async def work(answer: AskedAnswer, model: Model) -> None:
        await claims_of(answer.question, sentences_in(answer.answer), model)

    return await run.estimate(left, work, session, settings)
