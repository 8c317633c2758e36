"""The REST routes under `/api`: the contents of an index, its documents, search and answers.

All routes take `?index=NAME`; without it they use the first index that is served. Offsets count characters (code
points) of the stored text of a document, as everywhere in Conspectus.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

import conspectus
from conspectus import Conversation, EntityView, Hit, Index, api
from conspectus.errors import NotFound
from conspectus.evaluation import estimate_answer
from conspectus.rows import Document, Entity, Report, Span
from conspectus.server.answers import EXTRACTIVE, Answers, Asking, Event, citation_rows
from conspectus.server.errors import Cancelled, as_error
from conspectus.server.indexes import Indexes, ServedIndex

router = APIRouter(prefix="/api")
MAX_ROWS = 500
"""Maximum rows of a list in one response: more than a page shows, and few enough to be sent at once."""
MAX_TEXT = 200_000
"""Maximum characters of a document in one response; longer documents are read in ranges."""
MAX_MEMBERS = 50
"""Entities that are listed with a report, the best connected ones: as many as a page shows without much scrolling."""


async def served_index(request: Request, index: Annotated[str, Query(max_length=200)] = "") -> ServedIndex:
    """Return the index that a request names; the first one if it names none."""
    indexes: Indexes = request.app.state.indexes
    return indexes[index]


async def open_snapshot(served: Annotated[ServedIndex, Depends(served_index)]) -> Index:
    """Return the current snapshot of the index that a request names."""
    return await served.latest()


Served = Annotated[ServedIndex, Depends(served_index)]
Snapshot = Annotated[Index, Depends(open_snapshot)]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="Maximum number of rows")]
Offset = Annotated[int, Query(ge=0, le=10**9, description="Rows to skip")]
Text = Annotated[str, Query(max_length=500)]
Number = Annotated[int, Path(ge=0, le=10**9)]
AnswerId = Annotated[str, Path(pattern="^[0-9a-f]{20}$")]


# What an index contains


@dataclass(frozen=True)
class IndexSummary:
    """A served index, and the model that answers questions about it."""

    name: str
    exists: bool
    read_only: bool
    snapshot: str
    model: str
    documents: int
    entities: int
    reports: int


@router.get("/indexes", summary="List the indexes that are served")
def indexes(request: Request) -> list[IndexSummary]:
    """Return the served indexes; one that was not built yet has `exists: false`."""
    rows: list[IndexSummary] = []
    for served in request.app.state.indexes.values():
        index = served.current() if served.exists() else Index()
        head = served.name, served.exists(), request.app.state.options.read_only, index.snapshot
        counts = len(index.documents), len(index.entities), len(index.reports)
        rows.append(IndexSummary(*head, request.app.state.answers.model_of(index), *counts))
    return rows


@router.get("/status", summary="Sizes, levels, failures and spending of an index")
def status(index: Snapshot) -> dict[str, Any]:
    """Return what `conspectus status --json` prints."""
    return asdict(conspectus.status_of(index))


@dataclass(frozen=True)
class MethodRow:
    """A method that answers questions: its name, a short description, and what it needs that is missing."""

    name: str
    help: str
    lacks: list[str]


@router.get("/methods", summary="The methods that answer questions of an index")
def methods(request: Request, index: Snapshot) -> list[MethodRow]:
    """Return all methods; those that lack vectors or a language model cannot answer here."""
    present = set[str]() if request.app.state.answers.model_of(index) == EXTRACTIVE else {"model"}
    if "vectors.chunks" in index.arrays:
        present.add("vectors")
    return [MethodRow(m.name, m.help, sorted(m.needs - present)) for m in api.METHODS.values()]


@dataclass(frozen=True)
class ReportNode:
    """A report in the tree of reports, without its text."""

    number: int
    community: int
    level: int
    title: str
    rating: float
    size: int
    below: list[ReportNode]


@router.get("/reports", summary="The tree of reports, the most important first")
def report_tree(
    index: Snapshot, deepest: Annotated[int | None, Query(ge=0, le=100)] = None
) -> list[ReportNode]:
    """Return titles and ratings; `deepest` cuts the tree below a level."""

    def node(branch: Any) -> ReportNode:
        r: Report = branch.report
        below = [node(b) for b in branch.below]
        return ReportNode(r.number, r.community, r.level, r.title, r.rating, r.size, below)

    return [node(branch) for branch in conspectus.report_tree(index, deepest)]


@dataclass(frozen=True)
class ReportLink:
    """A link to a report."""

    number: int
    title: str
    level: int
    rating: float


@dataclass(frozen=True)
class EntityRow:
    """An entity in a list."""

    number: int
    name: str
    type: str
    degree: int
    frequency: int
    description: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkedText:
    """A text with `[1]` in place of its references, and their citations, as in an answer."""

    text: str
    citations: list[dict[str, Any]]


@dataclass(frozen=True)
class ReportPage:
    """A report with its neighbours in the hierarchy and its best connected entities.

    linked: the summary and the findings with references as citations; filled only by the route of one report.
    """

    report: Report
    above: ReportLink | None
    below: list[ReportLink]
    entities: list[EntityRow]
    linked: list[LinkedText] = field(default_factory=list[LinkedText])


def entity_row(e: Entity) -> EntityRow:
    """Return an entity as a row of a list."""
    return EntityRow(e.number, e.name, e.type, e.degree, e.frequency, e.description, e.aliases)


def report_link(report: Report) -> ReportLink:
    """Return a report as a link to it."""
    return ReportLink(report.number, report.title, report.level, report.rating)


@router.get("/reports/{number}", summary="One report")
def report(index: Snapshot, number: Number) -> ReportPage:
    """Return a report with the reports above and below it."""
    page = report_page(index, number)
    texts = [page.report.summary, *(finding.explanation for finding in page.report.findings)]
    cited = [api.cite(text, index) for text in texts]
    linked = [LinkedText(marked, citation_rows(citations, index)) for marked, citations, _ in cited]
    return replace(page, linked=linked)


def report_page(index: Index, name: str | int) -> ReportPage:
    """Return a report by its number, with its neighbours and its best connected entities."""
    view = conspectus.report_view(name, index)
    community = index.communities[view.report.community]
    members = sorted(
        (index.entities[n] for n in community.entity_numbers), key=lambda e: (-e.degree, e.number)
    )
    above = report_link(view.above) if view.above else None
    rows = [entity_row(entity) for entity in members[:MAX_MEMBERS]]
    return ReportPage(view.report, above, [report_link(r) for r in view.below], rows)


@router.get("/entities", summary="List entities, the best connected first, or find them by name")
def entities(
    index: Snapshot, q: Text = "", type: Text = "", limit: Limit = 50, offset: Offset = 0
) -> list[EntityRow]:
    """Return entities whose name or alias contains `q`: exact matches first, then those that begin with it."""
    wanted = q.casefold().strip()

    def rank(entity: Entity) -> int | None:
        names = [name.casefold() for name in (entity.name, *entity.aliases)]
        if wanted in names:
            return 0
        if any(name.startswith(wanted) for name in names):
            return 1
        return 2 if any(wanted in name for name in names) else None

    rows = [
        (position, -entity.degree, entity.number)
        for entity in index.entities
        if (not type or entity.type == type) and (position := rank(entity)) is not None
    ]
    return [entity_row(index.entities[number]) for *_, number in sorted(rows)[offset : offset + limit]]


@dataclass(frozen=True)
class AliasReason:
    """Why a name was decided to be an alias of an entity."""

    name: str
    rule: str
    evidence: str


@dataclass(frozen=True)
class EntityPage:
    """An entity; `targets` are the numbers of the entities at the other end of its relationships, in the same order."""

    entity: EntityView
    targets: list[int]
    joins: list[AliasReason]


@router.get("/entities/{number}", summary="One entity, with relationships, aliases and mentions")
def entity(index: Snapshot, number: Number, relationships: Limit = 50) -> EntityPage:
    """Return what the graph contains about an entity, and the reasons for its aliases."""
    if number >= len(index.entities):
        raise NotFound(f"there is no entity {number}; this index has {len(index.entities):,}")
    return entity_page(index, index.entities[number].name, relationships)


def entity_page(index: Index, name: str, relationships: int = 20) -> EntityPage:
    """Return what the graph contains about a name, with its strongest relationships."""
    view = conspectus.entity_view(name, index, most=relationships, places=5)
    joins = [AliasReason(row.name, row.rule, row.evidence) for row in index.joins if row.into == view.name]
    targets = [index.entity_of_name[edge.target] for edge in view.relationships]
    return EntityPage(view, targets, joins)


@router.get("/path", summary="How two entities are connected")
def path(index: Snapshot, source: Text, target: Text) -> dict[str, Any]:
    """Return the shortest path by weight between two names, maybe without steps, and the numbers of its entities."""
    walk = conspectus.path_between(source, target, index)
    numbers = {name: index.entity_of_name[name] for s in walk.steps for name in (s.source, s.target)}
    return asdict(walk) | {"numbers": numbers}


# Documents


@dataclass(frozen=True)
class DocumentRow:
    """A document in a list."""

    number: int
    title: str
    path: str
    date: str | None
    language: str
    characters: int


def document_row(d: Document) -> DocumentRow:
    """Return a document as a row of a list."""
    return DocumentRow(d.number, d.title, d.path, d.day or None, d.language, len(d.text))


def compact(name: str) -> str:
    """Return a name as it is compared in searches: without case, spaces, `-` and `_`, as files write `Ada_Lovelace`."""
    return re.sub(r"[\s_-]+", "", name.casefold())


@router.get("/documents", summary="List documents, or find them by title or path")
def documents(index: Snapshot, q: Text = "", limit: Limit = 50, offset: Offset = 0) -> list[DocumentRow]:
    """Return the documents whose title or path contains `q`, in their order; spaces, `-` and `_` are ignored."""
    wanted = compact(q)
    rows = [d for d in index.documents if wanted in compact(d.title) or wanted in compact(d.path)]
    return [document_row(document) for document in rows[offset : offset + limit]]


@dataclass(frozen=True)
class TextMention:
    """A range of characters of a document that names an entity."""

    start: int
    end: int
    entity: int


@dataclass(frozen=True)
class DocumentPage:
    """A range of a document's text, with the mentions of entities in it."""

    document: DocumentRow
    metadata: dict[str, str]
    start: int
    end: int
    text: str
    mentions: list[TextMention]


