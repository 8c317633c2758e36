"""The report on a comparison: one self-contained page and a Markdown file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conspectus.evaluation.report import beside, checked, judged, setting
from conspectus.evaluation.report.comparison import held
from conspectus.evaluation.report.data import data_of
from conspectus.evaluation.report.parts import Missing
from conspectus.index_status import spending
from conspectus.runtime import Given, path_of, resolved

FILE = "report"


@dataclass(frozen=True)
class Reported:
    """The files of a report, and the parts of a comparison that are not there to report on."""

    page: Path
    markdown: Path
    missing: tuple[str, ...]


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    title: str = "",
    judge_model: str | None = None,
    settings: Given = None,
) -> Reported:
    """Write what a comparison's folder holds as a page (`report.html`) and as Markdown, and ask nothing.

    `out` names both files, whatever its suffix; they stand in the folder where none is named. Of several judges it is
    the one named, or who judged most. Money is told where the settings know prices. Raises UsageError where the folder
    has no answers.
    """
    from conspectus.evaluation.report.page import page
    from conspectus.evaluation.report.plain import markdown

    source = path_of(folder)
    found = held(source, judge_model)
    sections = [
        setting.set_up(found),
        setting.answers(found, spending(source, resolved(settings))),
        setting.table2(found),
        judged.win_rates(found),
        judged.statistics(found),
        checked.claims(found),
        checked.ground(found),
        checked.loss(found),
        *filter(None, (beside.people(found), beside.ablations(found))),
    ]
    name = title or f"{', '.join(found.conditions)} on {len(found.questions):,} questions"
    target = Path(out) if out is not None else source / FILE
    files = target.with_suffix(".html"), target.with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    files[0].write_text(page(name, sections, data_of(found), found.questions), encoding="utf-8")
    files[1].write_text(markdown(name, sections, found.questions), encoding="utf-8")
    lacks = (block.what for section in sections for block in section.blocks if isinstance(block, Missing))
    return Reported(*files, tuple(dict.fromkeys(lacks)))
