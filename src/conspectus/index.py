"""An index as one value: its rows and its arrays, whether just made or read from a folder."""

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
"""The tables whose sizes an index shows, and what one row of each is called."""


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
    """Numbers that go with the tables, by name: postings, sentence spans, mentions, vectors."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it was built with, by stage."""
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    """What the build took of language models, by task."""
    origin: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it depends on beside documents and settings: the `corrections` of people, the version of `conspectus` and a
    hash of its `prompts`, the file of `openie` whose triples it was given, and the file of its `triples` on disk."""
    stored: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of an index that is not stored yet, the files of it that are in its folder, by their paths: see `put_early`."""
    snapshot: str = ""
    """The id of the snapshot; it changes when a table does. Empty for an index that is not stored."""
    folder: Path | None = field(default=None, compare=False)
    """Where it is stored, if it is."""
    _derived: dict[object, Any] = field(
        default_factory=dict[object, Any], init=False, repr=False, compare=False
    )
    """See `derive`."""
    further_reports: dict[int, Report] = field(
        default_factory=dict[int, Report], init=False, repr=False, compare=False
    )
    """Reports that were written for a question, by number; see `retrieval.rollup`."""

    def __repr__(self) -> str:
        """Return what it holds on one line, and not the corpus."""
        counts = ", ".join(counted(count, COUNTED[name]) for name, count in self._counts())
        return f"<Index {self.snapshot or 'not stored'}: {counts or 'empty'}>"

    def _repr_markdown_(self) -> str:
        """Return what it holds as a table in Markdown."""
        head = (
            f"**Index** `{self.folder or 'not stored'}` {self.snapshot}\n\n| table | rows |\n| --- | ---: |"
        )
        return "\n".join([head, *(f"| {name} | {count:,} |" for name, count in self._counts())])

    def _counts(self) -> list[tuple[str, int]]:
        return [(name, count) for name in COUNTED if (count := len(getattr(self, name)))]

    def ask(self, question: str, **how: Any) -> Answer:
        """Answer a question from the index; `how` is what `conspectus.ask` takes: `method`, `model`, `where` and so on.
        print(index.ask("What are the main themes?"))
        """
        return conspectus.ask(question, self, **how)

    def search(self, question: str, **how: Any) -> list[Hit]:
        """Return the chunks that rank highest for a question; `how` is what `conspectus.search` takes."""
        return conspectus.search(question, self, **how)

    def entity(self, name: str, *, most: int = 10) -> EntityView:
        """Return what the graph knows of an entity, with its `most` strongest relationships; raise NotFound."""
        return conspectus.entity_view(name, self, most=most)

    def to_networkx(self) -> Any:
        """Return the graph as an undirected `networkx.Graph`: entities by name, relationships as weighted edges.
        Nodes have `type`, `description` and `frequency`, edges `weight`, `strength` and `description`. Raises
        UsageError where networkx is not installed.
        """
        return conspectus.interchange.networkx_graph(self)

    @property
    def graph_file(self) -> Path | None:
        """The file of a graph that is too large for the tables, if it has one (see `triple_graph`)."""
        name = self.origin.get("triples")
        return self.folder / name if name and self.folder else None

    @property
    def slices(self) -> Mapping[str, Any]:
        """The arrays, to be read in parts, by slices or numbers of rows: of a stored one nothing else is compared."""
        return getattr(self.arrays, "slices", None) or self.arrays

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that its documents are in, that of the corpus first; see `text.language`."""
        language = str(self.settings.get("language", "auto"))
        return ("en",) if language == "auto" else tuple(language.split(","))

    def derive(self, make: Callable[[Index], T]) -> T:
        """Return what a function or class makes of the index; it is made once, and cached while the index is open.
        Threads share it; a copy with other rows starts without.
        """
        if make not in self._derived:
            self._derived.setdefault(make, make(self))
        return self._derived[make]

    @cached_property
    def number_of_word(self) -> Numbers:
        """Places of the words of the vocabulary."""
        return Numbers(self, "words")

    @cached_property
    def number_of_document(self) -> Numbers:
        """Numbers of documents by id."""
        return Numbers(self, "documents", "id")

    @cached_property
    def document_of(self) -> Mapping[str, Document]:
        """Documents by id."""
        return LazyMapping(number := self.number_of_document, lambda id_: self.documents[number[id_]])

    @cached_property
    def number_of_chunk(self) -> Numbers:
        """Numbers of chunks by id."""
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
        # we wrote them in this order, where each has one
        number: Mapping[int, int] | range = range(len(self.reports))
        if len(number) != len(self.communities) or "conspectus" not in self.origin:
            communities = column(self.reports, "community")
            number = {community: i for i, community in enumerate(communities)}
        return LazyMapping(number, lambda community: self.reports[number[community]])

    @cached_property
    def levels(self) -> range:
        """The levels of the hierarchy, 0 the root; empty where there are no communities."""
        return range(1 + max(column(self.communities, "level"), default=-1))

    def numbers_at(self, level: int) -> Iterator[int]:
        """Yield the partition of a level, by numbers: its communities and those above that are not split further."""
        children = column(self.communities, "children")
        for number, own in enumerate(column(self.communities, "level")):
            if own == level or (own < level and not children[number]):
                yield number

    def communities_at(self, level: int) -> Iterator[Community]:
        """Yield the communities of `numbers_at`."""
        return (self.communities[number] for number in self.numbers_at(level))

    def reports_at(self, level: int) -> list[Report]:
        """Return the reports in the view of a level, in the order of communities (GraphRAG §4.1.2: C0 to C3)."""
        reported = self.report_of_community
        return [reported[number] for number in self.numbers_at(level) if number in reported]

    def reports_of(self, communities: Iterable[int]) -> list[Report]:
        """Return the reports of communities, by their numbers; in the place of a brief one those of its parts."""
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
        """Numbers of entities by name."""
        return Numbers(self, "entities", "name")

    def edges_of(self, entity: int) -> Sequence[int]:
        """Return the numbers of an entity's relationships."""
        return self.listed("edge", entity)

    def communities_of(self, entity: int) -> Sequence[int]:
        """Return the numbers of the communities that hold an entity, the deepest first."""
        return self.listed("community", entity)

    def listed(self, name: str, row: int) -> Sequence[int]:
        """Return the numbers that a row has of one of `LISTED`."""
        starts, values = self.lists(name)
        first, last = starts[row : row + 2].tolist()
        return values[first:last].tolist()

    def lists(self, name: str) -> list[Any]:
        """Return where the lists of one of `LISTED` begin, and their numbers: stored ones, or made now."""
        return self.looked_up(LISTED[name], f"graph.{name}_starts", f"graph.{plural(name)}")

    def looked_up(self, make: Callable[[Index], Arrays], *names: str) -> list[Any]:
        """Return some arrays, of which parts are read: stored ones, or made now."""
        arrays = self.slices if names[0] in self.arrays else self.derive(make)
        return [arrays[name] for name in names]


