"""Reports of the same communities by several writers, each kept, so that they can be compared again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from conspectus import __version__
from conspectus.community_context import CommunityContextBuilder
from conspectus.evaluation.comparing.conditions import digest, snapshot_of, spoken
from conspectus.evaluation.jsonl_table import JsonlTable
from conspectus.index import Index
from conspectus.indexing.estimate import REPORT, Estimate, Estimator, Range
from conspectus.indexing.reports import reported, write_reports
from conspectus.models.base import Model, Tick
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.session import Session
from conspectus.rows import Community, Finding, Report
from conspectus.settings import Settings
from conspectus.tasks import WriteReport
from conspectus.text.language import corpus_language

FILE = "reports.jsonl"
SLACK = Range(0.8, 1.1)
"""What the prompts of reports take, by what they take where no part has a report yet."""


@dataclass(frozen=True)
class Written:
    """What a writer made of a community; `report` are its values, none where that failed."""

    writer: str
    community: int
    made_with: str
    report: dict[str, Any] | None = None
    error: str = ""


@dataclass(frozen=True)
class Shelf:
    """The reports on the communities of an index that are kept in a folder, by writer."""

    index: Index
    settings: Settings
    kept: JsonlTable[Written]

    @classmethod
    def of(cls, index: Index, settings: Settings, folder: Path) -> Shelf:
        """Open what a folder has."""
        return cls(index, settings, JsonlTable(folder / FILE, Written, lambda row: (row.writer, row.community)))

    @property
    def communities(self) -> list[Community]:
        """Those that are large enough for a report."""
        return reported(self.index.communities, self.settings.reports)

    def missing(self, writer: str) -> list[Community]:
        """Return the communities without a report by a writer: it failed, or is of another index or other settings."""
        with_ = self._made_with(writer)
        rows = ((community, self.kept.get((writer, community.number))) for community in self.communities)
        return [community for community, row in rows if row is None or row.error or row.made_with != with_]

    def of_writer(self, writer: str) -> list[Report]:
        """Return what a writer wrote, in the order of communities."""
        with_ = self._made_with(writer)
        rows = (self.kept.get((writer, community.number)) for community in self.communities)
        return [_report(row.report) for row in rows if row is not None and row.report and row.made_with == with_]

    def errors(self, writer: str) -> list[str]:
        """Return why reports of a writer are missing."""
        rows = (self.kept.get((writer, community.number)) for community in self.communities)
        return [row.error for row in rows if row is not None and row.error]

    def keep(self, writer: str, found: Sequence[Report], errors: Sequence[str] = ()) -> None:
        """Keep all that a writer made in one run: the numbers of its reports go together."""
        with_ = self._made_with(writer)
        why = next(iter(errors), "it has no report")
        by_community = {report.community: asdict(report) for report in found}
        rows = (Written(writer, c.number, with_, by_community.get(c.number)) for c in self.communities)
        self.kept.add_all([row if row.report else replace(row, error=why) for row in rows])

    async def write(self, writer: str, model: Model, tick: Tick) -> None:
        """Have reports written on all communities, where one is missing; kept replies serve again."""
        if self.missing(writer):
            language = corpus_language(self.index.documents, self.settings.language)
            found, failures = await write_reports(
                self.index.communities, self._gatherer(), model, self.settings.reports, language, tick
            )
            self.keep(writer, found, [failure.error.partition(": ")[2] for failure in failures])

    def estimate(self, writer: str, session: Session) -> Estimate:
        """Return what writing will ask of a language model."""
        gatherer, language = self._gatherer(), corpus_language(self.index.documents, self.settings.language)
        evidence = (gatherer.build(community, {}) for community in self.missing(writer))
        asked = [session.model.request(WriteReport(one, language=language)) for one in evidence]
        new = [request for request in asked if not session.sender.has(request)]
        calls, tokens = Range(len(new), len(new)), float(sum(map(prompt_tokens, new)))
        estimator = Estimator(session.model, session.sender, self.settings)
        row = estimator.row("WriteReport", calls, Range(tokens, tokens).times(SLACK), calls.times(REPORT))
        return Estimate((row,))

    def _gatherer(self) -> CommunityContextBuilder:
        index, limit = self.index, self.settings.reports.context_tokens
        return CommunityContextBuilder(index.communities, index.entities, index.relationships, limit, index.claims)

    def _made_with(self, writer: str) -> str:
        said = self.settings.model_dump(mode="json", include={"reports", "language"})
        return digest([__version__, snapshot_of(self.index), writer, said, *spoken(writer, self.settings)])


def _report(values: dict[str, Any]) -> Report:
    made: dict[str, Any] = dict(values)
    made["findings"] = tuple(Finding(**one) for one in values["findings"])
    made["children"] = tuple(values["children"])
    return Report(**made)
