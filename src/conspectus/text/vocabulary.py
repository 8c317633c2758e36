"""The tokens of a corpus in one flat array, and statistics of how the corpus uses each word."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count

import numpy as np

from conspectus.algorithms.statistics import (
    LISTS,
    Bools,
    Codes,
    Floats,
    Ints,
    first_indices,
    repeated,
    unique_numbers,
)
from conspectus.text.language import ENGLISH
from conspectus.text.language_rules import ENGLISH_RULES, LanguageRules, rules_of, tokenize
from conspectus.text.words import fold, terms

BLOCK = 1 << 20
"""Tokens that are renumbered at once: numpy needs 64 bits for each, which for all of 11 million would be 90 MB."""
_OPENERS = frozenset("\"“‘'([:-–—«„¿¡")


@dataclass(frozen=True)
class Vocabulary:
    """Token `i` is `forms[form[i]]`; sentence `j` begins at token `starts[j]`; form `k` folded is `words[word[k]]`."""

    forms: tuple[str, ...]
    words: tuple[str, ...]
    form: Ints
    starts: Ints
    """The first token of each sentence, and at the end the number of tokens."""
    word: Ints
    rules: LanguageRules = ENGLISH_RULES
    times: Ints | None = None
    """How often each sentence occurs; once if not given."""

    def written(self, start: int, end: int) -> list[str]:
        """Return the forms of tokens `start` to `end`."""
        numbers: list[int] = self.form[start:end].tolist()
        return [self.forms[number] for number in numbers]

    def folded(self, start: int, end: int) -> list[str]:
        """Return the folded words of tokens `start` to `end`."""
        numbers: list[int] = self.token_word[start:end].tolist()
        return [self.words[number] for number in numbers]

    def blocks(self) -> Iterator[tuple[slice, slice, Ints]]:
        """Yield blocks of sentences: the slice of sentences, that of their tokens, and the token count of each."""
        for low in range(0, len(self.starts) - 1, LISTS):
            starts = self.starts[low : low + LISTS + 1]
            yield slice(low, low + len(starts) - 1), slice(starts[0], starts[-1]), np.diff(starts)

    @property
    def sentence(self) -> Ints:
        """The sentence of each token."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    def sentence_around(self, token: int) -> tuple[int, int, int]:
        """Return the sentence of a token, the sentence's first token, and the one after its last."""
        sentence = bisect_right(self._edges, token) - 1
        return sentence, self._edges[sentence], self._edges[sentence + 1]

    @cached_property
    def _edges(self) -> array[int]:
        return array("i", self.starts.astype(np.int32).tobytes())

    @cached_property
    def opens(self) -> Bools:
        """Whether a token is the first of its sentence."""
        opens = np.zeros(len(self.form), bool)
        opens[self.starts[:-1][np.diff(self.starts) > 0]] = True
        return opens

    @cached_property
    def first(self) -> Bools:
        """Whether a token opens its sentence, or follows an opening quote or bracket, a colon or a dash in it."""
        first = self.opens.copy()
        first[1:] |= np.array([form in _OPENERS for form in self.forms], bool)[self.form[:-1]]
        return first

    @cached_property
    def capital(self) -> Bools:
        """Whether a form opens with a capital letter."""
        return np.array([f[0].isupper() or f[0].istitle() for f in self.forms], bool)

    @cached_property
    def token_word(self) -> Ints:
        """The word of each token."""
        return self.word[self.form]

    @cached_property
    def count(self) -> Ints:
        """How often each word occurs."""
        return self._uses(np.ones(len(self.form), bool))

    @cached_property
    def capitalised(self) -> Ints:
        """How often each word has a capital that its position does not require (see `first`)."""
        return self._uses(self.capital[self.form] & ~self.first)

    @cached_property
    def lower(self) -> Ints:
        """How often each word is written without a capital."""
        return self._uses(~self.capital[self.form])

    @cached_property
    def mostly_capitalised(self) -> Bools:
        """Whether a word is capitalised inside sentences more than twice as often as it is written in lower case."""
        return self.capitalised > 2 * self.lower

    @cached_property
    def proper_noun(self) -> Bools:
        """Whether a word is a proper noun, judged by its capitals alone. In languages that capitalise all nouns it must
        also occur at least twice, and never after an article or after an article and an adjective.
        """
        if not self.rules.nouns_capitalised:
            return self.mostly_capitalised
        noun = np.array([bool(word.endswith(self.rules.noun_endings)) for word in self.words], bool)
        written = self._uses(self.capital[self.form])
        return self.mostly_capitalised & ~noun & (written > 1) & (self.with_article == 0)

    @cached_property
    def with_article(self) -> Ints:
        """How often each word occurs with a capital after an article, or after an article and one lower-case word."""
        article = self.in_list(self.rules.articles)[self.token_word]
        small = (np.array([f[0].isalpha() for f in self.forms], bool) & ~self.capital)[self.form]
        behind = self.behind(article)
        behind |= self.behind(behind & small & ~article)
        return self._uses(behind & self.capital[self.form])

    @cached_property
    def stop(self) -> Bools:
        """Whether a word is a stop word or no word at all (a sign)."""
        return np.array([w in self.rules.stop or not w[0].isalnum() for w in self.words], bool)

    @cached_property
    def function_words(self) -> Ints:
        """The number of function words of each sentence; in languages without spaces, of all tokens."""
        function = (self.in_list(self.rules.stop) | self.rules.unspaced)[self.token_word]
        return np.diff(np.append(np.int32(0), np.cumsum(function, dtype=np.int32))[self.starts])

    @cached_property
    def vague(self) -> Bools:
        """Whether a word carries too little content to be a name or concept."""
        return self.stop | self.in_list(self.rules.vague)

    @cached_property
    def nominal(self) -> Floats:
        """How much each word is used as a noun or adjective, -1 to 1, by the words before it.
        In Chinese and Japanese, and in languages that capitalise nouns, by the form of the word itself.
        """
        if self.rules.tells_noun is not None:
            return self._by_rule(self.rules.tells_noun)
        if self.rules.nouns_capitalised:
            return np.where(self.proper_noun, -1.0, np.sign(self.capitalised - self.lower)).astype(np.float64)
        return self._used_as_noun

    @cached_property
    def attributive(self) -> Floats:
        """Like `nominal`, for words inside a noun phrase, before its last word."""
        if self.rules.tells_attribute is not None:
            return self._by_rule(self.rules.tells_attribute)
        if self.rules.nouns_capitalised:
            return np.maximum(self.nominal, self._used_as_noun)
        return self.nominal

    def _by_rule(self, tells: Callable[[str], bool]) -> Floats:
        return np.array([1.0 if tells(word) else -1.0 for word in self.words], np.float64)

    @cached_property
    def _used_as_noun(self) -> Floats:
        of_noun, of_verb = (
            self._uses(self.behind(self.in_list(words)[self.token_word]))
            for words in (self.rules.before_nouns, self.rules.before_verbs)
        )
        return (of_noun - 1.5 * of_verb) / np.maximum(of_noun + 1.5 * of_verb, 3.0)

    @cached_property
    def share_as_head(self) -> Floats:
        """Of each word's uses at the end of a phrase, the share that directly follows a determiner."""
        behind = self.behind(self.in_list(self.rules.before_nouns)[self.token_word])
        closed = self._uses(behind & self._closes)
        return closed / np.maximum(self._uses(self._closes), 1)

    @cached_property
    def share_closing(self) -> Floats:
        """Of each word's uses, in singular and plural, the share at the end of a phrase."""
        closed, used = (np.bincount(self.lemma, uses) for uses in (self._uses(self._closes), self.count))
        return (closed / np.maximum(used, 1))[self.lemma]

    @cached_property
    def _closes(self) -> Bools:
        """Whether a token ends a phrase: a stop word, a sign or the end of the sentence follows."""
        return ~self.before(~self.stop[self.token_word])

    @cached_property
    def lemma(self) -> Ints:
        """A number for each word; in English, singular and plural share one (Harman's S stemmer, 1991)."""
        number: dict[str, int] = {}
        of = _singular if self.rules.language == ENGLISH else str
        return np.array([number.setdefault(of(word), len(number)) for word in self.words], np.int32)

    def share_before(self, *followers: str) -> Floats:
        """Return for each word the share of its uses that directly precede one of `followers`.
        It is the greater of the shares of its singular and plural; fewer than three such uses count as none.
        """
        before = self.before(self.in_list(frozenset(followers))[self.token_word])
        uses = self._uses(before)
        share = np.zeros(len(self.words))
        np.maximum.at(share, self.lemma, np.where(uses < 3, 0.0, uses / np.maximum(self.count, 1)))
        return share[self.lemma]

    def behind(self, tokens: Bools) -> Bools:
        """Return which tokens directly follow one of `tokens` in the same sentence."""
        return np.append(False, tokens[:-1] & ~self.opens[1:])[: len(tokens)]

    def before(self, tokens: Bools) -> Bools:
        """Return which tokens directly precede one of `tokens` in the same sentence."""
        return np.append(tokens[1:] & ~self.opens[1:], False)[: len(tokens)]

    def subset(self, sentences: Ints, language: str) -> Vocabulary:
        """Return the vocabulary of some sentences (ascending, renumbered from 0), with the rules of a language."""
        rules = rules_of(language)
        if len(sentences) == len(self.starts) - 1:
            return self if rules is self.rules else replace(self, rules=rules)
        starts, form = repeated(sentences, np.diff(self.starts), self.form)
        return replace(self, form=form, starts=starts, rules=rules)

    def classes(self, class_of: Callable[[str], str]) -> Codes:
        """Return the class of each token: the letter that `class_of` returns for its form."""
        return np.frombuffer("".join(map(class_of, self.forms)).encode(), np.uint8)[self.form]

    def sentences_with(self, pattern: re.Pattern[str]) -> Ints:
        """Return the numbers of the sentences with a token in which the pattern is found."""
        matching = np.array([pattern.search(form) is not None for form in self.forms], bool)
        tokens = np.flatnonzero(matching[self.form])
        return unique_numbers(np.searchsorted(self.starts, tokens, "right") - 1)

    def matches(self, pattern: re.Pattern[bytes], classes: Codes) -> Iterator[tuple[int, int]]:
        """Yield the token spans of a pattern's matches in the classes of tokens, with each sentence as one line."""
        for _, tokens, sizes in self.blocks():
            ends = np.cumsum(sizes)
            line = np.insert(classes[tokens], ends, ord("\n"))
            opens = array("q", (ends - sizes + np.arange(len(sizes))).tobytes())
            for match in pattern.finditer(line.tobytes()):
                before = int(tokens.start) + 1 - bisect_right(opens, match.start())
                yield before + match.start(), before + match.end()

    def _uses(self, tokens: Bools) -> Ints:
        """Return how often each word occurs among `tokens`."""
        counts = np.zeros(len(self.forms))
        for sentences, inside, sizes in self.blocks():
            at = np.flatnonzero(tokens[inside])
            times = None if self.times is None else np.repeat(self.times[sentences], sizes)[at]
            counts += np.bincount(self.form[inside][at], times, len(counts))
        return np.bincount(self.word, counts, len(self.words)).astype(np.int32)

    def in_list(self, words: frozenset[str]) -> Bools:
        return np.array([w in words for w in self.words], bool)


