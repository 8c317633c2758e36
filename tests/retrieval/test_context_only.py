"""The context of an answer, shown without answering."""

from __future__ import annotations

import pytest
from making import a_built_index
from scripted import ScriptedModel

from conspectus import api
from conspectus.api.asking import acontext
from conspectus.errors import UsageError
from conspectus.retrieval import METHODS
from conspectus.tasks import AnswerFromContext, DraftAnswer, MapAnswer, NextThought, RateReport, WriteReport

TEXTS = (
    "Mara Tolan rebuilt the weir of Quenda with Zorba Orrin. Mara Tolan and Zorba Orrin cut its stones in winter.",
    "Zorba Orrin saw the weir of Quenda break in the flood. Mara Tolan measured the flood at the weir.",
)
INDEX = a_built_index(*TEXTS, reports={"min_report_entities": 2})
QUESTION = "Who rebuilt the weir?"
SHOWN = [
    name for name in METHODS if not METHODS[name].no_preview and not METHODS[name].needs and name != "tog"
]


@pytest.mark.parametrize("method", SHOWN)
def test_it_is_what_the_answer_says_it_has_read(method: str):
    context = api.context(QUESTION, INDEX, method=method)
    answer = api.ask(QUESTION, INDEX, method=method)

    assert context.windows
    assert all(window.text for window in context.windows)
    assert (context.context_tokens, context.level) == (answer.context_tokens, answer.level)
    assert context.why == answer.why


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].no_preview])
def test_a_method_that_has_nothing_to_show_says_so_in_a_line(method: str):
    with pytest.raises(UsageError, match=method) as error:
        api.context(QUESTION, INDEX, method=method)
    assert "\n" not in str(error.value)


async def test_a_language_model_is_asked_for_what_comes_before_and_never_for_the_answer():
    model = ScriptedModel({RateReport: lambda _: 3, NextThought: lambda _: "So the answer is: Mara Tolan."})

    drilled = await acontext(QUESTION, INDEX, method="drilldown", model=model)
    thought = await acontext(QUESTION, INDEX, method="ircot", model=model)

    assert drilled.windows[0].reports
    assert thought.windows[0].sources
    kinds = {type(task) for task in model.tasks}
    assert kinds == {RateReport, NextThought}
    assert kinds.isdisjoint({AnswerFromContext, MapAnswer, DraftAnswer, WriteReport})
