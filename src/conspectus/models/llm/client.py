"""Clients of models, one each: a request out, a reply or an error back; over aiohttp where there is a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar, cast
from urllib.request import getproxies, proxy_bypass

import aiohttp

from conspectus import tokens
from conspectus.errors import (
    BadKey,
    ContextTooLong,
    ModelError,
    NotAccepted,
    Refused,
    ServerFailed,
    TimedOut,
    UsageError,
)
from conspectus.models.llm.adapters import EXTRA, FunctionClient, NativeClient, installed
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.providers import (
    OWN_KEY,
    Endpoint,
    error_of_response,
    find_endpoint,
    find_reranker,
    redact,
    remedy,
    server_name,
    unreachable,
)
from conspectus.models.llm.wire import (
    Completion,
    Feature,
    OllamaDialect,
    OpenAIDialect,
    Part,
    Request,
    completion_of,
    dropped_parameter,
    prompt_tokens,
    without_thinking_streamed,
)
from conspectus.settings import ModelSettings

T = TypeVar("T")
CONNECT_SECONDS = 10.0  # an address that answers at all does so in 1
RERANK_PATH = "/rerank"


def open_session() -> aiohttp.ClientSession:
    """Return the one session of a run; the rate limiter bounds its connections, and cookies are of no use to it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0, keepalive_timeout=4.0
        ),  # servers close idle ones after five seconds
        cookie_jar=aiohttp.DummyCookieJar(),
    )


class _ParameterDropped(Exception):
    """A request was refused for a parameter that is left out from now on."""


class HttpClient:
    """A client of one model in OpenAI's wire format or Ollama's, or of one reranker: no cache, retries or limits."""

    def __init__(
        self, endpoint: Endpoint, session: aiohttp.ClientSession, timeout: float, context_window: int
    ) -> None:
        self.endpoint = endpoint
        self._session = session
        self._timeout = timeout
        self._window = context_window if endpoint.preset.dialect == "ollama" else None
        self._dialect = OllamaDialect(self._window) if self._window else OpenAIDialect()
        self._headers = {"Content-Type": "application/json", **endpoint.headers}
        self._dropped: set[str] = {"max_tokens", "temperature"} if endpoint.reasoning else set()
        self._wants_texts = False
        self._proxy = _proxy(endpoint.base_url)

    async def ask(self, request: Request) -> Completion:
        """Return the reply to a request."""
        self._check_length(request)
        while True:
            body = self._dialect.chat_body(request, self.endpoint.model, self._dropped, stream=False)
            try:
                async with self._post(self._dialect.chat_path, body, request) as response:
                    part = self._read(await response.read(), self._dialect.read_reply)
                return self._completion(request, part)
            except _ParameterDropped:
                continue

    async def stream(self, request: Request) -> AsyncIterator[str | Completion]:
        """Yield the pieces of the reply, and last the whole of it."""
        self._check_length(request)
        while True:
            body = self._dialect.chat_body(request, self.endpoint.model, self._dropped, stream=True)
            try:
                async with self._post(self._dialect.chat_path, body, request) as response:
                    async for piece in without_thinking_streamed(self._parts(response)):
                        yield self._completion(request, piece) if isinstance(piece, Part) else piece
                return
            except _ParameterDropped:
                continue

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return a vector for each text, and the tokens that they took."""
        body = self._dialect.embed_body(texts, self.endpoint.model)
        async with self._post(self._dialect.embed_path, body) as response:
            vectors, used = self._read(await response.read(), self._dialect.read_vectors)
        if len(vectors) != len(texts):
            raise ServerFailed(f"{server_name(self.endpoint)} sent {len(vectors)} vectors for {len(texts)} texts")
        return vectors, sum(map(tokens.count, texts)) if used is None else used

    async def rerank(self, question: str, passages: Sequence[str]) -> tuple[list[float], int]:
        """Return a score for each passage, and the tokens that they took.

        In the form of Cohere, Jina and vLLM, `{model, query, documents, top_n}` -> `{results: [{index,
        relevance_score}]}`, or in that of TEI where it wants that, `{query, texts, truncate}` -> `[{index, score}]`.
        """
        if self._wants_texts:
            body: dict[str, Any] = {"query": question, "texts": list(passages), "truncate": True}
        else:
            body = {"query": question, "documents": list(passages), "top_n": len(passages)}
            body |= {"model": self.endpoint.model} if self.endpoint.model else {}
        try:
            async with self._post(RERANK_PATH, body) as response:
                rows, used = self._read(await response.read(), _read_scores)
        except Refused as refusal:
            if self._wants_texts or "texts" not in str(refusal):
                raise
            self._wants_texts = True
            return await self.rerank(question, passages)
        if missing := [position for position in range(len(passages)) if position not in rows]:
            raise ServerFailed(f"{server_name(self.endpoint)} sent no score for some passages ({missing[0]})")
        return [rows[position] for position in range(len(passages))], used or sum(
            map(tokens.count, (question, *passages))
        )

    @asynccontextmanager
    async def _post(
        self, path: str, body: Mapping[str, Any], request: Request | None = None
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a body and give the response; raise the ModelError that another status, or none, stands for."""
        streamed = bool(body.get("stream"))
        timeout = aiohttp.ClientTimeout(
            total=None if streamed else self._timeout,
            sock_connect=min(CONNECT_SECONDS, self._timeout),
            sock_read=self._timeout if streamed else None,
        )
        try:
            async with self._session.post(
                self.endpoint.base_url + path,
                data=json.dumps(body).encode(),
                headers=self._headers,
                allow_redirects=False,
                proxy=self._proxy,
                timeout=timeout,
            ) as response:
                if response.status != 200:
                    raise self._refusal(response, await response.text("utf-8", "replace"), body, request)
                yield response
        except (aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from None

    def _refusal(
        self, response: aiohttp.ClientResponse, text: str, body: Mapping[str, Any], request: Request | None
    ) -> Exception:
        """Return what a refusal means: where it is for a parameter that can go, that this is left out from now on."""
        streamed = bool(body.get("stream"))
        error = error_of_response(
            response.status, response.headers, text, self.endpoint, request, streamed=streamed
        )
        refused = request is not None and isinstance(error, Refused) and not isinstance(error, NotAccepted)
        spare = dropped_parameter(text, body) if refused else None
        if spare is None:
            return error
        self._dropped.add(spare)
        return _ParameterDropped()

    def _read(self, data: bytes, read: Callable[[Any], T]) -> T:
        try:
            return read(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._unreadable(data) from None

    async def _parts(self, response: aiohttp.ClientResponse) -> AsyncIterator[Part]:
        ended = False
        async for line in response.content:
            try:
                part = self._dialect.read_line(line)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise self._unreadable(line) from None
            if part is not None:
                ended = ended or bool(part.finish_reason)
                yield part
        if not ended:
            raise ServerFailed(f"{server_name(self.endpoint)} ended a streamed reply before it was whole")

    def _completion(self, request: Request, part: Part) -> Completion:
        if part.refusal or part.finish_reason == "content_filter":
            why = redact(part.refusal, self.endpoint.key) or "its content filter"
            raise Refused(f"{server_name(self.endpoint)} would not answer ({why})")
        return completion_of(request, part)

    def _check_length(self, request: Request) -> None:
        """Refuse what Ollama would cut to its context without a word."""
        if self._window is None or sum(len(m.content) for m in request.messages) < self._window // 2:
            return
        if (count := prompt_tokens(request)) > self._window:
            raise ContextTooLong(
                f"the request has {count} tokens, and {self.endpoint.model} is run with a context"
                f" of {self._window}; raise llm.context_window or {remedy(request)}"
            )

    def _broken(self, error: Exception) -> ModelError:
        host = server_name(self.endpoint)
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)):
            return unreachable(self.endpoint, str(getattr(error, "os_error", None) or error))
        if isinstance(error, asyncio.TimeoutError):
            slow = "llm.timeout; a slow server is asked less at once by llm.concurrency"
            return TimedOut(f"{host} sent no reply within {self._timeout:g} seconds ({slow})")
        return _charged(ServerFailed(f"{host} broke the connection ({type(error).__name__})"))

    def _unreadable(self, data: bytes) -> ServerFailed:
        start = redact(" ".join(data[:120].decode("utf-8", "replace").split()), self.endpoint.key)
        return _charged(ServerFailed(f"{server_name(self.endpoint)} sent something that is no reply ({start!r})"))


