"""Write an index for other tools, and draw its graph.

Tables have the names and columns of the files in `tables/` of an index: those of Microsoft GraphRAG first, then ours.
"""
# pyarrow, duckdb and networkx have no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import csv
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from conspectus.errors import UsageError, did_you_mean
from conspectus.interchange.graphrag import SCHEMA
from conspectus.interchange.map import colours, layout_of, page, title_of
from conspectus.interchange.obsidian import write_vault
from conspectus.lazy import lazy_module
from conspectus.readers import GENERATED, list_generated
from conspectus.rows import Claim, Community, Report
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, public
from conspectus.storage import TABLES, encode

if TYPE_CHECKING:
    import duckdb
    import networkx
    from typing_extensions import Unpack

    from conspectus import Index
else:
    duckdb = lazy_module("duckdb", "conspectus[duckdb]")
    networkx = lazy_module("networkx", "conspectus[graph]")

Format = Literal["parquet", "csv", "duckdb", "graphml", "neo4j", "json", "obsidian", "graphrag"] | str
_XML_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


@public
def export(
    index: AnyIndex = DEFAULT_FOLDER,
    format: Format = "parquet",
    path: str | Path | None = None,
    *,
    level: int | None = None,
) -> Path:
    """Write an index in a format of another tool, and return the file or folder.

        export(index, "graphml", "graph.graphml")

    index: an index or its folder.
    format: `parquet` or `csv` (a folder with one file per table), `duckdb` (a database; extra `duckdb`), `graphml` (for
        Gephi; extra `graph`), `neo4j` (a folder of CSV), `json`, `obsidian` (a folder of notes), `graphrag` (the tables
        of Microsoft GraphRAG, with its columns only).
    path: the output; by default the name in `FORMATS`. An existing file or folder is overwritten, except for a vault of
        notes that was not exported from an index.
    level: the level of the communities that colour GraphML.

    Raises UsageError for an unknown format or level, for a missing extra, and if the path cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(
            f"there is no format {format!r}{did_you_mean(format, FORMATS)}; there are {', '.join(FORMATS)}"
        )
    default, write = FORMATS[format]
    source, target = opened(index), Path(path if path is not None else default)
    _check_level(source, level)
    options = {"level": level or 0} if format == "graphml" else {}
    with _writing(target) as temporary:
        if Path(default).suffix:
            write(source, temporary, **options)
        else:
            target.mkdir(parents=True, exist_ok=True)  # before any table is read
            write(source, target)
    return target


class MapOptions(TypedDict, total=False):
    """Options of a map.

    level: the level of the communities that colour it, 0 by default.
    title: the title of the page; by default that of the only document, or the number of documents.
    sources: whether the page contains the source texts, True by default.
    """

    level: int
    title: str
    sources: bool


@public
def draw_map(
    index: AnyIndex = DEFAULT_FOLDER, path: str | Path = "map.html", **options: Unpack[MapOptions]
) -> Path:
    """Draw the graph of an index as an interactive page, one file that needs no network, and return the file.

        draw_map(index, "map.html")

    index: an index or its folder.
    path: the output, which must end in .html.

    Raises UsageError for another suffix, an unknown level, and an index without a graph.
    """
    source, target, level = opened(index), Path(path), options.get("level", 0)
    if target.suffix != ".html":
        raise UsageError(
            f"a map is written as .html, not as {target.name!r}; Gephi draws pictures of export(..., 'graphml')"
        )
    _check_level(source, level or None)
    if not len(source.entities):
        raise UsageError("this index has no graph to draw")
    title = options.get("title") or _title(source)
    content = page(source, title=title, level=level, sources=options.get("sources", True))
    with _writing(target) as temporary:
        temporary.write_text(content, "utf-8")
    return target


def _check_level(index: Index, level: int | None) -> None:
    """Raise UsageError if an index has no such level."""
    if level is not None and level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {level}")


def _title(index: Index) -> str:
    """Return the title of a page about an index: that of its only document, or the number of documents."""
    if len(index.documents) == 1:
        return index.documents[0].title
    if index.documents:
        return f"{len(index.documents):,} documents"
    return f"{len(index.entities):,} entities"


@contextmanager
def _writing(path: Path) -> Generator[Path]:
    """Provide a temporary file that replaces an output once complete; raise UsageError if it cannot be written."""
    temporary = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.unlink(missing_ok=True)
            yield temporary
            if temporary.exists():
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; name another path") from None


def _listed_file(folder: Path, name: str) -> Path:
    """Return the path of a file in an output folder, listed there as generated, so that it is not indexed."""
    list_generated(folder, [name])
    return folder / name


# Tables


def write_parquet(index: Index, folder: Path) -> None:
    """Write one Parquet file per table."""
    for name, content in encode(index):
        _listed_file(folder, f"{name}.parquet").write_bytes(content)


def write_graphrag(index: Index, folder: Path) -> None:
    """Write an output folder of Microsoft GraphRAG, with its columns only; documents' metadata go into `raw_data`."""
    for name, table in _arrow_tables(index):
        if name == "documents":
            facts = ({**d.metadata, "path": d.path, "date": d.date} for d in index.documents)
            raw = pa.array([json.dumps(row, ensure_ascii=False) for row in facts], pa.string())
            table = table.set_column(table.schema.get_field_index("raw_data"), "raw_data", raw)
        if name in SCHEMA:
            pq.write_table(table.select(list(SCHEMA[name])), _listed_file(folder, f"{name}.parquet"))


