"""Read an output folder of Microsoft GraphRAG (3.x and 2.x), and check tables against the schema of 3.x.

Documents, text units, entities, relationships, claims, communities and reports keep their names and ids. Rows that do
not fit our schema are retained, completed or dropped by the rules in `RULES`, and counted. Sentences and their mentions
are computed from the documents, since the extractive model answers from them.
"""
# pyarrow has no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from conspectus import Index, tokens
from conspectus.content import content_of, excerpt, span_of
from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.indexing.given_graph import same_name, with_sentences
from conspectus.readers import newlines
from conspectus.readers.cleaning import omitted
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
from conspectus.storage import store
from conspectus.text.language import with_languages

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

Row = Mapping[str, Any]

TYPES = {"geo": "location"}
"""Our names for entity types of GraphRAG; other types become lower case."""
UNTYPED = "concept"
"""The type of entities without one."""
_HEADER = re.compile(r"\A(?:[\w ]{1,40}: .*\.\n){1,8}")
"""Lines of metadata before the text of a unit: GraphRAG can be configured to write `title: ...` there."""
LOOSE_CHARS = 20_000
"""Length in characters below which a unit is searched regardless of white space: longer patterns compile slowly."""
MIN_PART_CHARS = 15
"""Minimum characters of a part of a quotation that is searched by itself: a shorter one occurs by chance."""

_FILE = Path(__file__).parent / "graphrag.toml"
_TABLES = tomllib.loads(_FILE.read_text(encoding="utf-8"))
RULES: Mapping[str, str] = _TABLES["rules"]
"""What the import does with rows that do not fit our schema, by a description of the case."""


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
        raise IndexDamaged(f"the tables in {folder} lack the column {missing}; export them again") from None
    if progress:
        progress.stage("lexical", 0)
    return Imported(with_sentences(index), dict(conversion.counts))


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        return pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexDamaged(
            f"{path} is not a Parquet file that can be read ({error}); export it again"
        ) from error


