"""Find terms: the words and noun phrases that a corpus is about, by their use in it, without a part-of-speech tagger.

Phrases are selected by their C-value (Frantzi, Ananiadou and Mima, 2000), single words by their uses outside of
phrases: how bursty these are (residual IDF; Church and Gale, 1995), and how much more frequent than in general English.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

from conspectus.algorithms.matching import apart
from conspectus.algorithms.ranking import positions
from conspectus.algorithms.statistics import Bools, Floats, Ints, first_indices, rounded_size, unique_numbers
from conspectus.text.language import ENGLISH, read_data
from conspectus.text.language_rules import UNCASED
from conspectus.text.vocabulary import Vocabulary

LONGEST = 6
"""Maximum words of a phrase. On medquad, three words miss 34 of the 521 subjects that occur twice, six words none."""
MIN_C_VALUE = 2.0
"""Least C-value of a phrase: two words used twice have 3.2, those with one use outside of longer phrases 1.6."""
VERBAL = -0.1
"""Least nominality (-1 to 1) of a phrase's words; names of diseases that have no article have 0, verbs -0.5 to -1."""
FREQUENT = 15
"""Number of uses from which on a word's use decides whether it is a noun; for rarer words, general English decides."""
HEAD = 0.1
"""Share of phrase-final uses right after a determiner from which on a frequent word is a noun despite other uses."""
TRANSITIVE = 0.15
"""Share of uses before one of OBJECTS from which on a word is a participle with an object: as are 22 of 26 entities
that this removes from addresses of US presidents (securing, granting), and all 4 from texts not used for tuning."""
OBJECTS = ("the", "its", "their", "his", "our", "these", "this")
RELATIONAL = 0.25
"""Share of uses before one of COMPLEMENTS from which on a single word only names a relation: relationship has 0.68,
treatment 0.33 and belongs 0.95; surgery has 0.22 and cancer 0.02, on medquad and web pages."""
COMPLEMENTS = ("of", "to", "with", "between", "for")
MODIFIER = 0.15
"""Share of uses that end a phrase up to which a word only modifies others (urinary, elliptic). Of 167 that this removes
from medquad and web pages, 12 are nouns (germ, spleen); of those between it and 0.2, 8 of 38."""
TERMHOOD, TERMHOOD_OF_RARE, RARE = 2.5, 1.55, 3.0
"""Least termhood of a single word: its contrast with general English, in powers of ten, plus its burstiness above FLAT,
in bits; the least for a word of a Zipf frequency up to RARE (one use in a million); and RARE. With 1.55 for
all words, 36 of 250 well-connected entities are general (wife), not 19; with 2.5, 4 % of medquad's subjects are lost."""
FLAT = 0.45
"""Bits of burstiness that are not counted: general words with 50 uses have 0.3 on medquad and 1.0 on web pages."""
PERSONS = 0.05
"""Share of uses before "who" from which on a word denotes anybody and ends no term: doctor, providers, adults have 0.06
to 0.1, surgeons 0.04. Else doctor, infants, health care provider are among medquad's 50 best connected entities."""
UNKNOWN_FREQUENCY = 2.5
"""Zipf frequency assumed for words not in the table of general English: a third as frequent as its rarest words."""
BURSTINESS = 1.1
"""Least burstiness of a single word, in bits, in languages without a table of general frequencies."""


@dataclass(frozen=True)
class _Runs:
    """The runs of `size` words that could be terms: their first tokens, ascending, and the numbers of their phrases."""

    size: int
    start: Ints
    kind: Ints
    first: Ints
    """The first token of the first occurrence of each phrase."""
    count: Ints
    """How often each phrase occurs."""


