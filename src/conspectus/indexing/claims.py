"""Claims: those of all chunks about the same thing become one row (GraphRAG §3.1.2, 3.1.3).

The same thing is: subject and object (as entities), type, and the dates that are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from conspectus.indexing.merge import Element, Merged
from conspectus.indexing.resolve import Names
from conspectus.rows import Chunk, Claim, Span, content_id
from conspectus.tasks import FoundClaim
from conspectus.text.spans import located

Key = tuple[str, str, str, str, str]


@dataclass
class _Instances:
    element: Element
    statuses: Counter[str] = field(default_factory=Counter[str])


def merge_claims(
    chunks: Sequence[Chunk], claims: Sequence[Sequence[FoundClaim]], names: Names, merged: Merged
) -> Merged:
    """Return the graph with one row for all instances of a claim, in the order of what they are about.

    A subject or object that is no entity keeps its own name. A status that instances differ on is the most
    frequent, or SUSPECTED where there is none. Spans lead to the quoted words where the text has them, else
    to the chunk.
    """
    display = {element.key[0]: row.name for element, row in zip(merged.entity_elements, merged.entities, strict=True)}
    found: dict[Key, _Instances] = {}
    for chunk, of_chunk in zip(chunks, claims, strict=True):
        for claim in of_chunk:
            subject, object_ = (_named(name, chunk, names, display) for name in (claim.subject, claim.object))
            key = (subject, object_, claim.type, claim.start_date or "", claim.end_date or "")
            instances = found.setdefault(key, _Instances(Element(key)))
            _note(instances, claim, chunk)
    keys = sorted(found)
    rows = [_claim(number, key, found[key]) for number, key in enumerate(keys)]
    return replace(merged, claims=rows, claim_elements=[found[key].element for key in keys])


def _named(name: str, chunk: Chunk, names: Names, display: Mapping[str, str]) -> str:
    return display.get(names.key(name, chunk.document_id), name) if name else ""


def _note(instances: _Instances, claim: FoundClaim, chunk: Chunk) -> None:
    quoted = located(claim.source_text, chunk.text)
    span = Span(chunk.document_id, chunk.start + quoted[0], chunk.start + quoted[1]) if quoted else chunk.span
    element = instances.element
    element.chunk_ids[chunk.id] = None
    if (span, claim.description) not in element.instances:
        element.instances[span, claim.description] = claim.description
        instances.statuses[claim.status] += 1


def _claim(number: int, key: Key, instances: _Instances) -> Claim:
    subject, object_, kind, start, end = key
    (status, most), *others = instances.statuses.most_common()
    if others and others[0][1] == most:
        status = "SUSPECTED"
    return Claim(
        content_id("claim", *key), number, subject, object_, kind, status, "",
        tuple(instances.element.chunk_ids), (), start or None, end or None,
    )  # fmt: skip
