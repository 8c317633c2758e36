"""What a server's refusals mean: one error, in one line that says what to do next, and never shows a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import urlsplit

from conspectus.errors import (
    BadKey,
    CallFailed,
    ContextTooLong,
    ModelError,
    NotAccepted,
    RateLimited,
    Refused,
    ServerDown,
    ServerFailed,
    TimedOut,
    UnknownModel,
)
from conspectus.models.llm.providers import OWN_KEY, Endpoint
from conspectus.models.llm.wire import Request

LONGEST_RETRY_AFTER = 600.0
"""Seconds: a server that asks to wait longer is not waited for."""
LONGEST = 300
"""Characters of a server's message that are shown."""

_KEY = re.compile(
    r"\b(?:sk|pk|key|gsk|xai|AIza)[-_A-Za-z0-9*]{8,}|(?<=Bearer )\S+|(?<=Basic )\S+|(?<=://)[^/\s@]+(?=@)"
    r"|(?<=[-_?&]key=)[^&\s'\"]+|(?<=apikey=)[^&\s'\"]+|(?<=[_?&]token=)[^&\s'\"]+"
)
_CONTEXT = re.compile(
    r"context.{0,20}(length|window|size)|too many tokens|(prompt|input) is too (long|large)|less than \d+ tokens"
    r"|maximum allowed batch size",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient.{0,10}(credit|balance|funds)|billing", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|(not a valid|unknown|no such) model|model .{0,80}(not found|not exist)", re.IGNORECASE
)
_FEATURES: Mapping[str, re.Pattern[str]] = {
    "json_schema": re.compile(r"json_schema|response_format|schema|guided|structured", re.IGNORECASE),
    "json_object": re.compile(r"json_object|response_format|json mode", re.IGNORECASE),
    "logit_bias": re.compile(r"logit_bias|logit bias", re.IGNORECASE),
    "streaming": re.compile(r"\bstream(?:ed|ing)?\b", re.IGNORECASE),
}


def redact(text: str, key: str | None = None) -> str:
    """Return a text without the key, and without whatever else looks like one."""
    return _KEY.sub("[key]", text.replace(key, "[key]") if key else text)


