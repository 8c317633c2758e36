"""`conspectus ask`, `chat` and `search`: questions to an index, and their answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import conspectus
from conspectus import api
from conspectus.cli import options, show, terminal
from conspectus.cli.app import METHODS_LISTED, RANKINGS_LISTED, one_line
from conspectus.cli.options import OUTPUT, AsJson, argument, option, starting
from conspectus.errors import CallFailed, Unusable, UsageError
from conspectus.lazy import lazy_module
from conspectus.rows import located, removed_references, rows_read

if TYPE_CHECKING:
    from conspectus import Conversation, QuestionContext
    from conspectus.api import View
    from conspectus.evaluation import comparison as question_lists
    from conspectus.rows import Answer
else:
    question_lists = lazy_module("conspectus.evaluation.comparison")

_METHOD = f"Answering method. auto: chosen by the question; {METHODS_LISTED}."
_RANKING = f"Retrieval method. {RANKINGS_LISTED}."
_LEVEL = "Community level for --method global: 0 is the root, larger is more detailed; auto follows relevant reports."
_CONVERSATION = "Save the conversation to this file, and continue it next time."
_CONTEXT = "Print the context that the answer would be written from, and do not answer."
_QUESTIONS = (
    "Ask every question of a file: one per line, a .csv with a column question or question_text, or a .json list; - is"
    " standard input. With --json, prints one line per answer."
)
_methods = starting(lambda: ["auto", *api.METHODS])
_rankings = starting(lambda: api.RANKINGS)
Method = Annotated[str, option(_METHOD, metavar="NAME", autocompletion=_methods)]
RankingMethod = Annotated[str, option(_RANKING, metavar="NAME", autocompletion=_rankings)]
Level = Annotated[str | None, option(_LEVEL, metavar="N|auto")]
ConversationFile = Annotated[Path | None, option(_CONVERSATION, "--conversation", metavar="FILE")]
ContextOnly = Annotated[bool, option(_CONTEXT, "--context-only", panel=OUTPUT)]
QuestionsFile = Annotated[Path | None, option(_QUESTIONS, metavar="FILE")]
K = Annotated[int | None, option("Number of chunks to return (default: 5).", "-k", metavar="N", min=1)]
asking = options.takes("--response", "--model", *options.SERVER, "--embedder", "--rerank")
"""The settings that `ask` and `chat` take."""
NOTHING = "Nothing in this corpus answers that question."

PROMPT = "? "
COMMANDS = """\
A question may refer to earlier ones: "and who founded it?"
sources   show what the last answer cites
method    show how the last answer was made
new       begin a new conversation, as clear does
help      show this
exit      end, as quit and Ctrl-D do
Commands may begin with a slash: /sources. Ctrl-C stops an answer that is being written."""
COMMAND_WORDS = frozenset(("bye", "clear", "exit", "help", "method", "new", "quit", "sources"))
"""Words that are commands even without a slash: alone on a line they are not a question."""


@dataclass(frozen=True)
class Asking:
    """The index and settings for the questions of one command, and how their answers are printed."""

    view: View
    arguments: Mapping[str, Any]
    """Method, level and settings, as keyword arguments of the API's functions."""
    json: bool
    lines: bool
    """Whether JSON is printed on one line, because several answers may follow each other."""

    @classmethod
    def of(
        cls,
        given: options.Given,
        folder: list[Path],
        where: list[str] | None,
        method: str,
        level: str | None,
        json: bool,
        lines: bool,
    ) -> Asking:
        """Open the indexes to be asked, with the settings of all sources."""
        view = api.viewed(folder, where or ())
        if level is not None and level != "auto" and not level.isdecimal():
            raise UsageError(f"--level takes a number (0 is the root) or auto, not {level!r}")
        number = level if level is None or level == "auto" else int(level)
        arguments = {"method": method, "level": number, "settings": given.with_index(view.built)}
        return cls(view, arguments, json, lines)

    def ask(self, question: str, conversation: Conversation | None = None, *, brief: bool = False) -> Answer:
        """Answer a question, print the answer, and return it; `brief` omits its sources and how it was made."""
        model = self.arguments["settings"].settings.model
        stream = None if self.json or model == "extractive" else terminal.Stream()
        notices = count()

        def tell(method: str, why: str) -> None:
            if next(notices) and stream:  # the first method is printed after the answer
                show.note(f"{method}: {why}")

        try:
            if conversation:
                answer = conversation.ask(question, on_text=stream, on_method=tell)
            else:
                answer = api.ask(question, self.view, on_text=stream, on_method=tell, **self.arguments)
        finally:
            if stream and stream.any:
                stream.finish()
        if self.json:
            row = asdict(answer)
            show.as_json(
                {"question": row.pop("question"), "answer": row.pop("text"), **row}, lines=self.lines
            )
        else:
            _print_answer(answer, streamed=bool(stream and stream.any), brief=brief)
        return answer

    def show_context(self, question: str) -> None:
        """Print the context from which a question would be answered."""
        context = api.context(question, self.view, **self.arguments)
        if self.json:
            windows: list[dict[str, Any]] = []
            for window in context.windows:
                ids = {name: [row.id for row in rows] for name, rows in window.tables()}
                windows.append(ids | {"read": window.read, "text": window.text})
            row = {f.name: getattr(context, f.name) for f in fields(context)}
            show.as_json(row | {"windows": windows}, lines=self.lines)
            return
        if not context.windows:
            show.note(NOTHING)
        for number, window in enumerate(context.windows, 1):
            if len(context.windows) > 1:
                show.out(show.bold(f"===== Window {number} of {len(context.windows)} =====") + "\n")
            show.out(window.text)
        counts = [rows_read(window.read) for window in context.windows if window.available]
        show.note(f"{how(context)} ({'; '.join((show.counted(context.context_tokens, 'token'), *counts))})")

    def failed(self, question: str, error: Exception, head: str = "") -> None:
        """Print why a question was not answered, after `head`."""
        show.note(f"error: {head}{one_line(error)}")
        if self.json:
            show.as_json({"question": question, "error": str(error)}, lines=True)


