"""Rows of numbers that begin with what other rows end with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import grows_linearly

from conspectus.algorithms.matching import MOST_ALIKE, continuations


def found(rows: list[list[int]], least: int = 4, slack: int = 2) -> dict[int, tuple[int, int, int]]:
    """Return for each row that goes on: the position in it, that in the other one, and how many numbers are shared."""
    ends = np.cumsum([len(row) for row in rows], dtype=np.int32)
    begins = ends - np.array([len(row) for row in rows], np.int32)
    numbers = np.array([number for row in rows for number in row], np.int32)
    return {
        row: (head, at, size) for row, head, at, size in continuations(numbers, begins, ends, least, slack)
    }


@given(st.integers(4, 20), st.integers(1, 2), st.integers(0, 2), st.integers(0, 9), st.booleans())
def test_a_row_that_begins_with_what_another_ends_with_is_its_continuation(
    size: int, before: int, after: int, rest: int, swapped: bool
):
    shared = list(range(100, 100 + size))
    earlier = [*range(30), *shared, *range(40, 40 + after)]
    later = [*range(50, 50 + before), *shared, *range(60, 60 + rest), 99]
    rows = [later, earlier] if swapped else [earlier, later]

    head, at = (before, len(later) + 30) if swapped else (len(earlier) + before, 30)
    assert found(rows) == {int(not swapped): (head, at, size)}


def test_what_is_shared_must_be_long_and_at_the_end():
    row = [1, 10, 11, 12, 13, 2, 3, 4]

    assert found([[5, 6, 10, 11, 12, 13], row])
    assert not found([[5, 6, 10, 11, 12, 7, 8], row])
    assert not found([[5, 10, 11, 12, 13, 7, 8, 9], row])


def test_no_row_continues_itself():
    assert found([[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]]) == {}


def test_the_longest_overlap_counts():
    row = [0, *range(10, 30)]

    assert found([[1, 2, *range(10, 15)], [3, *range(10, 25)], row])[2][2] == 15


@pytest.mark.parametrize("alike", [MOST_ALIKE - 1, MOST_ALIKE])
def test_what_many_rows_share_is_a_phrase(alike: int):
    phrase = [10, 11, 12, 13, 14]
    rows = [*([i, *phrase] for i in range(alike)), [9, *phrase, 20]]

    assert bool(found(rows)) == (alike < MOST_ALIKE)


def test_without_numbers_nothing_is_found():
    assert found([]) == found([[], []]) == {}


@pytest.mark.parametrize(
    "text", [lambda i: [*range(10)], lambda i: [*range(7 * i, 7 * i + 14)]], ids=["alike", "parts"]
)
def test_the_work_grows_in_proportion_to_the_rows(text):
    assert grows_linearly(lambda n: found([text(i) for i in range(n)]), 100)
