"""Plans: which ways through a graph a question seems to ask for, by its words and the graph's own statistics.

A plan is a sequence of relations from what a question names to what it asks for. It is held against the
question whole: each word should be said by a relation of the plan, each relation by a word; the end should be
of the kind that is asked for; and what stands nearer to the name in the question should be gone sooner.
Nothing here knows a graph: kinds are read off the ends of relations and their labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np

from conspectus.text.words import WH, is_content, likeness, name_key, root, roots_of_label, words_of_label
from conspectus.triple_graph import TripleGraph

BEAM = 60  # unexplained
"""Plans that are carried on from one length to the next."""
SAMPLE = 300  # unexplained
"""Names that are looked at to tell what a way arrives at."""
LENGTH = 0.12  # unexplained
"""What each step of a plan costs, beside 1 for all words of the question."""
UNEXPRESSED_COST = 0.35  # unexplained
"""What a relation costs that no word of the question says."""
KIND = 0.6  # unexplained
"""What it costs to end at another kind of thing than is asked for."""
ORDER = 0.3  # unexplained
"""What it costs to go first what stands farther from the name."""
BACK = 0.4  # unexplained
"""What it costs to go a way there and back where no word is left over that could name the things come back
to.
"""
AGAINST = 0.03  # unexplained
"""What it costs to go against a relation."""
SELDOM = 0.1  # unexplained
"""What it costs to go on by a way that few of the names arrived at have."""
PLANS_CACHED = 1000
"""Names whose plans are cached, by question; one search asks for those of a beam of names, again at each step."""
WORDS = 1 << 12  # unexplained
"""Words of questions of which it is cached which relations express them; a question has some 10, at most some 3,000."""
ARRIVING = 0.9  # unexplained
"""How much what leads to a place says where, beside a relation that says place itself."""
EXPRESSES = 0.5  # unexplained
"""From which likeness on a word says a relation."""

_YEAR = re.compile(r"\b\d{3,4}\b")
_NUMBER = re.compile(r"[\d.,]+%?")
_WHERE = root("where")
_PEOPLE = frozenset(
    map(
        root,
        "actor director writer spouse wife husband child son daughter parent father mother sibling brother sister "
        "author member leader founder player president minister coach friend".split(),
    )
)


@dataclass(frozen=True)
class RelationPath:
    """Ways to go one after the other (see `triples.Ways`), and how well they fit the question, 1 at best."""

    ways: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class Expressed:
    """Which words of one question a relation expresses, and how well, 0 to 1; words that it does not are left out."""

    words: dict[int, float]
    """By the number of the word among the different words of the question."""
    best: float
    distance: float
    """The mean distance from the name of the words that it expresses best."""


NOTHING = Expressed({}, 0.0, 0.0)


class QuestionWords:
    """The words of one question, and what the relations of a graph express of them.

    What is looked up here for each plan is made once for a question, so that a plan costs nothing for the words that
    no relation of it expresses: a question may have 3,000 words, and a graph some 10,000 plans.
    """

    def __init__(self, asked: GraphQuestion, finder: PathFinder) -> None:
        self.asked = asked
        words = {word: number for number, word in enumerate(dict.fromkeys(asked.roots))}
        expressing = [finder.expressing(word) for word in words]
        self.best = [max(relations.values(), default=0.0) for relations in expressing]
        self.total = sum(self.best)
        self.all_expressed = all(self.best)
        self._distances: list[list[tuple[int, float]]] = [[] for _ in words]
        for place, (word, distance) in enumerate(zip(asked.roots, asked.distance, strict=True)):
            self._distances[words[word]].append((place, distance))
        by_relation: dict[int, dict[int, float]] = {}
        for number, relations in enumerate(expressing):
            for relation, value in relations.items():
                by_relation.setdefault(relation, {})[number] = value
        self._relations = {relation: self._expressed(values) for relation, values in by_relation.items()}

    def _expressed(self, words: dict[int, float]) -> Expressed:
        best = max(words.values())
        at_best = sorted(at for number, value in words.items() if value == best for at in self._distances[number])
        return Expressed(words, best, float(np.mean([distance for _, distance in at_best])))

    def by(self, relation: int) -> Expressed:
        """Return what a relation expresses."""
        return self._relations.get(relation, NOTHING)

    def share(self, relations: Sequence[int]) -> float:
        """Return the share that these relations express of the words that any relation of the graph does."""
        if not self.total:
            return 0.0
        each = [self.by(relation).words for relation in relations]
        numbers = sorted({number for words in each for number in words})
        return sum(min(self.best[n], max(words.get(n, 0.0) for words in each)) for n in numbers) / self.total


class PathFinder:
    """Makes plans over one graph."""

    def __init__(self, graph: TripleGraph) -> None:
        self.graph = graph
        self._number = {label: i for i, label in enumerate(graph.relations)}
        self._relations_with: dict[str, list[int]] = {}
        for relation, label in enumerate(graph.relations):
            for part in roots_of_label(label):
                self._relations_with.setdefault(part, []).append(relation)
        self.feasible = lru_cache(PLANS_CACHED)(self._feasible)
        self.kind = cache(self._kind)
        self.expressing = lru_cache(WORDS)(self._expressing)

    def plans(self, question: str, name: int, depth: int, most: int = 20) -> list[RelationPath]:
        """Return plans of at most `depth` steps from a name, the best first."""
        asked = QuestionWords(parse(question, self.graph.names[name]), self)
        ways = self.graph.ways
        done: list[RelationPath] = []
        open_: list[tuple[int, ...]] = [(way,) for way in ways.of(name)]
        for length in range(1, depth + 1):
            scored = [RelationPath(path, self.score(asked, path)) for path in open_]
            done += scored
            if length == depth:
                break
            promising = sorted(open_, key=lambda p: (-self._promise(asked, p), p))[:BEAM]
            open_ = [(*path, way) for path in promising for way in sorted(ways.follow(path[-1]))]
        return sorted(done, key=lambda p: (-p.score, len(p.ways), p.ways))[:most]

    def way(self, relation: str, inverse: bool) -> int:
        """Return the number of a way, -1 where the graph has no such relation."""
        number = self._number.get(relation)
        return -1 if number is None else 2 * number + inverse

    def _feasible(self, question: str, name: int, depth: int) -> list[RelationPath]:
        """Return the plans from a name that lead somewhere, the best first."""
        return [p for p in self.plans(question, name, depth) if self.ends(name, p.ways)]

    def ends(self, name: int, ways: Sequence[int]) -> list[int]:
        """Return the names at the end of a plan, in order; a name that was passed is not gone to again."""
        here, passed = [name], {name}
        for way in ways:
            there = {s.to for n in here for s in self.graph.steps(n) if 2 * s.relation + s.inverse == way}
            here = sorted(there - passed)
            passed |= there
        return here

    def score(self, asked: QuestionWords, path: Sequence[int]) -> float:
        """Return how well a path fits a question."""
        relations = list(dict.fromkeys(way // 2 for way in path))
        unsaid = sum(1 - asked.by(r).best for r in relations)
        kind = self._fit(asked.asked, path[-1])
        against = sum(way & 1 for way in path)
        return (
            asked.share(relations)
            - UNEXPRESSED_COST * unsaid
            - KIND * (1 - kind)
            - ORDER * self._disorder(asked, path)
            - LENGTH * len(path)
            - AGAINST * against
            - BACK * self._back(asked, path)
            - SELDOM * sum(1 - self.graph.ways.follow(a).get(b, 0.0) for a, b in pairwise(path))
        )

    def _back(self, asked: QuestionWords, path: Sequence[int]) -> bool:
        return not asked.asked.sharing and any(a ^ 1 == b for a, b in pairwise(path)) and asked.all_expressed

    def _promise(self, asked: QuestionWords, path: Sequence[int]) -> float:
        relations = list(dict.fromkeys(way // 2 for way in path))
        unsaid = sum(1 - asked.by(r).best for r in relations)
        return asked.share(relations) - UNEXPRESSED_COST * unsaid - ORDER * self._disorder(asked, path)

    def _expressing(self, word: str) -> dict[int, float]:
        """Return the relations that express a word, and how well, 0 to 1."""
        values: dict[int, float] = {}
        for part, relations in self._relations_with.items():
            like = likeness(word, part)
            if like >= EXPRESSES:
                values |= {relation: max(like, values.get(relation, 0.0)) for relation in relations}
        if word == _WHERE:
            lacking = (r for r in range(len(self.graph.relations)) if values.get(r, 0.0) < ARRIVING)
            values |= dict.fromkeys(filter(self._leads_somewhere, lacking), ARRIVING)
        return values

    def _leads_somewhere(self, relation: int) -> bool:
        """Tell whether a relation, as `born in`, says by itself where its head is or was."""
        return self._ends_at_place(relation) and self.kind(2 * relation) == ""

    def _ends_at_place(self, relation: int) -> bool:
        return self.graph.relations[relation].replace("_", " ").lower().split()[-1:] in (["in"], ["at"], ["near"])

    def _fit(self, asked: GraphQuestion, last: int) -> float:
        """Return how well what a way arrives at fits what is asked for, 0 to 1."""
        relation, inverse = last // 2, last & 1
        if asked.focus:
            expressing = self.expressing(asked.focus)
            if expressing:
                return 0.0 if inverse else expressing.get(relation, 0.0) / max(expressing.values())
            return 1.0 if inverse else 0.2
        kind = self.kind(last)
        if asked.wants:
            return 1.0 if kind == asked.wants else 0.5 if not kind and asked.wants == "place" else 0.0
        return 0.7

    def _kind(self, way: int) -> str:
        """Return what a way arrives at: person, date, number, or "" for things of no such kind."""
        arrived = self.graph.ways.names(way ^ 1)
        step = max(1, len(arrived) // SAMPLE)
        names: list[str] = [self.graph.names[i] for i in arrived[::step].tolist()]
        if np.mean([bool(_YEAR.search(n)) and len(n) < 20 for n in names]) > 0.8:
            return "date"
        if np.mean([bool(_NUMBER.fullmatch(n)) for n in names]) > 0.8:
            return "number"
        if not way & 1 and self._ends_at_place(way // 2):
            return ""
        person = float(np.mean([_like_person(n) for n in names]))
        words = words_of_label(self.graph.relations[way // 2])
        agent = not way & 1 and ("by" in words or bool(_PEOPLE & {root(w) for w in words}))
        if person + 0.2 * agent > 0.75:
            return "person"
        return ""

    def _disorder(self, asked: QuestionWords, path: Sequence[int]) -> float:
        """Return the share of pairs of steps that go first what the question says farther from the name."""
        places: list[float] = []
        before = -1
        for way in path:
            expressed = asked.by(way // 2)
            if expressed.best and way // 2 != before:
                places.append(expressed.distance)
            before = way // 2
        pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :]]
        return sum(a > b for a, b in pairs) / len(pairs) if pairs else 0.0


def _like_person(name: str) -> bool:
    words = name.split()
    return 2 <= len(words) <= 4 and words[0].lower() not in ("the", "a", "an") and all(
        w[0].isupper() and not any(c.isdigit() for c in w) for w in words
    )  # fmt: skip


_TOKEN = re.compile(r"[^\W_]+")
_ADJECTIVE = re.compile(r"^(?:main|first|last|other|own|real)$|.(?:ary|ial|ional|ive|ous|ful|ish)$")
_DOES, _IS = frozenset("do does did".split()), frozenset("is are was were".split())
_TELLING = frozenset(("when", "where"))
"""Question words that a relation's label may say: year, place."""
_PERSONS = frozenset("who whom whose person people".split())
_SHARING = frozenset(
    "co same share shares shared sharing common together also both fellow other another alongside".split()
)
_ASKING = frozenset("name list give tell show me find please also same".split())


