"""Python functions in the place of a server: whoever has a gateway of their own gives a function for it.

    async def gateway(messages: list[dict[str, str]]) -> str:
        reply = await client.chat.completions.create(model="gpt-4.1-mini", messages=messages)
        return reply.choices[0].message.content

    conspectus.build("docs", model=gateway)

A function is asked through the same cache, budget, concurrency and retries as a server, under a name: `python/` and
its module and name. Replies are cached under that name, so a function that asks another model from now on needs another
one: `gateway.model_name = "gpt-5"`. What a lambda, a closure, a `functools.partial` or an object holds (numbers, texts)
is part of its name.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from conspectus.errors import (
    BadKey,
    ModelError,
    RateLimited,
    Refused,
    ServerFailed,
    TimedOut,
    Unusable,
    UsageError,
)
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.dialects import without_thinking
from conspectus.models.llm.providers import FUNCTION, vocabulary
from conspectus.models.llm.wire import Completion, Request, digest
from conspectus.tokens import count, well_formed

ChatFunction = Callable[[list[dict[str, str]]], Awaitable[str] | str]
"""From the messages of a conversation, each with `role` and `content`, to the text of the reply."""
EmbedFunction = Callable[[list[str]], Awaitable[Sequence[Sequence[float]]] | Sequence[Sequence[float]]]
"""From texts to a vector of each."""

_MISTAKES = (TypeError, NameError, AttributeError, LookupError, ImportError, AssertionError)
"""Errors that come of how a function is written, so that asking it again is of no use."""
_functions: dict[str, Callable[..., Any]] = {}


def register(function: Callable[..., Any]) -> str:
    """Make a function known in this process, and return the name under which it is asked."""
    name = f"{FUNCTION}/{getattr(function, 'model_name', '') or _name_of(function)}"
    _functions[name] = function
    return name


def _name_of(function: Callable[..., Any]) -> str:
    """Return module and name of a function, and a digest of what else tells it from others of that name."""
    details: list[str] = []
    inner: Any = function
    while isinstance(inner, partial):
        bound = cast("partial[Any]", inner)
        details += [*map(repr, _plain(dict(enumerate(bound.args)))), *map(repr, _plain(bound.keywords))]
        inner = bound.func
    owner = getattr(inner, "__self__", None)
    inner = getattr(inner, "__func__", inner)
    code: Any = getattr(inner, "__code__", None)
    if code is None:
        owner, inner = inner, cast("Any", type(inner))
    if owner is not None:
        details += map(repr, _plain(getattr(owner, "__dict__", {})))
    cells = {n: cell.cell_contents for n, cell in enumerate(getattr(inner, "__closure__", None) or ())}
    details += map(repr, _plain(cells))
    name = f"{inner.__module__}.{inner.__qualname__}".replace("<locals>.", "")
    if code is not None and "<lambda>" in name:
        constants = dict(enumerate(cast("tuple[Any, ...]", code.co_consts)))
        details += [code.co_code.hex(), repr(code.co_names), *map(repr, _plain(constants))]
    return f"{name}@{digest(details)[:8]}" if details else name


def _plain(values: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return those values that are the same in every process."""
    return [(key, value) for key, value in values.items() if isinstance(value, str | int | float | bool)]


class FunctionClient:
    """A client that calls a function; one that is not asynchronous is called in threads."""

    def __init__(self, name: str, timeout: float, concurrency: int) -> None:
        if name not in _functions:
            raise UsageError(
                f"the model {name} is a Python function that this process does not have: give the function itself"
                " (model=..., embedder=...), or name another model, as model='extractive'"
            )
        self.name = name
        self._function = _functions[name]
        self._timeout = timeout
        self._threads: ThreadPoolExecutor | None = None
        if not _is_asynchronous(self._function):
            self._threads = ThreadPoolExecutor(max(1, concurrency), thread_name_prefix="model function")

    async def ask(self, request: Request) -> Completion:
        text = await self._call([{"role": m.role, "content": m.content} for m in request.messages])
        if not isinstance(text, str):
            raise Unusable(f"{self.name} returned {_kind(text)}: it takes messages and returns the text of the reply")
        written = count(text, vocabulary(request.model))
        return Completion(well_formed(without_thinking(text)), "stop", prompt_tokens(request), written)

    async def stream(self, request: Request) -> AsyncIterator[str | Completion]:
        reply = await self.ask(request)
        yield reply.text
        yield reply

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        made = await self._call(list(texts))
        try:
            vectors = [[float(number) for number in vector] for vector in made]
        except (TypeError, ValueError):
            vectors = []
        if len(vectors) != len(texts) or len(set(map(len, vectors))) > 1:
            told = f"{_kind(made)} of {len(made)}" if hasattr(made, "__len__") else _kind(made)
            raise Unusable(
                f"{self.name} returned {told} for {len(texts)} texts: it takes a list of texts and returns a list of"
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
            raise TimedOut(f"{self.name} returned nothing within {self._timeout:g} seconds (llm.timeout)") from None
        except Exception as error:  # a function of the caller's may raise anything
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> ModelError:
        """Return our error for one that a function raised: by its HTTP status, where the library it uses gives one."""
        told = f"{self.name} raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        status = getattr(error, "status_code", None)
        if isinstance(error, _MISTAKES):
            return Unusable(told)
        if status in (401, 403):
            return BadKey(told)
        if status == 429:
            return RateLimited(told)
        return Refused(told) if isinstance(status, int) and 400 <= status < 500 else ServerFailed(told)


def _is_asynchronous(function: Callable[..., Any]) -> bool:
    inner: Any = function
    while isinstance(inner, partial):
        inner = cast("partial[Any]", inner).func
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
