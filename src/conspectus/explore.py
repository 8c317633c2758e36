"""Looking around in an index: one thing of the graph, how two are connected, the reports as a tree."""

from __future__ import annotations

import difflib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from conspectus.errors import NotFound, UsageError
from conspectus.index import Index
from conspectus.rows import Entity, Relationship, Report, Source, Span, counted, escaped, plain
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, public
from conspectus.text.words import entity_keys, name_key, stem

SHORTEST_PREFIX = 6
"""Characters of an id that are enough to name a report by."""
MOST_DOCUMENTS = 10
"""Documents of an entity that its Markdown lists: those that name it most."""


# Entities


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship from one thing to another, with places that tell of it, the most telling first."""

    source: str
    target: str
    description: str
    weight: float
    strength: float
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Membership:
    """A community that holds a thing; `report` and `title` are those of its report, where it has one."""

    community: int
    level: int
    report: int | None
    title: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that names a thing, and in how many of its chunks."""

    document: str
    title: str
    chunks: int


@dataclass(frozen=True, slots=True)
class EntityView:
    """What the graph knows of one thing."""

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
    """The strongest; `degree` tells how many there are."""
    communities: tuple[Membership, ...]
    """The deepest first."""
    documents: tuple[Mention, ...]
    """Those that name it in most chunks first."""

    def __str__(self) -> str:
        """Return it as Markdown, without control characters."""
        return self._markdown(plain)

    def __repr__(self) -> str:
        """Return name, type and degree on one line."""
        return f"<EntityView {self.name!r} ({self.type}), {counted(self.degree, 'relationship')}>"

    def _repr_markdown_(self) -> str:
        return self._markdown(escaped)

    def _markdown(self, shown: Callable[[str], str]) -> str:
        lines = [f"### {shown(self.name)} ({shown(self.type)})", "", shown(self.description), ""]
        lines += [f"- **{shown(edge.target)}**: {shown(edge.description)}" for edge in self.relationships]
        titles = [shown(community.title) for community in self.communities if community.title]
        lines += ["", "Communities: " + "; ".join(titles)] if titles else []
        paths = [shown(mention.document) for mention in self.documents[:MOST_DOCUMENTS]]
        few = len(self.relationships)
        strongest = f" (the strongest {few:,} are listed)" if 0 < few < self.degree else ""
        lines += [
            "",
            f"Relationships: {self.degree:,}{strongest}; chunks: {self.frequency}, in {', '.join(paths)}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class GraphPath:
    """How two things are connected; no steps where they are not."""

    source: str
    target: str
    steps: tuple[Edge, ...]


@public
def entity_view(name: str, index: AnyIndex = DEFAULT_FOLDER, *, most: int = 10, places: int = 2) -> EntityView:
    """Return what the graph of an index, or of that in a folder, knows of an entity.

    most: how many of its strongest relationships.
    places: how many sources of each.

    Case, spacing and aliases do not matter. Raises NotFound, which tells what is near.
    """
    index = opened(index)
    entity = find_entity(name, index)
    edges = [index.relationships[number] for number in index.edges_of(entity.number)]
    edges.sort(key=lambda r: (-r.weight, -r.strength, r.number))
    memberships: list[Membership] = []
    for number in index.communities_of(entity.number):
        report, level = index.report_of_community.get(number), index.communities[number].level
        title = report.title if report else ""
        memberships.append(Membership(number, level, report.number if report else None, title))
    chunks = Counter(index.chunk_of[chunk].document_id for chunk in entity.chunk_ids)
    documents = sorted(map(index.document_of.__getitem__, chunks), key=lambda d: (-chunks[d.id], d.number))
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
    """Return the path between two things that is shortest by weight; without steps where there is none.

    A step costs 1 + 1 / weight: fewer steps go before more, unless those are stated far more often. Raises
    NotFound for an unknown name, UsageError where both names mean one thing.
    """
    index = opened(index)
    start, end = find_entity(source, index), find_entity(target, index)
    if start.number == end.number:
        raise UsageError(f"{source!r} and {target!r} are one entity: {start.name}")
    reached_by = _shortest(start.name, end.name, index)
    steps: list[Edge] = []
    at = end.name
    while at in reached_by:
        relationship = reached_by[at]
        at = relationship.source if relationship.target == at else relationship.target
        steps.append(_edge(relationship, at, places, index))
    return GraphPath(start.name, end.name, tuple(reversed(steps)))


def _shortest(start: str, end: str, index: Index) -> dict[str, Relationship]:
    """Return by name the relationship over which Dijkstra's algorithm reached it; empty if the end was not reached."""
    reached_by: dict[str, Relationship] = {}
    done: set[str] = set()
    costs = {start: 0.0}
    queue = [(0.0, start)]
    while queue:
        cost, name = heapq.heappop(queue)
        if name == end:
            return reached_by
        if name in done:
            continue
        done.add(name)
        for edge in map(index.relationships.__getitem__, index.edges_of(index.entity_of_name[name])):
            other = edge.target if edge.source == name else edge.source
            total = cost + 1 + 1 / max(edge.weight, 1e-9)
            if other not in done and total < costs.get(other, float("inf")):
                costs[other], reached_by[other] = total, edge
                heapq.heappush(queue, (total, other))
    return {}


def find_entity(name: str, index: Index) -> Entity:
    """Return the one thing that a name means; raise NotFound, with what is near, for none and for several."""
    if name in index.entity_of_name:  # others may differ from it in case alone
        return index.entities[index.entity_of_name[name]]
    key = name_key(name)
    first, _, last = key.rpartition(" ")
    for form in (key, f"{first} {stem(last)}".strip()):
        if form in index.derive(entity_keys):
            return index.entities[index.derive(entity_keys)[form]]
    if sharing := [e.name for e in index.entities if key in map(name_key, e.aliases)]:
        raise NotFound(f"{name!r} may be any of {', '.join(sharing)}; name one of them")
    near = suggestions(name, index)
    hint = f"did you mean {', '.join(near)}?" if near else "nothing in it is called anything like that"
    raise NotFound(f"there is no {name!r} in the graph; {hint}")


def suggestions(name: str, index: Index, most: int = 5) -> list[str]:
    """Return names of entities that are spelt like a name, then of those that share a word with it."""
    numbers, key = index.derive(entity_keys), name_key(name)
    shared = {k: len(set(key.split()).intersection(k.split())) for k in numbers}
    sharing = sorted(
        filter(shared.get, shared), key=lambda k: (-shared[k], -index.entities[numbers[k]].degree, k)
    )
    alike = difflib.get_close_matches(key, numbers, n=most, cutoff=0.7)
    return list(islice(dict.fromkeys(index.entities[numbers[k]].name for k in (*alike, *sharing)), most))


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
    """A report and those of its community's parts."""

    report: Report
    below: tuple[Branch, ...]

    def __repr__(self) -> str:
        """Return the title and how many are below on one line."""
        return f"<Branch {self.report.title!r}, {len(self.below)} below>"


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report and its neighbours in the hierarchy."""

    report: Report
    above: Report | None
    below: tuple[Report, ...]


@public
def report_tree(index: AnyIndex = DEFAULT_FOLDER, deepest: int | None = None) -> list[Branch]:
    """Return the reports as a tree, the most important of a branch first, cut below a level.

    The leaves of a tree that is cut at a level are that level's view, but for communities whose parts are all
    too small for reports of their own.
    """
    index = opened(index)
    reported = index.report_of_community

    def branches(numbers: Iterable[int]) -> list[Branch]:
        tree: list[Branch] = []
        for community in (index.communities[n] for n in numbers):
            if deepest is not None and community.level > deepest:
                continue
            below = branches(community.children)
            report = reported.get(community.number)  # without one, its parts stand in its place
            tree += [Branch(report, tuple(below))] if report else below
        return sorted(tree, key=lambda b: (-b.report.rating, b.report.number))

    return branches(c.number for c in index.communities if c.parent < 0)


@public
def report_view(name: str | int, index: AnyIndex = DEFAULT_FOLDER) -> ReportView:
    """Return a report with its neighbours; raise NotFound where a name leads to none or to several.

    A name is the report's number (`12`, as in `[Data: Reports (12)]`), `c` and the number of its community
    (`c12`), or at least the first 6 characters of its id. What can be read as several is the first of them.
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
    reports, reported, written = index.reports, index.report_of_community, name
    name = name.lower()
    if name.isdecimal() and int(name) < len(reports):
        return reports[int(name)]
    if name.startswith("c") and name[1:].isdecimal() and int(name[1:]) < len(index.communities):
        community = index.communities[int(name[1:])]
        if community.number in reported:
            return reported[community.number]
        above = reported.get(community.parent)
        hint = (
            f"; it is part of community {above.community}, whose report is number {above.number}"
            if above
            else ""
        )
        raise NotFound(f"community {name[1:]} has no report of its own ({community.size} entities){hint}")
    matches = [r for r in reports if len(name) >= SHORTEST_PREFIX and r.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if not reports:
        raise NotFound("this index has no reports")
    problem = f"the ids of {len(matches)} reports start with" if matches else "there is no report"
    raise NotFound(
        f"{problem} {written!r}: give its number (0 to {len(reports) - 1}), c and the number of its community (c0 to"
        f" c{len(index.communities) - 1}), or at least the first {SHORTEST_PREFIX} characters of its id"
    )
