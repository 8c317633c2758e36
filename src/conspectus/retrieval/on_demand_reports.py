"""Reports written when a question needs them, as indexing would have written them (GraphRAG, future work).

A language model is sent the very request that indexing sends, so that the cache of replies keeps what it writes. What
was written is kept as long as the index is open, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.errors import ModelError, Unusable
from conspectus.index import Index
from conspectus.models.base import Model, performed
from conspectus.rows import Community, Report
from conspectus.settings import ReportSettings
from conspectus.storage.lazy import BoundedCache
from conspectus.tasks import WriteReport
from conspectus.text.language import AUTO, corpus_language

CACHED = 4096
"""Reports that are cached while an index is open: some 5 kB each, so 20 MB at most; one answer reads about 20."""
VERSIONS = 1 << 16
"""Numbers of the reports of one community that stand on different parts, drawn by a hash of what those say."""


@dataclass
class OnDemandReports:
    """Reports in the order of their communities, how many were written for it, and what failed."""

    reports: list[Report] = field(default_factory=list[Report])
    new: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])


async def reports_for(
    communities: Sequence[Community], parts: Collection[int], index: Index, model: Model
) -> OnDemandReports:
    """Return the report of each community, written where the index has none.

    A community that has more than a report can be written from stands on those of its `parts` that are named, by
    number. One that fails is left out. Raises Unusable where nothing more can be asked of the model.
    """
    result = OnDemandReports()

    async def write(community: Community) -> Report | None:
        if community.number in index.report_of_community:
            return index.report_of_community[community.number]
        gatherer = index.derive(_gatherer)
        children = [index.communities[c] for c in community.children]
        named = [] if gatherer.fits(community) else [c for c in children if c.number in parts]
        below = await performed(model, [write(child) for child in named])
        stored = {
            c.number: index.report_of_community[c.number]
            for c in children
            if c.number in index.report_of_community
        }
        evidence = gatherer.build(community, stored | {r.community: r for r in below if r is not None})
        task = WriteReport(evidence, language=index.derive(_language), priority=community.level)
        cache = _cache(index)
        key = model.name, community.number, evidence.text
        report = cache.get(key)
        if report is None:
            try:
                draft = await model.perform(task)
            except Unusable:
                raise
            except ModelError as error:
                result.failed.append(error)
                return None
            result.new += 1
            number = _number(community, index, model, evidence.text if named else "")
            report = cache.setdefault(key, report_of(community, number, draft))
        _add_further(report, index)
        return report

    for report in await performed(model, [write(community) for community in communities]):
        if report is not None:
            result.reports.append(report)
    return result


class _Reports:
    """The reports that were written for questions on an index."""

    def __init__(self, _: Index) -> None:
        self.cache: BoundedCache[tuple[str, int, str], Report] = BoundedCache(CACHED)


def _cache(index: Index) -> BoundedCache[tuple[str, int, str], Report]:
    """Return the reports written so far, by who wrote them, their community, and what they stand on."""
    return index.derive(_Reports).cache


def _number(community: Community, index: Index, model: Model, parts: str) -> int:
    """Return the number of a report: after those of the table, another for each text that it can have.

    Threads that ask one index cite by it, and each must be led to the report that it read. It does not depend on which
    reply came first, for it stands in what the next task is asked. What stands on reports of some parts, told by their
    text, has as many numbers as there are choices of parts.
    """
    version = 0 if model.generative else 1
    if parts:
        version = 2 + crc32(f"{model.name}\n{parts}".encode()) % VERSIONS
    return len(index.reports) + len(index.communities) * version + community.number


def _add_further(report: Report, index: Index) -> None:
    further = index.further_reports
    further[report.number] = report
    for number in list(further)[: max(0, len(further) - CACHED)]:
        further.pop(number, None)


def _gatherer(index: Index) -> CommunityContextBuilder:
    """Return what gathers the context of a community as indexing did."""
    limit = index.settings.get("reports", {}).get("context_tokens", ReportSettings().context_tokens)
    rows = list(index.communities), list(index.entities), list(index.relationships)
    return CommunityContextBuilder(*rows, limit, list(index.claims))


def _language(index: Index) -> str:
    return corpus_language(index.documents, index.settings.get("language", AUTO))
