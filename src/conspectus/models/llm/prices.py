"""What models cost: the prices of the settings, else those that the package genai-prices publishes, in US dollars."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from conspectus.settings import Price

FREE = Price(input=0.0)
OWN_MACHINES = ("ollama/", "vllm/")
"""Models of one's own machines, which cost nothing unless the settings give them a price."""
PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "openai": "openai",
    "openrouter": "openrouter",
}
"""The names of the presets in genai-prices."""
TYPICAL_CALL = 1000
"""Tokens read and written by the call whose price is taken for that of all: some models cost more in calls of more
than 200,000 tokens, which are never sent here."""


def price_of(model: str, prices: Mapping[str, Price], base_url: str = "") -> Price | None:
    """Return the price of a model in US dollars for a million tokens; None where it is not known.

    The settings come first. A model at a loopback address (`base_url`), or of Ollama or vLLM, is free unless they
    give it a price. The rest are looked up in genai-prices, by the name or, for another address, by name and address;
    its data is part of the package, so that nothing is fetched.
    """
    if model in prices:
        return prices[model]
    if _is_loopback(base_url) or model.startswith(OWN_MACHINES):
        return FREE
    return _published(model, base_url)


def is_free(model: str, prices: Mapping[str, Price], base_url: str = "") -> bool:
    """Tell whether a model is known to cost nothing, without importing the table of prices where it may cost some."""
    own = prices.get(model)
    return own == FREE if own else _is_loopback(base_url) or model.startswith(OWN_MACHINES)


@cache
def source() -> str:
    """Return where prices come from that the settings do not give, as `genai-prices 0.2.3`."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


@cache
def _published(model: str, base_url: str) -> Price | None:
    prefix, _, name = model.partition("/")
    provider = PROVIDERS.get(prefix) if name else None
    if provider is None and not base_url:
        return None
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=TYPICAL_CALL, output_tokens=TYPICAL_CALL)
    asked = name if provider else model
    try:
        found = (
            calc_price(usage, asked, provider_api_url=base_url)
            if base_url
            else calc_price(usage, asked, provider_id=provider)
        )
    except LookupError:
        return None
    million = 1_000_000 / TYPICAL_CALL
    return Price(input=float(found.input_price) * million, output=float(found.output_price) * million)


def _is_loopback(base_url: str) -> bool:
    if not base_url:
        return False
    host = urlsplit(base_url if "://" in base_url else f"http://{base_url}").hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
