"""Import an output folder of Microsoft GraphRAG (3.x, 2.x and 1.x): its documents, text units and tables.

Documents, text units, entities, relationships, claims, communities and reports keep their names and ids. Rows that do
not fit our schema are kept, completed or dropped by the rules in `RULES`, and counted. Sentences and what they mention
are computed from the documents, since the extractive model answers from them.
"""
# pyarrow has no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from conspectus import Index, tokens
from conspectus.errors import IndexDamaged
from conspectus.indexing.given_graph import same_name, with_sentences
from conspectus.interchange.graphrag_schema import MIGRATE, PREFIX_OF_1, tables_in
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
from conspectus.text.language import with_languages
from conspectus.text.sentences import located

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

Row = Mapping[str, Any]
T = TypeVar("T", Entity, Relationship, Community)

TYPES = {"geo": "location"}
"""Our names for entity types of GraphRAG; other types become lower case."""
UNTYPED = "concept"
"""The type of entities without one."""
HEADER_LINES = 8
"""Lines of metadata before the text of a unit: GraphRAG writes `title: ...` there if it is told to."""
LOOSE_CHARS = 20_000
"""Characters of a unit that is searched regardless of white space: a pattern of a longer one is slow to compile."""
MIN_PART_CHARS = 15
"""Characters of a part of a quotation that is searched by itself: a shorter one occurs by chance."""

RULES = {
    "entities in no community": "kept; no report tells of them, local search finds them",
    "entities of a name that another has": "merged into the first",
    "relationships with a missing end": "kept; the end becomes an entity, described by the relationship",
    "entities made for missing ends": "added, of type concept, in no community",
    "reversed pairs": "merged: relationships are undirected; descriptions joined, weights added",
    "relationships of a thing with itself": "dropped",
    "claims without a subject entity": "kept under the name they give, unless they say nothing",
    "claims that say nothing": "dropped: rows without description, which are quotations of the claim before",
    "references that lead nowhere": "removed from the reports",
    "reports of no community": "dropped",
    "text units found in no document": "kept as documents of their own",
    "rows that name a text unit that is not there": "kept without it",
}
"""What does not fit our schema, and what the import does with it."""


@dataclass(frozen=True)
class Imported:
    """An imported index; `counts` is the number of times that each rule of `RULES` was applied."""

    index: Index
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    def notices(self) -> Iterator[str]:
        """Yield a line for each rule that was applied."""
        for case, rule in RULES.items():
            if self.counts.get(case):
                yield f"{self.counts[case]:,} {case}: {rule}"


def read_graphrag(folder: Path, progress: Progress | None = None) -> Imported:
    """Read an output folder of GraphRAG, or a project folder that contains one.

    Raises IndexMissing if there is none, IndexDamaged if a table or a column is missing.
    """
    if progress:
        progress.stage("read", 0)
    files = tables_in(folder)
    conversion = _Conversion({name: _rows(path) for name, path in files.items()})
    try:
        index = conversion.index()
    except KeyError as missing:
        version_1 = files["entities"].name.startswith(PREFIX_OF_1)
        advice = f"if they are of GraphRAG before 1.0, {MIGRATE}" if version_1 else "export them again"
        raise IndexDamaged(f"the tables in {folder} lack the column or table {missing}; {advice}") from None
    if progress:
        progress.stage("lexical", 0)
    return Imported(with_sentences(index), dict(conversion.counts))


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        return pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexDamaged(f"{path} is not a Parquet file that can be read ({error}); export it again") from error


