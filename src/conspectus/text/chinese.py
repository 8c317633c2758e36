"""Names in Chinese: what a dictionary takes for names, and what ends like an organization or place and begins with one.

Each token is given a class, one letter, as for capitals in `names`. What stands in title marks is a work; names with a
dot, and what is spelled as foreign names are, are persons.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from conspectus.text.language import read_data
from conspectus.text.language_rules import DOTS, joined, tag_of
from conspectus.text.names import Mention
from conspectus.text.types import LOCATION, ORGANIZATION, PERSON, WORK
from conspectus.text.vocabulary import Vocabulary
from conspectus.text.words import CJK, WORDS_CACHED

_LISTS = read_data("chinese_words")
SURNAMES, SPELLING = frozenset(_LISTS["surnames"]), frozenset(_LISTS["spelling"])
NO_GIVEN = frozenset(_LISTS["no_given"])
DOUBLE_SURNAMES, ROLES = frozenset(_LISTS["double_surnames"].split()), frozenset(_LISTS["roles"].split())
NO_PERSONS, NO_PLACES = frozenset(_LISTS["no_persons"].split()), frozenset(_LISTS["no_places"].split())
MISTAGGED_PLACES = frozenset(_LISTS["mistagged_places"].split())
GENERIC = frozenset(_LISTS["generic"].split())
ORGANIZATIONS, PLACES = tuple(_LISTS["organizations"].split()), tuple(_LISTS["places"].split())
DISTRICTS, GENERIC_DISTRICTS = tuple(_LISTS["districts"].split()), tuple(_LISTS["generic_districts"].split())

_MARKS = {"《": "<", "〈": "<", "》": ">", "〉": ">"}
_WORK = re.compile(rb"(?<=<)[^<>\n]{1,9}(?=>)")
_PATTERNS = (
    (ORGANIZATION, re.compile(rb"[LOPZE][LOPZENG]{0,4}o+|L?O")),
    (LOCATION, re.compile(rb"[LPZ]l+|L")),
    (PERSON, re.compile(rb"P|s[NG](?![NG])|SG")),
)
"""Of two names at a place, that of the earlier pattern is taken."""
_DOTTED = re.compile(rb"(?:F+|C)(?:\.(?:F+|C))+")
"""A name with a dot between its parts, each of which is spelled as foreign names are, or a short word."""
_PLAIN = re.compile(rb"[NG]{1,2}o(?!o)")
"""An organization whose name begins with a common noun: where it is named again."""


def find_chinese(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a Chinese name in the corpus, typed."""
    classes, spelled = vocabulary.classes(_class), vocabulary.classes(_class_in_dotted)
    spans = [(WORK, *span) for span in vocabulary.matches(_WORK, classes)]
    spans += ((PERSON, *span) for span in vocabulary.matches(_DOTTED, spelled))
    for kind, pattern in _PATTERNS:
        spans += ((kind, *span) for span in vocabulary.matches(pattern, classes))
    plain = [(span, tuple(vocabulary.written(*span))) for span in vocabulary.matches(_PLAIN, classes)]
    count, vague = Counter(words for _, words in plain), vocabulary.rules.vague
    spans += ((ORGANIZATION, *s) for s, w in plain if count[w] > 1 and vague.isdisjoint(w[:-1]))
    taken = np.zeros(len(vocabulary.form) + 1, bool)
    for kind, start, end in spans:
        name = joined(vocabulary.written(start, end)).strip('"“”')
        if not taken[start:end].any() and _fits(name, kind):
            taken[start:end] = True
            yield Mention(start, end, (name,), False, kind)


@lru_cache(WORDS_CACHED)
def _class(form: str) -> str:
    """Return the class of a token.

    L a place, O an organization, P a person, s a surname, S one that is more often another word, G a given name,
    Z another name, N a noun, o and l how organizations and places end, E Latin, D a number.
    """
    if form in _MARKS or form in DOTS:
        return _MARKS.get(form, ".")
    if not CJK.match(form):
        return "D" if form[0].isdigit() else "E" if form[0].isalpha() else "x"
    tag = tag_of(form)
    if form in ORGANIZATIONS or form in GENERIC:
        return "o"
    if form in PLACES:
        return "l"
    if form in MISTAGGED_PLACES or tag == "ns":
        return "L" if len(form) > 1 and form not in NO_PLACES else "x"
    if tag.startswith("nr"):
        if len(form) == 1:
            return "s" if form in SURNAMES else "x"
        return "P" if like_person(form) else "G" if len(form) == 2 else "N"
    if form in SURNAMES:
        return "S"
    if tag in ("n", "x", "nz") and form.endswith(DISTRICTS) and not form.endswith(GENERIC_DISTRICTS):
        return "L"
    return {"nt": "O", "nz": "Z", "j": "Z"}.get(tag, "N" if tag in ("n", "vn", "b", "l") else "x")


def _class_in_dotted(form: str) -> str:
    """Return the class of a token in names with a dot: F spelled as foreign names are, C another short word."""
    if form in DOTS or not CJK.match(form):
        return "." if form in DOTS else "x"
    return "F" if SPELLING.issuperset(form) else "C" if len(form) < 5 else "x"


def _fits(name: str, kind: str) -> bool:
    """Tell whether what has the pattern of a name is long enough to be one."""
    return len(name) > (kind == ORGANIZATION) + (kind != WORK)


def is_person(word: str) -> bool:
    """Tell whether a word is the name of a person."""
    return tag_of(word).startswith("nr") and like_person(word)


def like_person(form: str) -> bool:
    """Tell whether a word is a surname with a given name."""
    surname = (form[0] in SURNAMES and len(form) <= 3) or (
        form[:2] in DOUBLE_SURNAMES and 3 <= len(form) <= 4
    )
    return surname and form not in NO_PERSONS and form[-1] not in NO_GIVEN
