"""A model is a name, an address, or a function from messages to text; an embedder may be a function to vectors."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import simulated_replies
from llm_corpus import documents
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.api.asking import MethodName, RankingName
from conspectus.errors import BadReply, ModelError, SettingsError, UsageError
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.adapters import register
from conspectus.retrieval import METHODS, RANKINGS
from conspectus.tasks import AnswerFromContext, AnyMissed

QUICK = {"chunk.tokens": 120, "chunk.overlap": 20}
TEXTS = documents(4)
QUESTION = "What did Ada Byrne do?"


class Gateway:
    """A caller's own model that counts its calls and how many of them run at once."""

    def __init__(self, mark: str = "") -> None:
        self.mark = mark
        self._count = [0, 0, 0]

    async def __call__(self, messages: list[dict[str, str]]) -> str:
        assert all(set(message) == {"role", "content"} for message in messages)
        self._count[0] += 1
        self._count[1] += 1
        self._count[2] = max(self._count[1:])
        await asyncio.sleep(0)
        self._count[1] -= 1
        return simulated_replies.reply_to(messages)

    @property
    def calls(self) -> int:
        return self._count[0]

    @property
    def most_at_once(self) -> int:
        return self._count[2]


def in_a_thread(messages: list[dict[str, str]]) -> str:
    return simulated_replies.reply_to(messages)


async def vectors(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), float(text.count("a")), 1.0] for text in texts]


class Performer:
    """A model that takes tasks instead of prompts: it has `perform` only."""

    async def perform(self, task: Any) -> Any:
        if isinstance(task, AnswerFromContext):
            return f"Ada Byrne met Bo Quill [Data: Sources ({task.context.sources[0].number})]."
        if isinstance(task, AnyMissed):
            raise BadReply("this one is not for me")
        return await ExtractiveModel().perform(task)


def test_an_object_with_perform_alone_builds_an_index_and_answers_from_it(tmp_path: Path):
    built = conspectus.build(documents=TEXTS, folder=tmp_path, model=Performer(), settings=QUICK)
    answer = built.index.ask(QUESTION, method="bm25", model=Performer())

    assert built.index.entities
    assert built.index.reports
    assert built.index.settings["model"] == "python/Performer"
    assert all("not for me" in failure.error for failure in built.index.failures)
    assert answer.text == "Ada Byrne met Bo Quill [1]."
    assert answer.citations


def test_an_object_whose_perform_is_no_coroutine_answers(tmp_path: Path):
    class Plain:
        name = "plain"

        def perform(self, task: Any) -> str:
            return f"Ada Byrne met Bo Quill [Data: Sources ({task.context.sources[0].number})]."

    index = conspectus.build(documents=TEXTS, folder=tmp_path, settings=QUICK).index
    assert index.ask(QUESTION, method="bm25", model=Plain()).citations


def test_a_function_builds_an_index_and_answers_from_it(tmp_path: Path):
    gateway = Gateway()
    built = conspectus.build(documents=TEXTS, folder=tmp_path, model=gateway, settings=QUICK)
    assert built.index.entities
    assert built.index.settings["model"].startswith("python/")
    assert sum(usage.calls for usage in built.index.usage.values()) == gateway.calls > 0

    before = gateway.calls
    answer = conspectus.ask(QUESTION, built.index, model=gateway)
    assert answer.usage.calls == gateway.calls - before > 0
    assert conspectus.context(QUESTION, built.index, model=gateway, method="local").windows
    assert conspectus.Conversation(built.index, model=gateway).ask(QUESTION).text


def test_what_a_function_replied_is_asked_for_once(tmp_path: Path):
    gateway = Gateway()
    first = conspectus.build(documents=TEXTS, folder=tmp_path, model=gateway, settings=QUICK)
    calls = gateway.calls
    second = conspectus.build(documents=TEXTS, folder=tmp_path, model=gateway, settings=QUICK, fresh=True)
    assert gateway.calls == calls
    assert second.snapshot == first.snapshot


def test_a_function_is_called_as_often_at_once_as_the_settings_allow(tmp_path: Path):
    gateway = Gateway()
    settings = {**QUICK, "llm.concurrency": 2}
    conspectus.build(documents=TEXTS, folder=tmp_path, model=gateway, settings=settings)
    assert gateway.most_at_once <= 2


