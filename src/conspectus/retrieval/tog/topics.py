"""What a question names of a graph: where a search begins."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.text.words import STOPWORDS, name_key
from conspectus.triple_graph import TripleGraph


def topics_in(question: str, graph: TripleGraph, most: int, named: Sequence[str] = ()) -> list[int]:
    """Return the names of a graph that a question holds, the longest and rarest first; at most so many.

    `named` are names that a model found in it. Of names that differ in case alone, the one that is spelt as
    in the question is meant. Without any capital a name must be of several words, or the question hold no
    other.
    """
    found: dict[int, tuple[int, int]] = {}
    for name in named:
        for number in _spelt(name, name_key(name), graph):
            found.setdefault(number, (0, name_key(name).count(" ")))
    if not found:
        found = dict(_spans(question, graph))
    return sorted(found, key=lambda n: (*found[n], graph.degree(n), n))[:most]


def _spans(question: str, graph: TripleGraph) -> list[tuple[int, tuple[int, int]]]:
    words = name_key(question).split()
    taken: set[int] = set()
    found: list[tuple[int, tuple[int, int]]] = []
    spans = [(a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + graph.longest_key) + 1)]
    for a, b in sorted(spans, key=lambda s: (s[0] - s[1], s)):
        key = " ".join(words[a:b])
        if key not in graph.numbers_of_key or taken & {*range(a, b)} or (b - a == 1 and key in STOPWORDS):
            continue
        for number in _spelt(question, key, graph):
            plain = graph.names[number].islower() or graph.names[number] not in question
            found.append((number, (int(plain), a - b)))
        if any(graph.names[n] in question and not graph.names[n].islower() for n in graph.numbers_of_key[key]):
            taken |= {*range(a, b)}
    return [(number, order) for number, order in found if order[0] == min(o[0] for _, o in found)]


def _spelt(text: str, key: str, graph: TripleGraph) -> list[int]:
    """Return the names of a key: those spelt as in the text where there are any, else all."""
    numbers = graph.numbers_of_key.get(key, [])
    return [n for n in numbers if graph.names[n] in text] or numbers
