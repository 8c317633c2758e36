"""Roll-up: from the rows that a question matches, up the community hierarchy (GraphRAG, future work).

Entities, relationships, claims and reports are matched by their words, with more weight for rare words and names, and
by the vectors of their sentences if the index has vectors. The communities of the matches are the starting point. A
community replaces its sub-communities if the question matches most of them, or if there are more of them than reports
to read. The answer is a map-reduce over their reports. Missing reports are written on demand, as indexing would have
written them: a language model gets exactly the request that indexing sends, so that the response cache can answer it.
A report is also cached while the index is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal
from zlib import crc32

from conspectus.algorithms.ranking import highest, idf, scaled
from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.errors import ModelError, Unusable, UsageError
from conspectus.index import BoundedCache, Index
from conspectus.index_models import cosines, has_vectors, question_vectors
from conspectus.models.base import Model, performed
from conspectus.name_lookup import search_terms
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, map_reduce
from conspectus.retrieval.global_ import report_windows
from conspectus.retrieval.local import entities_in
from conspectus.rows import Answer, Community, Report
from conspectus.settings import ReportSettings, Settings
from conspectus.tasks import WriteReport
from conspectus.text.language import AUTO, corpus_language
from conspectus.text.question import read_question
from conspectus.text.words import CJK

METHOD = "rollup"
IN_NAME = 0.5
"""Additional weight of a word that occurs in the name of an annotation, relative to 1 for one anywhere in its text."""
MEANING = 0.5
"""Weight of the similarity of the best sentence, relative to 1 for the words."""
SENTENCES = 200
"""Number of sentences nearest to the question whose entities are matched by vectors."""
LEAST = 0.2
"""Minimum share of the question's weight that an annotation contains to match."""
MATCHES = 100
"""Maximum number of entities, relationships, claims and reports that are matched to a question."""
NAMED = 4
"""Maximum number of annotations that are named in the reason."""
LISTED = 12
"""Maximum number of communities that are listed in the reason."""
SHARE = 0.5
"""Minimum share of a community's entities in matching sub-communities for its report to replace theirs."""
REPORTS = 12
"""Maximum number of reports to answer from; beyond it, parent communities replace their children."""
CACHED = 4096
"""Maximum number of reports cached while an index is open: at 5 kB each, 20 MB; one answer reads about 20."""
VERSIONS = 1 << 16
"""Number of versions of a community's report, by a hash of the reports of its parts that it was written from."""


