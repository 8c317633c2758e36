"""Find the paths of relations that a question seems to ask for, by its words and the graph's own statistics.

A path leads from what a question names to what it asks for. It is compared with the whole question: each word should be
expressed by a relation of the path, and each relation by a word; the end should be of the requested type; and words
nearer to the name in the question should be expressed earlier on the path. Nothing here is specific to one graph: types
are inferred from the ends of relations and their labels. A step is written as its way (see `triple_graph.Ways`): the
number of the relation times 2, plus 1 if it is followed against its direction. Words are compared by their roots and
meanings (`likeness`).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations, groupby, pairwise

import numpy as np

from conspectus.index import Index
from conspectus.text.language import read_data, read_word_sets
from conspectus.text.question import read_question
from conspectus.text.words import WORDS_CACHED, fold, is_content, name_key, stem
from conspectus.triple_graph import TripleGraph

# Figures: of MetaQA's questions of one, two and three steps, 100 each, 98, 99 and 95 % are answered correctly
BEAM = 60
"""Paths that are extended at each length: with 1, 35 % of three-step questions; half or double changes nothing."""
SAMPLE = 300
"""Names from which the type that a way leads to is inferred: with 1, 90 and 83 % of two- and three-step questions."""
STEP_COST = 0.12
"""Cost of each step of a path, where all words of the question score 1: with double, 63 % of three steps. MetaQA's are
as good with 0; but then a ship was built when other ships of its builder were, too (a test)."""
UNEXPRESSED_COST = 0.35
"""Cost of a relation that no word expresses: with 0, 92 and 77 % of two and three steps; with double 2 % fewer."""
WRONG_KIND_COST = 0.6
"""Cost of ending at another type than is requested: with 0, 65 and 73 % of two and three steps."""
DISORDER_COST = 0.3
"""Cost of expressing words that are farther from the name first: with 0, 76 % of three steps, with half 90 %."""
RETURN_COST = 0.4
"""Cost of following a way there and back if no unexpressed word could name the things returned to. MetaQA's are as good
with 0; but then, too, a ship was built when other ships of its builder were."""
RARE_STEP_COST = 0.1
"""Cost of continuing by a way that few names have: with 0, 84 % of three steps; half or double changes 1 %."""
CACHED_PATHS = 1000
"""Pairs of question and name whose paths are cached; one search requests those of a beam of names at each step."""
MIN_LIKENESS = 0.5
"""Least likeness at which a word expresses a relation: with 1 (the same word), 92 and 84 % of two and three steps."""

_YEAR = re.compile(r"\b\d{3,4}\b")
_NUMBER = re.compile(r"[\d.,]+%?")
_TOKEN = re.compile(r"[^\W_]+")
_ADJECTIVE = re.compile(r"^(?:main|first|last|other|own|real)$|.(?:ary|ial|ional|ive|ous|ful|ish)$")
_WH = frozenset("what which who whom whose when where why how whether".split())
_DO, _BE = frozenset("do does did".split()), frozenset("is are was were".split())
_EXPRESSIVE = frozenset(("when", "where"))
"""Question words that a relation's label may express: year, place."""
_TO_PLACES = (" in", " at", " near")
"""Endings of relations that lead to places."""
_LISTS = read_word_sets("words")
_PERSON_WORDS, _SHARING = _LISTS["person_words"], _LISTS["sharing_words"]
_REQUESTS = _LISTS["request_words"]


@dataclass(frozen=True)
class RelationPath:
    """Ways to follow one after the other, and how well they fit the question, 1 at best."""

    ways: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class GraphQuestion:
    """A question without the name it starts from: the roots of its words, and their distances from that name."""

    roots: tuple[str, ...]
    distance: tuple[float, ...]
    focus: str
    """The root of the noun that is asked for (`movies` of which movies), "" if the question names no type."""
    wants: str
    """person, date, number, place, or ""."""
    sharing: bool
    """Whether it asks for things that have something in common, which are reached by going there and back."""


