"""Holding a one-word answer to the words asked for, where the model's vocabulary is known (GraphRAG appendix A.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conspectus.tokens import encoding

STRENGTH = 100
_VOCABULARIES = {
    "o200k_base": re.compile(r"gpt-4o|gpt-4\.1|chatgpt-4o|gpt-4\.5"),
    "cl100k_base": re.compile(r"gpt-4(?![\w.])|gpt-4-|gpt-3\.5|gpt-35"),
}
"""Models that take a bias at all; reasoning models do not, whatever their vocabulary."""


def bias_to(model: str, words: Iterable[str]) -> Mapping[int, int] | None:
    """Return the bias that leaves only the words, also capitalised, as one-token replies; None if unknown."""
    base = model.rpartition("/")[2]
    vocabulary = next((name for name, known in _VOCABULARIES.items() if known.match(base)), None)
    if vocabulary is None:
        return None
    tokens = [encoding(vocabulary).encode(form) for word in words for form in {word: 0, word.capitalize(): 0}]
    if any(len(token) != 1 for token in tokens):
        return None
    return {token[0]: STRENGTH for token in tokens}
