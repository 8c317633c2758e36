"""The lexicon of a corpus: its sentences, what they mention, and what each thing mentioned is called and is.

Statistics are taken over distinct sentences, so that overlapping parts of one source count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conspectus.rows import Document
from conspectus.text.boilerplate import boilerplate_weights
from conspectus.text.mention_extraction import Candidate, extract_mentions, written
from conspectus.text.sentence_table import SentenceTable, find_sentences
from conspectus.text.sentence_terms import repeated, sentence_terms
from conspectus.text.sources import sources
from conspectus.text.types import ALL
from conspectus.text.vocabulary import Ints, Vocabulary, read_vocabulary
from conspectus.text.words import name_key

FEW = 20
"""With fewer sources than this, burstiness is measured over stretches of STRETCH sentences."""
STRETCH = 30


@dataclass(frozen=True)
class Lexicon:
    """Sentence `i` mentions `mentions[starts[i]:starts[i + 1]]`, places in `names`, in order of the text."""

    sentences: SentenceTable
    texts: Sequence[str]
    names: tuple[str, ...]
    types: tuple[str, ...]
    starts: Ints
    mentions: Ints
    speaker_names: Ints
    """For each speaker of the table of sentences, the place of their name in `names`, or -1."""
    templated: Ints
    """Per cent of the words of each sentence that stand in set phrases of the corpus."""
    terms: tuple[str, ...]
    """The search terms of the sentences (see `words.terms`)."""
    term_starts: Ints
    """Sentence `i` holds terms `term_ids[term_starts[i]:term_starts[i + 1]]`, in order, repeated ones too."""
    term_ids: Ints
    vocabulary: Vocabulary
    """The tokens of the sentences."""


def read_lexicon(documents: Sequence[Document], entity_types: Iterable[str] = ALL) -> Lexicon:
    """Read a corpus: its sentences, and the names, concepts, dates and titles of the given types in them."""
    table, texts = find_sentences(documents)
    distinct: dict[str, int] = {}
    first: list[int] = []
    which = np.empty(len(texts), np.int32)
    for i, text in enumerate(texts):
        if text not in distinct:
            distinct[text] = len(distinct)
            first.append(i)
        which[i] = distinct[text]
    unique = list(distinct)
    document = table.document[first] if first else np.zeros(0, np.int32)
    spoken = [d.language for d in documents]
    languages = [spoken[i] for i in document.tolist()]
    vocabulary = read_vocabulary(unique, languages)
    source = np.array(sources([d.path for d in documents], [d.text for d in documents]), np.int32)
    units = _units(document, source)
    found: dict[str, Candidate] = {}
    for language in dict.fromkeys(languages):
        inside = np.flatnonzero(np.array([code == language for code in languages]))
        where = (document[inside], units[inside])
        here = extract_mentions(
            [unique[i] for i in inside.tolist()], vocabulary.part(inside, language), where, table.speakers
        )
        found = _united(found, here, inside) if found or len(inside) < len(unique) else here
    phrased = boilerplate_weights(vocabulary, source[document])
    wanted = frozenset(entity_types)
    kept = {key: thing for key, thing in found.items() if thing.type in wanted}
    number: dict[str, int] = {}
    held = sentence_terms(unique, languages, vocabulary, number)
    lexicon = _assemble(table, texts, which, len(unique), kept, (tuple(number), *held), vocabulary)
    return replace(lexicon, templated=(100 * phrased[which]).astype(np.int32), vocabulary=_spread(vocabulary, which))


def _units(document: Ints, source: Ints) -> Ints:
    """Return what burstiness is measured over: sources, or where these are few, stretches of sentences."""
    units = source[document]
    if source.max(initial=FEW) + 1 >= FEW:
        return units
    stretch = np.arange(len(document)) // STRETCH
    return np.unique(units.astype(np.int64) * (len(document) + 1) + stretch, return_inverse=True)[1].astype(np.int32)


def _united(found: dict[str, Candidate], part: Mapping[str, Candidate], inside: Ints) -> dict[str, Candidate]:
    """Add what the sentences of one language mention to what those of others do; `inside` is where each stands.

    What several languages name is of the type that it is in the first.
    """
    for key, thing in part.items():
        moved = [(int(inside[sentence]), offset) for sentence, offset in thing.places]
        if key in found:
            found[key].forms.update(thing.forms)
            found[key].places += moved
        else:
            found[key] = replace(thing, places=moved)
    return found


def _assemble(
    table: SentenceTable,
    texts: Sequence[str],
    which: Ints,
    distinct: int,
    found: Mapping[str, Candidate],
    held: tuple[tuple[str, ...], Ints, Ints],
    vocabulary: Vocabulary,
) -> Lexicon:
    """Turn what was found, and the terms that the distinct sentences hold, into arrays over all sentences; names in
    order of first mention.
    """
    order = sorted(found, key=lambda key: (min(found[key].places, default=(distinct, 0)), key))
    names = tuple(written(found[key].forms) for key in order)
    place = {key: i for i, key in enumerate(order)}
    rows: list[dict[int, int]] = [{} for _ in range(distinct)]
    for key in order:
        for sentence, offset in found[key].places:
            rows[sentence][place[key]] = min(offset, rows[sentence].get(place[key], offset))
    ordered = [sorted(row, key=row.__getitem__) for row in rows]
    sizes = np.array([len(row) for row in ordered], np.int64)
    flat = np.array([e for row in ordered for e in row], np.int32)
    starts, mentions = repeated(which, sizes, flat)
    terms, own_starts, own_ids = held
    term_starts, term_ids = repeated(which, np.diff(own_starts), own_ids)
    speakers = np.array([place.get(name_key(s), -1) for s in table.speakers], np.int32)
    types = tuple(found[key].type for key in order)
    return Lexicon(
        table,
        texts,
        names,
        types,
        starts,
        mentions,
        speakers,
        which,
        terms,
        term_starts,
        term_ids,
        vocabulary,
    )


def _spread(vocabulary: Vocabulary, which: Ints) -> Vocabulary:
    """Return the tokens of all sentences, given those of the distinct ones."""
    starts, form = repeated(which, np.diff(vocabulary.starts), vocabulary.form)
    sentence = np.repeat(np.arange(len(which), dtype=np.int32), np.diff(starts))
    return replace(vocabulary, form=form, sentence=sentence)
