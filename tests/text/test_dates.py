"""Dates and quoted titles."""

from __future__ import annotations

import pytest

from conspectus.text.mentions import MARKED, find_dates, find_titles
from conspectus.text.vocabulary import read_vocabulary


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


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("It came in 1951.", "en"),
        ("It came on the 4th of March, 2021, they say.", "en"),
        ("see http://orran.example/2021 for more", "en"),
        ("She wrote 'A Geography of Orrin', he says.", "en"),
        ("Elle écrit « Le Moulin d’Orran » ici.", "fr"),
        ("Sie schrieb „Die Mühle“ dort.", "de"),
        ("他写了《路》和「石门纪事」一文", "zh"),
        ("2021年3月4日发布", "zh"),
    ],
)
def test_a_text_with_a_date_or_a_title_is_marked_by_its_tokens(text: str, language: str):
    assert [*find_dates(text, language), *find_titles(text, language)]

    texts = ["They may come.", text, "It's the mill's."]
    assert read_vocabulary(texts, [language] * 3).sentences_with(MARKED).tolist() == [1]