def server_name(endpoint: Endpoint) -> str:
    """Name a server as messages do: by its host, or its kind where it has no address."""
    parts = urlsplit(endpoint.base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else endpoint.name


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that Retry-After asks to wait, given as a number or a date; None without it."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        if not (value := headers.get("Retry-After", headers.get("retry-after", ""))):
            return None
        if re.fullmatch(r"\s*[\d.]+\s*", value):
            return float(value)
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def message_of(body: str) -> tuple[str, str]:
    """Return a server's error message, and what it says for machines (code, type, parameter)."""
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return re.sub(r"<[^>]*>", " ", body), ""
    error: Any = answer
    if isinstance(answer, dict):
        fields = cast("dict[str, Any]", answer)
        error = fields.get("error") or fields.get("detail") or fields
    if isinstance(error, list):
        return "; ".join(map(_complaint, cast("list[Any]", error))), ""
    if not isinstance(error, dict):
        return str(error), ""
    details = cast("dict[str, Any]", error)
    codes = " ".join(str(details.get(name) or "") for name in ("code", "type", "param"))
    return str(details.get("message") or details), codes


def _complaint(complaint: Any) -> str:
    """Return where and what one of FastAPI's complaints is, without its `input`: that is the text of a document."""
    if not isinstance(complaint, dict):
        return str(complaint)
    fields = cast("dict[str, Any]", complaint)
    return f"{'.'.join(map(str, fields.get('loc') or ()))}: {fields.get('msg')}"


def one_line(text: str, key: str | None) -> str:
    """Return a server's message as it is shown: on one line of bearable length, without keys."""
    text = " ".join(redact(text, key).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def error_of_response(
    status: int, headers: Mapping[str, str], body: str, at: Endpoint, request: Request | None, *, streamed: bool = False
) -> ModelError:
    """Return the error that an HTTP reply other than 200 stands for; `request` is None for embeddings."""
    text, codes = message_of(body)
    message, everything, host = one_line(text, at.key), f"{codes} {text}", server_name(at)
    if status in (401, 403):
        what = f"does not accept the key in {at.key_variable}" if at.key else f"wants a key: set {at.key_variable}"
        if at.key_variable == OWN_KEY:
            what += ", the only variable that is read for a server named by its address"
            what += " (OPENAI_API_KEY goes to OpenAI's own, or the one in OPENAI_BASE_URL)"
        return BadKey(f"{host} {what} (HTTP {status}: {message})")
    if status == 402 or (status in (403, 429) and _NO_CREDIT.search(everything)):
        return BadKey(f"the account behind {at.key_variable} has no credit left at {host} ({message})")
    if status == 404 and body.lstrip()[:1] != "{":
        return ServerDown(f"no language model is served at {redact(at.base_url)} (HTTP 404): {_address_hint(at)}")
    if status == 404 or (status in (400, 422) and _NO_MODEL.search(everything)):
        pull = f"; `ollama pull {at.model}` fetches it" if at.preset.dialect == "ollama" else "; check --model"
        return UnknownModel(f"{host} has no model {at.model!r} ({message}){pull}")
    if status == 408:
        return TimedOut(f"{host} gave up waiting (HTTP 408: {message})")
    if status == 429:
        wait = retry_after(headers) or 0.0
        says = "keeps saying that there are too many calls"
        if wait > LONGEST_RETRY_AFTER:
            says = f"asks to wait {wait:,.0f} seconds, there being too many calls"
        return _passing(RateLimited(f"{host} {says} (HTTP 429: {message})"), headers)
    if status == 413 or _CONTEXT.search(everything):
        return ContextTooLong(f"the request is longer than the context of {at.model} ({message}); {remedy(request)}")
    if status >= 500 or status in (409, 425):
        return _passing(ServerFailed(f"{host} failed (HTTP {status}: {message})"), headers)
    if status < 400:
        return ServerDown(f"{host} sends calls elsewhere (HTTP {status}): give its own address with --base-url")
    if request and (feature := _refused_feature(everything, request, streamed)):
        return NotAccepted(f"{host} does not take {feature} for {at.model} ({message})", feature)
    return Refused(f"{host} refused the request (HTTP {status}: {message})")


def _address_hint(at: Endpoint) -> str:
    """Return what to try where a server answers, but not under this address."""
    lacks_version = at.preset.dialect == "openai" and not re.search(r"/v\d", urlsplit(at.base_url).path)
    return f"try --base-url {redact(at.base_url)}/v1" if lacks_version else "check --base-url"


def unreachable(at: Endpoint, reason: str) -> ServerDown:
    """Return the error for a server that nothing answers for, with what starts it or leads to it."""
    if at.preset.dialect == "ollama" and at.local:
        advice = "start it with `ollama serve`"
    elif at.local:
        advice = "start it, or check --base-url"
    elif at.base_url == at.preset.base_url:
        advice = "check the network connection, and the proxy if there is one (HTTPS_PROXY)"
    else:
        advice = "check its address, the network connection, and the proxy if there is one (HTTPS_PROXY)"
    return ServerDown(f"no server answers at {server_name(at)} ({redact(reason, at.key)}): {advice}")


def remedy(request: Request | None) -> str:
    """Return what makes requests of a task shorter."""
    return f"lower {request.size_setting if request else 'context_tokens'}"


def _passing(error: CallFailed, headers: Mapping[str, str]) -> CallFailed:
    error.retry_after = retry_after(headers)
    return error


def _refused_feature(message: str, request: Request, streamed: bool) -> str | None:
    used = {request.response_format, "logit_bias" if request.logit_bias else "", "streaming" if streamed else ""}
    return next((name for name, named in _FEATURES.items() if name in used and named.search(message)), None)
