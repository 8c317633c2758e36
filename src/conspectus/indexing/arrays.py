"""The arrays of an index: words of sentences and chunks, entities of sentences, and the sentence–entity graph.

- `sentences.*` (`document`, `start`, `end`, `speaker`, `mention_starts`, `mentions`): the table of sentences; speakers
  and mentions are numbers of entities.
- `sentence_terms.*`, `chunk_terms.*`: inverted indexes (`algorithms.ranking.Postings`); terms index `Index.words`.
- `walk_terms.*`: the inverted index of the sentences, each with the title of its document.
- `graph.*` (`edge_starts`, `edges`, `community_starts`, `communities`): the relationships and communities of each
  entity, the deepest community first; `chunk_starts`, `chunks`: the chunks of each document; `edge_ranks`: ranks of
  relationships by weight; `speakers`: the entities that are speakers; `entity_digests`, `edge_digests`: digests of the
  instances that descriptions are based on (`graph.Instances`), for the next update.
- `keys.*` (`hash`, `entity`; `part`, `part_entity`): the keys of an entity's names and the words of its names, by hash,
  ascending (`name_lookup.entity_of_key`, `entities_with`).
- `ids.*`: the rows of a table by the hashes of their ids, names or words, ascending (`mentions.hash_of`).
- `walk.*`: the sentence–entity graph (`retrieval.walk`), between sentences and names. A passage is a chunk with the
  title of its document.
  - `first`, `last`: the sentences of each passage, as a range; overlapping chunks share some.
  - `names`: the hash (`mentions.hash_of`) of each name, ascending; a name's number is its index in this array.
  - `frequency`: the number of passages with a name; `kinds`: how it can be recognised (`mentions.KNOWN`, `OPENING`).
  - `out_*` (`starts`, `names`, `weights`): the names of each sentence; the weights of a sentence sum to 1.
  - `in_*` (`starts`, `sentences`, `weights`): the sentences of each name.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from conspectus.algorithms.ranking import Floats, postings, ranges
from conspectus.algorithms.statistics import Ints, concatenated, numbers_of, repeated, unique_numbers
from conspectus.index import LISTED, Arrays, Index, edge_ranks
from conspectus.indexing.graph import Names
from conspectus.name_lookup import hashes_of_keys, words_of_names
from conspectus.rows import Chunk, Document, content_id
from conspectus.text.language import ENGLISH, gives_instructions
from conspectus.text.language_rules import rules_of
from conspectus.text.lexicon import Lexicon, Sentences
from conspectus.text.mentions import (
    KNOWN,
    OPENING,
    find_known,
    find_runs,
    hash_of,
    lead_subjects,
    title_key,
    units,
)
from conspectus.text.sentence_table import (
    RawSentences,
    SentenceTable,
    lines_at,
    sentences_in,
    speakers_in,
)
from conspectus.text.vocabulary import TokenRows, Vocabulary
from conspectus.text.words import CJK, PAIRED, STOPWORDS, fold, is_content, name_key, stem, terms, words_in
from conspectus.workers import Workers


def text_arrays(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    sentences: Sentences,
    without: Collection[str] = (),
) -> tuple[tuple[str, ...], Arrays]:
    """Return the words of a corpus, its inverted indexes and `walk.*`; names with keys in `without` are left out."""
    terms = map_chunk_terms(documents, chunks, Workers())()
    return arrays_of([(documents, chunks, sentences, terms)], without)


def arrays_of(
    read: list[tuple[Sequence[Document], Sequence[Chunk], Sentences, ChunkTerms]],
    without: Collection[str] = (),
) -> tuple[tuple[str, ...], Arrays]:
    """Return the same as `text_arrays`; the input is removed from a list to free memory before the largest arrays."""
    documents, chunks, sentences, chunk_terms = read.pop()
    walk = walk_arrays(documents, chunks, sentences, without)
    number, starts, ids = sentences.terms()
    document = sentences.table.document
    del sentences
    titles = [[number.setdefault(t, len(number)) for t in title_terms(d)] for d in documents]
    numbers = numbers_of(chunk_terms.words, number)
    of_chunks = numbers[chunk_terms.ids], chunk_terms.sizes
    del chunk_terms
    rank = {document.id: i for i, document in enumerate(documents)}
    inside = np.array([rank[chunk.document_id] for chunk in chunks], np.int32)
    del documents, chunks, rank
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
    """Return what another process needs of the sentences for the arrays: most of them without their texts."""
    unspaced = {language: rules_of(language).unspaced for language in set(sentences.languages)}
    read = np.array([unspaced[language] for language in sentences.languages], bool)
    read[sentences.which[np.diff(sentences.table.document, prepend=-1) > 0]] = True
    rows = np.flatnonzero(read)
    texts = dict(zip(rows.tolist(), lines_at(rows, sentences.distinct), strict=True))
    return replace(sentences, distinct=[texts.get(row, "") for row in range(len(read))])


@dataclass(frozen=True)
class ChunkTerms:
    """The search terms of chunks: the i-th chunk has the next `sizes[i]` of `ids`, which are indices of `words`.
    The chunks whose numbers are in `instructing` contain instructions to language models.
    """

    lines: str
    """The words, one per line: shards wait in memory to be joined, and separate strings take eight times the space."""
    ids: Ints
    sizes: Ints
    instructing: Ints

    @property
    def words(self) -> list[str]:
        return self.lines.split("\n") if self.lines else []


def terms_in(chunks: Sequence[Chunk], languages: Sequence[str]) -> ChunkTerms:
    """Return the search terms of chunks, numbered in order of appearance; `languages` are those of the chunks."""
    texts = [chunk.text for chunk in chunks]
    number: dict[str, int] = {}
    flat = array("i")
    ends: list[int] = []

    @cache
    def of_english(word: str) -> int:
        """Return the number of the term of a word, -1 if it has none."""
        return number.setdefault(stem(word), len(number)) if is_content(word) else -1

    for text, language in zip(texts, languages, strict=True):
        if language == ENGLISH and not CJK.search(text) and not PAIRED.search(text):
            flat.extend(map(of_english, words_in(fold(text))))
        else:
            flat.extend(number.setdefault(t, len(number)) for t in terms(text, language))
        ends.append(len(flat))
    every = np.array(flat, np.int32)
    used = every >= 0
    sizes = np.diff(np.append(0, np.cumsum(used))[[0, *ends]])
    columns = every[used], sizes, np.flatnonzero([*map(gives_instructions, texts)])
    return ChunkTerms("\n".join(number), *(c.astype(np.min_scalar_type(c.max(initial=0))) for c in columns))


def map_sentences(documents: Sequence[Document], workers: Workers | None = None) -> Iterator[RawSentences]:
    """Start reading the sentences of documents; yield them shard by shard."""
    workers, sizes = workers or Workers(), [len(document.text) for document in documents]
    keys = [f"{d.id} {d.omitted} {d.language} {d.path}" for d in documents]
    speakers = workers.map_stored(
        speakers_in,
        sizes,
        keys,
        lambda shard: ([documents[i] for i in shard],),
        lambda stored, _: list(map(str, stored)),
    )
    labels = set(chain.from_iterable(speakers))
    digest = content_id(*sorted(labels)) if labels else ""
    return workers.map_stored(
        sentences_in,
        sizes,
        (key + digest for key in keys),
        lambda shard: (shard, [documents[i] for i in shard], labels),
        lambda stored, shard: _loaded_sentences(stored, shard, [documents[i] for i in shard]),
        _stored_sentences,
    )


def _stored_sentences(raw: RawSentences, shard: range) -> dict[str, Any]:
    """Return the sentences of a shard as integers of few bytes, without what the documents themselves contain."""
    table, tokens = raw.table, raw.tokens
    spans = table.document - shard.start, table.start, table.end, table.speaker + 1
    columns = *spans, tokens.form, tokens.sizes, tokens.rows
    small = [column.astype(np.min_scalar_type(column.max(initial=0))) for column in columns]
    texts = {"names": ("", *table.speakers), "forms": tokens.forms}
    return {"columns": small, "text": raw.text, **texts}


def _loaded_sentences(stored: Mapping[str, Any], shard: range, documents: Sequence[Document]) -> RawSentences:
    """Return the stored sentences of a shard; raise ValueError if the data is invalid."""
    columns: list[Ints] = [column.astype(np.int32) for column in stored["columns"]]
    document, start, end, speaker, form, sizes, rows = columns
    names, forms = list(map(str, stored["names"])), list(map(str, stored["forms"]))
    ends = (document, len(documents)), (speaker, len(names)), (form, len(forms)), (rows, len(sizes))
    inside = all(not len(column) or 0 <= column.min() <= column.max() < n for column, n in ends)
    if not (inside and all(forms) and sizes.min(initial=0) >= 0 and sizes.sum() == len(form)):
        raise ValueError("there are no such tokens")
    length = np.array([len(document.text) for document in documents])[document]
    if (np.diff(document) < 0).any() or not ((start >= 0) & (start < end) & (end <= length)).all():
        raise ValueError("a sentence is not in its document")
    text: Ints = stored["text"].astype(np.int64)
    if [len(document), len(speaker), len(text)] != [len(rows)] * 3:
        raise ValueError("there are no such sentences")
    speaker = np.array([i if name else -1 for i, name in enumerate(names)], np.int32)[speaker]
    table = SentenceTable(document, start, end, speaker, tuple(names))
    tokens = TokenRows(forms, form, sizes, rows)
    return RawSentences(replace(table, document=document + shard.start), text, tokens)


def map_chunk_terms(
    documents: Sequence[Document], chunks: Sequence[Chunk], workers: Workers
) -> Callable[[], ChunkTerms]:
    """Start to extract the search terms of all chunks, and return a function that waits for them."""
    of = {document.id: document for document in documents}
    own = [of[chunk.document_id] for chunk in chunks]
    marks = {id_: content_id(str(document.omitted), document.language) for id_, document in of.items()}
    parts = workers.map_stored(
        terms_in,
        [chunk.end - chunk.start for chunk in chunks],
        (f"{chunk.id} {marks[chunk.document_id]}" for chunk in chunks),
        lambda shard: (chunks[shard.start : shard.stop], [own[i].language for i in shard]),
        lambda stored, shard: _checked(ChunkTerms(*stored), len(shard)),
        lambda part, _: (part.lines, part.ids, part.sizes, part.instructing),
    )
    return partial(_joined, parts)


def _joined(parts: Iterable[ChunkTerms]) -> ChunkTerms:
    """Combine the terms of shards."""
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
    """Return stored terms of chunks; raise ValueError or another exception if they are invalid."""
    numbers = (stored.ids, len(stored.words)), (stored.instructing, count)
    inside = all(not len(column) or 0 <= column.min() <= column.max() < n for column, n in numbers)
    sizes = stored.sizes
    if not (inside and len(sizes) == count and sizes.min() >= 0 and sizes.sum() == len(stored.ids)):
        raise ValueError("there are no such terms")
    return stored


def _spread(titles: Sequence[Sequence[int]], inside: Ints) -> tuple[Ints, Ints, Ints]:
    """Return three arrays with a value per term of a title: the term, and the first and last (exclusive) chunk or
    sentence of its document. `inside` is the document of each chunk or sentence, ascending.
    """
    flat = np.array([t for title in titles for t in title], np.int64)
    document = np.repeat(np.arange(len(titles)), list(map(len, titles)))
    first, last = (np.searchsorted(inside, document, side) for side in ("left", "right"))
    return flat, first, last


def title_terms(document: Document) -> list[str]:
    """Return the search terms of a title; underscores and hyphens, as in file names, separate words."""
    return terms(document.title.replace("_", " ").replace("-", " "), document.language)


def sentence_arrays(
    documents: Sequence[Document], lexicon: Lexicon, entity: Mapping[str, int], names: Names
) -> Arrays:
    """Return the table of sentences; mentions and speakers that are entities become numbers, by key from `entity`."""
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
        "graph.speakers": np.unique(speaker),
        "sentences.mention_starts": np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
        "sentences.mentions": mentions[keep],
    }


def _resolved(
    names_at: Ints,
    document: Ints,
    documents: Sequence[Document],
    lexicon: Lexicon,
    names: Names,
    entity: Mapping[str, int],
) -> Ints:
    """Return the entity that each of some names (numbers in the lexicon) stands for in its document, -1 for none."""
    code, pair = np.unique(names_at.astype(np.int64) * len(documents) + document, return_inverse=True)
    codes: list[int] = code.tolist()
    resolved = [
        entity.get(names.key(lexicon.names[c // len(documents)], documents[c % len(documents)].id), -1)
        if c >= 0
        else -1
        for c in codes
    ]
    return np.array(resolved, np.int32)[pair]


def graph_arrays(index: Index) -> Arrays:
    """Return the lookup arrays of the graph of an index, so that questions need not read whole tables."""
    numbers = (index.number_of_document, index.number_of_chunk, index.entity_of_name)
    arrays: Arrays = {name: array for of in numbers for name, array in of.arrays.items()}
    for make in (*LISTED.values(), edge_ranks, hashes_of_keys, words_of_names):
        arrays |= make(index)
    return arrays


Runs = tuple[MutableSequence[int], list[tuple[str, ...]]]
"""The sentences of runs (`mentions.find_runs`) and their keys; as tuples, each of the millions would take 100 bytes."""
RARE = 0.4
"""Weights from a sentence to its names are proportional to the frequency of the names to the power of -RARE."""
ALIAS = 0.2
"""The share of a name's weights that it lends to its aliases: longer or shorter forms of an untitled topic."""


