"""Find names in languages without capitals, by titles and by words for organizations and places next to them.

A name that is recognised once is found everywhere. Arabic, Hebrew and others with spaces write such words before the
name; Japanese and Korean write them at its end. Chinese names are words that the dictionary tags as names, and phrases
that begin with a name and end like an organization or place; for these, each token has a class, one letter, as in
`names`. Text in title marks is a work; dotted names that are spelled like foreign ones are persons.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from conspectus.algorithms.statistics import Bools
from conspectus.text.language import function_words, read_word_sets
from conspectus.text.language_rules import DOTS, joined, tag_of
from conspectus.text.names import Mention
from conspectus.text.types import CONCEPT, LOCATION, ORGANIZATION, PERSON, WORK, words_of_kinds
from conspectus.text.vocabulary import Vocabulary
from conspectus.text.words import CJK, WORDS_CACHED

_Span = tuple[int, int, str]
PREFECTURE = tuple("都道府県")
LONGEST = 5
"""Maximum tokens of a name. With 2, two of the tests' 94 names in 16 languages are lost; with 10 nothing changes."""
BOUND = 2 / 3
"""Share of two words' uses in which they are adjacent, from which on they are one name (if more than once). Without
such names two of the 94 are lost: a cooperative and a committee that no word before them indicates."""
ABOVE = 1000
"""A mention whose words indicate a type counts as much as this many that indicate none. Without this, four of the 94
names lose their type; with half or double nothing changes."""
_LISTS = read_word_sets("words")