@dataclass(frozen=True)
class TokenRows:
    """The tokens of sentences: sentence `i` has row `rows[i]`; row `j` is the next `sizes[j]` of `form`, as `forms`."""

    forms: Sequence[str]
    form: Ints
    sizes: Ints
    rows: Ints

    def vocabulary(self, language: str) -> Vocabulary:
        """Return the vocabulary of the sentences, with forms and words numbered in order of appearance."""
        starts, form = repeated(self.rows, self.sizes, self.form)
        used: list[int] = form[np.sort(first_indices(form))].tolist()
        number = np.zeros(len(self.forms), np.int32)
        number[used] = np.arange(len(used))
        forms = tuple(self.forms[i] for i in used)
        words: dict[str, int] = {}
        word = [words.setdefault(_word_of(each), len(words)) for each in forms]
        for start in range(0, len(form), BLOCK):
            form[start : start + BLOCK] = number[form[start : start + BLOCK]]
        of = form, starts, np.array(word, np.int32)
        return Vocabulary(forms, tuple(words), *of, rules_of(language))


def tokens_of(sentences: Sequence[str], languages: Sequence[str]) -> TokenRows:
    """Tokenize sentences, each in its language; repeated ones only once."""
    forms: defaultdict[str, int] = defaultdict(count().__next__)
    flat: list[int] = []
    lengths: list[int] = []
    known: dict[tuple[str, str], int] = {}
    rows: list[int] = []
    for sentence in zip(sentences, languages, strict=True):
        if sentence not in known:
            known[sentence] = len(lengths)
            tokens = tokenize(*sentence)
            lengths.append(len(tokens))
            flat.extend(map(forms.__getitem__, tokens))
        rows.append(known[sentence])
    return TokenRows(list(forms), *(np.array(column, np.int32) for column in (flat, lengths, rows)))


