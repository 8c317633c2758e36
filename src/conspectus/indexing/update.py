"""Updates: how a build continues from the index in its folder.

Documents are compared by their content, not by their dates. If documents and settings are the same, so is the index,
and nothing is done. If documents differ, the build is an update: model replies are cached, and communities that did not
change keep their members, their ids and therefore their reports. If settings differ, everything is rebuilt.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from conspectus import __version__
from conspectus.corrections import Correction, marks, source_documents
from conspectus.errors import IndexDamaged, IndexMissing, IndexOutdated
from conspectus.index import Index
from conspectus.index_models import own_embedder
from conspectus.models import llm
from conspectus.rows import Document, Failure
from conspectus.settings import Settings
from conspectus.storage import manifests, store
from conspectus.text.language import corpus_language, in_languages

_RECORD = re.compile(r"#\d+$")
"""The record number at the end of a document's path."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed documents, by path; for a renamed one, the old and the new path."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    deleted: tuple[str, ...] = ()
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.edited or self.renamed or self.deleted)

    def __str__(self) -> str:
        """Return the counts on one line."""
        counts = {name: len(getattr(self, name)) for name in ("added", "edited", "renamed", "deleted")}
        parts = [f"{count:,} {name}" for name, count in counts.items() if count]
        return ", ".join([*parts, f"{self.unchanged:,} unchanged"])


def changes_of(before: Sequence[Document], now: Sequence[Document]) -> Changes:
    """Compare the documents of an index with those that were read now.

    Documents are paired from the strictest criterion to the loosest, each once: unchanged ones have the same path and
    content (the record number in a file of records may differ), renamed ones have the same text, edited ones have the
    same path. An edited document may differ only in its metadata.
    """
    old, new = list(before), list(now)
    unchanged = len(_take_pairs(old, new, _content))
    unchanged += len(_take_pairs(old, new, lambda d: _content(replace(d, path=_RECORD.sub("", d.path)))))
    new_metadata = _take_pairs(old, new, lambda d: (d.path, d.text))
    renamed = _take_pairs(old, new, lambda d: d.text)
    new_text = _take_pairs(old, new, lambda d: d.path)
    edited = sorted((d.number, d.path) for _, d in (*new_metadata, *new_text))
    return Changes(
        added=tuple(d.path for d in new),
        edited=tuple(path for _, path in edited),
        renamed=tuple((before.path, after.path) for before, after in renamed),
        deleted=tuple(d.path for d in old),
        unchanged=unchanged,
    )


def _content(d: Document) -> Hashable:
    return d.path, d.text, d.title, d.date, tuple(sorted(d.metadata.items())), d.places


def _take_pairs(
    old: list[Document], new: list[Document], key: Callable[[Document], Hashable]
) -> list[tuple[Document, Document]]:
    """Remove the documents with equal keys from both lists, and return them as pairs."""
    waiting: defaultdict[Hashable, deque[Document]] = defaultdict(deque)
    for document in old:
        waiting[key(document)].append(document)
    pairs: list[tuple[Document, Document]] = []
    rest: list[Document] = []
    for document in new:
        alike = waiting.get(key(document))
        if alike:
            pairs.append((alike.popleft(), document))
        else:
            rest.append(document)
    paired = {document.number for document, _ in pairs}
    old[:], new[:] = [d for d in old if d.number not in paired], rest
    return pairs


STAGES = ("chunk", "extract", "resolve", "describe", "communities", "reports", "model")
"""The sections of settings that the tables depend on; settings for reading affect documents, except for cleaning."""
REPLIES = ("tasks", "temperature", "max_tokens", "reasoning_effort", "context_window")
"""The settings of language models that affect their replies."""
RETRIED = frozenset(("extract", "describe", "reports", "embed"))
"""The stages whose failed calls the next build repeats."""


@dataclass(frozen=True)
class Update:
    """The existing index in the folder of a build, and what the build has to do."""

    existing: Index | None = None
    """The index in the folder; None if there is none that can be read."""
    changes: Changes | None = None
    """The changes between its documents and those of the build."""
    rebuild_reasons: tuple[str, ...] = ()
    """The reasons why nothing of the existing index is reused."""
    pending: tuple[str, ...] = ()
    """The work to do although no document changed."""

    @property
    def before(self) -> Index | None:
        """The index that the build continues from; None if everything is rebuilt."""
        return None if self.rebuild_reasons else self.existing

    @property
    def replaced_documents(self) -> int:
        """The number of documents of the index if the build shares none with it (another folder, say), otherwise 0."""
        changes = self.changes
        apart = changes and not (changes.unchanged or changes.edited or changes.renamed)
        return len(changes.deleted) if changes and apart else 0

    @property
    def up_to_date(self) -> bool:
        """Whether the build has nothing to do."""
        return self.before is not None and not self.changes and not self.pending


