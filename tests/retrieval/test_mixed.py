"""What is read for a fact: passages by several rankings, and what the graph knows; and windows that are filled."""

from __future__ import annotations

import pytest
from making import a_built_index, a_claim, an_entity, an_index

from conspectus import api, tokens
from conspectus.index import Index
from conspectus.models.scripted import ScriptedModel
from conspectus.retrieval import METHODS, mixed
from conspectus.retrieval.base import pack
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext

TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda with twelve masons.",
    "Zorba Orrin saw the weir of Quenda break in the flood.",
    "The oats of Quenda are ground in the mill.",
    "In the town hall a clock stopped.",
)
INDEX = an_index(
    *TEXTS,
    entities=["Mara Tolan", "Quenda", "Zorba Orrin", "weir"],
    edges=[("Mara Tolan", "weir"), ("Zorba Orrin", "weir"), ("weir", "Quenda")],
    claims=[a_claim("Mara Tolan", "Mara Tolan was paid twice.", 0)],
)


def test_the_rows_hold_passages_and_what_the_graph_knows_of_what_is_named():
    rows = mixed.rows_for("What did Mara Tolan rebuild?", INDEX, Settings())

    assert [entity.name for entity in rows.entities][:1] == ["Mara Tolan"]
    assert [(r.source, r.target) for r in rows.relationships] == [("Mara Tolan", "weir")]
    assert [claim.subject for claim in rows.claims] == ["Mara Tolan"]
    assert rows.sources[0].text == TEXTS[0]
    assert rows.reports == ()


async def test_the_answer_counts_what_was_read_of_how_much():
    model = ScriptedModel({AnswerFromContext: ["The weir [Data: Sources (0)]."]})
    answer = await METHODS["mixed"]("What did Mara Tolan rebuild?", INDEX, model, Settings())

    window = model.seen(AnswerFromContext).context
    assert answer.read["sources"] == (len(window.sources), len(TEXTS))
    assert answer.read["claims"] == (1, 1)
    assert answer.context_tokens == tokens.count(window.text)


# Windows


def test_what_one_table_leaves_of_its_share_goes_to_the_others():
    texts = [f"Mara Tolan saw boat {i}. " + "word " * 150 for i in range(30)]
    many = [f"Boat {i}" for i in range(30)]
    edges = [("Mara Tolan", name) for name in many]
    index = an_index(*texts, entities=["Mara Tolan", *many], edges=edges)
    rows = mixed.rows_for("What did Mara Tolan see?", index, Settings())

    small, large = pack(rows, 1000), pack(rows, 20_000)

    assert 0 < len(small.relationships) < 30
    assert small.read["relationships"] == (len(small.relationships), 30)
    assert tokens.count(small.text) <= 1000
    assert large.read == {"entities": (3, 3), "relationships": (30, 30), "sources": (30, 30)}


def test_a_long_description_leaves_room_for_passages_and_is_counted():
    index = an_index(*TEXTS, entities=[an_entity("Mara Tolan", 0, description="She built. " * 200)])
    window = pack(mixed.rows_for("What did Mara Tolan rebuild?", index, Settings()), 500)

    assert window.read["entities"] == (0, 1)
    assert window.sources
    assert tokens.count(window.text) <= 500


@pytest.fixture(scope="module")
def large() -> Index:
    names = ["Ada Brook", "Ruben Vale", "Mabel Finch", "Edwin Sorrel"]
    texts = [
        f"{names[i % 4]} bought the Orran Mill in {1800 + i}. {names[(i + 1) % 4]} sold {i} sacks of rye there. "
        f"Lot {i} was paid by {names[(i + 2) % 4]} of Hollin."
        for i in range(80)
    ]
    return a_built_index(*texts)


@pytest.mark.parametrize(
    "method",
    ["local", "drilldown", "bm25", "mixed", "walk", "hippo", "ircot", "tog", "raptor", "propositions"],
)
def test_every_method_fills_its_window_whatever_a_search_returns(method: str, large: Index):
    settings = {"answer.context_tokens": 1000, "search.k": 1}
    context = api.context(
        "Who bought the Orran Mill from Ada Brook?", large, method=method, settings=settings
    )

    (window,) = context.windows
    assert 800 < tokens.count(window.text) <= 1000
    assert context.context_tokens == tokens.count(window.text)
    assert window.read["sources"][0] == len(window.sources) < 80
