"""Which names stand for what, while corrections change it one by one.

A name as it is written has a key (`words.name_key`); the name of each entity is one of these keys, and each name in
each document stands for one entity (`resolve.Names`). A correction moves names from one entity to another: all of
them, or those that are so written, or in some documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from conspectus.errors import NotFound
from conspectus.indexing.resolve import Names
from conspectus.text.words import name_key

GONE = ""
"""The key of what there is not."""


def key_of(name: str) -> str:
    """Return what the spellings of a name have in common."""
    return name_key(name) or name


@dataclass(frozen=True, slots=True)
class Step:
    """From the step of this place on, an entity's names stand for another: all, or those so `written`, or `within` some
    documents.
    """

    place: int
    to: str
    written: frozenset[str] | None = None
    within: frozenset[str] | None = None

    @property
    def whole(self) -> bool:
        """Whether all of the entity goes."""
        return self.written is None and self.within is None

    def takes(self, name: str, document_id: str) -> bool:
        """Tell whether a name, by its key, is one of them in a document."""
        return (self.written is None or name in self.written) and (self.within is None or document_id in self.within)


@dataclass
class CorrectedNames(Names):
    """Names as people corrected them."""

    steps: Mapping[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    """What moves the names of each entity elsewhere, by its key, in the order of the places."""
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names that people gave entities, by their keys."""

    def key(self, name: str, document_id: str) -> str:
        key = super().key(name, document_id)
        if key not in self.steps:
            return key
        written, place = key_of(name), -1
        while step := self._next(key, place, written, document_id):
            key, place = step.to, step.place
        return key

    def _next(self, key: str, place: int, written: str, document_id: str) -> Step | None:
        after = (step for step in self.steps.get(key, ()) if step.place > place)
        return next((step for step in after if step.takes(written, document_id)), None)

    def name(self, key: str) -> str:
        return self.given.get(key) or (super().name(key) if key != GONE else GONE)


def resolve_chain(key: str, steps: Mapping[str, Sequence[Step]], place: int = -1) -> str:
    """Return what became of a whole entity after a place: its key then, or `GONE`."""
    while step := next((s for s in steps.get(key, ()) if s.place > place and s.whole), None):
        key, place = step.to, step.place
    return key


class EntityAssignment:
    """The entities that there are by now, and what led to them."""

    def __init__(self, names: Names, standing: Iterable[tuple[str, str, str]]) -> None:
        """Start from names as they were resolved; `standing` are the keys of names that stand somewhere, with their
        document and the key of their entity.
        """
        self.display = names.display
        self.held: dict[str, dict[str, set[str]]] = defaultdict(dict)
        """The documents in which each entity is written with each name, by their keys."""
        self.holders: dict[str, set[str]] = defaultdict(set)
        """The entities that each name stands for, somewhere."""
        for written, document_id, key in standing:
            self.held[key].setdefault(written, set()).add(document_id)
            self.holders[written].add(key)
        self.held, self.holders = dict(self.held), dict(self.holders)
        self.place = 0
        self.steps: dict[str, list[Step]] = {}
        self.given: dict[str, str] = {}
        self.named: dict[str, str] = {}
        """Entities by the keys of the names that people gave them."""
        self.deleted: dict[str, int] = {}
        """By which correction there is nothing of a name, by its key."""

    def called(self, key: str) -> str:
        """Return the name of an entity."""
        return self.given.get(key) or self.display.get(key) or key

    def find(self, name: str) -> str:
        """Return the key of the entity of a name or alias; raise NotFound where there is none, or there are several."""
        key = key_of(name)
        own = self.named.get(key, key)
        for known in (own, resolve_chain(own, self.steps)):
            if known in self.held:
                return known
        found = sorted(self.holders.get(key, ()))
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFound(f"{name!r} may be any of {', '.join(map(self.called, found))}")
        if key in self.deleted:
            raise NotFound(f"correction {self.deleted[key]} deletes {name!r}")
        raise NotFound(f"nothing is called {name!r}")

    def owner(self, name: str) -> str | None:
        """Return the key of the entity that is called so, not only beside its name; None where there is none."""
        key = key_of(name)
        known = self.named.get(key, key)
        return known if known in self.held and key_of(self.called(known)) == key else None

    def give(self, key: str, name: str) -> None:
        """Call an entity by a name, which leads to it from now on."""
        own = key_of(name)
        self.given[key] = name
        self.named[own] = key
        if own != key and own not in self.held:
            self._step(own, Step(self.place, key))

    def move(
        self, key: str, to: str, written: Set[str] | None = None, within: Set[str] | None = None
    ) -> dict[str, set[str]]:
        """Have names of an entity stand for another one, and return them with their documents; do nothing for none."""
        moved = self.part(key, written, within)
        if not moved:
            return moved
        for name, documents in moved.items():
            self._take(key, name, documents)
            if to != GONE:
                self.held.setdefault(to, {}).setdefault(name, set()).update(documents)
                self.holders.setdefault(name, set()).add(to)
        if not self.held[key]:
            del self.held[key]
        every = (None if part is None else frozenset(part) for part in (written, within))
        self._step(key, Step(self.place, to, *every))
        return moved

    def part(self, key: str, written: Set[str] | None, within: Set[str] | None) -> dict[str, set[str]]:
        """Return the names of an entity that are so written, with the documents of them that are within some."""
        parts = {
            name: set(documents) if within is None else documents & within
            for name, documents in self.held.get(key, {}).items()
            if written is None or name in written
        }
        return {name: documents for name, documents in parts.items() if documents or within is None}

    def _take(self, key: str, name: str, documents: set[str]) -> None:
        left = self.held[key][name] - documents
        if left:
            self.held[key][name] = left
        else:
            del self.held[key][name]
            self.holders[name].discard(key)

    def _step(self, key: str, step: Step) -> None:
        self.steps.setdefault(key, []).append(step)
        self.place += 1
