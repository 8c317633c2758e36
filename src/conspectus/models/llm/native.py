"""Anthropic, Gemini and Bedrock by their own interfaces, through the extra `native` (any-llm-sdk)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from typing import Any

from conspectus.errors import ModelError, ServerFailed, TimedOut, UsageError
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.dialects import OpenAIDialect, Part, ThinkingFilter, without_thinking
from conspectus.models.llm.http_errors import error_of_response, redact
from conspectus.models.llm.providers import Endpoint, vocabulary
from conspectus.models.llm.wire import Completion, Request
from conspectus.tokens import count, well_formed

EXTRA = "native"


def installed() -> bool:
    """Tell whether the extra is there."""
    try:
        import_module("any_llm")
    except ImportError:
        return False
    return True


class NativeClient:
    """A client of one model of a provider that does not speak OpenAI's wire format."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        try:
            any_llm: Any = import_module("any_llm")

            # Its own retries would hide from the gate that the server is pressed.
            self._provider: Any = any_llm.AnyLLM.create(
                endpoint.name, api_key=endpoint.key, max_retries=0, unified_exceptions=True
            )
        except ImportError:
            raise UsageError(
                f"{endpoint.name} models need the extra `{EXTRA}`: pip install 'conspectus[{EXTRA}]'"
            ) from None
        except Exception as error:  # the providers' own libraries raise errors of many kinds
            raise self._fault(error, None) from None

    async def ask(self, request: Request) -> Completion:
        try:
            reply = await self._provider.acompletion(**self._arguments(request))
        except Exception as error:  # as above
            raise self._fault(error, request) from None
        choice = reply.choices[0]
        text = well_formed(without_thinking(choice.message.content or ""))
        return self._completion(request, text, choice.finish_reason, reply.usage)

    async def stream(self, request: Request) -> AsyncIterator[str | Completion]:
        thinking, shown, reason, usage = ThinkingFilter(), "", "", None
        try:
            async for event in await self._provider.acompletion(**self._arguments(request), stream=True):
                usage = event.usage or usage
                for choice in event.choices[:1]:
                    reason = choice.finish_reason or reason
                    if piece := thinking.feed(well_formed(choice.delta.content or "")):
                        shown += piece
                        yield piece
        except Exception as error:  # as above
            raise self._fault(error, request) from None
        if piece := thinking.end():
            shown += piece
            yield piece
        yield self._completion(request, shown, reason, usage)

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        try:
            reply = await self._provider.aembedding(self.endpoint.model, list(texts))
        except Exception as error:  # as above
            raise self._fault(error, None) from None
        used = reply.usage.prompt_tokens if reply.usage else sum(map(count, texts))
        return [row.embedding for row in sorted(reply.data, key=lambda row: row.index)], used

    def _arguments(self, request: Request) -> dict[str, Any]:
        body = OpenAIDialect().chat_body(request, self.endpoint.model, (), stream=False)
        return {**body, "timeout": self._timeout}

    def _completion(self, request: Request, text: str, reason: str | None, usage: Any) -> Completion:
        part = Part(text, reason or "stop", *((usage.prompt_tokens, usage.completion_tokens) if usage else ()))
        asked = prompt_tokens(request) if part.prompt_tokens is None else part.prompt_tokens
        name = vocabulary(request.model)
        written = count(text, name) if part.completion_tokens is None else part.completion_tokens
        return Completion(text, part.finish_reason, asked, written)

    def _fault(self, error: Exception, request: Request | None) -> ModelError:
        """Return our error for one of a provider's library, by the HTTP status that it carries."""
        if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
            return TimedOut(f"{self.endpoint.name} sent no reply within {self._timeout:g} seconds (llm.timeout)")
        original = getattr(error, "original_exception", None)
        status = getattr(error, "status_code", None) or getattr(original, "status_code", None)
        said = redact(" ".join(str(error).split()), self.endpoint.key)
        if not isinstance(status, int) or status < 400:
            return ServerFailed(f"{self.endpoint.name} failed ({type(error).__name__}: {said[:300]})")
        body = getattr(original, "body", None)
        reply = json.dumps(body if isinstance(body, dict) else {"error": said}, default=str)
        asked_to_wait = getattr(error, "retry_after", None)
        headers = {"Retry-After": str(asked_to_wait)} if asked_to_wait is not None else {}
        return error_of_response(status, headers, reply, self.endpoint, request)
