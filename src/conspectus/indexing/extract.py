"""Extract: what each chunk holds, with gleaning and claims where the model writes (GraphRAG §3.1.2, A.2).

Each chunk is a conversation of its own: none waits for another, so that a model is never left without work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from conspectus.errors import ModelError, Unusable
from conspectus.models.base import Model, Tick, no_tick, performed
from conspectus.rows import Chunk, Failure
from conspectus.settings import ExtractSettings
from conspectus.tasks import (
    AnyMissed,
    ExtractClaims,
    ExtractGraph,
    Extraction,
    ExtractTriples,
    FoundClaim,
    FoundEntity,
    FoundRelationship,
    GleanMore,
    NameEntities,
    Task,
    Turn,
)


@dataclass
class Extracted:
    """What was found in each chunk, in their order, and what the model failed on."""

    graphs: list[Extraction] = field(default_factory=list[Extraction])
    claims: list[tuple[FoundClaim, ...]] = field(default_factory=list[tuple[FoundClaim, ...]])
    failures: list[Failure] = field(default_factory=list[Failure])

    def check(self, model: str) -> None:
        """Raise ModelError where the model failed on every chunk, so that there is nothing to make an index of."""
        if (
            self.failures
            and len(self.failures) == len(self.graphs)
            and not any(g.entities for g in self.graphs)
        ):
            _, _, why = self.failures[-1].error.partition("): ")
            raise ModelError(f"{model} could not read any of the {len(self.graphs)} chunks: {why}")


async def extract(
    chunks: Sequence[Chunk],
    model: Model,
    settings: ExtractSettings,
    language: str = "en",
    tick: Tick = no_tick,
) -> Extracted:
    """Return what each chunk holds.

    A failed chunk has an empty graph; a failed round of gleaning, or of claims, keeps what was found before
    it. Raises Unusable where nothing more can be asked of the model.
    """

    async def read(chunk: Chunk) -> tuple[Extraction, tuple[FoundClaim, ...], tuple[Failure, ...]]:
        graphs: list[Extraction] = []
        claims: tuple[FoundClaim, ...] = ()
        failures: tuple[Failure, ...] = ()
        try:
            async for graph in _rounds(chunk, model, settings, language):
                graphs.append(graph)
            if settings.claims and model.generative:
                names = tuple(dict.fromkeys(entity.name for graph in graphs for entity in graph.entities))
                claims = await model.perform(ExtractClaims(chunk, names, language=language)) if names else ()
        except Unusable:
            raise
        except ModelError as error:
            where = f"characters {chunk.start} to {chunk.end}"
            if chunk.id not in str(error):  # the errors of a model name it already
                where = f"chunk {chunk.id} ({where})"
            failures = (Failure("extract", f"{where}: {error}", chunk.document_id),)
        tick()
        return _joined(graphs), claims, failures

    extracted = Extracted()
    for graph, claims, failures in await performed(model, map(read, chunks)):
        extracted.graphs.append(graph)
        extracted.claims.append(claims)
        extracted.failures += failures
    return extracted


async def _rounds(
    chunk: Chunk, model: Model, settings: ExtractSettings, language: str
) -> AsyncIterator[Extraction]:
    """Yield what is found at first, and then in each round of looking again for what was missed."""
    if settings.style == "triples" and model.generative:
        yield await _open_triples(chunk, model, language)
        return
    task: Task[Extraction] = ExtractGraph(chunk, settings.entity_types, language=language)
    graph = await model.perform(task)
    yield graph
    for _ in range(settings.max_gleanings if model.generative else 0):
        turn = Turn(task, graph)
        if not await model.perform(AnyMissed(turn, language=language)):
            return
        task = GleanMore(turn, language=language)
        graph = await model.perform(task)
        yield graph


async def _open_triples(chunk: Chunk, model: Model, language: str) -> Extraction:
    """Return the named entities of a chunk, then what it states of them and other noun phrases (HippoRAG)."""
    names = await model.perform(NameEntities(chunk.text, language=language))
    triples = await model.perform(ExtractTriples(chunk, names, language=language))
    named = dict.fromkeys(names, "entity")
    for triple in triples:
        named.setdefault(triple.head, "concept")
        named.setdefault(triple.tail, "concept")
    return Extraction(
        tuple(FoundEntity(name, type_, "") for name, type_ in named.items()),
        tuple(
            FoundRelationship(t.head, t.tail, f"{t.head} {t.relation} {t.tail}", 5.0)
            for t in triples
            if t.head != t.tail
        ),
        triples,
    )


def _joined(graphs: Sequence[Extraction]) -> Extraction:
    if len(graphs) == 1:
        return graphs[0]
    return Extraction(
        tuple(entity for graph in graphs for entity in graph.entities),
        tuple(pair for graph in graphs for pair in graph.relationships),
        tuple(triple for graph in graphs for triple in graph.triples),
    )
