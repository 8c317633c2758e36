"""Facts followed through an index: what each stage is taken to hold, and where they are lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from making import a_built_index, a_claim, a_report, an_edge, an_entity, an_index

from conspectus.errors import BadReply, UsageError
from conspectus.evaluation import measure_loss
from conspectus.evaluation.loss import Loss, Texts, elements_of, main_names, nearest, sampled, stages_of
from conspectus.index import Index
from conspectus.models.scripted import ScriptedModel
from conspectus.rows import Community, content_id
from conspectus.tasks import AnswerFromContext, ClearSentences, Entails, FactualClaims, Numbered, SelectFactual

TEXT = "Ada Brook bought the Orran Mill. Ruben Vale flooded it. Owls hunt in Hollin."


def described_index() -> Index:
    """One chunk, whose index keeps the purchase in descriptions and the root's report, the flood in a claim."""
    chunk = an_index(TEXT).chunks[0]
    at: dict[str, Any] = {"chunk_ids": (chunk.id,)}
    entities = [
        an_entity("Ada Brook", 0, "person", description="Ada Brook bought the Orran Mill.", **at),
        an_entity("Orran Mill", 1, "place", description="A mill.", **at),
        an_entity("Elsewhere", 2, "place", description="Owls hunt in Hollin."),
    ]
    communities = [
        Community(content_id("c", "0"), 0, 0, -1, (1,), (0, 1, 2)),
        Community(content_id("c", "1"), 1, 1, 0, (), (0, 1)),
        Community(content_id("c", "2"), 2, 1, 0, (), (2,)),
    ]
    return an_index(
        TEXT,
        entities=entities,
        edges=[an_edge("Ada Brook", "Orran Mill", description="Ada owned it.", **at)],
        claims=[a_claim("Ruben Vale", "Ruben Vale flooded it.", **at)],
        reports=[
            a_report("Root", 0, ["Ada Brook bought the Orran Mill."]),
            a_report("Mill", 1, ["A mill."], community=1, level=1),
            a_report("Owls", 2, ["Owls hunt in Hollin."], community=2, level=1),
        ],
        communities=communities,
    )


def a_model(**instead: Callable[[Any], Any]) -> ScriptedModel:
    """Takes each sentence for a claim; a text entails what it holds word for word."""
    script: dict[Any, Any] = {
        SelectFactual: lambda task: tuple(range(1, len(task.sentences) + 1)),
        ClearSentences: lambda task: tuple(Numbered(n, task.sentences[n - 1]) for n in task.chosen),
        FactualClaims: lambda task: tuple(Numbered(n, text) for n, text in enumerate(task.sentences, 1)),
        Entails: lambda task: task.statement in task.text,
        AnswerFromContext: lambda task: f"Of that: Ada Brook bought the Orran Mill. {len(task.context.sources)}",
    }
    names = {kind.__name__: kind for kind in script}
    return ScriptedModel(script | {names[name]: said for name, said in instead.items()})


def followed(index: Index, model: ScriptedModel | None = None, *conditions: str) -> Loss:
    return measure_loss(index, conditions=conditions, model=model).value


def stages(index: Index) -> tuple[dict[str, Texts], list[str]]:
    return asyncio.run(stages_of(index, index.chunks, elements_of(index, index.chunks)))


def test_each_stage_holds_what_names_the_chunk() -> None:
    index = described_index()
    chunk = index.chunks[0]

    texts, notices = stages(index)

    assert list(texts) == ["descriptions", "reports C1", "reports C0"]
    assert texts["descriptions"][chunk.id] == [
        "Ada Brook\nAda Brook bought the Orran Mill.",
        "Orran Mill\nA mill.",
        "Ada Brook - Orran Mill\nAda owned it.",
        "Ruben Vale\nRuben Vale flooded it.",
    ]
    assert texts["reports C1"][chunk.id] == ["Mill\nMill, in short.", "Finding 0\nA mill."]
    assert "made elsewhere" in notices[0]


def test_extraction_is_done_again_by_the_rules_that_an_index_was_built_with() -> None:
    index = a_built_index(
        "Ada Brook bought the Orran Mill in 1901. Ada Brook paid Ruben Vale for the Orran Mill."
    )

    texts, notices = stages(index)

    (extraction,) = texts["extraction"].values()
    assert any("Ada Brook bought the Orran Mill in 1901." in text for text in extraction)
    assert notices == []


