"""Conspectus reads a corpus, builds a knowledge graph and a hierarchy of communities from it, and answers questions.

import conspectus

built = conspectus.build("my_documents")
print(conspectus.ask("What are the main themes?", built).text)
"""

from __future__ import annotations

from conspectus.lazy import lazy_names

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from conspectus.api import (
        Built,
        QuestionContext,
        aask,
        abuild,
        acontext,
        asearch,
        ask,
        astream,
        build,
        context,
        correct,
        embed,
        estimate,
        history,
        open_index,
        preview,
        rollback,
        search,
    )
    from conspectus.conversation import Conversation
    from conspectus.errors import ConspectusError
    from conspectus.explore import EntityView, entity_view, path_between, report_tree, report_view
    from conspectus.index import Index
    from conspectus.index_status import status_of
    from conspectus.interchange import draw_map, export, import_graphrag
    from conspectus.rows import Answer, Citation, Hit, Report
    from conspectus.settings import Settings

__version__ = "0.1.0"

_NEAR = {
    "map": "draw_map",
    "status": "status_of",
    "entity": "entity_view",
    "report": "report_view",
    "query": "ask",
}
"""Names that are common on the command line or elsewhere, and the names used here."""
_lazy = lazy_names(__name__)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that importing the package costs nothing."""
    if name in __all__:
        return _lazy(name)
    from importlib import import_module
    from importlib.util import find_spec

    if not name.startswith("_") and find_spec(f"conspectus.{name}"):  # whether imported already or not
        return import_module(f"conspectus.{name}")
    hint = f"; did you mean {_NEAR[name]}?" if name in _NEAR else ""
    raise AttributeError(f"module 'conspectus' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(__all__)


__all__ = [
    "Answer", "Built", "Citation", "ConspectusError", "Conversation", "EntityView", "Hit", "Index", "QuestionContext",
    "Report", "Settings", "aask", "abuild", "acontext", "asearch", "ask", "astream", "build", "context", "correct",
    "draw_map", "embed", "entity_view", "estimate", "export", "history", "import_graphrag", "open_index",
    "path_between", "preview", "report_tree", "report_view", "rollback", "search", "status_of",
]  # fmt: skip
