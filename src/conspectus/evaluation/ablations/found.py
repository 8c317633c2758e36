"""What every ablation can do, and what it found: a table, charts of it, and the files that hold them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from conspectus.evaluation import charts, drawing
from conspectus.evaluation.charts import Panel
from conspectus.readers import list_generated

if TYPE_CHECKING:
    from conspectus.indexing.estimate import Estimate
    from conspectus.indexing.pipeline import Progress
    from conspectus.models.base import Model
    from conspectus.models.llm.session import Session
    from conspectus.settings import Settings

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


class Experiment(Protocol):
    """An ablation that is laid out; nothing was asked yet."""

    @property
    def settings(self) -> Settings: ...

    @property
    def folder(self) -> Path:
        """Where what is found is kept, with the replies of a model."""
        ...

    @property
    def cells(self) -> int:
        """Pieces of work in all."""
        ...

    @property
    def left(self) -> int:
        """Those that are not kept, failed, or were done with something else."""
        ...

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return what the pieces that are left will ask of a language model, by what is varied."""
        ...

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Do what is left, and keep each piece as soon as it is done.

        A session's model performs, or else the one that is given, or else the extractive one. Raises Unusable where
        nothing more can be asked of the model.
        """
        ...

    def told(self) -> Ablation:
        """Return what all that is kept amounts to."""
        ...


def file_of(what: str) -> str:
    """Return what the files of an ablation are called, without their suffix."""
    return f"ablation_{what}"


def write(found: Ablation, folder: Path) -> tuple[str, ...]:
    """Write an ablation into a folder as JSON, CSV, SVG and, where Pillow is there, PNG; return the names."""
    folder.mkdir(parents=True, exist_ok=True)
    name = file_of(found.what)
    list_generated(folder, [f"{name}.json", f"{name}.csv"])
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


def shown(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the head of a table and its rows, the values of a column with as many decimals as the longest has."""
    columns = list(rows[0])
    digits = {column: max(_decimals(row[column]) for row in rows) for column in columns}
    yield list(map(heading, columns))
    for row in rows:
        yield [_shown(row[column], digits[column]) for column in columns]


def _decimals(value: Cell) -> int:
    return len(str(value).partition(".")[2]) if isinstance(value, float) and value % 1 else 0


def _shown(value: Cell, digits: int) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,.{digits}f}"


def mean(values: Sequence[float], digits: int = 2) -> float | None:
    """Return a mean as it goes into a table; None of nothing."""
    return round(sum(values) / len(values), digits) if values else None
