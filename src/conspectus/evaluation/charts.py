"""Charts of measures: a panel for each, lines over settings in their order, or bars side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from conspectus.evaluation.drawing import LETTER, Box, Dot, Drawing, Line, Shape, Text

WIDE, HIGH, GAP, ACROSS = 300, 190, 44, 3
"""The field of a panel, space around it (pixels), and panels side by side."""
HEAD, FOOT = 40, 46
AXIS, GRID = "#8a8a8a", "#e4e4e4"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b6b6b")
"""Colours that people with any common colour blindness can tell apart (Okabe and Ito, 2008)."""

Value = float | int | None
_Height = Callable[[float], float]
"""Says where on the page a value stands."""


@dataclass(frozen=True)
class Series:
    """A name, and a value for each place on the axis; None where there is none."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Panel:
    """One chart: what is measured, the places on its horizontal axis, what these are, and the series."""

    title: str
    places: tuple[str, ...]
    axis: str
    series: tuple[Series, ...]
    kind: Literal["lines", "bars"] = "lines"
    top: float | None = None
    """How far the vertical axis reaches at least."""


def drawing(panels: Sequence[Panel]) -> Drawing:
    """Lay out panels, some side by side, with one legend below for the series of all."""
    left = GAP + 10
    wide, high = WIDE + left, HEAD + HIGH + FOOT
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    shapes: list[Shape] = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, ACROSS)
        shapes += _panel(panel, left + column * wide, HEAD + row * high, colours)
    bottom = -(-len(panels) // ACROSS) * high
    width = min(ACROSS, max(1, len(panels))) * wide + GAP / 2
    bottom = _legend(colours, left, bottom + 8, width, shapes)
    return Drawing(round(width), round(bottom + 16), tuple(shapes))


def _legend(colours: dict[str, str], left: float, top: float, width: float, shapes: list[Shape]) -> float:
    """Add a patch and a name for each series, in as many lines as it takes; return where the last one is."""
    if len(colours) < 2:
        return top - 12
    x = left
    for name, colour in colours.items():
        size = 24 + len(name) * LETTER * 0.95
        if x > left and x + size > width:
            x, top = left, top + 20
        shapes += [Box(x, top - 5, 12, 10, colour), Text(x + 17, top, name, "start", 12)]
        x += size + 8
    return top


def _panel(panel: Panel, left: float, top: float, colours: dict[str, str]) -> list[Shape]:
    known = [value for series in panel.series for value in series.values if value is not None]
    known += [panel.top] if panel.top is not None else []
    ticks = axis_ticks(min(0.0, *known, 0.0) if known else 0.0, max(known, default=1.0))
    low, high = ticks[0], ticks[-1]

    def height(value: float) -> float:
        return top + HIGH * (1 - (value - low) / (high - low))

    shapes: list[Shape] = [Text(left, top - 22, panel.title, "start", 14, bold=True)]
    for tick in ticks:
        y = height(tick)
        shapes += [
            Line(((left, y), (left + WIDE, y)), AXIS if tick == 0 else GRID),
            Text(left - 6, y, told(tick), "end", 11),
        ]
    step = WIDE / max(1, len(panel.places))
    for i, name in enumerate(panel.places):
        shapes.append(Text(left + (i + 0.5) * step, top + HIGH + 13, _cut(name, step), "middle", 11))
    shapes.append(Text(left + WIDE / 2, top + HIGH + 30, panel.axis, "middle", 11))
    draw = _bars if panel.kind == "bars" else _lines
    for place, series in enumerate(panel.series):
        shapes += draw(series, place, len(panel.series), left, step, height, colours[series.name])
    return shapes


def _lines(series: Series, place: int, of: int, left: float, step: float, height: _Height, colour: str) -> list[Shape]:
    known = [(left + (i + 0.5) * step, height(v)) for i, v in enumerate(series.values) if v is not None]
    dots: list[Shape] = [Dot(x, y, 3.5, colour) for x, y in known]
    return [Line(tuple(known), colour, 2), *dots] if len(known) > 1 else dots


def _bars(series: Series, place: int, of: int, left: float, step: float, height: _Height, colour: str) -> list[Shape]:
    width = 0.8 * step / of
    found: list[Shape] = []
    for i, value in enumerate(series.values):
        if value is not None:
            ends = sorted((height(0.0), height(value)))
            x = left + i * step + 0.1 * step + place * width
            found.append(Box(x, ends[0], max(1.0, width - 1), ends[1] - ends[0], colour))
    return found


def axis_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about so many round numbers at equal distances, from one at or below `low` to one at or above `high`."""
    rough = (high - low) / count or 1.0
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, max(last, first + 1) + 1)]


def told(value: float) -> str:
    """Return a number as an axis has it: `1,200`, `12k`, `3M`."""
    for size, sign in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e6 if sign == 'M' else 1e3):g}{sign}"
    return f"{value:,g}" if value != int(value) else f"{int(value):,}"


def _cut(name: str, width: float) -> str:
    most = max(4, int(width / (0.85 * LETTER)))
    return name if len(name) <= most else f"{name[: most - 1]}…"
