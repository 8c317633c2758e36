"""A real server on a free port of this machine, in a thread, over an index of the sample corpus."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import conspectus

uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the extra serve is not installed")
transports: Any = pytest.importorskip("httpx2._transports.default")
# Otherwise each request would read all certificates of the system again.
transports.create_ssl_context = cache(transports.create_ssl_context)

from conspectus.server.app import ServerOptions, create_app  # noqa: E402
from conspectus.server.security import Access  # noqa: E402

SAMPLE = Path(conspectus.__file__).parent / "sample"


@dataclass
class Running:
    """A running server: its address, its access rules, and its application."""

    url: str
    access: Access
    app: Any


@contextmanager
def serving(*folders: Path, access: Access | None = None, **options: Any) -> Iterator[Running]:
    """Run a server over some index folders until the block ends."""
    access = access or Access()
    app = create_app(ServerOptions(folders, access, **options))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    started = threading.Event()
    startup = server.startup

    async def begin(*args: Any, **kwargs: Any) -> None:
        await startup(*args, **kwargs)
        started.set()

    server.startup = begin  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(60), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Running(f"http://127.0.0.1:{port}", access, app)
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="session")
def server(sample_index: Path) -> Iterator[Running]:
    """A server over the index of the sample corpus, without a token."""
    with serving(sample_index, read_only=True) as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    """A function that starts servers, which end with the test."""
    with ExitStack() as stack:
        yield lambda *folders, **options: stack.enter_context(serving(*folders, **options))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 30_000
"""Milliseconds to wait for the expected content of a page: on a busy machine it takes several seconds."""


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Return the path of the system's Chromium, or of the one that `make test-web` installs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = CHROMIUM
    if not path:
        with playwright.sync_playwright() as running:
            path = running.chromium.executable_path
    if not Path(path).exists():
        pytest.skip("there is no Chromium on this machine; `make test-web` installs one")
    return path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=chromium_path, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """A page of the app with its problems: script errors, and requests to other origins."""

    page: Any
    errors: list[str]
    foreign: list[str]


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """A function that opens pages of the app, which are closed with the test."""
    with ExitStack() as stack:

        def open_page(url: str, *, width: int = 1280, theme: str = "light") -> Visit:
            context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=theme)
            stack.callback(context.close)
            page = context.new_page()
            visited = Visit(page, [], [])
            page.on("pageerror", lambda error: visited.errors.append(str(error)))
            page.on("dialog", lambda dialog: (visited.errors.append(dialog.message), dialog.dismiss()))
            origin = "/".join(url.split("/")[:3])
            page.on(
                "request", lambda row: None if row.url.startswith(origin) else visited.foreign.append(row.url)
            )
            page.goto(url)
            return visited

        yield open_page
