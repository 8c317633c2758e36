"""Statistics of judgements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.comparison import Judgement
from conspectus.evaluation.judge import Compared, Comparison, Judged, compare, labels
from conspectus.evaluation.pairs import Plan
from conspectus.tasks import Criterion


def judged(*winners: str, question: str = "q", criterion: str = "depth") -> list[Judgement]:
    """Return judgements of A and B that prefer `A`, `B` or neither (`-`); A and B are shown first in turn."""
    rows: list[Judgement] = []
    for n, winner in enumerate(winners):
        first, second = ("A", "B") if n % 2 else ("B", "A")
        place = 0 if winner == "-" else 1 if winner == first else 2
        rows.append(Judgement(first, second, criterion, question, n + 1, place))
    return rows


verdicts = st.lists(st.lists(st.sampled_from("AB-"), min_size=1, max_size=5), min_size=1, max_size=8)


def comparison(rows: list[Judgement], first: str = "A", second: str = "B") -> Comparison:
    planned = Plan(("A", "B"), ((first, second),), (Criterion("depth", "How deep?"),), 9, 5, (), ())
    return compare(Judged(planned, tuple(rows), "judge"))


def compared(rows: list[Judgement], first: str = "A", second: str = "B") -> Compared:
    return comparison(rows, first, second).results[0]


@pytest.mark.parametrize(
    ("winners", "label"),
    [
        ("AAABB", "A"),
        ("AA-BB", None),
        ("AAB--", None),
        ("BBB--", "B"),
        ("-----", None),
        ("A", "A"),
    ],
)
def test_a_majority_is_strict(winners: str, label: str | None):
    assert list(labels(judged(*winners)).values()) == [label]


def test_a_failed_judgement_has_no_vote():
    failed = Judgement("A", "B", "depth", "q", 9, error="BadReply")

    assert list(labels([*judged(*"AAB"), failed, failed]).values()) == ["A"]
    assert compared([*judged(*"AAB"), failed]).mean_first == pytest.approx(50 + 50 / 3)


def test_labels_are_by_pair_criterion_and_question():
    rows = [*judged(*"AAB"), *judged(*"AB", question="r"), *judged(*"BB", criterion="style")]

    assert labels(rows) == {
        (("A", "B"), "depth", "q"): "A",
        (("A", "B"), "depth", "r"): None,
        (("A", "B"), "style", "q"): "B",
    }


def test_a_win_is_100_a_tie_50_and_a_loss_0_averaged_over_replicates_then_questions():
    found = compared([*judged(*"AAAA-"), *judged(*"BBBBB", question="r")])

    assert (found.mean_first, found.mean_second, found.questions) == ((90 + 0) / 2, 55, 2)
    assert (found.wins, found.ties, found.losses) == (4, 1, 5)


@given(verdicts)
def test_swapping_the_conditions_swaps_all_figures(found: list[list[str]]):
    rows = [row for n, winners in enumerate(found) for row in judged(*winners, question=f"q{n}")]
    there, back = compared(rows), compared(rows, "B", "A")

    assert (there.mean_first, there.mean_second) == pytest.approx((back.mean_second, back.mean_first))
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert (there.z, there.p, there.note) == pytest.approx((back.z, back.p, back.note))


def test_equal_and_opposite_margins_are_equal_to_the_last_bit():
    thirds = [judged(*"A--", question=f"a{n}") + judged(*"B--", question=f"b{n}") for n in range(4)]

    assert compared([row for rows in thirds for row in rows]).rank_biserial == 0


def test_position_bias_is_the_share_of_wins_of_the_answer_shown_first():
    rows = [
        Judgement("A", "B", "depth", "q", 1, 1),
        Judgement("B", "A", "depth", "q", 2, 1),
        Judgement("A", "B", "depth", "q", 3, 2),
        Judgement("B", "A", "depth", "q", 4, 0),
        Judgement("B", "A", "depth", "q", 5, 1, error="BadReply"),
    ]
    found = comparison(rows)

    assert found.decided == 3
    assert found.first_wins == pytest.approx(200 / 3)
    assert comparison(rows[3:]).first_wins is None
