"""Stage 2: from documents to chunks, overlapping windows of tokens (GraphRAG §3.1.1)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conspectus.rows import Chunk, Document, content_id
from conspectus.tokens import Encoding, encoding

if TYPE_CHECKING:
    from conspectus.settings import ChunkSettings

_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_SENTENCE_END = re.compile(
    rf"""[.!?…]["'”’»)\]]*(?=[\s{_WIDE}])"""
    r"""|[。！？]["'”’」』）]*"""
    r"""|\n[ \t]*(?=\n)"""
)


def chunk(documents: Iterable[Document], settings: ChunkSettings) -> list[Chunk]:
    """Cut all documents, in their order; see `chunk_document`."""
    chunks: list[Chunk] = []
    for document in documents:
        chunks += chunk_document(document, settings, len(chunks))
    return chunks


def chunk_document(document: Document, settings: ChunkSettings, first_number: int) -> list[Chunk]:
    """Cut a document into windows of `tokens` tokens that share `overlap` with the one before (GraphRAG §3.1.1).

    The chunks are in order and cover everything but white space. Where the edge of a window falls inside a
    character, it moves to the next edge of a token that does not. A tail that adds no more tokens than the
    overlap is part of the window before it, unless `strict`. With `mode="sentence"`, a window ends at the
    last end of a sentence in its second half, and the next one starts at the first sentence that starts in
    the overlap, where there are such.
    """
    text = document.text
    windows = (window for window in _windows(text, settings) if not text[slice(*window[:2])].isspace())
    return [
        Chunk(
            content_id(document.id, str(start), str(end)),
            number,
            document.id,
            start,
            end,
            text[start:end],
            n_tokens,
        )
        for number, (start, end, n_tokens) in enumerate(windows, start=first_number)
    ]


def _windows(text: str, settings: ChunkSettings) -> Iterator[tuple[int, int, int]]:
    """Yield the first character of each window, the one after its last, and the number of its tokens."""
    vocabulary = encoding()
    tail = settings.overlap  # a last chunk of no more tokens than the overlap would add nothing
    if (whole := vocabulary.count_up_to(text, settings.tokens + tail)) is not None:
        if whole:
            yield 0, len(text), whole
        return
    tape = _Tape(vocabulary, vocabulary.encode(text))
    sentences = [m.end() for m in _SENTENCE_END.finditer(text)] if settings.mode == "sentence" else []
    first, start = 0, 0  # the same place, in tokens and in characters
    while True:
        last = tape.edge(first + settings.tokens)
        if tape.length - last <= tail:
            last = tape.length
        elif sentences:
            last = _last_sentence_end(tape, first, last, start, sentences, settings)
        end = start + tape.characters(first, last)
        yield start, end, last - first
        if last == tape.length:
            return
        following = tape.edge(last - settings.overlap)
        if sentences:
            following = _first_sentence_start(tape, first, following, last, start, sentences)
        start += tape.characters(first, following)
        first = following


@dataclass(frozen=True, slots=True)
class _Tape:
    """The tokens of a text. Places are counted in tokens; an edge is one that is not inside a character."""

    vocabulary: Encoding
    ids: list[int]

    @property
    def length(self) -> int:
        return len(self.ids)

    def edge(self, at: int) -> int:
        """Return the first edge from a place on.

        What begins inside a character never decodes. What begins at one does, with the one to four tokens
        that spell it (more where tokens straddle characters, which is rare; such an edge may be passed over).
        """
        while at < len(self.ids):
            if any(self.vocabulary.decode(self.ids[at : at + n]) is not None for n in range(1, 9)):
                return at
            at += 1
        return len(self.ids)

    def characters(self, first: int, last: int) -> int:
        """Return how many characters there are between two edges."""
        text = self.vocabulary.decode(self.ids[first:last])
        assert text is not None, "both are edges"
        return len(text)

    def edge_after(self, characters: int, first: int, last: int) -> int:
        """Return the first edge up to `last` that has at least so many characters between `first` and it."""
        places = range(first, last + 1)
        return self.edge(
            places[bisect_left(places, characters, key=lambda at: self.characters(first, self.edge(at)))]
        )


def _last_sentence_end(
    tape: _Tape, first: int, last: int, start: int, sentences: Sequence[int], settings: ChunkSettings
) -> int:
    """Return the last end of a sentence in the second half of a window, or else the end of the window."""
    # past the overlap, so that the next window moves on
    least = tape.edge(first + max(settings.tokens // 2, settings.overlap) + 1)
    if least >= last:
        return last
    place = bisect_right(sentences, start + tape.characters(first, last)) - 1
    if place < 0 or sentences[place] < start + tape.characters(first, least):
        return last
    return tape.edge_after(sentences[place] - start, first, last)


def _first_sentence_start(
    tape: _Tape, first: int, following: int, last: int, start: int, sentences: Sequence[int]
) -> int:
    """Return where the first sentence starts between two edges, or the former where none does."""
    place = bisect_left(sentences, start + tape.characters(first, following))
    if place == len(sentences) or sentences[place] >= start + tape.characters(first, last):
        return following
    return tape.edge_after(sentences[place] - start, first, last)
