"""Tokens by language: how a sentence is cut where words run together, and what a dictionary says of Chinese ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from conspectus.text.grammar import grammar_of
from conspectus.text.words import CJK, ELIDED, ELIDING, tokens_in

_CJK_RUN = re.compile(rf"{CJK.pattern}+")
_JAPANESE = re.compile("[\u3041-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々]+")
"""Runs of one kind: hiragana, katakana, Chinese characters."""
_JAPANESE_JOINTS = re.compile(
    "(?<=[都道府県])(?=[\u4e00-\u9fff]{1,5}[市区町村郡])|(?<=[\u4e00-\u9fff\u30a0-\u30ff]{2})(?=(?:"
    + "|".join(sorted(grammar_of("ja").titles.split(), key=len, reverse=True))
    + ")$)|(?<=^さん)(?=.)"
)
"""Where a run of Japanese is cut further: behind a prefecture, before and behind a title."""
_ARABIC_JOINT = re.compile(r"\b([وفبك])(?=ال\w\w)")
_KOREAN_PARTICLE = re.compile(
    "(?<=[\uac00-\ud7af]{2})(?=(?:에서는|에서|에게|께서|으로|부터|까지|처럼|보다|은|는|을|를|의|에|와|과|도)$)"
)


def cut(sentence: str, language: str) -> list[str]:
    """Return the tokens of a sentence, in composed characters.

    French and Italian ones without what they elide; Chinese ones as the dictionary has them, Japanese ones as runs of
    one kind of characters.
    """
    if sentence.isascii() and language not in ELIDING:
        return tokens_in(sentence)
    text = unicodedata.normalize("NFC", sentence)
    if language in ELIDING:
        text = ELIDED.sub(r"\g<0> ", text)
    elif language == "ar":
        text = _ARABIC_JOINT.sub(r"\1 ", text)
    tokens = tokens_in(text)
    if language == "ko":
        return [piece for token in tokens for piece in _KOREAN_PARTICLE.split(token)]
    if language not in ("zh", "ja"):
        return tokens
    return [piece for token in tokens for piece in (_pieces(token, language) if CJK.search(token) else (token,))]


def _pieces(token: str, language: str) -> Iterator[str]:
    at = 0
    for run in _CJK_RUN.finditer(token):
        if at < run.start():
            yield token[at : run.start()]
        if language == "ja":
            for part in _JAPANESE.findall(run.group()):
                yield from filter(None, _JAPANESE_JOINTS.split(part))
        else:
            yield from words_of_run(run.group())
        at = run.end()
    if at < len(token):
        yield token[at:]


def words_of_run(run: str) -> list[str]:
    """Return the words of a stretch of Chinese."""
    import rjieba

    return rjieba.cut(run)


@cache
def tag_of(word: str) -> str:
    """Return what kind of word a Chinese one mostly is, in the dictionary's letters.

    `nr` a person, `ns` a place, `nt` an organization, `nz` another name, `n` a noun, `v` a verb, "" where it is none.
    """
    import rjieba

    tagged = rjieba.tag(word)
    return tagged[-1][1] if tagged else ""


def joined(tokens: Iterable[str]) -> str:
    """Return tokens as they stand in a text without spaces: with one only between Latin words."""
    text = ""
    for token in tokens:
        apart = text[-1:].isalnum() and token[0].isalnum() and not (CJK.match(text[-1]) or CJK.match(token))
        text += f" {token}" if apart else token
    return text
