"""Words: tokens, stop words, stems, search terms and keys of names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conspectus.lazy import lazy_module
from conspectus.text.language import (
    ENGLISH,
    function_words,
    language_of,
    read_word_sets,
    text_pattern,
)

if TYPE_CHECKING:
    import rjieba
else:
    rjieba = lazy_module("rjieba")  # a new `ask` process seldom needs it

_pattern = partial(text_pattern, "words")
TOKEN, CJK, ELIDED = _pattern("token"), _pattern("cjk"), _pattern("elided")
UNSPACED, PAIRED = _pattern("unspaced"), _pattern("paired")
_MARKED, _NAME_MARKS = _pattern("marked"), _pattern("name_marks")
_MARKS = _MARKED.pattern[1:-1]
_TOKEN_NO_ADDRESS = re.compile(
    r"[^\W\d]\w*+(?=[ ,;:)?!\"”\]])|" + TOKEN.pattern.partition("+@\\S+\\.\\w+|")[2]
)
"""`TOKEN` for texts without addresses; it matches most words by its first alternative, in half of the time."""

WORD = re.compile(r"\w++(?:['’]\w++)*+")
"""Pattern of the words of a text, for search terms."""

WORDS_CACHED = 1 << 17
"""Words or names whose results are cached, per cache: a corpus of 1 M tokens has about 50,000 different ones. A full
cache takes about 20 MB, for as long as the process runs."""

SMALL = "a-z" + "".join(c for c in map(chr, range(0xB5, 0x588)) if c.islower()) + "\u1e01-\u1eff\u1f00-\u1f07"
"""Lower-case letters of Latin, Greek, Cyrillic and Armenian, for a character class of a regular expression."""


@cache
def _marked() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of words and tokens for texts whose letters have combining marks."""
    token = TOKEN.pattern.replace(r"|\w+(?:", rf"|[\w{_MARKS}]+(?:").replace(
        "&/+]\\w+)", f"&/+][\\w{_MARKS}]+)"
    )
    return re.compile(rf"[\w{_MARKS}]+(?:['’][\w{_MARKS}]+)*"), re.compile(token)


ELIDING = frozenset(("fr", "it", "ca"))

_LISTS = read_word_sets("words")
STOPWORDS, CHINESE_STOPWORDS = _LISTS["stopwords"], _LISTS["chinese_stopwords"]
VAGUE = _LISTS["vague"]

_SCRIPTS = re.compile(rf"{CJK.pattern}+|(?:(?!{CJK.pattern})[^\W\d_])+|\d+")


_STEMMERS = dict(pair.split(":") for pair in _LISTS["stemmers"])
"""Snowball's name of each language that it supports; words of other languages are stemmed as English."""
_IRREGULAR = dict(pair.split(":") for pair in _LISTS["irregular_plurals"])
_PARTICLES_KO = re.compile(f"(?<=..)(?:{'|'.join(_LISTS['korean_particles'])})$")

_NAME_PUNCTUATION = re.compile(rf"[^\w&+#/ {_MARKS}]+")
_POSSESSIVE = re.compile(r"'s\b|'(?=\s|$)")
_ARTICLE = re.compile(r"^(?:the|a|an) (?=\S)")


def fold(text: str) -> str:
    """Return the text normalised (NFKC) and case-folded, with plain apostrophes."""
    if text.isascii():
        return text.lower()
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return text.replace("’", "'").replace("ʼ", "'").casefold()


