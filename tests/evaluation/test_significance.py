"""The significance tests of GraphRAG appendix G, against the paper's figures, scipy and statsmodels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conspectus.evaluation.statistics import (
    ALL_TIED,
    FEWEST,
    TOO_FEW,
    cohens_d,
    holm,
    shapiro,
    two_sided,
    wilcoxon,
)

PAPER = {
    "Podcast": {
        "C0-TS": (-0.06, 1), "C1-TS": (-1.56, 0.633), "C2-TS": (-4.10, 0), "C3-TS": (-3.42, 0.006),
        "C0-SS": (-6.20, 0), "C1-SS": (-7.45, 0), "C2-SS": (-8.17, 0), "C3-SS": (-8.12, 0), "TS-SS": (-8.85, 0),
        "C0-C1": (-1.96, 0.389), "C0-C2": (-0.23, 1), "C1-C2": (-1.62, 0.633), "C0-C3": (-0.56, 1),
        "C1-C3": (-0.66, 1), "C2-C3": (-1.97, 0.389),
    },
    "News": {
        "C0-TS": (-2.03, 0.17), "C1-TS": (-3.62, 0.002), "C2-TS": (-5.07, 0), "C3-TS": (-5.63, 0),
        "C0-SS": (-6.30, 0), "C1-SS": (-7.78, 0), "C2-SS": (-8.34, 0), "C3-SS": (-8.44, 0), "TS-SS": (-8.27, 0),
        "C0-C1": (-0.45, 0.777), "C0-C2": (-1.54, 0.371), "C1-C2": (-4.01, 0), "C0-C3": (-0.86, 0.777),
        "C1-C3": (-2.94, 0.016), "C2-C3": (-3.68, 0.002),
    },
}  # fmt: skip
"""GraphRAG Table 6, comprehensiveness: Z and the corrected p; 0 stands for <0.001."""

margins = st.lists(st.sampled_from([20.0 * n for n in range(-5, 6)]), max_size=60)
ps = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@pytest.mark.parametrize("corpus", PAPER)
def test_the_papers_corrected_p_values_come_out_of_its_z_values(corpus: str):
    pairs = PAPER[corpus]
    low, high = (holm([two_sided(abs(z) + wide) for z, _ in pairs.values()]) for wide in (0.005, -0.005))

    for pair, least, most in zip(pairs, low, high, strict=True):
        assert least is not None
        assert most is not None
        printed = pairs[pair][1]
        if printed:  # both figures are rounded: Z to two places, p to three
            assert round(least, 3) <= printed <= round(most, 3), pair
        else:
            assert most < 0.001, pair


@given(margins)
def test_z_and_p_are_those_of_scipy(found: list[float]):
    ours = wilcoxon(found)
    if sum(map(bool, found)) < FEWEST:
        assert ours.note in (TOO_FEW, ALL_TIED)
        assert ours.z is ours.p is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about ties
        theirs = stats.wilcoxon(found, zero_method="wilcox", correction=False, method="approx")

    assert ours.z == pytest.approx(-abs(theirs.zstatistic))  # pyright: ignore[reportAttributeAccessIssue]
    assert ours.p == pytest.approx(float(theirs.pvalue))


def test_z_is_what_scipy_gave_for_a_known_sample():
    found = [100, 60, -20, 20, 0, 40, -60, 80, 20, 100, -100, 20]

    assert wilcoxon(found)[:2] == pytest.approx((-1.25408060126269, 0.20981271050464922))
    assert shapiro(found) == pytest.approx((0.9478387699393949, 0.6056346634551305))


@given(margins)
def test_swapping_the_conditions_negates_the_effect_and_leaves_z_and_p(found: list[float]):
    there, back = wilcoxon(found), wilcoxon([-margin for margin in found])

    assert (there.z, there.p, there.note) == (back.z, back.p, back.note)
    assert there.rank_biserial == (None if back.rank_biserial is None else -back.rank_biserial)
    one, other = cohens_d(found), cohens_d([-margin for margin in found])
    assert one == (None if other is None else pytest.approx(-other))


@given(margins)
def test_every_figure_is_in_its_bounds_or_missing_by_name(found: list[float]):
    test, (w, normal_p) = wilcoxon(found), shapiro(found)

    assert (test.z is None) == (test.p is None) == bool(test.note)
    assert (w is None) == (normal_p is None)
    assert test.z is None or (test.z <= 0 and isfinite(test.z))
    assert all(p is None or 0 <= p <= 1 for p in (test.p, normal_p))
    assert test.rank_biserial is None or -1 <= test.rank_biserial <= 1


@pytest.mark.parametrize(
    ("found", "note", "effect"),
    [([], TOO_FEW, None), ([0, 0, 0], ALL_TIED, 0), ([20, 0, 20], TOO_FEW, 1), ([20] * 5, TOO_FEW, 1)],
)
def test_what_cannot_be_tested_says_why(found: list[float], note: str, effect: float | None):
    assert wilcoxon(found) == (None, None, effect, note)


def test_margins_that_are_all_alike_have_no_distribution_to_test():
    assert shapiro([20.0] * 9) == (None, None)
    assert shapiro([20.0, 40.0]) == (None, None)
    assert cohens_d([20.0] * 9) is None


def test_the_rank_biserial_correlation_is_the_difference_of_the_shares_of_ranks():
    assert wilcoxon([10, 20, 30, 40, 50, -60]).rank_biserial == pytest.approx((15 - 6) / 21)


def test_cohens_d_is_of_the_paired_differences():
    assert cohens_d([10, 20, 30]) == pytest.approx(20 / np.std([10, 20, 30], ddof=1))


# Holm


@pytest.mark.parametrize(
    ("given_", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.5, 0.001, 0.02, 0.02, 0.9, 0.0004], [1, 0.005, 0.08, 0.08, 1, 0.0024]),
        ([0.2, 0.3, 0.04], [0.4, 0.4, 0.12]),
    ],
)
def test_holm_gives_what_statsmodels_gave(given_: list[float], corrected: list[float]):
    assert holm(given_) == pytest.approx(corrected)


@given(ps)
def test_holm_gives_what_statsmodels_gives(found: list[float]):
    multitest = pytest.importorskip("statsmodels.stats.multitest")

    assert holm(found) == pytest.approx(list(multitest.multipletests(found, method="holm")[1]))


@given(ps)
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(found: list[float]):
    corrected = known(holm(found))

    assert all(p <= c <= min(1, len(found) * p) for p, c in zip(found, corrected, strict=True))
    in_order = [c for _, c in sorted(zip(found, corrected, strict=True))]
    assert in_order == sorted(in_order)


@given(ps, st.randoms())
def test_holm_does_not_depend_on_the_order_of_the_family(found: list[float], draw: object):
    places = list(range(len(found)))
    draw.shuffle(places)  # pyright: ignore[reportAttributeAccessIssue]

    shuffled = known(holm([found[place] for place in places]))
    assert shuffled == [known(holm(found))[place] for place in places]


@given(ps)
def test_a_comparison_without_a_p_value_counts_among_its_family(found: list[float]):
    assert holm([*found, None]) == [*holm([*found, 1.0])[:-1], None]


def known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
