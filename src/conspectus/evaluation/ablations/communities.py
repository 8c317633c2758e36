"""Leiden against Louvain on the graph of an index: modularity, levels, sizes, what is connected, what reports take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from conspectus import __version__
from conspectus.algorithms.graph import Floats, Ints, adjacency, modularity
from conspectus.algorithms.leiden import Part, memberships
from conspectus.community_context import CommunityContextBuilder
from conspectus.errors import UsageError
from conspectus.evaluation.ablations.found import Ablation, Cell, mean
from conspectus.evaluation.ablations.hierarchies import METHODS, Hierarchy, hierarchy
from conspectus.evaluation.charts import Panel, Series
from conspectus.evaluation.comparing.conditions import digest, snapshot_of
from conspectus.evaluation.jsonl_table import JsonlTable
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.indexing.reports import reported, write_reports
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.session import Session
from conspectus.rows import Community, content_id
from conspectus.settings import Settings
from conspectus.storage import locks
from conspectus.text.language import corpus_language

SEEDS = 10
FILE = "communities.jsonl"


@dataclass(frozen=True)
class Level:
    """The partition of one level, what stands above and is not split further among it."""

    communities: int
    modularity: float
    median_size: float
    largest: int
    alone: int
    """Communities of one entity."""
    returned: int = 0
    """Communities of this level as the method returned them."""
    connected: int = 0
    """Those of them that hang together."""
    reports: int | None = None
    """Communities that are large enough for a report; counted for the first seed only."""
    report_tokens: int | None = None


@dataclass(frozen=True)
class Run:
    """The hierarchy that a method finds with a seed."""

    method: str
    seed: int
    made_with: str
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True)
class Communities:
    """The ablation, laid out."""

    index: Index
    settings: Settings
    folder: Path
    seeds: tuple[int, ...]
    kept: JsonlTable[Run]

    @property
    def cells(self) -> int:
        return len(METHODS) * len(self.seeds)

    @property
    def left(self) -> int:
        return len(self._open)

    @property
    def _open(self) -> list[tuple[str, int]]:
        keys = [(method, seed) for method in METHODS for seed in self.seeds]
        return [key for key in keys if (run := self.kept.get(key)) is None or run.made_with != self._made_with(key)]

    def _made_with(self, key: tuple[str, int]) -> str:
        said = self.settings.model_dump(mode="json", include={"communities", "reports"})
        return digest([__version__, snapshot_of(self.index), said, key[1] == self.seeds[0]])

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return nothing: no language model is asked."""
        return {}

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Divide the graph by each method with each seed; reports are those of the extractive model."""
        left = self._open
        tick = progress.stage("communities", len(left))
        ends = _ends(self.index)
        graph = adjacency(*ends, len(self.index.entities))
        of = self.settings.communities
        with locks.writing(self.folder, "ablation"):
            for method, seed in left:
                found = hierarchy(graph, METHODS[method], max_size=of.max_size, resolution=of.resolution, seed=seed)
                levels = list(_levels(found, ends, graph.n, of.resolution))
                if seed == self.seeds[0]:
                    levels = await self._with_reports(levels, found.parts)
                self.kept.add(Run(method, seed, self._made_with((method, seed)), tuple(levels)))
                tick()

    async def _with_reports(self, levels: Sequence[Level], parts: Sequence[Part]) -> list[Level]:
        index, settings = self.index, self.settings.reports
        communities = communities_of(parts, index)
        gatherer = CommunityContextBuilder(
            communities, index.entities, index.relationships, settings.context_tokens, index.claims
        )
        language = corpus_language(index.documents, self.settings.language)
        model = ExtractiveModel.of_index(index)
        reports, _ = await write_reports(communities, gatherer, model, settings, language)
        tokens = {report.community: report.n_tokens for report in reports}
        large = {community.number for community in reported(communities, settings)}
        found: list[Level] = []
        for level, row in enumerate(levels):
            view = {c.number for c in communities if c.level == level or (c.level < level and not c.children)}
            counted = {"reports": len(view & large), "report_tokens": sum(tokens.get(n, 0) for n in view)}
            found.append(Level(**(asdict(row) | counted)))
        return found

    def told(self) -> Ablation:
        """Return a row for each method and level: means over the seeds, and the range of the modularity."""
        runs = [run for m in METHODS for s in self.seeds if (run := self.kept.get((m, s))) is not None]
        rows = [row for method in METHODS for row in _rows(method, [run for run in runs if run.method == method])]
        return Ablation(
            "communities",
            "Leiden and Louvain on the same graph",
            tuple(rows),
            tuple(_panels(rows)),
            {
                "entities": len(self.index.entities),
                "relationships": len(self.index.relationships),
                "snapshot": snapshot_of(self.index),
                "seeds": len(self.seeds),
                "max_size": self.settings.communities.max_size,
                "resolution": self.settings.communities.resolution,
            },
            (
                "Means over the seeds; reports, written by the extractive model, are of the first seed. A level holds "
                "what stands above it and is not split further.",
                "Connected: of the communities that a method returned at a level, those that hang together; the others "
                "are parted before they are counted.",
            ),
        )


def lay_out(index: Index, settings: Settings, folder: Path, seeds: int = SEEDS) -> Communities:
    """Lay out the ablation with so many seeds; raise UsageError where the index has no graph."""
    if not len(index.relationships):
        raise UsageError("this index has no graph to divide")
    first = settings.communities.seed
    kept = JsonlTable(folder / FILE, _run, lambda run: (run.method, run.seed))
    return Communities(index, settings, folder, tuple(range(first, first + seeds)), kept)


def _run(**values: object) -> Run:
    levels = values.pop("levels", ())
    assert isinstance(levels, list)
    return Run(levels=tuple(Level(**one) for one in levels), **values)  # pyright: ignore


def _ends(index: Index) -> tuple[Ints, Ints, Floats]:
    node = {entity.name: entity.number for entity in index.entities}
    rows = index.relationships
    return (
        np.array([node[r.source] for r in rows], np.int64),
        np.array([node[r.target] for r in rows], np.int64),
        np.array([r.weight for r in rows], np.float64),
    )


def _levels(found: Hierarchy, ends: tuple[Ints, Ints, Floats], n: int, resolution: float) -> Iterable[Level]:
    for level, members in enumerate(memberships(found.parts, n)):
        sizes = sorted(np.unique(members, return_counts=True)[1].tolist())
        yield Level(
            len(sizes),
            round(modularity(*ends, members, resolution), 6),
            median(sizes),
            sizes[-1],
            sum(size == 1 for size in sizes),
            *found.returned[level],
        )


def communities_of(parts: Sequence[Part], index: Index) -> list[Community]:
    """Return parts as communities of an index's graph; which chunks they come from is left out."""
    node = {entity.name: entity.number for entity in index.entities}
    pairs = [(node[r.source], node[r.target], r.number) for r in index.relationships]
    inner: list[list[int]] = [[] for _ in parts]
    for members in memberships(parts, len(index.entities)):
        for source, target, number in pairs:
            place = int(members[source])
            if place == members[target] and (not inner[place] or inner[place][-1] < number):
                inner[place].append(number)
    return [
        Community(
            content_id(str(part.level), *map(str, part.members.tolist())),
            number,
            part.level,
            part.parent,
            tuple(part.children),
            tuple(part.members.tolist()),
            tuple(inner[number]),
        )
        for number, part in enumerate(parts)
    ]


