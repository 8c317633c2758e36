"""Sentences as the extractive model reads them: those of the corpus, of a context (statements), and of an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

import numpy as np

from conspectus.algorithms.ranking import positions, ranges
from conspectus.algorithms.statistics import Ints
from conspectus.content import excerpt
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import performs
from conspectus.references import Reference, strip
from conspectus.rows import Chunk, Document, Span, column
from conspectus.tasks import ClearSentences, Entails, FactualClaims, Numbered, SelectFactual
from conspectus.tasks.base import Context
from conspectus.text.language import ENGLISH, with_languages
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.mentions import find_dates, find_runs
from conspectus.text.question import question_pattern
from conspectus.text.sentences import ASKS, CLOSING, quality, sentences, without_opening
from conspectus.text.uncased import find_chinese
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import CJK, SMALL, VAGUE, WORD, name_key, stems, terms

NEAR = 200
"""Most characters between neighbouring sentences: half or double changes nothing, with 0 F1 of the sample's reports
loses 5.2; without a limit, quotations continue after text that is left out."""
QUOTES = '"“”'


@dataclass(frozen=True)
class SentenceStore:
    """Sentence `i` is characters `start[i]` to `end[i]` of document number `document[i]`.

    Its `mentions[mention_starts[i]:mention_starts[i + 1]]` and `speaker[i]` (-1: unknown) are indices into `names`.
    """

    documents: Sequence[Document]
    document: Ints
    start: Ints
    end: Ints
    speaker: Ints
    mention_starts: Ints
    mentions: Ints
    names: Sequence[str]
    types: Sequence[str]
    related: Ints | None = None
    """Pairs of names that co-occur more often than by chance, as codes (`Lexicon.related`); None if that is unknown."""
    numbers: Mapping[str, int] | None = None

    @classmethod
    def read(cls, documents: Sequence[Document], lexicon: Lexicon) -> SentenceStore:
        """Return the sentences of a corpus that was just read."""
        table = lexicon.sentences.table
        speaker = np.append(lexicon.speaker_names, -1)[table.speaker].astype(np.int32)
        return cls(
            documents, table.document, table.start, table.end, speaker, lexicon.starts,
            lexicon.mentions, lexicon.names, lexicon.types, lexicon.related,
        )  # fmt: skip

    @classmethod
    def of_chunk(cls, chunk: Chunk, entity_types: tuple[str, ...]) -> SentenceStore:
        """Read a chunk by itself, without the corpus that it comes from."""
        alone = Document(chunk.document_id, 0, "", " " * chunk.start + chunk.text, "")
        documents = with_languages([alone])
        return cls.read(documents, read_lexicon(documents, entity_types))

    @classmethod
    def of_index(cls, index: Index) -> SentenceStore:
        """Return the sentences of an index, with the names and types of its entities."""
        return cls(
            documents=index.documents,
            names=column(index.entities, "name"),
            types=column(index.entities, "type"),
            numbers=index.number_of_document,
            **{name: index.slices[f"sentences.{name}"] for name in _COLUMNS},
        )

    def __len__(self) -> int:
        return len(self.document)

    def part(self, documents: range) -> SentenceStore:
        """Return the sentences of some documents, with only the names that occur in these, in order of appearance."""
        a, b = np.searchsorted(self.document, (documents.start, documents.stop)).tolist()
        starts = self.mention_starts[a : b + 1]
        named = np.concatenate((self.mentions[starts[0] : starts[-1]], self.speaker[a:b]))
        own, first = np.unique(named[named >= 0], return_index=True)
        number = np.empty(len(own) + 1, np.int32)
        number[np.argsort(first)] = np.arange(len(own))
        number[-1] = -1
        named = number[positions(own, named)]
        names: list[int] = own[np.argsort(first)].tolist()
        return replace(
            self,
            documents=[self.documents[i] for i in documents],
            document=self.document[a:b] - documents.start,
            start=self.start[a:b],
            end=self.end[a:b],
            speaker=named[starts[-1] - starts[0] :],
            mention_starts=starts - starts[0],
            mentions=named[: starts[-1] - starts[0]],
            names=[self.names[i] for i in names],
            types=[self.types[i] for i in names],
            related=self._related_among(own, number),
        )

    def _related_among(self, own: Ints, number: Ints) -> Ints | None:
        """Return the related pairs among some of the names, ascending, by the new numbers (`number`) of these names."""
        if self.related is None:
            return None
        firsts = own.astype(np.int64) * len(self.names)
        begin, end = np.searchsorted(self.related, (firsts, firsts + len(self.names)))
        at, sizes = ranges(begin, end)
        low, other = np.repeat(np.arange(len(own)), sizes), self.related[at] % len(self.names)
        high = positions(own, other)
        ends = number[np.stack((low, high))[:, high >= 0]]
        return np.sort(ends.min(axis=0).astype(np.int64) * len(own) + ends.max(axis=0))

    def digest(self, documents: range) -> str:
        """Return a digest of everything that extraction from some documents depends on, besides their texts."""
        part = self.part(documents)
        languages = [document.language for document in part.documents]
        digest = sha256(json.dumps([part.names, part.types, languages]).encode())
        for numbers in (*(getattr(part, name) for name in _COLUMNS), part.related):
            digest.update(b"" if numbers is None else numbers.astype(np.int64).tobytes() + b"|")
        return digest.hexdigest()

    @cached_property
    def _number(self) -> Mapping[str, int]:
        return self.numbers or {document.id: i for i, document in enumerate(self.documents)}

    def knows(self, chunk: Chunk) -> bool:
        """Return whether a chunk is part of a document that was read."""
        return chunk.document_id in self._number

    def within(self, chunk: Chunk | Span) -> range:
        """Return the sentences that lie completely within a chunk, or within another span of a document."""
        document = self._number[chunk.document_id]
        # in the type of the column, which would otherwise be converted as a whole
        bounds = np.array((document, document + 1), np.int32)
        low, high = self.document.searchsorted(bounds).tolist()
        first = low + int(np.searchsorted(self.start[low:high], chunk.start))
        last = low + int(np.searchsorted(self.end[low:high], chunk.end, side="right"))
        return range(first, max(first, last))

    def mentioned(self, sentence: int) -> list[int]:
        """Return the names that a sentence mentions, as indices, in the order of its words."""
        first, last = self.mention_starts[sentence : sentence + 2].tolist()
        return self.mentions[first:last].tolist() if first < last else []

    def mentioned_near(self, sentence: int) -> list[int]:
        """Return the names that a sentence mentions or, if none, those of the nearest one before in its document."""
        while not (own := self.mentioned(sentence)) and not self.opens_document(sentence):
            sentence -= 1
        return own

    def are_related(self, one: int, other: int) -> bool:
        """Return whether two names co-occur more often than by chance."""
        return min(one, other) * len(self.names) + max(one, other) in self._related

    @cached_property
    def _related(self) -> frozenset[int]:
        return frozenset[int](() if self.related is None else self.related.tolist())

    def span(self, sentence: int, last: int = -1) -> Span:
        """Return the span of a sentence, or of all from it to `last` in the same document."""
        start, end = int(self.start[sentence]), int(self.end[max(sentence, last)])
        return Span(self._document(sentence).id, start, end)

    def _document(self, sentence: int) -> Document:
        """Return the document that a sentence is in."""
        return self.documents[int(self.document[sentence])]

    def text(self, sentence: int, last: int = -1) -> str:
        """Return a sentence, or all from it to `last` with what is between them, as one line."""
        _, start, end = self.span(sentence, last)
        return " ".join(excerpt(self._document(sentence), start, end).split())

    def title_of(self, document: int) -> str:
        """Return the title of a document; hyphens and underscores, as in file names, become spaces."""
        return _in_words(self.documents[document].title)

    def language(self, sentence: int) -> str:
        """Return the language of the document that a sentence is in."""
        return self._document(sentence).language

    def follows(self, sentence: int) -> bool:
        """Return whether a sentence closely follows the one before it in the table."""
        near = bool(self.start[sentence] - self.end[sentence - 1] < NEAR)
        return near and not self.opens_document(sentence)

    def is_item(self, sentence: int) -> bool:
        """Return whether the mark of a list item is before a sentence or at its start."""
        return bool(_ITEM.search(self._gap(sentence) + self.text(sentence)[:2]))

    def _gap(self, sentence: int) -> str:
        """Return what is between a sentence and the one before, if it closely follows that one."""
        start, end = int(self.end[sentence - 1]), int(self.start[sentence])
        return excerpt(self._document(sentence), start, end) if self.follows(sentence) else ""

    def continues(self, sentence: int) -> bool:
        """Return whether no line or list item is between a sentence and the one before; speech may be interrupted."""
        gap = self._gap(sentence)
        same_line = "\n" not in gap and not _ITEM.search(gap)
        speaks = self.speaker_of(sentence) >= 0
        return self.follows(sentence) and (same_line or speaks or bool(_GAP.fullmatch(gap)))

    def opens_document(self, sentence: int) -> bool:
        """Return whether a sentence is the first of its document."""
        return sentence == 0 or bool(self.document[sentence] != self.document[sentence - 1])

    def day(self, sentence: int) -> str:
        """Return the day of the document that a sentence is in, "" if it has none."""
        return self._document(sentence).day[:10]

    def speaker_of(self, sentence: int) -> int:
        """Return the speaker of a sentence as an index into `names`, -1 if unknown."""
        return int(self.speaker[sentence])

    def quoted(self, sentence: int, last: int = -1) -> str:
        """Return sentences, to `last`, as they are quoted: without linking words at the start, after their speaker."""
        language = self.language(sentence)
        text = without_opening(_LABEL.sub("", self.text(sentence, last)), language)
        if (speaker := self.speaker_of(sentence)) < 0:
            return text
        return wording(language).quote.format(self.names[speaker], text.strip(QUOTES))

    def span_quoted(self, text: str, inside: Span) -> Span | None:
        """Return the span of the first sentences inside a span that are quoted as a text, None if no sentences are."""
        for first in (sentences := self.within(inside)):
            for last in range(first, sentences.stop):
                quoted = self.quoted(first, last)
                if text in (quoted, f"{self.day(first)}: {quoted}"):
                    return self.span(first, last)
                if len(quoted) > len(text):
                    break
        return None

    def quality(self, sentence: int) -> float:
        """Return how well a sentence reads alone, 0 to 1."""
        return quality(self.text(sentence), self.language(sentence))


_LABEL = re.compile(rf"^[^\W\d_{SMALL}](?:[^\W\d_{SMALL}]|[.'’ /-]){{2,40}}: ")
"""A label that names who speaks in a line, also of several ("KEVIN SCOTT/ANDREW NG: ")."""
_ITEM = re.compile(r"[-*•–]\s")
_GAP = re.compile(rf"[{re.escape(CLOSING)}]*\s*(?:>+\s+)?")
_COLUMNS = ("document", "start", "end", "speaker", "mention_starts", "mentions")


# Statements: the sentences that a context consists of, with their references

_SPEAKER = re.compile(r'([^\s":：][^":：]{1,40})(?:: "|：“)')
VAGUE_STEMS = stems(VAGUE)
FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|my|me)\b")


class Statement(NamedTuple):
    """One sentence as it is quoted, after its speaker if one is known."""

    text: str
    references: tuple[Reference, ...]
    quality: float
    terms: frozenset[str]
    weight: float = 1.0
    """Factor of its merit, by the row that it comes from."""


def _in_words(title: str) -> str:
    return title.replace("_", " ").replace("-", " ")


def title_words(title: str) -> set[str]:
    """Return the words of a title in the form in which names are compared."""
    return set(name_key(_in_words(title)).split())


def statements(context: Context, language: str = ENGLISH) -> list[Statement]:
    """Return the distinct statements of a context, with references that use its local numbers."""
    references: dict[str, dict[Reference, float]] = {}
    for text, reference, weight in _quoted(context, language):
        references.setdefault(text, {}).setdefault(reference, weight)
    rows = ((text, tuple(weights), max(weights.values())) for text, weights in references.items())
    return [Statement(text, sources, *reading(text, language), weight) for text, sources, weight in rows]


def _quoted(context: Context, language: str) -> Iterator[tuple[str, Reference, float]]:
    """Yield each statement of a context with a reference to its row and its weight, once for each row."""
    for i, report in enumerate(context.reports, 1):
        reference = Reference("Reports", i)
        for rank, finding in enumerate(report.findings):
            for text in split(strip(finding.explanation), language):
                yield text, reference, 1.3 - 0.05 * rank
    for table, rows in (("Relationships", context.relationships), ("Entities", context.entities)):
        for i, row in enumerate(rows, 1):
            reference = Reference(table, i)
            for text in split(row.description, language):
                yield text, reference, 1.0
    for i, claim in enumerate(context.claims, 1):
        yield claim.description, Reference("Claims", i), 1.0


@lru_cache(maxsize=1 << 12)
def split(description: str, language: str = ENGLISH) -> tuple[str, ...]:
    """Split a description into its statements; a line that is a quotation with its speaker stays whole."""
    lines = description.splitlines()
    # line by line, for the cache: a sentence is a line in the descriptions of everything that it mentions
    if len(lines) > 1:
        return tuple(chain.from_iterable(split(line, language) for line in lines))
    if _SPEAKER.match(description):
        return (description,)
    return tuple(description[a:b] for a, b in sentences(description, language=language))


@lru_cache(maxsize=1 << 12)
def reading(text: str, language: str = ENGLISH) -> tuple[float, frozenset[str]]:
    """Return how well a statement reads alone, 0 to 1, and the terms that it is about."""
    words = words_of(text)
    if words == text and FIRST_PERSON.search(text):  # it is unknown who speaks
        return 0.5 * quality(words, language), frozenset()
    return quality(words, language), subject_terms(words, language)


def subject_terms(text: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the terms of a text without vague ones and numbers."""
    return frozenset(t for t in terms(text, language) if t not in VAGUE_STEMS and not t.isdigit())


