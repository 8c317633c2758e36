"""Find mentions generously: everything in a text that may name something, for walks over the sentence–entity graph.

The knowledge graph needs few, clean entities (`names`); a walk needs everything that two sentences may share, and is
not harmed by mentions that occur in only one. So a name here is every run of capitalised words with the small words
inside it, and each of its parts. Known names (titles of documents, the subjects of their first sentences) are found
everywhere, in any case; in Chinese this suffices. Quotations and dates as mentions gave no better passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from hashlib import blake2b
from itertools import chain

import numpy as np

from conspectus.algorithms.matching import hash_of_sequence, longest_matches
from conspectus.algorithms.statistics import Bools, Ints, numbers_of, repeated
from conspectus.text.language import ENGLISH, function_words, read_word_sets, text_pattern
from conspectus.text.language_rules import UNCASED
from conspectus.text.vocabulary import Vocabulary
from conspectus.text.words import CJK, STOPWORDS, WORDS_CACHED, name_key

KNOWN, OPENING = 1, 2
"""Kinds of names: found wherever its words occur; a name even where it opens its sentence and stands alone."""

LONGEST = 12
"""Maximum length of a known name in words (Chinese characters); R@5 is the same with half and double this value."""

_JOINTS = read_word_sets("words")["joints_in_questions"]
# U and I: a capitalised word and an initial; u: a word that may only have a capital because it opens its sentence;
# S: a capitalised stop word; C: a joint; D: a number; p: a full stop
_RUN = re.compile(rb"(?:[UI]|u(?=[USI])|S(?=[USI]))(?:[USI]|(?<=I)p(?=[USI])|(?<=[USI])D|C(?=C?[USI]))*")
_PART = re.compile(r" (?:and|&|in|on|to|at|for) |['’]s ")
_OF_DATE = re.compile(r"[^\W\d_]{3,}|\d+")
_pattern = partial(text_pattern, "mentions")
_DATE, _DATE_BY_SIGNS = _pattern("date"), _pattern("date_by_signs")
_TITLE, _TITLE_ELSEWHERE = _pattern("title"), _pattern("title_elsewhere")
_SUBJECT, _PARENTHESIS = _pattern("subject"), _pattern("parenthesis")
_NO_TITLE = _pattern("no_title")


Run = tuple[int, tuple[str, ...]]
"""The number of a text, with the keys of one run of capitalised words in it and of the run's parts."""


def find_runs(vocabulary: Vocabulary, opening: Bools) -> Iterator[Run]:
    """Yield for each run of capitalised words the number of its text, and the keys of the run and then of its parts.

    `vocabulary` has the tokens of the texts. `opening` has a value for each token: whether it may be a name when it is
    the first of its text and no capitalised word follows. A run is a pattern over the classes of a text's tokens.
    """
    classes = vocabulary.classes(_class)
    first = vocabulary.starts[:-1][np.diff(vocabulary.starts) > 0]
    first = first[classes[first] != ord("I")] if len(first) else first
    classes[first[(classes[first] == ord("U")) & ~opening[first]]] = ord("u")
    classes[first[classes[first] == ord("S")]] = ord("x")
    keys_of_run: dict[bytes, tuple[str, ...]] = {}
    for start, end in vocabulary.matches(_RUN, classes):
        run = vocabulary.form[start:end].tobytes()
        if run not in keys_of_run:
            keys_of_run[run] = tuple(_keys(" ".join(vocabulary.written(start, end))))
        if keys_of_run[run]:
            yield vocabulary.sentence_around(start)[0], keys_of_run[run]


def _class(form: str) -> str:
    """Return the class of a token, a letter of the pattern of runs."""
    if form == ".":
        return "p"
    if (form.lower() in _JOINTS and form[0].islower()) or form in ("&", "'s", "’s"):
        return "C"
    if form[0].isdigit():
        return "D"
    if not form[0].isupper():
        return "x"
    if form.lower().replace("’", "'") in STOPWORDS and form not in ("US", "IT", "WHO"):
        return "S"
    return "I" if len(form) == 1 else "U"


def _keys(run: str) -> Iterator[str]:
    """Yield the key of a run of words, and then the keys of its parts if it has several."""
    whole = name_key(run)
    if len(whole) > 1 and whole not in STOPWORDS:
        yield whole
    parts = _PART.split(run)
    for part in map(name_key, parts if len(parts) > 1 else ()):
        if len(part) > 2 and part not in STOPWORDS:
            yield part


# Known names


def units(key: str) -> list[str]:
    """Return the units by which a key is looked up: its words, and each Chinese or Japanese character by itself."""
    return key.split() if key.isascii() else CJK.sub(r" \g<0> ", key).split()


