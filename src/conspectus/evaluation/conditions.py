"""Conditions to compare (GraphRAG §4.1.2): ways of answering that share one window, one set of prompts and one response
type.

C0, C1, … are global answers from the reports of a level; a community that is not split at that level is represented
by its own report. TS is map-reduce over the source texts, SS one window of the nearest chunks. Any other condition is
a method, by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from conspectus import Index, __version__, status_of
from conspectus.errors import UsageError, did_you_mean
from conspectus.evaluation.comparison import PAPER, JsonlTable, Key, Question
from conspectus.index_models import embedder_of
from conspectus.retrieval import METHODS, Answering
from conspectus.retrieval.auto import choose
from conspectus.retrieval.global_ import level_of
from conspectus.settings import Settings

AUTO = "auto"
_NAMES = {"TS": "source-summary", "SS": "semantic-search"}
_LEVEL = re.compile(r"C(\d+)")
_MODEL_KEYS = {"tasks", "temperature", "max_tokens", "reasoning_effort", "context_window"}
"""Settings of a language model that can change its replies."""
_ELSEWHERE = {"read", "search", "chunk", "extract", "resolve", "communities", "llm", "prices"}
"""Settings that answers do not depend on, or only through the index."""
COUNTED = ("documents", "chunks", "tokens", "entities", "relationships", "claims", "communities", "reports")
"""The figures of an index that are recorded."""


@dataclass(frozen=True)
class Condition:
    """A way of answering: a method and, if it is global, the level of communities that it reads."""

    name: str
    method: str
    level: int | None = None


@dataclass(frozen=True)
class Work:
    """One answer to be made: a question under a condition."""

    condition: Condition
    question: Question
    settings: Settings
    made_with: str

    @property
    def key(self) -> Key:
        """The key of the answer: the condition and the id of the question."""
        return self.condition.name, self.question.id


def conditions_of(names: Sequence[str]) -> list[Condition]:
    """Return the conditions with some names, without duplicates; raise UsageError for an unknown name."""
    if not names:
        raise UsageError(f"name conditions to compare, as {','.join(PAPER)}")
    conditions: list[Condition] = []
    for name in dict.fromkeys(name.strip() for name in names):
        level, method = _LEVEL.fullmatch(name), _NAMES.get(name, name)
        if not level and method != AUTO and method not in METHODS:
            known = (*_NAMES, AUTO, *METHODS)
            raise UsageError(
                f"there is no condition {name!r}{did_you_mean(name, known)}; there are C0, C1, … for the levels of "
                f"reports, {', '.join(known)}"
            )
        conditions.append(Condition(name, "global", int(level[1])) if level else Condition(name, method))
    return conditions


def answering(question: str, condition: Condition, index: Index) -> Answering:
    """Return the method with which a condition answers a question."""
    return METHODS[choose(question, index)[0] if condition.method == AUTO else condition.method]


def settings_for(condition: Condition, settings: Settings) -> Settings:
    """Return the settings for a condition: with its level, if it has one."""
    if condition.level is None:
        return settings
    leveled = settings.global_.model_copy(update={"level": condition.level})
    return settings.model_copy(update={"global_": leveled})


def check(condition: Condition, index: Index, settings: Settings, *, generative: bool) -> None:
    """Raise UsageError, before any question is asked, if an index or its model cannot answer under a condition."""
    needs = METHODS[condition.method].needs if condition.method != AUTO else ()
    try:
        if condition.method == "global":
            level_of(index, settings.global_)
        if "vectors" in needs:
            embedder_of(index, settings)
    except UsageError as error:
        raise UsageError(f"{condition.name}: {error}") from None
    if "model" in needs and not generative:
        raise UsageError(f"{condition.name} asks for what a language model knows: name one with model=NAME")


def possible(index: Index, settings: Settings, generative: bool) -> tuple[list[Condition], list[str]]:
    """Return those of the paper's conditions that an index can answer under, and a line for each of the others."""
    conditions: list[Condition] = []
    lines: list[str] = []
    for condition in conditions_of(PAPER):
        try:
            check(condition, index, settings_for(condition, settings), generative=generative)
            conditions.append(condition)
        except UsageError as error:
            lines.append(f"left out {error}")
    return conditions, lines


