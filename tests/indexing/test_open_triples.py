"""Extraction of open triples: named entities first, then triples, both in the graph and as triples."""

from __future__ import annotations

from conspectus.errors import BadReply
from conspectus.indexing.chunks import extract
from conspectus.models.scripted import ScriptedModel
from conspectus.rows import Chunk
from conspectus.settings import ExtractSettings
from conspectus.tasks import ExtractTriples, FoundTriple, NameEntities

CHUNKS = [Chunk(f"c{i}", i, "d", 0, 1, text, 1) for i, text in enumerate(("Ada owned Rook.", "Bo sang."))]


async def test_the_named_entities_of_a_chunk_are_in_the_prompt_of_its_triples():
    owned = FoundTriple("Ada", "owned", "Rook")
    model = ScriptedModel({NameEntities: [("Ada",), BadReply("x")], ExtractTriples: [(owned,)]})

    found = await extract(CHUNKS, model, ExtractSettings(style="triples"))

    assert model.seen(ExtractTriples).entities == ("Ada",)
    graph, failed = found.graphs
    assert graph.triples == (owned,)
    assert [(e.name, e.type) for e in graph.entities] == [("Ada", "entity"), ("Rook", "concept")]
    assert [(r.source, r.target, r.description) for r in graph.relationships] == [
        ("Ada", "Rook", "Ada owned Rook")
    ]
    assert failed.entities == ()
    assert [failure.stage for failure in found.failures] == ["extract"]
