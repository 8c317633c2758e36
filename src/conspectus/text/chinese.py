"""Names in Chinese: patterns over the kinds of words that a dictionary tells, with short lists as hints.

Each token is given a class, one letter, as for capitals in `names`. What stands in title marks is a work; a place or
organization is what ends like one and begins with a name; a person is a surname with a given name, or characters that
foreign names are spelled with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from conspectus.text.language import read_data
from conspectus.text.language_rules import DOTS, joined, known_words, tag_of
from conspectus.text.names import Mention
from conspectus.text.types import LOCATION, ORGANIZATION, PERSON, WORK
from conspectus.text.vocabulary import Vocabulary
from conspectus.text.words import CHINESE_STOPWORDS, CJK, WORDS_CACHED

_LISTS = read_data("chinese_words")
SURNAMES, SPELLING = frozenset(_LISTS["surnames"]), frozenset(_LISTS["spelling"])
NO_GIVEN, VERBAL = frozenset(_LISTS["no_given"]), frozenset(_LISTS["verbal"])
DOUBLE_SURNAMES, ROLES = frozenset(_LISTS["double_surnames"].split()), frozenset(_LISTS["roles"].split())
NO_PERSONS, NO_PLACES = frozenset(_LISTS["no_persons"].split()), frozenset(_LISTS["no_places"].split())
MISTAGGED_PLACES = frozenset(_LISTS["mistagged_places"].split())
KNOWN_ORGANIZATIONS = frozenset(_LISTS["known_organizations"].split())
QUALIFIERS, GENERIC = frozenset(_LISTS["qualifiers"].split()), frozenset(_LISTS["generic"].split())
ORGANIZATIONS, PLACES = tuple(_LISTS["organizations"].split()), tuple(_LISTS["places"].split())
DISTRICTS, GENERIC_DISTRICTS = tuple(_LISTS["districts"].split()), tuple(_LISTS["generic_districts"].split())

_MARKS = {"《": "<", "〈": "<", "》": ">", "〉": ">", "（": "(", "(": "(", "）": ")", ")": ")"}
_WORK = re.compile(rb"<[^<>\n]{1,20}>")
_ORGANIZATION = re.compile(rb"(?:Q*O|[LOPTZEQs])(?:[LOPTZEQNGtD]{0,4}?)o+|L{0,2}Q*O+|B")
_PLAIN = re.compile(rb"[NG]{1,2}o(?!o)")
"""An organization whose name begins with a common noun: where it is named again."""
_PLACE = re.compile(rb"(?:L|[PZ]|Tt*)l+|L")
_PERSON = re.compile(rb"[Tt]*T[Tt]+|T|P|s[NtTG](?![NtTG])|SG")
_BY_SURNAME = re.compile(rb"[sS]L(?![NtTGlo])")
"""A surname and a given name that is a place too: where both stand together again."""
_LONGEST = 9  # unexplained
_SPELLED_ALONE = ("nr", "nrt", "ng", "g", "zg", "x", "j", "nz", "ns", "b", "q")


def find_chinese(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a Chinese name in the corpus, typed; an earlier kind of name goes before a later one."""
    classes = _classes(vocabulary)
    line, token = _lined(classes, vocabulary)
    taken = np.zeros(len(vocabulary.form) + 1, bool)
    forms = frozenset(vocabulary.forms)
    for kind, spans in (
        (WORK, _inner(_WORK, line, token)),
        (PERSON, _dotted(classes, vocabulary)),
        (ORGANIZATION, _matches(_ORGANIZATION, line, token)),
        (ORGANIZATION, _recurring(_matches(_PLAIN, line, token), vocabulary)),
        (PERSON, _recurring(_matches(_BY_SURNAME, line, token), vocabulary)),
        (LOCATION, _matches(_PLACE, line, token)),
        (PERSON, _matches(_PERSON, line, token)),
    ):
        for start, end in spans:
            if end - start <= _LONGEST and not taken[start:end].any():
                name = _whole(joined(vocabulary.written(start, end)).strip('"“”'), kind, forms)
                if fits(name, kind):
                    taken[start:end] = True
                    titled = kind == PERSON and _has_role(start, end, vocabulary)
                    yield Mention(start, end, (name,), titled, kind)


