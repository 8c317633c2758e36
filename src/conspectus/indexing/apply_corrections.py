"""What corrections make of the graph, of claims, triples and arrays; `correct` says what they come to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conspectus.indexing.added_facts import FactDocument
from conspectus.indexing.correction_results import CorrectionResult, Fact
from conspectus.indexing.entity_assignment import GONE, CorrectedNames
from conspectus.indexing.merge import Element, Merged, rows_of
from conspectus.indexing.resolve import Names
from conspectus.rows import Chunk
from conspectus.tasks import FoundClaim, FoundTriple
from conspectus.text.mentions import hash_of, units

Arrays = dict[str, np.ndarray[Any, Any]]


def apply_to_graph(merged: Merged, decided: CorrectionResult, said: FactDocument) -> Merged:
    """Return the graph without what was deleted, with the facts and types that people gave; still without claims.

    A fact is one more instance of its relationship: it stands where it is quoted, or in what people said.
    """
    if not decided.outcomes:
        return merged
    entities = {e.key[0]: e for e in merged.entity_elements if e.key[0] != GONE}
    pairs = {(e.key[0], e.key[1]): e for e in merged.relationship_elements if GONE not in e.key}
    for fact in decided.facts:
        for key in fact.ends:
            if key not in entities:
                entities[key] = _with(Element((key,)), fact, said)
        pair = (min(fact.ends), max(fact.ends))
        pairs[pair] = _with(pairs.get(pair, Element(pair)), fact, said)
    made = rows_of(entities, pairs, decided.names)
    rows = zip(made.entities, made.entity_elements, strict=True)
    return replace(made, entities=[replace(e, type=decided.types.get(of.key[0], e.type)) for e, of in rows])


def _with(element: Element, fact: Fact, said: FactDocument) -> Element:
    """Return an element with a fact as one more instance; where its very words are one already, it tells them anew."""
    span, chunk, words = said.place(fact)
    known = (span, "") in element.instances
    return replace(
        element,
        instances=element.instances | {(span, ""): words},
        chunk_ids=element.chunk_ids | {chunk: None},
        strength=element.strength + (0.0 if known else fact.strength),
    )


def apply_to_claims(
    chunks: Sequence[Chunk], claims: Sequence[Sequence[FoundClaim]], decided: CorrectionResult
) -> Sequence[Sequence[FoundClaim]]:
    """Return the claims of chunks without those about what was deleted."""
    if not decided.outcomes:
        return claims
    key = decided.names.key
    return [
        [
            c
            for c in of_chunk
            if not any(name and key(name, chunk.document_id) == GONE for name in (c.subject, c.object))
        ]
        for chunk, of_chunk in zip(chunks, claims, strict=True)
    ]


def apply_to_triples(
    found: Iterable[tuple[Chunk, Sequence[FoundTriple]]], decided: CorrectionResult, said: FactDocument
) -> Iterator[tuple[str, Sequence[FoundTriple]]]:
    """Yield the ids of chunks with their triples by the names that people corrected, without what was deleted.

    The facts that people added come last, where chunks were read for triples.
    """
    names, any_ = decided.names, False
    for chunk, triples in found:
        any_ |= bool(triples)
        if isinstance(names, CorrectedNames):
            triples = [kept for triple in triples if (kept := _kept(triple, chunk, names))]
        yield chunk.id, triples
    for fact in decided.facts if any_ else ():
        head, tail = fact.names
        relation = fact.description.removeprefix(head).rstrip(".").removesuffix(tail).strip()
        yield said.place(fact)[1], [FoundTriple(head, relation or fact.description, tail)]


def _kept(triple: FoundTriple, chunk: Chunk, names: CorrectedNames) -> FoundTriple | None:
    ends: list[str] = []
    for name in (triple.head, triple.tail):
        key = names.key(name, chunk.document_id)
        if key == GONE:
            return None
        ends.append(names.name(key) if key in names.given or key != Names.key(names, name, chunk.document_id) else name)
    return FoundTriple(ends[0], triple.relation, ends[1]) if ends[0] != ends[1] else None


def drop_names(arrays: Mapping[str, np.ndarray[Any, Any]], gone: Collection[str]) -> Arrays:
    """Return the arrays of an index, those of the walk (`incidence`) without some names, by their keys."""
    if not gone:
        return dict(arrays)
    walk = {name: array for name, array in arrays.items() if name.startswith("walk.")}
    hashes = np.array([hash_of(units(key)) for key in gone], np.uint64)
    kept = ~np.isin(walk["walk.names"], hashes)
    number = np.cumsum(kept) - 1
    of_sentence = np.repeat(np.arange(len(walk["walk.out_starts"]) - 1), np.diff(walk["walk.out_starts"]))
    out = kept[walk["walk.out_names"]]
    weights, owner = walk["walk.out_weights"][out], of_sentence[out]
    totals = np.bincount(owner, weights, minlength=len(walk["walk.out_starts"]) - 1)
    sizes = np.bincount(owner, minlength=len(totals))
    inward = np.repeat(kept, np.diff(walk["walk.in_starts"]))
    return {
        **arrays,
        **{name: walk[name][kept] for name in ("walk.names", "walk.frequency", "walk.kinds")},
        "walk.out_starts": np.concatenate(([0], np.cumsum(sizes))),
        "walk.out_names": number[walk["walk.out_names"][out]].astype(np.int32),
        "walk.out_weights": (weights / totals[owner]).astype(np.float32),
        "walk.in_starts": np.concatenate(([0], np.cumsum(np.diff(walk["walk.in_starts"])[kept]))),
        "walk.in_sentences": walk["walk.in_sentences"][inward],
        "walk.in_weights": walk["walk.in_weights"][inward],
    }