def walk_arrays(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    sentences: Sentences,
    without: Collection[str] = (),
) -> Arrays:
    """Return the arrays `walk.*` of the sentence–entity graph; names with keys in `without` are left out."""
    passages = sentence_ranges(documents, chunks, sentences.table)
    names, vocabulary = NameNumbers(words := sentences.tokens), sentences.vocabulary
    runs: Runs = array("i"), []
    opening = words.mostly_capitalised[vocabulary.word]
    for text, keys in find_runs(vocabulary, opening[vocabulary.form]):
        runs[0].append(text)
        runs[1].append(keys)
    del words
    topics = _find_topics(documents, chunks, passages, sentences, runs, names)
    met = _mentions(sentences, runs, names)
    del runs  # the following data is as large
    count = max(len(names.keys), 1)
    near = _of_pairs([*topics, *_topics_inside(topics, names)], count)
    frequency, outward, inward = _paths(passages, met, near, count)
    aliases = _of_pairs(_aliases(topics, names), count)
    if len(aliases[0]):
        outward, inward = _lent(outward, aliases, count), _lent(inward, aliases, count)
    hashes = np.array([hash_of(units(key)) for key in names.keys], np.uint64)
    order = np.argsort(hashes, kind="stable")
    order = order[np.array([key not in without for key in names.keys], bool)[order]]
    codes, weights = inward[0], np.zeros_like(inward[1])  # 0 for pairs that only lead from name to sentence
    weights[np.searchsorted(codes, outward[0])] = outward[1]
    row, name, out = _table((codes, weights), order, count)
    back = _table(inward, order, count)[2]
    out *= (frequency[order] ** -RARE)[name]
    out /= np.maximum(np.bincount(row, out), 1e-9)[row]
    by_name = np.argsort(name, kind="stable")
    return {
        "walk.first": passages[0],
        "walk.last": passages[1],
        "walk.names": hashes[order],
        "walk.frequency": frequency[order],
        "walk.kinds": names.kinds()[order],
        "walk.out_starts": np.searchsorted(row, np.arange(len(sentences.which) + 1)),
        "walk.out_names": name,
        "walk.out_weights": out,
        "walk.back_weights": back,
        "walk.in_starts": np.searchsorted(name[by_name], np.arange(len(order) + 1)),
        "walk.in_sentences": row[by_name],
        "walk.in_weights": back[by_name],
    }


