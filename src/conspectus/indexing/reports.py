"""Reports: one for each community, deepest first, so that a parent can stand on its parts (GraphRAG §3.1.5).

What each is written from, `gathering` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.errors import ModelError, Unusable
from conspectus.models.base import Model, Tick, no_tick, together
from conspectus.references import Reference, translate
from conspectus.rows import Community, Failure, Finding, Report
from conspectus.settings import ReportSettings
from conspectus.tasks import WriteReport

LAST = -1.0
"""The priority of a description that no report waits for; that of a report of the root is 0."""

Ready = Callable[[Community, Iterable[int]], Awaitable[None]]


async def write_reports(
    communities: Sequence[Community],
    gatherer: CommunityContextBuilder,
    model: Model,
    settings: ReportSettings,
    language: str = "en",
    tick: Tick = no_tick,
    ready: Ready | None = None,
) -> tuple[list[Report], list[Failure]]:
    """Write one report for each community that is large enough, and return what could not be written.

    Reports are in the order of their communities. Each starts when those of its own parts are written and its
    elements are `ready` (given the community and its claims); the deepest go first. A part whose report
    failed is read by its elements. Raises Unusable where nothing more can be asked of the model.
    """
    numbers = {c.number: i for i, c in enumerate(reported(communities, settings))}
    written: dict[int, Report] = {}
    failures: dict[int, Failure] = {}
    pending: dict[int, asyncio.Task[None]] = {}

    async def write(community: Community) -> None:
        for child in community.children:
            if child in pending:
                await pending[child]
        if ready is not None:
            claims = gatherer.claims_in(community.entity_numbers, community.relationship_numbers)
            await ready(community, claims)
        task = WriteReport(gatherer.build(community, written), language=language, priority=community.level)
        try:
            draft = await model.perform(task)
        except Unusable:
            raise
        except ModelError as error:
            failures[community.number] = Failure("reports", f"community {community.number}: {error}")
        else:
            written[community.number] = report_of(community, numbers[community.number], draft)
        tick()

    for number in sorted(numbers, key=lambda n: (-communities[n].level, n)):
        pending[number] = asyncio.ensure_future(write(communities[number]))
    await together(pending.values())
    return _renumbered([written[n] for n in numbers if n in written]), [failures[n] for n in sorted(failures)]


def reported(communities: Sequence[Community], settings: ReportSettings) -> list[Community]:
    """Return the communities that are large enough for a report; none where none are to be written."""
    return [c for c in communities if settings.write and c.size >= settings.min_report_entities]


def priorities(
    communities: Sequence[Community], gatherer: CommunityContextBuilder
) -> tuple[list[float], list[float], list[float]]:
    """Return how urgent the descriptions of entities, relationships and claims are: by the deepest report that waits.

    It is the number of calls that have to follow on one another; what no report waits for comes last.
    """
    entities, relationships, claims = (
        [LAST] * len(rows) for rows in (gatherer.entities, gatherer.relationships, gatherer.claims)
    )
    for community in sorted(communities, key=lambda c: c.level):
        own = community.entity_numbers, community.relationship_numbers
        for urgent, numbers in ((entities, own[0]), (relationships, own[1]), (claims, gatherer.claims_in(*own))):
            for number in numbers:
                urgent[number] = community.level + 1.0
    return entities, relationships, claims


def _renumbered(reports: list[Report]) -> list[Report]:
    """Close the gaps that failed reports left in the numbers, in the references of their parents too."""
    place = {report.number: i for i, report in enumerate(reports)}
    if all(old == new for old, new in place.items()):
        return reports

    def to(reference: Reference) -> Reference | None:
        if reference.table != "Reports":
            return reference
        return Reference("Reports", place[reference.number]) if reference.number in place else None

    def moved(report: Report) -> Report:
        findings = tuple(Finding(f.summary, translate(f.explanation, to)[0]) for f in report.findings)
        summary = translate(report.summary, to)[0]
        return replace(report, number=place[report.number], findings=findings, summary=summary)

    return [moved(report) for report in reports]
