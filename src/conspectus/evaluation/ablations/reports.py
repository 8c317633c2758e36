"""Reports by selection against reports by a language model, both of the same communities of the same graph.

Those of the model are written for this, or are those that the index has where a model wrote it. With questions, both
answer them, all else alike: then the folder is a comparison, and a judge can be asked.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conspectus.errors import UsageError
from conspectus.evaluation.ablations.answers import CITATIONS, CLAIMS, NOTHING_FOUND, Further, OfAnswers, measured, wins
from conspectus.evaluation.ablations.found import Ablation, Cell, mean
from conspectus.evaluation.ablations.report_texts import Support, named, support
from conspectus.evaluation.ablations.written import Shelf
from conspectus.evaluation.at_once import each
from conspectus.evaluation.charts import Panel, Series
from conspectus.evaluation.checking.checking_estimate import VERDICT
from conspectus.evaluation.comparing.answer_folder import lay_out as lay_out_answers
from conspectus.evaluation.comparing.asked_answers import made_with
from conspectus.evaluation.comparing.conditions import Condition, digest, snapshot_of
from conspectus.evaluation.comparing.run_info import IMPORTED, writer_of
from conspectus.evaluation.jsonl_table import JsonlTable, Question
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate, Estimator, Range
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.session import Session
from conspectus.rows import Report
from conspectus.settings import Settings
from conspectus.storage import locks
from conspectus.tasks import Entails

EXTRACTIVE, OF_INDEX = "extractive", "index"
CHECKED = 50
"""Reports of each writer whose sentences are held against what they cite."""
SENTENCES, READ = Range(5, 25), Range(60, 1500)
"""Sentences of a report's findings, and tokens of what one is held against."""


@dataclass(frozen=True)
class Checked:
    """What of a report stands on what it cites, as whom `made_with` names finds."""

    writer: str
    community: int
    made_with: str
    found: Support


