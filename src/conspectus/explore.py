"""Explore an index: one entity of the graph, the path between two entities, the reports as a tree."""

from __future__ import annotations

import difflib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from conspectus.errors import NotFound, UsageError
from conspectus.index import Index
from conspectus.name_lookup import entity_keys
from conspectus.rows import (
    SNIPPET,
    Entity,
    Relationship,
    Report,
    Source,
    Span,
    counted,
    escaped,
    located,
    one_line,
    passage,
    snippet,
)
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, public
from conspectus.text.words import name_key, stem

SHORTEST_PREFIX = 6
"""Minimum number of characters of an id to name a report."""
MOST_DOCUMENTS = 10
"""Maximum number of documents listed for an entity: those with the most chunks that name it."""
Shown = Callable[[str], str]


# Entities


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship from one entity to another, with its sources, the most informative first."""

    source: str
    target: str
    description: str
    weight: float
    strength: float
    sources: tuple[Source, ...]

    def passages(self, shown: Shown = one_line, most: int = 2) -> Iterator[str]:
        """Yield the passages of the sources, or the description if the graph has no texts."""
        if self.description and not self.sources:
            yield f"    {shown(snippet(self.description, SNIPPET))}"
        for source in self.sources[:most]:
            yield f"    {passage(source, shown)}"


@dataclass(frozen=True, slots=True)
class Membership:
    """A community of an entity; `report` and `title` are the number and title of its report, if it has one."""

    community: int
    level: int
    report: int | None
    title: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that mentions an entity, and the number of its chunks that do."""

    document: str
    title: str
    chunks: int