def hash_of(pieces: Sequence[str]) -> int:
    """Return the 64-bit hash by which an index looks up a name."""
    text = " ".join(pieces).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def find_known(vocabulary: Vocabulary, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the occurrences of names, in any case: the numbers of their texts, and their indices in `names`.
    Of several names that begin at one word, only the longest is returned; names longer than LONGEST are not found.
    """
    if not len(vocabulary.form):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers: dict[str, int] = {}
    pieces = [units(name_key(form)) for form in vocabulary.forms]
    sizes = np.array([*map(len, pieces)], np.int64)
    flat = numbers_of([*chain(*pieces)], numbers)
    by_size: dict[int, dict[int, int]] = {}
    begins = np.zeros(len(numbers), bool)
    for i, name in enumerate(names):
        parts = [numbers.get(u, -1) for u in units(name)]
        if parts and len(parts) <= LONGEST and min(parts) >= 0:
            begins[parts[0]] = True
            by_size.setdefault(len(parts), {}).setdefault(hash_of_sequence(parts), i)
    tables = {size: np.array(sorted(codes.items()), np.uint64).T for size, codes in by_size.items()}
    matches: list[tuple[Ints, Ints]] = []
    for sentences, tokens, tokens_of in vocabulary.blocks():
        form = vocabulary.form[tokens]
        text = np.repeat(np.arange(sentences.start, sentences.stop, dtype=np.int32), tokens_of)
        text = np.repeat(text, sizes[form])
        words = repeated(form, sizes, flat)[1]
        matches.append(longest_matches(words, text, np.flatnonzero(begins[words]), tables))
    texts, name = zip(*matches, strict=True)
    return np.concatenate(texts), np.concatenate(name)


@lru_cache(WORDS_CACHED)
def is_name(key: str) -> bool:
    """Return whether a key may be a name: it is longer than one character and no stop word."""
    return len(key) > 1 and key not in STOPWORDS


def title_key(title: str) -> str:
    """Return the key of a title without parentheses at its end, or "" if it is no possible name."""
    key = name_key(_PARENTHESIS.sub("", title))
    return key if is_name(key) else ""


def lead_subjects(sentence: str) -> list[str]:
    """Return the keys of a first sentence's subject: of the whole subject, and of its part before a comma.

    The subject is the text before the first defining verb, parenthesis, colon or semicolon, if written as a name.
    """
    match = _SUBJECT.match(sentence)
    subject = match.group(1).strip(' ,"“”') if match else ""
    if not subject[:1].isupper() and not subject[:1].isdigit():
        return []
    keys = dict.fromkeys(map(name_key, (subject, subject.partition(",")[0])))
    return [key for key in keys if is_name(key)] if len(subject.split()) <= 9 else []


# Dates and quoted titles

MARKED = re.compile(r"\d|[“”»』」]|[\"’'](?!\w)")
"""Matches at least one token of every text that has a date or a quoted title."""


@cache
def _dates_in(language: str) -> re.Pattern[str]:
    """Return the pattern of dates in a language: with its names of months, or with signs such as 年 and 月."""
    if language in ("zh", "ja", "ko"):
        return _DATE_BY_SIGNS
    months = "|".join(function_words(language, "months")) or "(?!)"
    day = r"\b\d{1,2}(?:\.|º|er)? (?:de )?"
    named = rf"(?:{day})?\b(?:{months})\b(?: (?:de )?[12]\d{{3}})?"
    return re.compile(rf"{named}|\b1[5-9]\d\d(?![\w-])|\b20\d\d(?![\w-])", re.IGNORECASE)


def date_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the dates in a text, English ones and then those with signs such as 年 and 月."""
    for pattern in (_DATE, _DATE_BY_SIGNS):
        for m in pattern.finditer(text):
            yield m.span()


def find_dates(text: str, language: str = ENGLISH) -> Iterator[str]:
    """Yield the dates of a text in one form: "4 March 2021", "March 2021", "2021"; in other languages as written."""
    if not re.search(r"\d", text):
        return
    if language != ENGLISH:
        for m in _dates_in(language).finditer(" ".join(text.split())):
            if any(c.isdigit() for c in m.group()):
                yield m.group()
        return
    for match in _DATE.finditer(text):
        pieces = _OF_DATE.findall(match[0])
        if "-" in match[0]:
            year, month, day = map(int, pieces)
            if not 1 <= month <= 12:
                continue
            pieces = [str(day), function_words(ENGLISH, "months")[month - 1], str(year)]
        # the day, the month, the year
        yield " ".join(sorted(pieces, key=lambda piece: (len(piece) > 2, piece.isdigit())))


def find_titles(text: str, language: str = ENGLISH) -> Iterator[str]:
    """Yield the quoted strings that are written like titles: two to eight words, most of them capitalised.
    In other languages at most eight words, the first capitalised, without an end mark.
    """
    if language == ENGLISH:
        for match in _TITLE.finditer(text):
            words = match.group(1).rstrip(",").split()
            capitals = sum(word[0].isupper() for word in words)
            closed = words[0][0].isupper() and words[-1][0].isupper() and words[-1][-1] not in ".?!"
            if 2 <= len(words) <= 8 and closed and capitals >= 0.6 * len(words):
                yield " ".join(words)
        return
    uncased = language in UNCASED
    for match in _TITLE_ELSEWHERE.finditer(text):
        title = next(filter(None, match.groups())).strip().rstrip(",،")
        opens = title[:1].isupper() or (uncased and title[:1].isalpha())
        short = len(title.split()) <= 8 and (len(title) <= 12 or not (uncased and CJK.search(title)))
        if opens and short and len(title) > 3 - uncased and not _NO_TITLE.search(title):
            yield title
