"""A client for each model that a run asks, and what is known of the servers behind them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conspectus.errors import BadKey, UsageError
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.client import Client, HttpClient, open_session
from conspectus.models.llm.http_errors import where
from conspectus.models.llm.providers import OWN_KEY, Endpoint, find, find_reranker
from conspectus.models.llm.wire import Feature
from conspectus.settings import ModelSettings

if TYPE_CHECKING:
    import aiohttp

    from conspectus.models.llm.rerank import RerankClient


class Clients:
    """Clients by the names of their models, opened when first asked for, over one session."""

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        environ: Mapping[str, str] = os.environ,
        embedder: str = "",
    ) -> None:
        self._settings = settings
        self._replies = replies
        self._environ = environ
        self._embedder = embedder
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Client] = {}
        self._rerankers: dict[str, RerankClient] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._features: dict[str, dict[tuple[str, str], bool]] = {}
        self._answered: set[str] = set()

    def endpoint(self, model: str) -> Endpoint:
        """Return where a model is asked; raise UsageError where its name leads nowhere."""
        if model not in self._endpoints:
            own = self._settings.embedder_base_url if model == self._embedder else ""
            self._endpoints[model] = find(model, own or self._settings.base_url, self._environ)
        return self._endpoints[model]

    def of(self, model: str) -> Client:
        """Return the client of a model.

        Raises:
            UsageError: the name leads nowhere, or needs an extra that is not installed.
            BadKey: the model's service wants a key, and none is set.
        """
        if model not in self._clients:
            self._clients[model] = self._open(self.endpoint(model), model)
        return self._clients[model]

    def reranker(self, model: str) -> RerankClient:
        """Return the client of a reranker; raises as `of` does."""
        from conspectus.models.llm.rerank import RerankClient

        if model not in self._rerankers:
            endpoint = self._endpoints[model] = find_reranker(model, self._environ)
            _check_key(endpoint, model)
            self._rerankers[model] = RerankClient(endpoint, self._opened_session(), self._settings.timeout, 0)
        return self._rerankers[model]

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session()
        return self._session

    def _open(self, endpoint: Endpoint, model: str) -> Client:
        if endpoint.preset.dialect == "function":
            from conspectus.models.llm.functions import FunctionClient

            return FunctionClient(model, self._settings.timeout, self._settings.concurrency)
        if endpoint.preset.dialect == "native":
            _check_extra(endpoint, model)
        _check_key(endpoint, model)
        if endpoint.preset.dialect == "native":
            from conspectus.models.llm.native import NativeClient

            return NativeClient(endpoint, self._settings.timeout)
        session = self._opened_session()
        return HttpClient(endpoint, session, self._settings.timeout, self._settings.context_window)

    def answered(self, model: str) -> bool:
        """Whether the server of a model has answered in this run."""
        return self.endpoint(model).base_url in self._answered

    def has_answered(self, model: str) -> None:
        """Note that the server of a model is there."""
        self._answered.add(self.endpoint(model).base_url)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if that is not known."""
        known = self._known(model).get((model, feature))
        if known is not None:
            return known
        return None if feature in self.endpoint(model).preset.features else False

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember whether a model's server takes a feature, in later runs on the same index too."""
        if self._known(model).get((model, feature)) is accepted:
            return
        self._known(model)[model, feature] = accepted
        if self._replies is not None:
            await self._replies.learn(where(self.endpoint(model)), model, feature, accepted)

    def _known(self, model: str) -> dict[tuple[str, str], bool]:
        server = where(self.endpoint(model))
        if server not in self._features:
            self._features[server] = self._replies.features(server) if self._replies is not None else {}
        return self._features[server]

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()


def _check_key(endpoint: Endpoint, model: str) -> None:
    if endpoint.preset.needs_key and endpoint.key_variable != OWN_KEY and not endpoint.key:
        raise BadKey(f"{model} needs a key: set {endpoint.key_variable}")


def _check_extra(endpoint: Endpoint, model: str) -> None:
    """Raise UsageError where the extra of a provider is missing; it names the key too where that is missing as well."""
    from conspectus.models.llm.native import EXTRA, installed

    if installed():
        return
    lacks_key = endpoint.preset.needs_key and not endpoint.key
    key = f", and a key: set {endpoint.key_variable}" if lacks_key else ""
    raise UsageError(f"{model} needs the extra `{EXTRA}`: pip install 'conspectus[{EXTRA}]'{key}")
