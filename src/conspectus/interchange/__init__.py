"""Exchange with other tools: import their files as an index, and export an index for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conspectus.lazy import lazy_names

if TYPE_CHECKING:
    from conspectus.interchange.exporting import draw_map, export, networkx_graph
    from conspectus.interchange.importing import import_graphrag, import_triples

__all__ = ["draw_map", "export", "import_graphrag", "import_triples", "networkx_graph"]

__getattr__ = lazy_names(__name__)
