"""An index as one value: its rows and its arrays, whether just built or opened from a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import conspectus
from conspectus.errors import RowMissing
from conspectus.lazy import lazy_module
from conspectus.rows import (
    AliasDecision,
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Relationship,
    Report,
    Triple,
    Usage,
    column,
    counted,
    plural,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
    import polars as pl

    from conspectus import EntityView
    from conspectus.rows import Answer, Hit
    from conspectus.text import mentions
else:
    np, mentions = lazy_module("numpy"), lazy_module("conspectus.text.mentions")
    pd, pl = lazy_module("pandas", "pandas"), lazy_module("polars", "polars")

Arrays: TypeAlias = "dict[str, np.ndarray[Any, Any]]"
T = TypeVar("T")
K = TypeVar("K")
COUNTED = {
    "documents": "document", "chunks": "chunk", "entities": "entity", "relationships": "relationship",
    "triples": "triple", "claims": "claim", "communities": "community", "reports": "report",
}  # fmt: skip
"""The tables whose sizes the representations of an index show, and the noun for one row of each."""


@dataclass(frozen=True)
class Index:
    """Everything that queries read. Each table is a sequence in which row `i` has `number` i."""

    documents: Sequence[Document] = ()
    chunks: Sequence[Chunk] = ()
    entities: Sequence[Entity] = ()
    relationships: Sequence[Relationship] = ()
    triples: Sequence[Triple] = ()
    claims: Sequence[Claim] = ()
    communities: Sequence[Community] = ()
    reports: Sequence[Report] = ()
    joins: Sequence[AliasDecision] = ()
    failures: Sequence[Failure] = ()
    words: Sequence[str] = ()
    """The vocabulary of the lexical arrays, in the order of their columns."""
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, Any])
    """Numeric arrays that complement the tables, by name: postings, sentence spans, mentions, vectors."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The settings that the index was built with, by stage."""
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    """The usage of language models by the build, by task."""
    origin: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else the index depends on, besides documents and settings: the `corrections` of people, the version of
    `conspectus`, a hash of the `prompts`, the `openie` file with imported triples, the file of `triples` on disk."""
    stored: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For an index that is not stored yet: its files that are already in the folder, by path; see `put_early`."""
    snapshot: str = ""
    """The id of the snapshot, which changes when a table or an array changes; empty for an index that is not stored."""
    folder: Path | None = field(default=None, compare=False)
    """The folder in which the index is stored, or None."""
    _derived: dict[object, Any] = field(
        default_factory=dict[object, Any], init=False, repr=False, compare=False
    )
    """The cache of `derive`."""
    further_reports: dict[int, Report] = field(
        default_factory=dict[int, Report], init=False, repr=False, compare=False
    )
    """Reports that were written for a question, by number; see `retrieval.rollup`."""

    def __repr__(self) -> str:
        """Return the snapshot id and the sizes of the tables on one line, without the contents."""
        counts = ", ".join(counted(count, COUNTED[name]) for name, count in self._counts())
        return f"<Index {self.snapshot or 'not stored'}: {counts or 'empty'}>"

    def _repr_markdown_(self) -> str:
        """Return the sizes of the tables as a Markdown table."""
        head = (
            f"**Index** `{self.folder or 'not stored'}` {self.snapshot}\n\n| table | rows |\n| --- | ---: |"
        )
        return "\n".join([head, *(f"| {name} | {count:,} |" for name, count in self._counts())])

    def _counts(self) -> list[tuple[str, int]]:
        return [(name, count) for name in COUNTED if (count := len(getattr(self, name)))]

    def ask(self, question: str, **how: Any) -> Answer:
        """Answer a question from the index; `how` are keyword arguments of `conspectus.ask`: `method`, `model` etc.
        print(index.ask("What are the main themes?"))
        """
        return conspectus.ask(question, self, **how)

    def search(self, question: str, **how: Any) -> list[Hit]:
        """Return the chunks that rank highest for a question; `how` are keyword arguments of `conspectus.search`."""
        return conspectus.search(question, self, **how)

    def entity(self, name: str, *, most: int = 10) -> EntityView:
        """Return an entity with its `most` strongest relationships; raise NotFound if no entity has the name."""
        return conspectus.entity_view(name, self, most=most)

    def to_networkx(self) -> Any:
        """Return the graph as an undirected `networkx.Graph`: entities by name, relationships as weighted edges.
        Nodes have `type`, `description` and `frequency`; edges have `weight`, `strength` and `description`. Raises
        UsageError if networkx is not installed.
        """
        return conspectus.interchange.networkx_graph(self)

    @property
    def graph_file(self) -> Path | None:
        """The file of a graph that is too large for the tables, or None (see `triple_graph`)."""
        name = self.origin.get("triples")
        return self.folder / name if name and self.folder else None

    @property
    def slices(self) -> Mapping[str, Any]:
        """The arrays, for reading parts by slice or row numbers: only the parts read of a stored array are verified."""
        return getattr(self.arrays, "slices", None) or self.arrays

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the documents, the main language of the corpus first; see `text.language`."""
        language = str(self.settings.get("language", "auto"))
        return ("en",) if language == "auto" else tuple(language.split(","))

    def derive(self, make: Callable[[Index], T]) -> T:
        """Return the result of calling a function or class with the index, cached while the index is open.
        Threads share the cache; a copy of the index with other rows starts with an empty one.
        """
        if make not in self._derived:
            self._derived.setdefault(make, make(self))
        return self._derived[make]

    @cached_property
    def number_of_word(self) -> Numbers:
        """Positions of words in the vocabulary."""
        return Numbers(self, "words")

    @cached_property
    def number_of_document(self) -> Numbers:
        """Row numbers of documents by id."""
        return Numbers(self, "documents", "id")

    @cached_property
    def document_of(self) -> Mapping[str, Document]:
        """Documents by id."""
        return LazyMapping(number := self.number_of_document, lambda id_: self.documents[number[id_]])

    @cached_property
    def number_of_chunk(self) -> Numbers:
        """Row numbers of chunks by id."""
        return Numbers(self, "chunks", "id")

    @cached_property
    def chunk_of(self) -> Mapping[str, Chunk]:
        """Chunks by id."""
        return LazyMapping(number := self.number_of_chunk, lambda id_: self.chunks[number[id_]])

    @cached_property
    def report_of_community(self) -> Mapping[int, Report]:
        """Reports by the number of their community."""
        if (lazy := getattr(self.reports, "by_community", None)) is not None:
            return lazy
        # our own builds write reports in the order of communities: if every community has one, row numbers agree
        number: Mapping[int, int] | range = range(len(self.reports))
        if len(number) != len(self.communities) or "conspectus" not in self.origin:
            communities = column(self.reports, "community")
            number = {community: i for i, community in enumerate(communities)}
        return LazyMapping(number, lambda community: self.reports[number[community]])

    @cached_property
    def levels(self) -> range:
        """The levels of the hierarchy, 0 being the root; empty if there are no communities."""
        return range(1 + max(column(self.communities, "level"), default=-1))

    def numbers_at(self, level: int) -> Iterator[int]:
        """Yield the numbers of the communities at a level, and of those at higher levels that are not split further."""
        children = column(self.communities, "children")
        for number, own in enumerate(column(self.communities, "level")):
            if own == level or (own < level and not children[number]):
                yield number

    def communities_at(self, level: int) -> Iterator[Community]:
        """Yield the communities of `numbers_at`."""
        return (self.communities[number] for number in self.numbers_at(level))

    def reports_at(self, level: int) -> list[Report]:
        """Return the reports of `communities_at`, in the order of communities (GraphRAG §4.1.2: C0 to C3)."""
        reported = self.report_of_community
        return [reported[number] for number in self.numbers_at(level) if number in reported]

    def reports_of(self, communities: Iterable[int]) -> list[Report]:
        """Return the reports of communities, by number; a brief or missing one is replaced by those of its children."""
        reports: list[Report] = []
        for number in communities:
            report = self.report_of_community.get(number)
            if report and not report.brief:
                reports.append(report)
            else:
                reports += self.reports_of(self.communities[number].children)
        return reports

    @cached_property
    def entity_of_name(self) -> Numbers:
        """Row numbers of entities by name."""
        return Numbers(self, "entities", "name")

    def edges_of(self, entity: int) -> Sequence[int]:
        """Return the numbers of an entity's relationships."""
        return self.listed("edge", entity)

    def communities_of(self, entity: int) -> Sequence[int]:
        """Return the numbers of the communities that contain an entity, the deepest first."""
        return self.listed("community", entity)

    def listed(self, name: str, row: int) -> Sequence[int]:
        """Return the list of numbers of one row, for one of the kinds of `LISTED`."""
        starts, values = self.lists(name)
        first, last = starts[row : row + 2].tolist()
        return values[first:last].tolist()

    def lists(self, name: str) -> list[Any]:
        """Return two arrays for one of the kinds of `LISTED`, stored or computed: starts of the lists, and numbers."""
        return self.looked_up(LISTED[name], f"graph.{name}_starts", f"graph.{plural(name)}")

    def looked_up(self, make: Callable[[Index], Arrays], *names: str) -> list[Any]:
        """Return arrays by name, for reading parts of them: the stored ones, or else those that `make` returns."""
        arrays = self.slices if names[0] in self.arrays else self.derive(make)
        return [arrays[name] for name in names]


