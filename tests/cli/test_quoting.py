"""Which part of a long source is shown for a statement."""

from __future__ import annotations

import pytest

from conspectus.cli.show import LONG, nearest, snippet, statements

FILLER = "The wind blew over the moor and nobody came by. " * 10
CHUNK = f"and so it ended. {FILLER}Ada Brook bought the Orran Mill in spring. {FILLER}"


def test_each_number_stands_behind_the_text_before_it():
    text = "# Mills [1]\n\nAda bought one [2][3]. She sold it later [4]; [1].\nNobody [10] knows [5]."

    assert statements(text) == {
        1: "# Mills ",
        2: "Ada bought one ",
        3: "Ada bought one ",
        4: ". She sold it later ",
        10: "Nobody ",
        5: " knows ",
    }


def test_a_chunk_is_shown_from_the_sentence_that_says_most_of_the_statement():
    assert nearest(CHUNK, "The mill was bought by Ada Brook.").startswith("… Ada Brook bought the Orran Mill")


def test_a_quotation_and_what_shares_nothing_are_shown_from_their_beginning():
    assert len(CHUNK) > LONG
    assert nearest("Short. Ada Brook.", "Ada Brook") == "Short. Ada Brook."
    assert nearest(CHUNK, "Zebras graze.") == CHUNK
    assert nearest(CHUNK, "") == CHUNK


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("The estimate reached £52 million.", "The estimate reached…"),
        ("The estimates reach £52 million.", "The estimates reach…"),
        ("All is well, said Ada Brook.", "All is well, said Ada…"),
        ("北京的市长在河边的老磨坊里会见了布鲁克女士。", "北京的市长在河边"),
    ],
)
def test_a_snippet_ends_at_a_word(text: str, short: str):
    assert snippet(text, 22).startswith(short)
    assert len(snippet(text, 22)) <= 22
