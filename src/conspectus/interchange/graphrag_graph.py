"""Convert rows of GraphRAG's tables to ours: the graph, claims, communities and reports (see `graphrag.RULES`)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conspectus import tokens
from conspectus.indexing.given_graph import same_name
from conspectus.references import Reference, translate
from conspectus.rows import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Finding,
    Relationship,
    Report,
    Span,
    content_id,
)

Row = Mapping[str, Any]
TYPES = {"geo": "location"}
"""Our names for entity types of GraphRAG; other types become lower case."""
UNTYPED = "concept"
"""The type of entities without one."""
_EMPTY = ("", "none")
MIN_PART_CHARS = 15
"""Characters of a part of a quotation that is searched by itself: a shorter one occurs by chance."""


@dataclass
class Numbers:
    """Our row numbers, by the numbers (`human_readable_id`) and ids that GraphRAG uses."""

    by_table: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    by_id: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers of entities by id."""
    by_name: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers of entities by name, without entities that the import added."""

    def note(self, table: str, row: Row, number: int) -> None:
        """Record the number of a row of a table that references may name."""
        if row["human_readable_id"] is not None:
            self.by_table[table][int(row["human_readable_id"])] = number

    def reference(self, reference: Reference) -> Reference | None:
        """Return a reference with our number, None if it refers to no row."""
        number = self.by_table[reference.table].get(reference.number)
        return None if number is None else Reference(reference.table, number)


def _chunk_ids(row: Row) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.get("text_unit_ids") or ()))


def read_entities(rows: Iterable[Row], numbers: Numbers, counts: Counter[str]) -> list[Entity]:
    """Return the entities in the order of the table."""
    entities: list[Entity] = []
    for row in rows:
        name = str(row["title"])
        number = numbers.by_name.setdefault(name, len(entities))
        numbers.note("Entities", row, number)
        numbers.by_id[row["id"]] = number
        chunk_ids = _chunk_ids(row)
        if number < len(entities):
            counts["entities of a name that another has"] += 1
            both = tuple(dict.fromkeys((*entities[number].chunk_ids, *chunk_ids)))
            entities[number] = replace(entities[number], chunk_ids=both)
            continue
        kind = str(row.get("type") or UNTYPED).lower()
        entities.append(Entity(row["id"], number, name, TYPES.get(kind, kind), row.get("description") or "", chunk_ids))
    return entities


def read_relationships(
    rows: Iterable[Row], entities: list[Entity], numbers: Numbers, counts: Counter[str]
) -> list[Relationship]:
    """Return the relationships, one per pair; add entities for missing ends, and set the degrees of all entities."""
    by_name, with_added = numbers.by_name, dict(numbers.by_name)
    spelled = {same_name(entity.name): entity.name for entity in reversed(entities)}
    pairs: dict[tuple[str, str], Relationship] = {}
    for row in rows:
        ends = [str(row[end]) for end in ("source", "target")]
        counts["relationships with a missing end"] += any(end not in by_name for end in ends)
        ends = [end if end in by_name else spelled.get(same_name(end), end) for end in ends]
        if ends[0] == ends[1]:
            counts["relationships of a thing with itself"] += 1
            continue
        chunk_ids = _chunk_ids(row)
        for end in ends:
            if end not in by_name:
                _add_entity(end, row, chunk_ids, entities, with_added)
        source, target = sorted(ends)
        before = pairs.get((source, target))
        number = before.number if before else len(pairs)
        numbers.note("Relationships", row, number)
        if before:
            counts["reversed pairs"] += 1
        pairs[source, target] = _relationship(before, row, source, target, number, chunk_ids)
    counts["entities made for missing ends"] = len(with_added) - len(by_name)
    degree = Counter(end for pair in pairs for end in pair)
    entities[:] = [replace(entity, degree=degree[entity.name]) for entity in entities]
    return [replace(r, combined_degree=degree[r.source] + degree[r.target]) for r in pairs.values()]


def _add_entity(
    name: str, row: Row, chunk_ids: tuple[str, ...], entities: list[Entity], numbers: dict[str, int]
) -> None:
    """Add an entity for the missing end of a relationship, or extend the one that was added before."""
    description = row.get("description") or ""
    if name not in numbers:
        numbers[name] = len(entities)
        entities.append(Entity(content_id("entity", name), numbers[name], name, UNTYPED, description, chunk_ids))
        return
    entity = entities[numbers[name]]
    both = tuple(dict.fromkeys((*entity.chunk_ids, *chunk_ids)))
    merged = _join_descriptions(entity.description, description)
    entities[entity.number] = replace(entity, description=merged, chunk_ids=both)


def _join_descriptions(first: str, second: str) -> str:
    """Return two descriptions as one text."""
    if not first or not second or second in first:
        return first or second
    return f"{first}{'' if first[-1] in '.!?。！？' else '.'} {second}"


def _relationship(
    before: Relationship | None, row: Row, source: str, target: str, number: int, chunk_ids: tuple[str, ...]
) -> Relationship:
    """Return a relationship, merged with the one `before` of the opposite direction.

    The weight is the sum of the strengths of the instances, which a model rates from 1 to 10 each.
    """
    weight = float(row.get("weight") or 1.0)
    description = row.get("description") or ""
    if before:
        weight += before.weight
        description = _join_descriptions(before.description, description)
        chunk_ids = tuple(dict.fromkeys((*before.chunk_ids, *chunk_ids)))
    id_ = before.id if before else row["id"]
    strength = min(10.0, weight / max(1, len(chunk_ids)))
    return Relationship(id_, number, source, target, description, weight, strength, chunk_ids)


def read_claims(
    rows: Iterable[Row],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    numbers: Numbers,
    counts: Counter[str],
) -> list[Claim]:
    """Return the claims that have a description, each with the spans that it quotes."""
    chunk_of = {chunk.id: chunk for chunk in chunks}
    text_of = {document.id: document.text for document in documents}
    spelled = {same_name(name): name for name in reversed(numbers.by_name)}
    claims: list[Claim] = []
    for row in rows:
        subject = str(row.get("subject_id") or "")
        counts["claims without a subject entity"] += subject not in numbers.by_name
        if not row.get("description"):
            counts["claims that say nothing"] += 1
            continue
        chunk = chunk_of.get(row.get("text_unit_id") or "")
        spans = (
            tuple(find_quotation(row.get("source_text") or "", text_of[chunk.document_id], chunk.span)) if chunk else ()
        )
        numbers.note("Claims", row, len(claims))
        claims.append(
            Claim(
                row["id"],
                len(claims),
                spelled.get(same_name(subject), subject),
                _text(row, "object_id") or "NONE",
                _text(row, "type") or "FACT",
                _text(row, "status") or "SUSPECTED",
                row["description"],
                (chunk.id,) if chunk else (),
                spans,
                _text(row, "start_date"),
                _text(row, "end_date"),
            )
        )  # fmt: skip
    return claims


def _text(row: Row, column: str) -> str | None:
    value = str(row.get(column) or "")
    return None if value.lower() in _EMPTY else value


def read_communities(
    rows: Iterable[Row], entities: Sequence[Entity], relationships: Sequence[Relationship], numbers: Numbers
) -> list[Community]:
    """Return the communities level by level, numbered in that order."""
    ordered = sorted(rows, key=lambda row: (row["level"], row["community"]))
    numbers.by_table["communities"] = {int(row["community"]): number for number, row in enumerate(ordered)}
    parents = _parents(ordered, numbers.by_table["communities"])
    children: dict[int, list[int]] = defaultdict(list)
    for number, parent in enumerate(parents):
        children[parent].append(number)
    ends = {entity.name: entity.number for entity in entities}
    edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for r in relationships:
        edges[ends[r.source]].append((ends[r.target], r.number))
    communities: list[Community] = []
    for number, row in enumerate(ordered):
        members = {numbers.by_id[id_]: None for id_ in row["entity_ids"] or () if id_ in numbers.by_id}
        inside = tuple(sorted(r for member in members for other, r in edges[member] if other in members))
        communities.append(
            Community(
                row["id"],
                number,
                int(row["level"]),
                parents[number],
                tuple(children[number]),
                tuple(members),
                inside,
                _chunk_ids(row),
            )
        )  # fmt: skip
    return communities


def _parents(ordered: Sequence[Row], number: Mapping[int, int]) -> list[int]:
    """Return the number of the parent of each community, -1 for none; GraphRAG 1.0 does not store it."""
    if not ordered or "parent" in ordered[0]:
        stated = (row["parent"] for row in ordered)
        return [-1 if parent is None or parent != parent else number.get(int(parent), -1) for parent in stated]
    holder = {(row["level"], id_): i for i, row in enumerate(ordered) for id_ in row["entity_ids"] or ()}
    first = ((row["level"], next(iter(row["entity_ids"] or ()), None)) for row in ordered)
    return [holder.get((level - 1, id_), -1) for level, id_ in first]


def read_reports(
    rows: Iterable[Row], communities: Sequence[Community], numbers: Numbers, counts: Counter[str]
) -> list[Report]:
    """Return the reports in the order of their communities, with references in our numbers."""
    number = numbers.by_table["communities"]
    pairs: list[tuple[Community, Row]] = []
    for row in rows:
        community = number.get(int(row["community"]))
        if community is None:
            counts["reports of no community"] += 1
        else:
            pairs.append((communities[community], row))
    pairs.sort(key=lambda pair: pair[0].number)
    for i, (_, row) in enumerate(pairs):
        numbers.note("Reports", row, i)

    def translated(text: str | None) -> str:
        new, removed = translate(text or "", numbers.reference)
        counts["references that lead nowhere"] += removed
        return new.strip()

    return [_report(i, community, row, translated) for i, (community, row) in enumerate(pairs)]


def _report(number: int, community: Community, row: Row, translated: Any) -> Report:
    findings = [
        Finding(str(f.get("summary") or ""), translated(f.get("explanation"))) for f in row.get("findings") or ()
    ]
    if not findings:  # a report that is only text
        body = re.sub(r"\A#[^\n]*\n", "", row.get("full_content") or "").strip()
        findings = [Finding(str(row["title"]), translated(body))] if body else []
    report = Report(
        row["id"], number, community.number, community.level, community.parent, community.children,
        str(row["title"]), translated(row.get("summary")), float(row.get("rank") or 0.0),
        translated(row.get("rating_explanation") or row.get("rank_explanation")), tuple(findings), community.size,
    )  # fmt: skip
    return replace(report, n_tokens=tokens.count(report.text))


# Quotations


def find_loosely(words: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the characters between `start` and `end` that are the words, ignoring white space and case."""
    parts = words.split()
    if not parts:
        return None
    match = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE).search(text, start, end)
    return match.span() if match else None


def find_quotation(quotation: str, text: str, span: Span) -> Iterator[Span]:
    """Yield the span of a quotation inside a span of a document, or the spans of its parts.

    Parts are separated by `;`, an ellipsis or a new line.
    """
    for parts in ([quotation], re.split(r"\s*(?:;|\.\.\.|…|\n)\s*", quotation)):
        matches = [
            match
            for part in parts
            if len(part) >= MIN_PART_CHARS or len(parts) == 1
            if (match := find_loosely(part.strip(" \"'“”‘’"), text, span.start, span.end))
        ]
        if matches:
            yield from (Span(span.document_id, start, end) for start, end in matches)
            return
