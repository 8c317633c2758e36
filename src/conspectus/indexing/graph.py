"""The graph: decide which names are one entity (resolve), and combine instances in one row (merge; GraphRAG §3.1.3).

Names that are equal after normalisation are always one entity (the paper matches exact strings). Otherwise a name
becomes an alias only if the evidence is unambiguous; every alias decision is recorded, and the setting
`resolve = "exact"` disables them. Relationships are undirected: reversed pairs are one. The weight of a relationship is
the number of its distinct instances, so text in the overlap of two chunks counts once.
"""

from __future__ import annotations

import asyncio
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.algorithms.matching import mixed
from conspectus.algorithms.statistics import Hashes, Ints, unique_numbers
from conspectus.content import content_of, span_of
from conspectus.errors import ModelError
from conspectus.indexing.chunks import Extractions
from conspectus.lazy import lazy_module
from conspectus.models.base import Model
from conspectus.rows import (
    AliasDecision,
    Chunk,
    Claim,
    Document,
    Entity,
    Failure,
    Relationship,
    Span,
    Triple,
    content_id,
    snippet,
)
from conspectus.settings import ResolveSettings
from conspectus.tasks import ConfirmJoins, Extraction, FoundClaim, FoundTriple
from conspectus.text.language import read_word_sets, text_pattern
from conspectus.text.language_rules import JOINTS, PARTICLES, TITLES
from conspectus.text.lexicon import sources
from conspectus.text.mentions import hash_of
from conspectus.text.vocabulary import BLOCK
from conspectus.text.words import CJK, UNSPACED, name_key
from conspectus.workers import Texts

if TYPE_CHECKING:
    from conspectus.algorithms import similarity
else:
    similarity = lazy_module("conspectus.algorithms.similarity")  # it needs scipy

ROWS = 1 << 10
"""Rows whose instances are converted to lists at once: lists take ten times the memory of arrays, while calling numpy
for each row would take 1 us per row."""
MOST_WORDS = 4
"""Maximum words of a person's name without titles: anything longer is a description."""
MIN_TOGETHER = 0.07
"""Minimum of Ochiai's coefficient (0 to 1) of the first and last word of a full name for one of them to be an alias. Of
861 aliases in web pages 18 were below, as Washington for Washington DC; correct ones have at least 0.077 (Chalmers)."""
MOST_SHORT = 15
"""Maximum uses of a short name per use of the full name in a source for the short name to be its alias there, if no
type or title marks it as a person's. In web pages, podcasts and the Bible 3 of 1,335 aliases exceed it, two of them
wrong; in Moby Dick 6, all wrong (Overhearing Starbuck)."""
_IMPERSONAL = re.compile(r"['’]s?(?=\s|$)|[()\[\]（）,;:/&\d]|^(?:the|an?)\s", re.I)
_LISTS = read_word_sets("words")
_LEGAL = _LISTS["legal_forms"]
_UNTYPED = frozenset(("", "concept", "entity"))
"""Types that do not say what kind of thing a name denotes: those of open triples, and the fallback type."""
_OF_WOMEN, _OF_MEN = _LISTS["titles_of_women"], _LISTS["titles_of_men"]


@dataclass(slots=True)
class _Name:
    """The spellings, types and sources of all names that share a key."""

    forms: Counter[str] = field(default_factory=Counter[str])
    types: Counter[str] = field(default_factory=Counter[str])
    sources: array[int] = field(default_factory=lambda: array("i"))
    """The source of each use, in an array, because sets would take more memory than the extractions."""

    @property
    def display(self) -> str:
        """The most frequent spelling."""
        return _commonest(self.forms)

    @property
    def type(self) -> str:
        """The most frequent type, "" if it is one of `_UNTYPED`."""
        type_ = _commonest(self.types)
        return "" if type_ in _UNTYPED else type_


_Sources = Sequence[tuple[str, Set[int]]]
"""Keys of names, each with the sources in which it may be the meaning of a short name."""


def key_of(name: str) -> str:
    """Return the key of a name, which all its spellings share."""
    return name_key(name) or name


