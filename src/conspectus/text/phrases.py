"""Terms: the words and noun phrases that a corpus is about, by how they are used in it, without a tagger.

Phrases are ranked by their C-value (Frantzi, Ananiadou and Mima, 2000), single words by their uses outside of phrases: how
bursty these are (residual IDF; Church and Gale, 1995), and how much more frequent than in general English.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

from conspectus.algorithms.ranking import positions
from conspectus.text.language import ENGLISH, read_data
from conspectus.text.language_rules import UNCASED
from conspectus.text.vocabulary import (
    Bools,
    Floats,
    Ints,
    Vocabulary,
    first_places,
    rounded_size,
    unique_numbers,
)

LONGEST = 6
"""Words of a phrase at most. On medquad three words miss 34 of the 521 subjects that occur twice, six words none."""
MIN_C_VALUE = 2.0
"""Least C-value: two words twice have 3.2, and 1.6 where they occur once on their own, once in a longer phrase."""
VERBAL = -0.1
"""Least nominality of a phrase's words; names of diseases that have no article have 0, verbs -0.5 to -1."""
FREQUENT = 15
"""Uses of a word from which on these tell whether it is a noun; below, general English tells."""
HEAD = 0.1
"""Share of closing uses right behind a determiner from which on a frequent word is a noun, whatever it is elsewhere."""
TRANSITIVE = 0.15
"""From this share of uses before one of OBJECTS on a single word is a participle with an object: of 26 entities that go
from addresses of US presidents 22 are (securing, granting), and all 4 from texts that it was not made for."""
OBJECTS = ("the", "its", "their", "his", "our", "these", "this")
RELATIONAL = 0.25
"""From this share of uses before one of COMPLEMENTS on a single word only names a relation: relationship (0.68),
treatment (0.33) and belongs (0.95) against surgery (0.22) and cancer (0.02), on medquad and web pages."""
COMPLEMENTS = ("of", "to", "with", "between", "for")
TERMHOOD, TERMHOOD_OF_RARE, RARE = 2.5, 1.55, 3.0
"""Least termhood of a single word outside of longer terms: its contrast with general English, in powers of ten, and its
burstiness above FLAT, in bits; and that of a word whose Zipf frequency there is at most RARE, one use in a million. Of
the 250 best connected entities of five corpora 19 are general words; with 1.55 for all 36 (file, wife), and with 2.5 for
all 76 % of medquad's subjects are entities, not 80."""
FLAT = 0.45
"""Bits of burstiness that count for nothing: general words used 50 times have 0.3 on medquad and 1.0 on web pages."""
PERSONS = 0.05
"""Share of uses before "who" from which on a word is of anybody and closes no term: doctor, providers and adults have 0.06
to 0.1, surgeons 0.04. Without, doctor, infants and health care provider are among medquad's 50 best connected entities."""
UNKNOWN_FREQUENCY = 2.5
"""Zipf frequency taken for a word that the table of general English lacks: a third of the rarest that it has."""
BURSTINESS = 1.1
"""Least burstiness of a single word of a language without a table, in bits."""


@dataclass(frozen=True)
class _Runs:
    """The runs of `size` words that could be terms: where each starts, ascending, and which phrase it is of."""

    size: int
    start: Ints
    kind: Ints
    first: Ints
    """Where each phrase starts first."""
    count: Ints
    """How often each phrase occurs."""


def find_phrases(vocabulary: Vocabulary, source: Ints, least: int, named: Bools) -> tuple[Ints, Ints]:
    """Return the mentions of terms, in order of the text: the first token of each, and how many words it has.
    Sentence `s` is in source `source[s]`, over which burstiness is measured. A phrase occurs twice or more, a single word
    `least` times. Where capitals do not tell names, tokens that are `named` are no part of a term.
    """
    taken = named & (vocabulary.rules.nouns_capitalised or vocabulary.rules.language in UNCASED)
    runs = _runs(vocabulary, ~taken)
    values = _c_values(runs)
    starts: list[Ints] = []
    sizes: list[Ints] = []
    for of_size, value in zip(reversed(runs), reversed(values), strict=True):
        size = of_size.size
        if size > 1:
            good = value >= MIN_C_VALUE
        else:
            good = (value > 0) & (of_size.count >= least)
            good &= _terms(of_size, vocabulary, source, ~taken)
        token = of_size.start[good[of_size.kind]]
        for k in range(size):
            token = token[~taken[token + k]]
        token = _apart(token, size)
        for k in range(size):
            taken[token + k] = True
        starts.append(token.astype(np.int32))
        sizes.append(np.full(len(token), size, np.int32))
    start, words = np.concatenate(starts), np.concatenate(sizes)
    order = np.argsort(start, kind="stable")
    return start[order], words[order]