@dataclass(frozen=True)
class Reports:
    """The ablation, laid out; `model` writes beside the extractive one, or is "" for the reports that are there."""

    index: Index
    settings: Settings
    folder: Path
    model: str
    given: Model | None
    questions: tuple[Question, ...]
    level: int
    sample: frozenset[int]
    """Communities whose reports are checked."""
    shelf: Shelf
    checks: JsonlTable[Checked]

    @property
    def writers(self) -> tuple[str, str]:
        return EXTRACTIVE, self.model or OF_INDEX

    @property
    def cells(self) -> int:
        return 2 * (len(self.shelf.communities) + len(self.questions))

    @property
    def left(self) -> int:
        answers = self._answers()
        unanswered = sum(one.left for one in answers) if answers else 2 * len(self.questions)
        return sum(len(self.shelf.missing(writer)) for writer in self.writers) + unanswered

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return what reports, checks and answers will ask; of answers from reports to come, by those there are."""
        found = {"reports": self.shelf.estimate(self.model, session)} if self.model else {}
        if unchecked := 2 * len(self.sample) - sum(row.community in self.sample for row in self.checks.rows.values()):
            calls = Range(unchecked, unchecked).times(SENTENCES)
            bare = prompt_tokens(session.model.request(Entails("", "")))
            estimator = Estimator(session.model, session.sender, self.settings)
            read = calls.times(READ.plus(Range(bare, bare)))
            found["checks"] = Estimate((estimator.row("Entails", calls, read, calls.times(VERDICT)),))
        if self.questions:
            for one in self._answers() or [self._answered_from(writer, self.index) for writer in self.writers]:
                found |= await one.estimates(session)
        return found

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Have what is missing written, check a sample of it, and answer the questions from both."""
        extractive = ExtractiveModel.of_index(self.index)
        performer = model or (session.model if session else extractive)
        size = len(self.shelf.communities)
        with locks.writing(self.folder, "ablation"):
            await self.shelf.write(EXTRACTIVE, extractive, progress.stage("reports", size))
            if self.model:
                await self.shelf.write(self.model, performer, progress.stage("reports", size))
            elif self.shelf.missing(OF_INDEX):
                self.shelf.keep(OF_INDEX, self.index.reports)
            await self._check(performer, progress)
        for answers in self._answers():
            await answers.run(session, model, progress)

    async def _check(self, model: Model, progress: Progress) -> None:
        left: list[tuple[str, Report, Sequence[Report]]] = []
        for writer in self.writers:
            reports = self.shelf.of_writer(writer)
            sampled = (report for report in reports if report.community in self.sample)
            left += [(writer, report, reports) for report in sampled if not self._is_checked(writer, report, model)]
        tick = progress.stage("grounding", len(left))

        async def work(one: tuple[str, Report, Sequence[Report]]) -> None:
            writer, report, reports = one
            found = await support(report, reports, self.index, model)
            self.checks.add(Checked(writer, report.community, made_with(model.name, report.text), found))

        await each(left, work, tick)

    def _is_checked(self, writer: str, report: Report, model: Model) -> bool:
        row = self.checks.get((writer, report.community))
        return row is not None and not row.found.error and row.made_with == made_with(model.name, report.text)

    def _answers(self) -> list[OfAnswers]:
        """Return the answers from the reports of each writer; none without questions, or while reports are missing."""
        reports = {writer: self.shelf.of_writer(writer) for writer in self.writers}
        if not self.questions or not all(reports.values()):
            return []
        snapshot = snapshot_of(self.index)
        return [
            self._answered_from(
                writer, replace(self.index, reports=own, snapshot=digest([snapshot, [one.text for one in own]]))
            )
            for writer, own in reports.items()
        ]

    def _answered_from(self, writer: str, index: Index) -> OfAnswers:
        level = f"C{self.level}"
        laid = lay_out_answers(self.folder, self.questions, [level], index, self.settings, self.given)
        name = f"{level}@{writer if writer in (EXTRACTIVE, OF_INDEX) else 'model'}"
        works = (replace(one, condition=Condition(name, "global", self.level)) for one in laid.works)
        return OfAnswers(replace(laid, works=tuple(works)))

    # What came of it

    def told(self) -> Ablation:
        """Return a row for each writer over all reports, and one for each level."""
        answers = self._answers()
        rows = [row for place, writer in enumerate(self.writers) for row in self._rows(writer, place, answers)]
        by = Counter(row.made_with.rpartition(" ")[0] for row in self.checks.rows.values())
        notices = [
            f"Supported: of the sentences of {len(self.sample)} reports by each, those that follow from the rows that "
            f"they cite, as {', '.join(by) or 'nobody yet'} finds.",
        ]
        if EXTRACTIVE in by:
            notices.append("By rules a sentence follows from a text that holds 70 % of its words: a floor for prose.")
        if not self.model:
            whose = writer_of(self.index)
            notices.append(
                f"The reports of the index were written by {whose if whose != IMPORTED else 'another tool'}."
            )
        if answers:
            pair = ":".join(one.laid.conditions[0] for one in answers)
            told = f"conspectus eval judge {self.folder} --judge-model NAME --pairs {pair}"
            notices.append(f"Which answers are better, a judge says: {told}, then this once more.")
        errors = Counter(error for writer in self.writers for error in self.shelf.errors(writer))
        for one in answers:
            errors.update(one.errors)
        errors.update(row.found.error for row in self.checks.rows.values() if row.found.error)
        return Ablation(
            "reports",
            "Reports by selection and by a language model, of the same graph",
            tuple(rows),
            tuple(_panels(rows, self.writers)),
            {"communities": len(self.shelf.communities), "snapshot": snapshot_of(self.index), "model": self.model},
            tuple(notices),
            dict(errors),
        )

    def _rows(self, writer: str, place: int, answers: Sequence[OfAnswers]) -> Iterator[dict[str, Cell]]:
        reports = self.shelf.of_writer(writer)
        more = self._of_answers(place, answers) if answers else {}
        yield {"writer": writer, "level": "all", **self._measured(writer, reports), **more}
        for level in sorted({report.level for report in reports}):
            own = [report for report in reports if report.level == level]
            yield {"writer": writer, "level": level, **self._measured(writer, own), **dict.fromkeys(more)}

    def _measured(self, writer: str, reports: Sequence[Report]) -> dict[str, Cell]:
        communities, entities = self.index.communities, self.index.entities
        told = [(named(r, communities[r.community], entities), communities[r.community].size) for r in reports]
        checks = [c.found for r in reports if (c := self.checks.get((writer, r.community))) and not c.found.error]
        sentences, cited = sum(one.sentences for one in checks), sum(one.cited for one in checks)
        supported = sum(one.supported for one in checks)
        return {
            "reports": len(reports),
            "tokens": mean([report.n_tokens for report in reports], 0),
            "findings": mean([len(report.findings) for report in reports], 1),
            "entities_named": mean([n for n, _ in told], 1),
            "entities_named_%": mean([100 * n / size for n, size in told], 1),
            "sentences_checked": sentences,
            "cited_%": round(100 * cited / sentences, 1) if sentences else None,
            "supported_%": round(100 * supported / sentences, 1) if sentences else None,
        }

    def _of_answers(self, place: int, answers: Sequence[OfAnswers]) -> dict[str, Cell]:
        own, other = answers[place], answers[1 - place]
        further = Further.of(self.folder, [*own.rows, *other.rows])
        names = own.laid.conditions[0], other.laid.conditions[0]
        questions = {row.question for row in own.rows}
        found = measured(own.rows, further)
        kept = {name: found[name] for name in ("answers", NOTHING_FOUND, CITATIONS, CLAIMS) if name in found}
        return kept | {wins(c): further.score(*names, c, questions) for c in further.criteria}


