"""MCP tools for agents, read-only: over standard input and output (`conspectus mcp`) and at `/mcp` of the server.

Every tool takes the name of an index (the default one if empty), and returns structured content with a schema.
"""

# pyright: reportUnusedFunction=false
from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

import conspectus
from conspectus import Hit
from conspectus.errors import ConspectusError, NotFound
from conspectus.server.indexes import Indexes
from conspectus.server.rest import EntityPage, ReportPage, document_of, entity_page, report_page

READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MAX_CHARACTERS = 20_000
"""Characters of a document in one reply: some 5,000 tokens, which leave an agent's window free; `start` continues."""
INSTRUCTIONS = (
    "Answers questions about a collection of documents that was indexed as a knowledge graph. `overview` says what it "
    "is about; `ask` answers with citations; `search` finds passages and `fetch` reads a document; `entity`, `path` "
    "and `report` read the graph."
)

P = ParamSpec("P")
R = TypeVar("R")
IndexName = Annotated[str, Field(description="Name of an index; empty for the default one", max_length=200)]
Question = Annotated[str, Field(description="A question in plain words", min_length=1)]


@dataclass(frozen=True)
class CitedSource:
    """A citation of an answer: what `[marker]` leads to."""

    marker: int
    document: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class AskReply:
    """An answer with its citations."""

    answer: str
    method: str
    why: str
    citations: list[CitedSource]
    notices: list[str]


@dataclass(frozen=True)
class Passage:
    """Characters of a document."""

    document: str
    title: str
    start: int
    end: int
    length: int
    text: str


@dataclass(frozen=True)
class Theme:
    """A report at the top of the hierarchy."""

    report: int
    title: str
    rating: float
    summary: str


@dataclass(frozen=True)
class Overview:
    """What an index contains."""

    indexes: list[str]
    documents: int
    entities: int
    relationships: int
    languages: dict[str, int]
    themes: list[Theme]
    best_connected: list[str]


class Explained(ToolError, ResourceError):
    """An error whose message is shown to the agent; the MCP library hides the messages of all others."""


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """Return a tool or resource whose errors reach the agent, with hints such as names similar to an unknown one."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ConspectusError as error:
            raise Explained(str(error)) from error

    return call


def create_mcp(indexes: Indexes, settings: Mapping[str, Any] | None = None) -> MCPServer[Any]:
    """Return an MCP server with the tools and resources of some indexes."""
    handlers = list(logging.root.handlers)
    server: MCPServer[Any] = MCPServer(
        "conspectus", instructions=INSTRUCTIONS, version=conspectus.__version__
    )
    logging.root.handlers[:] = handlers  # the MCP library would log everything to the terminal
    _add_answering(server, indexes, settings)
    _add_reading(server, indexes)
    _add_resources(server, indexes)
    return server


def _add_answering(server: MCPServer[Any], indexes: Indexes, settings: Mapping[str, Any] | None) -> None:
    @server.tool(annotations=READ_ONLY, title="Answer a question")
    @explained
    def ask(question: Question, index: IndexName = "", method: str = "auto") -> AskReply:
        """Answer a question about the documents, with citations. Works for the whole collection and for details."""
        answer = conspectus.ask(question, indexes[index].current(), method=method, settings=settings)
        citations = [
            CitedSource(citation.marker, source.document, source.start, source.end, source.text)
            for citation in answer.citations
            for source in citation.sources[:1]
        ]
        return AskReply(answer.text, answer.method, answer.why, citations, list(answer.notices))

    @server.tool(annotations=READ_ONLY, title="Search passages")
    @explained
    def search(
        query: Question,
        index: IndexName = "",
        limit: Annotated[int, Field(ge=1, le=50)] = 8,
        method: str = "mixed",
    ) -> list[Hit]:
        """Find the passages that match a query best, with the document and character offsets of each."""
        return conspectus.search(query, indexes[index].current(), method=method, k=limit)


def _add_reading(server: MCPServer[Any], indexes: Indexes) -> None:
    @server.tool(annotations=READ_ONLY, title="Read a document")
    @explained
    def fetch(document: str, index: IndexName = "", start: Annotated[int, Field(ge=0)] = 0) -> Passage:
        """Read a document by its path or number, from a character offset on; `length` is that of the whole."""
        row = document_of(indexes[index].current(), document)
        length = len(row.text)
        if start >= length > 0:
            raise NotFound(f"{row.path} has {length:,} characters; {start:,} is behind its end")
        text = row.text[start : start + MAX_CHARACTERS]
        return Passage(row.path, row.title, start, start + len(text), length, text)

    @server.tool(annotations=READ_ONLY, title="What the documents are about")
    @explained
    def overview(index: IndexName = "") -> Overview:
        """Return sizes, main themes and best connected entities of an index, and the names of all indexes."""
        opened = indexes[index].current()
        status = conspectus.status_of(opened)
        top = [branch.report for branch in conspectus.report_tree(opened, 0)][:12]
        themes = [Theme(r.number, r.title, r.rating, r.summary) for r in top]
        connected = sorted(opened.entities, key=lambda e: (-e.degree, e.number))[:20]
        names = [e.name for e in connected]
        sizes = status.documents, status.entities, status.relationships
        return Overview(list(indexes), *sizes, dict(status.languages), themes, names)

    @server.tool(annotations=READ_ONLY, title="Read a report")
    @explained
    def report(report: str, index: IndexName = "") -> ReportPage:
        """Read a community report by its number, with the reports above and below it."""
        return report_page(indexes[index].current(), report)

    @server.tool(annotations=READ_ONLY, title="Look up an entity")
    @explained
    def entity(name: str, index: IndexName = "") -> EntityPage:
        """Return what the graph knows of a person, organization, place or thing, by name or alias."""
        return entity_page(indexes[index].current(), name)

    @server.tool(annotations=READ_ONLY, title="Connect two entities")
    @explained
    def path(source: str, target: str, index: IndexName = "") -> dict[str, Any]:
        """Return how two entities are connected, step by step, with the sources of each step."""
        return asdict(conspectus.path_between(source, target, indexes[index].current()))

    @server.tool(annotations=READ_ONLY, title="State of an index")
    @explained
    def status(index: IndexName = "") -> dict[str, Any]:
        """Return sizes of all tables, levels of the hierarchy, failures and model usage of an index."""
        return asdict(conspectus.status_of(indexes[index].current()))


def _add_resources(server: MCPServer[Any], indexes: Indexes) -> None:
    @server.resource("conspectus://reports/{number}", mime_type="text/markdown", title="Report")
    @explained
    def report(number: str) -> str:
        """Return a report of the default index as Markdown."""
        return str(conspectus.report_view(number, indexes[""].current()).report)

    @server.resource("conspectus://entities/{name}", mime_type="text/markdown", title="Entity")
    @explained
    def entity(name: str) -> str:
        """Return an entity of the default index as Markdown."""
        return str(conspectus.entity_view(name, indexes[""].current()))

    @server.resource("conspectus://documents/{number}", mime_type="text/plain", title="Document")
    @explained
    def document(number: str) -> str:
        """Return the text of a document of the default index."""
        return document_of(indexes[""].current(), number).text