@method(
    "rollup",
    help="communities of what the question matches, with reports written on demand",
    reads={"reports", "graph"},
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the reports of the communities that a question matches; missing ones are written first.

    Raises UsageError if the index has no communities, ModelError if no report could be written or read.
    """
    if not index.communities:
        raise UsageError("rollup needs communities, and this index has none: it has too few entities")
    min_size = settings.reports.min_report_entities
    annotations: list[Annotation] = []
    if read_question(question, *index.languages).about_whole:
        roots = (community for community in index.communities_at(0) if community.size >= min_size)
        scores = {community.number: float(community.size) for community in roots}
    else:
        annotations = match_annotations(question, index, settings)
        scores = communities_of(annotations, index, min_size)
    if not scores:
        return empty_answer(Answer(question, "", METHOD), index)
    numbers, parts = roll_up(scores, index.communities)
    chosen = [index.communities[number] for number in numbers]
    written = await reports_for(chosen, parts, index, model)
    failed = written.failed
    if not written.reports:
        raise failed[0]
    used = sum(report.n_tokens for report in written.reports)
    notices = (f"{len(failed)} reports could not be written: {failed[0]}",) if failed else ()
    draft = Answer(question, "", METHOD, context_tokens=used, notices=notices)
    windows = report_windows(written.reports, settings.answer)
    result = await map_reduce(draft, windows, index, model, settings.answer)
    why = f"{_matches(annotations, scores)}; {_levels(chosen, len(scores), written.new)}"
    return replace(result, why=why)


def _matches(annotations: Sequence[Annotation], scores: Mapping[int, float]) -> str:
    """Return a text about what the question matches."""
    if not annotations:
        return f"the whole is {len(scores)} communities of the root"
    names = _first(list(dict.fromkeys(a.name for a in annotations)), NAMED)
    return f"{len(annotations)} annotations match ({names}), in {len(scores)} communities"


def _levels(chosen: Sequence[Community], start: int, new: int) -> str:
    """Return a text about the communities read, of `start` matching ones, and the number of reports written."""
    levels = Counter(community.level for community in chosen)
    used = ", ".join(f"{n} of level {level}" for level, n in sorted(levels.items()))
    numbers = _first([str(community.number) for community in chosen], LISTED)
    rolled = f"rolled up to {len(chosen)}: " if len(chosen) < start else ""
    written = f"; {new} report{'s' * (new != 1)} written for it" if new else ""
    return f"{rolled}{used} used (communities {numbers}){written}"


def _first(names: Sequence[str], count: int) -> str:
    return ", ".join(names[:count]) + (", …" if len(names) > count else "")


# Annotations that a question matches


@dataclass(frozen=True, slots=True)
class Annotation:
    """An entity, relationship, claim or report that a question may match, with the score of the match, about 0 to 2."""

    kind: Literal["entity", "relationship", "claim", "report"]
    number: int
    name: str
    text: str
    """The name and the description, in lower case."""
    entities: tuple[str, ...] = ()
    """The names of the entities that the annotation is about."""
    score: float = 0.0


def _annotations(index: Index) -> list[Annotation]:
    """Return all annotations of an index, entities first, in the order of the tables."""
    rows: list[Annotation] = []
    for e in index.entities:
        text = f"{e.name} {e.description}".lower()
        rows.append(Annotation("entity", e.number, e.name, text, (e.name,)))
    for r in index.relationships:
        ends = r.source, r.target
        rows.append(Annotation("relationship", r.number, " - ".join(ends), r.description.lower(), ends))
    for c in index.claims:
        text = f"{c.subject} {c.object} {c.description}".lower()
        rows.append(Annotation("claim", c.number, c.subject, text, (c.subject, c.object)))
    for p in index.reports:
        rows.append(Annotation("report", p.number, p.title, f"{p.title} {p.summary}".lower()))
    return rows


def match_annotations(question: str, index: Index, settings: Settings) -> list[Annotation]:
    """Return the annotations that match a question, the best first, at most MATCHES."""
    rows = index.derive(_annotations)
    scores = _scores_by_words(question, rows, index)
    if has_vectors(index):
        for number, like in _entities_by_meaning(question, index, settings).items():
            scores[number] = scores.get(number, 0.0) + MEANING * like
    for entity in entities_in(question, index):  # the question names it, perhaps in another spelling
        scores[entity.number] = scores.get(entity.number, 0.0) + 1.0
    best = sorted(scores, key=lambda number: (-scores[number], number))[:MATCHES]
    return [replace(rows[number], score=scores[number]) for number in best]


def _scores_by_words(question: str, rows: Sequence[Annotation], index: Index) -> dict[int, float]:
    """Return the scores of annotations by row: the share of the question's weight (squared IDF) that they contain."""
    focus = read_question(question, *index.languages).focus
    terms = focus or tuple(dict.fromkeys(search_terms(question, index)))
    # A quick filter first: stems without their last letter, which may differ from the text's.
    prefixes = [term[:-1] if len(term) > 3 and not CJK.search(term) else term for term in terms]
    candidates = [i for i, row in enumerate(rows) if any(prefix in row.text for prefix in prefixes)]
    shared = {i: set(terms).intersection(search_terms(rows[i].text, index)) for i in candidates}
    frequency = {term: sum(term in words for words in shared.values()) for term in terms}
    weight = {term: idf(len(rows), n) ** 2 for term, n in frequency.items() if n}
    total = sum(weight.values()) or 1.0
    scores: dict[int, float] = {}
    for i, words in shared.items():
        share = sum(weight[t] for t in sorted(words)) / total
        if share >= LEAST:
            named = words.intersection(search_terms(rows[i].name, index))
            scores[i] = share + IN_NAME * sum(weight[t] for t in sorted(named)) / total
    return scores


def _entities_by_meaning(question: str, index: Index, settings: Settings) -> dict[int, float]:
    """Return the similarity of entities to the question, by number: that of the best sentence with them, at most 1."""
    query = question_vectors([question], index, settings)[0]
    like: Any = scaled(cosines("sentences", query, index))
    starts, mentions = index.arrays["sentences.mention_starts"], index.arrays["sentences.mentions"]
    scores: dict[int, float] = {}
    for sentence in highest(like, SENTENCES).tolist():
        if (score := float(like[sentence])) > 0:
            for entity in mentions[starts[sentence] : starts[sentence + 1]].tolist():
                scores.setdefault(entity, score)
    return scores


def community_of(annotation: Annotation, index: Index, min_size: int) -> Community | None:
    """Return the deepest community of at least `min_size` entities that contains an annotation, or None."""
    if annotation.kind == "report":
        return index.communities[index.reports[annotation.number].community]
    names = [name for name in annotation.entities if name in index.entity_of_name]
    homes = [index.communities_of(index.entity_of_name[name]) for name in names]
    for number in homes[0] if homes else ():
        community = index.communities[number]
        if community.size >= min_size and all(number in others for others in homes):
            return community
    return None


def communities_of(annotations: Sequence[Annotation], index: Index, min_size: int) -> dict[int, float]:
    """Return the deepest communities that contain annotations, with the sums of their scores, the highest first."""
    scores: dict[int, float] = {}
    for annotation in annotations:
        community = community_of(annotation, index, min_size)
        if community is not None:
            scores[community.number] = scores.get(community.number, 0.0) + annotation.score
    return {number: scores[number] for number in sorted(scores, key=lambda n: (-scores[n], n))}


# Up the hierarchy


def roll_up(
    scores: Mapping[int, float],
    communities: Sequence[Community],
    share: float = SHARE,
    reports: int = REPORTS,
) -> tuple[list[int], frozenset[int]]:
    """Replace matched communities, given with their scores, by those above them, by relevance and to limit reports.

    Returns the communities whose reports to read, the best first, and those below them that they replaced. A community
    replaces its matched parts if they contain at least `share` of its entities and then, from the deepest level up,
    while there are more than `reports` communities. If some still remain, the best are chosen.
    """
    inner = {parent for number in scores for parent in _ancestors(number, communities)}
    front = {number: score for number, score in scores.items() if number not in inner}
    replaced: set[int] = set()

    def join(whole: int, parts: Sequence[int]) -> None:
        front[whole] = sum(front.pop(part) for part in parts)
        for part in parts:
            between = takewhile(lambda number: number != whole, _ancestors(part, communities))
            replaced.update((part, *between))

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
    return best, frozenset(replaced)


def _ancestors(number: int, communities: Sequence[Community]) -> Iterator[int]:
    """Yield the numbers of the communities above a community, from the nearest to the root."""
    while (number := communities[number].parent) >= 0:
        yield number


def _below(front: Iterable[int], communities: Sequence[Community], level: int) -> dict[int, list[int]]:
    """Return the communities of the front below each community of a level, by the number of the latter."""
    below: dict[int, list[int]] = {}
    for number in sorted(front):
        for whole in _ancestors(number, communities):
            if communities[whole].level == level:
                below.setdefault(whole, []).append(number)
    return below


# On-demand reports


@dataclass
class OnDemandReports:
    """Reports in the order of their communities, the number of new ones, and the failures."""

    reports: list[Report] = field(default_factory=list[Report])
    new: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])


