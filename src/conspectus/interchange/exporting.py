"""Write an index for other tools, and draw its graph.

Tables have the names and columns of the files in `tables/` of an index: those of Microsoft GraphRAG first, then ours.
"""
# pyarrow, duckdb and networkx have no type stubs:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import csv
import json
import re
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
from conspectus.interchange.map import page, picture, scene_of
from conspectus.interchange.obsidian import write_vault
from conspectus.lazy import lazy_module
from conspectus.readers import GENERATED, list_generated
from conspectus.rows import Report
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, public
from conspectus.storage import TABLES, encode

if TYPE_CHECKING:
    import duckdb
    import networkx
    from typing_extensions import Unpack

    from conspectus import Index
    from conspectus.interchange.map import Scene
else:
    duckdb, networkx = lazy_module("duckdb"), lazy_module("networkx")

Format = (
    Literal["parquet", "csv", "duckdb", "graphml", "neo4j", "cypher", "json", "obsidian", "graphrag"] | str
)
PICTURE_WIDTH = 2000
"""Pixels: names stay readable in the picture of a graph of some 300 entities, as that of the podcast sample."""
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
        Gephi; extra `graph`), `neo4j` (a folder of CSV), `cypher`, `json`, `obsidian` (a folder of notes), `graphrag`
        (the tables of Microsoft GraphRAG, with its columns only).
    path: the output; by default the name in `FORMATS`. An existing file or folder is overwritten, except for a vault of
        notes that was not exported from an index.
    level: the level of the communities that colour GraphML.

    Raises UsageError for an unknown format or level, for a missing extra, and if the path cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(
            f"there is no format {format!r}{did_you_mean(format, FORMATS)}; there are {', '.join(FORMATS)}"
        )
    source, target = opened(index), Path(path if path is not None else FORMATS[format])
    _check_level(source, level)
    with _writing(target) as temporary:
        if format in _FOLDERS:
            target.mkdir(parents=True, exist_ok=True)  # before any table is read
            _FOLDERS[format](source, target)
        elif format == "duckdb":
            write_duckdb(source, temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                file.writelines(_TEXTS[format](source, level or 0))
    return target


class MapOptions(TypedDict, total=False):
    """Options of a map.

    level: the level of the communities that colour it, 0 by default.
    seed: random seed of the layout.
    title: of the page; by default that of the only document, or the number of documents.
    width: of a picture, in pixels, 2000 by default.
    sources: whether the page contains the source texts, as by default.
    font: a TrueType font of a picture, for scripts that no font of the system covers.
    """

    level: int
    seed: int
    title: str
    width: int
    sources: bool
    font: str | Path | None


@public
def draw_map(
    index: AnyIndex = DEFAULT_FOLDER, path: str | Path = "map.html", **options: Unpack[MapOptions]
) -> Path:
    """Draw the graph of an index as an interactive page or as a picture, and return the file.

        draw_map(index, "map.html")

    index: an index or its folder.
    path: ends in .html (one file that needs no network), .svg or .png.

    Raises UsageError for another suffix, an unknown level, and an index without a graph.
    """
    source, target, level = opened(index), Path(path), options.get("level", 0)
    if target.suffix not in (".html", ".svg", ".png"):
        raise UsageError(f"a map is written as .html, .svg or .png, and not as {target.name!r}")
    _check_level(source, level or None)
    if not len(source.entities):
        raise UsageError("this index has no graph to draw")
    scene = scene_of(source, options.get("seed", 0))
    if target.suffix == ".html":
        title = options.get("title") or _title(source)
        content = page(scene, title=title, level=level, sources=options.get("sources", True)).encode()
    else:
        font, width = options.get("font"), options.get("width", PICTURE_WIDTH)
        content = picture(scene, level, target.suffix[1:], width, Path(font) if font else None)
    with _writing(target) as temporary:
        temporary.write_bytes(content)
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
    return "1 entity" if len(index.entities) == 1 else f"{len(index.entities):,} entities"


@contextmanager
def _writing(path: Path) -> Generator[Path]:
    """Give a temporary file that replaces an output once it is whole; raise UsageError where it cannot be written."""
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


# Tables


def arrow_tables(index: Index, only: str = "") -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the Arrow table of every table, or of the table `only`."""
    for name, content in encode(index):
        if only in ("", name):
            yield name, pq.read_table(pa.BufferReader(pa.py_buffer(content)))


def write_parquet(index: Index, folder: Path) -> None:
    """Write one Parquet file per table."""
    for name, content in encode(index):
        _listed_file(folder, f"{name}.parquet").write_bytes(content)


def write_graphrag(index: Index, folder: Path) -> None:
    """Write an output folder of Microsoft GraphRAG, with its columns only."""
    for name, table in arrow_tables(index):
        if name in SCHEMA:
            pq.write_table(table.select(list(SCHEMA[name])), _listed_file(folder, f"{name}.parquet"))


def write_csv(index: Index, folder: Path) -> None:
    """Write one CSV file per table, lists and mappings as JSON."""
    for name, table in arrow_tables(index):
        for position, column in enumerate(table.schema):
            if pa.types.is_nested(column.type):
                values = (
                    v if v is None else json.dumps(v, ensure_ascii=False) for v in table[position].to_pylist()
                )
                table = table.set_column(position, column.name, pa.array(list(values), pa.string()))
        pyarrow.csv.write_csv(table, str(_listed_file(folder, f"{name}.csv")))


def _listed_file(folder: Path, name: str) -> Path:
    """Return the path of a file in an output folder, listed there as generated, so that it is not indexed."""
    list_generated(folder, [name])
    return folder / name


def write_duckdb(index: Index, path: Path) -> None:
    """Write a DuckDB database with the tables of the index; raise UsageError if duckdb is not installed."""
    try:
        database = duckdb.connect(str(path))
    except ImportError:
        tables = (index.folder or Path(".conspectus")) / "tables"
        raise UsageError(
            "a DuckDB database needs duckdb: pip install 'conspectus[duckdb]'. Without it, DuckDB reads the files in"
            f" {tables} as they are, as FROM 'entities.parquet' does"
        ) from None
    with database:
        for name, table in arrow_tables(index):
            database.register("arrow_table", table)
            database.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arrow_table')  # noqa: S608  # names of ours
            database.unregister("arrow_table")


def data_frame(index: Index, table: str) -> Any:
    """Return a table as a pandas DataFrame, by our name for it (`chunks`) or the name of its file (`text_units`).

    Raises UsageError for an unknown table, and if pandas is not installed.
    """
    files = {name: schema.file for name, schema in TABLES.items()}
    file = files.get(table, table)
    if file not in files.values():
        raise UsageError(
            f"there is no table {table!r}{did_you_mean(table, files)}; there are {', '.join(files)}"
        )
    _, arrow = next(arrow_tables(index, file))
    try:
        return arrow.to_pandas()
    except ImportError:
        raise UsageError("a DataFrame needs pandas: pip install pandas") from None


def json_parts(index: Index) -> Iterator[str]:
    """Yield an index as one JSON object in parts, one row a line: tables as lists of objects, named as in `rows`.

    Spans are lists of document id, start and end.
    """
    head = {"generator": GENERATED, "format": "conspectus", "version": 1, "snapshot": index.snapshot}
    yield json.dumps(head).removesuffix("}")
    for table in TABLES:
        if table == "words":
            continue
        yield f',\n"{table}": ['
        for position, row in enumerate(getattr(index, table)):
            value = _as_dict(row)
            if isinstance(row, Report):
                value["text"] = row.text
            yield (",\n" if position else "\n") + json.dumps(value, ensure_ascii=False, default=_as_dict)
        yield "]"
    yield "}\n"


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):  # json writes only mappings that are dicts
        return dict(cast("Mapping[str, Any]", value))
    return {field.name: getattr(value, field.name) for field in fields(value)}


# Graphs


def networkx_graph(index: Index) -> Any:
    """Return the graph of an index as a `networkx.Graph`; raise UsageError if networkx is not installed."""
    try:
        graph: Any = networkx.Graph()
    except ImportError:
        raise UsageError(
            "a networkx graph and GraphML need networkx: pip install 'conspectus[graph]'"
        ) from None
    for entity in index.entities:
        graph.add_node(
            entity.name, type=entity.type, description=entity.description, frequency=entity.frequency
        )
    for edge in index.relationships:
        attributes = {"weight": edge.weight, "strength": edge.strength, "description": edge.description}
        graph.add_edge(edge.source, edge.target, **attributes)
    return graph


def graphml(scene: Scene, level: int = 0) -> Iterator[str]:
    """Yield a GraphML file for Gephi line by line: the graph with the positions, sizes and colours of the map.

    Nodes are coloured by the communities of `level`. `community_0`, `community_1`, … are the community of a node on
    each level, `theme_0`, … the titles of their reports; a node without a community has -1 and no title.

    Raises UsageError if networkx is not installed.
    """
    graph = networkx_graph(scene.index)
    for entity in scene.index.entities:
        x, y = scene.positions[entity.number].tolist()
        colour = scene.entity_colour(entity.number, level)
        node = graph.nodes[entity.name]
        node |= {
            "label": entity.name,
            "degree": entity.degree,
            "x": round(x, 2),
            "y": round(-y, 2),
        }  # Gephi's y is up
        node |= dict(zip("rgb", bytes.fromhex(colour[1:]), strict=True))
        node["size"] = round(2 * float(scene.radius[entity.number]), 2)
        for n, home in enumerate(scene.home):
            community = int(home[entity.number])
            node[f"community_{n}"] = community
            node[f"theme_{n}"] = scene.title(community) if community >= 0 else ""
    for attributes in (*graph.nodes.values(), *graph.edges.values()):
        attributes.update({k: _XML_INVALID.sub(" ", v) for k, v in attributes.items() if isinstance(v, str)})
    numbered = networkx.relabel_nodes(graph, {e.name: f"n{e.number}" for e in scene.index.entities})
    yield from (f"{line}\n" for line in networkx.generate_graphml(numbered))


# Neo4j: a property graph

BATCH = 500
"""Rows per Cypher statement: larger statements take the database longer to parse than to run."""
_KINDS = {int: ":long", float: ":double", str: ""}
"""How the header of a CSV file names the type of a column."""
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": ""})
"""The backslash matters most: Cypher reads \\uXXXX everywhere, even outside of strings."""
Rows = dict[str, list[dict[str, Any]]]
"""Rows by the label of a node or the type of an edge; those of one have the same properties."""


def write_neo4j(index: Index, folder: Path) -> None:
    """Write one CSV file per label and type, and `import.txt` with the command that imports them.

    Edges name their ends by ids that are unique over all labels. Texts may contain newlines, which need
    `--multiline-fields=true`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = ["neo4j-admin database import full neo4j --multiline-fields=true"]
    names = ["import.txt"]
    for option, tables in (("nodes", nodes(index)), ("relationships", edges(index))):
        for label, rows in tables.items():
            names.append(f"{label.lower()}.csv")
            command.append(f"--{option}={label}={names[-1]}")
            with (folder / names[-1]).open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                header = rows[0].items()
                writer.writerow(
                    [name if name[0] == ":" else name + _KINDS[type(value)] for name, value in header]
                )
                writer.writerows(row.values() for row in rows)
    (folder / "import.txt").write_text(" \\\n  ".join(command) + "\n", "utf-8")
    list_generated(folder, names)


def cypher(index: Index) -> Iterator[str]:
    """Yield statements, one per line, that add an index to a database; running them again changes nothing."""
    yield "CREATE CONSTRAINT conspectus_id IF NOT EXISTS FOR (n:Conspectus) REQUIRE n.id IS UNIQUE;\n"
    for label, rows in nodes(index).items():
        for batch in _batches(rows, {"id": ":ID"}):
            yield f"UNWIND {batch} AS row MERGE (n:Conspectus {{id: row.id}}) SET n:{label}, n += row.set;\n"
    for type_, rows in edges(index).items():
        key = " {key: row.set.key}" if "key" in rows[0] else ""  # several may join the same two nodes
        for batch in _batches(rows, {"a": ":START_ID", "b": ":END_ID"}):
            yield (
                f"UNWIND {batch} AS row MATCH (a:Conspectus {{id: row.a}}), (b:Conspectus {{id: row.b}}) "
                f"MERGE (a)-[r:{type_}{key}]->(b) SET r += row.set;\n"
            )


def _batches(rows: list[dict[str, Any]], ids: dict[str, str]) -> Iterator[str]:
    for start in range(0, len(rows), BATCH):
        batch: list[str] = []
        for row in rows[start : start + BATCH]:
            properties = {name: value for name, value in row.items() if name[0] != ":"}
            batch.append(literal({name: row[column] for name, column in ids.items()} | {"set": properties}))
        yield f"[{', '.join(batch)}]"


def literal(value: Any) -> str:
    """Return a value as a Cypher literal, with every character of a string escaped that could end it."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"`{key}`: {literal(inner)}" for key, inner in items) + "}"
    return f"'{value.translate(_ESCAPES)}'" if isinstance(value, str) else json.dumps(value)


def nodes(index: Index) -> Rows:
    """Return documents, chunks, entities, claims and communities with their reports, by label."""

    def node(prefix: str, row: Any, names: str, **more: Any) -> dict[str, Any]:
        properties = {name: getattr(row, name) for name in names.split()}
        return {":ID": f"{prefix}{row.number}", "key": row.id, **properties, **more}

    rows: Rows = {
        "Document": [node("d", d, "title", date=d.date or "") for d in index.documents],
        "Chunk": [node("s", c, "text start end", tokens=c.n_tokens) for c in index.chunks],
        "Entity": [node("e", e, "name type description degree frequency") for e in index.entities],
        "Claim": [
            node(
                "k",
                c,
                "subject object type status description",
                start=c.start_date or "",
                end=c.end_date or "",
            )
            for c in index.claims
        ],
        "Community": [],
    }
    for c in index.communities:
        row = node("c", c, "level size", title=f"Community {c.number}", summary="", report="", rating=0.0)
        if report := index.report_of_community.get(c.number):
            row |= {
                "title": report.title,
                "summary": report.summary,
                "report": report.text,
                "rating": report.rating,
            }
        rows["Community"].append(row)
    return {label: of_label for label, of_label in rows.items() if of_label}


def edges(index: Index) -> Rows:
    """Return the edges by type; an entity is `IN_COMMUNITY` of its deepest one only, which is `PART_OF` others."""
    rows: Rows = {}

    def add(type_: str, start: str, end: str, **properties: Any) -> None:
        rows.setdefault(type_, []).append({":START_ID": start, ":END_ID": end} | properties)

    entity = index.entity_of_name
    for c in index.chunks:
        add("OF_DOCUMENT", f"s{c.number}", f"d{index.document_of[c.document_id].number}")
    for e in index.entities:
        for chunk in e.chunk_ids:
            add("NAMED_IN", f"e{e.number}", f"s{index.chunk_of[chunk].number}")
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
            add("STATED_IN", f"k{c.number}", f"s{index.chunk_of[chunk].number}")
    for c in index.communities:
        if c.parent >= 0:
            add("PART_OF", f"c{c.number}", f"c{c.parent}")
    return rows


FORMATS: Mapping[str, str] = {
    "parquet": "parquet",
    "csv": "csv",
    "duckdb": "index.duckdb",
    "graphml": "graph.graphml",
    "neo4j": "neo4j",
    "cypher": "graph.cypher",
    "json": "index.json",
    "obsidian": "vault",
    "graphrag": "output",
}
"""The formats, each with its default path; those without a suffix are a folder of files."""
_FOLDERS: Mapping[str, Callable[[Index, Path], object]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "neo4j": write_neo4j,
    "obsidian": write_vault,
    "graphrag": write_graphrag,
}
_TEXTS: Mapping[str, Callable[[Index, int], Iterator[str]]] = {
    "graphml": lambda index, level: graphml(scene_of(index), level),
    "cypher": lambda index, _: cypher(index),
    "json": lambda index, _: json_parts(index),
}