def write_csv(index: Index, folder: Path) -> None:
    """Write one CSV file per table, lists and mappings as JSON."""
    for name, table in _arrow_tables(index):
        for position, column in enumerate(table.schema):
            if pa.types.is_nested(column.type):
                values = table[position].to_pylist()
                texts = [v if v is None else json.dumps(v, ensure_ascii=False) for v in values]
                table = table.set_column(position, column.name, pa.array(texts, pa.string()))
        pyarrow.csv.write_csv(table, str(_listed_file(folder, f"{name}.csv")))


def write_duckdb(index: Index, file: Path) -> None:
    """Write a DuckDB database with a table for each table; raise UsageError if duckdb is not installed."""
    with duckdb.connect(str(file)) as database:
        for name, table in _arrow_tables(index):
            database.from_arrow(table).create(name)


def _arrow_tables(index: Index) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the Arrow table of every table."""
    for name, content in encode(index):
        yield name, pq.read_table(pa.BufferReader(pa.py_buffer(content)))


def write_json(index: Index, file: Path) -> None:
    """Write an index as one JSON object, one row a line: tables as lists of objects, named as in `rows`.

    Spans are lists of document id, start and end.
    """
    head = {"generator": GENERATED, "format": "conspectus", "version": 1, "snapshot": index.snapshot}
    with file.open("w", encoding="utf-8", newline="") as out:
        out.write(json.dumps(head).removesuffix("}"))
        for table in [name for name in TABLES if name != "words"]:
            rows = [_as_dict(row) for row in getattr(index, table)]
            lines = [json.dumps(row, ensure_ascii=False, default=_as_dict) for row in rows]
            out.write(f',\n"{table}": [\n' + ",\n".join(lines) + "]")
        out.write("}\n")


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):  # json writes only mappings that are dicts
        return dict(cast("Mapping[str, Any]", value))
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    return values | {"text": value.text} if isinstance(value, Report) else values


# Graphs


def networkx_graph(index: Index) -> Any:
    """Return the graph of an index as a `networkx.Graph`; raise UsageError if networkx is not installed."""
    graph: Any = networkx.Graph()
    for entity in index.entities:
        graph.add_node(
            entity.name, type=entity.type, description=entity.description, frequency=entity.frequency
        )
    for edge in index.relationships:
        attributes = {"weight": edge.weight, "strength": edge.strength, "description": edge.description}
        graph.add_edge(edge.source, edge.target, **attributes)
    return graph


GRAPHML_RADIUS = 3000
"""Radius of the map in the unit of Gephi's sizes: entities, 3 to 22 wide, are about 50 apart in a graph of 3,700."""
GREY = "9a9a9a"
"""Colour of an entity in no community."""


def write_graphml(index: Index, file: Path, level: int = 0) -> None:
    """Write GraphML for Gephi: the graph with the positions, sizes and colours of the map.

    Nodes are coloured by the communities of `level`. `community_0`, `community_1`, … are the community of a node on
    each level, `theme_0`, … the titles of their reports; a node without a community has -1 and no title.

    Raises UsageError if networkx is not installed.
    """
    graph, layout = networkx_graph(index), layout_of(index)
    tint = colours(index.communities)
    home = [
        {n: c.number for c in index.communities_at(row) for n in c.entity_numbers} for row in index.levels
    ]
    most = max((entity.degree for entity in index.entities), default=1) or 1
    for entity in index.entities:
        x, y = (GRAPHML_RADIUS * layout.points[entity.number]).tolist()
        community = home[level].get(entity.number, -1) if home else -1
        colour = bytes.fromhex(tint[community][1:] if community >= 0 else GREY)
        node = graph.nodes[entity.name]
        node |= {"label": entity.name, "degree": entity.degree, "x": round(x, 2), "y": round(y, 2)}
        node |= dict(zip("rgb", colour, strict=True))
        node["size"] = round(3 + 19 * math.sqrt(entity.degree / most), 2)
        for n, communities in enumerate(home):
            community = communities.get(entity.number, -1)
            node[f"community_{n}"] = community
            node[f"theme_{n}"] = title_of(index, community) if community >= 0 else ""
    for attributes in (*graph.nodes.values(), *graph.edges.values()):
        for name, value in attributes.items():
            if isinstance(value, str):
                attributes[name] = _XML_INVALID.sub(" ", value)
    numbers = {entity.name: f"n{entity.number}" for entity in index.entities}
    networkx.write_graphml(networkx.relabel_nodes(graph, numbers), file)


