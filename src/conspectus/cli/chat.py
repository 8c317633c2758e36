"""`conspectus chat`: a conversation, typed at a prompt or read from standard input line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from conspectus.cli import show
from conspectus.cli.ask import ConversationFile, Level, Method, Response, ask, how, made_by
from conspectus.cli.guard import WITH_FAILURES, one_line
from conspectus.cli.options import (
    FOLDERS,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    EmbedderName,
    IndexFolders,
    LogFile,
    ModelName,
    Rerank,
    SetKeys,
    TraceFile,
    Where,
)
from conspectus.errors import CallFailed, Unusable, UsageError

if TYPE_CHECKING:
    from conspectus.conversation import Conversation
    from conspectus.rows import Answer

Print = Callable[["Answer", bool, bool], None]
"""Prints an answer; told whether its text was printed while it was written, and whether to leave out the details."""

PROMPT = "? "
COMMANDS = """\
A question is read in the light of those before it: "and who founded it?"
sources   show what the last answer cites
method    show how the last answer was made
new       begin a new conversation, as clear does
help      show this
exit      end, as quit and Ctrl-D do
Commands may begin with a slash: /sources. Ctrl-C stops an answer that is being written."""
COMMAND_WORDS = frozenset(("clear", "exit", "help", "method", "new", "quit", "sources"))
"""Lines that are commands without a slash, too: alone they are no question."""


def chat(
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    method: Method = "auto",
    level: Level = None,
    response: Response = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    embedder: EmbedderName = None,
    rerank: Rerank = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    json: AsJson = False,
    conversation: ConversationFile = None,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Start a conversation: ask follow-up questions.

    Each question may refer to earlier ones. Questions are typed at a prompt, or read from standard input, one per
    line. At the prompt, help lists the commands; exit or Ctrl-D ends.

    Example: conspectus chat
    Example: conspectus chat --conversation notes.jsonl
    """
    ask(
        folder=folder,
        where=where,
        method=method,
        level=level,
        response=response,
        model=model,
        base_url=base_url,
        embedder=embedder,
        rerank=rerank,
        budget=budget,
        budget_tokens=budget_tokens,
        trace=trace,
        json=json,
        chat=True,
        conversation=conversation,
        config=config,
        set_=set_,
        log=log,
    )


def talk(conversation: Conversation, print_: Print, *, streams: bool, json: bool) -> None:
    """Ask each question that comes in, until there are no more.

    A question that fails is reported, and the conversation goes on. Ends with exit code 3 where one failed that was
    not typed at a prompt.
    """
    typed = sys.stdin.isatty() and not json
    if typed:
        known = f", going on after {show.counted(len(conversation.turns), 'question')}" if conversation.turns else ""
        show.note(f"Ask a question{known}; help shows the commands, exit or Ctrl-D ends.")
    last: Answer | None = None
    failed = 0
    for line in _lines(typed):
        match command_of(line):
            case "":
                previous = last
                if not typed and not json:
                    show.out(show.bold(f"# {line}") + "\n")
                try:
                    with show.streaming(streams) as stream:
                        last = conversation.ask(line, on_text=stream)
                    streamed = bool(stream and stream.any)
                    print_(replace(last, citations=()) if typed else last, streamed, typed)
                    if typed:
                        _footer(line, last, previous)
                except Unusable:
                    raise
                except (CallFailed, UsageError) as error:
                    failed += 1
                    show.note(f"error: {one_line(error)}")
                    if json:
                        show.as_json({"question": line, "error": str(error)}, lines=True)
                except KeyboardInterrupt:
                    if not typed:
                        raise
                    show.note("stopped")
                if not json:
                    show.out()
            case "help":
                show.note(COMMANDS)
            case "new" | "clear":
                conversation.forget()
                last = None
                show.note("A new conversation.")
            case "sources":
                _sources(last)
            case "method":
                show.note(made_by(last) if last else "There is no answer yet.")
            case "quit" | "exit":
                break
            case command:
                show.note(f"there is no command /{command}; help shows the commands")
    if failed and not typed:
        raise typer.Exit(WITH_FAILURES)


def command_of(line: str) -> str:
    """Return the name of the command that a line is, "" where it is a question."""
    if line.startswith("/"):
        return line[1:].split(" ", 1)[0].lower()
    word = line.rstrip(" .!;()").lower()
    return word if word in COMMAND_WORDS else ""


def _footer(question: str, answer: Answer, previous: Answer | None) -> None:
    """Print below an answer at a prompt how its question was read, and the rest only as far as it is news."""
    parts: list[str] = []
    if answer.question.strip() != question:
        parts.append(f"taken as “{show.line(answer.question)}”")
    if previous is None or (answer.method, answer.level) != (previous.method, previous.level):
        parts.append(f"answered by {how(answer, why=False)}: /method")
    if answer.citations:
        parts.append(f"{show.counted(len(answer.citations), 'source')}: /sources")
    if parts:
        show.note("\n" + "; ".join(parts))


def _lines(typed: bool) -> Iterator[str]:
    """Yield what is asked, without empty lines."""
    if typed:
        with suppress(ImportError):
            import_module("readline")  # it gives the prompt its history
    while True:
        try:
            line = _line(typed)
        except EOFError:
            if typed:
                show.note("")
            return
        except KeyboardInterrupt:
            if not typed:
                raise
            show.note("")
            continue
        if line.strip():
            yield line.strip()


def _line(typed: bool) -> str:
    """Read a line; the prompt never goes to where answers are piped."""
    if typed and sys.stdout.isatty():
        return input(PROMPT)
    if typed:
        typer.echo(PROMPT, nl=False, err=True)
    if not (line := sys.stdin.readline()):
        raise EOFError
    return line


def _sources(answer: Answer | None) -> None:
    if answer is None or not answer.citations:
        show.note("There is no answer that cites anything yet.")
    else:
        show.citations(answer.citations, answer.language, answer.text)
