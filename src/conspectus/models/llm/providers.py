"""Where a model name leads: `openai/gpt-4.1-mini` to an address, a dialect, and the variable of its key."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from conspectus.errors import UsageError
from conspectus.models.llm.wire import Feature

OWN_KEY = "CONSPECTUS_API_KEY"
"""Holds the key of a server that was named by its address."""
Dialect = Literal["openai", "ollama", "native", "function"]
FUNCTION = "python"
"""Before the name of a model that is a Python function; see `functions`."""
ALL: tuple[Feature, ...] = ("json_schema", "json_object", "logit_bias", "streaming")
_NEWER_VOCABULARY = re.compile(r"gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|(^|/)o\d")
_REASONING = re.compile(r"^(o\d|gpt-5)")
_PROVIDERS = {
    "ollama": re.compile(r"llama|qwen|mistral|gemma|phi|deepseek|nomic-|gpt-oss"),
    "openai": re.compile(r"gpt-|chatgpt|o\d\b|text-embedding-"),
    "anthropic": re.compile(r"claude"),
    "gemini": re.compile(r"gemini"),
}
"""Whose models have such names, by how they begin: for advice where the provider was left out."""


@dataclass(frozen=True)
class Provider:
    """A kind of server: `key` names the variable of its key, `features` are worth trying there."""

    base_url: str = ""
    key: str = OWN_KEY
    needs_key: bool = False
    dialect: Dialect = "openai"
    features: tuple[Feature, ...] = ALL
    key_header: str = "Authorization"
    address: str = ""
    """The variable that may name another address."""
    address_ends: str = ""


PRESETS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", needs_key=True, address="OPENAI_BASE_URL"),
    "azure": Provider(
        key="AZURE_OPENAI_API_KEY",
        needs_key=True,
        key_header="api-key",
        address="AZURE_OPENAI_ENDPOINT",
        address_ends="/openai/v1",
    ),
    "ollama": Provider(
        "http://localhost:11434",
        "OLLAMA_API_KEY",
        dialect="ollama",
        features=("json_schema", "json_object", "streaming"),
        address="OLLAMA_HOST",
    ),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", needs_key=True),
    "anthropic": Provider(
        key="ANTHROPIC_API_KEY", needs_key=True, dialect="native", features=("json_schema", "streaming")
    ),
    "gemini": Provider(
        key="GEMINI_API_KEY",
        needs_key=True,
        dialect="native",
        features=("json_schema", "json_object", "streaming"),
    ),
    "bedrock": Provider(key="AWS_BEARER_TOKEN_BEDROCK", dialect="native", features=("streaming",)),
}


RERANKERS: Mapping[str, Provider] = {
    "cohere": Provider("https://api.cohere.com/v2", "COHERE_API_KEY", needs_key=True),
    "jina": Provider("https://api.jina.ai/v1", "JINA_API_KEY", needs_key=True),
    "vllm": PRESETS["vllm"],
}
"""Servers that score passages, at `/rerank` of their address."""


@dataclass(frozen=True)
class Endpoint:
    """Where one model is asked. `model` is its name as the server knows it; the key never shows in a repr."""

    name: str
    preset: Provider
    model: str
    base_url: str
    key_variable: str
    key: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        if not self.key:
            return {}
        bearer = "Bearer " if self.preset.key_header == "Authorization" else ""
        return {self.preset.key_header: bearer + self.key}

    @property
    def local(self) -> bool:
        """Whether its server is on this machine."""
        return is_local(self.base_url)

    @property
    def reasoning(self) -> bool:
        """Whether it is of OpenAI's families that take neither `max_tokens` nor a temperature."""
        return self.name in ("openai", "azure") and bool(_REASONING.match(self.model))


