"""Think-on-Graph: the tasks of each step, which entities remain after pruning, and the results without a language
model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import ScriptedModel

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_models import open_embedders
from conspectus.indexing.given_graph import GivenGraph, OpenIe, index_of, with_openie
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.interchange.importing import read_triples
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import tog
from conspectus.retrieval.tog import SCORED_CHUNKS, prune, topic_entities
from conspectus.rows import Entity, ReasoningPath, Relationship, Triple
from conspectus.settings import Settings, TogSettings
from conspectus.tasks import (
    ChooseRelations,
    Draft,
    DraftAnswer,
    Examined,
    ExamineEvidence,
    FoundTriple,
    NameEntities,
)
from conspectus.triple_graph import TripleGraph

BARGES = [
    ("Rook", "built_at", "Kell"),
    ("Heron", "built_at", "Kell"),
    ("Rook", "owner", "Ada Byrne"),
    ("Heron", "owner", "Tom Pike"),
    ("Ada Byrne", "born_in", "Lune"),
    ("Tom Pike", "born_in", "Kell"),
    ("Kell", "river", "Lune Water"),
    ("Rook", "year", "1911"),
    ("Heron", "year", "1913"),
]


def scripted(choices: list[Any], examined: list[Any], **more: Any) -> ScriptedModel:
    script = {NameEntities: lambda _: ("Rook",), ChooseRelations: choices, ExamineEvidence: examined, **more}
    return ScriptedModel(script)


async def test_the_paths_grow_by_the_chosen_relations_until_the_facts_are_complete():
    model = scripted([((1,),), ((0,),)], [Examined((), ("Where was Ada Byrne born?",)), Examined(("Lune",))])

    graph = GivenGraph([*BARGES, ("Ada Byrne", "kept", "Bees")])
    found = await tog.explore("Where was the owner of Rook born?", index_of(graph), model, Settings())

    first, second = model.all_seen(ChooseRelations)
    assert [(e.relation, e.inverse) for e in first.topics[0].edges] == [
        ("built_at", False), ("owner", False), ("year", False),
    ]  # fmt: skip
    assert [topic.name for topic in second.topics] == ["Ada Byrne"]
    assert second.clues == ("Where was Ada Byrne born?",)
    assert ("owner", True) not in [(e.relation, e.inverse) for e in second.topics[0].edges]  # visited before
    assert found.answers == ("Lune",)
    assert [trail.names for trail in found.paths] == [("Rook", "Ada Byrne", "Lune")]
    assert found.rounds == 2


async def test_where_there_is_one_relation_to_choose_or_none_the_model_is_not_asked_to_choose():
    model = scripted([((1,),)], [Examined((), ("Where was Ada Byrne born?",)), Examined(), Examined()])

    found = await tog.explore("Who owned Rook?", index_of(GivenGraph(BARGES)), model, Settings())

    assert len(model.all_seen(ChooseRelations)) == 1
    assert [path.names for path in found.paths] == [("Rook", "Ada Byrne", "Lune")]


async def test_a_search_without_an_answer_ends_at_the_depth_and_answers_from_what_there_is():
    model = ScriptedModel(
        {
            NameEntities: [("Rook",)],
            ChooseRelations: [((1,),)],
            ExamineEvidence: [Examined((), ("Where?",))],
            DraftAnswer: [Draft("Ada Byrne")],
        }
    )

    answer = await tog.answer(
        "Who owned Rook?", index_of(GivenGraph(BARGES)), model, Settings(tog=TogSettings(depth=1))
    )

    assert answer.short == ("Ada Byrne",)
    assert "not found to be complete" in answer.why
    assert [trail.names for trail in model.seen(DraftAnswer).paths] == [("Rook", "Ada Byrne")]


async def test_choices_that_are_no_edges_end_the_search():
    model = scripted([((9,),)], [])

    answer = await tog.answer("Who owned Rook?", index_of(GivenGraph(BARGES)), model, Settings())

    assert answer.short == ()
    assert answer.text.startswith("Nothing in this corpus")


async def test_an_index_without_a_graph_is_refused():
    with pytest.raises(UsageError, match="needs a graph"):
        await tog.answer("Who?", Index(), scripted([], []), Settings())


def test_a_candidate_scores_the_decayed_sum_over_its_chunks_among_the_best():
    class Scorer:
        texts = True
        graph = replace(TripleGraph.of(index_of(GivenGraph(BARGES))), chunks=((7,), (8,), (9,)))

        def chunks(self, candidates: Any, clue_of: Any, most: int) -> list[tuple[int, int, float]]:
            assert most == SCORED_CHUNKS
            return [(0, 7, 0.82), (1, 8, 0.8), (1, 9, 0.7)]

    names = ("Kell", "Ada Byrne", "1911")
    candidates = [
        ReasoningPath("Rook", (Triple(str(i), i, "Rook", "is", name),)) for i, name in enumerate(names)
    ]
    best, chunks = prune(candidates, Scorer(), {}, width=2)  # type: ignore[arg-type]

    # 0.82 against 0.8 / e^0.4 + 0.7 / e^0.8 = 0.85
    assert 0.8 * exp(-0.4) + 0.7 * exp(-0.8) > 0.82
    assert [candidate.end for candidate in best] == ["Ada Byrne", "Kell"]
    assert chunks == {7: 0.82, 8: 0.8, 9: 0.7}


TEXTS = {
    "p0": "Rook was built at Kell. Rook was sold in Kell market.",
    "p1": "Rook was painted by Ada Byrne. Kell is a town on the river.",
}
SAID = {
    "p0": (FoundTriple("Rook", "built at", "Kell"),),
    "p1": (FoundTriple("Rook", "painted by", "Ada Byrne"), FoundTriple("Ada Byrne", "lives in", "Kell")),
}


def with_texts() -> Index:
    passages = [{"id": key, "title": "", "text": text} for key, text in TEXTS.items()]
    index = index_passages(read_texts(passages, Settings().read)[0], Settings())
    return with_openie(index, [OpenIe(key, triples) for key, triples in SAID.items()])


def scored(index: Index, question: str, triple: Triple, clue: str = "") -> dict[int, float]:
    scorer = tog.Scorer(question, index, TripleGraph.of(index), Settings(), texts=True)
    clue_of = {ReasoningPath(triple.head): clue}
    rows = scorer.chunks([ReasoningPath(triple.head, (triple,))], clue_of, SCORED_CHUNKS)
    return {chunk: score for _, chunk, score in rows}


def test_the_triple_that_leads_to_a_candidate_is_part_of_what_its_chunks_are_compared_with():
    index = with_texts()
    built, painted = index.triples[0], replace(index.triples[0], relation="painted by the river")

    assert scored(index, "What of it?", built)[0] > scored(index, "What of it?", built)[1]
    assert scored(index, "What of it?", painted)[1] > scored(index, "What of it?", painted)[0]


def test_the_clue_of_a_topic_counts_for_what_it_led_to():
    index = with_texts()
    triple = replace(index.triples[0], relation="at")

    one, other = (
        scored(index, "What of it?", triple, clue) for clue in ("sold at the market", "painted river")
    )

    assert one[0] > one[1]
    assert other[1] > other[0]


async def test_each_path_goes_on_with_a_clue_of_its_own():
    model = scripted(
        [((0, 1),), ((0,), (0,))],
        [Examined((), ("Where is Kell?", "Who is Ada Byrne?")), Examined(("Lune",))],
    )

    await tog.explore("Where was the owner of Rook born?", index_of(GivenGraph(BARGES)), model, Settings())

    assert model.all_seen(ExamineEvidence)[1].clues == ("Where is Kell?", "Who is Ada Byrne?")


class Initials:
    """An embedder that gives texts with the same first letter the same vector."""

    name, dimension = "initials", 26

    def embed(self, texts: Sequence[str], tick: Any = None) -> np.ndarray[Any, Any]:
        return np.array([np.eye(26)[ord(text[0].lower()) - 97] for text in texts], np.float32)


async def test_a_name_that_the_graph_spells_otherwise_is_linked_by_vectors():
    index = index_of(GivenGraph(BARGES[:1]))
    vectors = Initials().embed(TripleGraph.of(index).names)
    arrays = {**index.arrays, "vectors.names": vectors, "vectors.chunks": np.zeros((0, 26), np.float32)}
    index = replace(index, arrays=arrays, settings={"vectors": {"embedder": "here", "model": "initials"}})
    index.derive(open_embedders)["here"] = Initials()  # type: ignore[assignment]
    model = ScriptedModel({NameEntities: [("raven barge",)], ExamineEvidence: [Examined(("Kell",))]})

    found = await tog.explore("Where was the raven barge built?", index, model, Settings())

    assert found.answers == ("Kell",)
    assert found.paths[0].start == "Rook"


async def test_where_relations_are_descriptions_a_model_chooses_among_types():
    def entity(number: int, name: str, kind: str) -> Entity:
        return Entity(name, number, name, kind, "", ())

    names = {"Ada Byrne": "person", "Kell": "place", "Lune": "place", "Rook": "barge"}
    entities = [entity(i, name, kind) for i, (name, kind) in enumerate(names.items())]
    ends = (("Kell", "has its owner in"), ("Lune", "is far from"), ("Rook", "belongs to"))
    rows = [Relationship(end, i, "Ada Byrne", end, f"{end} {text} her") for i, (end, text) in enumerate(ends)]
    model = ScriptedModel(
        {
            NameEntities: [("Ada Byrne",)],
            ChooseRelations: [((0,),)],
            ExamineEvidence: [Examined(("Kell",))],
        }
    )

    index = Index(entities=entities, relationships=rows)
    found = await tog.explore(
        "Where does Ada Byrne live?", index, model, Settings(tog=TogSettings(depth=1)), texts=False
    )

    edges = model.seen(ChooseRelations).topics[0].edges
    assert [(edge.relation, edge.count) for edge in edges] == [("place", 2), ("barge", 1)]
    assert {path.end for path in found.paths} == {"Kell", "Lune"}


def test_a_question_names_what_is_spelt_in_it_the_longest_first():
    graph = TripleGraph.of(
        index_of(
            GivenGraph(
                [
                    ("The Way", "directed_by", "Ann"),
                    ("way", "tag", "x"),
                    ("The Way Back", "directed_by", "Bob"),
                ]
            )
        )
    )

    def named(question: str) -> list[str]:
        return [graph.names[n] for n in topic_entities(question, graph, 3)]

    assert named("who directed The Way Back") == ["The Way Back"]
    assert named("who directed The Way") == ["The Way"]
    assert named("which way leads there") == ["way"]
    assert named("who directed Nothing") == []


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who owned Rook?", {"Ada Byrne"}),
        ("where was the owner of Rook born", {"Lune"}),
        ("When was Heron built?", {"1913"}),
        ("which barges did Ada Byrne own", {"Rook"}),
        ("Which barge was built in the same place as Rook?", {"Heron"}),
    ],
)
async def test_without_a_language_model_plain_questions_are_read_off_the_relations(
    question: str, answers: set[str]
):
    index = index_of(GivenGraph(BARGES))

    answer = await tog.answer(question, index, ExtractiveModel.of_index(index), Settings())

    assert set(answer.short) == answers
    assert "without a language model" in answer.notices[0]
    assert answer.reasoning_paths[0].end in answers


KIN = [
    ("Ada Byrne", "married to", "Percy Lune"),
    ("Percy Lune", "born in", "Kell"),
    ("Percy Lune", "studied at", "Hollin College"),
    ("Percy Lune", "friend of", "Tom Pike"),
    ("Tom Pike", "wrote", "Reeds"),
    ("Kell", "located in", "Marland"),
    ("Hollin College", "located in", "Orrin"),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where was the husband of Ada Byrne born?", "Kell"),
        ("Where did the husband of Ada Byrne study?", "Hollin College"),
        ("What did the friend of Percy Lune write?", "Reeds"),
    ],
)
async def test_the_verb_behind_a_name_is_asked_last_where_the_question_is_inverted(
    question: str, answer: str
):
    index = index_of(GivenGraph(KIN))

    told = await tog.answer(question, index, ExtractiveModel.of_index(index), Settings())

    assert told.short == (answer,)


@pytest.mark.parametrize(("hops", "least"), [(1, 0.95), (2, 0.95), (3, 0.87)])
@pytest.mark.long
async def test_questions_over_the_film_graph_are_answered_without_a_language_model(
    shared: Path, hops: int, least: float
):
    index = index_of(read_triples(shared / "kgqa/metaqa/kb.txt"))
    lines = (shared / f"kgqa/metaqa/questions-{hops}hop.jsonl").read_text(encoding="utf-8").splitlines()
    model, right = ExtractiveModel.of_index(index), 0
    for record in map(json.loads, lines):
        found = await tog.explore(record["question"], index, model, Settings())
        right += bool(found.answers) and found.answers[0] in record["answers"]

    assert right / len(lines) >= least
