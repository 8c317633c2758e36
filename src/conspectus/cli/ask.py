"""`conspectus ask` and `conspectus search`: questions, and what the index has to say to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.help import METHODS_LISTED, OUTPUT, RANKINGS_LISTED
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
    methods,
    model_flags,
    overrides,
    settings_with_index,
)
from conspectus.errors import CallFailed, UsageError
from conspectus.messages import says_nothing, wording

if TYPE_CHECKING:
    from conspectus.api import QuestionContext
    from conspectus.conversation import Conversation
    from conspectus.rows import Answer, Hit
    from conspectus.tasks.context import Context


Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=methods,
        help=f"Search method. auto: chosen by the question; {METHODS_LISTED}.",
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Community level whose reports are read by --method global: 0 is the root, larger is more "
        "detailed; auto selects reports top-down by relevance.",
    ),
]
Response = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        rich_help_panel=OUTPUT,
        help="Length and format of the answer, e.g. 'short answer'; with a language model anything, e.g. "
        "'a list of 5 points'.",
    ),
]
ConversationFile = Annotated[
    Path | None,
    typer.Option(
        "--conversation", metavar="FILE", help="Save the conversation to this file, and continue it next time."
    ),
]


def ask(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="The question. Use - to read it from standard input.")
    ] = None,
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
    context_only: Annotated[
        bool,
        typer.Option(
            "--context-only",
            rich_help_panel=OUTPUT,
            help="Print the context that the answer would be written from, and do not answer.",
        ),
    ] = False,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ask every question of a file: one per line, a .csv with a column question or question_text, "
            "or a .json list; - is standard input. With --json, prints one line per answer.",
        ),
    ] = None,
    chat: Annotated[
        bool,
        typer.Option("--chat", hidden=True, help="Start a conversation, as conspectus chat does."),
    ] = False,
    conversation: ConversationFile = None,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Answer a question, with citations.

    Every citation leads to the exact characters of a document. Questions about the whole corpus ("What are the main
    themes?") are answered from community reports, others from the graph and the text; --method chooses.

    Example: conspectus ask "What are the main themes?"
    Example: conspectus ask "Who is Dorothea Quill?" --model openai/gpt-4.1-mini
    Example: conspectus ask "What was decided?" --where "date>=2023"
    """
    question = joined(words) if words else None
    asked = [] if chat else _asked(question, questions)
    flags = model_flags(model, base_url, embedder, budget, budget_tokens, trace) | {
        "answer.response": response,
        "rerank.by": rerank,
    }
    opened = api.viewed(folder, where or ())
    known = settings_with_index(overrides(set_, flags), config, opened.built)
    settings = known.settings
    at = _level(level)
    streams = settings.model != "extractive" and not json and not context_only
    if chat or conversation:
        if questions or context_only or (chat and question is not None):
            raise UsageError(
                "a conversation goes with neither --questions nor --context-only; conspectus chat takes no QUESTION"
            )
        from conspectus.conversation import Conversation

        talk = Conversation(opened, method=method, level=at, settings=known, file=conversation)
        _converse(talk, question, streams=streams, json=json)
        return
    failed = 0
    for place, one in enumerate(asked):
        if questions and not json:
            show.out(("\n" if place else "") + show.bold(f"# {one}") + "\n")
        try:
            if context_only:
                _print_context(api.context(one, opened, method=method, level=at, settings=known), json, questions)
            else:
                with show.streaming(streams) as told:
                    answer = api.ask(one, opened, method=method, level=at, settings=known, on_text=told)
                _print_answer(answer, json, questions, streamed=bool(told and told.any))
        except CallFailed as error:  # of one question; what makes all of them fail ends the command
            if questions is None:
                raise
            failed += 1
            show.note(f"error: {one}: {error}")
            if json:
                show.as_json({"question": one, "error": str(error)}, lines=True)
    if failed:
        raise typer.Exit(WITH_FAILURES)


def _converse(talk: Conversation, question: str | None, *, streams: bool, json: bool) -> None:
    """Ask one question of a conversation, or all that come in."""
    from conspectus.cli import chat

    if question is None:

        def print_answer(answer: Answer, streamed: bool, brief: bool) -> None:
            _print_answer(answer, json, True, streamed=streamed, brief=brief)

        chat.talk(talk, print_answer, streams=streams, json=json)
        return
    with show.streaming(streams) as told:
        answer = talk.ask(question, on_text=told)
    _print_answer(answer, json, False, streamed=bool(told and told.any))


def joined(words: Sequence[str]) -> str:
    """Return the question that the words of a command line are, quoted or not.

    Raises UsageError if some of it is in quotes and some is not: that is rather a mistyped option.
    """
    if len(words) > 1 and any(" " in word for word in words):
        quoted = next(word for word in words if " " in word)
        stray = ", ".join(repr(word) for word in words if word != quoted)
        raise UsageError(f"ask one question: {stray} stands beside {quoted!r}; put the whole question in quotes")
    return " ".join(words)