@dataclass
class Names:
    """The entity that each name stands for, in each document."""

    display: dict[str, str]
    """The name of the entity with each key."""
    everywhere: dict[str, str]
    """Aliases in all documents: the key that each of these keys stands for."""
    within: dict[tuple[str, int], str]
    """Aliases within one source: the key that each of these keys stands for."""
    source_of: dict[str, int]
    """The source of each document, by id."""
    joins: list[AliasDecision]
    types: dict[str, str] = field(default_factory=dict[str, str])
    """The types of entities, by key, that corrections set."""
    aliases: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The reverse of `everywhere`: the keys that stand for each key."""

    def key(self, name: str, document_id: str) -> str:
        """Return the key of the entity that a name stands for in a document."""
        return self.resolved(key_of(name), document_id)

    def resolved(self, key: str, document_id: str) -> str:
        """Return the key of the entity that the key of a name stands for in a document."""
        key = self.within.get((key, self.source_of.get(document_id, -1)), key)
        return self.everywhere.get(key, key)

    def varying(self) -> set[str]:
        """Return the keys that may stand for different entities in different documents."""
        return {key for key, _ in self.within}

    def name(self, key: str) -> str:
        """Return the name of the entity with a key."""
        return self.display[key]


def resolve(
    chunks: Sequence[Chunk],
    graphs: Sequence[Extraction],
    documents: Sequence[Document],
    settings: ResolveSettings,
) -> Names:
    """Decide which names in the extractions of chunks are one entity."""
    numbers = sources([d.path for d in documents])
    source_of = dict(zip((d.id for d in documents), numbers, strict=True))
    pairs = zip(chunks, graphs, strict=True)
    parts = graphs if isinstance(graphs, Extractions) else Extractions.of(pairs)
    of_chunk = np.array([source_of.get(c.document_id, -1) for c in parts.chunks], np.int32)
    names = defaultdict[str, _Name](_Name)
    types = [name.lower() for name in parts.names]
    columns = np.stack((of_chunk[parts.entities[0]], parts.entities[2]))
    inside = _by_row(columns, parts.entities[1], len(parts.names))
    for form, (of_form, kinds) in zip(parts.names, inside, strict=True):
        if kinds:
            name = names[key_of(form)]
            name.forms[form] = len(kinds)
            name.types.update(map(types.__getitem__, kinds))
            name.sources.extend(of_form)
    result = Names({key: name.display for key, name in names.items()}, {}, {}, source_of, [])
    if settings.resolve != "exact":
        bracketed = [chunk for chunk in chunks if any(map(chunk.text.__contains__, "([（【"))]
        for key, into in parenthetical_aliases(bracketed, names.keys()):
            _join(result, key, into, "gloss", "the text gives it in brackets after the other")
        _join_acronyms(names, bracketed, result)
        _join_people(names, result)
        _join_legal_forms(names, result)
        _join_plurals(names, result)
    return result


def _by_row(columns: Ints, row: Ints, n: int) -> Iterator[list[list[int]]]:
    """Yield the columns of the instances of each of n rows; `row` is the row of each instance."""
    order = np.argsort(row, kind="stable").astype(np.int32)
    starts: list[int] = np.searchsorted(row[order], np.arange(n + 1)).tolist()
    for first in range(0, n, ROWS):
        ends = starts[first : first + ROWS + 1]
        inside: list[list[int]] = columns[:, order[ends[0] : ends[-1]]].tolist()
        for start, end in pairwise(end - ends[0] for end in ends):
            yield [column[start:end] for column in inside]


def _commonest(counts: Counter[str]) -> str:
    """Return the text with the highest count, of several the first in alphabetical order."""
    if len(counts) == 1:  # the usual case
        return next(iter(counts))
    return min(counts, key=lambda text: (-counts[text], text))


def _join(result: Names, key: str, into: str, rule: str, evidence: str) -> None:
    into = result.everywhere.get(into, into)
    if key != into and key not in result.everywhere:
        aliases = [key, *result.aliases.pop(key, ())]
        result.everywhere.update(dict.fromkeys(aliases, into))
        result.aliases.setdefault(into, []).extend(aliases)
        result.joins.append(AliasDecision(result.display[key], result.display[into], rule, evidence))


def _join_within_sources(
    result: Names, key: str, names: Mapping[str, _Name], others: _Sources, rule: str, evidence: str
) -> None:
    """Make a name an alias, in each of its sources, of the only one of the `others` that occurs there too."""
    joined: Counter[str] = Counter()
    for source in sorted(set(names[key].sources)):
        meant = [other for other, sources in others if source in sources]
        if len(meant) == 1 and meant[0] != key:
            result.within[key, source] = meant[0]
            joined[meant[0]] += 1
    for other, count in sorted(joined.items()):
        why = f"{evidence} in {count} source{'s' if count > 1 else ''}"
        result.joins.append(AliasDecision(result.display[key], result.display[other], rule, why))


_BRACKETS = re.compile(r"[(\[（【]\s*([^()\[\]（）【】]{2,100}?)\s*[)\]）】]")
_WELL_KNOWN = {
    "us": "united states", "usa": "united states", "uk": "united kingdom", "un": "united nations",
    "eu": "european union",
}  # fmt: skip
"""Acronyms that texts seldom explain: beside "United States", "US" or "U.S." is a hub on four of six corpora."""
_BEFORE = 100
"""Characters before brackets that are searched for the name that they explain: few names are longer."""


def _join_acronyms(names: dict[str, _Name], chunks: Sequence[Chunk], result: Names) -> None:
    """Make an acronym an alias of its well-known meaning, or of a name with its initials beside it in brackets."""
    letters = {
        key: name.replace(".", "").replace("&", "").lower()
        for key, name in result.display.items()
        if 1 < len(name) <= 8 and name[0].isupper() and all(c.isupper() or c in "&." for c in name)
    }
    stated: dict[str, set[str]] = defaultdict(set)
    for key, full in _WELL_KNOWN.items():
        if key in letters and full in names:
            stated[key].add(full)
    for chunk in chunks:
        for match in _BRACKETS.finditer(chunk.text) if letters else ():
            inner, before = key_of(match[1]), chunk.text[: match.start()][-_BEFORE:]
            words = name_key.__wrapped__(before).split()  # bypasses the cache: such texts do not recur
            given = inner if inner in letters else inner.removesuffix("s")
            if given in letters:
                short, tails = letters[given], [" ".join(words[at:]) for at in range(len(words))]
                known = [t for t in tails if _abbreviates(short, result.display.get(t, ""))]
                other = any(_abbreviates(short, tail) for tail in tails)
                stated[given].update(known or ([""] if other else []))
            elif words and (short := letters.get(words[-1])):
                known = [inner] if _abbreviates(short, result.display.get(inner, "")) else []
                heads = accumulate(match[1].split(), "{} {}".format)
                other = any(_abbreviates(short, head) for head in heads)
                stated[words[-1]].update(known or ([""] if other else []))
    for key, others in sorted(stated.items()):
        if len(others) == 1 and (other := min(others)):
            known = _WELL_KNOWN.get(key) == other
            why = "it is well known" if known else "a text gives one in brackets after the other"
            _join(result, key, other, "acronym", why)
        else:  # several meanings; "" stands for meanings that are not names in the graph
            known = [(other, set(names[other].sources)) for other in sorted(others - {""})]
            _join_within_sources(result, key, names, known, "acronym", "the only name of these initials")


def _abbreviates(short: str, name: str) -> bool:
    """Return whether an acronym has the first letter of each word of a name, or each but small ones ("of"), in order,
    and perhaps others of these words: JMML, juvenile myelomonocytic leukemia (after Schwartz and Hearst, 2003).
    """
    if name[:1].lower() != short[0]:  # most names
        return False
    words = re.findall(r"[^\s-]+", name.lower())
    if len(words) < 2:
        return False
    pattern = ""
    for word in words:
        # the first letter of a word, and any of the others in order
        first, *others = map(re.escape, word)
        letters = first + "".join(f"{letter}?" for letter in others)
        small = word in JOINTS | PARTICLES | {"the"}
        pattern += f"(?:{letters})?" if small else letters
    return bool(re.fullmatch(pattern, short))


@dataclass
class _Person:
    """The names of a person that differ only in titles."""

    words: tuple[str, ...]
    """The words of the names without titles."""
    keys: list[str]
    """The keys of the names, the shortest first."""
    titles: set[str]
    sure: bool
    """Whether a type, a title or initials show that the names are a person's."""
    sources: Counter[int] = field(default_factory=Counter[int])
    """The number of uses of the names in each source."""

    def often_beside(self, short: Counter[int]) -> set[int]:
        """Return the sources in which this name is frequent enough relative to the uses of a short name in each."""
        return {source for source, uses in self.sources.items() if short[source] <= MOST_SHORT * uses}

    def conflicts(self, other: _Person) -> bool:
        """Return whether titles show that one is a woman and the other a man."""
        titles = self.titles | other.titles
        return not (titles.isdisjoint(_OF_WOMEN) or titles.isdisjoint(_OF_MEN))

    def abbreviates(self, other: _Person) -> bool:
        """Return whether this name may abbreviate another one with the same last name, by initials."""
        if len(self.words) == 1 or not self.sure or self.conflicts(other):
            return False
        (first, *middle, _), (other_first, *others, _) = self.words, other.words
        more = middle[len(others) :]
        if len("".join(more)) > 1:
            return False
        pairs = zip(middle, others, strict=False)
        if any(own != its and (1 not in (len(own), len(its)) or own[0] != its[0]) for own, its in pairs):
            return False
        if len(first) == 1:
            return len(other_first) > 1 and other_first[0] == first
        return first == other_first and len(more) == 1


