"""Clients of models, one each, over aiohttp where there is a server: a request out, a reply or an error back."""

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
CONNECT_SECONDS = 10.0  # an address that answers at all does so in 1
LONGEST_REPLY = 1 << 20
"""Characters of a reply at the most: twice what 128,000 tokens take, more than any model writes."""
LONGEST_TOKEN = 32
"""Characters of a token at the most, where a maximum of tokens is stated: a longer reply ignores it. English has 4 to
5 on average; of less than 30 tokens any may be long."""
LARGEST_BODY = 1 << 26
"""Bytes of a response at the most: 200,000 events of 300 bytes, one a token, or 1,000 vectors of 3,000 numbers."""
LARGEST_FILE = 1 << 32
"""Bytes of the replies of a batch at the most: 50,000 of 80 kB, three times as long as a long report."""
BATCHES, FILES = "/batches", "/files"


class HttpClient(Client):
    """A client of one model in OpenAI's wire format, or of one reranker.

    What comes back and does not fit raises LookupError, TypeError, ValueError or AttributeError in the methods that
    read it, of which `_read` makes an error of ours.
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
        # What the environment names is looked up once, not for every call.
        self._proxy = None if proxy_bypass(host) else getproxies().get(scheme)

    async def parts(self, request: Request, *, stream: bool) -> AsyncIterator[Part]:
        """Yield the reply; a parameter that the server refuses, and that can go, is left out from now on."""
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
        """Raise CallFailed where a reply is longer than it may be: its server might never end it."""
        most = (
            LONGEST_REPLY if most_tokens is None else min(LONGEST_REPLY, LONGEST_TOKEN * (most_tokens + 30))
        )
        if length > most:
            asked = "" if most_tokens is None else f", where {most_tokens:,} tokens were asked for"
            raise _too_long(f"{self.name} sent a reply of more than {most:,} characters{asked}")

    async def _body(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """Yield the body of a response, in one piece; raise CallFailed where it is too large."""
        body = bytearray()
        async for data in response.content.iter_any():
            body += data
            if len(body) > LARGEST_BODY:
                raise _too_long(f"{self.name} sent more than {LARGEST_BODY:,} bytes")
        yield bytes(body)

    async def _lines(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """Yield the lines of a response; raise CallFailed where one of them or all together are too large."""
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
        """Return a score for each passage, and the tokens that they took, in the form of Cohere, Jina and vLLM."""
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
        """Return what the server tells of its batches, for a path with one of them, of a list, or of a new one."""
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
        """Write the content of a file of the server into one here; raise CallFailed where it is too large."""
        path = f"{FILES}/{quote(id_, safe='')}/content"
        async with self._exchange("GET", path, streamed=True) as response:
            file.seek(0)
            async for data in response.content.iter_any():
                if file.tell() + len(data) > LARGEST_FILE:
                    raise _too_long(f"{self.name} sent more than {LARGEST_FILE:,} bytes")
                file.write(data)
            file.truncate()

    async def part_of(self, reply: Any) -> AsyncIterator[Part]:
        """Yield a reply that came in a batch, for `read`."""
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
        """Send a body and give the response; raise the ModelError that another status, or none, stands for.

        What is `streamed` may take any time as a whole.
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
            slow = "llm.timeout; a slow server is asked less at once by llm.concurrency"
            raise TimedOut(f"{self.name} sent no reply within {self._timeout:g} seconds ({slow})") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _charged(f"{self.name} broke the connection ({type(error).__name__})") from None

    def _read(self, data: bytes, read: Callable[[bytes], T]) -> T:
        try:
            return read(data)
        except (ValueError, LookupError, TypeError, AttributeError):
            start = redact(" ".join(data[:120].decode("utf-8", "replace").split()), self.key)
            raise _charged(f"{self.name} sent something that is no reply ({start!r})") from None

    def _read_state(self, data: bytes) -> dict[str, Any]:
        """Return what a server tells of a batch or a file, without the key: its ids are stored and shown."""
        key = (self.key or "").encode()
        return {**json.loads(data.replace(key, b"[key]") if key else data)}

    def chat_body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        """Return the body of a request in the form that the server takes."""
        return openai_body(request, self._endpoint.model, self._dropped, stream=stream)

    def _read_reply(self, data: bytes) -> Part:
        reply: Any = json.loads(data)
        choice: Any = reply["choices"][0]
        return _part(choice, choice["message"], reply.get("usage"))

    def _read_line(self, line: bytes) -> Part | None:
        """Return what a line of a stream brings, None where it brings nothing."""
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
        """Return the body; refuse what a server that does not know `truncate` would cut to its context."""
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
    error.charged = True  # the server may have done its work
    return error


def _too_long(message: str) -> CallFailed:
    error = CallFailed(f"{message}: it was given up; see that the server keeps to llm.max_tokens")
    error.charged = True
    return error


def _read_scores(data: bytes) -> tuple[dict[int, float], int]:
    """Return the scores of passages by their positions, and the tokens that the reply tells (0 for none)."""
    reply: Any = json.loads(data)
    scores = {int(row["index"]): float(row["relevance_score"]) for row in reply["results"]}
    usage: Any = reply.get("usage") or {}
    return scores, int(usage.get("total_tokens") or 0)


class Clients:
    """Clients by the names of their models, opened when first asked for, and what their servers are known to take."""

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        environ: Mapping[str, str],
        embedder: str = "",
    ) -> None:
        self.answered: set[str] = set()
        """The addresses whose server has answered in this run."""
        self._settings = settings
        self._replies = replies
        self._environ = environ
        self._embedder = embedder
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Client] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._refused = replies.refused() if replies is not None else set[tuple[str, str, str]]()

    def endpoint(self, model: str) -> Endpoint:
        """Return where a model is asked; raise UsageError where its name leads nowhere."""
        if model not in self._endpoints:
            own = self._settings.embedder_base_url if model == self._embedder else ""
            self._endpoints[model] = find_endpoint(model, own or self._settings.base_url, self._environ)
        return self._endpoints[model]

    def of(self, model: str) -> Client:
        """Return the client of a model.

        Raises:
            UsageError: the name leads nowhere, or needs an extra that is not installed.
            BadKey: the model's service wants a key, and none is set.
        """
        if model not in self._clients:
            self._clients[model] = self._open(self.endpoint(model), model)
        return self._clients[model]

    def reranker(self, model: str) -> HttpClient:
        """Return the client of a reranker; raises as `of` does."""
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
        if self._session is None:  # one for the run, of any number of connections
            # Servers close idle ones after five.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4.0)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        if dialect == "ollama":
            return OllamaClient(endpoint, self._session, settings.timeout, settings.context_window)
        return HttpClient(endpoint, self._session, settings.timeout)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if that is not known."""
        endpoint = self.endpoint(model)
        refused = (
            endpoint.server,
            model,
            feature,
        ) in self._refused or feature not in endpoint.preset.features.split()
        return False if refused else None

    async def refuse(self, model: str, feature: Feature) -> None:
        """Remember that a model's server does not take a feature, in later runs on the same index too."""
        server = self.endpoint(model).server
        if (server, model, feature) not in self._refused:
            self._refused.add((server, model, feature))
            if self._replies is not None:
                await self._replies.refuse(server, model, feature)

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
