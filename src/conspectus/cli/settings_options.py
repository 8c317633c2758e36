"""Commands that are given settings, and the flags that those are read from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, get_type_hints

from conspectus.cli.options import (
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    LogFile,
    ModelName,
    SetKeys,
    TraceFile,
    model_flags,
    overrides,
    settings_of,
)

CALLS = {"base_url": BaseUrl, "budget": Budget, "budget_tokens": BudgetTokens, "trace": TraceFile}
"""Flags of calls to a server, as `model_flags` takes them."""
SOURCES = {"config": ConfigFile, "set_": SetKeys, "log": LogFile}


def settled(**flags: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its parameter `settings` from `flags` (see `model_flags`), `--config` and `--set`.

    The command line has those flags in its place, after the command's own.
    """

    def given(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        kinds = get_type_hints(command, localns={"Settings": object}, include_extras=True)  # imported for types only
        own = [p.replace(annotation=kinds[p.name]) for p in signature.parameters.values() if p.name != "settings"]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in (flags | SOURCES).items()
        ]

        @functools.wraps(command)
        def run(**said: Any) -> None:
            chosen = {name: said.pop(name) for name in flags}
            config, pairs, _ = (said.pop(name) for name in SOURCES)
            command(**said, settings=settings_of(overrides(pairs, model_flags(**chosen)), config))

        run.__signature__ = signature.replace(parameters=[*own, *more])  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {p.name: p.annotation for p in (*own, *more)}
        return run

    return given


with_model = settled(model=ModelName, **CALLS)
"""For commands of which a language model may do a part."""
with_calls = settled(**CALLS)
"""For commands that name their model in another way."""
with_settings = settled()
