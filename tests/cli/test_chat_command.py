"""`conspectus chat`, and stored conversations."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import using
from rich.cells import cell_len
from simulated_replies import reply_to, task_of
from simulated_server import Behaviour, SimulatedServer

from conspectus.cli.ask import COMMANDS

Run = Callable[..., Any]
STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
TALK = "Who is Ada Brook?\n\nAnd where did she go in 1905?\n"


def test_lines_of_standard_input_are_questions_of_one_conversation(run: Run, indexed: Path):
    result = run("chat", "--index", indexed, input=TALK)

    assert result.stdout.index("# Who is Ada Brook?") < result.stdout.index("# And where did she go in 1905?")
    assert "taken as “Where did Ada Brook go in 1905?” (“she” means Ada Brook)" in result.stderr
    assert result.stdout.count("Sources") == 2


def test_with_json_each_answer_is_a_line(run: Run, indexed: Path):
    result = run("chat", "--json", "--index", indexed, input=TALK)

    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["question"] for a in answers] == ["Who is Ada Brook?", "Where did Ada Brook go in 1905?"]


def test_commands_begin_anew_show_sources_and_end(run: Run, indexed: Path):
    said = (
        "/sources\nWho is Ada Brook?\n/sources\n/new\nWhere did she go in 1905?\n/what\n/help\n/quit\nWho?\n"
    )
    result = run("chat", "--index", indexed, input=said)

    assert "There is no answer that cites anything yet." in result.stderr
    assert result.stdout.count("Sources") >= 2
    assert "A new conversation." in result.stderr
    assert "taken as" not in result.stderr
    assert "no command /what" in result.stderr
    assert COMMANDS.splitlines()[1] in result.stderr
    assert "# Who?" not in result.stdout


def test_a_question_that_fails_leaves_the_others_standing_and_ends_with_3(run: Run, indexed: Path):
    said = "Who is Ada Brook?\nWhat did she pay for?\n"
    result = run("chat", "--method", "vector", "--index", indexed, input=said, code=3)

    assert result.stderr.count("error: the index has no vectors") == 2


def test_a_conversation_is_kept_and_gone_on_with_question_by_question(run: Run, indexed: Path):
    run("ask", "Who is Ada Brook?", "--conversation", "talk.jsonl", "--index", indexed)
    result = run("ask", "Where did she go in 1905?", "--conversation", "talk.jsonl", "--index", indexed)

    assert "“she” means Ada Brook" in result.stderr
    assert len(Path("talk.jsonl").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    "more",
    [["--questions", "q.txt"], ["Who is Ada Brook?", "--context-only"]],
)
def test_what_does_not_go_together_is_refused(run: Run, indexed: Path, more: list[str]):
    result = run("ask", "--index", indexed, "--conversation", "talk.jsonl", *more, code=2)
    assert "--conversation cannot be used with" in result.stderr


# At a terminal

ACQUIRE = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from conspectus.cli import main; "
    "sys.argv[0] = 'conspectus'; main()"
)
"""Code that makes the terminal the process's controlling one, for Ctrl-C, and runs the command line."""
CTRL_C, CTRL_D = "\x03", "\x04"
MARKDOWN = (
    "## The *mill*\n\nIt was **bought** by Ada Byrne \x1b]52;c;aGVsbG8=\x07\x1b[31mthen\x1b[0m.\n\n"
    "- one\n- two\n"
)


