"""All sentences of a corpus with who speaks them, and without what is only furniture.

Furniture is recognised by its statistics, never by name: what many documents repeat (headers, footers,
greetings), what stands in brackets for itself, labels before turns of speech.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from conspectus.rows import Document
from conspectus.text.chinese import ROLES, is_person
from conspectus.text.cleaning import blocks, content_of, excerpt, is_data
from conspectus.text.sentences import lines, sentences
from conspectus.text.types import GIVEN_NAMES
from conspectus.text.vocabulary import TokenRows, tokens_of
from conspectus.text.words import CJK
from conspectus.workers import Workers

REPEATED = 4
"""A sentence that so many documents share is furniture. Overlapping parts of transcripts share theirs by twos (5,192
sentences of 60 interviews), seldom by threes (554); what four share are phrases ("Right, yeah."), and banners of web
pages. The price: 2 % of the distinct sentences of 4,360 answers on diseases, some of them definitions."""
CUT = 12
"""Characters by which a piece of a sentence and the whole one are matched: a shorter one ("Of course.") is no piece."""
OPENING = 200
"""Characters at the start of a document in which a shared header is looked for: the longest, of interviews, has 83."""

LABELLED = 0.1
"""Share of the lines of a document that open with labels, from which on these may be speakers: in 60 interviews at least
0.3, where web pages have "ANGSD:", "APACHE II:" or "PMID:" at most 0.06."""

_LABEL = re.compile(r"[^\w(\[]*([^\W\d_][\w.'’\- ]{0,40}?)\s*(?:[(（][^)）]{1,20}[)）])?(?::(?=\s|$)|：)\s*")
_MARK = re.compile(r"\s*(?:#{1,6}|[-*•–>]|\d{1,3}\))\s+")
"""Of a heading, an item of a list, or what a mail quotes: layout, and no part of what is said."""
_ASIDE = re.compile(r"[(\[（【][^)\]）】]{1,60}[)\]）】][.!?。！？]?")
_FILE_LIKE = re.compile(r"\S*(?:_\S*|\.[a-z]{2,5})(?:\s+[./\\]+)*\s+")
_LOWER = re.compile(r"\b[^\W\d_A-Z][\w'’]*")
_LETTER = re.compile(r"[^\W\d_]")

IntArray = np.ndarray[tuple[int], np.dtype[np.int32]]


@dataclass(frozen=True)
class SentenceTable:
    """Sentence `i` is characters `start[i]` to `end[i]` of document `document[i]`, in order of the corpus.

    `speaker[i]` is a place in `speakers`, -1 where nobody is known to say it.
    """

    document: IntArray
    start: IntArray
    end: IntArray
    speaker: IntArray
    speakers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.document)


def find_sentences(
    documents: Sequence[Document], workers: Workers
) -> tuple[SentenceTable, list[str], TokenRows]:
    """Return the sentences of the documents that are no boilerplate, their texts, each as one line, and their tokens."""
    contents = [content_of(document).text for document in documents]
    headers = _shared_openings(contents)
    labels = _speakers(contents, headers)
    del contents
    parts = workers.map_stored(
        sentences_in,
        [len(document.text) for document in documents],
        (f"{d.id} {d.omitted} {d.language} {header}" for d, header in zip(documents, headers, strict=True)),
        lambda shard: (shard, [documents[i] for i in shard], [headers[i] for i in shard], labels),
        lambda stored, shard: _loaded(stored, shard, [documents[i] for i in shard], labels),
        _stored,
    )
    raw = _joined(list(parts))
    chosen = np.arange(len(raw.texts))
    for select in (_not_cut, _not_repeated):
        numbers: list[int] = raw.document[chosen].tolist()
        remaining: list[int] = chosen.tolist()
        chosen = chosen[select(numbers, [raw.texts[i] for i in remaining])]
    rows: list[int] = chosen.tolist()
    texts = [raw.texts[i] for i in rows]
    document = raw.document[chosen]
    spoken_by = _carried_over(document.tolist(), [raw.speakers[i] for i in rows], texts)
    names = sorted(set(spoken_by) - {""})
    number = {"": -1} | {name: i for i, name in enumerate(names)}
    speaker = np.array([number[s] for s in spoken_by], np.int32)
    table = SentenceTable(document, raw.start[chosen], raw.end[chosen], speaker, tuple(names))
    return table, texts, raw.tokens.take(chosen)


@dataclass(frozen=True)
class RawSentences:
    """The sentences of some documents in columns, before what the corpus repeats is left out.

    `document` is the number of each one's document, `speakers` who says it, empty where no label tells; `labels` are
    those of the documents, and whether each is a speaker's in the corpus.
    """

    document: IntArray
    start: IntArray
    end: IntArray
    speakers: list[str]
    texts: list[str]
    tokens: TokenRows
    labels: dict[str, bool]


def sentences_in(
    numbers: range, documents: Sequence[Document], headers: Sequence[int], labels: set[str]
) -> RawSentences:
    """Return the sentences of documents, given their headers and the labels of all speakers of the corpus."""
    is_speaker: dict[str, bool] = {}
    rows: list[tuple[int, int, int]] = []
    who: list[str] = []
    texts: list[str] = []
    for number, document, header in zip(numbers, documents, headers, strict=True):
        content, speaker = content_of(document), ""
        text, apart = content.text, blocks(content.text)
        for start, end in lines(text):
            start = max(start, header)
            if mark := _MARK.match(text, start, end):
                start = mark.end()
            if start >= end or bisect_right(apart, start) % 2 or is_data(text[start:end]):
                continue
            label = _LABEL.match(text, start, min(end, start + 60))
            if label:
                key = _key(label.group(1))
                is_speaker[key] = key in labels
                if is_speaker[key]:
                    speaker, start = label.group(1), label.end()
            for a, b in sentences(text, start, end, document.language):
                sentence = " ".join(text[a:b].split())
                if _LETTER.search(sentence) and not _ASIDE.fullmatch(sentence):
                    rows.append((number, *content.span(a, b)))
                    who.append(speaker)
                    texts.append(sentence)
    number, first, last = (column.copy() for column in np.array(rows, np.int32).reshape(-1, 3).T)
    tokens = tokens_of(texts, [documents[row[0] - numbers.start].language for row in rows])
    return RawSentences(number, first, last, who, texts, tokens, is_speaker)


def _stored(raw: RawSentences, shard: range) -> dict[str, Any]:
    """Return the sentences of a shard as numbers, each in few bytes, without what its documents tell."""
    names = sorted(set(raw.speakers))
    number = {name: i for i, name in enumerate(names)}
    tokens = raw.tokens
    speaker = np.array([number[s] for s in raw.speakers], np.int32)
    columns = raw.document - shard.start, raw.start, raw.end, speaker, tokens.form, tokens.sizes, tokens.rows
    small = [column.astype(np.min_scalar_type(column.max(initial=0))) for column in columns]
    return {"columns": small, "names": names, "forms": tokens.forms, "labels": raw.labels}


def _loaded(
    stored: Mapping[str, Any], shard: range, documents: Sequence[Document], labels: set[str]
) -> RawSentences:
    """Return the stored sentences of a shard; raise ValueError where its labels are others now, or it cannot be so."""
    if any((key in labels) != known for key, known in stored["labels"].items()):
        raise ValueError("the labels of speakers are others now")
    columns: list[IntArray] = [column.astype(np.int32) for column in stored["columns"]]
    document, start, end, speaker, form, sizes, rows = columns
    names, forms = list(map(str, stored["names"])), list(map(str, stored["forms"]))
    ends = (document, len(documents)), (speaker, len(names)), (form, len(forms)), (rows, len(sizes))
    inside = all(not len(column) or 0 <= column.min() <= column.max() < n for column, n in ends)
    if not (inside and all(forms) and sizes.min(initial=0) >= 0 and sizes.sum() == len(form)):
        raise ValueError("there are no such tokens")
    length = np.array([len(document.text) for document in documents])[document]
    if (np.diff(document) < 0).any() or not ((start >= 0) & (start < end) & (end <= length)).all():
        raise ValueError("a sentence is not in its document")
    spans: list[tuple[int, int, int]] = np.column_stack([document, start, end]).tolist()
    texts = [" ".join(excerpt(documents[i], a, b).split()) for i, a, b in spans]
    who = [names[i] for i in speaker.tolist()]
    if not len(texts) == len(who) == len(rows):
        raise ValueError("there are no such sentences")
    return RawSentences(
        document + shard.start, start, end, who, texts, TokenRows(forms, form, sizes, rows), {}
    )


def _joined(shards: Sequence[RawSentences]) -> RawSentences:
    """Return the sentences of shards as those of one."""
    columns = [(shard.document, shard.start, shard.end) for shard in shards] or [(np.zeros(0, np.int32),) * 3]
    document, start, end = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return RawSentences(
        document,
        start,
        end,
        [name for shard in shards for name in shard.speakers],
        [text for shard in shards for text in shard.texts],
        TokenRows.joined([shard.tokens for shard in shards]),
        {},
    )


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _speakers(texts: Sequence[str], headers: Sequence[int]) -> set[str]:
    """Return the labels of speakers: what stands before lines again and again, and is written as a name.

    Where most lines of a document open with labels, these are speakers. Elsewhere a label with a digit ("Column 11:")
    or of words that the corpus also has in lower case ("Proof:", "RESOLVED:") is none.
    """
    recurring: set[str] = set()
    in_transcripts: set[str] = set()
    for text, header in zip(texts, headers, strict=True):
        here: Counter[str] = Counter()
        total = 0
        for start, end in lines(text):
            start = max(start, header)
            label = _LABEL.match(text, start, min(end, start + 60))
            total += start < end
            if label and _written_as_name(label.group(1)):
                here[_key(label.group(1))] += 1
        if here.total() >= LABELLED * total:
            recurring |= {key for key, count in here.items() if count > 1}
        if 2 * here.total() > total:
            in_transcripts |= here.keys()
    doubtful = recurring - in_transcripts
    lower = {word for text in texts for word in _LOWER.findall(text)} if doubtful else set[str]()
    return recurring - {key for key in doubtful if _is_heading(key.split(), lower)}


def _is_heading(words: Sequence[str], lower: set[str]) -> bool:
    """Tell whether a label is no name: it has a digit, or only words that are also written in lower case."""
    if any(character.isdigit() for word in words for character in word):
        return True
    return lower.issuperset(words) and words[0] not in GIVEN_NAMES


def _written_as_name(label: str) -> bool:
    words = label.split()
    if len(words) == 1 and CJK.match(label):
        return is_person(label) or label.endswith(tuple(ROLES))
    return len(words) <= 5 and all(w[0].isupper() or not w[0].isalpha() for w in words) and (
        len(words) > 1 or words[0].isupper() or not words[0].isascii() or len(words[0]) > 2
    )  # fmt: skip


def _shared_openings(texts: Sequence[str]) -> list[int]:
    """Return how many first characters of each text are a header that looks like a file's name or path.

    It is one where at least three texts open with the same characters; a header ends with its last such token.
    """
    order = sorted(range(len(texts)), key=lambda i: texts[i][:OPENING])
    opening = [texts[i][:OPENING] for i in order]
    common = [0, *(_common_prefix(a, b) for a, b in pairwise(opening)), 0]
    result = [0] * len(texts)
    for place, i in enumerate(order):
        here, after = common[place], common[place + 1]
        before = common[place - 1] if place else 0
        beyond = common[place + 2] if place + 2 < len(common) else 0
        shared = max(min(before, here), min(here, after), min(after, beyond))
        ends = [m.end() for m in _FILE_LIKE.finditer(texts[i], 0, OPENING) if m.start() < shared - 4]
        result[i] = ends[-1] if ends else 0
    return result


def _common_prefix(a: str, b: str) -> int:
    different = (i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other)
    return next(different, min(len(a), len(b)))


def _not_cut(document: list[int], texts: list[str]) -> list[int]:
    """Return the places of the sentences that are not just the tail or head of a whole one elsewhere.

    Such a piece opens or closes a document that was cut out of a longer text, with some overlap.
    """
    edges = [a != b for a, b in pairwise([-1, *document, -1])]
    opening = {text for text, opens in zip(texts, edges, strict=False) if opens}
    closing = {text for text, closes in zip(texts, edges[1:], strict=True) if closes}
    tails = {tail[::-1] for tail in _heads({t[::-1] for t in opening}, (t[::-1] for t in texts))}
    heads = _heads(closing, texts)
    return [
        i
        for i, text in enumerate(texts)
        if not (edges[i] and text in tails) and not (edges[i + 1] and text in heads)
    ]


def _heads(pieces: set[str], texts: Iterable[str]) -> set[str]:
    """Return the pieces that a longer text begins with; in the order of the alphabet such a text is the next one."""
    openings = {piece[:CUT] for piece in pieces if len(piece) >= CUT}
    alike: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        if text[:CUT] in openings:
            alike[text[:CUT]].add(text)
    return {
        a for group in alike.values() for a, b in pairwise(sorted(group)) if b.startswith(a) and a in pieces
    }


def _not_repeated(document: list[int], texts: list[str]) -> list[int]:
    """Return the places of the sentences that fewer than REPEATED documents share, or that are all of one."""
    last: dict[str, int] = {}  # the last document with each text
    count: Counter[str] = Counter()
    for number, text in zip(document, texts, strict=True):
        if last.get(text) != number:
            last[text] = number
            count[text] += 1
    repeated = {text for text, documents in count.items() if documents >= REPEATED}
    own = Counter(n for n, t in zip(document, texts, strict=True) if t not in repeated)
    return [
        i for i, (n, t) in enumerate(zip(document, texts, strict=True)) if t not in repeated or not own[n]
    ]


def _carried_over(document: list[int], speakers: list[str], texts: list[str]) -> list[str]:
    """Return who says each sentence; where a document is cut inside a turn, its overlap with another tells.

    A sentence of unknown speaker takes the speaker of the same sentence elsewhere, and those after it follow.
    """
    known: dict[str, str] = {}  # "" where several say it
    for speaker, text in zip(speakers, texts, strict=True):
        if speaker and len(text) > 30 and known.setdefault(text, speaker) != speaker:
            known[text] = ""
    said: list[str] = []
    current, at = "", -1
    for number, speaker, text in zip(document, speakers, texts, strict=True):
        if number != at:
            current, at = "", number
        if speaker:
            current = speaker
        elif not current:
            current = known.get(text, "")
        said.append(current)
    return said
