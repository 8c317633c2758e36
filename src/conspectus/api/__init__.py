"""The Python API: build an index, open it, ask, search and measure. Most functions have an asynchronous form.

Each module holds one kind of work; what they share is in `working`.
"""

from conspectus.api.ablating import (
    ablate,
    preview_ablation,
    vary_chunks,
    vary_communities,
    vary_levels,
    vary_reports,
    vary_window,
)
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
from conspectus.api.checking import (
    estimate_claims,
    estimate_grounding,
    estimate_loss,
    evaluate_claims,
    evaluate_grounding,
    evaluate_loss,
)
from conspectus.api.comparing import (
    answer_questions,
    estimate_answers,
    estimate_questions,
    list_questions,
    make_questions,
    table2,
)
from conspectus.api.correcting import Corrections, apply_corrections, correct, corrections, undo
from conspectus.api.embedding import embed, estimate_embedding
from conspectus.api.exporting import draw_map, export
from conspectus.api.measuring import (
    check_models,
    estimate_judge,
    evaluate_answers,
    evaluate_judge,
    evaluate_retrieval,
    evaluate_statistics,
)
from conspectus.api.people import export_pairs, import_ratings, rater_agreement
from conspectus.api.previewing import Preview, costs, estimate, is_free, preview
from conspectus.api.reporting import write_report
from conspectus.index_status import history
from conspectus.runtime import DEFAULT_FOLDER, resolved

__all__ = [
    "DEFAULT_FOLDER",
    "Built",
    "Corrections",
    "Preview",
    "QuestionContext",
    "aask",
    "ablate",
    "abuild",
    "acontext",
    "answer_questions",
    "apply_corrections",
    "asearch",
    "ask",
    "astream",
    "build",
    "check_models",
    "context",
    "correct",
    "corrections",
    "costs",
    "draw_map",
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
    "export",
    "export_pairs",
    "history",
    "import_graphrag",
    "import_openie",
    "import_ratings",
    "import_triples",
    "is_free",
    "list_questions",
    "make_questions",
    "model_of",
    "open_index",
    "preview",
    "preview_ablation",
    "rater_agreement",
    "resolved",
    "rollback",
    "search",
    "table2",
    "tune",
    "undo",
    "vary_chunks",
    "vary_communities",
    "vary_levels",
    "vary_reports",
    "vary_window",
    "viewed",
    "write_report",
]
