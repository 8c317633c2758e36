"""Clusters of claims by ROUGE-L, compared with libraries if these are installed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.claims import THRESHOLDS, clusters, distances, distinct, words

CLAIMS = st.lists(st.text(st.sampled_from("ab cd磨坊,'_"), min_size=1, max_size=20), max_size=8)
SENTENCES = [
    "Ada Brook bought the Orran Mill in 1901.",
    "Ada Brook bought the mill at Orran in 1901.",
    "The Orran Mill was bought by Ada Brook.",
    "Ruben Vale opened the Tarn Bridge in 1905.",
    "Ruben Vale didn't open the Tarn Bridge.",
    "The Hollin Council met on Monday.",
    "The Hollin Council paid for the Tarn Bridge.",
    "Bees swarm.",
]


def test_words_are_runs_of_letters_and_digits_and_chinese_characters() -> None:
    assert words("It’s the Orran-Mill, 1901!") == ("it", "s", "the", "orran", "mill", "1901")
    assert words("永和磨坊建于1840年") == ("永", "和", "磨", "坊", "建", "于", "1840", "年")


def test_the_distance_is_one_less_the_f_measure_of_the_longest_common_subsequence() -> None:
    one, other = (
        "police killed the gunman",
        "police kill the gunman now",
    )  # police, the, gunman: 3 of 4 and of 5

    assert distances([one, other]) == [pytest.approx(1 - 2 * 3 / 9)]
    assert distances(["a b c d", "d c b a"]) == [0.75]
    assert distances(["Bees swarm.", "bees, SWARM"]) == [0]


def test_claims_of_the_same_words_are_one_claim() -> None:
    assert distinct(["Bees swarm.", "bees swarm", "Bees swarm in May.", "…"]) == (
        "Bees swarm.",
        "Bees swarm in May.",
    )


def test_clusters_become_fewer_as_the_threshold_grows() -> None:
    assert clusters(SENTENCES) == sorted(clusters(SENTENCES), reverse=True)
    assert clusters(SENTENCES[:2]) == [1, 1, 1, 1]
    assert clusters([]) == [0, 0, 0, 0]
    assert clusters(["Bees swarm."]) == [1, 1, 1, 1]


def test_every_two_claims_of_a_cluster_are_nearer_than_the_threshold() -> None:
    chain = ["a b", "b c", "c d"]  # neighbours are .5 apart, the ends 1
    assert clusters(chain, [0.5, 0.51, 1.0, 1.1]) == [3, 2, 2, 1]


@given(CLAIMS)
def test_distances_are_symmetric_shares(claims: list[str]) -> None:
    there, back = distances(claims), distances(claims[::-1])

    assert len(there) == len(claims) * (len(claims) - 1) // 2
    assert sorted(there) == sorted(back)
    assert all(0 <= distance <= 1 for distance in there)


@given(st.lists(st.text(st.sampled_from("ab 1"), max_size=16), min_size=2, max_size=6))
def test_distances_are_those_of_rouge_score(claims: list[str]) -> None:
    scorer = pytest.importorskip(
        "rouge_score.rouge_scorer", reason="rouge-score is not installed"
    ).RougeScorer
    score = scorer(["rougeL"]).score
    theirs = [1 - score(a, b)["rougeL"].fmeasure for i, a in enumerate(claims) for b in claims[i + 1 :]]
    ours = [
        1.0 if not words(a) or not words(b) else d
        for d, (a, b) in zip(distances(claims), _pairs(claims), strict=True)
    ]

    assert ours == pytest.approx(theirs)


def _pairs(claims: list[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(claims) for b in claims[i + 1 :]]


@given(CLAIMS.filter(lambda claims: len(claims) > 1))
def test_clusters_are_those_of_scikit_learn(claims: list[str]) -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    from scipy.spatial.distance import squareform

    for threshold, found in zip(THRESHOLDS, clusters(claims), strict=True):
        agglomerative = cluster.AgglomerativeClustering(
            n_clusters=None, metric="precomputed", linkage="complete", distance_threshold=threshold
        )
        assert agglomerative.fit(squareform(distances(claims))).n_clusters_ == found
