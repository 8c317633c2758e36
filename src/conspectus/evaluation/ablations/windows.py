"""Size of the window: what answers from the same index gain and lose by it (GraphRAG appendix C: 8k to 64k)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus.evaluation.ablations.answers import (
    CITATIONS,
    CLAIMS,
    DOCUMENTS,
    Further,
    OfAnswers,
    measured,
    panels,
    wins,
)
from conspectus.evaluation.ablations.found import Ablation, Cell
from conspectus.evaluation.comparing.answer_folder import Laid, lay_out, possible
from conspectus.evaluation.comparing.answers import Work
from conspectus.evaluation.comparing.conditions import Condition, conditions_of
from conspectus.evaluation.jsonl_table import ConditionAnswer, Question
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.settings import Settings

WINDOWS = (8000, 16000, 32000, 64000)
MEASURES = (
    (CLAIMS, "Claims an answer"),
    (CITATIONS, "Citations an answer"),
    (DOCUMENTS, "Documents an answer"),
    ("units_read", "Reports or chunks read"),
)


@dataclass(frozen=True)
class Windows(OfAnswers):
    """The ablation, laid out: every condition under every window."""

    conditions: tuple[str, ...]
    windows: tuple[int, ...]

    def told(self) -> Ablation:
        """Return a row for each condition and window; win rates are over the smallest window of the condition."""
        answers = self.rows
        further = Further.of(self.folder, answers)
        rows = [
            self._row(condition, window, answers, further) for condition in self.conditions for window in self.windows
        ]
        rates = [(wins(name), f"Wins over {short(self.windows[0])} by {name}, %") for name in further.criteria]
        notices = ["A window that holds all there is to read reads no more when it grows."]
        if self.settings.model == "extractive":
            notices.append("Without a language model a global answer is selected from all windows alike.")
        if not further.judged:
            told = f"conspectus eval judge {self.folder} --judge-model NAME --pairs {','.join(self._pairs())}"
            notices.append(f"Which answers are better, a judge says: {told}, then this once more.")
        return Ablation(
            "window",
            "Answers by the size of the window (GraphRAG appendix C)",
            tuple(rows),
            panels(
                rows,
                [*MEASURES, *rates],
                lambda row: short(int(row["window"] or 0)),
                "tokens of the window",
                lambda row: str(row["condition"]),
            ),
            {"questions": self.laid.asked, "model": self.settings.model, "snapshot": self.laid.index.snapshot},
            tuple(notices),
            self.errors,
        )

    def _pairs(self) -> list[str]:
        smallest, *others = self.windows
        return [f"{named(c, window)}:{named(c, smallest)}" for c in self.conditions for window in others]

    def _row(
        self, condition: str, window: int, answers: Sequence[ConditionAnswer], further: Further
    ) -> dict[str, Cell]:
        name, smallest = named(condition, window), named(condition, self.windows[0])
        own = [row for row in answers if row.condition == name]
        questions = {row.question for row in own}
        rates = {wins(c): further.score(name, smallest, c, questions) for c in further.criteria}
        if window == self.windows[0]:
            rates = dict.fromkeys(rates)
        return {"condition": condition, "window": window, **measured(own, further), **rates}


def named(condition: str, window: int) -> str:
    """Return what a condition is called under a window, `C2@8k`."""
    return f"{condition}@{short(window)}"


def short(window: int) -> str:
    """Return `8k` for 8000."""
    return f"{window // 1000}k" if window % 1000 == 0 else str(window)


def chosen(index: Index, settings: Settings, generative: bool) -> list[str]:
    """Return what is varied where nothing is named: the deepest of the paper's levels, TS, and local.

    They read the most, so that a window makes the most difference.
    """
    names = [condition.name for condition in possible(index, settings, generative)[0]]
    levels = [name for name in names if name.startswith("C")]
    return [*levels[-1:], *(name for name in names if name == "TS"), "local"]


def lay_out_windows(
    folder: Path,
    questions: Sequence[Question],
    index: Index,
    settings: Settings,
    model: Model | None = None,
    *,
    conditions: Sequence[str] = (),
    windows: Sequence[int] = WINDOWS,
    sample: int | None = None,
) -> Windows:
    """Lay out the answers of every condition under every window.

    Raises UsageError where a condition cannot be asked.
    """
    generative = model.generative if model else settings.model != "extractive"
    names = [c.name for c in conditions_of(conditions or chosen(index, settings, generative))]
    sizes = tuple(sorted(set(windows)))
    varied = [(window, _with(settings, window)) for window in sizes]
    laid = [(w, lay_out(folder, questions, names, index, own, model, sample=sample)) for w, own in varied]
    works = tuple(_renamed(work, window) for window, one in laid for work in one.works)
    whole: Laid = replace(laid[0][1], works=works, settings=settings)
    return Windows(whole, tuple(names), sizes)


def _with(settings: Settings, window: int) -> Settings:
    return settings.model_copy(update={"global_": settings.global_.model_copy(update={"context_tokens": window})})


def _renamed(work: Work, window: int) -> Work:
    condition = work.condition
    return replace(work, condition=Condition(named(condition.name, window), condition.method, condition.level))
