"""The Python API: build an index, open it, ask, search and correct. Most functions have an asynchronous form.

What most people need is offered by `conspectus` itself; the evaluation is `conspectus.evaluation`. Each name is
imported when it is used.
"""
# pyright: reportUnusedImport=false, reportUnsupportedDunderAll=false
# ruff: noqa: F401 - the names that are not in __all__ are for the command line

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conspectus.api.asking import QuestionContext, aask, acontext, asearch, ask, astream, context, search, viewed
    from conspectus.api.building import (
        Built,
        Preview,
        abuild,
        build,
        costs,
        estimate,
        is_free,
        open_index,
        preview,
        rollback,
    )
    from conspectus.api.correcting import Corrections, apply_corrections, correct, corrections, undo
    from conspectus.api.embedding import check_models, embed, estimate_embedding, import_openie
    from conspectus.api.tuning import tune
    from conspectus.index_status import history
    from conspectus.runtime import DEFAULT_FOLDER, resolved

_MODULES = {
    "conspectus.api.asking": "QuestionContext aask acontext asearch ask astream context search",
    "conspectus.api.building": "Built Preview abuild build estimate open_index preview rollback",
    "conspectus.api.correcting": "Corrections apply_corrections correct corrections undo",
    "conspectus.api.embedding": "check_models embed estimate_embedding import_openie",
    "conspectus.api.tuning": "tune",
    "conspectus.index_status": "history",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_INTERNAL = {
    **dict.fromkeys(("costs", "is_free"), "conspectus.api.building"),
    **dict.fromkeys(("DEFAULT_FOLDER", "resolved"), "conspectus.runtime"),
    "viewed": "conspectus.api.asking",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a name when it is used."""
    module = _HOME.get(name) or _INTERNAL.get(name)
    if module is None:
        raise AttributeError(f"module 'conspectus.api' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value