def test_a_budget_of_tokens_holds_for_a_function(tmp_path: Path):
    settings = {**QUICK, "llm.budget_tokens": 3000}
    with pytest.raises(ModelError, match="budget"):
        conspectus.build(documents=TEXTS, folder=tmp_path, model=Gateway(), settings=settings)


def test_a_function_that_is_not_asynchronous_is_called_in_threads(tmp_path: Path):
    built = conspectus.build(documents=TEXTS, folder=tmp_path, model=in_a_thread, settings=QUICK)
    assert built.index.usage
    assert conspectus.ask(QUESTION, built.index, model=lambda messages: in_a_thread(messages)).text


async def test_a_function_works_inside_a_running_loop(tmp_path: Path):
    built = conspectus.build(documents=TEXTS, folder=tmp_path, model=Gateway(), settings=QUICK)
    assert (await conspectus.aask(QUESTION, built.index, model=Gateway())).text
    pieces = [piece async for piece in conspectus.astream(QUESTION, built.index, model=Gateway())]
    assert "".join(map(str, pieces[:-1])).strip()


def test_an_embedder_may_be_a_function(tmp_path: Path):
    index = conspectus.build(documents=TEXTS, folder=tmp_path, embedder=vectors).index
    assert index.arrays["vectors.chunks"].shape[1] == 3
    assert conspectus.search(QUESTION, index, method="vector", embedder=vectors)
    assert conspectus.ask(QUESTION, tmp_path, method="hybrid").text  # in this process the function is known


def test_an_embedder_that_fails_on_the_way_is_warned_of_with_the_number_of_texts(tmp_path: Path):
    async def failing(texts: list[str]) -> list[list[float]]:
        if len(texts) > 2:  # not the texts of the first, short trial call
            raise OSError("connection lost")
        return await vectors(texts)

    with pytest.warns(UserWarning, match=r"None of \d+ texts has a vector.*connection lost.*embedder=\.\.\."):
        built = conspectus.build(
            documents=TEXTS, folder=tmp_path, embedder=failing, settings={"llm.attempts": 1}
        )

    assert [failure.stage for failure in built.failures] == ["embed"]
    assert any("has a vector" in notice for notice in built.notices)


def test_a_model_is_named_with_the_address_of_its_server(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        built = conspectus.build(
            documents=TEXTS, folder=tmp_path, model="simulated", base_url=server.url, settings=QUICK
        )
        assert built.index.settings["model"] == "simulated"
        answer = conspectus.ask(QUESTION, built.index, model="simulated", base_url=server.url)
        assert answer.usage.calls > 0
        assert api.estimate(
            documents=documents(5), folder=tmp_path, model="simulated", base_url=server.url
        ).calls


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, "returned NoneType"),
        (TypeError("takes 0 arguments"), "takes 0 arguments"),
        (ValueError("no"), "no"),
    ],
)
def test_a_function_that_does_not_do_what_it_should_is_named(tmp_path: Path, returned: Any, expected: str):
    async def gateway(messages: list[dict[str, str]]) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    with pytest.raises(ModelError, match=f"gateway.*{expected}"):
        conspectus.ask(QUESTION, index, method="local", model=gateway, settings={**QUICK, "llm.attempts": 1})


@pytest.mark.parametrize(("error", "calls"), [(ValueError("a bug"), 1), (ConnectionResetError("gone"), 3)])
def test_only_an_error_of_a_connection_has_a_function_called_again(
    tmp_path: Path, error: Exception, calls: int
):
    called: list[int] = []

    async def gateway(messages: list[dict[str, str]]) -> str:
        called.append(1)
        raise error

    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    with pytest.raises(ModelError, match=f"gateway.*{type(error).__name__}: {error}"):
        conspectus.ask(QUESTION, index, method="local", model=gateway, settings={**QUICK, "llm.attempts": 3})
    assert len(called) == calls


INVENTED = "A [Data: Sources (1, 77)]. B [Data: Entities (99)]. C [Data: Sources (78)]."


@pytest.mark.parametrize("method", ["walk", "local"])
def test_an_answer_says_how_many_references_of_a_model_led_nowhere(tmp_path: Path, method: str):
    async def gateway(messages: list[dict[str, str]]) -> str:
        return INVENTED

    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    with SimulatedServer(Behaviour(), reply=lambda *_: INVENTED) as server:
        addresses: list[Any] = [{"model": gateway}, {"model": "simulated", "base_url": server.url}]
        for address in addresses:
            pieces: list[str] = []
            for on_text in (pieces.append, None):
                answer = conspectus.ask(
                    QUESTION, index, method=method, settings=QUICK, on_text=on_text, **address
                )
                assert answer.text == "".join(pieces) == "A [1]. B. C."
                assert answer.removed_references == 3
                assert "3 references" in str(answer)


