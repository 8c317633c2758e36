"""Language models behind servers: names that other packages use, imported when first used.

`from conspectus.models import llm` costs nothing; `llm.open_session(...)` imports what it needs, aiohttp among it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

if TYPE_CHECKING:
    from conspectus.models.llm.adapters import ChatFunction, EmbedFunction, register
    from conspectus.models.llm.budget import Budget, open_budget
    from conspectus.models.llm.cache import FILE_NAME, ResponseCache
    from conspectus.models.llm.model import ChatModel
    from conspectus.models.llm.prompts import OURS
    from conspectus.models.llm.providers import redact
    from conspectus.models.llm.sender import CachingSender, batches, embedding_key, open_sender
    from conspectus.models.llm.session import NEEDED, Checked, Session, check, open_session


__all__ = [
    "FILE_NAME",
    "NEEDED",
    "OURS",
    "Budget",
    "CachingSender",
    "ChatFunction",
    "ChatModel",
    "Checked",
    "EmbedFunction",
    "ResponseCache",
    "Session",
    "batches",
    "check",
    "embedding_key",
    "open_budget",
    "open_sender",
    "open_session",
    "redact",
    "register",
]

__getattr__ = lazy_names(
    __name__,
    {
        "adapters": "ChatFunction EmbedFunction register",
        "budget": "Budget open_budget",
        "cache": "FILE_NAME ResponseCache",
        "prompts": "OURS",
        "providers": "redact",
        "model": "ChatModel",
        "sender": "CachingSender batches embedding_key open_sender",
        "session": "NEEDED Checked Session check open_session",
    },
)
