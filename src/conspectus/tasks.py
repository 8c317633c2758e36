"""The language tasks: everything that a method needs language for, and the replies that come back.

A task carries rows and strings, never a rendered prompt, and its type names its reply: `Task[Graph]` is answered by
a `Graph`. Whoever performs a task (see `models`) returns references in texts as numbers of the index's tables.
The sources of the tasks are the appendices of *From Local to Global* (P1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from conspectus.evidence import Evidence
from conspectus.rows import Chunk, Finding, Report, Span, Trail

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Task(Generic[R]):
    """Something to be done with language; `R` is the type of its reply."""

    language: str = "en"
    """The language to write in, as a two-letter code."""
    priority: float = field(default=0.0, compare=False)
    """When many wait for a place, the highest goes first."""


@dataclass(frozen=True)
class Turn:
    """A task and its reply, as the conversation that a later task goes on with."""

    task: Task[Any]
    reply: Any


# Replies


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """One instance of an entity; `span` is where it was read, None for anywhere in the chunk."""

    name: str
    type: str
    description: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class FoundRelationship:
    """One instance of a relationship; `strength` is 1 to 10."""

    source: str
    target: str
    description: str
    strength: float
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class FoundTriple:
    """One statement of a text: a noun phrase, a relation in words, a noun phrase."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Graph:
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
class PartialAnswer:
    """An answer from one window of reports (or sources); `score` is 0 to 100, 0 for no help at all."""

    text: str
    score: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation around an entity, as one to choose from; `inverse` where the entity is the tail of its triples."""

    relation: str
    inverse: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a search over a graph stands on: the path that led to it, and which relations lead on."""

    trail: Trail
    edges: tuple[Edge, ...]

    @property
    def name(self) -> str:
        return self.trail.end


@dataclass(frozen=True, slots=True)
class Examined:
    """Whether facts answer a question: the answers, the best first, or what to look for next."""

    answers: tuple[str, ...] = ()
    clue: str = ""

    @property
    def complete(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)


@dataclass(frozen=True, slots=True)
class Draft:
    """A short answer, and how it was come to."""

    answer: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a corpus is: what it is about, who would study it, and which types of entity matter in it."""

    domain: str
    persona: str
    """An expert on it, in a few words, as `a historian of textile mills`."""
    entity_types: tuple[str, ...]


# Tasks of indexing


@dataclass(frozen=True)
class ExtractGraph(Task[Graph]):
    """Find every entity of the given types in a chunk, and every pair of them that is clearly related (P1 E.1)."""

    chunk: Chunk
    entity_types: tuple[str, ...]


@dataclass(frozen=True)
class AnyMissed(Task[bool]):
    """Tell whether an extraction missed entities (P1 A.2)."""

    after: Turn


@dataclass(frozen=True)
class GleanMore(Task[Graph]):
    """Find what an extraction missed (P1 A.2)."""

    after: Turn


@dataclass(frozen=True)
class ExtractClaims(Task["tuple[FoundClaim, ...]"]):
    """Find the factual statements about the given entities in a chunk (P1 3.1.2)."""

    chunk: Chunk
    entities: tuple[str, ...]


@dataclass(frozen=True)
class NameEntities(Task["tuple[str, ...]"]):
    """Find the named entities of a passage or a question (P2 IV-B)."""

    text: str


@dataclass(frozen=True)
class ExtractTriples(Task["tuple[FoundTriple, ...]"]):
    """Find what a passage states, as triples over its named entities and other noun phrases (P2 IV-B)."""

    chunk: Chunk
    entities: tuple[str, ...]


@dataclass(frozen=True)
class WritePropositions(Task["tuple[str, ...]"]):
    """Rewrite a passage as simple statements that can each be understood alone (P2 V, a baseline)."""

    chunk: Chunk
    title: str = ""


@dataclass(frozen=True)
class ProfileCorpus(Task[Profile]):
    """Tell from samples of a corpus what it is about, who would study it, and what to look for (`conspectus tune`)."""

    samples: tuple[Chunk, ...]


@dataclass(frozen=True)
class DescribeElement(Task[Description]):
    """Make one description of all the descriptions of an entity, a relationship or a claim (P1 3.1.3)."""

    name: str
    kind: str
    descriptions: tuple[str, ...]


@dataclass(frozen=True)
class WriteReport(Task[ReportDraft]):
    """Write the report of a community from its elements and the reports of its parts (P1 E.2)."""

    evidence: Evidence


# Tasks of answering


@dataclass(frozen=True)
class MapAnswer(Task[PartialAnswer]):
    """Answer a question from one window of reports or sources, and say how helpful that is (P1 E.4)."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class MapPoints(Task["tuple[PartialAnswer, ...]"]):
    """Answer a question from one window in single points, each with a score of its own (`map_reply = "points"`)."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class ReduceAnswer(Task[str]):
    """Make one answer of the partial ones, given in descending helpfulness (P1 E.3)."""

    question: str
    answers: tuple[PartialAnswer, ...]
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class AnswerFromContext(Task[str]):
    """Answer a question from one window of evidence."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class RateReport(Task[int]):
    """Rate how relevant a report is to a question, 0 (not at all) to 5: the descent from the root goes by it."""

    question: str
    report: Report


# Tasks of reasoning


@dataclass(frozen=True)
class NextThought(Task[str]):
    """Write the next sentence of a chain of thought about a question (IRCoT)."""

    question: str
    evidence: Evidence
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChooseRelations(Task["tuple[tuple[int, ...], ...]"]):
    """Choose for each topic entity the places of at most `width` of its edges that help (P2 IV-A: relation prune)."""

    question: str
    topics: tuple[Topic, ...]
    width: int
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExamineEvidence(Task[Examined]):
    """Tell whether paths of triples and chunks answer a question, else what to look for next (P2 IV-A)."""

    question: str
    trails: tuple[Trail, ...]
    evidence: Evidence = field(default_factory=Evidence)
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftAnswer(Task[Draft]):
    """Answer in few words: from facts and evidence where they are given, else from what the model knows itself."""

    question: str
    stepwise: bool = False
    """Whether to reason step by step first (chain of thought)."""
    trails: tuple[Trail, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    sample: int = 0
    """The number of a sampled reply, from 1; 0 for the one that is likeliest."""
