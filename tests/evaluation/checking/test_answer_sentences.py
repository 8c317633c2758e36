"""The sentences of an answer, and the references that belong to each."""

from __future__ import annotations

from conspectus.evaluation.grounding import Sentence, sentences_of
from conspectus.messages import wording
from conspectus.retrieval.base import NOTHING


def test_a_reference_stands_for_its_sentence_and_for_those_before_it_in_the_paragraph() -> None:
    text = (
        "Ada bought the mill. She paid. [1] Ruben [2] met her. They left.[1][3] It rained.\n\nIt was May. [2]"
    )

    assert [(s.text, s.markers) for s in sentences_of(text, {1, 2, 3})] == [
        ("Ada bought the mill.", (1,)),
        ("She paid.", (1,)),
        ("Ruben met her.", (2,)),
        ("They left.", (1, 3)),
        ("It rained.", ()),
        ("It was May.", (2,)),
    ]


def test_brackets_that_are_no_reference_stay_in_the_text() -> None:
    assert sentences_of("See the edition of [1911] [1].", {1}) == [
        Sentence("See the edition of [1911].", (1,))
    ]


def test_headings_are_told_and_markdown_is_left_out() -> None:
    text = (
        "## Mills ##\n\n**Owners**\n\n- **Ada** bought *two* `mills`. [1]\n"
        "1. Ruben_Vale sold 3 * 2.\n---\n> Bees swarm."
    )

    found = sentences_of(text, {1})

    assert [s.shown for s in found] == [
        "# Mills",
        "# Owners",
        "Ada bought two mills.",
        "Ruben_Vale sold 3 * 2.",
        "Bees swarm.",
    ]
    assert found[2].markers == (1,)


def test_rows_of_tables_are_sentences_and_their_head_is_a_heading() -> None:
    text = "| Mill | Built |\n|---|:--:|\n| Orran | 1840 [2] |\n"

    assert sentences_of(text, {2}) == [
        Sentence("Mill, Built", (), heading=True),
        Sentence("Orran, 1840", (2,)),
    ]


def test_a_quotation_with_its_speaker_is_one_sentence() -> None:
    line = 'Ada Brook: "We paid. Nobody helped us."'

    assert sentences_of(f"- {line} [4]", {4}) == [Sentence(line, (4,))]


def test_what_the_program_says_is_no_sentence_of_the_answer() -> None:
    assert sentences_of(f"*{wording('en').assembled}*\n\nBees swarm.") == [Sentence("Bees swarm.")]
    assert sentences_of(NOTHING) == []


def test_chinese_sentences_have_their_references() -> None:
    found = sentences_of("周秀兰买下了白鹭号。[1]1920年她把船卖了。[2]", {1, 2})

    assert [(s.text, s.markers) for s in found] == [
        ("周秀兰买下了白鹭号。", (1,)),
        ("1920年她把船卖了。", (2,)),
    ]
