"""Answering for many at once: threads, one computation for equal questions, streams, cancellation, addresses.

Answering without a language model is computation, so it runs in as many threads as there are cores; more would only
take turns, and processes of their own answered no more questions on two cores. With a model it is mostly waiting, so
many run at once. A question that equals one which is being answered, or was answered on the same snapshot, joins it.
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
"""The model that is none: it selects sentences of the index."""
UNDER_WAY = ("method", "text")
"""Events after which others follow."""
MAX_ANSWERS = 500
"""Answers that stay in memory to be read again at their address; some 20 kB each, 10 MB in all."""
MODEL_THREADS = 64
"""Questions that are answered with a language model at once: each waits for a server most of the time."""
QUEUE_LIMIT = 1_000
"""Questions that may wait for a thread; further ones are refused, since nobody waits that long for an answer."""


@dataclass(frozen=True)
class Ask:
    """A question as it is asked of one snapshot: equal ones have the same answer.

    options: what `conspectus.ask` takes by name, as plain values.
    earlier: questions and answers of the conversation before it.
    """

    question: str
    index: str
    snapshot: str
    options: tuple[tuple[str, Any], ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The address of its answer: 20 hexadecimal digits."""
        return sha256(repr(self).encode()).hexdigest()[:20]


@dataclass
class Event:
    """Something that happened on the way to an answer."""

    kind: EventKind
    text: str = ""
    """A piece of the text, or the name of the method."""
    why: str = ""
    error: BaseException | None = None


@dataclass
class Asking:
    """A question on its way: what happened so far, and who waits for more."""

    ask: Ask
    events: list[Event] = field(default_factory=list[Event])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: int = 0
    body: bytes = b""
    """The answer as JSON, once there is one: a third of the memory of its objects, and written once for all askers."""
    stop: Callable[[], None] | None = None
    """Ends the work, once a thread has begun it."""

    @property
    def finished(self) -> bool:
        """Whether an answer or an error is there."""
        return bool(self.events) and self.events[-1].kind not in UNDER_WAY

    def add(self, event: Event) -> None:
        """Append an event and wake everyone who waits; on the event loop only."""
        if not self.finished:
            self.events.append(event)
            self.changed.set()
            self.changed = asyncio.Event()

    def cancel(self) -> None:
        """Stop: calls of a language model that are under way are given up."""
        if not self.finished:
            self.add(Event("cancelled"))
            if self.stop:
                self.stop()

    async def follow(self) -> AsyncGenerator[Event]:
        """Yield all events from the first on, and end after the answer or error.

        Whoever stops listening leaves; when the last one has left, the question is cancelled.
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
                self.cancel()  # nobody waits for it any more


class Answers:
    """Answers questions of the served indexes, and remembers the answers by their address."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._askings: OrderedDict[str, Asking] = OrderedDict()
        self._computing = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="ask")
        self._waiting = ThreadPoolExecutor(MODEL_THREADS, thread_name_prefix="ask-model")
        self._pending: set[asyncio.Future[None]] = set()

    def close(self) -> None:
        """Cancel what is under way, and end the threads."""
        for asking in self._askings.values():
            asking.cancel()
        self._computing.shutdown(wait=False, cancel_futures=True)
        self._waiting.shutdown(wait=False, cancel_futures=True)

    @property
    def pending(self) -> int:
        """How many questions wait or are being answered."""
        return len(self._pending)

    def get(self, address: str) -> Asking | None:
        """Return the asking with an address, where it is remembered."""
        return self._askings.get(address)

    def start(
        self,
        question: str,
        served: ServedIndex,
        index: Index,
        options: Mapping[str, Any],
        earlier: tuple[tuple[str, str], ...] = (),
    ) -> Asking:
        """Begin to answer a question, or join an equal one; raise Busy where too many wait."""
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
        """Return the model that answers: that of the server, the environment, `conspectus.toml` or the index."""
        try:
            return api.run_of({"settings": self._settings}, [index.settings]).settings.model
        except ConspectusError:  # the answer says what is wrong with the settings
            return EXTRACTIVE

    def _answer(self, asking: Asking, index: Index, loop: asyncio.AbstractEventLoop) -> None:
        """Answer in a thread with an event loop of its own, and tell the server's loop."""

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
        except Exception as error:  # a defect of ours: the asker gets an error, and the log the traceback
            tell("error", error=error)
            raise
        else:
            tell("done")


async def answered(
    ask: Ask, index: Index, settings: Mapping[str, Any] | None, tell: Callable[..., None]
) -> Answer:
    """Answer a question, and tell the method and the text on the way."""
    options: dict[str, Any] = {"settings": settings, **dict(ask.options)}
    heard: dict[str, Any] = {"on_text": partial(tell, "text"), "on_method": partial(tell, "method")}
    if ask.earlier:
        return await Conversation(index, earlier=ask.earlier, **options).aask(ask.question, **heard)
    return await conspectus.aask(ask.question, index, **heard, **options)


class Stoppable(Protocol):
    """What can be stopped from another thread, once its work has begun."""

    stop: Callable[[], None] | None


async def cancellable(work: Coroutine[Any, Any, T], holder: Stoppable) -> T:
    """Await work such that the `stop` of its holder, called in another thread, cancels it."""
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

    def stop() -> None:
        with suppress(RuntimeError):  # the loop is closed: the work is done
            loop.call_soon_threadsafe(task.cancel)

    holder.stop = stop
    return await task


def body_of(ask: Ask, answer: Answer, index: Index) -> bytes:
    """Return an answer as JSON, with its address and the snapshot it is from."""
    head = {"id": ask.id, "index": ask.index, "snapshot": ask.snapshot}
    row = to_jsonable_python(replace(answer, citations=()))
    return to_json({**head, **row, "citations": citation_rows(answer.citations, index)})


def citation_rows(citations: Sequence[Citation], index: Index) -> list[dict[str, Any]]:
    """Return citations with the number of the row that each leads to, where it has a page, and of each document."""
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
    """Return the numbers of documents by path, and those of reports by id."""
    documents = {d.path: d.number for d in index.documents}
    return documents, {r.id: r.number for r in index.reports}