def _runs(vocabulary: Vocabulary, free: Bools) -> list[_Runs]:
    """Return the runs of each size, from one word up, that could be noun phrases and occur twice."""
    word = vocabulary.token_word
    inner = _content(vocabulary) & (vocabulary.attributive > VERBAL) & ~_is(vocabulary, "verbs")
    inner, last = inner[word] & free, _last(vocabulary) & free
    runs: list[_Runs] = []
    # where runs begin whose words but for the last may stand inside a phrase, and a hash of them
    at = np.flatnonzero(inner | last).astype(np.int32)
    code = np.zeros(len(at), np.int64)
    for size in range(1, LONGEST + 1):
        inside = at < len(word) - size + 1
        at, code = at[inside], code[inside]
        end = at + np.int32(size - 1)
        same = ~vocabulary.opens[end] | (size == 1)
        # no word twice: medquad would have 120 terms as "surgery surgery", of a heading and a sentence
        for k in range(size - 1):
            same &= word[at + k] != word[end]
        at, code, end = at[same], code[same], end[same]
        code *= np.int64(1_000_003)  # wraps around: a hash
        code += word[end]
        code += 1
        closed, inside = last[end], inner[end]
        start = at[closed]
        order = np.argsort(code[closed])
        ordered = code[closed][order]
        new = np.append(True, ordered[1:] != ordered[:-1])[: len(order)]
        kind, counts = np.empty(len(order), np.int32), np.diff(np.flatnonzero(new), append=len(order))
        kind[order] = np.cumsum(new, dtype=np.int32) - 1
        del order, ordered, new
        often = counts > 1
        start, kind = start[often[kind]], (np.cumsum(often, dtype=np.int32) - 1)[kind[often[kind]]]
        runs.append(_Runs(size, start, kind, start[first_places(kind)], counts[often]))
        at, code = at[inside], code[inside]
    return runs


def _last(vocabulary: Vocabulary) -> Bools:
    """Tell which tokens may close a phrase."""
    small = ~vocabulary.capital[vocabulary.form] | vocabulary.rules.nouns_capitalised
    nouns = (vocabulary.nominal > VERBAL) & (vocabulary.share_before("who", "whose") < PERSONS)
    nouns &= ~_is(vocabulary, "verbs", "modifiers")
    return (_content(vocabulary) & nouns)[vocabulary.token_word] & small


def _is(vocabulary: Vocabulary, *kinds: str) -> Bools:
    """Tell which words are adverbs, abbreviations as "e.g.", or of some kinds in general English and here no nouns."""
    general: set[str] = set()
    for kind in kinds if vocabulary.rules.language == ENGLISH else ():
        general.update(read_data("general_english")[kind].split())
    endings = *vocabulary.rules.adverbs, "."
    known = np.array([w in general or w.endswith(endings) for w in vocabulary.words], bool)
    return known & ~((vocabulary.count >= FREQUENT) & (vocabulary.share_as_head >= HEAD))


def _content(vocabulary: Vocabulary) -> Bools:
    least = 2 if vocabulary.rules.unspaced else 3
    long = np.array([len(w) >= least and w[0].isalpha() and "://" not in w for w in vocabulary.words], bool)
    return long & ~vocabulary.vague