def _panels(rows: Sequence[dict[str, Cell]], writers: Sequence[str]) -> Iterator[Panel]:
    titles = {
        "tokens": "Tokens a report",
        "entities_named_%": "Entities of the community named, %",
        "supported_%": "Sentences supported by what they cite, %",
    }
    levels = list(dict.fromkeys(row["level"] for row in rows))
    for column, title in titles.items():
        values = {(row["writer"], row["level"]): row[column] for row in rows}
        series = (Series(writer, tuple(_number(values.get((writer, at))) for at in levels)) for writer in writers)
        yield Panel(title, tuple(map(str, levels)), "level", tuple(series), "bars")


def _number(value: Cell) -> float | None:
    return value if isinstance(value, int | float) else None


def lay_out(
    index: Index,
    settings: Settings,
    folder: Path,
    model: Model | None = None,
    *,
    questions: Sequence[Question] = (),
    level: int | None = None,
    checked: int = CHECKED,
) -> Reports:
    """Lay out the ablation; questions are answered from a level, the paper's deepest that is there.

    Raises UsageError where there are not two writers: no language model is named, and none wrote the index.
    """
    name = model.name if model else settings.model
    if name == EXTRACTIVE:
        if writer_of(index) == EXTRACTIVE or not index.reports:
            raise UsageError("there is nothing to compare: name a language model to write reports with --model")
        name = ""
    if not index.communities:
        raise UsageError("this index has no communities to report on")
    shelf = Shelf.of(index, settings, folder)
    numbers = [community.number for community in shelf.communities]
    random.Random(0).shuffle(numbers)
    deepest = min(3, len(index.levels) - 1)
    checks = JsonlTable(folder / "supports.jsonl", _checked, lambda row: (row.writer, row.community))
    return Reports(
        index,
        settings,
        folder,
        name,
        model,
        tuple(questions),
        deepest if level is None else level,
        frozenset(numbers[:checked]),
        shelf,
        checks,
    )


def _checked(found: dict[str, Any], **values: Any) -> Checked:
    return Checked(found=Support(**found), **values)
