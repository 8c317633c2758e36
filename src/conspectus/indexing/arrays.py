"""The arrays of an index: which sentences and chunks hold which words, and which sentences mention which entities.

- `sentences.*` (`document`, `start`, `end`, `speaker`, `mention_starts`, `mentions`): speakers and
  mentions are numbers of entities.
- `sentence_terms.*`, `chunk_terms.*`: postings (`algorithms.ranking.Postings`); terms are places in `Index.words`.
- `walk_terms.*`: the postings of the sentences, each with the title of its document.
- `graph.*` (`edge_starts`, `edges`, `community_starts`, `communities`): the relationships of each entity, and the
  communities that hold it, the deepest first; `chunk_starts`, `chunks`: the chunks of each document; `edge_ranks`;
  `entity_digests`, `edge_digests`: by what instances each is described (`graph.Instances`), for the next update.
- `keys.*` (`hash`, `entity`; `part`, `part_entity`): what the names of an entity have in common with other spellings,
  and the words of its name, by hash, ascending (`mentions.entity_of_key`, `entities_with`).
- `ids.*`: the rows of a table by the hashes of what names them, ascending (`mentions.hash_of`).
- `walk.*`: which sentences hold which names, as the sentence-entity walk goes along them (`retrieval.walk`). A passage
  is a chunk with the title of its document.
  - `first`, `last`: the sentences of each passage, as a range; chunks that overlap share some.
  - `names`: the hash (`mentions.hash_of`) of each name, ascending; a name's number is its place there.
  - `frequency`: in how many passages a name occurs; `kinds`: how it may be found (`mentions.KNOWN`, `OPENING`).
  - `out_*` (`starts`, `names`, `weights`): the names of each sentence; the weights of a sentence sum to 1.
  - `in_*` (`starts`, `sentences`, `weights`): the sentences of each name.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conspectus.algorithms.ranking import postings, ranges
from conspectus.index import LISTED, Index, edge_ranks
from conspectus.indexing.graph import Names
from conspectus.lazy import lazy_module
from conspectus.rows import Chunk, Document
from conspectus.text.language import ENGLISH, gives_instructions
from conspectus.text.language_rules import rules_of
from conspectus.text.lexicon import Lexicon, Sentences
from conspectus.text.mentions import (
    DIGIT,
    KNOWN,
    OPENING,
    find_known,
    find_mentions,
    find_runs,
    hash_of,
    hashes_of_keys,
    lead_subjects,
    title_key,
    units,
    words_of_names,
)
from conspectus.text.sentence_table import SentenceTable, lines_at
from conspectus.text.vocabulary import Ints, Vocabulary, concatenated, numbers_of, unique_numbers
from conspectus.text.words import CJK, PAIRED, STOPWORDS, fold, name_key, terms, words_in
from conspectus.workers import Workers

if TYPE_CHECKING:
    from scipy import sparse

    Matrix = sparse.csr_array[Any, Any]
else:
    sparse = lazy_module("scipy.sparse")  # not needed where nothing changed

Arrays = dict[str, np.ndarray[Any, Any]]


def text_arrays(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    sentences: Sentences,
    without: Collection[str] = (),
) -> tuple[tuple[str, ...], Arrays]:
    """Return the words of a corpus with its postings and the walk, without the names whose keys are in `without`."""
    return arrays_of([(documents, chunks, sentences, map_chunk_terms(documents, chunks)())], without)


def arrays_of(
    read: list[tuple[Sequence[Document], Sequence[Chunk], Sentences, ChunkTerms]],
    without: Collection[str] = (),
) -> tuple[tuple[str, ...], Arrays]:
    """Do the same given what was read, which is taken out of a list: it goes before the largest arrays are made."""
    documents, chunks, sentences, chunk_terms = read.pop()
    walk = walk_arrays(documents, chunks, sentences, without)
    number, starts, ids = sentences.terms()
    document = sentences.table.document
    del sentences
    titles = [[number.setdefault(t, len(number)) for t in title_terms(d)] for d in documents]
    numbers = numbers_of(chunk_terms.words, number)
    of_chunks = numbers[chunk_terms.ids], chunk_terms.sizes
    del chunk_terms
    place = {document.id: i for i, document in enumerate(documents)}
    inside = np.array([place[chunk.document_id] for chunk in chunks], np.int32)
    del documents, chunks, place
    size = len(number)
    of_sentences = ids, np.diff(starts)
    titled = _spread(titles, inside)
    arrays = postings(*of_chunks, titled, size=size).arrays("chunk_terms")
    del of_chunks
    arrays |= postings(*of_sentences, size=size).arrays("sentence_terms")
    titled = _spread(titles, document)
    arrays |= postings(*of_sentences, titled, size=size).arrays("walk_terms")
    return tuple(number), {**arrays, **walk}


def sentences_to_send(sentences: Sentences) -> Sentences:
    """Return what arrays are made of in another process: of most sentences no text."""
    unspaced = {language: rules_of(language).unspaced for language in set(sentences.languages)}
    read = np.array([unspaced[language] for language in sentences.languages], bool)
    read[sentences.vocabulary.sentences_with(DIGIT)] = True
    read[sentences.which[np.diff(sentences.table.document, prepend=-1) > 0]] = True
    places = np.flatnonzero(read)
    texts = dict(zip(places.tolist(), lines_at(places, sentences.distinct), strict=True))
    return replace(sentences, distinct=[texts.get(place, "") for place in range(len(read))])


class _Numbered(dict[str, int]):
    """The number of the term of each English word as it is met, -1 for a word that is none."""

    def __init__(self, terms_known: dict[str, int]) -> None:
        super().__init__()
        self._terms = terms_known

    def __missing__(self, word: str) -> int:
        word_terms = terms(word)
        self[word] = number = self._terms.setdefault(word_terms[0], len(self._terms)) if word_terms else -1
        return number


@dataclass(frozen=True)
class ChunkTerms:
    """The search terms of some chunks: `sizes[i]` of `ids`, places in `words`, are those of the i-th one. Those whose
    numbers are in `instructing` give instructions to language models.
    """

    lines: str
    """The words, each on a line: those of many shards wait to be joined, and as texts they take eight times as much."""
    ids: Ints
    sizes: Ints
    instructing: Ints

    @property
    def words(self) -> list[str]:
        return self.lines.split("\n") if self.lines else []


def terms_in(texts: Sequence[str], languages: Sequence[str]) -> ChunkTerms:
    """Return the search terms of texts, numbered in order of appearance; `languages` are theirs."""
    number: dict[str, int] = {}
    numbered = _Numbered(number).__getitem__
    flat = array("i")
    ends: list[int] = []
    for text, language in zip(texts, languages, strict=True):
        if language == ENGLISH and not CJK.search(text) and not PAIRED.search(text):
            # a term for a word
            flat.extend(map(numbered, words_in(fold(text))))
        else:
            flat.extend(number.setdefault(t, len(number)) for t in terms(text, language))
        ends.append(len(flat))
    every = np.array(flat, np.int32)
    used = every >= 0
    sizes = np.diff(np.append(0, np.cumsum(used))[[0, *ends]])
    columns = every[used], sizes, np.flatnonzero([gives_instructions(text) for text in texts])
    return ChunkTerms("\n".join(number), *(c.astype(np.min_scalar_type(c.max(initial=0))) for c in columns))


def map_chunk_terms(
    documents: Sequence[Document], chunks: Sequence[Chunk], workers: Workers | None = None
) -> Callable[[], ChunkTerms]:
    """Begin to read the search terms of all chunks, and return what waits for them."""
    of = {document.id: document for document in documents}
    own = [of[chunk.document_id] for chunk in chunks]
    parts = (workers or Workers()).map_stored(
        terms_in,
        [len(chunk.text) for chunk in chunks],
        (f"{chunk.id} {d.omitted} {d.language}" for chunk, d in zip(chunks, own, strict=True)),
        lambda shard: ([chunks[i].text for i in shard], [own[i].language for i in shard]),
        lambda stored, shard: _checked(ChunkTerms(*stored), len(shard)),
        lambda part, _: (part.lines, part.ids, part.sizes, part.instructing),
    )
    return partial(_joined, parts)


def _joined(parts: Iterable[ChunkTerms]) -> ChunkTerms:
    """Return the terms of shards as those of one."""
    number: dict[str, int] = {}

    def columns() -> Iterator[Sequence[Ints]]:
        done = 0
        for part in parts:
            ids = numbers_of(part.words, number)[part.ids]
            yield ids, part.sizes, part.instructing + np.int32(done)
            done += len(part.sizes)

    joined = concatenated(columns(), "iii")
    return ChunkTerms("\n".join(number), *joined)


def _checked(stored: ChunkTerms, count: int) -> ChunkTerms:
    """Return stored terms of chunks; raise ValueError or another error where they are none."""
    numbers = (stored.ids, len(stored.words)), (stored.instructing, count)
    inside = all(not len(column) or 0 <= column.min() <= column.max() < n for column, n in numbers)
    sizes = stored.sizes
    if not (inside and len(sizes) == count and sizes.min() >= 0 and sizes.sum() == len(stored.ids)):
        raise ValueError("there are no such terms")
    return stored


def _spread(titles: Sequence[Sequence[int]], inside: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the terms of the titles of documents, and the first and last of the chunks or sentences in each document;
    `inside` is that of each of these, ascending.
    """
    flat = np.array([t for title in titles for t in title], np.int64)
    document = np.repeat(np.arange(len(titles)), list(map(len, titles)))
    first, last = (np.searchsorted(inside, document, side) for side in ("left", "right"))
    return flat, first, last