def _charged(error: ServerFailed) -> ServerFailed:
    error.charged = True  # the server may have done its work
    return error


def _read_scores(reply: Any) -> tuple[dict[int, float], int]:
    """Return the scores of passages by their positions, and the tokens that the reply tells (0 for none)."""
    rows = cast("list[Any]", reply if isinstance(reply, list) else reply["results"])
    usage: Any = {} if isinstance(reply, list) else reply.get("usage") or {}
    scores = {int(row["index"]): float(row.get("relevance_score", row.get("score"))) for row in rows}
    return scores, int(usage.get("total_tokens") or 0)


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address: looked up once, not for every call."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    return None if proxy_bypass(host) else getproxies().get(scheme)


class Client(Protocol):
    """Asks one model, once per call: no cache, no retries, no limits. `HttpClient` says what the methods return."""

    async def ask(self, request: Request) -> Completion: ...
    def stream(self, request: Request) -> AsyncIterator[str | Completion]: ...
    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]: ...


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
        self._features: dict[str, dict[tuple[str, str], bool]] = {}

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
            self._clients[model] = self._open(self._endpoints[model], model)
        return cast("HttpClient", self._clients[model])

    def _open(self, endpoint: Endpoint, model: str) -> Client:
        dialect = endpoint.preset.dialect
        lacks_key = endpoint.preset.needs_key and endpoint.key_variable != OWN_KEY and not endpoint.key
        if dialect == "function":
            return FunctionClient(model, self._settings.timeout, self._settings.concurrency)
        if dialect == "native" and not installed():
            key = f", and a key: set {endpoint.key_variable}" if lacks_key else ""
            raise UsageError(f"{model} needs the extra `{EXTRA}`: pip install 'conspectus[{EXTRA}]'{key}")
        if lacks_key:
            raise BadKey(f"{model} needs a key: set {endpoint.key_variable}")
        if dialect == "native":
            return NativeClient(endpoint, self._settings.timeout)
        self._session = self._session or open_session()
        return HttpClient(endpoint, self._session, self._settings.timeout, self._settings.context_window)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if that is not known."""
        known = self._features_at(model).get((model, feature))
        if known is not None:
            return known
        return None if feature in self.endpoint(model).preset.features else False

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember whether a model's server takes a feature, in later runs on the same index too."""
        features = self._features_at(model)
        if features.get((model, feature)) is not accepted:
            features[model, feature] = accepted
            if self._replies is not None:
                await self._replies.learn(server_name(self.endpoint(model)), model, feature, accepted)

    def _features_at(self, model: str) -> dict[tuple[str, str], bool]:
        server = server_name(self.endpoint(model))
        if server not in self._features:
            self._features[server] = self._replies.features(server) if self._replies is not None else {}
        return self._features[server]

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