TOO_ALIKE = 0.45
"""Largest share of its terms that a statement of a report, or a quotation of an overview, may have in common with one
before. With half, F1 of reports loses 4.3, with double it gains 1.5 (measured by the share of the smaller one)."""
TOO_ALIKE_FOR_FACTS = 0.7
"""The same over all terms if one fact is asked for: with none, 5 % fewer quotations have the answer, with half 1 %."""


def is_repeated(terms: frozenset[str], used: Sequence[frozenset[str]], alike: float) -> bool:
    """Return whether more than the share `alike` of some terms are in any of the used sets."""
    return any(len(terms & other) > alike * len(terms) for other in used)


def words_of(statement: str) -> str:
    """Return the words of a statement without its speaker."""
    return statement[match.end() :].rstrip('"”') if (match := _SPEAKER.match(statement)) else statement


def speaker_of(statement: str) -> str:
    """Return the speaker of a statement, "" if none is given."""
    return match[1] if (match := _SPEAKER.match(statement)) else ""


# Claims and whether they are supported


def name_entities(text: str) -> tuple[str, ...]:
    """Return the names in a text as keys: by capitals and dates and, in Chinese, by the rules for names there."""
    vocabulary = read_vocabulary([text])
    opening = np.ones(len(vocabulary.form), bool)
    keys = [key for _, keys in find_runs(vocabulary, opening) for key in keys]
    keys += map(name_key, find_dates(text))
    if CJK.search(text):
        keys += [name_key(mention.words[0]) for mention in find_chinese(read_vocabulary([text], ["zh"]))]
    return tuple(dict.fromkeys(keys))