def title_terms(document: Document) -> list[str]:
    """Return the search terms of a title; what holds the words of a file name together separates them here."""
    return terms(document.title.replace("_", " ").replace("-", " "), document.language)


def sentence_arrays(
    documents: Sequence[Document], lexicon: Lexicon, entity: Mapping[str, int], names: Names
) -> Arrays:
    """Return the table of sentences, with mentions as numbers of entities, given by their keys; others are left out."""
    table = lexicon.sentences.table
    of_mention = np.repeat(table.document, np.diff(lexicon.starts))
    mentions = _resolved(lexicon.mentions, of_mention, documents, lexicon, names, entity)
    spoken = np.append(lexicon.speaker_names, -1)[table.speaker]
    speaker = _resolved(spoken, table.document, documents, lexicon, names, entity)
    keep = mentions >= 0
    sizes = np.bincount(np.repeat(np.arange(len(table)), np.diff(lexicon.starts))[keep], minlength=len(table))
    return {
        **{f"sentences.{name}": getattr(table, name) for name in ("document", "start", "end")},
        "sentences.speaker": speaker,
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
    code, place = np.unique(names_at.astype(np.int64) * len(documents) + document, return_inverse=True)
    codes: list[int] = code.tolist()
    resolved = [
        entity.get(names.key(lexicon.names[c // len(documents)], documents[c % len(documents)].id), -1)
        if c >= 0
        else -1
        for c in codes
    ]
    return np.array(resolved, np.int32)[place]


def graph_arrays(index: Index) -> Arrays:
    """Return what is looked up in the graph of an index, so that no question has to read all of it."""
    numbers = (index.number_of_document, index.number_of_chunk, index.entity_of_name)
    arrays: Arrays = {name: array for of in numbers for name, array in of.arrays.items()}
    for make in (*LISTED.values(), edge_ranks, hashes_of_keys, words_of_names):
        arrays |= make(index)
    return arrays


Runs = tuple[MutableSequence[int], list[tuple[str, ...]]]
"""The texts of runs (`mentions.find_runs`) and their keys: there are millions, and a tuple of each takes 100 bytes."""
RARE = 0.4
"""A sentence leads to its names in proportion to their frequency to the power of -RARE."""
ALIAS = 0.2
"""How far an untitled passage's subject is taken for a longer or shorter name."""


def walk_arrays(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    sentences: Sentences,
    without: Collection[str] = (),
) -> Arrays:
    """Return the arrays of the walk but for its terms, without the names whose keys are in `without`."""
    first, last = sentence_ranges(documents, chunks, sentences.table)
    names, vocabulary = NameNumbers(words := sentences.tokens), sentences.vocabulary
    runs: Runs = array("i"), []
    opening = words.mostly_capitalised[vocabulary.word]
    for text, keys in find_runs(vocabulary, opening[vocabulary.form]):
        runs[0].append(text)
        runs[1].append(keys)
    del words
    topics, main = _find_topics(documents, chunks, (first, last), sentences, runs, names)
    mentions = _mentions(sentences, runs, names)
    shape = (len(chunks), len(names.keys))
    about = _topic_matrix(topics, shape)
    around = _topic_matrix([*topics, *_topics_inside(main, names)], shape)
    holding = _holding(first, last, len(sentences.which))
    del runs  # and what follows is as large
    frequency = np.maximum(((holding @ mentions + about) > 0).sum(axis=0), 1).astype(np.int32)
    titles = (holding.T @ about).tocsr()
    titles.data[:] = 1
    outward = mentions.maximum(titles)
    largest = float(around.max()) if around.nnz else 0.0  # of several passages the most
    inward = mentions.maximum((holding.T @ around).minimum(largest).tocsr())
    del mentions, holding
    aliases = _aliases([topic for topic in main if topic.untitled], names)
    if aliases.nnz:
        outward = outward.maximum(ALIAS * (outward @ aliases).minimum(1.0))
        inward = inward.maximum(ALIAS * (inward @ aliases).minimum(TITLE))
    hashes = np.array([hash_of(units(key)) for key in names.keys], np.uint64)
    order = np.argsort(hashes, kind="stable")
    order = order[np.array([key not in without for key in names.keys], bool)[order]]
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


def sentence_ranges(
    documents: Sequence[Document], chunks: Sequence[Chunk], table: SentenceTable
) -> tuple[Ints, Ints]:
    """Return the sentences that start in each chunk, as a first and an end (not included).
    Offsets are counted through the corpus, as if each document had the length of the longest.
    """
    number = {d.id: i for i, d in enumerate(documents)}
    starts, ends = np.array([c.start for c in chunks], np.int64), np.array([c.end for c in chunks], np.int64)
    length = max(int(table.end.max(initial=0)), int(ends.max(initial=0))) + 1
    offsets = table.document.astype(np.int64) * length + table.start
    bases = np.array([number[c.document_id] for c in chunks], np.int64) * length
    first, last = np.searchsorted(offsets, bases + starts), np.searchsorted(offsets, bases + ends)
    return first.astype(np.int32), last.astype(np.int32)


def _mentions(sentences: Sentences, runs: Runs, names: NameNumbers) -> Matrix:
    """Return sentences by names, 1 where one mentions the other; `runs` are those of the distinct sentences."""
    dated = sentences.vocabulary.sentences_with(DIGIT)
    texts = zip(dated.tolist(), lines_at(dated, sentences.distinct), strict=True)
    named = find_mentions(texts, zip(*runs, strict=True))
    pairs = ((text, names.number(key)) for text, key in named)
    met = np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2)
    rows, known = find_known(sentences.vocabulary, names.sought)
    number = np.array([names.keys[key] for key in names.sought], np.int64)
    size = max(len(names.keys), 1)
    every = np.concatenate((met[:, 0] * size + met[:, 1], rows.astype(np.int64) * size + number[known]))
    code = unique_numbers(every)
    ones = np.ones(len(code), np.float32)
    shape = (len(sentences.distinct), len(names.keys))
    return sparse.csr_array((ones, (code // size, code % size)), shape=shape)[sentences.which]


# Matrices


def _holding(first: Ints, last: Ints, sentences: int) -> Matrix:
    """Return passages by sentences, 1 where one holds the other."""
    inside, sizes = ranges(first, last)
    starts = np.append(0, np.cumsum(sizes))
    return sparse.csr_array((np.ones(len(inside), np.float32), inside, starts), shape=(len(first), sentences))


def _stored(name: str, columns: str, matrix: Matrix) -> Arrays:
    matrix.sort_indices()
    return {
        f"{name}_starts": matrix.indptr.astype(np.int64),
        f"{name}_{columns}": matrix.indices.astype(np.int32),
        f"{name}_weights": matrix.data.astype(np.float32),
    }


TITLE = 30.0
"""How much more a name leads to sentences of the passage whose title it is than to one that mentions it."""
SUBJECT, SUBJECT_UNTITLED = 2.0, 15.0
"""The same for the subject of a passage's first sentence, where there is a title and where there is none."""
INSIDE, INSIDE_WORDS = 2.0, 4
"""The same for a name of so many words inside the title or subject, times its share of the words of that."""
MOST_ALIASES = 2
"""Names that an untitled subject may be a form of; where there are more, it is taken for none."""


class NameNumbers:
    """Numbers names in the order in which they are met."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Note how the corpus writes each word, by its key: how often in lower case, and whether as a name."""
        keys = [name_key(word) for word in vocabulary.words]
        self._lower: dict[str, int] = dict(zip(keys, vocabulary.lower.tolist(), strict=True))
        self._proper: dict[str, bool] = dict(zip(keys, vocabulary.mostly_capitalised.tolist(), strict=True))
        self.keys: dict[str, int] = {}
        self.sought: list[str] = []
        """Names that are looked for however they are written: what passages are about."""

    def number(self, key: str) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def seek(self) -> None:
        """Look for the names met so far, but for short ones and words that the corpus writes small."""
        lower = self._lower
        self.sought.extend(k for k in self.keys if len(units(k)) > 1 or (len(k) > 3 and not lower.get(k)))

    def may_open(self, key: str) -> bool:
        """Tell whether a name is one where nothing but its capital says so, and that opens its sentence."""
        return " " in key or self._proper.get(key, True)

    def kinds(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        kinds = np.array([OPENING * self.may_open(key) for key in self.keys], np.uint8)
        kinds[[self.keys[key] for key in self.sought]] |= KNOWN
        return kinds


Weighted = tuple[int, int, float]
"""A passage, a name, and how much more the name leads to the passage than a mention would."""


class MainTopic(NamedTuple):
    """The title of a passage, or the first subject of its opening, whose parts count too."""

    passage: int
    key: str
    name: int
    untitled: bool


def _find_topics(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    passages: tuple[Ints, Ints],
    sentences: Sentences,
    runs: Runs,
    names: NameNumbers,
) -> tuple[list[Weighted], list[MainTopic]]:
    """Return what each passage is about: the title of its document, and the subject of that document's opening; `runs`
    are those of the distinct sentences.
    """
    title_of = {d.id: title_key(d.title) for d in documents}
    topics: list[Weighted] = []
    main: list[MainTopic] = []
    openings = set(sentences.which[passages[0][passages[0] < passages[1]]].tolist())
    last_first = zip(*map(reversed, runs), strict=True)
    run_of = {text: [keys[0]] for text, keys in last_first if text in openings}
    opened: set[str] = set()
    for chunk, first, last in zip(chunks, passages[0].tolist(), passages[1].tolist(), strict=True):
        title = title_of[chunk.document_id]
        if title:
            topics.append((chunk.number, names.number(title), TITLE))
            main.append(MainTopic(chunk.number, title, names.number(title), False))
        if chunk.document_id in opened or first == last:
            continue
        opened.add(chunk.document_id)
        which = int(sentences.which[first])
        subjects = lead_subjects(sentences.distinct[which]) or run_of.get(which, [])
        weight = SUBJECT if title else SUBJECT_UNTITLED
        topics += [(chunk.number, names.number(key), weight) for key in subjects]
        main += [MainTopic(chunk.number, key, names.number(key), not title) for key in subjects[:1]]
    names.seek()
    return topics, main


def _topics_inside(main: Iterable[MainTopic], names: NameNumbers) -> Iterator[Weighted]:
    """Yield the names inside main topics, weaker the less of the words they are."""
    for passage, topic, _, _ in main:
        words = topic.split()
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + INSIDE_WORDS) + 1):
                key = " ".join(words[start:end])
                alone = end - start == 1 and (len(key) < 3 or key in STOPWORDS or not names.may_open(key))
                if key in names.keys and end - start < len(words) and not alone:
                    yield passage, names.keys[key], INSIDE * (end - start) / len(words)


def _topic_matrix(topics: Iterable[Weighted], shape: tuple[int, int]) -> Matrix:
    """Return passages by names; of several weights the largest holds."""
    weights: dict[tuple[int, int], float] = {}
    for passage, name, weight in topics:
        weights[passage, name] = max(weights.get((passage, name), 0.0), weight)
    pairs = np.array(list(weights), np.int64).reshape(-1, 2)
    values = np.array(list(weights.values()), np.float32)
    return sparse.csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=shape)


def _aliases(untitled: Iterable[MainTopic], names: NameNumbers) -> Matrix:
    """Return names by names, 1 / n where a name is one of n that an untitled subject may be a form of, both ways.

    One is a form of the other where it is its first or last words, two at least, or has the same first and last word.
    """
    forms: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for topic in untitled:
        words = tuple(topic.key.split())
        if len(words) < 2 or not words[0].isalpha():
            continue
        forms[words[0], "", words[-1]].add(topic.name)
        for size in range(2, len(words)):
            forms[words[:size]].add(topic.name)
            forms[words[-size:]].add(topic.name)
    rows: list[Weighted] = []
    for key, name in names.keys.items() if forms else ():
        words = tuple(key.split())
        if len(words) < 2 or words[0].isdigit():
            continue
        near = (forms.get((words[0], "", words[-1]), set()) | forms.get(words, set())) - {name}
        if len(near) <= MOST_ALIASES:
            rows += ((name, other, 1 / len(near)) for other in near)
    table = np.array(rows, np.float64).reshape(-1, 3)
    shape = (len(names.keys), len(names.keys))
    matrix = sparse.csr_array((table[:, 2].astype(np.float32), table[:, :2].astype(np.int64).T), shape=shape)
    return matrix.maximum(matrix.T.tocsr())
