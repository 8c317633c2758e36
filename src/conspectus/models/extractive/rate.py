"""How relevant a report is to a question: by what the sentences of its community say to it."""

from __future__ import annotations

import math

from conspectus.models.base import performs
from conspectus.models.extractive.answer import relevance
from conspectus.models.extractive.search import Searcher
from conspectus.tasks import RateReport

SOMEWHAT, BEST = 2, 5
FULL = 0.6
"""The relevance from which on a report is rated best."""


@performs(RateReport)
def rate_report(task: RateReport, searcher: Searcher) -> int:
    """Return 0 to 5; for a question about the whole, everything is somewhat relevant."""
    question = searcher.read(task.question)
    if not question.terms or question.about_whole:
        return SOMEWHAT
    return min(BEST, math.ceil(BEST * relevance(question, task.report, searcher) / FULL))