# Ask


@asking
def ask(
    words: Annotated[
        list[str] | None, argument("QUESTION", "The question. Use - to read it from standard input.")
    ] = None,
    folder: options.IndexFolders = options.FOLDERS,
    where: options.Where = None,
    method: Method = "auto",
    level: Level = None,
    json: AsJson = False,
    context_only: ContextOnly = False,
    questions: QuestionsFile = None,
    conversation: ConversationFile = None,
    *,
    given: options.Given,
) -> None:
    """Answer a question, with citations.

    Every citation leads to the exact characters of a document. Questions about the whole corpus ("What are the main
    themes?") are answered from community reports, others from the graph and the text, unless --method says otherwise.

    Example: conspectus ask "What are the main themes?"
    Example: conspectus ask "Who is Dorothea Quill?" --model openai/gpt-4.1-mini
    Example: conspectus ask "What was decided?" --where "date>=2023"
    """
    question = question_from(words) if words else None
    if conversation and (questions or context_only):
        raise UsageError("--conversation cannot be used with --questions or --context-only")
    if (question is None) == (questions is None):
        raise UsageError('ask one question (conspectus ask "...") or those of a file (--questions FILE)')
    asking = Asking.of(given, folder, where, method, level, json, lines=questions is not None)
    if questions:
        _ask_all([row.text for row in question_lists.read_list(questions)], asking, context_only)
        return
    question = sys.stdin.read().strip() if question in (None, "-") else question
    if context_only:
        asking.show_context(question)
    elif conversation:
        asking.ask(question, conspectus.Conversation(asking.view, file=conversation, **asking.arguments))
    else:
        asking.ask(question)


def _ask_all(questions: Sequence[str], asking: Asking, context_only: bool) -> None:
    """Ask each question, or show its context; end with the exit code for failures if some failed."""
    failed = 0
    for number, question in enumerate(questions):
        if not asking.json:
            show.out(("\n" if number else "") + show.bold(f"# {question}") + "\n")
        try:
            (asking.show_context if context_only else asking.ask)(question)
        except CallFailed as error:
            failed += 1
            asking.failed(question, error, f"{question}: ")
    if failed:
        raise typer.Exit(options.WITH_FAILURES)


def question_from(words: Sequence[str]) -> str:
    """Join the words of a command line to one question.

    Raises UsageError if only some of them are in quotes: then one is probably a mistyped option.
    """
    if len(words) > 1 and any(" " in word for word in words):
        raise UsageError(f"ask one question, in quotes, not {len(words)}: {', '.join(words)}")
    return " ".join(words)


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
    """Return how an answer was made, its cost, and which references were removed from it."""
    used = answer.usage
    took = [f"{rows_read(answer.read)} read"] if answer.read else []
    took.append(f"{answer.seconds:.2f} s")
    if used.calls or used.cached_calls:
        took.insert(0, show.counted(answer.context_tokens, "token"))
        took.append(show.usage_line(used) if used.calls else "from the cache")
    return f"{how(answer)} ({'; '.join(took)})\n{removed_references(answer)}".rstrip()


def how(made: Answer | QuestionContext, *, why: bool = True) -> str:
    """Return the method of an answer or context, its level, if any, and why the method was chosen."""
    at = f" at level {made.level}" if made.level is not None else ""
    return made.method + at + (f": {made.why}" if why and made.why else "")


# Chat


