"""The stage after resolve: apply the corrections of people to names, graph, claims, triples and arrays.

Corrections are applied in their order, each to the result of those before it. Merge, split, rename and delete change
which entity a name stands for (`CorrectedNames`), so descriptions, spans, chunks, weights, claims and mentions follow.
Types and added facts change the merged graph. A correction that cannot be applied is a recorded failure; the others
are applied all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from conspectus import tokens
from conspectus.corrections import ADDED_FACTS, STAGE, AddFact, Delete, Entry, Merge, Rename, Retype, Split
from conspectus.errors import NotFound
from conspectus.indexing.merge import Element, Merged, rows_of
from conspectus.indexing.resolve import Names
from conspectus.rows import AliasDecision, Chunk, Document, Failure, Place, Span, content_id
from conspectus.tasks import Extraction, FoundClaim, FoundTriple
from conspectus.text.mentions import hash_of, units
from conspectus.text.sentences import located
from conspectus.text.words import name_key

Arrays = dict[str, np.ndarray[Any, Any]]

RULE = "person"
"""The rule of alias decisions that people made."""
DELETED = ""
"""The entity key of names that stand for nothing."""
FACT_TEXTS: Mapping[str, tuple[str, str]] = {
    "en": ('A person{}: "{}"', " ({}, {})"),
    "zh": ("一位编者{}：“{}”", "（{}、{}）"),
}
"""The text of an added fact, and of the two names where the fact does not use them, by language."""


def key_of(name: str) -> str:
    """Return what all spellings of a name have in common."""
    return name_key(name) or name


# Names


@dataclass(frozen=True, slots=True)
class Move:
    """Names of the entity `key` stand for the entity `to`: all, those spelled as `names`, or those in `documents`."""

    key: str
    to: str
    names: frozenset[str] | None = None
    documents: frozenset[str] | None = None

    def applies(self, key: str, name: str, document_id: str) -> bool:
        """Tell whether a name, by its key, that stands for an entity in a document is moved."""
        if key != self.key or (self.names is not None and name not in self.names):
            return False
        return self.documents is None or document_id in self.documents


def entity_after(moves: Iterable[Move], key: str) -> str:
    """Return the key of what a whole entity became: of another entity, or `DELETED`."""
    for move in moves:
        if move.key == key and move.names is None and move.documents is None:
            key = move.to
    return key


@dataclass
class CorrectedNames(Names):
    """Resolved names after the moves of all corrections."""

    moves: Sequence[Move] = ()
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that people gave to entities, by entity key."""

    def __post_init__(self) -> None:
        self._moved = {move.key for move in self.moves}

    def key(self, name: str, document_id: str) -> str:
        key = super().key(name, document_id)
        if key in self._moved:
            written = key_of(name)
            for move in self.moves:
                if move.applies(key, written, document_id):
                    key = move.to
        return key

    def name(self, key: str) -> str:
        return self.given.get(key) or (super().name(key) if key != DELETED else "")


