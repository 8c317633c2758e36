"""All sentences of a corpus with their speakers, without boilerplate.

Boilerplate is recognised by its form and statistics, never by its wording: sentences that many documents repeat
(headers, footers, greetings), lines that are entirely in brackets, speaker labels before turns of speech.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import overload
from zlib import crc32

import numpy as np

from conspectus.algorithms.statistics import Ints, concatenated, numbers_of, unique_numbers
from conspectus.content import content_of, excerpt
from conspectus.rows import Document
from conspectus.text.blocks import LETTERS, blocks, is_data
from conspectus.text.language import read_word_sets, text_pattern
from conspectus.text.sentences import lines, sentences
from conspectus.text.uncased import ROLES, is_person
from conspectus.text.vocabulary import TokenRows, tokens_of
from conspectus.text.words import CJK

REPEATED = 4
"""A sentence in this many documents is boilerplate. Overlapping parts of transcripts share sentences in pairs, seldom
in threes; four share phrases ("Right, yeah.") and banners, and 2 % of the sentences of 4,360 answers on diseases."""

CUT = 12
"""Characters by which a cut-off piece is matched with its sentence; anything shorter ("Of course.") is no piece."""
COMPARED = 1 << 19
"""Sentences that are compared at once to find cut-off pieces; they take about 100 MB."""
LABELLED = 0.3
"""Least share of a document's lines that open with recurring labels, for these to be speakers. 60 interviews have at
least this share; minutes have "RESOLVED:" in 0.2 of their lines, web pages "Source:" in 0.11, "Figure 4:" in 0.27."""

_pattern = partial(text_pattern, "sentence_table")
_LABEL = re.compile(f"(?P<time>{text_pattern('sentences', 'time').pattern})?{_pattern('label').pattern}")
_MARK, _ASIDE, _FILE_NAME, _SAYS = map(_pattern, ("mark", "aside", "file_name", "says"))
_NOTE_LABELS = read_word_sets("words")["note_labels"]

READ_AT_ONCE = 4096
"""Sentences that are cut out of their documents at once when all are read in sequence; they take about 1 MB."""


@dataclass(frozen=True)
class SentenceTable:
    """Spans and speakers: sentence `i` is characters `start[i]` to `end[i]` of document `document[i]`, in corpus order.
    `speaker[i]` is an index into `speakers`, or -1 if the speaker is unknown.
    """

    document: Ints
    start: Ints
    end: Ints
    speaker: Ints
    speakers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.document)

    def take(self, rows: Ints) -> SentenceTable:
        """Return the table of the sentences `rows`."""
        spans = self.document[rows], self.start[rows], self.end[rows]
        return SentenceTable(*spans, self.speaker[rows], self.speakers)


@dataclass(frozen=True)
class Lines(Sequence[str]):
    """The sentences of a table, each as one line that is cut out of its document on access."""

    documents: Sequence[Document]
    table: SentenceTable

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice | Ints) -> list[str]: ...
    def __getitem__(self, at: int | slice | Ints) -> str | list[str]:
        if isinstance(at, int):
            return self[at : at + 1][0]
        columns = self.table.document, self.table.start, self.table.end
        rows: list[tuple[int, int, int]] = [*zip(*(column[at].tolist() for column in columns), strict=True)]
        return [" ".join(excerpt(self.documents[i], start, end).split()) for i, start, end in rows]

    def __iter__(self) -> Iterator[str]:
        return lines_at(np.arange(len(self)), self)


def lines_at(rows: Ints, texts: Sequence[str]) -> Iterator[str]:
    """Yield the sentences (or other texts) with the indices `rows`."""
    for start in range(0, len(rows), READ_AT_ONCE):
        part = rows[start : start + READ_AT_ONCE]
        yield from texts[part] if isinstance(texts, Lines) else map(texts.__getitem__, part.tolist())


def find_sentences(
    documents: Sequence[Document], parts: Iterable[RawSentences] = ()
) -> tuple[SentenceTable, Ints, TokenRows]:
    """Return the sentences that are not boilerplate, a hash of each sentence's text, and their tokens.
    `parts` are those of the documents in their order, if they were read before.
    """
    raw = _joined(parts or [sentences_in(range(len(documents)), documents, set(speakers_in(documents)))])
    raw = raw.take(_not_cut(raw, documents))
    raw = raw.take(_not_repeated(raw.table.document, raw.marks[0]))
    speaker = _carried_over(raw)
    names = raw.table.speakers
    known: set[int] = set(speaker.tolist()) - {-1}
    order = sorted(known, key=names.__getitem__)
    rank = np.full(len(names) + 1, -1, np.int32)
    rank[order] = np.arange(len(order))
    speakers = tuple(names[i] for i in order)
    return replace(raw.table, speaker=rank[speaker], speakers=speakers), raw.marks[0], raw.tokens


@dataclass(frozen=True)
class RawSentences:
    """The sentences of some documents in columns, before sentences that the corpus repeats are removed.

    The speakers are those named by labels. `marks` are four columns: a hash of each sentence as one line, hashes of its
    first and last CUT characters, and its length in characters. `labels` tells of each label whether it is a speaker's.
    """

    table: SentenceTable
    marks: Sequence[Ints]
    tokens: TokenRows
    labels: dict[str, bool]

    def take(self, rows: Ints) -> RawSentences:
        """Return the sentences `rows`."""
        marks = [mark[rows] for mark in self.marks]
        tokens = replace(self.tokens, rows=self.tokens.rows[rows])
        return RawSentences(self.table.take(rows), marks, tokens, self.labels)


def _marks_of(text: str) -> Sequence[int]:
    whole, *ends = (part.encode("utf-8", "surrogatepass") for part in (text, text[:CUT], text[-CUT:]))
    code = int.from_bytes(blake2b(whole, digest_size=8).digest(), "little", signed=True)
    return code, *map(crc32, ends), len(text)


def sentences_in(numbers: range, documents: Sequence[Document], labels: set[str]) -> RawSentences:
    """Return the sentences of documents; `labels` are the (folded) labels of all speakers of the corpus."""
    is_speaker: dict[str, bool] = {}
    rows: list[tuple[int, int, int]] = []
    who: list[str] = []
    texts: list[str] = []
    for number, document in zip(numbers, documents, strict=True):
        content, speaker = content_of(document), ""
        text, apart = content.text, blocks(content.text)
        for start, end in _lines(document):
            if mark := _MARK.match(text, start, end):
                start = mark.end()
            if start >= end or bisect_left(apart, end) % 2 or is_data(text[start:end]):
                continue
            label = _LABEL.match(text, start, min(end, start + 60))
            if label:
                key = _key(label["name"])
                is_speaker[key] = key in labels
                if is_speaker[key]:
                    speaker, start = label["name"], label.end()
            for a, b in sentences(text, start, end, document.language):
                sentence = " ".join(text[a:b].split())
                if LETTERS.search(sentence) and not _ASIDE.fullmatch(sentence):
                    rows.append((number, *content.span(a, b)))
                    who.append(speaker)
                    texts.append(sentence)
    tokens = tokens_of(texts, [documents[row[0] - numbers.start].language for row in rows])
    names = sorted(set(who) - {""})
    rank = {"": -1} | {name: i for i, name in enumerate(names)}
    speaker = np.array([rank[name] for name in who], np.int32)
    number, first, last = (column.copy() for column in np.array(rows, np.int32).reshape(-1, 3).T)
    table = SentenceTable(number, first, last, speaker, tuple(names))
    marks = np.array([*map(_marks_of, texts)], np.int64).reshape(-1, 4).T
    return RawSentences(table, list(marks), tokens, is_speaker)


def _joined(shards: Iterable[RawSentences]) -> RawSentences:
    """Return the sentences of all shards concatenated."""
    speakers: dict[str, int] = {}
    forms: dict[str, int] = {}

    def columns() -> Iterator[Sequence[Ints]]:
        done = 0
        for shard in shards:
            table, tokens = shard.table, shard.tokens
            speaker = np.append(numbers_of(table.speakers, speakers), np.int32(-1))[table.speaker]
            rows = numbers_of(tokens.forms, forms)[tokens.form], tokens.sizes, tokens.rows + np.int32(done)
            yield *rows, *shard.marks, table.document, table.start, table.end, speaker
            done += len(tokens.sizes)

    form, sizes, rows, *others = concatenated(columns(), "iiiqIIIiiii")
    table = SentenceTable(*others[4:], speakers=tuple(speakers))
    return RawSentences(table, others[:4], TokenRows(list(forms), form, sizes, rows), {})


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def speakers_in(documents: Sequence[Document]) -> list[str]:
    """Return the recurring labels that are written as names, of documents with many labelled lines; not Q with A, nor
    a label that only repeats itself, or one word as the only label ("Next"). In a chat, with times, any label speaks.
    """
    recurring: set[str] = set()
    for document in documents:
        turns: dict[tuple[str, str], re.Match[str]] = {}
        total, text = 0, content_of(document).text
        for start, end in _lines(document):
            label = _LABEL.match(text, start, min(end, start + 60))
            total += start < end
            if label and (label["chat"] or _written_as_name(label["name"])):
                turns[_key(label["name"]), text[label.end() : end]] = label
        chat = {key for (key, _), label in turns.items() if label["chat"] or label["time"]}
        here = Counter(key for key, says in turns if key in chat or _SAYS.match(says))
        often = {key: count for key, count in here.items() if count > 1}
        words = "".join(label["name"] for label in turns.values())
        alone = len(here) == 1 and not chat and words.isalpha() and words != words.upper()
        if often.keys() >= {"q", "a"}:
            del often["q"], often["a"]
        if not alone and sum(often.values()) >= LABELLED * total:
            recurring |= often.keys() | chat
    return sorted(recurring)


def _written_as_name(label: str) -> bool:
    words = label.split()
    if len(words) == 1 and CJK.match(label):
        return is_person(label) or label.endswith(tuple(ROLES))
    if label.casefold() in _NOTE_LABELS:
        return False
    return len(words) <= 5 and all(w[0].isupper() or not w[0].isalpha() for w in words) and (
        len(words) > 1 or words[0].isupper() or not words[0].isascii() or len(words[0]) > 2
    )  # fmt: skip


def _lines(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines; the first one without a leading name of the file, or of the file it is part of."""
    text = content_of(document).text
    name = _FILE_NAME.match(text)
    header = name.end() if name and document.path.rpartition("/")[2].startswith(name[1]) else 0
    return ((max(start, header), end) for start, end in lines(text, document.language))


