"""Which sentences hold which names, in the form that the sentence-entity walk goes along (`query.walk`).

A passage is a chunk with the title of its document. Names under which an index keeps the arrays, over the
sentences of `sentences.*`:

- `walk.first`, `walk.last`: the sentences of each passage, as a range; chunks that overlap share some.
- `walk.names`: the hash (`mentions.hash_of`) of each name, ascending; a name's number is its place there.
- `walk.frequency`: in how many passages a name occurs. `walk.kinds`: how it may be found (`mentions.KNOWN`,
  `OPENING`).
- `walk.out_*` (`starts`, `names`, `weights`): the names of each sentence; the weights of a sentence sum to 1.
- `walk.in_*` (`starts`, `sentences`, `weights`): the sentences of each name.
- `walk_terms.*`: the postings of the sentences, each with the title of its document
  (`algorithms.bm25.Postings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.bm25 import postings
from conspectus.indexing.inverted_index import title_terms
from conspectus.indexing.passage_topics import TITLE, CasingStats, Names, aliases_of, find_topics
from conspectus.rows import Chunk, Document
from conspectus.text.mentions import find_known, find_mentions, hash_of, units
from conspectus.text.sentence_table import SentenceTable
from conspectus.text.vocabulary import Ints, Vocabulary, read_vocabulary

Arrays = dict[str, np.ndarray[Any, Any]]
Matrix = sparse.csr_array[Any, Any]

RARE = 0.4
"""A sentence leads to its names in proportion to their frequency to the power of -RARE."""
ALIAS = 0.2
"""How far an untitled passage's subject is taken for a longer or shorter name."""


def sentence_entity_graph(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    table: SentenceTable,
    texts: Sequence[str],
    vocabulary: Vocabulary | None = None,
) -> Arrays:
    """Return the arrays of the walk but for its terms.

    `texts` are the sentences of the table, and `vocabulary` is theirs where it has been read before.
    """
    first, last = passage_ranges(documents, chunks, table)
    vocabulary = vocabulary or read_vocabulary(texts, [documents[i].language for i in table.document.tolist()])
    usage = CasingStats.of(vocabulary)
    names = Names(usage)
    leads = find_topics(documents, chunks, (first, last), texts, vocabulary, names)
    mentions = _mentions(texts, vocabulary, names)
    shape = (len(chunks), len(names.keys))
    about, around = leads.matrix(shape), leads.with_inside(names).matrix(shape)
    holding = _holding(first, last, len(texts))
    frequency = np.maximum(((holding @ mentions + about) > 0).sum(axis=0), 1).astype(np.int32)
    outward = mentions.maximum(_ones((holding.T @ about).tocsr()))
    inward = mentions.maximum(_largest(holding, around))
    aliases = aliases_of(names, leads)
    if aliases.nnz:
        outward = outward.maximum(ALIAS * (outward @ aliases).minimum(1.0))
        inward = inward.maximum(ALIAS * (inward @ aliases).minimum(TITLE))
    hashes = np.array([hash_of(units(key)) for key in names.keys], np.uint64)
    order = np.argsort(hashes, kind="stable")
    outward, inward = outward[:, order].tocsr(), inward[:, order].T.tocsr()
    outward.data *= (frequency[order] ** -RARE).astype(np.float32)[outward.indices]
    outward.data /= np.repeat(np.asarray(outward.sum(axis=1)).ravel(), np.diff(outward.indptr))
    return {
        "walk.first": first,
        "walk.last": last,
        "walk.names": hashes[order],
        "walk.frequency": frequency[order],
        "walk.kinds": names.kinds()[order],
        **_stored("walk.out", "names", outward),
        **_stored("walk.in", "sentences", inward),
    }


def walk_terms(
    documents: Sequence[Document], table: SentenceTable, starts: Ints, ids: Ints, words: Mapping[str, int]
) -> Arrays:
    """Return the postings of the sentences with their titles.

    Sentence `i` holds terms `ids[starts[i]:starts[i + 1]]`, places in the vocabulary `words`; those of titles
    are in it.
    """
    titles = [[words[t] for t in title_terms(d)] for d in documents]
    sizes = np.array([len(title) for title in titles], np.int64)
    flat = np.array([t for title in titles for t in title], np.int32)
    of_sentence = sizes[table.document]
    shift = (np.cumsum(sizes) - sizes)[table.document] - (np.cumsum(of_sentence) - of_sentence)
    of_titles = flat[np.repeat(shift, of_sentence) + np.arange(of_sentence.sum())]
    every = np.concatenate((ids, of_titles))
    numbers = np.arange(len(table))
    owners = np.concatenate((np.repeat(numbers, np.diff(starts)), np.repeat(numbers, of_sentence)))
    return postings(every, owners, size=len(words), texts=len(table)).arrays("walk_terms")


def passage_ranges(documents: Sequence[Document], chunks: Sequence[Chunk], table: SentenceTable) -> tuple[Ints, Ints]:
    """Return for each chunk the first of the sentences that start in it, and the one after the last of
    them."""
    number = {d.id: i for i, d in enumerate(documents)}
    longest = max((len(d.text) for d in documents), default=0) + 1
    places = table.document.astype(np.int64) * longest + table.start
    of_chunk = np.array([number[c.document_id] for c in chunks], np.int64) * longest
    starts = of_chunk + np.array([c.start for c in chunks], np.int64)
    ends = of_chunk + np.array([c.end for c in chunks], np.int64)
    return np.searchsorted(places, starts).astype(np.int32), np.searchsorted(places, ends).astype(np.int32)


def _mentions(texts: Sequence[str], vocabulary: Vocabulary, names: Names) -> Matrix:
    """Return sentences by names, 1 where one mentions the other."""
    opening = vocabulary.proper[vocabulary.token_word]
    pairs = [(text, names.number(key)) for text, key in find_mentions(texts, vocabulary, opening)]
    rows, known = find_known(vocabulary, names.known)
    number = np.array([names.keys[key] for key in names.known], np.int64)
    met = np.array(pairs, np.int64).reshape(-1, 2)
    size = max(len(names.keys), 1)
    every = np.concatenate((met[:, 0] * size + met[:, 1], rows.astype(np.int64) * size + number[known]))
    code = np.unique(every)
    ones = np.ones(len(code), np.float32)
    return sparse.csr_array((ones, (code // size, code % size)), shape=(len(texts), len(names.keys)))


# Matrices


def _holding(first: Ints, last: Ints, sentences: int) -> Matrix:
    """Return passages by sentences, 1 where one holds the other."""
    sizes = (last - first).astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    inside = np.arange(int(starts[-1])) + np.repeat(first - starts[:-1], sizes)
    return sparse.csr_array((np.ones(len(inside), np.float32), inside, starts), shape=(len(first), sentences))


def _largest(holding: Matrix, leads: Matrix) -> Matrix:
    """Return sentences by names: what each sentence's passage is about, of several passages the most."""
    return (holding.T @ leads).minimum(float(leads.max()) if leads.nnz else 0.0).tocsr()


def _ones(matrix: Matrix) -> Matrix:
    matrix.data[:] = 1
    return matrix


def _stored(name: str, columns: str, matrix: Matrix) -> Arrays:
    matrix.sort_indices()
    return {
        f"{name}_starts": matrix.indptr.astype(np.int64),
        f"{name}_{columns}": matrix.indices.astype(np.int32),
        f"{name}_weights": matrix.data.astype(np.float32),
    }