def sentence_ranges(
    documents: Sequence[Document], chunks: Sequence[Chunk], table: SentenceTable
) -> tuple[Ints, Ints]:
    """Return the first and last (exclusive) of the sentences that start in each chunk.
    Offsets are counted through the whole corpus, as if each document had the length of the longest.
    """
    number = {d.id: i for i, d in enumerate(documents)}
    starts, ends = np.array([c.start for c in chunks], np.int64), np.array([c.end for c in chunks], np.int64)
    length = max(int(table.end.max(initial=0)), int(ends.max(initial=0))) + 1
    offsets = table.document.astype(np.int64) * length + table.start
    bases = np.array([number[c.document_id] for c in chunks], np.int64) * length
    first, last = np.searchsorted(offsets, bases + starts), np.searchsorted(offsets, bases + ends)
    return first.astype(np.int32), last.astype(np.int32)


def _mentions(sentences: Sentences, runs: Runs, names: NameNumbers) -> Ints:
    """Return the codes `sentence * names + name` of mentions, ascending; `runs` are those of the distinct sentences."""
    pairs = ((text, names.number(key)) for text, keys in zip(*runs, strict=True) for key in keys)
    met = np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2)
    rows, known = find_known(sentences.vocabulary, names.sought)
    number = np.array([names.keys[key] for key in names.sought], np.int64)
    size = max(len(names.keys), 1)
    every = np.concatenate((met[:, 0] * size + met[:, 1], rows.astype(np.int64) * size + number[known]))
    row, name = np.divmod(unique_numbers(every), size)
    sizes = np.bincount(row, minlength=len(sentences.distinct))
    starts, name = repeated(sentences.which, sizes, name)
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + name