# Lazy tables and mappings


class Numbers(Mapping[str, int]):
    """The row numbers of a table by id, name or word, looked up by hash."""

    def __init__(self, index: Index, table: str, attribute: str = "") -> None:
        rows = getattr(index, table)
        self._texts = partial(column, rows, attribute) if attribute else lambda: rows
        self._known: dict[str, int] = {}
        hashes, row = f"ids.{table}_hash", f"ids.{table}_row"
        self.arrays = {name: index.arrays[name] for name in (hashes, row) if name in index.arrays}
        if len(self.arrays) < 2:
            hash_of, texts = mentions.hash_of, self._texts()
            codes = np.array([hash_of([text]) for text in texts], np.uint64)
            if attribute:  # not for words: there are many, and few are looked up
                self._known = {text: row for row, text in enumerate(texts)}
            order = np.argsort(codes, kind="stable")
            self.arrays = {hashes: codes[order], row: order.astype(np.int32)}
        self._hashes, self._rows = self.arrays.values()

    def __getitem__(self, text: str) -> int:
        if text not in self._known:
            code = self._hashes.dtype.type(mentions.hash_of([text]))
            at = int(self._hashes.searchsorted(code, "right")) - 1
            if at < 0 or self._hashes[at] != code or self._rows[at] < 0:
                raise RowMissing(text)
            self._known[text] = int(self._rows[at])
        return self._known[text]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    def __len__(self) -> int:
        return len(self._rows)