SUPPORTED = 0.7
"""The share of a statement's key terms that a text must contain to support it. Of the sentences of GPT-4.1's reports,
12 % count as supported by the rows that they cite, 2.5 % by other rows of the report, 0.1 % by those of another."""
MIN_KEY_TERMS = 3
"""Least key terms of a sentence that states something: 76.5 % of 519 in a strong model's answers; with 6, 64.2 %."""
MIN_QUALITY = 0.35
"""Least quality of a sentence that does not count as a fragment."""
_OPENS_WITH_PRONOUN = question_pattern(ENGLISH, "pronoun_first")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORD = question_pattern(ENGLISH, "number_in_words")
_NOT_FIRST = re.compile(r"\w\W{0,2} $")
"""Text before a word that is not the first of a sentence or a quotation."""


@performs(SelectFactual)
def select_factual(task: SelectFactual) -> tuple[int, ...]:
    """Return the numbers of the sentences that contain a name, number or date, and are no questions."""
    capitalised = (
        m[0]
        for sentence in task.sentences
        for m in WORD.finditer(sentence)
        if m[0][0].isupper() and _NOT_FIRST.search(sentence, 0, m.start())
    )
    names = frozenset(capitalised)
    return tuple(n for n, sentence in enumerate(task.sentences, 1) if _states_a_fact(sentence, names))


