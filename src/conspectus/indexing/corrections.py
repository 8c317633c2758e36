"""The stage after resolve: apply the corrections of people to the resolved names.

A correction changes which entity a name stands for in a document; descriptions, spans, chunks, weights, claims and
mentions follow, for `merge` reads all of them by these names. A correction is itself a document that uses the names in
it: so what it says follows the corrections after it. An added fact is an extraction of its own, from its quote or from
a document of added facts. A correction that cannot be applied is a recorded failure; the others are applied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from conspectus import tokens
from conspectus.corrections import ADDED_FACTS, AddFact, Correction, Delete, Merge, Rename, Retype, Split
from conspectus.errors import NotFound
from conspectus.indexing.chunks import Extracted
from conspectus.indexing.graph import Names
from conspectus.rows import AliasDecision, Chunk, Document, Failure, Place, Span, content_id
from conspectus.tasks import Extraction, FoundRelationship, FoundTriple
from conspectus.text.sentences import located
from conspectus.text.words import name_key

RULE = "person"
"""The rule of alias decisions that people made."""
DELETED = ""
"""The entity key of names that stand for nothing."""
FACT_TEXTS: Mapping[str, tuple[str, str]] = {
    "en": ('A person{}: "{}"', " ({}, {})"),
    "zh": ("一位编者{}：“{}”", "（{}、{}）"),
}
"""The text of an added fact, and of the two names where the fact does not use them, by language."""

Mention = tuple[str, str]
"""A name, by its key, and the id of the document, or the title of the correction, that uses it."""


def key_of(name: str) -> str:
    """Return what all spellings of a name have in common."""
    return name_key(name) or name


@dataclass
class CorrectedNames(Names):
    """Resolved names after all corrections."""

    entity_of: Mapping[Mention, str] = field(default_factory=dict[Mention, str])
    """The key of the entity that each mention stands for."""
    moved: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The same in documents that were not read for the name: by the key of the entity before, and the name or ""."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that people gave to entities, by entity key."""

    def key(self, name: str, document_id: str) -> str:
        written = key_of(name)
        if (key := self.entity_of.get((written, document_id))) is not None:
            return key
        key = super().key(name, document_id)
        return self.moved.get((key, written), self.moved.get((key, ""), key))

    def name(self, key: str) -> str:
        return self.names.get(key) or super().name(key)

    def corrected(self, name: str, document_id: str) -> str:
        """Return the name of the entity of a name that was corrected, "" of a deleted one, or else the name itself."""
        key = self.key(name, document_id)
        if key == DELETED:
            return ""
        return self.name(key) if key in self.names or key != super().key(name, document_id) else name


@dataclass(frozen=True)
class CorrectionResult:
    """Names and facts after all corrections, and what became of each correction.

    Facts without a quote are a document in which each is a chunk of its own: so everything that uses such a fact leads
    to characters that say who states it.
    """

    names: Names
    joins: Sequence[AliasDecision]
    documents: Sequence[Document] = ()
    chunks: Sequence[Chunk] = ()
    extracted: Sequence[tuple[Chunk, Extraction]] = ()
    """The extraction of each fact with its chunk, whose document is the correction: its ends go by the names there."""
    failures: Sequence[Failure] = ()
    """The corrections that were not applied, or only in part."""
    deleted: frozenset[str] = frozenset()
    """The keys of names that stand for nothing any more."""


def apply_corrections(
    corrections: Sequence[Correction],
    names: Names,
    chunks: Sequence[Chunk],
    extracted: Extracted,
    documents: Sequence[Document],
    language: str = "en",
) -> CorrectionResult:
    """Apply corrections to the names that were resolved from the extractions of chunks."""
    if not corrections:
        return CorrectionResult(names, names.joins)
    used: set[Mention] = set()
    for chunk, graph, claims in zip(chunks, extracted.graphs, extracted.claims, strict=True):
        pairs = [(r.source, r.target) for r in graph.relationships] + [(t.head, t.tail) for t in graph.triples]
        pairs += [(claim.subject, claim.object) for claim in claims]
        of_chunk = [entity.name for entity in graph.entities] + [
            name for pair in pairs for name in pair if name
        ]
        used |= {(name, chunk.document_id) for name in of_chunk}
    mentions = {(key_of(name), document): names.key(name, document) for name, document in sorted(used)}
    corrector = Corrector(names, mentions, documents, chunks)
    for correction in corrections:
        corrector.apply(correction)
    return corrector.result(language, triples=any(graph.triples for graph in extracted.graphs))


