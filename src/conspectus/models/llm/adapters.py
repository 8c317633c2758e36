"""Language models that Conspectus does not call over HTTP: Python functions, and providers with an SDK of their own.

For a gateway of your own, pass a function:

    async def gateway(messages: list[dict[str, str]]) -> str:
        reply = await client.chat.completions.create(model="gpt-4.1-mini", messages=messages)
        return reply.choices[0].message.content

    conspectus.build("docs", model=gateway)

The cache, the budget, the concurrency and the retries of a server apply to a function too. Its replies are cached
under its module and name, with a digest of its code and values (`_name_of`), or under `gateway.model_name`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from dis import Instruction, get_instructions
from functools import partial
from importlib import import_module
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Any, cast

from conspectus.errors import (
    BadKey,
    CallFailed,
    ModelError,
    RateLimited,
    Refused,
    ServerFailed,
    TimedOut,
    Unusable,
    UsageError,
)
from conspectus.models.llm.providers import FUNCTION, Endpoint, error_of_response, redact
from conspectus.models.llm.wire import (
    Completion,
    Part,
    Request,
    completion_of,
    digest,
    openai_body,
    without_thinking_streamed,
)
from conspectus.tokens import count


class Client(ABC):
    """Asks one model, once per call: no cache, no retries, no limits. `name` is the server's name in error messages."""

    def __init__(self, name: str, key: str | None = None) -> None:
        self.name = name
        self.key = key

    @abstractmethod
    def parts(self, request: Request, *, stream: bool) -> AsyncIterator[Part]:
        """Yield the reply to a request as it arrives, in one part unless it is streamed."""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return a vector for each text, and the number of tokens used."""

    async def reply(self, request: Request, *, stream: bool) -> AsyncIterator[str | Completion]:
        """Yield the pieces of a reply if it is streamed, and at the end the whole reply as a Completion."""
        async for piece in self.read(self.parts(request, stream=stream), request, stream=stream):
            yield piece

    async def read(
        self, parts: AsyncIterator[Part], request: Request, *, stream: bool = False
    ) -> AsyncIterator[str | Completion]:
        """Yield what `reply` yields, from the parts received. Raises Refused if the model refused to answer."""
        secret = None if len(self.key or "") < SECRET else self.key
        parts = _without_key(parts, secret, stream)
        async for piece in without_thinking_streamed(parts) if stream else parts:
            if not isinstance(piece, Part):
                yield piece
                continue
            if piece.refusal or piece.finish_reason == "content_filter":
                why = redact(piece.refusal, self.key) or "its content filter"
                raise Refused(f"{self.name} refused to answer ({why})")
            yield completion_of(request, piece)


SECRET = 16
"""Minimum length, in characters, of a key that is removed from replies. Providers' keys have 30 and more; placeholders
for local servers (EMPTY, ollama, lm-studio, token-abc123) may be words of a text, which must not be removed."""


async def _without_key(parts: AsyncIterator[Part], key: str | None, stream: bool) -> AsyncIterator[Part]:
    """Yield the parts of a reply with any repetition of the key removed, since replies are cached, traced and shown.

    In a stream, the end of a part that may be the beginning of the key is held back until the next part.
    """
    waiting = ""
    async for part in parts:
        text = waiting + part.text
        text = text.replace(key, "[key]") if key else text
        if key and stream:
            ends = (n for n in range(min(len(key) - 1, len(text)), 0, -1) if key.startswith(text[-n:]))
            start = len(text) - next(ends, 0)
            text, waiting = text[:start], text[start:]
        yield replace(part, text=text)
    if waiting:  # it began like the key but was not the key
        yield Part(waiting)


# Functions

ChatFunction = Callable[[list[dict[str, str]]], Awaitable[str] | str]
"""Takes the messages of a conversation, each with `role` and `content`; returns the text of the reply."""
EmbedFunction = Callable[[list[str]], Awaitable[Sequence[Sequence[float]]] | Sequence[Sequence[float]]]
"""Takes texts; returns a vector for each."""

_MISTAKES = (TypeError, NameError, AttributeError, LookupError, ImportError, AssertionError)
"""Errors caused by a mistake in the function's code, so that calling it again does not help."""
_functions: dict[str, Callable[..., Any]] = {}


def register(function: Callable[..., Any]) -> str:
    """Register a function in this process, and return its name as a model."""
    name = f"{FUNCTION}/{getattr(function, 'model_name', '') or _name_of(function)}"
    _functions[name] = function
    return name


def is_registered(name: str) -> bool:
    """Return whether a function of this name is registered in this process."""
    return name in _functions