def test_vectors_that_are_none_are_named(tmp_path: Path):
    with pytest.raises(ModelError, match="returned list of 2 for 1 texts"):
        conspectus.build(
            documents=TEXTS, folder=tmp_path, embedder=lambda texts: [[1.0]] * (2 if len(texts) == 1 else 1)
        )


def test_functions_of_one_name_that_hold_different_things_have_different_names():
    def asking(model: str) -> Callable[..., Any]:
        return lambda messages: f"{model}: {messages}"

    def named(messages: list[dict[str, str]], model: str) -> str:
        return model

    @dataclass(slots=True)
    class Slotted:
        model: str

        def __call__(self, messages: list[dict[str, str]]) -> str:
            return self.model

    kinds = [
        (asking("a"), asking("b")),
        (functools.partial(named, model="a"), functools.partial(named, model="b")),
        (Gateway("a"), Gateway("b")),
        (Slotted("a"), Slotted("b")),
        (Gateway("a").__call__, Gateway("b").__call__),
        (lambda messages: "a", lambda messages: "b"),
    ]
    for one, other in kinds:
        assert register(one) != register(other)
    assert register(asking("a")) == register(asking("a"))
    assert register(Gateway("a")) == register(Gateway("a"))
    named.model_name = "mine"  # type: ignore[attr-defined]
    assert register(named) == "python/mine"


NESTED = """
async def hop(messages):
    return " ".join([x for x in ["one"]])
"""
INNER = """
def hop(messages):
    def inner():
        return "one"
    return inner()
"""
READ = """
WORD = "one"
def hop(messages):
    return WORD
"""
CALLED = """
def helper():
    return {"a": WORD}["a"]
WORD = "one"
def hop(messages):
    return [helper() for _ in "x"][0]
"""
NUMBER = """
LIMIT = 500
def hop(messages):
    return messages[0]["content"][:LIMIT]
"""
CONSTANT = """
def hop(messages):
    return messages[0]["content"][:500]
"""
OPTIONS = """
OPTIONS = {"temperature": 0.5, "stop": ["one"]}
def hop(messages):
    return repr(OPTIONS)
"""
CLOSURE = """
def make():
    helper = lambda: "one"
    def hop(messages):
        return helper()
    return hop
hop = make()
"""
ATTRIBUTE = """
def hop(messages):
    return messages[0]["content"].upper()
"""
DEFAULT = """
def hop(messages, word="one"):
    return word
"""
CLASS = """
class Hop:
    def __call__(self, messages):
        return self.word()
    def word(self):
        return "one"
hop = Hop()
"""
METHOD = """
class Hop:
    def __init__(self):
        self.limit = 500
    @property
    def word(self):
        return "one"
    def reply(self, messages):
        return self.word[:self.limit]
hop = Hop().reply
"""


def of_a_script(source: str, module: str = "__main__") -> Callable[..., Any]:
    values: dict[str, Any] = {"__name__": module}
    exec(source, values)  # noqa: S102
    return values["hop"]


@pytest.mark.parametrize("module", ["__main__", "gateways"])
@pytest.mark.parametrize(
    ("source", "edit"),
    [
        *((source, ("one", "two")) for source in (NESTED, INNER, READ, CALLED, DEFAULT, CLASS, METHOD)),
        *((source, ("500", "501")) for source in (NUMBER, CONSTANT, METHOD)),
        (OPTIONS, ("0.5", "0.9")),
        (OPTIONS, ("one", "two")),
        (CLOSURE, ("one", "two")),
        (ATTRIBUTE, ("upper", "lower")),
    ],
)
def test_a_function_that_was_edited_or_reads_another_value_is_another_model(
    source: str, edit: tuple[str, str], module: str
):
    name = register(of_a_script(source, module))
    assert register(of_a_script(source, module)) == name
    assert register(of_a_script(source.replace(*edit), module)) != name


PRINTED = """
from conspectus.models.llm.adapters import register
WORDS = {"one", "two", "three", "four"}
def hop(messages):
    return messages in WORDS or messages in {"a", "b", "c", "d"}
print(register(hop))
"""


