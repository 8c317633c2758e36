"""Output of commands on a real pseudo-terminal, which no text of documents or replies can control."""

from __future__ import annotations

import io
import json
import os
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from conspectus import api
from conspectus.cli import show, terminal
from conspectus.cli.app import app
from conspectus.rows import Failure, one_line, plain
from conspectus.settings import Settings

unix = pytest.mark.skipif(sys.platform == "win32", reason="needs terminals and file names as Unix has them")

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ "
    "\x1b]52;c;aGVsbG8=\x07 \x07 \x9b1mC1\x9d8;;http://evil.example\x9c \x1bP1$r\x1b\\ end"
)
STYLE = re.compile(r"\x1b\[[0-9;]*m")
RESIDUE = re.compile(r"\[\d*(?:;\d+)*m|\]8;|\]52;|aGVsbG8=")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
QUESTION = "Who is Ada Brook?"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index of documents whose texts, titles and file names contain control sequences."""
    folder = tmp_path_factory.mktemp("hostile")
    text = (
        "Ada Brook bought the Orran Mill in 1901 from Ruben Vale. Ada Brook and Ruben Vale met "
        f"{HOSTILE} at the Orran Mill, which the river Tarn flooded. 北京的市长在河边的老磨坊里会见了布鲁克女士。"
    )
    (folder / "mill\x1b[31m\nForged line: all is well.txt").write_text(text, encoding="utf-8")
    (folder / ("a-long-name-of-a-file-" * 6 + "end.txt")).write_text(
        f"Ruben Vale wrote to Ada Brook of the Orran Mill {HOSTILE} and of the river Tarn.", encoding="utf-8"
    )
    (folder / "broken\x1b]52;c;aGVsbG8=\x07\nForged failure.docx").write_bytes(b"no archive")
    return api.build(folder, tmp_path_factory.mktemp("indexes") / "hostile", settings=Settings()).folder


Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A function that runs a command on a pseudo-terminal and returns all of its output."""
    import fcntl
    import pty
    import struct
    import termios

    def run(*args: object, columns: int = 60) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        parts: list[bytes] = []

        def read() -> None:
            while True:
                try:
                    part = os.read(ours, 1 << 16)
                except OSError:  # Linux raises this at the end of the output
                    return
                if not part:
                    return
                parts.append(part)

        reader = threading.Thread(target=read)
        reader.start()
        stream = open(theirs, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
        with monkeypatch.context() as patched:
            patched.delenv("COLUMNS", raising=False)
            patched.setenv("TERM", "xterm-256color")
            patched.setattr(sys, "stdout", stream)
            patched.setattr(sys, "stderr", stream)
            app([str(arg) for arg in args], prog_name="conspectus", standalone_mode=False)
            stream.close()
        reader.join()
        os.close(ours)
        return b"".join(parts).decode().replace("\r\n", "\n")

    return run


def commands(index: Path) -> list[list[object]]:
    return [
        ["ask", QUESTION, "--index", index],
        ["ask", "What are the main themes?", "--index", index],
        ["search", "Orran Mill", "--index", index],
        ["entity", "Ada Brook", "--index", index],
        ["path", "Ada Brook", "Ruben Vale", "--index", index],
        ["report", "--index", index],
        ["report", "0", "--index", index],
        ["status", "--index", index],
        ["status", "--history", "--index", index],
    ]


@unix
@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("colour", [True, False])
def test_commands_fit_a_terminal_and_show_nothing_of_control_sequences(
    shown: Shown, hostile: Path, monkeypatch: pytest.MonkeyPatch, columns: int, colour: bool
):
    monkeypatch.setenv("NO_COLOR", "" if colour else "1")
    for command in commands(hostile):
        written = shown(*command, columns=columns)
        text = STYLE.sub("", written)

        assert text.strip(), command
        assert not CONTROL.search(text), command
        assert not RESIDUE.search(text), command
        assert not [line for line in text.split("\n") if cell_len(line) > columns], command
        assert not [line for line in text.split("\n") if line.startswith("Forged")], command
        if colour and command[0] in ("ask", "search", "entity", "path"):
            assert STYLE.search(written), command
        if not colour:
            assert not STYLE.search(written), command


@unix
def test_words_are_whole_where_lines_end(shown: Shown, sampled: Path):
    narrow = shown("search", "Sandle Bank", "--index", sampled, columns=60)
    wide = shown("search", "Sandle Bank", "--index", sampled, columns=1000)

    def words(text: str) -> list[str]:
        return [part for part in re.split(r"[\s/]+", STYLE.sub("", text)) if part]

    assert words(narrow) == words(wide)


def test_nothing_of_control_characters_reaches_a_pipe(run: Callable[..., object], hostile: Path):
    for command in commands(hostile):
        result = run(*command)
        assert not CONTROL.search(result.stdout + result.stderr), command  # type: ignore[attr-defined]


def test_json_holds_what_a_document_says_but_no_character_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str],
):
    show.as_json({"text": HOSTILE})

    printed = capsys.readouterr().out
    assert not CONTROL.search(printed)
    assert json.loads(printed) == {"text": HOSTILE}