class _Conversion:
    """The rows of GraphRAG's tables as ours; each method makes a table of those before."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._tables = tables
        self.counts: Counter[str] = Counter()
        self._numbers: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """By table of references, our row numbers by those of GraphRAG (`human_readable_id`)."""
        self._entities: list[Entity] = []
        self._number_of_name: dict[str, int] = {}
        """Numbers of entities by name, without those that the import added."""
        self._number_of_id: dict[str, int] = {}

    def index(self) -> Index:
        """Return the index, without sentences."""
        documents, chunks = self._texts()
        self._read_entities(self._tables["entities"])
        relationships = self._relationships()
        claims = self._claims({c.id: c for c in chunks}, {d.id: d.text for d in documents})
        communities = self._communities(relationships)
        reports = self._reports(communities)
        chunk_ids = {chunk.id for chunk in chunks}
        entities = self._with_known_chunks(self._entities, chunk_ids)
        relationships = self._with_known_chunks(relationships, chunk_ids)
        communities = self._with_known_chunks(communities, chunk_ids)
        if communities:
            members = {number for community in communities for number in community.entity_numbers}
            added = self.counts["entities made for missing ends"]
            self.counts["entities in no community"] = len(entities) - len(members) - added
        return Index(
            documents=with_languages(documents), chunks=chunks, entities=entities, relationships=relationships,
            claims=claims, communities=communities, reports=reports,
            settings={"imported": {"format": "graphrag", "counts": dict(self.counts)}},
        )  # fmt: skip

    def _table(self, name: str) -> Sequence[Row]:
        return self._tables.get(name, [])

    def _note(self, table: str, row: Row, number: int) -> None:
        """Record the number of a row of a table that references may name."""
        if row["human_readable_id"] is not None:
            self._numbers[table][int(row["human_readable_id"])] = number

    def _with_known_chunks(self, rows: Iterable[T], chunk_ids: set[str]) -> list[T]:
        """Return rows without references to missing text units."""
        known: list[T] = []
        for row in rows:
            if not chunk_ids.issuperset(row.chunk_ids):
                self.counts["rows that name a text unit that is not there"] += 1
                row = replace(row, chunk_ids=tuple(chunk for chunk in row.chunk_ids if chunk in chunk_ids))
            known.append(row)
        return known

    # Documents and text units

    def _texts(self) -> tuple[list[Document], list[Chunk]]:
        """Return the documents, and the text units as chunks with their positions in the documents."""
        documents = [_document(number, row) for number, row in enumerate(self._table("documents"))]
        by_id = {document.id: document for document in documents}
        search_from: dict[str, int] = {}
        chunks: list[Chunk] = []
        for number, unit in enumerate(self._table("text_units")):
            document, (start, end) = _locate(unit, by_id, search_from)
            if document is None:
                self.counts["text units found in no document"] += 1
                text = plain(unit["text"] or "")
                id_ = content_id("text unit", unit["id"])
                document = Document(id_, len(documents), f"Text unit {number}", text, f"unit-{number}")
                documents.append(document)
                start, end = 0, len(text)
            text = document.text[start:end]
            chunks.append(Chunk(unit["id"], number, document.id, start, end, text, tokens.count(text)))
            self._note("Sources", unit, number)
        return documents, chunks

    # The graph

    def _read_entities(self, rows: Iterable[Row]) -> None:
        """Read the entities in the order of the table."""
        entities = self._entities
        for row in rows:
            name = str(row["title"])
            number = self._number_of_name.setdefault(name, len(entities))
            self._note("Entities", row, number)
            self._number_of_id[row["id"]] = number
            if number < len(entities):
                self.counts["entities of a name that another has"] += 1
                entities[number] = replace(entities[number], chunk_ids=_chunk_ids(entities[number], row))
                continue
            kind = str(row.get("type") or UNTYPED).lower()
            described = row.get("description") or ""
            entities.append(
                Entity(row["id"], number, name, TYPES.get(kind, kind), described, _chunk_ids(None, row))
            )

    def _relationships(self) -> list[Relationship]:
        """Return the relationships, one per pair; add entities for missing ends, and set the degrees of all."""
        known = self._number_of_name
        spelled = {same_name(entity.name): entity.name for entity in reversed(self._entities)}
        added: dict[str, int] = {}
        pairs: dict[tuple[str, str], Relationship] = {}
        for row in self._table("relationships"):
            ends = [str(row["source"]), str(row["target"])]
            self.counts["relationships with a missing end"] += any(end not in known for end in ends)
            ends = [end if end in known else spelled.get(same_name(end), end) for end in ends]
            if ends[0] == ends[1]:
                self.counts["relationships of a thing with itself"] += 1
                continue
            for end in ends:
                if end not in known:
                    self._add_entity(end, row, added)
            source, target = sorted(ends)
            before = pairs.get((source, target))
            self.counts["reversed pairs"] += before is not None
            pairs[source, target] = _relationship(before, row, len(pairs), source, target)
            self._note("Relationships", row, pairs[source, target].number)
        self.counts["entities made for missing ends"] = len(added)
        degree = Counter(end for pair in pairs for end in pair)
        self._entities = [replace(entity, degree=degree[entity.name]) for entity in self._entities]
        return [replace(r, combined_degree=degree[r.source] + degree[r.target]) for r in pairs.values()]

    def _add_entity(self, name: str, row: Row, added: dict[str, int]) -> None:
        """Add an entity for the missing end of a relationship, or extend the one that was added before."""
        entities, description = self._entities, row.get("description") or ""
        if name not in added:
            added[name] = len(entities)
            id_ = content_id("entity", name)
            entities.append(Entity(id_, added[name], name, UNTYPED, description, _chunk_ids(None, row)))
            return
        entity = entities[added[name]]
        merged = _join_descriptions(entity.description, description)
        entities[entity.number] = replace(entity, description=merged, chunk_ids=_chunk_ids(entity, row))

    def _claims(self, chunk_of: Mapping[str, Chunk], text_of: Mapping[str, str]) -> list[Claim]:
        """Return the claims that have a description, each with the spans that it quotes."""
        spelled = {same_name(name): name for name in reversed(self._number_of_name)}
        claims: list[Claim] = []
        for row in self._table("covariates"):
            subject = str(row.get("subject_id") or "")
            self.counts["claims without a subject entity"] += subject not in self._number_of_name
            if not row.get("description"):
                self.counts["claims that say nothing"] += 1
                continue
            chunk = chunk_of.get(row.get("text_unit_id") or "")
            quoted = row.get("source_text") or ""
            spans = find_quotation(quoted, text_of[chunk.document_id], chunk.span) if chunk else ()
            self._note("Claims", row, len(claims))
            claims.append(
                Claim(
                    row["id"], len(claims), spelled.get(same_name(subject), subject), _text(row, "object_id") or "NONE",
                    _text(row, "type") or "FACT", _text(row, "status") or "SUSPECTED", row["description"],
                    (chunk.id,) if chunk else (), tuple(spans), _text(row, "start_date"), _text(row, "end_date"),
                )
            )  # fmt: skip
        return claims

    # Communities and reports

    def _communities(self, relationships: Sequence[Relationship]) -> list[Community]:
        """Return the communities level by level, numbered in that order."""
        ordered = sorted(self._table("communities"), key=lambda row: (row["level"], row["community"]))
        self._numbers["communities"] = {int(row["community"]): number for number, row in enumerate(ordered)}
        parents = _parents(ordered, self._numbers["communities"])
        children: dict[int, list[int]] = defaultdict(list)
        for number, parent in enumerate(parents):
            children[parent].append(number)
        ends = {entity.name: entity.number for entity in self._entities}
        edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for r in relationships:
            edges[ends[r.source]].append((ends[r.target], r.number))
        communities: list[Community] = []
        for number, row in enumerate(ordered):
            known = self._number_of_id
            members = {known[id_]: None for id_ in row["entity_ids"] or () if id_ in known}
            inside = tuple(sorted(r for member in members for other, r in edges[member] if other in members))
            communities.append(
                Community(
                    row["id"], number, int(row["level"]), parents[number], tuple(children[number]), tuple(members),
                    inside, _chunk_ids(None, row),
                )
            )  # fmt: skip
        return communities

    def _reports(self, communities: Sequence[Community]) -> list[Report]:
        """Return the reports in the order of their communities, with references in our numbers."""
        numbers = self._numbers["communities"]
        pairs: list[tuple[int, Row]] = []
        for row in self._table("community_reports"):
            number = numbers.get(int(row["community"]))
            if number is None:
                self.counts["reports of no community"] += 1
            else:
                pairs.append((number, row))
        pairs.sort(key=lambda pair: pair[0])
        for i, (_, row) in enumerate(pairs):
            self._note("Reports", row, i)
        return [self._report(i, communities[number], row) for i, (number, row) in enumerate(pairs)]

    def _report(self, number: int, community: Community, row: Row) -> Report:
        translated = self._translated
        findings = [
            Finding(str(f.get("summary") or ""), translated(f.get("explanation")))
            for f in row.get("findings") or ()
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

    def _translated(self, text: str | None) -> str:
        """Return a text with references in our numbers."""

        def ours(reference: Reference) -> Reference | None:
            number = self._numbers[reference.table].get(reference.number)
            return None if number is None else Reference(reference.table, number)

        new, removed = translate(text or "", ours)
        self.counts["references that lead nowhere"] += removed
        return new.strip()


# Rows


def _chunk_ids(before: Entity | Relationship | None, row: Row) -> tuple[str, ...]:
    """Return the text units of a row, after those of the row that it is merged with."""
    return tuple(dict.fromkeys((*(before.chunk_ids if before else ()), *(row.get("text_unit_ids") or ()))))


def _text(row: Row, column: str) -> str | None:
    value = str(row.get(column) or "")
    return None if value.lower() in ("", "none") else value


def _join_descriptions(first: str, second: str) -> str:
    """Return two descriptions as one text."""
    if not first or not second or second in first:
        return first or second
    return f"{first}{'' if first[-1] in '.!?。！？' else '.'} {second}"


def _relationship(before: Relationship | None, row: Row, number: int, source: str, target: str) -> Relationship:
    """Return a relationship, merged with the one `before` of the opposite direction.

    The weight is the sum of the strengths of the instances, which a model rates from 1 to 10 each.
    """
    weight = float(row.get("weight") or 1.0) + (before.weight if before else 0.0)
    description = _join_descriptions(before.description if before else "", row.get("description") or "")
    chunk_ids = _chunk_ids(before, row)
    strength = min(10.0, weight / max(1, len(chunk_ids)))
    id_, number = (before.id, before.number) if before else (row["id"], number)
    return Relationship(id_, number, source, target, description, weight, strength, chunk_ids)


def _parents(ordered: Sequence[Row], number: Mapping[int, int]) -> list[int]:
    """Return the number of the parent of each community, -1 for none; GraphRAG 1.0 does not store it."""
    if not ordered or "parent" in ordered[0]:
        stated = (row["parent"] for row in ordered)
        return [-1 if parent is None or parent != parent else number.get(int(parent), -1) for parent in stated]
    holder = {(row["level"], id_): i for i, row in enumerate(ordered) for id_ in row["entity_ids"] or ()}
    first = ((row["level"], next(iter(row["entity_ids"] or ()), None)) for row in ordered)
    return [holder.get((level - 1, id_), -1) for level, id_ in first]


# Documents, and where text units and quotations are in them


def _document(number: int, row: Row) -> Document:
    metadata = _metadata(row.get("metadata")) | _metadata(row.get("raw_data"))
    if row.get("creation_date"):
        metadata["creation_date"] = str(row["creation_date"])
    title = str(row["title"])
    return Document(row["id"], number, title, plain(row["text"] or ""), title, metadata=metadata)


def _metadata(value: Any) -> dict[str, str]:
    """Return further fields of a document, which may be a mapping or JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {"metadata": value} if value.strip() else {}
    if not isinstance(value, Mapping):
        return {}
    fields = cast("Row", value)
    return {
        name: str(value) for name, value in fields.items() if value is not None and name not in ("text", "title")
    }