@dataclass(frozen=True, slots=True)
class EntityView:
    """The rows of an index about one entity."""

    id: str
    number: int
    name: str
    type: str
    description: str
    aliases: tuple[str, ...]
    degree: int
    frequency: int
    sources: tuple[Source, ...]
    relationships: tuple[Edge, ...]
    """The strongest relationships; `degree` is the number of all."""
    communities: tuple[Membership, ...]
    """The communities of the entity, the deepest first."""
    documents: tuple[Mention, ...]
    """The documents that mention the entity, those with the most such chunks first."""

    def __str__(self) -> str:
        """Return the view as text, without control characters."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        """Return name, type and degree on one line."""
        return f"<EntityView {self.name!r} ({self.type}), {counted(self.degree, 'relationship')}>"

    def _repr_markdown_(self) -> str:
        return "\n".join(self.lines(escaped, "**{}**".format, "- "))

    def lines(self, shown: Shown = one_line, bold: Shown = one_line, item: str = "") -> Iterator[str]:
        """Yield the view as lines: `shown` escapes a text, `bold` formats headings, `item` begins an item of a list."""
        yield bold(shown(self.name)) + (f"  ({shown(self.type)})" if self.type else "")
        if self.aliases:
            yield f"Also: {', '.join(map(shown, self.aliases))}"
        if self.description:
            yield f"\n{shown(self.description)}"
        if self.relationships:
            few = len(self.relationships)
            strongest = f"the {few:,} strongest of " if few < self.degree else ""
            yield f"\n{bold('Relationships')} ({strongest}{self.degree:,})\n"
        for edge in self.relationships:
            yield f"{item}{shown(edge.target)}  (weight {edge.weight:g})"
            yield from edge.passages(shown, most=1)
        if self.communities:
            yield f"\n{bold('Communities')}\n"
        for community in self.communities:
            report = "no report"
            if community.report is not None:
                report = f"report {community.report}: {shown(community.title)}"
            yield f"{item}Level {community.level}, community {community.community}: {report}"
        yield f"\n{bold('Documents')} ({len(self.documents):,})\n"
        for mention in self.documents[:MOST_DOCUMENTS]:
            yield f"- {shown(located(mention.document))}  ({counted(mention.chunks, 'chunk')})"
        if (more := len(self.documents) - MOST_DOCUMENTS) > 0:
            yield f"- and {more:,} more"


@dataclass(frozen=True, slots=True)
class GraphPath:
    """The path between two entities; without steps if they are not connected."""

    source: str
    target: str
    steps: tuple[Edge, ...]

    def __str__(self) -> str:
        """Return the path as text, without control characters."""
        return "\n".join(self.lines())

    def _repr_markdown_(self) -> str:
        return "\n".join(self.lines(escaped, "**{}**".format))

    def lines(self, shown: Shown = one_line, bold: Shown = one_line) -> Iterator[str]:
        """Yield the path as lines: `shown` escapes a text, `bold` formats headings."""
        if not self.steps:
            yield f"Nothing in the graph connects {shown(self.source)} and {shown(self.target)}."
            return
        names = [bold(shown(self.source)), *(shown(step.target) for step in self.steps)]
        yield " - ".join(names)
        for step in self.steps:
            ends = f"{shown(step.source)} - {shown(step.target)}"
            yield f"\n{bold(ends)}  (weight {step.weight:g})"
            yield from step.passages(shown)


@public
def entity_view(
    name: str, index: AnyIndex = DEFAULT_FOLDER, *, most: int = 10, places: int = 2
) -> EntityView:
    """Return the rows about an entity in an index, or in the index of a folder.

    most: the maximum number of relationships, the strongest first.
    places: the maximum number of sources of the entity and of each relationship.

    The name may differ in case and spacing, or be an alias. Raises NotFound, with similar names.
    """
    index = opened(index)
    entity = find_entity(name, index)
    edges = [index.relationships[number] for number in index.edges_of(entity.number)]
    edges.sort(key=lambda r: (-r.weight, -r.strength, r.number))
    memberships: list[Membership] = []
    for number in index.communities_of(entity.number):
        level, number_of_report, title = index.communities[number].level, None, ""
        if report := index.report_of_community.get(number):
            number_of_report, title = report.number, report.title
        memberships.append(Membership(number, level, number_of_report, title))
    chunks = Counter(index.chunk_of[chunk].document_id for chunk in entity.chunk_ids)
    documents = [index.document_of[document] for document in chunks]
    documents.sort(key=lambda d: (-chunks[d.id], d.number))
    return EntityView(
        entity.id, entity.number, entity.name, entity.type, entity.description, entity.aliases,
        degree=len(edges),
        frequency=entity.frequency,
        sources=sources_of(entity.spans[:places], index),
        relationships=tuple(_edge(r, entity.name, places, index) for r in edges[:most]),
        communities=tuple(memberships),
        documents=tuple(Mention(d.path, d.title, chunks[d.id]) for d in documents),
    )  # fmt: skip


@public
def path_between(source: str, target: str, index: AnyIndex = DEFAULT_FOLDER, *, places: int = 2) -> GraphPath:
    """Return the shortest path by weight between two entities; without steps if there is none.

    A step costs 1 + 1 / weight: a path of fewer steps wins unless the longer one is stated far more often. Raises
    NotFound for an unknown name, UsageError if both names mean the same entity.
    """
    index = opened(index)
    start, end = find_entity(source, index), find_entity(target, index)
    if start.number == end.number:
        raise UsageError(f"{source!r} and {target!r} are one entity: {start.name}")
    steps: list[Edge] = []
    at = end.name
    for relationship in _shortest(start.name, end.name, index):
        at = relationship.source if relationship.target == at else relationship.target
        steps.append(_edge(relationship, at, places, index))
    return GraphPath(start.name, end.name, tuple(reversed(steps)))


def _shortest(start: str, end: str, index: Index) -> list[Relationship]:
    """Return the relationships of the shortest path by Dijkstra's algorithm, from its end; empty if there is none."""
    reached_by: dict[str, Relationship] = {}
    costs = {start: 0.0}
    queue = [(0.0, start)]
    while queue and queue[0][1] != end:
        cost, name = heapq.heappop(queue)
        if cost > costs[name]:
            continue
        for number in index.edges_of(index.entity_of_name[name]):
            edge = index.relationships[number]
            other = edge.target if edge.source == name else edge.source
            total = cost + 1 + 1 / max(edge.weight, 1e-9)
            if total < costs.get(other, float("inf")):
                costs[other], reached_by[other] = total, edge
                heapq.heappush(queue, (total, other))
    path: list[Relationship] = []
    while queue and end != start:
        path.append(reached_by[end])
        end = path[-1].source if path[-1].target == end else path[-1].target
    return path


def find_entity(name: str, index: Index) -> Entity:
    """Return the entity that a name means; raise NotFound, with similar names, if there is none or more than one."""
    if name in index.entity_of_name:  # others may differ from it only in case
        return index.entities[index.entity_of_name[name]]
    key = name_key(name)
    first, _, last = key.rpartition(" ")
    for form in (key, f"{first} {stem(last)}".strip()):
        if form in index.derive(entity_keys):
            return index.entities[index.derive(entity_keys)[form]]
    if sharing := [e.name for e in index.entities if key in map(name_key, e.aliases)]:
        raise NotFound(f"{name!r} may be any of {', '.join(sharing)}; name one of them", name, sharing)
    near = suggestions(name, index)
    hint = "no entity has a similar name"
    if near:
        hint = f"did you mean {', '.join(near)}?"
    raise NotFound(f"there is no {name!r} in the graph; {hint}", name, near)


