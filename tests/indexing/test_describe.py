"""One description for each row, made from those of its instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from making import a_document, an_edge, an_entity
from scripted import ScriptedModel

from conspectus.errors import BadKey, BadReply
from conspectus.indexing.communities import FEW_TOKENS, MOST_SPANS, DescribedGraph, joined_descriptions
from conspectus.indexing.graph import Element, Merged
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.rows import Community, Document, Span
from conspectus.tasks import DescribeElement, Description


def element(*descriptions: str, documents: Sequence[str] = ()) -> Element:
    """Return an element with one instance per description, ten characters apart."""
    made = Element()
    for i, description in enumerate(descriptions):
        made.instances[Span(documents[i] if documents else "d", 10 * i, 10 * i + 5), ""] = description
    return made


def graph(
    model: ScriptedModel | ExtractiveModel,
    *entities: Element,
    edges: tuple[Element, ...] = (),
    documents: Sequence[Document] = (),
    strict: bool = True,
) -> DescribedGraph:
    rows = [an_entity(f"Bee {i}", i, description="") for i in range(len(entities))]
    pairs = [an_edge("Bee 0", f"Bee {i + 1}", i, description="") for i in range(len(edges))]
    return DescribedGraph(Merged(rows, pairs, list(entities), list(edges)), model, documents, strict=strict)


async def described(made: DescribedGraph) -> DescribedGraph:
    await made.describe()
    await made.done()
    return made


def asked(*replies: Description | Exception) -> ScriptedModel:
    return ScriptedModel({DescribeElement: list(replies)})


async def test_a_single_description_is_kept_and_asks_no_task():
    made = await described(graph(asked(), element("It stings."), edges=(element("They fly."),)))

    assert made.entities[0].description == "It stings."
    assert made.relationships[0].description == "They fly."
    assert made.entities[0].spans == (Span("d", 0, 5),)


async def test_an_element_that_nothing_describes_keeps_an_empty_description():
    assert (await described(graph(asked(), element(), strict=False))).entities[0].description == ""


async def test_the_same_words_read_twice_are_one_description():
    made = await described(graph(asked(), element("It stings.", "It stings.")))

    assert made.entities[0].description == "It stings."


async def test_several_descriptions_become_one_by_a_task():
    model = asked(Description("It hums and stings.", (1,)))
    made = await described(graph(model, element("It stings.", "It hums.")))

    assert model.seen(DescribeElement) == DescribeElement("Bee 0", "entity", ("It stings.", "It hums."))
    assert made.entities[0].description == "It hums and stings."
    assert made.entities[0].spans == (Span("d", 10, 15),)


async def test_without_word_of_what_it_stands_on_a_description_keeps_its_first_places():
    made = await described(
        graph(asked(Description("It does much.")), element(*(f"It does {i}." for i in range(20))))
    )

    assert made.entities[0].spans == tuple(Span("d", 10 * i, 10 * i + 5) for i in range(MOST_SPANS))


async def test_a_relationship_is_asked_for_by_both_of_its_ends():
    model = asked(Description("They meet."))
    await described(graph(model, element("It stings."), edges=(element("They fly.", "They dance."),)))

    task = model.seen(DescribeElement)
    assert (task.name, task.kind) == ("Bee 0 - Bee 1", "relationship")


async def test_where_the_model_fails_the_longest_description_is_kept_and_the_failure_recorded():
    model = asked(BadReply("cut off"), Description("Fine."))
    made = await described(graph(model, element("It stings.", "It hums loudly."), element("One.", "Two.")))

    assert [row.description for row in made.entities] == ["It hums loudly.", "Fine."]
    (failure,) = made.failures
    assert failure.stage == "describe"
    assert "Bee 0" in failure.error
    assert "cut off" in failure.error


async def test_where_nothing_more_can_be_asked_of_the_model_the_work_stops():
    made = graph(asked(BadKey("no key")), element("It stings.", "It hums."))
    await made.describe()

    with pytest.raises(BadKey, match="no key"):
        await made.done()


async def test_a_community_is_ready_when_its_own_rows_are_described():
    model = ScriptedModel({DescribeElement: lambda task: Description(f"{task.name}, described.")})
    made = graph(model, element("One.", "Two."), element("Three.", "Four."))
    await made.describe()
    await made.ready(Community("c", 0, 0, -1, (), (1,)))

    assert made.entities[1].description == "Bee 1, described."
    await made.done()


async def test_what_reports_wait_for_longest_is_asked_first():
    model = ScriptedModel({DescribeElement: lambda _: Description("Fine.")})
    made = graph(model, element("One.", "Two."), element("Three.", "Four."))
    await made.describe(priority=([1.0, 3.0], [], []))
    await made.done()

    tasks = model.all_seen(DescribeElement)
    assert [(task.name, task.priority) for task in tasks] == [("Bee 1", 3.0), ("Bee 0", 1.0)]


# Descriptions by documents, the oldest first

PAPERS = [
    replace(a_document("x", path="2024-02-20-letter.txt"), id="new", title="2024-02-20-letter"),
    replace(a_document("x", path="2019-09-24-minutes.md"), id="old", title="Founding meeting"),
    replace(a_document("x", path="notes.txt"), id="undated", title="notes"),
]


async def test_a_model_is_told_the_date_and_the_document_of_each_description_the_oldest_first():
    model = asked(Description("Kit is chairman."))
    lines = ("Kit is chairman.", "Kit becomes vice-chairman.", "Kit keeps bees.")
    await described(graph(model, element(*lines, documents=("new", "old", "undated")), documents=PAPERS))

    task = model.seen(DescribeElement)
    assert task.descriptions == ("Kit keeps bees.", "Kit becomes vice-chairman.", "Kit is chairman.")
    assert task.sources == ("notes", "2019-09-24 Founding meeting", "2024-02-20 letter")


async def test_few_and_short_descriptions_are_joined_without_a_call_in_the_order_of_their_dates():
    lines = element("Kit is chairman", "Kit becomes vice-chairman.", documents=("new", "old"))
    made = await described(graph(asked(), lines, documents=PAPERS, strict=False))

    assert made.entities[0].description == "Kit becomes vice-chairman. Kit is chairman."
    assert made.entities[0].spans == (Span("old", 10, 15), Span("new", 0, 5))


async def test_without_a_language_model_descriptions_are_chosen_and_not_joined():
    one, other = "Kit is chairman of the Sallow Cooperative.", "Kit is a chairman of the Sallow Cooperative."
    made = await described(graph(ExtractiveModel(), element(one, other), documents=PAPERS, strict=False))

    assert made.entities[0].description in (one, other)


@pytest.mark.parametrize(
    ("descriptions", "joined"),
    [
        (
            ["Mary spoke for the Boats", "Mary spoke for the Sallow Boats."],
            "Mary spoke for the Sallow Boats.",
        ),
        (["Ann is Clerk", "Mrs Ann is Clerk of Sallow"], "Mrs Ann is Clerk of Sallow."),
        (["Ann is Clerk.", "Ann is not Clerk."], "Ann is Clerk. Ann is not Clerk."),
        (["Ann sold it to Bo", "Bo sold it to Ann"], "Ann sold it to Bo. Bo sold it to Ann."),
        (["安是书记", "安不是书记。"], "安是书记。安不是书记。"),
        (["One.", "Two.", "Three.", "Four."], ""),
        (["word " * FEW_TOKENS, "Two."], ""),
    ],
)
def test_what_is_joined_loses_only_what_is_said_again(descriptions: list[str], joined: str):
    assert joined_descriptions(descriptions) == joined