def find_endpoint(name: str, base_url: str = "", environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return where a model is asked: at its preset's address, or at `base_url` where that is given.

    A preset's key only ever goes to the preset's own server: for another address it is CONSPECTUS_API_KEY.

    Raises:
        UsageError: the name leads to no server.
    """
    prefix, _, rest = name.partition("/")
    if prefix == FUNCTION and rest:
        return Endpoint(FUNCTION, Provider(dialect="function", features=()), rest, "", "")
    preset = PRESETS.get(prefix) if rest else None
    if base_url:
        preset = preset if preset and preset.dialect != "native" else Provider()
        known = rest and prefix in PRESETS
        return _endpoint(name, preset, rest if known else name, _address(base_url), OWN_KEY, environ)
    if preset is None:
        raise UsageError(f"no server is known for the model {name!r}: {_naming(name)}")
    address = environ.get(preset.address, "").rstrip("/")
    if address and not address.endswith(preset.address_ends):
        address += preset.address_ends
    if not address and not preset.base_url and preset.dialect != "native":
        raise UsageError(f"{name} needs the address of its server: set {preset.address}")
    return _endpoint(name, preset, rest, _address(address or preset.base_url), preset.key, environ)


def _naming(name: str) -> str:
    """Return how to name a model whose provider was left out."""
    known = f"name it as one of {'/…, '.join(PRESETS)}/…, or give the address of its server with --base-url"
    prefix, slash, rest = name.partition("/")
    if slash:
        meant = next((f"{near}/{rest}" for near in difflib.get_close_matches(prefix, PRESETS, n=1) if rest), "")
    else:
        meant = next((f"{of}/{name}" for of, begins in _PROVIDERS.items() if begins.match(name.lower())), "")
    return f"did you mean {meant}? Otherwise {known}" if meant else known


def find_reranker(name: str, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return where a reranker is asked: `cohere/rerank-v3.5`, or an address, `http://localhost:8000/v1#its-model`.

    Raises:
        UsageError: the name leads to no server.
    """
    if name.startswith(("http://", "https://")):
        url, _, model = name.partition("#")
        if not urlsplit(url).hostname:
            raise UsageError(f"{url!r} is not the address of a server: it has the form https://host/v1")
        return _endpoint(name, Provider(), model, _address(url).removesuffix("/rerank"), OWN_KEY, environ)
    prefix, _, rest = name.partition("/")
    if prefix not in RERANKERS or not rest:
        raise UsageError(
            f"no server is known for the reranker {name!r}: name it as one of {'/…, '.join(RERANKERS)}/…,"
            " or give the address of its server, as http://localhost:8000/v1#MODEL"
        )
    preset = RERANKERS[prefix]
    return _endpoint(name, preset, rest, preset.base_url, preset.key, environ)


def _endpoint(
    name: str, preset: Provider, model: str, base_url: str, variable: str, environ: Mapping[str, str]
) -> Endpoint:
    if preset.dialect == "ollama":
        base_url = base_url.removesuffix("/v1")
    key = environ.get(variable) or None
    if key and "@" in urlsplit(base_url).netloc:
        raise UsageError(f"the address of {name} holds a password, and {variable} a key: take one of them away")
    return Endpoint(name.partition("/")[0], preset, model, base_url, variable, key)


def _address(url: str) -> str:
    if not url:
        return url
    url = url.rstrip("/")
    url = url if "://" in url else f"http://{url}"
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise UsageError(f"{url!r} is not the address of a server: it has the form https://host/v1")
    return url.replace("://0.0.0.0", "://127.0.0.1")


def is_local(url: str) -> bool:
    """Tell whether an address is on this machine."""
    host = urlsplit(url if "://" in url else f"http://{url}").hostname or ""
    return host in ("localhost", "::1", "0.0.0.0") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))  # noqa: S104


def vocabulary(name: str) -> str:
    """Return the vocabulary that counts a model's tokens (`cl100k_base` where its own is not known)."""
    return "o200k_base" if _NEWER_VOCABULARY.search(name) else "cl100k_base"
