"""Questions about a corpus, generated from its description alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scripted import Script, ScriptedModel

from conspectus.errors import BadReply, UsageError
from conspectus.evaluation.questions import ROUNDS, QuestionCounts, make_questions
from conspectus.tasks import GlobalQuestions, Persona, Personas, UserTasks

ABOUT = "Letters of a river valley."


def people(count: int) -> tuple[Persona, ...]:
    return tuple(Persona(f"Reader {n}", "Reads.") for n in range(count))


def numbered(prefix: str) -> Iterator[str]:
    n = 0
    while True:
        n += 1
        yield f"{prefix} {n}?"


def a_model(script: Script | None = None) -> ScriptedModel:
    """Return a model that writes as many different lines as requested; a script may replace its replies."""
    tasks, questions = numbered("Task"), numbered("Question")
    usual: Script = {
        Personas: lambda task: people(task.count),
        UserTasks: lambda task: tuple(next(tasks) for _ in range(task.count)),
        GlobalQuestions: lambda task: tuple(next(questions) for _ in range(task.count)),
    }
    return ScriptedModel({**usual, **(script or {})})


async def test_every_user_asks_for_every_task():
    model = a_model()

    made = await make_questions(ABOUT, model, QuestionCounts(3, 2, 4))

    assert len(made.questions) == 24
    assert len({q.id for q in made.questions}) == 24
    assert {q.persona for q in made.questions} == {f"Reader {n}: Reads." for n in range(3)}
    assert len({(q.persona, q.task) for q in made.questions}) == 6
    assert len(model.tasks) == 1 + 3 + 3 * 2
    assert not made.notices


async def test_nothing_but_the_description_is_read():
    model = a_model()

    await make_questions(ABOUT, model, QuestionCounts(1, 1, 1))

    assert {getattr(task, "description", "") for task in model.tasks} == {ABOUT}


async def test_what_comes_twice_is_asked_for_again_with_what_is_known():
    said = [("Why is it so?", "why is it SO", "How?"), ("Who?",)]
    model = a_model(script={GlobalQuestions: said})

    made = await make_questions(ABOUT, model, QuestionCounts(1, 1, 3))

    assert [q.text for q in made.questions] == ["Why is it so?", "How?", "Who?"]
    first, again = model.all_seen(GlobalQuestions)
    assert (first.count, first.known, first.sample) == (3, (), 0)
    assert (again.count, again.known, again.sample) == (1, ("Why is it so?", "How?"), 1)


async def test_a_question_counts_once_whoever_asks_it():
    replies = iter([("Why?", "How?"), ("Why?", "What?"), ("When?",)])
    model = a_model(script={GlobalQuestions: lambda task: next(replies)})

    made = await make_questions(ABOUT, model, QuestionCounts(2, 1, 2))

    assert [q.text for q in made.questions] == ["Why?", "How?", "What?", "When?"]


async def test_a_model_that_only_repeats_itself_is_given_up_and_told():
    model = a_model(script={GlobalQuestions: lambda task: ("Why?",)})

    made = await make_questions(ABOUT, model, QuestionCounts(1, 1, 5))

    assert [q.text for q in made.questions] == ["Why?"]
    assert len(model.all_seen(GlobalQuestions)) == ROUNDS
    assert made.notices == ("4 of 5 questions are missing: the model repeats itself",)


async def test_more_than_was_asked_for_is_left():
    model = a_model(script={Personas: lambda task: people(9)})

    assert len((await make_questions(ABOUT, model, QuestionCounts(2, 1, 1))).questions) == 2


async def test_a_failure_leaves_the_rest_standing_and_is_told():
    def said(task: GlobalQuestions) -> tuple[str, ...]:
        if task.persona.name == "Reader 1":
            raise BadReply("no JSON")
        return (f"Why {task.persona.name}?",)

    made = await make_questions(ABOUT, a_model(script={GlobalQuestions: said}), QuestionCounts(3, 1, 1))

    assert [q.text for q in made.questions] == ["Why Reader 0?", "Why Reader 2?"]
    assert made.failed == 1
    assert made.notices == ("1 of 3 lists of questions failed: no JSON",)


async def test_tasks_that_failed_leave_the_questions_on_the_others():
    def said(task: UserTasks) -> tuple[str, ...]:
        if task.persona.name == "Reader 1":
            raise BadReply("no JSON")
        return ("Compare.",)

    made = await make_questions(ABOUT, a_model(script={UserTasks: said}), QuestionCounts(2, 1, 2))

    assert len(made.questions) == 2
    assert made.notices == ("1 of 2 lists of tasks failed: no JSON",)


async def test_where_all_fails_the_failure_is_raised():
    with pytest.raises(BadReply):
        await make_questions(
            ABOUT, a_model(script={Personas: [BadReply("no JSON")]}), QuestionCounts(1, 1, 1)
        )


async def test_a_chinese_description_is_asked_about_in_chinese():
    model = a_model()

    await make_questions("一个河谷的书信，讲述工厂和船只。", model, QuestionCounts(1, 1, 1))

    assert {task.language for task in model.tasks} == {"zh"}


async def test_nothing_can_be_made_of_nothing():
    with pytest.raises(UsageError, match="description of the corpus is empty"):
        await make_questions(" \n", a_model())
    with pytest.raises(UsageError, match="at least one"):
        await make_questions(ABOUT, a_model(), QuestionCounts(users=0))
