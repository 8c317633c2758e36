"""Imports that happen when they are first used, so that a command pays only for what it needs.

Two kinds, both written at the top of a file:

    __getattr__ = lazy_names(__name__, {"exporting": "draw_map export"})      # in the __init__ of a package

    if TYPE_CHECKING:
        import rjieba
    else:
        rjieba = lazy_module("rjieba")                                             # a library that is slow, or an extra

The first is PEP 562. A name that is missing, or a library that is not installed, raises where it is used.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that offers names of its modules: `{"module": "name name"}`."""
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return get


class _LazyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def lazy_module(name: str) -> Any:
    """Return a stand-in for a module, which is imported when one of its names is used."""
    return _LazyModule(name)