def correct_triples(
    extracted: Iterable[tuple[Chunk, Extraction]], names: Names
) -> Iterator[tuple[str, Sequence[FoundTriple]]]:
    """Yield chunk ids with their triples, by corrected names and without deleted entities."""
    for chunk, graph in extracted:
        triples = graph.triples
        if isinstance(names, CorrectedNames):
            ends = [
                tuple(names.corrected(name, chunk.document_id) for name in (t.head, t.tail)) for t in triples
            ]
            pairs = zip(ends, triples, strict=True)
            triples = [FoundTriple(a, t.relation, b) for (a, b), t in pairs if a and b and a != b]
        yield chunk.id, triples


class Corrector:
    """Applies corrections one by one; knows which entities exist, and by which names in which documents."""

    def __init__(
        self,
        names: Names,
        mentions: Mapping[Mention, str],
        documents: Sequence[Document],
        chunks: Sequence[Chunk] = (),
    ) -> None:
        """Start from resolved names, and the entity keys of their mentions."""
        self._names = names
        self._before = mentions
        self._entity_of = dict(mentions)
        self._documents = documents
        self._chunks = chunks
        self._given: dict[str, str] = {}  # names that people gave to entities, by entity key
        self._types: dict[str, str] = {}
        self._deleted_by: dict[str, int] = {}
        self._joins: list[tuple[Correction, str, str]] = []
        self._facts: list[tuple[AddFact, tuple[Span, Chunk] | None]] = []
        self._failures: dict[int, Failure] = {}

    # Looking up entities

    def display(self, key: str) -> str:
        """Return the name of an entity."""
        return self._given.get(key) or self._names.display.get(key) or key

    def find(self, name: str) -> str:
        """Return the key of the entity with a name or alias; raise NotFound where there is none, or more than one."""
        if owner := self.owner(name):
            return owner
        keys = self._entities_named(name)
        if key_of(name) in keys or len(keys) == 1:
            return key_of(name) if key_of(name) in keys else keys[0]
        if keys:
            raise NotFound(f"{name!r} may be any of {', '.join(map(self.display, keys))}")
        if number := self.deleted_by(name):
            raise NotFound(f"correction {number} deletes {name!r}")
        raise NotFound(f"nothing is called {name!r}")

    def owner(self, name: str) -> str | None:
        """Return the key of the entity whose own name it is, not just an alias; None where there is none."""
        keys = (key_of(name), *(key for key, given in self._given.items() if key_of(given) == key_of(name)))
        return next((k for k in keys if self._exists(k) and key_of(self.display(k)) == key_of(name)), None)

    def deleted_by(self, name: str) -> int:
        """Return the number of the correction that deletes a name, 0 where none does."""
        return self._deleted_by.get(key_of(name), 0)

    def _exists(self, key: str) -> bool:
        return key in self._entity_of.values()

    def _mentions(self, key: str) -> list[Mention]:
        return [mention for mention, entity in self._entity_of.items() if entity == key]

    def _entities_named(self, name: str) -> list[str]:
        written = key_of(name)
        return sorted({key for (other, _), key in self._entity_of.items() if other == written} - {DELETED})

    def _check_free(self, name: str, keys: Iterable[str]) -> None:
        """Raise NotFound where a new name is an alias of an entity other than some."""
        if others := sorted({*self._entities_named(name)} - {*keys}):
            raise NotFound(f"{name!r} is a name of {', '.join(map(self.display, others))}")

    def _documents_at(self, patterns: Iterable[str]) -> set[str]:
        """Return the ids of the documents at paths, ends of paths and patterns; raise NotFound for one without any."""
        ids: set[str] = set()
        for pattern in patterns:
            matching = {document.id for document in self._documents if _matches(document.path, pattern)}
            if not matching:
                raise NotFound(f"no document is at {pattern}")
            ids |= matching
        return ids

    # Changing what names stand for

    def _move(self, key: str, to: str) -> None:
        self._entity_of |= dict.fromkeys(self._mentions(key), to)

    def _join(self, correction: Correction, name: str, key: str, detail: str = "") -> None:
        """Record an alias decision of a correction, which is a document that uses the name."""
        self._entity_of[key_of(name), correction.title] = key
        evidence = "; ".join(part for part in (correction.title, detail, correction.note) if part)
        self._joins.append((correction, name, evidence))

    def apply(self, correction: Correction) -> str:
        """Apply a correction as far as possible; return why it was not, or only in part, "" where it was."""
        try:
            problem = self._apply(correction)
        except NotFound as error:
            problem = str(error)
        if problem:
            self._fail(correction, problem)
        return problem

    def _fail(self, correction: Correction, problem: str) -> None:
        self._failures[correction.number] = Failure(correction.title, f"{correction}: {problem}")

    def _apply(self, correction: Correction) -> str:
        match correction:
            case Merge():
                return self._merge(correction)
            case Split():
                self._split(correction)
            case Rename(name, to):
                key, other = self.find(name), self.owner(to)
                if other is None:
                    self._check_free(to, (key,))
                elif other != key:  # later documents use the new name too: it is the same entity
                    self._move(other, key)
                self._join(correction, name, key)
                self._given[key] = to
            case Retype(name, type_):
                self._types[self.find(name)] = type_
            case Delete(name) if not self.deleted_by(name):
                key = self.find(name)
                names = {written for written, _ in self._mentions(key)}
                names |= {key_of(self.display(key)), key_of(name)}
                self._deleted_by |= dict.fromkeys(names, correction.number)
                self._move(key, DELETED)
            case AddFact():
                return self._add_fact(correction)
            case _:
                pass
        return ""

    def _merge(self, merge: Merge) -> str:
        keys: dict[str, str] = {}
        problems: list[str] = []
        for name in merge.names:
            try:
                keys.setdefault(self.find(name), name)
            except NotFound as error:
                problems.append(str(error))
        if keys:
            into = self.owner(merge.name)
            if into is None:
                into = next(iter(keys))
                self._check_free(merge.name, keys)
            for key, name in keys.items():
                if key != into:
                    self._move(key, into)
                    self._types.setdefault(into, self._types.pop(key, ""))
                    self._join(merge, name, into)
            self._given[into] = merge.name
        return "; ".join(problems)

    def _split(self, split: Split) -> None:
        key, owner = self.find(split.name), self.owner(split.into)
        to = owner or key_of(split.into)
        if to == key or (owner is None and self._exists(to)):
            raise NotFound(f"{split.into!r} is a name of {self.display(self.find(split.into))}")
        documents, aliases = self._documents_at(split.documents), {*map(key_of, split.aliases)}

        def part(of: str) -> list[Mention]:
            named = (mention for mention in self._mentions(of) if not aliases or mention[0] in aliases)
            return [mention for mention in named if not documents or mention[1] in documents]

        where = f"in {', '.join(split.documents)}" if split.documents else ""
        if not part(key) and not part(to):
            names = ", ".join(split.aliases) or split.name
            raise NotFound(f"nothing of {split.name!r} is called {names} {where}".rstrip())
        if moved := part(key):
            if owner is None:
                self._given[to] = split.into
            self._entity_of |= dict.fromkeys(moved, to)
            for name in split.aliases or (split.name,):
                self._join(split, name, to, where)

    def _add_fact(self, fact: AddFact) -> str:
        ends: list[str] = []
        for name in (fact.source, fact.target):
            try:
                ends.append(self.find(name))
            except NotFound:
                if not fact.create or self.deleted_by(name):
                    raise
                ends.append(key_of(name))
        if ends[0] == ends[1]:
            return f"{fact.source!r} and {fact.target!r} are one: {self.display(ends[0])}"
        if any(replace(other, strength=fact.strength) == fact for other, _ in self._facts):
            return ""
        passage = self._quoted(fact) if fact.quote else None
        for name, key in zip((fact.source, fact.target), ends, strict=True):
            if not self._exists(key):
                self._given[key] = name
            self._entity_of[key_of(name), fact.title] = key
        self._facts.append((fact, passage))
        return ""

    def _quoted(self, fact: AddFact) -> tuple[Span, Chunk]:
        """Return the passage that a fact quotes, and the first chunk that has it."""
        ids = self._documents_at([fact.document] if fact.document else ())
        for document in self._documents:
            if (not ids or document.id in ids) and (at := located(fact.quote, document.text)):
                start, end = at
                chunks = (
                    c for c in self._chunks if c.document_id == document.id and c.start < end and start < c.end
                )
                return Span(document.id, start, end), next(chunks)
        where = f"{fact.document} does not say" if fact.document else "no document says"
        raise NotFound(f"{where} {fact.quote!r}")

    # The result

    def result(self, language: str, *, triples: bool) -> CorrectionResult:
        """Return the result of all corrections that were applied; `triples` says whether facts are triples too."""
        n = self._names
        moved = self._moved()
        types = {key: type_ for key, type_ in self._types.items() if type_}
        names = CorrectedNames(
            n.display, n.everywhere, n.within, n.source_of, n.joins, types, self._entity_of, moved, self._given
        )
        facts = [(fact, passage) for fact, passage in self._facts if self._joins_two(fact)]
        counts = len(self._documents), len(self._chunks)
        documents, chunks, extracted = added_facts(facts, counts, language, triples=triples)
        return CorrectionResult(
            names, list(self._final_joins(moved)), documents, chunks, extracted, list(self._failures.values()),
            frozenset(name for name in self._deleted_by if not self._entities_named(name)),
        )  # fmt: skip

    def _moved(self) -> dict[tuple[str, str], str]:
        """Return where entities went, and single names of them, as far as all of their mentions went to one entity."""
        keys: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for mention, before in self._before.items():
            keys[before, ""].add(self._entity_of[mention])
            keys[before, mention[0]].add(self._entity_of[mention])
        moved = {before: now.pop() for before, now in keys.items() if len(now) == 1}
        given = {(key_of(name), ""): key for key, name in self._given.items()}
        used = {
            (name, ""): key for (name, at), key in self._entity_of.items() if (name, at) not in self._before
        }
        return used | given | moved

    def _final_joins(self, moved: Mapping[tuple[str, str], str]) -> Iterator[AliasDecision]:
        """Yield all alias decisions by the names that entities have now, without those that corrections undid."""
        for join in self._names.joins:
            into = moved.get((key_of(join.into), ""), key_of(join.into))
            if into in self._entities_named(join.name):
                yield replace(join, into=self.display(into))
        for correction, name, evidence in self._joins:
            key = self._entity_of[key_of(name), correction.title]
            if key != DELETED and self.display(key) != name:
                yield AliasDecision(name, self.display(key), RULE, evidence)

    def _joins_two(self, fact: AddFact) -> bool:
        """Return whether a fact still joins two entities; that it does not is its problem."""
        ends = (fact.source, fact.target)
        keys = [self._entity_of[key_of(name), fact.title] for name in ends]
        if DELETED in keys:
            name = ends[keys.index(DELETED)]
            self._fail(fact, f"correction {self.deleted_by(name) or ''} deletes {name!r}")
        elif keys[0] == keys[1]:
            self._fail(fact, f"{ends[0]!r} and {ends[1]!r} are one now")
        return DELETED not in keys and keys[0] != keys[1]


