"""Extract: entities and relationships of each chunk, with gleaning where the model writes (P1 3.1.2, A.2)."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.errors import ModelError
from conspectus.models.base import Model, Tick, no_tick
from conspectus.rows import Chunk, Failure
from conspectus.settings import ExtractSettings
from conspectus.tasks import AnyMissed, ExtractGraph, GleanMore, Graph, Task, Turn


async def extract(
    chunks: Sequence[Chunk], model: Model, settings: ExtractSettings, language: str = "en", tick: Tick = no_tick
) -> tuple[list[Graph], list[Failure]]:
    """Return what each chunk holds, in the order of the chunks, and the chunks that the model failed on.

    A failed chunk has an empty graph; a failed round of gleaning keeps what was found before it.
    """
    first = [ExtractGraph(chunk, settings.entity_types, language=language) for chunk in chunks]
    replies = await model.perform_all(first, tick)
    failures = [_failure(c, reply) for c, reply in zip(chunks, replies, strict=True) if isinstance(reply, ModelError)]
    graphs = [Graph() if isinstance(reply, ModelError) else reply for reply in replies]
    if model.generative:
        open_turns = {i: Turn(first[i], reply) for i, reply in enumerate(replies) if isinstance(reply, Graph)}
        for _ in range(settings.max_gleanings):
            open_turns, lost = await _glean(chunks, graphs, open_turns, model, language)
            failures += lost
    return graphs, failures


async def _glean(
    chunks: Sequence[Chunk], graphs: list[Graph], turns: dict[int, Turn], model: Model, language: str
) -> tuple[dict[int, Turn], list[Failure]]:
    """Ask once more where something was missed; add to the graphs, and return the conversations that go on."""
    places = list(turns)
    missed = await model.perform_all([AnyMissed(turns[i], language=language) for i in places])
    again = [i for i, answer in zip(places, missed, strict=True) if answer is True]
    tasks: list[Task[Graph]] = [GleanMore(turns[i], language=language) for i in again]
    more = await model.perform_all(tasks)
    going_on: dict[int, Turn] = {}
    for i, task, reply in zip(again, tasks, more, strict=True):
        if isinstance(reply, Graph):
            graphs[i] = Graph(graphs[i].entities + reply.entities, graphs[i].relationships + reply.relationships)
            going_on[i] = Turn(task, reply)
    failures = [
        _failure(chunks[i], reply)
        for i, reply in (*zip(places, missed, strict=True), *zip(again, more, strict=True))
        if isinstance(reply, ModelError)
    ]
    return going_on, failures


def _failure(chunk: Chunk, error: ModelError) -> Failure:
    return Failure("extract", f"chunk {chunk.id} (characters {chunk.start} to {chunk.end}): {error}", chunk.document_id)
