"""Rules of reading: how a language is cut into tokens, and which of its words tell names and noun phrases.

English has lists of its own, fuller ones; for others they are made of the grammar. A rule that a language has no
words for is left to the statistics of the corpus.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from conspectus.text.language import ENGLISH, function_words, read_word_sets, text_pattern
from conspectus.text.words import (
    CJK,
    ELIDED,
    ELIDING,
    TOKEN,
    WORDS_CACHED,
    rjieba,
    stem,
    stopwords,
    tokens_in,
)

_LISTS = read_word_sets("words")
PARTICLES, JOINTS, TITLES = _LISTS["particles"], _LISTS["joints"], _LISTS["titles"]
OFFICES = _LISTS["offices"]
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
    noun_endings: tuple[str, ...] = ()
    """How nouns end that are no names, where all nouns have capitals."""

    heads: frozenset[str] = frozenset()
    """Stems of words for organizations and places that stay small behind a name that is an adjective (Белое море)."""
    tells_noun: Callable[[str], bool] | None = None
    """Tells of a word that it may close a noun phrase, where the word itself says so, by its kind or script."""
    tells_attribute: Callable[[str], bool] | None = None
    """The same of the words before it."""

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


_RUN = re.compile("[\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff々]+")
"""Katakana and Chinese characters, which Japanese writes nouns with."""
_TELLING: Mapping[str, tuple[Callable[[str], bool], Callable[[str], bool]]] = {
    "zh": (_is_noun, _is_attribute),
    "ja": (_is_run, _is_run),
}


@cache
def rules_of(language: str) -> LanguageRules:
    """Return the rules of a language, given by its code."""

    def words_of(*kinds: str) -> frozenset[str]:
        if language != ENGLISH:
            return frozenset(function_words(language, *kinds))
        return frozenset[str]().union(*(_LISTS[kind] for kind in kinds))

    tells_noun, tells_attribute = _TELLING.get(language, (None, None))
    pairs = (pair.partition(":") for pair in words_of("joints"))
    joints = {joint: like or joint for joint, _, like in pairs}
    articles, heads = words_of("articles"), words_of("organizations", "places") if language in SLAVIC else ()
    return LanguageRules(
        language=language,
        stop=stopwords(language),
        vague=words_of("vague"),
        before_nouns=words_of("nouns"),
        before_verbs=words_of("verbs"),
        articles=articles,
        particles=PARTICLES - articles - joints.keys(),
        joints=joints,
        titles=words_of("titles", "offices"),
        adverbs=function_words(language, "adverbs"),
        noun_endings=function_words(language, "endings"),
        heads=frozenset(stem(word, language) for word in heads),
        tells_noun=tells_noun,
        tells_attribute=tells_attribute,
    )


ENGLISH_RULES = rules_of(ENGLISH)

DOTS = frozenset("·・‧•")
"""Marks between the parts of a foreign name."""


def tokenize(sentence: str, language: str) -> list[str]:
    """Return the tokens of a sentence, in composed characters.

    French and Italian ones without what they elide; Chinese ones as the dictionary has them, Japanese ones as runs of
    one kind of characters.
    """
    if sentence.isascii() and language not in ELIDING:
        return tokens_in(sentence)
    text = unicodedata.normalize("NFC", sentence)
    if language in ELIDING:
        return re.findall(_ELIDING, text)
    if language == "ar":
        text = text_pattern("words", "arabic_joint").sub(r"\1 ", text)
    tokens = tokens_in(text)
    if language == "ko":
        particle = text_pattern("words", "korean_particle")
        return [piece for token in tokens for piece in particle.split(token)]
    if language == "tr":
        ending = text_pattern("words", "turkish_ending")
        return [piece for token in tokens for piece in ending.split(token, maxsplit=1)]
    if language not in ("zh", "ja"):
        return tokens
    return [
        piece for token in tokens for piece in (_pieces(token, language) if CJK.search(token) else (token,))
    ]


def _pieces(token: str, language: str) -> Iterator[str]:
    for run in filter(None, re.split(f"({CJK.pattern}+)", token)):
        if not CJK.match(run):
            yield run
        elif language == "zh":
            yield from rjieba.cut(run)
        else:
            for part in text_pattern("words", "japanese").findall(run):
                yield from filter(None, re.split(_japanese_joint(), part))


_ELIDING = rf"{ELIDED.pattern}|(?-i:{TOKEN.pattern})"
"""Tokens, and what they elide."""


@cache
def _japanese_joint() -> str:
    """Return where such a stretch is cut further: behind a prefecture, before and behind a title."""
    titles = "|".join(sorted(function_words("ja", "titles"), key=len, reverse=True))
    return (
        "(?<=[都道府県])(?=[\u4e00-\u9fff]{1,5}[市区町村郡])"
        f"|(?<=[\u4e00-\u9fff\u30a0-\u30ff]{{2}})(?=(?:{titles})$)|(?<=^さん)(?=.)"
    )


@lru_cache(WORDS_CACHED)
def tag_of(word: str) -> str:
    """Return what kind of word a Chinese one mostly is, in the dictionary's letters.

    `nr` a person, `ns` a place, `nt` an organization, `nz` another name, `n` a noun, `v` a verb, "" where it is none.
    """
    tagged = rjieba.tag(word)
    return tagged[-1][1] if tagged else ""


def joined(tokens: Iterable[str]) -> str:
    """Return tokens as they stand in a text without spaces: with one only between Latin words."""
    text = ""
    for token in tokens:
        apart = text[-1:].isalnum() and token[0].isalnum() and not (CJK.match(text[-1]) or CJK.match(token))
        text += f" {token}" if apart else token
    return text
