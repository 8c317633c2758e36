"""Words: how text is cut into tokens, which of them carry no content, and which are forms of one word or alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from conspectus.lazy import lazy_module
from conspectus.rows import Entity, column
from conspectus.text.language import (
    ENGLISH,
    Languages,
    function_words,
    language_of,
    read_data,
    read_word_sets,
    text_pattern,
)

if TYPE_CHECKING:
    import rjieba
else:
    rjieba = lazy_module("rjieba")  # a fresh `ask` seldom needs it

_pattern = partial(text_pattern, "words")
TOKEN, CJK, ELIDED = _pattern("token"), _pattern("cjk"), _pattern("elided")
UNSPACED, PAIRED = _pattern("unspaced"), _pattern("paired")
_MARKED, _NAME_MARKS = _pattern("marked"), _pattern("name_marks")
_MARKS = _MARKED.pattern[1:-1]
_TOKEN_NO_ADDRESS = re.compile(
    r"[^\W\d]\w*+(?=[ ,;:)?!\"”\]])|" + TOKEN.pattern.partition("+@\\S+\\.\\w+|")[2]
)
"""The same where there is no address, most words at the first try: it takes half of the time."""

WORD = re.compile(r"\w++(?:['’]\w++)*+")
"""Words of a text for searching."""

WORDS_CACHED = 1 << 17
"""Words and names of which what was computed is cached, in each of the caches: a corpus of 1 M tokens has about 50,000
different ones; more would only be held for as long as the process runs (some 20 MB a cache when full)."""
P = ParamSpec("P")
T = TypeVar("T")


def cached_by_hash(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache `most` results of a function of texts, by 64 bits of its arguments: a sixth of the memory that takes it to
    hold the texts, too. Two of a million sentences have the same bits once in 40 million runs.
    """

    def cached(function: Callable[P, T]) -> Callable[P, T]:
        results: dict[int, T] = {}

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            key = hash((arguments, *named.items()) if named else arguments)
            result = results.get(key)
            if result is None:
                if len(results) >= most:
                    results.clear()
                results[key] = result = function(*arguments, **named)
            return result

        return call

    return cached


SMALL = "a-z" + "".join(c for c in map(chr, range(0xB5, 0x588)) if c.islower()) + "\u1e01-\u1eff\u1f00-\u1f07"
"""Small letters of Latin, Greek, Cyrillic and Armenian, for a class of a regular expression."""


@cache
def _marked() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of words and tokens where letters have such marks."""
    token = TOKEN.pattern.replace(r"|\w+(?:", rf"|[\w{_MARKS}]+(?:").replace(
        "&/+]\\w+)", f"&/+][\\w{_MARKS}]+)"
    )
    return re.compile(rf"[\w{_MARKS}]+(?:['’][\w{_MARKS}]+)*"), re.compile(token)


ELIDING = frozenset(("fr", "it", "ca"))

_LISTS = read_word_sets("words")
STOPWORDS, CHINESE_STOPWORDS = _LISTS["stopwords"], _LISTS["chinese_stopwords"]
VAGUE = _LISTS["vague"]

_SCRIPTS = re.compile(rf"{CJK.pattern}+|(?:(?!{CJK.pattern})[^\W\d_])+|\d+")

WH = frozenset("what which who whom whose when where why how whether".split())

_STEMMERS = dict(pair.split(":") for pair in _LISTS["stemmers"])
"""Snowball's name of each language that it has; Latin words in others are taken for English."""
_PARTICLES_KO = re.compile(f"(?<=..)(?:{'|'.join(_LISTS['korean_particles'])})$")

_NAME_PUNCTUATION = re.compile(rf"[^\w&+#/ {_MARKS}]+")
_POSSESSIVE = re.compile(r"'s\b|'(?=\s|$)")
_ARTICLE = re.compile(r"^(?:the|a|an) (?=\S)")


def fold(text: str) -> str:
    """Return the text in one Unicode form, width and case, with plain apostrophes."""
    if text.isascii():
        return text.lower()
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return text.replace("’", "'").replace("ʼ", "'").casefold()


