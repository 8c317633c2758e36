"""Tasks of making an index: what is read out of chunks, descriptions, reports (GraphRAG appendix A, E; HippoRAG)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.rows import Chunk, Finding, Span
from conspectus.tasks.base import Context, Numbered, Task, Turn


class FoundEntity(NamedTuple):
    """One instance of an entity; `span` is where it was read, None for anywhere in the chunk."""

    name: str
    type: str
    description: str
    span: Span | None = None


class FoundRelationship(NamedTuple):
    """One instance of a relationship; `strength` is 1 to 10."""

    source: str
    target: str
    description: str
    strength: float
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class FoundTriple:
    """One statement of a text: a noun phrase, a relation in words, a noun phrase; when, where and how much."""

    head: str
    relation: str
    tail: str
    time: str = ""
    """As all qualifiers with its preposition, "" where nothing is said of it: `in May 1911`."""
    location: str = ""
    amount: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in one chunk."""

    entities: tuple[FoundEntity, ...] = ()
    relationships: tuple[FoundRelationship, ...] = ()
    triples: tuple[FoundTriple, ...] = ()
    """What the relationships were made of, where a chunk was read for open triples."""


@dataclass(frozen=True, slots=True)
class FoundClaim:
    subject: str
    object: str
    type: str
    status: str
    description: str
    source_text: str = ""
    start_date: str | None = None
    end_date: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """One description made of many; `used` gives the places of those it stands on, the most telling first."""

    text: str
    used: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """What a model writes of a community; the rest of a report is known without it."""

    title: str
    summary: str
    rating: float
    rating_explanation: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a corpus is: what it is about, who would study it, and which types of entity matter in it."""

    domain: str
    persona: str
    """An expert on it, in a few words, as `a historian of textile mills`."""
    entity_types: tuple[str, ...]


@dataclass(frozen=True)
class ExtractGraph(Task[Extraction]):
    """Find all entities of the given types in a chunk, and all pairs clearly related (GraphRAG appendix E.1)."""

    label = "extract entities"
    size_setting = "chunk.tokens"
    about = ("chunk",)

    chunk: Chunk
    entity_types: tuple[str, ...]
    date: str = ""
    """Of the document, in ISO 8601: what "last year" in it counts from."""
    guidance: tuple[str, ...] = ()
    """What belongs to types of entity: `firm: companies and partnerships`."""
    relations: tuple[str, ...] = ()
    """The relations to look for: `person works for firm`; none for any."""


@dataclass(frozen=True)
class AnyMissed(Task[bool]):
    """Tell whether an extraction missed entities (GraphRAG appendix A.2)."""

    label = "check for missed entities"
    size_setting = "chunk.tokens"

    after: Turn


@dataclass(frozen=True)
class GleanMore(Task[Extraction]):
    """Find what an extraction missed (GraphRAG appendix A.2)."""

    label = "extract missed entities"
    size_setting = "chunk.tokens"

    after: Turn


@dataclass(frozen=True)
class ExtractClaims(Task[tuple[FoundClaim, ...]]):
    """Find the factual statements about the given entities in a chunk (GraphRAG §3.1.2)."""

    size_setting = "chunk.tokens"
    about = ("chunk",)

    chunk: Chunk
    entities: tuple[str, ...]


@dataclass(frozen=True)
class NameEntities(Task[tuple[str, ...]]):
    """Find the named entities of a passage or a question (HippoRAG) and, unless `strict`, the terms of its subject."""

    label = "recognize entities"
    size_setting = "chunk.tokens"
    about = ("text",)

    text: str
    strict: bool = False
    """Whether to ask as the paper does."""


@dataclass(frozen=True)
class ExtractTriples(Task[tuple[FoundTriple, ...]]):
    """Find what a passage states, as triples over its named entities and other noun phrases (HippoRAG).

    Unless `strict`, which is as the paper does it, time, place and amount are apart from the three.
    """

    size_setting = "chunk.tokens"
    about = ("chunk",)

    chunk: Chunk
    entities: tuple[str, ...]
    date: str = ""
    strict: bool = False

    def texts(self, reply: tuple[FoundTriple, ...]) -> Iterable[str]:
        yield "\n".join(f"{triple.head} {triple.relation} {triple.tail}" for triple in reply)


@dataclass(frozen=True)
class WritePropositions(Task[tuple[str, ...]]):
    """Rewrite a passage as simple statements that can each be understood alone (Graph RAG §V, a baseline)."""

    size_setting = "chunk.tokens"
    about = ("chunk", "title")

    chunk: Chunk
    title: str = ""


@dataclass(frozen=True)
class SummarizePassages(Task[str]):
    """Summarise passages that belong together, and may be summaries themselves (RAPTOR)."""

    passages: tuple[str, ...]


@dataclass(frozen=True)
class ProfileCorpus(Task[Profile]):
    """Tell from samples of a corpus what it is about, who would study it, and what to look for (`conspectus tune`)."""

    size_setting = "answer.context_tokens"

    samples: tuple[Chunk, ...]


@dataclass(frozen=True)
class ConfirmJoins(Task[tuple[int, ...]]):
    """Tell which pairs of names are one thing, by their numbers from 1."""

    label = "compare names"
    size_setting = "resolve.resolve"

    pairs: tuple[tuple[str, str], ...]
    """Each name with its type and what a text says of it."""


@dataclass(frozen=True)
class DescribeElement(Task[Description]):
    """Make one description of all the descriptions of an entity, a relationship or a claim (GraphRAG §3.1.3)."""

    label = "describe entities and relationships"
    size_setting = "reports.context_tokens"

    name: str
    kind: str
    descriptions: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """The date and name of the document of each description, where they are known."""

    def subjects(self) -> Iterable[str]:
        """Yield the name, of which a description has a part; a group of texts has none."""
        return self.descriptions if self.kind == "group" else (self.name,)


@dataclass(frozen=True)
class DescribeElements(Task[tuple[Numbered, ...]]):
    """Describe several elements by one call: what a language model makes of tasks that it is given together.

    Each description is checked as if its element had been asked for alone.
    """

    counted_as = "DescribeElement"
    size_setting = "reports.context_tokens"

    elements: tuple[DescribeElement, ...]

    def texts(self, reply: tuple[Numbered, ...]) -> Iterable[str]:
        return ()


@dataclass(frozen=True)
class WriteReport(Task[ReportDraft]):
    """Write the report of a community from its elements and the reports of its parts (GraphRAG appendix E.2)."""

    label = "write reports"
    size_setting = "reports.context_tokens"

    context: Context

    def subjects(self) -> Iterable[str]:
        """Yield the names of what is in the community."""
        yield from (entity.name for entity in self.context.entities)
        yield from (f"{edge.source} {edge.target}" for edge in self.context.relationships)
        yield from (report.title for report in self.context.reports)