def _people(names: dict[str, _Name], result: Names) -> list[_Person]:
    """Return the persons among names, and make their names with titles aliases. A type shows that a name is a person's,
    or else a title or initials; other names of two words or more are included as not `sure`.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, name in sorted(names.items()):
        if (
            name.type in ("", "person")
            and all(map(_is_personal, name.forms))
            and key not in result.everywhere
        ):
            groups[_without_titles(_words_of(key, name.display))].append(key)
    people: list[_Person] = []
    for words, keys in sorted(groups.items()):
        titles = {key: set(_words_of(key, names[key].display)[: -len(words)]) for key in keys}
        sure = [k for k in keys if names[k].type or titles[k] or (len(words) > 1 and len(words[0]) == 1)]
        if len(words) == 1:  # without type or title, only capitalised concepts are included
            keys = sure or [
                k for k in keys if set(names[k].types) == {UNTYPED} and names[k].display.istitle()
            ]
        keys.sort(key=lambda key: (len(key.split()), -names[key].forms.total(), key))
        together = [_Person(words, keys, set[str]().union(*(titles[k] for k in keys)), bool(sure))]
        if together[0].conflicts(together[0]):
            together = [replace(together[0], keys=[key], titles=titles[key]) for key in keys]
        for person in together if len(words) <= MOST_WORDS else ():
            person.sources = Counter(chain.from_iterable(names[key].sources for key in person.keys))
            for key in person.keys[1:] if person.sure else ():
                _join(result, key, person.keys[0], "title or legal form", "they differ in that alone")
            people += [person] if person.keys else []
    return people


def _is_personal(name: str) -> bool:
    """Return whether a name may be a person's, unlike `SCROOGE'S NEPHEW`, `the children`, `Ghost of Jacob Marley`."""
    return not _IMPERSONAL.search(name) and all(
        word.lower() not in JOINTS and (not word[0].islower() or word in PARTICLES) for word in name.split()
    )


def _words_of(key: str, name: str) -> tuple[str, ...]:
    """Return the keys of the words of a name: `O'Neal` is one word, and `A.` is an initial, not an article."""
    words = tuple(map(key_of, name.split()))
    return words if len(words) > 1 else tuple(key.split())