class Chosen(Sequence[T]):
    """A selection of the rows of a table, by their numbers; each row is created when it is read."""

    def __init__(self, rows: Sequence[T], numbers: Sequence[int]) -> None:
        self._rows, self._numbers = rows, numbers

    def __getitem__(self, at: int | slice) -> Any:
        chosen = self._numbers[at]
        return self._rows[chosen] if isinstance(chosen, int) else Chosen[T](self._rows, chosen)

    def __len__(self) -> int:
        return len(self._numbers)


# Lookup arrays: stored in an index, or computed if it lacks them


def listed_arrays(index: Index, name: str) -> Arrays:
    """Return the arrays of one of the kinds of `LISTED`: where each list begins, and the numbers, list after list."""
    count = len(index.entities)
    match name:
        case "chunk":
            number, count = index.number_of_document, len(index.documents)
            ids = column(index.chunks, "document_id")
            pairs = ((number[id_], row) for row, id_ in enumerate(ids))
        case "community":
            members, level = (column(index.communities, name) for name in ("entity_numbers", "level"))
            deepest = sorted(range(len(level)), key=lambda row: -level[row])
            pairs = ((entity, row) for row in deepest for entity in members[row])
        case "edge":
            number, edges = index.entity_of_name, index.relationships
            ends = zip(column(edges, "source"), column(edges, "target"), strict=True)
            pairs = ((number[end], row) for row, both in enumerate(ends) for end in both)
        case _:
            rows = index.relationships if name == "edge_chunk" else index.entities
            number, count = index.number_of_chunk, len(rows)
            ids = column(rows, "chunk_ids")
            pairs = ((row, number[id_]) for row, own in enumerate(ids) for id_ in own)
    flat = np.fromiter(chain.from_iterable(pairs), np.int32)
    owner, values = flat.reshape(-1, 2).T
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(count + 1)).astype(np.int32)
    return {f"graph.{name}_starts": starts, f"graph.{plural(name)}": values[order]}


