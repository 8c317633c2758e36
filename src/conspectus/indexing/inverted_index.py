"""Lexical arrays: which sentences and chunks hold which words, and which sentences mention which entities.

Names under which an index keeps them: `sentences.*` (`document`, `start`, `end`, `speaker`, `templated`,
`mention_starts`, `mentions`), `sentence_terms.*` and `chunk_terms.*` (see `algorithms.bm25.Postings`). Speakers and
mentions are numbers of entities; terms are places in the index's `words`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.bm25 import postings
from conspectus.indexing.merge import Merged
from conspectus.indexing.resolve import Names
from conspectus.rows import Chunk, Document
from conspectus.text.language import ENGLISH
from conspectus.text.lexicon import Lexicon
from conspectus.text.words import CJK, PAIRED, fold, terms, words_in

Arrays = dict[str, np.ndarray[Any, Any]]


def inverted_indexes(
    documents: Sequence[Document], chunks: Sequence[Chunk], lexicon: Lexicon, merged: Merged, names: Names
) -> tuple[tuple[str, ...], Arrays]:
    """Return the vocabulary of the corpus, and the arrays over it."""
    number = {term: i for i, term in enumerate(lexicon.terms)}
    by_chunk = chunk_terms(documents, chunks, number)
    sentences = len(lexicon.texts)
    owners = np.repeat(np.arange(sentences), np.diff(lexicon.term_starts))
    by_sentence = postings(lexicon.term_ids, owners, size=len(number), texts=sentences)
    in_chunks = postings(*by_chunk, size=len(number), texts=len(chunks))
    return tuple(number), {
        **_sentences(documents, lexicon, merged, names),
        **by_sentence.arrays("sentence_terms"),
        **in_chunks.arrays("chunk_terms"),
    }


class _Numbered(dict[str, int]):
    """The number of the term of each English word as it is met, -1 for a word that is none."""

    def __init__(self, terms_known: dict[str, int]) -> None:
        super().__init__()
        self._terms = terms_known

    def __missing__(self, word: str) -> int:
        word_terms = terms(word)
        self[word] = number = self._terms.setdefault(word_terms[0], len(self._terms)) if word_terms else -1
        return number


def chunk_terms(
    documents: Sequence[Document], chunks: Sequence[Chunk], number: dict[str, int]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the terms of the chunks and of the titles of their documents, and the chunk of each.

    New terms are added to the vocabulary.
    """
    language_of = {d.id: d.language for d in documents}
    numbered = _Numbered(number).__getitem__
    titles = {d.id: [number.setdefault(t, len(number)) for t in title_terms(d)] for d in documents}
    flat: list[int] = []
    ends: list[int] = []
    for chunk in chunks:
        flat += titles[chunk.document_id]
        language = language_of[chunk.document_id]
        if (
            language == ENGLISH and not CJK.search(chunk.text) and not PAIRED.search(chunk.text)
        ):  # a term for a word
            flat += map(numbered, words_in(fold(chunk.text)))
        else:
            flat += [number.setdefault(t, len(number)) for t in terms(chunk.text, language)]
        ends.append(len(flat))
    every = np.array(flat, np.int32)
    owners = np.repeat(np.arange(len(chunks)), np.diff([0, *ends]))
    return every[every >= 0], owners[every >= 0]


def title_terms(document: Document) -> list[str]:
    """Return the search terms of a title; what holds the words of a file name together separates them here."""
    return terms(document.title.replace("_", " ").replace("-", " "), document.language)


def _sentences(documents: Sequence[Document], lexicon: Lexicon, merged: Merged, names: Names) -> Arrays:
    """Return the table of sentences, with mentions as numbers of entities; what is no entity is left out."""
    entity = {element.key[0]: i for i, element in enumerate(merged.entity_elements)}
    table = lexicon.sentences
    of_mention = np.repeat(table.document, np.diff(lexicon.starts))
    mentions = _resolved(lexicon.mentions, of_mention, documents, lexicon, names, entity)
    spoken = np.append(lexicon.speaker_names, -1)[table.speaker]
    speaker = _resolved(spoken, table.document, documents, lexicon, names, entity)
    keep = mentions >= 0
    sizes = np.bincount(np.repeat(np.arange(len(table)), np.diff(lexicon.starts))[keep], minlength=len(table))
    return {
        "sentences.document": table.document,
        "sentences.start": table.start,
        "sentences.end": table.end,
        "sentences.speaker": speaker,
        "sentences.templated": lexicon.templated,
        "sentences.mention_starts": np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
        "sentences.mentions": mentions[keep],
    }


def _resolved(
    names_at: np.ndarray[Any, Any],
    document: np.ndarray[Any, Any],
    documents: Sequence[Document],
    lexicon: Lexicon,
    names: Names,
    entity: Mapping[str, int],
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the entity that each of the lexicon's names stands for in its document, -1 for none."""
    if not len(names_at):
        return np.zeros(0, np.int32)
    code, place = np.unique(names_at.astype(np.int64) * len(documents) + document, return_inverse=True)
    codes: list[int] = code.tolist()
    resolved = [
        entity.get(names.key(lexicon.names[c // len(documents)], documents[c % len(documents)].id), -1)
        if c >= 0
        else -1
        for c in codes
    ]
    return np.array(resolved, np.int32)[place]
