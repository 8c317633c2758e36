"""An implausible reply to a task is requested again; if it stays implausible, a failure is recorded."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import simulated_replies
from llm_corpus import documents, settings
from making import SEED
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import tasks
from conspectus.index import Index
from conspectus.models.llm.plausible import flaw
from conspectus.models.llm.prompts import Prompts
from conspectus.models.llm.replies import parse
from conspectus.rows import Chunk, Entity
from conspectus.tasks import Task
from conspectus.tasks.base import Context

TABLES = ("entities", "relationships", "communities", "reports", "failures")
THANKS = "Thank you for sharing the text! What would you like me to do with it?"
GREETING, REFUSAL = "Sure! Here you go:", "I'm sorry, but I can't assist with that request."
GERMAN = (
    "Das Wetter ist heute schön und die Sonne scheint über den Bergen, aber es wird bald regnen, und dann "
    "gehen wir alle nach Hause, weil der Weg lang ist und wir nicht nass werden wollen."
)
FINDING = {"summary": "One", "explanation": "It is."}


def in_json(text: str, name: str) -> str:
    """Return a reply to the task `name` whose texts are all `text`; just `text` if the task has no JSON reply."""
    row = {"name": text, "type": "person", "description": text}
    report = {"title": text, "summary": text, "rating": 5, "rating_explanation": text, "findings": [FINDING]}
    replies: Mapping[str, Any] = {
        "ExtractGraph": {"entities": [row], "relationships": []},
        "GleanMore": {"entities": [row], "relationships": []},
        "DescribeElements": {"descriptions": [{"number": n, "text": text} for n in range(1, 9)]},
        "WriteReport": report,
    }
    return json.dumps(replies[name]) if name in replies else text


GARBAGE: tuple[Callable[[str], str], ...] = (
    lambda name: "[]",
    lambda name: "xq zv qqwk 0x3f",
    lambda name: in_json("zzxq qvvk", name),
    lambda name: in_json(GREETING, name),
    lambda name: in_json(REFUSAL, name),
    lambda name: in_json(GERMAN, name),
    lambda name: in_json("short and specific, naming the key entities", name),
    lambda name: '{"ratings":[{"passage":1,"rating":3}]}',
    lambda name: "<ANSWER_HELPFULNESS> 90 </ANSWER_HELPFULNESS>\nzzxq",
    lambda name: "yes",
)
TRACES = re.compile(r"zzxq|xq zv|\[\]$|Sure!|sorry|Wetter|short and specific|HELPFULNESS|ratings|^yes$", re.M)


class Unreliable:
    """Replies as the simulated server does, except that a random fifth of the replies is garbage."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked, self.wrong = seed, Counter[str](), 0

    def __call__(self, messages: Any, schema: Any = None, name: str = "") -> str:
        task, key = simulated_replies.task_of(messages), str(messages)
        self.asked[key] += 1
        draw = simulated_replies.number(self.seed, key, self.asked[key])
        if draw % 5 or task == "AnyMissed":  # its reply is a plain yes or no
            return simulated_replies.reply_to(messages, schema, name)
        self.wrong += 1
        return GARBAGE[draw // 5 % len(GARBAGE)](task)


def built(server: SimulatedServer, folder: Path, **more: Any) -> Index:
    return conspectus.build(documents=documents(), folder=folder, settings=settings(server.url, **more)).index


def untouched(index: Index, failed: Index) -> dict[str, Any]:
    """Return the rows of an index that the failures of another build (three wrong replies) do not affect."""
    errors = " ".join(failure.error for failure in failed.failures)
    lost = {index.chunks[int(number)].id for number in re.findall(r"of chunk (\d+)", errors)}
    names = {f"entity {e.name}": e for e in index.entities}
    names |= {f"relationship {r.source} - {r.target}": r for r in index.relationships}
    rows: dict[str, Any] = {
        name: (row.description, row.chunk_ids, row.spans)
        for name, row in names.items()
        if f"{name}:" not in errors and not lost.intersection(row.chunk_ids)
    }
    if {failure.stage for failure in failed.failures} <= {"describe"}:  # else communities differ
        rows[""] = tuple(index.communities)
        failed_numbers = {entity.number for entity in index.entities if entity.name in errors}
        numbers = {c.number: c.entity_numbers for c in index.communities}
        rows |= {r.title: r for r in index.reports if failed_numbers.isdisjoint(numbers[r.community])}
    return rows


@pytest.mark.parametrize("seed", [3 + 2 * SEED, 4 + 2 * SEED])
def test_of_a_server_that_replies_wrongly_every_fifth_time_nothing_reaches_a_table(seed: int, tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        clean = built(server, tmp_path / "clean", reports__strict=True)
    replies = Unreliable(seed)
    with SimulatedServer(Behaviour(), replies) as server:
        index = built(server, tmp_path / "index", reports__strict=True)

    assert replies.wrong >= 8, "a fifth of some hundred, as any seed draws it"
    for table in TABLES:
        assert not any(TRACES.search(str(row)) for row in getattr(index, table))
    assert SEED or not index.failures
    if not index.failures:
        assert all(list(getattr(index, table)) == list(getattr(clean, table)) for table in TABLES)
    assert untouched(clean, index).items() <= untouched(index, index).items()


def test_what_is_never_answered_is_a_recorded_failure(tmp_path: Path):
    def only_greets(messages: Any, schema: Any = None, name: str = "") -> str:
        task = simulated_replies.task_of(messages)
        greets = task in ("DescribeElement", "DescribeElements", "WriteReport")
        return in_json(GREETING, task) if greets else simulated_replies.reply_to(messages, schema, name)

    with SimulatedServer(Behaviour(), only_greets) as server:
        index = built(server, tmp_path, reports__strict=True)

    assert {failure.stage for failure in index.failures} == {"describe", "reports"}
    assert not any("Sure!" in str(row) for table in TABLES[:4] for row in getattr(index, table))


def test_a_cached_reply_that_is_none_is_served_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def careless(messages: Any, schema: Any = None, name: str = "") -> str:
        task = simulated_replies.task_of(messages)
        wrong = task == "DescribeElement"
        return GREETING if wrong else simulated_replies.reply_to(messages, schema, name)

    with SimulatedServer(Behaviour(), careless) as server, monkeypatch.context() as unchecked:
        unchecked.setattr("conspectus.models.llm.model.flaw", lambda *_: "")
        before = built(server, tmp_path / "before", reports__strict=True)
    assert any(entity.description == GREETING for entity in before.entities)
    (tmp_path / "later").mkdir()
    shutil.copy(tmp_path / "before/replies.sqlite", tmp_path / "later")
    with SimulatedServer(Behaviour()) as server:
        after = built(server, tmp_path / "later", reports__strict=True)
    assert set(server.counts) >= {"DescribeElement"}
    assert "ExtractGraph" not in server.counts
    assert not any(entity.description == GREETING for entity in after.entities)


@pytest.mark.parametrize(
    "said",
    [
        "[]",
        "null",
        "<html><h1>502 Bad Gateway</h1></html>",
        GREETING,
        THANKS,
        REFUSAL,
        '{"entities":[],"relationships":[]}',
    ],
)
def test_an_answer_is_streamed_when_it_is_known_to_be_one(said: str, tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        index = built(server, tmp_path)
    once: list[str] = []

    def first_wrong(messages: Any, schema: Any = None, name: str = "") -> str:
        if simulated_replies.task_of(messages) == "AnswerFromContext" and not once:
            once.append(said)
            return said
        return simulated_replies.reply_to(messages, schema, name)

    with SimulatedServer(Behaviour(), first_wrong) as server:
        answer = conspectus.ask(
            "What did Ada Byrne do?", index, method="local", settings=settings(server.url)
        )
    assert once
    assert said not in answer.text
    assert "Ada Byrne" in answer.text


# Single replies

CHUNK = Chunk("c", 1, "d", 0, 36, "Ada Byrne bought Lune Mills in 1911.", 9)
ROWS = Context(entities=(Entity("e", 1, "Lune Mills", "organization", "A mill."),), sources=(CHUNK,))
MILL = tasks.DescribeElement("Lune Mills", "entity", ("A mill on the Lune.", "Ada Byrne's mill."))
WHO = tasks.AnswerFromContext("Who bought Lune Mills?", ROWS)


def why_not(task: Task[Any], reply: str) -> str:
    return flaw(task, parse(task, reply).reply, Prompts().render(task))


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        (MILL, "The mills were bought in 1911."),
        (MILL, "Lune was Ada's."),
        (tasks.DescribeElement("Hello! Project", "entity", ("A choir.",)), "Hello! Project is a choir."),
        (
            tasks.DescribeElement("青叶合作社", "entity", ("一个合作社。",), language="zh"),
            "青叶合作社成立于1911年。",
        ),
        (tasks.DescribeElement("青叶合作社", "entity", ("A shop.",)), "Qingye Cooperative is a shop."),
        (tasks.DescribeElement("Пушкин", "entity", ("Поэт.",), language="ru"), "О Пушкине писали многие."),
        (WHO, "Ada Byrne."),
        (WHO, "I'm sorry, but the data does not tell who bought Lune Mills."),
        (WHO, "1911"),
        (tasks.AnswerFromContext("是谁买下了磨坊?", ROWS), "抱歉，资料没有说明是谁买下了磨坊。"),
        (tasks.StandaloneQuestion("Who bought it?", ()), "Who bought it?"),
        (tasks.DraftAnswer("Who was she?"), '{"reasoning":"","answer":"Ada Byrne"}'),
        (tasks.MapAnswer("Who?", ROWS), "<ANSWER_HELPFULNESS> 0 </ANSWER_HELPFULNESS>"),
    ],
)
def test_a_reply_that_is_one_passes(task: Task[Any], reply: str):
    assert why_not(task, reply) == ""


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        (MILL, "It was bought in 1911."),
        (MILL, f"{GREETING} Lune Mills is a mill."),
        (MILL, "..."),
        (
            tasks.DescribeElement("青叶合作社", "entity", ("一个合作社。",), language="zh"),
            "好的，青叶合作社如下：",
        ),
        (
            tasks.DescribeElement("青叶合作社", "entity", ("一个合作社。",), language="zh"),
            "抱歉，我无法完成。",
        ),
        (WHO, WHO.question),
        (WHO, "As an AI language model, I cannot answer who bought Lune Mills."),
        (WHO, GERMAN),
        (WHO, "What the data does not tell, say that it does not."),
        (tasks.NameEntities(CHUNK.text), '{"entities":["zzxq"]}'),
        (tasks.ExtractTriples(CHUNK, ()), '{"triples":[{"head":"x1","relation":"y1","tail":"z1"}]}'),
        (tasks.NextThought(WHO.question, ROWS), "zzxq qvvk wqqk vvvk zqqw"),
        (
            tasks.Judge("Q", "a", "b", tasks.Criterion("c", "d")),
            json.dumps({"reasoning": REFUSAL, "winner": 1}),
        ),
        (tasks.UserTasks("Papers.", tasks.Persona("A", "B"), 1), json.dumps({"tasks": [GREETING]})),
    ],
)
def test_a_reply_that_is_none_is_known(task: Task[Any], reply: str):
    assert why_not(task, reply)


def test_what_is_wrong_with_a_description_names_its_element():
    assert "Lune Mills" in why_not(MILL, "It was bought in 1911.")


def test_words_from_inside_a_sentence_of_the_prompt_are_a_reply():
    task = tasks.AnswerFromContext("Which matters come up?", Context(sources=(CHUNK,)))

    assert not flaw(task, "The data does not tell.", Prompts().render(task))