class _ReportWriter:
    """Builds the contexts of on-demand reports for an open index, and caches the reports.

    The cache is keyed by the name of the model, the community, and the text of the context.
    """

    def __init__(self, index: Index) -> None:
        limit = index.settings.get("reports", {}).get("context_tokens", ReportSettings().context_tokens)
        rows = list(index.communities), list(index.entities), list(index.relationships)
        self.builder = CommunityContextBuilder(*rows, limit, list(index.claims))
        self.language = corpus_language(index.documents, index.settings.get("language", AUTO))
        self.cache: BoundedCache[tuple[str, int, str], Report] = BoundedCache(CACHED)


async def reports_for(
    communities: Sequence[Community], parts: Collection[int], index: Index, model: Model
) -> OnDemandReports:
    """Return the report of each community; write those that the index lacks.

    If a community exceeds the context of a report, its report is written from those of its children that are in `parts`
    (by number). A report that fails is left out. Raises Unusable if the model cannot be asked any more.
    """
    result = OnDemandReports()

    async def write(community: Community) -> Report | None:
        stored = index.report_of_community
        if community.number in stored:
            return stored[community.number]
        writer = index.derive(_ReportWriter)
        named: list[Community] = []
        if not writer.builder.fits(community):
            named = [index.communities[child] for child in community.children if child in parts]
        below = await performed(model, write, named)
        reports = {child: stored[child] for child in community.children if child in stored}
        reports |= {report.community: report for report in below if report is not None}
        context = writer.builder.build(community, reports)
        key = model.name, community.number, context.text
        report = writer.cache.get(key)
        if report is None:
            task = WriteReport(context, language=writer.language, priority=community.level)
            try:
                draft = await model.perform(task)
            except Unusable:
                raise
            except ModelError as error:
                result.failed.append(error)
                return None
            result.new += 1
            number = _number(community, index, model, context.text if named else "")
            report = writer.cache.setdefault(key, report_of(community, number, draft))
        further = index.further_reports
        further[report.number] = report
        for number in list(further)[: max(0, len(further) - CACHED)]:
            further.pop(number, None)
        return report

    written = await performed(model, write, communities)
    result.reports = [report for report in written if report is not None]
    return result


def _number(community: Community, index: Index, model: Model, parts: str) -> int:
    """Return the number of a report: beyond those of the table, and different for each text that the report can have.

    Threads that ask one index cite reports by it, and each must reach the report that it read. It must not depend on
    the order of replies, since it occurs in the prompts of later tasks. A report written from reports of some parts
    (`parts` is the text of its context) has a number for each choice of parts, by a hash of the text.
    """
    version = 0 if model.generative else 1
    if parts:
        version = 2 + crc32(f"{model.name}\n{parts}".encode()) % VERSIONS
    return len(index.reports) + len(index.communities) * version + community.number