def _not_cut(raw: RawSentences, documents: Sequence[Document]) -> Ints:
    """Return the indices of the sentences that are not just the tail or head of a whole sentence elsewhere.
    Such a piece opens or closes a document that was cut out of a longer text with some overlap.
    """
    text, head, tail, size = raw.marks
    edge = np.append(True, np.diff(raw.table.document) > 0)[: len(size)]
    closes, lines = np.append(edge[1:], True)[: len(size)], Lines(documents, raw.table)
    cut = np.zeros(len(size), bool)
    for pieces, ends, step in ((edge & (size >= CUT), tail, -1), (closes & (size >= CUT), head, 1)):
        alike = np.flatnonzero(np.isin(ends, ends[pieces]))
        _, first, kind = np.unique(text[alike], return_index=True, return_inverse=True)
        first = alike[first]
        begins, parts = np.zeros(len(first), bool), 1 + len(first) // COMPARED
        _, end, uses = np.unique(ends[first], return_inverse=True, return_counts=True)
        shared = uses[end] > 1
        for part in range(parts):  # a piece and its whole sentence are in the same part
            rows = np.flatnonzero(shared & (ends[first] % np.uint32(parts) == part))
            rows = rows[np.argsort(first[rows])]
            texts = [text[::step] for text in lines_at(first[rows], lines)]
            # in sorted order, if any text begins with a piece, the one right after it does
            heads = {a for a, b in pairwise(sorted(texts)) if b.startswith(a)}
            begins[rows] = [text in heads for text in texts]
        cut[alike] |= pieces[alike] & begins[kind]
    return np.flatnonzero(~cut)


