"""The map as a picture for papers: SVG by hand, PNG by Pillow (the extra `map`), both drawn from the same
shapes."""

# Pillow is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from conspectus.errors import UsageError
from conspectus.interchange.map.colours import GREY
from conspectus.interchange.map.scene import Scene, frame

EDGES = 20_000
"""Edges that are drawn, the strongest; more than that is a grey sheet, and a file that nothing opens."""
LABELS = 24
"""Titles of communities."""
NAMES = 40
"""Names of entities, the best connected."""
BETWEEN = "#8a8a8a"
"""Edges between communities."""
FACES = ("Arial.ttf", "arial.ttf", "LiberationSans-Regular.ttf", "NotoSans-Regular.ttf", "DejaVuSans.ttf")
"""Fonts of a PNG, the first that the system has; the one built into Pillow knows few letters beside English ones."""
WIDE_FACES = ("NotoSansCJK-Regular.ttc", "PingFang.ttc", "msyh.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf")
"""The same for Chinese, Japanese and Korean."""
FONT = "Helvetica, Arial, 'Noto Sans', sans-serif"
_SANS = 0.56
"""Mean width of a letter as a share of its height."""


@dataclass(frozen=True)
class Label:
    x: float
    y: float
    size: float
    lines: tuple[str, ...]
    bold: bool

    @property
    def box(self) -> tuple[float, float, float, float]:
        width = max(map(len, self.lines)) * self.size * _SANS
        height = 1.15 * self.size * len(self.lines)
        return self.x - width / 2, self.y - height / 2, self.x + width / 2, self.y + height / 2


def svg(scene: Scene, level: int, width: int = 1600) -> str:
    """Return the map as an SVG, coloured by the communities of a level; `width` in pixels."""
    left, top, wide, high = frame(scene.places, scene.radius)
    height = round(width * high / wide)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{left:.1f} {top:.1f} {wide:.1f} {high:.1f}">',
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="#fff"/>',
        '<g fill="none">',
    ]
    for colour, thick, parts in _strokes(scene, level):
        path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in parts)
        lines.append(
            f'<path stroke="{colour}" stroke-opacity="{_opacity(colour)}" stroke-width="{thick:.2f}" d="{path}"/>'
        )
    lines.append('</g><g stroke="#fff" stroke-width=".3">')
    for i in np.argsort(scene.radius, kind="stable").tolist():
        x, y = scene.places[i].tolist()
        name = escape(scene.index.entities[i].name)
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{scene.radius[i]:.1f}" fill="{_colour(scene, level, i)}">'
            f"<title>{name}</title></circle>"
        )
    lines.append(f'</g><g font-family="{FONT}" text-anchor="middle" fill="#111" stroke="#fff" paint-order="stroke">')
    for label in labels(scene, level):
        weight = ' font-weight="600"' if label.bold else ""
        for place, line in enumerate(label.lines):
            y = label.y + label.size * (0.35 + 1.15 * (place - (len(label.lines) - 1) / 2))
            lines.append(
                f'<text x="{label.x:.1f}" y="{y:.1f}" font-size="{label.size:.1f}" '
                f'stroke-width="{label.size / 4:.1f}"{weight}>{escape(line)}</text>'
            )
    return "\n".join([*lines, "</g></svg>"]) + "\n"


