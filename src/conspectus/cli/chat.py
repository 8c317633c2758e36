"""`conspectus ask --chat`: a conversation, typed at a prompt or read from standard input line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES, one_line
from conspectus.errors import CallFailed, Unusable, UsageError

if TYPE_CHECKING:
    from conspectus.api.conversing import Conversation
    from conspectus.rows import Answer

Print = Callable[["Answer", bool], None]
"""Prints an answer; told whether its text was printed already, while it was written."""

PROMPT = "? "
HELP = """\
A question is read in the light of those before it: "and who founded it?"
/new      begin a new conversation
/sources  show what the last answer cites
/help     show this
/quit     end; so does Ctrl-D"""


def talk(conversation: Conversation, print_: Print, *, streams: bool, json: bool) -> None:
    """Ask each question that comes in, until there are no more.

    A question that fails is told, and the conversation goes on. Ends with exit code 3 where one failed that was not
    typed at a prompt.
    """
    typed = sys.stdin.isatty() and not json
    if typed:
        known = f", going on after {show.counted(len(conversation.said), 'question')}" if conversation.said else ""
        show.note(f"Ask; /help shows what else there is, Ctrl-D ends{known}.")
    last: Answer | None = None
    failed = 0
    for line in _lines(typed):
        match line.split():
            case ["/help", *_]:
                show.note(HELP)
            case ["/new", *_]:
                conversation.forget()
                last = None
                show.note("A new conversation.")
            case ["/sources", *_]:
                _sources(last)
            case ["/quit" | "/exit", *_]:
                break
            case [command, *_] if command.startswith("/"):
                show.note(f"there is no {command}; /help shows what there is")
            case _:
                if not typed and not json:
                    show.out(show.bold(f"# {line}") + "\n")
                try:
                    with show.streaming(streams) as told:
                        last = conversation.ask(line, tell=told)
                    print_(replace(last, citations=()) if typed else last, bool(told and told.any))
                    if typed and last.citations:
                        show.note(f"{show.counted(len(last.citations), 'source')}: /sources")
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
                    show.note("\ninterrupted")
                if not json:
                    show.out()
    if failed and not typed:
        raise typer.Exit(WITH_FAILURES)


def _lines(typed: bool) -> Iterator[str]:
    """Yield what is asked, without empty lines."""
    if typed:
        with suppress(ImportError):
            import_module("readline")  # it gives the prompt its history
    while True:
        try:
            line = input(PROMPT) if typed else sys.stdin.readline()
        except EOFError:
            show.note("")
            return
        except KeyboardInterrupt:
            if not typed:
                raise
            show.note("")
            continue
        if not typed and not line:
            return
        if line.strip():
            yield line.strip()


def _sources(answer: Answer | None) -> None:
    if answer is None or not answer.citations:
        show.note("There is no answer that cites anything yet.")
    else:
        show.citations(answer.citations, answer.language, answer.text)