class _Conversion:
    """Converts the rows of GraphRAG's tables to ours; each method makes one table, using those made before."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._tables = defaultdict[str, Sequence[Row]](list, tables)
        self.counts: Counter[str] = Counter()
        self._numbers: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """For each table that references may name, our row numbers by those of GraphRAG (`human_readable_id`)."""
        self._chunk_of: dict[str, Chunk] = {}
        self._entities: dict[str, Entity] = {}
        """Entities by name."""
        self._number_of_id: dict[str, int] = {}
        self._names = frozenset[str]()
        """The names in the table of entities."""
        self._spelled: dict[str, str] = {}
        """The same names by their normalised spelling (`same_name`)."""

    def index(self) -> Index:
        """Return the index, without sentences."""
        documents, chunks = self._texts()
        self._read_entities()
        relationships = self._relationships()
        entities = list(self._entities.values())
        claims = self._claims({document.id: document.text for document in documents})
        communities = self._communities(relationships)
        reports = self._reports(communities)
        if communities:
            members = {number for community in communities for number in community.entity_numbers}
            added = self.counts["entities made for missing ends"]
            self.counts["entities in no community"] = len(entities) - len(members) - added
        return Index(
            documents=with_languages(documents), chunks=chunks, entities=entities, relationships=relationships,
            claims=claims, communities=communities, reports=reports,
            settings={"imported": {"format": "graphrag", "counts": dict(self.counts)}},
        )  # fmt: skip

    def _note(self, table: str, row: Row, number: int) -> None:
        """Record our number of a row, so that references to the row can be translated."""
        if row["human_readable_id"] is not None:
            self._numbers[table][int(row["human_readable_id"])] = number

    def _chunk_ids(self, row: Row) -> tuple[str, ...]:
        """Return the ids of the text units that a row names, without those that do not exist."""
        named = row.get("text_unit_ids") or ()
        known = [id_ for id_ in named if id_ in self._chunk_of]
        self.counts["rows that name a missing text unit"] += len(known) < len(named)
        return tuple(dict.fromkeys(known))

    # Documents and text units

    def _texts(self) -> tuple[list[Document], list[Chunk]]:
        """Return the documents, and the text units as chunks with their positions in the documents."""
        documents = [_document(number, row) for number, row in enumerate(self._tables["documents"])]
        by_id = {document.id: document for document in documents}
        search_from: dict[str, int] = {}
        for number, unit in enumerate(self._tables["text_units"]):
            document, (start, end) = _locate(unit, by_id, search_from)
            if document is None:
                self.counts["text units found in no document"] += 1
                text = plain(unit["text"] or "")
                id_ = content_id("text unit", unit["id"])
                document = Document(id_, len(documents), f"Text unit {number}", text, f"unit-{number}")
                documents.append(document)
                start, end = 0, len(text)
            text = excerpt(document, start, end)
            row = Chunk(unit["id"], number, document.id, start, end, text, tokens.count(text))
            self._chunk_of[row.id] = row
            self._note("Sources", unit, number)
        documents = [by_id.get(document.id, document) for document in documents]
        return documents, list(self._chunk_of.values())

    # The graph

    def _read_entities(self) -> None:
        """Read the entities in the order of the table."""
        for row in self._tables["entities"]:
            name, kind = str(row["title"]), str(row.get("type") or UNTYPED).lower()
            self.counts["entities with the name of another"] += name in self._entities
            self._add_entity(row, row["id"], name, TYPES.get(kind, kind), self._chunk_ids(row))
            number = self._entities[name].number
            self._note("Entities", row, number)
            self._number_of_id[row["id"]] = number
        self._names = frozenset(self._entities)
        self._spelled = {same_name(name): name for name in reversed(self._entities)}

    def _add_entity(self, row: Row, id_: str, name: str, type_: str, chunk_ids: tuple[str, ...]) -> None:
        """Add an entity, or extend the entity with this name."""
        before = self._entities.get(name) or Entity(id_, len(self._entities), name, type_, "")
        self._entities[name] = replace(
            before,
            description=_join_descriptions(before.description, row.get("description") or ""),
            chunk_ids=tuple(dict.fromkeys((*before.chunk_ids, *chunk_ids))),
        )

    def _relationships(self) -> list[Relationship]:
        """Return the relationships, one per pair; add entities for missing ends, and set the degrees of all."""
        pairs: dict[tuple[str, str], Relationship] = {}
        for row in self._tables["relationships"]:
            ends = [str(row["source"]), str(row["target"])]
            self.counts["relationships with a missing end"] += not self._names.issuperset(ends)
            ends = [e if e in self._names else self._spelled.get(same_name(e), e) for e in ends]
            if ends[0] == ends[1]:
                self.counts["relationships of an entity with itself"] += 1
                continue
            chunk_ids = self._chunk_ids(row)
            for end in ends:
                if end not in self._names:
                    self._add_entity(row, content_id("entity", end), end, UNTYPED, chunk_ids)
            source, target = sorted(ends)
            before = pairs.get((source, target))
            self.counts["reversed pairs"] += before is not None
            before = before or Relationship(row["id"], len(pairs), source, target, "", 0.0, 0.0, ())
            pairs[source, target] = _merge_row(before, row, chunk_ids)
            self._note("Relationships", row, before.number)
        self.counts["entities made for missing ends"] = len(self._entities) - len(self._names)
        degree = Counter(end for pair in pairs for end in pair)
        for name, entity in self._entities.items():
            self._entities[name] = replace(entity, degree=degree[name])
        return [replace(r, combined_degree=degree[r.source] + degree[r.target]) for r in pairs.values()]

    def _claims(self, text_of: Mapping[str, str]) -> list[Claim]:
        """Return the claims that have a description, each with the spans of its quotation."""
        claims: list[Claim] = []
        for row in self._tables["covariates"]:
            subject = str(row.get("subject_id") or "")
            self.counts["claims without a subject entity"] += subject not in self._names
            if not row.get("description"):
                self.counts["claims that say nothing"] += 1
                continue
            chunk = self._chunk_of.get(row.get("text_unit_id") or "")
            quoted = row.get("source_text") or ""
            spans = find_quotation(quoted, text_of[chunk.document_id], chunk.span) if chunk else ()
            self._note("Claims", row, len(claims))
            claims.append(
                Claim(
                    row["id"], len(claims), self._spelled.get(same_name(subject), subject),
                    _text(row, "object_id") or "NONE", _text(row, "type") or "FACT",
                    _text(row, "status") or "SUSPECTED", row["description"],
                    (chunk.id,) if chunk else (), tuple(spans), _text(row, "start_date"), _text(row, "end_date"),
                )
            )  # fmt: skip
        return claims

    # Communities and reports

    def _communities(self, relationships: Sequence[Relationship]) -> list[Community]:
        """Return the communities level by level, numbered in that order."""
        ordered = sorted(self._tables["communities"], key=lambda row: (row["level"], row["community"]))
        numbers = {int(row["community"]): number for number, row in enumerate(ordered)}
        self._numbers["communities"] = numbers
        parents = [_parent(row, numbers) for row in ordered]
        children: dict[int, list[int]] = defaultdict(list)
        for number, parent in enumerate(parents):
            children[parent].append(number)
        edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for r in relationships:
            source, target = self._entities[r.source], self._entities[r.target]
            edges[source.number].append((target.number, r.number))
        communities: list[Community] = []
        for number, row in enumerate(ordered):
            ids = [id_ for id_ in row["entity_ids"] or () if id_ in self._number_of_id]
            members = dict.fromkeys(self._number_of_id[id_] for id_ in ids)
            inside = sorted(r for member in members for other, r in edges[member] if other in members)
            communities.append(
                Community(
                    row["id"], number, int(row["level"]), parents[number], tuple(children[number]), tuple(members),
                    tuple(inside), self._chunk_ids(row),
                )
            )  # fmt: skip
        return communities

    def _reports(self, communities: Sequence[Community]) -> list[Report]:
        """Return the reports in the order of their communities, with references in our numbers."""
        numbers, table = self._numbers["communities"], self._tables["community_reports"]
        rows = [row for row in table if int(row["community"]) in numbers]
        self.counts["reports of no community"] += len(table) - len(rows)
        rows.sort(key=lambda row: numbers[int(row["community"])])
        for i, row in enumerate(rows):  # number all of them first, as reports refer to each other
            self._note("Reports", row, i)
        homes = [communities[numbers[int(row["community"])]] for row in rows]
        return [self._report(i, home, row) for i, (home, row) in enumerate(zip(homes, rows, strict=True))]

    def _report(self, number: int, community: Community, row: Row) -> Report:
        translated = self._translated
        findings = [
            Finding(str(f.get("summary") or ""), translated(f.get("explanation")))
            for f in row.get("findings") or ()
        ]
        if not findings:  # a report without structure, only text
            body = re.sub(r"\A#[^\n]*\n", "", row.get("full_content") or "").strip()
            summarized = body in ("", (row.get("summary") or "").strip())
            findings = [] if summarized else [Finding(str(row["title"]), translated(body))]
        report = Report(
            row["id"], number, community.number, community.level, community.parent, community.children,
            str(row["title"]), translated(row.get("summary")), float(row.get("rank") or 0.0),
            translated(row.get("rating_explanation")), tuple(findings), community.size,
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


def _text(row: Row, column: str) -> str | None:
    value = str(row.get(column) or "")
    return None if value.lower() in ("", "none") else value


def _join_descriptions(first: str, second: str) -> str:
    """Return two descriptions as one text."""
    if not first or not second or second in first:
        return first or second
    return f"{first}{'' if first[-1] in '.!?。！？' else '.'} {second}"


def _merge_row(before: Relationship, row: Row, chunk_ids: tuple[str, ...]) -> Relationship:
    """Return a relationship merged with a row for the same two entities, in either direction.

    The weight is the sum of the strengths of the instances, each of which a model rated from 1 to 10.
    """
    weight = before.weight + float(row.get("weight") or 1.0)
    chunk_ids = tuple(dict.fromkeys((*before.chunk_ids, *chunk_ids)))
    return replace(
        before,
        description=_join_descriptions(before.description, row.get("description") or ""),
        weight=weight,
        strength=min(10.0, weight / max(1, len(chunk_ids))),
        chunk_ids=chunk_ids,
    )


def _parent(row: Row, numbers: Mapping[int, int]) -> int:
    """Return the number of the parent of a community, -1 if it has none (None or NaN in the table)."""
    parent = row["parent"]
    return -1 if parent is None or parent != parent else numbers.get(int(parent), -1)


# Documents, and the positions of text units and quotations in them


def _document(number: int, row: Row) -> Document:
    """Return a document; `metadata` (2.x) or `raw_data` (3.x, JSON) give its path, its date and its metadata."""
    stated: Any = row.get("raw_data") or row.get("metadata")
    if isinstance(stated, str):
        try:
            stated = json.loads(stated)
        except ValueError:
            stated = None
    values = dict(cast("Row", stated)) if isinstance(stated, Mapping) else {}
    title, date = str(row["title"]), values.pop("date", None)
    path = str(values.pop("path", None) or title)
    if (created := row.get("creation_date")) and created != date:
        values["creation_date"] = created
    metadata = {k: str(v) for k, v in values.items() if v is not None and k not in ("text", "title")}
    stated = str(date) if date else None
    return Document(row["id"], number, title, plain(row["text"] or ""), path, stated, metadata)


def plain(text: str) -> str:
    """Return a text as it is stored: newlines as `\\n`, without a byte order mark."""
    return newlines(text).replace("\ufeff", "")


def _locate(
    unit: Row, documents: dict[str, Document], search_from: dict[str, int]
) -> tuple[Document | None, tuple[int, int]]:
    """Return the document of a text unit and its position there; in 2.x a unit may name several documents."""
    ids = [unit["document_id"]] if unit.get("document_id") else list(unit.get("document_ids") or ())
    for document in filter(None, map(documents.get, ids)):
        for read in (document, replace(document, omitted=omitted(document.text))):  # our exports omit text
            content = content_of(read)
            after = content.at(search_from.get(document.id, 0))
            span = find_unit(unit["text"] or "", content.text, after)
            if span:
                start, end = content.span(*span)
                documents[document.id] = read
                search_from[document.id] = start + 1
                return read, (start, end)
    return None, (0, 0)


def find_unit(unit: str, text: str, after: int = 0) -> tuple[int, int] | None:
    """Return the start and end, in characters, of a text unit in the text of a document, None if it does not occur.

    The unit is searched from `after` (just after the start of the previous unit), then anywhere; first unchanged, then
    without lines of metadata before it, and last ignoring white space and case.
    """
    body = plain(unit).strip("\ufffd")  # incomplete characters at its ends
    for part in (body, _HEADER.sub("", body)):
        at = text.find(part, after)
        if at < 0:
            at = text.find(part)
        if at >= 0 and part.strip():
            return at, at + len(part)
    return span_of(part, text) if len(part) < LOOSE_CHARS else None


def find_quotation(quotation: str, text: str, span: Span) -> Iterator[Span]:
    """Yield the span of a quotation inside a span of a document, or the spans of its parts.

    Parts are separated by `;`, an ellipsis or a new line.
    """
    for parts in ([quotation], re.split(r"\s*(?:;|\.\.\.|…|\n)\s*", quotation)):
        matches = [
            match
            for part in parts
            if len(part) >= MIN_PART_CHARS or len(parts) == 1
            if (match := span_of(part.strip(" \"'“”‘’"), text, span.start, span.end))
        ]
        if matches:
            yield from (Span(span.document_id, start, end) for start, end in matches)
            return


_TYPE_OF = {name: type_ for type_, names in _TABLES["types"].items() for name in names.split()}
SCHEMA: Mapping[str, Mapping[str, str]] = {
    table: {name: _TYPE_OF.get(name, "string") for name in f"id human_readable_id {columns}".split()}
    for table, columns in _TABLES["columns"].items()
}
"""Names and Arrow types of the columns of each table, in order."""


class Mismatch(NamedTuple):
    """A column that differs from what readers of GraphRAG's tables expect."""

    table: str
    column: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column} should be {self.expected} and is {self.actual}"


