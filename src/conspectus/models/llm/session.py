"""Opens the language model that the settings name for one run, and checks what its server supports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus.errors import CallFailed, ConspectusError, ModelError
from conspectus.models.llm.budget import open_budget
from conspectus.models.llm.model import ChatModel, bias_to
from conspectus.models.llm.sender import CachingSender, open_sender
from conspectus.models.llm.wire import Feature, Message, Request
from conspectus.rows import Usage
from conspectus.settings import Settings

EXTRACTIVE = "extractive"
SHOWN = 3
"""Notices of one kind that are told in full."""


@dataclass(frozen=True)
class Session:
    """A language model for one run; what it took and what its replies lacked is known at the end."""

    model: ChatModel
    sender: CachingSender

    @property
    def usage(self) -> dict[str, Usage]:
        """What each task took so far."""
        return self.sender.ledger.usage()

    @property
    def total(self) -> Usage:
        """What all tasks took so far."""
        return self.sender.ledger.total()

    @property
    def budget_notices(self) -> tuple[str, ...]:
        """Which models the budget of money does not limit."""
        return tuple(self.sender.ledger.notices.values())

    @property
    def notices(self) -> tuple[str, ...]:
        """What the budget does not limit, and what of the replies was left out or mended: the first of each task."""
        lines: list[str] = []
        seen: Counter[str] = Counter()
        for notice in self.model.notices:
            seen[notice.task] += 1
            if seen[notice.task] <= SHOWN:
                lines.append(f"{notice.about}: {notice.text}")
        more = (f"{n - SHOWN} more notices on {task}" for task, n in sorted(seen.items()) if n > SHOWN)
        return (*self.budget_notices, *lines, *more)


@asynccontextmanager
async def open_session(settings: Settings, folder: Path | None, *, to_ask: bool = True) -> AsyncGenerator[Session]:
    """Open the model of the settings; its replies are kept in a folder (nowhere, for None).

    Without `to_ask` nothing is asked, so that no key is needed.

    Raises UsageError where the name of a model leads nowhere or a budget cannot be kept, BadKey where a key
    is missing, SettingsError where a prompt of the user's is wrong: all before anything is read or asked.
    """
    ledger = open_budget(settings)
    async with open_sender(settings.llm, folder, ledger) as sender:
        for name in (settings.model, *settings.llm.tasks.values()) if to_ask else ():
            ledger.check(name)
            sender.clients.of(name)
        yield Session(ChatModel(sender, settings), sender)


SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
ASKED = 'Reply with the JSON object {"word": "yes"} and nothing else.'
WORDS = ("yes", "no")
NEEDED = ("chat", "embeddings")
"""Requests without which nothing can be done; there is another way for the others."""
MOST_TOKENS = 1500
"""Tokens of a reply at the most, with what is thought before it: a small model may not know where to stop."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One kind of request: `ok` is None where it is not known; `told` is what was seen, or what to fix."""

    model: str
    kind: str
    ok: bool | None
    detail: str


async def check(session: Session, settings: Settings, embedder: str = "") -> list[Checked]:
    """Check every model that the settings name, and the embedder if one is named; nothing is kept.

    Where a model cannot be used at all, the rest is not asked of it.
    """
    results: list[Checked] = []
    for name in dict.fromkeys((settings.model, *settings.llm.tasks.values())):
        results += await _chat(session, name, settings)
    if embedder:
        results.append(await _tried(embedder, "embeddings", lambda: _embeds(session, embedder)))
    return results


async def _chat(session: Session, name: str, settings: Settings) -> list[Checked]:
    plain = Request(
        (Message("user", ASKED),),
        name,
        max_tokens=min(settings.llm.max_tokens or MOST_TOKENS, MOST_TOKENS),
        temperature=settings.llm.temperature,
    )
    first = await _tried(name, "chat", lambda: _asks(session, plain))
    if not first.ok:
        return [first]
    bias = bias_to(name, WORDS)
    biased = Request(
        (Message("user", "Is the sky green? Answer with one word, yes or no."),),
        name,
        max_tokens=1,
        logit_bias=bias,
    )
    schema = replace(plain, response_format="json_schema", schema=SCHEMA, schema_name="Check")
    mode = replace(plain, response_format="json_object")
    return [
        first,
        await _tried(name, "json_schema", lambda: _writes_json(session, schema)),
        await _tried(name, "json_object", lambda: _writes_json(session, mode)),
        await _tried(name, "logit_bias", lambda: _asks(session, biased))
        if bias
        else Checked(name, "logit_bias", None, "not used: the vocabulary of this model is not known"),
        await _tried(name, "streaming", lambda: _streams(session, plain)),
    ]


async def _tried(model: str, kind: str, act: Callable[[], Awaitable[str]]) -> Checked:
    try:
        return Checked(model, kind, True, await act())
    except ConspectusError as error:  # a name that leads nowhere, an extra that is missing
        passes = isinstance(error, CallFailed) and error.passing  # it tells nothing of what the server takes
        return Checked(model, kind, None if passes and kind not in NEEDED else False, str(error))


async def _asks(session: Session, request: Request) -> str:
    reply = await session.sender.clients.of(request.model).ask(request)
    cut = ", where it was cut off: it may not know where to stop (llm.max_tokens)" if reply.cut_off_for(request) else ""
    return f"{reply.prompt_tokens} tokens in, {reply.completion_tokens} out{cut}"


async def _writes_json(session: Session, request: Request) -> str:
    feature: Feature = "json_schema" if request.schema else "json_object"
    if session.sender.accepts(request.model, feature) is False:
        raise ModelError("this kind of server does not take it")
    reply = await session.sender.clients.of(request.model).ask(request)
    try:
        json.loads(reply.text)
    except ValueError:
        raise ModelError(f"the server takes it, but the reply is no JSON ({reply.text[:40]!r})") from None
    return "the reply is JSON"


async def _streams(session: Session, request: Request) -> str:
    pieces = [piece async for piece in session.sender.clients.of(request.model).stream(request)]
    return f"{len(pieces) - 1} pieces"


async def _embeds(session: Session, embedder: str) -> str:
    vectors, _ = await session.sender.clients.of(embedder).embed(["one", "two"])
    return f"vectors of {len(vectors[0])} numbers"
