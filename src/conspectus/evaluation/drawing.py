"""Pictures of a few shapes, as SVG by hand and as PNG by Pillow (the extra `map`) of the same shapes.

Heat maps and charts are rectangles, lines and numbers; matplotlib would take 78 MB and 1.7 s to import for them.
"""

# Pillow is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from conspectus.errors import UsageError

FONT = "Helvetica, Arial, 'Noto Sans', sans-serif"
INK, PALE = "#1a1a1a", "#ffffff"
LETTER = 7.4
"""Width of a letter of 13 pixels, about."""

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Line:
    """A line through points, from one to the next."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    radius: float
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


Shape = Box | Line | Dot | Text


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    shapes: tuple[Shape, ...]


def svg(drawn: Drawing) -> str:
    """Return a drawing as an SVG."""
    size = f'width="{drawn.width}" height="{drawn.height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {drawn.width} {drawn.height}">',
        f'<rect {size} fill="#fff"/>',
        f'<g font-family="{FONT}" fill="{INK}" dominant-baseline="central">',
        *map(_element, drawn.shapes),
    ]
    return "\n".join([*lines, "</g></svg>"]) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box(x, y, width, height, colour):
            return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'
        case Line(points, colour, width):
            told = " ".join(f"{x:g},{y:g}" for x, y in points)
            return f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'
        case Dot(x, y, radius, colour):
            return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"/>'
        case Text(x, y, text, anchor, size, bold):
            weight = ' font-weight="700"' if bold else ""
            head = f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight}>'
            return f"{head}{escape(text)}</text>"


def can_draw() -> bool:
    """Tell whether Pillow is there, which a PNG needs."""
    from importlib.util import find_spec

    return find_spec("PIL") is not None


def in_latin(drawn: Drawing) -> bool:
    """Tell whether the texts of a drawing are of letters that Pillow's own font has."""
    letters = {letter for one in drawn.shapes if isinstance(one, Text) for letter in one.text}
    return all(ord(letter) < 0x250 or letter in "…–—" for letter in letters)


def png(drawn: Drawing, path: Path, scale: int = 2) -> None:
    """Write a drawing, whose texts are in Latin letters, as a PNG of `scale` pixels for each of the SVG.

    It is drawn at twice that size and made smaller, which smooths its lines.

    Raises UsageError where Pillow is missing.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise UsageError(f"{path.name} needs Pillow: pip install 'conspectus[map]' (the SVG is the same)") from None
    scale *= 2
    image = Image.new("RGB", (scale * drawn.width, scale * drawn.height), "#fff")
    draw = ImageDraw.Draw(image)
    for shape in drawn.shapes:
        match shape:
            case Box(x, y, width, height, colour):
                ends = (scale * x, scale * y, scale * (x + width) - 1, scale * (y + height) - 1)
                if ends[2] >= ends[0] and ends[3] >= ends[1]:
                    draw.rectangle(ends, colour)
            case Line(points, colour, width):
                draw.line([(scale * x, scale * y) for x, y in points], colour, round(scale * width), joint="curve")
            case Dot(x, y, radius, colour):
                draw.circle((scale * x, scale * y), scale * radius, colour)
            case Text(x, y, text, at, size, bold):
                face = ImageFont.load_default(scale * size)
                anchor = {"start": "lm", "middle": "mm", "end": "rm"}[at]
                thick = scale * 0.3 if bold else 0
                draw.text((scale * x, scale * y), text, INK, face, anchor, stroke_width=thick, stroke_fill=INK)
    image.reduce(2).save(path)


def write(drawn: Drawing, folder: Path, name: str) -> tuple[str, ...]:
    """Write a drawing as `name`.svg, and as .png where Pillow is there and has its letters; return the files' names."""
    (folder / f"{name}.svg").write_text(svg(drawn), encoding="utf-8")
    (folder / f"{name}.png").unlink(missing_ok=True)  # none is better than one of earlier figures
    if not (can_draw() and in_latin(drawn)):
        return (f"{name}.svg",)
    png(drawn, folder / f"{name}.png")
    return f"{name}.svg", f"{name}.png"
