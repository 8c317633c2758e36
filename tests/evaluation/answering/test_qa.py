"""Measures of short answers, with the published normalisation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.qa import exact_match, f1, is_judgement, measures, normalised


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Lune, a river!", "lune river"),
        ("An Owl's nest", "owls nest"),
        ("the", ""),
        ("Theatre", "theatre"),
    ],
)
def test_case_punctuation_articles_and_space_do_not_count(text: str, plain: str):
    assert normalised(text) == plain


def test_the_best_over_the_accepted_answers_counts():
    assert exact_match("the Lune.", ["Kell", "Lune"]) == 1
    assert exact_match("Lune Water", ["Kell", "Lune"]) == 0
    assert f1("Lune Water", ["Kell", "Lune"]) == pytest.approx(2 / 3)
    assert f1("", ["Lune"]) == 0
    assert f1("白鹭号", ["货船白鹭号"]) == pytest.approx(2 * 3 / 8)


@given(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_f1_is_at_least_em_and_lies_between_0_and_1(answer: str, accepted: list[str]):
    assert 0 <= exact_match(answer, accepted) <= f1(answer, accepted) <= 1


def test_judgements_are_held_against_each_other_however_they_are_worded():
    assert measures(["Yes, it is."], ["yes"]) == {"accuracy": 1}
    assert measures(["REFUTES"], ["no"]) == {"accuracy": 1}
    assert measures(["Not enough information."], ["NOT ENOUGH INFO"]) == {"accuracy": 1}
    assert measures(["Yes"], ["no"]) == {"accuracy": 0}
    assert is_judgement(["yes"])
    assert is_judgement(["not enough info"])
    assert not is_judgement(["Lune"])
    assert not is_judgement([""])
    assert not is_judgement([])


@pytest.mark.parametrize("answer", [(), ("",), ("Ben",), ("I cannot tell",)])
@pytest.mark.parametrize("label", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"])
def test_what_is_none_of_the_labels_of_fever_is_wrong_whatever_is_right(answer: tuple[str, ...], label: str):
    assert measures(answer, [label]) == {"accuracy": 0}
