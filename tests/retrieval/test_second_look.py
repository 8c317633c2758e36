"""With a language model, `auto` retrieves a second time for what is missing if the evidence is not sufficient."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from making import a_built_index
from scripted import ScriptedModel
from simulated_replies import reply_to, task_of
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.errors import BudgetReached, ModelError
from conspectus.retrieval.model_wrappers import joined
from conspectus.rows import Answer, Chunk
from conspectus.tasks import AnswerFromContext
from conspectus.tasks.base import Context

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "../shared/data/strong-model"
FILLER = " ".join(f"It was quiet there on day {day}, as ever." for day in range(30))
TEXTS = (
    f"Mara Tolan built the weir of Quenda. She sailed her boat by it every Sunday. {FILLER}",
    f"Zorba Orrin is the brother of Mara Tolan. Zorba Orrin grew up in Lissam, and he never left. {FILLER}",
    f"The bakery of Quenda opens at seven. Its bread is known in the whole valley. {FILLER}",
)
INDEX = a_built_index(*TEXTS)
QUESTION = "Who is related to the builder of the weir of Quenda?"
MISSING = (
    "<DATA_SUFFICES> no: where Zorba Orrin grew up </DATA_SUFFICES>\nIt is not told [Data: Sources (0)]."
)
FOUND = "<DATA_SUFFICES> yes </DATA_SUFFICES>\nIn Lissam [Data: Sources (1)]."


def ask(*replies: Any, method: str = "auto", **more: Any) -> tuple[Answer, list[AnswerFromContext]]:
    """Ask with a window of two chunks and a model with given replies; return the answer and the model's tasks."""
    model = ScriptedModel({AnswerFromContext: list(replies)})
    heard = {name: more.pop(name) for name in ("on_text", "on_method") if name in more}
    chosen = {"answer.context_tokens": 1000}
    chosen |= {name.replace("__", "."): value for name, value in more.items()}
    answer = api.ask(QUESTION, INDEX, method=method, model=model, settings=chosen, **heard)
    return answer, model.all_seen(AnswerFromContext)


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("<DATA_SUFFICES> yes </DATA_SUFFICES>\nIn Lissam.", (True, "", "In Lissam.")),
        ("<DATA_SUFFICES>yes</DATA_SUFFICES> In Lissam.", (True, "", "In Lissam.")),
        ("**<DATA_SUFFICES> Yes. </DATA_SUFFICES>**\n\nIn Lissam.", (True, "", "In Lissam.")),
        ("DATA_SUFFICES: yes\nIn Lissam.", (True, "", "In Lissam.")),
        ("<DATA_SUFFICES> no: the brother </DATA_SUFFICES>\nUntold.", (False, "the brother", "Untold.")),
        ("<DATA_SUFFICES> No - his brother\nUntold.", (False, "his brother", "Untold.")),
        ("<DATA_SUFFICES> Notes of 1911 </DATA_SUFFICES>\nUntold.", (False, "Notes of 1911", "Untold.")),
        ("<DATA_SUFFICES> no </DATA_SUFFICES>\nUntold.", (False, "", "Untold.")),
        ("<DATA_SUFFICES> no: nothing </DATA_SUFFICES>\nUntold.", (False, "", "Untold.")),
        ("<DATA_SUFFICES> no：周秀兰的出生地 </DATA_SUFFICES>\n没有。", (False, "周秀兰的出生地", "没有。")),
        ("<DATA_SUFFICES> 是 </DATA_SUFFICES>\n南浔。", (True, "", "南浔。")),
        ("In Lissam.", (True, "", "In Lissam.")),
        (" ", (False, "", " ")),
    ],
)
def test_the_first_line_of_a_reply_says_whether_the_data_suffices(reply: str, parts: tuple[bool, str, str]):
    assert AnswerFromContext.parts(reply) == parts


def test_what_is_missing_is_searched_for_and_the_question_answered_again():
    answer, (first, second) = ask(MISSING, FOUND)

    assert answer.text == "In Lissam [1]."
    assert (answer.question, answer.rounds, answer.clues) == (QUESTION, 2, ("where Zorba Orrin grew up",))
    assert answer.sufficient
    assert "where Zorba Orrin grew up" in answer.why
    assert second.question == QUESTION
    assert first.context.sources == (INDEX.chunks[0], INDEX.chunks[2])
    assert second.context.sources == (INDEX.chunks[0], INDEX.chunks[1])


