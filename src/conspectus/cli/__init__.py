"""The command line: `main`, and the help of `conspectus` itself, which is printed without importing anything heavy.

Importing the command line parser alone takes longer than the help may take (`benchmarks/startup.py`), so the summaries
of the commands are repeated here; a test compares them with those of the commands.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from importlib import import_module

import conspectus

TYPE_CHECKING = False  # as in `typing`, whose import takes time
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("start:demo", "Index 43 sample documents and ask three questions"),
        "index": ("index:index", "Build an index of files and folders, or update it"),
        "ask": ("ask:ask", "Answer a question, with citations"),
        "chat": ("ask:chat", "Start a conversation: ask follow-up questions"),
        "search": ("ask:search", "Search the chunks: list the best matches for a question"),
    },
    "Look around": {
        "report": ("browse:report", "Show the tree of community reports, or one report"),
        "entity": ("browse:entity", "Show an entity: description, relationships, documents"),
        "path": ("browse:path", "Show how two entities are connected"),
        "map": ("exchange:map_", "Draw the graph as an interactive HTML page"),
        "serve": ("serve:serve", "Serve a web app, a REST API, a chat API and MCP"),
        "mcp": ("serve:mcp", "Serve MCP tools over standard input and output"),
    },
    "Edit and exchange": {
        "export": ("exchange:export", "Export an index for Gephi, Neo4j, Obsidian and others"),
        "correct": ("correct:app", "Edit the graph: merge, split, rename, retype, delete, add"),
        "import": ("exchange:app", "Import an index or graph of another tool"),
    },
    "Look after an index": {
        "status": ("browse:status", "Show an index: sizes, reports, failures, model usage"),
        "rollback": ("browse:rollback", "Return to an earlier snapshot of an index"),
        "check": ("browse:check", "Check that an index is complete and its tables valid"),
        "cache": ("start:cache", "Show the size of the response cache, or prune it"),
    },
    "Models and settings": {
        "embed": ("index:embed", "Compute embeddings of an index"),
        "tune": ("index:tune", "Write prompts adapted to a corpus, from a sample of it"),
        "config": ("start:config", "Show the settings in force, and where each comes from"),
        "init": ("start:init", "Write a conspectus.toml with every setting, commented out"),
        "models": ("start:app", "Check the configured language models"),
    },
    "Evaluate": {"eval": ("eval_compare:app", "Evaluate retrieval and answers")},
}
"""By group and name: the command, as its module in `conspectus.cli` and its name there, and its summary."""

HEAD = """\
Usage: conspectus [OPTIONS] COMMAND [ARGS]...

  GraphRAG for a folder of documents: knowledge graph, community reports,
  answers with citations. Works with any language model, or with none.

Examples:
  conspectus demo
  conspectus index FOLDER
  conspectus ask "What are the main themes?"
"""
FOOT = """\
Options:
  -V, --version  Show the version and exit.
  --log FILE     Write a debug log to this file. Works before and after a
                 command.  [env var: CONSPECTUS_LOG]

Other options:
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell, to copy it or
                        customize the installation.
  -h, --help            Show this message and exit.

  Exit codes: 0 done, 1 error, 2 usage, 3 done except for what is listed
  (failed calls, files that need a package). Results go to standard output,
  progress and notes to standard error."""
NO_READER = 141
"""Exit code of a process that SIGPIPE ended."""
GARBAGE = 10_000
"""New objects per garbage collection: with Python's 700 it takes .04 of the .65 s of a run that finds no change."""
BLAS_IDLE = "20"
"""Clock cycles, as a power of two, for which idle threads of numpy's OpenBLAS busy-wait for work. With 28, its default
(0.1 s), importing numpy takes 0.25 CPU s, with 20 it takes 0.13. Matrix products of three sizes take equally long."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(GARBAGE)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_IDLE)
    # pydantic would look for plugins in every installed package
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    atexit.register(gc.freeze)  # else the last garbage collections would visit every object
    # Set first, because imports take longest when a machine is busy; `app.main` then replaces it.
    signal.signal(signal.SIGINT, _interrupted_at_start)
    # If a standard stream is closed, a file opened later would get its number.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r+"))
    if (code := shown_at_once(sys.argv[1:])) is not None:
        raise SystemExit(code)
    import_module("conspectus.cli.app").main()


def _interrupted_at_start(signum: int, frame: FrameType | None) -> None:
    """End at once: before a command runs there is nothing to undo, and an interrupted import would show a traceback."""
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(130)


def shown_at_once(arguments: Sequence[str]) -> int | None:
    """Print help or version, which need no command, and return the exit code; None for other arguments."""
    if "_CONSPECTUS_COMPLETE" in os.environ:  # the shell asks for completions
        return None
    match arguments:
        case ["--help" | "-h" | "help"] | []:
            text = overview()
        case ["--version" | "-V" | "version"]:
            text = f"conspectus {conspectus.__version__}"
        case _:
            return None
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards the rest of the buffer
        return NO_READER
    return 0


def overview() -> str:
    """Return the help of `conspectus`, in 80 columns."""
    lines = [HEAD]
    for group, commands in COMMANDS.items():
        indent = max(map(len, commands)) + 2
        lines += [f"{group}:", *(f"  {name:{indent}}{text}" for name, (_, text) in commands.items()), ""]
    return "\n".join([*lines, FOOT])


__all__ = ["COMMANDS", "main", "overview", "shown_at_once"]
