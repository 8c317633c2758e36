"""Draw the graph: from what was found in the chunks to elements that are one each, and their communities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conspectus.corrections import Entry
from conspectus.index import Index
from conspectus.indexing.added_facts import FactDocument, facts_as_document
from conspectus.indexing.apply_corrections import apply_to_claims, apply_to_graph, apply_to_triples
from conspectus.indexing.claims import merge_claims
from conspectus.indexing.communities import find_communities
from conspectus.indexing.correct import decide
from conspectus.indexing.correction_results import CorrectionResult
from conspectus.indexing.describe import DescribedGraph, undescribed
from conspectus.indexing.extract import Extracted
from conspectus.indexing.merge import Merged, merge
from conspectus.indexing.resolve import Names, resolve
from conspectus.indexing.triples import triples_of
from conspectus.rows import Chunk, Community, Document, Triple
from conspectus.settings import Settings


@dataclass(frozen=True)
class GraphBuild:
    """The graph, its elements still to be described."""

    decided: CorrectionResult
    """What people corrected of it."""
    said: FactDocument
    """What they added that no document says."""
    merged: Merged
    triples: list[Triple]
    communities: list[Community]
    graph: DescribedGraph

    @property
    def names(self) -> Names:
        """Which entity each name stands for."""
        return self.decided.names


def build_graph(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extracted,
    settings: Settings,
    before: Index | None = None,
    stage: Callable[[str], object] = str,
    corrections: Sequence[Entry] = (),
    language: str = "en",
) -> GraphBuild:
    """Resolve the names that were found in the chunks, correct and merge what is one, and divide the graph.

    Communities of an index `before` are carried on. `stage` is told the name of each stage.
    """
    stage("resolve")
    resolved = resolve(chunks, found.graphs, documents, settings.resolve)
    decided = decide(corrections, resolved, chunks, found.graphs, documents)
    said = facts_as_document(decided.facts, len(documents), len(chunks), language)
    merged = apply_to_graph(merge(chunks, found.graphs, decided.names), decided, said)
    merged = merge_claims(chunks, apply_to_claims(chunks, found.claims, decided), decided.names, merged)
    of_chunks = zip(chunks, (graph.triples for graph in found.graphs), strict=True)
    triples = triples_of(apply_to_triples(of_chunks, decided, said))
    stage("communities")
    every = [*chunks, *said.chunks]
    communities = find_communities(merged.entities, merged.relationships, settings.communities, every, before)
    return GraphBuild(decided, said, merged, triples, communities, undescribed(merged))
