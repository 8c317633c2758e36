"""The Python API: build an index, open it, ask, search and measure. Most functions have an asynchronous form.

Each module holds one kind of work and is imported when one of its names is used. What most people need is offered by
`conspectus` itself; those of the evaluation are in `conspectus.evaluation`.
"""
# pyright: reportUnusedImport=false
# ruff: noqa: F401 - the names that are not in __all__ are for the command line

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conspectus.api.asking import (
        QuestionContext,
        aask,
        acontext,
        asearch,
        ask,
        astream,
        context,
        model_of,
        search,
        viewed,
    )
    from conspectus.api.building import (
        Built,
        abuild,
        build,
        import_graphrag,
        import_openie,
        import_triples,
        open_index,
        rollback,
        tune,
    )
    from conspectus.api.correcting import Corrections, apply_corrections, correct, corrections, undo
    from conspectus.api.embedding import embed, estimate_embedding
    from conspectus.api.exporting import draw_map, export
    from conspectus.api.measuring import check_models
    from conspectus.api.previewing import Preview, costs, estimate, is_free, preview
    from conspectus.index_status import history
    from conspectus.runtime import DEFAULT_FOLDER, resolved

_MODULES = {
    "conspectus.api.asking": ("QuestionContext aask acontext asearch ask astream context model_of search viewed"),
    "conspectus.api.building": (
        "Built abuild build import_graphrag import_openie import_triples open_index rollback tune"
    ),
    "conspectus.api.correcting": ("Corrections apply_corrections correct corrections undo"),
    "conspectus.api.embedding": ("embed estimate_embedding"),
    "conspectus.api.exporting": ("draw_map export"),
    "conspectus.api.measuring": ("check_models"),
    "conspectus.api.previewing": ("Preview costs estimate is_free preview"),
    "conspectus.index_status": ("history"),
    "conspectus.runtime": ("DEFAULT_FOLDER resolved"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name when it is used."""
    if name not in _HOME:
        raise AttributeError(f"module 'conspectus.api' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


__all__ = [
    "Built",
    "Corrections",
    "Preview",
    "QuestionContext",
    "aask",
    "abuild",
    "acontext",
    "apply_corrections",
    "asearch",
    "ask",
    "astream",
    "build",
    "check_models",
    "context",
    "correct",
    "corrections",
    "draw_map",
    "embed",
    "estimate",
    "estimate_embedding",
    "export",
    "history",
    "import_graphrag",
    "import_openie",
    "import_triples",
    "open_index",
    "preview",
    "rollback",
    "search",
    "tune",
    "undo",
]
