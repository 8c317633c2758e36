"""The Python API: build an index, open it, ask, search and measure. Most functions have an asynchronous form.

This module only gathers what `building`, `asking`, `measuring`, `comparing` and `checking` hold.
"""

from conspectus.asking import Context, aask, ask, astream, context, model_of, search, viewed
from conspectus.building import (
    Built,
    Preview,
    abuild,
    build,
    costs,
    estimate,
    import_openie,
    import_triples,
    open_index,
    preview,
    tune,
)
from conspectus.checking import (
    estimate_claims,
    estimate_grounding,
    estimate_loss,
    evaluate_claims,
    evaluate_grounding,
    evaluate_loss,
)
from conspectus.comparing import (
    answer_questions,
    estimate_answers,
    estimate_questions,
    list_questions,
    make_questions,
    table2,
)
from conspectus.embedding import embed, estimate_embedding
from conspectus.measuring import (
    check_models,
    estimate_judge,
    evaluate_answers,
    evaluate_judge,
    evaluate_retrieval,
    evaluate_statistics,
)
from conspectus.working import DEFAULT_FOLDER, resolved

__all__ = [
    "DEFAULT_FOLDER",
    "Built",
    "Context",
    "Preview",
    "aask",
    "abuild",
    "answer_questions",
    "ask",
    "astream",
    "build",
    "check_models",
    "context",
    "costs",
    "embed",
    "estimate",
    "estimate_answers",
    "estimate_claims",
    "estimate_embedding",
    "estimate_grounding",
    "estimate_judge",
    "estimate_loss",
    "estimate_questions",
    "evaluate_answers",
    "evaluate_claims",
    "evaluate_grounding",
    "evaluate_judge",
    "evaluate_loss",
    "evaluate_retrieval",
    "evaluate_statistics",
    "import_openie",
    "import_triples",
    "list_questions",
    "make_questions",
    "model_of",
    "open_index",
    "preview",
    "resolved",
    "search",
    "table2",
    "tune",
    "viewed",
]
