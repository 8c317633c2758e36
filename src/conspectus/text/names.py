"""Find names: runs of capitalised words, except words that only have a capital because they open a sentence.

Each token of the corpus is given a class, one letter; a name is then a pattern over these letters. Where a small word
may be part of a name or separate two ("Bank of England", "head of Marketing"), the statistics of the corpus decide.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from conspectus.algorithms.statistics import Bools, Codes, Ints
from conspectus.text.language import ENGLISH, function_words, read_word_sets
from conspectus.text.language_rules import OFFICES, LanguageRules
from conspectus.text.types import CALENDAR, GIVEN_NAMES
from conspectus.text.vocabulary import Vocabulary
from conspectus.text.words import INFLECTING, name_key, stem

LONGEST = 7
"""Maximum number of words in a name; longer runs are headings. With 3, recall of the sample's names is 2.5 points lower
(50.4 %); with 14 nothing changes except one hub of a web page."""

LABEL_SHARE = 0.4
"""Share of a word's capitalised uses that precede a number, above which it is a label of text parts. In web pages and a
handbook of programming it is 0.49 to 1.0 for chapter, listing, figure and table, 0.0 to 0.3 for names and countries."""

_WORD = rb"(?:I\.?|V\.|C|H)"
_RUN = rb"(?:T\.?)*(?:%(w)s(?:P{1,2}(?=[CIHS]))?)*(?:S|%(w)sD?)" % {b"w": _WORD}
_GROUP = re.compile(
    rb"(?=[TIVCHS])%(r)s(?:(?:(?<=S)|Jt*(?=[CIHST]))%(r)s)*" % {b"r": _RUN}
)  # most start no run
_ONE_RUN = re.compile(_RUN)
_POSSESSIVE = ("'s", "’s")
ROMAN = re.compile("[IVX]{2,}")
"""A Roman numeral is part of a name ("World War II"), but none by itself: "III", a stage, was a hub on medquad."""


class Mention(NamedTuple):
    """One occurrence of a name in the corpus: its first token, the one after its last, and its words as written."""

    start: int
    end: int
    words: tuple[str, ...]
    titled: bool
    """Whether a title such as Dr precedes it."""
    type: str = ""
    """The entity type, if the pattern of the name determines it."""


def find_names(vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield every mention of a name in the corpus."""
    groups = _Groups(vocabulary)
    alone = groups.uses()
    joined = Counter(_key(a, b, vocabulary) for group in groups.of(2) for a, b in pairwise(group))
    for group in groups.of(1):
        yield from _joined(group, alone, joined, vocabulary)


def _joined(
    group: Sequence[Mention], alone: Counter[str], joined: Counter[str], vocabulary: Vocabulary
) -> Iterator[Mention]:
    """Yield the names of a group, neighbouring runs joined where the corpus writes them together more than apart."""
    current = group[0]
    before = current
    for run in group[1:]:
        together = joined[_key(before, run, vocabulary)]
        joint = _between(before, run, vocabulary)
        like = vocabulary.rules.joints.get(joint.split()[0].lower().rstrip("'’"), joint)
        if _belongs(together, like, alone, before, run) and len(current.words) + len(run.words) < LONGEST:
            words = (*_with_possessive(current.words, joint), *run.words)
            current = Mention(current.start, run.end, words, current.titled)
        else:
            yield current
            current = run
        before = run
    yield current


def _belongs(together: int, like: str, alone: Counter[str], before: Mention, after: Mention) -> bool:
    """Return whether two runs are one name: together at least as often as apart, or more often for looser joints."""
    if before.titled or (len(before.words) > 1 and before.words[0].lower() in GIVEN_NAMES):
        return False  # a person, not the first half of a longer name
    left, right = (alone[name_key(" ".join(run.words))] - together for run in (before, after))
    match like:
        case "of":
            return left <= together
        case "'s":
            return left <= together or (together > 1 and right == 0)
        case _:
            return together > 1 and max(left, right) <= together // 2


def _with_possessive(words: tuple[str, ...], joint: str) -> tuple[str, ...]:
    return (*words[:-1], words[-1] + "'s") if joint == "'s" else (*words, *joint.split())


def _key(a: Mention, b: Mention, vocabulary: Vocabulary) -> str:
    return name_key(" ".join((*_with_possessive(a.words, _between(a, b, vocabulary)), *b.words)))


def _between(a: Mention, b: Mention, vocabulary: Vocabulary) -> str:
    return "'s" if a.end == b.start else " ".join(vocabulary.written(a.end, b.start))