def _whole(name: str, kind: str, forms: frozenset[str]) -> str:
    """Return the name of a place without a character that was taken for its end, where the corpus has it without."""
    glued = kind == LOCATION and len(name) > 3 and name[:-1] in forms and not name.endswith(PLACES)
    return name[:-1] if glued and len(known_words(name)) > 1 else name


def fits(name: str, kind: str) -> bool:
    """Tell whether what has the pattern of a name is long enough to be one, and no word for a kind of thing."""
    if kind == WORK:
        return True
    if kind == ORGANIZATION:
        return name in KNOWN_ORGANIZATIONS or (len(name) > 2 and name not in GENERIC)
    return len(name) > 1 and name not in (NO_PLACES if kind == LOCATION else NO_PERSONS)


def _has_role(start: int, end: int, vocabulary: Vocabulary) -> bool:
    beside = [place for place in (start - 1, end) if 0 <= place < len(vocabulary.form)]
    return any(vocabulary.forms[vocabulary.form[place]] in ROLES for place in beside)


# Classes


def _classes(vocabulary: Vocabulary) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    by_form = "".join(map(_class, vocabulary.forms)).encode()
    return np.frombuffer(by_form, np.uint8)[vocabulary.form]


@lru_cache(WORDS_CACHED)
def _class(form: str) -> str:
    """Return the class of a token.

    L a place, O an organization, B one that is named by one word, P a person, T and t what foreign names are spelled
    with, s a surname, S one that is more often another word, G a given name, Z another name, N a noun, o and l how
    organizations and places end, Q what opens one, E Latin, D a number.
    """
    if form in _MARKS:
        return _MARKS[form]
    if form in DOTS:
        return "."
    if not CJK.match(form):
        return "D" if form[0].isdigit() else "E" if form[0].isalpha() else "x"
    tag = tag_of(form)
    if form in MISTAGGED_PLACES:
        return "L"
    if form in KNOWN_ORGANIZATIONS:
        return "B"
    if form in QUALIFIERS:
        return "Q"
    if form in ORGANIZATIONS:
        return "o"
    if form in PLACES:
        return "l"
    if tag == "nt":
        return "o" if form in GENERIC else "O"
    if tag in ("n", "nz", "nr", "nrt", "l", "x") and form.endswith(ORGANIZATIONS) and len(form) > 2:
        return "o" if tag == "n" else "O"
    if (
        tag in ("n", "x", "nz")
        and len(form) > 2
        and form.endswith(DISTRICTS)
        and not form.endswith(GENERIC_DISTRICTS)
    ):
        return "L"
    if tag == "ns":
        # Guessed to be a place with what stands before it.
        if not CHINESE_STOPWORDS.isdisjoint(known_words(form)):
            return "x"
        return "L" if len(form) > 1 and form not in NO_PLACES else "l" if form in PLACES else "x"
    return _class_of_person(form, tag)


def _class_of_person(form: str, tag: str) -> str:
    foreign = SPELLING.issuperset(form)
    if len(form) == 1:
        if tag.startswith("nr") and form in SURNAMES and form not in VERBAL:
            return "s"
        if foreign and tag in _SPELLED_ALONE:
            return "t"
        return "S" if form in SURNAMES and form not in VERBAL else "x"
    if tag.startswith("nr") and like_person(form) and tag != "nrt":
        return "P"
    if (
        foreign
        and (tag in ("nr", "nrt", "nrfg", "x") or (tag == "nz" and len(form) > 2))
        and not _common(form)
    ):
        return "T"
    if tag in ("nz", "j"):
        return "Z"
    if tag.startswith("nr") and len(form) == 2 and not _common(form):
        return "G"
    return "N" if tag in ("n", "vn", "nrt", "nr", "b", "l") else "x"


