"""Opens the language model that the settings name, with its cache of replies and its books, for one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from conspectus.models.llm.budget import open_budget
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import CachingSender, open_sender
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
    def notices(self) -> tuple[str, ...]:
        """What of the replies was left out or mended: the first of each task, and how many more."""
        told: list[str] = []
        seen: Counter[str] = Counter()
        for notice in self.model.notices:
            seen[notice.task] += 1
            if seen[notice.task] <= SHOWN:
                told.append(f"{notice.about}: {notice.text}")
        more = (f"{n - SHOWN} more notices on {task}" for task, n in sorted(seen.items()) if n > SHOWN)
        return (*told, *more)


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