def _without_titles(words: tuple[str, ...]) -> tuple[str, ...]:
    while len(words) > 1 and words[0] in TITLES:
        words = words[1:]
    return tuple(words)


def _join_people(names: dict[str, _Name], result: Names) -> None:
    """Make names with titles or initials, and parts of names, aliases of the only person whom they can denote."""
    people = _people(names, result)
    alike: dict[tuple[str, str], list[_Person]] = defaultdict(list)
    for person in people:
        if len(person.words) > 1 and _is_established(person, names):
            alike[person.words[-1], person.words[0][0]].append(person)
    for person in sorted(people, key=lambda person: len(person.words[0]) == 1):
        near = alike[person.words[-1], person.words[0][0]]
        meant = [other for other in near if person.abbreviates(other)]
        if len(meant) == 1:
            _join(result, person.keys[0], meant[0].keys[0], "initials", "the only person whom they fit")
            meant[0].titles |= person.titles
            meant[0].sources += person.sources
            meant[0].sure = True
            if person in near:  # only established names are in it
                near.remove(person)
    by_first: dict[str, list[_Person]] = defaultdict(list)
    by_last: dict[str, list[_Person]] = defaultdict(list)
    for person in (person for near in alike.values() for person in near):
        by_first[person.words[0]].append(person)
        by_last[person.words[-1]].append(person)
    family: dict[str, set[int]] = defaultdict(set)
    for person in people:
        if person.sure:
            family[person.words[-1]].update(person.sources)
    for person in people:
        if len(person.words) == 1:
            first, last = (
                [other for other in group[person.words[0]] if not other.conflicts(person)]
                for group in (by_first, by_last)
            )
            _join_part_of_name(person, first, last, family, names, result)


def _is_established(person: _Person, names: Mapping[str, _Name]) -> bool:
    """Return whether the first and last word of a full name belong together, given how often each occurs alone.

    For example, "Michal" and "David" in "Michal David's wife" do not if both often occur alone.
    """
    whole = sum(names[key].forms.total() for key in person.keys)
    ends = names.get(person.words[0]), names.get(person.words[-1])
    first, last = (whole + (end.forms.total() if end else 0) for end in ends)
    return whole >= MIN_TOGETHER * math.sqrt(first * last)


def _join_part_of_name(
    person: _Person,
    first: Sequence[_Person],
    last: Sequence[_Person],
    family: Mapping[str, set[int]],
    names: dict[str, _Name],
    result: Names,
) -> None:
    """Make a single name an alias of the only person with that last name, or of the only such person in each source.
    `first` and `last` are the persons whose first or last name it may be. A first name that only one person has is
    an alias in every source that names someone of the same last name.
    """
    known = [other for other in last if other.sure]
    titled = [other for other in known if other.titles & person.titles]
    known = titled if len(titled) == 1 else known
    typed = any(names[key].type for key in person.keys)  # without types, any name may be a person's
    short = Counter[int]() if typed else person.sources  # a person's full name may occur just once
    only = len(known) == 1 and (typed or last == known)
    if person.sure and only and known[0].often_beside(short):
        why = "the only person of that last name anywhere"
        _join(result, person.keys[0], known[0].keys[0], "last name", why)
        return
    first = [other for other in first if other.sure and not person.titles]
    meant = [(other.keys[0], other.often_beside(short)) for other in (*known, *first)]
    if len(meant) == 1 and not known:
        meant.append((first[0].keys[0], family[first[0].words[-1]] - first[0].sources.keys()))
    for key in person.keys:
        _join_within_sources(result, key, names, meant, "short name", "the only person of that name")


def _join_legal_forms(names: dict[str, _Name], result: Names) -> None:
    """Make a name with a legal form, or of type person with a title, an alias of the name without it."""
    for key, name in sorted(names.items()):
        words = key.split()
        bare = " ".join(words[: next((n for n in range(len(words), 1, -1) if words[n - 1] not in _LEGAL), 1)])
        if name.type == "person" and len(without := _without_titles(tuple(words))) > 1:
            bare = " ".join(without)
        if bare != key and bare in names and names[bare].type in ("", name.type):
            _join(result, key, bare, "title or legal form", f"without it, it is {result.display[bare]!r}")


