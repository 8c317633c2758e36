"""A simulated OpenAI-compatible server, for tests (in a thread) and benchmarks (in a process of its own).

It is deterministic: a reply depends on the messages alone (`simulated_replies`), a latency on the request,
a fault on the seed, the request and the number of its earlier attempts, so that a failed request may succeed
when it is repeated. It counts its requests.

    with SimulatedServer(Behaviour(errors=0.05)) as server:
        ... CachingSender(ModelSettings(base_url=server.url)) ...
        assert server.counts["asked again"] == 0

    python tests/simulated_server.py '{"latencies": [0.5]}'    # prints its address, then serves until stopped
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from typing import Any

from aiohttp import web

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from conspectus import tokens
from conspectus.models.llm.wire import vocabulary

try:
    import simulated_replies
except ImportError:  # collected by path, so that this folder is not in sys.path
    sys.path.insert(0, str(Path(__file__).parent))
    import simulated_replies

number = simulated_replies.number
Body = Mapping[str, Any]


@dataclass(frozen=True)
class Behaviour:
    """Configuration of the server. Faults are rates from 0 to 1, drawn anew for each attempt of a request."""

    seed: int = 0
    latencies: tuple[float, ...] = (0.0,)
    """Possible latencies in seconds; a hash of the request chooses one."""
    errors: float = 0.0
    """HTTP 500."""
    hangs: float = 0.0
    """No reply for `hang_seconds`."""
    drops: float = 0.0
    """The connection is closed: before the reply, or in the middle of a streamed one."""
    cuts: float = 0.0
    """The reply ends early, with `finish_reason` `length`."""
    malformed: float = 0.0
    """A JSON or tuple reply that cannot be read, with `finish_reason` `stop`."""
    garbage: float = 0.0
    """HTTP 200 with a body that is not JSON."""
    too_many: float = 0.0
    """HTTP 429 with a Retry-After of `retry_after`."""
    hang_seconds: float = 3600.0
    retry_after: float = 1.0
    retry_after_date: bool = False
    limit: int | None = None
    """Allowed requests in any `window` seconds; more get 429 with a correct Retry-After."""
    window: float = 1.0
    refuses: tuple[str, ...] = ()
    """Refused with a 400, of: json_schema, json_object, logit_bias, stream, temperature, seed, max_tokens."""
    never: tuple[str, ...] = ()
    """Requests whose messages contain one of these texts always fail."""
    filtered: tuple[str, ...] = ()
    """Requests whose messages contain one of these texts are refused by a content filter."""
    key: str | None = None
    models: tuple[str, ...] | None = None
    context_tokens: int | None = None
    dimension: int = 64
    thinking: bool = False
    """Whether replies begin with `<think>…</think>`."""
    keep_bodies: bool = False
    batches: bool = True
    """Whether there is a batch API; the faults cuts, malformed, refuses and errors apply to its requests."""
    batch_polls: int = 1
    """Number of polls for which a batch stays unfinished; -1: it never ends."""
    batch_expires: float = 0.0
    """Share of a batch's requests, from its end, that expire: 0.5 for the second half."""
    batch_ends: str = "completed"
    """Final status of batches; with `cancelled` and `failed`, no request is answered."""
    batch_error: str = "The file of requests cannot be used."
    """Error message of a batch that does not end as completed."""
    ids: str = ""
    """Prefix of the ids of files and batches."""
    batch_tokens: int | None = None
    """Limit of the characters of all open batches; above it, a new batch fails."""


class Refusal(Exception):
    """A reply with an HTTP error status."""

    def __init__(self, status: int, message: str, code: str = "", param: str = "", **headers: str) -> None:
        super().__init__(message)
        kind = "invalid_request_error" if status < 429 else "server_error"
        error = {"message": message, "type": kind, "code": code or None, "param": param or None}
        self.response = web.json_response({"error": error}, status=status, headers=headers)


