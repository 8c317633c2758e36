"""What the servers of a configuration support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.errors import UsageError
from conspectus.runtime import Given, resolved, run_sync

if TYPE_CHECKING:
    from conspectus.models.llm.session import Checked


def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to what is configured, and return what the servers support."""
    from conspectus.models.llm.session import check, open_session

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model needs no server: name a language model with --model")
    embedder = chosen.vectors.embedder
    remote = "" if embedder.partition(":")[0] in ("none", "local") else embedder

    async def work() -> list[Checked]:
        async with open_session(chosen, None) as session:
            return await check(session, chosen, remote)

    return run_sync(work())
