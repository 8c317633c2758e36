"""The stage after resolve: apply the corrections of people to the resolved names.

A correction redirects one entity to another, in all documents or in some. Descriptions, spans, chunks, weights, claims
and mentions follow, because `merge` looks up the entity of each name in the corrected names. The names in corrections
are resolved like those in documents, so later corrections apply to them too. A correction that cannot be applied is
recorded as a failure; the others are applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from conspectus import tokens
from conspectus.corrections import ADDED_FACTS, AddFact, Correction, Delete, Merge, Rename, Retype, Split
from conspectus.errors import NotFound
from conspectus.indexing.chunks import Extracted
from conspectus.indexing.graph import Names, key_of
from conspectus.rows import AliasDecision, Chunk, Document, Failure, Place, content_id
from conspectus.tasks import Extraction, FoundRelationship, FoundTriple

RULE = "person"
"""The rule of alias decisions made by people."""
DELETED = ""
"""The entity key of deleted names."""
STRENGTH = 8.0
"""The strength of an added fact, on the scale of 1 to 10 that models use: two above a relationship that the extractive
model finds once, because a person chose to state it."""
FACT_TEXTS: Mapping[str, str] = {"en": 'A person: "{}"', "zh": "一位编者：“{}”"}
"""The template for the text of an added fact, by language."""


@dataclass
class CorrectedNames(Names):
    """Resolved names, redirected by corrections."""

    uses: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """For each key of a name, the entity key in each document (by id) and correction (by title) that uses the name."""
    given: dict[str, str] = field(default_factory=dict[str, str])
    """The names that corrections give to entities, by entity key."""
    documents: Sequence[Document] = ()
    decisions: list[tuple[str, Correction]] = field(default_factory=list[tuple[str, Correction]])
    """The alias decisions of corrections: each name that became an alias, and the correction."""
    facts: list[AddFact] = field(default_factory=list[AddFact])
    failures: list[Failure] = field(default_factory=list[Failure])

    def resolved(self, key: str, document_id: str) -> str:
        entity_of = self.uses.get(key, {})
        if document_id in entity_of:
            return entity_of[document_id]
        # In a document without a known use of the name, it stands for the entity of all other uses, if they agree.
        entities = set(entity_of.values())
        return entities.pop() if len(entities) == 1 else super().resolved(key, document_id)

    def varying(self) -> set[str]:
        several = (key for key, uses in self.uses.items() if len({*uses.values()}) > 1)
        return super().varying().union(several)

    def name(self, key: str) -> str:
        return self.given.get(key) or self.display.get(key, key)

    def corrected(self, name: str, document_id: str) -> str:
        """Return the name of the entity for a corrected name, "" for a deleted one, or else the name itself."""
        key = self.key(name, document_id)
        if key == DELETED:
            return ""
        changed = key in self.given or key != super().resolved(key_of(name), document_id)
        return self.name(key) if changed else name

    def keys_of(self, name: str) -> list[str]:
        """Return the keys of all entities that a name stands for."""
        return sorted(set(self.uses.get(key_of(name), {}).values()) - {DELETED})

    def owner(self, name: str) -> str | None:
        """Return the key of the entity with this name, which is not just an alias of it; None if there is none."""
        return next((key for key in self.keys_of(name) if key_of(self.name(key)) == key_of(name)), None)

    def find(self, name: str) -> str:
        """Return the key of the entity with a name or alias; raise NotFound if there is none, or more than one."""
        keys = self.keys_of(name)
        if key := self.owner(name) or (keys[0] if len(keys) == 1 else None):
            return key
        if keys:
            raise NotFound(f"{name!r} may be any of {', '.join(map(self.name, keys))}")
        deleted = key_of(name) in self.uses
        raise NotFound(
            f"an earlier correction deletes {name!r}" if deleted else f"nothing is called {name!r}"
        )

    def redirect(self, old: str, new: str, documents: frozenset[str] = frozenset()) -> None:
        """Redirect all names of an entity to another one, in all documents or in some (given by id)."""
        for entity_of in self.uses.values():
            for document, key in entity_of.items():
                if key == old and (not documents or document in documents):
                    entity_of[document] = new
        if old in self.types and not documents:
            self.types.setdefault(new, self.types.pop(old))

    def use(self, name: str, key: str, correction: Correction) -> None:
        """Record that a correction uses a name for an entity."""
        self.uses.setdefault(key_of(name), {})[correction.title] = key

    def rename(self, key: str, name: str, correction: Correction) -> None:
        """Set the name of an entity; raise NotFound if it is a name of another one."""
        if others := [other for other in self.keys_of(name) if other != key]:
            raise NotFound(f"{name!r} is a name of {', '.join(map(self.name, others))}")
        self.given[key] = name
        self.use(name, key, correction)

    def apply(self, correction: Correction) -> None:
        """Apply a correction as far as possible, and record the rest as a failure."""
        try:
            match correction:
                case Merge():
                    self._merge(correction)
                case Split():
                    self._split(correction)
                case Rename(name, to):
                    key, other = self.find(name), self.owner(to)
                    if other not in (
                        None,
                        key,
                    ):  # later documents use the new name too: it is the same entity
                        self.redirect(other, key)
                    self.rename(key, to, correction)
                    self._join(correction, name, key)
                case Retype(name, type_):
                    self.types[self.find(name)] = type_
                case Delete(name):
                    self.redirect(self.find(name), DELETED)
                case AddFact(source, target):
                    for name in (source, target):
                        self.use(name, self.find(name), correction)
                    self.facts += [correction] if correction not in self.facts else []
                case _:
                    pass
        except NotFound as error:
            self._fail(correction, str(error))

    def _fail(self, correction: Correction, problem: str) -> None:
        self.failures.append(Failure(correction.title, f"{correction}: {problem}"))

    def _join(self, correction: Correction, name: str, key: str) -> None:
        """Record an alias decision of a correction."""
        self.use(name, key, correction)
        self.decisions.append((name, correction))

    def _merge(self, merge: Merge) -> None:
        keys: dict[str, str] = {}
        problems: list[str] = []
        for name in merge.names:
            try:
                keys.setdefault(self.find(name), name)
            except NotFound as error:
                problems.append(str(error))
        if keys:
            into = self.owner(merge.into) or next(iter(keys))
            for key, name in keys.items():
                if key != into:
                    self.redirect(key, into)
                    self._join(merge, name, into)
            self.rename(into, merge.into, merge)
        if problems:
            raise NotFound("; ".join(problems))

    def _split(self, split: Split) -> None:
        key, owner = self.find(split.name), self.owner(split.into)
        to = owner or key_of(split.into)
        documents = documents_at(split.documents, self.documents)
        if to == key:
            raise NotFound(f"{split.into!r} is a name of {self.name(key)}")
        if not documents:
            self._split_alias(split, key, to)
            return
        used = (document for uses in self.uses.values() for document, entity in uses.items() if entity == key)
        if documents.isdisjoint(used):
            raise NotFound(f"nothing is called {split.name!r} in {', '.join(split.documents)}")
        self.redirect(key, to, documents)
        if owner is None:
            self.rename(to, split.into, split)
        self._join(split, split.name, to)

    def _split_alias(self, split: Split, key: str, to: str) -> None:
        """Redirect an alias of an entity to another one wherever it stands for that entity."""
        uses = self.uses.get(key_of(split.into), {})
        if key not in uses.values():
            raise NotFound(f"{self.name(key)!r} is not called {split.into!r}")
        uses.update({document: to for document, entity in uses.items() if entity == key})
        self.given.setdefault(to, split.into)
        self.use(split.into, to, split)

    def final_facts(self) -> list[AddFact]:
        """Return the facts about two different entities after all corrections; record the others as failures."""
        facts: list[AddFact] = []
        for fact in self.facts:
            source, target = (self.key(name, fact.title) for name in (fact.source, fact.target))
            if source == target or DELETED in (source, target):
                self._fail(fact, f"{fact.source!r} and {fact.target!r} are one by now, or deleted")
            else:
                facts.append(fact)
        return facts

    def final_joins(self) -> list[AliasDecision]:
        """Return all alias decisions with the final names of entities, without those that corrections undid."""
        joins: list[AliasDecision] = []
        for join in self.joins:
            common = {*self.keys_of(join.name)} & {*self.keys_of(join.into)}
            joins += [replace(join, into=self.name(key)) for key in sorted(common)]
        for name, correction in self.decisions:
            key = self.key(name, correction.title)
            if key != DELETED and self.name(key) != name:
                evidence = f"{correction.title}; {correction.note}" if correction.note else correction.title
                joins.append(AliasDecision(name, self.name(key), RULE, evidence))
        return joins


@dataclass
class CorrectionResult:
    """Names and facts after all corrections.

    Added facts are a document in which each fact is a separate chunk, so that everything based on a fact has a source
    text that says who states it.
    """

    names: Names
    joins: Sequence[AliasDecision]
    documents: Sequence[Document] = ()
    chunks: Sequence[Chunk] = ()
    extracted: Sequence[tuple[Chunk, Extraction]] = ()
    """The extraction of each fact and its chunk, whose document id is the correction, which resolves its names."""
    failures: Sequence[Failure] = ()
    """The corrections that were not applied, or only in part."""
    deleted: frozenset[str] = frozenset()
    """The keys of names that were deleted everywhere."""


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
    copied: dict[str, Any] = vars(names) | {"types": {}}
    corrected = CorrectedNames(**copied, uses=_uses(chunks, extracted, names), documents=documents)
    for correction in corrections:
        corrected.apply(correction)
    result = CorrectionResult(corrected, corrected.final_joins(), failures=corrected.failures)
    if facts := corrected.final_facts():
        triples = any(graph.triples for graph in extracted.graphs)
        _add_facts(result, facts, language, (len(documents), len(chunks)), triples)
    result.deleted = frozenset(name for name, uses in corrected.uses.items() if {*uses.values()} == {DELETED})
    return result


def _uses(chunks: Sequence[Chunk], extracted: Extracted, names: Names) -> dict[str, dict[str, str]]:
    """Return, for the key of each name, the entity key in each document that uses the name."""
    uses: dict[str, dict[str, str]] = {}
    for chunk, graph, claims in zip(chunks, extracted.graphs, extracted.claims, strict=True):
        used = [entity.name for entity in graph.entities]
        used += [name for pair in graph.relationships for name in (pair.source, pair.target)]
        used += [name for triple in graph.triples for name in (triple.head, triple.tail)]
        used += [name for claim in claims for name in (claim.subject, claim.object) if name]
        for name in used:
            uses.setdefault(key_of(name), {})[chunk.document_id] = names.key(name, chunk.document_id)
    return uses


def correct_triples(
    extracted: Iterable[tuple[Chunk, Extraction]], names: Names
) -> Iterator[tuple[str, Sequence[FoundTriple]]]:
    """Yield chunk ids with their triples, with corrected names and without deleted entities."""
    for chunk, graph in extracted:
        triples = graph.triples
        if isinstance(names, CorrectedNames):
            document = chunk.document_id
            triples = [
                replace(t, head=names.corrected(t.head, document), tail=names.corrected(t.tail, document))
                for t in triples
            ]
            triples = [t for t in triples if t.head and t.tail and t.head != t.tail]
        yield chunk.id, triples


def documents_at(patterns: Iterable[str], documents: Sequence[Document]) -> frozenset[str]:
    """Return the ids of documents that match paths, ends of paths or patterns; raise NotFound if one has no match."""
    ids: set[str] = set()
    for pattern in patterns:
        matching = {document.id for document in documents if _matches(document.path, pattern)}
        if not matching:
            raise NotFound(f"no document is at {pattern}")
        ids |= matching
    return frozenset(ids)


def _matches(path: str, pattern: str) -> bool:
    ends = path == pattern or path.endswith(f"/{pattern}")
    return ends or fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _add_facts(
    result: CorrectionResult, facts: Sequence[AddFact], language: str, numbers: tuple[int, int], triples: bool
) -> None:
    """Add facts as chunks of a document; `numbers`: of the document and the first chunk; `triples`: add triples too."""
    lines = [FACT_TEXTS.get(language, FACT_TEXTS["en"]).format(fact.description) for fact in facts]
    text = "\n".join(lines)
    id_, (number, first) = content_id(ADDED_FACTS, text), numbers
    chunks: list[Chunk] = []
    places: list[Place] = []
    extracted: list[tuple[Chunk, Extraction]] = []
    start = 0
    for fact, line in zip(facts, lines, strict=True):
        end = start + len(line)
        chunk_id = content_id(id_, str(start), str(end))
        chunk = Chunk(chunk_id, first + len(chunks), id_, start, end, line, tokens.count(line))
        chunks.append(chunk)
        places.append(Place(start, f"{fact.title} by {fact.author}" if fact.author else fact.title))
        relationship = FoundRelationship(fact.source, fact.target, line, STRENGTH, chunk.span)
        relation = fact.description.removeprefix(fact.source).rstrip(".").removesuffix(fact.target).strip()
        triple = FoundTriple(fact.source, relation or fact.description, fact.target)
        extraction = Extraction((), (relationship,), (triple,) if triples else ())
        extracted.append((replace(chunk, document_id=fact.title), extraction))
        start = end + 1
    title, metadata = ADDED_FACTS.capitalize(), {"language": language}
    document = Document(id_, number, title, text, ADDED_FACTS, None, metadata, tuple(places))
    result.documents, result.chunks, result.extracted = [document], chunks, extracted
