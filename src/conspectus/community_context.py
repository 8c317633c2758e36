"""Community contexts, from which reports are written: for each relationship, by decreasing combined degree, its two
ends, itself and the claims about it, until the window is full. If a community has more than fits, its sub-communities,
the largest first, are replaced by their reports (GraphRAG §3.1.5).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

from conspectus import tokens
from conspectus.messages import wording
from conspectus.references import Reference, strip, write
from conspectus.rows import Claim, Community, Entity, Relationship, Report, content_id
from conspectus.tasks import ReportDraft
from conspectus.tasks.base import Context, Row, render
from conspectus.text.words import CJK, terms

NUMBER = 1000
"""Row number for counting tokens of a row: as long as any that a row of evidence has in practice."""
MOST_LINES = 20
"""Maximum number of lines of a brief report: one on two entities has 2 to 8; one that replaces a failed report is about
as long as others, some 1,000 tokens."""
DATE_WEIGHT, WORD_WEIGHT = 0.1, 0.7
"""Weights of a date and of a single common word as topics, relative to 1 for a name."""
TITLE_TOPICS = 16
"""Number of a community's best topics that its title may contain; later ones are marginal in it."""
PAIR_TOPICS = 4
"""Number of first topics among which a second name must be to begin the title together with the first."""
TITLE_CHARS = 72
"""Maximum characters of the topics of a title, so that it fits on a line of a terminal with its number."""


T = TypeVar("T", covariant=True)


class Rows(Protocol[T]):
    """The rows of a table by number: all of them in a list, or some in a dictionary."""

    def __getitem__(self, number: int, /) -> T: ...
    def __len__(self) -> int: ...


class _Sizes(dict[int, int]):
    """The tokens of the rows of a table, each counted when first needed, once the row has its description."""

    def __init__(self, rows: Rows[Row], count: Callable[[str], int]) -> None:
        super().__init__()
        self._rows, self._count = rows, count

    def __missing__(self, number: int) -> int:
        size = self[number] = self._count(render(self._rows[number], NUMBER))
        return size

    def total(self, numbers: Iterable[int]) -> int:
        """Return the total tokens of some rows."""
        return sum(map(self.__getitem__, numbers))


