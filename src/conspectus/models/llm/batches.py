"""Calls at half the price that may take a day: files of requests for a server's batch API, in OpenAI's format.

A request becomes a line of a file, and its sender gets `Waiting`. When no more requests are added, the files are
uploaded and submitted as batches. Their replies are cached under the keys of the requests, and then the waiting work
is repeated. Requests thus wait on disk, and an interrupted run can be resumed: the requests and the state of each
submitted batch stay in the index folder until its replies are cached.

The first request of each form is sent as an ordinary call, which shows which features the server accepts before
thousands of requests are sent. A request that a batch did not answer well is sent as an ordinary call too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar, cast
from urllib.parse import quote

from conspectus.errors import (
    CacheFailed,
    CallFailed,
    IndexDamaged,
    ModelError,
    NotAccepted,
    ServerFailed,
    UnknownModel,
    Unusable,
    UsageError,
)
from conspectus.models.base import Waiting, together
from conspectus.models.llm.budget import NOTHING, Backoff, Call
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.client import BATCHES, HttpClient
from conspectus.models.llm.providers import message_of, one_line
from conspectus.models.llm.sender import FIRST_BACKOFF, CachingSender
from conspectus.models.llm.wire import Completion, Message, Request
from conspectus.rows import Usage, counted
from conspectus.settings import Settings
from conspectus.tasks.base import task_label

R = TypeVar("R")
FOLDER = "batches"
"""Folder inside an index folder with the requests, `N.jsonl`, and the state, `N.json`, of each open batch."""
ENDPOINT = "/v1/chat/completions"
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
"""Maximum number of requests and of bytes in a file: 50,000 and 200 MB, according to the references of OpenAI (create a
batch, `input_file_id`) and Azure."""
QUIET = 2.0
"""Seconds without a new request after which a batch is submitted: rendering the prompt of a report takes 0.1 s."""
FIRST_POLL, LONGEST_POLL = 5.0, 60.0
"""First and longest interval, in seconds, between two checks of a batch; each interval is 1.5 times the one before,
since small batches take minutes and large ones hours."""
LINES = 100
"""Replies that are written to the cache together, with one sync of the disk."""
LONGEST_LINE = 1 << 23
"""Maximum bytes of a line with a reply: a reply has at most a million characters, of up to six bytes in JSON."""
ENDED = ("completed", "expired", "cancelled", "failed")
UNCHARGED = ("batch_expired", "batch_cancelled")
"""Error codes of requests that were not sent to the model, and may be added to the next batch."""
log = logging.getLogger("conspectus")


@dataclass(eq=False)
class Batch:
    """A file of requests of one task to one model, and the batch made from it."""

    path: Path
    server: str
    model: str
    task: str
    file_id: str = ""
    id: str = ""
    reserved: Usage = NOTHING
    """Maximum usage of its requests, if there is a budget."""
    requests: int = 0
    size: int = 0
    file: IO[bytes] | None = None
    """The open file, while requests are being added."""
    may_exist: bool = False
    """Whether the server may have created the batch without its response having arrived."""
    resumed: bool = False
    """Whether an earlier run submitted it."""
    alone: bool = True
    """Whether no other batch was open when it was created."""
    ended: bool = False
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def state(self) -> Path:
        return self.path.with_suffix(".json")

    def save(self) -> None:
        """Store the state of the batch, from which an interrupted run can be resumed."""
        names = ("server", "model", "task", "file_id", "id")
        reserved = [getattr(self.reserved, name) for name in Usage.__slots__]
        unfinished = self.state.with_suffix(".tmp")
        unfinished.unlink(missing_ok=True)
        with unfinished.open("x") as file:
            json.dump({name: getattr(self, name) for name in names} | {"reserved": reserved}, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.state)

    def keys(self) -> dict[str, int]:
        """Return the keys of its requests with the offset in bytes of each one's line."""
        offsets: dict[str, int] = {}
        at = 0
        with self.path.open("rb") as file:
            for line in file:
                offsets[line[KEY].decode("ascii", "replace")] = at
                at += len(line)
        self.requests = len(offsets)
        return offsets

    def remove(self) -> None:
        """Remove its files, and the folder if it is then empty."""
        self.path.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()


KEY = slice(15, 79)
"""Position of the key in the line of a request: after `{"custom_id": "`. A key has the 64 characters OpenAI allows."""