def edge_ranks(index: Index) -> Arrays:
    """Return the rank of each relationship by its weight, 0 for the heaviest; equal weights have equal ranks."""
    weights = np.array(column(index.relationships, "weight"), float)
    return {"graph.edge_ranks": np.unique(-weights, return_inverse=True)[1].astype(np.int32)}


def all_speakers(index: Index) -> Arrays:
    """Return the numbers of the entities that are speakers of sentences, ascending; -1 stands for no known speaker."""
    return {"graph.speakers": np.unique(index.arrays["sentences.speaker"])}


KINDS = ("chunk", "community", "edge", "edge_chunk", "entity_chunk")
LISTED = {kind: partial(listed_arrays, name=kind) for kind in KINDS}
"""Functions that compute the lists: the chunks of a document; the communities (deepest first), relationships (edges)
and chunks of an entity; and the chunks of a relationship."""


class BoundedCache(Generic[K, T]):
    """A thread-safe cache of at most `most` values, which drops the least recently used."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, T] = {}  # the least recently used first
        self._lock = Lock()

    def get(self, key: K) -> T | None:
        """Return the value of a key, or None."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def setdefault(self, key: K, value: T) -> T:
        """Return the value of a key; if it has none, store and return the given value."""
        with self._lock:
            self._values[key] = value = self._values.pop(key, value)
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
            return value

    def __len__(self) -> int:
        return len(self._values)


ALONE = 300
"""The overhead of reading a part of a column, in values: 60 us, while a value of a whole column takes 0.2 us."""


class Rows(Sequence[T]):
    """The rows of a lazy table: indexing creates only the rows asked for, iteration creates all."""

    def __init__(
        self, length: Callable[[], int], make: Callable[[int, int], Sequence[T]], stored: Any = None,
        *, alone: int = 10,
    ) -> None:  # fmt: skip
        """`make` returns the rows between two numbers; `stored` is the table of their file, if they have one. `alone`
        is the overhead of making a part, in rows: 40 us, while a row takes 4 us when all are made together.
        """
        self._length = length
        self._make = make
        self._stored = stored
        self._alone = alone
        self._spent = 0
        self._made: dict[int, T] = {}

    def column(self, name: str) -> Sequence[Any]:
        """Return one attribute of all rows; for stored rows it is a lazy sequence that reads only this column."""
        if self._stored is None or "_all" in self.__dict__:
            return [getattr(row, name) for row in self._all]
        return Rows(self._length, partial(self._stored.column, name), alone=ALONE)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table, for example `index.entities`, as a DataFrame with the columns of its file in `tables/`."""
        return pd.DataFrame(self._stored.arrow().to_pandas())

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a Polars DataFrame."""
        return pl.DataFrame(self._stored.arrow())

    @cached_property
    def _all(self) -> Sequence[T]:
        return self._make(0, len(self))

    def _part(self, start: int, stop: int) -> Sequence[T]:
        # once the parts have cost as much as making all rows would, all are made and cached
        self._spent += self._alone + stop - start
        if "_all" in self.__dict__ or self._spent > len(self):
            return self._all[start:stop]
        return self._make(start, stop)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and "_all" in self.__dict__:
            return self._all[at]
        numbers: Any = range(len(self))[at]
        if isinstance(numbers, int):
            row = self._made.get(numbers)
            return row or self._made.setdefault(numbers, self._part(numbers, numbers + 1)[0])
        if not numbers:
            return []
        first, last = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
        return self._part(first, last + 1)[:: numbers.step]

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __len__(self) -> int:
        return self._length()

    def __repr__(self) -> str:
        """Return the number of rows and the first row."""
        first = f": {self[0]!r}, …" if len(self) else ""
        return f"<{len(self):,} rows{first}>"


class LazyMapping(Mapping[K, T]):
    """A mapping whose values are created when they are first read."""

    slices: Mapping[str, Any] | None = None  # the arrays of a stored index, for reading parts

    def __init__(self, keys: Collection[K], make: Callable[[K], T]) -> None:
        self._keys = keys
        self._make = make
        self._made: dict[K, T] = {}

    def __getitem__(self, key: K) -> T:
        if key not in self._made:
            if key not in self._keys:
                raise RowMissing(key)
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
