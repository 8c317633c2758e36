"""Servers of models: the address, dialect and key variable of a model name, and the errors for responses of servers.

An error has one line, says what to do next, and never shows a key.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from conspectus.errors import (
    BadKey,
    ContextTooLong,
    ModelError,
    NotAccepted,
    RateLimited,
    Refused,
    ServerDown,
    ServerFailed,
    TimedOut,
    UnknownModel,
    UsageError,
)
from conspectus.models.llm.wire import Request

OWN_KEY = "CONSPECTUS_API_KEY"
"""Environment variable with the key of a server that is named by its address."""
Dialect = Literal["openai", "ollama", "native", "function"]
FUNCTION = "python"
"""Prefix of the name of a model that is a Python function; see `adapters`."""
_REASONING = re.compile(r"^(o\d|gpt-5)")


@dataclass(frozen=True)
class Provider:
    """A kind of server, as listed in `providers.toml`.

    `key` is the environment variable of its key, `features` are the features that it may support, `address` is a
    variable that may contain another address, and `models` is a pattern of its models' names, for advice if a name
    lacks the provider.
    """

    base_url: str = ""
    key: str = OWN_KEY
    address: str = ""
    dialect: Dialect = "openai"
    needs_key: bool = True
    features: str = "json_schema json_object logit_bias streaming"
    address_ends: str = ""
    key_header: str = "Authorization"
    models: str = "$^"


OWN = Provider(needs_key=False)
"""A server that is named by its address."""
_FILE = Path(__file__).parent / "providers.toml"
_TABLES = tomllib.loads(_FILE.read_text(encoding="utf-8"))
PRESETS: dict[str, Provider] = {}
RERANKERS: dict[str, Provider] = {}
for _kind, _providers in (("models", PRESETS), ("rerankers", RERANKERS)):
    for _name, _fields in _TABLES[_kind].items():
        _providers[_name] = Provider(**_fields)


@dataclass(frozen=True)
class Endpoint:
    """Where and how to call one model. `model` is its name on the server; the key is not part of the repr."""

    name: str
    preset: Provider
    model: str
    base_url: str
    key_variable: str
    key: str | None = field(default=None, repr=False)
    reranks: bool = False

    @property
    def headers(self) -> dict[str, str]:
        if not self.key:
            return {}
        bearer = "Bearer " if self.preset.key_header == "Authorization" else ""
        return {self.preset.key_header: bearer + self.key}

    @property
    def server(self) -> str:
        """Name of its server in messages: scheme and host, or the provider if it has no address."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else self.name

    @property
    def lacks_key(self) -> bool:
        return self.preset.needs_key and self.key_variable != OWN_KEY and not self.key

    @property
    def reasoning(self) -> bool:
        """Whether it belongs to OpenAI's families that accept neither `max_tokens` nor a temperature."""
        return self.name in ("openai", "azure") and bool(_REASONING.match(self.model))

    def argument(self, name: str, value: str = "...") -> str:
        """Return how messages write an argument that selects it."""
        return f"settings={{'rerank.by': {value}}}" if self.reranks else f"{name}={value}"


