"""The Python API: build an index, open it, ask, search and measure. Most functions have an asynchronous form.

Each module holds one kind of work and is imported when one of its names is used. What most people need is offered by
`conspectus` itself; the functions of the evaluation are described in docs/evaluation.md.
"""
# pyright: reportUnusedImport=false
# ruff: noqa: F401 - the names that are not in __all__ are for the command line

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "conspectus.api.ablating": (
        "ablate preview_ablation vary_chunks vary_communities vary_levels vary_reports vary_window"
    ),
    "conspectus.api.asking": ("QuestionContext aask acontext asearch ask astream context model_of search viewed"),
    "conspectus.api.building": (
        "Built abuild build import_graphrag import_openie import_triples open_index rollback tune"
    ),
    "conspectus.api.checking": (
        "estimate_claims estimate_grounding estimate_loss evaluate_claims evaluate_grounding evaluate_loss"
    ),
    "conspectus.api.comparing": (
        "answer_questions estimate_answers estimate_questions list_questions make_questions table2"
    ),
    "conspectus.api.correcting": ("Corrections apply_corrections correct corrections undo"),
    "conspectus.api.embedding": ("embed estimate_embedding"),
    "conspectus.api.exporting": ("draw_map export"),
    "conspectus.api.measuring": (
        "check_models estimate_judge evaluate_answers evaluate_judge evaluate_retrieval evaluate_statistics"
    ),
    "conspectus.api.people": ("export_pairs import_ratings rater_agreement"),
    "conspectus.api.previewing": ("Preview costs estimate is_free preview"),
    "conspectus.api.reporting": ("write_report"),
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