def is_person(word: str) -> bool:
    """Tell whether a word is the name of a person."""
    return tag_of(word).startswith("nr") and like_person(word)


def like_person(form: str) -> bool:
    """Tell whether a word is a surname with a given name."""
    surname = (form[0] in SURNAMES and len(form) <= 3) or (
        form[:2] in DOUBLE_SURNAMES and 3 <= len(form) <= 4
    )
    return surname and not _common(form)


def _goes_on(form: str) -> bool:
    """Tell whether what stands behind a surname that is a verb too is its object, as in 任 (to hold an office) 陆军."""
    if len(form) < 3:
        return len(known_words(form)) > 1
    rest = form[1:]
    return len(known_words(rest)) == 1 and (rest in NO_PERSONS or not tag_of(rest).startswith("nr"))


def _common(form: str) -> bool:
    return (
        form in NO_PERSONS or form[-1] in NO_GIVEN or (form[0] in VERBAL and len(form) < 4 and _goes_on(form))
    )


# Where the patterns are


def _lined(
    classes: np.ndarray[tuple[int], np.dtype[np.uint8]], vocabulary: Vocabulary
) -> tuple[bytes, list[int]]:
    """Return the classes with a new line after each sentence, and the token of each place."""
    place = np.arange(len(classes)) + vocabulary.sentence
    line = np.full(len(classes) + len(vocabulary.starts), ord("\n"), np.uint8)
    line[place] = classes
    token = np.full(len(line) + 1, len(classes), np.int64)
    token[place] = np.arange(len(classes))
    return line.tobytes(), token.tolist()


def _matches(pattern: re.Pattern[bytes], line: bytes, token: list[int]) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(line):
        yield token[match.start()], token[match.start()] + match.end() - match.start()


def _recurring(spans: Iterator[tuple[int, int]], vocabulary: Vocabulary) -> Iterator[tuple[int, int]]:
    """Yield the spans whose words are those of another one too, and say more than what kind of thing it is."""
    found = [(span, tuple(vocabulary.written(*span))) for span in spans]
    count = Counter(words for _, words in found)
    vague = vocabulary.rules.vague
    yield from (span for span, words in found if count[words] > 1 and not vague.intersection(words[:-1]))


def _inner(pattern: re.Pattern[bytes], line: bytes, token: list[int]) -> Iterator[tuple[int, int]]:
    for start, end in _matches(pattern, line, token):
        yield start + 1, end - 1


def _dotted(
    classes: np.ndarray[tuple[int], np.dtype[np.uint8]], vocabulary: Vocabulary
) -> Iterator[tuple[int, int]]:
    """Yield names with a dot between their parts, each part as long as its characters are such as names have."""
    places: list[int] = np.flatnonzero(classes == ord(".")).tolist()
    before = -1
    for dot in places:
        if dot < before:
            continue
        start, end = _reach(dot, -1, vocabulary), _reach(dot, 1, vocabulary)
        while end + 1 < len(classes) and classes[end + 1] == ord("."):
            end = _reach(end + 1, 1, vocabulary)
        if start < dot < end:
            before = end + 1
            yield start, end + 1


def _reach(dot: int, step: int, vocabulary: Vocabulary) -> int:
    """Return the farthest token of the part of a name on one side of its dot, the dot itself where there is none."""
    at = dot
    while (
        0 <= at + step < len(vocabulary.form) and vocabulary.sentence[at + step] == vocabulary.sentence[dot]
    ):
        form = vocabulary.forms[int(vocabulary.form[at + step])]
        if not CJK.match(form) or not (SPELLING.issuperset(form) or (at == dot and len(form) < 5)):
            break
        at += step
        if not SPELLING.issuperset(form):
            break
    return at