def find_endpoint(name: str, base_url: str = "", environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of a model: at its preset's address, or at `base_url` if that is given.

    A preset's key is sent only to the preset's own server; the key for another address is CONSPECTUS_API_KEY.

    Raises:
        UsageError: no server is known for the name.
    """
    prefix, _, rest = name.partition("/")
    if prefix == FUNCTION and rest:
        return Endpoint(FUNCTION, Provider(dialect="function", features=""), rest, "", "")
    preset = PRESETS.get(prefix) if rest else None
    if base_url:
        own = preset if preset and preset.dialect != "native" else OWN
        return _endpoint(prefix, own, rest if preset else name, base_url, environ)
    if preset is None:
        raise UsageError(
            f"no server is known for the model {name!r}: {_meant(name)}name it as one of"
            f" {'/…, '.join(PRESETS)}/…, or give the address of its server with base_url=..."
        )
    address = environ.get(preset.address, "").rstrip("/")
    if address and not address.endswith(preset.address_ends):
        address += preset.address_ends
    if not address and not preset.base_url and preset.dialect != "native":
        raise UsageError(f"{name} needs the address of its server: set {preset.address}")
    return _endpoint(prefix, preset, rest, address or preset.base_url, environ, preset.key)


def _meant(name: str) -> str:
    """Return, as part of a message, which model a name without a provider may refer to."""
    if name.startswith("extract"):
        return "did you mean extractive, which asks no server? Otherwise "
    for provider, preset in PRESETS.items():
        if re.match(preset.models, name.lower()):
            return f"did you mean {provider}/{name}? Otherwise "
    return ""


def find_reranker(name: str, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of a reranker: `cohere/rerank-v3.5`, or an address, `http://localhost:8000/v1#its-model`.

    Raises:
        UsageError: no server is known for the name.
    """
    if name.startswith(("http://", "https://")):
        url, _, model = name.partition("#")
        return _endpoint(name, OWN, model, re.sub(r"/rerank/?$", "", url), environ, reranks=True)
    prefix, _, rest = name.partition("/")
    if prefix not in RERANKERS or not rest:
        raise UsageError(
            f"no server is known for the reranker {name!r}: name it as one of {'/…, '.join(RERANKERS)}/…,"
            " or give the address of its server, as http://localhost:8000/v1#MODEL"
        )
    preset = RERANKERS[prefix]
    return _endpoint(prefix, preset, rest, preset.base_url, environ, preset.key, reranks=True)


def _endpoint(
    name: str,
    preset: Provider,
    model: str,
    address: str,
    environ: Mapping[str, str],
    variable: str = OWN_KEY,
    *,
    reranks: bool = False,
) -> Endpoint:
    url = address if "://" in address or not address else f"http://{address}"
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
        raise UsageError(f"{url!r} is not the address of a server: it has the form https://host/v1")
    if "?" in url:
        raise UsageError(
            f"the address of {name} has a query, which may contain a key: leave it out, and set {variable}"
        )
    url = url.rstrip("/").replace("://0.0.0.0", "://127.0.0.1")
    if preset.dialect == "ollama":
        url = url.removesuffix("/v1")
    key = environ.get(variable) or None
    if key and "@" in urlsplit(url).netloc:
        raise UsageError(f"the address of {name} has a password, and {variable} a key: remove one of them")
    return Endpoint(name, preset, model, url, variable, key, reranks)


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    return host in ("localhost", "::1", "0.0.0.0") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))  # noqa: S104


# Errors of servers

LONGEST_RETRY_AFTER = 600.0
"""Longest Retry-After, in seconds, that is waited for."""
LONGEST = 300
"""Maximum characters of a server's message that are shown."""

_KEY = re.compile(
    r"\b(?:sk|pk|key|gsk|xai|AIza)[-_A-Za-z0-9*]{8,}|(?<=Bearer )\S+|(?<=Basic )\S+|(?<=://)[^/\s@]+(?=@)"
    r"|(?<=[-_?&]key=)[^&\s'\"]+|(?<=apikey=)[^&\s'\"]+|(?<=[_?&]token=)[^&\s'\"]+"
)
_MESSAGES: dict[str, re.Pattern[str]] = {}
for _name, _pattern in _TABLES["messages"].items():
    _MESSAGES[_name] = re.compile(_pattern, re.IGNORECASE)
_OWN_KEY_ONLY = (
    ", the only variable that is read for a server named by its address"
    " (OPENAI_API_KEY goes to OpenAI's own, or the one in OPENAI_BASE_URL)"
)


def redact(text: str, key: str | None = None) -> str:
    """Return a text with the key, and everything else that looks like a key, replaced by `[key]`."""
    return _KEY.sub("[key]", text.replace(key, "[key]") if key else text)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds to wait according to the header Retry-After (a number or a date); None without it."""
    value = headers.get("Retry-After", headers.get("retry-after", "")).strip()
    try:
        if re.fullmatch(r"[\d.]+", value):
            return float(value)
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def message_of(body: str) -> tuple[str, str]:
    """Return the message of a server's error, and its machine-readable parts (code, type, parameter)."""
    try:
        reply: Any = json.loads(body)
    except ValueError:
        return re.sub(r"<[^>]*>", " ", body), ""
    error: Any = reply
    if isinstance(reply, dict):
        fields = cast("dict[str, Any]", reply)
        error = fields.get("error") or fields.get("detail") or fields
    if isinstance(error, list):  # FastAPI's form; its `input`, the text of a document, is not shown
        lines: list[str] = []
        for item in cast("list[Any]", error):
            detail = cast("dict[str, Any]", item) if isinstance(item, dict) else {"msg": item}
            where = ".".join(map(str, detail.get("loc") or ()))
            lines.append(f"{where}: {detail.get('msg')}" if where else str(detail.get("msg")))
        return "; ".join(lines), ""
    if not isinstance(error, dict):
        return str(error), ""
    details = cast("dict[str, Any]", error)
    codes = " ".join(str(details.get(name) or "") for name in ("code", "type", "param"))
    return str(details.get("message") or details), codes


