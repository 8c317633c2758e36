"""What an index remembers of the models that it was built with, and when a later command uses them.

The manifest of a snapshot holds the settings that it was built by: the language model, the address of its server, the
embedder, and never a key. Whoever asks the index, or builds it again, gets the same models unless the caller names
others: by a flag, an environment variable, `conspectus.toml`, or settings in Python; `extractive` is none.

An index may come from somebody else, so an address that it names is used only if it is on this machine, or that of the
provider in the model's name, which then gets the provider's own key. Any other address has to be named by the user
(`--base-url`, `llm.base_url`): until then nothing is sent to it, neither text nor key. Of several indexes that are
asked as one, the model is used that all of them agree on, else none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from conspectus.configuration import FIELDS, FILE_NAME, INDEX, Resolved, completed, load, overridden
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.llm.adapters import is_registered
from conspectus.models.llm.providers import PRESETS, is_local

EXTRACTIVE, NONE = "extractive", "none"
REPLIES = (
    "llm.tasks", "llm.temperature", "llm.max_tokens", "llm.reasoning_effort",
    "llm.context_window",
)  # fmt: skip
"""What the replies of a language model depend on: it is remembered with the model, or all would be asked for anew."""
FUNCTION = "python/"
"""How the names of embedders begin that are functions of a caller: only that caller has them."""
MODELS = ("model", "llm.base_url", "llm.embedder_base_url", "vectors.embedder")
"""Settings of models that are never taken over from an index without a look at the address."""


@dataclass(frozen=True)
class IndexModels:
    """The models that one index was built with; empty texts where there is none."""

    model: str = ""
    base_url: str = ""
    embedder: str = ""
    embedder_base_url: str = ""
    """Where the embedder was asked, where that is not its provider's own server."""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further settings of the language model, by dotted key."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> IndexModels:
        """Return what the settings of an index say of its models; addresses have no passwords and queries."""

        def text(key: str) -> str:
            value = _value_of(settings, key)
            return value if isinstance(value, str) else ""  # a manifest may have been changed by hand

        name = text("vectors.embedder")
        if name == NONE or (name.startswith(FUNCTION) and not is_registered(name)):
            name = ""
        base_url, own = _clean_address(text("llm.base_url")), _clean_address(text("llm.embedder_base_url"))
        more = {key: _value_of(settings, key) for key in REPLIES}
        more = {key: value for key, value in more.items() if value is not None}
        return cls(text("model"), base_url, name, (own or base_url) if _has_server(name) else "", more)


def with_index_models(
    resolved: Resolved,
    built: Sequence[Mapping[str, Any]],
    *,
    language_model: bool = True,
    builds: bool = False,
) -> Resolved:
    """Return settings completed by what the indexes remember that were built by the settings `built`.

    Without `language_model` only the embedder is remembered, for searches. `builds` takes the embedder over by its
    name too: to ask, an index always uses the embedder that made its vectors.

    Raises UsageError where the model was asked at an address that the user has to name first.
    """
    memories = list(map(IndexModels.of, built))
    values = _of_model(resolved, memories) if language_model else {}
    base_url = values.get("llm.base_url") or resolved.settings.llm.base_url
    values |= _of_embedder(resolved, memories[0], base_url, builds=builds) if memories else {}
    missing = {key: value for key, value in values.items() if resolved.origins.get(key) == "default"}
    return completed(resolved, missing, INDEX)


def settings_of_index(built: Mapping[str, Any], given: Mapping[str, Any]) -> Resolved:
    """Return the settings that an index was built with, but for the given ones, by dotted key.

    Its models are its own too, whatever `conspectus.toml` and the environment say; those count only where an address
    has to be named.
    """
    address = IndexModels.of(built).base_url
    if address and load(given).settings.llm.base_url.rstrip("/") == address:
        given = {**given, "llm.base_url": address}
    resolved = with_index_models(overridden(given), [built], builds=True)
    own = {
        key: _value_of(built, key)
        for key in FIELDS
        if key not in MODELS and resolved.origins[key] == "default"
    }
    if own["language"]:
        own["language"] = own["language"].partition(",")[0]
    return completed(resolved, {key: value for key, value in own.items() if value is not None}, "default")