@dataclass(frozen=True)
class GraphQuestion:
    """A question without the name it starts from: its words with how far each stands from that name."""

    roots: tuple[str, ...]
    distance: tuple[float, ...]
    focus: str
    """The root of the noun that is asked for (`movies` of which movies), "" where the question names no kind.
    """
    wants: str
    """person, date, number, place, or ""."""
    sharing: bool
    """Whether it asks for what has something in common, which is found by going there and back."""


def parse(question: str, name: str) -> GraphQuestion:
    """Read a question that names `name`."""
    words = _TOKEN.findall(name_key(question))
    inside = _span(words, _TOKEN.findall(name_key(name)))
    wh = next((i for i, w in enumerate(words) if w in WH and i not in inside), 0)
    inverted = _inverted(words[wh + 1 : inside.start])
    roots: list[str] = []
    distance: list[float] = []
    for i, word in enumerate(words):
        if (word not in _TELLING and (word in WH | _ASKING | _PERSONS or not is_content(word))) or i in inside:
            continue
        roots.append(root(word))
        distance.append(_distance(i, wh, inside, len(words)) + 2 * len(words) * (inverted and i >= inside.stop))
    return GraphQuestion(
        tuple(roots),
        tuple(distance),
        _focus(words, wh, inside),
        _wants(words, wh),
        bool(_SHARING & set(words)),
    )


