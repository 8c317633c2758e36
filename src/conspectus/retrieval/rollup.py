"""Roll-up: from the rows that a question matches, up the community hierarchy (GraphRAG, future work).

Entities, relationships, claims and reports are matched by their words, rare words and names first, and by the vectors
of their sentences where the index has vectors. The communities of the matches are the starting point. A community
replaces its sub-communities where the question matches most of them, or where there are more of them than reports
should be read. Missing reports are written on demand, and the answer is a map-reduce over the reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal
from zlib import crc32

import numpy as np

from conspectus.algorithms.ranking import highest, idf, scaled
from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.errors import ModelError, Unusable, UsageError
from conspectus.index import Index
from conspectus.models.base import Model, performed
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, map_reduce
from conspectus.retrieval.global_ import packed_windows
from conspectus.retrieval.local import entities_in
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import Answer, Community, Report
from conspectus.settings import ReportSettings, Settings
from conspectus.storage.lazy import BoundedCache
from conspectus.tasks import WriteReport
from conspectus.tasks.base import Context
from conspectus.text.language import AUTO, corpus_language
from conspectus.text.question import read_question
from conspectus.text.words import CJK, search_terms

Kind = Literal["entity", "relationship", "claim", "report"]

IN_NAME = 0.5
"""What a word in a name counts beside the same word in a description."""
MEANING = 0.5
"""What the likeness of the best sentence counts beside that of the words."""
SENTENCES = 200
"""Sentences nearest to the question whose annotations are matched by meaning."""
LEAST = 0.2
"""The share of the question's weight that an annotation must hold."""
MATCHES = 100
"""Maximum number of entities, relationships, claims and reports that are matched to a question."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A row that a question matches, and how well, about 0 to 2."""

    kind: Kind
    number: int
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class _Row:
    kind: Kind
    number: int
    name: str
    text: str
    """The name and the description, in lower case."""


def _rows(index: Index) -> list[_Row]:
    """Return all annotations of an index."""
    return list(_annotations(index))


def _annotations(index: Index) -> Iterator[_Row]:
    for e in index.entities:
        yield _Row("entity", e.number, e.name, f"{e.name} {e.description}".lower())
    for r in index.relationships:
        yield _Row("relationship", r.number, f"{r.source} - {r.target}", r.description.lower())
    for c in index.claims:
        yield _Row("claim", c.number, c.subject, f"{c.subject} {c.object} {c.description}".lower())
    for p in index.reports:
        yield _Row("report", p.number, p.title, f"{p.title} {p.summary}".lower())


def match_annotations(question: str, index: Index, settings: Settings) -> list[Annotation]:
    """Return the annotations that match a question, the best first, at most MATCHES."""
    rows = index.derive(_rows)
    scores = _by_words(question, rows, index)
    if has_vectors(index):
        for row_number, like in _by_meaning(question, index, settings).items():
            scores[row_number] = scores.get(row_number, 0.0) + MEANING * like
    for entity in entities_in(question, index):  # the question names it, whatever the spelling
        scores[entity.number] = scores.get(entity.number, 0.0) + 1.0
    best = sorted(scores, key=lambda row_number: (-scores[row_number], row_number))[:MATCHES]
    return [Annotation(rows[i].kind, rows[i].number, rows[i].name, scores[i]) for i in best]


def _by_words(question: str, rows: Sequence[_Row], index: Index) -> dict[int, float]:
    """Return by its place the share of the question's weight, in squared IDF, that each annotation holds."""
    query_terms = read_question(question, *index.languages).focus or tuple(
        dict.fromkeys(search_terms(question, index))
    )
    parts = [term[:-1] if len(term) > 3 and not CJK.search(term) else term for term in query_terms]
    near = [i for i, row in enumerate(rows) if any(part in row.text for part in parts)]  # stems may end otherwise
    shared_terms = {i: set(query_terms).intersection(search_terms(rows[i].text, index)) for i in near}
    frequency = {term: sum(term in words for words in shared_terms.values()) for term in query_terms}
    weight = {term: idf(len(rows), n) ** 2 for term, n in frequency.items() if n}
    total = sum(weight.values()) or 1.0
    scores: dict[int, float] = {}
    for i, words in shared_terms.items():
        share = sum(weight[t] for t in sorted(words)) / total
        if share >= LEAST:
            named = words.intersection(search_terms(rows[i].name, index))
            scores[i] = share + IN_NAME * sum(weight[t] for t in sorted(named)) / total
    return scores


def _by_meaning(question: str, index: Index, settings: Settings) -> dict[int, float]:
    """Return by its number how like the question an entity is: as the best sentence that mentions it, 1 at most."""
    like: Any = (
        index.arrays["vectors.sentences"].astype(np.float32) @ question_vectors([question], index, settings)[0]
    )
    starts, mentions = index.arrays["sentences.mention_starts"], index.arrays["sentences.mentions"]
    scores: dict[int, float] = {}
    best = highest(scaled(like), SENTENCES)
    for sentence, score in zip(best.tolist(), scaled(like)[best].tolist(), strict=True):
        for entity in mentions[starts[sentence] : starts[sentence + 1]].tolist() if score > 0 else ():
            scores.setdefault(entity, score)
    return scores


