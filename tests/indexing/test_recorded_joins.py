"""Alias decisions in graphs of real models: none that a reader judged false, and none missing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import conspectus
from conspectus.indexing.chunks import open_extraction
from conspectus.indexing.given_graph import read_openie
from conspectus.indexing.graph import Names, key_of, resolve
from conspectus.models.llm.replies import parse
from conspectus.rows import Chunk, Document
from conspectus.settings import ResolveSettings
from conspectus.tasks import ExtractGraph, Extraction, ExtractTriples, FoundEntity, NameEntities

Graphs = tuple[Sequence[Chunk], list[Extraction], Sequence[Document]]


def resolved(graphs: Graphs) -> Names:
    return resolve(*graphs, ResolveSettings())


def of_strong_model(shared: Path, folder: str) -> Graphs:
    """Return the recorded replies to the extraction of the bundled corpus, or of its minutes as triples."""
    index = conspectus.open_index(shared / "strong-model" / folder)
    replies: dict[tuple[str, str], str] = {}
    with (shared / "strong-model" / "requests.jsonl").open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            text = row["messages"][-1]["content"].removeprefix("<data>\n").removesuffix("\n</data>")
            text = text.partition("\n\nText:\n")[2] or text
            replies[row["task"], text.strip()] = row["reply"]
    graphs: list[Extraction] = []
    for chunk in index.chunks:
        text = chunk.text.strip()
        if folder == "index":
            graphs.append(parse(ExtractGraph(chunk, ()), replies["ExtractGraph", text]).reply)
        else:
            names = parse(NameEntities(text), replies["NameEntities", text]).reply
            triples = parse(ExtractTriples(chunk, names), replies["ExtractTriples", text]).reply
            day = next(document.day for document in index.documents if document.id == chunk.document_id)
            graphs.append(open_extraction(names, triples, day))
    return index.chunks, graphs, index.documents


def of_carol(shared: Path) -> Graphs:
    folder = shared / "graphrag-index" / "christmas-carol"
    documents, chunks, entities = (
        pq.read_table(folder / f"{name}.parquet").to_pylist()
        for name in ("documents", "text_units", "entities")
    )
    found: dict[str, list[FoundEntity]] = defaultdict(list)
    for row in entities:
        for chunk in row["text_unit_ids"]:
            found[chunk].append(FoundEntity(row["title"], row["type"].lower(), row["description"]))
    return (
        [Chunk(row["id"], i, row["document_id"], 0, 0, row["text"], 1) for i, row in enumerate(chunks)],
        [Extraction(tuple(found[row["id"]])) for row in chunks],
        [Document(row["id"], i, "", row["text"], str(i)) for i, row in enumerate(documents)],
    )


def of_musique(shared: Path) -> Graphs:
    folder = shared / "docqa" / "musique"
    lines = (folder / "openie-gpt-3.5.jsonl").read_text("utf-8").splitlines()
    named = {row["_id"]: [str(name) for name in row["entities"] if name] for row in map(json.loads, lines)}
    found = {
        row.id: open_extraction(named[row.id], row.triples)
        for row in read_openie(folder / "openie-gpt-3.5.jsonl")
    }
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    documents = [Document(row["_id"], i, row["title"], row["text"], row["_id"]) for i, row in enumerate(rows)]
    chunks = [Chunk(d.id, d.number, d.id, 0, len(d.text), d.text, 1) for d in documents]
    return chunks, [found.get(d.id, Extraction()) for d in documents], documents


FALSE = [
    ("Port Sallow", "Branch from Market Ansley to Port Sallow"),
    ("Teal Valley Rail Association", "Founding Meeting of the Teal Valley Rail Association"),
    ("Sandle Bank", "Voluntary Closure of Sandle Bank"),
    ("Maritime Museum", "Trustees of the Maritime Museum"),
    ("Gut of Birrin", "A Survey of the Gut of Birrin"),
    ("20 January 2021", "Trustees' Meeting of 20 January 2021"),
    ("Sallow Inshore Cooperative", "the settlement of STEP and the Sallow Inshore Cooperative"),
    ("Cold Quay", "the loan for Cold Quay"),
    ("Brackwater College", "the lost places at Brackwater College"),
]
WANTED = [
    ("STEP", "Sallow Tidal Energy Partnership"),
    ("CCRF", "Coastal Communities Renewal Fund"),
    ("Captain L. Strand", "Lorna Strand"),
    ("Edmund", "Edmund Quill"),
    ("Miss Quill", "Dorothea Quill"),
]
WANTED_OF_TRIPLES = [
    ("L. Strand", "Captain Lorna Strand"),
    ("Dr Corran", "Ishbel Corran"),
    ("NIFC", "Norland Inshore Fisheries Committee"),
    ("W. Garrick", "Wilf Garrick"),
]


@pytest.mark.parametrize(("folder", "wanted"), [("index", WANTED), ("index-triples", WANTED_OF_TRIPLES)])
def test_joins_of_a_strong_model_are_right_and_none_is_missed(
    shared: Path, folder: str, wanted: Sequence[tuple[str, str]]
):
    names = resolved(of_strong_model(shared, folder))
    entity_of = {key: {names.resolved(key, d) for d in names.source_of} for key in names.display}

    assert not [pair for pair in FALSE if any(pair == (join.name, join.into) for join in names.joins)]
    for name, into in wanted:
        assert entity_of[key_of(into)] & entity_of[key_of(name)], name


def test_no_value_is_an_entity_of_recorded_triples_and_all_have_a_dated_description(shared: Path):
    _, graphs, _ = of_strong_model(shared, "index-triples")
    entities = {entity.name: entity.description for graph in graphs for entity in graph.entities}

    assert len(entities) == 125, "of 274 before"
    values = {
        "nothing at all",
        "forty-one years",
        "£52 million",
        "9 March 2023",
        "23 July 2022",
        "2025",
        "ten years",
    }
    assert not values & entities.keys()
    met = [r.description for graph in graphs for r in graph.relationships if r.target == "Assembly Rooms"]
    assert len(set(met)) == len(met) == 2, "meetings of two years are two facts"


CAROL = {
    "MR. SCROOGE", "MR. TOPPER", "MR. SCROOGE'S NEPHEW", "DICK", "JACOB", "JOE", "SPIRITS", "TIM", "MARLEY",
}  # fmt: skip


def test_joins_of_the_christmas_carol_are_those_that_a_reader_found_right(shared: Path):
    assert {join.name for join in resolved(of_carol(shared)).joins} == CAROL


def test_joins_of_musique_are_acronyms_people_and_firms(shared: Path):
    joins = resolved(of_musique(shared)).joins

    assert len(joins) == 108, "each was read: AC is wrong in one of its two documents, and no other"