def suggestions(name: str, index: Index, most: int = 5) -> list[str]:
    """Return names of entities with a similar spelling, then names that share a word; at most `most`."""
    numbers, key = index.derive(entity_keys), name_key(name)
    shared = {k: len(set(key.split()).intersection(k.split())) for k in numbers}
    sharing = sorted(
        filter(shared.get, shared), key=lambda k: (-shared[k], -index.entities[numbers[k]].degree, k)
    )
    alike = difflib.get_close_matches(key, numbers, n=most, cutoff=0.7)
    names = (index.entities[numbers[k]].name for k in (*alike, *sharing))
    return list(islice(dict.fromkeys(names), most))


def _edge(relationship: Relationship, start: str, places: int, index: Index) -> Edge:
    other = relationship.target if relationship.source == start else relationship.source
    return Edge(
        start, other, relationship.description, relationship.weight, relationship.strength,
        sources_of(relationship.spans[:places], index),
    )  # fmt: skip


def sources_of(spans: Iterable[Span], index: Index) -> tuple[Source, ...]:
    """Return spans with the paths of their documents and their text."""
    documents = ((span, index.document_of[span.document_id]) for span in spans)
    return tuple(
        Source(d.path, s.start, s.end, d.text[s.start : s.end], d.place(s.start, s.end)) for s, d in documents
    )


# Reports


@dataclass(frozen=True, slots=True)
class Branch:
    """A report and the reports of its sub-communities."""

    report: Report
    below: tuple[Branch, ...]

    def __repr__(self) -> str:
        """Return the title and the number of branches below, on one line."""
        return f"<Branch {self.report.title!r}, {len(self.below)} below>"


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report and its neighbours in the hierarchy."""

    report: Report
    above: Report | None
    below: tuple[Report, ...]


@public
def report_tree(index: AnyIndex = DEFAULT_FOLDER, deepest: int | None = None) -> list[Branch]:
    """Return the reports as a tree, the most important of a branch first, down to the level `deepest`.

    Brief reports are left out: the leaves of a tree cut at a level are the other reports of that level's view.
    """
    index = opened(index)
    reported = index.report_of_community

    def branches(numbers: Iterable[int]) -> list[Branch]:
        tree: list[Branch] = []
        for community in (index.communities[n] for n in numbers):
            if deepest is not None and community.level > deepest:
                continue
            below = branches(community.children)
            report = reported.get(community.number)  # without one, its sub-communities replace it
            tree += [Branch(report, tuple(below))] if report and not report.brief else below
        return sorted(tree, key=lambda b: (-b.report.rating, b.report.number))

    return branches(c.number for c in index.communities if c.parent < 0)


@public
def report_view(name: str | int, index: AnyIndex = DEFAULT_FOLDER) -> ReportView:
    """Return a report with its neighbours; raise NotFound if a name matches no report or several.

    A name is the report's number (`12`, as in `[Data: Reports (12)]`), `c` and the number of its community
    (`c12`), or at least the first 6 characters of its id, tried in this order.
    """
    index = opened(index)
    report = _report_of(str(name).strip(), index)
    community = index.communities[report.community]
    reported = index.report_of_community
    above = community.parent
    while above >= 0 and above not in reported:
        above = index.communities[above].parent
    below = tuple(reported[c] for c in community.children if c in reported)
    return ReportView(report, reported.get(above), below)


def _report_of(name: str, index: Index) -> Report:
    key, reported = name.lower(), index.report_of_community
    if key.isdecimal() and int(key) < len(index.reports):
        return index.reports[int(key)]
    if key.startswith("c") and key[1:].isdecimal() and int(key[1:]) in reported:
        return reported[int(key[1:])]
    matches = [r for r in index.reports if len(key) >= SHORTEST_PREFIX and r.id.startswith(key)]
    if len(matches) == 1:
        return matches[0]
    if not index.reports:
        raise NotFound("this index has no reports")
    problem = f"{len(matches)} reports are named" if matches else "there is no report"
    raise NotFound(
        f"{problem} {name!r}: give a number (0 to {len(index.reports) - 1}), c and the number of a community that has a"
        f" report, or at least the first {SHORTEST_PREFIX} characters of its id"
    )
