"""How relevant a report is to a question: by how many of the question's words it has, the rare ones first."""

from __future__ import annotations

from conspectus.tasks import RateReport
from conspectus.text.question import read_question
from conspectus.text.words import terms

SOMEWHAT = 2


def rate_report(task: RateReport) -> int:
    """Return 0 to 5; for a question about the whole, everything is somewhat relevant."""
    asked = set(terms(task.question))
    if not asked or read_question(task.question).about_whole:
        return SOMEWHAT
    shared = asked & set(terms(task.report.text))
    return min(5, -(-5 * len(shared) // len(asked)))
