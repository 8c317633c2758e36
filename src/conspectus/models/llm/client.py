"""Clients on aiohttp for servers of language models: a request out, a reply or an error back; one client a model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
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
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.http_errors import error_of_response, redact, remedy, server_name, unreachable
from conspectus.models.llm.providers import OWN_KEY, Endpoint, find_endpoint, find_reranker, vocabulary
from conspectus.models.llm.wire import (
    Completion,
    Dialect,
    Feature,
    OllamaDialect,
    OpenAIDialect,
    Part,
    Request,
    ThinkingFilter,
    dropped_parameter,
    without_thinking,
)
from conspectus.settings import ModelSettings

if TYPE_CHECKING:
    import aiohttp

    from conspectus.models.rerankers.served import RerankClient

CONNECT_SECONDS = 10.0  # an address that answers at all does so in 1


class Client(Protocol):
    """Asks one model, once per call: no cache, no retries, no limits."""

    async def ask(self, request: Request) -> Completion:
        """Return the reply to a request."""
        ...

    def stream(self, request: Request) -> AsyncIterator[str | Completion]:
        """Yield the pieces of the reply, and last the whole of it."""
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return a vector for each text, and the tokens that it took."""
        ...


def open_session() -> aiohttp.ClientSession:
    """Return the one session of a run; the gate bounds its connections, and cookies are of no use to it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=4.0),  # servers close idle ones after five seconds
        cookie_jar=aiohttp.DummyCookieJar(),
    )


class HttpClient:
    """A client for OpenAI's wire format and Ollama's."""

    def __init__(self, endpoint: Endpoint, session: aiohttp.ClientSession, timeout: float, context_window: int) -> None:
        self.endpoint = endpoint
        self._session = session
        self._timeout = timeout
        native = endpoint.preset.dialect == "ollama"
        self._window = context_window if native else None
        self._dialect: Dialect = OllamaDialect(context_window) if native else OpenAIDialect()
        self._headers = {"Content-Type": "application/json", **endpoint.headers}
        self._dropped: set[str] = {"max_tokens", "temperature"} if endpoint.reasoning else set()
        self._proxy = _proxy(endpoint.base_url)

    async def ask(self, request: Request) -> Completion:
        self._check_length(request)
        while True:
            body = self._dialect.chat_body(request, self.endpoint.model, self._dropped, stream=False)
            try:
                async with self._post(self._dialect.chat_path, body) as response:
                    if response.status == 200:
                        return self._completion(request, self._read(await response.read()))
                    self._learn(
                        response.status,
                        response.headers,
                        await response.text("utf-8", "replace"),
                        body,
                        request,
                    )
            except (aiohttp.ClientError, OSError) as error:
                raise self._broken(error) from None

    async def stream(self, request: Request) -> AsyncIterator[str | Completion]:
        self._check_length(request)
        while True:
            body = self._dialect.chat_body(request, self.endpoint.model, self._dropped, stream=True)
            try:
                async with self._post(self._dialect.chat_path, body, stream=True) as response:
                    if response.status == 200:
                        async for piece in self._pieces(request, response):
                            yield piece
                        return
                    self._learn(
                        response.status,
                        response.headers,
                        await response.text("utf-8", "replace"),
                        body,
                        request,
                    )
            except (aiohttp.ClientError, OSError) as error:
                raise self._broken(error) from None

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        body = self._dialect.embed_body(texts, self.endpoint.model)
        try:
            async with self._post(self._dialect.embed_path, body) as response:
                data = await response.read()
                if response.status != 200:
                    raise error_of_response(
                        response.status,
                        response.headers,
                        data.decode("utf-8", "replace"),
                        self.endpoint,
                        None,
                    )
        except (aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from None
        try:
            vectors, used = self._dialect.read_vectors(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._unreadable(data) from None
        if len(vectors) != len(texts):
            raise ServerFailed(f"{server_name(self.endpoint)} sent {len(vectors)} vectors for {len(texts)} texts")
        return vectors, sum(tokens.count(text) for text in texts) if used is None else used

    def _post(self, path: str, body: Mapping[str, Any], *, stream: bool = False) -> Any:
        connect = min(CONNECT_SECONDS, self._timeout)
        return self._session.post(
            self.endpoint.base_url + path,
            data=json.dumps(body).encode(),
            headers=self._headers,
            allow_redirects=False,
            proxy=self._proxy,
            timeout=aiohttp.ClientTimeout(sock_connect=connect, sock_read=self._timeout)
            if stream
            else aiohttp.ClientTimeout(total=self._timeout, sock_connect=connect),
        )

    def _learn(
        self, status: int, headers: Mapping[str, str], text: str, body: Mapping[str, Any], request: Request
    ) -> None:
        """Raise what a refusal means, unless it is of a parameter that can be left out from now on."""
        error = error_of_response(status, headers, text, self.endpoint, request, streamed=bool(body.get("stream")))
        spare = (
            dropped_parameter(text, body) if isinstance(error, Refused) and not isinstance(error, NotAccepted) else None
        )
        if spare is None:
            raise error
        self._dropped.add(spare)

    def _read(self, data: bytes) -> Part:
        try:
            return self._dialect.read_reply(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._unreadable(data) from None

    async def _pieces(self, request: Request, response: aiohttp.ClientResponse) -> AsyncIterator[str | Completion]:
        thinking, shown, last = ThinkingFilter(), [""], Part()
        async for line in response.content:
            try:
                part = self._dialect.read_line(line)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise self._unreadable(line) from None
            if part is None:
                continue
            last = _later(last, part)
            if text := thinking.feed(tokens.well_formed(part.text)):
                shown.append(text)
                yield text
        if not last.finish_reason:
            raise ServerFailed(f"{server_name(self.endpoint)} ended a streamed reply before it was whole")
        if text := thinking.end():
            shown.append(text)
            yield text
        yield self._completion(request, Part("".join(shown), *_rest(last)), thought=True)

    def _completion(self, request: Request, part: Part, *, thought: bool = False) -> Completion:
        if part.refusal or part.finish_reason == "content_filter":
            why = redact(part.refusal, self.endpoint.key) or "its content filter"
            raise Refused(f"{server_name(self.endpoint)} would not answer ({why})")
        text = part.text if thought else tokens.well_formed(without_thinking(part.text))
        name = vocabulary(request.model)
        asked = part.prompt_tokens if part.prompt_tokens is not None else prompt_tokens(request)
        written = part.completion_tokens if part.completion_tokens is not None else tokens.count(part.text, name)
        return Completion(text, part.finish_reason or "stop", asked, written)

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


def prompt_tokens(request: Request) -> int:
    """Return the tokens of a request, as its own vocabulary or the nearest that is known counts them."""
    name = vocabulary(request.model)
    schema = tokens.count(json.dumps(request.schema), name) if request.schema else 0
    return sum(tokens.count(m.content, name) + 4 for m in request.messages) + 3 + schema


def _charged(error: ServerFailed) -> ServerFailed:
    error.charged = True  # the server may have done its work
    return error


def _later(before: Part, part: Part) -> Part:
    """Put together what the pieces of a stream tell of the whole; the text is gathered elsewhere."""
    return Part(
        "",
        part.finish_reason or before.finish_reason,
        part.prompt_tokens if part.prompt_tokens is not None else before.prompt_tokens,
        part.completion_tokens if part.completion_tokens is not None else before.completion_tokens,
        before.refusal + part.refusal,
    )


def _rest(part: Part) -> tuple[str, int | None, int | None, str]:
    return part.finish_reason, part.prompt_tokens, part.completion_tokens, part.refusal


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address: looked up once, not for every call."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    return None if proxy_bypass(host) else getproxies().get(scheme)


class Clients:
    """Clients by the names of their models, opened when first asked for, over one session."""

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        environ: Mapping[str, str] = os.environ,
        embedder: str = "",
    ) -> None:
        self._settings = settings
        self._replies = replies
        self._environ = environ
        self._embedder = embedder
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Client] = {}
        self._rerankers: dict[str, RerankClient] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._features: dict[str, dict[tuple[str, str], bool]] = {}
        self._answered: set[str] = set()

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

    def reranker(self, model: str) -> RerankClient:
        """Return the client of a reranker; raises as `of` does."""
        from conspectus.models.rerankers.served import RerankClient

        if model not in self._rerankers:
            endpoint = self._endpoints[model] = find_reranker(model, self._environ)
            _check_key(endpoint, model)
            self._rerankers[model] = RerankClient(endpoint, self._opened_session(), self._settings.timeout, 0)
        return self._rerankers[model]

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session()
        return self._session

    def _open(self, endpoint: Endpoint, model: str) -> Client:
        if endpoint.preset.dialect == "function":
            from conspectus.models.llm.adapters import FunctionClient

            return FunctionClient(model, self._settings.timeout, self._settings.concurrency)
        if endpoint.preset.dialect == "native":
            _check_extra(endpoint, model)
        _check_key(endpoint, model)
        if endpoint.preset.dialect == "native":
            from conspectus.models.llm.adapters import NativeClient

            return NativeClient(endpoint, self._settings.timeout)
        session = self._opened_session()
        return HttpClient(endpoint, session, self._settings.timeout, self._settings.context_window)

    def answered(self, model: str) -> bool:
        """Whether the server of a model has answered in this run."""
        return self.endpoint(model).base_url in self._answered

    def has_answered(self, model: str) -> None:
        """Note that the server of a model is there."""
        self._answered.add(self.endpoint(model).base_url)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if that is not known."""
        known = self._known(model).get((model, feature))
        if known is not None:
            return known
        return None if feature in self.endpoint(model).preset.features else False

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember whether a model's server takes a feature, in later runs on the same index too."""
        if self._known(model).get((model, feature)) is accepted:
            return
        self._known(model)[model, feature] = accepted
        if self._replies is not None:
            await self._replies.learn(server_name(self.endpoint(model)), model, feature, accepted)

    def _known(self, model: str) -> dict[tuple[str, str], bool]:
        server = server_name(self.endpoint(model))
        if server not in self._features:
            self._features[server] = self._replies.features(server) if self._replies is not None else {}
        return self._features[server]

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()


def _check_key(endpoint: Endpoint, model: str) -> None:
    if endpoint.preset.needs_key and endpoint.key_variable != OWN_KEY and not endpoint.key:
        raise BadKey(f"{model} needs a key: set {endpoint.key_variable}")


def _check_extra(endpoint: Endpoint, model: str) -> None:
    """Raise UsageError where the extra of a provider is missing; it names the key too where that is missing as well."""
    from conspectus.models.llm.adapters import EXTRA, installed

    if installed():
        return
    lacks_key = endpoint.preset.needs_key and not endpoint.key
    key = f", and a key: set {endpoint.key_variable}" if lacks_key else ""
    raise UsageError(f"{model} needs the extra `{EXTRA}`: pip install 'conspectus[{EXTRA}]'{key}")
