"""Divide a weighted, undirected graph by Leiden into a hierarchy of communities, until each is small.

Level 0 is Leiden on the whole graph (GraphRAG §3.1.4; Traag et al. 2019, arXiv 1810.08473); each community that is too
large is divided by Leiden on its own subgraph, and so on. The subgraphs of one level are extracted for all its
communities at once, so that each of many small ones costs little more than the call of Leiden itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from graspologic_native import leiden_csr as native_leiden  # type: ignore[import-untyped]
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Graph(NamedTuple):
    """A symmetric adjacency matrix in compressed sparse rows, without its diagonal."""

    indptr: Ints
    indices: NDArray[np.int32]
    data: Floats

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def rows(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(self.n), np.diff(self.indptr))

    @property
    def strengths(self) -> Floats:
        """The sum of the weights at each node."""
        return np.bincount(self.rows, self.data, self.n).astype(np.float64)

    def cut(self, start: int, end: int) -> Graph:
        """Return the subgraph of the nodes `start` to `end` (excluded), which no edge may leave."""
        first, last = self.indptr[start], self.indptr[end]
        indices = self.indices[first:last] - np.int32(start)
        return Graph(self.indptr[start : end + 1] - first, indices, self.data[first:last])


def adjacency(source: ArrayLike, target: ArrayLike, weight: ArrayLike, n: int) -> Graph:
    """Return the graph of undirected edges, bit for bit the same whatever their order and direction."""
    ends = np.asarray(source, np.int64), np.asarray(target, np.int64)
    low, high, weights = np.minimum(*ends), np.maximum(*ends), np.asarray(weight, np.float64)
    if low.size and (low.min() < 0 or high.max() >= n):
        raise ValueError(f"an edge ends outside the nodes 0 to {n - 1}")
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError("every weight must be a positive number")
    edge, weights = (low * n + high)[low != high], weights[low != high]
    order = np.lexsort((weights, edge))
    edge, weights = edge[order], weights[order]
    first = np.flatnonzero(np.diff(edge, prepend=-1))
    edge, weights = edge[first], np.add.reduceat(weights, first) if first.size else weights
    low, high = np.divmod(edge, n) if n else (edge, edge)
    rows = np.concatenate((high, low))  # the lower triangle first: rows come out ascending
    order = np.argsort(rows, kind="stable")
    columns = np.concatenate((low, high))[order].astype(np.int32)
    offsets = _offsets(np.bincount(rows, minlength=n))
    return Graph(offsets, columns, np.concatenate((weights, weights))[order])


def inside(graph: Graph, nodes: Ints, owner: Ints) -> Graph:
    """Return the graph of some nodes, in the given order, with only the edges between nodes of the same owner."""
    rank = np.full(graph.n, -1)
    rank[nodes] = np.arange(nodes.size)
    rows, columns = rank[graph.rows], rank[graph.indices]
    keep = np.flatnonzero((rows >= 0) & (columns >= 0))
    keep = keep[owner[rows[keep]] == owner[columns[keep]]]
    rows, columns = rows[keep], columns[keep]
    order = np.lexsort((columns, rows))
    offsets = _offsets(np.bincount(rows, minlength=nodes.size))
    return Graph(offsets, columns[order].astype(np.int32), graph.data[keep][order])


# Partitions


def modularity(
    source: ArrayLike, target: ArrayLike, weight: ArrayLike, membership: ArrayLike, resolution: float = 1.0
) -> float:
    """Return the share of all weight that is inside communities, minus the share expected there by chance.

    `membership` is the community of each node, any integers. A graph without edges has modularity 0.
    """
    labels = dense(np.asarray(membership, np.int64))
    return _modularity(adjacency(source, target, weight, labels.size), labels, resolution)


def connected(graph: Graph, labels: Ints) -> Ints:
    """Return labels from 0, with each community that is not connected divided into its components.

    Each node points to the smallest node it knows of: of its neighbours, then of theirs (scipy does this too, but takes
    a fifth of a second and 35 MB to be imported).
    """
    rows, columns = graph.rows, graph.indices
    same = labels[rows] == labels[columns]
    rows, columns = rows[same], columns[same]
    least = np.arange(graph.n)
    while rows.size:
        np.minimum.at(least, least[rows], least[columns])
        while (further := least[least]).tobytes() != least.tobytes():
            least = further
        apart = least[rows] != least[columns]
        rows, columns = rows[apart], columns[apart]
    return dense(least)


def components(graph: Graph, labels: Ints) -> list[Ints]:
    """Return the nodes of each community, ascending; one that is not connected is returned as its components."""
    component = connected(graph, labels)
    order = np.argsort(component, kind="stable")
    ends: list[int] = _offsets(np.bincount(component)).tolist()
    return [order[a:b] for a, b in pairwise(ends)]


def dense(labels: Ints) -> Ints:
    """Return the labels renumbered from 0, in the same order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _offsets(counts: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


# Leiden

__all__ = ["Ints", "Part", "adjacency", "hierarchical_leiden", "memberships", "modularity"]


@dataclass(slots=True)
class Part:
    """A community of the hierarchy; `parent` and `children` are indices into the list of parts."""

    level: int
    parent: int
    """-1 at level 0."""
    members: Ints
    """Its nodes, ascending."""
    children: list[int] = field(default_factory=list[int])
    """Together they contain each of its nodes once; empty if it is not split."""
    unsplit: str = ""
    """Why it is not split although it is larger than allowed."""


def hierarchical_leiden(
    graph: Graph,
    *,
    max_size: int = 10,
    resolution: float = 1.0,
    seed: int = 42,
    start: Sequence[Ints] = (),
    changed: Bools | None = None,
) -> list[Part]:
    """Divide the nodes of a graph (see `adjacency`) into communities, and those until each has at most `max_size`.

    Parts are ordered by level, within a level by size, the largest first, then by smallest node. Each is connected.
    Every node is in one part of level 0, and in one child of each part that contains it and has children; a node
    without edges is a part by itself. A part that is not split represents itself at every deeper level.

    The result depends on the set of edges and the seed, not on the order or direction of edges. Weights of parallel
    edges are added; an edge from a node to itself says nothing about communities and is left out.

    `start` is an earlier hierarchy, as returned by `memberships`: an array for each level, -1 for a node that was not
    in it. A division then is the earlier one, updated, if that is as good as a new one. `changed` marks the nodes whose
    edges have changed since; without it, any may have.
    """
    changed = np.ones(graph.n, bool) if changed is None else changed
    labels = warm_start(graph, _level(start, 0, graph.n), resolution, seed)
    parts: list[Part] = []
    parts_below = [Part(0, -1, members) for members in components(graph, labels)]
    while parts_below:
        parts_below.sort(key=lambda part: (-part.members.size, part.members[0]))
        first = len(parts)
        parts += parts_below
        for number, part in enumerate(parts_below, first):
            if part.parent >= 0:
                parts[part.parent].children.append(number)
        large = [number for number in range(first, len(parts)) if parts[number].members.size > max_size]
        parts_below = _next_level(graph, parts, large, resolution, seed, start, changed)
    return parts


def memberships(parts: Sequence[Part], n: int) -> list[Ints]:
    """Return for each level, from coarse to fine, the index in `parts` of each node's part."""
    levels: list[Ints] = []
    for number, part in enumerate(parts):
        if part.level == len(levels):
            levels.append(levels[-1].copy() if levels else np.full(n, -1))
        levels[part.level][part.members] = number
    return levels


def _level(start: Sequence[Ints], level: int, n: int) -> Ints:
    return start[level] if level < len(start) else np.full(n, -1)


def _next_level(
    graph: Graph,
    parts: list[Part],
    large: list[int],
    resolution: float,
    seed: int,
    start: Sequence[Ints],
    changed: Bools,
) -> list[Part]:
    """Divide the large parts of the deepest level; return their children, and record why a part has none."""
    if not large:
        return []
    sizes = np.array([parts[number].members.size for number in large])
    nodes = np.concatenate([parts[number].members for number in large])
    ends = np.cumsum(sizes)
    level = parts[large[0]].level + 1
    above = _level(start, level - 1, graph.n)
    size_of = np.bincount(above + 1)
    above = above[nodes]
    before = _level(start, level, graph.n)[nodes]
    together = above == np.repeat(above[ends - sizes], sizes)
    alone = size_of[above + 1] == np.repeat(sizes, sizes)
    settled = together & alone & ~changed[nodes]
    inner = inside(graph, nodes, np.repeat(np.arange(len(large)), sizes))
    labels = np.empty(nodes.size, np.int64)
    for number, a, b in zip(large, (ends - sizes).tolist(), ends.tolist(), strict=True):
        own = before[a:b]
        if settled[a:b].all() and (own != own[0]).any():  # the same graph, which was divided
            division = dense(own)
        else:
            division = divided(inner.cut(a, b), own, resolution, seed)
        labels[a:b] = -1 if isinstance(division, str) else division + a  # no two parts share a label
        if isinstance(division, str):
            parts[number].unsplit = division
    owner = np.repeat(np.array(large), sizes)
    return [
        Part(level, int(owner[rows[0]]), nodes[rows])
        for rows in components(inner, labels)
        if labels[rows[0]] >= 0
    ]


FACTORS = (1, 2, 4)
"""Factors of the resolution, tried one after the other while a community is not divided. Of six corpora, one has three
communities that 1 and 2 do not divide; up to 64, no other is divided."""

Partition = Callable[[Graph, float, int], Ints]
"""Returns a community's label for each node of a graph, given a resolution and a seed."""

ITERATIONS = 3
"""Iterations of Leiden without a warm start. With 1, 2, 3 and 6, the podcasts' graph has modularity 0.648, 0.653, 0.654
and 0.654, that of society 0.796, 0.801, 0.802 and 0.803; six take twice the time."""


def leiden(graph: Graph, resolution: float, seed: int) -> Ints:
    """Return the label of each node's community, by Leiden."""
    labels = np.arange(graph.n)
    if graph.data.size:  # the native function does not accept a graph without edges
        _, label_of = cast(
            "tuple[float, dict[int, int]]",
            native_leiden(*graph, graph.n, resolution, iterations=ITERATIONS, seed=seed),
        )
        labels[list(label_of)] = list(label_of.values())
    return labels


def divide(graph: Graph, resolution: float, seed: int, by: Partition = leiden) -> Ints | str:
    """Return the community of each node of a connected graph, from 0, or the reason why there is only one."""
    degrees = np.diff(graph.indptr)
    if degrees.sum() == 2 * (graph.n - 1) and degrees.max() == graph.n - 1:
        return "a star around one node"
    # each weight divided by the geometric mean of the strengths of its two ends
    root = np.sqrt(graph.strengths)
    balanced = graph._replace(data=graph.data / (root[graph.rows] * root[graph.indices]))
    for weighted in (graph, balanced):
        for factor in FACTORS:
            labels = dense(by(weighted, factor * resolution, seed))
            if labels.max() == graph.n - 1:  # each node alone, as it will be at any higher resolution
                break
            labels = merge_singletons(weighted, labels)
            if (labels != labels[0]).any():
                return labels
    if degrees.min() == graph.n - 1:
        return "a clique"
    return f"no division found at resolution {FACTORS[-1] * resolution:g}"


def merge_singletons(graph: Graph, labels: Ints) -> Ints:
    """Move each node that is a community of its own into the community to which its edges weigh most.

    There is nothing to report on a single node, and a high resolution mostly separates such nodes from a hub. The graph
    must be connected, and some community must have two nodes.
    """
    while True:
        lone = np.bincount(labels)[labels] == 1
        if not lone.any():
            return dense(labels)
        rows = graph.rows
        ties = np.flatnonzero(lone[rows] & ~lone[graph.indices])
        pair, which = np.unique(rows[ties] * graph.n + labels[graph.indices[ties]], return_inverse=True)
        pair = pair[np.argsort(np.bincount(which, graph.data[ties]), kind="stable")]
        labels[pair // graph.n] = pair % graph.n  # the strongest, which is assigned last, wins


def singletons(labels: Ints) -> Ints:
    """Return labels in which each node without one (-1) has one of its own."""
    return np.where(labels < 0, labels.max(initial=-1) + 1 + np.arange(labels.size), labels)


TOLERANCE = 0.01
"""Largest share of a new partition's modularity by which an earlier one that is reused may be worse. If 2 % of the
podcasts' documents are new, 78 % of the communities stay."""


def warm_start(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints:
    """Return the community of each node of a graph, given those of an earlier one (-1: the node was not in it).

    They stay, and new nodes join them or form others. If that is not good enough, Leiden starts from nothing.
    """
    fresh = leiden(graph, resolution, seed)
    new = start < 0
    if new.all():
        return fresh
    old = _grown(graph, start, resolution, seed) if new.any() else connected(graph, start)
    return _old_or_fresh(graph, old, fresh, resolution)


def divided(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints | str:
    """Do what `divide` does, given the parts that the nodes were in before (-1: in none).

    The parts stay, and a new node joins the one to which its edges weigh most, if that is good enough.
    """
    fresh = divide(graph, resolution, seed)
    if isinstance(fresh, str) or (start == start[0]).all():
        return fresh
    old = connected(graph, singletons(start))
    if old.max() < graph.n - 1:
        old = merge_singletons(graph, old)
    if not old.any():  # all are in one part
        return fresh
    return _old_or_fresh(graph, old, fresh, resolution)


def _old_or_fresh(graph: Graph, old: Ints, fresh: Ints, resolution: float) -> Ints:
    """Return the old partition if its modularity is that of the fresh one, within the tolerance, else the fresh one."""
    was, now = (_modularity(graph, labels, resolution) for labels in (old, fresh))
    return old if was >= now - TOLERANCE * abs(now) else fresh


def _grown(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints:
    """Run Leiden on the graph whose nodes are the earlier communities and the new nodes.

    Such a community is two nodes, connected by all the weight inside it: the native function ignores the diagonal.
    """
    whole = connected(graph, singletons(start))
    count = int(whole.max()) + 1
    rows, columns = whole[graph.rows], whole[graph.indices]
    upper, within = graph.rows < graph.indices, rows == columns
    inner = np.bincount(rows[upper & within], graph.data[upper & within], count)
    nodes = np.flatnonzero(inner)
    across = upper & ~within
    source = np.concatenate((rows[across], nodes))
    target = np.concatenate((columns[across], count + np.arange(nodes.size)))
    weight = np.concatenate((graph.data[across], inner[nodes]))
    return leiden(adjacency(source, target, weight, count + nodes.size), resolution, seed)[whole]


def _modularity(graph: Graph, labels: Ints, resolution: float) -> float:
    labels, total = dense(labels), float(graph.data.sum())
    if not total:
        return 0.0
    within = graph.data[labels[graph.rows] == labels[graph.indices]].sum()
    return float(within / total - resolution * np.square(np.bincount(labels, graph.strengths) / total).sum())
