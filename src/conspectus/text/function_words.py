"""The small words of languages: what stands before nouns, before verbs, and between; enough to tell them apart.

English has its own, fuller lists in `words`, `vocabulary` and `gazetteer`. A language that is not here is read by its
script alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from conspectus.text.data import word_tables


@dataclass(frozen=True)
class FunctionWords:
    """Words of one language in lower case, by what they do."""

    articles: str = ""
    """They may stand behind a joint; and where nouns have capitals, what they stand before is no name."""
    joints: str = ""
    """Small words that may stand inside a name or between two, each with the English one that it is like."""
    nouns: str = ""
    """Articles, possessives and prepositions: a noun or its adjective follows."""
    verbs: str = ""
    """Pronouns, modal verbs and negations: a verb follows more often."""
    others: str = ""
    asking: str = ""
    """Words that short questions are made of: interrogatives, and the verbs that most often stand beside them."""
    months: str = ""
    titles: str = ""
    """What stands before the name of a person."""
    organizations: str = ""
    places: str = ""
    """Words of a name, or their ends in compounds, that tell what it names."""
    endings: str = ""
    """Ends of words that are nouns, never names, where nouns have capitals."""

    @property
    def function_words(self) -> frozenset[str]:
        """Words that carry no content: those before nouns, those before verbs, and the others between."""
        return frozenset(f"{self.nouns} {self.verbs} {self.others}".split())


GRAMMARS = {code: FunctionWords(**row) for code, row in word_tables("function_words").items()}
"""By code. The words of some are only enough to know the language by."""


@cache
def function_words_of(language: str) -> FunctionWords:
    """Return the small words of a language, none where they are not known."""
    return GRAMMARS.get(language, FunctionWords())