def document_of(index: Index, document: str) -> Document:
    """Return a document by its number, path or id; raise NotFound for an unknown one."""
    if document.isdecimal() and len(document) < 10 and int(document) < len(index.documents):
        return index.documents[int(document)]
    for row in index.documents:
        if document in (row.path, row.id):
            return row
    raise NotFound(f"there is no document {document!r}; this index has {len(index.documents):,}")


def names_in(text: str, spans: Sequence[Span], names: Sequence[str]) -> set[tuple[int, int]]:
    """Return the spans of some names of an entity in those sentences of a text that are evidence of it."""
    any_name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    letter = (
        r"[^\W\u3040-\u30ff\u3400-\u9fff]"  # names in Chinese and Japanese may be next to other characters
    )
    pattern = re.compile(f"(?<!{letter})(?:{any_name})(?!{letter})", re.IGNORECASE)
    return {match.span() for span in spans for match in pattern.finditer(text, span.start, span.end)}


@router.get("/documents/{document:path}", summary="A document's text, with the entities named in it")
def document_text(
    index: Snapshot,
    document: Annotated[str, Path(max_length=2000)],
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    end: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> DocumentPage:
    """Return the characters from `start` to `end`, or as many of them as fit into one response."""
    row = document_of(index, document)
    last = min(len(row.text), start + MAX_TEXT, end if end is not None else len(row.text))
    mentions = [
        TextMention(first, final, entity.number)
        for entity in index.entities
        if (spans := [span for span in entity.spans if span.document_id == row.id])
        for first, final in names_in(row.text, spans, (entity.name, *entity.aliases))
        if first >= start and final <= last
    ]
    mentions.sort(key=lambda m: (m.start, -m.end))
    return DocumentPage(document_row(row), dict(row.metadata), start, last, row.text[start:last], mentions)


# Search and answers


@router.get("/search", summary="Rank chunks for a question")
async def search(
    index: Snapshot,
    q: Annotated[str, Query(min_length=1, max_length=5_000)],
    method: Text = "mixed",
    k: Limit = 10,
    where: Annotated[list[str] | None, Query()] = None,
) -> list[Hit]:
    """Return the chunks that rank highest, as `conspectus search` does."""
    return await run_in_threadpool(conspectus.search, q, index, method=method, k=k, where=where or ())


class EarlierExchange(BaseModel):
    """An exchange of a conversation: the question as it was answered, and the text of the answer."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1, max_length=20_000)
    answer: str = Field(max_length=100_000)


class AskRequest(BaseModel):
    """A question and options of its answer; names and values are those of `conspectus.ask`.

    earlier: the exchanges before the question, the latest last; they are the context in which it is understood.
    """

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1)
    method: str | None = Field(default=None, max_length=100)
    level: int | None = Field(default=None, ge=0, le=100)
    where: tuple[str, ...] | None = Field(default=None, max_length=20)
    earlier: list[EarlierExchange] = Field(default_factory=list[EarlierExchange], max_length=100)
    stream: bool = False

    @property
    def exchanges(self) -> tuple[tuple[str, str], ...]:
        """The earlier exchanges as pairs of question and answer."""
        return tuple((exchange.question, exchange.answer) for exchange in self.earlier)

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of `conspectus.ask`, without those that were left out."""
        return self.model_dump(include={"method", "level", "where"}, exclude_none=True)


@router.post("/ask/estimate", summary="What an answer would take of a language model")
async def estimate(request: Request, index: Snapshot, body: AskRequest) -> dict[str, Any]:
    """Return the method, its reason and, with a language model, the calls, tokens and cost; nothing is asked."""
    options = {**body.options, "settings": request.app.state.options.settings}
    work = estimate_answer(body.question, index, **options)
    method, why, row = await run_in_threadpool(asyncio.run, work)
    return {"method": method, "why": why, "estimate": estimate_json(row) if row else None}


def estimate_json(row: api.Estimate) -> dict[str, Any]:
    """Return an estimate as JSON: ranges as [low, high], and the most likely tokens and cost."""
    cost = list(row.cost) if row.cost else None
    figures = {"calls": list(row.calls), "tokens": list(row.tokens), "cost": cost}
    return {**figures, "likely_tokens": round(row.likely_tokens), "likely_cost": row.likely_cost}


@router.post("/ask/context", summary="What an answer would be made from")
async def context(request: Request, index: Snapshot, body: AskRequest) -> dict[str, Any]:
    """Return the context as a language model would read it, one text per window; 400 for methods without context."""
    options = {**body.options, "settings": request.app.state.options.settings}
    conversation = Conversation(index, earlier=body.exchanges, **options)
    seen = await run_in_threadpool(conversation.context, body.question)
    head = {"question": seen.question, "method": seen.method, "why": seen.why, "tokens": seen.context_tokens}
    return {**head, "windows": [window.text.strip() for window in seen.windows]}


@router.post("/ask", summary="Answer a question, as JSON or as a stream of events")
async def ask(request: Request, served: Served, body: AskRequest) -> Any:
    """Answer a question; with `stream`, or `Accept: text/event-stream`, as a stream of events.

    The events are `start`, `method`, `text`, and finally `done`, `error` or `cancelled`. Closing the connection cancels
    the answer, unless another client is waiting for the same one.
    """
    answers: Answers = request.app.state.answers
    index = await served.latest()
    asking = answers.start(body.question, served, index, body.options, body.exchanges)
    if body.stream or "text/event-stream" in request.headers.get("accept", ""):
        headers = {"x-accel-buffering": "no", "cache-control": "no-store"}
        return StreamingResponse(events_of(asking), media_type="text/event-stream", headers=headers)
    return Response((await finished(request, asking)).body, media_type="application/json")


async def finished(request: Request, asking: Asking) -> Asking:
    """Wait for an answer; cancel it if the client disconnects and nobody else waits. Raises the error of the answer."""

    async def last() -> Event:
        return [event async for event in asking.follow()][-1]

    async def disconnected() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    waiting, leaving = asyncio.ensure_future(last()), asyncio.ensure_future(disconnected())
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done() or waiting.result().kind == "cancelled":
            raise Cancelled("the answer was cancelled")
        if error := waiting.result().error:
            raise error
        return asking
    finally:
        waiting.cancel()
        leaving.cancel()


async def events_of(asking: Asking) -> AsyncGenerator[str]:
    """Yield the events of an answer as server-sent events."""
    yield sse("start", {"id": asking.ask.id, "index": asking.ask.index, "snapshot": asking.ask.snapshot})
    async for event in asking.follow():
        match event.kind:
            case "method":
                yield sse("method", {"method": event.text, "why": event.why})
            case "text":
                yield sse("text", {"text": event.text})
            case "done":
                yield f"event: done\ndata: {asking.body.decode()}\n\n"
            case "error":
                yield sse("error", as_error(event.error)[1])
            case "cancelled":
                yield sse("cancelled", {})


def sse(event: str, data: Any) -> str:
    """Return one server-sent event."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@router.get("/answers/{address}", summary="An answer that was given before")
async def answer(request: Request, address: AnswerId) -> Any:
    """Return an answer by its address; 404 if it is no longer remembered: asking again gives the same one."""
    asking = request.app.state.answers.get(address)
    if asking is None or not asking.body:
        raise NotFound("this answer is no longer remembered; ask the question again")
    return Response(asking.body, media_type="application/json")


@router.delete("/answers/{address}", summary="Stop an answer that is being written", status_code=204)
async def cancel(request: Request, address: AnswerId) -> None:
    """Cancel a question; model calls in progress are abandoned."""
    if asking := request.app.state.answers.get(address):
        asking.cancel()