def test_vectors_that_an_index_was_given_later_do_not_hide_its_extraction():
    index = a_built_index(TEXT)
    made = {**index.settings, "vectors": {"embedder": "local", "model": "small", "dimension": 26}}

    texts, notices = stages(replace(index, settings=made))

    assert "extraction" in texts
    assert not notices


def test_facts_are_counted_at_each_stage_and_lost_at_the_first_that_lacks_them() -> None:
    found = followed(described_index(), a_model(), "local")

    assert [fact.text for fact in found.facts] == [
        "Ada Brook bought the Orran Mill.",
        "Ruben Vale flooded it.",
        "Owls hunt in Hollin.",
    ]
    survive = {one.stage: round(one.survive.mean * one.facts) for one in found.stages}
    assert survive == {"descriptions": 2, "reports C1": 0, "reports C0": 1, "answer by local": 1}
    assert [one.facts for one in found.stages] == [3, 3, 3, 1]  # only what the question asks of can be answered
    assert [one.first_lost for one in found.stages] == [1, 2, 0, 0]
    assert [fact.text for fact in found.lost("descriptions")] == ["Owls hunt in Hollin."]


def test_a_model_is_asked_of_the_texts_that_share_a_word_and_of_no_others() -> None:
    model = a_model()
    followed(described_index(), model)

    asked = [task for task in model.all_seen(Entails) if task.statement == "Ruben Vale flooded it."]
    assert [task.text for task in asked] == ["Ruben Vale\nRuben Vale flooded it."]


def test_a_chunk_that_a_call_failed_for_is_left_out_and_told() -> None:
    index = an_index(TEXT, "Bees swarm in Hollin.", entities=["Hollin"], reports=["Hollin"])
    broken = a_model(SelectFactual=lambda task: BadReply("no JSON") if "Bees" in task.sentences[0] else (1,))

    found = followed(index, broken)

    assert [fact.chunk for fact in found.facts] == [0]
    assert found.failures == ("chunk 1: no JSON",)


def test_without_a_model_sentences_are_facts_and_words_decide() -> None:
    texts = [f"Ada Brook bought the Orran Mill in 190{n}. The miller was content." for n in range(4)]
    found = followed(a_built_index(*texts), None, "local")

    assert found.checked_by == "extractive"
    assert len(found.facts) == 4
    assert found.stages[0].stage == "extraction"
    assert found.stages[0].survive.mean == 1
    json.dumps(found.as_json())


def test_chunks_are_drawn_by_a_seed_among_those_that_hold_sentences() -> None:
    index = an_index(*(f"Bees swarm in field {n}." for n in range(9)), "")

    drawn = [chunk.number for chunk in sampled(index, 4, seed=1)]

    assert drawn == sorted(drawn)
    assert drawn == [chunk.number for chunk in sampled(index, 4, seed=1)]
    assert drawn != [chunk.number for chunk in sampled(index, 4, seed=2)]
    assert len(sampled(index, 50)) == 9
    with pytest.raises(UsageError, match="no sentences"):
        sampled(Index(), 4)


def test_a_question_is_about_the_names_of_many_facts_and_few_chunks() -> None:
    facts = ["Ada met Host.", "Ada left.", "Host spoke.", "Bees swarm."]
    entities = [
        an_entity("Host", 0, chunk_ids=tuple(map(str, range(100)))),
        an_entity("Ada", 1, chunk_ids=("1",)),
        an_entity("Nobody", 2, chunk_ids=("1",)),
    ]

    assert main_names(facts, entities, 100) == ["Ada", "Host"]


def test_texts_are_read_fullest_first_up_to_a_limit_and_one_at_least() -> None:
    texts = ["mill only", "Ada bought a mill", "unrelated words", "Ada bought"]

    assert list(nearest("Ada bought the mill.", texts)) == ["Ada bought a mill", "Ada bought", "mill only"]
    assert list(nearest("Ada bought the mill.", texts, 1)) == ["Ada bought a mill"]


def test_an_index_is_not_asked_by_a_condition_that_it_has_not() -> None:
    with pytest.raises(UsageError, match="no condition 'C'"):
        followed(described_index(), None, "C")
    with pytest.raises(UsageError, match="levels 0 to 1"):
        followed(described_index(), None, "C7")
