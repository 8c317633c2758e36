"""The models that an index was built with, and when later commands use them.

The manifest of a snapshot records the settings of its build: the language model, the address of its server, the
embedder, and never a key. Questions to the index, and later builds, use the same models unless the caller names others:
by a flag, an environment variable, `conspectus.toml`, or settings in Python; `extractive` stands for no model.

An index may come from somebody else, so an address that it names is used only if it is on this machine, or if it is
that of the provider in the model's name, which then gets the provider's own key. Any other address has to be named by
the user (`--base-url`, `llm.base_url`); until then, neither text nor key is sent to it. The same holds for files and
folders. An index union uses a model only if all of its indexes agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import Floats, VectorLists, highest, products
from conspectus.configuration import (
    FIELDS,
    FILE_NAME,
    INDEX,
    Resolved,
    by_key,
    completed,
    dotted,
    load,
    overridden,
)
from conspectus.errors import IndexDamaged, SettingsError, UsageError
from conspectus.index import BoundedCache, Index
from conspectus.models.embedders import MOST_UNREAD, Embedder, embed_call, open_embedder, same_model
from conspectus.models.llm.adapters import is_registered
from conspectus.models.llm.providers import PRESETS, is_local
from conspectus.models.onnx import needs_naming
from conspectus.settings import EXTRACTIVE, Settings

NONE = "none"
REPLIES = (
    "llm.tasks", "llm.temperature", "llm.max_tokens", "llm.reasoning_effort",
    "llm.context_window",
)  # fmt: skip
"""Settings that replies depend on: they are taken over with the model; otherwise the response cache would not match."""
BY_WORDS = 300
"""Number of rows, the best by words, whose vectors are also compared if only the nearest lists are: as many as `hybrid`
compares the sentences of. Without them, its R@5 of 2wiki falls by 6 points if lists have 6 to 12 % of the vectors."""
FUNCTION = "python/"
"""Prefix of the names of embedders that are functions of a caller, and exist only in the caller's process."""
MODELS = ("model", "llm.base_url", "llm.embedder_base_url", "vectors.embedder")
"""Settings of models that are never taken over from an index without a check of the address."""
FILES = ("llm.prompts", "llm.trace", "rerank.by")
"""Settings that may name a file or a folder, and are therefore never taken over from an index."""
_stored = BoundedCache[str, Settings](32)


def stored_settings(built: Mapping[str, Any]) -> Settings:
    """Return the settings in the manifest of an index, or the defaults if they are invalid, e.g. edited by hand."""
    key = repr(built)  # takes 30 us; parsing takes 2 ms, twice for each question
    return _stored.get(key) or _stored.setdefault(key, _read_settings(built))


def _read_settings(built: Mapping[str, Any]) -> Settings:
    known = {key: value for key, value in dotted(built) if key in FIELDS}
    try:
        return overridden(known).settings
    except SettingsError:
        return Settings()


def with_index_models(
    resolved: Resolved,
    built: Sequence[Mapping[str, Any]],
    *,
    language_model: bool = True,
    builds: bool = False,
) -> Resolved:
    """Return settings completed by the models of the indexes that were built with the settings `built`.

    Without `language_model`, only the embedder is taken over, for searches. `builds` also takes over the embedder's
    name; for questions that is not needed, since they always use the embedder that made the vectors.

    Raises UsageError if the address of the model is one that the user has to name first.
    """
    values = _of_model(resolved, built) if language_model else {}
    base_url = values.get("llm.base_url") or resolved.settings.llm.base_url
    if built:
        memory = stored_settings(built[0])
        values |= _of_embedder(resolved, memory, base_url, builds=builds)
    return _filled(resolved, values, INDEX)


def _filled(resolved: Resolved, values: Mapping[str, Any], origin: str) -> Resolved:
    """Return settings with new values for those keys that have their defaults."""
    defaults = [key for key in values if resolved.origins.get(key) == "default"]
    return completed(resolved, {key: values[key] for key in defaults}, origin)


def settings_of_index(built: Mapping[str, Any], given: Mapping[str, Any]) -> Resolved:
    """Return the settings that an index was built with, overridden by the given ones, by dotted key.

    This includes its models: `conspectus.toml` and the environment are used only for an address, a file or a folder
    that the user has to name. Raises UsageError if one of these is not named.
    """
    stored = stored_settings(built)
    own, users = by_key(stored), by_key(load(given).settings)
    given = {**{key: users[key] for key in FILES}, **given}
    for key in ("llm.base_url", "vectors.embedder"):
        if own[key] not in ("", NONE) and users[key].rstrip("/") == own[key].rstrip("/"):
            given[key] = own[key]
    if stored.language_models and own["llm.prompts"] and not users["llm.prompts"]:
        raise _not_opened(f"this index was built with the prompts in {own['llm.prompts']}", "llm.prompts")
    resolved = with_index_models(overridden(given), [built], builds=True)
    own["language"] = stored.language.partition(",")[0]
    for key in (*MODELS, *FILES):
        del own[key]
    return _filled(resolved, own, "default")


