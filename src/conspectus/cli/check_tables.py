"""How claims, grounding and loss are printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conspectus.cli import show
from conspectus.evaluation.shown import figure, probability

if TYPE_CHECKING:
    from conspectus.evaluation.checking.claim_counts import ClaimCounts, Difference
    from conspectus.evaluation.checking.grounding import ConditionGrounding, Grounding
    from conspectus.evaluation.checking.loss import Loss
    from conspectus.evaluation.statistics import Interval


def claims(found: ClaimCounts) -> None:
    """Print averages, differences and agreement with the judge."""
    show.table(_averages(found))
    show.out(f"\n{show.counted(found.unique, 'different claim')} in all answers together.")
    if found.differences:
        show.out(f"\n{show.bold('Differences')} (95 % intervals, Wilcoxon; * where p is below .05 after Holm)\n")
        show.table(_differences(found.differences))
    if found.agreement:
        show.out(f"\n{show.bold('Agreement with the majority of the judgements')}\n")
        show.table(_agreement(found))


def _averages(found: ClaimCounts) -> Iterator[Sequence[str]]:
    """Yield the paper's tables 3 and 4, condition by condition."""
    from conspectus.evaluation.checking.claim_counts import CLAIMS, MEASURES

    yield ["Condition", "Answers", "Failed", "Claims", "95 %", *_thresholds()]
    for one in found.conditions:
        counts = [one.condition, f"{one.answers:,}", f"{one.failed:,}"]
        if one.averages:
            clusters = (f"{one.averages[measure].mean:.2f}" for measure in MEASURES[1:])
            yield [*counts, f"{one.averages[CLAIMS].mean:.2f}", _bounds(one.averages[CLAIMS], 1, 2), *clusters]
        else:
            yield [*counts, *[""] * (1 + len(MEASURES))]


def _thresholds() -> list[str]:
    from conspectus.evaluation.checking.clusters import THRESHOLDS

    first, *others = (f"{threshold:g}" for threshold in THRESHOLDS)
    return [f"Clusters at {first}", *(f"at {threshold}" for threshold in others)]


def _bounds(interval: Interval, times: float, digits: int) -> str:
    return f"{times * interval.low:.{digits}f} to {times * interval.high:.{digits}f}"


def _differences(found: Sequence[Difference]) -> Iterator[Sequence[str]]:
    """Yield a row for each pair: claims with their test, clusters with a star where they differ."""
    from conspectus.evaluation.checking.claim_counts import CLAIMS

    yield ["Pair", "Questions", "Claims", "95 %", "Z", "p (Holm)", *_thresholds()]
    for one in (row for row in found if row.measure == CLAIMS):
        same = (row for row in found if (row.first, row.second) == (one.first, one.second) and row is not one)
        tested = [figure(one.z, 2), probability(one.p_holm)] if not one.note else [one.note, ""]
        yield [
            f"{one.first} - {one.second}",
            f"{one.questions:,}",
            _difference(one),
            f"{one.low:+.2f} to {one.high:+.2f}",
            *tested,
            *map(_difference, same),
        ]


def _difference(one: Difference) -> str:
    star = "*" if one.p_holm is not None and one.p_holm < 0.05 else " "
    return f"{one.mean:+.2f}{star}"


def _agreement(found: ClaimCounts) -> Iterator[Sequence[str]]:
    yield ["Measure", "Judged by", "Pairs", "No tie", "%", "Equal", "Agree", "%"]
    for one in found.agreement:
        yield [
            one.measure,
            one.criterion,
            f"{one.pairs:,}",
            f"{one.labelled:,}",
            f"{100 * one.labelled / one.pairs:.0f}",
            f"{one.equal:,}",
            f"{one.agreeing:,}",
            figure(one.rate, 0),
        ]


def grounding(found: Grounding) -> None:
    """Print a row for each condition."""
    show.table(_grounded(found))


def _grounded(found: Grounding) -> Iterator[Sequence[str]]:
    """Yield a row for each condition; shares in percent, means over answers."""
    sampled = any(one.samples for one in found.conditions)
    more = ["Consistent", "95 %", "Samples"] if sampled else []
    yield ["Condition", "Answers", "Empty", "Failed", "Sentences", "Uncited", "Supported", "95 %", "Of cited", *more]
    for one in found.conditions:
        counts = (one.answers, one.empty, one.failed, one.sentences, one.uncited)
        cells = [*(f"{n:,}" for n in counts), *_share(one.supported), _share(one.of_cited)[0]]
        yield [one.condition, *cells, *(_consistency(one) if sampled else ())]


def _consistency(one: ConditionGrounding) -> list[str]:
    return [*_share(one.consistent), f"{one.samples:,}"]


def _share(interval: Interval | None) -> list[str]:
    return [f"{100 * interval.mean:.1f}", _bounds(interval, 100, 1)] if interval else ["-", ""]


def loss(found: Loss) -> None:
    """Print the share of facts that each stage has, and some of those that it lost."""
    show.out(f"{show.counted(len(found.facts), 'fact')} of {show.counted(found.chunks, 'chunk')}:\n")
    rows = [["Stage", "Facts", "Survive, %", "95 %", "First lost here"]]
    for one in found.stages:
        share = _share(one.survive) if one.facts else ["-", ""]
        rows.append([one.stage, f"{one.facts:,}", *share, f"{one.first_lost:,}"])
    show.table(rows)
    for one in found.stages:
        if examples := found.lost(one.stage):
            show.out(f"\n{show.bold(f'Lost at {one.stage}')}, for example:")
            for fact in examples:
                show.out(f"  {show.snippet(fact.text, 240)} ({fact.document}, chunk {fact.chunk})")
