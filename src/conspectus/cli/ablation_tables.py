"""What `eval ablate` prints: what it would take, and the table of what it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from conspectus.cli import show
from conspectus.cli.guard import DONE, WITH_FAILURES
from conspectus.evaluation.drawing import can_draw

if TYPE_CHECKING:
    from conspectus.api.ablating import Ablated, AblationPreview
    from conspectus.indexing.estimate import Estimate


def preview(seen: AblationPreview, *, json: bool) -> None:
    """Print what is left of an ablation, and what that would ask."""
    if json:
        show.as_json(asdict(seen))
        return
    show.out(f"{show.counted(seen.cells, 'piece')} of work; {seen.cells - seen.left:,} are done, {seen.left:,} left.")
    if seen.estimates:
        show.table(estimates(seen))


def estimates(seen: AblationPreview) -> Iterator[Sequence[str]]:
    """Yield what each variant asks: calls, tokens asked and written, and money where the price is known."""
    from conspectus.evaluation.comparing.answers_estimate import total

    yield ["", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]
    for name, one in (*seen.estimates.items(), ("All", total(seen.estimates.values()))):
        yield [name, *_figures(one)]


def _figures(estimate: Estimate) -> list[str]:
    cost = show.ranging(estimate.cost, 4) if estimate.cost else "unknown"
    return [*map(show.ranging, (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens)), cost]


def told(done: Ablated, *, json: bool, quiet: bool) -> None:
    """Print what an ablation found, and end with the exit code of that."""
    from conspectus.evaluation.ablations.found import shown

    found = done.found
    if json:
        show.as_json(found.as_json())
    else:
        show.out(f"{show.bold(found.title)}\n")
        if found.rows:
            texts = sum(isinstance(value, str) for value in found.rows[0].values())
            show.table(shown(found.rows), texts=max(1, texts))
    if not quiet:
        show.note("")
        for line in found.notices:
            show.note(line)
        show.note(f"Written to {done.folder}: {', '.join(done.files)}")
        if found.panels and not can_draw():
            show.note("A PNG of the chart needs Pillow: pip install 'conspectus[map]'")
        failed = sum(found.errors.values())
        show.listed(
            f"Failed {failed:,}; the same command tries again:", [f"{n:,} x {e}" for e, n in found.errors.items()]
        )
        show.listed("Of the model's replies:", done.notices)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if found.errors else DONE)