# What corrections come to


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a correction: `problem` says why it was not applied, or only in part."""

    entry: Entry
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """An added fact between two entities, by their keys and names."""

    entry: Entry
    ends: tuple[str, str]
    names: tuple[str, str]
    description: str
    strength: float
    quote: Span | None = None
    """The passage that it cites; None for what only a person states."""
    chunk_id: str = ""


@dataclass(frozen=True)
class CorrectionResult:
    """The result of applying all corrections to the resolved names."""

    names: Names
    joins: Sequence[AliasDecision]
    outcomes: tuple[Outcome, ...] = ()
    facts: tuple[Fact, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """Types that differ from those of the extracted instances, by entity key."""
    deleted: frozenset[str] = frozenset()
    """The keys of names that stand for nothing any more."""

    @property
    def failures(self) -> list[Failure]:
        """The corrections that were not applied."""
        return [
            Failure(f"{STAGE} {o.entry.number}", f"{o.entry.correction}: {o.problem}")
            for o in self.outcomes
            if o.problem
        ]


def correct_names(
    entries: Sequence[Entry],
    names: Names,
    chunks: Sequence[Chunk],
    graphs: Sequence[Extraction],
    documents: Sequence[Document],
) -> CorrectionResult:
    """Apply corrections to the names that were resolved from the extractions of chunks."""
    if not entries:
        return CorrectionResult(names, names.joins)
    pairs = {(name, chunk.document_id) for chunk, graph in zip(chunks, graphs, strict=True) for name in _names(graph)}
    uses = ((key_of(name), document, names.key(name, document)) for name, document in sorted(pairs))
    corrector = Corrector(names, uses, documents, chunks)
    outcomes = [corrector.apply(entry) for entry in entries]
    return corrector.result(outcomes, chunks, graphs)


def _names(graph: Extraction) -> Iterator[str]:
    for entity in graph.entities:
        yield entity.name
    for relationship in graph.relationships:
        yield relationship.source
        yield relationship.target


class Corrector:
    """Applies corrections one by one; knows which entities exist, and by which names in which documents."""

    def __init__(
        self,
        names: Names,
        uses: Iterable[tuple[str, str, str]],
        documents: Sequence[Document],
        chunks: Sequence[Chunk] = (),
    ) -> None:
        """Start from resolved names and their uses: name key, document id, entity key."""
        self._names = names
        self._documents = documents
        self._chunks = chunks
        self.uses: dict[str, dict[str, set[str]]] = {}
        """The documents that use each name of each entity, by entity key and name key."""
        for name, document_id, key in uses:
            self.uses.setdefault(key, {}).setdefault(name, set()).add(document_id)
        self._moves: list[Move] = []
        self._given: dict[str, str] = {}
        self._entity_of_given: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._merged: set[str] = set()
        self._deleted_by: dict[str, int] = {}
        self._deleted: set[str] = set()
        self._facts: list[tuple[int, Fact]] = []
        """Facts with the number of moves before them; so are joins, which go with the key of their entity."""
        self._joins: list[tuple[int, str, AliasDecision]] = []

    # Looking up entities

    def display(self, key: str) -> str:
        """Return the name of an entity."""
        return self._given.get(key) or self._names.display.get(key) or key

    def find(self, name: str) -> str:
        """Return the key of the entity with a name or alias; raise NotFound where there is none, or more than one."""
        own = self._entity_of_given.get(key_of(name), key_of(name))
        for key in (own, entity_after(self._moves, own)):
            if key in self.uses:
                return key
        keys = self._entities_named(key_of(name))
        if len(keys) == 1:
            return keys[0]
        if keys:
            raise NotFound(f"{name!r} may be any of {', '.join(map(self.display, keys))}")
        if number := self.deleted_by(name):
            raise NotFound(f"correction {number} deletes {name!r}")
        raise NotFound(f"nothing is called {name!r}")

    def owner(self, name: str) -> str | None:
        """Return the key of the entity whose own name it is, not just an alias; None where there is none."""
        key = self._entity_of_given.get(key_of(name), key_of(name))
        return key if key in self.uses and key_of(self.display(key)) == key_of(name) else None

    def deleted_by(self, name: str) -> int:
        """Return the number of the correction that deletes a name, 0 where none does."""
        return self._deleted_by.get(key_of(name), 0)

    def _entities_named(self, written: str) -> list[str]:
        return sorted(key for key, names in self.uses.items() if written in names)

    def _check_free(self, name: str, keys: Iterable[str]) -> None:
        """Raise NotFound where a new name is an alias of an entity other than some."""
        if others := sorted({*self._entities_named(key_of(name))} - {*keys}):
            raise NotFound(f"{name!r} is a name of {', '.join(map(self.display, others))}")

    # Changing what names stand for

    def _give(self, key: str, name: str) -> None:
        """Give an entity a name, which leads to it from now on."""
        own = key_of(name)
        self._given[key] = name
        self._entity_of_given[own] = key
        if own != key and own not in self.uses:
            self._moves.append(Move(own, key))

    def _part(self, key: str, names: set[str] | None, documents: set[str] | None) -> dict[str, set[str]]:
        """Return the uses of an entity under some names, in some documents."""
        parts = {
            name: used if documents is None else used & documents
            for name, used in self.uses.get(key, {}).items()
            if names is None or name in names
        }
        return {name: used for name, used in parts.items() if used or documents is None}

    def _move(
        self, key: str, to: str, names: set[str] | None = None, documents: set[str] | None = None
    ) -> dict[str, set[str]]:
        """Make uses of an entity stand for another one, and return them; do nothing where there are none."""
        moved = self._part(key, names, documents)
        if not moved:
            return moved
        remaining = {name: used - moved.get(name, set()) for name, used in self.uses.pop(key).items()}
        remaining = {name: used for name, used in remaining.items() if used or name not in moved}
        if remaining:
            self.uses[key] = remaining
        if to != DELETED:
            target = self.uses.setdefault(to, {})
            for name, used in moved.items():
                target[name] = target.get(name, set()) | used
        frozen = (None if part is None else frozenset(part) for part in (names, documents))
        self._moves.append(Move(key, to, *frozen))
        return moved

    def _record(self, name: str, key: str, entry: Entry, detail: str = "") -> None:
        evidence = "; ".join(part for part in (f"correction {entry.number}", detail, entry.note) if part)
        self._joins.append((len(self._moves), key, AliasDecision(name, "", RULE, evidence)))

    # The kinds of corrections

    def apply(self, entry: Entry) -> Outcome:
        """Apply a correction as far as possible."""
        problem = ""
        try:
            match entry.correction:
                case Merge() as correction:
                    problem = self._apply_merge(correction, entry)
                case Split() as correction:
                    self._apply_split(correction, entry)
                case Rename() as correction:
                    self._apply_rename(correction, entry)
                case Retype() as correction:
                    self._types[self.find(correction.name)] = correction.type
                case Delete() as correction:
                    self._apply_delete(correction, entry)
                case AddFact() as correction:
                    problem = self._apply_fact(correction, entry)
        except NotFound as error:
            problem = str(error)
        return Outcome(entry, problem)

    def _apply_merge(self, merge: Merge, entry: Entry) -> str:
        keys: dict[str, str] = {}
        problems: list[str] = []
        for name in merge.names:
            try:
                keys.setdefault(self.find(name), name)
            except NotFound as error:
                problems.append(str(error))
        into = self.owner(merge.name)
        if into is None and keys:
            into = next(iter(keys))
            self._check_free(merge.name, keys)
        for key, name in keys.items():
            if into is not None and key != into:
                self._move(key, into)
                self._types.setdefault(into, self._types.pop(key, ""))
                self._record(name, into, entry)
        if into is not None and keys:
            self._merged.add(into)
            self._give(into, merge.name)
        return "; ".join(problems)

    def _apply_split(self, split: Split, entry: Entry) -> None:
        key, own = self.find(split.name), key_of(split.into)
        owner = self.owner(split.into)
        to = owner or own
        if to == key or (owner is None and own in self.uses):
            raise NotFound(f"{split.into!r} is a name of {self.display(self.find(split.into))}")
        documents = {d.id for d in self._documents_at(split.documents)} if split.documents else None
        names = {key_of(alias) for alias in split.aliases} or None
        if not self._part(key, names, documents):
            if self._part(to, names, documents):
                return
            where = f" in {', '.join(split.documents)}" if split.documents else ""
            raise NotFound(f"nothing of {split.name!r} is called {', '.join(split.aliases) or split.name}{where}")
        is_new = to not in self.uses
        self._move(key, to, names, documents)
        if is_new:
            self._give(to, split.into)
            self._merged.add(to)
        for name in split.aliases or (split.name,):
            self._record(name, to, entry, f"in {', '.join(split.documents)}" if split.documents else "")

    def _documents_at(self, patterns: Iterable[str]) -> list[Document]:
        """Return the documents of paths, ends of paths and patterns; raise NotFound for one without a document."""
        found: dict[str, Document] = {}
        for pattern in patterns:
            matching = {d.id: d for d in self._documents if _matches(d.path, pattern)}
            if not matching:
                raise NotFound(f"no document is at {pattern}")
            found |= matching
        return list(found.values())

    def _apply_rename(self, rename: Rename, entry: Entry) -> None:
        key = self.find(rename.name)
        other = self.owner(rename.to)
        if other is None:
            self._check_free(rename.to, (key,))
        elif other != key:  # later documents use the new name too: it is the same entity
            self._move(other, key)
        self._record(rename.name, key, entry)
        self._give(key, rename.to)

    def _apply_delete(self, delete: Delete, entry: Entry) -> None:
        if self.deleted_by(delete.name):
            return
        key = self.find(delete.name)
        moved = self._move(key, DELETED)
        written = {*moved, key_of(self.display(key)), key_of(delete.name)}
        self._deleted_by |= dict.fromkeys(written, entry.number)
        self._deleted |= {name for name in written if not self._entities_named(name)}

    def _apply_fact(self, fact: AddFact, entry: Entry) -> str:
        ends = self._end(fact.source, fact.create), self._end(fact.target, fact.create)
        if ends[0] == ends[1]:
            return f"{fact.source!r} and {fact.target!r} are one: {self.display(ends[0])}"
        if any(key_of(f.description) == key_of(fact.description) and f.ends == ends for _, f in self._facts):
            return ""
        span, chunk = self._quoted(fact) if fact.quote else (None, "")
        names = (fact.source, fact.target)
        made = Fact(entry, ends, names, fact.description, fact.strength, span, chunk)
        self._facts.append((len(self._moves), made))
        return ""

    def _end(self, name: str, create: bool) -> str:
        key = key_of(name)
        try:
            return self.find(name)
        except NotFound:
            if not create or self.deleted_by(name):
                raise
        self.uses[key] = {key: set()}
        self._give(key, name)
        return key

    def _quoted(self, fact: AddFact) -> tuple[Span, str]:
        """Return the passage that a fact quotes, and the id of the first chunk that has it."""
        documents = self._documents_at([fact.document]) if fact.document else self._documents
        for document in documents:
            if at := located(fact.quote, document.text):
                span = Span(document.id, *at)
                return span, next((c.id for c in self._chunks if _overlaps(c, span)), "")
        raise NotFound(f"{fact.document or 'no document'} {'does not say' if fact.document else 'says'} {fact.quote!r}")

    # The result

    def result(
        self, outcomes: Sequence[Outcome], chunks: Sequence[Chunk], graphs: Sequence[Extraction]
    ) -> CorrectionResult:
        """Return the result of all corrections that were applied."""
        n = self._names
        names = CorrectedNames(n.display, n.everywhere, n.within, n.source_of, n.joins, tuple(self._moves), self._given)
        facts, problems = self._final_facts()
        outcomes = [replace(o, problem=problems.get(o.entry.number, o.problem)) for o in outcomes]
        types = _merged_types(chunks, graphs, names, self._merged) if self._merged else {}
        types |= {key: type_ for key, type_ in self._types.items() if type_}
        return CorrectionResult(
            names, self._final_joins(), tuple(outcomes), tuple(facts), types, frozenset(self._deleted)
        )

    def _final_facts(self) -> tuple[list[Fact], dict[int, str]]:
        """Return the facts between what their ends became, and why the others are dropped, by correction number."""
        facts: list[Fact] = []
        problems: dict[int, str] = {}
        for moves, fact in self._facts:
            source, target = (entity_after(self._moves[moves:], end) for end in fact.ends)
            if DELETED in (source, target):
                name = fact.names[(source, target).index(DELETED)]
                problems[fact.entry.number] = f"correction {self.deleted_by(name) or ''} deletes {name!r}"
            elif source == target:
                problems[fact.entry.number] = f"{fact.names[0]!r} and {fact.names[1]!r} are one now"
            else:
                names = self._name_now(source, fact.names[0]), self._name_now(target, fact.names[1])
                facts.append(replace(fact, ends=(source, target), names=names))
        return facts, problems

    def _name_now(self, key: str, name: str) -> str:
        """Return the name of an end; one that only relationships name gets its display name from merge."""
        return self._given.get(key) or self._names.display.get(key) or name

    def _final_joins(self) -> list[AliasDecision]:
        """Return all alias decisions by the names that entities have now, without those that corrections undid."""
        joins: list[AliasDecision] = []
        for join in self._names.joins:
            key = key_of(join.into)
            split_off = any(m.names and key == m.key and key_of(join.name) in m.names for m in self._moves)
            if not split_off and (now := entity_after(self._moves, key)) != DELETED:
                joins.append(replace(join, into=self.display(now)))
        for moves, key, join in self._joins:
            now = entity_after(self._moves[moves:], key)
            if now != DELETED and (into := self.display(now)) != join.name:
                joins.append(replace(join, into=into))
        return joins


def _matches(path: str, pattern: str) -> bool:
    ends = path == pattern or path.endswith(f"/{pattern}")
    return ends or fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _overlaps(chunk: Chunk, span: Span) -> bool:
    return chunk.document_id == span.document_id and chunk.start < span.end and span.start < chunk.end


def _merged_types(
    chunks: Sequence[Chunk], graphs: Sequence[Extraction], names: Names, keys: set[str]
) -> dict[str, str]:
    """Return the most frequent type of the instances of entities none of whose instances is spelled as its key."""
    counts: dict[str, Counter[str]] = {}
    own: set[str] = set()
    for chunk, graph in zip(chunks, graphs, strict=True):
        for entity in graph.entities:
            if (key := names.key(entity.name, chunk.document_id)) in keys:
                counts.setdefault(key, Counter())[entity.type] += 1
                own |= {key} if key_of(entity.name) == key else set()
    return {key: min(types, key=lambda t: (-types[t], t)) for key, types in counts.items() if key not in own}


# Added facts without a quote, as a document


@dataclass(frozen=True)
class FactDocument:
    """The document of the added facts that no document states, each a chunk of its own; empty where there are none.

    So everything that uses such a fact leads to characters that say who states it.
    """

    documents: tuple[Document, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    chunk_of: Mapping[int, Chunk] = field(default_factory=dict[int, Chunk])
    """By the number of the correction."""

    def instance(self, fact: Fact) -> tuple[Span, str, str]:
        """Return the passage of a fact, the id of its chunk, and its text there."""
        if fact.quote:
            return fact.quote, fact.chunk_id, fact.description
        chunk = self.chunk_of[fact.entry.number]
        return chunk.span, chunk.id, chunk.text


def facts_as_document(facts: Sequence[Fact], documents: int, chunks: int, language: str = "en") -> FactDocument:
    """Return the document of facts without a quote; it is numbered after so many documents and chunks."""
    stated = [fact for fact in facts if fact.quote is None]
    if not stated:
        return FactDocument()
    lines = [_fact_text(fact, language) for fact in stated]
    text = "\n".join(lines)
    id_ = content_id(ADDED_FACTS, text)
    cut: dict[int, Chunk] = {}
    places: list[Place] = []
    start = 0
    for i, (fact, line) in enumerate(zip(stated, lines, strict=True)):
        end = start + len(line)
        chunk_id = content_id(id_, str(start), str(end))
        cut[fact.entry.number] = Chunk(chunk_id, chunks + i, id_, start, end, line, tokens.count(line))
        by = f" by {fact.entry.author}" if fact.entry.author else ""
        places.append(Place(start, f"correction {fact.entry.number}{by}"))
        start = end + 1
    metadata = {"language": language}
    document = Document(id_, documents, ADDED_FACTS.capitalize(), text, ADDED_FACTS, None, metadata, tuple(places))
    return FactDocument((document,), tuple(cut.values()), cut)


def _fact_text(fact: Fact, language: str) -> str:
    text, of_names = FACT_TEXTS.get(language, FACT_TEXTS["en"])
    description = key_of(fact.description)
    has_names = all(key_of(name) in description for name in fact.names)
    return text.format("" if has_names else of_names.format(*fact.names), fact.description)


# The graph, claims, triples and arrays


def correct_graph(merged: Merged, result: CorrectionResult, added: FactDocument) -> Merged:
    """Return the graph without deleted entities and with added facts and types, before claims are merged.

    A fact is one more instance of its relationship, at its quote or in the document of added facts.
    """
    if not result.outcomes:
        return merged
    entities = {e.key[0]: e for e in merged.entity_elements if e.key[0] != DELETED}
    pairs = {(e.key[0], e.key[1]): e for e in merged.relationship_elements if DELETED not in e.key}
    for fact in result.facts:
        for key in fact.ends:
            if key not in entities:
                entities[key] = _with_fact(Element((key,)), fact, added)
        pair = (min(fact.ends), max(fact.ends))
        pairs[pair] = _with_fact(pairs.get(pair, Element(pair)), fact, added)
    corrected = rows_of(entities, pairs, result.names)
    rows = zip(corrected.entities, corrected.entity_elements, strict=True)
    return replace(corrected, entities=[replace(e, type=result.types.get(of.key[0], e.type)) for e, of in rows])


def _with_fact(element: Element, fact: Fact, added: FactDocument) -> Element:
    """Return an element with a fact as an instance, in place of one of the very same passage."""
    span, chunk, text = added.instance(fact)
    known = (span, "") in element.instances
    return replace(
        element,
        instances=element.instances | {(span, ""): text},
        chunk_ids=element.chunk_ids | {chunk: None},
        strength=element.strength + (0.0 if known else fact.strength),
    )


def correct_claims(
    chunks: Sequence[Chunk], claims: Sequence[Sequence[FoundClaim]], result: CorrectionResult
) -> Sequence[Sequence[FoundClaim]]:
    """Return the claims of chunks without those about deleted entities."""
    if not result.outcomes:
        return claims

    def remains(claim: FoundClaim, document_id: str) -> bool:
        ends = (claim.subject, claim.object)
        return not any(name and result.names.key(name, document_id) == DELETED for name in ends)

    return [
        [claim for claim in of_chunk if remains(claim, chunk.document_id)]
        for chunk, of_chunk in zip(chunks, claims, strict=True)
    ]


def correct_triples(
    extracted: Iterable[tuple[Chunk, Sequence[FoundTriple]]], result: CorrectionResult, added: FactDocument
) -> Iterator[tuple[str, Sequence[FoundTriple]]]:
    """Yield chunk ids with their triples, by corrected names and without deleted entities.

    Added facts come last, where triples were extracted at all.
    """
    names, any_triples = result.names, False
    for chunk, triples in extracted:
        any_triples |= bool(triples)
        if isinstance(names, CorrectedNames):
            corrected = (_corrected(triple, chunk, names) for triple in triples)
            triples = [triple for triple in corrected if triple]
        yield chunk.id, triples
    for fact in result.facts if any_triples else ():
        head, tail = fact.names
        relation = fact.description.removeprefix(head).rstrip(".").removesuffix(tail).strip()
        yield added.instance(fact)[1], [FoundTriple(head, relation or fact.description, tail)]


def _corrected(triple: FoundTriple, chunk: Chunk, names: CorrectedNames) -> FoundTriple | None:
    ends: list[str] = []
    for name in (triple.head, triple.tail):
        key = names.key(name, chunk.document_id)
        if key == DELETED:
            return None
        changed = key in names.given or key != Names.key(names, name, chunk.document_id)
        ends.append(names.name(key) if changed else name)
    return FoundTriple(ends[0], triple.relation, ends[1]) if ends[0] != ends[1] else None


def drop_names(arrays: Mapping[str, np.ndarray[Any, Any]], names: Collection[str]) -> Arrays:
    """Return the arrays of an index, those of the sentence-entity graph without some names, by their keys."""
    if not names:
        return dict(arrays)
    walk = {name: array for name, array in arrays.items() if name.startswith("walk.")}
    hashes = np.array([hash_of(units(key)) for key in names], np.uint64)
    remain = ~np.isin(walk["walk.names"], hashes)
    number = np.cumsum(remain) - 1
    of_sentence = np.repeat(np.arange(len(walk["walk.out_starts"]) - 1), np.diff(walk["walk.out_starts"]))
    out = remain[walk["walk.out_names"]]
    weights, owner = walk["walk.out_weights"][out], of_sentence[out]
    totals = np.bincount(owner, weights, minlength=len(walk["walk.out_starts"]) - 1)
    sizes = np.bincount(owner, minlength=len(totals))
    inward = np.repeat(remain, np.diff(walk["walk.in_starts"]))
    return {
        **arrays,
        **{name: walk[name][remain] for name in ("walk.names", "walk.frequency", "walk.kinds")},
        "walk.out_starts": np.concatenate(([0], np.cumsum(sizes))),
        "walk.out_names": number[walk["walk.out_names"][out]].astype(np.int32),
        "walk.out_weights": (weights / totals[owner]).astype(np.float32),
        "walk.in_starts": np.concatenate(([0], np.cumsum(np.diff(walk["walk.in_starts"])[remain]))),
        "walk.in_sentences": walk["walk.in_sentences"][inward],
        "walk.in_weights": walk["walk.in_weights"][inward],
    }
