"""Levels of the hierarchy by type of question: which level answers what (an open question of GraphRAG's readers)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation.ablations.answers import (
    CITATIONS,
    CLAIMS,
    DOCUMENTS,
    NOTHING_FOUND,
    Further,
    OfAnswers,
    measured,
    panels,
    wins,
)
from conspectus.evaluation.ablations.found import Ablation, Cell, mean
from conspectus.evaluation.comparing.answer_folder import lay_out
from conspectus.evaluation.jsonl_table import ConditionAnswer, Question
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.auto import choose
from conspectus.settings import Settings
from conspectus.text.intent import Intent

WHOLE, THING, JOINING, LOOKUP = "about the whole", "about a thing", "joining facts", "looking up a fact"
TYPES = (WHOLE, THING, JOINING, LOOKUP)
ALL = "all"
MEASURES = (
    (NOTHING_FOUND, "Nothing found, %"),
    (CITATIONS, "Citations an answer"),
    (DOCUMENTS, "Documents an answer"),
    (CLAIMS, "Claims an answer"),
)


def type_of(question: str, index: Index) -> str:
    """Return what a question is after, as `auto` reads it."""
    method, _ = choose(question, index)
    if method in ("global", "rollup"):
        return WHOLE
    if method == "local":
        return THING
    return JOINING if Intent(question).joins else LOOKUP


@dataclass(frozen=True)
class Levels(OfAnswers):
    """The ablation, laid out: every question by every level."""

    types: Mapping[str, str]
    """The type of each question, by its id."""

    def told(self) -> Ablation:
        """Return a row for each type and level; a win rate is the mean of those over all other levels."""
        answers = self.rows
        further = Further.of(self.folder, answers)
        groups = [t for t in TYPES if t in self.types.values()]
        rows = [
            self._row(group, level, answers, further)
            for group in ([ALL, *groups] if len(groups) > 1 else groups)
            for level in self.laid.conditions
        ]
        rates = [(wins(name), f"Wins over other levels by {name}, %") for name in further.criteria]
        counts = (f"{list(self.types.values()).count(t)} {t}" for t in groups)
        notices = [f"Types of questions, as auto reads them: {', '.join(counts)}."]
        if not further.judged:
            told = f"conspectus eval judge {self.folder} --judge-model NAME"
            notices.append(f"Which level is better, a judge says: {told}, then this once more.")
        return Ablation(
            "levels",
            "Levels of the hierarchy by type of question",
            tuple(rows),
            panels(rows, [*MEASURES, *rates], lambda r: str(r["level"]), "level", lambda r: str(r["question_type"])),
            {"questions": self.laid.asked, "model": self.settings.model, "snapshot": self.laid.index.snapshot},
            tuple(notices),
            self.errors,
        )

    def _row(self, group: str, level: str, answers: Sequence[ConditionAnswer], further: Further) -> dict[str, Cell]:
        own = [row for row in answers if row.condition == level and group in (ALL, self.types[row.question])]
        questions = {row.question for row in own}
        rates: dict[str, Cell] = {}
        for criterion in further.criteria:
            others = (name for name in self.laid.conditions if name != level)
            scores = [s for o in others if (s := further.score(level, o, criterion, questions)) is not None]
            rates[wins(criterion)] = mean(scores, 1)
        return {"question_type": group, "level": level, **measured(own, further), **rates}


def lay_out_levels(
    folder: Path,
    questions: Sequence[Question],
    index: Index,
    settings: Settings,
    model: Model | None = None,
    *,
    sample: int | None = None,
) -> Levels:
    """Lay out the answers to questions from every level that has reports; UsageError where there is none."""
    names = [f"C{level}" for level in index.levels if index.reports_at(level)]
    if not names:
        raise UsageError("this index has no reports to answer from; index without --no-reports")
    laid = lay_out(folder, questions, names, index, settings, model, sample=sample)
    asked = {work.question.id: work.question.text for work in laid.works}
    return Levels(laid, {id: type_of(text, index) for id, text in asked.items()})