def update_of(
    folder: Path,
    documents: Sequence[Document],
    failures: Sequence[Failure],
    settings: Settings,
    *,
    corrections: Sequence[Correction] = (),
    fresh: bool = False,
) -> Update:
    """Compare documents, failures and corrections with the index in a folder; `fresh` requests a complete rebuild.

    Raises IndexDamaged if the folder has a manifest that is not ours, StoreError if a later Conspectus wrote it.
    """
    try:
        manifests.current(folder)
    except IndexMissing:
        return Update()
    except IndexOutdated as error:
        return Update(rebuild_reasons=(str(error).partition(":")[0],))
    documents = in_languages(documents, settings.language)
    try:
        existing = store.read(folder)
        changes = changes_of(source_documents(existing.documents), documents)
    except IndexDamaged as error:
        return Update(rebuild_reasons=(str(error).partition(";")[0],))
    if fresh:
        return Update(existing, changes, ("as requested",))
    reasons = tuple(_rebuild_reasons(existing, documents, settings))
    pending = _pending(existing, documents, failures, settings, corrections)
    return Update(existing, changes, reasons, () if changes else tuple(pending))


def origin_of(settings: Settings, corrections: Sequence[Correction] = ()) -> dict[str, str]:
    """Return what an index depends on besides documents and settings; see `Index.origin`."""
    made = {"conspectus": __version__}
    if corrections:
        made["corrections"] = marks(corrections)
    if not settings.language_models:
        return made
    digest = sha256()  # of our prompts, and of the user's prompts that replace them
    for folder in (llm.OURS, *([Path(settings.llm.prompts)] if settings.llm.prompts else ())):
        for file in sorted(folder.rglob("*.md")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return made | {"prompts": digest.hexdigest()[:16]}


def _rebuild_reasons(existing: Index, documents: Sequence[Document], settings: Settings) -> Iterator[str]:
    """Yield the reasons why the existing index cannot be updated, regardless of changes in documents."""
    if not existing.settings or "conspectus" not in existing.origin:
        yield "the previous graph was imported (conspectus.rollback() returns to it)"
        return
    reasons = {"conspectus": "Conspectus {} made it, and this is {}", "prompts": "the prompts have changed"}
    now = origin_of(settings)
    for name, reason in reasons.items():
        if (was := existing.origin.get(name)) != now.get(name) and was and name in now:
            yield reason.format(was, now[name])
    language = str(existing.settings.get("language", "")).partition(",")[0]
    if language != (spoken := corpus_language(documents, settings.language)):
        yield f"its language was {language} and is now {spoken}"
    was, will = (_flat(of) for of in (existing.settings, settings.model_dump(mode="json", by_alias=True)))
    usual = _flat(Settings().model_dump(mode="json", by_alias=True))
    asked = all(any(key.startswith("llm.") for key in of) for of in (was, will))
    for key, value in will.items():
        if not asked and key.startswith("llm."):
            continue  # there was no language model, or there is none now
        if (old := was.get(key, usual.get(key))) != value:
            yield f"{key} was {old} and is now {value}"


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the tables of an index depend on, by dotted key; lists become comma-separated texts."""
    sections: dict[str, Any] = {stage: settings[stage] for stage in STAGES if settings.get(stage) is not None}
    read: Mapping[str, Any] = settings.get("read", {})
    sections["read"] = {"cleaning": read["cleaning"]} if "cleaning" in read else {}
    llm: Mapping[str, Any] = settings.get("llm", {})
    if settings.get("model") != "extractive" or llm.get("tasks"):
        sections["llm"] = {name: llm[name] for name in REPLIES if name in llm}
    flat: dict[str, Any] = {}
    for section, values in sections.items():
        if not isinstance(values, Mapping):
            flat[section] = values
            continue
        for name, value in cast("Mapping[str, Any]", values).items():
            joined = isinstance(value, list)
            flat[f"{section}.{name}"] = ",".join(map(str, cast("list[Any]", value))) if joined else value
    return flat


def _pending(
    existing: Index,
    documents: Sequence[Document],
    failures: Sequence[Failure],
    settings: Settings,
    corrections: Sequence[Correction],
) -> Iterator[str]:
    """Yield what is missing in an index whose documents have not changed."""
    if existing.origin.get("corrections", "") != marks(corrections):
        yield "new corrections"
    failed = sum(failure.stage in RETRIED for failure in existing.failures)
    if failed:
        yield f"{failed:,} calls that failed"
    if [f for f in existing.failures if f.stage == "read"] != list(failures):
        yield "files that could not be read"
    if [(d.id, d.path) for d in source_documents(existing.documents)] != [(d.id, d.path) for d in documents]:
        yield "changed paths of documents"
    if settings.vectors.embedder not in ("none", own_embedder(existing)):
        yield f"vectors by {settings.vectors.embedder}"
