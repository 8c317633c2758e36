"""Extract what the sentences of one language mention: names, concepts, dates and titles, with an entity type each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from conspectus.algorithms.statistics import Bools, Ints
from conspectus.text.language import ENGLISH
from conspectus.text.language_rules import UNCASED, LanguageRules, joined
from conspectus.text.mentions import MARKED, find_dates, find_titles
from conspectus.text.names import OPENING_PARTICLES, ROMAN, Mention, find_names
from conspectus.text.phrases import find_phrases
from conspectus.text.sentence_table import lines_at
from conspectus.text.types import (
    CALENDAR,
    CONCEPT,
    DATE,
    GIVEN_NAMES,
    NATIONALITIES,
    ORGANIZATION_WORDS,
    ROLES,
    WORK,
    Candidate,
    type_of,
)
from conspectus.text.uncased import find_chinese, find_uncased
from conspectus.text.vocabulary import Vocabulary, is_acronym
from conspectus.text.words import INFLECTING, name_key, stem, undeclined

LARGE = 3000
"""Number of distinct sentences from which on a concept must occur three times, and a name in a script without capitals
twice. If always, four of the tests' 94 names in other languages would be lost; half or double changes nothing."""
MIN_HEADED = 3
"""Number of longer names ending in a word for a kind of organization ("University") from which on the word alone is no
name: else it is among the best connected on web pages on mathematics (6 names end in it) and on society (81)."""


def extract_mentions(
    texts: Sequence[str], vocabulary: Vocabulary, source: Ints, speakers: Sequence[str]
) -> dict[str, Candidate]:
    """Return the candidates that distinct sentences of one language mention, by key, filtered and with their types.
    `source` has the number of each sentence's source.
    """
    large = len(texts) >= LARGE
    candidates: dict[str, Candidate] = defaultdict(Candidate)
    for speaker in speakers:
        candidate = candidates[name_key(speaker)]
        candidate.speaks = True
        candidate.forms[tuple(speaker.split())] += 0
    named = np.zeros(len(vocabulary.form), bool)
    for mention in _names(vocabulary):
        named[mention.start : mention.end] = True
        _note_name(candidates[_key(mention.words, vocabulary.rules)], mention, vocabulary)
    candidates = _sifted_names(candidates, vocabulary, large)
    _note_concepts(candidates, vocabulary, source, named, 3 if large else 2)
    marked = vocabulary.sentences_with(MARKED)
    rows = zip(marked.tolist(), lines_at(marked, texts), strict=True)
    _note_dates_and_titles(candidates, rows, vocabulary.rules)
    # nouns that have capitals are no proper nouns for it
    common = ~vocabulary.proper_noun if vocabulary.rules.nouns_capitalised else vocabulary.lower > 0
    lower = dict(zip(vocabulary.words, common.tolist(), strict=True))
    first_names = GIVEN_NAMES | {name_key(s).split()[0] for s in speakers if " " in s}
    for candidate in candidates.values():
        if not candidate.type:
            words = max(forms := candidate.forms, key=forms.__getitem__)
            content = (word.casefold() for word in words if word not in OPENING_PARTICLES)
            never_lower = not any(map(lower.get, content))
            candidate.type = type_of(words, candidate, first_names, never_lower, vocabulary.rules.language)
    # Candidates of other languages have the same key as the commonest form of a name, not as its undeclined one.
    if vocabulary.rules.language in INFLECTING:
        return {name_key(written(candidate.forms)): candidate for candidate in candidates.values()}
    return candidates


