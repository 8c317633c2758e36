"""Clients, one for each model: a client sends a request (to servers, over aiohttp) and returns a reply or an error."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, TypeVar, cast
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from conspectus import tokens
from conspectus.errors import (
    BadKey,
    CallFailed,
    ContextTooLong,
    NotAccepted,
    Refused,
    ServerFailed,
    TimedOut,
    Unusable,
)
from conspectus.models.llm.adapters import Client, FunctionClient, NativeClient
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.providers import (
    Endpoint,
    error_of_response,
    find_endpoint,
    find_reranker,
    redact,
    remedy,
    unreachable,
)
from conspectus.models.llm.wire import (
    Feature,
    Part,
    Request,
    dropped_parameter,
    ollama_body,
    openai_body,
    prompt_tokens,
)
from conspectus.settings import ModelSettings

T = TypeVar("T")
CONNECT_SECONDS = 10.0  # servers that answer do so within 1 second
LONGEST_REPLY = 1 << 20
"""Maximum characters of a reply: twice the length of 128,000 tokens, more than any model writes."""
LONGEST_TOKEN = 32
"""Maximum characters per token, if a maximum of tokens is stated: a longer reply ignores it. English has 4 to 5 on
average. 30 tokens are added to the maximum, since the few tokens of a short reply may all be long."""
LARGEST_BODY = 1 << 26
"""Maximum bytes of a response: 200,000 events of 300 bytes, one per token, or 1,000 vectors of 3,000 numbers."""
LARGEST_FILE = 1 << 32
"""Maximum bytes of the replies of a batch: 50,000 of 80 kB, three times the length of a long report."""
BATCHES, FILES = "/batches", "/files"


class HttpClient(Client):
    """A client of one model in OpenAI's wire format, or of one reranker.

    For a malformed response, the methods that read it raise LookupError, TypeError, ValueError or AttributeError, which
    `_read` turns into ServerFailed.
    """

    chat_path, embed_path = "/chat/completions", "/embeddings"

    def __init__(self, endpoint: Endpoint, session: aiohttp.ClientSession, timeout: float) -> None:
        super().__init__(endpoint.server, endpoint.key)
        self._endpoint = endpoint
        self._session = session
        self._timeout = timeout
        self._dropped: set[str] = {"max_tokens", "temperature"} if endpoint.reasoning else set()
        scheme, _, rest = endpoint.base_url.partition("://")
        host = rest.partition("/")[0].rpartition("@")[2]
        # The proxy in the environment is looked up once, not for every call.
        self._proxy = None if proxy_bypass(host) else getproxies().get(scheme)

    async def parts(self, request: Request, *, stream: bool) -> AsyncIterator[Part]:
        """Yield the reply; an optional parameter that the server refuses is omitted from this request on."""
        while True:
            body = self.chat_body(request, stream=stream)
            try:
                async with self._exchange(
                    "POST", self.chat_path, _encoded(body), request, streamed=stream
                ) as response:
                    lines = self._lines(response) if stream else self._body(response)
                    ended, length = not stream, 0
                    async for line in lines:
                        part = self._read(line, self._read_line if stream else self._read_reply)
                        if part is not None:
                            length += len(part.text)
                            self._check_length(length, request.max_tokens)
                            ended = ended or bool(part.finish_reason)
                            yield part
                    if not ended:
                        raise ServerFailed(f"{self.name} ended a streamed reply before it was whole")
                    return
            except Refused as refusal:
                spare = None if isinstance(refusal, NotAccepted) else dropped_parameter(str(refusal), body)
                if spare is None:
                    raise
                self._dropped.add(spare)

    def _check_length(self, length: int, most_tokens: int | None) -> None:
        """Raise CallFailed if a reply exceeds its maximum length: the server might never end it."""
        most = (
            LONGEST_REPLY if most_tokens is None else min(LONGEST_REPLY, LONGEST_TOKEN * (most_tokens + 30))
        )
        if length > most:
            asked = "" if most_tokens is None else f", where {most_tokens:,} tokens were asked for"
            raise _too_long(f"{self.name} sent a reply of more than {most:,} characters{asked}")

    async def _body(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """Yield the body of a response, in one piece; raise CallFailed if it is too large."""
        body = bytearray()
        async for data in response.content.iter_any():
            body += data
            if len(body) > LARGEST_BODY:
                raise _too_long(f"{self.name} sent more than {LARGEST_BODY:,} bytes")
        yield bytes(body)

    async def _lines(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """Yield the lines of a response; raise CallFailed if one line, or all of them together, are too large."""
        size = 0
        try:
            async for line in response.content:
                size += len(line)
                if size > LARGEST_BODY:
                    raise _too_long(f"{self.name} sent more than {LARGEST_BODY:,} bytes")
                yield line
        except (ValueError, LineTooLong):  # more than half a megabyte
            raise _too_long(f"{self.name} sent a line of a stream that is too long") from None

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        async with self._exchange("POST", self.embed_path, _encoded(self._embed_body(texts))) as response:
            vectors, used = self._read(await anext(self._body(response)), self._read_vectors)
        if len(vectors) != len(texts):
            raise ServerFailed(f"{self.name} sent {len(vectors)} vectors for {len(texts)} texts")
        return vectors, sum(map(tokens.count, texts)) if used is None else used

    async def rerank(self, question: str, passages: Sequence[str]) -> tuple[list[float], int]:
        """Return a score for each passage, and the tokens used, in the wire format of Cohere, Jina and vLLM."""
        body = {"query": question, "documents": list(passages), "top_n": len(passages)}
        if self._endpoint.model:
            body["model"] = self._endpoint.model
        async with self._exchange("POST", "/rerank", _encoded(body)) as response:
            scores, used = self._read(await anext(self._body(response)), _read_scores)
        if missing := [position for position in range(len(passages)) if position not in scores]:
            raise ServerFailed(f"{self.name} sent no score for some passages ({missing[0]})")
        counted = used or sum(map(tokens.count, (question, *passages)))
        return [scores[position] for position in range(len(passages))], counted

    # Batches

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the server's JSON reply to a request about batches: one of them, a list of them, or a new one."""
        async with self._exchange(method, path, _encoded(body) if body else None) as response:
            return self._read(await anext(self._body(response)), self._read_state)

    async def upload(self, path: Path) -> str:
        """Upload a file of requests and return its id."""
        with path.open("rb") as file:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", file, filename="requests.jsonl")
            async with self._exchange("POST", FILES, form, streamed=True) as response:
                data = await anext(self._body(response))
                return self._read(data, lambda data: str(self._read_state(data)["id"]))

    async def download(self, id_: str, file: IO[bytes]) -> None:
        """Download a file from the server into a local file; raise CallFailed if it is too large."""
        path = f"{FILES}/{quote(id_, safe='')}/content"
        async with self._exchange("GET", path, streamed=True) as response:
            file.seek(0)
            async for data in response.content.iter_any():
                if file.tell() + len(data) > LARGEST_FILE:
                    raise _too_long(f"{self.name} sent more than {LARGEST_FILE:,} bytes")
                file.write(data)
            file.truncate()

    async def part_of(self, reply: Any) -> AsyncIterator[Part]:
        """Yield a reply of a batch as one part, for `read`."""
        yield self._read(json.dumps(reply).encode(), self._read_reply)

    # Any exchange

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        path: str,
        data: bytes | aiohttp.FormData | None = None,
        request: Request | None = None,
        *,
        streamed: bool = False,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a body and provide the response; raise a ModelError for a status other than 200 or a failed connection.

        If `streamed`, the timeout applies to each read instead of the whole exchange.
        """
        kind = {"Content-Type": "application/json"} if isinstance(data, bytes) else {}
        timeout = aiohttp.ClientTimeout(
            total=None if streamed else self._timeout,
            sock_connect=min(CONNECT_SECONDS, self._timeout),
            sock_read=self._timeout if streamed else None,
        )
        try:
            async with self._session.request(
                method,
                self._endpoint.base_url + path,
                data=data,
                headers=kind | self._endpoint.headers,
                allow_redirects=False,
                proxy=self._proxy,
                timeout=timeout,
            ) as response:
                if response.status in (404, 405, 501) and path.partition("?")[0] in (BATCHES, FILES):
                    raise Unusable(
                        f"{self.name} has no batch API (HTTP {response.status}): leave the setting llm.batch out"
                    )
                if response.status != 200:
                    text = (await anext(self._body(response))).decode("utf-8", "replace")
                    raise error_of_response(
                        response.status, response.headers, text, self._endpoint, request, streamed=streamed
                    )
                yield response
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise unreachable(self._endpoint, str(getattr(error, "os_error", None) or error)) from None
        except TimeoutError:
            slow = "llm.timeout; for a slow server, lower llm.concurrency"
            raise TimedOut(f"{self.name} sent no reply within {self._timeout:g} seconds ({slow})") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _charged(f"{self.name} broke the connection ({type(error).__name__})") from None

    def _read(self, data: bytes, read: Callable[[bytes], T]) -> T:
        try:
            return read(data)
        except (ValueError, LookupError, TypeError, AttributeError):
            start = redact(" ".join(data[:120].decode("utf-8", "replace").split()), self.key)
            raise _charged(f"{self.name} sent an invalid reply ({start!r})") from None

    def _read_state(self, data: bytes) -> dict[str, Any]:
        """Return a server's JSON about a batch or a file, with the key removed, since its ids are stored and shown."""
        key = (self.key or "").encode()
        return {**json.loads(data.replace(key, b"[key]") if key else data)}

    def chat_body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        """Return the body of a request in the format of the server."""
        return openai_body(request, self._endpoint.model, self._dropped, stream=stream)

    def _read_reply(self, data: bytes) -> Part:
        reply: Any = json.loads(data)
        choice: Any = reply["choices"][0]
        return _part(choice, choice["message"], reply.get("usage"))

    def _read_line(self, line: bytes) -> Part | None:
        """Return the part in a line of a stream, None if the line contains none."""
        if not line.startswith(b"data:") or (data := line[5:].strip()) == b"[DONE]":
            return None
        event: Any = json.loads(data)
        if event.get("error"):
            raise LookupError(str(event["error"]))
        choices: list[Any] = event.get("choices") or [{}]
        return _part(choices[0], choices[0].get("delta") or {}, event.get("usage"))

    def _embed_body(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"}

    def _read_vectors(self, data: bytes) -> tuple[list[list[float]], int | None]:
        reply: Any = json.loads(data)
        rows = sorted(reply["data"], key=lambda row: row["index"])
        usage: Any = reply.get("usage") or {}
        return [row["embedding"] for row in rows], usage.get("prompt_tokens")


class OllamaClient(HttpClient):
    """A client of one model in Ollama's own format."""

    chat_path, embed_path = "/api/chat", "/api/embed"

    def __init__(
        self, endpoint: Endpoint, session: aiohttp.ClientSession, timeout: float, context_window: int
    ) -> None:
        super().__init__(endpoint, session, timeout)
        self._window = context_window

    def chat_body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        """Return the body; raise ContextTooLong for a prompt that a server without `truncate` would shorten."""
        long = sum(len(m.content) for m in request.messages) >= self._window // 2
        if long and (count := prompt_tokens(request)) > self._window:
            raise ContextTooLong(
                f"the request has {count} tokens, and {self._endpoint.model} is run with a context"
                f" of {self._window}; raise llm.context_window or {remedy(request)}"
            )
        return ollama_body(request, self._endpoint.model, self._window, self._dropped, stream=stream)

    def _read_reply(self, data: bytes) -> Part:
        reply: Any = json.loads(data)
        if "error" in reply:
            raise LookupError(str(reply["error"]))
        return Part(
            reply["message"].get("content") or "",
            reply.get("done_reason") or ("stop" if reply.get("done") else ""),
            reply.get("prompt_eval_count"),
            reply.get("eval_count"),
        )

    def _read_line(self, line: bytes) -> Part | None:
        return self._read_reply(line) if line.strip() else None

    def _embed_body(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self._endpoint.model, "input": list(texts), "truncate": False}

    def _read_vectors(self, data: bytes) -> tuple[list[list[float]], int | None]:
        reply: Any = json.loads(data)
        return reply["embeddings"], reply.get("prompt_eval_count")


def _part(choice: Any, message: Any, usage: Any) -> Part:
    usage = usage or {}
    return Part(
        message.get("content") or "",
        choice.get("finish_reason") or "",
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        message.get("refusal") or "",
    )


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _charged(message: str) -> ServerFailed:
    error = ServerFailed(message)
    error.charged = True  # the server may have computed a reply, and charge it
    return error


def _too_long(message: str) -> CallFailed:
    error = CallFailed(f"{message}: it was dropped; check that the server respects llm.max_tokens")
    error.charged = True
    return error


def _read_scores(data: bytes) -> tuple[dict[int, float], int]:
    """Return the scores of passages by their positions, and the number of tokens in the reply (0 if it has none)."""
    reply: Any = json.loads(data)
    scores = {int(row["index"]): float(row["relevance_score"]) for row in reply["results"]}
    usage: Any = reply.get("usage") or {}
    return scores, int(usage.get("total_tokens") or 0)


class Clients:
    """Clients by model name, opened when first used, and the features that their servers are known to refuse."""

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        environ: Mapping[str, str],
        embedder: str = "",
    ) -> None:
        self.answered: set[str] = set()
        """Addresses of servers that have answered in this run."""
        self._settings = settings
        self._replies = replies
        self._environ = environ
        self._embedder = embedder
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Client] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._refused = replies.refused() if replies is not None else set[tuple[str, str, str]]()

    def endpoint(self, model: str) -> Endpoint:
        """Return the endpoint of a model; raise UsageError if no server is known for its name."""
        if model not in self._endpoints:
            own = self._settings.embedder_base_url if model == self._embedder else ""
            self._endpoints[model] = find_endpoint(model, own or self._settings.base_url, self._environ)
        return self._endpoints[model]

    def of(self, model: str) -> Client:
        """Return the client of a model.

        Raises:
            UsageError: no server is known for the name, or it needs an extra that is not installed.
            BadKey: the model's service requires a key, and none is set.
        """
        if model not in self._clients:
            self._clients[model] = self._open(self.endpoint(model), model)
        return self._clients[model]

    def reranker(self, model: str) -> HttpClient:
        """Return the client of a reranker; raises what `of` raises."""
        if model not in self._clients:
            self._endpoints[model] = find_reranker(model, self._environ)
        return cast("HttpClient", self.of(model))

    def _open(self, endpoint: Endpoint, model: str) -> Client:
        settings, dialect = self._settings, endpoint.preset.dialect
        if dialect == "function":
            return FunctionClient(model, settings.timeout, settings.concurrency)
        if dialect == "native":
            return NativeClient(endpoint, settings.timeout)
        if endpoint.lacks_key:
            raise BadKey(f"{model} needs a key: set {endpoint.key_variable}")
        if self._session is None:  # one session for the run, with any number of connections
            # Servers close idle connections after five seconds.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4.0)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        if dialect == "ollama":
            return OllamaClient(endpoint, self._session, settings.timeout, settings.context_window)
        return HttpClient(endpoint, self._session, settings.timeout)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return False if a model's server is known to refuse a feature, else None."""
        endpoint = self.endpoint(model)
        refused = (
            endpoint.server,
            model,
            feature,
        ) in self._refused or feature not in endpoint.preset.features.split()
        return False if refused else None

    async def refuse(self, model: str, feature: Feature) -> None:
        """Record that a model's server does not accept a feature, for later runs on the same index too."""
        server = self.endpoint(model).server
        if (server, model, feature) not in self._refused:
            self._refused.add((server, model, feature))
            if self._replies is not None:
                await self._replies.refuse(server, model, feature)

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
