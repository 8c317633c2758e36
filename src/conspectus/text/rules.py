"""Rules of reading: the words of a language that tell names and noun phrases from what is around them.

English has lists of its own, fuller ones; for others they are made of the grammar. A rule that a language has no
words for is left to the statistics of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from conspectus.text.grammar import grammar_of
from conspectus.text.language import ENGLISH
from conspectus.text.words import STOPWORDS, VAGUE, stopwords

DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any every each no many much few "
    "several another of in with for about into from between as per more less most all both 's".split()
)
BEFORE_VERBS = frozenset(
    "to i you we they he she it who can could will would shall should may might must don't didn't doesn't "
    "not never always just really can't couldn't won't wouldn't i'll you'll we'll they'll let's".split()
)
PARTICLES = frozenset("de del della der di da du des den dos la le las los van von y e al el bin ibn ten ter &".split())
"""Small words that hold one name together wherever they stand between two of its words."""
JOINTS = frozenset("of for in on at to and with".split())
"""Small words that may stand inside a name or between two."""
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir dame lord lady lieut rev reverend capt captain col colonel sgt "
    "sergeant lt lieutenant cllr councillor sen senator gov governor hon mayor judge justice president "
    "chairman uncle aunt".split()
)
"""Words before the name of a person that are no part of it."""
INFLECTING = frozenset("ru uk bg pl cs el fi hu tr".split())
"""Languages that decline names, so that forms of one name share but their stems."""


@dataclass(frozen=True)
class Rules:
    """The words of one language, folded, by what they tell of others."""

    language: str
    stop: frozenset[str]
    """Words that carry no content."""
    vague: frozenset[str]
    """Words that say too little to be a name or concept."""
    before_nouns: frozenset[str]
    before_verbs: frozenset[str]
    articles: frozenset[str]
    particles: frozenset[str]
    joints: Mapping[str, str]
    """The joints, each with the English one that it is like."""
    titles: frozenset[str]
    adverbs: tuple[str, ...] = ()
    """How adverbs end, which are no part of a noun phrase."""
    verbs: tuple[str, ...] = ()
    """How verbs end, which are none alone."""
    noun_endings: tuple[str, ...] = ()
    """How nouns end that are no names, where all nouns have capitals."""

    @property
    def nouns_capitalised(self) -> bool:
        """Whether it writes all nouns with capitals."""
        return bool(self.noun_endings)


_ADVERBS = {"fr": ("ment",), "es": ("mente",), "pt": ("mente",), "it": ("mente",)}


@cache
def rules_of(language: str) -> Rules:
    """Return the rules of a language, given by its code."""
    if language == ENGLISH:
        joints = {word: word for word in JOINTS}
        return Rules(
            language, STOPWORDS, VAGUE, DETERMINERS, BEFORE_VERBS, frozenset(("the",)), PARTICLES, joints, TITLES,
            ("ly",), ("ing", "ed"),
        )  # fmt: skip
    own = grammar_of(language)
    articles = frozenset(own.articles.split())
    joints = dict(pair.split(":") for pair in own.joints.split())
    return Rules(
        language=language,
        stop=stopwords(language),
        vague=frozenset(),
        before_nouns=frozenset(own.nouns.split()),
        before_verbs=frozenset(own.verbs.split()),
        articles=articles,
        particles=PARTICLES - articles - joints.keys(),
        joints=joints,
        titles=frozenset(own.titles.split()),
        adverbs=_ADVERBS.get(language, ()),
        noun_endings=tuple(own.endings.split()),
    )
