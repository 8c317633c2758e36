"""The factual claims of answers, and the number of clusters they form by ROUGE-L (GraphRAG §4.2, table 4).

The distance of two claims is 1 - ROUGE-L, the F measure of their longest common subsequence of words (Lin, 2004).
Clustering is agglomerative with complete linkage: any two claims of a cluster are closer than the threshold. Words
are runs of letters and digits, without case, as in `rouge-score`; in scripts without spaces, characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import Judgement, Key, QuestionAnswer, names_in
from conspectus.evaluation.grounding import AnswerRow, Check, CheckOptions, Sentence, sentences_in
from conspectus.evaluation.judge import judged_in, labels
from conspectus.evaluation.run import StepFunction
from conspectus.evaluation.statistics import Figures, Interval, PairTest, bootstrap, corrected, paired
from conspectus.lazy import lazy_module
from conspectus.models.base import Model
from conspectus.tasks import ClearSentences, FactualClaims, SelectFactual
from conspectus.text.language import language_of
from conspectus.text.words import CJK, fold

if TYPE_CHECKING:
    from scipy.cluster import hierarchy
    from typing_extensions import Unpack
else:
    hierarchy = lazy_module("scipy.cluster.hierarchy")

CLAIMS_BY_RULES = (
    "Found by rules: a claim is a sentence as it stands, and nothing "
    "is taken apart. Not comparable with the paper's."
)
STEPS = ("SelectFactual", "ClearSentences", "FactualClaims")
"""The tasks that extract claims, in their order."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)
"""Distances at which GraphRAG cuts the tree of clusters."""
CLAIMS = "claims"
MEASURES = (CLAIMS, *(f"clusters at {threshold:g}" for threshold in THRESHOLDS))
CRITERION = {measure: "comprehensiveness" if measure == CLAIMS else "diversity" for measure in MEASURES}
"""The criterion whose judgements each measure is compared with."""
_WORD = re.compile(rf"{CJK.pattern}|(?:(?!{CJK.pattern})[^\W_])+")


async def claims_of(question: str, sentences: Sequence[Sentence], model: Model) -> tuple[str, ...]:
    """Return the distinct claims that sentences make in answer to a question, in their order.

    Headings are only context and make no claims. Sentence numbers in a reply that do not exist are ignored.
    """
    if all(sentence.heading for sentence in sentences):
        return ()
    shown = tuple(sentence.shown for sentence in sentences)
    language = language_of(shown)
    factual = await model.perform(SelectFactual(question, shown, language=language))
    chosen = tuple(
        n for n in sorted(set(factual)) if 0 < n <= len(sentences) and not sentences[n - 1].heading
    )
    if not chosen:
        return ()
    clear = await model.perform(ClearSentences(question, shown, chosen, language=language))
    texts = tuple(sentence.text for sentence in clear if sentence.number in chosen)
    if not texts:
        return ()
    claims = await model.perform(FactualClaims(question, texts, language=language))
    return distinct(claim.text for claim in claims if 0 < claim.number <= len(texts))


# Clusters


@lru_cache(maxsize=1 << 16)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text that ROUGE-L compares, without case."""
    return tuple(_WORD.findall(fold(text)))


def distinct(claims: Iterable[str]) -> tuple[str, ...]:
    """Return claims in their order without duplicates: of claims with the same words (ROUGE-L 1), the first."""
    first: dict[tuple[str, ...], str] = {}
    for claim in claims:
        if words(claim):
            first.setdefault(words(claim), claim)
    return tuple(first.values())


def distances(claims: Sequence[str]) -> list[float]:
    """Return 1 - ROUGE-L of each pair of claims, in the order of scipy's condensed distance matrices."""
    return [_distance(one, other) for one, other in combinations(map(words, claims), 2)]