def describe_models(resolved: Resolved, built: Sequence[Mapping[str, Any]], does: str = "answers") -> str:
    """Return a line that says which models are used and why; "" where the command itself names them, or none is."""
    settings, origins = resolved.settings, resolved.origins
    origin, url = origins.get("model", ""), settings.llm.base_url
    at = f" at {url}" if url else ""
    if url and origins.get("llm.base_url") == "given":
        at += " (base_url=...)"
    models = {memory.model for memory in map(IndexModels.of, built)} - {""}
    lines: list[str] = []
    if origin == INDEX:
        reason = f"as this index was built (model={EXTRACTIVE!r} {does} without one)"
        lines += [f"Model {settings.model}{at}, {reason}."]
    elif url and origins.get("llm.base_url") == INDEX:
        lines += [f"Model {settings.model}{at}, the address that this index was built with."]
    elif origin not in ("", "default", "given") and settings.model != EXTRACTIVE:
        lines += [f"Model {settings.model}{at}, from {origin}."]
    elif origin == "default" and models - {EXTRACTIVE}:
        lines += [f"Built with {', '.join(sorted(models))}: no model is asked; model=NAME names one."]
    if origins.get("vectors.embedder") == INDEX:
        embedder = settings.vectors.embedder
        address = (settings.llm.embedder_base_url or url) if _has_server(embedder) else ""
        at = f" at {address}" if address else ""
        lines += [f"Embedder {embedder}{at}, as this index was built (embedder={NONE!r} makes no vectors)."]
    return " ".join(lines)


def _has_server(embedder: str) -> bool:
    """Tell whether an embedder is neither none nor local nor a function."""
    return embedder.partition(":")[0] not in ("", NONE, "local") and not embedder.startswith(FUNCTION)


def own_embedder(index: Index) -> str:
    """Return whose vectors an index has, "" where it has none."""
    made: Mapping[str, str] = index.settings.get("vectors", {})
    return made.get("embedder", "") if "vectors.chunks" in index.arrays else ""


def checked_address(model: str, address: str, name_it: str = "", instead: str = "") -> str:
    """Return the address to ask a remembered model at, "" for its provider's own.

    Raises UsageError where it is neither on this machine nor the provider's own: the user has to name it. The error
    says how to name it, and what to do instead.
    """
    provider = _provider(model)
    if not address or (provider and address.rstrip("/") == PRESETS[provider].base_url):
        return ""
    if is_local(address):
        return address
    name_it = name_it or f"base_url={address!r} (or llm.base_url in {FILE_NAME})"
    instead = instead or f"model={EXTRACTIVE!r} to go on without a model"
    raise UsageError(
        f"this index was built with {model} at {address}, and nothing is sent to an address that only an index names:"
        f" give {name_it}, or {instead}"
    )


def _clean_address(url: str) -> str:
    """Return an address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")).rstrip("/")


def _of_model(resolved: Resolved, memories: Sequence[IndexModels]) -> dict[str, Any]:
    """Return the settings of the language model that the indexes agree on.

    Who names another model of the same kind of name gets it at the same server; a provider in a name says which server
    is meant.
    """
    distinct = {(memory.model, memory.base_url): memory for memory in memories if memory.model}
    if len(distinct) != 1:
        return {}
    memory = next(iter(distinct.values()))
    named, addressed = (resolved.origins.get(key) != "default" for key in ("model", "llm.base_url"))
    name = resolved.settings.model if named else memory.model
    provider = _provider(name)
    if EXTRACTIVE in (name, memory.model) or provider != _provider(memory.model) or (named and provider):
        return {}
    if not (memory.base_url or provider or addressed):
        return {}  # no server is known
    values = {"model": name, **(memory.more if name == memory.model else {})}
    if not addressed:
        values["llm.base_url"] = checked_address(memory.model, memory.base_url)
    return values


def _of_embedder(resolved: Resolved, memory: IndexModels, base_url: str, *, builds: bool) -> dict[str, Any]:
    """Return the settings of the embedder of an index; none where its address would have to be named."""
    named = resolved.origins.get("vectors.embedder") != "default"
    if not memory.embedder or (named and resolved.settings.vectors.embedder != memory.embedder):
        return {}
    names_address = resolved.origins.get("llm.base_url") != "default"
    try:
        address = checked_address(memory.embedder, "" if names_address else memory.embedder_base_url)
    except UsageError:
        return {}  # methods that compare vectors say so: see `retrieval.vector.embedder_of`
    values: dict[str, Any] = {"llm.embedder_base_url": address} if address != base_url else {}
    if builds:
        values |= {"vectors.embedder": memory.embedder}
    return values


def _provider(model: str) -> str | None:
    prefix, _, rest = model.partition("/")
    return prefix if rest and prefix in PRESETS else None


def _value_of(settings: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key in stored settings, None where there is none."""
    value: Any = settings
    for part in key.split("."):
        value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
    return value
