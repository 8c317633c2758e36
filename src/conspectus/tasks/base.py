"""The base of the language tasks, whose types name their replies, and the rows that tasks carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args, get_origin

from conspectus.references import Reference, strip
from conspectus.rows import Chunk, Claim, Entity, Relationship, Report

R = TypeVar("R")

TASKS: dict[str, type[Task[Any]]] = {}
"""Every type of task by its name."""
OTHER_CALLS = {"Embed": "compute embeddings", "Probe": "test the server", "Rerank": "rerank"}
"""Labels shown to users for calls of models that perform no task."""


@dataclass(frozen=True, kw_only=True)
class Task(Generic[R]):
    """A task for a model; `R` is the type of its reply.

    A new task is a frozen dataclass derived from this one, with a prompt of the same name: its fields fill the prompt
    (`models.llm.prompts`), the type of its reply determines how the reply is parsed (`models.llm.replies`), and
    `@performs` registers the function that performs it without a language model (`models.base`).
    """

    label: ClassVar[str] = ""
    """Label of the task shown to users, if the words of its name do not suffice."""
    counted_as: ClassVar[str] = ""
    """Another task under which calls are counted, priced and configured, if this one asks for many of those at once."""
    size_setting: ClassVar[str] = "context_tokens"
    """The setting that determines the length of the task's requests, for errors about requests that are too long."""
    about: ClassVar[tuple[str, ...]] = ()
    """The fields that a reply must share a word with; none if it may be about anything."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        TASKS[cls.__name__] = cls

    language: str = "en"
    """The language to write in, as a two-letter code."""
    sample: int = 0
    """The number of a sampled reply, from 1; 0 for the likeliest reply."""
    priority: float = field(default=0.0, compare=False)
    """Priority among waiting calls; the highest goes first."""

    def subjects(self) -> Iterable[str]:
        """Yield the texts that a reply must share a word with, which is checked before the reply is used."""
        return strings_in([getattr(self, name) for name in self.about])

    def texts(self, reply: R) -> Iterable[str]:
        """Yield the texts of a reply, none of which may be a greeting or a piece of the prompt."""
        return strings_in(reply)


@dataclass(frozen=True)
class Turn:
    """A task and its reply, as the conversation that a later task continues."""

    task: Task[Any]
    reply: Any


@dataclass(frozen=True, slots=True)
class Numbered:
    """A text made from the item that the prompt shows under a number, from 1."""

    number: int
    text: str


def strings_in(value: Any) -> Iterator[str]:
    """Yield the non-empty texts in a reply or in a field of a task; for a row with a `text`, only that."""
    if isinstance(text := getattr(value, "text", value), str):
        yield from [text] if text.strip() else []
    elif is_dataclass(value):
        yield from strings_in([getattr(value, part.name) for part in fields(value)])
    elif isinstance(value, Iterable):
        for part in cast("Iterable[Any]", value):
            yield from strings_in(part)


def task_label(name: str) -> str:
    """Return the label shown to users for the name of a task or call: `extract claims` for `ExtractClaims`."""
    label = TASKS[name].label if name in TASKS else OTHER_CALLS.get(name)
    return label or re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def first_task(task: Task[Any]) -> Task[Any]:
    """Return the task that the conversation of a task began with."""
    while isinstance(after := getattr(task, "after", None), Turn):
        task = after.task
    return task


def about(task: Task[Any]) -> str:
    """Return a text that identifies a task by its subject: `ExtractGraph of chunk 7 (id…)`."""
    name, first = type(task).__name__, first_task(task)
    if chunk := getattr(first, "chunk", None):
        return f"{name} of chunk {chunk.number} ({chunk.id})"
    for detail in ("name", "question"):
        if value := getattr(first, detail, None):
            return f"{name} of {value!r}"
    if (context := getattr(first, "context", None)) and context.entities:
        return f"{name} of the community of {', '.join(e.name for e in context.entities[:3])}"
    return name


def reply_type(kind: type[Task[Any]]) -> Any:
    """Return the type of the reply to a type of task: `bool` for `class Entails(Task[bool])`."""
    for base in kind.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            if get_origin(generic) is Task:
                return get_args(generic)[0]
    return None


Row = Entity | Relationship | Claim | Report | Chunk

HEADINGS = {
    "reports": "id,report",
    "entities": "id,entity,description",
    "relationships": "id,source,target,description",
    "claims": "id,subject,object,type,status,start_date,end_date,description",
    "sources": "id,text",
}


@dataclass(frozen=True)
class Context:
    """Rows of any of five tables, in the order in which they are shown."""

    reports: tuple[Report, ...] = ()
    entities: tuple[Entity, ...] = ()
    relationships: Sequence[Relationship] = ()
    claims: tuple[Claim, ...] = ()
    sources: tuple[Chunk, ...] = ()
    topics: tuple[str, ...] = ()
    """Names of the entities of a community, the most distinctive first, for its report."""
    headline: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The topics that begin the title of an extractive report, and those that follow."""
    available: Mapping[str, int] = field(default_factory=dict[str, int], compare=False)
    """The number of available rows of each table, if the window contains only the first of them."""
    shares: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """The maximum share of a window for each table except the sources, if not the default shares."""
    vectors: Any = field(default=None, compare=False, repr=False)
    """The vector of the question, shape (1, d), if sentences of the index are also compared by vectors."""

    def tables(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Yield the name and rows of each table that has any."""
        for name in HEADINGS:
            if rows := getattr(self, name):
                yield name, rows

    @property
    def read(self) -> dict[str, tuple[int, int]]:
        """The number of rows of each table in the context, and the number that was available."""
        here = {name: len(getattr(self, name)) for name in HEADINGS}
        counts = {name: (n, max(n, self.available.get(name, 0))) for name, n in here.items()}
        return {name: pair for name, pair in counts.items() if pair[1]}

    @cached_property
    def text(self) -> str:
        """The evidence as it is shown to a language model."""
        return "\n".join(
            f"-----{name.capitalize()}-----\n{HEADINGS[name]}\n"
            + "".join(map(render, rows, range(1, len(rows) + 1)))
            for name, rows in self.tables()
        )

    def to_index(self, reference: Reference) -> Reference | None:
        """Return a reference to the same row by its number in the index; None if the context has no such row."""
        rows: Sequence[Row] = getattr(self, reference.table.lower())
        return (
            Reference(reference.table, rows[reference.number - 1].number)
            if 0 < reference.number <= len(rows)
            else None
        )


def render(row: Row, number: int) -> str:
    """Return a row as one line (a report or a chunk as a block) that begins with its local number."""
    match row:
        case Entity():
            cells: Iterable[str] = (row.name, row.description)
        case Relationship():
            cells = (row.source, row.target, row.description)
        case Claim():
            dates = (row.start_date or "", row.end_date or "")
            cells = (row.subject, row.object, row.type, row.status, *dates, row.description)
        case Report():  # its references use numbers of the index, not local ones
            return f"{number},\n{strip(row.text).strip()}\n\n"
        case Chunk():
            return f"{number},\n{row.text.strip()}\n\n"
    return f"{number},{','.join(map(_cell, cells))}\n"


@lru_cache(1 << 12)  # names and sentences recur in many rows
def _cell(value: str) -> str:
    value = " ".join(value.split())
    return '"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value