class Typist:
    """Runs a command on its own pseudo-terminal and types at its prompt."""

    def __init__(self, cwd: Path, *args: object, columns: int = 60, **environ: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", ACQUIRE, *map(str, args)],
            cwd=cwd, env={**inherited, "TERM": "xterm-256color", "PYTHONUTF8": "1", **environ},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def interrupt(self, text: str) -> None:
        """Type Ctrl-C until a text is shown, then wait for a prompt after which no more output is pending.

        A Ctrl-C that arrives just before the prompt waits for keys goes unnoticed until the next key.
        """
        self.type(CTRL_C)
        self.until(text, again=CTRL_C)
        self.until("? ")
        self.type("/synchronize\n")  # after a second Ctrl-C there may be a second prompt
        self.until("no command /synchronize")
        self.until("\n? ")

    def until(self, text: str, again: str = "") -> str:
        """Return the output since the last call, up to and including a text.

        again: keys to type whenever nothing is shown for two seconds.
        """
        while text not in self.shown:
            assert self._readable(again), f"{text!r} was not shown: {self.shown!r}"
            try:
                part = os.read(self._terminal, 1 << 16)
            except OSError:  # Linux raises this at the end of the output
                part = b""
            assert part, f"{text!r} was not shown before the end: {self.shown!r}"
            self.shown += part.decode("utf-8", "replace").replace("\r\n", "\n")
        before, self.shown = self.shown.split(text, 1)
        return before + text

    def _readable(self, again: str) -> bool:
        """Wait up to a minute for output; return whether there is any."""
        for _ in range(30):
            if select.select([self._terminal], [], [], 2)[0]:
                return True
            self.type(again)
        return False

    def ended(self) -> int:
        """Wait for the end of the process and return its exit code."""
        code = self.process.wait(60)
        os.close(self._terminal)
        return code


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals as Unix has them")
def test_at_a_terminal_answers_are_set_words_are_commands_and_an_interrupt_stops_an_answer(
    tmp_path: Path, papers: Path
):
    asked, released = threading.Event(), threading.Event()

    def reply(messages: Any, *more: Any) -> str:
        if "never answered" in str(messages):
            asked.set()
            released.wait(60)
        return MARKDOWN if task_of(messages) == "AnswerFromContext" else reply_to(messages, *more)

    with SimulatedServer(Behaviour(), reply) as server:
        chat = Typist(tmp_path, "chat", "--method", "local", "--index", papers, *using(server))
        chat.until("? ")
        chat.type("help\n")
        assert "/sources" in chat.until("\n? ")
        chat.type("\n   \n")
        chat.until("   \n? ")
        assert server.counts["requests"] == 0

        chat.type("What did Ada Byrne buy?\n")
        first = chat.until("\n? ")
        assert "**" not in first
        assert "##" not in first
        assert "\x1b[1mbought\x1b[0m" in first
        assert "aGVsbG8=" not in first
        assert "\x1b[31m" not in first
        assert "answered by local" in first

        chat.type("What is never answered?\n")
        assert asked.wait(60)
        chat.interrupt("stopped")
        released.set()

        chat.type("What did Bo Quill buy?\n")
        second = chat.until("\n? ")
        assert "bought" in second
        assert "answered by" not in second

        requests = server.counts["requests"]
        chat.interrupt("\n")
        chat.type("exit\n")
        assert chat.ended() == 0
        assert server.counts["requests"] == requests


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals as Unix has them")
@pytest.mark.parametrize("columns", [60, 100])
def test_at_a_terminal_sources_are_shown_when_asked_for_and_fit_it(
    tmp_path: Path, sampled: Path, columns: int
):
    chat = Typist(tmp_path, "chat", "--index", sampled, columns=columns)
    chat.until("? ")
    chat.type("Who is Ishbel Corran?\n")
    answer = chat.until("\n? ")
    chat.type("/sources\n")
    sources = chat.until("\n? ")
    chat.type("/method\n")
    assert "--method NAME" in " ".join(chat.until("\n? ").split())
    chat.type(CTRL_D)

    assert chat.ended() == 0
    assert "/sources" in answer
    assert "\nSources" not in STYLE.sub("", answer)
    assert "\nSources" in STYLE.sub("", sources)
    for line in STYLE.sub("", answer + sources).split("\n"):
        assert cell_len(line) <= columns
        assert not re.search(r"\[\d*m", line)


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals as Unix has them")
@pytest.mark.parametrize("columns", [60, 100])
def test_at_a_terminal_without_colours_nothing_but_text_is_shown(tmp_path: Path, sampled: Path, columns: int):
    chat = Typist(tmp_path, "chat", "--index", sampled, columns=columns, NO_COLOR="1")
    shown = chat.until("? ")
    for keys in ("help", "Who is Ishbel Corran?", "/sources", "/method"):
        chat.type(f"{keys}\n")
        shown += chat.until("\n? ")
    chat.type("exit\n")

    assert chat.ended() == 0
    assert "\x1b" not in shown
    assert max(cell_len(line) for line in shown.split("\n")) <= columns


@pytest.mark.parametrize("word", ["exit", "quit", "/exit", "/quit", "EXIT", "quit()", "bye", "help", "/help"])
def test_words_that_people_type_to_leave_or_for_help_are_no_questions(run: Run, indexed: Path, word: str):
    result = run("chat", "--index", indexed, input=f"{word}\nexit\nWho is Ada Brook?\n")

    assert result.stdout == ""
    assert ("/sources" in result.stderr) == ("help" in word)


def test_the_folder_of_a_conversation_is_created_or_refused_before_anything_is_asked(run: Run, indexed: Path):
    run("chat", "--index", indexed, "--conversation", "new/notes.jsonl", input="What is the Orran Mill?\n")
    assert Path("new/notes.jsonl").is_file()

    refused = run(
        "chat", "--index", indexed, "--conversation", "new/notes.jsonl/a.jsonl", input="Who?\n", code=2
    )
    assert "cannot be saved" in refused.stderr
    assert not refused.stdout


@pytest.mark.parametrize("line", ["/method bm25", "/sources 1"])
def test_commands_with_what_belongs_to_them_are_no_questions(run: Run, indexed: Path, line: str):
    assert run("chat", "--index", indexed, input=f"{line}\n").stdout == ""


def test_a_question_that_begins_with_help_is_asked(run: Run, indexed: Path):
    assert "# help Ada Brook" in run("chat", "--index", indexed, input="help Ada Brook\n").stdout


@pytest.mark.parametrize("word", ["sources", "method", "new", "clear", "/clear", "Sources"])
def test_commands_need_no_slash_where_they_stand_alone(run: Run, indexed: Path, word: str):
    result = run("chat", "--index", indexed, input=f"{word}\n")

    assert result.stdout == ""
    assert "no command" not in result.stderr
    assert (
        f"# {word} Ada Brook" in run("chat", "--index", indexed, input=f"{word} Ada Brook\n").stdout
        or "/" in word
    )
