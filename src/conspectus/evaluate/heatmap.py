"""Win rates as heat maps, a panel for each criterion: SVG by hand, PNG by Pillow (the extra `map`) of the same shapes.

A heat map is rectangles with numbers on them; matplotlib would take 78 MB and 1.7 s to import for it.
"""

# Pillow is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from conspectus.errors import UsageError
from conspectus.evaluate.matrices import Matrix
from conspectus.map.colours import hexadecimal

CELL, HEAD, GAP, ACROSS = 46, 54, 34, 4
"""A cell, what stands above it, space between panels (pixels), and panels side by side."""
FONT = "Helvetica, Arial, 'Noto Sans', sans-serif"
INK, PALE = "#1a1a1a", "#ffffff"
WIN, LOSS = 255.0, 45.0
"""Hues (degrees) of rates above and below 50."""
_LETTER = 7.4
"""Width of a letter of the labels, about."""
NOTE = "Rate at which the row wins over the column, in %; bold where it differs from 50 (p < 0.05 after Holm)."

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    """The middle of its height."""
    text: str
    anchor: Anchor
    size: float = 13
    bold: bool = False


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    shapes: tuple[Box | Text, ...]


def drawing(found: Sequence[Matrix]) -> Drawing:
    """Lay out a panel for each matrix, as many side by side as there is room for."""
    label = max((len(name) for one in found for name in one.conditions), default=0) * _LETTER + 12
    cell = max(CELL, label)  # as wide as the names above it
    size = max((len(one.conditions) for one in found), default=0)
    panel = max(size * cell, max((len(one.criterion) for one in found), default=0) * 1.15 * _LETTER)
    wide, high = panel + label + GAP, size * CELL + HEAD + GAP
    shapes: list[Box | Text] = []
    for place, one in enumerate(found):
        row, column = divmod(place, ACROSS)
        shapes += _panel(one, GAP / 2 + label + column * wide, HEAD + row * high, cell)
    down = -(-len(found) // ACROSS)
    shapes.append(Text(GAP / 2, down * high + 2, NOTE, "start", 11))
    width = max(min(ACROSS, len(found)) * wide, len(NOTE) * 6.1 + GAP)
    return Drawing(round(width), round(down * high + 16), tuple(shapes))


def _panel(one: Matrix, left: float, top: float, cell: float) -> list[Box | Text]:
    middle = left + len(one.conditions) * cell / 2
    shapes: list[Box | Text] = [Text(middle, top - 36, one.criterion, "middle", 15, bold=True)]
    for i, name in enumerate(one.conditions):
        y = top + (i + 0.5) * CELL
        shapes += [Text(left + (i + 0.5) * cell, top - 12, name, "middle"), Text(left - 8, y, name, "end")]
        for j, rate in enumerate(one.rates[i]):
            x = left + j * cell
            shown = "-" if rate is None else f"{rate:.0f}"
            shapes.append(Box(x, y - CELL / 2, cell - 1, CELL - 1, colour(rate)))
            shapes.append(Text(x + cell / 2, y, shown, "middle", 14, one.significant[i][j]))
    return shapes


def colour(rate: float | None) -> str:
    """Return the colour of a rate: grey at 50, bluer the more is won, more orange the more is lost; white for none."""
    if rate is None:
        return PALE
    strength = min(1.0, abs(rate - 50) / 40)
    return hexadecimal(0.96 - 0.26 * strength, 0.13 * strength, WIN if rate > 50 else LOSS)


def svg(found: Sequence[Matrix]) -> str:
    """Return the heat maps as an SVG."""
    drawn = drawing(found)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawn.width}" height="{drawn.height}" '
        f'viewBox="0 0 {drawn.width} {drawn.height}">',
        f'<rect width="{drawn.width}" height="{drawn.height}" fill="#fff"/>',
        f'<g font-family="{FONT}" fill="{INK}" dominant-baseline="central">',
    ]
    for shape in drawn.shapes:
        match shape:
            case Box(x, y, width, height, fill):
                lines.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"/>')
            case Text(x, y, text, anchor, size, bold):
                weight = ' font-weight="700"' if bold else ""
                head = f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight}>'
                lines.append(f"{head}{escape(text)}</text>")
    return "\n".join([*lines, "</g></svg>"]) + "\n"


def can_draw() -> bool:
    """Tell whether Pillow is there, which a PNG needs."""
    from importlib.util import find_spec

    return find_spec("PIL") is not None


def png(found: Sequence[Matrix], path: Path, scale: int = 2) -> None:
    """Write the heat maps as a PNG of `scale` pixels for each of the SVG, whose labels are in Latin letters.

    Raises UsageError where Pillow is missing.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise UsageError(f"{path.name} needs Pillow: pip install 'conspectus[map]' (the SVG is the same)") from None
    drawn = drawing(found)
    image = Image.new("RGB", (scale * drawn.width, scale * drawn.height), "#fff")
    draw = ImageDraw.Draw(image)
    for shape in drawn.shapes:
        x, y = scale * shape.x, scale * shape.y
        match shape:
            case Box():
                ends = (x, y, x + scale * shape.width - 1, y + scale * shape.height - 1)
                draw.rectangle(ends, shape.colour)
            case Text():
                face = ImageFont.load_default(scale * shape.size)
                anchor = {"start": "lm", "middle": "mm", "end": "rm"}[shape.anchor]
                thick = scale * 0.3 if shape.bold else 0
                draw.text((x, y), shape.text, INK, face, anchor, stroke_width=thick, stroke_fill=INK)
    image.save(path)
