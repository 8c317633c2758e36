"""Access control of the server: one ASGI guard in front of every route, the MCP endpoint and the static files.

A page of another site can send requests to a server on this machine, and with DNS rebinding it can read the replies.
Each request must therefore name a known host and must not come from a foreign page; if other machines can reach the
server, it must also carry a token.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "conspectus_session"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine in the header `Host`, without a port."""
MAX_BODY_BYTES = 2_000_000
"""Maximum bytes of a request's body, except for uploads, which are limited where they are read. By default a question
has at most 20,000 characters; a long conversation of a chat client has some 100 kB."""
BODY_SECONDS = 30
"""Seconds that a body, or a piece of an uploaded file, may take to arrive: stalled clients do not accumulate."""
LOGIN_SECONDS = 600
"""Seconds for which the one-time login link is valid: long enough to start a browser by hand."""
SESSION_SECONDS = 7 * 24 * 3600
"""Seconds for which a browser stays logged in: a week, so that a bookmark works during a project."""
MAX_CLIENTS = 10_000
"""Clients whose request rates are remembered; the least recently active one is forgotten first."""
LOGIN = "/login"
OPEN_PATHS = ("/health", LOGIN)
"""Paths that need no token: liveness probes send none, and a login link contains its own code."""
UPLOADS = "/api/uploads/"
"""The prefix of paths whose bodies are files; those are limited where they are written."""
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass
class Access:
    """The rules that the guard checks, and the logins that it has granted.

    hosts: names that requests may give in `Host` in addition to those of this machine, without a port.
    token: the token that requests must carry; None if only this machine can reach the server.
    requests_per_minute: the limit for each token, browser session or address; 0 for no limit.
    """

    hosts: tuple[str, ...] = ()
    token: str | None = None
    requests_per_minute: int = 0
    _codes: dict[str, float] = field(default_factory=dict[str, float])
    _sessions: dict[str, float] = field(default_factory=dict[str, float])
    _rates: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]]
    )

    def login_path(self) -> str:
        """Return a path that logs a browser in once, `/login?code=…`; the token itself never appears in an address."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = time.monotonic() + LOGIN_SECONDS
        return f"{LOGIN}?code={code}"

    def login(self, code: str) -> str | None:
        """Return a new session for a code, which is then used up; None for an unknown or expired code."""
        if self._codes.pop(code, 0.0) < time.monotonic():
            return None
        now = time.monotonic()
        self._sessions = {name: end for name, end in self._sessions.items() if end > now}
        session = secrets.token_urlsafe(32)
        self._sessions[session] = now + SESSION_SECONDS
        return session

    def client_of(self, headers: Headers, address: str) -> str | None:
        """Return the sender of a request as a key for rate limits; None if it carries neither token nor session."""
        if self.token is None:
            return address
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(bearer.strip().encode(), self.token.encode()):
            return "token"
        session = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return session if self._sessions.get(session, 0.0) > time.monotonic() else None

    def knows_host(self, host: str) -> bool:
        """Return whether a `Host` header names this server."""
        match = re.fullmatch(r"(\[[\da-fA-F:.]+\]|[^\[\]:@\s]*)(:\d*)?", host)  # with or without a port
        return match is not None and match[1].lower() in {*LOOPBACK, *self.hosts}

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether a request with this `Origin` comes from a page of this server."""
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def seconds_to_wait(self, client: str) -> float:
        """Count a request of a client; return the seconds it should have waited, 0 if it is within the limit."""
        if not self.requests_per_minute:
            return 0.0
        rate, now = self.requests_per_minute / 60, time.monotonic()
        tokens, last = self._rates.pop(client, (float(self.requests_per_minute), now))
        tokens = min(tokens + (now - last) * rate, float(self.requests_per_minute))
        allowed = tokens >= 1
        self._rates[client] = (tokens - 1 if allowed else tokens, now)
        while len(self._rates) > MAX_CLIENTS:
            self._rates.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / rate


class Guard:
    """ASGI middleware that refuses what `Access` does not allow, and adds security headers to every response.

    Refusals: 421 for a foreign `Host`, 403 for a foreign or null `Origin`, 401 without a token, 429 above the rate
    limit, 413 for a body that is too large, whether its length is declared or not, 408 for one that is too slow.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(scope, receive, _with_headers(send))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._refusal(scope)
        if response is None and scope["path"] == LOGIN:
            response = self._login(scope)
        if response is None and not scope["path"].startswith(UPLOADS):
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    body = await _limited_body(Headers(scope=scope), receive)
            except TimeoutError:
                response = _refused(408, "The body did not arrive in time.", {"connection": "close"})
            else:
                receive = body or receive
                if body is None:
                    response = _refused(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
        await (response or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request; None if the request is allowed."""
        headers, host = Headers(scope=scope), Headers(scope=scope).get("host", "")
        if not self.access.knows_host(host):
            return _refused(421, "This server does not answer for that host; --allowed-host adds a name.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_embedded = site not in ("none", "same-origin") and headers.get("sec-fetch-dest") != "document"
        if is_embedded or (origin is not None and not self.access.knows_origin(origin, host)):
            return _refused(403, "Requests from pages of other sites are refused.")
        if scope["path"] in OPEN_PATHS:
            return None
        client = self.access.client_of(headers, (scope.get("client") or ("", 0))[0])
        if client is None:
            return _refused(
                401, "A token is required: Authorization: Bearer TOKEN.", {"www-authenticate": "Bearer"}
            )
        if wait := self.access.seconds_to_wait(client):
            return _refused(429, "Too many requests; see Retry-After.", {"retry-after": str(int(wait) + 1)})
        return None

    def _login(self, scope: Scope) -> Response:
        """Exchange a one-time code for a session cookie, and redirect to the first page."""
        code = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("code", [""])[0]
        session = self.access.login(code)
        if session is None:
            return _refused(401, "This login link was used or has expired; start the server again for one.")
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{COOKIE}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={SESSION_SECONDS}{secure}"
        return RedirectResponse("/", 303, {"set-cookie": cookie, "cache-control": "no-store"})


async def _limited_body(headers: Headers, receive: Receive) -> Receive | None:
    """Read a body up to the limit; return a `receive` that replays its messages and then returns new ones.

    Returns None if the body is longer.
    """
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BODY_BYTES:
        return None
    messages: list[Message] = []
    size, more = 0, True
    while more:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            return None
        more = message.get("more_body", False)
    remaining = iter(messages)

    async def replay() -> Message:
        return next(remaining, None) or await receive()

    return replay


def _with_headers(send: Send) -> Send:
    """Return a `send` that adds the security headers to a response, unless the response sets them itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"error": {"type": "HTTPError", "message": message}}
    return JSONResponse(body, status, {"cache-control": "no-store", **(headers or {})})
