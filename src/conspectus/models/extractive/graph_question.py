"""What a question asks of a graph, seen from a name that it names: its words and how far each stands from that name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.text.relation_words import root
from conspectus.text.words import WH, is_content, name_key

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