@lru_cache(WORDS_CACHED)
def name_key(name: str) -> str:
    """Return what spellings of one name have in common: case, width, accents, articles, marks removed."""
    text = fold(name)
    if name.isascii() and name.isalnum():  # as most words are
        return text
    if not text.isascii():
        unmarked = _NAME_MARKS.sub("", unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", unmarked).replace("ı", "i")
    text = _POSSESSIVE.sub("", text).replace(".", "")
    text = " ".join(_NAME_PUNCTUATION.sub(" ", text).split())
    return _ARTICLE.sub("", text)


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    module: Any = import_module("Stemmer")  # it has no types
    return module.Stemmer(name, 0).stemWord  # 0: no cache, which takes three times as long


@lru_cache(WORDS_CACHED)
def stem(word: str, language: str = ENGLISH) -> str:
    """Return the stem of a folded word (Snowball, with find for found; Korean: no particle); other scripts stay."""
    if language == "ko":
        return _PARTICLES_KO.sub("", word)
    if language == "tr":  # endings of names stand behind an apostrophe
        word = word.partition("'")[0] or word
    word = word.removesuffix("'s")
    word = "find" if word == "found" else word
    return _stemmer(_STEMMERS.get(language, "english"))(word)


INFLECTING = frozenset("de ru uk bg pl cs el fi hu tr".split())
"""Languages that decline names, so that forms of one name share but a part."""
_DECLINED = re.compile(f"(?<=..)(?:{'|'.join(_LISTS['cyrillic_endings'])})$")


@lru_cache(WORDS_CACHED)
def undeclined(word: str, language: str) -> str:
    """Return what the cases of a word of a name have in common, the word itself where names have no cases."""
    if language not in INFLECTING:
        return word
    return _DECLINED.sub("", word) if language in ("ru", "uk", "bg") else stem(word, language)


@cache
def stopwords(language: str) -> frozenset[str]:
    """Return the words of a language that carry no content of their own; where it has no Latin ones, English too."""
    if language == ENGLISH:
        return STOPWORDS
    own = CHINESE_STOPWORDS if language == "zh" else frozenset(function_words(language))
    return own if language in _STEMMERS or not own else own | STOPWORDS


def is_content(word: str, language: str = ENGLISH) -> bool:
    """Tell whether a folded word carries content: no stopword, and more than a digit; a letter may, as in vitamin K."""
    return word not in stopwords(language) and (len(word) > 1 or word.isalpha())


def words_in(text: str) -> list[str]:
    """Return the words of a folded text."""
    marked = not text.isascii() and _MARKED.search(text)
    return (_marked()[0] if marked else WORD).findall(text)


def is_unspaced(text: str) -> bool:
    """Tell whether a text is mostly in a script that writes no spaces between words."""
    return not text.isascii() and len(UNSPACED.findall(text)) > 0.3 * len(text)


def tokens_in(text: str) -> list[str]:
    """Return the tokens of a text (see `TOKEN`)."""
    if not text.isascii() and _MARKED.search(text):
        return _marked()[1].findall(text)
    has_address = "@" in text or "://" in text or "www." in text
    return (TOKEN if has_address else _TOKEN_NO_ADDRESS).findall(text)


_JOINED = re.compile("(?<=[a-zA-Z\u00c0-\u024f])(?=[\uac00-\ud7af])")


def without_particles(question: str, languages: Sequence[str]) -> str:
    """Return a question with Korean particles apart from the Latin names that they are written in one piece with.

    Where documents are in Korean it stays as it is: their names are known with what is attached to them.
    """
    return question if "ko" in languages else _JOINED.sub(" ", question)


def terms(text: str, *languages: str) -> list[str]:
    """Return the search terms of a text, in order: folded, stemmed, no stopwords; see `unspaced_terms`.
    They are those of one language, English if none is given. Of several languages, those of an index that is
    searched, each word is stemmed in all, so that it meets what was stemmed in any of them.
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
    """Return the search terms of a folded stretch without spaces: its words, and every two neighbours.

    Words are what is searched for; where a question and a text are cut into words differently, the pairs still meet.
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


def search_terms(text: str, index: Languages) -> list[str]:
    """Return the search terms of a text as an index has them: stemmed in all of its languages."""
    return terms(text, *index.languages)


class Keyed(Languages, Protocol):
    """What names are looked up in: an index."""

    @property
    def entities(self) -> Sequence[Entity]: ...
    def looked_up(self, make: Callable[[Any], dict[str, Any]], *names: str) -> list[Any]: ...


def entity_keys(index: Keyed) -> Mapping[str, int]:
    """Return the numbers of entities by what all spellings of their names and aliases have in common.

    The last word of a name may also stand in its stem; a name of one word that is no concept only without its
    plural, for "main" is not Maine. An alias that several entities share leads to none; a name goes before an
    alias, and an alias before the stem of another name.
    """
    names = [name_key(name) for name in column(index.entities, "name")]
    keys: dict[str, int] = {key: number for number, key in reversed([*enumerate(names)])}
    aliases: dict[str, set[int]] = {}
    for number, own in enumerate(column(index.entities, "aliases")):
        for alias in own:
            aliases.setdefault(name_key(alias), set()).add(number)
    for key, numbers in aliases.items():
        if len(numbers) == 1:
            keys.setdefault(key, min(numbers))
    for number, (key, kind) in enumerate(zip(names, column(index.entities, "type"), strict=True)):
        *head, last = key.split() or [""]
        if head or kind == "concept" or last.endswith("s"):
            keys.setdefault(" ".join((*head, stem(last))), number)
    for key, number in list(keys.items()):
        for stems in declined_stems(key, index.languages):
            keys.setdefault(stems, number)
    return keys


def declined_stems(key: str, languages: Sequence[str]) -> Iterator[str]:
    """Yield a key without the endings of its words, in those languages that decline names."""
    for language in sorted(INFLECTING.intersection(languages)):
        yield " ".join(_ending_removed(word, language) for word in key.split())


LEAST_STEM = 4
"""Letters of the stem of a German name at least: the stem of both Mars and Maren is mar."""


def _ending_removed(word: str, language: str) -> str:
    bare = undeclined(word, language)
    return word.removesuffix("s") if language == "de" and len(bare) < LEAST_STEM else bare


_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile("(?<=[a-zß-öø-ÿа-яё])(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])")
_AGENT = ("or", "er", "e")


def _groups(name: str) -> list[list[str]]:
    """Return the groups of a list, given in order."""
    return [group.split() for group in read_data("words")[name].split(";")]


@cache
def _base_forms() -> dict[str, str]:
    return {form: forms[0] for forms in _groups("irregular_forms") for form in forms}


@lru_cache(WORDS_CACHED)
def root(word: str) -> str:
    """Return what the forms of a word have in common: `direct` of directed, director and directs."""
    word = stem(_base_forms().get(word, word))
    for ending in _AGENT:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@cache
def _meanings() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    for number, group in enumerate(_groups("alike")):
        for word in group:
            groups.setdefault(root(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}


@lru_cache(WORDS_CACHED)
def roots_of_label(label: str) -> tuple[str, ...]:
    """Return the roots of the words of a label that carry content, or of all where none does."""
    words = _WORD.findall(fold(_CAMEL.sub(" ", label)))
    return tuple(dict.fromkeys(root(w) for w in words if is_content(w))) or tuple(map(root, words))


@lru_cache(WORDS_CACHED)
def likeness(one: str, other: str) -> float:
    """Return how like two roots are, 0 to 1: the same, one the end of the other, or of like meaning."""
    if one == other:
        return 1.0
    meanings = _meanings()
    if meanings.get(one, frozenset()) & meanings.get(other, frozenset()):
        return 0.7
    short, long = sorted((one, other), key=len)
    return 0.85 if len(short) >= 4 and long.endswith(short) else 0.0