_KINDS = {int: ":long", float: ":double", str: ""}
"""Suffixes of column names in the header of Neo4j's CSV files, by Python type."""
Rows = list[dict[str, Any]]
"""The nodes of one label, or the edges of one type; all of them have the same properties."""


def write_neo4j(index: Index, folder: Path) -> None:
    """Write a property graph: one CSV file per label and type, and `import.txt` with the command that imports them.

    Edges name their ends by ids that are unique over all labels. Texts may contain newlines, which need
    `--multiline-fields=true`.
    """
    command = ["neo4j-admin database import full neo4j --multiline-fields=true"]
    for option, tables in (("nodes", _nodes(index)), ("relationships", _edges(index))):
        for label, rows in tables.items():
            if not rows:
                continue
            path = _listed_file(folder, f"{label.lower()}.csv")
            command.append(f"--{option}={label}={path.name}")
            header: list[str] = []
            for name, value in rows[0].items():
                header.append(name if name[0] == ":" else name + _KINDS[type(value)])
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(header)
                writer.writerows(map(_cell, row.values()) for row in rows)
    _listed_file(folder, "import.txt").write_text(" \\\n  ".join(command) + "\n", "utf-8")


def _cell(value: Any) -> Any:
    """Return a value for a CSV file; a text that a spreadsheet would take for a formula gets a leading apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value


def _nodes(index: Index) -> dict[str, Rows]:
    """Return documents, chunks, entities, claims and communities with their reports, by label."""

    def node(prefix: str, row: Any, names: str, **more: Any) -> dict[str, Any]:
        properties = {name: getattr(row, name) for name in names.split()}
        return {":ID": f"{prefix}{row.number}", "key": row.id, **properties, **more}

    def community(row: Community) -> dict[str, Any]:
        report = index.report_of_community.get(row.number)
        return node(
            "c",
            row,
            "level size",
            title=report.title if report else f"Community {row.number}",
            summary=report.summary if report else "",
            report=report.text if report else "",
            rating=report.rating if report else 0.0,
        )

    def claim(row: Claim) -> dict[str, Any]:
        dates = {"start": row.start_date or "", "end": row.end_date or ""}
        return node("k", row, "subject object type status description", **dates)

    return {
        "Document": [node("d", d, "title", date=d.date or "") for d in index.documents],
        "Chunk": [node("s", c, "text start end", tokens=c.n_tokens) for c in index.chunks],
        "Entity": [node("e", e, "name type description degree frequency") for e in index.entities],
        "Claim": [claim(c) for c in index.claims],
        "Community": [community(c) for c in index.communities],
    }


def _edges(index: Index) -> dict[str, Rows]:
    """Return the edges by type; an entity is `IN_COMMUNITY` only of its deepest one, which is `PART_OF` its parent."""
    rows: defaultdict[str, Rows] = defaultdict(list)

    def add(type_: str, start: str, end: str, **properties: Any) -> None:
        rows[type_].append({":START_ID": start, ":END_ID": end} | properties)

    entity = index.entity_of_name
    for c in index.chunks:
        add("OF_DOCUMENT", f"s{c.number}", f"d{index.document_of[c.document_id].number}")
    for e in index.entities:
        for chunk in e.chunk_ids:
            add("NAMED_IN", f"e{e.number}", f"s{index.number_of_chunk[chunk]}")
        for community in index.communities_of(e.number)[:1]:
            add("IN_COMMUNITY", f"e{e.number}", f"c{community}")
    for r in index.relationships:
        facts = {"key": r.id, "description": r.description, "weight": r.weight, "strength": r.strength}
        add("RELATED_TO", f"e{entity[r.source]}", f"e{entity[r.target]}", **facts)
    for t in index.triples:
        if t.head in entity and t.tail in entity:
            add("TRIPLE", f"e{entity[t.head]}", f"e{entity[t.tail]}", key=t.id, relation=t.relation)
    for c in index.claims:
        if c.subject in entity:
            add("ABOUT", f"k{c.number}", f"e{entity[c.subject]}")
        for chunk in c.chunk_ids:
            add("STATED_IN", f"k{c.number}", f"s{index.number_of_chunk[chunk]}")
    for c in index.communities:
        if c.parent >= 0:
            add("PART_OF", f"c{c.number}", f"c{c.parent}")
    return rows


FORMATS: Mapping[str, tuple[str, Callable[..., None]]] = {
    "parquet": ("parquet", write_parquet),
    "csv": ("csv", write_csv),
    "duckdb": ("index.duckdb", write_duckdb),
    "graphml": ("graph.graphml", write_graphml),
    "neo4j": ("neo4j", write_neo4j),
    "json": ("index.json", write_json),
    "obsidian": ("vault", write_vault),
    "graphrag": ("output", write_graphrag),
}
"""The formats, each with its default path (a path without a suffix is a folder) and the function that writes it."""
