"""Resolve: decide which names are one entity.

Names equal after normalisation always are (GraphRAG §3.1.3 matches by exact string). Beyond that a name joins
another only where the evidence is unambiguous, and every join is recorded: setting `resolve = "exact"` undoes
them all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from conspectus.rows import AliasDecision, Chunk, Document
from conspectus.settings import ResolveSettings
from conspectus.tasks import Extraction
from conspectus.text.language_rules import JOINTS, PARTICLES, TITLES
from conspectus.text.lexicon import sources
from conspectus.text.words import CJK, UNSPACED, name_key

_LEGAL = frozenset("inc incorporated corp corporation ltd limited llc plc gmbh ag sa oy oyj ab bv srl".split())


@dataclass
class _Name:
    """What is known of all that is written with one key."""

    forms: Counter[str] = field(default_factory=Counter[str])
    types: Counter[str] = field(default_factory=Counter[str])
    sources: set[int] = field(default_factory=set[int])
    documents: set[str] = field(default_factory=set[str])

    @property
    def person(self) -> bool:
        return bool(self.types) and min(self.types, key=lambda t: (-self.types[t], t)).lower() == "person"


@dataclass
class Names:
    """Which entity each name stands for, in each document."""

    display: dict[str, str]
    """The name of the entity with each key."""
    everywhere: dict[str, str]
    """Keys that stand for another key wherever they occur."""
    within: dict[tuple[str, int], str]
    """Keys that stand for another key within one source."""
    source_of: dict[str, int]
    """The source of each document, by id."""
    joins: list[AliasDecision]
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types of entities, by key, that people gave."""

    def key(self, name: str, document_id: str) -> str:
        """Return the key of the entity that a name stands for in a document."""
        key = name_key(name) or name
        key = self.within.get((key, self.source_of.get(document_id, -1)), key)
        return self.everywhere.get(key, key)

    def name(self, key: str) -> str:
        """Return the name of the entity with a key."""
        return self.display[key]


def resolve(
    chunks: Sequence[Chunk],
    graphs: Sequence[Extraction],
    documents: Sequence[Document],
    settings: ResolveSettings,
) -> Names:
    """Decide which names of the chunks' graphs are one entity."""
    numbers = sources([d.path for d in documents], [d.text for d in documents])
    source_of = dict(zip((d.id for d in documents), numbers, strict=True))
    names = _known_names(chunks, graphs, source_of)
    result = Names({key: _display(name) for key, name in names.items()}, {}, {}, source_of, [])
    if settings.resolve == "aliases":
        for key, into in parenthetical_aliases(chunks, names.keys()):
            _join(result, key, into, "gloss", "the text gives it in brackets after the other")
        _join_acronyms(names, chunks, result)
        _join_forms(names, result)
        _join_short_names(names, result)
        _join_short_forms(names, result)
    return result


def _known_names(
    chunks: Sequence[Chunk], graphs: Sequence[Extraction], source_of: dict[str, int]
) -> dict[str, _Name]:
    names: dict[str, _Name] = defaultdict(_Name)
    for chunk, graph in zip(chunks, graphs, strict=True):
        for entity in graph.entities:
            name = names[name_key(entity.name) or entity.name]
            name.forms[entity.name] += 1
            name.types[entity.type] += 1
            name.sources.add(source_of.get(chunk.document_id, -1))
            name.documents.add(chunk.document_id)
    return dict(names)


def _display(name: _Name) -> str:
    return min(name.forms, key=lambda form: (-name.forms[form], form))


def _join(result: Names, key: str, into: str, rule: str, evidence: str) -> None:
    into = result.everywhere.get(into, into)
    if key != into and key not in result.everywhere:
        result.everywhere[key] = into
        for k, v in result.everywhere.items():
            if v == key:
                result.everywhere[k] = into
        result.joins.append(AliasDecision(result.display[key], result.display[into], rule, evidence))


