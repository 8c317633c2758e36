"""Language models behind servers: names that other packages use, imported when first used.

`from conspectus.models import llm` costs nothing; `llm.open_session(...)` imports what it needs, aiohttp among it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

    from conspectus.models.llm.adapters import (
        ChatFunction as ChatFunction,
        EmbedFunction as EmbedFunction,
        register as register,
    )
    from conspectus.models.llm.budget import Budget as Budget, open_budget as open_budget
    from conspectus.models.llm.cache import FILE_NAME as FILE_NAME, ResponseCache as ResponseCache
    from conspectus.models.llm.model import ChatModel as ChatModel
    from conspectus.models.llm.prompts import OURS as OURS
    from conspectus.models.llm.providers import redact as redact
    from conspectus.models.llm.sender import (
        CachingSender as CachingSender,
        batches as batches,
        embedding_key as embedding_key,
        open_sender as open_sender,
    )
    from conspectus.models.llm.session import (
        NEEDED as NEEDED,
        Checked as Checked,
        Session as Session,
        check as check,
        open_session as open_session,
    )

_HOME = {
    **dict.fromkeys(("ChatFunction", "EmbedFunction", "register"), "adapters"),
    **dict.fromkeys(("Budget", "open_budget"), "budget"),
    **dict.fromkeys(("FILE_NAME", "ResponseCache"), "cache"),
    "OURS": "prompts",
    "redact": "providers",
    "ChatModel": "model",
    **dict.fromkeys(("CachingSender", "batches", "embedding_key", "open_sender"), "sender"),
    **dict.fromkeys(("NEEDED", "Checked", "Session", "check", "open_session"), "session"),
}
"""The modules of the names that are imported when first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