def _not_repeated(document: Ints, text: Ints) -> Ints:
    """Return the indices of sentences in fewer than REPEATED documents, or in documents with only repeated ones."""
    _, kind = np.unique(text, return_inverse=True)
    count = int(document.max(initial=0)) + 1
    repeated = (np.bincount(unique_numbers(kind * count + document) // count) >= REPEATED)[kind]
    own = np.bincount(document[~repeated], minlength=count)
    return np.flatnonzero(~repeated | (own[document] == 0))


def _carried_over(raw: RawSentences) -> Ints:
    """Return the speaker of each sentence, also where a document that begins inside a turn overlaps with another.
    A sentence of unknown speaker takes the speaker of the same sentence elsewhere, and so do the sentences after it.
    """
    text = raw.marks[0]
    speaker, row = raw.table.speaker, np.arange(len(raw.table))
    texts, kind = np.unique(text, return_inverse=True)
    labelled = np.flatnonzero(speaker >= 0)
    by_text = np.full(len(texts), -1)
    by_text[kind[labelled]] = speaker[labelled]
    several = by_text[kind[labelled]] != speaker[labelled]
    by_text[kind[labelled][several]] = -1
    guessed = np.where(speaker >= 0, speaker, by_text[kind])
    opens = np.append(True, np.diff(raw.table.document) > 0)[: len(row)]
    first = np.maximum.accumulate(np.where(opens, row, 0))
    latest = np.maximum.accumulate(np.where(guessed >= 0, row, -1))
    return np.where(latest >= first, guessed[latest], -1)
