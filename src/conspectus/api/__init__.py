"""The Python API: build an index, open it, ask, search and correct. Most functions have an asynchronous form.

`conspectus` itself offers what most people need; the evaluation is in `conspectus.evaluation`. Each name is imported
when it is first used. Names that are not in `__all__` are for our own programs.
"""
# pyright: reportUnusedImport=false
# ruff: noqa: F401 - the names that are not in __all__ are for the command line

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

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
    from conspectus.api.building import Built, Preview, abuild, build, costs, estimate, is_free, preview
    from conspectus.api.correcting import (
        Corrections,
        CorrectionState,
        apply_corrections,
        correct,
        corrections,
        undo,
    )
    from conspectus.api.embedding import check_models, embed, estimate_embedding, import_openie
    from conspectus.api.tuning import tune
    from conspectus.configuration import Resolved
    from conspectus.corrections import KINDS, Correction
    from conspectus.explore import Branch, Edge, ReportView
    from conspectus.filters import View
    from conspectus.index_models import describe_models, with_index_models
    from conspectus.index_status import Snapshot, Spending, Status, history, open_index, rollback, spending
    from conspectus.indexing.estimate import Estimate, Range
    from conspectus.indexing.update import Changes
    from conspectus.messages import is_empty_answer, wording
    from conspectus.models.embedders import MOST_UNREAD
    from conspectus.models.llm.budget import price_source
    from conspectus.models.llm.cache import FILE_NAME as CACHE_FILE
    from conspectus.models.llm.cache import ResponseCache
    from conspectus.models.llm.model import NEEDED
    from conspectus.models.llm.providers import redact
    from conspectus.readers import FORMATS
    from conspectus.readers.cleaning import without_markup
    from conspectus.retrieval import METHODS, RANKINGS
    from conspectus.retrieval.base import cite
    from conspectus.retrieval.global_ import level_of
    from conspectus.runtime import DEFAULT_FOLDER, resolved, run_of, settings_in
    from conspectus.storage.store import read
    from conspectus.tasks.base import Context, task_label
    from conspectus.text.language import language_of
    from conspectus.text.sentences import sentences
    from conspectus.text.words import terms

__all__ = [
    "Built", "Corrections", "Preview", "QuestionContext", "aask", "abuild", "acontext", "apply_corrections", "asearch",
    "ask", "astream", "build", "check_models", "context", "correct", "corrections", "embed", "estimate",
    "estimate_embedding", "history", "import_openie", "open_index", "preview", "rollback", "search", "tune", "undo",
]  # fmt: skip

__getattr__ = lazy_names(__name__)