class Service:
    """The state and the request handlers of the server."""

    def __init__(self, behaviour: Behaviour, reply: Callable[..., str] = simulated_replies.reply_to) -> None:
        self.behaviour = behaviour
        self.counts: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        """Number of times that each request was received, by its hash."""
        self.answered: Counter[str] = Counter()
        """Number of times that each request was answered without a fault, by its hash."""
        self.bodies: list[Body] = []
        self.heads: list[tuple[str, dict[str, str]]] = []
        """Path and headers of each request in `bodies`."""
        self.under_way = self.most_under_way = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.latency_seconds = 0.0
        """Sum of the intended latencies of all answered requests."""
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self._reply = reply
        self._recent: deque[float] = deque()

    def application(self) -> web.Application:
        application = web.Application(client_max_size=2**28)
        for prefix in ("/v1", "/openai/v1", ""):
            application.router.add_post(f"{prefix}/chat/completions", self._serving(self.chat))
            application.router.add_post(f"{prefix}/embeddings", self._serving(self.embeddings))
            application.router.add_post(f"{prefix}/rerank", self._serving(self.rerank))
        application.router.add_post("/api/chat", self._serving(self.ollama_chat))
        application.router.add_post("/api/embed", self._serving(self.ollama_embed))
        application.router.add_get("/counts", self.tell)
        if self.behaviour.batches:
            application.router.add_post("/v1/files", self.upload)
            application.router.add_get("/v1/files/{id}/content", self.content)
            application.router.add_post("/v1/batches", self.create_batch)
            application.router.add_get("/v1/batches", self.list_batches)
            application.router.add_get("/v1/batches/{id}", self.batch)
        return application

    def _serving(self, handler: Callable[[web.Request, Body, str], Any]) -> Callable[[web.Request], Any]:
        async def serve(request: web.Request) -> web.StreamResponse:
            arrived = time.monotonic()
            await asyncio.sleep(0)  # so that the arrival time of waiting requests is noted before work begins
            body: Body = json.loads(await request.read())
            key = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
            answered = self.answered[key]
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                self._count(key, body)
                if self.behaviour.keep_bodies:
                    self.heads.append((request.path, dict(request.headers)))
                self._check(request, body, key)
                if self._draws("hangs", key):
                    self.counts["hung"] += 1
                    await asyncio.sleep(self.behaviour.hang_seconds)
                if self._draws("drops", key) and not body.get("stream"):
                    self.counts["dropped"] += 1
                    assert request.transport is not None
                    request.transport.abort()
                    return web.Response()
                latency = self._latency(key)
                self.latency_seconds += latency
                due = arrived + latency
                if body.get("stream"):
                    await asyncio.sleep(due - time.monotonic())
                response = await handler(request, body, key)
                await asyncio.sleep(due - time.monotonic())  # the handler's own work is part of the latency
                return response
            except Refusal as refusal:
                self.counts[str(refusal.response.status)] += 1
                return refusal.response
            except asyncio.CancelledError:  # the client has disconnected
                self.answered[key] = answered
                raise
            finally:
                self.under_way -= 1

        return serve

    def _count(self, key: str, body: Body) -> None:
        self.counts["requests"] += 1
        self.counts["asked again"] += self.answered[key] > 0
        other = "rerank" if "query" in body else "embeddings"
        self.counts[simulated_replies.task_of(body["messages"]) if "messages" in body else other] += 1
        self.asked[key] += 1
        if self.behaviour.keep_bodies:
            self.bodies.append(body)

    def _draws(self, fault: str, key: str) -> bool:
        rate = getattr(self.behaviour, fault)
        return rate > 0 and number(self.behaviour.seed, fault, key, self.asked[key]) % 10**6 < rate * 10**6

    def _check(self, request: web.Request, body: Body, key: str) -> None:
        is_, text = self.behaviour, json.dumps(body.get("messages", body.get("input")), ensure_ascii=False)
        given = request.headers.get("api-key") or request.headers.get(
            "Authorization", "nothing"
        ).removeprefix("Bearer ")
        if is_.key and given != is_.key:
            raise Refusal(401, f"Incorrect API key provided: {given}.", "invalid_api_key")
        if is_.models is not None and body["model"] not in is_.models:
            raise Refusal(404, f"The model `{body['model']}` does not exist", "model_not_found")
        if is_.limit is not None:
            self._hold_to_limit(is_.limit, is_.window)
        if self._draws("too_many", key):
            raise self._too_many(is_.retry_after)
        self._refuse(body)
        if any(mark in text for mark in is_.filtered):
            raise Refusal(400, "The response was filtered", "content_filter")
        if is_.context_tokens is not None and (count := prompt_tokens(body)) > is_.context_tokens:
            most = f"This model's maximum context length is {is_.context_tokens} tokens."
            raise Refusal(
                400, f"{most} However, you requested {count}.", "context_length_exceeded", "messages"
            )
        if self._draws("errors", key) or any(mark in text for mark in is_.never):
            raise Refusal(500, "The server had an error while processing your request.")

    def _refuse(self, body: Body) -> None:
        kind = _format(body)
        refuses = self.behaviour.refuses
        if kind in refuses:
            said = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
            raise Refusal(400, said, param="response_format")
        for name in ("logit_bias", "stream", "temperature", "seed"):
            if name in refuses and body.get(name) is not None:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                raise Refusal(400, said, "unsupported_parameter", name)
        if "max_tokens" in refuses and "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model."
            raise Refusal(
                400, f"{said} Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens"
            )

    def _hold_to_limit(self, limit: int, window: float) -> None:
        now = time.monotonic()
        while self._recent and self._recent[0] <= now - window:
            self._recent.popleft()
        if len(self._recent) >= limit:
            raise self._too_many(self._recent[0] + window - now)
        self._recent.append(now)

    def _too_many(self, seconds: float) -> Refusal:
        dated = formatdate(math.ceil(time.time() + seconds), usegmt=True)
        wait = {"Retry-After": dated if self.behaviour.retry_after_date else f"{seconds:.3f}"}
        return Refusal(429, "Rate limit reached for requests", "rate_limit_exceeded", **wait)

    def _latency(self, key: str) -> float:
        latencies = self.behaviour.latencies
        return latencies[number("latency", key) % len(latencies)]

    def _said(self, body: Body, key: str, schema: Any, name: str) -> tuple[str, str]:
        """Return the text of the reply and its finish reason, with the faults drawn for it."""
        text = self._reply(body["messages"], schema, name)
        if text[:1] not in "{[" and (_format(body) == "json_object" or body.get("format") == "json"):
            text = json.dumps({"reply": text}, ensure_ascii=False)
        limit = body.get("max_tokens") or body.get("max_completion_tokens")
        if limit and tokens.count(text) >= limit:  # at the limit, no server can tell if it is complete
            self.answered[key] += tokens.count(text) == limit
            return tokens.encoding().decode(tokens.encoding().encode(text)[:limit]) or "", "length"
        if self._draws("cuts", key) and len(text) > 20:
            self.counts["cut"] += 1
            return text[: len(text) * 6 // 10], "length"
        if self._draws("malformed", key) and text[:1] in "{(":
            self.counts["malformed"] += 1
            return text[: len(text) * 7 // 10] + "\n\n[and so on]", "stop"
        self.answered[key] += 1
        return f"<think>\nWhat is asked?\n</think>\n\n{text}" if self.behaviour.thinking else text, "stop"

    async def chat(self, request: web.Request, body: Body, key: str) -> web.StreamResponse:
        if self._draws("garbage", key):
            return web.Response(text="<html>Bad gateway, says the proxy</html>", content_type="text/html")
        if body.get("stream"):
            text, reason, usage = self._answered(body, key)
            head = {"id": f"chatcmpl-{key[:12]}", "created": 0, "model": body["model"]}
            return await self._stream(request, key, head, text, reason, usage)
        return web.json_response(self._completion(body, key))

    def _answered(self, body: Body, key: str) -> tuple[str, str, dict[str, int]]:
        wanted = body.get("response_format", {}).get("json_schema", {})
        text, reason = self._said(body, key, wanted.get("schema"), wanted.get("name", ""))
        return text, reason, self._usage(body, text)

    def _completion(self, body: Body, key: str) -> dict[str, Any]:
        text, reason, usage = self._answered(body, key)
        head = {"id": f"chatcmpl-{key[:12]}", "created": 0, "model": body["model"]}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

    async def _stream(
        self, request: web.Request, key: str, head: Body, text: str, reason: str, usage: Body
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def event(choices: Sequence[Body], **more: Any) -> None:
            data = json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, **more})
            await response.write(f"data: {data}\n\n".encode())

        drop = self._draws("drops", key)
        pieces = [text[n : n + 12] for n in range(0, len(text), 12)]
        for n, piece in enumerate(pieces):
            if drop and n >= len(pieces) / 2 and request.transport:
                self.counts["dropped"] += 1
                self.answered[key] -= 1
                request.transport.abort()
                return response
            await event([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        await event([{"index": 0, "delta": {}, "finish_reason": reason}])
        await event([], usage=usage)
        await response.write(b"data: [DONE]\n\n")
        return response

    def _usage(self, body: Body, text: str) -> dict[str, int]:
        asked, written = prompt_tokens(body), tokens.count(text, vocabulary(body["model"]))
        self.prompt_tokens += asked
        self.completion_tokens += written
        return {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}

    async def embeddings(self, _: web.Request, body: Body, key: str) -> web.StreamResponse:
        rows = [{"index": n, "embedding": self.vector(text)} for n, text in enumerate(body["input"])]
        used = sum(tokens.count(text) for text in body["input"])
        self.answered[key] += 1
        self.prompt_tokens += used
        return web.json_response(
            {"object": "list", "model": body["model"], "data": rows, "usage": {"prompt_tokens": used}}
        )

    async def rerank(self, _: web.Request, body: Body, key: str) -> web.StreamResponse:
        """Score each passage by the share of the question's words in it; reply in another order than requested."""
        asked = set(simulated_replies.words(body["query"].lower()))
        held = [
            len(asked & set(simulated_replies.words(text.lower()))) / len(asked) for text in body["documents"]
        ]
        used = sum(tokens.count(text) for text in (body["query"], *body["documents"]))
        self.answered[key] += 1
        self.prompt_tokens += used
        places = sorted(range(len(held)), key=lambda place: (-held[place], place))
        rows = [{"index": place, "relevance_score": held[place]} for place in places]
        return web.json_response({"results": rows, "usage": {"total_tokens": used}})

    # The batch API

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        sent: Any = form["file"]
        assert form["purpose"] == "batch"
        return web.json_response({"id": self._file(sent.file.read()), "object": "file", "purpose": "batch"})

    def _file(self, content: bytes) -> str:
        id_ = f"{self.behaviour.ids}file-{len(self.files) + 1}"
        self.files[id_] = content
        return id_

    async def content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]])

    async def create_batch(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = self.files[body["input_file_id"]].splitlines()
        id_ = f"{self.behaviour.ids}batch_{len(self.batches) + 1}"
        counts = {"total": len(lines), "completed": 0, "failed": 0}
        row = {
            "id": id_,
            "input_file_id": body["input_file_id"],
            "status": "in_progress",
            "request_counts": counts,
        }
        opened = [b["input_file_id"] for b in self.batches.values() if b["status"] == "in_progress"]
        size = sum(len(self.files[file]) for file in (*opened, body["input_file_id"]))
        if self.behaviour.batch_tokens is not None and size > self.behaviour.batch_tokens:
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached for simulated."}
            row |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
        self.batches[id_] = row | {"polls": 0, "open before": len(opened)}
        return web.json_response(self.batches[id_])

    async def list_batches(self, request: web.Request) -> web.Response:
        rows = list(self.batches.values())[::-1]
        after = request.query.get("after")
        start = next((n for n, row in enumerate(rows, 1) if row["id"] == after), 0)
        end = start + int(request.query["limit"])
        return web.json_response({"object": "list", "data": rows[start:end], "has_more": end < len(rows)})

    async def batch(self, request: web.Request) -> web.Response:
        row = self.batches.get(request.match_info["id"])
        if row is None:
            error = {"message": f"No batch found with id '{request.match_info['id']}'."}
            return web.json_response({"error": error}, status=404)
        row["polls"] += 1
        if row["status"] == "in_progress" and 0 <= self.behaviour.batch_polls < row["polls"]:
            self._end_batch(row)
        return web.json_response(row)

    def _end_batch(self, row: dict[str, Any]) -> None:
        """Answer the requests of a batch that do not fail or expire, in another order than theirs."""
        row["status"] = self.behaviour.batch_ends
        if row["status"] in ("cancelled", "failed"):
            error = {"code": "invalid_file", "message": self.behaviour.batch_error}
            row["errors"] = {"object": "list", "data": [error]}
            return
        asked = [json.loads(line) for line in self.files[row["input_file_id"]].splitlines()]
        left = math.ceil(len(asked) * (1 - self.behaviour.batch_expires))
        results: list[dict[str, Any]] = [self._batched(line) for line in asked[:left]]
        if left < len(asked):
            row["status"] = "expired"
            error = {
                "code": "batch_expired",
                "message": "The batch expired before this request was executed.",
            }
            results += [
                {"custom_id": line["custom_id"], "response": None, "error": error} for line in asked[left:]
            ]
        good = [r for r in results if (r["response"] or {}).get("status_code") == 200]
        bad = [r for r in results if r not in good]
        row["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                row[name] = self._file(b"\n".join(json.dumps(r).encode() for r in rows[::-1]) + b"\n")

    def _batched(self, line: Mapping[str, Any]) -> dict[str, Any]:
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        body: Body = line["body"]
        key = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.counts["batched"] += 1
        self._count(key, body)
        try:
            self._refuse(body)
            if self._draws("errors", key):
                raise Refusal(500, "The server had an error while processing your request.")
            status, reply = 200, self._completion(body, key)
        except Refusal as refusal:
            status, reply = refusal.response.status, json.loads(refusal.response.text or "")
        response = {"status_code": status, "request_id": key[:12], "body": reply}
        return {
            "id": f"batch_req_{key[:12]}",
            "custom_id": line["custom_id"],
            "response": response,
            "error": None,
        }

    def vector(self, text: str) -> list[float]:
        """Return the normalised sum of the vectors of a text's words, so that similar texts have similar vectors."""
        total = [0.0] * self.behaviour.dimension
        for word in simulated_replies.words(text.lower()) or [text]:
            draw = random.Random(number("word", word))
            total = [value + draw.gauss(0, 1) for value in total]
        length = math.sqrt(sum(value * value for value in total)) or 1.0
        return [round(value / length, 6) for value in total]

    async def ollama_chat(self, request: web.Request, body: Body, key: str) -> web.StreamResponse:
        schema = body.get("format") if isinstance(body.get("format"), dict) else None
        options = {**body, "max_tokens": body.get("options", {}).get("num_predict")}
        text, reason = self._said(options, key, schema, "")
        usage = self._usage(body, text)
        counts = {"prompt_eval_count": usage["prompt_tokens"], "eval_count": usage["completion_tokens"]}
        whole = {"model": body["model"], "done": True, "done_reason": reason, **counts}
        if not body.get("stream"):
            return web.json_response({**whole, "message": {"role": "assistant", "content": text}})
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for n in range(0, len(text), 12):
            piece = {"message": {"role": "assistant", "content": text[n : n + 12]}, "done": False}
            await response.write(json.dumps(piece).encode() + b"\n")
        await response.write(
            json.dumps({**whole, "message": {"role": "assistant", "content": ""}}).encode() + b"\n"
        )
        return response

    async def ollama_embed(self, _: web.Request, body: Body, key: str) -> web.StreamResponse:
        self.answered[key] += 1
        used = sum(tokens.count(text) for text in body["input"])
        return web.json_response(
            {"embeddings": [self.vector(t) for t in body["input"]], "prompt_eval_count": used}
        )

    async def tell(self, _: web.Request) -> web.Response:
        return web.json_response(self.told())

    def told(self) -> dict[str, Any]:
        """Return the counts by task, status and fault; `asked again` counts requests that were answered before."""
        books = {"most under way": self.most_under_way, "prompt tokens": self.prompt_tokens}
        return {
            **self.counts,
            **books,
            "completion tokens": self.completion_tokens,
            "different": len(self.asked),
            "latency seconds": self.latency_seconds,
        }


def _format(body: Body) -> str:
    """Return the requested format of the reply: `json_schema`, `json_object`, or nothing."""
    return body.get("response_format", {}).get("type", "")


def prompt_tokens(body: Body) -> int:
    """Return the number of tokens of a request, including the schema of its format."""
    name = vocabulary(body["model"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    texts = [m["content"] for m in body["messages"]] if "messages" in body else list(body.get("input", ()))
    return (
        sum(tokens.count(t, name) + 4 for t in texts)
        + 3
        + (tokens.count(json.dumps(schema), name) if schema else 0)
    )


class SimulatedServer(Service):
    """Context manager that runs the server in a thread; `url` is the address to use as base_url."""

    def __init__(
        self, behaviour: Behaviour, reply: Callable[..., str] = simulated_replies.reply_to, port: int = 0
    ) -> None:
        super().__init__(behaviour, reply)
        self.port = port

    def __enter__(self) -> SimulatedServer:
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(60), "the simulated server did not start"
        return self

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(started))
        self._loop.close()

    async def _serve(self, started: threading.Event) -> None:
        runner, self.port = await listen(self, self.port)
        started.set()
        await self._ended.wait()
        await runner.cleanup()

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has already stopped
            self.stop()
        self._thread.join(10)

    def stop(self) -> None:
        """Stop at once: break connections and accept no more. A second call changes nothing."""
        self._loop.call_soon_threadsafe(self._ended.set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


async def listen(service: Service, port: int = 0) -> tuple[web.AppRunner, int]:
    """Serve on this machine, on a given or any free port; return the runner, which stops the server, and the port."""
    runner = web.AppRunner(
        service.application(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=512)
    await site.start()
    return runner, runner.addresses[0][1]


@contextmanager
def in_a_process(behaviour: Behaviour) -> Iterator[str]:
    """Run the server in a separate process, so that its work is not measured as ours; yield its address."""
    arguments = [sys.executable, str(Path(__file__)), json.dumps(asdict(behaviour))]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    given: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    lists: dict[str, Any] = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}

    for name in tokens.NAMES:  # load the vocabularies before the first request
        tokens.count("ready", name)

    async def serve() -> None:
        _, port = await listen(Service(Behaviour(**{**given, **lists})))
        print(f"http://127.0.0.1:{port}/v1", flush=True)
        await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