class CommunityContextBuilder:
    """Builds the contexts of reports, of at most `limit` tokens, counted by `count`, which may be an estimate."""

    def __init__(
        self,
        communities: Rows[Community],
        entities: Sequence[Entity] | Mapping[int, Entity],
        relationships: Sequence[Relationship] | Mapping[int, Relationship],
        limit: int,
        claims: Sequence[Claim] = (),
        count: Callable[[str], int] = tokens.count,
    ) -> None:
        self.communities = communities
        self.entities, self.relationships, self.claims = entities, relationships, claims
        self.limit = limit
        self.known: Mapping[int, Report] = {}
        """Reports that exist already, by community."""
        sizes = (_Sizes(rows, count) for rows in (entities, relationships, claims))
        self._entity_sizes, self._edge_sizes, self._claim_sizes = sizes
        self._claims_of: dict[frozenset[str], list[int]] = {}
        for claim in claims:
            ends = frozenset(name for name in (claim.subject, claim.object) if name in self._number_of)
            self._claims_of.setdefault(ends, []).append(claim.number)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        rows = self.entities.values() if isinstance(self.entities, Mapping) else self.entities
        return {e.name: e.number for e in rows}

    @cached_property
    def _ends(self) -> dict[int, tuple[int, int]]:
        """The numbers of the two ends of each relationship; not needed if shards have their own."""
        rows = self.relationships.values() if isinstance(self.relationships, Mapping) else self.relationships
        return {e.number: (self._number_of[e.source], self._number_of[e.target]) for e in rows}

    def claims_in(self, entities: Iterable[int], relationships: Iterable[int]) -> list[int]:
        """Return the claims about relationships, in their order, then those about single entities."""
        if not self.claims:
            return []
        edges = (self.relationships[r] for r in relationships)
        pairs = (frozenset((edge.source, edge.target)) for edge in edges)
        alone = (frozenset((self.entities[e].name,)) for e in entities)
        return [claim for ends in (*pairs, *alone) for claim in self._claims_of.get(ends, ())]

    def build(self, community: Community, written: Mapping[int, Report]) -> Context:
        """Return the context of a community; `written` contains reports of its sub-communities, by community."""
        replaced: list[Report] = []
        entities = set(community.entity_numbers)
        edges = list(community.relationship_numbers)
        if not self.fits(community):
            parts = [self.communities[child] for child in community.children if child in written]
            sizes = {p.number: self._size(set(p.entity_numbers), p.relationship_numbers) for p in parts}
            for part in sorted(parts, key=lambda p: (-sizes[p.number], p.number)):
                # cited as a whole, since its own references lead to rows that are not shown
                report = written[part.number]
                findings = tuple(replace(f, explanation=strip(f.explanation)) for f in report.findings)
                report = replace(report, summary=strip(report.summary), findings=findings)
                replaced.append(replace(report, n_tokens=tokens.count(report.text)))
                inside = set(part.entity_numbers)
                entities -= inside
                edges = [edge for edge in edges if not inside.issuperset(self._ends[edge])]
                if _reports_size(replaced) + self._size(entities, edges) <= self.limit:
                    break
        fitting = (i for i in range(1, len(replaced)) if _reports_size(replaced[: i + 1]) > self.limit)
        reports = tuple(replaced[: next(fitting, len(replaced))])  # at least one
        context = self._elements(entities, edges, reports, self.limit - _reports_size(reports))
        topics = self._topics(community)
        return replace(context, topics=tuple(row.name for row in topics), headline=headline(topics))

    def _topics(self, community: Community) -> tuple[Entity, ...]:
        """Return the entities of a community, best first by class-based TF-IDF (Grootendorst, 2022).

        The score is the frequency inside the community times log(1 + A / f): f is the entity's chunks in the corpus, A
        the sum of f over the community. Later entities of a sub-community are demoted, so that no part is missing.
        """
        stated: defaultdict[int, float] = defaultdict(float)
        inside: Counter[int] = Counter()
        for edge in community.relationship_numbers:
            weight = self.relationships[edge].weight
            for end in self._ends[edge]:
                stated[end] += weight
                inside[end] += 1
        rows = [self.entities[number] for number in community.entity_numbers]
        chunks = {row.number: max(row.frequency, 1) for row in rows}
        total, scores = sum(chunks.values()), dict.fromkeys(chunks, 0.0)
        for row in rows:
            share = inside[row.number] / max(row.degree, 1)
            often = math.sqrt(stated[row.number] * chunks[row.number] * share)
            scores[row.number] = often * math.log(1 + total / chunks[row.number]) * _topic_weight(row)
        part = {n: child for child in community.children for n in self.communities[child].entity_numbers}
        earlier: Counter[int] = Counter()
        for number in sorted(scores, key=lambda n: (-scores[n], n)):
            if number in part:
                scores[number] /= 1 + earlier[part[number]] / 2
                earlier[part[number]] += 1
        return tuple(sorted(rows, key=lambda row: (-scores[row.number], row.number)))

    def fits(self, community: Community) -> bool:
        """Return whether all elements of a community fit, so that its report needs none of its sub-communities'."""
        return self._size(set(community.entity_numbers), community.relationship_numbers) <= self.limit

    def _size(self, entities: set[int], edges: Sequence[int]) -> int:
        claims = self._claim_sizes.total(self.claims_in(entities, edges))
        return self._entity_sizes.total(entities) + self._edge_sizes.total(edges) + claims

    def _elements(
        self, alone: set[int], edges: Sequence[int], reports: tuple[Report, ...], room: int
    ) -> Context:
        """Return relationships by decreasing combined degree, each after its ends, with claims about them (GraphRAG
        §3.1.5), then the remaining entities; claims about single entities only as far as there is room.
        """
        entities: dict[int, None] = {}
        relationships: list[int] = []
        claims: list[int] = []
        for edge in sorted(edges, key=lambda r: (-self.relationships[r].combined_degree, r)):
            ends = [end for end in self._ends[edge] if end not in entities]
            about = self.claims_in((), (edge,))
            size = self._edge_sizes[edge] + self._entity_sizes.total(ends) + self._claim_sizes.total(about)
            if size > room:
                break
            room -= size
            entities.update(dict.fromkeys(ends))
            relationships.append(edge)
            alone_claims = _fitting(self.claims_in(ends, ()), self._claim_sizes, room)
            room -= self._claim_sizes.total(alone_claims)
            claims += (*about, *alone_claims)
        order = sorted(alone - entities.keys(), key=lambda e: (-self.entities[e].degree, e))
        fitting = _fitting(order, self._entity_sizes, room)
        room -= self._entity_sizes.total(fitting)
        entities.update(dict.fromkeys(fitting))
        claims += _fitting(self.claims_in(fitting, ()), self._claim_sizes, room)
        return Context(
            reports=reports,
            entities=tuple(self.entities[e] for e in entities),
            relationships=tuple(self.relationships[r] for r in relationships),
            claims=tuple(self.claims[c] for c in claims),
        )