def find_phrases(vocabulary: Vocabulary, source: Ints, least: int, named: Bools) -> tuple[Ints, Ints]:
    """Return the mentions of terms, in order of the text: the first token of each, and its number of words.
    Sentence `s` is in source `source[s]`; burstiness is measured over sources. A phrase must occur twice, a single word
    `least` times. In languages whose capitals do not mark names, no token in `named` is part of a term.
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
        token = apart(token, size)
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
    # the starts of runs whose words, except the last, may be inside a phrase; and a hash of each run
    at = np.flatnonzero(inner | last).astype(np.int32)
    code = np.zeros(len(at), np.int64)
    for size in range(1, LONGEST + 1):
        inside = at < len(word) - size + 1
        at, code = at[inside], code[inside]
        end = at + np.int32(size - 1)
        same = ~vocabulary.opens[end] | (size == 1)
        # no word twice: medquad would have 120 terms like "surgery surgery", made of a heading and a sentence
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
        runs.append(_Runs(size, start, kind, start[first_indices(kind)], counts[often]))
        at, code = at[inside], code[inside]
    return runs


def _last(vocabulary: Vocabulary) -> Bools:
    """Return which tokens may be the last of a phrase."""
    small = ~vocabulary.capital[vocabulary.form] | vocabulary.rules.nouns_capitalised
    nouns = (vocabulary.nominal > VERBAL) & (vocabulary.share_before("who", "whose") < PERSONS)
    nouns &= ~_is(vocabulary, "verbs", "modifiers")
    if vocabulary.rules.language == ENGLISH:
        nouns &= ~_participles(vocabulary)
    return (_content(vocabulary) & nouns)[vocabulary.token_word] & small


def _is(vocabulary: Vocabulary, *kinds: str) -> Bools:
    """Return which words are adverbs, abbreviations ("e.g.") or of some kinds in general English, but no nouns here."""
    general: set[str] = set()
    for kind in kinds if vocabulary.rules.language == ENGLISH else ():
        general.update(read_data("general_english")[kind].split())
    endings = *vocabulary.rules.adverbs, "."
    known = np.array([w in general or w.endswith(endings) for w in vocabulary.words], bool)
    return known & ~((vocabulary.count >= FREQUENT) & (vocabulary.share_as_head >= HEAD))


def _participles(vocabulary: Vocabulary) -> Bools:
    """Return which words are past participles: those in "ed" whose verb occurs, too ("specified"). All 46 terms that this
    removes from podcasts, medquad and mathematics name nothing ("exercises tailored")."""
    verbs = frozenset(vocabulary.words).union(general_frequencies())

    def is_participle(word: str) -> bool:
        last = word.rpartition("-")[2]
        bases = (last[:-1], last[:-2], f"{last[:-3]}y", last[:-3] if last[-3:-2] == last[-4:-3] else "")
        return len(last) > 4 and last[-3:] != "eed" and not verbs.isdisjoint(bases)

    return np.array([w.endswith("ed") and is_participle(w) for w in vocabulary.words], bool)


def _content(vocabulary: Vocabulary) -> Bools:
    least = 2 if vocabulary.rules.unspaced else 3
    long = np.array([len(w) >= least and w[0].isalpha() and "://" not in w for w in vocabulary.words], bool)
    return long & ~vocabulary.vague


def _c_values(runs: list[_Runs]) -> list[Floats]:
    """Return each phrase's C-value: its uses less the mean uses of longer phrases with it, times log2(size + 1)."""
    within = [np.zeros(len(r.count)) for r in runs]
    longer = [np.zeros(len(r.count)) for r in runs]
    for outer in reversed(runs):
        for inner in runs[: outer.size - 1]:
            for offset in range(outer.size - inner.size + 1):
                # the shorter phrase at this offset, -1 if there is none
                kind = np.append(inner.kind, -1)[positions(inner.start, outer.first + offset)]
                inside = kind >= 0
                np.add.at(within[inner.size - 1], kind[inside], outer.count[inside])
                np.add.at(longer[inner.size - 1], kind[inside], 1)
    return [
        np.log2(r.size + 1) * (r.count - w / np.maximum(n, 1))
        for r, w, n in zip(runs, within, longer, strict=True)
    ]


def _terms(runs: _Runs, vocabulary: Vocabulary, source: Ints, free: Bools) -> Bools:
    """Return which single words are terms: bursty, rarer in general English, and not just the name of a relation.
    The uses of a word, in singular and plural, count where they are `free`: not part of longer terms.
    """
    word = vocabulary.token_word[runs.first]
    of_word = np.full(len(vocabulary.words), -1)
    of_word[word] = np.unique(vocabulary.lemma[word], return_inverse=True)[1]
    kind = of_word[word]
    count, bursty = _burstiness(of_word, free, vocabulary, source)
    if vocabulary.rules.language != ENGLISH:
        return (bursty >= BURSTINESS)[kind]
    zipf = general_frequencies()
    words = [vocabulary.words[w] for w in cast("list[int]", word.tolist())]
    power = np.bincount(kind, [10.0 ** zipf.get(w, 0.0) for w in words])
    contrast = np.log10(np.maximum(count, 0.1) / rounded_size(len(vocabulary.form)) * 1e9)
    contrast -= np.log10(np.maximum(power, 10**UNKNOWN_FREQUENCY))
    least = np.where(power <= 10**RARE, TERMHOOD_OF_RARE, TERMHOOD)
    term = contrast + np.maximum(bursty - FLAT, 0) >= least
    headed = (vocabulary.share_as_head > 0) & (vocabulary.share_before(*COMPLEMENTS) < RELATIONAL)
    headed &= vocabulary.share_before(*OBJECTS) < TRANSITIVE
    headed &= vocabulary.share_closing > MODIFIER
    return headed[word] & term[kind]


def _burstiness(of_word: Ints, free: Bools, vocabulary: Vocabulary, source: Ints) -> tuple[Ints, Floats]:
    """Return how often each kind of word occurs in free tokens, and its residual IDF in bits: how much fewer sources
    contain it than expected by chance. `of_word` has the kind of each word, -1 for none.
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
def general_frequencies() -> dict[str, float]:
    """Return the Zipf frequencies of general English."""
    table: dict[str, str] = read_data("general_english")
    rows = ((float(zipf), words) for zipf, words in table.items() if zipf[0].isdigit())
    return {word: zipf for zipf, words in rows for word in words.split()}
