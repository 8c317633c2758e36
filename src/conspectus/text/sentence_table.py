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
from typing import NamedTuple, overload

import numpy as np

from conspectus.algorithms.matching import continuations
from conspectus.algorithms.statistics import Ints, concatenated, numbers_of, repeated, unique_numbers
from conspectus.content import content_of, excerpt
from conspectus.rows import Document
from conspectus.text.blocks import LETTERS, blocks, is_data
from conspectus.text.language import read_word_sets, text_pattern
from conspectus.text.phrases import general_frequencies
from conspectus.text.sentences import lines, sentences
from conspectus.text.types import GIVEN_NAMES
from conspectus.text.uncased import ROLES, is_person
from conspectus.text.vocabulary import TokenRows, tokens_of
from conspectus.text.words import CJK

REPEATED = 4
"""A sentence in this many documents is boilerplate. Overlapping parts of transcripts share sentences in pairs, seldom
in threes; four share phrases ("Right, yeah.") and banners, and 2 % of the sentences of 4,360 answers on diseases."""

LABELLED = 0.3
"""Least share of a document's lines that open with recurring labels, for these to be speakers. 60 interviews have at
least this share; minutes have "RESOLVED:" in 0.2 of their lines, web pages "Source:" in 0.11, "Figure 4:" in 0.27."""

_pattern = partial(text_pattern, "sentence_table")
_LABEL = re.compile(f"(?P<time>{text_pattern('sentences', 'time').pattern})?{_pattern('label').pattern}")
_HEADING, _MARK, _ASIDE = map(_pattern, ("heading_label", "mark", "aside"))
_FILE_NAME, _SAYS = map(_pattern, ("file_name", "says"))
_NOTE_LABELS, _UNNAMED = (read_word_sets("words")[kind] for kind in ("note_labels", "unnamed_speakers"))
_NOBODY = "-"
"""Stands for the speaker after the label of somebody who has no name or is not known to speak."""
OVERLAP = 8
"""Least tokens that a document begins with and another one ends with, for it to go on there: more than in "Thank you very
much, Tim." Parts of podcasts share about 95."""
CUT = 2
"""Tokens at either edge that need not be the same: where "it’s" or a speaker's label of two words is cut, they are not."""

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
    whole, speaker = _over_parts(raw)
    names = raw.table.speakers
    raw = replace(raw, table=replace(raw.table, speaker=speaker)).take(whole)
    raw = raw.take(_not_repeated(raw.table.document, raw.text))
    known: set[int] = {i for i in set(raw.table.speaker.tolist()) - {-1} if names[i] != _NOBODY}
    order = sorted(known, key=names.__getitem__)
    rank = np.full(len(names) + 1, -1, np.int32)
    rank[order] = np.arange(len(order))
    speakers = tuple(names[i] for i in order)
    return replace(raw.table, speaker=rank[raw.table.speaker], speakers=speakers), raw.text, raw.tokens


@dataclass(frozen=True)
class RawSentences:
    """The sentences of some documents in columns, before sentences that the corpus repeats are removed.

    The speakers are those named by labels. `text` has a hash of each sentence as one line.
    """

    table: SentenceTable
    text: Ints
    tokens: TokenRows

    def take(self, rows: Ints) -> RawSentences:
        """Return the sentences `rows`."""
        tokens = replace(self.tokens, rows=self.tokens.rows[rows])
        return RawSentences(self.table.take(rows), self.text[rows], tokens)


def sentences_in(numbers: range, documents: Sequence[Document], labels: set[str]) -> RawSentences:
    """Return the sentences of documents; `labels` are the (folded) labels of all speakers of the corpus."""
    rows: list[tuple[int, int, int]] = []
    who: list[str] = []
    texts: list[str] = []
    for number, document in zip(numbers, documents, strict=True):
        content, speaker = content_of(document), ""
        text, spans = content.text, list(_lines(document))
        apart = blocks(text, spans)
        labelled = [(start, end, _label(text, start, end)) for start, end in spans]
        alone = Counter(label.key for *_, label in labelled if label and label.heading)
        headings = {key for key in alone if alone[key] > 1 and key in labels}
        for start, end, label in labelled:
            if mark := _MARK.match(text, start, end):
                start = mark.end()
            if start >= end or bisect_left(apart, end) % 2 or is_data(text[start:end]):
                continue
            if label and label.key in (headings if label.heading else labels):
                start, speaker = label.end, _NOBODY if label.key in _UNNAMED else label.name
            elif label and (headings if label.heading else label.clear and rows and rows[-1][0] == number):
                speaker = _NOBODY  # somebody else, who speaks once
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
    hashes = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return RawSentences(table, np.frombuffer(b"".join(hashes), "<i8").astype(np.int64), tokens)


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
            yield *rows, shard.text, table.document, table.start, table.end, speaker
            done += len(tokens.sizes)

    form, sizes, rows, text, *spans = concatenated(columns(), "iiiqiiii")
    table = SentenceTable(*spans, speakers=tuple(speakers))
    return RawSentences(table, text, TokenRows(list(forms), form, sizes, rows))


