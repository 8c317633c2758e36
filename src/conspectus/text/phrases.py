"""Concepts: noun phrases that a corpus keeps coming back to, told by how their words are used in it.

No tagger is asked. A word is nominal where determiners stand before it more than pronouns and modal verbs do;
a phrase holds together where its words meet more than by chance; it says something where it is bursty: many
times in few documents, as its residual IDF measures (Church and Gale, 1995).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from conspectus.text.vocabulary import Bools, Floats, Ints, Vocabulary

NOMINAL = 0.35  # unexplained
"""Least nominality of a phrase's last word; its other words may have less by half."""
CLOSING = 0.45  # unexplained
"""Least share of uses in which a phrase's last word ends its phrase."""
BURSTY_WORD = 0.5  # unexplained
"""Least residual IDF over units, in bits, of a single word; and of its sum with that over documents."""
BURSTY_SUM = 1.1  # unexplained
BURSTY_PHRASE = 0.1  # unexplained
COHESION = 3.5  # unexplained
"""Least pointwise mutual information, in bits, of the words of a phrase."""


@dataclass(frozen=True)
class Phrases:
    """Every mention of a concept: its first token and its number of words, in order of the text."""

    start: Ints
    words: Ints


def find_phrases(
    vocabulary: Vocabulary, document: Ints, unit: Ints, least: int, named: Bools | None = None
) -> Phrases:
    """Return the mentions of concepts.

    Sentence `s` stands in document `document[s]`; burstiness is measured over `unit[s]`, its source or a
    stretch of it. A word is a concept from `least` mentions in two documents on, a phrase from two; in one
    document it takes a little more. Longer phrases win over the phrases inside them, and the names of `named` tokens
    over all where capitals do not tell them.
    """
    taken = np.zeros(len(vocabulary.form), bool)
    if named is not None and (vocabulary.rules.nouns_capitalised or not vocabulary.rules.cased):
        taken |= named
    starts: list[Ints] = []
    sizes: list[Ints] = []
    where = (document[vocabulary.sentence], unit[vocabulary.sentence])
    for size in (3, 2, 1):
        token = _candidates(vocabulary, size)
        for k in range(size):
            token = token[~taken[token + k]]
        token = token[_accepted(vocabulary, where, token, size, least)]
        for k in range(size):
            taken[token + k] = True
        starts.append(token.astype(np.int32))
        sizes.append(np.full(len(token), size, np.int32))
    start, words = np.concatenate(starts), np.concatenate(sizes)
    order = np.argsort(start, kind="stable")
    return Phrases(start[order], words[order])


def _candidates(vocabulary: Vocabulary, size: int) -> Ints:
    """Return the first tokens of all runs of `size` lower-case content words that could be a noun phrase."""
    word, n = vocabulary.token_word, len(vocabulary.form)
    small = ~vocabulary.capital[vocabulary.form] | vocabulary.rules.nouns_capitalised
    content, nominal = _content(vocabulary), vocabulary.nominal
    closing = content & (vocabulary.closing >= CLOSING)
    adverbs = np.array([bool(w.endswith(vocabulary.rules.adverbs)) for w in vocabulary.words], bool)
    last = (closing & (nominal >= NOMINAL))[word] & small
    inner = (content & (vocabulary.attributive >= NOMINAL / 2) & ~adverbs)[word] & small
    ok = np.ones(max(n - size + 1, 0), bool)
    if vocabulary.rules.adjectives_follow and size > 1:
        last |= (closing & (nominal >= 0))[word] & small
        ok &= (nominal >= NOMINAL)[word][: n - size + 1]
    for k in range(size - 1):
        ok &= inner[k : n - size + 1 + k]
        ok &= vocabulary.sentence[k : n - size + 1 + k] == vocabulary.sentence[size - 1 :]
    ok &= last[size - 1 :]
    return np.flatnonzero(ok)


def _content(vocabulary: Vocabulary) -> Bools:
    least = 2 if vocabulary.rules.unspaced else 3
    long = np.array([len(w) >= least and w[0].isalpha() and "'" not in w for w in vocabulary.words], bool)
    return long & ~vocabulary.vague


