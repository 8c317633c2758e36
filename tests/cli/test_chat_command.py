"""`conspectus ask --chat`, and conversations that are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conspectus.api.conversing import Conversation
from conspectus.cli import chat
from conspectus.tables import Index

Run = Callable[..., Any]
TALK = "Who is Ada Brook?\n\nAnd where did she go in 1905?\n"


def test_lines_of_standard_input_are_questions_of_one_conversation(run: Run, indexed: Path):
    result = run("ask", "--chat", "--index", indexed, input=TALK)

    assert result.stdout.index("# Who is Ada Brook?") < result.stdout.index("# And where did she go in 1905?")
    assert "taken as “Where did Ada Brook go in 1905?” (“she” means Ada Brook)" in result.stderr
    assert result.stdout.count("Sources") == 2


def test_with_json_each_answer_is_a_line(run: Run, indexed: Path):
    result = run("ask", "--chat", "--json", "--index", indexed, input=TALK)

    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["question"] for a in answers] == ["Who is Ada Brook?", "Where did Ada Brook go in 1905?"]


def test_commands_begin_anew_show_sources_and_end(run: Run, indexed: Path):
    said = "/sources\nWho is Ada Brook?\n/sources\n/new\nWhere did she go in 1905?\n/what\n/help\n/quit\nWho?\n"
    result = run("ask", "--chat", "--index", indexed, input=said)

    assert "There is no answer that cites anything yet." in result.stderr
    assert result.stdout.count("Sources") >= 2
    assert "A new conversation." in result.stderr
    assert "taken as" not in result.stderr
    assert "there is no /what; /help shows what there is" in result.stderr
    assert chat.HELP.splitlines()[1] in result.stderr
    assert "# Who?" not in result.stdout


def test_a_question_that_fails_leaves_the_others_standing_and_ends_with_3(run: Run, indexed: Path):
    said = "Who is Ada Brook?\nWhat did she pay for?\n"
    result = run("ask", "--chat", "--method", "vector", "--index", indexed, input=said, code=3)

    assert result.stderr.count("error: the index has no vectors") == 2


def test_a_conversation_is_kept_and_gone_on_with_question_by_question(run: Run, indexed: Path):
    run("ask", "Who is Ada Brook?", "--conversation", "talk.jsonl", "--index", indexed)
    result = run("ask", "Where did she go in 1905?", "--conversation", "talk.jsonl", "--index", indexed)

    assert "“she” means Ada Brook" in result.stderr
    assert len(Path("talk.jsonl").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    "more",
    [["--chat", "Who is Ada Brook?"], ["--chat", "--questions", "q.txt"], ["--chat", "--context-only"]],
)
def test_what_does_not_go_together_is_refused(run: Run, indexed: Path, more: list[str]):
    assert "a conversation goes with" in run("ask", "--index", indexed, *more, code=2).stderr


# At a terminal


class Typed:
    """Types lines at the prompt; an exception among them is raised there."""

    def __init__(self, *lines: Any) -> None:
        self._lines = iter(lines)

    def isatty(self) -> bool:
        return True

    def __call__(self, prompt: str) -> str:
        line = next(self._lines, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line


def test_at_a_terminal_sources_are_shown_when_asked_for_and_interrupts_end_nothing(
    opened: Index, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    typed = Typed("Who is Ishbel Corran?", KeyboardInterrupt(), "/sources")
    monkeypatch.setattr("sys.stdin", typed)
    monkeypatch.setattr("builtins.input", typed)
    shown: list[int] = []

    talk = Conversation(opened)
    chat.talk(talk, lambda answer, streamed: shown.append(len(answer.citations)), streams=False, json=False)

    told = capsys.readouterr()
    assert shown == [0]
    assert "sources: /sources" in told.err
    assert "Sources" in told.out
    assert "/help shows what else there is" in told.err
