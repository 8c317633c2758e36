"""Facts told by rules: which sentences state something that can be checked, and what a text holds of a statement.

Nothing is rewritten or taken apart: a sentence is a claim as it stands. Support is counted in words, so what a text
says in other words is missed, and what it denies in the same words is taken for said.
"""

from __future__ import annotations

import re
from functools import lru_cache

from conspectus.models.base import performs
from conspectus.models.extractive.reason import name_entities
from conspectus.models.extractive.statements import words_of
from conspectus.tasks import ClearSentences, Entails, FactualClaims, Numbered, SelectFactual
from conspectus.text.quality import quality
from conspectus.text.words import CJK, VAGUE, WORD, fold, stem, terms

HELD = 0.7
"""The share of the key terms of a statement that a text must hold to support it.

On the reports of an index that GPT-4.1 wrote it takes 12 % of the sentences for supported by the rows that they cite,
2.5 % by other rows of their report, and 0.1 % by rows of another: it misses paraphrases rather than make support up.
"""
LEAST = 3  # unexplained
"""Key terms of a sentence that says something of its own: names alone do not."""
WHOLE = 0.35
"""The quality from which on a sentence is no fragment."""
_ASKS = re.compile(r"[?？][\"”’」』)]*$")
_UNSETTLED = re.compile(
    r"(?:(?:and|but|so|because|then|also|or|yes|well)\b,?\s+)*"
    r"(?:it|he|she|they|this|that|these|those|here|there|his|her|its|their|him|them|the (?:former|latter))\b"
    r"(?:['’]\w+)?|^[^\w“‘]*(?:它|他|她|它们|他们|她们|这|那|这些|那些|此|其)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORD = re.compile(
    r"\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|trillion)s?\b", re.I
)
_OPENED = re.compile(r"\w\W{0,2} $")
"""What stands before a word that opens no sentence and no quotation."""
_VAGUE_STEMS = frozenset(map(stem, VAGUE))


@performs(SelectFactual)
def select_factual(task: SelectFactual) -> tuple[int, ...]:
    """Choose the sentences that name something or give a number or date, and do not ask."""
    names = frozenset(word for sentence in task.sentences for word in _capitals(sentence))
    return tuple(n for n, sentence in enumerate(task.sentences, 1) if _states_a_fact(sentence, names))


def _capitals(sentence: str) -> list[str]:
    """Return the words that a sentence writes with a capital, but for the one that it opens with."""
    return [m[0] for m in WORD.finditer(sentence) if m[0][0].isupper() and _OPENED.search(sentence, 0, m.start())]


def _states_a_fact(sentence: str, names: frozenset[str]) -> bool:
    """Tell whether a sentence names something or gives a number beside who says it; its first word is a name where
    others write it so.
    """
    said = words_of(sentence)
    if sentence.startswith("# ") or _ASKS.search(said) or len(key_terms(said)) < LEAST:
        return False
    first = WORD.search(said)
    if first and first[0] not in names and len(first[0]) > 1 and first[0].istitle():
        said = said[: first.start()] + first[0].lower() + said[first.end() :]
    return bool(_NUMBER.search(said) or _NUMBER_WORD.search(said) or name_entities(said))


@performs(ClearSentences)
def clear_sentences(task: ClearSentences) -> tuple[Numbered, ...]:
    """Keep the chosen sentences as they are, without fragments and those that open with a pronoun: nothing tells whom
    it stands for.
    """
    kept = ((n, task.sentences[n - 1]) for n in task.chosen if 0 < n <= len(task.sentences))
    return tuple(Numbered(n, text) for n, text in kept if _reads_alone(words_of(text)))


def _reads_alone(said: str) -> bool:
    if _UNSETTLED.match(said):
        return False
    ended = said if said[-1:] in ".!?。！？" else f"{said}."  # an item of a list has no full stop
    return bool(CJK.search(said)) or quality(ended) >= WHOLE


@performs(FactualClaims)
def factual_claims(task: FactualClaims) -> tuple[Numbered, ...]:
    """Take each sentence for one claim."""
    return tuple(Numbered(n, text) for n, text in enumerate(task.sentences, 1))


@performs(Entails)
def entails(task: Entails) -> bool:
    """Tell whether a text holds enough of the key terms of a statement, and all of its numbers."""
    return held(task.statement, task.text) >= HELD


@lru_cache(maxsize=1 << 14)
def all_terms(text: str) -> frozenset[str]:
    """Return the terms of a text."""
    return frozenset(terms(fold(text)))


def key_terms(statement: str) -> frozenset[str]:
    """Return what a statement is about: its terms without the vague ones, and without who says it."""
    return all_terms(words_of(statement)) - _VAGUE_STEMS


def held(statement: str, text: str) -> float:
    """Return the share, 0 to 1, of the key terms of a statement that a text holds; 0 where it lacks a number of it."""
    wanted = key_terms(statement)
    numbers = set(_NUMBER.findall(words_of(statement)))
    if not wanted or not numbers <= set(_NUMBER.findall(text)):
        return 0.0
    return len(wanted & all_terms(text)) / len(wanted)
