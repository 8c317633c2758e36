"""The sections of a report on what stands beside a comparison: ratings by people, and ablations."""

from __future__ import annotations

from typing import Any

from conspectus.evaluation.ablations.found import shown
from conspectus.evaluation.people.agreement import Agreement, Bounded, agreements
from conspectus.evaluation.report.comparison import Held
from conspectus.evaluation.report.parts import Block, Heading, Picture, Row, Section, Table
from conspectus.evaluation.shown import figure


def people(held: Held) -> Section | None:
    """Show how far raters agree with the judge and each other; None where nobody rated, which is no lack."""
    if not held.ratings:
        return None
    judged = held.judged
    found = agreements(held.ratings, judged.sound if judged else (), (judged.judge if judged else "") or "judge")
    blocks: list[Block] = ["; ".join(f"{n:,} ratings by {name}" for name, n in found.raters.items()) + "."]
    if found.with_judge:
        blocks += [Heading("With the judge"), Table(AGREE, [_agreed(one, False) for one in found.with_judge], 2)]
    if found.between:
        blocks += [Heading("Between raters"), Table(AGREE, [_agreed(one, True) for one in found.between], 2)]
    if found.together:
        rows = [[one.criterion, f"{one.units:,}", *_bounded(one.kappa, 2)] for one in found.together]
        blocks += [Heading("All raters"), Table(("Criterion", "Pairs", "Fleiss' kappa", "95 %"), rows)]
    blocks.append(
        "A tie is a label of its own; without ties are the pairs of which neither says one. Kappa is 1 where all agree "
        "and 0 where as many do as by chance. Intervals are over questions."
    )
    return Section("people", "People", tuple(blocks))


AGREE = ("Who", "Criterion", "Pairs", "Agree, %", "95 %", "Kappa", "95 %", "Without ties", "Agree, %", "Kappa", "95 %")


def _agreed(one: Agreement, raters: bool) -> Row:
    who = f"{one.one}, {one.other}" if raters else one.one
    decided = (f"{one.decided:,}", _bounded(one.agree_decided, 0)[0], *_bounded(one.kappa_decided, 2))
    return [who, one.criterion, f"{one.units:,}", *_bounded(one.agree, 0), *_bounded(one.kappa, 2), *decided]


def _bounded(value: Bounded, digits: int) -> tuple[str, str]:
    if value.value is None:
        return "-", ""
    return figure(
        value.value, digits
    ), "" if value.low is None else f"{value.low:.{digits}f} to {value.high:.{digits}f}"


def ablations(held: Held) -> Section | None:
    """Show the ablations that the folder has; None where there are none, which is no lack."""
    blocks: list[Block] = []
    for told in held.ablations:
        rows: list[dict[str, Any]] = told["rows"]
        if not rows:
            continue
        texts = max(1, sum(isinstance(value, str) for value in rows[0].values()))
        head, *cells = shown(rows)
        blocks += [Heading(told["title"]), Table(head, cells, texts)]
        name = f"ablation_{told['ablation']}.svg"
        if (held.folder / name).exists():
            blocks.append(Picture((held.folder / name).read_text(encoding="utf-8"), name, told["title"]))
        blocks += told["notices"]
    return Section("ablations", "Ablations", tuple(blocks)) if blocks else None
