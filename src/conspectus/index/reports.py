"""Reports: one for each community, deepest first, so that a parent can stand on its parts (P1 3.1.5).

What a report is written from: for each relationship, the most connected first, its two ends, itself and the
claims about it, until the window is full. Where a community has more than fits, its parts, the largest first,
are replaced by their reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from conspectus import tokens
from conspectus.errors import ModelError, Unusable
from conspectus.evidence import Evidence, Row, render
from conspectus.models.base import Model, Tick, no_tick, together
from conspectus.references import Reference, translate
from conspectus.rows import Claim, Community, Entity, Failure, Finding, Relationship, Report, content_id
from conspectus.settings import ReportSettings
from conspectus.tasks import ReportDraft, WriteReport

NUMBER = 1000
"""A number as long as any that a row of evidence bears in practice, for counting its tokens."""


class Sizes(dict[int, int]):
    """The tokens of the rows of a table, each counted when it is first asked for: by then it is described."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, number: int) -> int:
        size = self[number] = tokens.count(render(self._rows[number], NUMBER))
        return size

    def total(self, numbers: Iterable[int]) -> int:
        """Return the tokens of some rows together."""
        return sum(map(self.__getitem__, numbers))


class Gatherer:
    """Gathers what reports are written from; knows the tokens of every row."""

    def __init__(
        self,
        communities: Sequence[Community],
        entities: Sequence[Entity],
        relationships: Sequence[Relationship],
        limit: int,
        claims: Sequence[Claim] = (),
    ) -> None:
        self.communities = communities
        self.entities = entities
        self.relationships = relationships
        self.claims = claims
        self.limit = limit
        self._entity_tokens = Sizes(entities)
        self._relationship_tokens = Sizes(relationships)
        self._claim_tokens = Sizes(claims)
        self._number_of = {e.name: e.number for e in entities}
        self._claims_of = self._by_ends()

    def _by_ends(self) -> dict[frozenset[str], list[int]]:
        """Return the claims between each two entities, and of each one alone."""
        by_ends: dict[frozenset[str], list[int]] = {}
        for claim in self.claims:
            ends = frozenset(name for name in (claim.subject, claim.object) if name in self._number_of)
            by_ends.setdefault(ends, []).append(claim.number)
        return by_ends

    def claims_in(self, entities: Iterable[int], relationships: Iterable[int]) -> list[int]:
        """Return the claims about relationships, in their order, and then those about entities alone."""
        if not self.claims:
            return []
        edges = (self.relationships[r] for r in relationships)
        pairs = (frozenset((edge.source, edge.target)) for edge in edges)
        alone = (frozenset((self.entities[e].name,)) for e in entities)
        return [claim for ends in (*pairs, *alone) for claim in self._claims_of.get(ends, ())]

    def gather(self, community: Community, written: Mapping[int, Report]) -> Evidence:
        """Return the evidence of a community; `written` holds the reports of its parts, by community."""
        replaced: list[Report] = []
        left = set(community.entity_numbers)
        edges = list(community.relationship_numbers)
        if self._size(left, edges) > self.limit:
            parts = [self.communities[child] for child in community.children if child in written]
            sizes = {p.number: self._size(set(p.entity_numbers), p.relationship_numbers) for p in parts}
            for part in sorted(parts, key=lambda p: (-sizes[p.number], p.number)):
                replaced.append(written[part.number])
                left -= set(part.entity_numbers)
                edges = self._beside(edges, set(part.entity_numbers))
                if self._reports_size(replaced) + self._size(left, edges) <= self.limit:
                    break
        reports = self._fitting(replaced)
        return self._elements(left, edges, reports, self.limit - self._reports_size(reports))

    def _size(self, entities: set[int], relationships: Sequence[int]) -> int:
        claims = self.claims_in(entities, relationships)
        edges = self._relationship_tokens.total(relationships)
        return self._entity_tokens.total(entities) + edges + self._claim_tokens.total(claims)

    @staticmethod
    def _reports_size(reports: Sequence[Report]) -> int:
        return sum(report.n_tokens + 4 for report in reports)

    def _fitting(self, reports: Sequence[Report]) -> tuple[Report, ...]:
        """Return the first reports that fit the window together, and always one."""
        count = next(
            (i for i in range(1, len(reports)) if self._reports_size(reports[: i + 1]) > self.limit),
            len(reports),
        )
        return tuple(reports[:count])

    def _beside(self, edges: Sequence[int], inside: set[int]) -> list[int]:
        """Return the relationships that are not wholly inside a replaced part."""
        return [r for r in edges if not all(end in inside for end in self._ends(r))]

    def _ends(self, relationship: int) -> tuple[int, int]:
        row = self.relationships[relationship]
        return self._number_of[row.source], self._number_of[row.target]

    def _elements(self, left: set[int], edges: Sequence[int], reports: tuple[Report, ...], room: int) -> Evidence:
        """Add relationships by decreasing combined degree, each after its ends, then what stands alone."""
        entities: dict[int, None] = {}
        relationships: list[int] = []
        claims: list[int] = []
        for edge in sorted(edges, key=lambda r: (-self.relationships[r].combined_degree, r)):
            ends = [end for end in self._ends(edge) if end not in entities]
            told = self.claims_in((), (edge,))
            cost = self._relationship_tokens[edge] + sum(self._entity_tokens[end] for end in ends)
            cost += sum(self._claim_tokens[claim] for claim in told)
            if cost > room:
                break
            room -= cost
            entities.update(dict.fromkeys(ends))
            relationships.append(edge)
            claims += told
        for entity in sorted(left - entities.keys(), key=lambda e: (-self.entities[e].degree, e)):
            if self._entity_tokens[entity] > room:
                break
            room -= self._entity_tokens[entity]
            entities[entity] = None
        for claim in self.claims_in(entities, ()):
            if self._claim_tokens[claim] > room:
                break
            room -= self._claim_tokens[claim]
            claims.append(claim)
        return Evidence(
            reports=reports,
            entities=tuple(self.entities[e] for e in entities),
            relationships=tuple(self.relationships[r] for r in relationships),
            claims=tuple(self.claims[c] for c in claims),
        )