# Edges between sentences and names

Weights = tuple[Ints, Floats]
"""Ascending codes `row * names + name` of pairs of a row (passage or sentence) and a name, and the weight of each."""


def _weights(codes: Ints, weights: Floats) -> Weights:
    """Return the largest weight of each pair; the input is in any order."""
    order = np.lexsort((weights, codes))
    order = order[np.diff(codes[order], append=-1) != 0]
    return codes[order], weights[order]


def _of_pairs(topics: Iterable[Topic], names: int) -> Weights:
    rows = [(row * names + name, weight) for row, name, weight, _ in topics]
    codes, weights = np.array(rows, np.float64).reshape(-1, 2).T
    codes = codes.astype(np.int64)
    return _weights(codes, weights.astype(np.float32))


def _paths(
    passages: tuple[Ints, Ints], met: Ints, topics: Weights, names: int
) -> tuple[Ints, Weights, Weights]:
    """Return the number of passages with each name, and the weights from sentences to names and back; `met` are the
    codes of mentions in sentences, ascending, and `topics` the weights of topics of passages.
    """
    (first, last), (codes, weights) = passages, topics
    at, sizes = ranges(*(np.searchsorted(met, end.astype(np.int64) * names) for end in passages))
    named = np.repeat(np.arange(len(first)), sizes) * names + met[at] % names
    named = unique_numbers(np.append(named, codes[weights >= SUBJECT])) % names
    frequency = np.maximum(np.bincount(named, minlength=names), 1).astype(np.int32)
    row, name = np.divmod(codes, names)
    at, sizes = ranges(first[row], last[row])
    codes = at * names + np.repeat(name, sizes)
    near = np.repeat(weights, sizes)
    outward = unique_numbers(np.append(met, codes[near >= SUBJECT]))
    ones = np.ones(len(outward), np.float32)
    inward = _weights(np.append(met, codes), np.append(ones[: len(met)], near))
    return frequency, (outward, ones), inward


