"""The process that parses files for another: a request on each line of its input, a reply on its output.

All is JSON: a parser that a hostile file has taken over can do no more to the other process than tell lies.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conspectus.errors import DocumentError
from conspectus.readers import parse
from conspectus.readers.base import MEGABYTE, Options, Outcome, ParsedDocument
from conspectus.rows import EncodingWarning, Failure, Place, Skipped

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (ParsedDocument, Failure, Skipped, EncodingWarning)
}
DAMAGED = "is damaged, or of a variant that is not known"


def main() -> None:
    """Serve until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    options = Options(**json.loads(sys.stdin.buffer.readline()))
    limit_memory(memory_of(options))
    for request in sys.stdin.buffer:
        file, name = json.loads(request)
        replies.write(serialize(parse_file(file, name, options)) + b"\n")
        replies.flush()


def memory_of(options: Options) -> int:
    """Return the bytes of memory that a worker may take."""
    return 500 * MEGABYTE + 3 * options.max_bytes


def limit_memory(limit: int) -> None:
    """Let this process take no more memory than this, where the system can see to it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def parse_file(file: str, name: str, options: Options) -> list[Outcome]:
    """Return what comes of one file; whatever its parser raises is a failure of this file alone."""
    outcomes: list[Outcome] = []
    try:
        outcomes += parse(name, Path(file).read_bytes(), options)
    except DocumentError as error:
        outcomes.append(Failure("read", str(error), name))
    except OSError as error:
        outcomes.append(
            Failure("read", f"cannot be read: {error.strerror or error}; change that, then run again", name)
        )
    except MemoryError:
        limit = f"the {memory_of(options) / MEGABYTE:,.0f} MB of memory that one file may take"
        reason = f"needs more than {limit}; split it, or raise read.max_megabytes"
        outcomes.append(Failure("read", reason, name))
    except RecursionError:
        outcomes.append(Failure("read", "is nested too deeply; open it and save it again", name))
    except (
        Exception
    ) as error:  # parsers of damaged files raise anything; here, and only here, it ends as a reason
        reason = f"{DAMAGED} ({type(error).__name__}: {error}); open it in its program and save it again"
        outcomes.append(Failure("read", reason, name))
    return outcomes


def serialize(outcomes: list[Outcome]) -> bytes:
    """Return outcomes as one line of JSON."""
    return json.dumps([[type(o).__name__, asdict(o)] for o in outcomes]).encode()


def deserialize(reply: bytes) -> list[Outcome]:
    """Return the outcomes of a reply."""
    outcomes: list[Outcome] = []
    for kind, fields in json.loads(reply):
        if "places" in fields:
            fields["places"] = tuple(Place(start, name) for start, name in fields["places"])
        outcomes.append(_KINDS[kind](**fields))
    return outcomes
