"""How other languages than English and Chinese ask: for the whole, for a kind of thing, to be told of something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from conspectus.text.data import word_tables
from conspectus.text.words import stem


@dataclass(frozen=True)
class QuestionPatterns:
    """Patterns of one language, in lower case, and the words that its questions are built with."""

    whole: str = "(?!)"
    number: str = "(?!)"
    date: str = "(?!)"
    person: str = "(?!)"
    place: str = "(?!)"
    thing: str = "(?!)"
    """To be told of something, or why it is so."""
    scaffolding: str = ""

    def wants(self, text: str) -> str:
        """Return what kind of thing would answer a question, "" where it does not say."""
        kinds = (("number", self.number), ("date", self.date), ("person", self.person), ("place", self.place))
        return next((kind for kind, pattern in kinds if found(pattern, text)), "")


_ASKING = {code: QuestionPatterns(**row) for code, row in word_tables("question_patterns").items()}
_ASKS = re.compile(r"[?？؟;]\s*$")


@cache
def patterns_of(language: str) -> QuestionPatterns:
    """Return how a language asks, nothing where that is not known."""
    return _ASKING.get(language, QuestionPatterns())


@cache
def question_stopwords(language: str) -> frozenset[str]:
    """Return the stems of the words that questions of a language are built with."""
    return frozenset(stem(word, language) for word in patterns_of(language).scaffolding.split())


def found(pattern: str, text: str) -> bool:
    """Tell whether a pattern of `Asking` is in a text."""
    return bool(re.search(pattern, text, re.IGNORECASE))


def asks(text: str) -> bool:
    """Tell whether a text closes with a question mark of any script."""
    return bool(_ASKS.search(text))
