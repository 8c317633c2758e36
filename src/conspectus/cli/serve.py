"""`conspectus serve` and `conspectus mcp`: the web app with its API, and tools for agents."""

from __future__ import annotations

import os
import secrets
import socket
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from conspectus.cli import options, show
from conspectus.cli.options import COST, FOLDERS, OTHER, OWN, IndexFolders, option
from conspectus.errors import IndexMissing, UsageError

if TYPE_CHECKING:
    from conspectus.server.indexes import Indexes

PORT = 8080
"""Default port; the next free one of the following nine is taken where it is in use."""
TOKEN_VARIABLE = "CONSPECTUS_TOKEN"  # noqa: S105 - the name of a variable
MIN_TOKEN = 16
"""Characters of a token at least: fewer can be guessed."""
MISSING = "the server needs the extra serve: pip install 'conspectus[serve]'"

_HOST = (
    "Address to listen on. Other machines reach any but 127.0.0.1; they need --allowed-host and the token in "
    f"{TOKEN_VARIABLE} or --token-file."
)
_ALLOWED = "Name or address that browsers and clients call this server by. Repeatable."
_RATE = "Maximum requests per minute of one client; 0 for no limit (default: 0, with a token 1200)."


@options.takes("--model", "--base-url", "--budget", "--budget-tokens")
def serve(
    folders: IndexFolders = FOLDERS,
    port: Annotated[int, option("Port to listen on.", "--port", "-p", min=0, max=65535)] = PORT,
    host: Annotated[str, option(_HOST, "--host", metavar="ADDRESS", panel=OTHER)] = "127.0.0.1",
    allowed_host: Annotated[
        list[str] | None, option(_ALLOWED, "--allowed-host", metavar="NAME", panel=OTHER)
    ] = None,
    token_file: Annotated[
        Path | None,
        option(
            "File with the token that every request must carry; made if there is none.",
            "--token-file",
            metavar="FILE",
            panel=OTHER,
        ),
    ] = None,
    requests_per_minute: Annotated[
        int | None, option(_RATE, "--requests-per-minute", min=0, panel=COST)
    ] = None,
    read_only: Annotated[
        bool, option("Refuse builds, corrections and uploads.", "--read-only", panel=OWN)
    ] = False,
    no_browser: Annotated[bool, option("Do not open a browser.", "--no-browser", panel=OWN)] = False,
    *,
    given: options.Given,
) -> None:
    """Serve a web app, a REST API, chat clients and MCP.

    Example: conspectus serve
    Example: conspectus serve --index A --index B --port 9000
    """
    try:
        import uvicorn

        from conspectus.server.app import ServerOptions, create_app, log_as_json
        from conspectus.server.security import Access
    except ImportError as error:
        raise UsageError(f"{MISSING} ({error})") from None
    token = _token(host, token_file, allowed_host or [])
    rate = requests_per_minute if requests_per_minute is not None else 1200 if token else 0
    access = Access(tuple(name.lower() for name in allowed_host or ()), token, rate)
    app = create_app(ServerOptions(folders, access, dict(given.flags) or None, read_only))
    listener = _listener(host, port)
    address = f"http://{'localhost' if _is_loopback(host) else host}:{listener.getsockname()[1]}"
    link = address + (access.login_path() if token else "/")
    show.note(f"Serving {', '.join(map(str, folders))} at {address} (Ctrl-C ends it).")
    if token:
        show.note(f"Open this link once, within 10 minutes, to log a browser in: {link}")
    if not no_browser and _is_loopback(host) and options.somebody_is_there():
        webbrowser.open(link)
    log_as_json()
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=3, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])


def mcp(folders: IndexFolders = FOLDERS) -> None:
    """Serve MCP tools over standard input and output.

    Example: conspectus mcp --index .conspectus
    """
    try:
        from conspectus.server.indexes import Indexes
        from conspectus.server.mcp import run_stdio
    except ImportError as error:
        raise UsageError(f"{MISSING} ({error})") from None
    indexes: Indexes = Indexes(folders)
    for served in indexes.values():
        if not served.exists():
            raise IndexMissing(f"there is no index in {served.folder}; conspectus index FOLDER makes one")
    run_stdio(indexes)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _token(host: str, file: Path | None, allowed: list[str]) -> str | None:
    """Return the token of a server that other machines reach; None for one that only this machine reaches.

    Raises UsageError where such a server has no token or no name.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    if file:
        if not file.exists():
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as new:
                new.write(secrets.token_urlsafe(32) + "\n")
            show.note(f"Wrote a new token to {file}.")
        token = file.read_text(encoding="utf-8").strip()
    if token and len(token) < MIN_TOKEN:
        raise UsageError(f"a token has at least {MIN_TOKEN} characters")
    if not _is_loopback(host):
        if not token:
            raise UsageError(
                f"--host {host} lets other machines in: set {TOKEN_VARIABLE}, or pass --token-file FILE"
            )
        if not allowed:
            raise UsageError(
                f"--host {host} needs --allowed-host NAME, the name that clients call this machine by"
            )
    return token or None


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port, or for the default port on the next free one; raise UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = range(port, port + 10) if port == PORT else (port,)
    problem: Any = None
    for number in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
        except OSError as error:
            problem = error
            listener.close()
        else:
            listener.listen(2048)
            return listener
    raise UsageError(f"port {port} of {host} cannot be used: {problem.strerror}; --port N takes another")
