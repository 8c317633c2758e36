"""Whether a correction goes with the index that it is of, and with the corrections that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conspectus.corrections import (
    AddFact,
    Correction,
    Delete,
    Entry,
    Merge,
    Rename,
    Retype,
    Split,
    documents_read,
)
from conspectus.errors import NotFound, UsageError
from conspectus.explore import find_entity
from conspectus.index import Index
from conspectus.indexing.correct import Corrector
from conspectus.indexing.entity_assignment import EntityAssignment, key_of
from conspectus.indexing.resolve import Names


class Known:
    """The names of an index, as they will be with the corrections that wait."""

    def __init__(self, index: Index, waiting: Sequence[Entry]) -> None:
        self.index = index
        display = {key_of(entity.name): entity.name for entity in index.entities}
        self.state = EntityAssignment(Names(display, {}, {}, {}, []), _standing(index))
        self._corrector = Corrector(self.state, documents_read(index.documents), index.chunks)
        for entry in waiting:
            self._corrector.apply(entry)

    def find(self, name: str) -> str:
        """Return the key of the one entity that a name means; raise NotFound, with what is near, where it is none."""
        try:
            return self.state.find(name)
        except NotFound:
            if key_of(name) in self.state.deleted:
                raise
        return self.state.find(find_entity(name, self.index).name)

    def name(self, name: str) -> str:
        """Return the name of the entity that a name or alias means."""
        return self.state.called(self.find(name))

    def by_its_names(self, correction: Correction) -> Correction:
        """Return a correction with the names that entities have, and check that it changes something."""
        match correction:
            case Merge(names, into):
                found = tuple(dict.fromkeys(map(self.name, names)))
                into = self._owned(into) if into else found[0]
                if len({*found, into}) == 1:
                    raise UsageError(f"{' and '.join(names)} are one already: {into}")
                return Merge(found, into)
            case Split(name, into):
                self._check_divisible(correction)
                return replace(correction, name=self.name(name), into=self._owned(into))
            case Rename(name, to):
                name = self.name(name)
                other = self.state.owner(to)
                if other is not None and other != self.find(name):
                    raise UsageError(f"there is a {self.state.called(other)} already; if both are one, merge them")
                return Rename(name, to)
            case AddFact(source, target):
                ends = (self._end(name, correction.create) for name in (source, target))
                return replace(correction, source=next(ends), target=next(ends))
            case Retype(name) | Delete(name):
                return replace(correction, name=self.name(name))

    def _owned(self, name: str) -> str:
        """Return the name of the entity that is called so, or the name itself where it would be a new one."""
        owner = self.state.owner(name)
        return name if owner is None else self.state.called(owner)

    def _end(self, name: str, create: bool) -> str:
        try:
            return self.name(name)
        except NotFound as error:
            if not create:
                raise NotFound(f"{error}; --create makes it an entity") from None
            return name

    def _check_divisible(self, split: Split) -> None:
        """Raise NotFound or UsageError where a split by aliases would take nothing, or all."""
        name, known = self.name(split.name), self.state.held[self.find(split.name)]
        aliases = {key_of(alias) for alias in split.aliases}
        if unknown := [alias for alias in split.aliases if key_of(alias) not in known]:
            raise NotFound(f"{name} is not called {unknown[0]!r} anywhere; its names are {', '.join(sorted(known))}")
        if not split.where and aliases >= known.keys():
            raise UsageError(f"that is all that {name} is called; rename it instead")

    def same(self, name: str, *others: str) -> bool:
        """Tell whether a name means the entity that one of some others means."""
        try:
            return self.state.find(name) in {self.state.find(other) for other in others}
        except NotFound:
            return False

    def try_out(self, entry: Entry) -> None:
        """Raise UsageError where a correction could not be applied as it is meant."""
        if why := self._corrector.apply(entry).why:
            raise UsageError(why)


def _standing(index: Index) -> Iterator[tuple[str, str, str]]:
    """Yield every name of an index with each document of its entity, and the entity's key."""
    for entity in index.entities:
        documents = {index.chunk_of[chunk].document_id for chunk in entity.chunk_ids}
        for name in (entity.name, *entity.aliases):
            yield from ((key_of(name), document, key_of(entity.name)) for document in documents)


def check_beside(correction: Correction, entry: Entry, known: Known) -> None:
    """Raise UsageError where a correction says again what another one says, or is at odds with it."""
    other = entry.correction
    if correction == other:
        raise UsageError(f"correction {entry.number} says so already")
    match correction, other:
        case (Retype(name), Retype(same)) | (Rename(name), Rename(same)):
            at_odds = known.same(name, same)
        case Merge(names), Split(name, into):
            at_odds = known.same(name, *names) and known.same(into, *names)
        case Split(name, aliases=aliases, where=()), Merge(names):
            at_odds = known.same(name, other.name) and not {*map(key_of, aliases)}.isdisjoint(map(key_of, names))
        case Delete(name), AddFact(source, target):
            at_odds = known.same(name, source) or known.same(name, target)
        case _:
            at_odds = False
    if at_odds:
        raise UsageError(f"this is at odds with {entry}; conspectus correct undo {entry.number} takes that away")
