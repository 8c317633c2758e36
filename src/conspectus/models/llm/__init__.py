"""Language models behind servers: the names that other packages use, imported when first used.

`from conspectus.models import llm` imports nothing else; `llm.open_session(...)` imports aiohttp and other packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

if TYPE_CHECKING:
    from conspectus.models.llm.adapters import register
    from conspectus.models.llm.batches import open_batches
    from conspectus.models.llm.budget import open_budget
    from conspectus.models.llm.model import check, open_session
    from conspectus.models.llm.prompts import OURS
    from conspectus.models.llm.sender import open_sender

__all__ = ["OURS", "check", "open_batches", "open_budget", "open_sender", "open_session", "register"]
__getattr__ = lazy_names(__name__)