class _Groups:
    """The groups of capitalised runs that a joint or possessive links; stored in columns, since there are millions."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._starts, self._kinds, self._ends = array("i"), array("i"), array("i", [0])
        self._first: list[Mention] = []
        """The first run of each kind: other runs of the same tokens differ only in their position."""
        known: dict[bytes, int] = {}
        classes = _classes(vocabulary)
        for start, end in vocabulary.matches(_GROUP, classes):
            for match in _ONE_RUN.finditer(classes[start:end].tobytes()):
                first, last = start + match.start(), start + match.end()
                tokens = match.group() + vocabulary.form[first:last].tobytes()
                if (kind := known.setdefault(tokens, len(known))) == len(self._first):
                    self._first.append(_mention(first, match.group(), vocabulary))
                if 0 < len(self._first[kind].words) <= LONGEST:
                    self._starts.append(first)
                    self._kinds.append(kind)
            self._ends.append(len(self._starts))

    def uses(self) -> Counter[str]:
        """Return how often each name occurs, by its key, as if every run were a name of its own."""
        keys = [name_key(" ".join(run.words)) for run in self._first]
        return Counter(map(keys.__getitem__, self._kinds))

    def of(self, least: int) -> Iterator[Sequence[Mention]]:
        """Yield the groups of at least `least` runs."""
        for first, last in pairwise(self._ends):
            if last - first >= least:
                like = map(self._first.__getitem__, self._kinds[first:last])
                runs = zip(self._starts[first:last], like, strict=True)
                yield [Mention(at, at + m.end - m.start, m.words, m.titled) for at, m in runs]


def _mention(begin: int, classes: bytes, vocabulary: Vocabulary) -> Mention:
    forms = vocabulary.written(begin, begin + len(classes))
    titled = classes[:1] == b"T"
    words: list[str] = []
    for kind, form in zip(classes.decode(), forms, strict=True):
        if kind == ".":
            if words:
                words[-1] += "."
        elif kind != "T" or words:
            words.append(form.removesuffix("'s").removesuffix("’s") if kind == "S" else form)
    return Mention(begin, begin + len(classes), tuple(words), titled)


def _classes(vocabulary: Vocabulary) -> Codes:
    """Return the class of each token."""
    classes = vocabulary.classes(lambda form: _class(form, vocabulary.rules))
    named = np.isin(classes, np.frombuffer(b"CISH", np.uint8))
    classes[named & ~_usable(vocabulary, named)] = ord("x")
    if vocabulary.rules.heads:
        # lower-case words that end a name, such as `море` (sea) in `Белое море`
        adjective = np.array([w.endswith(_ADJECTIVE_SLAVIC) for w in vocabulary.words], bool)
        named = adjective[vocabulary.token_word] & (classes == ord("C"))
        head = _is_head(vocabulary)[vocabulary.token_word]
        classes[vocabulary.behind(named) & head] = ord("C")
    # words before an office ("Prime" Minister) are no names; a particle before a name ("bin Laden") is part of it
    if vocabulary.rules.language == ENGLISH:
        office = vocabulary.in_list(OFFICES)[vocabulary.token_word] & (classes == ord("T"))
        for _ in range(LONGEST):
            office = vocabulary.before(office) & (classes == ord("C"))
            classes[office] = ord("x")
        opens = np.array([form in OPENING_PARTICLES for form in vocabulary.forms], bool)
        opening = opens[vocabulary.form[:-1]]
        classes[:-1][opening & (classes[1:] == ord("C"))] = ord("C")
    dated = np.array([form.lower() in CALENDAR for form in vocabulary.forms], bool)[vocabulary.form[:-1]]
    # "Thursday 11" is a date
    classes[:-1][dated & (classes[1:] == ord("D"))] = ord("x")
    classes[_beside_numbers(classes, vocabulary)[vocabulary.token_word] & (classes == ord("C"))] = ord("x")
    return classes


def _beside_numbers(classes: Codes, vocabulary: Vocabulary) -> Bools:
    """Return which words label parts of a text ("Figure 3", "Chapter 12") or are units ("4.2 Ma"), and so name nothing.
    A label also occurs in lower case, and its capitalised uses mostly precede a number, among these 1, 2 and 3.
    "Apollo" is often without a number, "SDG" never in lower case. A unit has two letters and mostly follows a number.
    """
    name, number = classes == ord("C"), np.array([form[0].isdigit() for form in vocabulary.forms], bool)
    before = np.flatnonzero(name & vocabulary.before(classes == ord("D")))
    behind = np.flatnonzero(name & vocabulary.behind(number[vocabulary.form]))
    words, size = vocabulary.token_word, len(vocabulary.words)
    uses, labels, units = (np.bincount(words[at], minlength=size) for at in (name, before, behind))
    numbered = (labels > LABEL_SHARE * uses) & (vocabulary.lower > 0)
    first = vocabulary.in_list(frozenset("123"))
    first_numbers = np.unique(_pairs(vocabulary, before[first[words[before + 1]]])) // max(size, 1)
    short = np.array([len(w) == 2 for w in vocabulary.words], bool)
    return (numbered & (np.bincount(first_numbers, minlength=size) == 3)) | (short & (2 * units > uses))


def _is_head(vocabulary: Vocabulary) -> Bools:
    rules = vocabulary.rules
    return np.array([stem(word, rules.language) in rules.heads for word in vocabulary.words], bool)


_LISTS = read_word_sets("words")
_ADJECTIVE_SLAVIC = tuple(_LISTS["slavic_adjectives"])
OPENING_PARTICLES = _LISTS["opening_particles"]


def _class(form: str, rules: LanguageRules) -> str:
    word = form.lower()
    if form == ".":
        return "."
    small = form.rstrip("'’")  # without the apostrophe of an elision
    if word == "the" or small in rules.articles:
        return "t"
    if form in rules.particles:
        return "P"
    if small in rules.joints:
        return "J"
    if (form.isdigit() and len(form) <= 3) or ROMAN.fullmatch(form):
        return "D"
    if not (form[0].isupper() or form[0].istitle()) or "@" in form:
        return "x"
    if word in rules.titles:
        return "T"
    if word.replace("’", "'") in rules.stop and form not in ("US", "IT", "WHO"):
        return "C" if word in rules.articles and rules.language in _ARTICLES_IN_NAMES else "x"
    if len(form) == 1:  # "O Absalom" addresses him, "O. Henry" is one name
        return "V" if form == "O" else "I"
    return "S" if form.endswith(_POSSESSIVE) else "C"


def _usable(vocabulary: Vocabulary, named: Bools) -> Bools:
    """Return for which tokens a capital indicates a name: its position does not require one, the corpus mostly writes
    the word so, or it has the same two words capitalised inside a sentence, too (where "New York" opens one).
    """
    if vocabulary.rules.nouns_capitalised:
        return _usable_among_nouns(vocabulary, named)
    word, first = vocabulary.token_word, vocabulary.first
    proper = vocabulary.mostly_capitalised[word]
    before_name = vocabulary.before(named & ~first)
    seldom_lower = (vocabulary.lower <= vocabulary.capitalised)[word]
    # in inflecting languages a common noun may directly precede a name
    if vocabulary.rules.language in INFLECTING:
        head = _is_head(vocabulary)[word]
        seldom_lower &= (vocabulary.capitalised[word] > 0) | _recurring(vocabulary) | head
    usable = ~first | proper | (before_name & seldom_lower)
    doubtful = np.flatnonzero(before_name & ~usable)
    elsewhere = np.flatnonzero(before_name & named & ~first)
    usable[doubtful] = np.isin(_pairs(vocabulary, doubtful), _pairs(vocabulary, elsewhere))
    return usable


def _usable_among_nouns(vocabulary: Vocabulary, named: Bools) -> Bools:
    """Return the same where all nouns have capitals: proper nouns, and words whose capitalised neighbour indicates it,
    such as a title or given name before them, a word that they recur with, an adjective with a capital of its own
    ("die Deutsche Bank"), or a word for an organization ("Universität Heidelberg").
    """
    rules, word = vocabulary.rules, vocabulary.token_word
    beside = named & vocabulary.before(named)
    title, given, article = (
        vocabulary.in_list(words)[word] for words in (rules.titles, GIVEN_NAMES, rules.articles)
    )
    head, noun, adjective = (
        np.array([w.endswith(ends) for w in vocabulary.words], bool)[word]
        for ends in (function_words(rules.language, "organizations"), rules.noun_endings, _ADJECTIVE)
    )
    bare = (vocabulary.with_article[word] == 0) & ~noun
    recurs = _recurring(vocabulary)
    opens = beside & adjective & vocabulary.behind(article)
    usable = vocabulary.proper_noun[word] | (given & named & bare) | opens
    usable |= named & vocabulary.behind(title) | vocabulary.behind(opens)
    for _ in range(2):  # the third word of a name is reached in the second step
        usable |= bare & vocabulary.behind(beside & usable & (given | title | recurs))
    return usable | (head & beside & vocabulary.before(usable))


def _recurring(vocabulary: Vocabulary) -> Bools:
    """Return for each token whether its word precedes the same next word elsewhere, too."""
    pairs = _pairs(vocabulary, np.arange(max(len(vocabulary.form) - 1, 0)))
    _, kind, count = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.append(count[kind] > 1, False)


def _pairs(vocabulary: Vocabulary, tokens: Ints) -> Ints:
    """Return a number for each of some tokens and the token after it, equal for equal pairs of words."""
    word = vocabulary.token_word
    return word[tokens].astype(np.int64) * len(vocabulary.words) + word[tokens + 1]


_ARTICLES_IN_NAMES = frozenset("fr es pt it ca ro".split())
"""Languages in which names may open with an article: Le Goff, La Paz."""
_ADJECTIVE = ("e", "en", "er", "es", "em")
