"""The data exchanged with a language model: requests, their bodies in two formats, and completions."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, Protocol

from conspectus import tokens

ResponseFormat = Literal["json_schema", "json_object", "text"]
Status = Literal["ok", "cut off", "unparsable", "failed"]
"""Outcome of an attempt: only replies that are `ok` are served from the cache."""
CAPPED = "budget"
"""Finish reason of a reply that was cut off by the token cap of the budget."""
BATCHED = "batch"
"""Finish reason of a complete reply that came in a batch, and so cost half."""
Feature = Literal["json_schema", "json_object", "logit_bias", "streaming"]
"""A feature that a server may or may not support."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """A request for a chat completion; `model` is the full name, such as `openai/gpt-4.1-mini`.

    `task`, `size_setting` (see `Task`) and `priority` are used locally for the budget, errors and the order of calls
    (the highest priority goes first); all other fields are part of the cache key.
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
    size_setting: str = "context_tokens"
    priority: float = 0.0

    @cached_property
    def key(self) -> str:
        """The key under which its reply is cached: a hash of everything that can change the reply."""
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
    """Return a hash of a value's canonical JSON, as 64 hexadecimal digits (JSON escapes lone surrogates).

    It is BLAKE2b, which takes a third of the time of SHA-256 on processors without instructions for SHA-256.
    """
    return blake2b(
        json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), digest_size=32
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of a reply, without any thinking; `finish_reason` is `length` or CAPPED if it was cut off.

    For a `cached` reply no call was made, and `seconds` is 0.
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
        """Return whether the reply is incomplete: a reply to a request for one token is complete in any case."""
        return self.cut_off and request.max_tokens != 1


class Sender(Protocol):
    """The methods of `CachingSender` that a chat model uses; they are documented there."""

    async def send(self, request: Request) -> Completion: ...
    def stream(self, request: Request) -> AsyncIterator[str]: ...
    async def reject(self, request: Request) -> None: ...
    async def keep(self, request: Request, reply: Completion) -> None: ...
    def peek(self, request: Request) -> Completion | None: ...
    def accepts(self, model: str, feature: Feature) -> bool | None: ...


# Tokens

_NEWER_VOCABULARY = re.compile(r"gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|(^|/)o\d")


def vocabulary(name: str) -> str:
    """Return the vocabulary for counting a model's tokens (`cl100k_base` if its own is not known)."""
    return "o200k_base" if _NEWER_VOCABULARY.search(name) else "cl100k_base"


def prompt_tokens(request: Request) -> int:
    """Return the number of tokens of a request, counted with the model's vocabulary or the nearest known one."""
    name = vocabulary(request.model)
    schema = tokens.count(json.dumps(request.schema), name) if request.schema else 0
    return sum(tokens.count(m.content, name) + 4 for m in request.messages) + 3 + schema


STRENGTH = 100
"""The logit bias that excludes all other tokens (GraphRAG appendix A.2)."""
_BIASED = re.compile(r"(chat)?gpt-4o|gpt-4\.[15]|gpt-4(?![\w.])|gpt-4-|gpt-3\.5|gpt-35")
"""Models that accept a logit bias; reasoning models do not, whatever their vocabulary."""


def bias_to(model: str, words: Iterable[str]) -> Mapping[int, int] | None:
    """Return the logit bias that allows only `words`, also capitalised, as one-token replies; None if there is none."""
    base = model.rpartition("/")[2]
    if not _BIASED.match(base):
        return None
    of_model = tokens.encoding(vocabulary(base))
    spelt = [of_model.encode(form) for word in words for form in {word: 0, word.capitalize(): 0}]
    return {token[0]: STRENGTH for token in spelt} if all(len(token) == 1 for token in spelt) else None


@dataclass(frozen=True, slots=True)
class Part:
    """A reply, or a piece of a streamed reply, as received; counts are None if the server reports none."""

    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    refusal: str = ""


def completion_of(request: Request, part: Part) -> Completion:
    """Return a reply without its thinking; its tokens are counted here if the server reports none."""
    sent, written = part.prompt_tokens, part.completion_tokens
    return Completion(
        tokens.well_formed(without_thinking(part.text)),
        part.finish_reason or "stop",
        prompt_tokens(request) if sent is None else sent,
        tokens.count(part.text, vocabulary(request.model)) if written is None else written,
    )


