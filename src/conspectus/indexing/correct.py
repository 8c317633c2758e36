"""The stage between resolve and merge that applies what people corrected.

Corrections are applied in their order, each to what those before it left. Merge, split, rename and delete change for
which entity names stand (`decisions`), so that all that names lead to follows: descriptions, spans, chunks, weights,
claims, mentions. What else they change, `corrected` does to the graph that merge makes. What a correction finds no
more is told, and the others stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from conspectus.corrections import AddFact, Delete, Entry, Merge, Rename, Retype, Split
from conspectus.errors import NotFound, UsageError
from conspectus.filters import conditions
from conspectus.indexing.correction_results import CorrectionResult, Fact, Outcome
from conspectus.indexing.entity_assignment import GONE, CorrectedNames, EntityAssignment, key_of, resolve_chain
from conspectus.indexing.resolve import Names
from conspectus.rows import AliasDecision, Chunk, Document, Span
from conspectus.tasks import Extraction
from conspectus.text.spans import located

PERSON = "person"
"""The rule of joins that people decided."""


def decide(
    entries: Sequence[Entry],
    names: Names,
    chunks: Sequence[Chunk],
    graphs: Sequence[Extraction],
    documents: Sequence[Document],
) -> CorrectionResult:
    """Apply corrections to the names that were resolved of the chunks' graphs."""
    if not entries:
        return CorrectionResult(names, names.joins)
    found = {(name, chunk.document_id) for chunk, graph in zip(chunks, graphs, strict=True) for name in _names(graph)}
    standing = ((key_of(name), document, names.key(name, document)) for name, document in sorted(found))
    corrector = Corrector(EntityAssignment(names, standing), documents, chunks)
    outcomes = [corrector.apply(entry) for entry in entries]
    return corrector.decided(names, chunks, graphs, outcomes)


def _names(graph: Extraction) -> Iterator[str]:
    for entity in graph.entities:
        yield entity.name
    for relationship in graph.relationships:
        yield relationship.source
        yield relationship.target


