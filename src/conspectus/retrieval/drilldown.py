"""Drill-down: from the root along the most relevant reports to the chunks behind them (GraphRAG, future work).

At each level the reports are rated, and the best few are followed into their sub-communities. The answer is written
from the communities where this ends: their elements and their chunks, within one window. Of reports with equal ratings,
those with more of the question's words and of the annotations that match it come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conspectus.algorithms.ranking import Postings, idf
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.name_lookup import search_terms
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_within, empty_answer
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.global_ import RELEVANT, CommunitySelection, RatedReport, select_communities
from conspectus.retrieval.local import claims_of
from conspectus.retrieval.rollup import Annotation, community_of, match_annotations
from conspectus.rows import Answer, Report
from conspectus.settings import Settings
from conspectus.tasks.base import Context
from conspectus.text.question import read_question

METHOD = "drilldown"
WIDTH = 3
"""Number of reports per level that are followed down."""


@method("drilldown", help="from the root reports down to the chunks", reads={"reports", "graph", "chunks"})
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the elements and chunks of the communities that the reports lead down to.

    Raises UsageError if the index has no reports, ModelError if none could be rated.
    """
    if not index.reports:
        raise UsageError("drilldown follows reports, and this index has none: ask by rollup or local")
    whole = read_question(question, *index.languages).about_whole
    annotations = [] if whole else match_annotations(question, index, settings)
    selection = await follow(question, annotations, index, model)
    why = f"{selection.rated} reports rated from the root down"
    draft = Answer(question, "", METHOD, notices=selection.notices)
    if not selection.chosen:
        return empty_answer(replace(draft, why=f"{why}, none of them relevant"), index)
    reports = [rated.report for rated in selection.chosen]
    rows = community_rows(question, reports, annotations, index)
    paths = "; ".join(rated.path for rated in selection.chosen)
    draft = replace(draft, why=f"{why}, followed {paths}")
    return await answer_within(rows, draft, index, model, settings)


async def follow(
    question: str, annotations: Sequence[Annotation], index: Index, model: Model, width: int = WIDTH
) -> CommunitySelection:
    """Follow the `width` best reports of each level into their sub-communities, as long as some are relevant."""
    scores = _scores_inside(annotations, index)

    def best(level: list[RatedReport]) -> list[RatedReport]:
        shares = _shares(question, [rated.report for rated in level], scores, index)
        ranked = sorted(
            zip(level, shares, strict=True),
            key=lambda pair: (-pair[0].rating, -pair[1], pair[0].report.number),
        )
        return [rated for rated, _ in ranked if rated.rating >= RELEVANT][:width]

    selection = await select_communities(question, index, model, best)
    selection.chosen = sorted(selection.chosen, key=lambda rated: -rated.rating)[:width]
    return selection


def _shares(
    question: str, reports: Sequence[Report], scores: Mapping[int, float], index: Index
) -> list[float]:
    """Return the match of each report of a level, 0 to 1: half by its words, half by the annotations in its community.

    For a question about the whole, it is the importance of the report (its rating / 10).
    """
    read = read_question(question, *index.languages)
    if read.about_whole:
        return [report.rating / 10 for report in reports]
    words = Postings.of(index.slices, "chunk_terms")
    number = index.number_of_word
    terms = [term for term in read.focus if term in number]
    weight = {term: idf(len(words.lengths), words.frequency(number[term])) ** 2 for term in terms}
    total = sum(weight.values()) or 1.0
    highest = max((scores.get(report.community, 0.0) for report in reports), default=0.0) or 1.0
    shares: list[float] = []
    for report in reports:
        shared = sorted(weight.keys() & set(search_terms(report.text, index)))
        by_words = sum(weight[term] for term in shared) / total
        shares.append((by_words + scores.get(report.community, 0.0) / highest) / 2)
    return shares


def _scores_inside(annotations: Sequence[Annotation], index: Index) -> dict[int, float]:
    """Return, for each community of every level, the sum of the scores of the annotations inside it."""
    scores: dict[int, float] = {}
    for annotation in annotations:
        community = None if annotation.kind == "report" else community_of(annotation, index, 1)
        while community is not None:
            scores[community.number] = scores.get(community.number, 0.0) + annotation.score
            community = index.communities[community.parent] if community.parent >= 0 else None
    return scores


def community_rows(
    question: str, reports: Sequence[Report], annotations: Sequence[Annotation], index: Index
) -> Context:
    """Return the rows of the communities of reports, those that match the question first."""
    communities = [index.communities[report.community] for report in reports]
    matches = {(a.kind, a.number): a.score for a in annotations}
    members = dict.fromkeys(number for c in communities for number in c.entity_numbers)
    entities = [index.entities[number] for number in members]
    edges = dict.fromkeys(n for c in communities for n in c.relationship_numbers)
    scores = scores_of(question, index)
    chunks = {index.number_of_chunk[chunk] for c in communities for chunk in c.chunk_ids}
    ranked = sorted(chunks, key=lambda n: (-scores[n], n))
    relationships = sorted(
        (index.relationships[n] for n in edges),
        key=lambda r: (-matches.get(("relationship", r.number), 0.0), -r.weight),
    )
    return Context(
        reports=tuple(reports),
        entities=tuple(sorted(entities, key=lambda e: (-matches.get(("entity", e.number), 0.0), -e.degree))),
        relationships=tuple(relationships),
        claims=tuple(claims_of({e.name for e in entities}, scores, index)),
        sources=tuple(index.chunks[n] for n in ranked),
    )
