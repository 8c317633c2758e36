"""Merge: instances of one entity, and of one relationship, become one row (GraphRAG §3.1.3).

Relationships are undirected: reversed pairs are one. The weight of a relationship is the number of its
distinct instances, so that what stands in the overlap of two chunks counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from conspectus.indexing.resolve import Names
from conspectus.rows import Chunk, Claim, Entity, Relationship, Span, Triple, content_id
from conspectus.tasks import Extraction, FoundClaim, FoundEntity, FoundRelationship, FoundTriple
from conspectus.text.sentences import located
from conspectus.text.words import name_key

UNTYPED = "concept"


@dataclass
class Element:
    """The instances of one entity or relationship: their descriptions, each once, and where each was read."""

    key: tuple[str, ...]
    instances: dict[tuple[Span, str], str] = field(default_factory=dict[tuple[Span, str], str])
    """The description of each instance, by its span and, where the span is only that of the chunk, its words."""
    chunk_ids: dict[str, None] = field(default_factory=dict[str, None])
    types: Counter[str] = field(default_factory=Counter[str])
    """The types of the instances that are named as the entity is; an alias says less of what it is. Of a claim, the
    statuses."""
    alias_types: Counter[str] = field(default_factory=Counter[str])
    forms: Counter[str] = field(default_factory=Counter[str])
    strength: float = 0.0

    @property
    def descriptions(self) -> dict[str, Span]:
        """The distinct descriptions with a place of each, document by document, in a document in order of the text.

        Documents come in the order of their descriptions: so the prompts do not change where a document that adds no
        description is renamed, or is edited elsewhere.
        """
        by_document: dict[str, list[tuple[Span, str]]] = {}
        for (span, _), description in self.instances.items():
            by_document.setdefault(span.document_id, []).append((span, description))
        documents = [sorted(instances) for instances in by_document.values()]
        if len(documents) > 1:
            documents.sort(
                key=lambda instances: ([description for _, description in instances], instances[0][0])
            )
        distinct: dict[str, Span] = {}
        for span, description in chain.from_iterable(documents):
            distinct.setdefault(description, span)
        return distinct


@dataclass(frozen=True)
class Merged:
    """The graph, still without descriptions; `entity_elements[i]` holds the instances of `entities[i]`."""

    entities: list[Entity]
    relationships: list[Relationship]
    entity_elements: list[Element]
    relationship_elements: list[Element]
    claims: list[Claim] = field(default_factory=list[Claim])
    claim_elements: list[Element] = field(default_factory=list[Element])


def merge(extracted: Sequence[tuple[Chunk, Extraction]], names: Names) -> Merged:
    """Return one row for all instances of an entity or relationship in the extractions of chunks.

    Rows are in alphabetical order of their names, which does not depend on the order of the documents. An end of a
    relationship that no entity record names becomes an entity of its own. A pair of one entity with itself is dropped,
    and so is what has no key: corrections deleted it.
    """
    entities: dict[str, Element] = {}
    for chunk, graph in extracted:
        for entity in graph.entities:
            if not (key := names.key(entity.name, chunk.document_id)):
                continue
            element = entities.get(key) or entities.setdefault(key, Element((key,)))
            _add(element, entity, chunk)
            (element.types if name_key(entity.name) == key else element.alias_types)[entity.type] += 1
            element.forms[entity.name] += 1
    ends: dict[str, Element] = {}
    pairs: dict[tuple[str, str], Element] = {}
    for chunk, graph in extracted:
        for relationship in graph.relationships:
            a, b = (names.key(name, chunk.document_id) for name in (relationship.source, relationship.target))
            if a == b or not (a and b):
                continue
            for key, name in ((a, relationship.source), (b, relationship.target)):
                if key not in entities:
                    element = ends.setdefault(key, Element((key,)))
                    _add(element, relationship, chunk)
                    element.forms[name] += 1
            pair = (a, b) if a < b else (b, a)
            element = pairs.get(pair) or pairs.setdefault(pair, Element(pair))
            if _add(element, relationship, chunk):
                element.strength += relationship.strength
    for key, element in ends.items():
        names.display[key] = min(element.forms, key=lambda form: (-element.forms[form], form))
    return _rows(entities | ends, pairs, names)


def _add(element: Element, instance: FoundEntity | FoundRelationship, chunk: Chunk) -> bool:
    """Add an instance; return whether it is a new one: the same words read twice are one."""
    element.chunk_ids[chunk.id] = None
    key = (instance.span, "") if instance.span else (chunk.span, instance.description)
    if key in element.instances:
        return False
    element.instances[key] = instance.description
    return True


def _rows(entities: dict[str, Element], pairs: dict[tuple[str, str], Element], names: Names) -> Merged:
    """Make the rows of entities and relationships, given by their keys."""
    degree = Counter(key for pair in pairs for key in pair)
    display: dict[str, str] = {}
    taken: set[str] = set()
    for key in sorted(entities):  # should two keys be written alike, the second keeps its key as its name
        name = names.name(key)
        display[key] = name if name not in taken else key
        taken.add(display[key])
    by_name = sorted(entities, key=lambda key: (display[key], key))
    rows: list[Entity] = []
    for number, key in enumerate(by_name):
        element, name = entities[key], display[key]
        types = element.types or element.alias_types
        type_ = names.types.get(key, "") or min(types, key=lambda t: (-types[t], t), default=UNTYPED)
        aliases = tuple(sorted(form for form in element.forms if form != name))
        id_, chunk_ids = content_id("entity", name), tuple(element.chunk_ids)
        rows.append(Entity(id_, number, name, type_, "", chunk_ids, (), aliases, degree[key]))
    ends = {pair: tuple(sorted((display[pair[0]], display[pair[1]]))) for pair in pairs}
    ordered = sorted(pairs, key=lambda pair: ends[pair])
    edges: list[Relationship] = []
    for number, pair in enumerate(ordered):
        (source, target), element = ends[pair], pairs[pair]
        id_, weight = content_id("relationship", source, target), len(element.instances)
        strength, chunk_ids = element.strength / weight, tuple(element.chunk_ids)
        combined = degree[pair[0]] + degree[pair[1]]
        edges.append(
            Relationship(id_, number, source, target, "", float(weight), strength, chunk_ids, (), combined)
        )
    return Merged(rows, edges, [entities[key] for key in by_name], [pairs[pair] for pair in ordered])


Key = tuple[str, str, str, str, str]


def merge_claims(
    chunks: Sequence[Chunk], claims: Sequence[Sequence[FoundClaim]], names: Names, merged: Merged
) -> Merged:
    """Return the graph with one row for all instances of a claim, in the order of their subjects.

    A subject or object that is no entity keeps its own name; a claim about a deleted entity is dropped. A status that
    instances differ on is the most frequent, or SUSPECTED where there is none. Spans lead to the quoted words where
    the text has them, else to the chunk.
    """
    display = {
        element.key[0]: row.name for element, row in zip(merged.entity_elements, merged.entities, strict=True)
    }
    elements: dict[Key, Element] = {}
    for chunk, of_chunk in zip(chunks, claims, strict=True):
        for claim in of_chunk:
            ends = (claim.subject, claim.object)
            keys = [names.key(name, chunk.document_id) if name else None for name in ends]
            if "" in keys:
                continue
            subject, object_ = (display.get(key or "", name) for key, name in zip(keys, ends, strict=True))
            key = (subject, object_, claim.type, claim.start_date or "", claim.end_date or "")
            element = elements.setdefault(key, Element(key))
            quoted = located(claim.source_text, chunk.text)
            start, end = quoted or (0, len(chunk.text))
            span = Span(chunk.document_id, chunk.start + start, chunk.start + end)
            element.chunk_ids[chunk.id] = None
            if (span, claim.description) not in element.instances:
                element.instances[span, claim.description] = claim.description
                element.types[claim.status] += 1
    keys = sorted(elements)
    rows = [_claim(number, key, elements[key]) for number, key in enumerate(keys)]
    return replace(merged, claims=rows, claim_elements=[elements[key] for key in keys])


def _claim(number: int, key: Key, element: Element) -> Claim:
    subject, object_, kind, start, end = key
    (status, most), *others = element.types.most_common()
    if others and others[0][1] == most:
        status = "SUSPECTED"
    return Claim(
        content_id("claim", *key), number, subject, object_, kind, status, "",
        tuple(element.chunk_ids), (), start or None, end or None,
    )  # fmt: skip


def triples_of(extracted: Iterable[tuple[str, Sequence[FoundTriple]]]) -> list[Triple]:
    """Return the triples of chunks, given by their ids, as rows; a triple of several chunks is one row."""
    chunks: dict[tuple[str, str, str], dict[str, None]] = {}
    for chunk, triples in extracted:
        for triple in triples:
            chunks.setdefault((triple.head, triple.relation, triple.tail), {})[chunk] = None
    return [Triple(content_id(*texts), i, *texts, tuple(ids)) for i, (texts, ids) in enumerate(chunks.items())]
