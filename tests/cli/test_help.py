"""Help: every command says what it does, has an example that works, and explains all of its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from conspectus import __version__, cli
from conspectus.cli.app import HINTS, app, described, summary
from conspectus.configuration import FIELDS

ROOT: Any = get_command(app)
RUN = CliRunner()
PRIVATE = re.compile(
    r"\bthe same (?:for|in|before)\b|\bwho (?:makes|looks|says)\b|\bpaid for twice\b(?<!never paid for twice)|"
    r"\breplies are kept\b|\bwhat is (?:said|told|claimed)\b|\bP[12]\b|\banother one\b|\bmade? anew\b|<str|<int|list\[",
    re.IGNORECASE,
)
"""Words of an old private vocabulary that readers would not understand, and names of Python types."""


def commands(command: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


ALL = list(commands())
LEAVES = [(path, command) for path, command in ALL if not isinstance(command, TyperGroup)]


def named(value: object) -> str | None:
    return " ".join(map(str, value)) or "conspectus" if isinstance(value, tuple) else ""


@pytest.mark.parametrize(("path", "command"), [pair for pair in ALL if pair[0]], ids=named)
def test_a_command_has_a_summary_that_fits_in_a_list(path: tuple[str, ...], command: Any) -> None:
    assert 10 <= len(summary(command)) <= 60, summary(command)


def test_the_help_lists_every_command_with_its_own_summary():
    listed = {name: text for commands in cli.COMMANDS.values() for name, (_, text) in commands.items()}
    own = {path[0]: summary(command) for path, command in ALL if len(path) == 1}
    assert listed == own


def test_the_help_lists_every_option_that_all_commands_have_in_80_columns():
    context = ROOT.context_class(ROOT, **ROOT.context_settings)
    shown = " ".join(cli.overview().split())
    for param in ROOT.get_params(context):
        for text in param.get_help_record(context):
            assert " ".join(text.split()) in shown
    assert max(map(len, cli.overview().splitlines())) <= 80


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=named)
def test_the_examples_of_a_command_can_be_parsed(path: tuple[str, ...], command: Any) -> None:
    examples = described(command.help)[1]
    assert examples
    for example in examples:
        program, *words = shlex.split(example)
        assert (program, *words[: len(path)]) == ("conspectus", *path)
        command.make_context(path[-1], words[len(path) :], parent=ROOT.context_class(ROOT))


@pytest.mark.parametrize(("path", "command"), ALL, ids=named)
def test_every_option_and_argument_is_explained_in_words_of_the_field(
    path: tuple[str, ...], command: Any
) -> None:
    for param in command.params:
        assert len(param.help or "") > 10, param.name
        assert param.help[0].isupper(), param.help
        assert not PRIVATE.search(param.help), param.help
    assert not PRIVATE.search(command.help or "")


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize(("path", "command"), ALL, ids=named)
def test_help_shows_no_types_no_doubled_brackets_and_no_cut_sentences(
    path: tuple[str, ...], command: Any, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    root = ROOT.context_class(ROOT, info_name="conspectus", **ROOT.context_settings)
    shown = (
        ROOT.context_class(command, info_name=" ".join(path), parent=root).get_help()
        if path
        else root.get_help()
    )
    usage = shown.partition("\n\n")[0].replace("[ARGS]...", "")
    assert not re.search(r"\{|\[\[|\]\.\.\.|\.\.\.\.", usage)
    assert not re.search(r"<\w+(?:\[\w+\])?>", shown)
    wrapped = [line for line in shown.splitlines() if not line.strip().startswith("conspectus ")]
    assert not path or max(map(len, wrapped)) <= columns


@pytest.mark.parametrize("word", HINTS)
def test_the_words_of_other_tools_lead_to_what_does_the_same_here(word: str) -> None:
    result = RUN.invoke(app, ["ask", word, "x"] if word.startswith("-") else [word])
    assert result.exit_code == 2
    assert HINTS[word] in " ".join(result.output.split())


def test_hints_name_commands_and_options_that_exist() -> None:
    options = {name for _, command in ALL for param in command.params for name in param.opts}
    first = {path[0] for path, _ in ALL if path}
    for hint in HINTS.values():
        assert set(re.findall(r"(?<!\S)--[a-z-]+", hint)) <= options, hint
        assert set(re.findall(r"conspectus ([a-z]+)", hint)) <= first, hint


def test_help_and_version_are_commands_too() -> None:
    assert (
        RUN.invoke(app, ["help", "eval", "judge"]).output
        == RUN.invoke(app, ["eval", "judge", "--help"]).output
    )
    assert __version__ in RUN.invoke(app, ["version"]).output
    assert __version__ in RUN.invoke(app, ["-V"]).output
    assert RUN.invoke(app, ["help", "nothing"]).exit_code == 2


def test_without_arguments_help_goes_where_it_can_be_piped_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.shown_at_once([]) == 0
    assert "index" in capsys.readouterr().out
    assert RUN.invoke(app, ["correct"]).exit_code == 2


def test_an_unquoted_question_is_joined_and_a_half_quoted_one_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from conspectus.cli.ask import question_from
    from conspectus.errors import UsageError

    assert question_from(["who", "is", "X?"]) == question_from(["who is X?"]) == "who is X?"
    with pytest.raises(UsageError, match="quotes"):
        question_from(["who is X?", "stray"])


def test_a_reranker_that_is_none_is_refused_whatever_the_method_is(indexed: Path) -> None:
    result = RUN.invoke(
        app, ["ask", "Who is X?", "--index", str(indexed), "--method", "local", "--rerank", "foo"]
    )
    assert result.exit_code == 2
    assert "foo" in result.stderr
    assert "local:FOLDER" in result.stderr


@pytest.mark.parametrize("key", FIELDS)
def test_the_description_of_a_setting_can_be_read_by_itself(key: str) -> None:
    description = FIELDS[key].description or ""
    assert len(description) > 10
    assert description[0].isupper()
    assert not re.match(r"Of |The same", description)
    assert not PRIVATE.search(description)