def test_errors_show_no_control_characters(run: Callable[..., object], hostile: Path):
    result = run("entity", f"Nobody {HOSTILE}", "--index", hostile, code=1)

    assert not CONTROL.search(result.stderr)  # type: ignore[attr-defined]
    assert result.stderr.count("\n") == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x07", "link"),
        ("\x9b31mred\x9d52;c;aGVsbG8=\x9c.", "red."),
        ("\x1b]52;c;never ended", "52;c;never ended"),
        ("\x1b", ""),
        ("bell\x07, null\0, delete\x7f", "bell, null, delete"),
        ("one\r\ntwo\n\tthree", "one\ntwo\n\tthree"),
        ("before\rafter\u2028next", "before after next"),
        ("safe\u202etxt.exe", "safetxt.exe"),
        ("Zoë, 北京, עברית, naïve", "Zoë, 北京, עברית, naïve"),
    ],
)
def test_cleaning_removes_control_sequences_and_leaves_the_text(text: str, cleaned: str):
    assert plain(text) == cleaned


def test_cleaning_takes_time_in_proportion_to_the_text():
    for opening in ("\x1b[", "\x1b]", "\x9d", "\x9b0"):
        assert not CONTROL.search(plain(opening * 200_000))


def test_names_stay_on_one_line():
    assert one_line("a\nForged\r\n line\u2029\x1b[2K.txt") == "a Forged line .txt"
    lines: list[str] = []
    show.failures([Failure("read", "is empty\nForged 2:", "a\nb.txt")], lines.append)
    assert lines[1:] == ["  a b.txt: is empty Forged 2:"]


# Wrapping


@pytest.mark.parametrize("width", [20, 33, 60])
def test_wrapped_lines_fit_keep_all_words_and_are_indented_as_their_text(width: int):
    text = "[12] folder/another/a-file-with-a-name-that-is-longer-than-any-line-of-these.txt, characters 10-20 of it"

    lines = terminal.wrap(text, width)

    assert all(cell_len(line) <= width for line in lines)
    assert all(line.startswith("    ") for line in lines[1:])
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_sources_are_indented_alike_however_many_numbers_lead_to_them():
    for numbers in ("[1]", "[1][2][3]", "[10][11][12][13][14][15][16]"):
        lines = terminal.wrap(
            f"{numbers} minutes/2021-09-09-minutes-town-council.txt, characters 303-381", 40
        )
        assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {4}


def test_a_wrapped_branch_of_a_tree_goes_on_with_its_line():
    assert terminal.wrap("├─ 12  A title that is long", 20) == ["├─ 12  A title that", "│      is long"]
    assert terminal.wrap("7  A title that is long", 15) == ["7  A title that", "   is long"]


def test_chinese_is_wrapped_between_characters_by_the_columns_that_they_take():
    lines = terminal.wrap("北京的市长在河边会见了布鲁克女士。" * 3, 20)

    assert all(10 < cell_len(line) <= 20 for line in lines[:-1])


class Wide(io.StringIO):
    """A terminal of 40 columns in memory."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Wide:
    stream = Wide()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_a_table_that_is_too_wide_has_its_head_in_lines_then_becomes_lists(
    narrow: Wide, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "stdout", narrow)
    show.table([["Task", "Tokens asked", "Tokens written"], ["ExtractGraph", "1,000,000", "2,000"]])
    assert narrow.getvalue() == (
        "                 Tokens   Tokens\nTask              asked  written\nExtractGraph  1,000,000    2,000\n"
    )

    narrow.seek(0)
    narrow.truncate()
    show.table([["Task", *("Tokens" for _ in range(7))], ["Extract", *("1,000,000" for _ in range(7))]])
    assert STYLE.sub("", narrow.getvalue()) == "Extract\n" + "  Tokens: 1,000,000\n" * 7


# Markdown: complete, and while it is streamed

ANSWER = f"""# The *settlement*