def _name_of(function: Callable[..., Any]) -> str:
    """Return the module and name of a function, with a digest of its code and of the values that it uses."""
    values: list[tuple[Any, Any]] = []
    inner: Any = function
    while isinstance(inner, partial):
        bound = cast("partial[Any]", inner)
        values += [*enumerate(bound.args), *bound.keywords.items()]
        inner = bound.func
    owner = getattr(inner, "__self__", inner)  # the object whose method it is
    values += getattr(owner, "__dict__", {}).items()
    inner = getattr(inner, "__func__", inner)
    functions = _python_functions([inner])
    inner = inner if functions else cast("Any", type(inner))
    kind = cast("type[Any]", owner if isinstance(owner, type) else type(owner))
    members = [m for base in kind.__mro__ if base.__module__ == kind.__module__ for m in vars(base).values()]
    slots = {m.__name__ for m in members if isinstance(m, MemberDescriptorType)} - vars(FunctionType).keys()
    values += [(name, getattr(owner, name, None)) for name in sorted(slots)]
    functions += _python_functions(getattr(m, "__func__", getattr(m, "fget", m)) for m in members)
    name = f"{inner.__module__}.{inner.__qualname__}".replace("<locals>.", "")
    return f"{name}@{digest(list(_facts(functions, values)))[:8]}"


def _facts(functions: list[FunctionType], values: list[tuple[Any, Any]]) -> Iterator[str]:
    """Yield the code of functions and of the functions that they call, and the values that they use.

    Variables that the code assigns or changes, such as a counter or a list of calls, are omitted: they vary by run.
    """
    assigned: set[str] = set()
    changed: set[str] = set()
    module = functions[0].__module__ if functions else ""
    functions += _python_functions(value for _, value in values)
    for function in functions:  # this list grows by the functions that they call
        codes = list(_codes(function.__code__))
        yield from (f"{code.co_code.hex()} {code.co_names} {_text(code.co_consts)}" for code in codes)
        if function.__module__ != module:  # calls made by other modules are not followed
            continue
        steps = [step for code in codes for step in get_instructions(code)]
        if function.__name__ not in ("__init__", "__post_init__"):
            assigned |= {step.argval for step in steps if step.opname in _ASSIGNING}
        lines = {_line(step) for step in steps if step.opname == "STORE_SUBSCR" or step.argval in _CHANGING}
        changed |= {str(step.argval) for step in steps if _line(step) in lines}
        used = list(_used(function, steps))
        functions += [called for called in _python_functions(v for _, v in used) if called not in functions]
        values += used
    for name, value in values:
        mutable = isinstance(value, list | dict | set)
        if name not in assigned and not (mutable and name in changed):
            yield f"{name} {_text(cast('object', value))}"


_ASSIGNING = {"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR"}
_CHANGING = {"append", "add", "extend", "insert", "update", "setdefault", "pop", "popitem", "remove", "clear"}
"""Names of methods that change a list, a dictionary or a set."""


def _python_functions(values: Iterable[object]) -> list[FunctionType]:
    return [value for value in values if isinstance(value, FunctionType)]


def _line(step: Instruction) -> int | None:
    return step.positions.lineno if step.positions else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _used(function: FunctionType, steps: Sequence[Instruction]) -> Iterator[tuple[Any, Any]]:
    """Yield the names and values of a function's defaults, closure variables and global variables."""
    yield from enumerate(function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).items()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the cell is still empty
            yield name, cell.cell_contents
    names = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for name in sorted(names & function.__globals__.keys()):
        yield name, function.__globals__[name]


def _text(value: object) -> str:
    """Return a value as text that is the same in every process: of an object its type, of code its name."""
    if isinstance(value, CodeType):
        return value.co_name  # `_codes` yields its content separately
    if isinstance(value, dict):
        return _text([*cast("dict[object, object]", value).items()])
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_text(part) for part in cast("list[object]", value)]
        return f"({', '.join(parts if isinstance(value, list | tuple) else sorted(parts))})"
    plain = isinstance(value, str | bytes | int | float | complex | slice | None)
    return repr(cast("object", value)) if plain else type(value).__qualname__


