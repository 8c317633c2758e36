"""Conditions to compare (GraphRAG §4.1.2): ways of answering, all under one window, one set of prompts and one
response type.

C0, C1, … are global answers from the reports of a level; where a community has no parts at a level, it stands for
itself there. TS is map-reduce over the source texts, SS one window of the nearest chunks. Any other condition is a
method by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from conspectus import __version__
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.retrieval import METHODS, Answering
from conspectus.retrieval.auto import choose
from conspectus.retrieval.global_ import level_of
from conspectus.retrieval.vector import embedder_of
from conspectus.settings import Settings

PAPER = ("C0", "C1", "C2", "C3", "TS", "SS")
"""The conditions of GraphRAG."""
AUTO = "auto"
_NAMES = {"TS": "source-summary", "SS": "vector"}
_LEVEL = re.compile(r"C(\d+)")
_MODEL_KEYS = {"tasks", "temperature", "max_tokens", "seed", "reasoning_effort", "context_window", "reply_format"}
"""Settings of a language model that can change what it says."""
_ELSEWHERE = {"read", "chunk", "extract", "resolve", "describe", "communities", "llm", "prices"}
"""Settings that answers do not depend on, or only by way of the index."""


@dataclass(frozen=True)
class Condition:
    """A way of answering: a method, and the level that it answers from where it is global."""

    name: str
    method: str
    level: int | None = None


def conditions_of(names: Sequence[str]) -> list[Condition]:
    """Return the conditions of that names, each once; UsageError where there is none of a name."""
    found = [_condition(name) for name in dict.fromkeys(name.strip() for name in names) if name]
    if not found:
        raise UsageError(f"name conditions to compare, as {','.join(PAPER)}")
    return found


def _condition(name: str) -> Condition:
    if level := _LEVEL.fullmatch(name):
        return Condition(name, "global", int(level[1]))
    method = _NAMES.get(name, name)
    if method not in METHODS and method != AUTO:
        raise UsageError(
            f"there is no condition {name!r}; there are C0, C1, … for the levels of reports, {', '.join(_NAMES)}, "
            f"and the methods {', '.join((AUTO, *METHODS))}"
        )
    return Condition(name, method)


def place_of(condition: str) -> tuple[int, str, int, str]:
    """Return where a condition stands: the paper's in its order, then others by name, whichever answered first.

    Variants of one (`C2@8k`) follow it, by their number where they have one.
    """
    name, _, variant = condition.partition("@")
    digits = re.match(r"\d*", variant)
    number = int(digits[0]) if digits and digits[0] else -1
    return (PAPER.index(name) if name in PAPER else len(PAPER)), name, number, variant


def answering(question: str, condition: Condition, index: Index) -> Answering:
    """Return the method that a condition answers a question by."""
    return METHODS[choose(question, index)[0] if condition.method == AUTO else condition.method]


def settings_for(condition: Condition, settings: Settings, index: Index) -> Settings:
    """Return the settings of a condition: its level, and the window of `global.context_tokens` for every method.

    A method that reads a number of chunks is given as many as fit. What is set expressly stays what it is.
    """
    window = settings.global_.context_tokens
    whole: dict[str, Any] = {}
    if condition.level is not None:
        whole["global_"] = settings.global_.model_copy(update={"level": condition.level, "descend": False})
    if "context_tokens" not in settings.local.model_fields_set:
        whole["local"] = settings.local.model_copy(update={"context_tokens": window})
    if "k" not in settings.search.model_fields_set:
        largest = max((chunk.n_tokens for chunk in index.chunks), default=window)
        whole["search"] = settings.search.model_copy(update={"k": max(1, window // (largest + 4))})
    return settings.model_copy(update=whole)


def check(condition: Condition, index: Index, settings: Settings, *, generative: bool) -> None:
    """Raise UsageError, before any question is asked, where an index or its model cannot answer by a condition."""
    needs = METHODS[condition.method].needs if condition.method != AUTO else ()
    try:
        if condition.method == "global":
            level_of(index, settings.global_)
        if "vectors" in needs:
            embedder_of(index, settings)
    except UsageError as error:
        raise UsageError(f"{condition.name}: {error}") from None
    if "model" in needs and not generative:
        raise UsageError(f"{condition.name} asks for what a language model knows: name one with --model")


def made_with(condition: Condition, index: Index, model: str, settings: Settings) -> str:
    """Return a digest of what must be the same for a kept answer to hold: index, model and settings.

    Of settings only what is not their default, so that one that is added later voids nothing.
    """
    said: list[Any] = [__version__, condition.method, snapshot_of(index), model]
    said.append(settings.model_dump(mode="json", exclude=_ELSEWHERE, exclude_defaults=True))
    return digest([*said, *spoken(model, settings)])


def spoken(model: str, settings: Settings) -> list[Any]:
    """Return what of the settings can change what a language model says; nothing of those that have none."""
    if model == "extractive":
        return []
    return [
        settings.llm.model_dump(mode="json", include=_MODEL_KEYS, exclude_defaults=True),
        _prompts(settings.llm.prompts),
    ]


def _prompts(folder: str) -> dict[str, str]:
    """Return the user's own prompts by their names."""
    paths = sorted(Path(folder).rglob("*.md")) if folder else []
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}


def snapshot_of(index: Index) -> str:
    """Return the id of an index's snapshot; of one that is not stored a digest of what is read of it."""
    if index.snapshot:
        return index.snapshot
    ids = [row.id for table in (index.documents, index.chunks, index.entities) for row in table]
    return digest([ids, [report.text for report in index.reports]])


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits that depend on nothing but a value of JSON."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
