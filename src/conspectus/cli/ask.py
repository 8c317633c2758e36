"""`conspectus ask`, `chat` and `search`: questions, and what the index has to say to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import conspectus
from conspectus import api
from conspectus.cli import show
from conspectus.cli.app import METHODS_LISTED, RANKINGS_LISTED, one_line
from conspectus.cli.options import (
    FOLDERS,
    OUTPUT,
    SERVER,
    WITH_FAILURES,
    AsJson,
    Given,
    IndexFolders,
    Where,
    argument,
    option,
    starting,
    takes,
)
from conspectus.errors import CallFailed, Unusable, UsageError

if TYPE_CHECKING:
    from conspectus import Conversation, QuestionContext
    from conspectus.api import Context, View
    from conspectus.rows import Answer, Hit

Method = Annotated[
    str,
    option(
        f"Search method. auto: chosen by the question; {METHODS_LISTED}.",
        metavar="NAME",
        autocompletion=starting(lambda: ["auto", *api.METHODS]),
    ),
]
RankingMethod = Annotated[
    str,
    option(
        f"Retrieval method. {RANKINGS_LISTED}.", metavar="NAME", autocompletion=starting(lambda: api.RANKINGS)
    ),
]
Level = Annotated[
    str | None,
    option(
        "Community level whose reports are read by --method global: 0 is the root, larger is more "
        "detailed; auto selects reports top-down by relevance.",
        metavar="N|auto",
    ),
]
ConversationFile = Annotated[
    Path | None,
    option("Save the conversation to this file, and continue it next time.", "--conversation", metavar="FILE"),
]
ContextOnly = Annotated[
    bool,
    option(
        "Print the context that the answer would be written from, and do not answer.",
        "--context-only",
        panel=OUTPUT,
    ),
]
QuestionsFile = Annotated[
    Path | None,
    option(
        "Ask every question of a file: one per line, a .csv with a column question or question_text, or a"
        " .json list; - is standard input. With --json, prints one line per answer.",
        metavar="FILE",
    ),
]
asking = takes("--response", "--model", *SERVER, "--embedder", "--rerank")
"""The settings that `ask` and `chat` take."""
NOTHING = "Nothing in this corpus speaks to that question."

PROMPT = "? "
COMMANDS = """\
A question is read in the light of those before it: "and who founded it?"
sources   show what the last answer cites
method    show how the last answer was made
new       begin a new conversation, as clear does
help      show this
exit      end, as quit and Ctrl-D do
Commands may begin with a slash: /sources. Ctrl-C stops an answer that is being written."""
COMMAND_WORDS = frozenset(("bye", "clear", "exit", "help", "method", "new", "quit", "sources"))
"""Lines that are commands without a slash, too: alone they are no question."""


@dataclass(frozen=True)
class Asking:
    """What questions of one command are asked of and by, and how answers are printed."""

    view: View
    options: Mapping[str, Any]
    """Method, level and settings, as the functions of the API take them."""
    streams: bool
    """Whether answers are shown while they are written."""
    json: bool
    lines: bool = False
    """Whether JSON is printed on one line, as several answers may follow each other."""

    @classmethod
    def of(
        cls, given: Given, folder: list[Path], where: list[str] | None, method: str, level: str | None, json: bool
    ) -> Asking:
        """Open what is asked, with the settings of all sources."""
        view = api.viewed(folder, where or ())
        if level is not None and level != "auto" and not level.isdecimal():
            raise UsageError(f"--level takes a number from 0, the root, or auto, and not {level!r}")
        number = level if level is None or level == "auto" else int(level)
        settings = given.with_index(view.built)
        streams = settings.settings.model != "extractive" and not json
        return cls(view, {"method": method, "level": number, "settings": settings}, streams, json)

    def conversation(self, file: Path | None) -> Conversation:
        """Return a conversation, saved to a file where one is named."""
        return conspectus.Conversation(self.view, file=file, **self.options)

    def ask(self, question: str, conversation: Conversation | None = None, *, brief: bool = False) -> Answer:
        """Answer a question, print the answer, and return it; `brief` leaves out its sources and how it was made."""
        with show.streaming(self.streams) as stream:
            if conversation:
                answer = conversation.ask(question, on_text=stream)
            else:
                answer = api.ask(question, self.view, on_text=stream, **self.options)
        if self.json:
            row = asdict(answer)
            show.as_json({"question": row.pop("question"), "answer": row.pop("text"), **row}, lines=self.lines)
        else:
            _print_answer(answer, streamed=bool(stream and stream.any), brief=brief)
        return answer

    def show_context(self, question: str) -> None:
        """Print what the answer to a question would be written from."""
        context = api.context(question, self.view, **self.options)
        if self.json:
            row = {f.name: getattr(context, f.name) for f in fields(context)}
            show.as_json(row | {"windows": [_window(w) for w in context.windows]}, lines=self.lines)
        else:
            _print_context(context)


# Ask


@asking
def ask(
    words: Annotated[
        list[str] | None, argument("QUESTION", "The question. Use - to read it from standard input.")
    ] = None,
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    method: Method = "auto",
    level: Level = None,
    json: AsJson = False,
    context_only: ContextOnly = False,
    questions: QuestionsFile = None,
    conversation: ConversationFile = None,
    *,
    given: Given,
) -> None:
    """Answer a question, with citations.

    Every citation leads to the exact characters of a document. Questions about the whole corpus ("What are the main
    themes?") are answered from community reports, others from the graph and the text; --method chooses.

    Example: conspectus ask "What are the main themes?"
    Example: conspectus ask "Who is Dorothea Quill?" --model openai/gpt-4.1-mini
    Example: conspectus ask "What was decided?" --where "date>=2023"
    """
    question = joined(words) if words else None
    if conversation and (questions or context_only):
        raise UsageError("a conversation goes with neither --questions nor --context-only")
    if (question is None) == (questions is None):
        raise UsageError('ask one question (conspectus ask "...") or those of a file (--questions FILE)')
    listed = _read_questions(questions) if questions else []
    asking = replace(Asking.of(given, folder, where, method, level, json), lines=questions is not None)
    if question is not None:
        question = sys.stdin.read().strip() if question == "-" else question
        if context_only:
            asking.show_context(question)
        else:
            asking.ask(question, asking.conversation(conversation) if conversation else None)
    elif _ask_all(listed, asking, context_only=context_only):
        raise typer.Exit(WITH_FAILURES)


def joined(words: Sequence[str]) -> str:
    """Return the question that the words of a command line are, quoted or not.

    Raises UsageError if some of it is in quotes and some is not: that is rather a mistyped option.
    """
    if len(words) > 1 and any(" " in word for word in words):
        quoted = next(word for word in words if " " in word)
        stray = ", ".join(repr(word) for word in words if word != quoted)
        raise UsageError(f"ask one question: {stray} stands beside {quoted!r}; put the whole question in quotes")
    return " ".join(words)


def _read_questions(file: Path) -> list[str]:
    from conspectus.evaluation.questions import read_list

    return [question.text for question in read_list(file)]


def _ask_all(questions: Sequence[str], asking: Asking, *, context_only: bool) -> int:
    """Ask each question, or show its context, and return how many failed; what makes all of them fail is raised."""
    failed = 0
    for number, question in enumerate(questions):
        if not asking.json:
            show.out(("\n" if number else "") + show.bold(f"# {question}") + "\n")
        try:
            if context_only:
                asking.show_context(question)
            else:
                asking.ask(question)
        except CallFailed as error:
            failed += 1
            show.note(f"error: {question}: {error}")
            if asking.json:
                show.as_json({"question": question, "error": str(error)}, lines=True)
    return failed


def _print_answer(answer: Answer, *, streamed: bool, brief: bool) -> None:
    absent = api.wording(answer.language).absent.partition("{}")[0]
    ordered = sorted(answer.notices, key=lambda notice: not notice.startswith(absent))
    notices = show.with_options("\n\n".join(ordered))
    if notices.startswith(absent) and api.is_empty_answer(answer.text) and not streamed:
        show.out(notices)  # why there is no answer: a name may be misspelt
    else:
        if not streamed:
            show.markdown(answer.text)
        if notices:
            show.out(f"\n{notices}")
    if not brief:
        show.citations(answer.citations, answer.language, answer.text)
        show.note(f"\n{made_by(answer)}")


def made_by(answer: Answer) -> str:
    """Return how an answer was made, what a language model took for it, and what was removed from it."""
    used = answer.usage
    paid = show.usage_line(used) if used.calls else "from the cache" if used.cached_calls else ""
    read = f"{show.counted(answer.context_tokens, 'token')} read, " if paid else ""
    text = f"{how(answer)} ({'; '.join(filter(None, (f'{read}{answer.seconds:.2f} s', paid)))})"
    if answer.removed_references:
        removed = show.counted(answer.removed_references, "reference")
        text += (
            f"\n{removed} in it led nowhere, and {'was' if answer.removed_references == 1 else 'were'} removed."
        )
    return text


def how(made: Answer | QuestionContext, *, why: bool = True) -> str:
    """Return by which method it was made, at which level, and why."""
    at = f" at level {made.level}" if made.level is not None else ""
    return made.method + at + (f": {made.why}" if why and made.why else "")


def _print_context(context: QuestionContext) -> None:
    if not context.windows:
        show.note(NOTHING)
    for number, window in enumerate(context.windows, 1):
        if len(context.windows) > 1:
            show.out(show.bold(f"===== Window {number} of {len(context.windows)} =====") + "\n")
        show.out(window.text)
    show.note(f"{how(context)} ({show.counted(context.context_tokens, 'token')})")


def _window(evidence: Context) -> dict[str, Any]:
    """Return the ids of a window's rows by table, in their order, and its text."""
    return {name: [row.id for row in rows] for name, rows in evidence.tables()} | {"text": evidence.text}


# Chat


@asking
def chat(
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    method: Method = "auto",
    level: Level = None,
    json: AsJson = False,
    conversation: ConversationFile = None,
    *,
    given: Given,
) -> None:
    """Start a conversation: ask follow-up questions.

    Each question may refer to earlier ones. Questions are typed at a prompt, or read from standard input, one per
    line. At the prompt, help lists the commands; exit or Ctrl-D ends.

    Example: conspectus chat
    Example: conspectus chat --conversation notes.jsonl
    """
    asking = replace(Asking.of(given, folder, where, method, level, json), lines=True)
    talk = Talk(asking, asking.conversation(conversation), typed=sys.stdin.isatty() and not json)
    talk.run()
    if talk.failed and not talk.typed:
        raise typer.Exit(WITH_FAILURES)


@dataclass
class Talk:
    """A conversation that is typed at a prompt or read from standard input line by line."""

    asking: Asking
    conversation: Conversation
    typed: bool
    last: Answer | None = None
    failed: int = 0

    def run(self) -> None:
        """Ask each question that comes in, until there are no more; one that fails is reported."""
        if self.typed:
            turns = show.counted(len(self.conversation.turns), "question")
            earlier = f", going on after {turns}" if self.conversation.turns else ""
            show.note(f"Ask a question{earlier}; help shows the commands, exit or Ctrl-D ends.")
        for line in _lines(self.typed):
            match command_of(line):
                case "":
                    self.ask(line)
                case "quit" | "exit" | "bye":
                    break
                case command:
                    self.command(command)

    def ask(self, question: str) -> None:
        """Ask a question; at a prompt its sources are shown only when they are asked for."""
        previous = self.last
        if not self.typed and not self.asking.json:
            show.out(show.bold(f"# {question}") + "\n")
        try:
            self.last = self.asking.ask(question, self.conversation, brief=self.typed)
            if self.typed:
                _print_footer(question, self.last, previous)
        except Unusable:
            raise
        except (CallFailed, UsageError) as error:
            self.failed += 1
            show.note(f"error: {one_line(error)}")
            if self.asking.json:
                show.as_json({"question": question, "error": str(error)}, lines=True)
        except KeyboardInterrupt:
            if not self.typed:
                raise
            show.note("stopped")
        if not self.asking.json:
            show.out()

    def command(self, name: str) -> None:
        """Do what a command says."""
        match name:
            case "help":
                show.note(COMMANDS)
            case "new" | "clear":
                self.conversation.forget()
                self.last = None
                show.note("A new conversation.")
            case "sources" if self.last and self.last.citations:
                show.citations(self.last.citations, self.last.language, self.last.text)
            case "sources":
                show.note("There is no answer that cites anything yet.")
            case "method":
                show.note(made_by(self.last) if self.last else "There is no answer yet.")
                show.note("conspectus chat --method NAME asks by another method.")
            case _:
                show.note(f"there is no command /{name}; help shows the commands")


def command_of(line: str) -> str:
    """Return the name of the command that a line is, "" where it is a question."""
    if line.startswith("/"):
        return line[1:].split(" ", 1)[0].lower()
    word, _, rest = line.rstrip(" .!;()").lower().partition(" ")
    known = {"quit": ("now",), "exit": ("now",), "sources": map(str, range(100)), "method": api.METHODS}
    if rest and rest not in known.get(word, ()):
        return ""
    return word if word in COMMAND_WORDS else ""


def _print_footer(question: str, answer: Answer, previous: Answer | None) -> None:
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
    """Yield what is asked, without empty lines; at a prompt, Ctrl-C begins a new line."""
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


# Search


@takes("--rerank", "--model")
def search(
    words: Annotated[list[str], argument("QUESTION", "The question or the words to search for.")],
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    method: RankingMethod = "bm25",
    k: Annotated[int | None, option("Number of chunks to return (default: 5).", "-k", metavar="N", min=1)] = None,
    json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Search the chunks: list the best matches for a question.

    Example: conspectus search "storm damage to the quay" -k 3
    """
    question = joined(words)
    view = api.viewed(folder, where or ())
    settings = given.with_index(view.built, does="reranks", language_model=False)
    hits = api.search(question, view, method=method, k=k, settings=settings)
    if json:
        rows = [asdict(hit) for hit in hits]
        show.as_json({"question": question, "method": method, "hits": rows, "notices": view.remarks})
        return
    for notice in view.remarks:
        show.note(notice)
    if hits:
        language = api.language_of([question], view.index.languages)
        show.out("\n\n".join(_hit(number, hit, language) for number, hit in enumerate(hits, 1)))
    else:
        show.note(NOTHING)


def _hit(number: int, hit: Hit, language: str) -> str:
    head = f"{number:>2}. {show.bold(hit.title)}  ({hit.score:.2f})"
    where = api.wording(language).where(hit.document, hit.place, hit.start, hit.end)
    return f"{head}\n    {show.line(where)}\n    {show.snippet(hit.text, 300)}"