def _lent(weights: Weights, aliases: Weights, names: int) -> Weights:
    """Add a share of the weights of names to their aliases."""
    (codes, values), (of, shares) = weights, aliases
    name = codes % names
    at, sizes = ranges(*np.searchsorted(of, (name * names, (name + 1) * names)))
    lent = np.repeat(codes - name, sizes) + of[at] % names
    parts = ALIAS * np.repeat(values, sizes) * shares[at]
    return _weights(np.append(codes, lent), np.append(values, parts))


def _table(weights: Weights, order: Ints, names: int) -> tuple[Ints, Ints, Floats]:
    """Return the row, name and weight of each pair whose name is in `order`; names are renumbered by that order."""
    row, name = np.divmod(weights[0], names)
    rank = np.full(names, -1, np.int32)
    rank[order] = np.arange(len(order))
    name = rank[name]
    rows = np.lexsort((name, row))
    rows = rows[name[rows] >= 0]
    return row[rows].astype(np.int32), name[rows], weights[1][rows]


TITLE = 30.0
"""Weight from a name to the sentences of a passage of which it is the title; the weight to a mention is 1."""
SUBJECT, SUBJECT_UNTITLED = 2.0, 15.0
"""The same for the subject of a document's first sentence, if the document has a title and if it has none."""
INSIDE, INSIDE_WORDS = SUBJECT, 4
"""The same for a name inside the title or subject, times its share of the words; and its maximum number of words."""
MOST_ALIASES = 2
"""Maximum number of names that an untitled subject may be a form of; if there are more, it is a form of none."""


