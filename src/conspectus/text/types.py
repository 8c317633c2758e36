"""Determine the entity type of a name, from its words and the words around it."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from conspectus.text.language import ENGLISH, function_words, read_word_sets
from conspectus.text.language_rules import SLAVIC, UNCASED
from conspectus.text.words import stem

PERSON, ORGANIZATION, LOCATION = "person", "organization", "location"
EVENT, DATE, WORK, CONCEPT = "event", "date", "work", "concept"
ALL = (PERSON, ORGANIZATION, LOCATION, EVENT, DATE, WORK, CONCEPT)

_LISTS = read_word_sets("gazetteer")
GIVEN_NAMES, NATIONALITIES = _LISTS["given_names"], _LISTS["nationalities"]
CALENDAR, ROLES, CURRENCIES = _LISTS["calendar"], _LISTS["roles"], _LISTS["currencies"]
ORGANIZATION_WORDS = _LISTS["organization_words"]
_PLACES = frozenset(name.replace("_", " ") for name in _LISTS["countries_and_cities"])
_PLACES_AND_NATIONALITIES = _PLACES | NATIONALITIES
_TYPES_OF_WORDS = (ORGANIZATION, EVENT, LOCATION, WORK, CONCEPT)


@dataclass(slots=True)
class Candidate:
    """An entity candidate: what is known about a name while its mentions are collected."""

    forms: Counter[tuple[str, ...]] = field(default_factory=Counter[tuple[str, ...]])
    kinds: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How often the patterns of its mentions indicate each type."""
    type: str = ""
    positions: array[int] = field(default_factory=lambda: array("q"))
    """Distinct sentence, in the upper 32 bits, and token offset of each mention."""
    before: int = 0
    """Number of its mentions with a word before them; the words themselves would take more memory than the names."""
    after: int = 0
    located: float = 0.0
    """Sum over the words before its mentions: 1 for each word that indicates a place, 0.5 for "at"."""
    titled: int = 0
    """How often a title such as Dr precedes it."""
    speaks: bool = False
    """Whether it is the label of a speaker."""
    quoted: int = 0

    def note(self, sentence: int, offset: int) -> None:
        """Record the position of a mention."""
        self.positions.append((sentence << 32) + offset)

    def note_before(self, word: str) -> None:
        """Record the word before a mention."""
        self.before += 1
        self.located += 0.5 if word == "at" else word in _LISTS["before_places"]


def type_of(
    words: tuple[str, ...],
    candidate: Candidate,
    first_names: frozenset[str],
    never_lower: bool,
    language: str = ENGLISH,
) -> str:
    """Return the type of a name.

    The first of these that applies decides: being a speaker's label or having a title before it, the list of places, a
    word of the name that denotes a type, a first name or capitals without exception, the words around it; otherwise it
    is a concept. `first_names` are those of the list and of the corpus's speakers; `never_lower` means that the corpus
    writes none of the name's words in lower case, as with the names of people.
    """
    lower = [w.lower().rstrip(".") for w in words]
    mentions = max(candidate.before, candidate.after, 1)
    if candidate.speaks or candidate.titled >= max(1, 0.25 * mentions):
        return PERSON
    if " ".join(lower) in _PLACES:
        return LOCATION
    by_words = _type_by_words(lower) if len(words) > 1 else ""
    if not by_words and language != ENGLISH:
        by_words = _type_by_foreign_words(lower, language)
    if by_words:
        return by_words
    score = {PERSON: 0.0, WORK: 2.0 * candidate.quoted, LOCATION: candidate.located}
    if len(words) <= 4 and lower[0] in first_names:
        score[PERSON] += 2 + 0.5 * mentions
    elif (
        2 <= len(words) <= 3
        and never_lower
        and language not in UNCASED  # in these, Latin letters are not only used for people
        and _PLACES_AND_NATIONALITIES.isdisjoint((lower[0], lower[-1]))
    ):
        score[PERSON] += 1.5 + 0.25 * mentions
    best = max(score, key=lambda kind: score[kind])
    return best if score[best] >= max(1.5, 0.25 * mentions) else CONCEPT


def _type_by_words(lower: list[str]) -> str:
    """Return the type that the last word of a name indicates, or in "Bank of X" the word before "of"."""
    ends = [lower[lower.index("of", 1) - 1]] if "of" in lower[1:] else []
    if ends == ["bank"]:  # any other "bank" may be that of a river
        return ORGANIZATION
    for end in (*ends, lower[-1]):
        for kind in _TYPES_OF_WORDS:
            if not _LISTS[f"{kind}_words"].isdisjoint((end, end.removesuffix("s"))):
                return kind
    return LOCATION if lower[0] in _LISTS["before_names_of_places"] else ""


def words_of_kinds(language: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return for organizations and places the words of a language, or ends of compounds, that indicate the type."""
    kinds = (ORGANIZATION, "organizations"), (LOCATION, "places")
    return tuple((kind, function_words(language, listed)) for kind, listed in kinds)


def _type_by_foreign_words(lower: list[str], language: str) -> str:
    """Return the type that any word of a name, or the end of a compound, indicates in another language than English."""
    for kind, words in words_of_kinds(language):
        stems = {stem(word, language) for word in words} if language in SLAVIC or language == "el" else ()
        for word in lower:
            if (
                word in words
                or stem(word, language) in stems
                or (language in _COMPOUNDING and len(word) > 7 and word.endswith(words))
            ):
                return kind
    return ""


_COMPOUNDING = frozenset(("de", "nl", "sv", "da", "no"))
