"""One description for each row, of those of its instances."""

from __future__ import annotations

import pytest
from making import a_document, an_edge, an_entity, whole_chunk

from conspectus.errors import BadKey, BadReply
from conspectus.indexing.communities import MOST_SPANS, DescribedGraph
from conspectus.indexing.graph import Element, Merged
from conspectus.models.scripted import ScriptedModel
from conspectus.rows import Community, Span
from conspectus.tasks import DescribeElement, Description

CHUNK = whole_chunk(a_document("x" * 400))


def element(*descriptions: str) -> Element:
    """An element with so many instances, the place of each ten characters after the one before."""
    made = Element(("key",))
    for i, description in enumerate(descriptions):
        made.instances[Span("d", 10 * i, 10 * i + 5), ""] = description
    return made


def graph(*entities: Element, edges: tuple[Element, ...] = ()) -> DescribedGraph:
    rows = [an_entity(f"Bee {i}", i, description="") for i in range(len(entities))]
    pairs = [an_edge("Bee 0", f"Bee {i + 1}", i, description="") for i in range(len(edges))]
    return DescribedGraph(Merged(rows, pairs, list(entities), list(edges)))


async def described(made: DescribedGraph, model: ScriptedModel) -> DescribedGraph:
    await made.describe(model)
    await made.done()
    return made


async def test_a_single_description_is_kept_and_asks_no_task():
    made = await described(graph(element("It stings."), edges=(element("They fly."),)), ScriptedModel({}))

    assert made.entities.rows[0].description == "It stings."
    assert made.relationships.rows[0].description == "They fly."
    assert made.entities.rows[0].spans == (Span("d", 0, 5),)


async def test_an_element_that_nothing_describes_keeps_an_empty_description():
    assert (await described(graph(element()), ScriptedModel({}))).entities.rows[0].description == ""


async def test_the_same_words_read_twice_are_one_description():
    made = await described(graph(element("It stings.", "It stings.")), ScriptedModel({}))

    assert made.entities.rows[0].description == "It stings."


async def test_several_descriptions_become_one_by_a_task():
    model = ScriptedModel({DescribeElement: [Description("It hums and stings.", (1,))]})
    made = await described(graph(element("It stings.", "It hums.")), model)

    assert model.seen(DescribeElement) == DescribeElement("Bee 0", "entity", ("It stings.", "It hums."))
    assert made.entities.rows[0].description == "It hums and stings."
    assert made.entities.rows[0].spans == (Span("d", 10, 15),)


async def test_without_word_of_what_it_stands_on_a_description_keeps_its_first_places():
    model = ScriptedModel({DescribeElement: [Description("It does much.")]})
    made = await described(graph(element(*(f"It does {i}." for i in range(20)))), model)

    assert made.entities.rows[0].spans == tuple(Span("d", 10 * i, 10 * i + 5) for i in range(MOST_SPANS))


async def test_a_relationship_is_asked_for_by_both_of_its_ends():
    model = ScriptedModel({DescribeElement: [Description("They meet.")]})
    await described(graph(element("It stings."), edges=(element("They fly.", "They dance."),)), model)

    assert (model.seen(DescribeElement).name, model.seen(DescribeElement).kind) == (
        "Bee 0 - Bee 1",
        "relationship",
    )


async def test_where_the_model_fails_the_longest_description_is_kept_and_the_failure_recorded():
    model = ScriptedModel({DescribeElement: [BadReply("cut off"), Description("Fine.")]})
    made = await described(graph(element("It stings.", "It hums loudly."), element("One.", "Two.")), model)

    assert [row.description for row in made.entities.rows] == ["It hums loudly.", "Fine."]
    (failure,) = made.failures
    assert failure.stage == "describe"
    assert "Bee 0" in failure.error
    assert "cut off" in failure.error


async def test_where_nothing_more_can_be_asked_of_the_model_the_work_stops():
    made = graph(element("It stings.", "It hums."))
    await made.describe(ScriptedModel({DescribeElement: [BadKey("no key")]}))

    with pytest.raises(BadKey, match="no key"):
        await made.done()


async def test_a_community_is_ready_when_its_own_rows_are_described():
    model = ScriptedModel({DescribeElement: lambda task: Description(f"{task.name}, described.")})
    made = graph(element("One.", "Two."), element("Three.", "Four."))
    await made.describe(model)
    await made.ready(Community("c", 0, 0, -1, (), (1,)))

    assert made.entities.rows[1].description == "Bee 1, described."
    await made.done()


async def test_what_reports_wait_for_longest_is_asked_with_the_highest_priority():
    model = ScriptedModel({DescribeElement: lambda _: Description("Fine.")})
    made = graph(element("One.", "Two."), element("Three.", "Four."))
    await made.describe(model, priority=([1.0, 3.0], [], []))
    await made.done()

    assert {task.name: task.priority for task in model.all_seen(DescribeElement)} == {
        "Bee 0": 1.0,
        "Bee 1": 3.0,
    }