def plain(text: str) -> str:
    """Return a text as it is stored: newlines as `\\n`, without a byte order mark."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")


def _locate(
    unit: Row, documents: Mapping[str, Document], search_from: dict[str, int]
) -> tuple[Document | None, tuple[int, int]]:
    """Return the document of a text unit and its characters there; in 2.x a unit may name several documents."""
    ids = [unit["document_id"]] if unit.get("document_id") else list(unit.get("document_ids") or ())
    for document in filter(None, map(documents.get, ids)):
        span = find_unit(unit["text"] or "", document.text, search_from.get(document.id, 0))
        if span:
            search_from[document.id] = span[0] + 1
            return document, span
    return None, (0, 0)


def find_unit(unit: str, text: str, after: int = 0) -> tuple[int, int] | None:
    """Return the characters of a document that a text unit was cut from, None if the document lacks them.

    The unit is searched from `after` (the start of the unit before it), then anywhere; first as it is, then without
    lines of metadata before it, at last ignoring white space and case.
    """
    body = ""
    for body in _bodies(plain(unit)):
        at = text.find(body, after)
        if at < 0:
            at = text.find(body)
        if at >= 0:
            return at, at + len(body)
    return located(body, text) if len(body) < LOOSE_CHARS else None


def _bodies(unit: str) -> Iterator[str]:
    """Yield a unit, then the rest of it after each leading line of metadata, without half characters at its ends."""
    unit = unit.strip("\ufffd")
    if unit.strip():
        yield unit
    for _ in range(HEADER_LINES):
        line, newline, unit = unit.partition("\n")
        if not newline or not re.match(r"[\w ]{1,40}: .*\.$", line):
            return
        if unit.strip("\ufffd").strip():
            yield unit.strip("\ufffd")


def find_quotation(quotation: str, text: str, span: Span) -> Iterator[Span]:
    """Yield the span of a quotation inside a span of a document, or the spans of its parts.

    Parts are separated by `;`, an ellipsis or a new line.
    """
    for parts in ([quotation], re.split(r"\s*(?:;|\.\.\.|…|\n)\s*", quotation)):
        matches = [
            match
            for part in parts
            if len(part) >= MIN_PART_CHARS or len(parts) == 1
            if (match := located(part.strip(" \"'“”‘’"), text, span.start, span.end))
        ]
        if matches:
            yield from (Span(span.document_id, start, end) for start, end in matches)
            return