def _c_values(runs: list[_Runs]) -> list[Floats]:
    """Return the C-value of each phrase: its uses that are not in longer ones, times the logarithm of its length."""
    within = [np.zeros(len(r.count)) for r in runs]
    longer = [np.zeros(len(r.count)) for r in runs]
    for outer in reversed(runs):
        for inner in runs[: outer.size - 1]:
            for offset in range(outer.size - inner.size + 1):
                # the phrase that starts there, -1 where none does
                kind = np.append(inner.kind, -1)[positions(inner.start, outer.first + offset)]
                inside = kind >= 0
                np.add.at(within[inner.size - 1], kind[inside], outer.count[inside])
                np.add.at(longer[inner.size - 1], kind[inside], 1)
    return [
        np.log2(r.size + 1) * (r.count - w / np.maximum(n, 1))
        for r, w, n in zip(runs, within, longer, strict=True)
    ]


def _terms(runs: _Runs, vocabulary: Vocabulary, source: Ints, free: Bools) -> Bools:
    """Tell which single words are terms: bursty, rarer in general English, and no mere relation.
    What tells are the uses of a word, in singular and plural, that are `free` of longer terms.
    """
    word = vocabulary.token_word[runs.first]
    of_word = np.full(len(vocabulary.words), -1)
    of_word[word] = np.unique(vocabulary.lemma[word], return_inverse=True)[1]
    kind = of_word[word]
    count, bursty = _burstiness(of_word, free, vocabulary, source)
    if vocabulary.rules.language != ENGLISH:
        return (bursty >= BURSTINESS)[kind]
    zipf = _general_frequencies()
    words = [vocabulary.words[w] for w in cast("list[int]", word.tolist())]
    power = np.bincount(kind, [10.0 ** zipf.get(w, 0.0) for w in words])
    contrast = np.log10(np.maximum(count, 0.1) / rounded_size(len(vocabulary.form)) * 1e9)
    contrast -= np.log10(np.maximum(power, 10**UNKNOWN_FREQUENCY))
    least = np.where(power <= 10**RARE, TERMHOOD_OF_RARE, TERMHOOD)
    term = contrast + np.maximum(bursty - FLAT, 0) >= least
    headed = (vocabulary.share_as_head > 0) & (vocabulary.share_before(*COMPLEMENTS) < RELATIONAL)
    headed &= vocabulary.share_before(*OBJECTS) < TRANSITIVE
    return headed[word] & term[kind]


def _burstiness(of_word: Ints, free: Bools, vocabulary: Vocabulary, source: Ints) -> tuple[Ints, Floats]:
    """Return how often each kind of word occurs in free tokens, and its residual IDF in bits: how much rarer sources with
    it are than chance would have them. Words of no kind have -1.
    """
    kinds, width = int(of_word.max(initial=-1)) + 1, int(source.max(initial=0)) + 1
    count, inside = np.zeros(kinds, np.int64), list[Ints]()
    for sentences, tokens, sizes in vocabulary.blocks():
        kind = of_word[vocabulary.token_word[tokens]]
        used = free[tokens] & (kind >= 0)
        count += np.bincount(kind[used], minlength=kinds)
        inside.append(unique_numbers(kind[used] * width + np.repeat(source[sentences], sizes)[used]))
    spread = np.bincount(
        unique_numbers(np.concatenate([np.zeros(0, np.int64), *inside])) // width, minlength=kinds
    )
    total = rounded_size(width)
    return count, np.log2(total / np.maximum(spread, 1)) + np.log2(1 - np.exp(-count / total) + 1e-12)


@cache
def _general_frequencies() -> dict[str, float]:
    """Return the Zipf frequencies of general English."""
    table: dict[str, str] = read_data("general_english")
    rows = ((float(zipf), words) for zipf, words in table.items() if zipf[0].isdigit())
    return {word: zipf for zipf, words in rows for word in words.split()}


def _apart(start: Ints, size: int) -> Ints:
    """Return those of some ascending starts that do not overlap, the first of two that do."""
    if size == 1 or not len(start):
        return start
    chosen: list[int] = []
    end = -1
    for token in start.tolist():
        if token >= end:
            chosen.append(token)
            end = token + size
    return np.array(chosen, np.int64)
