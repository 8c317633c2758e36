"""Between an index and other tools: their files read as an index of ours, ours written for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conspectus.interchange.exporting import draw_map, export
    from conspectus.interchange.importing import import_graphrag, import_triples

__all__ = ["draw_map", "export", "import_graphrag", "import_triples"]


def __getattr__(name: str) -> Any:
    """Import a name when it is used."""
    if name not in __all__:
        raise AttributeError(f"module 'conspectus.interchange' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'importing' if name.startswith('import_') else 'exporting'}"), name)