class Batches:
    """The batches of one run. Without `submit`, the run only waits for open batches and creates no new ones."""

    def __init__(
        self, sender: CachingSender, replies: ResponseCache, note: Callable[[str], None], *, submit: bool
    ) -> None:
        self._sender = sender
        self._replies = replies
        self._note = note
        self._submit = submit
        self._folder = replies.path.parent / FOLDER
        self._failure: ModelError | None = None
        self._open: dict[str, Batch] = {}
        """Batches that are being filled or not answered yet, by the keys of their requests."""
        self._filling: dict[tuple[str, str], Batch] = {}
        """Batches to which requests are being added, by model and task."""
        self._submitted: set[Batch] = set()
        self._used: set[str] = set()
        """Keys of requests that this run has a reply or a failure for; if sent again, they become ordinary calls."""
        self._first: dict[tuple[object, ...], str] = {}
        """The key of the first request of each form."""
        self._most_requests = MOST_REQUESTS
        self._added = 0
        self._works: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        for path in sorted(self._folder.glob("*.jsonl")):
            self._take_up(path)

    async def add(self, request: Request) -> None:
        """Add a request to a batch and raise Waiting; return if the request is to be an ordinary call.

        Raises:
            NotAccepted: the server does not accept a feature of the request.
            Unusable: nothing more can be asked; for example, there is no batch API, or the budget is reached.
        """
        if self._failure:
            raise self._failure
        if request.key not in self._open:
            if not self._submit or request.key in self._used or await self._is_first_of_form(request):
                self._used.add(request.key)
                return
            call = replace(self._sender.call_of(request), batched=True)
            self._replies.check_writable()
            await self._sender.budget.reserve(call)
            self._append(request, call)
        raise Waiting(self._open[request.key].answered)

    def is_first(self, key: str) -> bool:
        """Return whether a reply is used for the first time in this run: repeated work reads its replies again."""
        new = key not in self._used
        self._used.add(key)
        return new

    def stop(self, failure: ModelError) -> None:
        """End all waiting, since nothing more can be asked; submitted batches stay open."""
        self._failure = self._failure or failure
        for batch in {*self._filling.values(), *self._submitted}:
            batch.answered.set()

    async def aclose(self) -> None:
        """Stop checking batches; submitted ones stay open."""
        for work in self._works:
            work.cancel()
        await asyncio.gather(*self._works, return_exceptions=True)
        for batch in self._filling.values():
            if batch.file:
                batch.file.close()
            batch.remove()

    # Files of requests

    async def _is_first_of_form(self, request: Request) -> bool:
        """Return whether a request is the first of its form; a later one waits for the outcome of the first."""
        form = request.model, request.response_format, request.logit_bias is None
        if (first := self._first.setdefault(form, request.key)) == request.key:
            await self._client(request.model).call("GET", f"{BATCHES}?limit=1")
            return True
        if shown := self._sender.under_way.get(first):
            await asyncio.wait([shown])
        if self._failure:
            raise self._failure
        for feature in (request.response_format, "logit_bias" if request.logit_bias else "text"):
            if feature != "text" and self._sender.accepts(request.model, feature) is False:
                raise NotAccepted(f"{self._client(request.model).name} does not support {feature}", feature)
        return False

    def _client(self, model: str) -> HttpClient:
        return cast("HttpClient", self._sender.clients.of(model))

    def _append(self, request: Request, call: Call) -> None:
        """Write a request into the file of its model and task; if it is full, submit it and begin another."""
        asked = replace(request, max_tokens=call.cap) if call.cap else request
        body = self._client(request.model).chat_body(asked)
        row = {"custom_id": request.key, "method": "POST", "url": ENDPOINT, "body": body}
        line = json.dumps(row).encode() + b"\n"
        batch = self._filling.get((request.model, request.task))
        if batch and (batch.requests >= self._most_requests or batch.size + len(line) > MOST_BYTES):
            self._begin(batch)
            batch = None
        try:
            if batch is None:
                batch = self._filling[request.model, request.task] = self._new(request)
            assert batch.file is not None
            batch.file.write(line)
        except OSError as error:
            raise CacheFailed(f"requests cannot be stored in {self._folder} ({error.strerror})") from None
        batch.requests += 1
        batch.size += len(line)
        if self._sender.budget.limited:
            batch.reserved += call.most
        self._open[request.key] = batch
        self._added += 1
        if self._closing is None or self._closing.done():
            self._closing = self._work(self._begin_when_quiet())

    def _new(self, request: Request) -> Batch:
        self._folder.mkdir(exist_ok=True)
        numbers = (int(path.stem) for path in self._folder.glob("*.jsonl") if path.stem.isdecimal())
        path = self._folder / f"{max(numbers, default=0) + 1}.jsonl"
        server = self._sender.clients.endpoint(request.model).base_url
        return Batch(path, server, request.model, request.task, file=path.open("xb"))

    async def _begin_when_quiet(self) -> None:
        """Submit all files once no more requests arrive and no call is in progress that may lead to more."""
        added = -1
        while added != self._added or self._sender.calls_under_way:
            added = self._added
            await asyncio.sleep(QUIET)
        for batch in list(self._filling.values()):
            self._begin(batch)

    def _begin(self, batch: Batch) -> None:
        """Close a file and submit its batch in the background."""
        if batch.file:
            batch.file.close()
        self._filling.pop((batch.model, batch.task), None)
        self._submitted.add(batch)
        self._work(self._see_to(batch))

    def _work(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return task

    def _take_up(self, path: Path) -> None:
        """Resume a batch of an earlier run; remove a file of requests that were not submitted."""
        batch = Batch(path, "", "", "")
        if not batch.state.is_file() or not path.is_file():
            batch.remove()
            return
        try:
            row: dict[str, Any] = json.loads(batch.state.read_text())
            batch = replace(
                batch, **row | {"reserved": Usage(*row["reserved"])}, may_exist=True, resumed=True
            )
            if not batch.file_id:
                # otherwise a file that came with an index from elsewhere would be uploaded
                raise ValueError("it names no file")
            at = self._sender.clients.endpoint(batch.model).base_url
        except UsageError:  # its model is no longer configured
            return
        except (ValueError, LookupError, TypeError) as error:
            raise IndexDamaged(
                f"the state of a batch, {batch.state}, cannot be read ({error}): delete it to continue without it"
            ) from None
        if at == batch.server:
            self._open |= dict.fromkeys(batch.keys(), batch)
            self._sender.budget.add_reserved(batch.reserved)
            self._begin(batch)

    # A batch

    async def _see_to(self, batch: Batch) -> None:
        """Submit a file unless that was done, wait for its batch to end, and store the replies."""
        client = self._client(batch.model)
        try:
            if not batch.file_id:
                batch.file_id = await self._insist(partial(client.upload, batch.path))
                batch.save()
            if not batch.id:
                batch.id = await self._insist(partial(self._create, client, batch))
                batch.save()
            self._note(
                f"Batch {batch.id} ({task_label(batch.task)}): {counted(batch.requests, 'request')}."
                " It may take up to 24 hours; after Ctrl-C the same command continues with it."
            )
            await self._finish(client, batch, await self._end_of(client, batch))
        except Unusable as error:
            self.stop(error)
        except (ModelError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            # The last four arise if a response is not a batch, or a line is not a reply of one.
            self.stop(Unusable(f"the batch {batch.id or batch.path}: {error}; run it again to continue"))
        finally:
            batch.answered.set()

    async def _insist(self, act: Callable[[], Awaitable[R]]) -> R:
        """Return the result of `act`, which is repeated if it fails for a temporary reason."""
        backoff = Backoff("batch", self._sender.attempts, FIRST_BACKOFF)
        while True:
            try:
                return await act()
            except ModelError as error:
                if (pause := backoff.pause(error, answered=True)) is None:
                    raise
                log.info("%s; trying again.", error)
            await asyncio.sleep(pause)

    async def _create(self, client: HttpClient, batch: Batch) -> str:
        """Create a batch from an uploaded file and return its id; if it may exist already, look for it first."""
        after = ""
        while batch.may_exist:
            page = await client.call("GET", f"{BATCHES}?limit=100{after}")
            for row in page["data"]:
                if row["input_file_id"] == batch.file_id:
                    return str(row["id"])
                after = f"&after={quote(row['id'], safe='')}"
            batch.may_exist = bool(page["data"] and page.get("has_more"))
        batch.may_exist, batch.alone = True, not self._others(batch)
        body = {"input_file_id": batch.file_id, "endpoint": ENDPOINT, "completion_window": "24h"}
        return str((await client.call("POST", BATCHES, body))["id"])

    def _others(self, batch: Batch) -> list[Batch]:
        return [other for other in self._submitted if other is not batch and not other.ended]

    async def _end_of(self, client: HttpClient, batch: Batch) -> dict[str, Any]:
        """Check a batch until it has ended, and return the server's description of it."""
        pause, tenths = FIRST_POLL, 0
        while True:
            try:
                row = await self._insist(partial(client.call, "GET", f"{BATCHES}/{quote(batch.id, safe='')}"))
            except UnknownModel:
                return {"status": "unknown"}
            if row["status"] in ENDED:
                return row
            counts: Mapping[str, int] = row.get("request_counts") or {}
            done = counts.get("completed", 0) + counts.get("failed", 0)
            if 10 * done // batch.requests > tenths:
                tenths = 10 * done // batch.requests
                self._note(f"Batch {batch.id}: {done:,} of {batch.requests:,} requests are answered.")
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL)

    async def _finish(self, client: HttpClient, batch: Batch, row: Mapping[str, Any]) -> None:
        """Store the replies of a batch that has ended; its other requests may be added to the next batch.

        Raises Unusable if the server answered no request and ended the batch without completing it.
        """
        batch.ended = True
        offsets = batch.keys()
        answered = await self._store_replies(client, batch, row, dict(offsets))
        if row["status"] == "completed":
            self._used.update(offsets)  # requests without a reply are sent as ordinary calls
        for key in offsets:
            del self._open[key]
        self._sender.budget.add_reserved(NOTHING - batch.reserved)
        batch.remove()
        listed: dict[str, Any] = row.get("errors") or {}
        errors: list[dict[str, Any]] = listed.get("data") or []
        if any(error.get("code") == "token_limit_exceeded" for error in errors):  # of all open batches
            if not batch.alone:
                if others := self._others(batch):
                    await others[0].answered.wait()
                return
            if batch.requests > 1:
                self._most_requests = batch.requests // 2
                return
        if row["status"] == "completed" or answered or batch.resumed:
            return
        reasons = "; ".join(str(error.get("message")) for error in errors[:3])
        why = f" ({one_line(reasons, client.key)})" if reasons else ""
        raise Unusable(
            f"{client.name} answered no request of the batch {batch.id}, which is {row['status']}{why}: run"
            " again to resubmit them, or without llm.batch at the full price"
        )

    async def _store_replies(
        self, client: HttpClient, batch: Batch, row: Mapping[str, Any], offsets: dict[str, int]
    ) -> int:
        """Store the replies of a batch, and return the number of requests with a reply or a failure."""
        used = len(self._used)
        with batch.path.open("rb") as requests, TemporaryFile(dir=self._folder) as file:
            for name in ("output_file_id", "error_file_id"):
                if id_ := row.get(name):
                    await self._insist(partial(client.download, str(id_), file))
                    file.seek(0)
                    lines = iter(partial(file.readline, LONGEST_LINE), b"")
                    while some := list(islice(lines, LINES)):
                        await together(self._store_reply(client, batch, x, offsets, requests) for x in some)
        return len(self._used) - used

    async def _store_reply(
        self, client: HttpClient, batch: Batch, line: bytes, offsets: dict[str, int], requests: IO[bytes]
    ) -> None:
        """Store the reply in a line of a file of results, unless an interrupted run has stored it."""
        row: dict[str, Any] = json.loads(line)
        response: dict[str, Any] = row.get("response") or {}
        failure: dict[str, Any] = row.get("error") or {}
        if (offset := offsets.pop(row["custom_id"], None)) is None or failure.get("code") in UNCHARGED:
            return
        self._used.add(row["custom_id"])
        if self._replies.get(row["custom_id"]):
            return
        requests.seek(offset)
        body = json.loads(requests.readline())["body"]
        messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
        most: int | None = body.get("max_tokens", body.get("max_completion_tokens"))
        request = Request(messages, batch.model, most, task=batch.task)
        call = replace(self._sender.call_of(request), key=row["custom_id"], batched=True)
        call.started, call.cap = time.perf_counter(), most if self._sender.budget.limited else None
        try:
            if failure or response.get("status_code") != 200:
                text, _ = message_of(json.dumps(failure or response.get("body")))
                raise ServerFailed(one_line(text, client.key))
            reply = [piece async for piece in client.read(client.part_of(response["body"]), request)][-1]
            await self._sender.store(call, cast("Completion", reply), request)
            self._sender.budget.settle(call)
        except CallFailed as error:
            log.info("a request of the batch %s failed: %s", batch.id, error)


def open_batches(sender: CachingSender, settings: Settings, note: Callable[[str], None]) -> None:
    """Send calls in batches if the settings say so, and resume the batches of an interrupted run.

    Raises UsageError if a model is not called in OpenAI's format.
    """
    submit, replies = settings.llm.batch, sender.replies
    if replies is None or not (submit or (replies.path.parent / FOLDER).is_dir()):
        return
    for name in settings.language_models if submit else ():
        if type(sender.clients.of(name)) is not HttpClient:
            raise UsageError(f"{name} has no batch API in OpenAI's format: leave the setting llm.batch out")
    sender.batches = Batches(sender, replies, note, submit=submit)
