"""Names: runs of capitalised words, told from words that only open a sentence by how the corpus writes them.

Each token of the corpus is given a class, one letter; a name is then a pattern over these letters. Where a small word
may either stand inside a name or between two ("Bank of England", "head of Marketing"), the corpus decides.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from conspectus.text.language import ENGLISH, function_words, read_word_sets
from conspectus.text.language_rules import OFFICES, LanguageRules
from conspectus.text.types import CALENDAR, GIVEN_NAMES
from conspectus.text.vocabulary import Bools, Codes, Ints, Vocabulary
from conspectus.text.words import INFLECTING, name_key, stem

LONGEST = 7
"""Words in a name at the most; longer runs are headings. With 3, 2.5 points fewer of the sample's names are found (recall
50.4 %); with 14 nothing changes but one hub of a web page."""

LABEL_SHARE = 0.4
"""Share of the uses of a word with a capital that stand before a number, from which on it is a label: 0.49 to 1.0 of
chapter, listing, figure and table, 0.0 to 0.3 of names and countries, in web pages and a handbook of programming."""

_WORD = rb"(?:I\.?|V\.|C|H)"
_RUN = rb"(?:T\.?)*(?:%(w)s(?:P{1,2}(?=[CIHS]))?)*(?:S|%(w)sD?)" % {b"w": _WORD}
_GROUP = re.compile(
    rb"(?=[TIVCHS])%(r)s(?:(?:(?<=S)|Jt*(?=[CIHST]))%(r)s)*" % {b"r": _RUN}
)  # most start no run
_ONE_RUN = re.compile(_RUN)
_POSSESSIVE = ("'s", "’s")


class Mention(NamedTuple):
    """A name as it stands in the corpus: its tokens, and its words as written."""

    start: int
    end: int
    words: tuple[str, ...]
    titled: bool
    """Whether a title such as Dr stands before it."""
    type: str = ""
    """What it names, where its pattern tells."""


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
    """Join neighbours of a group into one name where the corpus writes them together more than apart."""
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
    """Tell whether two runs are one name: together at least as often as apart; looser joints ask for more."""
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
    if a.end == b.start:
        return "'s"
    return " ".join(vocabulary.written(a.end, b.start))


class _Groups:
    """The capitalised runs, those linked by a joint or possessive together: in columns, for there are millions."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._starts, self._kinds, self._ends = array("i"), array("i"), array("i", [0])
        self._first: list[Mention] = []
        """The first run of each kind: others of the same tokens differ in their place alone."""
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
        """Return how often each name stands, by its key, as if all runs were names of their own."""
        keys = [name_key(" ".join(run.words)) for run in self._first]
        return Counter(map(keys.__getitem__, self._kinds))

    def of(self, least: int) -> Iterator[Sequence[Mention]]:
        """Yield the groups of so many runs at least."""
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
        classes[_heads(classes, vocabulary)] = ord("C")
    # "bin Laden" is a name, "Prime" before Minister is none
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
    classes[_labels(classes, vocabulary)[vocabulary.token_word] & (classes == ord("C"))] = ord("x")
    return classes


def _labels(classes: Codes, vocabulary: Vocabulary) -> Bools:
    """Return which words number the parts of a text ("Figure 3", "Chapter 12"), and so name nothing.
    They are written in lower case too, and with a capital mostly before a number, 1, 2 and 3 among them: "Apollo"
    stands alone as well, "SDG" has no lower case, "Interstate" no such numbers.
    """
    name = classes == ord("C")
    before = np.flatnonzero(name & vocabulary.before(classes == ord("D")))
    words, size = vocabulary.token_word, len(vocabulary.words)
    uses = np.bincount(words[name], minlength=size)
    numbered = np.bincount(words[before], minlength=size) > LABEL_SHARE * uses
    first = vocabulary.in_list(frozenset("123"))
    first_numbers = np.unique(_pairs(vocabulary, before[first[words[before + 1]]])) // max(size, 1)
    return numbered & (vocabulary.lower > 0) & (np.bincount(first_numbers, minlength=size) == 3)


