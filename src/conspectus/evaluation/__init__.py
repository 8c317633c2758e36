"""Evaluation: questions, answers of conditions, judges, claims, grounding, statistics, retrieval and short answers.

A comparison (GraphRAG §4) is a folder; see `comparison` for its files and docs/evaluation.md for the steps. Each
function that asks a model has a `preview` with the same arguments: `judge_answers.preview("study")` asks nothing and
returns what `judge_answers("study")` would ask and cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

if TYPE_CHECKING:
    from conspectus.evaluation.ablation import ablate
    from conspectus.evaluation.answers import answer_questions, units_read
    from conspectus.evaluation.claims import extract_claims
    from conspectus.evaluation.grounding import check_grounding
    from conspectus.evaluation.judge import judge_answers, judge_statistics
    from conspectus.evaluation.people import export_pairs, import_ratings, rater_agreement
    from conspectus.evaluation.qa import evaluate_answers
    from conspectus.evaluation.questions import QuestionCounts, generate_questions, list_questions
    from conspectus.evaluation.report import write_report
    from conspectus.evaluation.retrieval import evaluate_context, evaluate_retrieval
    from conspectus.evaluation.run import estimate_answer

__all__ = [
    "QuestionCounts", "ablate", "answer_questions", "check_grounding", "estimate_answer",
    "evaluate_answers", "evaluate_context", "evaluate_retrieval", "export_pairs", "extract_claims",
    "generate_questions", "import_ratings", "judge_answers", "judge_statistics", "list_questions", "rater_agreement",
    "units_read", "write_report",
]  # fmt: skip

__getattr__ = lazy_names(__name__)