def openai_body(
    request: Request, model: str, dropped: Collection[str] = (), *, stream: bool = False
) -> dict[str, Any]:
    """Return the body of a request in OpenAI's format; `dropped` parameters are omitted or renamed (`max_tokens`)."""
    schema = {"name": request.schema_name or "reply", "schema": request.schema, "strict": True}
    formats: Mapping[str, Any] = {
        "json_schema": {"type": "json_schema", "json_schema": schema},
        "json_object": {"type": "json_object"},
    }
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "max_completion_tokens" if "max_tokens" in dropped else "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "reasoning_effort": request.reasoning_effort,
        "logit_bias": {str(k): v for k, v in request.logit_bias.items()} if request.logit_bias else None,
        "response_format": formats.get(request.response_format),
        "stream": stream or None,
        "stream_options": {"include_usage": True} if stream else None,
    }
    return {name: value for name, value in body.items() if value is not None and name not in dropped}


def ollama_body(
    request: Request, model: str, context_window: int, dropped: Collection[str] = (), *, stream: bool = False
) -> dict[str, Any]:
    """Return the body in Ollama's own format, which sets the context length and asks to refuse prompts beyond it."""
    options = {
        "num_ctx": context_window,
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "stream": stream,
        "truncate": False,
        "options": {name: value for name, value in options.items() if value is not None},
    }
    if request.response_format != "text":
        body["format"] = request.schema if request.response_format == "json_schema" else "json"
    if effort := request.reasoning_effort:
        body["think"] = {"none": False, "minimal": "low", "xhigh": "high"}.get(effort, effort)
    return {name: value for name, value in body.items() if name not in dropped}


def dropped_parameter(message: str, body: Mapping[str, Any]) -> str | None:
    """Return the optional parameter for which a request was refused, None if it was refused for something else."""
    refused = r"unsupported|not support|unrecogni[sz]ed|unknown|not permitted|extra|use '?max_comp"
    if not re.search(refused, message, re.IGNORECASE):
        return None
    optional = ("max_tokens", "temperature", "seed", "stream_options", "truncate")
    return next((name for name in optional if name in body and re.search(rf"\b{name}\b", message)), None)


# Thinking before a reply

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(</\1>\s*|\Z)", re.DOTALL)
_UNOPENED = re.compile(r"\A(?!\s*[{\[(]).*?^</think>\s*?$\s*", re.DOTALL | re.MULTILINE)
_CLOSED = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
OPENING = ("<think>", "<thinking>", "<reasoning>")


def without_thinking(text: str) -> str:
    """Return a reply without the thinking at its beginning; later tags are part of the text."""
    if "</think" not in text and "<" not in text[:20]:
        return text
    stripped = _THINKING.sub("", text, count=1)
    return stripped if stripped != text else _UNOPENED.sub("", text, count=1)


async def without_thinking_streamed(parts: AsyncIterator[Part]) -> AsyncIterator[str | Part]:
    """Yield the text of a streamed reply without thinking, and at the end a Part with all of the yielded text.

    Text is held back only while it may belong to the thinking at the start.
    """
    buffer: str | None = ""
    shown, whole = list[str](), Part()
    async for part in parts:
        whole = Part(
            "",
            part.finish_reason or whole.finish_reason,
            whole.prompt_tokens if part.prompt_tokens is None else part.prompt_tokens,
            whole.completion_tokens if part.completion_tokens is None else part.completion_tokens,
            whole.refusal + part.refusal,
        )
        text = tokens.well_formed(part.text)
        if buffer is not None:
            buffer += text
            if _may_be_thinking(buffer, len(text)):
                continue
            text, buffer = _CLOSED.sub("", buffer, count=1), None
        if text:
            shown.append(text)
            yield text
    if buffer and (text := without_thinking(buffer)):
        shown.append(text)
        yield text
    yield replace(whole, text="".join(shown))


def _may_be_thinking(text: str, new: int) -> bool:
    """Return whether a text may begin with unclosed thinking; its last `new` characters were not examined before."""
    start = text.lstrip()
    if start.startswith(OPENING):
        return "</" not in text[-new - 12 :] or not _CLOSED.match(text)
    return any(tag.startswith(start) for tag in OPENING)
