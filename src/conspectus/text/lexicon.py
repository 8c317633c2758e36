"""The lexicon of a corpus: its sentences, what they mention, and what each thing mentioned is called and is.

Statistics are taken over distinct sentences, so that overlapping parts of one source count once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conspectus.rows import Document
from conspectus.text import gazetteer
from conspectus.text.dates import find_dates, find_titles
from conspectus.text.names import Mention, find_names, is_telling
from conspectus.text.phrases import find_phrases
from conspectus.text.sentence_table import SentenceTable, find_sentences
from conspectus.text.sources import sources
from conspectus.text.templates import templated
from conspectus.text.types import ALL, CONCEPT, DATE, WORK, Context, type_of
from conspectus.text.vocabulary import Ints, Vocabulary, is_acronym, read_vocabulary
from conspectus.text.words import VAGUE, name_key, stem
from conspectus.text.words import terms as search_terms

_DIGIT = re.compile(r"\d")

LARGE = 3000
"""From so many distinct sentences on, a single word must be named twice, and a concept three times."""

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


@dataclass
class _Found:
    """What is known of one thing while mentions are gathered."""

    forms: Counter[tuple[str, ...]] = field(default_factory=Counter[tuple[str, ...]])
    context: Context = field(default_factory=Context)
    type: str = ""
    places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Distinct sentence and token offset of each mention."""


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
    vocabulary = read_vocabulary(unique)
    document = table.document[first] if first else np.zeros(0, np.int32)
    source = np.array(sources([d.path for d in documents], [d.text for d in documents]), np.int32)
    found = _gather(unique, vocabulary, document, _units(document, source), table.speakers)
    phrased = templated(vocabulary, source[document])
    wanted = frozenset(entity_types)
    kept = {key: thing for key, thing in found.items() if thing.type in wanted}
    lexicon = _assemble(table, texts, which, len(unique), kept, vocabulary)
    return replace(lexicon, templated=(100 * phrased[which]).astype(np.int32), vocabulary=_spread(vocabulary, which))


def _units(document: Ints, source: Ints) -> Ints:
    """Return what burstiness is measured over: sources, or where these are few, stretches of sentences."""
    units = source[document]
    if source.max(initial=FEW) + 1 >= FEW:
        return units
    stretch = np.arange(len(document)) // STRETCH
    return np.unique(units.astype(np.int64) * (len(document) + 1) + stretch, return_inverse=True)[1].astype(np.int32)


def _gather(
    texts: list[str], vocabulary: Vocabulary, document: Ints, unit: Ints, speakers: Sequence[str]
) -> dict[str, _Found]:
    """Return everything that the distinct sentences mention, by key, typed and sifted."""
    if not texts:
        return {}
    large = len(texts) >= LARGE
    found: dict[str, _Found] = defaultdict(_Found)
    for speaker in speakers:
        thing = found[name_key(speaker)]
        thing.context.speaks = True
        thing.forms[tuple(speaker.split())] += 0
    for mention in find_names(vocabulary):
        _note_name(found[name_key(" ".join(mention.words))], mention, vocabulary)
    found = _sifted_names(found, vocabulary, large)
    _note_concepts(found, vocabulary, (document, unit), 3 if large else 2)
    _note_dates_and_titles(found, texts, large)
    lower = dict(zip(vocabulary.words, vocabulary.lower.tolist(), strict=True))
    given = gazetteer.GIVEN_NAMES | {name_key(s).split()[0] for s in speakers if " " in s}
    for thing in found.values():
        if not thing.type:
            words = thing.forms.most_common(1)[0][0]
            foreign = not any(lower.get(w.casefold()) for w in words)
            thing.type = type_of(words, thing.context, given, foreign)
    return found


def _note_name(thing: _Found, mention: Mention, vocabulary: Vocabulary) -> None:
    sentence = int(vocabulary.sentence[mention.start])
    offset = mention.start - int(vocabulary.starts[sentence])
    thing.forms[mention.words] += 1
    thing.places.append((sentence, offset))
    thing.context.titled += mention.titled
    words = vocabulary.words
    if offset:
        thing.context.before[words[vocabulary.word[vocabulary.form[mention.start - 1]]]] += 1
    if mention.end < len(vocabulary.form) and vocabulary.sentence[mention.end] == sentence:
        thing.context.after[words[vocabulary.word[vocabulary.form[mention.end]]]] += 1


def _sifted_names(found: Mapping[str, _Found], vocabulary: Vocabulary, large: bool) -> dict[str, _Found]:
    """Leave out what is no name after all: vague words, offices, nationalities, words written small."""
    number = {word: i for i, word in enumerate(vocabulary.words)}
    kept: dict[str, _Found] = {}
    for key, thing in found.items():
        if thing.context.speaks:
            kept[key] = thing
            continue
        words = thing.forms.most_common(1)[0][0]
        parts = key.split()
        acronym = len(words) == 1 and is_acronym(words[0])
        empty = gazetteer.ROLES if acronym else gazetteer.ROLES | VAGUE
        if not parts or not is_telling(words) or empty.issuperset(parts):
            continue
        if len(parts) == 1:
            place = number.get(words[0], number.get(words[0].casefold()))
            proper = place is None or vocabulary.proper[place]
            if not proper or key in gazetteer.NATIONALITIES or key in gazetteer.CALENDAR or len(key) < 2:
                continue
            if large and len(thing.places) < 2 and (place is None or not vocabulary.capitalised[place]):
                continue
        elif all(p in gazetteer.CALENDAR or p.isdigit() for p in parts):
            continue
        kept[key] = thing
    return kept


