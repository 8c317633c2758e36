"""Rows of GraphRAG's tables as rows of ours: the graph, its claims, communities and reports (see
`graphrag.RULES`)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conspectus import tokens
from conspectus.interchange.matching import same_name
from conspectus.interchange.placing import find_quotation
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
    content_id,
)

Row = Mapping[str, Any]
TYPES = {"geo": "location"}
"""Our names of its types; others are only written small."""
UNTYPED = "concept"
_NOTHING = ("", "none")


@dataclass
class Numbers:
    """Our numbers by its own (`human_readable_id`), of each table that references name, and by its ids."""

    by_table: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    by_id: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers of entities by their ids."""
    by_name: dict[str, int] = field(default_factory=dict[str, int])
    """The same by their names, without those that were added."""

    def note(self, table: str, row: Row, number: int) -> None:
        if row["human_readable_id"] is not None:
            self.by_table[table][int(row["human_readable_id"])] = number

    def reference(self, reference: Reference) -> Reference | None:
        """Return a reference of its reports as one of ours, None where it leads nowhere."""
        number = self.by_table[reference.table].get(reference.number)
        return None if number is None else Reference(reference.table, number)


def _chunk_ids(row: Row) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.get("text_unit_ids") or ()))


def read_entities(rows: Iterable[Row], numbers: Numbers, counts: Counter[str]) -> list[Entity]:
    """Return the entities, in its order."""
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
    """Return the relationships, one for each pair; entities are added for missing ends, and all get their
    degrees."""
    given, known = numbers.by_name, dict(numbers.by_name)
    spelled = {same_name(entity.name): entity.name for entity in reversed(entities)}
    pairs: dict[tuple[str, str], Relationship] = {}
    for row in rows:
        ends = [str(row[end]) for end in ("source", "target")]
        missing = [end for end in ends if end not in given]
        counts["relationships with a missing end"] += bool(missing)
        ends = [end if end in given else spelled.get(same_name(end), end) for end in ends]
        if ends[0] == ends[1]:
            counts["relationships of a thing with itself"] += 1
            continue
        chunk_ids = _chunk_ids(row)
        for end in ends:
            if end not in given:
                _add(end, row, chunk_ids, entities, known)
        source, target = sorted(ends)
        before = pairs.get((source, target))
        number = before.number if before else len(pairs)
        numbers.note("Relationships", row, number)
        if before:
            counts["reversed pairs"] += 1
        pairs[source, target] = _joined(before, row, source, target, number, chunk_ids)
    counts["entities made for missing ends"] = len(known) - len(given)
    degree = Counter(end for pair in pairs for end in pair)
    entities[:] = [replace(entity, degree=degree[entity.name]) for entity in entities]
    return [replace(r, combined_degree=degree[r.source] + degree[r.target]) for r in pairs.values()]


def _add(name: str, row: Row, chunk_ids: tuple[str, ...], entities: list[Entity], known: dict[str, int]) -> None:
    """Make an entity of the missing end of a relationship, or let another relationship say more of it."""
    said = row.get("description") or ""
    if name not in known:
        known[name] = len(entities)
        entities.append(Entity(content_id("entity", name), known[name], name, UNTYPED, said, chunk_ids))
        return
    entity = entities[known[name]]
    told = _together(entity.description, said)
    both = tuple(dict.fromkeys((*entity.chunk_ids, *chunk_ids)))
    entities[entity.number] = replace(entity, description=told, chunk_ids=both)


def _together(said: str, more: str) -> str:
    """Return two descriptions as one text."""
    if not said or not more or more in said:
        return said or more
    return f"{said}{'' if said[-1] in '.!?。！？' else '.'} {more}"


