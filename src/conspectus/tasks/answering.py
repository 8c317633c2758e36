"""The tasks of answering from reports and sources (P1 E.3, E.4)."""

from __future__ import annotations

from dataclasses import dataclass

from conspectus.evidence import Evidence
from conspectus.rows import Report
from conspectus.tasks.base import Task


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """An answer from one window of reports (or sources); `score` is 0 to 100, 0 for no help at all."""

    text: str
    score: int


@dataclass(frozen=True)
class MapAnswer(Task[PartialAnswer]):
    """Answer a question from one window of reports or sources, and say how helpful that is (P1 E.4)."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class MapPoints(Task["tuple[PartialAnswer, ...]"]):
    """Answer a question from one window in single points, each with a score of its own (`map_reply = "points"`)."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class ReduceAnswer(Task[str]):
    """Make one answer of the partial ones, given in descending helpfulness (P1 E.3)."""

    question: str
    answers: tuple[PartialAnswer, ...]
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class AnswerFromContext(Task[str]):
    """Answer a question from one window of evidence."""

    question: str
    evidence: Evidence
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class RateReport(Task[int]):
    """Rate how relevant a report is to a question, 0 (not at all) to 5: the descent from the root goes by it."""

    question: str
    report: Report