def _note_concepts(found: dict[str, _Found], vocabulary: Vocabulary, where: tuple[Ints, Ints], least: int) -> None:
    """Add the concepts; one that is also written as a name is that name ("Computer Science")."""
    by_stems = {_stems(key): key for key in sorted(found, reverse=True) if not found[key].context.speaks}
    phrases = find_phrases(vocabulary, *where, least)
    starts = vocabulary.starts
    for start, size in zip(phrases.start.tolist(), phrases.words.tolist(), strict=True):
        form = tuple(vocabulary.folded(start, start + size))
        stems = _stems(" ".join(form))
        thing = found.setdefault(by_stems.setdefault(stems, stems), _Found())
        thing.forms[form] += 1
        thing.type = CONCEPT
        sentence = int(vocabulary.sentence[start])
        thing.places.append((sentence, start - int(starts[sentence])))


def _stems(key: str) -> str:
    *head, last = key.split() or [""]
    return " ".join((*head, stem(last)))


def _note_dates_and_titles(found: dict[str, _Found], texts: list[str], large: bool) -> None:
    dates: dict[str, _Found] = defaultdict(_Found)
    for sentence, text in enumerate(texts):
        if _DIGIT.search(text):
            for date in find_dates(text):
                dates[date].places.append((sentence, text.find(date.split()[0]) // 6))
                dates[date].forms[tuple(date.split())] += 1
        for title in find_titles(text):
            thing = found.setdefault(name_key(title), _Found())
            thing.forms[tuple(title.split())] += 1
            thing.context.quoted += 1
            if not thing.context.speaks and thing.type in ("", WORK):
                thing.type = WORK if not thing.context.before else ""
            thing.places.append((sentence, text.find(title) // 6))
    for date, thing in dates.items():
        if len(thing.places) >= (3 if large else 2) or " " in date:
            thing.type = DATE
            found.setdefault(date.lower(), thing)


def _assemble(
    table: SentenceTable,
    texts: Sequence[str],
    which: Ints,
    distinct: int,
    found: Mapping[str, _Found],
    vocabulary: Vocabulary,
) -> Lexicon:
    """Turn what was found into arrays over all sentences, names in order of first mention."""
    order = sorted(found, key=lambda key: (min(found[key].places, default=(distinct, 0)), key))
    names = tuple(_written(found[key].forms) for key in order)
    place = {key: i for i, key in enumerate(order)}
    rows: list[dict[int, int]] = [{} for _ in range(distinct)]
    for key in order:
        for sentence, offset in found[key].places:
            rows[sentence][place[key]] = min(offset, rows[sentence].get(place[key], offset))
    ordered = [sorted(row, key=row.__getitem__) for row in rows]
    sizes = np.array([len(row) for row in ordered], np.int64)
    flat = np.array([e for row in ordered for e in row], np.int32)
    starts, mentions = _repeated(which, sizes, flat)
    terms, term_sizes, term_flat = _terms(vocabulary, distinct)
    term_starts, term_ids = _repeated(which, term_sizes, term_flat)
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
    starts, form = _repeated(which, np.diff(vocabulary.starts), vocabulary.form)
    sentence = np.repeat(np.arange(len(which), dtype=np.int32), np.diff(starts))
    return replace(vocabulary, form=form, sentence=sentence)


def _repeated(which: Ints, sizes: np.ndarray[Any, Any], flat: Ints) -> tuple[Ints, Ints]:
    """Spread lists that belong to distinct sentences over all sentences; return starts and values."""
    count = sizes[which] if len(sizes) else np.zeros(0, np.int64)
    starts = np.concatenate(([0], np.cumsum(count)))
    begin = np.concatenate(([0], np.cumsum(sizes)))[which] if len(sizes) else count
    take = np.repeat(begin - starts[:-1], count) + np.arange(int(starts[-1]))
    return starts.astype(np.int32), flat[take]


def _terms(vocabulary: Vocabulary, distinct: int) -> tuple[tuple[str, ...], np.ndarray[Any, Any], Ints]:
    """Return the search terms, how many each distinct sentence has, and their numbers in order."""
    number: dict[str, int] = {}
    of_word = [[number.setdefault(term, len(number)) for term in search_terms(word)] for word in vocabulary.words]
    sizes = np.array([len(each) for each in of_word], np.int64)
    flat = np.array([t for each in of_word for t in each], np.int32)
    _, ids = _repeated(vocabulary.token_word, sizes, flat)
    in_sentence = np.bincount(vocabulary.sentence, sizes[vocabulary.token_word], minlength=distinct)
    return tuple(number), in_sentence.astype(np.int64), ids


def _written(forms: Counter[tuple[str, ...]]) -> str:
    """Return the commonest way to write a name; capitals alone only where nobody writes it otherwise."""
    common = sorted(forms, key=lambda form: (-forms[form], form))
    mixed = [form for form in common if len(form) == 1 or not " ".join(form).isupper()]
    if mixed:
        return " ".join(mixed[0])
    return " ".join(_capitalised(word) for word in common[0])


def _capitalised(word: str) -> str:
    return "-".join(part.capitalize() for part in word.split("-")) if len(word) > 2 or "." not in word else word
