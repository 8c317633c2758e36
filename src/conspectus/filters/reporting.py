"""The reports of a part of an index: as they are where they stand on that part alone, else written anew from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conspectus import tokens
from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.filters.lazy_table import Reports
from conspectus.models.extractive.report import globalized, write_report
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.references import Reference, translate
from conspectus.rows import Community, Finding, Report
from conspectus.settings import ReportSettings
from conspectus.tasks import WriteReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from conspectus.filters.subset import IndexSubset


class PartReports:
    """Which reports are left of an index, and what each says."""

    def __init__(self, part: IndexSubset) -> None:
        self._part = part

    @cached_property
    def _settings(self) -> ReportSettings:
        made: Mapping[str, Any] = self._part.index.settings.get("reports", {})
        known = {name: made[name] for name in ReportSettings.model_fields if name in made}
        return ReportSettings.model_validate(known)

    @cached_property
    def _left(self) -> list[Report]:
        """The old reports of the communities that are left and large enough; those of the root are always."""
        least = self._settings.min_report_entities
        place = self._part.places("communities").numbers
        left = [report for report in self._part.index.reports if place[report.community] >= 0]
        return [
            report
            for report in left
            if self._whole(report) or report.level == 0 or self._community(report).size >= least
        ]

    @cached_property
    def communities(self) -> list[int]:
        """The community of each report that is left, by its new number."""
        place = self._part.places("communities").numbers
        return [int(place[report.community]) for report in self._left]

    def counts(self) -> tuple[int, int, int]:
        """Return how many reports stand on the part alone, on it and on more, and not on it."""
        whole = sum(map(self._whole, self._left))
        return whole, len(self._left) - whole, len(self._part.index.reports) - len(self._left)

    def _community(self, report: Report) -> Community:
        return self._part.communities[int(self._part.places("communities").numbers[report.community])]

    def _whole(self, report: Report) -> bool:
        """Tell whether all that a report was written from stands on the part alone."""
        return report.community in self._whole_communities

    @cached_property
    def _whole_communities(self) -> frozenset[int]:
        part, index = self._part, self._part.index
        entities = {e.number for e in index.entities if part.mixed(e) or not e.chunk_ids}
        relationships = {r.number for r in index.relationships if part.mixed(r) or not r.chunk_ids}
        named = {name for c in index.claims if part.mixed(c) for name in (c.subject, c.object)}
        entities |= {e.number for e in index.entities if e.name in named} if named else set()
        return frozenset(
            c.number
            for c in index.communities
            if entities.isdisjoint(c.entity_numbers) and relationships.isdisjoint(c.relationship_numbers)
        )

    def _report(self, place: int) -> Report:
        old = self._left[place]
        return self._moved(old, place) if self._whole(old) else self._written(old, place)

    def _written(self, old: Report, place: int) -> Report:
        community = self._community(old)
        evidence = self._gatherer.gather(community, self.rows.by_community)
        draft = globalized(write_report(WriteReport(evidence), self._worth), evidence)
        return replace(report_of(community, place, draft), id=old.id)

    @cached_property
    def rows(self) -> Reports:
        """The reports, each made when it is first read."""
        return Reports(lambda: self.communities, self._report, self.counts)

    @cached_property
    def _gatherer(self) -> CommunityContextBuilder:
        part = self._part
        limit = self._settings.context_tokens
        return CommunityContextBuilder(part.communities, part.entities, part.relationships, limit, part.claims)

    @cached_property
    def _worth(self) -> Mapping[str, float]:
        return SentenceStore.of_index(self._part.index).worth

    def _moved(self, old: Report, place: int) -> Report:
        community = self._community(old)
        moved = translated(old, self._to)
        return replace(
            moved, number=place, community=community.number, parent=community.parent, children=community.children
        )

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        return {old.number: place for place, old in enumerate(self._left)}

    def _to(self, reference: Reference) -> Reference | None:
        if reference.table == "Reports":
            number = self._numbers.get(reference.number, -1)
        else:
            axis = "chunks" if reference.table == "Sources" else reference.table.lower()
            places = self._part.places(axis).numbers
            number = int(places[reference.number]) if reference.number < len(places) else -1
        return Reference(reference.table, number) if number >= 0 else None


def translated(report: Report, to: Callable[[Reference], Reference | None]) -> Report:
    """Return a report with its references in other numbers, without those that lead nowhere."""
    findings = tuple(Finding(f.summary, translate(f.explanation, to)[0]) for f in report.findings)
    made = replace(report, summary=translate(report.summary, to)[0], findings=findings)
    return replace(made, n_tokens=tokens.count(made.text))