@asking
def chat(
    folder: options.IndexFolders = options.FOLDERS,
    where: options.Where = None,
    method: Method = "auto",
    level: Level = None,
    json: AsJson = False,
    conversation: ConversationFile = None,
    *,
    given: options.Given,
) -> None:
    """Start a conversation: ask follow-up questions.

    Each question may refer to earlier ones. Questions are typed at a prompt, or read from standard input, one per
    line. At the prompt, help lists the commands; exit or Ctrl-D ends.

    Example: conspectus chat
    Example: conspectus chat --conversation notes.jsonl
    """
    asking = Asking.of(given, folder, where, method, level, json, lines=True)
    opened = conspectus.Conversation(asking.view, file=conversation, **asking.arguments)
    talk = Talk(asking, opened, typed=sys.stdin.isatty() and not json)
    talk.run()
    if talk.failed and not talk.typed:
        raise typer.Exit(options.WITH_FAILURES)


@dataclass
class Talk:
    """A conversation, typed at a prompt or read from standard input line by line."""

    asking: Asking
    conversation: Conversation
    typed: bool
    last: Answer | None = None
    failed: int = 0

    def run(self) -> None:
        """Ask each incoming question until the input ends; report those that fail."""
        if self.typed:
            turns = show.counted(len(self.conversation.turns), "question")
            earlier = f", continuing after {turns}" if self.conversation.turns else ""
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
        """Ask a question; at a prompt, its sources are shown only on request."""
        shown = self.last and (self.last.method, self.last.level)
        if not self.typed and not self.asking.json:
            show.out(show.bold(f"# {question}") + "\n")
        try:
            answer = self.last = self.asking.ask(question, self.conversation, brief=self.typed)
            remarks: list[str] = []
            if answer.question.strip() != question:
                remarks.append(f"taken as “{show.line(answer.question)}”")
            if shown != (answer.method, answer.level):
                remarks.append(f"answered by {how(answer, why=False)}: /method")
            if answer.citations:
                remarks.append(f"{show.counted(len(answer.citations), 'source')}: /sources")
            if self.typed and remarks:
                show.note("\n" + "; ".join(remarks))
        except Unusable:
            raise
        except (CallFailed, UsageError) as error:
            self.failed += 1
            self.asking.failed(question, error)
        except KeyboardInterrupt:
            if not self.typed:
                raise
            show.note("stopped")
        if not self.asking.json:
            show.out()

    def command(self, name: str) -> None:
        """Carry out a command of the prompt."""
        match name:
            case "help":
                show.note(COMMANDS)
            case "new" | "clear":
                self.conversation.forget()
                self.last = None
                show.note("A new conversation.")
            case "sources" | "method" if not self.last:
                show.note("There is no answer that cites anything yet.")
            case "sources" if self.last and self.last.citations:
                show.citations(self.last.citations, self.last.language, self.last.text)
            case "sources":
                show.note("The last answer cites nothing.")
            case "method" if self.last:
                show.note(f"{made_by(self.last)}\nconspectus chat --method NAME uses another method.")
            case _:
                show.note(f"there is no command /{name}; help shows the commands")


def command_of(line: str) -> str:
    """Return the name of the command in a line; "" if the line is a question."""
    if line.startswith("/"):
        return line[1:].split(" ", 1)[0].lower()
    word = line.rstrip(" .!;()").lower()
    return word if word in COMMAND_WORDS else ""


def _lines(typed: bool) -> Iterator[str]:
    """Yield the lines of input without empty ones; at a prompt, Ctrl-C begins a new line."""
    if not typed:
        yield from filter(None, map(str.strip, sys.stdin))
        return
    with suppress(ImportError):
        import_module("readline")  # it gives the prompt its history
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            show.note("")
            return
        except KeyboardInterrupt:
            show.note("")
            continue
        if line:
            yield line


# Search


@options.takes("--rerank", "--model")
def search(
    words: Annotated[list[str], argument("QUESTION", "The question or the words to search for.")],
    folder: options.IndexFolders = options.FOLDERS,
    where: options.Where = None,
    method: RankingMethod = "mixed",
    k: K = None,
    json: AsJson = False,
    *,
    given: options.Given,
) -> None:
    """Search the chunks: list the best matches for a question.

    Example: conspectus search "storm damage to the quay" -k 3
    """
    question = question_from(words)
    view = api.viewed(folder, where or ())
    settings = given.with_index(view.built, does="reranks", language_model=False)
    hits = api.search(question, view, method=method, k=k, settings=settings)
    if json:
        rows = [asdict(hit) for hit in hits]
        show.as_json({"question": question, "method": method, "hits": rows, "notices": view.remarks})
        return
    for notice in view.remarks:
        show.note(notice)
    if not hits:
        show.note(NOTHING)
    wording = api.wording(api.language_of([question], view.index.languages))
    for number, hit in enumerate(hits, 1):
        where_it_is = wording.where(located(hit.document), hit.place, hit.start, hit.end)
        show.out(("\n" if number > 1 else "") + f"{number:>2}. {show.bold(hit.title)}  ({hit.score:.2g})")
        show.out(f"    {show.line(where_it_is)}\n    {show.snippet(hit.text, 300)}")
