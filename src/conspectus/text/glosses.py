"""Glosses: names in other letters that only stand in brackets, to say how another name is spelled there."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from conspectus.text.names import Mention
from conspectus.text.vocabulary import Vocabulary

_OPEN, _CLOSE = ("(", "（"), (")", "）")


class Glosses:
    """Tells which Latin names of a text in another script are more than a gloss."""

    def __init__(self, vocabulary: Vocabulary, ends: Set[int]) -> None:
        self._ends = ends
        """Where the names of the script itself end, as places of tokens."""
        forms = vocabulary.forms
        opens = np.array([form in _OPEN for form in forms], bool)[vocabulary.form]
        closes = np.array([form in _CLOSE for form in forms], bool)[vocabulary.form]
        place = np.arange(len(vocabulary.form))
        first = vocabulary.starts[:-1][vocabulary.sentence] if len(place) else place
        opened = np.maximum.accumulate(np.where(opens, place, -1)) if len(place) else place
        closed = np.maximum.accumulate(np.where(closes, place, -1)) if len(place) else place
        self._bracket = np.where((opened >= first) & (opened > closed), opened, -1)

    def keeps(self, mention: Mention) -> bool:
        """Tell whether a name stands outside of brackets, or right behind the name that it may be another form of."""
        bracket = int(self._bracket[mention.start])
        return bracket < 0 or bracket in self._ends or bracket - 1 in self._ends  # with a closing mark between
