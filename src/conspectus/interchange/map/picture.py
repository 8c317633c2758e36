"""The map as a picture for papers (SVG, PNG), drawn by matplotlib (the extra `map`)."""

# matplotlib is an optional extra, without complete types:
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from io import BytesIO
from math import inf, nextafter
from pathlib import Path
from typing import Any

import numpy as np

from conspectus.errors import UsageError
from conspectus.interchange.map import Scene, frame

MAX_EDGES = 20_000
"""Edges drawn, the strongest: more are a grey sheet, and a file that no program opens."""
MAX_TITLES = 24
"""Titles of communities."""
MAX_NAMES = 40
"""Names of entities, the best connected."""
BETWEEN = "#8a8a8a"
"""Colour of edges between communities."""
FONTS = ("Arial", "Liberation Sans", "Noto Sans", "DejaVu Sans", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei",
         "WenQuanYi Zen Hei", "Droid Sans Fallback")  # fmt: skip
"""Fonts of the labels: those of them that the system has, each for the letters that those before it lack."""
LETTER_WIDTH = 0.56
"""Mean width of a letter as a share of its height, measured on Helvetica."""
DPI = 72
"""Pixels per inch of a picture: those of matplotlib's SVG, so that both formats have the same width."""


@dataclass(frozen=True)
class Label:
    """A text centred on a point, in the units of the map."""

    x: float
    y: float
    size: float
    lines: tuple[str, ...]
    bold: bool

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        width = max(map(len, self.lines)) * self.size * LETTER_WIDTH
        height = 1.15 * self.size * len(self.lines)
        return self.x - width / 2, self.y - height / 2, self.x + width / 2, self.y + height / 2


def picture(scene: Scene, level: int, format: str, width: int = 2000, font: Path | None = None) -> bytes:
    """Return the map as an SVG or PNG file (`format` is `svg` or `png`), coloured by the communities of a level.

    width: in pixels. font: a TrueType font, for scripts that the fonts of the system lack.

    Raises UsageError if matplotlib is not installed or the font cannot be read.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.collections import EllipseCollection, LineCollection
        from matplotlib.figure import Figure
        from matplotlib.patheffects import withStroke
    except ImportError:
        raise UsageError(
            "a picture needs matplotlib: pip install 'conspectus[map]' (a .html map does not)"
        ) from None
    families = _families(font)
    left, top, wide, high = frame(scene.positions, scene.radius)
    inches = (
        nextafter(width / DPI, inf),
        nextafter(round(width * high / wide) / DPI, inf),
    )  # pixels are rounded down
    figure = Figure(figsize=inches, dpi=DPI)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(left, left + wide), ylim=(top + high, top))
    axes.set_axis_off()
    points = 72 * width / (DPI * wide)  # per unit of the map
    segments, colours, widths = _edges(scene, level)
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=widths * points, zorder=0))
    order = np.argsort(scene.radius, kind="stable")
    diameter = 2 * scene.radius[order]
    fill = [scene.entity_colour(entity, level) for entity in order.tolist()]
    circles: Any = EllipseCollection(
        diameter, diameter, np.zeros(len(order)), units="xy", offsets=scene.positions[order],
        offset_transform=axes.transData, facecolors=fill, edgecolors="#fff", linewidths=0.3 * points,
    )  # fmt: skip
    axes.add_collection(circles)
    for label in labels(scene, level):
        size = label.size * points
        axes.text(
            label.x, label.y, "\n".join(label.lines).replace("$", r"\$"), fontsize=size, family=families,
            weight="bold" if label.bold else "normal", color="#111", ha="center", va="center",
            path_effects=[withStroke(linewidth=size / 4, foreground="#fff")],
        )  # fmt: skip
    content = BytesIO()
    with rc_context({"svg.hashsalt": "conspectus"}), warnings.catch_warnings():  # same map, same bytes
        warnings.filterwarnings("ignore", "Glyph .* missing")  # drawn as boxes; `font` is for them
        figure.savefig(content, format=format, metadata={"Date": None} if format == "svg" else None)
    return content.getvalue()


def _families(font: Path | None) -> list[str]:
    """Return the names of the fonts to use: `font` first, then those of `FONTS` that the system has."""
    from matplotlib.font_manager import FontProperties, fontManager

    first: list[str] = []
    if font:
        try:
            fontManager.addfont(font)
            first = [FontProperties(fname=str(font)).get_name()]
        except (OSError, RuntimeError) as error:
            raise UsageError(f"the font {font} cannot be read ({error}); name a .ttf or .otf file") from None
    installed = {entry.name for entry in fontManager.ttflist}
    return [*first, *(name for name in FONTS if name in installed)]


def _edges(scene: Scene, level: int) -> tuple[Any, list[tuple[str, float]], Any]:
    """Return the ends, colours (with opacity) and widths of the edges, those between communities first."""
    edges = scene.edges
    source, target = edges.source[:MAX_EDGES], edges.target[:MAX_EDGES]
    home = scene.home[level] if scene.home else np.full(len(scene.positions), -1)
    inside = np.where(home[source] == home[target], home[source], -1)
    order = np.argsort(inside, kind="stable")
    widths = np.array([0.25, 0.4, 0.7, 1.1])[np.digitize(edges.weight[:MAX_EDGES], (2, 5, 12))]
    segments = np.stack((scene.positions[source], scene.positions[target]), axis=1)
    colours = [(scene.colour[c], 0.3) if c >= 0 else (BETWEEN, 0.1) for c in inside[order].tolist()]
    return segments[order], colours, widths[order]


def labels(scene: Scene, level: int) -> list[Label]:
    """Return the titles of the largest communities and the names of the best connected entities that have room."""
    index = scene.index
    _, _, wide, _ = frame(scene.positions, scene.radius)
    unit = wide / 100
    candidates: list[Label] = []
    largest = sorted(index.communities_at(level), key=lambda c: (-scene.circle[c.number].radius, c.number))
    for community in largest[:MAX_TITLES]:
        circle = scene.circle[community.number]
        if circle.radius < 2 * unit:
            break
        size = min(1.9 * unit, max(0.85 * unit, circle.radius * 0.17))
        candidates.append(Label(circle.x, circle.y, size, _wrapped(scene.title(community.number)), True))
    best = sorted(index.entities, key=lambda e: (-e.degree, e.number))[:MAX_NAMES]
    for entity in best:
        x, y = scene.positions[entity.number].tolist()
        below = float(scene.radius[entity.number]) + 0.5 * unit
        candidates.append(Label(x, y + below, 0.7 * unit, (entity.name[:40],), False))
    placed: list[Label] = []
    for label in candidates:
        if not any(_overlap(label.box, other.box) for other in placed):
            placed.append(label)
    return placed


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _wrapped(text: str, width: int = 26, most: int = 3) -> tuple[str, ...]:
    """Return a title in lines of about `width` characters, shortened to `most` lines."""
    if " " not in text:  # a script without spaces
        lines = [text[i : i + width // 2] for i in range(0, len(text), width // 2)]
    else:
        lines = textwrap.wrap(text, width)
    return tuple(lines[:most]) if len(lines) <= most else (*lines[: most - 1], lines[most - 1] + "…")
