"""The last step of every method: the final answer."""

from __future__ import annotations

from making import an_index
from scripted import ScriptedModel

from conspectus.messages import wording
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval.base import NOTHING, empty_answer, finish
from conspectus.rows import Answer
from conspectus.tasks import AnswerFromContext
from conspectus.tasks.base import Context

INDEX = an_index("Bees swarm in May.", entities=["Bees"])
TASK = AnswerFromContext("What do bees do?", Context(sources=tuple(INDEX.chunks)))
DRAFT = Answer(TASK.question, "", "local", level=2, context_tokens=9, notices=("Look.",))


async def finished(text: str) -> Answer:
    model = ScriptedModel({AnswerFromContext: [text]})
    return await finish(TASK, DRAFT, INDEX, model)


async def test_references_are_checked_before_anyone_reads_them():
    answer = await finished("They swarm [Data: Sources (0)], they knit [Data: Sources (7)].\n")

    assert answer.text == "They swarm [1], they knit."
    assert [c.sources[0].text for c in answer.citations] == ["Bees swarm in May."]
    assert answer.removed_references == 1


async def test_an_answer_says_how_it_was_made():
    answer = await finished("They swarm.")

    assert (answer.question, answer.method, answer.level, answer.context_tokens) == (
        TASK.question,
        "local",
        2,
        9,
    )
    assert answer.notices == ("Look.", wording("en").uncited)
    assert (await finished("They swarm [Data: Sources (0)].")).notices == ("Look.", wording("en").written)


async def test_what_was_assembled_from_quotations_bears_no_notice_of_an_ai():
    answer = await finish(TASK, Answer(TASK.question, "", "local"), INDEX, ExtractiveModel.of_index(INDEX))

    assert answer.notices == ()


async def test_an_empty_reply_is_an_answer_that_found_nothing():
    draft = Answer(TASK.question, "", "local", level=2, context_tokens=9)
    assert await finished(" [Data: Sources (9)] ") == empty_answer(draft, INDEX)
    assert empty_answer(draft, INDEX).text == NOTHING
    assert empty_answer(draft, INDEX).citations == ()
