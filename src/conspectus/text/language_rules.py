"""Rules of reading: the words of a language that tell names and noun phrases from what is around them.

English has lists of its own, fuller ones; for others they are made of the grammar. A rule that a language has no
words for is left to the statistics of the corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from conspectus.text import chinese_words
from conspectus.text.language import ENGLISH, function_words_of
from conspectus.text.tokenize import tag_of
from conspectus.text.words import STOPWORDS, VAGUE, stem, stopwords

DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any every each no many much few "
    "several another of in with for about into from between as per more less most all both 's".split()
)
BEFORE_VERBS = frozenset(
    "to i you we they he she it who can could will would shall should may might must don't didn't doesn't "
    "not never always just really can't couldn't won't wouldn't i'll you'll we'll they'll let's".split()
)
PARTICLES = frozenset(
    "de del della der di da du des den dos la le las los van von y e al el bin ibn ten ter &".split()
)
"""Small words that hold one name together wherever they stand between two of its words."""
JOINTS = frozenset("of for in on at to and with".split())
"""Small words that may stand inside a name or between two."""
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir dame lord lady lieut rev reverend capt captain col colonel sgt "
    "sergeant lt lieutenant cllr councillor sen senator gov governor hon mayor judge justice president "
    "chairman uncle aunt".split()
)
"""Words before the name of a person that are no part of it."""

SLAVIC = frozenset("ru uk bg pl cs".split())
UNCASED = frozenset("zh ja ko th ar fa he hi".split())
"""Languages whose scripts have no capitals."""


@dataclass(frozen=True)
class LanguageRules:
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

    heads: frozenset[str] = frozenset()
    """Stems of words for organizations and places that stay small behind a name that is an adjective (Белое море)."""
    adjectives_follow: bool = False
    """Whether an adjective stands behind its noun."""
    tells_noun: Callable[[str], bool] | None = None
    """Tells of a word that it may close a noun phrase, where the word itself says so, by its kind or script."""
    tells_attribute: Callable[[str], bool] | None = None
    """The same of the words before it."""

    @property
    def cased(self) -> bool:
        """Whether its script has capitals."""
        return self.language not in UNCASED

    @property
    def unspaced(self) -> bool:
        """Whether it writes no spaces between words."""
        return self.language in ("zh", "ja")

    @property
    def nouns_capitalised(self) -> bool:
        """Whether it writes all nouns with capitals."""
        return bool(self.noun_endings)


def _is_noun(word: str) -> bool:
    return len(word) > 1 and tag_of(word) in ("n", "nz", "vn", "nt", "nr", "nrt", "ns", "l", "j", "x", "an")


def _is_attribute(word: str) -> bool:
    return _is_noun(word) or (len(word) > 1 and tag_of(word) in ("a", "b", "v", "s", "t"))


def _is_run(word: str) -> bool:
    return len(word) > 1 and bool(_RUN.fullmatch(word))


def _is_definite(word: str) -> bool:
    return len(word) > 4 and word.startswith("ال")


def _is_word(word: str) -> bool:
    return len(word) > 1 and word[0].isalpha()


_RUN = re.compile("[\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff々]+")
"""Katakana and Chinese characters, which Japanese writes nouns with."""
_TOLD: Mapping[str, tuple[Callable[[str], bool], Callable[[str], bool]]] = {
    **dict.fromkeys(UNCASED, (_is_word, _is_word)),
    "zh": (_is_noun, _is_attribute),
    "ja": (_is_run, _is_run),
    "ar": (_is_definite, _is_word),
}
_ADVERBS = {"fr": ("ment",), "es": ("mente",), "pt": ("mente",), "it": ("mente",)}


@cache
def rules_of(language: str) -> LanguageRules:
    """Return the rules of a language, given by its code."""
    if language == ENGLISH:
        joints = {word: word for word in JOINTS}
        return LanguageRules(
            language, STOPWORDS, VAGUE, DETERMINERS, BEFORE_VERBS, frozenset(("the",)), PARTICLES, joints, TITLES,
            ("ly",), ("ing", "ed"),
        )  # fmt: skip
    own = function_words_of(language)
    noun, attribute = _TOLD.get(language, (None, None))
    articles = frozenset(own.articles.split())
    joints = dict(pair.split(":") for pair in own.joints.split())
    return LanguageRules(
        language=language,
        stop=stopwords(language),
        vague=chinese_words.VAGUE if language == "zh" else frozenset(),
        before_nouns=frozenset(own.nouns.split()),
        before_verbs=frozenset(own.verbs.split()),
        articles=articles,
        particles=PARTICLES - articles - joints.keys(),
        joints=joints,
        titles=frozenset(own.titles.split()),
        adverbs=_ADVERBS.get(language, ()),
        noun_endings=tuple(own.endings.split()),
        heads=frozenset(
            stem(w, language) for w in f"{own.organizations} {own.places}".split() if language in SLAVIC
        ),
        adjectives_follow=language in ("fr", "es", "pt", "it", "ro", "ca", "ar", "he", "fa", "id", "vi"),
        tells_noun=noun,
        tells_attribute=attribute,
    )


ENGLISH_RULES = rules_of(ENGLISH)
