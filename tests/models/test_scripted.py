"""The scripted model for tests returns the given replies and records its tasks."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply
from conspectus.tasks import AnswerFromContext, ReduceAnswer
from conspectus.tasks.base import Context


def asked(question: str) -> AnswerFromContext:
    return AnswerFromContext(question, Context())


async def test_replies_come_in_the_order_of_the_script():
    model = ScriptedModel({AnswerFromContext: ["one", "two"]})

    assert await model.perform_all([asked("a"), asked("b")]) == ["one", "two"]


async def test_a_function_replies_by_the_task():
    model = ScriptedModel({AnswerFromContext: lambda task: task.question.upper()})

    assert await model.perform(asked("a")) == "A"
    assert [piece async for piece in model.stream(asked("a\nb"))] == ["A\n", "B"]


async def test_an_exception_in_the_script_is_raised_or_is_a_value_among_replies():
    failure = BadReply("cut off")
    model = ScriptedModel({AnswerFromContext: [failure, failure, "two"]})

    with pytest.raises(BadReply, match="cut off"):
        await model.perform(asked("a"))
    ticks: list[None] = []
    assert await model.perform_all([asked("a"), asked("b")], lambda: ticks.append(None)) == [failure, "two"]
    assert len(ticks) == 2


async def test_it_remembers_what_it_was_asked():
    model = ScriptedModel({AnswerFromContext: ["one", "two"], ReduceAnswer: ["three"]})
    await model.perform_all([asked("a"), asked("b")])
    await model.perform(ReduceAnswer("c", ()))

    assert model.seen(ReduceAnswer).question == "c"
    assert [task.question for task in model.all_seen(AnswerFromContext)] == ["a", "b"]
    with pytest.raises(AssertionError, match="2 times"):
        model.seen(AnswerFromContext)


async def test_a_task_without_a_script_fails_the_test():
    with pytest.raises(AssertionError, match="no reply to ReduceAnswer"):
        await ScriptedModel({}).perform(ReduceAnswer("c", ()))
