"""Answering for many clients at once: threads, shared answers of equal questions, streams, cancellation, addresses.

Without a language model an answer is pure computation, so there are as many threads as cores; more threads would only
take turns, and separate processes answered no more questions on two cores. With a model it is mostly waiting, so
many questions run at once. A question that equals one being answered, or one answered on the same snapshot, shares it.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeVar

from pydantic_core import to_json, to_jsonable_python

import conspectus
from conspectus import Citation, Conversation, Index, api
from conspectus.errors import ConspectusError
from conspectus.rows import Answer
from conspectus.server.errors import Busy
from conspectus.server.indexes import ServedIndex

T = TypeVar("T")
EventKind = Literal["method", "text", "done", "error", "cancelled"]
EXTRACTIVE = "extractive"
"""The name of the built-in model, which selects sentences of the index and is no language model."""
UNDER_WAY = ("method", "text")
"""The kinds of events after which others follow; any other kind ends the stream."""
MAX_ANSWERS = 500
"""Answers that stay in memory to be read again at their address: some 20 kB each, 10 MB in all."""
MODEL_THREADS = 64
"""Questions that are answered with a language model at once: each waits for the model's server most of the time."""
QUEUE_LIMIT = 1_000
"""Questions that may wait for a thread; further ones are refused, because nobody waits that long for an answer."""