def _joined(
    before: Relationship | None, row: Row, source: str, target: str, number: int, chunk_ids: tuple[str, ...]
) -> Relationship:
    """Return a relationship, with that of the other direction where it was read before.

    Its weight is the sum of what a model gave the instances; a model rates each from 1 to 10.
    """
    weight = float(row.get("weight") or 1.0)
    told = row.get("description") or ""
    if before:
        weight += before.weight
        told = _together(before.description, told)
        chunk_ids = tuple(dict.fromkeys((*before.chunk_ids, *chunk_ids)))
    id_ = before.id if before else row["id"]
    strength = min(10.0, weight / max(1, len(chunk_ids)))
    return Relationship(id_, number, source, target, told, weight, strength, chunk_ids)


def read_claims(
    rows: Iterable[Row],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    numbers: Numbers,
    counts: Counter[str],
) -> list[Claim]:
    """Return the claims that say something, each with the places that it quotes."""
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
                _said(row, "object_id") or "NONE",
                _said(row, "type") or "FACT",
                _said(row, "status") or "SUSPECTED",
                row["description"],
                (chunk.id,) if chunk else (),
                spans,
                _said(row, "start_date"),
                _said(row, "end_date"),
            )
        )  # fmt: skip
    return claims


def _said(row: Row, column: str) -> str | None:
    value = str(row.get(column) or "")
    return None if value.lower() in _NOTHING else value


def read_communities(
    rows: Iterable[Row], entities: Sequence[Entity], relationships: Sequence[Relationship], numbers: Numbers
) -> list[Community]:
    """Return the communities level by level, with our numbers in place of its own."""
    ordered = sorted(rows, key=lambda row: (row["level"], row["community"]))
    number = {int(row["community"]): place for place, row in enumerate(ordered)}
    parent = _parents(ordered, number)
    children: dict[int, list[int]] = defaultdict(list)
    for place, above in enumerate(parent):
        children[above].append(place)
    ends = {entity.name: entity.number for entity in entities}
    edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for r in relationships:
        edges[ends[r.source]].append((ends[r.target], r.number))
    communities: list[Community] = []
    for place, row in enumerate(ordered):
        members = {numbers.by_id[id_]: None for id_ in row["entity_ids"] or () if id_ in numbers.by_id}
        inside = tuple(sorted(r for member in members for other, r in edges[member] if other in members))
        communities.append(
            Community(
                row["id"],
                place,
                int(row["level"]),
                parent[place],
                tuple(children[place]),
                tuple(members),
                inside,
                _chunk_ids(row),
            )
        )  # fmt: skip
    numbers.by_table["communities"] = number
    return communities


def _parents(ordered: Sequence[Row], number: Mapping[int, int]) -> list[int]:
    """Return the place of the parent of each community, -1 for none; 1.0 does not say which it is."""
    if not ordered or "parent" in ordered[0]:
        stated = (row["parent"] for row in ordered)
        return [-1 if above is None or above != above else number.get(int(above), -1) for above in stated]
    holder = {(row["level"], id_): place for place, row in enumerate(ordered) for id_ in row["entity_ids"] or ()}
    first = ((row["level"], next(iter(row["entity_ids"] or ()), None)) for row in ordered)
    return [holder.get((level - 1, id_), -1) for level, id_ in first]


def read_reports(
    rows: Iterable[Row], communities: Sequence[Community], numbers: Numbers, counts: Counter[str]
) -> list[Report]:
    """Return the reports in the order of their communities, their references in our numbers."""
    number = numbers.by_table["communities"]
    known: list[tuple[Community, Row]] = []
    for row in rows:
        place = number.get(int(row["community"]))
        if place is None:
            counts["reports of no community"] += 1
        else:
            known.append((communities[place], row))
    known.sort(key=lambda pair: pair[0].number)
    for place, (_, row) in enumerate(known):
        numbers.note("Reports", row, place)

    def translated(text: str | None) -> str:
        new, removed = translate(text or "", numbers.reference)
        counts["references that lead nowhere"] += removed
        return new.strip()

    return [_report(place, community, row, translated) for place, (community, row) in enumerate(known)]


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
