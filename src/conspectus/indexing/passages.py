"""An index of passages as they are: each document one chunk, and only what ranking needs.

No graph, no communities, no reports: nothing is asked of a model, and 6,119 passages of 2.7 MB take 3.5 s
CPU, ten times as many 57.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conspectus import tokens
from conspectus.algorithms.bm25 import postings
from conspectus.index import Index
from conspectus.indexing.inverted_index import chunk_terms
from conspectus.indexing.sentence_graph import sentence_entity_graph, walk_terms
from conspectus.rows import Chunk, Document, content_id
from conspectus.settings import Settings
from conspectus.text.language import in_languages, languages_in
from conspectus.text.sentence_table import SentenceTable, find_sentences
from conspectus.text.sentence_terms import sentence_terms
from conspectus.text.vocabulary import read_vocabulary


def index_passages(documents: Sequence[Document], settings: Settings) -> Index:
    """Return the index of documents, each one chunk, over which every ranking works that needs no
    entities."""
    documents = in_languages(documents, settings.language)
    chunks = [_whole(document) for document in documents]
    table, texts = find_sentences(documents)
    languages = [documents[i].language for i in table.document.tolist()]
    vocabulary = read_vocabulary(texts, languages)
    number: dict[str, int] = {}
    starts, ids = sentence_terms(texts, languages, vocabulary, number)
    by_chunk = chunk_terms(documents, chunks, number)
    owners = np.repeat(np.arange(len(texts)), np.diff(starts))
    arrays = {
        **_sentences(table),
        **postings(ids, owners, size=len(number), texts=len(texts)).arrays("sentence_terms"),
        **postings(*by_chunk, size=len(number), texts=len(chunks)).arrays("chunk_terms"),
        **walk_terms(documents, table, starts, ids, number),
        **sentence_entity_graph(documents, chunks, table, texts, vocabulary),
    }
    recorded = {
        **settings.model_dump(mode="json", by_alias=True),
        "language": ",".join(languages_in(documents, settings.language)),
    }
    return Index(documents=documents, chunks=chunks, words=tuple(number), arrays=arrays, settings=recorded)


def _whole(document: Document) -> Chunk:
    end = len(document.text)
    id_ = content_id(document.id, "0", str(end))
    return Chunk(id_, document.number, document.id, 0, end, document.text, tokens.count(document.text))


def _sentences(table: SentenceTable) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "sentences.document": table.document,
        "sentences.start": table.start,
        "sentences.end": table.end,
        "sentences.speaker": np.full(len(table), -1, np.int32),
        "sentences.templated": np.zeros(len(table), np.int32),
        "sentences.mention_starts": np.zeros(len(table) + 1, np.int32),
        "sentences.mentions": np.zeros(0, np.int32),
    }