class FunctionClient(Client):
    """A client that calls a function; a function that is not asynchronous is called in threads."""

    def __init__(self, name: str, timeout: float, concurrency: int) -> None:
        super().__init__(name)
        if name not in _functions:
            raise UsageError(
                f"the model {name} is a Python function that is not available: pass the function itself"
                " (model=..., embedder=...) or another model, e.g. model='extractive'"
            )
        self._function = inner = _functions[name]
        self._timeout = timeout
        while isinstance(inner, partial):
            inner = cast("partial[Any]", inner).func
        call = getattr(inner, "__call__", None)  # noqa: B004 - of an object
        asynchronous = inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(call)
        self._threads = None if asynchronous else ThreadPoolExecutor(concurrency)

    async def parts(self, request: Request, *, stream: bool) -> AsyncIterator[Part]:
        text = await self._call([{"role": m.role, "content": m.content} for m in request.messages])
        if not isinstance(text, str):
            what = type(text).__name__
            raise Unusable(f"{self.name} returned {what}: it takes messages and returns the text of a reply")
        yield Part(text)

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        made = await self._call(list(texts))
        try:
            vectors = [[float(number) for number in vector] for vector in made]
        except (TypeError, ValueError):
            vectors = []
        if len(vectors) != len(texts) or len(set(map(len, vectors))) > 1:
            what = type(made).__name__ + (f" of {len(made)}" if hasattr(made, "__len__") else "")
            raise Unusable(
                f"{self.name} returned {what} for {len(texts)} texts: it takes a list of texts and returns a list of"
                " numbers for each, all of one length"
            )
        return vectors, sum(map(count, texts))

    async def _call(self, argument: Any) -> Any:
        try:
            async with asyncio.timeout(self._timeout):
                if self._threads is None:
                    return await self._function(argument)
                loop = asyncio.get_running_loop()
                result = await loop.run_in_executor(self._threads, self._function, argument)
                return await result if inspect.isawaitable(result) else result
        except ModelError:
            raise
        except TimeoutError:
            raise _timed_out(self.name, self._timeout) from None
        except Exception as error:  # a function of the caller's may raise anything
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> ModelError:
        """Return the ModelError for an exception of a function, by its HTTP status (`status_code`) if it has one."""
        message = f"{self.name} raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        status = getattr(error, "status_code", None)
        if isinstance(error, _MISTAKES):
            return Unusable(message)
        if isinstance(status, int):
            kinds: dict[int, type[ModelError]] = {401: BadKey, 403: BadKey, 429: RateLimited}
            return kinds.get(status, Refused if 400 <= status < 500 else ServerFailed)(message)
        # Errors of a connection or a file are temporary, others are not. TransportError is httpx's (not imported here).
        cause: BaseException | None = error
        while cause is not None:
            names = {kind.__name__ for kind in type(cause).__mro__}
            if {"OSError", "TransportError"} & names:
                return ServerFailed(message)
            cause = cause.__cause__ or cause.__context__
        return CallFailed(message)


# Providers with an SDK of their own

EXTRA = "native"


class NativeClient(Client):
    """A client of one model of a provider that does not speak OpenAI's wire format."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        super().__init__(endpoint.name, endpoint.key)
        self._endpoint = endpoint
        self._timeout = timeout
        needs_key = f"{endpoint.name}/{endpoint.model} needs a key: set {endpoint.key_variable}"
        try:
            any_llm: Any = import_module("any_llm")
        except ImportError:
            key = f", and {needs_key}" if endpoint.lacks_key else ""
            raise UsageError(
                f"{endpoint.name} models need the extra `{EXTRA}`: pip install 'conspectus[{EXTRA}]'{key}"
            ) from None
        if endpoint.lacks_key:
            raise BadKey(needs_key)
        try:
            # The SDK's own retries would hide an overloaded server from the rate limiter.
            options: dict[str, Any] = {"max_retries": 0}
            if endpoint.name == "bedrock":  # it takes only boto3's configuration, without AWS_REGION
                config, region = import_module("botocore.config").Config, os.environ.get("AWS_REGION")
                options = {"config": config(region_name=region, retries={"total_max_attempts": 1})}
            self._provider: Any = any_llm.AnyLLM.create(
                endpoint.name, api_key=endpoint.key, unified_exceptions=True, **options
            )
        except Exception as error:  # providers' libraries raise exceptions of their own
            raise self._fault(error, None) from None

    async def parts(self, request: Request, *, stream: bool) -> AsyncIterator[Part]:
        body = openai_body(request, self._endpoint.model)
        more = {"stream": True} if stream else {}
        try:
            reply = await self._provider.acompletion(**body, **more, timeout=self._timeout)
            if not stream:
                choice = reply.choices[0]
                yield _part(choice.message.content, choice.finish_reason, reply.usage)
                return
            async for event in reply:
                choice = event.choices[0] if event.choices else None
                delta, reason = (choice.delta.content, choice.finish_reason) if choice else ("", "")
                yield _part(delta, reason, event.usage)
        except Exception as error:  # as above
            raise self._fault(error, request) from None

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        try:
            reply = await self._provider.aembedding(self._endpoint.model, list(texts))
        except Exception as error:  # as above
            raise self._fault(error, None) from None
        used = reply.usage.prompt_tokens if reply.usage else sum(map(count, texts))
        return [row.embedding for row in sorted(reply.data, key=lambda row: row.index)], used

    def _fault(self, error: Exception, request: Request | None) -> ModelError:
        """Return the ModelError for an exception of a provider's library, by its HTTP status."""
        if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
            return _timed_out(self.name, self._timeout)
        original = getattr(error, "original_exception", None)
        status = getattr(error, "status_code", None) or getattr(original, "status_code", None)
        message = redact(" ".join(str(error).split()), self.key)
        if not isinstance(status, int) or status < 400:
            return ServerFailed(f"{self.name} failed ({type(error).__name__}: {message[:300]})")
        body = getattr(original, "body", None)
        reply = json.dumps(body if isinstance(body, dict) else {"error": message}, default=str)
        retry_after = getattr(error, "retry_after", None)
        headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}
        return error_of_response(status, headers, reply, self._endpoint, request)


def _part(text: str | None, reason: str | None, usage: Any) -> Part:
    return Part(text or "", reason or "", *((usage.prompt_tokens, usage.completion_tokens) if usage else ()))


def _timed_out(server: str, seconds: float) -> TimedOut:
    return TimedOut(f"{server} sent no reply within {seconds:g} seconds (llm.timeout)")