The **voluntary closure** of Sandle Bank was agreed in *March* 2021, after the terns had failed to raise a
single chick for two years [1][2]. It was `never` meant to last, as the [byelaw](http://evil.example/x) shows.
- A first point, which is long enough to be wrapped over more than one line [3].
- A second point
  - with a nested one that is also long, so that it is wrapped somewhere in the middle
- A third {HOSTILE} and <b>html</b>

1. One
2. Two

| Name | Year |
|---|---|
| Quill | 1927 |

> A quotation that goes on, and on, and on, and on, and on, and on, and on.

```python
def f(x):

    return x
```

The end [1]. 5 * 3 is 15, and snake_case stays.

[1]: http://hidden.example
"""


def streamed(stream: io.StringIO, pieces: Iterator[str]) -> str:
    shows = terminal.Stream(stream)
    for piece in pieces:
        shows(piece)
    shows.finish()
    return stream.getvalue()


def cut(text: str, seed: int) -> Iterator[str]:
    draw, at = random.Random(seed), 0
    while at < len(text):
        size = draw.randint(1, 12)
        yield text[at : at + size]
        at += size


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_streamed_answer_is_set_as_it_would_be_whole_wherever_its_pieces_are_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    whole = [line for line in terminal.markdown(ANSWER, Wide(), columns) if STYLE.sub("", line).strip()]

    for seed in range(5):
        written = streamed(Wide(), cut(ANSWER, seed))
        assert [line for line in written.split("\n") if STYLE.sub("", line).strip()] == whole
        text = STYLE.sub("", written)
        assert not CONTROL.search(text)
        assert not RESIDUE.search(text)
        assert all(cell_len(line) <= columns for line in text.split("\n"))
        assert not re.search(r"\*\*|^#|```", text, re.MULTILINE)
        assert "<b>html</b>" in text
        assert "http://evil.example/x" in text
        assert "[1]" in text


def test_a_paragraph_is_shown_line_by_line(narrow: Wide):
    stream = terminal.Stream(narrow)
    stream("The closure of the quay was agreed by the **whole council, ")
    assert not narrow.getvalue()

    stream("without** a vote, on the first of May ")
    assert (
        STYLE.sub("", narrow.getvalue())
        == "The closure of the quay was agreed by\nthe whole council, without a vote, on\n"
    )
    stream("1921.\n\nThe")
    assert STYLE.sub("", narrow.getvalue()).endswith("vote, on\nthe first of May 1921.\n")


def test_a_paragraph_is_shown_when_it_ends_and_code_when_it_is_whole(narrow: Wide):
    stream = terminal.Stream(narrow)
    stream("The closure was agreed.\n\nThe terns")
    assert narrow.getvalue() == "The closure was agreed.\n"

    stream(" had failed.\n\n```\na = 1\n\nb = 2\n")
    assert "a = 1" not in narrow.getvalue()
    stream("```\n\nThe")
    assert "b = 2" in narrow.getvalue()


def test_elsewhere_an_answer_is_streamed_as_it_is_written_without_control_characters():
    piped = io.StringIO()
    pieces = list(cut("# A *title*\n\n- a **point**", 1))

    assert streamed(piped, iter(pieces)) == "# A *title*\n\n- a **point**\n"
    assert not CONTROL.search(streamed(io.StringIO(), cut(ANSWER, 2)))


def test_without_colours_markdown_has_no_codes(narrow: Wide, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", narrow)

    show.markdown("# A *title* with `code`")
    show.out(show.bold("Sources"))

    assert "\x1b" not in narrow.getvalue()
    assert "Sources" in narrow.getvalue()


def test_conditions_in_messages_are_not_written_as_options():
    assert show.with_options("those where folder=a/b and model=P7.") == "those where folder=a/b and model=P7."
    assert show.with_options("name it: folder='x'") == "name it: --index x"