def _accepted(vocabulary: Vocabulary, where: tuple[Ints, Ints], token: Ints, size: int, least: int) -> Bools:
    """Tell which mentions are of phrases frequent, spread, coherent and bursty enough."""
    if not len(token):
        return np.zeros(0, bool)
    words = np.stack([vocabulary.token_word[token + k] for k in range(size)], axis=1).astype(np.int64)
    code = words[:, 0]
    for k in range(1, size):
        code = code * len(vocabulary.words) + words[:, k]
    phrase, first, kind = np.unique(code, return_index=True, return_inverse=True)
    count = np.bincount(kind, minlength=len(phrase))
    documents, units = where
    total = int(units.max()) + 1
    seen_in, everything = _spread(kind, documents[token]), int(documents.max()) + 1
    enough = np.where(seen_in >= min(2, everything), 2 if size > 1 else least, 3 if size > 1 else least + 2)
    good = count >= enough
    spread = _spread(kind, units[token])
    if size > 1:
        chance = np.prod(vocabulary.count[words[first]] / len(vocabulary.form), axis=1)
        cohesion = np.log2(count / len(vocabulary.form) / chance) / (size - 1)
        good &= (cohesion >= COHESION) & (_burstiness(count, spread, total) >= BURSTY_PHRASE)
    else:
        alone = np.array([not w.endswith(vocabulary.rules.verbs) for w in vocabulary.words], bool)
        over_units = _burstiness(vocabulary.count[phrase], spread, total)
        over_documents = _burstiness(vocabulary.count[phrase], seen_in, everything)
        good &= alone[phrase] & (over_units >= BURSTY_WORD) & (over_units + over_documents >= BURSTY_SUM)
    return good[kind]


def _spread(kind: Ints, where: Ints) -> Ints:
    """Return in how many places each kind occurs."""
    width = int(where.max()) + 1
    return np.bincount(np.unique(kind.astype(np.int64) * width + where) // width)


def _burstiness(count: Ints, spread: Ints, total: int) -> Floats:
    """Return the residual IDF in bits: how much rarer documents with it are than chance would have them."""
    return np.log2(total / spread) + np.log2(1 - np.exp(-count / total) + 1e-12)


def texts(vocabulary: Vocabulary, phrases: Phrases) -> Iterator[str]:
    """Yield the words of each mention."""
    for start, size in zip(phrases.start.tolist(), phrases.words.tolist(), strict=True):
        yield " ".join(vocabulary.folded(start, start + size))


RUN_WORDS = 4  # unexplained
"""Words in a run."""
MIN_SHARING_SOURCES = 4  # unexplained
"""Sources that share a run, from which on it is a set phrase, or one in so many as SHARING_ONE_IN says if these are
more.
"""
SHARING_ONE_IN = 15  # unexplained
MIN_SOURCES = 20  # unexplained
"""With fewer sources than this nothing is told."""
MIN_CONTENT_WORDS = 1  # unexplained
"""Words that say something which a run must have: others are just idiom."""


def boilerplate_weights(vocabulary: Vocabulary, source: Ints) -> Floats:
    """Return the share of each sentence's words, 0 to 1, in set phrases; `source[s]` is the source of one."""
    sentences = len(vocabulary.starts) - 1
    word, n = vocabulary.token_word.astype(np.int64), len(vocabulary.form) - RUN_WORDS + 1
    total = int(source.max(initial=-1)) + 1
    if n <= 0 or total < MIN_SOURCES:
        return np.zeros(sentences)
    inside = vocabulary.sentence[:n] == vocabulary.sentence[RUN_WORDS - 1 :]
    content = sum((~vocabulary.vague[word[k : n + k]]).astype(int) for k in range(RUN_WORDS))
    token = np.flatnonzero(inside & (content >= MIN_CONTENT_WORDS))
    run = np.zeros(len(token), np.int64)
    for k in range(RUN_WORDS):
        run = run * np.int64(1_000_003) + word[token + k]  # wraps around: a hash
    _, kind = np.unique(run, return_inverse=True)
    where = np.unique(kind.astype(np.int64) * total + source[vocabulary.sentence[token]])
    spread = np.bincount(where // total)
    covered = np.zeros(len(word), bool)
    for k in range(RUN_WORDS):
        covered[token[spread[kind] >= max(MIN_SHARING_SOURCES, total // SHARING_ONE_IN)] + k] = True
    size = np.maximum(np.diff(vocabulary.starts), 1)
    return np.bincount(vocabulary.sentence[covered], minlength=sentences) / size
