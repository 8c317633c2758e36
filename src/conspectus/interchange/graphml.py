"""The graph as GraphML, as Gephi reads it: places, sizes and colours of the map, and the community on each
level."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from conspectus.interchange.map.scene import Scene

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""
_NODE = {
    "label": "string",
    "type": "string",
    "description": "string",
    "degree": "int",
    "frequency": "int",
    "x": "double",
    "y": "double",
    "size": "double",
    "r": "int",
    "g": "int",
    "b": "int",
}
_EDGE = {"weight": "double", "strength": "double", "description": "string"}


def graphml(scene: Scene, level: int = 0) -> Iterator[str]:
    """Yield the lines of a GraphML file; nodes are coloured by the communities of a level.

    Beside the attributes that Gephi takes for its own (label, x, y, size, r, g, b, weight) a node has its
    type, description, degree, frequency, and `community_0`, `community_1`, ... with the titles of their
    reports in `theme_0`, ...; -1 and no title stand for none.
    """
    levels = range(len(scene.home))
    node = _NODE | {f"community_{n}": "int" for n in levels} | {f"theme_{n}": "string" for n in levels}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for kind, keys in (("node", node), ("edge", _EDGE)):
        for name, type_ in keys.items():
            yield f'<key id="{kind}_{name}" for="{kind}" attr.name="{name}" attr.type="{type_}"/>'
    yield '<graph edgedefault="undirected">'
    for entity in scene.index.entities:
        x, y = scene.places[entity.number].tolist()
        homes = [int(home[entity.number]) for home in scene.home]
        colour = scene.colour[homes[level]] if homes and homes[level] >= 0 else "#9a9a9a"
        values: dict[str, object] = {
            "label": entity.name,
            "type": entity.type,
            "description": entity.description,
            "degree": entity.degree,
            "frequency": entity.frequency,
            "x": f"{x:.2f}",
            "y": f"{-y:.2f}",  # Gephi's y grows upwards
            "size": f"{2 * scene.radius[entity.number]:.2f}",
            **dict(zip("rgb", (int(colour[i : i + 2], 16) for i in (1, 3, 5)), strict=True)),
            **{f"community_{n}": home for n, home in enumerate(homes)},
            **{f"theme_{n}": scene.title(home) if home >= 0 else "" for n, home in enumerate(homes)},
        }
        yield f'<node id="n{entity.number}">{_data("node", values)}</node>'
    number = scene.index.entity_of_name
    for r in scene.index.relationships:
        values = {"weight": r.weight, "strength": r.strength, "description": r.description}
        ends = f'source="n{number[r.source]}" target="n{number[r.target]}"'
        yield f'<edge id="e{r.number}" {ends}>{_data("edge", values)}</edge>'
    yield "</graph>"
    yield "</graphml>"


def _data(kind: str, values: dict[str, object]) -> str:
    return "".join(
        f"<data key={quoteattr(f'{kind}_{name}')}>{escape(_UNFIT.sub(' ', str(value)))}</data>"
        for name, value in values.items()
        if value != ""
    )
