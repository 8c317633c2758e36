"""The Python API: build an index, open it, ask, search and measure. Most functions have an asynchronous form.

This module only gathers what `building`, `asking` and `measuring` hold.
"""

from conspectus.asking import Context, aask, ask, astream, context, model_of, search
from conspectus.building import (
    Built,
    Preview,
    abuild,
    build,
    embed,
    estimate,
    import_openie,
    import_triples,
    open_index,
    preview,
    tune,
)
from conspectus.measuring import check_models, evaluate_answers, evaluate_retrieval
from conspectus.working import DEFAULT_FOLDER, resolved

__all__ = [
    "DEFAULT_FOLDER",
    "Built",
    "Context",
    "Preview",
    "aask",
    "abuild",
    "ask",
    "astream",
    "build",
    "check_models",
    "context",
    "embed",
    "estimate",
    "evaluate_answers",
    "evaluate_retrieval",
    "import_openie",
    "import_triples",
    "model_of",
    "open_index",
    "preview",
    "resolved",
    "search",
    "tune",
]