def test_a_function_has_one_name_in_every_process():
    names: set[str] = set()
    for seed in "123":
        variables = os.environ | {"PYTHONHASHSEED": seed}
        ran = subprocess.run([sys.executable, "-c", PRINTED], env=variables, check=True, capture_output=True)
        names.add(ran.stdout.decode())
    assert len(names) == 1


COUNTING = """
calls = 0
def hop(messages):
    global calls
    calls += 1
    return "one"
"""
NOTING = """
calls, usage = [], {"tokens": 0}
def hop(messages):
    calls.append(messages)
    usage["tokens"] += 1
    return "one"
"""
ITSELF = """
class Hop:
    def __init__(self):
        self.calls, self.seen = 0, [0]
    def __call__(self, messages):
        self.calls += 1
        self.seen[0] += 1
        return "one"
hop = Hop()
"""


@pytest.mark.parametrize("source", [COUNTING, NOTING, ITSELF])
def test_a_function_that_counts_its_calls_stays_the_same_model(source: str):
    hop = of_a_script(source)
    name = register(hop)
    hop([])
    assert register(hop) == name


def test_an_index_of_a_function_says_that_this_process_lacks_it(tmp_path: Path):
    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    with pytest.raises(UsageError, match="pass the function itself"):
        conspectus.ask(QUESTION, index, model="python/elsewhere.gateway")


# Arguments


def test_question_and_index_in_the_other_order_are_named(tmp_path: Path):
    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    for call in (conspectus.ask, conspectus.context, conspectus.search):
        for given in (index, tmp_path, str(tmp_path)):
            with pytest.raises(UsageError, match="the question comes first"):
                call(given, QUESTION)  # type: ignore[arg-type, operator]


def test_an_argument_that_there_is_not_is_named_with_what_is_near(tmp_path: Path):
    with pytest.raises(TypeError, match="did you mean model"):
        conspectus.ask(QUESTION, tmp_path, modle="x")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "sources", [["Ada Byrne met Bo Quill."], "Ada Byrne met Bo Quill.", [{"text": "Ada"}]]
)
def test_texts_in_the_place_of_files_lead_to_documents(tmp_path: Path, sources: Any):
    with pytest.raises(UsageError, match="documents="):
        conspectus.build(sources, tmp_path)


def test_a_setting_with_an_underscore_leads_to_the_one_with_a_dot():
    with pytest.raises(SettingsError, match=r"chunk\.tokens"):
        conspectus.preview(documents=TEXTS, settings={"chunk_tokens": 800})


def test_settings_as_such_and_options_go_together(tmp_path: Path):
    gateway, settings = Gateway(), conspectus.Settings()
    built = conspectus.build(documents=TEXTS, folder=tmp_path, settings=settings, model=gateway)
    assert built.index.settings["model"] == register(gateway)
    with pytest.raises(SettingsError, match="password"):
        conspectus.ask(QUESTION, built.index, settings=settings, base_url="http://me:secret@host/v1")


def test_the_help_of_a_function_names_its_options_and_every_method():
    from inspect import signature

    for function in (conspectus.build, conspectus.ask, conspectus.context, conspectus.Conversation):
        assert {"model", "base_url", "embedder", "settings"} <= set(signature(function).parameters)
    assert all(f"`{method}`" in (conspectus.ask.__doc__ or "") for method in METHODS)
    assert all(f"`{method}`" in (conspectus.search.__doc__ or "") for method in RANKINGS)


def test_the_methods_that_an_editor_completes_are_those_that_there_are():
    assert set(get_args(get_args(MethodName)[0])) == {"auto", *METHODS}
    assert set(get_args(get_args(RankingName)[0])) == set(RANKINGS)


def test_progress_is_shown_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    conspectus.build(documents=TEXTS, folder=tmp_path / "quiet")
    assert capsys.readouterr().err == ""
    conspectus.build(documents=TEXTS, folder=tmp_path / "shown", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("extract") for line in lines)
    assert any(line.startswith("reports") for line in lines)


async def test_a_build_that_fails_leaves_no_work_behind(tmp_path: Path):
    def failing(messages: list[dict[str, str]]) -> str:
        raise RuntimeError("no reply")

    before = asyncio.all_tasks()
    with pytest.raises(ModelError):
        await conspectus.abuild(
            documents=TEXTS[:1], folder=tmp_path, model=failing, settings={"llm.attempts": 1}
        )
    for _ in range(3):  # a cancelled task ends in the next turns of the loop
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