# Set-ups of answers


def digest(value: Any) -> str:
    """Return a digest of a JSON value: 16 hexadecimal digits."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def made_with(condition: Condition, index: Index, model: str, settings: Settings) -> str:
    """Return a digest of all that an answer depends on: index, model, settings and prompts.

    Only settings that are not their default are included, so that a setting added later does not invalidate answers.
    """
    own = settings.model_dump(mode="json", exclude=_ELSEWHERE, exclude_defaults=True)
    options = model_options(model, settings)
    return digest([__version__, condition.method, snapshot_of(index), model, own, *options])


def model_options(model: str, settings: Settings) -> list[Any]:
    """Return the settings that can change the replies of a language model, and the user's own prompts by name."""
    if model == "extractive":
        return []
    folder = Path(settings.llm.prompts)
    paths = sorted(folder.rglob("*.md")) if settings.llm.prompts else []
    prompts = {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}
    return [settings.llm.model_dump(mode="json", include=_MODEL_KEYS, exclude_defaults=True), prompts]


def snapshot_of(index: Index) -> str:
    """Return the id of an index's snapshot; if the index is not stored, a digest of the rows that are read."""
    if index.snapshot:
        return index.snapshot
    ids = [row.id for table in (index.documents, index.chunks, index.entities) for row in table]
    return digest([ids, [report.text for report in index.reports]])


@dataclass(frozen=True)
class Units:
    """What one condition reads to answer any question: a row of GraphRAG Table 2."""

    condition: str
    units: int
    """Number of reports of a level, or of chunks."""
    tokens: int
    share: float
    """Its tokens divided by those of TS, which reads the whole text; 0 if there is no text."""
    projected: int = 0
    """Number of those reports that belong to communities of higher levels which are not split at this level."""


def table2(index: Index) -> list[Units]:
    """Return a row for each level, C0 being the root, and one for TS; without reports there are no rows for levels."""
    status = status_of(index)
    levels = [row for row in status.levels if row.communities]
    rows = [Units(f"C{r.level}", r.communities, r.tokens, r.share, r.communities - r.own) for r in levels]
    return [*rows, Units("TS", status.chunks, status.tokens, 1.0 if status.tokens else 0.0)]


@dataclass(frozen=True)
class SetUp:
    """What the answers of one condition were made with; `made_with` is the digest that is stored with those answers."""

    made_with: str
    condition: str
    method: str
    level: int | None = None
    model: str = ""
    settings: Mapping[str, Any] | None = None
    """The settings that differ from their defaults."""
    version: str = ""
    index: Mapping[str, Any] | None = None
    """The figures of the index."""
    table2: tuple[Units, ...] = ()
    """What global answers from each level of the index read (GraphRAG Table 2)."""


def set_ups_in(folder: Path) -> JsonlTable[SetUp]:
    """Return the set-ups of a comparison's answers, by digest and condition."""
    return JsonlTable(folder / "setups.jsonl", SetUp, lambda row: (row.made_with, row.condition))


def save_set_up(works: Iterable[Work], index: Index, model: str, folder: Path) -> None:
    """Save what answers are made with, once for each condition and digest."""
    table = set_ups_in(folder)
    works_by_key = {(work.made_with, work.condition.name): work for work in works}
    missing = [work for key, work in works_by_key.items() if table.get(key) is None]
    if not missing:
        return
    status = status_of(index)
    figures = {
        "folder": str(index.folder or ""),
        "snapshot": snapshot_of(index),
        "model": index.settings.get("model", "imported" if "imported" in index.settings else "unknown"),
        "chunk_tokens": index.settings.get("chunk", {}).get("tokens"),
        **{name: getattr(status, name) for name in COUNTED},
    }
    levels = tuple(table2(index))
    for work in missing:
        name, method, level = astuple(work.condition)
        settings = work.settings.model_dump(
            mode="json", by_alias=True, exclude={*_ELSEWHERE, "model"}, exclude_defaults=True
        )
        options = {*_MODEL_KEYS, "prompts"}
        settings |= {"llm": work.settings.llm.model_dump(mode="json", include=options, exclude_defaults=True)}
        table.add(SetUp(work.made_with, name, method, level, model, settings, __version__, figures, levels))
