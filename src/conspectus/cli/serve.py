"""`conspectus serve` and `conspectus mcp`: the web app with its API, and tools for agents."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from conspectus.cli import options, show
from conspectus.cli.options import COST, FOLDERS, OTHER, OWN, ServedFolders, option
from conspectus.errors import UsageError
from conspectus.lazy import lazy_module

if TYPE_CHECKING:
    from conspectus.server import app, running, security
else:
    app, running, security = (
        lazy_module(f"conspectus.server.{name}") for name in ("app", "running", "security")
    )

PORT = 8080
"""The default port, repeated from `server.running`, whose import would slow down the help."""
_HOST = (
    "Address to listen on. Any but 127.0.0.1 is open to other machines, which need --allowed-host and the token in "
    "CONSPECTUS_TOKEN or --token-file."
)
_ALLOWED = "Name or address that browsers and clients call this server by. Repeatable."
_TOKEN_FILE = "File with the token that every request must send; created if missing."  # noqa: S105 - a help text
_STUDY = "Folder of an evaluation whose tables are shown. Repeatable."
_RATE = "Maximum requests per minute of one client; 0 for no limit (default: 0, with a token 1200)."


@options.takes("--model", "--base-url", "--budget", "--budget-tokens")
def serve(
    folders: ServedFolders = FOLDERS,
    port: Annotated[int, option("Port to listen on.", "--port", "-p", min=0, max=65535)] = PORT,
    host: Annotated[str, option(_HOST, "--host", metavar="ADDRESS", panel=OTHER)] = "127.0.0.1",
    allowed_host: Annotated[
        list[str] | None, option(_ALLOWED, "--allowed-host", metavar="NAME", panel=OTHER)
    ] = None,
    token_file: Annotated[
        Path | None, option(_TOKEN_FILE, "--token-file", metavar="FILE", panel=OTHER)
    ] = None,
    requests_per_minute: Annotated[
        int | None, option(_RATE, "--requests-per-minute", min=0, panel=COST)
    ] = None,
    read_only: Annotated[
        bool, option("Refuse builds, corrections and uploads.", "--read-only", panel=OWN)
    ] = False,
    study: Annotated[list[Path] | None, option(_STUDY, "--study", metavar="DIR", panel=OTHER)] = None,
    no_browser: Annotated[bool, option("Do not open a browser.", "--no-browser", panel=OWN)] = False,
    *,
    given: options.Given,
) -> None:
    """Serve a web app, a REST API, a chat API and MCP.

    Example: conspectus serve
    Example: conspectus serve --index A --index B --port 9000
    """
    _needs_extra()
    address = running.Address(host, port, tuple(name.lower() for name in allowed_host or ()), token_file)
    token = address.token()
    rate = requests_per_minute if requests_per_minute is not None else running.TOKEN_RATE if token else 0
    access = security.Access(address.allowed_hosts, token, rate)
    served = app.ServerOptions(folders, access, dict(given.flags) or None, read_only, study or ())
    opens = None if no_browser or not options.somebody_is_there() else webbrowser.open
    running.run_server(served, address, show.note, opens)


def mcp(folders: ServedFolders = FOLDERS) -> None:
    """Serve MCP tools over standard input and output.

    Example: conspectus mcp --index .conspectus
    """
    _needs_extra()
    running.run_tools(folders)


def _needs_extra() -> None:
    """Raise UsageError if a package of the extra is missing."""
    try:
        _ = running.PORT
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed; pip install 'conspectus[serve]'") from None