# Tables and mappings that are made when they are read


class Numbers(Mapping[str, int]):
    """Numbers of the rows of a table by what names them: an id, a name, a word. Each is looked up by its hash."""

    def __init__(self, index: Index, table: str, attribute: str = "") -> None:
        rows = getattr(index, table)
        self._texts = partial(column, rows, attribute) if attribute else lambda: rows
        self._known: dict[str, int] = {}
        hashes, row = f"ids.{table}_hash", f"ids.{table}_row"
        self.arrays = {name: index.arrays[name] for name in (hashes, row) if name in index.arrays}
        if len(self.arrays) < 2:
            hash_of, texts = mentions.hash_of, self._texts()
            codes = np.array([hash_of([text]) for text in texts], np.uint64)
            if attribute:  # words are many, and few are looked up
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
    """Rows of a table by their numbers, each made when it is read."""

    def __init__(self, rows: Sequence[T], numbers: Sequence[int]) -> None:
        self._rows, self._numbers = rows, numbers

    def __getitem__(self, at: int | slice) -> Any:
        chosen = self._numbers[at]
        return self._rows[chosen] if isinstance(chosen, int) else Chosen[T](self._rows, chosen)

    def __len__(self) -> int:
        return len(self._numbers)


# What is looked up: arrays that an index has, or that are made where it lacks them


def listed_arrays(index: Index, name: str) -> Arrays:
    """Return the arrays of one of `LISTED`: the numbers, list after list, and where each begins."""
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
    """Return the entities who say a sentence, ascending; -1 before them where a sentence has no known speaker."""
    return {"graph.speakers": np.unique(index.arrays["sentences.speaker"])}


KINDS = ("chunk", "community", "edge", "edge_chunk", "entity_chunk")
LISTED = {kind: partial(listed_arrays, name=kind) for kind in KINDS}
"""What is listed: the chunks of a document; of an entity the communities, the deepest first, the relationships (edges)
and the chunks; and the chunks of a relationship."""


class BoundedCache(Generic[K, T]):
    """Values by key, of which the least recently used go; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, T] = {}  # the least recently used first
        self._lock = Lock()

    def get(self, key: K) -> T | None:
        """Return the value of a key, None where it is not there."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def setdefault(self, key: K, value: T) -> T:
        """Return the value of a key; where it has none, that is the one given."""
        with self._lock:
            self._values[key] = value = self._values.pop(key, value)
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
            return value

    def __len__(self) -> int:
        return len(self._values)


ALONE = 300
"""What reading a part of a column costs beside its values, in values read together with all others (60 and 0.2 us)."""


class Rows(Sequence[T]):
    """The rows of a table, made when they are read: a row or a slice alone, all by iteration."""

    def __init__(
        self, length: Callable[[], int], make: Callable[[int, int], Sequence[T]], stored: Any = None,
        *, alone: int = 10,
    ) -> None:  # fmt: skip
        """`make` returns the rows from a number to another one, `stored` is the table of the file that they are in.
        `alone` is what making a part costs beside its rows, in rows made together with all others (40 and 4 us).
        """
        self._length = length
        self._make = make
        self._stored = stored
        self._alone = alone
        self._spent = 0
        self._made: dict[int, T] = {}

    def column(self, name: str) -> Sequence[Any]:
        """Return one attribute of all rows; where they are in a file, it is read alone, and as soon as it is needed."""
        if self._stored is None or "_all" in self.__dict__:
            return [getattr(row, name) for row in self._all]
        return Rows(self._length, partial(self._stored.column, name), alone=ALONE)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table, as `index.entities`, as a DataFrame with the columns of its file in `tables/`."""
        return pd.DataFrame(self._stored.arrow().to_pandas())

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a DataFrame of Polars."""
        return pl.DataFrame(self._stored.arrow())

    @cached_property
    def _all(self) -> Sequence[T]:
        return self._make(0, len(self))

    def _part(self, start: int, stop: int) -> Sequence[T]:
        # once the parts have cost as much as all rows do, all are made, and cached
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
        """Return how many rows there are, and the first."""
        first = f": {self[0]!r}, …" if len(self) else ""
        return f"<{len(self):,} rows{first}>"


class LazyMapping(Mapping[K, T]):
    """Values by key, each made when it is first read."""

    slices: Mapping[str, Any] | None = None  # what reads parts of stored arrays

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
