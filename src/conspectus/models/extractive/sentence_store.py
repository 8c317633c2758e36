"""The corpus as the extractive model reads it: sentences, what they mention, who says them, how they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conspectus.index import Index
from conspectus.messages import wording
from conspectus.rows import Chunk, Document, Span
from conspectus.text.language import with_languages
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.sentences import quality, without_opening
from conspectus.text.vocabulary import Ints

NEAR = 200  # unexplained
"""Characters between two sentences that are still neighbours."""
SET_PHRASE = 2.0  # unexplained
"""What a sentence of set phrases loses, as a multiple of their share of its words."""
QUOTES = '"“”'


@dataclass(frozen=True)
class SentenceStore:
    """Sentence `i` is characters `start[i]` to `end[i]` of document number `document[i]`.

    It mentions `mentions[mention_starts[i]:mention_starts[i + 1]]` and is said by `speaker[i]` (-1: nobody
    known), all places in `names`; `templated[i]` per cent of its words stand in set phrases of the corpus.
    """

    documents: Sequence[Document]
    document: Ints
    start: Ints
    end: Ints
    speaker: Ints
    templated: Ints
    mention_starts: Ints
    mentions: Ints
    names: Sequence[str]
    types: Sequence[str]

    @classmethod
    def read(cls, documents: Sequence[Document], lexicon: Lexicon) -> SentenceStore:
        """Return the sentences of a corpus that was just read."""
        table = lexicon.sentences
        speaker = np.append(lexicon.speaker_names, -1)[table.speaker].astype(np.int32)
        return cls(
            documents, table.document, table.start, table.end, speaker, lexicon.templated, lexicon.starts,
            lexicon.mentions, lexicon.names, lexicon.types,
        )  # fmt: skip

    @classmethod
    def of_chunk(cls, chunk: Chunk, entity_types: tuple[str, ...]) -> SentenceStore:
        """Read a chunk alone, for where the corpus that it comes from is not known."""
        alone = Document(chunk.document_id, 0, "", " " * chunk.start + chunk.text, "")
        documents = with_languages([alone])
        return cls.read(documents, read_lexicon(documents, entity_types))

    @classmethod
    def of_index(cls, index: Index) -> SentenceStore:
        """Return the sentences that an index holds; names and types are those of its entities."""
        return cls(
            documents=index.documents,
            names=[e.name for e in index.entities],
            types=[e.type for e in index.entities],
            **{name: index.arrays[f"sentences.{name}"] for name in _KEPT},
        )

    def __len__(self) -> int:
        return len(self.document)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {document.id: i for i, document in enumerate(self.documents)}

    @cached_property
    def _first(self) -> Ints:
        return np.searchsorted(self.document, np.arange(len(self.documents) + 1)).astype(np.int32)

    @cached_property
    def _spans(self) -> list[tuple[int, int, int]]:
        return list(zip(self.document.tolist(), self.start.tolist(), self.end.tolist(), strict=True))

    @cached_property
    def _starts(self) -> list[int]:
        return self.mention_starts.tolist()

    @cached_property
    def _mentions(self) -> list[int]:
        return self.mentions.tolist()

    @cached_property
    def _speakers(self) -> list[int]:
        return self.speaker.tolist()

    @cached_property
    def _texts(self) -> dict[int, str]:
        return {}

    def knows(self, chunk: Chunk) -> bool:
        """Tell whether a chunk is of a document that was read."""
        return chunk.document_id in self._number

    def within(self, chunk: Chunk | Span) -> range:
        """Return the sentences that lie wholly within a chunk, or within other characters of a document."""
        document = self._number[chunk.document_id]
        low, high = int(self._first[document]), int(self._first[document + 1])
        first = low + int(np.searchsorted(self.start[low:high], chunk.start))
        last = low + int(np.searchsorted(self.end[low:high], chunk.end, side="right"))
        return range(first, max(first, last))

    def mentioned(self, sentence: int) -> list[int]:
        """Return what a sentence mentions, in the order of its words."""
        return self._mentions[self._starts[sentence] : self._starts[sentence + 1]]

    def span(self, sentence: int) -> Span:
        """Return the characters of a sentence."""
        document, start, end = self._spans[sentence]
        return Span(self.documents[document].id, start, end)

    def text(self, sentence: int) -> str:
        """Return a sentence as one line."""
        text = self._texts.get(sentence)
        if text is None:
            document, start, end = self._spans[sentence]
            text = self._texts[sentence] = " ".join(self.documents[document].text[start:end].split())
        return text

    def language(self, sentence: int) -> str:
        """Return the language of the document that a sentence is in."""
        document = self._spans[sentence][0]
        if document not in self._languages:
            self._languages[document] = self.documents[document].language
        return self._languages[document]

    @cached_property
    def _languages(self) -> dict[int, str]:
        return {}

    def follows(self, sentence: int) -> bool:
        """Tell whether a sentence follows closely on the one before it in the table."""
        if sentence == 0:
            return False
        document, start, _ = self._spans[sentence]
        before = self._spans[sentence - 1]
        return before[0] == document and start - before[2] < NEAR

    def speaker_of(self, sentence: int) -> int:
        """Return who says a sentence, as a place in `names`, -1 where nobody is known to."""
        return self._speakers[sentence]

    def quoted(self, sentence: int) -> str:
        """Return a sentence as it is quoted: its linking words left out, who says it before it."""
        text = without_opening(self.text(sentence), self.language(sentence))
        speaker = self._speakers[sentence]
        if speaker < 0:
            return text
        return wording(self.language(sentence)).quote.format(self.names[speaker], text.strip(QUOTES))

    def quality(self, sentence: int) -> float:
        """Return how well a sentence reads alone, 0 to 1; set phrases take away from it."""
        left = max(0.0, 1 - SET_PHRASE * self._templated[sentence] / 100)
        return quality(self.text(sentence), self.language(sentence)) * left

    @cached_property
    def boilerplate(self) -> dict[str, float]:
        """What is left of the quality of each sentence that holds set phrases, by its words as quoted."""
        factors: dict[str, float] = {}
        for sentence in np.flatnonzero(self.templated).tolist():
            words = without_opening(self.text(sentence), self.language(sentence)).strip(QUOTES)
            factors[words] = max(0.0, 1 - SET_PHRASE * self._templated[sentence] / 100)
        return factors

    @cached_property
    def _templated(self) -> list[int]:
        return self.templated.tolist()


_KEPT = ("document", "start", "end", "speaker", "templated", "mention_starts", "mentions")