def _inverted(words: Sequence[str]) -> bool:
    """Tell by the words between the question word and the name whether the verb behind the name is what is asked.

    "What did the friend of NAME write?" asks for the friend first, "the film that NAME wrote" for the film.
    """
    asks = next((i for i, word in enumerate(words) if word in _DOES | _IS), len(words))
    if (WH | {"that"}).intersection(words[asks:]):
        return False
    return any(word in _DOES for word in words[asks:]) or words[asks + 1 : asks + 2] in (["the"], ["a"], ["an"])


def _span(words: Sequence[str], name: Sequence[str]) -> range:
    for i in range(len(words) - len(name) + 1):
        if list(words[i : i + len(name)]) == list(name):
            return range(i, i + len(name))
    return range(len(words), len(words))


def _distance(place: int, wh: int, name: range, length: int) -> float:
    """Return how far a word is from the name on the way to the question word: words beyond the name come
    first.
    """
    left = place < name.start
    steps = name.start - place if left else place - name.stop + 1
    towards = left == (wh < name.start)
    return steps + (length if towards else 0.0)


def _focus(words: Sequence[str], wh: int, name: range) -> str:
    """Return the root of the noun after `which` or `what`, also where a form of `to be` stands between."""
    if not words or words[wh] not in ("which", "what"):
        return ""
    for i in range(wh + 1, len(words)):
        if i in name or words[i] in ("do", "does", "did", "has", "have", "had"):
            return ""
        if is_content(words[i]) and words[i] not in _ASKING and not _ADJECTIVE.search(words[i]):
            return "" if words[i] in _PERSONS else root(words[i])
    return ""


def _wants(words: Sequence[str], wh: int) -> str:
    after = words[wh + 1 : wh + 3]
    match words[wh] if words else "":
        case "who" | "whom" | "whose":
            return "person"
        case "when":
            return "date"
        case "where":
            return "place"
        case "how":
            return "number" if after[:1] in (["many"], ["much"]) else ""
        case "which" | "what":
            return "person" if after and after[0] in _PERSONS else ""
        case _:
            return "person" if _PERSONS & set(words) else ""
