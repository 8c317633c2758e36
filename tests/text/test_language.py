"""Which language a text is in, as far as prompts come in it."""

from __future__ import annotations

import pytest
from making import some_documents

from conspectus.text.language import corpus_language, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The weir broke.", "en"),
        ("潮汐发电站在小镇。", "zh"),
        ("The weir 潮汐 was built near the town, as they say.", "en"),
        ("これは潮汐の発電所です。", "ja"),
        ("In 1938 Ada Byrne met Dora Pask over matter 911. In 1938 Ada Byrne met Dora Pask.", "en"),
        ("", "en"),
        ("1811 !?", "en"),
    ],
)
def test_a_text_is_told_by_its_script_and_is_english_where_it_tells_nothing(text: str, language: str):
    assert language_of([text]) == language


def test_a_language_that_is_set_is_taken():
    assert corpus_language(some_documents("The weir broke."), "zh") == "zh"
    assert corpus_language(some_documents("The weir broke.", "潮汐发电站在小镇。", "潮汐发电站。")) == "zh"