def community_of(annotation: Annotation, index: Index, least: int) -> Community | None:
    """Return the deepest community of at least so many entities that holds an annotation, None where none does."""
    match annotation.kind:
        case "report":
            return index.communities[index.reports[annotation.number].community]
        case "relationship":
            row = index.relationships[annotation.number]
            names = [row.source, row.target]
        case "claim":
            names = [index.claims[annotation.number].subject, index.claims[annotation.number].object]
        case "entity":
            names = [index.entities[annotation.number].name]
    shared_terms = [
        index.communities_of(index.entity_of_name[name]) for name in names if name in index.entity_of_name
    ]
    shared = [c for c in shared_terms[0] if all(c in other for other in shared_terms[1:])] if shared_terms else []
    return next((index.communities[c] for c in shared if index.communities[c].size >= least), None)


def communities_of(annotations: Sequence[Annotation], index: Index, least: int) -> dict[int, float]:
    """Return the deepest communities that hold the annotations, with the sum of their scores, the highest first."""
    scores: dict[int, float] = {}
    for annotation in annotations:
        community = community_of(annotation, index, least)
        if community is not None:
            scores[community.number] = scores.get(community.number, 0.0) + annotation.score
    return {number: scores[number] for number in sorted(scores, key=lambda n: (-scores[n], n))}


METHOD = "rollup"
NAMED = 4
"""Annotations that are named in the reason."""
LISTED = 12
"""Communities that are."""
SHARE = 0.5
"""Share of a community that must match before its report replaces those of its children."""
REPORTS = 12
"""Maximum number of reports to answer from; beyond it, parent communities replace their children."""


@dataclass(frozen=True)
class RollUp:
    """The communities to read reports of, the best first, and those below them that gave way."""

    chosen: tuple[int, ...]
    parts: frozenset[int] = frozenset()


@method(
    "rollup",
    help="communities of what the question matches, with reports written on demand",
    reads={"reports", "graph"},
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the reports of what a question matches; those that are missing are written first.

    Raises UsageError where the index has no communities, ModelError where no report could be written or read.
    """
    if not index.communities:
        raise UsageError("rollup needs communities, and this index has none: its documents name too little")
    annotations = (
        []
        if read_question(question, *index.languages).about_whole
        else match_annotations(question, index, settings)
    )
    least = settings.reports.min_report_entities
    scores = communities_of(annotations, index, least) if annotations else {}
    if not annotations and read_question(question, *index.languages).about_whole:
        scores = {c.number: float(c.size) for c in index.communities if c.level == 0 and c.size >= least}
    if not scores:
        return empty_answer(question, index, method=METHOD)
    rolled = roll_up(scores, index.communities)
    chosen = [index.communities[number] for number in rolled.chosen]
    written = await reports_for(chosen, rolled.parts, index, model)
    if not written.reports:
        raise written.failed[0]
    windows = [Context(reports=tuple(w)) for w in packed_windows(written.reports, settings.answer)]
    used = sum(report.n_tokens for report in written.reports)
    notices = (
        [f"{len(written.failed)} reports could not be written: {written.failed[0]}"] if written.failed else []
    )
    draft = Answer(question, "", METHOD, context_tokens=used, notices=tuple(notices))
    result = await map_reduce(draft, windows, index, model, settings.answer)
    why = f"{_matches(annotations, scores)}; {_levels(chosen, len(scores), written.new)}"
    return replace(result, why=why)


def roll_up(
    scores: Mapping[int, float], communities: Sequence[Community], share: float = SHARE, reports: int = REPORTS
) -> RollUp:
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
            if sum(communities[part].size for part in parts) >= share * communities[whole].size:
                join(whole, parts)
    for level in range(deepest - 1, -1, -1):
        families = _below(front, communities, level)
        for whole in sorted(families, key=lambda number: (-len(families[number]), number)):
            if len(front) > reports and len(families[whole]) > 1:
                join(whole, families[whole])
    best = sorted(front, key=lambda n: (-front[n], n))[:reports]
    return RollUp(tuple(best), frozenset(gone))


def _above(number: int, communities: Sequence[Community]) -> list[int]:
    """Return the numbers of what a community is part of, from the nearest to the root."""
    annotations: list[int] = []
    while (parent := communities[number].parent) >= 0:
        annotations.append(parent)
        number = parent
    return annotations


def _below(front: Iterable[int], communities: Sequence[Community], level: int) -> dict[int, list[int]]:
    """Return what is left below each community of a level, by its number."""
    below: dict[int, list[int]] = {}
    for number in sorted(front):
        for whole in _above(number, communities):
            if communities[whole].level == level:
                below.setdefault(whole, []).append(number)
    return below


def _matches(annotations: Sequence[Annotation], scores: Mapping[int, float]) -> str:
    if not annotations:
        return f"the whole is {len(scores)} communities of the root"
    names = list(dict.fromkeys(a.name for a in annotations))
    named = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    return f"{len(annotations)} annotations match ({named}), in {len(scores)} communities"


def _levels(chosen: Sequence[Community], start: int, new: int) -> str:
    levels = Counter(community.level for community in chosen)
    used = ", ".join(f"{n} of level {level}" for level, n in sorted(levels.items()))
    numbers = [str(community.number) for community in chosen]
    named = ", ".join(numbers[:LISTED]) + (", …" if len(numbers) > LISTED else "")
    rolled = f"rolled up to {len(chosen)}: " if len(chosen) < start else ""
    written = f"; {new} report{'s' * (new != 1)} written for it" if new else ""
    return f"{rolled}{used} used (communities {named}){written}"


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
