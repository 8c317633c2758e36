"""Tokens by language: how a sentence is cut where words run together, and what a dictionary says of Chinese ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from conspectus.lazy import lazy_module
from conspectus.text.language import function_words_of
from conspectus.text.words import CHINESE_STOPWORDS, CJK, ELIDED, ELIDING, TOKEN, WORDS_CACHED, tokens_in

if TYPE_CHECKING:
    import rjieba
else:
    rjieba = lazy_module("rjieba")

DOTS = frozenset("·・‧•")
"""Marks between the parts of a foreign name."""
NEAR = 3  # unexplained
"""Tokens from such a mark on that may belong to the name."""


def tokenize(sentence: str, language: str) -> list[str]:
    """Return the tokens of a sentence, in composed characters.

    French and Italian ones without what they elide; Chinese ones as the dictionary has them, Japanese ones as runs of
    one kind of characters.
    """
    if sentence.isascii() and language not in ELIDING:
        return tokens_in(sentence)
    text = unicodedata.normalize("NFC", sentence)
    if language in ELIDING:
        return _patterns().eliding.findall(text)
    if language == "ar":
        text = _patterns().arabic_joint.sub(r"\1 ", text)
    tokens = tokens_in(text)
    if language == "ko":
        return [piece for token in tokens for piece in _patterns().korean_particle.split(token)]
    if language == "tr":
        return [piece for token in tokens for piece in _patterns().turkish_ending.split(token, 1)]
    if language not in ("zh", "ja"):
        return tokens
    pieces = [
        piece for token in tokens for piece in (_pieces(token, language) if CJK.search(token) else (token,))
    ]
    return _unglued(pieces) if language == "zh" else pieces


def _pieces(token: str, language: str) -> Iterator[str]:
    at = 0
    for run in _patterns().run.finditer(token):
        if at < run.start():
            yield token[at : run.start()]
        if language == "ja":
            for part in _patterns().japanese.findall(run.group()):
                yield from filter(None, _patterns().japanese_joint.split(part))
        else:
            yield from words_of_run(run.group())
        at = run.end()
    if at < len(token):
        yield token[at:]


class _Patterns(NamedTuple):
    """What texts of other languages are cut by; compiled when the first is, for most corpora have none."""

    run: re.Pattern[str]
    """A stretch of Chinese or Japanese."""
    japanese: re.Pattern[str]
    """A stretch of one kind: hiragana, katakana, Chinese characters."""
    japanese_joint: re.Pattern[str]
    """Where such a stretch is cut further: behind a prefecture, before and behind a title."""
    eliding: re.Pattern[str]
    """Tokens, and what they elide."""
    arabic_joint: re.Pattern[str]
    korean_particle: re.Pattern[str]
    turkish_ending: re.Pattern[str]
    """What is written behind a name with an apostrophe."""


@cache
def _patterns() -> _Patterns:
    titles = "|".join(sorted(function_words_of("ja").titles.split(), key=len, reverse=True))
    return _Patterns(
        run=re.compile(rf"{CJK.pattern}+"),
        japanese=re.compile("[\u3041-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々]+"),
        japanese_joint=re.compile(
            "(?<=[都道府県])(?=[\u4e00-\u9fff]{1,5}[市区町村郡])"
            f"|(?<=[\u4e00-\u9fff\u30a0-\u30ff]{{2}})(?=(?:{titles})$)|(?<=^さん)(?=.)"
        ),
        eliding=re.compile(rf"(?i:{ELIDED.pattern})|{TOKEN.pattern}"),
        arabic_joint=re.compile(r"\b([وفبك])(?=ال\w\w)"),
        korean_particle=re.compile(
            "(?<=[\uac00-\ud7af]{2})(?=(?:에서는|에서|에게서|에게|께서|으로|부터|까지|처럼|보다|은|는|을|를|의|에|와|과|도)$)"
        ),
        turkish_ending=re.compile(r"(?<=\w)(?=['’]\w)"),
    )


def _unglued(pieces: list[str]) -> list[str]:
    """Return tokens with those cut once more that are no words, but a small word and what was guessed to belong to it.

    Such are two characters of which the first is one, and near the dot of a foreign name any that hold one: 真纳罗是.
    """
    near = {at + step for at, piece in enumerate(pieces) if piece in DOTS for step in range(-NEAR, NEAR + 1)}
    return [
        part
        for at, piece in enumerate(pieces)
        for part in (
            _apart(piece) if at in near or (len(piece) == 2 and piece[0] in CHINESE_STOPWORDS) else (piece,)
        )
    ]


@lru_cache(WORDS_CACHED)
def _apart(piece: str) -> Sequence[str]:
    known = known_words(piece) if len(piece) > 1 and CJK.match(piece) else ()
    return (piece,) if CHINESE_STOPWORDS.isdisjoint(known) else known


def known_words(run: str) -> list[str]:
    """Return the words of a stretch of Chinese that the dictionary has, and the characters between them."""
    return rjieba.cut(run, False)


def words_of_run(run: str) -> list[str]:
    """Return the words of a stretch of Chinese."""
    return rjieba.cut(run)


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