def read_vocabulary(sentences: Sequence[str], languages: Sequence[str] = ()) -> Vocabulary:
    """Tokenize sentences and number their forms and words in order of appearance.
    `languages` has the language of each sentence, English by default; the rules are those of the first one.
    """
    languages = languages or [ENGLISH] * len(sentences)
    return tokens_of(sentences, languages).vocabulary(languages[0] if languages else ENGLISH)


def is_acronym(form: str) -> bool:
    """Return whether a form is written as an acronym. Acronyms are words of their own: STEP is not a step."""
    return 1 < len(form) <= 6 and form.isalpha() and form.isupper()


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word.removesuffix("s") if not word.endswith(("ss", "us", "is")) else word


def _word_of(form: str) -> str:
    if is_acronym(form):
        return form
    return fold(form).removesuffix("'s") or form


def sentence_terms(
    texts: Sequence[str], languages: Sequence[str], vocabulary: Vocabulary, number: dict[str, int]
) -> tuple[Ints, Ints]:
    """Return where the terms of each sentence start, and the numbers of the terms in order; new ones go into `number`.
    `vocabulary` has the tokens of the sentences. Terms are computed once per word; without spaces, once per sentence.
    """
    rank = np.empty(len(texts), np.int64)
    sizes, done = np.zeros(len(texts), np.int32), 0
    flat: list[Ints] = [np.zeros(0, np.int32)]
    for language in dict.fromkeys(languages):
        inside = np.flatnonzero(np.array([code == language for code in languages]))
        part = vocabulary.subset(inside, language)
        unspaced = part.rules.unspaced
        if unspaced:
            units = [texts[i] for i in inside.tolist()]
        else:
            used = part.count.tolist()
            units = [word if count else "" for word, count in zip(part.words, used, strict=True)]
        each = (terms(unit, language) if unit else () for unit in units)
        own = [[number.setdefault(t, len(number)) for t in of_unit] for of_unit in each]
        numbers = np.fromiter(chain.from_iterable(own), np.int32)
        lengths = np.fromiter(map(len, own), np.int32)
        for sentences, tokens, size in part.blocks():
            which = np.r_[sentences] if unspaced else part.word[part.form[tokens]]
            starts, ids = repeated(which, lengths, numbers)
            flat.append(ids)
            ends = np.arange(len(size) + 1) if unspaced else np.append(0, np.cumsum(size))
            sizes[done + sentences.start : done + sentences.stop] = np.diff(starts[ends])
        rank[inside] = np.arange(done, done + len(inside))
        done += len(inside)
    return repeated(rank, sizes, np.concatenate(flat))
