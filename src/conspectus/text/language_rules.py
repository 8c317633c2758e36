"""Rules of each language: how it is tokenized, and which of its words indicate names and noun phrases.

English has fuller lists of its own; those of other languages come from `data/function_words.toml`. Where a language has
no words for a rule, the statistics of the corpus decide.
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
    """The folded words of one language, by what they indicate about the words next to them."""

    language: str
    stop: frozenset[str]
    """Words that carry no content."""
    vague: frozenset[str]
    """Words with too little content to be a name or concept."""
    before_nouns: frozenset[str]
    before_verbs: frozenset[str]
    articles: frozenset[str]
    particles: frozenset[str]
    joints: Mapping[str, str]
    """Small words inside or between names ("joints"), each with the English one that it corresponds to."""
    titles: frozenset[str]
    adverbs: tuple[str, ...] = ()
    """Endings of adverbs, which are not part of noun phrases."""
    noun_endings: tuple[str, ...] = ()
    """Endings of nouns that are no names, in languages that capitalise all nouns."""

    heads: frozenset[str] = frozenset()
    """Stems of words for organizations and places that stay in lower case after an adjectival name (Белое море)."""
    tells_noun: Callable[[str], bool] | None = None
    """Whether a word may end a noun phrase, in languages where its tag or script determines that."""
    tells_attribute: Callable[[str], bool] | None = None
    """The same for the words before the last one."""

    @property
    def unspaced(self) -> bool:
        """Whether the language writes no spaces between words."""
        return self.language in ("zh", "ja")

    @property
    def nouns_capitalised(self) -> bool:
        """Whether the language capitalises all nouns."""
        return bool(self.noun_endings)


def _is_noun(word: str) -> bool:
    return len(word) > 1 and tag_of(word) in ("n", "nz", "vn", "nt", "nr", "nrt", "ns", "l", "j", "x", "an")


def _is_attribute(word: str) -> bool:
    return _is_noun(word) or (len(word) > 1 and tag_of(word) in ("a", "b", "v", "s", "t"))


def _is_run(word: str) -> bool:
    return len(word) > 1 and bool(_RUN.fullmatch(word))


_RUN = re.compile("[\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff々]+")
"""Katakana and Chinese characters, in which Japanese nouns are written."""
_TELLING: Mapping[str, tuple[Callable[[str], bool], Callable[[str], bool]]] = {
    "zh": (_is_noun, _is_attribute),
    "ja": (_is_run, _is_run),
}


@cache
def rules_of(language: str) -> LanguageRules:
    """Return the rules of a language, given its code."""

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
    """Return the tokens of a sentence, normalised to composed characters (NFC) if it is not ASCII.

    Elided words (French, Italian, Catalan), Arabic prefixes, Korean particles and Turkish name endings are tokens of
    their own. Chinese is segmented by a dictionary, Japanese into runs of one kind of characters.
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
"""Tokens and elided words before them, such as `l'`."""


@cache
def _japanese_joint() -> str:
    """Return the pattern of positions at which a Japanese run is cut further: after a prefecture, around a title."""
    titles = "|".join(sorted(function_words("ja", "titles"), key=len, reverse=True))
    return (
        "(?<=[都道府県])(?=[\u4e00-\u9fff]{1,5}[市区町村郡])"
        f"|(?<=[\u4e00-\u9fff\u30a0-\u30ff]{{2}})(?=(?:{titles})$)|(?<=^さん)(?=.)"
    )


@lru_cache(WORDS_CACHED)
def tag_of(word: str) -> str:
    """Return the most common part-of-speech tag of a Chinese word, by the dictionary.

    `nr` a person, `ns` a place, `nt` an organization, `nz` another name, `n` a noun, `v` a verb; "" for no word.
    """
    tagged = rjieba.tag(word)
    return tagged[-1][1] if tagged else ""


def joined(tokens: Iterable[str]) -> str:
    """Return tokens joined without spaces, except between two alphanumeric tokens that are not Chinese or Japanese."""
    text = ""
    for token in tokens:
        apart = text[-1:].isalnum() and token[0].isalnum() and not (CJK.match(text[-1]) or CJK.match(token))
        text += f" {token}" if apart else token
    return text