def _distance(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return 1 - ROUGE-L of the words of two claims.

    The longest common subsequence is computed bit-parallel, with all words of one claim as bits of an integer (Hyyrö,
    2004): about fifty times as fast as the table that libraries fill, with the same result.
    """
    positions = _positions(one)
    every = unmatched = (1 << len(one)) - 1
    for word in other:
        if at := positions.get(word):
            matched = unmatched & at
            unmatched = ((unmatched + matched) | (unmatched - matched)) & every
    both = len(one) + len(other)
    common = len(one) - unmatched.bit_count()
    return (both - 2 * common) / both if both else 0.0


@lru_cache(maxsize=1 << 10)
def _positions(text: tuple[str, ...]) -> Mapping[str, int]:
    """Return the positions of each word in a text, as the set bits of an integer."""
    positions: dict[str, int] = {}
    for position, word in enumerate(text):
        positions[word] = positions.get(word, 0) | 1 << position
    return positions


def clusters(claims: Sequence[str], thresholds: Sequence[float] = THRESHOLDS) -> list[int]:
    """Return the number of clusters of claims at each threshold.

    As in scikit-learn, which also uses scipy's tree, clusters at a distance equal to the threshold are not merged.
    """
    if len(claims) < 2:
        return [len(claims)] * len(thresholds)
    heights = hierarchy.linkage(distances(claims), "complete")[:, 2]
    return [1 + int((heights >= threshold).sum()) for threshold in thresholds]


# Counts of claims


Values = Mapping[Key, Mapping[str, float]]
"""The values of all measures, by condition and question."""


@dataclass(frozen=True)
class AnswerClaims(AnswerRow):
    """The factual claims of one answer, without duplicates."""

    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConditionClaims:
    """The averages of one condition over its answers, by measure; `failed` answers are not included."""

    condition: str
    answers: int
    failed: int
    averages: Mapping[str, Interval]


@dataclass(frozen=True, kw_only=True)
class Difference(PairTest):
    """One pair by one measure: `mean` is how many more the first condition has, with the interval of that mean."""

    measure: str
    mean: float


@dataclass(frozen=True)
class ClaimAgreement:
    """How often a measure prefers the same condition as the majority of the judgements (GraphRAG §4.2)."""

    measure: str
    criterion: str
    pairs: int
    """Number of pairs of answers that were judged."""
    compared: int
    """Number of pairs for which both the majority of the judgements and the measure prefer one answer."""
    agreeing: int
    rate: float | None
    """The percentage of compared pairs that agree; None if no pair can be compared."""


@dataclass(frozen=True)
class ClaimCounts(Figures):
    """The statistics of the claims in one folder of answers."""

    checked_by: tuple[str, ...]
    conditions: tuple[ConditionClaims, ...]
    unique: int
    """Number of distinct claims in all answers together."""
    differences: tuple[Difference, ...]
    agreement: tuple[ClaimAgreement, ...]


def count(rows: Sequence[AnswerClaims], judgements: Sequence[Judgement] = ()) -> ClaimCounts:
    """Count the claims of a folder's answers, with conditions in the order of their first rows."""
    names = list(dict.fromkeys(row.condition for row in rows))
    failures = Counter(row.condition for row in rows if row.error)
    sound = [row for row in rows if not row.error]
    values: dict[Key, dict[str, float]] = {}
    for row in sound:
        figures = map(float, (len(row.claims), *clusters(row.claims)))
        values[row.condition, row.question] = dict(zip(MEASURES, figures, strict=True))
    conditions: list[ConditionClaims] = []
    for name in names:
        own = [figures for (condition, _), figures in values.items() if condition == name]
        averages = {measure: bootstrap([one[measure] for one in own]) for measure in MEASURES} if own else {}
        conditions.append(ConditionClaims(name, len(own), failures[name], averages))
    return ClaimCounts(
        names_in(row.made_with for row in sound),
        tuple(conditions),
        len(distinct(claim for row in sound for claim in row.claims)),
        tuple(difference for measure in MEASURES for difference in _family(values, names, measure)),
        tuple(_agreement(values, judgements)),
    )


def _family(values: Values, names: Sequence[str], measure: str) -> list[Difference]:
    """Return the differences of all pairs of conditions by one measure, with p values corrected together."""
    differences: list[Difference] = []
    for pair in combinations(names, 2):
        first, second = ({q: one[measure] for (c, q), one in values.items() if c == name} for name in pair)
        margins = [first[question] - second[question] for question in first if question in second]
        interval = bootstrap(margins)
        differences.append(Difference(**paired(pair, margins, interval), measure=measure, mean=interval.mean))
    return corrected(differences)


def _agreement(values: Values, judgements: Sequence[Judgement]) -> Iterator[ClaimAgreement]:
    """Yield the agreement of each measure with its criterion, if there are judgements by that criterion."""
    majorities = labels(judgements)
    for measure, criterion in CRITERION.items():
        pairs = compared = agreeing = 0
        for ((low, high), by, question), preferred in majorities.items():
            one, other = values.get((low, question)), values.get((high, question))
            if by != criterion or one is None or other is None:
                continue
            pairs += 1
            margin = one[measure] - other[measure]
            if preferred is not None and margin:
                compared += 1
                agreeing += (preferred == low) == (margin > 0)
        rate = 100 * agreeing / compared if compared else None
        if pairs:
            yield ClaimAgreement(measure, criterion, pairs, compared, agreeing, rate)


class ClaimCheck(Check[AnswerClaims, ClaimCounts]):
    """The step that extracts the factual claims of answers."""

    stage = CLAIMS
    kind = AnswerClaims
    tasks = STEPS
    rules = (CLAIMS_BY_RULES,)

    async def work(self, piece: QuestionAnswer, model: Model) -> Mapping[str, Any]:
        return {"claims": await claims_of(piece.question, sentences_in(piece.answer), model)}

    def value(self) -> ClaimCounts:
        judged = judged_in(comparison.study_in(self.folder))
        return count(self.rows(), judged.successful if judged else ())


@StepFunction
def extract_claims(folder: str | Path, **options: Unpack[CheckOptions]) -> ClaimCheck:
    """Extract the factual claims of the answers in a comparison's folder; count them and their clusters.

    Answers whose claims were extracted are skipped, failed ones are tried again. Without a language model, each
    sentence that states something is a claim. The counts are compared with the judgements of the judge who judged most.
    Raises UsageError if there are no answers, or if a condition does not exist.
    """
    return ClaimCheck(folder, options)