@pytest.mark.parametrize("enough", [{"auto__rounds": 1}, {"method": "walk"}])
def test_one_round_is_all_where_the_settings_or_the_method_say_so(enough: Mapping[str, Any]):
    answer, seen = ask(MISSING, **enough)

    assert len(seen) == 1
    assert (answer.text, answer.rounds, answer.sufficient) == ("It is not told [1].", 1, False)
    assert answer.clues == ("where Zorba Orrin grew up",)


def test_rounds_are_counted_in_all_and_the_last_answer_says_what_the_sources_lack():
    answer, seen = ask(MISSING, MISSING, MISSING, auto__rounds=3)

    assert (len(seen), answer.rounds, len(answer.clues), answer.sufficient) == (3, 3, 3, False)
    assert answer.text == "It is not told [1]."


def test_a_reply_that_names_nothing_to_search_for_is_the_answer():
    answer, seen = ask("<DATA_SUFFICES> no </DATA_SUFFICES>\nIt is not told.")

    assert (len(seen), answer.rounds, answer.sufficient, answer.text) == (1, 1, False, "It is not told.")


def test_nothing_of_an_answer_is_shown_that_another_follows():
    pieces: list[str] = []
    told: list[str] = []
    answer, seen = ask(MISSING, FOUND, on_text=pieces.append, on_method=lambda _, why: told.append(why))

    assert "".join(pieces) == answer.text == "In Lissam [1]."
    assert [task.question for task in seen] == [QUESTION, QUESTION]
    assert len(told) == 2
    assert "where Zorba Orrin grew up" in told[1]


@pytest.mark.parametrize("reply", [MISSING, FOUND, "**In** Lissam.", "In Lissam.\n\nOr so.", "\n"])
def test_of_the_last_answer_everything_but_the_first_line_is_shown(reply: str):
    pieces: list[str] = []
    answer, _ = ask(reply, on_text=pieces.append, auto__rounds=1)

    assert "".join(pieces).strip() == answer.text
    assert "SUFFICES" not in answer.text


@pytest.mark.parametrize("error", [BudgetReached("the budget is used up"), ModelError("it broke")])
@pytest.mark.parametrize("streams", [True, False])
def test_where_a_further_round_fails_the_answer_before_it_stands_with_a_notice(
    error: Exception, streams: bool
):
    pieces: list[str] = []
    answer, _ = ask(MISSING, error, on_text=pieces.append if streams else None)

    assert answer.text == "It is not told [1]."
    assert answer.rounds == 1
    assert any(str(error) in notice and "where Zorba Orrin grew up" in notice for notice in answer.notices)
    assert "".join(pieces) == (answer.text if streams else "")


def test_an_empty_answer_takes_the_place_of_none():
    answer, _ = ask(MISSING, "<DATA_SUFFICES> no </DATA_SUFFICES>")

    assert (answer.text, answer.rounds, answer.sufficient) == ("It is not told [1].", 2, False)