class NameNumbers:
    """Numbers names in the order of their first occurrence."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Read for each word, by its key, how often it is in lower case, and whether it is mostly capitalised."""
        keys = [name_key(word) for word in vocabulary.words]
        self._lower: dict[str, int] = dict(zip(keys, vocabulary.lower.tolist(), strict=True))
        self._proper: dict[str, bool] = dict(zip(keys, vocabulary.mostly_capitalised.tolist(), strict=True))
        self.keys: dict[str, int] = {}
        self.sought: list[str] = []
        """The topics of passages, which are recognised in sentences regardless of case."""

    def number(self, key: str) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def seek(self) -> None:
        """Add the names so far to `sought`, except short ones and words that the corpus writes in lower case."""
        lower = self._lower
        self.sought.extend(k for k in self.keys if len(units(k)) > 1 or (len(k) > 3 and not lower.get(k)))

    def may_open(self, key: str) -> bool:
        """Return whether a name can be recognised at the start of a sentence, where any word is capitalised."""
        return " " in key or self._proper.get(key, True)

    def kinds(self) -> Ints:
        kinds = np.array([OPENING * self.may_open(key) for key in self.keys], np.uint8)
        kinds[[self.keys[key] for key in self.sought]] |= KNOWN
        return kinds


class Topic(NamedTuple):
    """A name that a passage is about, and its weight relative to a mention."""

    row: int
    name: int
    weight: float
    key: str = ""
    """The name, if it is a title or the first subject of an opening, so that names inside it count too; else ""."""


def _find_topics(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    passages: tuple[Ints, Ints],
    sentences: Sentences,
    runs: Runs,
    names: NameNumbers,
) -> list[Topic]:
    """Return the topics of passages: the title of the document and, in its first passage, the subjects of the first
    sentence. `runs` are those of the distinct sentences.
    """
    title_of = {d.id: title_key(d.title) for d in documents}
    topics: list[Topic] = []
    openings = set(sentences.which[passages[0][passages[0] < passages[1]]].tolist())
    last_first = zip(*map(reversed, runs), strict=True)
    run_of = {text: [keys[0]] for text, keys in last_first if text in openings}
    opened: set[str] = set()
    for chunk, first, last in zip(chunks, passages[0].tolist(), passages[1].tolist(), strict=True):
        if title := title_of[chunk.document_id]:
            topics.append(Topic(chunk.number, names.number(title), TITLE, title))
        if chunk.document_id in opened or first == last:
            continue
        opened.add(chunk.document_id)
        which = int(sentences.which[first])
        subjects = lead_subjects(sentences.distinct[which]) or run_of.get(which, [])
        weight = SUBJECT if title else SUBJECT_UNTITLED
        for i, key in enumerate(subjects):
            main = "" if i else key
            topics.append(Topic(chunk.number, names.number(key), weight, main))
    names.seek()
    return topics


def _topics_inside(topics: Iterable[Topic], names: NameNumbers) -> Iterator[Topic]:
    """Yield the names inside topics with a key, weighted by their share of the words."""
    for topic in topics:
        words = topic.key.split()
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + INSIDE_WORDS) + 1):
                key = " ".join(words[start:end])
                alone = end - start == 1 and (len(key) < 3 or key in STOPWORDS or not names.may_open(key))
                if key in names.keys and end - start < len(words) and not alone:
                    yield Topic(topic.row, names.keys[key], INSIDE * (end - start) / len(words))


def _aliases(topics: Iterable[Topic], names: NameNumbers) -> Iterator[Topic]:
    """Yield pairs of an untitled topic and a name that may be forms of each other, in both directions, as topics.

    A form consists of the first or last words of the other, at least two, or has the same first and last word. Each of
    n names has the weight 1 / n."""
    forms: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for _, name, weight, key in topics:
        words = tuple(key.split()) if weight == SUBJECT_UNTITLED else ()
        if len(words) < 2 or not words[0].isalpha():
            continue
        forms[words[0], "", words[-1]].add(name)
        for size in range(2, len(words)):
            forms[words[:size]].add(name)
            forms[words[-size:]].add(name)
    for key, name in names.keys.items() if forms else ():
        words = tuple(key.split())
        if len(words) < 2 or words[0].isdigit():
            continue
        near = (forms.get((words[0], "", words[-1]), set()) | forms.get(words, set())) - {name}
        for other in near if len(near) <= MOST_ALIASES else ():
            yield Topic(name, other, 1 / len(near))
            yield Topic(other, name, 1 / len(near))
