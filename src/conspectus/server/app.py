"""The ASGI application: routes, errors, metrics, the MCP endpoint and the built web app behind one guard."""

# pyright: reportUnusedFunction=false
from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import conspectus
from conspectus.errors import ConspectusError
from conspectus.server import chat, graph_map, jobs, rest, studies
from conspectus.server.answers import Answers
from conspectus.server.errors import as_error
from conspectus.server.indexes import Indexes
from conspectus.server.mcp import create_mcp
from conspectus.server.security import Access, Guard

STATIC = Path(__file__).parent / "static"
"""The folder of the built web app; without it, as in a source checkout, only the API is served."""
log = logging.getLogger("conspectus.server")


@dataclass(frozen=True)
class ServerOptions:
    """The options of a server.

    folders: the folders of the indexes.
    access: hosts, token and rate limit.
    settings: settings for all answers, such as the model.
    read_only: whether builds, corrections, rollbacks and uploads are refused.
    studies: folders of evaluations, which are only read.
    """

    folders: Sequence[str | Path]
    access: Access
    settings: Mapping[str, Any] | None = None
    read_only: bool = False
    studies: Sequence[Path] = ()


def create_app(options: ServerOptions) -> ASGIApp:
    """Return the ASGI application that serves indexes.

        create_app(ServerOptions([".conspectus"], Access()))

    Raises UsageError if no folder is named, or if one is named twice.
    """
    indexes, answers = Indexes(options.folders), Answers(options.settings)
    tools = create_mcp(indexes, options.settings)
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard protects
    tools_app = tools.streamable_http_app(
        stateless_http=True, json_response=True, transport_security=unguarded
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with tools.session_manager.run():  # the lifespan of a mounted app would not run
            first = asyncio.ensure_future(app.state.maps.prepare(indexes[""]))
            yield
            first.cancel()
        answers.close()

    app = FastAPI(
        title="Conspectus",
        version=conspectus.__version__,
        summary="Questions, reports, entities and documents of an index",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other origins
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.indexes = indexes
    app.state.answers = answers
    app.state.jobs = jobs.Jobs()
    app.state.maps = graph_map.Maps(write=not options.read_only)
    app.state.options = options
    app.state.studies = {folder.absolute().name: folder for folder in options.studies}
    for part in (rest, graph_map, jobs, chat, studies):
        app.include_router(part.router)
    app.router.routes.extend(tools_app.routes)
    _add_errors(app)
    _add_health(app)
    _add_pages(app)
    return Observed(Guard(app, options.access), app.state.metrics)


def _add_errors(app: FastAPI) -> None:
    """Return every error in the same JSON form."""

    @app.exception_handler(ConspectusError)
    @app.exception_handler(Exception)  # including bugs
    async def of_ours(request: Request, error: Exception) -> JSONResponse:
        status, body = as_error(error)
        return JSONResponse(body, status)

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> JSONResponse:
        body = {"error": {"type": "HTTPError", "message": str(error.detail)}}
        return JSONResponse(body, error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def of_arguments(request: Request, error: RequestValidationError) -> JSONResponse:
        problems = [f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors()]
        return JSONResponse({"error": {"type": "UsageError", "message": "; ".join(problems)}}, 422)


class Metrics:
    """Metrics for Prometheus; each application has its own, so that two in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "conspectus_requests_total",
            "Requests by route and status",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "conspectus_request_seconds",
            "Seconds until a response was complete",
            ["route"],
            registry=self.registry,
        )
        self.pending = Gauge(
            "conspectus_answers_pending", "Questions that wait or are being answered", registry=self.registry
        )


def _add_health(app: FastAPI) -> None:
    metrics = app.state.metrics = Metrics()
    metrics.pending.set_function(lambda: app.state.answers.pending)

    @app.get("/health", include_in_schema=False)
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok", "version": conspectus.__version__})

    @app.get("/metrics", include_in_schema=False)
    async def prometheus() -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")


def _add_pages(app: FastAPI) -> None:
    """Serve the files of the built web app, and its page at every other address.

    The files are listed once at the start, so that no address can name any other file.
    """
    files = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str) -> FileResponse:
        if path.startswith(("api/", "v1/", "assets/")) and path not in files:
            raise HTTPException(404, f"there is no route /{path}")
        if not files:
            raise HTTPException(
                404, "this installation has no web app; the API is described at /api/openapi.json"
            )
        is_built = path.startswith("assets/") and path in files  # its name contains a hash of its content
        caching = "public, max-age=31536000, immutable" if is_built else "no-cache"
        return FileResponse(files.get(path) or files["index.html"], headers={"cache-control": caching})


class Observed:
    """ASGI middleware that counts and logs requests by route and status, but never records a query or a header."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when its response is complete."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, began = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "") or "other"
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(seconds)
            log.info("request", extra={"route": route, "status": status, "ms": round(1000 * seconds, 1)})


class JsonLog(logging.Formatter):
    """Formats log records as JSON, one per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one record as a line of JSON."""
        row: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        row |= {name: getattr(record, name) for name in ("route", "status", "ms") if hasattr(record, name)}
        if record.exc_info:
            kind, _, trace = record.exc_info  # without its message, which may contain a question
            row["error"] = f"{kind.__name__ if kind else ''}\n{''.join(traceback.format_tb(trace))}"
        return json.dumps(row, ensure_ascii=False)


def log_as_json() -> None:
    """Write the server's log to standard error, one JSON object per line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLog())
    for name, level in (("conspectus.server", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