def describe_models(resolved: Resolved, built: Sequence[Mapping[str, Any]], does: str = "answers") -> str:
    """Return a line about the models in use and the reason; "" if the command itself names them, or none is used."""
    settings, origins = resolved.settings, resolved.origins
    origin, url = origins.get("model", ""), settings.llm.base_url
    at = f" at {url}" if url else ""
    if url and origins.get("llm.base_url") == "given":
        at += " (base_url=...)"
    models = {stored_settings(settings).model for settings in built}
    lines: list[str] = []
    if origin == INDEX:
        reason = f"as this index was built (model={EXTRACTIVE!r} {does} without one)"
        lines += [f"Model {settings.model}{at}, {reason}."]
    elif url and origins.get("llm.base_url") == INDEX:
        lines += [f"Model {settings.model}{at}, the address that this index was built with."]
    elif origin not in ("", "default", "given") and settings.model != EXTRACTIVE:
        lines += [f"Model {settings.model}{at}, from {origin}."]
    elif origin == "default" and models - {EXTRACTIVE}:
        lines += [f"Built with {', '.join(sorted(models))}: no model is used; model=NAME selects one."]
    if origins.get("vectors.embedder") == INDEX:
        embedder = settings.vectors.embedder
        address = embedder_address(settings)
        at = f" at {address}" if address else ""
        reason = f"as this index was built (embedder={NONE!r} makes no vectors)"
        lines += [f"Embedder {embedder}{at}, {reason}."]
    return " ".join(lines)


def _has_server(embedder: str) -> bool:
    """Return whether an embedder is on a server: neither none nor local nor a function."""
    kind = embedder.partition(":")[0]
    return kind not in ("", NONE, "local") and not kind.startswith(FUNCTION)


def own_embedder(index: Index) -> str:
    """Return the name of the embedder of an index's vectors, "" if the index has none."""
    made: Mapping[str, str] = index.settings.get("vectors", {})
    return made.get("embedder", "") if "vectors.chunks" in index.arrays else ""


def checked_address(model: str, address: str, name_it: str = "", instead: str = "") -> str:
    """Return the address at which to ask the model of an index, "" for the provider's own.

    Raises UsageError if it is neither on this machine nor the provider's own, so that the user has to name it. The
    error gives the way to name it (`name_it`) and the alternative (`instead`).
    """
    provider, address = _provider(model), address.rstrip("/")
    if not address or (provider and address == PRESETS[provider].base_url):
        return ""
    if is_local(address):
        return address
    name_it = name_it or f"base_url={address!r} (or llm.base_url in {FILE_NAME})"
    instead = instead or f"model={EXTRACTIVE!r} to go on without a model"
    raise UsageError(
        f"this index was built with {model} at {address}, and nothing is sent to an address that only an index names:"
        f" give {name_it}, or {instead}"
    )


def checked_embedder(name: str) -> str:
    """Return the name of an embedder that only an index names; raise UsageError if it is a folder."""
    if name.startswith("local:") and needs_naming(name.removeprefix("local:")):
        raise _not_opened(f"this index has vectors of {name}", f"embedder={name!r} or vectors.embedder")
    return name


def _not_opened(what: str, setting: str) -> UsageError:
    what += ", and no file or folder is opened that only an index names"
    return UsageError(f"{what}: name it yourself, by {setting} (in {FILE_NAME})")


