"""Lead subjects of a passage: its title and the subject of its first sentence."""

from __future__ import annotations

import pytest

from conspectus.text.mentions import lead_subjects, title_key


@pytest.mark.parametrize(
    ("sentence", "keys"),
    [
        ("The Weir of Quenda is a dam on the Zorba.", ["weir of quenda"]),
        ("Mara Tolan (1780-1840) rebuilt it.", ["mara tolan"]),
        ("Mara Tolan, Lady Orrin, was a mason.", ["mara tolan lady orrin", "mara tolan"]),
        ("it was late in the year.", []),
        ("Nothing of the kind", []),
    ],
)
def test_the_subject_is_what_stands_before_what_defines_it(sentence: str, keys: list[str]):
    assert lead_subjects(sentence) == keys


def test_a_title_is_known_without_what_it_closes_with_in_parentheses():
    assert title_key("The Weir (film)") == "weir"
    assert title_key("的") == ""