def _asked(question: str | None, file: Path | None) -> list[str]:
    from conspectus.evaluation.questions import read_list

    if (question is None) == (file is None):
        raise UsageError('ask one question (conspectus ask "...") or those of a file (--questions FILE)')
    if question is None:
        return [one.text for one in read_list(file or Path())]
    return [sys.stdin.read().strip() if question == "-" else question]


def _level(said: str | None) -> int | Literal["auto"] | None:
    if said is None or said == "auto":
        return said
    if not said.isdecimal():
        raise UsageError(f"--level takes a number from 0, the root, or auto, and not {said!r}")
    return int(said)


def _print_answer(answer: Answer, json: bool, many: object, *, streamed: bool = False, brief: bool = False) -> None:
    if json:
        told = asdict(answer)
        show.as_json({"question": told.pop("question"), "answer": told.pop("text"), **told}, lines=bool(many))
        return
    absent = wording(answer.language).absent.partition("{}")[0]
    notices = "\n\n".join(sorted(answer.notices, key=lambda notice: not notice.startswith(absent)))
    if notices.startswith(absent) and says_nothing(answer.text) and not streamed:
        show.out(notices)  # why there is no answer: a name may be misspelt
    else:
        if not streamed:
            show.markdown(answer.text)
        if notices:
            show.out(f"\n{notices}")
    show.citations(answer.citations, answer.language, answer.text)
    if not brief:
        show.note(f"\n{made_by(answer)}")


def made_by(answer: Answer) -> str:
    """Return how an answer was made, what it read, and what was removed from it."""
    text = f"{how(answer)} ({show.counted(answer.context_tokens, 'token')} read, {answer.seconds:.2f} s)"
    if answer.removed_references:
        removed = show.counted(answer.removed_references, "reference")
        text += f"\n{removed} in it led nowhere, and {'was' if answer.removed_references == 1 else 'were'} removed."
    return text


def _print_context(context: QuestionContext, json: bool, many: object) -> None:
    if json:
        told = {f.name: getattr(context, f.name) for f in fields(context)}
        show.as_json(told | {"windows": [_window(w) for w in context.windows]}, lines=bool(many))
        return
    if not context.windows:
        show.note("Nothing in this corpus speaks to that question.")
    for place, window in enumerate(context.windows, 1):
        if len(context.windows) > 1:
            show.out(show.bold(f"===== Window {place} of {len(context.windows)} =====") + "\n")
        show.out(window.text)
    show.note(f"{how(context)} ({show.counted(context.context_tokens, 'token')})")


def how(made: Answer | QuestionContext, *, why: bool = True) -> str:
    """Return by which method it was made, at which level, and why."""
    at = f" at level {made.level}" if made.level is not None else ""
    return made.method + at + (f": {made.why}" if why and made.why else "")


def _window(evidence: Context) -> dict[str, Any]:
    """Return the ids of a window's rows by table, in their order, and its text."""
    return {name: [row.id for row in rows] for name, rows in evidence.tables()} | {"text": evidence.text}


RANKING = f"Retrieval method. {RANKINGS_LISTED}."


def rankings(incomplete: str) -> list[str]:
    """Return the methods of ranking that begin with what is typed; for completion by the shell."""
    from conspectus.retrieval import RANKINGS

    return [name for name in RANKINGS if name.startswith(incomplete)]


def search(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question or the words to search for.")],
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    method: Annotated[str, typer.Option(metavar="NAME", autocompletion=rankings, help=RANKING)] = "bm25",
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", min=1, help="Number of chunks to return (default: 5).")
    ] = None,
    rerank: Rerank = None,
    model: ModelName = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Search the chunks: list the best matches for a question.

    Example: conspectus search "storm damage to the quay" -k 3
    """
    question = joined(words)
    view = api.viewed(folder, where or ())
    flags = {"rerank.by": rerank, "model": model}
    known = settings_with_index(overrides(set_, flags), config, view.built, does="reranks", language_model=False)
    hits = api.search(question, view, method=method, k=k, settings=known)
    if json:
        show.as_json(
            {"question": question, "method": method, "hits": [asdict(hit) for hit in hits], "notices": view.remarks}
        )
        return
    for notice in view.remarks:
        show.note(notice)
    if hits:
        language = view.index.language_of(question)
        show.out("\n\n".join(_hit(place, hit, language) for place, hit in enumerate(hits, 1)))
    else:
        show.note("Nothing in this corpus speaks to that question.")


def _hit(place: int, hit: Hit, language: str) -> str:
    head = f"{place:>2}. {show.bold(hit.title)}  ({hit.score:.2f})"
    where = wording(language).where(hit.document, hit.place, hit.start, hit.end)
    return f"{head}\n    {show.line(where)}\n    {show.snippet(hit.text, 300)}"
