"""Dates and quoted titles."""

from __future__ import annotations

import pytest

from conspectus.text.mentions import find_dates, find_titles


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 4 March 2021", ["4 March 2021"]),
        ("on the 4th of March, 2021", ["4 March 2021"]),
        ("on March 4, 2021", ["4 March 2021"]),
        ("on 2021-03-04", ["4 March 2021"]),
        ("in March 2021", ["March 2021"]),
        ("on 4 March", ["4 March"]),
        ("in 1951 and 2024", ["1951", "2024"]),
        ("they may come in May", []),
        ("1200 boats, 20211 nests, no. 2021-x", []),
        ("on 2021-13-04", []),
    ],
)
def test_dates_are_read_in_many_forms_and_written_in_one(text: str, dates: list[str]):
    assert list(find_dates(text)) == dates


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('She wrote "A Geography of Orrin", he says.', ["A Geography of Orrin"]),
        ("She wrote “A Geography of Orrin,” he says.", ["A Geography of Orrin"]),
        ('He said "it is late now" and left.', []),
        ('He said "Mara Will Come." and left.', []),
        ('The word "Orrin" stands there.', []),
    ],
)
def test_what_is_quoted_and_written_like_a_title_is_one(text: str, titles: list[str]):
    assert list(find_titles(text)) == titles
