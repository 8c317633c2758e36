"""The search terms of many sentences as arrays, each sentence in its own language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conspectus.text.vocabulary import Ints, Vocabulary
from conspectus.text.words import terms


def sentence_terms(
    texts: Sequence[str], languages: Sequence[str], vocabulary: Vocabulary, number: dict[str, int]
) -> tuple[Ints, Ints]:
    """Return where the terms of each sentence start, and the terms in order, as numbers that are given in `number`.

    `vocabulary` holds the tokens of the sentences. A word has the same terms wherever it stands; what has no spaces is
    read as a whole.
    """
    order: list[Ints] = []
    sizes: list[Ints] = []
    flat: list[Ints] = []
    for language in dict.fromkeys(languages):
        inside = np.flatnonzero(np.array([code == language for code in languages]))
        part = vocabulary.part(inside, language)
        count, ids = _unspaced(texts, inside, language, number) if part.rules.unspaced else _by_word(part, number)
        order.append(inside)
        sizes.append(np.concatenate((count, np.zeros(len(inside) - len(count), np.int64))))
        flat.append(ids)
    if not order:
        return np.zeros(1, np.int32), np.zeros(0, np.int32)
    place = np.empty(len(texts), np.int64)
    place[np.concatenate(order)] = np.arange(len(texts))
    return repeated(place, np.concatenate(sizes), np.concatenate(flat))


def _by_word(vocabulary: Vocabulary, number: dict[str, int]) -> tuple[Ints, Ints]:
    """Return how many terms each sentence has, and the terms, given by its tokens."""
    language = vocabulary.rules.language
    of_word = [
        [number.setdefault(term, len(number)) for term in terms(word, language)] if used else ()
        for word, used in zip(vocabulary.words, vocabulary.count.tolist(), strict=True)
    ]
    sizes = np.array([len(each) for each in of_word], np.int64)
    flat = np.array([t for each in of_word for t in each], np.int32)
    _, ids = repeated(vocabulary.token_word, sizes, flat)
    sentences = len(vocabulary.starts) - 1
    in_sentence = np.bincount(vocabulary.sentence, sizes[vocabulary.token_word], minlength=sentences)
    return in_sentence.astype(np.int64), ids


def _unspaced(texts: Sequence[str], inside: Ints, language: str, number: dict[str, int]) -> tuple[Ints, Ints]:
    held = [[number.setdefault(term, len(number)) for term in terms(texts[int(i)], language)] for i in inside]
    return np.array([len(ids) for ids in held], np.int64), np.array([t for ids in held for t in ids], np.int32)


def repeated(which: Ints, sizes: np.ndarray[Any, Any], flat: Ints) -> tuple[Ints, Ints]:
    """Spread lists that belong to some things over others; `which` is whose list each takes. Return starts and values."""
    count = sizes[which] if len(sizes) else np.zeros(0, np.int64)
    starts = np.concatenate(([0], np.cumsum(count)))
    begin = np.concatenate(([0], np.cumsum(sizes)))[which] if len(sizes) else count
    take = np.repeat(begin - starts[:-1], count) + np.arange(int(starts[-1]))
    return starts.astype(np.int32), flat[take]
