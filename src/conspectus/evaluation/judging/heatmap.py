"""Win rates as heat maps, a panel for each criterion."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.evaluation.drawing import LETTER, PALE, Box, Drawing, Shape, Text
from conspectus.evaluation.judging.matrices import Matrix
from conspectus.interchange.map.scene import hexadecimal

CELL, HEAD, GAP, ACROSS = 46, 54, 34, 4
"""A cell, what stands above it, space between panels (pixels), and panels side by side."""
WIN, LOSS = 255.0, 45.0
"""Hues (degrees) of rates above and below 50."""
NOTE = "Rate at which the row wins over the column, in %; bold where it differs from 50 (p < 0.05 after Holm)."


def drawing(found: Sequence[Matrix]) -> Drawing:
    """Lay out a panel for each matrix, as many side by side as there is room for."""
    label = max((len(name) for one in found for name in one.conditions), default=0) * LETTER + 12
    cell = max(CELL, label)  # as wide as the names above it
    size = max((len(one.conditions) for one in found), default=0)
    panel = max(size * cell, max((len(one.criterion) for one in found), default=0) * 1.15 * LETTER)
    wide, high = panel + label + GAP, size * CELL + HEAD + GAP
    shapes: list[Shape] = []
    for place, one in enumerate(found):
        row, column = divmod(place, ACROSS)
        shapes += _panel(one, GAP / 2 + label + column * wide, HEAD + row * high, cell)
    down = -(-len(found) // ACROSS)
    shapes.append(Text(GAP / 2, down * high + 2, NOTE, "start", 11))
    width = max(min(ACROSS, len(found)) * wide, len(NOTE) * 6.1 + GAP)
    return Drawing(round(width), round(down * high + 16), tuple(shapes))


def _panel(one: Matrix, left: float, top: float, cell: float) -> list[Shape]:
    middle = left + len(one.conditions) * cell / 2
    shapes: list[Shape] = [Text(middle, top - 36, one.criterion, "middle", 15, bold=True)]
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
