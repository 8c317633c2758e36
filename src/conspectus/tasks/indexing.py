"""The tasks of indexing: extraction from chunks, descriptions, reports (GraphRAG appendix A, E; HippoRAG)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.rows import Chunk, Finding, Span
from conspectus.tasks.base import Context, Numbered, Task, Turn


class FoundEntity(NamedTuple):
    """One instance of an entity; `span` is its position in the document, None if only the chunk is known."""

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
    """One statement of a text: a noun phrase, a relation in words, a noun phrase; with time, location and amount."""

    head: str
    relation: str
    tail: str
    time: str = ""
    """Like all qualifiers, with its preposition, such as `in May 1911`; "" if not stated."""
    location: str = ""
    amount: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The entities and relationships extracted from one chunk."""

    entities: tuple[FoundEntity, ...] = ()
    relationships: tuple[FoundRelationship, ...] = ()
    triples: tuple[FoundTriple, ...] = ()
    """The open triples that the relationships were made from, if triples were extracted."""


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
    """One description made from many; `used` are the indices of those it is based on, the most informative first."""

    text: str
    used: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """The parts of a community's report that a model writes; the rest is known without it."""

    title: str
    summary: str
    rating: float
    rating_explanation: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A description of a corpus: its domain, who would study it, and which types of entity matter in it."""

    domain: str
    persona: str
    """An expert on the domain in a few words, such as `a historian of textile mills`."""
    entity_types: tuple[str, ...]


@dataclass(frozen=True)
class ExtractGraph(Task[Extraction]):
    """Find all entities of the given types in a chunk, and all clearly related pairs (GraphRAG appendix E.1)."""

    label = "extract entities"
    size_setting = "chunk.tokens"
    about = ("chunk",)

    chunk: Chunk
    entity_types: tuple[str, ...]
    date: str = ""
    """The date of the document, in ISO 8601, to resolve expressions such as "last year"."""
    guidance: tuple[str, ...] = ()
    """Descriptions of types of entity: `firm: companies and partnerships`."""
    relations: tuple[str, ...] = ()
    """The relations to look for, such as `person works for firm`; empty for any relation."""


@dataclass(frozen=True)
class AnyMissed(Task[bool]):
    """Decide whether an extraction missed entities (GraphRAG appendix A.2)."""

    label = "check for missed entities"
    size_setting = "chunk.tokens"

    after: Turn


@dataclass(frozen=True)
class GleanMore(Task[Extraction]):
    """Find entities and relationships that an extraction missed (GraphRAG appendix A.2)."""

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
    """Find the named entities of a passage or a question (HippoRAG) and, unless `strict`, terms for its subject."""

    label = "recognize entities"
    size_setting = "chunk.tokens"
    about = ("text",)

    text: str
    strict: bool = False
    """Whether to use the prompt of the paper."""


@dataclass(frozen=True)
class ExtractTriples(Task[tuple[FoundTriple, ...]]):
    """Find the statements of a passage, as triples over its named entities and other noun phrases (HippoRAG).

    Unless `strict` (as in the paper), time, location and amount are separate from the triple.
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
    """Rewrite a passage as simple statements, each understandable alone (Graph RAG §V, a baseline)."""

    size_setting = "chunk.tokens"
    about = ("chunk", "title")

    chunk: Chunk
    title: str = ""


@dataclass(frozen=True)
class SummarizePassages(Task[str]):
    """Summarise related passages, which may be summaries themselves (RAPTOR)."""

    passages: tuple[str, ...]


@dataclass(frozen=True)
class ProfileCorpus(Task[Profile]):
    """Describe a corpus from samples: domain, persona, and types of entity to look for (`conspectus tune`)."""

    size_setting = "answer.context_tokens"

    samples: tuple[Chunk, ...]


@dataclass(frozen=True)
class ConfirmJoins(Task[tuple[int, ...]]):
    """Select the pairs of names that mean the same entity, by number from 1."""

    label = "compare names"
    size_setting = "resolve.resolve"

    pairs: tuple[tuple[str, str], ...]
    """Pairs of names, each with its type and what a text says about it."""


@dataclass(frozen=True)
class DescribeElement(Task[Description]):
    """Write one description from all descriptions of an entity, a relationship or a claim (GraphRAG §3.1.3)."""

    label = "describe entities and relationships"
    size_setting = "reports.context_tokens"

    name: str
    kind: str
    descriptions: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """The date and name of the document of each description, if known."""

    def subjects(self) -> Iterable[str]:
        """Return the name, which a description must share a word with."""
        return (self.name,)


@dataclass(frozen=True)
class DescribeElements(Task[tuple[Numbered, ...]]):
    """Describe several elements by one call; language models combine `DescribeElement` tasks into this one.

    Each description is checked as if its element had been described alone.
    """

    counted_as = "DescribeElement"
    size_setting = "reports.context_tokens"

    elements: tuple[DescribeElement, ...]

    def texts(self, reply: tuple[Numbered, ...]) -> Iterable[str]:
        return ()


@dataclass(frozen=True)
class WriteReport(Task[ReportDraft]):
    """Write the report of a community from its elements and its sub-communities' reports (GraphRAG appendix E.2)."""

    label = "write reports"
    size_setting = "reports.context_tokens"

    context: Context

    def subjects(self) -> Iterable[str]:
        """Yield the names of entities, relationships and reports in the context of the community."""
        yield from (entity.name for entity in self.context.entities)
        yield from (f"{edge.source} {edge.target}" for edge in self.context.relationships)
        yield from (report.title for report in self.context.reports)
