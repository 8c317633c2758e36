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
    from conspectus.api.asking import (
        QuestionContext,
        aask,
        acontext,
        asearch,
        ask,
        astream,
        context,
        search,
        viewed,
    )
    from conspectus.api.building import Built, abuild, build, costs, is_free
    from conspectus.api.correcting import (
        Corrections,
        CorrectionState,
        apply_corrections,
        correct,
        corrections,
        undo,
    )
    from conspectus.api.embedding import check_models, embed, import_openie
    from conspectus.api.estimating import Preview, estimate, estimate_embedding, preview
    from conspectus.api.tuning import tune
    from conspectus.configuration import Resolved
    from conspectus.corrections import FILE_NAME as CORRECTIONS_FILE
    from conspectus.corrections import KINDS, Correction
    from conspectus.explore import Branch, Edge, ReportView
    from conspectus.filters.view import View
    from conspectus.index_models import describe_models, with_index_models
    from conspectus.index_status import (
        Snapshot,
        Spending,
        Status,
        VectorFigures,
        history,
        open_index,
        rollback,
        spending,
    )
    from conspectus.indexing.estimate import Estimate, Range
    from conspectus.indexing.update import Changes
    from conspectus.messages import is_empty_answer, wording
    from conspectus.models.embedders import MOST_UNREAD
    from conspectus.models.llm.budget import price_source
    from conspectus.models.llm.cache import FILE_NAME as CACHE_FILE
    from conspectus.models.llm.cache import ResponseCache
    from conspectus.models.llm.model import NEEDED
    from conspectus.models.llm.providers import redact
    from conspectus.retrieval import METHODS, RANKINGS
    from conspectus.retrieval.citations import cite
    from conspectus.retrieval.global_ import level_of
    from conspectus.runtime import DEFAULT_FOLDER, resolved, settings_in
    from conspectus.storage.store import read
    from conspectus.tasks.base import Context, task_label
    from conspectus.text.language import language_of
    from conspectus.text.sentences import sentences
    from conspectus.text.words import terms

_MODULES = {
    "conspectus.api.asking": "QuestionContext aask acontext asearch ask astream context search",
    "conspectus.api.building": "Built abuild build",
    "conspectus.api.correcting": "Corrections apply_corrections correct corrections undo",
    "conspectus.api.embedding": "check_models embed import_openie",
    "conspectus.api.estimating": "Preview estimate estimate_embedding preview",
    "conspectus.api.tuning": "tune",
    "conspectus.index_status": "history open_index rollback",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_FOR_THE_COMMAND_LINE = {
    "conspectus.api.asking": "viewed",
    "conspectus.api.building": "costs is_free",
    "conspectus.corrections": "CORRECTIONS_FILE=FILE_NAME KINDS",
    "conspectus.index_models": "describe_models with_index_models",
    "conspectus.index_status": "Spending spending",
    "conspectus.indexing.estimate": "Estimate",
    "conspectus.messages": "is_empty_answer wording",
    "conspectus.models.embedders": "MOST_UNREAD",
    "conspectus.models.llm.budget": "price_source",
    "conspectus.models.llm.cache": "CACHE_FILE=FILE_NAME ResponseCache",
    "conspectus.models.llm.providers": "redact",
    "conspectus.models.llm.model": "NEEDED",
    "conspectus.retrieval": "METHODS RANKINGS",
    "conspectus.retrieval.citations": "cite",
    "conspectus.retrieval.global_": "level_of",
    "conspectus.runtime": "DEFAULT_FOLDER resolved settings_in",
    "conspectus.storage.store": "read",
    "conspectus.tasks.base": "task_label",
    "conspectus.text.language": "language_of",
    "conspectus.text.sentences": "sentences",
    "conspectus.text.words": "terms",
}
"""What our own programs need beside the public names; `name=attribute` where a module calls it otherwise."""
_INTERNAL = {
    name.partition("=")[0]: (module, name.partition("=")[2] or name)
    for module, names in _FOR_THE_COMMAND_LINE.items()
    for name in names.split()
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a name when it is used."""
    if name in _HOME:
        module, attribute = _HOME[name], name
    elif name in _INTERNAL:
        module, attribute = _INTERNAL[name]
    else:
        raise AttributeError(f"module 'conspectus.api' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value