def _join_acronyms(names: dict[str, _Name], chunks: Sequence[Chunk], result: Names) -> None:
    """Join an acronym with the one name that has its initials, where the text gives one in brackets."""
    displayed = {key: _display(name) for key, name in names.items()}
    short = {
        key
        for key, name in displayed.items()
        if 1 < len(name) <= 8 and name[0].isupper() and all(c.isupper() or c in "&." for c in name)
    }
    by_initials: dict[str, set[str]] = defaultdict(set)
    for key, name in displayed.items():
        for initials in _initials(name):
            by_initials[initials].add(key)
    for key in sorted(short):
        letters = displayed[key].replace(".", "").replace("&", "").lower()
        stated = sorted(
            c for c in by_initials[letters] if c != key and names[c].documents & names[key].documents
        )
        stated = [c for c in stated if _in_brackets(names[c], names[key], chunks)]
        if len(stated) == 1:
            _join(result, key, stated[0], "acronym", "the text gives one in brackets after the other")


def _initials(name: str) -> Iterator[str]:
    words = re.split(r"[\s\-]+", name)
    if len(words) > 1:
        content = [w for w in words if w.lower() not in JOINTS | PARTICLES | {"the"}]
        yield "".join(w[0] for w in words if w).lower()
        yield "".join(w[0] for w in content if w).lower()


def _in_brackets(long: _Name, short: _Name, chunks: Sequence[Chunk]) -> bool:
    forms = [(re.escape(a), re.escape(b)) for a in long.forms for b in short.forms]
    pattern = re.compile(
        "|".join(rf"{a}\s*[(\[（【]\s*(?:the )?{b}\b|{b}\s*[(\[（【]\s*(?:the )?{a}\b" for a, b in forms), re.I
    )
    both = long.documents & short.documents
    return any(pattern.search(chunk.text) for chunk in chunks if chunk.document_id in both)


def _join_forms(names: dict[str, _Name], result: Names) -> None:
    """Join names that differ only in a title, a legal form or initials, where one name alone can be meant."""
    people = [key for key in sorted(names) if names[key].person and len(key.split()) in (2, 3)]
    by_last: dict[str, list[str]] = defaultdict(list)
    for key in people:
        by_last[key.split()[-1]].append(key)
    for key in sorted(names):
        bare = " ".join(_without(key.split()))
        if bare != key and bare in names:
            _join(result, key, bare, "title or legal form", f"without it, it is {result.display[bare]!r}")
    for key in people:
        meant = [other for other in by_last[key.split()[-1]] if _fuller(key.split(), other.split())]
        if len(meant) == 1:
            _join(result, key, meant[0], "initials", "the only person of that last name with such initials")


def _fuller(name: list[str], other: list[str]) -> bool:
    """Tell whether another name of a person says in full what a name gives as an initial, or leaves out."""
    first, other_first = name[0], other[0]
    if len(first) == 1:
        return len(other_first) > 1 and other_first.startswith(first)
    return first == other_first and len(name) == 3 and len(name[1]) == 1 and len(other) == 2


def _without(words: list[str]) -> list[str]:
    while len(words) > 1 and words[0] in TITLES:
        words = words[1:]
    while len(words) > 1 and words[-1] in _LEGAL:
        words = words[:-1]
    return words


def _join_short_names(names: dict[str, _Name], result: Names) -> None:
    """Join a last name that one person has, and any short name with the one person of it in its source."""
    full: dict[str, list[str]] = defaultdict(list)
    last: dict[str, list[str]] = defaultdict(list)
    for key, name in names.items():
        words = _without(key.split())
        if name.person and 2 <= len(words) <= 4 and key not in result.everywhere:
            for word in {words[0], words[-1]}:
                full[word].append(key)
            last[words[-1]].append(key)
    for key in sorted(names):
        word = _without(key.split())
        if len(word) != 1 or not full.get(word[0]):
            continue
        # it has the capital of a name, and nothing ever told of what kind it is: if most of its instances decided, an
        # edited sentence could turn a name that half of the graph hangs on
        untyped = all(kind.lower() == "concept" for kind in names[key].types)
        undecided = untyped and _display(names[key]).istitle()
        if not (names[key].person or len(word) < len(key.split()) or undecided):
            continue
        if len(last[word[0]]) == 1 and names[key].person:
            _join(result, key, last[word[0]][0], "last name", "the only person of that last name anywhere")
            continue
        _join_within_sources(names, result, key, full[word[0]], ("short name", "the only person of that name"))