class Corrector:
    """Applies corrections one after the other."""

    def __init__(self, state: EntityAssignment, documents: Sequence[Document], chunks: Sequence[Chunk] = ()) -> None:
        self.state = state
        self._documents = documents
        self._chunks = chunks
        self._types: dict[str, str] = {}
        self._made: set[str] = set()
        self._facts: list[tuple[int, Fact]] = []
        self._joins: list[tuple[int, str, AliasDecision]] = []
        self._gone: set[str] = set()

    def apply(self, entry: Entry) -> Outcome:
        """Apply a correction to what is there by now, as far as that can be done."""
        try:
            match entry.correction:
                case Merge() as correction:
                    why = self._merge(correction, entry)
                case Split() as correction:
                    why = self._divide(correction, entry)
                case Rename() as correction:
                    why = self._rename(correction, entry)
                case Retype() as correction:
                    why = ""
                    self._types[self.state.find(correction.name)] = correction.type
                case Delete() as correction:
                    why = self._delete(correction, entry)
                case AddFact() as correction:
                    why = self._add(correction, entry)
        except (NotFound, UsageError) as error:
            return Outcome(entry, str(error))
        return Outcome(entry, why)

    def _merge(self, merge: Merge, entry: Entry) -> str:
        state = self.state
        keys: dict[str, str] = {}
        lost: list[str] = []
        for name in merge.names:
            try:
                keys.setdefault(state.find(name), name)
            except NotFound as error:
                lost.append(str(error))
        into = state.owner(merge.name)
        if into is None and keys:
            into = next(iter(keys))
            self._check_free(merge.name, keys)
        for key, name in keys.items():
            if into is not None and key != into:
                state.move(key, into)
                self._types.setdefault(into, self._types.pop(key, ""))
                self._note(name, into, entry)
        if into is not None and keys:
            self._made.add(into)
            state.give(into, merge.name)
        return "; ".join(lost)

    def _check_free(self, name: str, keys: Iterable[str]) -> None:
        """Raise NotFound where a name that an entity is to have is an alias of another one than some."""
        others = self.state.holders.get(key_of(name), set()) - set(keys)
        if others:
            raise NotFound(f"{name!r} is a name of {', '.join(map(self.state.called, sorted(others)))}")

    def _divide(self, split: Split, entry: Entry) -> str:
        state, key = self.state, self.state.find(split.name)
        own = key_of(split.into)
        to = state.owner(split.into) or own
        if to == key or (to == own and own in state.held and state.owner(split.into) is None):
            raise NotFound(f"{split.into!r} is a name of {state.called(state.find(split.into))}")
        within = self._meeting(split.where) if split.where else None
        written = {key_of(alias) for alias in split.aliases} or None
        if not state.part(key, written, within):
            if state.part(to, written, within):
                return ""
            where = f" in documents that meet {', '.join(split.where)}" if split.where else ""
            raise NotFound(f"nothing of {split.name!r} is called {', '.join(split.aliases) or 'so'}{where}")
        is_new = to not in state.held
        state.move(key, to, written, within)
        if is_new:
            state.give(to, split.into)
            self._made.add(to)
        for name in split.aliases or (split.name,):
            self._note(name, to, entry, f"where {', '.join(split.where)}" if split.where else "")
        return ""

    def _meeting(self, where: Sequence[str]) -> set[str]:
        met = conditions.matching([self._documents], conditions.read(where))[0]
        return {document.id for document, meets in zip(self._documents, met, strict=True) if meets}

    def _rename(self, rename: Rename, entry: Entry) -> str:
        state, key = self.state, self.state.find(rename.name)
        other = state.owner(rename.to)
        if other is None:
            self._check_free(rename.to, (key,))
        elif other != key:  # documents that came later use the name too: it is one thing that has it
            state.move(other, key)
        self._note(rename.name, key, entry)
        state.give(key, rename.to)
        return ""

    def _delete(self, delete: Delete, entry: Entry) -> str:
        state = self.state
        if key_of(delete.name) in state.deleted:
            return ""
        key = state.find(delete.name)
        moved = state.move(key, GONE)
        names = {*moved, key_of(state.called(key)), key_of(delete.name)}
        state.deleted |= dict.fromkeys(names, entry.number)
        self._gone |= {name for name in names if not state.holders.get(name)}
        return ""

    def _add(self, fact: AddFact, entry: Entry) -> str:
        ends = tuple(self._end(name, fact.create) for name in (fact.source, fact.target))
        if ends[0] == ends[1]:
            return f"{fact.source!r} and {fact.target!r} are one: {self.state.called(ends[0])}"
        if any(key_of(f.description) == key_of(fact.description) and f.ends == ends for _, f in self._facts):
            return ""
        span, chunk = self._quoted(fact) if fact.quote else (None, "")
        names = (fact.source, fact.target)
        made = Fact(entry, (ends[0], ends[1]), names, fact.description, fact.strength, span, chunk)
        self._facts.append((self.state.place, made))
        return ""

    def _end(self, name: str, create: bool) -> str:
        try:
            return self.state.find(name)
        except NotFound:
            key = key_of(name)
            if not create or key in self.state.deleted:
                raise
        self.state.held[key] = {key: set()}
        self.state.holders.setdefault(key, set()).add(key)
        self.state.give(key, name)
        return key

    def _quoted(self, fact: AddFact) -> tuple[Span, str]:
        """Return where a document says what a fact quotes, and the first chunk that holds it."""
        documents = self._documents
        if fact.document:
            named = conditions.Condition("path", "=", fact.document)
            met = conditions.matching([documents], (named,))[0]
            documents = [document for document, meets in zip(documents, met, strict=True) if meets]
        for document in documents:
            if place := located(fact.quote, document.text):
                span = Span(document.id, *place)
                return span, next((c.id for c in self._chunks if _holds(c, span)), "")
        raise NotFound(f"{fact.document or 'no document'} {'does not say' if fact.document else 'says'} {fact.quote!r}")

    def _note(self, name: str, key: str, entry: Entry, more: str = "") -> None:
        said = "; ".join(part for part in (f"correction {entry.number}", more, entry.note) if part)
        self._joins.append((self.state.place, key, AliasDecision(name, "", PERSON, said)))

    # What it comes to

    def decided(
        self, names: Names, chunks: Sequence[Chunk], graphs: Sequence[Extraction], outcomes: Sequence[Outcome]
    ) -> CorrectionResult:
        """Return what all corrections come to."""
        state = self.state
        corrected = CorrectedNames(
            names.display, names.everywhere, names.within, names.source_of, names.joins, state.steps, state.given
        )
        facts, lost = self._final_facts(corrected)
        told = [replace(o, why=lost[o.entry.number]) if o.entry.number in lost else o for o in outcomes]
        types = _types(chunks, graphs, corrected, self._made) if self._made else {}
        types |= {key: type_ for key, type_ in self._types.items() if type_}
        return CorrectionResult(
            corrected, self._final_joins(corrected), tuple(told), tuple(facts), types, frozenset(self._gone)
        )

    def _final_facts(self, names: CorrectedNames) -> tuple[list[Fact], dict[int, str]]:
        """Return the facts between what their ends became, and why those between what is no pair now are none."""
        facts: list[Fact] = []
        lost: dict[int, str] = {}
        for place, fact in self._facts:
            ends = (
                resolve_chain(fact.ends[0], names.steps, place - 1),
                resolve_chain(fact.ends[1], names.steps, place - 1),
            )
            if GONE in ends:
                name = fact.names[ends.index(GONE)]
                lost[fact.entry.number] = f"correction {self.state.deleted.get(key_of(name), '')} deletes {name!r}"
            elif ends[0] == ends[1]:
                lost[fact.entry.number] = f"{fact.names[0]!r} and {fact.names[1]!r} are one now"
            else:
                facts.append(replace(fact, ends=ends, names=(self._now(ends[0], fact, 0), self._now(ends[1], fact, 1))))
        return facts, lost

    def _now(self, key: str, fact: Fact, end: int) -> str:
        """Return the name of an end of a fact; merge names an entity that is but an end of relationships."""
        return self.state.given.get(key) or self.state.display.get(key) or fact.names[end]

    def _final_joins(self, names: CorrectedNames) -> list[AliasDecision]:
        """Return all joins by the names that entities have now, without those that corrections undid."""
        joins: list[AliasDecision] = []
        for join in names.joins:
            key = key_of(join.into)
            now = resolve_chain(key, names.steps)
            apart = any(step.takes(key_of(join.name), "") and step.written for step in self.state.steps.get(key, ()))
            if now != GONE and not apart:
                joins.append(replace(join, into=self.state.called(now)))
        for place, key, join in self._joins:
            now = resolve_chain(key, names.steps, place - 1)
            if now != GONE and (into := self.state.called(now)) != join.name:
                joins.append(replace(join, into=into))
        return joins


def _holds(chunk: Chunk, span: Span) -> bool:
    return chunk.document_id == span.document_id and chunk.start < span.end and span.start < chunk.end


def _types(chunks: Sequence[Chunk], graphs: Sequence[Extraction], names: Names, keys: set[str]) -> dict[str, str]:
    """Return the most frequent type of the instances of some entities, of those that no instance has the key of."""
    counts: dict[str, Counter[str]] = {}
    own: set[str] = set()
    for chunk, graph in zip(chunks, graphs, strict=True):
        for entity in graph.entities:
            if (key := names.key(entity.name, chunk.document_id)) in keys:
                counts.setdefault(key, Counter())[entity.type] += 1
                own |= {key} if key_of(entity.name) == key else set()
    return {key: min(found, key=lambda t: (-found[t], t)) for key, found in counts.items() if key not in own}
