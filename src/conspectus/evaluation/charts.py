"""Charts drawn with matplotlib (the extra `eval`), which is imported only for a drawing, and pages filled by Jinja2.

A page is self-contained: one HTML file with its style, its program and its data.
"""

# matplotlib is an optional dependency, which is not installed where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from conspectus.lazy import lazy_module
from conspectus.readers import list_generated

if TYPE_CHECKING:
    import matplotlib
    from matplotlib import figure
else:
    matplotlib, figure = lazy_module("matplotlib"), lazy_module("matplotlib.figure")

WinRates = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""How often the row wins over the column in %, counting a tie as half a win, by criterion, row and column."""
FORMATS = ("svg", "png")
WIN, LOSS = (0, 114, 178), (230, 159, 0)
"""Colours of rates above and below 50 (RGB, 0 to 255), distinguishable with colour blindness, too (Okabe and Ito)."""

_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def colour(rate: float | None) -> str:
    """Return the colour of a win rate in CSS: white at 50, more blue for higher rates, more orange for lower ones."""
    if rate is None:
        return "#ffffff"
    strength = 0.55 * min(1.0, abs(rate - 50) / 40)
    return "#" + "".join(f"{round(255 + (c - 255) * strength):02x}" for c in (WIN if rate > 50 else LOSS))


def heat_maps(rates: WinRates, significant: Callable[[str, str, str], bool], folder: Path) -> tuple[str, ...]:
    """Draw win rates, a panel for each criterion (GraphRAG Figure 2), and return the names of the files.

    A rate is bold if `significant` is true for its criterion, row and column. Without matplotlib there are no files.
    """

    def draw(axes: Any, criterion: str) -> None:
        names = list(rates[criterion])
        ticks = [i + 0.5 for i in range(len(names))]
        axes.set(xlim=(0, len(names)), ylim=(len(names), 0), aspect="equal", title=criterion)
        axes.set_xticks(ticks, names)
        axes.set_yticks(ticks, names)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        for row, (name, cells) in enumerate(rates[criterion].items()):
            for column, (other, rate) in enumerate(cells.items()):
                axes.fill_between((column, column + 1), row, row + 1, color=colour(rate), linewidth=0)
                weight = "bold" if significant(criterion, name, other) else "normal"
                text = "-" if rate is None else f"{rate:.0f}"
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontweight=weight)

    return _save(list(rates), draw, folder, "win_rates")


def lines(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], folder: Path, name: str
) -> tuple[str, ...]:
    """Draw a panel for each numeric column of a table over its rows; `labels` names the rows.

    Returns the names of the files; none without matplotlib.
    """
    columns = dict.fromkeys(
        key for row in rows for key, value in row.items() if isinstance(value, int | float)
    )

    def draw(axes: Any, measure: str) -> None:
        points = [(n, row[measure]) for n, row in enumerate(rows) if row.get(measure) is not None]
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o")
        axes.set(title=measure.replace("_", " "))
        axes.set_ylim(bottom=min(0, *(y for _, y in points)))
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)

    return _save(list(columns), draw, folder, name)


def _save(panels: Sequence[str], draw: Any, folder: Path, name: str) -> tuple[str, ...]:
    """Draw panels, three side by side, write them in every format, and return the names of the files."""
    names = [f"{name}.{suffix}" for suffix in FORMATS]
    for file in names:
        (folder / file).unlink(missing_ok=True)  # no chart is better than one of outdated figures
    if not panels or not can_draw():
        return ()
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context({"svg.hashsalt": "conspectus", "svg.fonttype": "none"}):
        drawing = figure.Figure(figsize=(4.2 * columns, 3.6 * rows), layout="constrained")
        grid = list(drawing.subplots(rows, columns, squeeze=False).flat)
        for axes, panel in zip(grid, panels, strict=False):
            draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        list_generated(folder, names)
        for file in names:
            drawing.savefig(folder / file, metadata={"Date": None} if file.endswith("svg") else None)
    return tuple(names)


# Pages


def render(template: str, **values: Any) -> str:
    """Return a filled template of the folder `templates`; in HTML, values are escaped."""
    return _environment().get_template(template).render(**values)


def packed(data: Any) -> str:
    """Return data as the page's program unpacks it: JSON, compressed with gzip, in base 64."""
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(content.encode("utf-8", "replace"), 6, mtime=0)).decode()


def one_line(text: str) -> str:
    """Return a text on one line for Markdown, with every HTML tag escaped."""
    return _TAG.sub(r"\\<", " ".join(text.split()))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("conspectus.evaluation"),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"line": one_line, "segment": partial(quote, safe="")}
    environment.filters.update(filters)  # pyright: ignore[reportUnknownMemberType]
    return environment