@dataclass(frozen=True)
class Ask:
    """A question to one snapshot of an index; equal ones have the same answer.

    options: the keyword arguments of `conspectus.ask`, as plain values.
    earlier: the earlier questions and answers of the conversation.
    """

    question: str
    index: str
    snapshot: str
    options: tuple[tuple[str, Any], ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The address of the answer: 20 hexadecimal digits."""
        return sha256(repr(self).encode()).hexdigest()[:20]


@dataclass
class Event:
    """A step towards an answer: the choice of a method, a piece of text, or the end."""

    kind: EventKind
    text: str = ""
    """A piece of the answer's text, or the name of the method."""
    why: str = ""
    error: BaseException | None = None


@dataclass
class Asking:
    """A question that is being answered or was answered: its events so far, and those who follow them."""

    ask: Ask
    events: list[Event] = field(default_factory=list[Event])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: int = 0
    body: bytes = b""
    """The finished answer as JSON: a third of the memory of its objects, and serialised once for all clients."""
    stop: Callable[[], None] | None = None
    """Stops the work; None until a thread has begun it."""

    @property
    def finished(self) -> bool:
        """Whether the last event is an answer, an error or a cancellation."""
        return bool(self.events) and self.events[-1].kind not in UNDER_WAY

    def add(self, event: Event) -> None:
        """Append an event and wake all followers; to be called only on the event loop."""
        if not self.finished:
            self.events.append(event)
            self.changed.set()
            self.changed = asyncio.Event()

    def cancel(self) -> None:
        """Stop answering; calls of a language model in progress are abandoned."""
        if not self.finished:
            self.add(Event("cancelled"))
            if self.stop:
                self.stop()

    async def follow(self) -> AsyncGenerator[Event]:
        """Yield all events from the first on, and end after the last one.

        When the last follower has stopped listening, the question is cancelled.
        """
        self.listeners += 1
        position = 0
        try:
            while True:
                changed = self.changed
                for event in self.events[position:]:
                    position += 1
                    yield event
                    if event.kind not in UNDER_WAY:
                        return
                await changed.wait()
        finally:
            self.listeners -= 1
            if not self.listeners:
                self.cancel()  # nobody is waiting for the answer any more


class Answers:
    """Answers questions about the served indexes, and remembers the answers by their address."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._askings: OrderedDict[str, Asking] = OrderedDict()
        self._computing = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="ask")
        self._waiting = ThreadPoolExecutor(MODEL_THREADS, thread_name_prefix="ask-model")
        self._pending: set[asyncio.Future[None]] = set()

    def close(self) -> None:
        """Cancel the questions in progress, and stop the threads."""
        for asking in self._askings.values():
            asking.cancel()
        self._computing.shutdown(wait=False, cancel_futures=True)
        self._waiting.shutdown(wait=False, cancel_futures=True)

    @property
    def pending(self) -> int:
        """The number of questions that wait or are being answered."""
        return len(self._pending)

    def get(self, address: str) -> Asking | None:
        """Return the asking with an address, or None if it is not remembered."""
        return self._askings.get(address)

    def start(
        self,
        question: str,
        served: ServedIndex,
        index: Index,
        options: Mapping[str, Any],
        earlier: tuple[tuple[str, str], ...] = (),
    ) -> Asking:
        """Begin to answer a question, or return the asking of an equal one; raise Busy if too many questions wait."""
        ask = Ask(question, served.name, index.snapshot, tuple(sorted(options.items())), earlier)
        asking = self._askings.get(ask.id)
        if asking and (not asking.finished or asking.body):
            self._askings.move_to_end(ask.id)
            return asking
        if self.pending >= QUEUE_LIMIT:
            raise Busy(f"{self.pending:,} questions are waiting already; ask again in a minute")
        asking = self._askings[ask.id] = Asking(ask)
        for address in list(self._askings)[:-MAX_ANSWERS]:
            if self._askings[address].finished:
                del self._askings[address]
        threads = self._computing if self.model_of(index) == EXTRACTIVE else self._waiting
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(threads, self._answer, asking, index, loop)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return asking

    def model_of(self, index: Index) -> str:
        """Return the name of the model that answers, from the server, environment, `conspectus.toml` or the index."""
        try:
            return api.run_of({"settings": self._settings}, [index.settings]).settings.model
        except ConspectusError:  # answering raises the same error, which the client then sees
            return EXTRACTIVE

    def _answer(self, asking: Asking, index: Index, loop: asyncio.AbstractEventLoop) -> None:
        """Answer in a thread that has its own event loop, and report events to the server's loop."""

        def tell(kind: EventKind, text: str = "", why: str = "", error: Exception | None = None) -> None:
            loop.call_soon_threadsafe(asking.add, Event(kind, text, why, error))

        if asking.finished:  # cancelled while it waited for a thread
            return
        try:
            answer = asyncio.run(cancellable(answered(asking.ask, index, self._settings, tell), asking))
            asking.body = body_of(asking.ask, answer, index)
        except asyncio.CancelledError:
            tell("cancelled")
        except ConspectusError as error:
            tell("error", error=error)
        except Exception as error:  # a bug: the client gets an error, the log the traceback
            tell("error", error=error)
            raise
        else:
            tell("done")


async def answered(
    ask: Ask, index: Index, settings: Mapping[str, Any] | None, tell: Callable[..., None]
) -> Answer:
    """Answer a question, and report the method and the pieces of text through `tell`."""
    options: dict[str, Any] = {"settings": settings, **dict(ask.options)}
    heard: dict[str, Any] = {"on_text": partial(tell, "text"), "on_method": partial(tell, "method")}
    if ask.earlier:
        return await Conversation(index, earlier=ask.earlier, **options).aask(ask.question, **heard)
    return await conspectus.aask(ask.question, index, **heard, **options)


class Stoppable(Protocol):
    """An object whose work can be stopped from another thread, once it has begun."""

    stop: Callable[[], None] | None


async def cancellable(work: Coroutine[Any, Any, T], holder: Stoppable) -> T:
    """Await work that is cancelled when another thread calls the `stop` of its holder."""
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

    def stop() -> None:
        with suppress(RuntimeError):  # the loop is closed, so the work is done
            loop.call_soon_threadsafe(task.cancel)

    holder.stop = stop
    return await task


def body_of(ask: Ask, answer: Answer, index: Index) -> bytes:
    """Return an answer as JSON, with its address, index and snapshot."""
    head = {"id": ask.id, "index": ask.index, "snapshot": ask.snapshot}
    row = to_jsonable_python(replace(answer, citations=()))
    return to_json({**head, **row, "citations": citation_rows(answer.citations, index)})


def citation_rows(citations: Sequence[Citation], index: Index) -> list[dict[str, Any]]:
    """Return citations as rows, with the number of the entity or report that each cites, and of each document."""
    documents, reports = index.derive(page_numbers)
    rows: list[dict[str, Any]] = to_jsonable_python(citations)
    for row in rows:
        row["number"] = (
            index.entity_of_name.get(row["title"]) if row["kind"] == "entity" else reports.get(row["id"])
        )
        for source in row["sources"]:
            source["number"] = documents.get(source["document"])
    return rows


def page_numbers(index: Index) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of documents by path and of reports by id."""
    documents = {d.path: d.number for d in index.documents}
    return documents, {r.id: r.number for r in index.reports}
