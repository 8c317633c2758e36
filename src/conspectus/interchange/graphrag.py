"""Read an output folder of Microsoft GraphRAG (3.x, 2.x and 1.x), and check tables against the schema of 3.x.

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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from conspectus import Index, tokens
from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.indexing.given_graph import same_name, with_sentences
from conspectus.readers import newlines
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
        raise IndexDamaged(
            f"{path} is not a Parquet file that can be read ({error}); export it again"
        ) from error


class _Conversion:
    """The rows of GraphRAG's tables as ours; each method makes a table of those before."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._tables = defaultdict[str, Sequence[Row]](list, tables)
        self.counts: Counter[str] = Counter()
        self._numbers: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """By table of references, our row numbers by those of GraphRAG (`human_readable_id`)."""
        self._entities: list[Entity] = []
        self._number_of_name: dict[str, int] = {}
        self._names = frozenset[str]()
        """Names of the table of entities."""
        self._spelled: dict[str, str] = {}
        """The same by what their spellings have in common."""
        self._number_of_id: dict[str, int] = {}

    def index(self) -> Index:
        """Return the index, without sentences."""
        documents, chunks = self._texts()
        self._read_entities()
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
        documents = [_document(number, row) for number, row in enumerate(self._tables["documents"])]
        by_id = {document.id: document for document in documents}
        search_from: dict[str, int] = {}
        chunks: list[Chunk] = []
        for number, unit in enumerate(self._tables["text_units"]):
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

    def _read_entities(self) -> None:
        """Read the entities in the order of the table."""
        for row in self._tables["entities"]:
            kind = str(row.get("type") or UNTYPED).lower()
            before = len(self._entities)
            number = self._add_entity(row, row["id"], str(row["title"]), TYPES.get(kind, kind))
            self.counts["entities of a name that another has"] += number < before
            self._note("Entities", row, number)
            self._number_of_id[row["id"]] = number
        self._names = frozenset(self._number_of_name)
        self._spelled = {same_name(entity.name): entity.name for entity in reversed(self._entities)}

    def _add_entity(self, row: Row, id_: str, name: str, type_: str) -> int:
        """Add an entity, or extend the one of that name, and return its number."""
        number = self._number_of_name.setdefault(name, len(self._entities))
        description = row.get("description") or ""
        if number == len(self._entities):
            self._entities.append(Entity(id_, number, name, type_, description, _chunk_ids(None, row)))
        else:
            before = self._entities[number]
            description = _join_descriptions(before.description, description)
            self._entities[number] = replace(
                before, description=description, chunk_ids=_chunk_ids(before, row)
            )
        return number

    def _relationships(self) -> list[Relationship]:
        """Return the relationships, one per pair; add entities for missing ends, and set the degrees of all."""
        known = self._names
        pairs: dict[tuple[str, str], Relationship] = {}
        for row in self._tables["relationships"]:
            ends = [str(row["source"]), str(row["target"])]
            self.counts["relationships with a missing end"] += not known.issuperset(ends)
            ends = [end if end in known else self._spelled.get(same_name(end), end) for end in ends]
            if ends[0] == ends[1]:
                self.counts["relationships of a thing with itself"] += 1
                continue
            for end in ends:
                if end not in known:
                    self._add_entity(row, content_id("entity", end), end, UNTYPED)
            source, target = sorted(ends)
            before = pairs.get((source, target))
            self.counts["reversed pairs"] += before is not None
            pairs[source, target] = _relationship(before, row, len(pairs), source, target)
            self._note("Relationships", row, pairs[source, target].number)
        self.counts["entities made for missing ends"] = len(self._entities) - len(known)
        degree = Counter(end for pair in pairs for end in pair)
        self._entities = [replace(entity, degree=degree[entity.name]) for entity in self._entities]
        return [replace(r, combined_degree=degree[r.source] + degree[r.target]) for r in pairs.values()]

    def _claims(self, chunk_of: Mapping[str, Chunk], text_of: Mapping[str, str]) -> list[Claim]:
        """Return the claims that have a description, each with the spans that it quotes."""
        claims: list[Claim] = []
        for row in self._tables["covariates"]:
            subject = str(row.get("subject_id") or "")
            self.counts["claims without a subject entity"] += subject not in self._names
            if not row.get("description"):
                self.counts["claims that say nothing"] += 1
                continue
            chunk = chunk_of.get(row.get("text_unit_id") or "")
            quoted = row.get("source_text") or ""
            spans = find_quotation(quoted, text_of[chunk.document_id], chunk.span) if chunk else ()
            self._note("Claims", row, len(claims))
            subject = self._spelled.get(same_name(subject), subject)
            claims.append(
                Claim(
                    row["id"], len(claims), subject, _text(row, "object_id") or "NONE",
                    _text(row, "type") or "FACT", _text(row, "status") or "SUSPECTED", row["description"],
                    (chunk.id,) if chunk else (), tuple(spans), _text(row, "start_date"), _text(row, "end_date"),
                )
            )  # fmt: skip
        return claims

    # Communities and reports

    def _communities(self, relationships: Sequence[Relationship]) -> list[Community]:
        """Return the communities level by level, numbered in that order."""
        ordered = sorted(self._tables["communities"], key=lambda row: (row["level"], row["community"]))
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
        numbers, table = self._numbers["communities"], self._tables["community_reports"]
        rows = [row for row in table if int(row["community"]) in numbers]
        self.counts["reports of no community"] += len(table) - len(rows)
        rows.sort(key=lambda row: numbers[int(row["community"])])
        for i, row in enumerate(rows):
            self._note("Reports", row, i)
        return [
            self._report(i, communities[numbers[int(row["community"])]], row) for i, row in enumerate(rows)
        ]

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