def _without_accents(text: str) -> str:
    """Return a folded text without accents, which some write and others do not ("Szemerédi")."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _NAME_MARKS.sub("", unicodedata.normalize("NFD", text))).replace(
        "ı", "i"
    )


@lru_cache(WORDS_CACHED)
def name_key(name: str) -> str:
    """Return the key that all spellings of a name share: without case, width, accents, articles and punctuation."""
    text = fold(name)
    if name.isascii() and name.isalnum():  # the usual case
        return text
    text = _POSSESSIVE.sub("", _without_accents(text)).replace(".", "")
    text = " ".join(_NAME_PUNCTUATION.sub(" ", text).split())
    return _ARTICLE.sub("", text)


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    module: Any = import_module("Stemmer")  # it has no type stubs
    return module.Stemmer(name, 0).stemWord  # 0: without its own cache, which takes three times as long


@lru_cache(WORDS_CACHED)
def stem(word: str, language: str = ENGLISH) -> str:
    """Return the stem of a folded word (Snowball's, without accents), "child" for "children"; Korean: no particle."""
    if language == "ko":
        return _PARTICLES_KO.sub("", word)
    if language == "tr":  # endings of names follow an apostrophe
        word = word.partition("'")[0] or word
    word = word.removesuffix("'s")
    word = _IRREGULAR.get(word, word) if language == ENGLISH else word
    return _without_accents(_stemmer(_STEMMERS.get(language, "english"))(word))


INFLECTING = frozenset("de ru uk bg pl cs el fi hu tr".split())
"""Languages that decline names, so that the forms of a name only share a stem."""
_DECLINED = re.compile(f"(?<=..)(?:{'|'.join(_LISTS['cyrillic_endings'])})$")


@lru_cache(WORDS_CACHED)
def undeclined(word: str, language: str) -> str:
    """Return a word of a name without its case ending; in languages that do not decline names, the word itself."""
    if language not in INFLECTING:
        return word
    return _DECLINED.sub("", word) if language in ("ru", "uk", "bg") else stem(word, language)


@cache
def stopwords(language: str) -> frozenset[str]:
    """Return the stop words of a language, if it has any; in languages without a stemmer, the English ones too."""
    if language == ENGLISH:
        return STOPWORDS
    own = CHINESE_STOPWORDS if language == "zh" else frozenset(function_words(language))
    return own if language in _STEMMERS or not own else own | STOPWORDS


def is_content(word: str, language: str = ENGLISH) -> bool:
    """Return whether a folded word carries content: no stop word, no single digit; a letter may, as in vitamin K."""
    return word not in stopwords(language) and (len(word) > 1 or word.isalpha())


def words_in(text: str) -> list[str]:
    """Return the words of a folded text."""
    marked = not text.isascii() and _MARKED.search(text)
    return (_marked()[0] if marked else WORD).findall(text)


def is_unspaced(text: str) -> bool:
    """Return whether more than 30 % of a text is in scripts that write no spaces between words."""
    return not text.isascii() and len(UNSPACED.findall(text)) > 0.3 * len(text)


def tokens_in(text: str) -> list[str]:
    """Return the tokens of a text (see `TOKEN`)."""
    if not text.isascii() and _MARKED.search(text):
        return _marked()[1].findall(text)
    has_address = "@" in text or "://" in text or "www." in text
    return (TOKEN if has_address else _TOKEN_NO_ADDRESS).findall(text)


_JOINED = re.compile("(?<=[a-zA-Z\u00c0-\u024f])(?=[\uac00-\ud7af])")


def without_particles(question: str, languages: Sequence[str]) -> str:
    """Return a question with a space between Latin names and the Korean particles attached to them.
    If `languages`, those of the documents, include Korean, it is unchanged: they have names with attached particles.
    """
    return question if "ko" in languages else _JOINED.sub(" ", question)


def terms(text: str, *languages: str) -> list[str]:
    """Return the search terms of a text, in order: folded, stemmed, without stop words; see `unspaced_terms`.
    `languages` is the language of the text, English by default. For several (those of a searched index), each word is
    stemmed in all of them, so that it matches documents stemmed in any of them.
    """
    own = languages[0] if len(languages) == 1 else language_of([text], languages) if languages else ENGLISH
    folded = fold(text)
    one = text.isascii() and text.isalnum()
    words = [folded] if one else words_in(ELIDED.sub(" ", folded) if own in ELIDING else folded)
    stops = stopwords(own)
    content = [w for w in words if w not in stops and (len(w) > 1 or w.isalpha())]
    plain = folded.isascii() or not (CJK.search(folded) or PAIRED.search(folded))
    if plain and len(languages) < 2:
        return [stem(w, own) for w in content]
    return [t for w in content for t in _terms_of(w, languages or (own,))]


def _terms_of(word: str, languages: Iterable[str]) -> Iterable[str]:
    if CJK.search(word):
        return unspaced_terms(word)
    stemmed = dict.fromkeys(stem(word, language) for language in languages)
    return (*stemmed, *_pairs(word)) if PAIRED.search(word) else stemmed


def unspaced_terms(run: str) -> list[str]:
    """Return the search terms of a folded run of text without spaces: its words, and all pairs of adjacent characters.

    If a question and a text are segmented into words differently, the pairs still match.
    """
    terms = [w for w in rjieba.cut(run) if w not in CHINESE_STOPWORDS]
    for part in _SCRIPTS.findall(run):
        if CJK.match(part) and len(part) > 1:
            terms += _pairs(part)
        else:
            terms.append(part)
    return terms


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of a word list."""
    return frozenset(stem(w) for w in words)
