"""The lexicon of a corpus: its sentences, their mentions, and the name and type of everything mentioned.

Statistics are computed over distinct sentences, so that overlapping parts of one source count once.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from sys import intern

import numpy as np

from conspectus.algorithms.statistics import Bools, Ints, first_indices, repeated, significant_pairs
from conspectus.rows import Document
from conspectus.text.language import ENGLISH, text_pattern
from conspectus.text.mention_extraction import extract_mentions, written
from conspectus.text.sentence_table import Lines, RawSentences, SentenceTable, find_sentences, lines_at
from conspectus.text.types import ALL, Candidate
from conspectus.text.vocabulary import Vocabulary, sentence_terms
from conspectus.text.words import is_unspaced, name_key


@dataclass(frozen=True)
class Sentences:
    """The sentences of a corpus: sentence `i` has the text `distinct[which[i]]`.
    `languages` and `vocabulary` are the languages and the tokens of the distinct sentences.
    """

    table: SentenceTable
    distinct: Sequence[str]
    which: Ints
    languages: Sequence[str]
    vocabulary: Vocabulary

    @property
    def texts(self) -> Sequence[str]:
        """All sentences, each as one line."""
        if isinstance(self.distinct, Lines):
            return replace(self.distinct, table=self.table)
        which: list[int] = self.which.tolist()
        return [self.distinct[i] for i in which]

    @property
    def tokens(self) -> Vocabulary:
        """The tokens of the distinct sentences, each counted as often as its sentence occurs."""
        return replace(self.vocabulary, times=np.bincount(self.which))

    def terms(self) -> tuple[dict[str, int], Ints, Ints]:
        """Return the numbers of the search terms (see `words.terms`), then `starts` and `ids`.
        Sentence `i` has the terms `ids[starts[i]:starts[i + 1]]`, in order and with repetitions.
        """
        number: dict[str, int] = {}
        starts, ids = sentence_terms(self.distinct, self.languages, self.vocabulary, number)
        return number, *repeated(self.which, np.diff(starts), ids)


@dataclass(frozen=True)
class Lexicon:
    """Sentence `i` mentions `mentions[starts[i]:starts[i + 1]]`, indices into `names`, in order of the text."""

    sentences: Sentences
    names: tuple[str, ...]
    types: tuple[str, ...]
    starts: Ints
    mentions: Ints
    speaker_names: Ints
    """For each speaker of the table of sentences, the index of their name in `names`, or -1."""
    lists: Bools
    """Whether each sentence is a list: with at least three mentions and less than half as many function words."""

    def without_texts(self) -> Lexicon:
        """Return the lexicon without the texts and tokens of its sentences, only with their table."""
        none = np.zeros(0, np.int32)
        bare = Sentences(self.sentences.table, (), none, (), Vocabulary((), (), none, none, none))
        return replace(self, sentences=bare)

    @cached_property
    def related(self) -> Ints:
        """The pairs of names that occur together more than by chance, as ascending codes `low * len(names) + high`.
        Two names occur together in a sentence that is no list, in it and the next one, or as speaker and mention.
        """
        count, table = len(self.starts) - 1, self.sentences.table
        speaker = np.append(self.speaker_names, -1)[table.speaker]
        spoken = np.flatnonzero(speaker >= 0)
        named = np.repeat(np.arange(count), np.diff(self.starts))
        in_prose = ~self.lists[named]
        row = np.concatenate([named[in_prose], spoken])
        column = np.concatenate([self.mentions[in_prose], speaker[spoken]])
        follows = np.append(table.document[1:] == table.document[:-1], False)[row]
        rows = np.concatenate([row, row[follows] + 1])
        columns = np.concatenate([column, column[follows]])
        return significant_pairs(rows, columns, len(self.names), count)


def read_sentences(documents: Sequence[Document], parts: Iterable[RawSentences] = ()) -> Sentences:
    """Read the sentences of a corpus; `parts` are those of its documents in their order, if they were read before."""
    table, text, tokens = find_sentences(documents, parts)
    _, first, kind = np.unique(text, return_index=True, return_inverse=True)
    # number distinct texts in order of appearance
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    distinct = table.take(first[order])
    inside: list[int] = distinct.document.tolist()
    # one string object for all sentences of a language
    codes = [intern(document.language) for document in documents]
    languages = [codes[i] for i in inside]
    tokens = replace(tokens, rows=tokens.rows[first[order]])
    vocabulary = tokens.vocabulary(languages[0] if languages else ENGLISH)
    return Sentences(table, Lines(documents, distinct), rank[kind], languages, vocabulary)


def read_lexicon(
    documents: Sequence[Document],
    entity_types: Iterable[str] = ALL,
    sentences: Sentences | None = None,
    listed: Mapping[str, str] | None = None,
) -> Lexicon:
    """Find the names, concepts, dates and titles of some types in a corpus, and the names in `listed` (name to type).
    `sentences` are those of the corpus, if they were read before.
    """
    sentences = sentences or read_sentences(documents)
    table, which, unique = sentences.table, sentences.which, sentences.distinct
    # a copy: its cached values are freed with it, and `sentences` stays unchanged while sent to another process
    vocabulary, languages = replace(sentences.vocabulary), sentences.languages
    source = np.array(sources([d.path for d in documents]), np.int32)[table.document[first_indices(which)]]
    candidates: dict[str, Candidate] = {}
    function_words = np.zeros(len(unique), np.int64)
    for language in dict.fromkeys(languages):
        inside = np.flatnonzero(np.array([code == language for code in languages]))
        own_texts = unique
        if len(inside) < len(unique):
            own_texts = list(lines_at(inside, unique))
        part = vocabulary.subset(inside, language)
        function_words[inside] = part.function_words
        own = extract_mentions(own_texts, part, source[inside], table.speakers)
        candidates = _united(candidates, own, inside) if candidates or len(inside) < len(unique) else own
    candidates = _of_types(candidates, entity_types, unique, listed or {})
    order = sorted(candidates, key=lambda key: (min(candidates[key].positions, default=1 << 63), key))
    rank = {key: i for i, key in enumerate(order)}
    starts, mentions = _mentions([candidates[key] for key in order], which, len(unique))
    size = np.diff(starts)
    return Lexicon(
        sentences=sentences,
        names=tuple(written(candidates[key].forms) for key in order),
        types=tuple(candidates[key].type for key in order),
        starts=starts,
        mentions=mentions,
        speaker_names=np.array([rank.get(name_key(s), -1) for s in table.speakers], np.int32),
        lists=(size > 2) & (2 * function_words[which] < size),
    )


def _of_types(
    candidates: Mapping[str, Candidate], types: Iterable[str], texts: Sequence[str], listed: Mapping[str, str]
) -> dict[str, Candidate]:
    """Return the candidates of some types, and the listed names that occur in the texts, not inside a longer name."""
    types = frozenset(types)
    candidates = {key: candidate for key, candidate in candidates.items() if candidate.type in types}
    type_of = {" ".join(name.split()): type_ for name, type_ in listed.items() if name.strip()}
    if not type_of:
        return candidates
    key_of = {name_key(written(candidate.forms)): key for key, candidate in candidates.items()}
    unlisted = key_of.keys() - set(map(name_key, type_of))
    others = [written(candidates[key_of[name]].forms) for name in unlisted]
    part = _any_of(type_of)
    pattern = _any_of({*type_of, *filter(part.search, others)})
    positions: dict[str, dict[int, int]] = {}
    for sentence, text in enumerate(texts):
        for match in pattern.finditer(text):
            form = " ".join(match[0].split())
            name = form if form in type_of else form.lower()
            if name in type_of:
                words_before = len(text[: match.start()].split())
                positions.setdefault(name, {}).setdefault(sentence, words_before)
    for name, offsets in positions.items():
        candidate = candidates.setdefault(key_of.setdefault(name_key(name), name_key(name)), Candidate())
        candidate.type = type_of[name]
        candidate.forms[tuple(name.split())] += len(offsets)
        for sentence, offset in offsets.items():
            candidate.note(sentence, offset)
    return candidates


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of some names, the longest first; a name in lower case is matched in any case."""

    def alternative(name: str) -> str:
        words = r"\s+".join(map(re.escape, name.split()))
        words = f"(?i:{words})" if name == name.lower() else words
        return words if is_unspaced(name) else rf"(?<!\w){words}(?!\w)"

    return re.compile("|".join(map(alternative, sorted(names, key=lambda name: (-len(name), name)))))


