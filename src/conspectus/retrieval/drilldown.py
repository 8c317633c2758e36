"""Drill-down: from the root along the most relevant reports to the chunks behind them (GraphRAG, future work).

At each level the reports are rated, and the best few are followed into their parts: the scent. The answer is written
from the communities that it leads to: their elements and their chunks, within one window. Of reports that are rated
alike, those go first that hold more of the question's words, and more of the annotations that it matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from conspectus import tokens
from conspectus.algorithms.ranking import Postings, idf
from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, finish, pack_rows
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.global_ import RELEVANT
from conspectus.retrieval.local import claims_of
from conspectus.retrieval.rollup import Annotation, community_of, match_annotations
from conspectus.rows import Answer, Report
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import AnswerFromContext, RateReport
from conspectus.tasks.base import Context
from conspectus.text.question import read_question
from conspectus.text.words import search_terms

METHOD = "drilldown"
WIDTH = 3
"""Number of reports per level that are followed down."""


@dataclass(frozen=True)
class Stop:
    """A report that a path led to, with its rating, and the path before it."""

    report: Report
    rating: int
    before: Stop | None = None

    @property
    def path(self) -> str:
        """The path in words."""
        here = f"{self.report.title} ({self.rating})"
        return f"{self.before.path} > {here}" if self.before else here


@dataclass
class Followed:
    """Where the scent led: the ends of the paths, the best first; how many reports were rated, and what failed."""

    ends: list[Stop] = field(default_factory=list[Stop])
    rated: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])


@method("drilldown", help="from the root reports down to the chunks", reads={"reports", "graph", "chunks"})
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the elements and chunks of the communities that the reports lead down to.

    Raises UsageError where the index has no reports, ModelError where none could be rated.
    """
    if not index.reports:
        raise UsageError("drilldown follows reports, and this index has none: ask by rollup or local")
    annotations = (
        []
        if read_question(question, *index.languages).about_whole
        else match_annotations(question, index, settings)
    )
    followed = await follow(question, annotations, index, model)
    failed = followed.failed
    notices = [f"not rated, of {followed.rated} reports: {len(failed)} ({failed[0]})"] if failed else []
    why = f"{followed.rated} reports rated from the root down"
    if not followed.ends:
        result = empty_answer(question, index, method=METHOD)
        return replace(result, why=f"{why}, none of them relevant", notices=tuple(notices))
    evidence = evidence_of(question, followed.ends, annotations, index, settings.answer)
    used = tokens.count(evidence.text)
    task = AnswerFromContext(question, evidence)
    draft = Answer(question, "", METHOD, context_tokens=used, notices=tuple(notices))
    result = await finish(task, draft, index, model)
    paths = "; ".join(stop.path for stop in followed.ends)
    read = f"{len(evidence.sources)} chunk{'s' * (len(evidence.sources) != 1)} read there"
    return replace(result, why=f"{why}, followed {paths}; {read}")


async def follow(
    question: str, annotations: Sequence[Annotation], index: Index, model: Model, width: int = WIDTH
) -> Followed:
    """Follow the best reports of each level into their parts, until they have none that is relevant."""
    result = Followed()
    inside = _masses(annotations, index)
    roots = (community.number for community in index.communities_at(0))
    level = [(report, None) for report in index.reports_of(roots)]
    while level:
        reports = [report for report, _ in level]
        shares = holdings(question, reports, inside, index)
        ratings = await _rated(question, reports, model, result)
        stops = [Stop(r, rating, before) for (r, before), rating in zip(level, ratings, strict=True)]
        order = sorted(range(len(stops)), key=lambda i: (-ratings[i], -shares[i], reports[i].number))
        best = [stops[i] for i in order if ratings[i] >= RELEVANT][:width]
        gone_on = {id(stop.before) for stop in best}
        result.ends = [stop for stop in result.ends if id(stop) not in gone_on] + best
        level = [(part, stop) for stop in best for part in index.reports_of(stop.report.children)]
    result.ends = sorted(result.ends, key=lambda stop: -stop.rating)[:width]
    return result


async def _rated(question: str, reports: Sequence[Report], model: Model, result: Followed) -> list[int]:
    """Return the ratings of reports, 0 to 5; one that could not be rated counts as just relevant."""
    result.rated += len(reports)
    replies = await model.perform_all([RateReport(question, report) for report in reports])
    result.failed += [reply for reply in replies if isinstance(reply, ModelError)]
    if len(result.failed) == result.rated:
        raise result.failed[0]
    return [RELEVANT if isinstance(reply, ModelError) else reply for reply in replies]


def holdings(question: str, reports: Sequence[Report], inside: Mapping[int, float], index: Index) -> list[float]:
    """Return how much each report of a level holds, 0 to 1: half by its words, half by what matches in its community.

    For a question about the whole it is the importance of the report.
    """
    read = read_question(question, *index.languages)
    if read.about_whole:
        return [report.rating / 10 for report in reports]
    words = Postings.of(index.arrays, "chunk_terms")
    number = index.number_of_word
    weight = {t: idf(len(words.lengths), words.frequency(number[t])) ** 2 for t in read.focus if t in number}
    total = sum(weight.values()) or 1.0
    most = max((inside.get(report.community, 0.0) for report in reports), default=0.0) or 1.0
    shares = [
        sum(weight[t] for t in sorted(weight.keys() & set(search_terms(r.text, index)))) / total for r in reports
    ]
    return [(h + inside.get(r.community, 0.0) / most) / 2 for h, r in zip(shares, reports, strict=True)]


def _masses(annotations: Sequence[Annotation], index: Index) -> dict[int, float]:
    """Return for each community, at every level, the sum of the scores of the annotations inside it."""
    masses: dict[int, float] = {}
    for annotation in annotations:
        community = None if annotation.kind == "report" else community_of(annotation, index, 1)
        while community is not None:
            masses[community.number] = masses.get(community.number, 0.0) + annotation.score
            community = index.communities[community.parent] if community.parent >= 0 else None
    return masses


def evidence_of(
    question: str, ends: Sequence[Stop], annotations: Sequence[Annotation], index: Index, settings: AnswerSettings
) -> Context:
    """Return what the communities at the ends of the paths hold, in one window: what the question matches first."""
    communities = [index.communities[stop.report.community] for stop in ends]
    matches = {(a.kind, a.number): a.score for a in annotations}
    entities = dict.fromkeys(number for c in communities for number in c.entity_numbers)
    edges = dict.fromkeys(number for c in communities for number in c.relationship_numbers)
    scores = scores_of(question, index)
    chunks = {index.chunk_of[chunk].number for c in communities for chunk in c.chunk_ids}
    ranked = sorted(chunks, key=lambda n: (-scores[n], n))
    telling = [n for n in ranked if scores[n] > 0] or ranked
    rows = sorted(
        (index.entities[n] for n in entities), key=lambda e: (-matches.get(("entity", e.number), 0.0), -e.degree)
    )
    links = sorted(
        (index.relationships[n] for n in edges),
        key=lambda r: (-matches.get(("relationship", r.number), 0.0), -r.weight),
    )
    return pack_rows(
        settings.context_tokens,
        reports=[stop.report for stop in ends],
        entities=rows,
        relationships=links,
        claims=claims_of({e.name for e in rows}, scores, index),
        sources=[index.chunks[n] for n in telling],
    )
