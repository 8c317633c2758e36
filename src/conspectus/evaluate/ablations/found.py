"""What an ablation found: a table, charts of it, and the files that hold them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conspectus.evaluate import charts, drawing
from conspectus.evaluate.charts import Panel

Cell = str | int | float | None
Row = Mapping[str, Cell]


@dataclass(frozen=True)
class Ablation:
    """One table: every row has the same columns, of which the first hold what was varied."""

    what: str
    title: str
    rows: tuple[Row, ...]
    panels: tuple[Panel, ...] = ()
    set_up: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What all rows have in common."""
    notices: tuple[str, ...] = ()
    """What a reader of the figures must know, a line each."""
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows[0]) if self.rows else ()

    def as_json(self) -> dict[str, Any]:
        """Return what goes into JSON; the charts are drawn of the same figures."""
        return {
            "ablation": self.what,
            "title": self.title,
            "set_up": self.set_up,
            "rows": self.rows,
            "notices": self.notices,
            "errors": self.errors,
        }


def file_of(what: str) -> str:
    """Return what the files of an ablation are called, without their suffix."""
    return f"ablation_{what}"


def write(found: Ablation, folder: Path) -> tuple[str, ...]:
    """Write an ablation into a folder as JSON, CSV, SVG and, where Pillow is there, PNG; return the names."""
    folder.mkdir(parents=True, exist_ok=True)
    name = file_of(found.what)
    text = json.dumps(found.as_json(), ensure_ascii=False, indent=1) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    table = io.StringIO()
    writer = csv.DictWriter(table, found.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found.rows)
    (folder / f"{name}.csv").write_text(table.getvalue(), encoding="utf-8")
    drawn = drawing.write(charts.drawing(found.panels), folder, name) if found.panels else ()
    return f"{name}.json", f"{name}.csv", *drawn


def heading(column: str) -> str:
    """Return the name of a column as a reader sees it: `entities_named_%` is `entities named, %`."""
    name = column.removesuffix("_%").replace("_", " ")
    return f"{name}, %" if column.endswith("_%") else name


def mean(values: Sequence[float], digits: int = 2) -> float | None:
    """Return a mean as it goes into a table; None of nothing."""
    return round(sum(values) / len(values), digits) if values else None