def test_the_next_context_has_what_was_cited_first_and_is_the_same_where_nothing_is_new():
    old, new = INDEX.chunks[:2], INDEX.chunks[2:]
    sizes = sum(chunk.n_tokens for chunk in (*old, *new))

    def chosen(window: int, *found: Chunk) -> list[int]:
        context = joined(Context(sources=tuple(old)), Context(sources=found), {old[1].id}, window)
        return [chunk.number for chunk in context.sources]

    assert chosen(3 * sizes, *new, old[0]) == [1, 2, 0]
    assert chosen(sizes * 3 // 4, *new, old[0]) == [1, 2]
    assert chosen(3 * sizes, *new) == [1, 2, 0]
    assert chosen(3 * sizes, old[1]) == [0, 1]


def test_without_a_language_model_there_is_one_round_and_nothing_quoted_is_not_sufficient():
    quoted = api.ask("Who built the weir of Quenda?", INDEX)
    absent = api.ask("Which zebras roam Paris?", a_built_index("Bees swarm in May."))

    assert (quoted.rounds, quoted.sufficient, quoted.clues) == (1, True, ())
    assert (absent.rounds, absent.sufficient) == (1, False)


# Over HTTP


def lacking(messages: Any, *more: Any) -> str:
    """Reply as the simulated model does, but report missing evidence for every question."""
    if task_of(messages) == "AnswerFromContext":
        return "<DATA_SUFFICES> no: the price of the mill </DATA_SUFFICES>\nIt is not told."
    return reply_to(messages, *more)


def with_the_least_budget(question: str, folder: Path, server: SimulatedServer) -> Answer:
    """Answer with the smallest budget that allows a call; a smaller one sends nothing."""
    for budget in range(1000, 20_000, 500):
        with suppress(BudgetReached):
            limited = settings(server.url, llm__budget_tokens=budget, answer__context_tokens=1000)
            return conspectus.ask(question, folder, settings=limited)
    raise AssertionError("no budget reached for a call")


def test_the_same_question_is_paid_for_once_and_a_budget_for_one_round_gives_its_answer(tmp_path: Path):
    question = "When was Ada Byrne born?"
    with SimulatedServer(Behaviour(), lacking) as server:
        conspectus.build(documents=documents(), folder=tmp_path)
        small = settings(server.url, answer__context_tokens=1000)
        first = conspectus.ask(question, tmp_path, settings=small)
        again = conspectus.ask(question, tmp_path, settings=small)
        conspectus.build(documents=documents(), folder=tmp_path / "other")
        short = with_the_least_budget(question, tmp_path / "other", server)

    assert (first.rounds, first.usage.calls, first.clues[0]) == (2, 2, "the price of the mill")
    assert (again.text, again.usage.calls, again.usage.cached_calls) == (first.text, 0, 2)
    assert (short.rounds, short.usage.calls, short.text) == (1, 1, "It is not told.")
    assert any("the price of the mill" in notice for notice in short.notices)


# The recorded run of a strong model


def rows_of(file: str) -> list[dict[str, Any]]:
    """Return the rows of a file of the recorded run."""
    return [json.loads(line) for line in (RECORDED / file).read_text(encoding="utf-8").splitlines()]


def answers_of(file: str) -> dict[str, str]:
    """Return the recorded answers by question, without citation markers."""
    return {row["question"]: re.sub(r"\[\d+\]", "", row["answer"]) for row in rows_of(f"answers/{file}")}


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    """The questions that the recorded model could not answer by `auto`: its replies by `auto` and another method, and
    its clue query (without one, the sentence of its answer that says what is missing).
    """
    if not RECORDED.is_dir():
        pytest.skip(f"needs the recorded run in {RECORDED}")
    untold, told = answers_of("facts-auto.jsonl"), answers_of("hard-ircot.jsonl")
    clues = {question: untold[question].partition("\n")[0] for question in told}
    for row in rows_of("requests.jsonl"):
        asked = re.search(r"^Question: (.*)", row["messages"][-1]["content"], re.MULTILINE)
        if row["task"] == "ExamineEvidence" and asked and (clue := json.loads(row["reply"])["clue"]):
            clues[asked[1]] = clue
    world = json.loads((ROOT / "tests/data/sample_world.json").read_text(encoding="utf-8"))
    gold = {row["question"]: row for row in (*world["lookups"], *world["multi_hop"])}
    return {"untold": untold, "told": told, "clues": clues, "gold": gold}


@pytest.mark.parametrize(("window", "answered"), [(8000, 6), (2200, 3)])
def test_what_a_strong_model_did_not_find_is_found(
    window: int, answered: int, run: Mapping[str, Any], tmp_path: Path
):
    """The model repeats the recorded replies: the answer if the context has all the evidence, else that the sources do
    not contain it. A window of 2,200 tokens is as large as the recorded contexts.
    """
    folder = tmp_path / "index"
    shutil.copytree(RECORDED / "index", folder)
    index = api.open_index(folder)
    found = 0
    for question in run["told"]:
        row = run["gold"][question]
        needed = {*row.get("documents", ()), row.get("document")} - {None}

        def reply(task: AnswerFromContext, question: str = question, needed: set[str] = needed) -> str:
            read = {index.document_of[chunk.document_id].path for chunk in task.context.sources}
            if needed <= {path.removeprefix("sample/") for path in read}:
                return f"<DATA_SUFFICES> yes </DATA_SUFFICES>\n{run['told'][question]}"
            return f"<DATA_SUFFICES> no: {run['clues'][question]} </DATA_SUFFICES>\n{run['untold'][question]}"

        model = ScriptedModel({AnswerFromContext: reply})
        answer = api.ask(question, index, model=model, settings={"answer.context_tokens": window})
        assert answer.sufficient == (row["answer"] in answer.text)
        assert answer.sufficient or answer.rounds == 2
        found += answer.sufficient
    assert len(run["told"]) == 6
    assert found >= answered