def check_schema(folder: Path) -> list[Mismatch]:
    """Compare the tables of a folder with the schema of GraphRAG 3.x; return the columns that differ.

    The folder is an index or an output folder of GraphRAG. The columns of GraphRAG must come first, in their order;
    our own may follow. Raises IndexMissing if the folder is neither.
    """
    files = tables_in(folder)
    required = SCHEMA.keys() - {"covariates"}  # this table is written only if claims are extracted
    mismatches = [Mismatch(table, "*", "a table", "missing") for table in sorted(required - files.keys())]
    for table, file in files.items():
        try:
            schema = pq.read_schema(file)
        except (OSError, ValueError) as error:
            raise IndexDamaged(f"{file} is not a Parquet file ({error}); write it again") from error
        for position, (name, type_) in enumerate(SCHEMA[table].items()):
            at = schema.get_field_index(name)
            actual = "missing" if at < 0 else _type(schema.field(at).type)
            if at != position or actual not in (type_, "null"):  # null: a column without values
                where = "" if at < 0 else f" in column {at + 1}"
                mismatches.append(Mismatch(table, name, f"{type_} in column {position + 1}", actual + where))
    return mismatches


def _type(type_: Any) -> str:
    """Return an Arrow type as text, without differences irrelevant to readers (large texts, names of list elements)."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<element: {_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = sorted((field.name, _type(field.type)) for field in type_)
        return f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields)}>"
    return str(type_).removeprefix("large_")


def tables_in(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of a folder by table, named as in GraphRAG 3.x.

    Raises IndexMissing if the folder is neither an index nor an output folder of GraphRAG 2.0 or later.
    """
    for output in (folder, folder / "output"):
        if (output / "entities.parquet").is_file():
            files = {name: output / f"{name}.parquet" for name in SCHEMA}
            return {name: path for name, path in files.items() if path.is_file()}
    if (folder / "manifest.json").is_file():
        return {name: path for name, path in store.table_files(folder).items() if name in SCHEMA}
    raise IndexMissing(
        f"there is no entities.parquet in {folder} or {folder / 'output'}; name the output folder of GraphRAG 2 or 3"
    )
