"""What somebody says about something is quoted of them alone."""

from __future__ import annotations

from making import a_built_index

TALK = """Ada Byrne: Welcome, Ben Quill, who knows all about looms.

Ben Quill: Looms are slow machines, and weavers love them for that.

Ada Byrne: I find looms noisy in the morning.

Ben Quill: My garden has forty apple trees and one pear tree.
"""


def test_who_is_asked_for_is_quoted_and_nobody_who_introduces_them():
    text = a_built_index(TALK).ask("What did Ben Quill say about looms?").text

    assert "slow machines" in text
    assert "Welcome" not in text
    assert "noisy" not in text


def test_who_speaks_but_never_of_that_is_not_quoted():
    text = a_built_index(TALK).ask("What did Ada Byrne say about apple trees?").text

    assert "forty apple" not in text
    assert "looms" not in text