def _fitting(numbers: Iterable[int], sizes: _Sizes, room: int) -> list[int]:
    """Return the first rows that fit into `room` tokens together."""
    fitting: list[int] = []
    for number in numbers:
        room -= sizes[number]
        if room < 0:
            break
        fitting.append(number)
    return fitting


def _reports_size(reports: Sequence[Report]) -> int:
    return sum(report.n_tokens + 4 for report in reports)  # its number, and the line after it


def _topic_weight(entity: Entity) -> float:
    if entity.type == "date":
        return DATE_WEIGHT
    if CJK.match(entity.name):
        return WORD_WEIGHT if _is_term(entity) else 1.0
    return 1.0 if " " in entity.name or entity.name[:1].isupper() else WORD_WEIGHT


def _is_term(entity: Entity) -> bool:
    """Return whether the name of an entity consists of common words; without capitals, its type decides."""
    return entity.type == "concept" and not entity.name[:1].isupper()


@lru_cache(1 << 12)  # topics recur from level to level
def _terms_of_name(name: str) -> frozenset[str]:
    return frozenset(terms(name))


def headline(topics: Sequence[Entity]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the topics of a community that begin its title, and those that follow, if any.

    It begins with the best topic, and a second name if that is among the first; terms follow, or only names are listed.
    """
    distinct: list[Entity] = []  # no two share a word
    used: set[str] = set()
    for entity in [entity for entity in topics if entity.type != "date"][:TITLE_TOPICS] or topics[:1]:
        own = _terms_of_name(entity.name)
        if used.isdisjoint(own):
            distinct.append(entity)
            used |= own
    names, common = ([e.name for e in distinct[1:] if _is_term(e) == kind] for kind in (False, True))
    heads, tail = [entity.name for entity in distinct[:1]], common[:2]
    if not tail:
        heads += names[:2]
    elif not _is_term(distinct[0]):
        heads += [e.name for e in distinct[1:PAIR_TOPICS] if not _is_term(e)][:1]
    if len(heads) == len(tail) == 1:
        tail += names[:1]
    for group in (tail, heads):
        while len(group) > 1 and len("".join((*heads, *tail))) > TITLE_CHARS:
            group.pop()
    return tuple(heads), tuple(tail)


def brief_draft(context: Context, language: str) -> ReportDraft:
    """Return a brief report, without a model: the distinct lines of the descriptions of a community's elements."""
    tables = (
        ("Entities", context.entities),
        ("Relationships", context.relationships),
        ("Claims", context.claims),
    )
    lines: dict[str, list[Reference]] = {}
    for table, rows in tables:
        for row in rows:
            for line in row.description.splitlines():
                lines.setdefault(line, []).append(Reference(table, row.number))
    cited = [f"{line} {write(references)}" for line, references in lines.items() if line.strip()]
    return ReportDraft(wording(language).title(*context.headline), "\n".join(cited[:MOST_LINES]), 0.0, "", ())


def report_of(community: Community, number: int, draft: ReportDraft) -> Report:
    """Return the report of a community from a draft; `number` is its row number in the table of reports."""
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
