"""What judgements amount to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.comparison import Judgement
from conspectus.evaluation.judge import labels, majority, position, tally


def judged(*winners: str, question: str = "q", criterion: str = "depth") -> list[Judgement]:
    """Judgements of A and B that prefer `A`, `B` or neither (`-`), each condition shown first in turn."""
    rows: list[Judgement] = []
    for n, winner in enumerate(winners):
        first, second = ("A", "B") if n % 2 else ("B", "A")
        place = 0 if winner == "-" else 1 if winner == first else 2
        rows.append(Judgement(first, second, criterion, question, n + 1, place))
    return rows


verdicts = st.lists(st.lists(st.sampled_from("AB-"), min_size=1, max_size=5), max_size=8)


@pytest.mark.parametrize(
    ("winners", "label"),
    [
        ("AAABB", "A"),
        ("AA-BB", None),
        ("AAB--", None),
        ("BBB--", "B"),
        ("-----", None),
        ("A", "A"),
        ("", None),
    ],
)
def test_a_majority_is_strict(winners: str, label: str | None):
    assert majority(judged(*winners)) == label


def test_a_failed_judgement_has_no_vote():
    failed = Judgement("A", "B", "depth", "q", 9, error="BadReply")

    assert majority([*judged(*"AAB"), failed, failed]) == "A"
    assert tally([*judged(*"AAB"), failed], ("A", "B"), "depth").margins == {"q": pytest.approx(100 / 3)}


def test_a_majority_is_of_one_question():
    with pytest.raises(ValueError, match="one pair, criterion and question"):
        majority([*judged("A"), *judged("A", question="r")])


def test_labels_are_by_pair_criterion_and_question():
    rows = [*judged(*"AAB"), *judged(*"AB", question="r"), *judged(*"BB", criterion="style")]

    assert labels(rows) == {
        (("A", "B"), "depth", "q"): "A",
        (("A", "B"), "depth", "r"): None,
        (("A", "B"), "style", "q"): "B",
    }


def test_a_win_is_100_a_tie_50_and_a_loss_0_averaged_over_replicates_then_questions():
    found = tally([*judged(*"AAAA-"), *judged(*"BBBBB", question="r")], ("A", "B"), "depth")

    assert found.margins == {"q": 80, "r": -100}
    assert found.mean == (90 + 0) / 2
    assert (found.wins, found.ties, found.losses) == (4, 1, 5)


@given(verdicts)
def test_swapping_the_conditions_negates_every_margin(found: list[list[str]]):
    rows = [row for n, winners in enumerate(found) for row in judged(*winners, question=f"q{n}")]
    there, back = tally(rows, ("A", "B"), "depth"), tally(rows, ("B", "A"), "depth")

    assert there.margins == {question: -margin for question, margin in back.margins.items()}
    assert there.mean + back.mean == pytest.approx(100)
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)


def test_equal_and_opposite_margins_are_equal_to_the_last_bit():
    rows = [*judged(*"A--"), *judged(*"B--", question="r"), *judged(*"AAB-BA", question="s")]
    found = tally(rows, ("A", "B"), "depth").margins

    assert found["q"] == -found["r"]


def test_position_bias_is_the_share_of_wins_of_the_answer_shown_first():
    rows = [
        Judgement("A", "B", "depth", "q", 1, 1),
        Judgement("B", "A", "depth", "q", 2, 1),
        Judgement("A", "B", "depth", "q", 3, 2),
        Judgement("B", "A", "depth", "q", 4, 0),
        Judgement("B", "A", "depth", "q", 5, 1, error="BadReply"),
    ]
    found = position(rows)

    assert found.decided == 3
    assert found.first_wins == pytest.approx(200 / 3)
    assert position(rows[3:]).first_wins is None
