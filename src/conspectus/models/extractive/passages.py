"""The corpus as the extractive model reads it: sentences, what they mention, and how well they read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from conspectus.rows import Chunk, Document, Span
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.quality import quality, without_opening


class Passages:
    """A lexicon with the documents that it was read from."""

    def __init__(self, documents: Sequence[Document], lexicon: Lexicon) -> None:
        self.documents = documents
        self.lexicon = lexicon
        self._number = {document.id: i for i, document in enumerate(documents)}
        table = lexicon.sentences
        self._first = np.searchsorted(table.document, np.arange(len(documents) + 1))
        self.starts: list[int] = lexicon.starts.tolist()
        self.mentions: list[int] = lexicon.mentions.tolist()
        self._quality: dict[str, float] = {}

    @classmethod
    def of_chunk(cls, chunk: Chunk, entity_types: tuple[str, ...]) -> Passages:
        """Read a chunk alone, for where the corpus that it comes from is not known."""
        document = Document(chunk.document_id, 0, "", " " * chunk.start + chunk.text, "")
        return cls([document], read_lexicon([document], entity_types))

    def knows(self, chunk: Chunk) -> bool:
        """Tell whether a chunk is of a document that was read."""
        return chunk.document_id in self._number

    def within(self, chunk: Chunk) -> range:
        """Return the sentences that lie wholly within a chunk."""
        document = self._number[chunk.document_id]
        low, high = int(self._first[document]), int(self._first[document + 1])
        table = self.lexicon.sentences
        first = low + int(np.searchsorted(table.start[low:high], chunk.start))
        last = low + int(np.searchsorted(table.end[low:high], chunk.end, side="right"))
        return range(first, max(first, last))

    def mentioned(self, sentence: int) -> list[int]:
        """Return what a sentence mentions, as places in the lexicon's names."""
        return self.mentions[self.starts[sentence] : self.starts[sentence + 1]]

    def span(self, sentence: int) -> Span:
        """Return the characters of a sentence."""
        document, start, end = self._spans[sentence]
        return Span(self.documents[document].id, start, end)

    @cached_property
    def _spans(self) -> list[tuple[int, int, int]]:
        table = self.lexicon.sentences
        return list(zip(table.document.tolist(), table.start.tolist(), table.end.tolist(), strict=True))

    def follows(self, sentence: int) -> bool:
        """Tell whether a sentence follows closely on the one before it in the table."""
        if sentence == 0:
            return False
        document, start, _ = self._spans[sentence]
        before = self._spans[sentence - 1]
        return before[0] == document and start - before[2] < NEAR

    @cached_property
    def _speaker(self) -> list[int]:
        return self.lexicon.sentences.speaker.tolist()

    @cached_property
    def _speaker_names(self) -> list[int]:
        return self.lexicon.speaker_names.tolist()

    def speaker(self, sentence: int) -> int:
        """Return who says a sentence, as a place in the lexicon's names, -1 where nobody is known to."""
        place = self._speaker[sentence]
        return self._speaker_names[place] if place >= 0 else -1

    def quoted(self, sentence: int) -> str:
        """Return a sentence as it is quoted: its linking words left out, who says it before it."""
        text = without_opening(self.lexicon.texts[sentence])
        speaker = self.speaker(sentence)
        return f'{self.lexicon.names[speaker]}: "{text.strip(QUOTES)}"' if speaker >= 0 else text

    def quality(self, sentence: int) -> float:
        """Return how well a sentence reads alone, 0 to 1."""
        text = self.lexicon.texts[sentence]
        score = self._quality.get(text)
        if score is None:
            score = self._quality[text] = quality(text)
        return score


NEAR = 200
"""Characters between two sentences that are still neighbours."""
QUOTES = "\"“”"