def _united(
    candidates: dict[str, Candidate], part: Mapping[str, Candidate], inside: Ints
) -> dict[str, Candidate]:
    """Add the candidates of one language to those of others; `inside` has the index of each of its sentences.
    A candidate of several languages has the type that it has in the first one.
    """
    for key, candidate in part.items():
        moved = [(int(inside[at >> 32]) << 32) + at % (1 << 32) for at in candidate.positions]
        positions = array("q", moved)
        if key in candidates:
            candidates[key].forms.update(candidate.forms)
            candidates[key].positions += positions
        else:
            candidates[key] = replace(candidate, positions=positions)
    return candidates


def _mentions(candidates: Sequence[Candidate], which: Ints, distinct: int) -> tuple[Ints, Ints]:
    """Return where the mentions of each sentence start, and the candidates' numbers in order of the text, each once."""
    at = np.frombuffer(b"".join([candidate.positions for candidate in candidates]), np.int64)
    number = np.repeat(np.arange(len(candidates)), [len(candidate.positions) for candidate in candidates])
    order = np.lexsort((number, at))
    number, sentence = number[order], at[order] >> 32
    _, first = np.unique(sentence * len(candidates) + number, return_index=True)
    first.sort()
    sizes = np.bincount(sentence[first], minlength=distinct)
    return repeated(which, sizes, number[first].astype(np.int32))


_PART = text_pattern("lexicon", "part")


def sources(paths: Sequence[str]) -> list[int]:
    """Return the source number of each document; paths that differ only in the number of a part are one source."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(_PART.sub("\0", path), len(numbers)) for path in paths]
