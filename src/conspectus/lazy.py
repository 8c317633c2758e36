"""Lazy imports: modules are imported when first used, so that a command imports only what it needs.

There are two forms, both written at the top of a file:

    if TYPE_CHECKING:
        from conspectus.interchange.exporting import draw_map, export
    __getattr__ = lazy_names(__name__)                                         # in the __init__ of a package

    if TYPE_CHECKING:
        import rjieba
    else:
        rjieba = lazy_module("rjieba")                                             # a library that is slow
        rdflib = lazy_module("rdflib", "conspectus[graph]")                        # or of an extra

The first uses PEP 562. A missing name, or a library that is not installed, raises an error where it is used.

`cached_by_hash` does for results what these do for modules: each is made when it is first needed.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from types import ModuleType

from conspectus.errors import UsageError

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")


def lazy_names(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that provides the names that its `__init__` imports for type checking."""
    homes: dict[str, tuple[str, str]] = {}

    def get(name: str) -> Any:
        if not homes:
            homes.update(_names_for_type_checking(package))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        return getattr(import_module(module), attribute)

    return get


def _names_for_type_checking(package: str) -> dict[str, tuple[str, str]]:
    """Return module and original name for each name that a package imports from `conspectus` for type checking."""
    import ast
    from pathlib import Path

    source = Path(str(import_module(package).__file__)).read_text("utf-8")
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in imports
        if node.module and node.module.startswith("conspectus")
        for alias in node.names
    }


class _LazyModule(ModuleType):
    install = ""

    def __getattr__(self, name: str) -> Any:
        try:
            module = import_module(self.__name__)
        except ImportError as error:
            if not self.install:
                raise
            package = self.__name__.partition(".")[0]
            raise UsageError(f"{package} is not installed: pip install '{self.install}'") from error
        return getattr(module, name)


def lazy_module(name: str, install: str = "") -> Any:
    """Return a stand-in for a module, which is imported when one of its names is first used.

    If it is missing, that raises UsageError with the package to `install`, such as `conspectus[graph]`.
    """
    module = _LazyModule(name)
    module.install = install
    return module


def cached_by_hash(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache up to `most` results of a function of texts by the 64-bit hash of its arguments, in a sixth of the memory
    that keeping the texts would take. Two of a million sentences have the same hash once in 40 million runs.
    """

    def cached(function: Callable[P, T]) -> Callable[P, T]:
        results: dict[int, T] = {}

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            key = hash((arguments, *named.items()) if named else arguments)
            result = results.get(key)
            if result is None:
                if len(results) >= most:
                    results.clear()
                results[key] = result = function(*arguments, **named)
            return result

        return call

    return cached
