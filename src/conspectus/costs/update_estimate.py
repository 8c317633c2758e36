"""What an update will do again, told from the index that stands and the texts that changed, before anything is read.

Which entities a new text names is known only when it has been read. It is taken to name as many as other texts do, as
far as its words are new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

from conspectus.costs.estimate import Estimate, Range, TaskEstimate
from conspectus.index import Index
from conspectus.indexing.update import Changes
from conspectus.rows import Chunk, Claim, Community, Document, Entity, Relationship
from conspectus.text.words import WORD

Row = Entity | Relationship | Claim | Community


class Part(NamedTuple):
    """Of `total` rows that stand, between `low` and about `high` are made again, new ones among them."""

    low: int
    high: int
    total: int


@dataclass(frozen=True, slots=True)
class UpdateEstimate:
    """How much of each an update will do again; chunks are known, the others a range."""

    chunks: Part
    descriptions: Part
    communities: Part
    reports: Part


def estimate_update(
    before: Index, changes: Changes, documents: Sequence[Document], chunks: Sequence[Chunk], least_size: int
) -> UpdateEstimate:
    """Compare an index with the documents and chunks that are to take the place of its own.

    `least_size` is that of a community with a report.
    """
    known, now = {chunk.id for chunk in before.chunks}, {chunk.id for chunk in chunks}
    new, gone = len(now - known), known - now
    news = _news(before, changes, documents, chunks)

    def part(rows: Sequence[Row]) -> Part:
        touched = sum(not gone.isdisjoint(row.chunk_ids) for row in rows)
        each = sum(len(row.chunk_ids) for row in rows) / max(1, len(known))
        return Part(0, min(touched + ceil(news * each), len(rows) + ceil(news * each)), len(rows))

    elements = [*before.entities, *before.relationships, *before.claims]
    large = [community for community in before.communities if community.size >= least_size]
    return UpdateEstimate(Part(new, new, len(chunks)), part(elements), part(before.communities), part(large))


def _news(before: Index, changes: Changes, documents: Sequence[Document], chunks: Sequence[Chunk]) -> float:
    """Return how many chunks of text say something new: an edited one as far as its words do."""
    count = Counter(chunk.document_id for chunk in chunks)
    old = {document.path: document for document in before.documents}
    added, edited = set(changes.added), set(changes.edited)
    news = 0.0
    for document in documents:
        if document.path in added:
            news += count[document.id]
        elif document.path in edited and document.path in old:
            news += count[document.id] * _novelty(old[document.path].text, document.text)
    return news


def _novelty(old: str, new: str) -> float:
    """Return the share of the words of a text that another has not."""
    words = Counter(WORD.findall(new))
    return (words - Counter(WORD.findall(old))).total() / max(1, words.total())


def within(estimate: Estimate, outlook: UpdateEstimate) -> Estimate:
    """Return an estimate of an update that goes no further than its outlook.

    It stands on the replies that are kept, as if what was edited had nothing to say any more; most of it will say again
    what it said.
    """
    most = {"DescribeElement": outlook.descriptions.high, "WriteReport": outlook.reports.high}
    if not outlook.chunks.high:  # nothing is edited: what was deleted is gone
        return estimate
    return replace(estimate, tasks=tuple(_up_to(most[t.task], t) if t.task in most else t for t in estimate.tasks))


def _up_to(calls: float, task: TaskEstimate) -> TaskEstimate:
    share = min(1.0, calls / max(1.0, task.calls.high))

    def fewer(usual: Range) -> Range:
        return Range(0, round(share * usual.high))

    return replace(
        task,
        calls=fewer(task.calls),
        prompt_tokens=fewer(task.prompt_tokens),
        completion_tokens=fewer(task.completion_tokens),
        cost=Range(0, share * task.cost.high) if task.cost else None,
    )