def _rows(method: str, runs: Sequence[Run]) -> Iterable[dict[str, Cell]]:
    for level in range(max((len(run.levels) for run in runs), default=0)):
        found = [run.levels[min(level, len(run.levels) - 1)] for run in runs]  # the deepest stands for deeper ones
        own = [run.levels[level] for run in runs if level < len(run.levels)]
        first = next((one for one in found if one.report_tokens is not None), None)
        quality = [one.modularity for one in found]
        yield {
            "method": method,
            "level": level,
            "communities": mean([one.communities for one in found], 1),
            "modularity": mean(quality, 4),
            "lowest": round(min(quality), 4),
            "highest": round(max(quality), 4),
            "median_size": mean([one.median_size for one in found], 1),
            "largest": mean([one.largest for one in found], 1),
            "alone": mean([one.alone for one in found], 1),
            "connected_%": round(100 * sum(one.connected for one in own) / sum(one.returned for one in own), 2),
            "reports": first.reports if first else None,
            "report_tokens": first.report_tokens if first else None,
        }


def _panels(rows: Sequence[dict[str, Cell]]) -> Iterable[Panel]:
    levels = sorted({row["level"] for row in rows if isinstance(row["level"], int)})
    titles = {
        "modularity": "Modularity",
        "communities": "Communities",
        "largest": "Entities of the largest",
        "apart": "Not connected as returned, %",
        "report_tokens": "Tokens of reports",
    }
    known = [{**row, "apart": _apart(row["connected_%"])} for row in rows]
    for column, title in titles.items():
        values = {(row["method"], row["level"]): _number(row[column]) for row in known}
        series = (Series(name, tuple(values.get((name, at)) for at in levels)) for name in METHODS)
        yield Panel(title, tuple(map(str, levels)), "level", tuple(series), "bars")


def _apart(connected: Cell) -> float | None:
    return 100 - connected if isinstance(connected, int | float) else None


def _number(value: Cell) -> float | None:
    return value if isinstance(value, int | float) else None