def _of_model(resolved: Resolved, built: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of the language model that the indexes agree on, {} if they do not.

    If the user names another model, neither of the names having a provider, it is asked at the same server; a provider
    in a name determines the server.
    """
    memories = [stored_settings(settings) for settings in built if "model" in settings]
    distinct = {(memory.model, memory.llm.base_url): memory for memory in memories}
    if len(distinct) != 1:
        return {}
    memory = memories[0]
    replies = {key: value for key, value in by_key(memory).items() if key in REPLIES}
    address = memory.llm.base_url
    named, addressed = (resolved.origins.get(key) != "default" for key in ("model", "llm.base_url"))
    name = resolved.settings.model if named else memory.model
    provider = _provider(name)
    if memory.model == EXTRACTIVE and memory.language_models and not named:
        asked = [checked_address(model, address) for model in memory.language_models]
        return replies | ({} if addressed else {"llm.base_url": max(asked)})
    if EXTRACTIVE in (name, memory.model) or provider != _provider(memory.model):
        return {}
    if named and provider:
        return {}
    if not (address or provider or addressed):
        return {}  # the server is unknown
    values: dict[str, Any] = {"model": name}
    if name == memory.model:
        values |= replies
    if not addressed:
        values["llm.base_url"] = checked_address(memory.model, address)
    return values


def _of_embedder(resolved: Resolved, memory: Settings, base_url: str, *, builds: bool) -> dict[str, Any]:
    """Return the settings of the embedder of an index; {} if the user has to name its address first."""
    name = memory.vectors.embedder
    named = resolved.origins.get("vectors.embedder") != "default"
    if name == NONE or (named and resolved.settings.vectors.embedder != name):
        return {}
    if name.startswith(FUNCTION) and not is_registered(name):
        return {}
    address = embedder_address(memory)
    if resolved.origins.get("llm.base_url") != "default":
        address = ""
    try:
        address = checked_address(name, address)
    except UsageError:
        return {}  # methods that compare vectors raise it
    values = {"llm.embedder_base_url": address} if address != base_url else {}
    return values | ({"vectors.embedder": name if named else checked_embedder(name)} if builds else {})


def embedder_address(settings: Settings) -> str:
    """Return the address of the embedder of settings; "" for its provider's own server, or if it has no server."""
    address = settings.llm.embedder_base_url or settings.llm.base_url
    return address if _has_server(settings.vectors.embedder) else ""


def _provider(model: str) -> str | None:
    prefix, _, rest = model.partition("/")
    return prefix if rest and prefix in PRESETS else None


def has_vectors(index: Index) -> bool:
    """Return whether an index has vectors of its chunks."""
    return "vectors.chunks" in index.arrays


def open_embedders(_: Index) -> dict[str, Embedder | None]:
    """Return a cache of the embedders opened for questions to an index, by name."""
    return {}


def embedder_of(index: Index, settings: Settings) -> Embedder:
    """Return the embedder that made the vectors of an index, opened once for each name.

    Raises UsageError if there are no vectors, or if the settings name a different embedder.
    """
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    requested = settings.vectors.embedder
    if not has_vectors(index):
        advice = embed_call(index.folder, requested if requested != NONE else "local")
        raise UsageError(f"the index has no vectors; make them: {advice}")
    name = made.get("embedder", NONE) if requested == NONE else requested
    if requested == NONE and not (settings.llm.embedder_base_url or settings.llm.base_url):
        address = embedder_address(stored_settings(index.settings))
        without = "method='bm25' to search by words"
        checked_address(name, address, f"settings={{'llm.embedder_base_url': {address!r}}}", without)
    name = checked_embedder(name) if requested == NONE else name
    by_name = index.derive(open_embedders)
    if name not in by_name:
        by_name[name] = open_embedder(name, settings, index.folder)
    embedder = by_name[name]
    if embedder is None or not same_model(embedder.name, made.get("model", "")):
        raise _differ(index, embedder.name if embedder else "none", name)
    return embedder


def _differ(index: Index, other: str, name: str) -> UsageError:
    model: str | None = index.settings.get("vectors", {}).get("model")
    dimension: int = index.slices["vectors.chunks"][:1].shape[1]
    return UsageError(
        f"the index has vectors of {model} ({dimension} dimensions), but the question would have one of {other};"
        f" name that embedder, or compute the vectors again: {embed_call(index.folder, name)}"
    )


def question_vectors(texts: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the vectors of texts, such as forms of a question, by the embedder of the index, as an array (n, d).

    Raises UsageError as `embedder_of` does, and what the embedder raises.
    """
    embedder = embedder_of(index, settings)
    prefix: str = index.settings["vectors"].get("query_prefix", "")
    vectors = embedder.embed([prefix + text for text in texts]).astype(np.float32)
    if vectors.shape[1] != index.slices["vectors.chunks"][:1].shape[1]:
        raise _differ(index, f"{vectors.shape[1]} numbers", index.settings["vectors"]["embedder"])
    return vectors


def has_lists(name: str, index: Index) -> bool:
    """Return whether an index also has the vectors of a table in lists, since they are many (`indexing.embed.MANY`)."""
    return f"near.{name}.centres" in index.arrays


def cosines(name: str, query: Floats, index: Index, words: Floats | None = None) -> Floats:
    """Return the cosine of each of the vectors of a table with one, (d,), or with each of several, (d, m).

    If the table has lists (`has_lists`), only likely rows get their cosine, within 0.003, and others get 0. Likely rows
    are those in the nearest lists, and those with the highest scores by `words`.
    """
    if has_lists(name, index):
        lists = VectorLists.of(index.slices, f"near.{name}")
        widths = {len(query), *(part[:1].shape[1] for part in (lists.centres, lists.codes))}
        if len(widths) > 1 or len(lists.rows) != len(lists.codes) or not len(lists.centres):
            raise IndexDamaged(
                f"the arrays near.{name} do not fit the rest of the index; restore it, or index again"
            )
        scores = lists.products(query)
        if words is not None:
            best = highest(words, BY_WORDS)
            scores[best] = products(index.slices[f"vectors.{name}"][best], query)
        return scores
    return products(index.arrays[f"vectors.{name}"], query)


def vectors_if_read(texts: Sequence[str], index: Index, settings: Settings) -> Floats | None:
    """Return `question_vectors`, or None if the index has none, or if the embedder does not know its script."""
    unread: float = index.settings.get("vectors", {}).get("unread", 0.0)
    return question_vectors(texts, index, settings) if has_vectors(index) and unread < MOST_UNREAD else None