def _join_within_sources(
    names: dict[str, _Name], result: Names, key: str, candidates: Sequence[str], why: tuple[str, str]
) -> None:
    """Join a name with the one candidate in each source, by a rule and its evidence."""
    joined: Counter[str] = Counter()
    for source in sorted(names[key].sources):
        meant = [other for other in candidates if source in names[other].sources]
        if len(meant) == 1:
            result.within[key, source] = meant[0]
            joined[meant[0]] += 1
    for other, count in sorted(joined.items()):
        evidence = f"{why[1]} in {count} source{'s' if count > 1 else ''}"
        result.joins.append(AliasDecision(result.display[key], result.display[other], why[0], evidence))


def _join_short_forms(names: dict[str, _Name], result: Names) -> None:
    """Join the last words of a name with it, in the sources where just one ends so: the Town Council."""
    by_tail: dict[str, list[str]] = defaultdict(list)
    for key, name in names.items():
        words = key.split()
        for cut in range(1, len(words) - 1):
            if not name.person:
                by_tail[" ".join(words[cut:])].append(key)
    for key in sorted(names):
        if names[key].person or key not in by_tail or key in result.everywhere:
            continue
        _join_within_sources(names, result, key, by_tail[key], ("short form", "the only name that ends so"))


LONGEST = 14
"""Characters of the name before the brackets at the most."""
SURE = 3
"""Characters from which on a name is not just the end of a longer one."""
_GLOSS = re.compile(
    rf"({UNSPACED.pattern[:-1]}\u00b7\u30fb\uac00-\ud7af]{{2,{LONGEST}}})[》」』”]?\s?[（(]([^（()）\n]{{2,80}})[)）]"
)
_LABEL = re.compile(
    r"^\s*(?:(?:英|法|德|日|俄|西班牙|葡萄牙|意大利|拉丁|荷兰|韩|越南|泰|阿拉伯)[语文語]全?名?称?|英|原名|本名|又名|又称|亦称|也称|别名|"
    r"全称|全名|旧称|以?下?简称为?|缩写为?|学名|英文名称?|영어|略称|通称)\s*[:：為为]?\s*"
)
_PARTS = re.compile(r"[,，;；、/]|\s+or\s+|或")


def parenthetical_aliases(chunks: Iterable[Chunk], known: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of names with the key of the one that each is given in brackets behind, where that is always one.

    Both are names that are known; the longest one that ends at the brackets is meant. One in the same letters must be
    said to be another name.
    """
    meant: dict[str, Counter[str]] = defaultdict(Counter)
    for chunk in chunks:
        if not CJK.search(chunk.text):
            continue
        for match in _GLOSS.finditer(chunk.text):
            into = _longest_known_name(match.group(1), known)
            for part in _PARTS.split(match.group(2)) if into else ():
                name = _LABEL.sub("", part)
                key = name_key(name)
                if key in known and key != into and (name != part or not CJK.search(name)):
                    meant[key][into] += 1
    for key in sorted(meant):
        if len(meant[key]) == 1:
            yield key, next(iter(meant[key]))


def _longest_known_name(before: str, known: Set[str]) -> str:
    """Return the key of the longest name that ends a text, "" where there is none; a short one must be all of it."""
    for at in range(len(before) - 1):
        key = name_key(before[at:])
        if key in known and (at == 0 or len(key) >= SURE):
            return key
    return ""
