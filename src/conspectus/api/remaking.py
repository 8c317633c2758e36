"""Make an index again from the documents that it holds: by its own settings, and with what people corrected since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus import configuration
from conspectus.api.building import Built, build_of
from conspectus.configuration import Resolved
from conspectus.corrections import documents_read
from conspectus.corrections.file import corrections_for
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.remembered import PREFIXES, memory_of, with_memory
from conspectus.runtime import DEFAULT_FOLDER, path_of, run_sync
from conspectus.settings import Settings
from conspectus.storage import store

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress


def apply_corrections(
    folder: str | Path = DEFAULT_FOLDER,
    *,
    file: str | Path = "",
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Built:
    """Make the index in a folder again with the corrections as they are now, and return it; its documents are not read
    anew.

    It takes the settings that the index was made with; others that are given, as where its model is served, go before
    them. `file` is where corrections are kept, if not where the index says.

    Raises UsageError where the index was imported, and what `build` raises.
    """
    from conspectus.indexing.read import Read

    target = path_of(folder)
    standing = store.read(target)
    check_made_here(standing, target)
    said = {"store.corrections": str(file)} if file else {}
    known = own_settings(standing, {**(settings or {}), **said})
    chosen, corrections = corrections_for(known.settings, target)
    unread = [failure for failure in standing.failures if failure.stage == "read"]
    read = Read(documents_read(standing.documents), unread)
    return run_sync(build_of(read, target, replace(known, settings=chosen), corrections, progress))


def own_settings(index: Index, given: Mapping[str, Any] | None = None) -> Resolved:
    """Return the settings that an index was made with, but for those that are given, by dotted key.

    Its models are its own too, whatever `conspectus.toml` and the environment name; these count where an address has to
    be named: see `remembered`.
    """
    said, address = dict(given or {}), memory_of(index.settings).base_url
    if address and configuration.load(given).settings.llm.base_url.rstrip("/") == address:
        said |= {"llm.base_url": address}
    told = configuration.load(said, environ={})
    origins = {key: origin if origin == "given" else "default" for key, origin in told.origins.items()}
    known = with_memory(Resolved(told.settings, origins), [index.settings], builds=True)
    own = {key: value for key, value in _own(index) if key not in MODELS}
    for key in MODELS:
        settings = Settings() if known.origins[key] == "default" else known.settings
        value: Any = reduce(getitem, key.split("."), settings.model_dump(by_alias=True))
        if value is not None:
            own[key] = value
    return Resolved(configuration.load({**own, **said}, environ={}).settings, known.origins)


MODELS = ("model", "llm.base_url", "llm.embedder_base_url", "vectors.embedder", *PREFIXES)
"""What is taken over as `remembered` says, and not as it is."""


def _own(index: Index) -> Iterator[tuple[str, Any]]:
    for key in configuration.FIELDS:
        try:
            value: Any = reduce(getitem, key.split("."), index.settings)
        except KeyError:
            continue
        if value is not None:
            yield key, str(value).partition(",")[0] if key == "language" else value


def check_made_here(index: Index, folder: Path) -> None:
    """Raise UsageError for an index whose graph was imported."""
    if "conspectus" not in index.origin:
        raise UsageError(
            f"the graph of {folder} was not found in documents here, but imported, and is taken as it was given: "
            "correct it where it comes from and import it again, or index its documents"
        )
