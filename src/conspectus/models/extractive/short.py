"""The answer alone, as far as selection goes: a date, a number, a name out of the best sentences.

It is the candidate of the kind that is asked for that stands nearest to the question's words; where there is none, the
clause that holds most of them. Nothing is concluded: a yes or no, or which of two is more, is not to be had this way.
"""

from __future__ import annotations

import math
import re

from conspectus.models.extractive.candidates import candidates
from conspectus.models.extractive.rank_sentences import rank_sentences
from conspectus.models.extractive.search import Found, Searcher
from conspectus.tasks.context import Context
from conspectus.text.words import CJK

READ = 12
"""Sentences that are read."""

_CLAUSE = re.compile(r"[^，。；！？,;.!?]+")


def short_answer(question_text: str, evidence: Context, searcher: Searcher) -> tuple[str, Found] | None:
    """Return the answer alone and the sentence that it stands in, None where no sentence speaks to the question."""
    question = searcher.read(question_text)
    found = rank_sentences(question, evidence.sources, {entity.number for entity in evidence.entities}, searcher)[:READ]
    asked = frozenset(searcher.index.terms(question_text))
    best: tuple[float, str, Found] | None = None
    for f in found:
        for answer, weight in candidates(question, f.sentence, asked, searcher):
            if best is None or f.score * weight > best[0]:
                best = f.score * weight, answer, f
    if best is not None:
        return best[1], best[2]
    clauses = ((clause, f) for f in found for clause in _clauses(searcher.passages.text(f.sentence)))
    return max(clauses, key=lambda pair: _held(pair[0], asked, searcher), default=None)


def _clauses(text: str) -> list[str]:
    """Return the clauses of a sentence; in scripts with spaces, the whole of it."""
    return [m.group().strip() for m in _CLAUSE.finditer(text)] if CJK.search(text) else [text]


def _held(clause: str, asked: frozenset[str], searcher: Searcher) -> float:
    return math.fsum(searcher.weight(term) for term in asked.intersection(searcher.index.terms(clause)))