def _join_plurals(names: dict[str, _Name], result: Names) -> None:
    """Make the plural of an acronym, or of a name of several words, an alias of the singular ("EVs", "Death Stars").
    Other names are not joined: an s may make another one of a person's, or of a single capitalised word ("Adams").
    """
    for key, name in sorted(names.items()):
        one = key.removesuffix("s")
        if one == key or one not in names or name.type == "person":
            continue
        form, plural = result.display[key], f"{result.display[one]}s"
        regular = form == plural and not form.istitle()
        if " " in one and not form.isupper():
            regular = form.casefold() == plural.casefold()
        if regular and names[one].type in ("", name.type):
            _join(result, key, one, "plural", "it adds an s")


LONGEST = 14
"""Maximum characters of the name before brackets."""
SURE = 3
"""Minimum characters of a name for it not to be just the end of a longer one."""
_GLOSS = re.compile(
    rf"({UNSPACED.pattern[:-1]}\u00b7\u30fb\uac00-\ud7af]{{2,{LONGEST}}})"
    r"[》」』”]?\s?[（(]([^（()）\n]{2,80})[)）]"
)
_LABEL = text_pattern("mentions", "other_name")
_PARTS = re.compile(r"[,，;；、/]|\s+or\s+|或")


def parenthetical_aliases(chunks: Iterable[Chunk], known: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of names given in brackets, each with the key of the name before, if that is always the same.
    Both must be `known`. The name before is the longest that ends at the brackets; one shorter than `SURE` characters
    counts only if no other characters precede it. A CJK name in brackets must be labelled as another name.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    for chunk in chunks:
        if not CJK.search(chunk.text):
            continue
        for match in _GLOSS.finditer(chunk.text):
            ends = [name_key(match[1][at:]) for at in range(len(match[1]) - 1)]
            into = next((key for key in ends if key in known and (key == ends[0] or len(key) >= SURE)), "")
            for part in _PARTS.split(match[2]) if into else ():
                name = _LABEL.sub("", part)
                key = name_key(name)
                if key in known and key != into and (name != part or not CJK.search(name)):
                    meant[key].add(into)
    yield from ((key, min(others)) for key, others in sorted(meant.items()) if len(others) == 1)


# Alias decisions by a model

ALIKE, NEAR = 0.5, 0.8
"""Minimum cosine of two names for a model to compare them: of their character n-grams, or of vectors of names with
descriptions. Of 267 entities that a strong model extracted from the sample corpus, 0.5 leaves 85 pairs of one type."""
PAIRS = 20
"""Average number of pairs in a call, and half of the maximum: about 1,500 tokens."""
MOST_SAID = 160
"""Maximum characters of a name's description in the prompt."""
Embed = Callable[[Sequence[str]], "similarity.Floats"]


async def join_by_model(
    names: Names,
    extracted: Sequence[tuple[Chunk, Extraction]],
    model: Model,
    language: str = "en",
    embed: Embed | None = None,
) -> list[Failure]:
    """Make entities of one type with similar names or vectors aliases if a model confirms it; return its failures.

    Hashes of pairs decide where batches end, so the replies to most of them remain cached when entities are added.
    """
    merged = merge(extracted, names)
    keys = merged.keys
    shown = [
        f"{row.name} ({row.type}): {snippet(next(iter(element.descriptions), ''), MOST_SAID)}"
        for row, element in zip(merged.entities, merged.entity_elements, strict=True)
    ]
    if embed:
        first, second, _ = similarity.pairs_of_vectors(await asyncio.to_thread(embed, shown), NEAR)
    else:
        first, second, _ = similarity.pairs_of_texts(keys, ALIKE)
    pairs: list[tuple[int, int]] = list(zip(first.tolist(), second.tolist(), strict=True))
    batches: list[list[tuple[int, int]]] = [[]]
    for a, b in pairs:
        types = {merged.entities[a].type, merged.entities[b].type} - {UNTYPED, "entity"}
        if len(types) < 2 and "date" not in types:
            batches[-1].append((a, b))
            if len(batches[-1]) >= 2 * PAIRS or int(content_id(shown[a], shown[b]), 16) % PAIRS == 0:
                batches.append([])
    batches = [batch for batch in batches if batch]
    tasks = [
        ConfirmJoins(tuple((shown[a], shown[b]) for a, b in batch), language=language) for batch in batches
    ]
    failures: list[Failure] = []
    for batch, reply in zip(batches, await model.perform_all(tasks), strict=True):
        if isinstance(reply, ModelError):
            failures.append(Failure("resolve", str(reply)))
            continue
        for a, b in (batch[n - 1] for n in reply if n <= len(batch)):
            rarer, commoner = sorted(
                (a, b), key=lambda n: (merged.entities[n].frequency, len(keys[n]), keys[n])
            )
            key = names.everywhere.get(keys[rarer], keys[rarer])
            _join(names, key, keys[commoner], "model", f"{model.name} says that they are one")
    return failures


# Merge

UNTYPED = "concept"
TEXTS_CACHED = 1 << 14
"""Descriptions, and spans, cached while rows are described, some 6 MB: neighbours in a community share many."""


@dataclass(slots=True)
class Element:
    """The distinct instances of a relationship, entity or claim: descriptions and spans."""

    instances: dict[tuple[Span, str], str] = field(default_factory=dict[tuple[Span, str], str])
    """The description of each instance, by its span and, if the span is only that of the chunk, the description."""

    @property
    def descriptions(self) -> dict[str, Span]:
        """The distinct descriptions, each with one span, grouped by document and in text order within a document.
        Documents are ordered by their descriptions, so that prompts do not change if a document that adds no
        description is renamed or edited elsewhere.
        """
        if len(self.instances) == 1:
            return {description: span for (span, _), description in self.instances.items()}
        by_document: dict[str, list[tuple[Span, str]]] = {}
        for (span, _), description in self.instances.items():
            by_document.setdefault(span.document_id, []).append((span, description))
        documents = [sorted(instances) for instances in by_document.values()]
        documents.sort(key=lambda instances: ([description for _, description in instances], instances[0][0]))
        distinct: dict[str, Span] = {}
        for span, description in chain.from_iterable(documents):
            distinct.setdefault(description, span)
        return distinct


@dataclass(slots=True)
class ClaimElement(Element):
    """The instances of a claim, their chunks and their statuses."""

    chunk_ids: dict[str, None] = field(default_factory=dict[str, None])
    statuses: Counter[str] = field(default_factory=Counter[str])


class Instances:
    """The elements of rows, created when accessed; their instances are stored in columns, in the order of the rows.
    Of instances with the same span (or, without one, the same chunk and words), only the first is included.
    """

    def __init__(self, parts: Extractions, table: Ints, row: Ints, count: int) -> None:
        """Take the instances in a table of `parts`; `row` is the row, out of `count`, of each instance."""
        number: dict[str, int] = {}
        each = (number.setdefault(id_, len(number)) for id_ in parts.documents)
        documents = np.array([*each], np.int32)
        columns: list[Ints] = [*table]
        chunk, _, _, text, start, end = columns
        at = np.where(start < 0, -1 - chunk, start)
        words = np.where(start < 0, text, -1)  # distinguishes instances without spans
        keys: tuple[Ints, ...] = words, end, at, documents[chunk], row
        order = np.lexsort(keys)
        new = np.ones(len(order), bool)
        new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
        self.rows = order[new]
        """The rows of the table with distinct instances."""
        self._starts: list[int] = np.searchsorted(row[self.rows], np.arange(count + 1)).tolist()
        chosen = chunk, text, start, end
        self._columns = np.stack([column[self.rows] for column in chosen], axis=1)
        self._documents, self._chunks = parts.documents, parts.chunks
        self._texts = parts.texts
        self._text = lru_cache(TEXTS_CACHED)(parts.texts.__getitem__)
        self._span = lru_cache(TEXTS_CACHED)(Span)  # elements described by one sentence share the object
        self._described = bytearray(count)

    def __getitem__(self, row: int) -> Element:
        element = Element()
        inside = slice(self._starts[row], self._starts[row + 1])
        rows: list[tuple[int, int, int, int]] = self._columns[inside].tolist()
        for chunk, text, start, end in () if self._described[row] else rows:
            words = self._text(text)
            if start < 0:
                element.instances.setdefault((self._chunks[chunk].span, words), words)
            else:
                element.instances[self._span(self._documents[chunk], start, end), ""] = words
        return element

    def __iter__(self) -> Iterator[Element]:
        return map(self.__getitem__, range(len(self._described)))

    def __setitem__(self, row: int, element: Element) -> None:
        """Discard the instances of a row, so that its element is empty; `element` is ignored."""
        self._described[row] = 1

    def digests(self, ids: Sequence[str]) -> Hashes:
        """Return a 64-bit digest for each row, of its id and the descriptions and spans of its instances.
        No instances may have been discarded yet.
        """
        documents = np.array([hash_of([id_]) for id_ in self._documents], np.uint64)
        texts = self._texts
        bits = np.array(texts.codes if isinstance(texts, Texts) else [hash_of([t]) for t in texts], np.uint64)
        sums = np.zeros(len(self._columns), np.uint64)
        for start in range(0, len(sums), BLOCK):
            rows = slice(start, start + BLOCK)
            chunk, text, *ends = self._columns[rows].T
            code = documents[chunk]
            for end in ends:
                code = mixed(code + end.astype(np.uint64))
            sums[rows] = mixed(code + bits[text])
        if len(ids):
            sums = np.add.reduceat(sums, self._starts[:-1])
        own = np.array([int(id_[:16], 16) for id_ in ids], np.uint64)
        return mixed(sums + own)


@dataclass(frozen=True)
class Merged:
    """The graph without descriptions; `entity_elements[i]` contains the instances of `entities[i]`."""

    entities: list[Entity]
    relationships: list[Relationship]
    entity_elements: list[Element] | Instances
    relationship_elements: list[Element] | Instances
    keys: Sequence[str] = ()
    """The keys of the entities."""
    claims: list[Claim] = field(default_factory=list[Claim])
    claim_elements: list[Element] = field(default_factory=list[Element])


def merge(extracted: Iterable[tuple[Chunk, Extraction]] | Extractions, names: Names) -> Merged:
    """Return the graph with one row for all instances of an entity or relationship in the extractions of chunks.

    Rows are in alphabetical order of their names, so that the order of the documents does not matter. An end of a
    relationship that was not extracted as an entity becomes an entity too. Relationships of an entity with itself are
    dropped, and so are names without a key, which corrections deleted.
    """
    parts = extracted if isinstance(extracted, Extractions) else Extractions.of(extracted)
    keys = _Keys(parts, names)
    edges = parts.relationships
    entity = keys.of(*parts.entities[:2])
    a, b = keys.of(*edges[:2]), keys.of(*edges[:3:2])
    rows = np.flatnonzero((a != b) & (np.minimum(a, b) >= 0))
    ends = np.column_stack((a[rows], b[rows]))
    edges, strengths = edges[:, rows], parts.strengths[rows]
    parts = replace(parts, relationships=edges, strengths=strengths)
    parts, entity = _with_ends(parts, entity, ends, keys)
    if len(rows := np.flatnonzero(entity >= 0)) < len(entity):
        parts = replace(parts, entities=parts.entities[:, rows])
        entity = entity[rows]
    ordered = _in_order(entity, keys)
    row = np.empty(len(keys.number), np.int32)
    row[[keys.number[key] for key, _ in ordered]] = np.arange(len(ordered))
    low, high = np.sort(row[ends], axis=1).T
    pairs, of_pair = np.unique(low * np.int64(len(ordered)) + high, return_inverse=True)
    ends = np.column_stack(np.divmod(pairs, max(len(ordered), 1)))
    degree: list[int] = np.bincount(ends.ravel(), minlength=len(ordered)).tolist()
    entities = _entities(parts, row[entity], ordered, degree, names)
    of_pair = of_pair.astype(np.int32)
    edges = _relationships(parts, of_pair, ends.tolist(), entities[0])
    merged = entities[0], edges[0], entities[1], edges[1]
    return Merged(*merged, [key for key, _ in ordered])


class _Keys:
    """Numbers the keys of the entities that names stand for."""

    def __init__(self, parts: Extractions, names: Names) -> None:
        self.number: dict[str, int] = {}
        self._parts, self.names = parts, names
        keys, varying = list(map(key_of, parts.names)), names.varying()
        self._varies = np.array([key in varying for key in keys], bool)
        usual = (names.resolved(key, "") for key in keys)
        self._of_name = np.array(list(map(self._numbered, usual)), np.int32)

    def _numbered(self, key: str) -> int:
        return self.number.setdefault(key, len(self.number)) if key else -1

    def of(self, chunk: Ints, name: Ints) -> Ints:
        """Return the number of the key that each name stands for in its chunk, -1 for none."""
        numbers, chunks = self._of_name[name], self._parts.chunks
        varies = np.flatnonzero(self._varies[name])
        codes = name[varies] * np.int64(len(chunks)) + chunk[varies]
        codes, pair = np.unique(codes, return_inverse=True)
        columns = np.divmod(codes, max(len(chunks), 1))
        pairs: list[tuple[int, int]] = np.column_stack(columns).tolist()
        forms, key = self._parts.names, self.names.key
        known = (key(forms[n], chunks[c].document_id) for n, c in pairs)
        of_pair = np.array(list(map(self._numbered, known)), np.int32)
        numbers[varies] = of_pair[pair]
        return numbers


def _with_ends(parts: Extractions, entity: Ints, ends: Ints, keys: _Keys) -> tuple[Extractions, Ints]:
    """Add ends of relationships that were not extracted as entities to the entities and their key numbers."""
    nameless = np.ones(len(keys.number), bool)
    nameless[entity[entity >= 0]] = False
    edge, side = np.nonzero(nameless[ends])
    if not len(edge):
        return parts, entity
    edges = parts.relationships[:, edge]
    new, key_at = ends[edge, side], list(keys.number)
    edges[1] = np.where(side == 0, edges[1], edges[2])
    edges[2] = len(parts.names)
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    added: list[tuple[int, int]] = np.column_stack((new, edges[1])).tolist()
    for number, name in added:
        forms[key_at[number]][parts.names[name]] += 1
    for key, counts in forms.items():
        keys.names.display[key] = _commonest(counts)
    entities = np.concatenate((parts.entities, edges), axis=1)
    parts = replace(parts, names=[*parts.names, UNTYPED], entities=entities)
    return parts, np.append(entity, new)


def _in_order(entity: Ints, keys: _Keys) -> list[tuple[str, str]]:
    """Return the keys of entities with their names, in alphabetical order of the names."""
    key_at = list(keys.number)
    display, taken = dict[str, str](), set[str]()
    used: list[int] = unique_numbers(entity).tolist()
    # If two keys have the same name, the second one uses its key as the name.
    for key in sorted(key_at[number] for number in used):
        name = keys.names.name(key)
        display[key] = name if name not in taken else key
        taken.add(display[key])
    return sorted(display.items(), key=lambda item: (item[1], item[0]))


def _entities(
    parts: Extractions, row: Ints, ordered: Sequence[tuple[str, str]], degree: Sequence[int], names: Names
) -> tuple[list[Entity], Instances]:
    """Return the rows of entities and their elements; `row` is the row of each instance."""
    table, forms = parts.entities, parts.names
    ids = [c.id for c in parts.chunks]
    keys = list(map(name_key, forms))
    rows: list[Entity] = []
    inside = _by_row(table[:3], row, len(ordered))
    for (key, name), (chunks, written, kinds) in zip(ordered, inside, strict=True):
        chunk_ids = tuple(dict.fromkeys(map(ids.__getitem__, chunks)))
        # instances of the name itself decide the type; an alias says less about it
        own = [k for f, k in zip(written, kinds, strict=True) if keys[f] == key]
        types = Counter(map(forms.__getitem__, own or kinds))
        type_ = names.types.get(key, "") or _commonest(types)
        aliases = tuple(sorted({forms[f] for f in set(written)} - {name}))
        of = content_id("entity", name), len(rows), name, type_, ""
        rows.append(Entity(*of, chunk_ids, (), aliases, degree[len(rows)]))
    return rows, Instances(parts, table, row, len(ordered))


def _relationships(
    parts: Extractions, row: Ints, ends: Sequence[tuple[int, int]], entities: Sequence[Entity]
) -> tuple[list[Relationship], Instances]:
    """Return the rows of relationships between entities and their elements; `row` is the row of each instance."""
    table, count = parts.relationships, len(ends)
    ids = [c.id for c in parts.chunks]
    elements = Instances(parts, table, row, count)
    distinct = np.sort(elements.rows)
    weights = np.bincount(row[distinct], minlength=count)
    strengths = np.bincount(row[distinct], parts.strengths[distinct], count) / weights
    means: list[Any] = np.column_stack((weights, strengths)).tolist()
    rows, shared = list[Relationship](), dict[Any, Any]()
    inside = _by_row(table[:1], row, count)
    for (one, other), mean, (chunks,) in zip(ends, means, inside, strict=True):
        a, b = entities[one], entities[other]
        values = *mean, tuple(dict.fromkeys(map(ids.__getitem__, chunks)))
        weight, strength, chunk_ids = map(shared.setdefault, values, values)  # many are equal
        of = content_id("relationship", a.name, b.name), len(rows), a.name, b.name, ""
        rows.append(Relationship(*of, weight, strength, chunk_ids, (), a.degree + b.degree))
    return rows, elements


Key = tuple[str, str, str, str, str]


def merge_claims(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    claims: Sequence[Sequence[FoundClaim]],
    names: Names,
    merged: Merged,
) -> Merged:
    """Return the graph with one row for all instances of a claim, ordered by subject.

    A subject or object that is not an entity retains its name; claims about deleted entities are dropped. If instances
    differ in status, the most frequent one is used, or SUSPECTED if several are equally frequent. Spans are those of
    the quoted words if the chunk contains them, else of the whole chunk.
    """
    display = {key: row.name for key, row in zip(merged.keys, merged.entities, strict=True)}
    document_of = {document.id: document for document in documents}
    elements: dict[Key, ClaimElement] = {}
    for chunk, of_chunk in zip(chunks, claims, strict=True):
        for claim in of_chunk:
            ends = (claim.subject, claim.object)
            keys = [names.key(name, chunk.document_id) if name else None for name in ends]
            if "" in keys:
                continue
            subject, object_ = (display.get(key or "", name) for key, name in zip(keys, ends, strict=True))
            key = (subject, object_, claim.type, claim.start_date or "", claim.end_date or "")
            element = elements.setdefault(key, ClaimElement())
            span = _quoted(claim.source_text, chunk, document_of[chunk.document_id])
            element.chunk_ids[chunk.id] = None
            if (span, claim.description) not in element.instances:
                element.instances[span, claim.description] = claim.description
                element.statuses[claim.status] += 1
    rows: list[Claim] = []
    for number, key in enumerate(sorted(elements)):
        (subject, object_, kind, start, end), element = key, elements[key]
        (status, most), *others = element.statuses.most_common()
        if others and others[0][1] == most:
            status = "SUSPECTED"
        id_, chunk_ids = content_id("claim", *key), tuple(element.chunk_ids)
        dates = start or None, end or None
        rows.append(Claim(id_, number, subject, object_, kind, status, "", chunk_ids, (), *dates))
    return replace(merged, claims=rows, claim_elements=[elements[key] for key in sorted(elements)])


def _quoted(words: str, chunk: Chunk, document: Document) -> Span:
    """Return the span of words in a chunk, or the span of the chunk if it does not contain them."""
    if (match := span_of(words, chunk.text)) is None:
        return chunk.span
    content = content_of(document)
    before = content.at(chunk.start)
    return Span(document.id, *content.span(before + match[0], before + match[1]))


def triples_of(extracted: Iterable[tuple[str, Sequence[FoundTriple]]]) -> list[Triple]:
    """Return the triples of chunks, given by their ids, as rows; a triple of several chunks is one row."""
    chunks: dict[tuple[str, str, str], dict[str, None]] = {}
    for chunk, triples in extracted:
        for triple in triples:
            qualifiers = "; ".join(filter(None, (triple.time, triple.location, triple.amount)))
            relation = f"{triple.relation} ({qualifiers})" if qualifiers else triple.relation
            chunks.setdefault((triple.head, relation, triple.tail), {})[chunk] = None
    return [
        Triple(content_id(*texts), i, *texts, tuple(ids)) for i, (texts, ids) in enumerate(chunks.items())
    ]
