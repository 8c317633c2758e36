"""Language models behind servers: names that other packages use, imported when first used.

`from conspectus.models import llm` costs nothing; `llm.open_session(...)` imports what it needs, aiohttp among it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

    from conspectus.models.llm.adapters import ChatFunction, EmbedFunction, register
    from conspectus.models.llm.budget import Budget, open_budget
    from conspectus.models.llm.cache import FILE_NAME, ResponseCache
    from conspectus.models.llm.model import ChatModel
    from conspectus.models.llm.providers import redact
    from conspectus.models.llm.sender import CachingSender, batches, embedding_key, open_sender
    from conspectus.models.llm.session import NEEDED, Checked, Session, check, open_session

_HOME = {
    **dict.fromkeys(("ChatFunction", "EmbedFunction", "register"), "adapters"),
    **dict.fromkeys(("Budget", "open_budget"), "budget"),
    **dict.fromkeys(("FILE_NAME", "ResponseCache"), "cache"),
    "redact": "providers",
    "ChatModel": "model",
    **dict.fromkeys(("CachingSender", "batches", "embedding_key", "open_sender"), "sender"),
    **dict.fromkeys(("NEEDED", "Checked", "Session", "check", "open_session"), "session"),
}
"""The modules of the names that are imported when first used."""

__all__ = [
    "FILE_NAME",
    "NEEDED",
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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
