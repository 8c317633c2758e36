"""The graph of an index as triples over numbered names, for the methods that reason over a graph.

A graph of millions of triples is not in the tables but in an SQLite file beside them, which the origin of an index
names. A search reads only those parts of it that it passes.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import numpy as np

from conspectus.algorithms.ranking import Ints
from conspectus.errors import IndexDamaged
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.text.words import name_key


@dataclass(frozen=True)
class Step:
    """One edge as it is followed; `inverse` if it leads from the tail of its triple to the head."""

    triple: int
    relation: int
    inverse: bool
    to: int


@dataclass(frozen=True)
class TripleGraph:
    """Triple `i` leads from name `heads[i]` by relation `kinds[i]` to name `tails[i]`."""

    names: tuple[str, ...]
    relations: tuple[str, ...]
    heads: Ints
    kinds: Ints
    tails: Ints
    chunks: tuple[tuple[int, ...], ...]
    """The numbers of the chunks that state each triple."""

    @classmethod
    def of(cls, index: Index) -> TripleGraph:
        """Return the triples of an index, or its relationships if it has none; created once for each open index."""
        return index.derive(StoredTripleGraph.of_file if index.graph_file else cls._made)

    @classmethod
    def _made(cls, index: Index) -> TripleGraph:
        if len(index.triples):
            statements = [(t.head, t.relation, t.tail, t.chunk_ids) for t in index.triples]
        else:
            statements = [(r.source, r.description, r.target, r.chunk_ids) for r in index.relationships]
        names: dict[str, int] = {}
        relations: dict[str, int] = {}
        rows = np.zeros((len(statements), 3), np.int64)
        number_of_chunk = {chunk.id: chunk.number for chunk in index.chunks}
        chunks: list[tuple[int, ...]] = []
        for i, (head, relation, tail, chunk_ids) in enumerate(statements):
            rows[i] = (
                names.setdefault(head, len(names)),
                relations.setdefault(relation, len(relations)),
                names.setdefault(tail, len(names)),
            )
            chunks.append(tuple(number_of_chunk[c] for c in chunk_ids if c in number_of_chunk))
        return cls(tuple(names), tuple(relations), rows[:, 0], rows[:, 1], rows[:, 2], tuple(chunks))

    def __len__(self) -> int:
        return len(self.heads)

    @cached_property
    def given(self) -> bool:
        """Whether no text states any of its triples: texts, if linked to anything, are linked to its names."""
        return not any(self.chunks)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def numbers_of_key(self) -> dict[str, list[int]]:
        """The numbers of names by key: names that only differ in case, accents, marks or a leading article share it."""
        keys: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            keys.setdefault(name_key(name), []).append(i)
        return keys

    @cached_property
    def longest_key(self) -> int:
        """Number of words of the longest name, at most 12."""
        return min(12, max((key.count(" ") + 1 for key in self.numbers_of_key), default=0))

    @cached_property
    def _around(self) -> tuple[Ints, Ints]:
        """Where the edges of each name start in the second array: triples, negated (`~`) where the name is the tail."""
        n = len(self.heads)
        ends = np.concatenate((self.heads, self.tails))
        edges = np.concatenate((np.arange(n), ~np.arange(n)))
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(len(self.names) + 1))
        return starts, edges[order]

    def degree(self, name: int) -> int:
        """Return how many triples a name has."""
        starts, _ = self._around
        return int(starts[name + 1] - starts[name])

    def steps(self, name: int) -> Iterator[Step]:
        """Yield the edges of a name, those that lead from it first, in the order of the table."""
        starts, edges = self._around
        for edge in edges[starts[name] : starts[name + 1]].tolist():
            triple, inverse = (~edge, True) if edge < 0 else (edge, False)
            to = self.heads[triple] if inverse else self.tails[triple]
            yield Step(triple, int(self.kinds[triple]), inverse, int(to))

    @cached_property
    def ways(self) -> Ways:
        """How the relations of the graph follow each other."""
        return Ways(self)


class Ways:
    """Ways to leave a name: way `2 r` along relation `r`, way `2 r + 1` against it.

    Way `a` leads to a name that can be left by way `a ^ 1`.
    """

    def __init__(self, graph: TripleGraph) -> None:
        from scipy import sparse

        self.size = 2 * len(graph.relations)
        rows = np.concatenate((graph.heads, graph.tails))
        columns = np.concatenate((2 * graph.kinds, 2 * graph.kinds + 1))
        ones = np.ones(len(rows), np.int32)
        self._of_name = sparse.csr_array((ones, (rows, columns)), shape=(len(graph.names), self.size))
        self._of_name.data[:] = 1
        self._of_way = self._of_name.tocsc()
        self._follow: dict[int, dict[int, float]] = {}

    def of(self, name: int) -> list[int]:
        """Return the ways by which a name can be left."""
        starts = self._of_name.indptr
        return np.sort(self._of_name.indices[starts[name] : starts[name + 1]]).tolist()

    def names(self, way: int) -> Ints:
        """Return the names that can be left by a way: those that its opposite leads to."""
        starts = self._of_way.indptr
        return self._of_way.indices[starts[way] : starts[way + 1]]

    def follow(self, way: int) -> dict[int, float]:
        """Return the ways that can follow a way, each with the share of the names reached that have it."""
        if way not in self._follow:
            arrived = self.names(way ^ 1)
            counts = np.asarray(self._of_name[arrived].sum(axis=0)).ravel()
            ways = np.flatnonzero(counts)
            shares = counts[ways] / max(len(arrived), 1)
            self._follow[way] = dict(zip(ways.tolist(), shares.tolist(), strict=True))
        return self._follow[way]


# Graphs on disk

MOST_STEPS = 300
"""Most steps from a name along one relation on disk: a country has millions of citizens. As many as are sampled to
infer the type that a relation leads to (`relation_paths.SAMPLE`)."""
BATCH = 200_000
"""Triples that are written at once: 100 MB of Python objects."""
CACHE = 100_000
"""Kilobytes of the file that SQLite caches in memory during writing; beyond that, it sorts on disk."""
OWN = 1 << 62
"""Added to the numbers of names that are derived from their spelling; lower ones come with a graph (Wikidata's Q42)."""
TABLES = f"""
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -{CACHE};
CREATE TABLE relations (number INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE triples (number INTEGER PRIMARY KEY, head INTEGER, relation INTEGER, tail INTEGER);
CREATE TABLE spellings (number INTEGER, name TEXT);
CREATE TABLE names (number INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL);
"""
FINISH = """
CREATE INDEX by_head ON triples (head, relation);
CREATE INDEX by_tail ON triples (tail, relation);
CREATE INDEX by_relation ON triples (relation);
INSERT INTO names SELECT number, min(name), name_key(min(name)) FROM spellings GROUP BY number;
DROP TABLE spellings;
INSERT OR IGNORE INTO names SELECT DISTINCT head, 'Q' || head, lower('Q' || head) FROM triples;
INSERT OR IGNORE INTO names SELECT DISTINCT tail, 'Q' || tail, lower('Q' || tail) FROM triples;
CREATE INDEX by_name ON names (name);
CREATE TABLE shared AS SELECT name FROM names GROUP BY name HAVING count(*) > 1;
UPDATE names SET name = name || ' (Q' || number || ')'
    WHERE number < 4611686018427387904 AND name IN (SELECT name FROM shared);
DROP TABLE shared;
CREATE INDEX by_key ON names (key);
"""
"""Run when all triples are written. Things with the same name are distinguished by their numbers."""
SCHEMA = sorted(
    sql.strip()
    for sql in f"{TABLES}{FINISH}".split(";")
    if "CREATE" in sql and not re.search("spellings|shared", sql)
)
"""The declarations of the tables and indexes of a finished file."""


class _Graph:
    """The file of a graph, which may come from somebody else: it is read only if its tables are those we create."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():  # SQLite would wait for a pipe for ever
            raise self.damaged("it is not a regular file")
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            # Nothing writes to the file: threads may share the connection.
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise self.damaged(error) from None
        made = [sql for (sql,) in self.rows(str, "SELECT sql FROM sqlite_master")]
        if sorted(made) != SCHEMA:  # a view or a trigger would run what somebody else wrote
            raise self.damaged("it has other tables")

    def damaged(self, error: object) -> IndexDamaged:
        """Return the error that says what is wrong with the file."""
        return IndexDamaged(
            f"{self._path}, the graph of the index, cannot be read ({error}); import it again"
        )

    def rows(self, kind: type[Any], query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; raise IndexDamaged if the file is damaged, or a value is not of type `kind`."""
        try:
            rows = self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise self.damaged(error) from None
        if not all(isinstance(value, kind) for row in rows for value in row):
            raise self.damaged(f"a value is no {kind.__name__}")
        return rows


class _Column(Sequence[Any]):
    """A column of a table on disk, by the numbers of the rows."""

    def __init__(self, graph: _Graph, table: str, column: str) -> None:
        self._graph = graph
        self._kind = str if column == "name" else int
        self._query = f"SELECT {column} FROM {table} WHERE number = ?"
        self._size = f"SELECT ifnull(max(rowid), 0) FROM {table}"

    def __getitem__(self, number: Any) -> Any:
        rows = self._graph.rows(self._kind, self._query, int(number))
        if not rows:
            raise self._graph.damaged(f"it has nothing of the number {number}")
        return rows[0][0]

    def __len__(self) -> int:
        return self._graph.rows(int, self._size)[0][0]


class _Numbers(Mapping[str, Any]):
    """The numbers of names on disk, by name or by key; all names of a key, but the first of a name."""

    def __init__(self, graph: _Graph, column: str) -> None:
        self._graph = graph
        self._column = column

    def __getitem__(self, text: str) -> Any:
        query = f"SELECT number FROM names WHERE {self._column} = ? LIMIT {MOST_STEPS}"
        numbers = [number for (number,) in self._graph.rows(int, query, text)]
        if not numbers:
            raise KeyError(text)
        return numbers if self._column == "key" else numbers[0]

    def __iter__(self) -> Iterator[str]:
        return (text for (text,) in self._graph.rows(str, f"SELECT {self._column} FROM names"))

    def __len__(self) -> int:
        return self._graph.rows(int, "SELECT count(*) FROM names")[0][0]


class _NoChunks(Sequence[Any]):
    """The chunks of each triple of a given graph: none."""

    def __getitem__(self, number: Any) -> Any:
        return ()

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True)
class StoredTripleGraph(TripleGraph):
    """A graph in a file; the numbers of names are those in the file."""

    graph: _Graph

    @classmethod
    def of_file(cls, index: Index) -> StoredTripleGraph:
        """Open the file of an index."""
        return cls.of_path(cast("Path", index.graph_file))

    @classmethod
    def of_path(cls, path: Path) -> StoredTripleGraph:
        """Open a file; raise IndexDamaged if it is missing or contains no graph."""
        graph = _Graph(path)
        rows = graph.rows(str, "SELECT label FROM relations ORDER BY number")
        columns = [_Column(graph, "triples", part) for part in ("head", "relation", "tail")]
        heads, kinds, tails = cast("list[Any]", columns)
        names: Any = _Column(graph, "names", "name")
        return cls(names, tuple(row[0] for row in rows), heads, kinds, tails, cast("Any", _NoChunks()), graph)

    @cached_property
    def given(self) -> bool:
        return True

    @cached_property
    def number_of(self) -> Any:
        return _Numbers(self.graph, "name")

    @cached_property
    def numbers_of_key(self) -> Any:
        return _Numbers(self.graph, "key")

    @cached_property
    def longest_key(self) -> int:
        return 12

    def degree(self, name: int) -> int:
        """Return how many triples a name has, of those that `steps` yields."""
        return sum(1 for _ in self.steps(name))

    def ways_of(self, name: int) -> Iterator[int]:
        """Yield the ways by which a name can be left, with one lookup in the SQL index for each."""
        for inverse, end in enumerate(("head", "tail")):
            within = f"{end} = ? AND relation > ? AND relation < ?"
            query = f"SELECT relation FROM triples WHERE {within} ORDER BY relation LIMIT 1"
            relation = -1
            while rows := self.graph.rows(int, query, int(name), relation, len(self.relations)):
                relation = rows[0][0]
                yield 2 * relation + inverse

    def steps(self, name: int) -> Iterator[Step]:
        """Yield the first `MOST_STEPS` edges of a name by each relation, those that lead from it first."""
        for way in self.ways_of(name):
            here, there = ("tail", "head") if way % 2 else ("head", "tail")
            query = (
                f"SELECT number, {there} FROM triples WHERE {here} = ? AND relation = ? LIMIT {MOST_STEPS}"
            )
            for number, to in self.graph.rows(int, query, int(name), way // 2):
                yield Step(number, way // 2, bool(way % 2), to)

    @cached_property
    def ways(self) -> StoredWays:
        """How the relations of the graph follow each other, estimated from samples."""
        return StoredWays(self)


class StoredWays(Ways):
    """Ways to leave a name of a graph on disk; a relation is represented by the first of its triples."""

    def __init__(self, graph: StoredTripleGraph) -> None:
        self.size = 2 * len(graph.relations)
        self._graph = graph
        self._follow: dict[int, dict[int, float]] = {}

    def of(self, name: int) -> list[int]:
        return sorted(self._graph.ways_of(name))

    def names(self, way: int) -> Ints:
        column = "tail" if way % 2 else "head"
        query = f"SELECT {column} FROM triples WHERE relation = ? LIMIT {MOST_STEPS}"
        numbers = [number for (number,) in self._graph.graph.rows(int, query, way // 2)]
        return np.unique(np.array(numbers, np.int64))

    def follow(self, way: int) -> dict[int, float]:
        if way not in self._follow:
            arrived = self.names(way ^ 1).tolist()
            counts = Counter(onward for name in arrived for onward in self._graph.ways_of(name))
            self._follow[way] = {onward: count / len(arrived) for onward, count in sorted(counts.items())}
        return self._follow[way]


class TripleWriter:
    """Writes a graph of any size to a file, in bounded memory; the file can be read after `finish`."""

    def __init__(self, path: Path, tick: Tick = no_tick) -> None:
        """Begin a file, replacing an existing one. `tick` is called for each triple that is written."""
        self._tick = tick
        path.unlink(missing_ok=True)
        self._connection = sqlite3.connect(path)
        self._connection.create_function("name_key", 1, name_key.__wrapped__, deterministic=True)
        self._connection.executescript(TABLES)
        self._triples: list[tuple[int, int, int]] = []
        self._spellings: dict[int, str] = {}
        self._relations: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self.written = 0

    def number(self, name: str) -> int:
        """Return the number of a name that has none from elsewhere, derived from its spelling."""
        number = OWN + (int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 2)
        self._spellings[number] = name
        return number

    def add(self, head: int, relation: str, tail: int) -> None:
        """Write a triple."""
        self._triples.append((head, self._relations.setdefault(relation, len(self._relations)), tail))
        if len(self._triples) >= BATCH:
            self._flush()

    def spell(self, number: int, name: str) -> None:
        """Write the name of a number."""
        self._spellings[number] = name
        if len(self._spellings) >= BATCH:
            self._flush()

    def label(self, relation: str, label: str) -> None:
        """Set the label of a relation, before or after it is used."""
        self._labels[relation] = label

    def _flush(self) -> None:
        for _ in self._triples:
            self._tick()
        self.written += len(self._triples)
        self._connection.executemany(
            "INSERT INTO triples (head, relation, tail) VALUES (?, ?, ?)", self._triples
        )
        self._connection.executemany("INSERT INTO spellings VALUES (?, ?)", self._spellings.items())
        self._triples.clear()
        self._spellings.clear()

    def finish(self) -> int:
        """Write the remaining triples and the indexes, close the file, and return the number of triples."""
        with closing(self._connection) as connection:
            self._flush()
            labels = ((number, self._labels.get(key, key)) for key, number in self._relations.items())
            connection.executemany("INSERT INTO relations VALUES (?, ?)", labels)
            connection.executescript(FINISH)
            connection.commit()
        return self.written
