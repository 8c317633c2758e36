"""No file, output, log, trace or exception of any command contains the API key, whatever the server does with it."""

from __future__ import annotations

import json
import shutil
import sqlite3
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import simulated_replies
from cli.test_help import LEAVES
from llm_corpus import ASKED, documents
from simulated_server import Behaviour, Refusal, SimulatedServer
from typer.testing import CliRunner

from conspectus.cli.app import app

KEY = "canary7f3a9c51e2d84b60"
"""Unlike the key of any service, so that only code that knows this key can redact it."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "demo": (),
    "index": ("docs",),
    "ask": ("What did Ada Byrne do?", "--method", "local"),
    "chat": (),
    "search": ("Ada Byrne",),
    "report": ("0",),
    "entity": ("Ada Byrne",),
    "path": ("Ada Byrne", "Bo Quill"),
    "map": ("--out", "map.html"),
    "serve": ("--help",),  # the command itself would not end
    "mcp": ("--help",),
    "export": ("json", "--out", "out.json"),
    "correct merge": ("Ada Byrne", "Bo Quill"),
    "correct split": ("Bo Quill",),
    "correct rename": ("Dora Pask", "Dora"),
    "correct retype": ("Lune Mills", "mill"),
    "correct delete": ("Gull Rock",),
    "correct add-fact": ("Sam Orr", "Nell Dray", "Sam Orr met Nell Dray."),
    "correct list": (),
    "correct undo": ("1",),
    "correct apply": (),
    "import graphrag": ("docs",),
    "import triples": ("triples.tsv",),
    "import openie": ("triples.tsv",),
    "status": (),
    "rollback": (),
    "check": (),
    "cache": (),
    "embed": ("--embedder", "simulated"),
    "tune": ("docs",),
    "config": (),
    "init": ("begun",),
    "models check": (),
    "eval retrieval": ("docs",),
    "eval context": ("asked.jsonl",),
    "eval qa": ("asked.jsonl",),
    "eval ablate": (),
    "eval questions": ("--out", "questions.json"),
    "eval answers": ("asked.txt", "--out", "study"),
    "eval table2": (),
    "eval judge": ("study",),
    "eval stats": ("study",),
    "eval claims": ("study",),
    "eval grounding": ("study",),
    "eval report": ("study",),
    "eval people export": ("study", "--out", "people"),
    "eval people import": ("study", "people.csv"),
    "eval people agreement": ("study",),
}


def echoing(messages: Any, schema: Any = None, name: str = "") -> str:
    """Reply as the simulated server does, with the key after each of two names."""
    reply = simulated_replies.reply_to(messages, schema, name)
    return reply.replace("Ada Byrne", f"Ada Byrne {KEY}").replace("Bo Quill", f"Bo Quill {KEY[:9]}{KEY}")


def failing(messages: Any, schema: Any = None, name: str = "") -> str:
    raise Refusal(500, f"Authorization: Bearer {KEY} failed", KEY, KEY)


def failing_in_batches(messages: Any, schema: Any = None, name: str = "") -> str:
    """Answer the first call, which is a direct one, and fail with the key in the message afterwards."""
    if simulated_replies.task_of(messages) == "ExtractGraph" and "p00" in str(messages):
        return simulated_replies.reply_to(messages, schema, name)
    return failing(messages, schema, name)


def refusing(messages: Any, schema: Any = None, name: str = "") -> str:
    raise Refusal(400, f"the key {KEY} may not do that: json_schema, logit_bias, stream", KEY, KEY)


SERVERS: dict[str, tuple[Behaviour, Any]] = {
    "echoes it": (Behaviour(), echoing),
    "does not accept it": (Behaviour(key="another"), simulated_replies.reply_to),
    "fails": (Behaviour(), failing),
    "refuses": (Behaviour(), refusing),
    "hangs": (Behaviour(hangs=1.0), simulated_replies.reply_to),
    "sends what is no reply": (Behaviour(), lambda *_: f"{{{KEY}"),
}


def contents(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the contents of all files of a folder, as text; of tables and databases, the rows as well."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        yield path, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield path, str(pq.read_table(path).to_pylist())
        if path.suffix == ".sqlite":
            with sqlite3.connect(path) as database:
                yield path, "\n".join(database.iterdump())


def test_the_table_of_arguments_has_every_command():
    assert ARGUMENTS.keys() == {" ".join(path) for path, _ in LEAVES}


SHORT = ("echoes it", "fails")
"""Servers that every test run uses; the others take 15 s each and are in the long run only."""


@pytest.mark.parametrize(
    "kind", [kind if kind in SHORT else pytest.param(kind, marks=pytest.mark.long) for kind in SERVERS]
)
def test_no_command_shows_the_key(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, papers: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("conspectus.models.llm.sender.FIRST_BACKOFF", 0.0)
    shutil.copytree(papers, tmp_path / "papers")
    (tmp_path / "papers/replies.sqlite").unlink()
    (tmp_path / "docs").mkdir()
    for document in documents(3):
        (tmp_path / f"docs/{document['id']}.txt").write_text(document["text"])
    (tmp_path / "triples.tsv").write_text("Ada Byrne\tmet\tBo Quill\n")
    (tmp_path / "asked.txt").write_text("\n".join(ASKED[:1]))
    rows = [{"question": ASKED[0], "answer": "Bo Quill", "gold": ["p00"]}]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, rows)))
    behaviour, reply = SERVERS[kind]
    with SimulatedServer(behaviour, reply) as server:
        used = ["llm.timeout=0.3", "llm.attempts=2", "llm.trace=trace.jsonl", "llm.trace_texts=true"]
        for path, command in LEAVES:
            name = " ".join(path)
            options = {option for parameter in command.params for option in parameter.opts}
            flags = ["--index", "new" if name in ("index",) else "papers"] if "--index" in options else []
            flags += ["--model", "simulated"] if "--model" in options else []
            flags += ["--base-url", server.url] if "--base-url" in options else []
            flags += [part for value in used for part in ("--set", value)] if "--set" in options else []
            flags += ["--yes"] if "--yes" in options else []
            flags += ["--log", "run.log"]
            monkeypatch.setenv("CONSPECTUS_API_KEY", KEY)  # again for each command: `demo` removes it
            result = CliRunner().invoke(
                app, [*path, *ARGUMENTS[name], *flags], prog_name="conspectus", input="Who is Ada Byrne?\n"
            )
            error = result.exception
            assert error is None or isinstance(error, SystemExit), f"{name}: {error!r}"
            assert KEY not in result.stdout + result.stderr, name
            while error is not None:  # what a crash report would contain
                assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error)), name
                error = error.__cause__ or error.__context__
        assert server.counts["requests"] >= 8
    assert (tmp_path / "trace.jsonl").exists()
    assert [path for path, text in contents(tmp_path) if KEY in text] == []


BATCHES: dict[str, tuple[Behaviour, Any]] = {
    "echo it": (Behaviour(), echoing),
    "fail": (Behaviour(batch_ends="failed", batch_error=f"No {KEY} here"), simulated_replies.reply_to),
    "have it in their ids": (Behaviour(ids=f"{KEY}-"), simulated_replies.reply_to),
    "answer with errors": (Behaviour(), failing_in_batches),
    "are no replies": (Behaviour(), lambda *_: f"{{{KEY}"),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_no_batch_shows_the_key_while_it_is_open_or_afterwards(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("conspectus.models.llm.sender.FIRST_BACKOFF", 0.0)
    for pause in ("QUIET", "FIRST_POLL", "LONGEST_POLL"):
        monkeypatch.setattr(f"conspectus.models.llm.batches.{pause}", 0.01)
    monkeypatch.setenv("CONSPECTUS_API_KEY", KEY)
    (tmp_path / "docs").mkdir()
    for document in documents(3):
        (tmp_path / f"docs/{document['id']}.txt").write_text(document["text"])
    behaviour, reply = BATCHES[kind]
    opened: list[Path] = []
    shown: list[Path] = []

    class Watching(SimulatedServer):
        """Checks the stored state of batches at each request to create or look up a batch."""

        def _look(self) -> None:
            stored = list(contents(tmp_path / "new/batches"))
            opened.extend(path for path, _ in stored)
            shown.extend(path for path, text in stored if KEY in text)

        async def create_batch(self, request: Any) -> Any:
            self._look()
            return await super().create_batch(request)

        async def batch(self, request: Any) -> Any:
            self._look()
            return await super().batch(request)

    with Watching(behaviour, reply) as server:
        given = ["--index", "new", "--model", "simulated", "--base-url", server.url, "--batch", "--yes"]
        used = ["llm.attempts=2", "llm.trace=trace.jsonl", "llm.trace_texts=true"]
        given += [part for value in used for part in ("--set", value)]
        result = CliRunner().invoke(
            app, ["index", "docs", *given, "--log", "run.log"], prog_name="conspectus"
        )
    assert KEY not in result.stdout + result.stderr
    assert {path.suffix for path in opened} >= {".json", ".jsonl"}
    assert (tmp_path / "trace.jsonl").exists()
    assert shown + [path for path, text in contents(tmp_path) if KEY in text] == []


@pytest.mark.parametrize("variable", ["CONSPECTUS_API_KEY", "OPENAI_BASE_URL"])
def test_an_address_with_a_key_in_it_is_refused_without_repeating_it(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, papers: Path
):
    monkeypatch.chdir(tmp_path)
    address = f"http://127.0.0.1:9/v1?api-key={KEY}"
    monkeypatch.setenv(variable, address if variable == "OPENAI_BASE_URL" else "another")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    given = ["--model", "openai/x"] + (["--base-url", address] if variable != "OPENAI_BASE_URL" else [])
    (tmp_path / "a.txt").write_text("Ada Byrne met Bo Quill.")
    commands = (
        ["ask", "Who?", "--index", str(papers)],
        ["index", "a.txt", "--index", "new"],
        ["models", "check"],
    )
    for command in commands:
        result = CliRunner().invoke(app, [*command, *given, "--log", "run.log"], prog_name="conspectus")
        assert result.exit_code
        assert KEY not in result.stdout + result.stderr
    assert [path for path, text in contents(tmp_path) if KEY in text] == []


def test_an_address_of_a_reranker_with_a_key_in_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, papers: Path
):
    monkeypatch.chdir(tmp_path)
    by = f"rerank.by=http://127.0.0.1:9/v1?api-key={KEY}"
    command = ["search", "Ada Byrne", "--index", str(papers), "--set", by, "--log", "run.log"]
    result = CliRunner().invoke(app, command, prog_name="conspectus")
    assert result.exit_code
    assert KEY not in result.stdout + result.stderr
    assert [path for path, text in contents(tmp_path) if KEY in text] == []
