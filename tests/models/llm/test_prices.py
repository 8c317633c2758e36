"""Prices: from the settings, of local servers, and published ones."""

from __future__ import annotations

import pytest

from conspectus.models.llm.budget import FREE, is_free, price_of
from conspectus.settings import Price

OWN = Price(input=7.0, output=9.0)


@pytest.mark.parametrize(
    "name",
    ["openai/gpt-4.1-mini", "openai/gpt-4o", "openai/text-embedding-3-small", "anthropic/claude-sonnet-4-5",
     "gemini/gemini-2.5-flash", "openrouter/openai/gpt-4.1-mini", "azure/gpt-4.1-mini"],
)  # fmt: skip
def test_prices_of_common_models_are_known_without_a_network(name: str):
    price = price_of(name, {})
    assert price is not None
    assert 0 < price.input < 50


def test_a_price_of_the_settings_comes_first_even_for_ones_own_machine():
    assert price_of("openai/gpt-4.1-mini", {"openai/gpt-4.1-mini": OWN}) == OWN
    assert price_of("ollama/qwen3", {"ollama/qwen3": OWN}) == OWN
    assert price_of("m", {"m": OWN}, "http://localhost:8000/v1") == OWN
    assert not is_free("ollama/qwen3", {"ollama/qwen3": OWN})


@pytest.mark.parametrize("address", ["http://localhost:8000/v1", "127.0.0.1:1234", "http://[::1]:8080/v1"])
def test_a_server_at_a_loopback_address_is_free(address: str):
    assert price_of("openai/gpt-4.1-mini", {}, address) == FREE
    assert is_free("anything", {}, address)


def test_what_is_nowhere_listed_has_no_known_price():
    assert price_of("some-model", {}) is None
    assert price_of("openai/no-such-model-at-all", {}) is None
    assert price_of("gpt-4.1-mini", {}, "https://models.example.org/v1") is None
    assert not is_free("some-model", {})