class QuestionWords:
    """The words of one question, and which of them the relations of a graph express.

    What scoring needs for each path is computed once per question, so that words that no relation expresses cost a path
    nothing: a question may have 3,000 words, and a graph some 10,000 paths.
    """

    def __init__(self, question: GraphQuestion, finder: PathFinder) -> None:
        self.question = question
        self._best_of_word: dict[str, float] = {}
        self._by_relation: defaultdict[int, dict[str, float]] = defaultdict(dict)
        distances: defaultdict[str, list[float]] = defaultdict(list)
        for word, distance in zip(question.roots, question.distance, strict=True):
            distances[word].append(distance)
        for word in distances:
            relations = finder.relations_expressing(word)
            self._best_of_word[word] = max(relations.values(), default=0.0)
            for relation, value in relations.items():
                self._by_relation[relation][word] = value
        self._total = math.fsum(self._best_of_word.values())
        self.all_expressed = all(self._best_of_word.values())
        self.best = {relation: max(words.values()) for relation, words in self._by_relation.items()}
        """How well each relation expresses the word that it expresses best, 0 to 1."""
        self.distance: dict[int, float] = {}
        """The mean distance from the name of the words that each relation expresses best."""
        for relation, words in self._by_relation.items():
            at_best = [distances[word] for word, value in words.items() if value == self.best[relation]]
            self.distance[relation] = float(np.mean([*chain.from_iterable(at_best)]))

    def share(self, relations: Sequence[int]) -> float:
        """Return how much these relations express of all that any relation of the graph expresses, 0 to 1."""
        if not self._total:
            return 0.0
        expressed: dict[str, float] = {}
        for relation in relations:
            for word, value in self._by_relation.get(relation, {}).items():
                expressed[word] = max(value, expressed.get(word, 0.0))
        return math.fsum(expressed.values()) / self._total


