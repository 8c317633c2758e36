"""The index of the bundled corpus, compared with the facts that its authors put in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import conspectus
from conspectus.index import Index
from conspectus.name_lookup import entity_keys
from conspectus.retrieval.base import NOTHING
from conspectus.retrieval.local import entities_in
from conspectus.rows import Answer
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import SHORT
from conspectus.text.words import name_key

ROOT = Path(__file__).parents[1]
WORLD: Mapping[str, Any] = json.loads((ROOT / "tests/data/sample_world.json").read_text(encoding="utf-8"))
ENTITIES: Sequence[Mapping[str, Any]] = WORLD["entities"]


@pytest.fixture(scope="module")
def index(sample_index: Path) -> Index:
    return conspectus.open_index(sample_index)


def test_nine_of_ten_entities_are_found_by_their_names(index: Index):
    missing = [e["name"] for e in ENTITIES if name_key(e["name"]) not in index.derive(entity_keys)]

    assert len(missing) <= 0.1 * len(ENTITIES), missing


def test_three_of_four_have_their_type(index: Index):
    places = {e["name"]: index.derive(entity_keys).get(name_key(e["name"])) for e in ENTITIES}
    wrong = [
        e["name"] for e in ENTITIES if (i := places[e["name"]]) is None or index.entities[i].type != e["type"]
    ]

    assert len(wrong) <= 0.25 * len(ENTITIES), wrong


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("CCRF", "Coastal Communities Renewal Fund"),
        ("NIFC", "Norland Inshore Fisheries Committee"),
        ("TVRA", "Teal Valley Rail Association"),
        ("STEP", "Sallow Tidal Energy Partnership"),
        ("Dr Corran", "Ishbel Corran"),
        ("Miss D. Quill", "Dorothea Quill"),
        ("Councillor Threlkeld", "Maurice Threlkeld"),
        ("Lieut. J. Maddern", "Josiah Maddern"),
        ("T. Garrick", "Tamsin Garrick"),
    ],
)
def test_aliases_lead_to_whom_they_name(index: Index, alias: str, name: str):
    assert entities_in(f"What of {alias}?", index)[0].name == name


def test_entities_stand_in_the_documents_that_tell_of_them(index: Index):
    """At least three of four: names only in headings or signatures, or other words for an entity, are no mentions."""
    told = found = 0
    for entity in ENTITIES:
        number = index.derive(entity_keys).get(name_key(entity["name"]))
        chunks = index.entities[number].chunk_ids if number is not None else ()
        paths = {index.document_of[index.chunk_of[chunk].document_id].path for chunk in chunks}
        told += len(entity["documents"])
        found += sum(any(path.endswith(document) for path in paths) for document in entity["documents"])

    assert found >= 0.75 * told, f"{found} of {told}"


def test_every_relationship_ends_in_entities_and_leads_to_characters(index: Index):
    names = {e.name for e in index.entities}
    texts = {d.id: d.text for d in index.documents}
    for edge in index.relationships:
        assert {edge.source, edge.target} <= names
        assert edge.spans
        span = edge.spans[0]
        said = " ".join(texts[span.document_id][span.start : span.end].replace("*", "").split())  # emphasis
        assert edge.description.splitlines()[0].split(": ")[-1].strip('"')[-20:] in said


def ask(question: str, index: Index) -> Answer:
    return conspectus.ask(question, index)


def test_most_look_ups_quote_the_answer(index: Index):
    """Of the 17 questions that one sentence answers; 10 quoted the answer when this test was written."""
    found = [q for q in WORLD["lookups"] if q["answer"].lower() in ask(q["question"], index).text.lower()]

    assert len(found) >= 9, [q["question"] for q in WORLD["lookups"] if q not in found]


OF_A_STORM = ("When did the Candlemas storm happen?", "When did the storm break the quay?")


@pytest.mark.parametrize("question", [*OF_A_STORM, *(q["question"] for q in WORLD["lookups"])])
def test_a_short_answer_stands_in_the_passage_that_it_cites(index: Index, question: str):
    answer = conspectus.ask(question, index, settings=Settings(answer=AnswerSettings(response=SHORT)))
    answered = answer.text.removesuffix(" [1]")

    whole = re.compile(rf"(?<!\w){re.escape(answered)}(?!\w)", re.IGNORECASE)

    assert answer.citations or answer.text == NOTHING
    assert all(whole.search(" ".join(s.text.split())) for c in answer.citations for s in c.sources)


@pytest.mark.parametrize("question", WORLD["global_questions"])
def test_an_answer_about_the_corpus_cites_several_documents(index: Index, question: str):
    answer = conspectus.ask(question, index, method="global")

    assert len({source.document for c in answer.citations for source in c.sources}) >= 3