def _relationship(
    before: Relationship | None, row: Row, number: int, source: str, target: str
) -> Relationship:
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
    """Return a document; further fields of it may be a mapping or JSON text."""
    metadata: dict[str, str] = {}
    for value in (
        row.get("metadata"),
        row.get("raw_data"),
        {"creation_date": row.get("creation_date") or None},
    ):
        fields: Any = value
        if isinstance(value, str):
            try:
                fields = json.loads(value)
            except ValueError:
                fields = {"metadata": value} if value.strip() else {}
        if isinstance(fields, Mapping):
            items = cast("Row", fields).items()
            metadata |= {k: str(v) for k, v in items if v is not None and k not in ("text", "title")}
    title = str(row["title"])
    return Document(row["id"], number, title, plain(row["text"] or ""), title, metadata=metadata)


def plain(text: str) -> str:
    """Return a text as it is stored: newlines as `\\n`, without a byte order mark."""
    return newlines(text).replace("\ufeff", "")


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
    body = plain(unit).strip("\ufffd")  # half characters at its ends
    for _ in range(HEADER_LINES):
        at = text.find(body, after)
        if at < 0:
            at = text.find(body)
        if at >= 0 and body.strip():
            return at, at + len(body)
        line, _, rest = body.partition("\n")
        if not rest.strip() or not re.match(r"[\w ]{1,40}: .*\.$", line):
            break
        body = rest.strip("\ufffd")
    return located(body, text) if len(body) < LOOSE_CHARS else None


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


# The schema of 3.x, written from GraphRAG's own output and not from `storage.schema`: each is tested against the other

PREFIX_OF_1 = "create_final_"
"""Prefix of the table files of GraphRAG 1.x."""
MIGRATE = "bring it up to date with its notebook index_migration_to_v1.ipynb, then import it again"

_TYPES = {
    "int64": "human_readable_id n_tokens frequency degree combined_degree community level parent size",
    "double": "weight rank",
    "list<element: string>": "text_unit_ids entity_ids relationship_ids covariate_ids",
    "list<element: int64>": "children",
    "list<element: struct<explanation: string, summary: string>>": "findings",
}
"""The columns of each Arrow type; those that are not named are strings."""
_TYPE_OF = {name: type_ for type_, names in _TYPES.items() for name in names.split()}
_TREE = "community level parent children title"
_COLUMNS = {
    "documents": "title text text_unit_ids creation_date raw_data",
    "text_units": "text n_tokens document_id entity_ids relationship_ids covariate_ids",
    "entities": "title type description text_unit_ids frequency degree",
    "relationships": "source target description weight combined_degree text_unit_ids",
    "communities": f"{_TREE} entity_ids relationship_ids text_unit_ids period size",
    "community_reports": f"{_TREE} summary full_content rank rating_explanation findings full_content_json period size",
    "covariates": "covariate_type type description subject_id object_id status start_date end_date source_text "
    "text_unit_id",
}
SCHEMA: Mapping[str, Mapping[str, str]] = {
    table: {name: _TYPE_OF.get(name, "string") for name in f"id human_readable_id {columns}".split()}
    for table, columns in _COLUMNS.items()
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
    required = SCHEMA.keys() - {"covariates"}  # which is written only if claims are extracted
    mismatches = [Mismatch(table, "*", "a table", "missing") for table in sorted(required - files.keys())]
    for table, file in files.items():
        try:
            schema = pq.read_schema(file)
        except (OSError, ValueError) as error:
            raise IndexDamaged(f"{file} is not a Parquet file ({error}); write it again") from error
        for position, (name, type_) in enumerate(SCHEMA[table].items()):
            at = schema.get_field_index(name)
            actual = "missing" if at < 0 else _type(schema.field(at).type)
            if at != position or actual not in (type_, "null"):  # null: a column without any value
                where = "" if at < 0 else f" in column {at + 1}"
                mismatches.append(Mismatch(table, name, f"{type_} in column {position + 1}", actual + where))
    return mismatches


def _type(type_: Any) -> str:
    """Return an Arrow type as text, without differences that no reader sees (large texts, names of list elements)."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<element: {_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = sorted((field.name, _type(field.type)) for field in type_)
        return f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields)}>"
    return str(type_).removeprefix("large_")


def tables_in(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of a folder by table, named as in GraphRAG 3.x.

    Raises IndexMissing if the folder is neither an index nor an output folder of GraphRAG 1.0 or later.
    """
    for output in (folder, folder / "output"):
        for prefix in ("", PREFIX_OF_1):
            if (output / f"{prefix}entities.parquet").is_file():
                files = {name: output / f"{prefix}{name}.parquet" for name in SCHEMA}
                return {name: path for name, path in files.items() if path.is_file()}
    if (folder / "manifest.json").is_file():
        return {name: path for name, path in store.table_files(folder).items() if name in SCHEMA}
    if old := sorted(folder.glob(f"**/artifacts/{PREFIX_OF_1}entities.parquet")):
        raise IndexMissing(f"{old[-1].parent} was written by GraphRAG before 1.0; {MIGRATE}")
    raise IndexMissing(
        f"there is no entities.parquet in {folder} or {folder / 'output'}; name the output folder"
    )
