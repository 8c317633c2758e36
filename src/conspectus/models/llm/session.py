"""Opens the language model that the settings name for one run, and checks what its server supports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

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
        return self.sender.budget.usage()

    @property
    def total(self) -> Usage:
        """What all tasks took so far."""
        return self.sender.budget.total()

    @property
    def budget_notices(self) -> tuple[str, ...]:
        """Which models the budget of money does not limit."""
        return tuple(self.sender.budget.notices.values())

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
async def open_session(
    settings: Settings, folder: Path | None, *, to_ask: bool = True
) -> AsyncGenerator[Session]:
    """Open the model of the settings; its replies are kept in a folder (nowhere, for None).

    Without `to_ask` nothing is asked, so that no key is needed.

    Raises UsageError where the name of a model leads nowhere or a budget cannot be kept, BadKey where a key
    is missing, SettingsError where a prompt of the user's is wrong: all before anything is read or asked.
    """
    budget = open_budget(settings)
    async with open_sender(settings.llm, folder, budget) as sender:
        for name in (settings.model, *settings.llm.tasks.values()) if to_ask else ():
            budget.check(name)
            sender.clients.of(name)
        yield Session(ChatModel(sender, settings), sender)


# Checking a server

NEEDED = ("chat", "embeddings")
"""Requests without which nothing can be done; there is another way for the others."""
MOST_TOKENS = 1500
"""Tokens of a reply at the most, with what is thought before it: a small model may not know where to stop."""
WORD = (Message("user", 'Reply with the JSON object {"word": "yes"} and nothing else.'),)
YES_OR_NO = (Message("user", "Is the sky green? Answer with one word, yes or no."),)
SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One kind of request: `ok` is None where it is not known; `detail` is what was seen, or what to fix."""

    model: str
    kind: str
    ok: bool | None
    detail: str


async def check(session: Session, settings: Settings, embedder: str = "") -> list[Checked]:
    """Check every model that the settings name, and the embedder if one is named; nothing is kept.

    Where a model cannot be used at all, the rest is not asked of it.
    """
    results: list[Checked] = []
    for model in dict.fromkeys((settings.model, *settings.llm.tasks.values())):
        most = min(settings.llm.max_tokens or MOST_TOKENS, MOST_TOKENS)
        plain = Request(WORD, model, max_tokens=most, temperature=settings.llm.temperature)
        requests = {
            "chat": plain,
            "json_schema": replace(plain, response_format="json_schema", schema=SCHEMA, schema_name="Check"),
            "json_object": replace(plain, response_format="json_object"),
            "logit_bias": Request(YES_OR_NO, model, max_tokens=1, logit_bias=bias_to(model, ("yes", "no"))),
            "streaming": plain,
        }
        for kind, request in requests.items():
            results.append(await _check(session, model, kind, request))
            if kind == "chat" and not results[-1].ok:
                break
    if embedder:
        results.append(await _check(session, embedder, "embeddings", None))
    return results


async def _check(session: Session, model: str, kind: str, request: Request | None) -> Checked:
    if kind == "logit_bias" and request and not request.logit_bias:
        return Checked(model, kind, None, "not used: the vocabulary of this model is not known")
    try:
        return Checked(model, kind, True, await _detail(session, model, kind, request))
    except ConspectusError as error:  # a name that leads nowhere, an extra that is missing
        passes = isinstance(error, CallFailed) and error.passing  # it tells nothing of what the server takes
        return Checked(model, kind, None if passes and kind not in NEEDED else False, str(error))


async def _detail(session: Session, model: str, kind: str, request: Request | None) -> str:
    """Make a request and return what was seen; raise the error that says what to fix."""
    in_json = kind in ("json_schema", "json_object")
    if in_json and session.sender.accepts(model, cast("Feature", kind)) is False:
        raise ModelError("this kind of server does not take it")
    client = session.sender.clients.of(model)
    if request is None:
        vectors, _ = await client.embed(["one", "two"])
        return f"vectors of {len(vectors[0])} numbers"
    if kind == "streaming":
        return f"{len([piece async for piece in client.stream(request)]) - 1} pieces"
    reply = await client.ask(request)
    if not in_json:
        endless = ", where it was cut off: it may not know where to stop (llm.max_tokens)"
        cut = endless if reply.cut_off_for(request) else ""
        return f"{reply.prompt_tokens} tokens in, {reply.completion_tokens} out{cut}"
    try:
        json.loads(reply.text)
    except ValueError:
        raise ModelError(f"the server takes it, but the reply is no JSON ({reply.text[:40]!r})") from None
    return "the reply is JSON"
