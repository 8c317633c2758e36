"""Charts, drawn by matplotlib (the extra `eval`), which is imported only when a chart is drawn."""

# matplotlib is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.readers import list_generated

if TYPE_CHECKING:
    from conspectus.evaluation.verdicts import Matrix

FORMATS = ("svg", "png")
WIN_RATES = "win_rates"
WIN, LOSS = (0, 114, 178), (230, 159, 0)
"""Colours of rates above and below 50, red, green and blue from 0 to 255: anybody can tell them apart (Okabe and Ito,
2008)."""
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b6b6b")


def can_draw() -> bool:
    """Tell whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def colour(rate: float | None) -> str:
    """Return the colour of a win rate: white at 50, bluer the more is won, more orange the more is lost."""
    if rate is None:
        return "#ffffff"
    strength = 0.55 * min(1.0, abs(rate - 50) / 40)
    return "#" + "".join(f"{round(255 + (c - 255) * strength):02x}" for c in (WIN if rate > 50 else LOSS))


def heat_maps(matrices: Sequence[Matrix], folder: Path) -> tuple[str, ...]:
    """Draw win rates, a panel for each criterion, and return the names of the files; none without matplotlib."""

    def draw(axes: Any, matrix: Matrix) -> None:
        size = len(matrix.conditions)
        axes.set(xlim=(0, size), ylim=(size, 0), aspect="equal", title=matrix.criterion)
        axes.set_xticks([i + 0.5 for i in range(size)], matrix.conditions)
        axes.set_yticks([i + 0.5 for i in range(size)], matrix.conditions)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        for row, rates in enumerate(matrix.rates):
            for column, rate in enumerate(rates):
                axes.fill_between((column, column + 1), row, row + 1, color=colour(rate), linewidth=0)
                weight = "bold" if matrix.significant[row][column] else "normal"
                text = "-" if rate is None else f"{rate:.0f}"
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontweight=weight)

    return _save(matrices, draw, folder, WIN_RATES)


def lines(rows: Sequence[Mapping[str, Any]], labels: Sequence[str], folder: Path, name: str) -> tuple[str, ...]:
    """Draw a panel for each numeric column of a table over its rows; `labels` names the rows.

    Returns the names of the files; none without matplotlib.
    """
    numeric = {key for row in rows for key, value in row.items() if isinstance(value, int | float)}
    measures = [key for key in (rows[0] if rows else ()) if key in numeric]

    def draw(axes: Any, measure: str) -> None:
        points = [(place, row[measure]) for place, row in enumerate(rows) if row.get(measure) is not None]
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", color=COLOURS[0])
        axes.set(title=measure.replace("_", " "))
        axes.set_ylim(bottom=min(0, *(y for _, y in points)))
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)

    return _save(measures, draw, folder, name)


def _save(panels: Sequence[Any], draw: Any, folder: Path, name: str) -> tuple[str, ...]:
    """Draw panels, three side by side, and write them in every format."""
    for suffix in FORMATS:
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)  # none is better than one of earlier figures
    if not panels or not can_draw():
        return ()
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context({"svg.hashsalt": "conspectus", "svg.fonttype": "none"}):
        figure = Figure(figsize=(4.2 * columns, 3.6 * rows), layout="constrained")
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, panel in zip(grid, panels, strict=False):
            draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        files = [f"{name}.{suffix}" for suffix in FORMATS]
        list_generated(folder, files)
        for file in files:
            figure.savefig(folder / file, metadata={"Date": None} if file.endswith("svg") else None)
    return tuple(files)
