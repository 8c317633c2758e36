"""Roll-up: from the annotations that a question matches up the hierarchy, with reports written just in time
(GraphRAG, 6).

The communities of what is matched are the start. Parts give way to what they are parts of: where the question matches
most of it, and where there are more of them than reports are to be read. Reports that are missing are written, and
the answer is a map-reduce over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.annotations import Annotation, communities_of, matched
from conspectus.retrieval.finish import nothing_found
from conspectus.retrieval.global_ import packed_windows
from conspectus.retrieval.map_reduce import map_reduce
from conspectus.retrieval.on_demand_reports import reports_for
from conspectus.rows import Answer, Community
from conspectus.settings import RollupSettings, Settings
from conspectus.tasks.context import Context
from conspectus.text.question import read_question

METHOD = "rollup"
NAMED = 4
"""Annotations that are named in the reason."""
LISTED = 12
"""Communities that are."""


@dataclass(frozen=True)
class Rolled:
    """The communities to read reports of, the best first, and those below them that gave way."""

    chosen: tuple[int, ...]
    parts: frozenset[int] = frozenset()


async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the reports of what a question matches; those that are missing are written first.

    Raises UsageError where the index has no communities, ModelError where no report could be written or read.
    """
    if not index.communities:
        raise UsageError("rollup needs communities, and this index has none: its documents name too little")
    found = (
        []
        if read_question(question, *index.languages).about_whole
        else matched(question, index, settings, settings.rollup.matches)
    )
    least = settings.reports.min_report_entities
    scores = communities_of(found, index, least) if found else {}
    if not found and read_question(question, *index.languages).about_whole:
        scores = {c.number: float(c.size) for c in index.communities if c.level == 0 and c.size >= least}
    if not scores:
        return nothing_found(question, index, method=METHOD)
    rolled = rolled_up(scores, index.communities, settings.rollup)
    chosen = [index.communities[number] for number in rolled.chosen]
    written = await reports_for(chosen, rolled.parts, index, model)
    if not written.reports:
        raise written.failed[0]
    windows = [Context(reports=tuple(w)) for w in packed_windows(written.reports, settings.global_)]
    used = sum(report.n_tokens for report in written.reports)
    notices = [f"{len(written.failed)} reports could not be written: {written.failed[0]}"] if written.failed else []
    result = await map_reduce(
        question, windows, index, model, settings.global_, method=METHOD, used=used, notices=notices
    )
    why = f"{_matches(found, scores)}; {_levels(chosen, len(scores), written.new)}"
    return replace(result, why=why)


def rolled_up(scores: Mapping[int, float], communities: Sequence[Community], settings: RollupSettings) -> Rolled:
    """Climb from matched communities, given with how well they match, until relevance and room say stop.

    A whole takes the place of its parts where they hold `share` of its entities at the least, and then, from the
    deepest level up, where more than `reports` communities are left. Of those that no whole joins, the best stay.
    """
    inner = {parent for number in scores for parent in _above(number, communities)}
    front = {number: score for number, score in scores.items() if number not in inner}
    gone: set[int] = set()

    def join(whole: int, parts: Sequence[int]) -> None:
        front[whole] = sum(front.pop(part) for part in parts)
        for part in parts:
            between = takewhile(lambda number: number != whole, _above(part, communities))
            gone.update((part, *between))

    deepest = max(communities[number].level for number in front)
    for level in range(deepest - 1, -1, -1):
        for whole, parts in _below(front, communities, level).items():
            if sum(communities[part].size for part in parts) >= settings.share * communities[whole].size:
                join(whole, parts)
    for level in range(deepest - 1, -1, -1):
        families = _below(front, communities, level)
        for whole in sorted(families, key=lambda number: (-len(families[number]), number)):
            if len(front) > settings.reports and len(families[whole]) > 1:
                join(whole, families[whole])
    best = sorted(front, key=lambda n: (-front[n], n))[: settings.reports]
    return Rolled(tuple(best), frozenset(gone))


def _above(number: int, communities: Sequence[Community]) -> list[int]:
    """Return the numbers of what a community is part of, from the nearest to the root."""
    found: list[int] = []
    while (parent := communities[number].parent) >= 0:
        found.append(parent)
        number = parent
    return found


def _below(front: Iterable[int], communities: Sequence[Community], level: int) -> dict[int, list[int]]:
    """Return what is left below each community of a level, by its number."""
    below: dict[int, list[int]] = {}
    for number in sorted(front):
        for whole in _above(number, communities):
            if communities[whole].level == level:
                below.setdefault(whole, []).append(number)
    return below


def _matches(found: Sequence[Annotation], scores: Mapping[int, float]) -> str:
    if not found:
        return f"the whole is {len(scores)} communities of the root"
    names = list(dict.fromkeys(a.name for a in found))
    named = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    return f"{len(found)} annotations match ({named}), in {len(scores)} communities"


def _levels(chosen: Sequence[Community], start: int, new: int) -> str:
    levels = Counter(community.level for community in chosen)
    used = ", ".join(f"{n} of level {level}" for level, n in sorted(levels.items()))
    numbers = [str(community.number) for community in chosen]
    named = ", ".join(numbers[:LISTED]) + (", …" if len(numbers) > LISTED else "")
    rolled = f"rolled up to {len(chosen)}: " if len(chosen) < start else ""
    written = f"; {new} report{'s' * (new != 1)} written for it" if new else ""
    return f"{rolled}{used} used (communities {named}){written}"