Ready = Callable[[Community, Iterable[int]], Awaitable[None]]


async def write_reports(
    communities: Sequence[Community],
    gatherer: Gatherer,
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
        task = WriteReport(gatherer.gather(community, written), language=language, priority=community.level)
        try:
            draft = await model.perform(task)
        except Unusable:
            raise
        except ModelError as error:
            failures[community.number] = Failure("reports", f"community {community.number}: {error}")
        else:
            written[community.number] = _report(community, numbers[community.number], draft)
        tick()

    for number in sorted(numbers, key=lambda n: (-communities[n].level, n)):
        pending[number] = asyncio.ensure_future(write(communities[number]))
    await together(pending.values())
    return _renumbered([written[n] for n in numbers if n in written]), [failures[n] for n in sorted(failures)]


def reported(communities: Sequence[Community], settings: ReportSettings) -> list[Community]:
    """Return the communities that are large enough for a report."""
    return [community for community in communities if community.size >= settings.min_report_entities]


def priorities(communities: Sequence[Community], entities: int, relationships: int) -> tuple[list[float], list[float]]:
    """Return how urgent the description of each row is: by the deepest report that waits for it."""
    of_entity, of_relationship = [0.0] * entities, [0.0] * relationships
    for community in sorted(communities, key=lambda c: c.level):
        for number in community.entity_numbers:
            of_entity[number] = community.level + 1.0
        for number in community.relationship_numbers:
            of_relationship[number] = community.level + 1.0
    return of_entity, of_relationship


def _report(community: Community, number: int, draft: ReportDraft) -> Report:
    report = Report(
        content_id("report", community.id),
        number,
        community.number,
        community.level,
        community.parent,
        community.children,
        draft.title,
        draft.summary,
        draft.rating,
        draft.rating_explanation,
        draft.findings,
        community.size,
    )
    return replace(report, n_tokens=tokens.count(report.text))


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