class PathFinder:
    """Finds paths of relations in the graph of an index."""

    def __init__(self, index: Index) -> None:
        self.graph = graph = TripleGraph.of(index)
        self._number_of_label = {label: i for i, label in enumerate(graph.relations)}
        self._relations_of_root: dict[str, list[int]] = {}
        for relation, label in enumerate(graph.relations):
            for part in roots_of_label(label):
                self._relations_of_root.setdefault(part, []).append(relation)
        self.paths = lru_cache(CACHED_PATHS)(self._paths)
        self.kind = cache(self._kind)
        self.relations_expressing = lru_cache(WORDS_CACHED)(self._relations_expressing)

    def way(self, relation: str, inverse: bool) -> int:
        """Return the number of a way, -1 if the graph has no such relation."""
        number = self._number_of_label.get(relation)
        return -1 if number is None else 2 * number + inverse

    def ends(self, name: int, ways: Sequence[int]) -> list[int]:
        """Return the names at the end of a path, ascending; names that were passed are not visited again."""
        here, passed = [name], {name}
        for way in ways:
            there = {s.to for n in here for s in self.graph.steps(n) if 2 * s.relation + s.inverse == way}
            here = sorted(there - passed)
            passed |= there
        return here

    def _paths(self, question: str, name: int, depth: int, most: int = 20) -> list[RelationPath]:
        """Return at most `most` paths of at most `depth` steps from a name that reach something, the best first."""
        words = QuestionWords(parse(question, self.graph.names[name]), self)
        ways = self.graph.ways
        scored: list[RelationPath] = []
        beam: list[tuple[int, ...]] = [(way,) for way in ways.of(name)]
        for length in range(1, depth + 1):
            scored += [RelationPath(path, self._score(words, path)) for path in beam]
            if length < depth:
                promising = sorted(beam, key=lambda path: (-self._promise(words, path), path))[:BEAM]
                beam = [(*path, way) for path in promising for way in sorted(ways.follow(path[-1]))]
        best = sorted(scored, key=lambda path: (-path.score, len(path.ways), path.ways))[:most]
        return [path for path in best if self.ends(name, path.ways)]

    def _score(self, words: QuestionWords, path: Sequence[int]) -> float:
        """Return how well a path fits a question."""
        returns = any(one ^ 1 == other for one, other in pairwise(path))
        needless_return = returns and words.all_expressed and not words.question.sharing
        follow = self.graph.ways.follow
        rarity = sum(1 - follow(one).get(other, 0.0) for one, other in pairwise(path))
        return (
            self._promise(words, path)
            - WRONG_KIND_COST * (1 - self._kind_fit(words.question, path[-1]))
            - STEP_COST * len(path)
            - RETURN_COST * needless_return
            - RARE_STEP_COST * rarity
        )

    def _promise(self, words: QuestionWords, path: Sequence[int]) -> float:
        """Return how well the relations of a path and the words of a question match, wherever the path ends."""
        relations = list(dict.fromkeys(way // 2 for way in path))
        unexpressed = sum(1 - words.best.get(relation, 0.0) for relation in relations)
        return (
            words.share(relations) - UNEXPRESSED_COST * unexpressed - DISORDER_COST * _disorder(words, path)
        )

    def _relations_expressing(self, word: str) -> dict[int, float]:
        """Return the relations that express a word, and how well, 0 to 1."""
        values: dict[int, float] = {}
        for part, relations in self._relations_of_root.items():
            like = likeness(word, part)
            if like >= MIN_LIKENESS:
                values |= {relation: max(like, values.get(relation, 0.0)) for relation in relations}
        return values

    def _kind_fit(self, question: GraphQuestion, last: int) -> float:
        """Return how well what the last way leads to fits the requested type, 0 to 1."""
        relation, inverse = last // 2, last & 1
        if question.focus:
            expressing = self.relations_expressing(question.focus)
            if expressing:
                return 0.0 if inverse else expressing.get(relation, 0.0) / max(expressing.values())
            return 1.0 if inverse else 0.2
        if not question.wants:
            return 0.7
        kind = self.kind(last)
        if kind == question.wants:
            return 1.0
        return 0.5 if not kind and question.wants == "place" else 0.0

    def _kind(self, way: int) -> str:
        """Return the type of what a way leads to: person, date, number, or "" for other things."""
        arrived = self.graph.ways.names(way ^ 1)
        step = max(1, len(arrived) // SAMPLE)
        names: list[str] = [self.graph.names[i] for i in arrived[::step].tolist()]
        if np.mean([bool(_YEAR.search(name)) and len(name) < 20 for name in names]) > 0.8:
            return "date"
        if np.mean([bool(_NUMBER.fullmatch(name)) for name in names]) > 0.8:
            return "number"
        relation, inverse = way // 2, way & 1
        if not inverse and f" {self.graph.relations[relation]}".replace("_", " ").endswith(_TO_PLACES):
            return ""
        person = float(np.mean([_looks_like_person(name) for name in names]))
        return "person" if person > 0.75 else ""


def _disorder(words: QuestionWords, path: Sequence[int]) -> float:
    """Return the share of pairs of steps whose first step is expressed farther from the name than the second."""
    relations = [relation for relation, _ in groupby(way // 2 for way in path)]
    distances = [words.distance[relation] for relation in relations if relation in words.distance]
    pairs = list(combinations(distances, 2))
    return sum(first > second for first, second in pairs) / len(pairs) if pairs else 0.0


def _looks_like_person(name: str) -> bool:
    words = name.split()
    if not 2 <= len(words) <= 4 or words[0].lower() in ("the", "a", "an"):
        return False
    return all(word[0].isupper() and not any(map(str.isdigit, word)) for word in words)


# Reading the question


def parse(question: str, name: str) -> GraphQuestion:
    """Read a question that names `name`."""
    words, name_words = _TOKEN.findall(name_key(question)), _TOKEN.findall(name_key(name))
    count, size = len(words), len(name_words)
    starts = (i for i in range(count - size + 1) if words[i : i + size] == name_words)
    start = next(starts, count)
    inside = range(start, min(count, start + size))
    wh = next((i for i, word in enumerate(words) if word in _WH and i not in inside), 0)
    verb_behind_name = _verb_is_asked(words[wh + 1 : inside.start])
    roots: list[str] = []
    distances: list[float] = []
    for i, word in enumerate(words):
        builds_question = word in _WH | _REQUESTS | _PERSON_WORDS or not is_content(word)
        if i in inside or (builds_question and word not in _EXPRESSIVE):
            continue
        before_name = i < inside.start
        distance = inside.start - i if before_name else i - inside.stop + 1
        # words on the question word's side of the name come after those on its other side
        if before_name == (wh < inside.start):
            distance += count
        if verb_behind_name and i >= inside.stop:
            distance += 2 * count
        roots.append(root(word))
        distances.append(float(distance))
    sharing = not _SHARING.isdisjoint(words)
    asked = words[wh : wh + 2]  # not what a later clause asks for
    wants = read_question(" ".join(asked)).wants if _PERSON_WORDS.isdisjoint(asked) else "person"
    return GraphQuestion(tuple(roots), tuple(distances), _focus(words, wh, inside), wants, sharing)


def _verb_is_asked(words: Sequence[str]) -> bool:
    """Return whether the verb after the name is what is asked, by the words between question word and name."""
    verb = next((i for i, word in enumerate(words) if word in _DO | _BE), len(words))
    if (_WH | {"that"}).intersection(words[verb:]):
        return False
    return any(word in _DO for word in words[verb:]) or words[verb + 1 : verb + 2] in (["the"], ["a"], ["an"])


def _focus(words: Sequence[str], wh: int, name: range) -> str:
    """Return the root of the noun after `which` or `what`, also if a form of `to be` is between them; "" if none."""
    if not words or words[wh] not in ("which", "what"):
        return ""
    for i in range(wh + 1, len(words)):
        if i in name or words[i] in ("do", "does", "did", "has", "have", "had"):
            return ""
        if is_content(words[i]) and words[i] not in _REQUESTS and not _ADJECTIVE.search(words[i]):
            return "" if words[i] in _PERSON_WORDS else root(words[i])
    return ""


# Words of relations

_CAMEL = re.compile("(?<=[a-zß-öø-ÿа-яё])(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])")
_AGENT = ("or", "er", "e")


def _groups(name: str) -> list[list[str]]:
    """Return the groups of words in a list whose groups are separated by semicolons."""
    return [group.split() for group in read_data("words")[name].split(";")]


@cache
def _base_forms() -> dict[str, str]:
    return {form: forms[0] for forms in _groups("irregular_forms") for form in forms}


@lru_cache(WORDS_CACHED)
def root(word: str) -> str:
    """Return the root that the forms of a word share: `direct` for directed, director and directs."""
    word = stem(_base_forms().get(word, word))
    for ending in _AGENT:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@cache
def _meanings() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    for number, group in enumerate(_groups("alike")):
        for word in group:
            groups.setdefault(root(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}


@lru_cache(WORDS_CACHED)
def roots_of_label(label: str) -> tuple[str, ...]:
    """Return the roots of a label's words that carry content, or of all its words if none does."""
    words = _TOKEN.findall(fold(_CAMEL.sub(" ", label)))
    return tuple(dict.fromkeys(root(w) for w in words if is_content(w))) or tuple(map(root, words))


@lru_cache(WORDS_CACHED)
def likeness(one: str, other: str) -> float:
    """Return the similarity of two roots, 0 to 1: equal, one ending in the other, or of like meaning."""
    if one == other:
        return 1.0
    meanings = _meanings()
    if meanings.get(one, frozenset()) & meanings.get(other, frozenset()):
        return 0.7
    short, long = sorted((one, other), key=len)
    return 0.85 if len(short) >= 4 and long.endswith(short) else 0.0