def _heads(classes: Codes, vocabulary: Vocabulary) -> Bools:
    """Tell which are the small words that close a name, such as the sea of `Белое море`."""
    word = vocabulary.token_word
    adjective = np.array([w.endswith(_ADJECTIVE_SLAVIC) for w in vocabulary.words], bool)[word]
    return vocabulary.behind(adjective & (classes == ord("C"))) & _is_head(vocabulary)[word]


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
    small = form.rstrip("'’")  # without what it is elided before
    if word == "the" or small in rules.articles:
        return "t"
    if form in rules.particles:
        return "P"
    if small in rules.joints:
        return "J"
    if form.isdigit() and len(form) <= 3:
        return "D"
    if not (form[0].isupper() or form[0].istitle()) or "@" in form:
        return "x"
    if word in rules.titles:
        return "T"
    if word.replace("’", "'") in rules.stop and form not in ("US", "IT", "WHO"):
        return "C" if word in rules.articles and rules.language in _ARTICLES_IN_NAMES else "x"
    if len(form) == 1:  # "O Absalom" calls him, "O. Henry" is one name
        return "V" if form == "O" else "I"
    return "S" if form.endswith(_POSSESSIVE) else "C"


def _usable(vocabulary: Vocabulary, named: Bools) -> Bools:
    """Whether a capital tells of a name: its place does not ask for it, or the corpus writes the word so, or both words
    where no place asks for it ("New York" opens a sentence).
    """
    if vocabulary.rules.nouns_capitalised:
        return _usable_among_nouns(vocabulary, named)
    word, first = vocabulary.token_word, vocabulary.first
    proper = vocabulary.mostly_capitalised[word]
    before_name = vocabulary.before(named & ~first)
    seldom_lower = (vocabulary.lower <= vocabulary.capitalised)[word]
    # a noun may stand right before a name
    if vocabulary.rules.language in INFLECTING:
        head = _is_head(vocabulary)[word]
        seldom_lower &= (vocabulary.capitalised[word] > 0) | _recurring(vocabulary) | head
    usable = ~first | proper | (before_name & seldom_lower)
    doubtful = np.flatnonzero(before_name & ~usable)
    elsewhere = np.flatnonzero(before_name & named & ~first)
    usable[doubtful] = np.isin(_pairs(vocabulary, doubtful), _pairs(vocabulary, elsewhere))
    return usable


def _usable_among_nouns(vocabulary: Vocabulary, named: Bools) -> Bools:
    """The same where all nouns have capitals: words without articles, and what stands beside another capital so that
    it tells: a title or a given name before it, a word that it recurs with, an adjective with a capital of its own
    ("die Deutsche Bank"), a word for an organization ("Universität Heidelberg").
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
    for _ in range(2):  # a name of three words is reached in two steps
        usable |= bare & vocabulary.behind(beside & usable & (given | title | recurs))
    return usable | (head & beside & vocabulary.before(usable))


def _recurring(vocabulary: Vocabulary) -> Bools:
    """Tell of each token whether it stands before the same word again somewhere."""
    pairs = _pairs(vocabulary, np.arange(max(len(vocabulary.form) - 1, 0)))
    _, kind, count = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.append(count[kind] > 1, False)


def _pairs(vocabulary: Vocabulary, tokens: Ints) -> Ints:
    """Return one number for each of some tokens and the next one, the same for the same two words."""
    word = vocabulary.token_word
    return word[tokens].astype(np.int64) * len(vocabulary.words) + word[tokens + 1]


_ARTICLES_IN_NAMES = frozenset("fr es pt it ca ro".split())
"""Languages with names that open with an article: Le Goff, La Paz."""
_ADJECTIVE = ("e", "en", "er", "es", "em")
