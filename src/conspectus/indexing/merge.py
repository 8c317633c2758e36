"""Merge: instances of one entity, and of one relationship, become one row (GraphRAG §3.1.3).

Relationships are undirected: reversed pairs are one. The weight of a relationship is the number of its
distinct instances, so that what stands in the overlap of two chunks counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from conspectus.indexing.resolve import Names
from conspectus.rows import Chunk, Claim, Entity, Relationship, Span, content_id
from conspectus.tasks import Extraction, FoundClaim, FoundEntity, FoundRelationship
from conspectus.text.sentences import located
from conspectus.text.words import name_key

UNTYPED = "concept"


@dataclass
class Element:
    """The instances of one entity or relationship: their descriptions, each once, and where each was read."""

    key: tuple[str, ...]
    instances: dict[tuple[Span, str], str] = field(default_factory=dict[tuple[Span, str], str])
    """The description of each instance, by its place and, where the place is only the chunk, its words."""
    chunk_ids: dict[str, None] = field(default_factory=dict[str, None])
    types: Counter[str] = field(default_factory=Counter[str])
    forms: Counter[str] = field(default_factory=Counter[str])
    strength: float = 0.0

    @property
    def descriptions(self) -> dict[str, Span]:
        """The distinct descriptions with a place of each, document by document, in a document in order of the text.

        Documents come in the order of what they say: so what is asked of a model does not change where one that says
        nothing new is renamed, or is edited elsewhere.
        """
        told: dict[str, list[tuple[Span, str]]] = {}
        for (span, _), description in self.instances.items():
            told.setdefault(span.document_id, []).append((span, description))
        by_document = [sorted(said) for said in told.values()]
        if len(by_document) > 1:
            by_document.sort(key=lambda said: ([description for _, description in said], said[0][0]))
        distinct: dict[str, Span] = {}
        for span, description in chain.from_iterable(by_document):
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


def merge(chunks: Sequence[Chunk], graphs: Sequence[Extraction], names: Names) -> Merged:
    """Make one row of all instances of an entity or relationship.

    Rows are in alphabetical order of their names, which does not depend on the order of the documents. An end
    of a relationship that no entity record names becomes an entity of its own. A pair of one entity with
    itself is dropped.
    """
    entities: dict[str, Element] = {}
    for chunk, graph in zip(chunks, graphs, strict=True):
        for found in graph.entities:
            key = names.key(found.name, chunk.document_id)
            element = entities.get(key) or entities.setdefault(key, Element((key,)))
            _note(element, found, chunk)
            element.types[found.type] += 1 if name_key(found.name) == key else 0  # an alias says less of what it is
            element.forms[found.name] += 1
    ends: dict[str, Element] = {}
    pairs: dict[tuple[str, str], Element] = {}
    for chunk, graph in zip(chunks, graphs, strict=True):
        for found in graph.relationships:
            a, b = (names.key(name, chunk.document_id) for name in (found.source, found.target))
            if a == b:
                continue
            for key, name in ((a, found.source), (b, found.target)):
                if key not in entities:
                    element = ends.setdefault(key, Element((key,)))
                    _note(element, found, chunk)
                    element.forms[name] += 1
            pair = (a, b) if a < b else (b, a)
            element = pairs.get(pair) or pairs.setdefault(pair, Element(pair))
            if _note(element, found, chunk):
                element.strength += found.strength
    for key, element in ends.items():
        names.display[key] = min(element.forms, key=lambda form: (-element.forms[form], form))
    return rows_of(entities | ends, pairs, names)


def _note(element: Element, found: FoundEntity | FoundRelationship, chunk: Chunk) -> bool:
    """Add an instance; return whether it is a new one: the same words read twice are one."""
    element.chunk_ids[chunk.id] = None
    place = (found.span, "") if found.span else (chunk.span, found.description)
    if place in element.instances:
        return False
    element.instances[place] = found.description
    return True


def rows_of(entities: dict[str, Element], pairs: dict[tuple[str, str], Element], names: Names) -> Merged:
    """Make the rows of entities and relationships, given by their keys."""
    degree = Counter(key for pair in pairs for key in pair)
    display = _unique_names(entities, names)
    by_name = sorted(entities, key=lambda key: (display[key], key))
    rows = [_entity(i, entities[key], display[key], degree[key]) for i, key in enumerate(by_name)]
    ends = {pair: tuple(sorted((display[pair[0]], display[pair[1]]))) for pair in pairs}
    ordered = sorted(pairs, key=lambda pair: ends[pair])
    edges = [
        _relationship(i, pairs[pair], ends[pair], degree[pair[0]] + degree[pair[1]]) for i, pair in enumerate(ordered)
    ]
    return Merged(rows, edges, [entities[key] for key in by_name], [pairs[pair] for pair in ordered])


def _unique_names(entities: dict[str, Element], names: Names) -> dict[str, str]:
    """Return the name of each key; should two keys be written alike, the second keeps its key as its name."""
    taken: set[str] = set()
    result: dict[str, str] = {}
    for key in sorted(entities):
        name = names.name(key)
        result[key] = name if name not in taken else key
        taken.add(result[key])
    return result


def _entity(number: int, element: Element, name: str, degree: int) -> Entity:
    kind = min(element.types, key=lambda t: (-element.types[t], t)) if element.types else UNTYPED
    aliases = tuple(sorted(form for form in element.forms if form != name))
    return Entity(content_id("entity", name), number, name, kind, "", tuple(element.chunk_ids), (), aliases, degree)


def _relationship(number: int, element: Element, ends: tuple[str, ...], degree: int) -> Relationship:
    source, target = ends
    weight = len(element.instances)
    return Relationship(
        content_id("relationship", source, target), number, source, target, "", float(weight),
        element.strength / weight, tuple(element.chunk_ids), (), degree,
    )  # fmt: skip


Key = tuple[str, str, str, str, str]


@dataclass
class _ClaimInstances:
    element: Element
    statuses: Counter[str] = field(default_factory=Counter[str])


def merge_claims(
    chunks: Sequence[Chunk], claims: Sequence[Sequence[FoundClaim]], names: Names, merged: Merged
) -> Merged:
    """Return the graph with one row for all instances of a claim, in the order of what they are about.

    A subject or object that is no entity keeps its own name. A status that instances differ on is the most
    frequent, or SUSPECTED where there is none. Spans lead to the quoted words where the text has them, else
    to the chunk.
    """
    display = {element.key[0]: row.name for element, row in zip(merged.entity_elements, merged.entities, strict=True)}
    found: dict[Key, _ClaimInstances] = {}
    for chunk, of_chunk in zip(chunks, claims, strict=True):
        for claim in of_chunk:
            subject, object_ = (_entity_name(name, chunk, names, display) for name in (claim.subject, claim.object))
            key = (subject, object_, claim.type, claim.start_date or "", claim.end_date or "")
            instances = found.setdefault(key, _ClaimInstances(Element(key)))
            _note_claim(instances, claim, chunk)
    keys = sorted(found)
    rows = [_claim(number, key, found[key]) for number, key in enumerate(keys)]
    return replace(merged, claims=rows, claim_elements=[found[key].element for key in keys])


def _entity_name(name: str, chunk: Chunk, names: Names, display: Mapping[str, str]) -> str:
    return display.get(names.key(name, chunk.document_id), name) if name else ""


def _note_claim(instances: _ClaimInstances, claim: FoundClaim, chunk: Chunk) -> None:
    quoted = located(claim.source_text, chunk.text)
    span = Span(chunk.document_id, chunk.start + quoted[0], chunk.start + quoted[1]) if quoted else chunk.span
    element = instances.element
    element.chunk_ids[chunk.id] = None
    if (span, claim.description) not in element.instances:
        element.instances[span, claim.description] = claim.description
        instances.statuses[claim.status] += 1


def _claim(number: int, key: Key, instances: _ClaimInstances) -> Claim:
    subject, object_, kind, start, end = key
    (status, most), *others = instances.statuses.most_common()
    if others and others[0][1] == most:
        status = "SUSPECTED"
    return Claim(
        content_id("claim", *key), number, subject, object_, kind, status, "",
        tuple(instances.element.chunk_ids), (), start or None, end or None,
    )  # fmt: skip