def _names(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a name: capitalised runs, and in languages without capitals also matches of patterns."""
    if vocabulary.rules.language == "zh":
        yield from find_chinese(vocabulary)
    elif vocabulary.rules.language in UNCASED:
        yield from find_uncased(vocabulary)
    yield from find_names(vocabulary)


def _key(words: Sequence[str], rules: LanguageRules) -> str:
    """Return the key that all forms of a name share; in languages that decline names, without the words' endings."""
    key = name_key(" ".join(words))
    if rules.language not in INFLECTING:
        return key
    return " ".join(undeclined(word, rules.language) for word in key.split())


def _note_name(candidate: Candidate, mention: Mention, vocabulary: Vocabulary) -> None:
    sentence, first, end = vocabulary.sentence_around(mention.start)
    offset = mention.start - first
    candidate.forms[mention.words] += 1
    if mention.type:
        candidate.kinds[mention.type] += 1
    candidate.note(sentence, offset)
    candidate.titled += mention.titled
    if offset:
        (word,) = vocabulary.folded(mention.start - 1, mention.start)
        candidate.note_before(word)
    candidate.after += mention.end < end


def _sifted_names(
    by_key: Mapping[str, Candidate], vocabulary: Vocabulary, large: bool
) -> dict[str, Candidate]:
    """Return the candidates without those that are no names: vague words, roles, nationalities, lower-case words."""
    number = {word: i for i, word in enumerate(vocabulary.words)}
    sifted: dict[str, Candidate] = {}
    heads = Counter(key.split()[-1] for key in by_key if " " in key)
    for key, candidate in by_key.items():
        if candidate.speaks:
            sifted[key] = candidate
            continue
        if candidate.kinds:
            if candidate.titled or len(candidate.positions) > large:
                candidate.type = max(candidate.kinds, key=candidate.kinds.__getitem__)
                sifted[key] = candidate
            continue
        words = max(forms := candidate.forms, key=forms.__getitem__)
        parts = key.split()
        acronym = len(words) == 1 and is_acronym(words[0])
        empty = ROLES if acronym else ROLES | vocabulary.rules.vague
        if not parts or empty.issuperset(parts):
            continue
        if len(parts) == 1:
            if heads[key] >= MIN_HEADED and key in ORGANIZATION_WORDS:
                continue
            at = number.get(words[0], number.get(words[0].casefold()))
            proper = at is None or vocabulary.proper_noun[at]
            if not proper or key in NATIONALITIES or key in CALENDAR or len(key) < 2:
                continue
        sifted[key] = candidate
    return sifted


def _note_concepts(
    by_key: dict[str, Candidate], vocabulary: Vocabulary, source: Ints, named: Bools, least: int
) -> None:
    """Add the concepts; a concept that is also written as a name ("Computer Science") is added to that candidate."""
    rules = vocabulary.rules
    by_stems = {_stems(key, rules): key for key in sorted(by_key, reverse=True) if not by_key[key].speaks}
    starts, sizes = find_phrases(vocabulary, source, least, named)
    sentences = np.searchsorted(vocabulary.starts, starts, "right") - 1
    offsets = starts - vocabulary.starts[sentences]
    columns = starts, sizes, sentences, offsets
    known: dict[bytes, tuple[tuple[str, ...], Candidate]] = {}
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for start, size, sentence, offset in rows:
        tokens = vocabulary.form[start : start + size].tobytes()
        if tokens not in known:
            form = _form(start, size, vocabulary)
            text = " ".join(form)
            stems = _stems(name_key(text) if rules.language != ENGLISH else text, rules)
            key = by_stems.setdefault(stems, stems)
            if key not in by_key:
                by_key[key] = Candidate(type=CONCEPT)
            elif text.islower() and not by_key[key].kinds:
                by_key[key].type = CONCEPT
            known[tokens] = form, by_key[key]
        form, candidate = known[tokens]
        candidate.forms[form] += 1
        candidate.note(sentence, offset)


def _form(start: int, size: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return a phrase's words: in lower case unless the language capitalises nouns, as one word if it has no spaces."""
    words = vocabulary.written(start, start + size)
    if vocabulary.rules.unspaced:
        return (joined(words),)
    named = vocabulary.mostly_capitalised[vocabulary.token_word[start : start + size]]
    # a phrase with a name in it keeps its capitals ("Crohn's disease"), and so does a word with one inside ("iPhone")
    camel = any(word[0].islower() and not word.islower() for word in words)
    keeps = camel or vocabulary.rules.nouns_capitalised or named.any()
    return tuple(words if keeps else vocabulary.folded(start, start + size))


def _stems(key: str, rules: LanguageRules) -> str:
    words = key.split() or [""]
    keep = len(words) - 1 if rules.language == ENGLISH else 0
    return " ".join((*words[:keep], *(stem(word, rules.language) for word in words[keep:])))


def _note_dates_and_titles(
    by_key: dict[str, Candidate], rows: Iterable[tuple[int, str]], rules: LanguageRules
) -> None:
    dates: dict[str, Candidate] = defaultdict(Candidate)
    for sentence, text in rows:
        for date in find_dates(text, rules.language):
            dates[date].note(sentence, max(text.find(date.split()[0]), 0) // 6)
            dates[date].forms[tuple(date.split())] += 1
        for title in find_titles(text, rules.language):
            candidate = by_key.setdefault(_key(title.split(), rules), Candidate())
            candidate.forms[tuple(title.split())] += 1
            candidate.quoted += 1
            if not candidate.speaks and candidate.type in ("", WORK):
                candidate.type = WORK if not candidate.before else ""
            candidate.note(sentence, max(text.find(title), 0) // 6)
    for candidate in by_key.values():
        quoted = candidate.quoted
        # Mostly a title: a quoted mention is counted twice, as a term and as a title.
        if candidate.type == CONCEPT and quoted and 3 * quoted >= len(candidate.positions):
            candidate.type = WORK
    for date, candidate in dates.items():
        # a year alone is no useful entity, and would connect what has nothing else in common
        if " " in date or "月" in date:
            candidate.type = DATE
            by_key.setdefault(date.lower(), candidate)


def written(forms: Counter[tuple[str, ...]]) -> str:
    """Return the most frequent form of a name; one in capitals only if there is no other, and then capitalised."""
    common = sorted(forms, key=lambda form: (-forms[form], form))
    mixed = [form for form in common if len(form) == 1 or not " ".join(form).isupper()]
    if mixed:
        return " ".join(mixed[0]).replace("' ", "'").replace("’ ", "’")
    return " ".join("-".join(map(_capitalized, word.split("-"))) for word in common[0])


def _capitalized(word: str) -> str:
    """Return an upper-case word with only its first letter in upper case; initials and Roman numerals stay."""
    if ROMAN.fullmatch(word) or (len(word) < 3 and "." in word):
        return word
    return word.capitalize()
