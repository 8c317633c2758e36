"""Start the server: its token, its port, and the address that a browser opens."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import uvicorn

from conspectus.errors import IndexMissing, UsageError
from conspectus.server.app import ServerOptions, create_app, log_as_json
from conspectus.server.indexes import Indexes
from conspectus.server.mcp import create_mcp

PORT = 8080
"""Default port; if it is in use, the first free one of the next nine is taken."""
TOKEN_VARIABLE = "CONSPECTUS_TOKEN"  # noqa: S105 - the name of a variable
MIN_TOKEN = 16
"""Minimum characters of a token: shorter ones can be guessed."""
TOKEN_RATE = 1200
"""Requests per minute and client if the server has a token: 20 a second, more than a page of the app ever sends."""

MAX_CONNECTIONS = 900
"""Simultaneous connections; further ones get 503. Most systems allow a process 1,024 open files, some for the index."""
_ARENA_MAX, ARENAS = -8, 2
"""The parameter of `mallopt` for the number of memory arenas, and its value: with one arena for each of 40 threads, the
memory of a server grew by 7 % in 20,000 requests."""


@dataclass(frozen=True)
class Address:
    """The address where a server listens, and the names that requests may use for it.

    host: the address to listen on.
    port: the port; PORT means that port or one of the next nine.
    allowed_hosts: further host names that requests may use.
    token_file: the file with the token; it is created if it does not exist.
    """

    host: str
    port: int
    allowed_hosts: tuple[str, ...] = ()
    token_file: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def token(self) -> str | None:
        """Return the token from the file or the environment; None if there is none.

        Raises UsageError if it is too short, or if other machines reach a server without a token or a host name.
        """
        token = os.environ.get(TOKEN_VARIABLE, "")
        if self.token_file:
            if not self.token_file.exists():
                descriptor = os.open(self.token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(secrets.token_urlsafe(32) + "\n")
            token = self.token_file.read_text(encoding="utf-8").strip()
        if token and len(token) < MIN_TOKEN:
            raise UsageError(f"a token has at least {MIN_TOKEN} characters")
        if not self.is_loopback and not token:
            raise UsageError(
                f"--host {self.host} lets other machines in: set {TOKEN_VARIABLE}, or pass --token-file FILE"
            )
        if not self.is_loopback and not self.allowed_hosts:
            raise UsageError(f"--host {self.host} needs --allowed-host NAME, the name that clients use")
        return token or None

    def listener(self) -> socket.socket:
        """Return a socket that is bound to the address; raise UsageError if the port cannot be used."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        problem = ""
        for port in range(self.port, self.port + 10) if self.port == PORT else (self.port,):
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((self.host, port))
            except OSError as error:
                problem = error.strerror or str(error)
                listener.close()
            else:
                return listener
        raise UsageError(f"port {self.port} of {self.host} cannot be used: {problem}; --port N takes another")


def run_server(
    options: ServerOptions,
    address: Address,
    say: Callable[[str], None],
    open_browser: Callable[[str], object] | None,
) -> None:
    """Serve until the process is interrupted; `say` is called with each message for the user."""
    access = options.access
    app, listener = create_app(options), address.listener()
    name = "localhost" if address.is_loopback else access.hosts[0]
    url = f"http://{name}:{listener.getsockname()[1]}"
    say(f"Serving {', '.join(map(str, options.folders))} at {url} (Ctrl-C ends it).")
    for served in Indexes(options.folders).values():
        if not served.exists():
            say(f"There is no index in {served.folder} yet; drop files on the app to make one.")
    link = url + (access.login_path() if access.token else "/")
    if access.token:
        say(f"Open this link once, within 10 minutes, to log a browser in: {link}")
    if open_browser and address.is_loopback:
        open_browser(link)
    log_as_json()
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).mallopt(_ARENA_MAX, ARENAS)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=3,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
    )
    uvicorn.Server(config).run(sockets=[listener])


def run_tools(folders: Sequence[Path]) -> None:
    """Serve MCP tools over standard input and output; raise IndexMissing for a folder without an index."""
    indexes = Indexes(folders)
    for served in indexes.values():
        if not served.exists():
            raise IndexMissing(f"there is no index in {served.folder}; conspectus index FOLDER makes one")
    anyio.run(create_mcp(indexes).run_stdio_async)
