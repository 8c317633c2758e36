"""Which answers are compared with each other, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import UsageError
from conspectus.evaluation.comparison import (
    ConditionAnswer,
    Question,
    answers_in,
    drawn,
    study_in,
    write_list,
)
from conspectus.evaluation.pairs import Plan, criteria_of, plan


def questions(n: int) -> list[Question]:
    return [Question(f"q{i}", f"What of {i}?") for i in range(n)]


def written(
    folder: Path, n: int, conditions: str = "ABC", texts: Mapping[tuple[str, str], str] | None = None
) -> Path:
    """Write answers of conditions to n questions into a folder; the text `!` stands for a failed answer."""
    kept = answers_in(folder)
    for question in questions(n):
        for condition in conditions:
            text = (texts or {}).get((condition, question.id), f"{condition} on {question.id}")
            failed = text == "!"
            kept.add(
                ConditionAnswer(
                    condition, question.id, "" if failed else text, error="cut off" if failed else ""
                )
            )
    return folder


def laid_out(folder: Path, n: int, **more: object) -> Plan:
    write_list(questions(n), folder)
    return plan(study_in(folder), criteria_of(["diversity", "directness"]), **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("n", "replicates"), [(4, 5), (5, 5), (7, 1), (3, 2), (1, 5)])
def test_each_answer_is_shown_first_half_of_the_time_for_every_pair_and_criterion(
    tmp_path: Path, n: int, replicates: int
):
    found = laid_out(written(tmp_path, n), n, replicates=replicates)

    assert len(found.comparisons) == 3 * 2 * n * replicates
    for pair in found.pairs:
        for criterion in found.criteria:
            group = [one for one in found.comparisons if one.pair == pair and one.criterion == criterion]
            for rows in (
                group,
                *([one for one in group if one.replicate == r] for r in range(1, replicates + 1)),
            ):
                first = Counter(one.first.condition for one in rows)
                assert abs(first[pair[0]] - first[pair[1]]) == len(rows) % 2


def test_a_larger_sample_goes_on_from_a_smaller_one_and_shows_the_same_first(tmp_path: Path):
    folder = written(tmp_path, 9)
    few, more = laid_out(folder, 9, sample=4), laid_out(folder, 9, sample=6)

    assert few.questions == 4
    assert {(one.key("j"), one.first.condition) for one in few.comparisons} < {
        (one.key("j"), one.first.condition) for one in more.comparisons
    }


@given(st.lists(st.text(max_size=5), unique=True, max_size=12), st.randoms())
def test_a_draw_depends_on_the_ids_alone(ids: list[str], draw: object):
    listed = [Question(one, one) for one in ids]
    shuffled = list(listed)
    draw.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue]

    assert drawn(listed) == drawn(shuffled)
    assert drawn(listed[1:]) == [one for one in drawn(listed) if one != listed[0]]


def test_questions_with_a_failed_an_empty_or_no_answer_are_left_out_and_counted(tmp_path: Path):
    written(tmp_path, 4, "AB", {("A", "q1"): "!", ("B", "q2"): " ", ("A", "q3"): "!"})
    answers_in(tmp_path).add(ConditionAnswer("C", "q0", "C on q0"))
    found = laid_out(tmp_path, 4, pairs=["A:B", "C:B"])

    assert {one.question.id for one in found.comparisons if one.pair == ("A", "B")} == {"q0"}
    assert found.omitted == (
        "2 x A:B: no answer of A (cut off)",
        "1 x A:B: no answer of B (it is empty)",
        "3 x C:B: no answer of C (there is none)",
    )


def test_equal_answers_do_not_upset_the_balance_of_the_others(tmp_path: Path):
    order = [one.id for one in drawn(questions(6))]
    same = {(condition, order[i]): "the same" for condition in "AB" for i in (1, 4)}
    found = laid_out(written(tmp_path, 6, "AB", same), 6, replicates=1)
    asked = [one for one in found.comparisons if not one.equal and one.criterion.name == "diversity"]

    assert len(asked) == 4
    assert Counter(one.first.condition for one in asked) == {"A": 2, "B": 2}


def test_a_judgement_holds_whichever_answer_came_first(tmp_path: Path):
    found = laid_out(written(tmp_path, 2, "AB"), 2).comparisons
    of_one = [one for one in found if one.question.id == "q0" and one.criterion.name == "diversity"]

    assert {one.first.condition for one in of_one} == {"A", "B"}
    assert len({one.made_with("judge") for one in of_one}) == 1
    assert len({one.made_with("judge") for one in found}) == 4


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["A:D"], "of A, B, C"),
        (["A"], "not a pair"),
        (["A:A"], "not a pair"),
        (["A:B", "B:A"], "named twice"),
    ],
)
def test_a_pair_that_makes_no_sense_is_refused(tmp_path: Path, pairs: list[str], message: str):
    with pytest.raises(UsageError, match=message):
        laid_out(written(tmp_path, 1), 1, pairs=pairs)


def test_one_condition_cannot_be_compared(tmp_path: Path):
    with pytest.raises(UsageError, match="only answers of A"):
        laid_out(written(tmp_path, 1, "A"), 1)
    with pytest.raises(UsageError, match="no answers"):
        laid_out(tmp_path / "empty", 1)


def test_an_answer_to_a_question_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="'q1'"):
        laid_out(written(tmp_path, 2), 1)


def test_criteria_come_by_name_and_from_files_in_the_order_said(tmp_path: Path):
    (tmp_path / "own.toml").write_text('candour = "Does it say what it cannot tell?"\n')
    (tmp_path / "more.json").write_text('{"brevity": "Is it short?", "diversity": "Is it varied?"}')
    found = criteria_of(["directness", str(tmp_path / "own.toml"), str(tmp_path / "more.json")])

    assert [one.name for one in found] == ["directness", "candour", "brevity", "diversity"]
    assert found[3].description == "Is it varied?"
    assert [one.name for one in criteria_of()] == [
        "comprehensiveness",
        "diversity",
        "empowerment",
        "directness",
    ]
    assert "问题" in criteria_of(language="zh")[0].description


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("own.toml", "candour = 3", "names with descriptions"),
        ("own.toml", "", "names with descriptions"),
        ("own.toml", "candour", "are not TOML"),
        ("own.json", '["candour"]', "names with descriptions"),
        ("own.json", "{", "are not JSON"),
        ("missing.toml", None, "cannot be read"),
        ("candour", None, "there is no criterion"),
    ],
)
def test_a_file_that_defines_no_criteria_is_refused(
    tmp_path: Path, name: str, text: str | None, message: str
):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        criteria_of([str(tmp_path / name) if "." in name else name])
