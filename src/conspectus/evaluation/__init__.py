"""Evaluation: questions, answers of conditions, judges, claims, grounding, statistics, retrieval and short answers.

A comparison (GraphRAG §4) is a folder; see `jsonl_table` for its files and docs/evaluation.md for the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

if TYPE_CHECKING:
    from conspectus.evaluation.ablation import ablate, compare_communities, preview_ablation
    from conspectus.evaluation.answers import AnswerOptions, answer_questions, preview_answers, units_read
    from conspectus.evaluation.claims import extract_claims, preview_claims
    from conspectus.evaluation.grounding import check_grounding, preview_grounding
    from conspectus.evaluation.judge import JudgeOptions, judge_answers, judge_statistics, preview_judging
    from conspectus.evaluation.loss import measure_loss, preview_loss
    from conspectus.evaluation.people import blinded, export_pairs, import_ratings, rater_agreement
    from conspectus.evaluation.qa import evaluate_answers
    from conspectus.evaluation.questions import (
        QuestionCounts,
        generate_questions,
        list_questions,
        preview_questions,
    )
    from conspectus.evaluation.report import write_report
    from conspectus.evaluation.retrieval import evaluate_retrieval

__all__ = [
    "AnswerOptions", "JudgeOptions", "QuestionCounts", "ablate", "answer_questions", "blinded", "check_grounding",
    "compare_communities", "evaluate_answers", "evaluate_retrieval", "export_pairs", "extract_claims",
    "generate_questions", "import_ratings", "judge_answers", "judge_statistics", "list_questions", "measure_loss",
    "preview_ablation", "preview_answers", "preview_claims", "preview_grounding", "preview_judging", "preview_loss",
    "preview_questions", "rater_agreement", "units_read", "write_report",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        "ablation": "ablate compare_communities preview_ablation",
        "answers": "AnswerOptions answer_questions preview_answers units_read",
        "claims": "extract_claims preview_claims",
        "grounding": "check_grounding preview_grounding",
        "judge": "JudgeOptions judge_answers judge_statistics preview_judging",
        "loss": "measure_loss preview_loss",
        "people": "blinded export_pairs import_ratings rater_agreement",
        "questions": "QuestionCounts generate_questions list_questions preview_questions",
        "qa": "evaluate_answers",
        "retrieval": "evaluate_retrieval",
        "report": "write_report",
    },
)
