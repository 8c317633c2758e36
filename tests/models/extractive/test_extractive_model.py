"""The extractive model: which tasks it performs, and its error for the others."""

from __future__ import annotations

import pytest
from making import an_index, some_documents, whole_chunk

from conspectus.errors import ModelError, NotSupported
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.tasks import AnswerFromContext, AnyMissed, DescribeElement, ExtractGraph, Task, Turn
from conspectus.tasks.base import Context
from conspectus.text.types import ALL

TEXT = "The keeper of the lock, Mara Tolan, went to Quenda with her old friend from the mill."


class Unheard(Task[str]):
    """A task that no model performs."""


async def test_it_says_what_to_do_where_a_task_needs_a_language_model():
    with pytest.raises(NotSupported, match="Unheard needs a language model: name one with model="):
        await ExtractiveModel().perform(Unheard())


async def test_it_never_looks_again_for_what_was_missed():
    assert await ExtractiveModel().perform(AnyMissed(Turn(Unheard(), ""))) is False


async def test_questions_need_an_index():
    with pytest.raises(ModelError, match="of_index"):
        await ExtractiveModel().perform(AnswerFromContext("Who?", Context()))


async def test_it_reads_a_chunk_in_the_light_of_the_corpus_it_was_fitted_on():
    documents = some_documents("Quenda is far.", "They sailed to Quenda.")
    task = ExtractGraph(whole_chunk(documents[0]), ALL)

    assert (await ExtractiveModel().perform(task)).entities == ()
    assert [e.name for e in (await ExtractiveModel.fit(documents, ALL).perform(task)).entities] == ["Quenda"]


async def test_replies_come_in_the_order_of_the_tasks_and_each_is_told():
    ticks: list[None] = []
    tasks = [DescribeElement("a", "entity", (text,)) for text in ("One.", "Two.")]

    replies = await ExtractiveModel().perform_all(tasks, lambda: ticks.append(None))

    assert [reply.text for reply in replies if not isinstance(reply, ModelError)] == ["One.", "Two."]
    assert len(ticks) == 2


async def test_an_answer_can_be_streamed():
    index = an_index(TEXT, entities=["Mara Tolan", "Quenda"])
    task = AnswerFromContext("Who went to Quenda?", Context(sources=tuple(index.chunks)))
    model = ExtractiveModel.of_index(index)

    assert "".join([piece async for piece in model.stream(task)]) == await model.perform(task)
    assert TEXT in await model.perform(task)


def test_it_writes_nothing_of_its_own():
    assert ExtractiveModel.generative is False
