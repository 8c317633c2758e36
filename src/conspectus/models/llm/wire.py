"""What goes to a language model and what comes back, whoever serves it: the seam of `chat` and transport."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ResponseFormat = Literal["json_schema", "json_object", "text"]
Status = Literal["ok", "cut off", "unparsable", "failed"]
"""How an attempt ended: only those that are `ok` are ever served from the cache."""
CAPPED = "budget"
"""How a reply ended that had as much room as the budget set aside for it, and needed more."""
Feature = Literal["json_schema", "json_object", "logit_bias", "streaming"]
"""What a server may or may not take."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One chat completion; `model` is the whole name, `openai/gpt-4.1-mini`.

    `task` and `priority` are for our own books and order (the highest priority goes first); all else is its
    identity.
    """

    messages: tuple[Message, ...]
    model: str
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    response_format: ResponseFormat = "text"
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    logit_bias: Mapping[int, int] | None = None
    reasoning_effort: str | None = None
    task: str = ""
    priority: float = 0.0

    @cached_property
    def key(self) -> str:
        """What its reply is kept under: a hash of everything that can change the reply."""
        return digest(
            [
                [(m.role, m.content) for m in self.messages],
                self.model,
                self.max_tokens,
                self.temperature,
                self.seed,
                self.response_format,
                self.schema,
                self.schema_name,
                self.logit_bias,
                self.reasoning_effort,
            ]
        )


def digest(value: Any) -> str:
    """Return a hash of a value's canonical JSON, 64 hexadecimal digits (JSON escapes lone surrogates).

    It is BLAKE2b, which takes a third of the time of SHA-256 where the processor has no instructions for that.
    """
    return blake2b(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), digest_size=32).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of a reply, without any thinking; `finish_reason` is `length` or CAPPED where it was cut off.

    `cached` replies took no call and `seconds` is then 0.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached: bool = False
    seconds: float = 0.0

    @property
    def cut_off(self) -> bool:
        return self.finish_reason in ("length", CAPPED)

    def cut_off_for(self, request: Request) -> bool:
        """Whether it ended before its time: a single token that was asked for is whole, whatever the server says."""
        return self.cut_off and request.max_tokens != 1


class Sender(Protocol):
    """The one thing that sends. What it returns is paid for once, durable, and served again."""

    async def send(self, request: Request) -> Completion:
        """Return the completion, kept or asked for; raise a ModelError where it cannot be had.

        A reply that was cut off (`cut_off`) is returned but never served again: sending the
        same request once more asks the server once more. A request of `max_tokens=1` wants a single token, so
        it is not cut off by having got it.
        """
        ...

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the text of the completion piece by piece; kept under the same key as one that was sent."""
        ...

    async def embed(self, texts: Sequence[str], model: str, task: str = "Embed") -> NDArray[np.float32]:
        """Return one vector for each text, as an array of shape (texts, dimension)."""
        ...

    async def mark(self, request: Request, status: Status) -> None:
        """Change the status of a request's reply: one that is `unparsable` is not served again."""
        ...

    async def keep(self, request: Request, reply: Completion) -> None:
        """Let a reply that was got by asking in another way be served for a request from now on."""
        ...

    def has(self, request: Request) -> bool:
        """Whether the reply to a request is kept, so that it will take no call."""
        ...

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Whether the model's server takes a feature, as found out before (in earlier runs too), or None."""
        ...

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember for this index whether the model's server takes a feature.

        `send` raises NotAccepted (its `feature` says which) where a server refuses one, and learns it.
        """
        ...