class _Label(NamedTuple):
    """What may be the label of a speaker, at the beginning of a line or alone on the line before; speech is at `end`."""

    key: str
    name: str
    end: int
    heading: bool = False
    chat: bool = False
    clear: bool = False  # even if it occurs once, unlike "First:"


def _label(text: str, start: int, end: int) -> _Label | None:
    line = _LABEL.match(text, start, min(end, start + 60))
    match = line or _HEADING.fullmatch(text, start, end)
    if not match or not ((line and line["chat"]) or _written_as_name(match["name"])):
        return None
    key = " ".join(match["name"].split()).casefold()
    if line:
        chat, clear = bool(line["chat"] or line["time"]), " " in key or line["name"].isupper()
        return _Label(key, line["name"], line.end(), False, chat, clear)
    return _Label(key, match["name"], end, heading=True) if " " in key or key in _UNNAMED else None


def speakers_in(documents: Sequence[Document]) -> list[str]:
    """Return the recurring labels that are written as names, of documents with many labelled lines; not Q with A, nor
    a label that only repeats itself, or one word as the only label ("Next"). In a chat, with times, any label speaks.
    Labels that are alone on their lines must mostly be names of people.
    """
    recurring: set[str] = set()
    for document in documents:
        turns: dict[tuple[str, str], _Label] = {}
        total, text = 0, content_of(document).text
        for start, end in _lines(document):
            total += start < end
            if label := _label(text, start, end):
                turns[label.key, text[label.end : end] or text[end : end + 60].strip()] = label
        chat = {label.key for label in turns.values() if label.chat}
        here = Counter(key for key, says in turns if key in chat or _SAYS.match(says))
        often = {key: count for key, count in here.items() if count > 1}
        headings = {label.key for label in turns.values() if label.heading} & often.keys()
        if 2 * sum(key.split()[0] in GIVEN_NAMES | _UNNAMED for key in headings) < len(headings):
            often = {key: count for key, count in often.items() if key not in headings}
        words = "".join(label.name for label in turns.values())
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
    if label.casefold() in _NOTE_LABELS or (len(words) == 1 and any(map(str.isdigit, label))):
        return False
    if label.islower():  # "danah boyd", but not "for example"
        return len(words) == 2 and not general_frequencies().keys() >= set(words)
    return len(words) <= 5 and all(w[0].isupper() or not w[0].isalpha() for w in words) and (
        len(words) > 1 or words[0].isupper() or not words[0].isascii() or len(words[0]) > 2
    )  # fmt: skip


def _lines(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines; the first one without a leading name of the file, or of the file it is part of."""
    text = content_of(document).text
    name = _FILE_NAME.match(text)
    header = name.end() if name and document.path.rpartition("/")[2].startswith(name[1]) else 0
    return ((max(start, header), end) for start, end in lines(text, document.language))


def _not_repeated(document: Ints, text: Ints) -> Ints:
    """Return the indices of sentences in fewer than REPEATED documents, or in documents with only repeated ones."""
    _, kind = np.unique(text, return_inverse=True)
    count = int(document.max(initial=0)) + 1
    repeated = (np.bincount(unique_numbers(kind * count + document) // count) >= REPEATED)[kind]
    own = np.bincount(document[~repeated], minlength=count)
    return np.flatnonzero(~repeated | (own[document] == 0))


def _over_parts(raw: RawSentences) -> tuple[Ints, Ints]:
    """Return the indices of the sentences that are not just pieces of others, and the speaker of each sentence.

    Parts of a text may be cut anywhere and share some words. In a document that begins with what another one ends with,
    the person who speaks there speaks until its first label.
    """
    speaker, tokens, count = raw.table.speaker.copy(), raw.tokens, len(raw.table)
    first = np.flatnonzero(np.diff(raw.table.document, prepend=-1))
    opening = np.repeat(first, np.diff(first, append=count))
    starts, form = repeated(tokens.rows, tokens.sizes, tokens.form)
    begin, end = starts[first], starts[np.append(first[1:], count)[: len(first)]]
    origin, whole = np.full(count, -1), np.ones(count, bool)
    for document, head, at, size in continuations(form, begin, end, OVERLAP, CUT):
        # the sentence where it begins in the other document, and the last one there, where it begins in this one
        row, other = first[document], end[np.searchsorted(end, at, "right")]
        sentence, last = np.searchsorted(starts, (at, other - 1), "right") - 1
        opens, closes = starts[sentence], head + starts[last] - at
        same = opens == at or np.array_equal(form[opens:at], form[begin[document] : head])
        origin[row], whole[row] = sentence, same or starts[row + 1] - head > starts[sentence + 1] - at
        if head <= closes < end[document]:
            twin = np.searchsorted(starts, closes, "right") - 1
            longer = starts[twin + 1] - starts[twin] > starts[last + 1] - starts[last]
            same = np.array_equal(form[at + size : other], form[head + size : head + other - at])
            whole[last] = same and not longer
    while True:
        unknown = np.flatnonzero((speaker < 0) & (origin[opening] >= 0))
        others = speaker[origin[opening[unknown]]]
        if not (others >= 0).any():
            return np.flatnonzero(whole), speaker
        speaker[unknown] = others