def png(scene: Scene, level: int, path: Path, width: int = 2400, font: Path | None = None) -> None:
    """Write the map as a PNG of `width` pixels; `font` names a TrueType file, for scripts that those of the
    system lack.

    Raises UsageError where Pillow is missing or the font cannot be read.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise UsageError("a PNG needs Pillow: pip install 'conspectus[map]' (SVG and HTML do without)") from None
    left, top, wide, high = frame(scene.places, scene.radius)
    twice = 2 * width / wide  # drawn at double size and reduced, which smooths the edges
    image = Image.new("RGB", (2 * width, round(twice * high)), "#fff")
    draw = ImageDraw.Draw(image, "RGBA")

    def at(x: float, y: float) -> tuple[float, float]:
        return (x - left) * twice, (y - top) * twice

    for colour, thick, parts in _strokes(scene, level):
        shade = (*(int(colour[i : i + 2], 16) for i in (1, 3, 5)), round(255 * _opacity(colour)))
        for a, b, c, d in parts:
            draw.line((*at(a, b), *at(c, d)), shade, max(1, round(thick * twice)))
    for i in np.argsort(scene.radius, kind="stable").tolist():
        x, y = at(*scene.places[i].tolist())
        r = float(scene.radius[i]) * twice
        draw.ellipse((x - r, y - r, x + r, y + r), _colour(scene, level, i), "#fff")
    shown = labels(scene, level)
    name = str(font) if font else _font_of("".join(line for label in shown for line in label.lines))
    for label in shown:
        pixels = label.size * twice
        face = _face(name, pixels)
        middle = at(label.x, label.y)
        draw.multiline_text(
            middle, "\n".join(label.lines), "#111", face, "mm", align="center",
            stroke_width=max(1, round(pixels / 9)), stroke_fill="#fff",
        )  # fmt: skip
    image.resize((width, image.height // 2), Image.Resampling.LANCZOS).save(path)


def _font_of(text: str) -> str:
    """Return the first font of the system that is likely to know the letters of a text, "" where it has none."""
    from PIL import ImageFont

    wide = any("\u2e80" <= letter <= "\uffdc" for letter in text)
    for name in (*WIDE_FACES, *FACES) if wide else FACES:
        with suppress(OSError):
            ImageFont.truetype(name, 10)
            return name
    return ""


def _face(name: str, pixels: float) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, pixels) if name else ImageFont.load_default(pixels)
    except OSError as error:
        raise UsageError(f"the font {name} cannot be read ({error}); name a .ttf or .otf file") from None


def _colour(scene: Scene, level: int, entity: int) -> str:
    community = int(scene.home[level][entity]) if scene.home else -1
    return scene.colour[community] if community >= 0 else GREY


def _opacity(colour: str) -> float:
    return 0.1 if colour == BETWEEN else 0.3


def _strokes(scene: Scene, level: int) -> Iterator[tuple[str, float, list[tuple[float, float, float, float]]]]:
    """Yield edges by colour and width, those between communities first; ends as x, y, x, y."""
    edges = scene.edges
    count = min(EDGES, len(edges.source))
    source, target = edges.source[:count], edges.target[:count]
    home = scene.home[level] if scene.home else np.full(len(scene.places), -1)
    inside = np.where(home[source] == home[target], home[source], -1)
    thick = np.digitize(edges.weight[:count], (2, 5, 12))
    ends = np.hstack((scene.places[source], scene.places[target]))
    for community in sorted({*inside.tolist()}):
        for step, width in enumerate((0.25, 0.4, 0.7, 1.1)):
            chosen = np.flatnonzero((inside == community) & (thick == step))
            if len(chosen):
                colour = scene.colour[community] if community >= 0 else BETWEEN
                yield colour, width, [tuple(row) for row in ends[chosen].tolist()]


def labels(scene: Scene, level: int) -> list[Label]:
    """Return the titles of the largest communities and the names of the best connected entities that have
    room."""
    index = scene.index
    _, _, wide, _ = frame(scene.places, scene.radius)
    unit = wide / 100
    wanted: list[Label] = []
    shown = sorted(index.communities_at(level), key=lambda c: (-scene.circle[c.number].radius, c.number))
    for community in shown[:LABELS]:
        circle = scene.circle[community.number]
        if circle.radius < 2 * unit:
            break
        size = min(1.9 * unit, max(0.85 * unit, circle.radius * 0.17))
        wanted.append(Label(circle.x, circle.y, size, _wrapped(scene.title(community.number)), True))
    best = sorted(index.entities, key=lambda e: (-e.degree, e.number))[:NAMES]
    for entity in best:
        x, y = scene.places[entity.number].tolist()
        below = float(scene.radius[entity.number]) + 0.5 * unit
        wanted.append(Label(x, y + below, 0.7 * unit, (entity.name[:40],), False))
    placed: list[Label] = []
    for label in wanted:
        if not any(_meet(label.box, other.box) for other in placed):
            placed.append(label)
    return placed


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _wrapped(text: str, width: int = 26, most: int = 3) -> tuple[str, ...]:
    """Return a title in lines of about `width` characters, cut where it is too long."""
    import textwrap

    if " " not in text:  # a script that writes none
        lines = [text[i : i + width // 2] for i in range(0, len(text), width // 2)]
    else:
        lines = textwrap.wrap(text, width)
    return tuple(lines[:most]) if len(lines) <= most else (*lines[: most - 1], lines[most - 1] + "…")