def find_uncased(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a name in the corpus, with its type; of several names at one position the longest."""
    language = vocabulary.rules.language
    after = language in ("ja", "ko")
    mentions = list((_marked_after if after else _marked_before)(vocabulary))
    mentions += () if vocabulary.rules.unspaced else _bound(vocabulary)
    kinds: dict[tuple[int, ...], Counter[str]] = {}
    words: list[int] = vocabulary.token_word.tolist()
    for start, end, kind in mentions:
        kinds.setdefault(tuple(words[start:end]), Counter())[kind] += 1 if kind == CONCEPT else ABOVE
    titled = {(start, end) for start, end, kind in mentions if kind == PERSON}
    for start, end in _anywhere(words, vocabulary.sentence.tolist(), kinds.keys()):
        kind = kinds[tuple(words[start:end])].most_common(1)[0][0]
        forms = vocabulary.written(start, end)
        name = (joined(forms),) if vocabulary.rules.unspaced else tuple(forms)
        yield Mention(start, end, name, (start, end) in titled, kind)


def _anywhere(
    words: Sequence[int], sentence: Sequence[int], names: Collection[tuple[int, ...]]
) -> Iterator[tuple[int, int]]:
    """Yield the token spans of known names, from left to right, the longest at each position."""
    first = {name[0] for name in names}
    at = 0
    while at < len(words):
        size = 0
        if words[at] in first:
            last = min(at + LONGEST, len(words))
            within = (end - at for end in range(last, at, -1) if sentence[end - 1] == sentence[at])
            size = next((n for n in within if tuple(words[at : at + n]) in names), 0)
        if size:
            yield at, at + size
        at += size or 1


def _marked_before(vocabulary: Vocabulary) -> Iterator[_Span]:
    """Yield the names after titles (up to two words), and after words for organizations or places. Such a word is part
    of the name if both are adjacent more than once; else the name is only yielded in Arabic, after a word for a place.
    """
    language = vocabulary.rules.language
    heads = dict.fromkeys(function_words(language, "titles"), PERSON)
    heads |= {word: kind for kind, listed in words_of_kinds(language) for word in listed}
    kind_of = [heads.get(word, "") for word in vocabulary.words]
    content = _content(vocabulary).tolist()
    words: list[int] = vocabulary.token_word.tolist()
    sentence: list[int] = vocabulary.sentence.tolist()
    pairs = Counter(pairwise(words))
    for at, word in enumerate(words):
        kind = kind_of[word]
        if not kind or at + 1 >= len(words) or sentence[at + 1] != sentence[at] or not content[words[at + 1]]:
            continue
        more = at + 2 < len(words) and sentence[at + 2] == sentence[at] and content[words[at + 2]]
        more = more and not kind_of[words[at + 1]]
        if kind == PERSON:
            if not kind_of[words[at + 1]]:
                yield at + 1, at + 2 + more, kind
        elif pairs[word, words[at + 1]] > 1:
            again = more and pairs[words[at + 1], words[at + 2]] > 1
            yield at, at + 2 + again, kind
        elif kind == LOCATION and language == "ar" and vocabulary.words[words[at + 1]].startswith("ال"):
            yield at + 1, at + 2, kind


def _bound(vocabulary: Vocabulary) -> Iterator[_Span]:
    """Yield runs of words that are adjacent in most of their uses, with the type that one of them indicates."""
    language, content = vocabulary.rules.language, _content(vocabulary)
    words, sentence = vocabulary.token_word, vocabulary.sentence
    count, pairs = vocabulary.count, Counter(pairwise(words.tolist()))
    joined_on = [
        bool(sentence[at] == sentence[at + 1] and content[a] and content[b])
        and pairs[a, b] > 1
        and pairs[a, b] >= BOUND * max(count[a], count[b])
        for at, (a, b) in enumerate(pairwise(words.tolist()))
    ]
    titles = function_words(language, "titles")
    start = 0
    for at, goes_on in enumerate([*joined_on, False]):
        if not goes_on:
            titled = vocabulary.folded(start, start + 1)[0] in titles if at > start else False
            start += titled
            if 1 < at + 1 - start <= LONGEST:
                words = vocabulary.folded(start, at + 1)
                kinds = (kind for kind, heads in words_of_kinds(language) if not set(heads).isdisjoint(words))
                yield start, at + 1, PERSON if titled else next(kinds, CONCEPT)
            start = at + 1


def _marked_after(vocabulary: Vocabulary) -> Iterator[_Span]:
    """Yield names before titles, names that end like an organization or place, and Korean names of three characters."""
    language = vocabulary.rules.language
    titles, ends = frozenset(function_words(language, "titles")), words_of_kinds(language)
    tells = vocabulary.rules.tells_noun
    nouns = [tells(w) if tells else len(w) > 1 and w[0].isalpha() for w in vocabulary.words]
    noun = (np.array(nouns, bool) & ~vocabulary.stop)[vocabulary.token_word].tolist()
    forms = vocabulary.written(0, len(vocabulary.form))
    sentence: list[int] = vocabulary.sentence.tolist()
    for at, form in enumerate(forms):
        start = at
        while start and at - start < LONGEST - 1 and sentence[start - 1] == sentence[at] and noun[start - 1]:
            if not vocabulary.rules.unspaced or forms[start - 1].endswith(PREFECTURE):
                break
            start -= 1
        if form in titles:
            if start < at and 2 <= len(joined(forms[start:at])) <= 7:
                yield start, at, PERSON
            continue
        like_person = len(form) == 3 and form[0] in _LISTS["korean_surnames"]
        like_person = like_person and form not in _LISTS["korean_no_persons"]
        if like_person and vocabulary.count[vocabulary.token_word[at]] > 1:
            yield at, at + 1, PERSON
            continue
        goes_on = at + 1 < len(forms) and noun[at + 1] and sentence[at + 1] == sentence[at]
        if not noun[at] or (goes_on and not form.endswith(PREFECTURE)):
            continue
        whole = joined(forms[start : at + 1]) if vocabulary.rules.unspaced else form
        begin = start if vocabulary.rules.unspaced else at
        for kind, suffixes in ends:
            suffix = next((s for s in suffixes if whole.endswith(s)), "")
            if suffix and len(whole) > len(suffix) + 1:
                yield begin, at + 1, kind
                break


def _content(vocabulary: Vocabulary) -> Bools:
    return np.array([len(w) > 1 and w[0].isalpha() for w in vocabulary.words], bool) & ~vocabulary.stop


# Chinese

_CHINESE = read_word_sets("chinese_words")
ROLES = _CHINESE["roles"]
_SURNAMES = _CHINESE["surnames"]
_DISTRICTS = tuple(_CHINESE["districts"])
_GENERIC_DISTRICTS = tuple(_CHINESE["generic_districts"])

_MARKS = {"《": "<", "〈": "<", "》": ">", "〉": ">"}
_WORK = re.compile(rb"(?<=<)[^<>\n]{1,9}(?=>)")
_PATTERNS = (
    (ORGANIZATION, re.compile(rb"[LOPZE][LOPZENG]{0,4}o+|L?O")),
    (LOCATION, re.compile(rb"[LPZ]l+|L")),
    (PERSON, re.compile(rb"P|s[NG](?![NG])|SG")),
)
"""Of two names at one position, that of the earlier pattern is used."""
_DOTTED = re.compile(rb"(?:F+|C)(?:\.(?:F+|C))+")
"""A name with dots between its parts, each of them spelled like a foreign name or a short word."""
_PLAIN = re.compile(rb"[NG]{1,2}o(?!o)")
"""An organization whose name begins with a common noun; used if it occurs more than once."""


def find_chinese(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a Chinese name in the corpus, with its type."""
    classes, spelled = vocabulary.classes(_class), vocabulary.classes(_class_in_dotted)
    spans = [(WORK, *span) for span in vocabulary.matches(_WORK, classes)]
    spans += ((PERSON, *span) for span in vocabulary.matches(_DOTTED, spelled))
    for kind, pattern in _PATTERNS:
        spans += ((kind, *span) for span in vocabulary.matches(pattern, classes))
    plain = [(span, tuple(vocabulary.written(*span))) for span in vocabulary.matches(_PLAIN, classes)]
    count, vague = Counter(words for _, words in plain), vocabulary.rules.vague
    spans += ((ORGANIZATION, *s) for s, w in plain if count[w] > 1 and vague.isdisjoint(w[:-1]))
    taken = np.zeros(len(vocabulary.form) + 1, bool)
    for kind, start, end in _completed(spans, vocabulary):
        name = joined(vocabulary.written(start, end)).strip('"“”')
        long_enough = len(name) > (kind == ORGANIZATION) + (kind != WORK)
        if long_enough and not taken[start:end].any():
            taken[start:end] = True
            yield Mention(start, end, (name,), False, kind)


def _completed(
    spans: Sequence[tuple[str, int, int]], vocabulary: Vocabulary
) -> Iterator[tuple[str, int, int]]:
    """Yield the spans of names, those of people and places with the word beside them that is part of the name: the
    dictionary has 谷川, but not 长谷川. A word is part of a name if it is beside it in BOUND of its uses, and twice.
    """

    def text(start: int, end: int) -> bytes:
        return vocabulary.token_word[start:end].tobytes()

    part = np.array([_may_be_part(word) for word in vocabulary.words], bool)[vocabulary.token_word]
    before, after = vocabulary.behind(part), vocabulary.before(part)
    alone = Counter(text(start, end) for _, start, end in spans)
    left = Counter(text(start - 1, end) for _, start, end in spans if before[start])
    right = Counter(text(start, end + 1) for _, start, end in spans if after[end - 1])
    for kind, start, end in spans:
        least = max(BOUND * alone[text(start, end)], 2)
        if kind in (PERSON, LOCATION):
            wider_left = before[start] and left[text(start - 1, end)] >= least
            wider_right = after[end - 1] and right[text(start, end + 1)] >= least
            start, end = start - bool(wider_left), end + bool(wider_right)
        yield kind, start, end


def _may_be_part(word: str) -> bool:
    """Return whether a Chinese word may be part of a name: it is short, and the dictionary tags it as a name (`nr`,
    `ns`, `nz`) or, if it is one character, as a noun, adjective or abbreviation. Verbs and numbers are beside names.
    """
    tag = tag_of(word) if CJK.match(word) and len(word) < 3 else ""
    return tag.startswith("nr") or tag in ("ns", "nz") or (len(word) == 1 and tag in ("a", "j", "n", "ng"))


@lru_cache(WORDS_CACHED)
def _class(form: str) -> str:
    """Return the class of a token.

    L: a place; O: an organization; P: a person; s: a surname; S: a surname that is more often another word; G: a given
    name; Z: another name; N: a noun; o, l: the ending of an organization or place; E: Latin; D: a number; x: others.
    """
    if form in _MARKS or form in DOTS:
        return _MARKS.get(form, ".")
    if not CJK.match(form):
        return "D" if form[0].isdigit() else "E" if form[0].isalpha() else "x"
    tag = tag_of(form)
    if form in _CHINESE["organizations"] or form in _CHINESE["generic"]:
        return "o"
    if form in _CHINESE["places"]:
        return "l"
    if form in _CHINESE["mistagged_places"] or tag == "ns":
        return "L" if len(form) > 1 and form not in _CHINESE["no_places"] else "x"
    if tag.startswith("nr"):
        if len(form) == 1:
            return "s" if form in _SURNAMES else "x"
        return "P" if like_person(form) else "G" if len(form) == 2 else "N"
    if form in _SURNAMES:
        return "S"
    if tag in ("n", "x", "nz") and form.endswith(_DISTRICTS) and not form.endswith(_GENERIC_DISTRICTS):
        return "L"
    return {"nt": "O", "nz": "Z", "j": "Z"}.get(tag, "N" if tag in ("n", "vn", "b", "l") else "x")


def _class_in_dotted(form: str) -> str:
    """Return the class of a token in a dotted name: F if spelled like foreign names, C for another short word."""
    if form in DOTS or not CJK.match(form):
        return "." if form in DOTS else "x"
    return "F" if _CHINESE["spelling"].issuperset(form) else "C" if len(form) < 5 else "x"


def is_person(word: str) -> bool:
    """Return whether a word is the name of a person."""
    return tag_of(word).startswith("nr") and like_person(word)


def like_person(form: str) -> bool:
    """Return whether a word consists of a surname and a given name."""
    surname = (form[0] in _SURNAMES and len(form) <= 3) or (
        form[:2] in _CHINESE["double_surnames"] and 3 <= len(form) <= 4
    )
    return surname and form not in _CHINESE["no_persons"] and form[-1] not in _CHINESE["no_given"]