def one_line(text: str, key: str | None) -> str:
    """Return a server's message as it is shown: on one line, shortened to LONGEST characters, without keys."""
    text = " ".join(redact(text, key).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _not_served(at: Endpoint) -> ServerDown:
    """Return the error for an address at which a server answers, but serves no language model."""
    url = redact(at.base_url)
    whole = re.search(r"/(chat/completions|completions|embeddings|responses)$", url)
    hint = f"check {at.argument('base_url')}"
    if whole:
        hint = f"try {at.argument('base_url', repr(url[: whole.start()]))}, without {whole[0]}"
    elif at.preset.dialect == "openai" and not re.search(r"/v\d", urlsplit(at.base_url).path):
        hint = f"try {at.argument('base_url', repr(url + '/v1'))}"
    return ServerDown(f"no language model is served at {url} (HTTP 404): {hint}")


def error_of_response(
    status: int,
    headers: Mapping[str, str],
    body: str,
    at: Endpoint,
    request: Request | None,
    *,
    streamed: bool = False,
) -> ModelError:
    """Return the error for an HTTP response with a status other than 200; `request` is None for vectors and scores."""
    text, codes = message_of(body)
    message, everything, host = one_line(text, at.key), f"{codes} {text}", at.server
    seen = f"(HTTP {status}: {message})"
    if status == 402 or (status in (403, 429) and _MESSAGES["no_credit"].search(everything)):
        return BadKey(f"the account behind {at.key_variable} has no credit left at {host} ({message})")
    if status in (401, 403):
        what = "does not accept the key in" if at.key else "requires a key: set"
        only = _OWN_KEY_ONLY if at.key_variable == OWN_KEY else ""
        return BadKey(f"{host} {what} {at.key_variable}{only} {seen}")
    if status == 404 and body.lstrip()[:1] != "{":
        return _not_served(at)
    if status == 404 or (status in (400, 422) and _MESSAGES["no_model"].search(everything)):
        advice = f"check {at.argument('model' if request else 'embedder')}"
        if at.preset.dialect == "ollama":
            advice = f"`ollama pull {at.model}` downloads it"
        return UnknownModel(f"{host} has no model {at.model!r} ({message}); {advice}")
    if status == 413 or (status != 429 and _MESSAGES["context"].search(everything)):
        return ContextTooLong(
            f"the request is longer than the context of {at.model} ({message}); {remedy(request)}"
        )
    if status == 429 or status >= 500 or status in (409, 425):
        wait = retry_after(headers)
        long = f", and to wait {wait:,.0f} seconds" if wait and wait > LONGEST_RETRY_AFTER else ""
        many = f"{host} keeps answering that there are too many calls{long} {seen}"
        error = RateLimited(many) if status == 429 else ServerFailed(f"{host} failed {seen}")
        error.retry_after = wait
        return error
    if status == 408:
        return TimedOut(f"{host} timed out {seen}")
    if status < 400:
        own = at.argument("base_url")
        return ServerDown(f"{host} redirects calls (HTTP {status}): give its final address, {own}")
    if request:
        used = (request.response_format, request.logit_bias and "logit_bias", streamed and "streaming")
        for feature in Provider.features.split():
            if feature in used and _MESSAGES[feature].search(everything):
                return NotAccepted(f"{host} does not support {feature} for {at.model} ({message})", feature)
    return Refused(f"{host} refused the request {seen}")


def unreachable(at: Endpoint, reason: str) -> ServerDown:
    """Return the error for an address at which no server answers, with advice on how to start or reach it."""
    if re.search("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE", reason):
        plain = redact(at.base_url).replace("https://", "http://", 1)
        return ServerDown(f"{at.server} speaks http, not https: try {at.argument('base_url', repr(plain))}")
    network = "check the network connection, and the proxy if there is one (HTTPS_PROXY)"
    if is_local(at.base_url):
        ollama = at.preset.dialect == "ollama"
        advice = "start it with `ollama serve`" if ollama else f"start it, or check {at.argument('base_url')}"
    else:
        advice = network if at.base_url == at.preset.base_url else f"check its address; {network}"
    return ServerDown(f"no server answers at {at.server} ({redact(reason, at.key)}): {advice}")


def remedy(request: Request | None) -> str:
    """Return advice on how to make requests of a task shorter."""
    return f"lower {request.size_setting if request else 'context_tokens'}"