def _states_a_fact(sentence: str, names: frozenset[str]) -> bool:
    """Return whether a sentence, without its speaker, has a number or a name (a first word is one if in `names`)."""
    words = words_of(sentence)
    if (
        sentence.startswith("# ")
        or words.rstrip(CLOSING).endswith(ASKS)
        or len(all_terms(words) - VAGUE_STEMS) < MIN_KEY_TERMS
    ):
        return False
    first = WORD.search(words)
    if first and first[0] not in names and len(first[0]) > 1 and first[0].istitle():
        words = words[: first.start()] + first[0].lower() + words[first.end() :]
    return bool(_NUMBER.search(words) or _NUMBER_WORD.search(words) or name_entities(words))


@performs(ClearSentences)
def clear_sentences(task: ClearSentences) -> tuple[Numbered, ...]:
    """Return the chosen sentences unchanged, except for fragments and those that open with a pronoun."""
    chosen = (n for n in task.chosen if 0 < n <= len(task.sentences))
    clear = (n for n in chosen if reads_alone(words_of(task.sentences[n - 1])))
    return tuple(Numbered(n, task.sentences[n - 1]) for n in clear)


def reads_alone(words: str) -> bool:
    """Return whether a sentence can be understood alone: it is no fragment and does not open with a pronoun."""
    if _OPENS_WITH_PRONOUN.match(words):
        return False
    # an item of a list has no full stop
    ended = words if words[-1:] in ".!?。！？" else f"{words}."
    return bool(CJK.search(words)) or quality(ended) >= MIN_QUALITY


@performs(FactualClaims)
def factual_claims(task: FactualClaims) -> tuple[Numbered, ...]:
    """Return each sentence as one claim."""
    return tuple(Numbered(n, text) for n, text in enumerate(task.sentences, 1))


@performs(Entails)
def entails(task: Entails) -> bool:
    """Return whether a text contains enough of a statement's key terms, and all of its numbers."""
    return supported_share(task.statement, task.text) >= SUPPORTED


@lru_cache(maxsize=1 << 14)
def all_terms(text: str) -> frozenset[str]:
    """Return the terms of a text."""
    return frozenset(terms(text))


def supported_share(statement: str, text: str) -> float:
    """Return the share, 0 to 1, of a statement's key terms (those not vague) that a text contains; 0 if the text lacks
    a number of the statement.
    """
    words = words_of(statement)
    key_terms = all_terms(words) - VAGUE_STEMS
    if not key_terms or not set(_NUMBER.findall(words)) <= set(_NUMBER.findall(text)):
        return 0.0
    return len(key_terms & all_terms(text)) / len(key_terms)