def _matches(path: str, pattern: str) -> bool:
    ends = path == pattern or path.endswith(f"/{pattern}")
    return ends or fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def added_facts(
    facts: Sequence[tuple[AddFact, tuple[Span, Chunk] | None]],
    counts: tuple[int, int],
    language: str,
    *,
    triples: bool,
) -> tuple[list[Document], list[Chunk], list[tuple[Chunk, Extraction]]]:
    """Return facts as extractions, and those without a passage as chunks of one document.

    Their document and chunks are numbered after `counts` documents and chunks.
    """
    lines = [_fact_text(fact, language) for fact, passage in facts if passage is None]
    text = "\n".join(lines)
    id_ = content_id(ADDED_FACTS, text)
    chunks: list[Chunk] = []
    places: list[Place] = []
    extracted: list[tuple[Chunk, Extraction]] = []
    start = 0
    for fact, passage in facts:
        description = fact.description
        if passage is None:
            description = lines[len(chunks)]
            end = start + len(description)
            chunk_id, number = content_id(id_, str(start), str(end)), counts[1] + len(chunks)
            chunk = Chunk(chunk_id, number, id_, start, end, description, tokens.count(description))
            chunks.append(chunk)
            places.append(Place(start, f"{fact.title} by {fact.author}" if fact.author else fact.title))
            passage, start = (chunk.span, chunk), end + 1
        span, chunk = passage
        relation = fact.description.removeprefix(fact.source).rstrip(".").removesuffix(fact.target).strip()
        triple = FoundTriple(fact.source, relation or fact.description, fact.target)
        relationship = FoundRelationship(fact.source, fact.target, description, fact.strength, span)
        graph = Extraction((), (relationship,), (triple,) if triples else ())
        extracted.append((replace(chunk, document_id=fact.title), graph))
    metadata = {"language": language}
    document = Document(
        id_, counts[0], ADDED_FACTS.capitalize(), text, ADDED_FACTS, None, metadata, tuple(places)
    )
    return [document] if chunks else [], chunks, extracted


def _fact_text(fact: AddFact, language: str) -> str:
    text, of_names = FACT_TEXTS.get(language, FACT_TEXTS["en"])
    has_names = all(key_of(name) in key_of(fact.description) for name in (fact.source, fact.target))
    return text.format("" if has_names else of_names.format(fact.source, fact.target), fact.description)
