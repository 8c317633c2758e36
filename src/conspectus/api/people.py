"""People as judges of a comparison: blinded pairs for them, and how far their ratings agree with the judge's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.errors import UsageError
from conspectus.evaluation.comparing.current_results import judged_in
from conspectus.evaluation.people.agreement import agreements
from conspectus.evaluation.people.pairs import blinded, write_key
from conspectus.evaluation.people.ratings import ratings_in, ratings_now, read_ratings
from conspectus.readers import list_generated
from conspectus.runtime import path_of
from conspectus.storage import locks

if TYPE_CHECKING:
    from conspectus.evaluation.judging.pairing import LeftOut
    from conspectus.evaluation.people.agreement import Agreements


@dataclass(frozen=True)
class Exported:
    """What raters are given, and the key, which they are not."""

    id: str
    pairs: int
    criteria: tuple[str, ...]
    page: Path
    table: Path
    key: Path
    equal: int = 0
    """Pairs of equal answers, which nobody need rate."""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Imported:
    """Ratings that were read, by rater, and what all ratings of the folder amount to."""

    raters: Mapping[str, int]
    empty: int
    """Rows of the tables without a choice."""
    found: Agreements


def export_pairs(
    folder: str | Path,
    out: str | Path,
    *,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    sample: int | None = 10,
    seed: int = 0,
    title: str = "Which answer is better?",
) -> Exported:
    """Write blinded pairs of a comparison's answers, as a page that works offline and as a table, beside each other.

    `out` names both, whatever its suffix; the key that says which condition is which stays in the comparison's folder.
    Criteria are those that were judged by, else the paper's; `sample` draws so many questions, None takes all. Raises
    UsageError where there is nothing to rate.
    """
    from conspectus.evaluation.people.forms import page, table

    made = blinded(path_of(folder), criteria, pairs, sample, seed)
    target = Path(out)
    files = target.with_suffix(".html"), target.with_suffix(".csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    list_generated(target.parent, [files[1].name])  # the page says so itself
    for file, text in zip(files, (page(made, title), table(made)), strict=True):
        file.write_text(text, encoding="utf-8", newline="")
    names = tuple(one.name for one in made.criteria)
    key = write_key(made, path_of(folder))
    return Exported(made.id, len(made.items), names, *files, key, made.equal, made.left_out)


def import_ratings(folder: str | Path, files: Sequence[str | Path], *, rater: str | None = None) -> Imported:
    """Keep the ratings of tables that raters sent back, and say how far they agree; see `rater_agreement`.

    A later rating of the same by the same rater takes the place of the earlier one. Raises DocumentError where a file
    cannot be read, UsageError where it rates what the folder has no key of; then nothing is kept.
    """
    target = path_of(folder)
    read = read_ratings([Path(file) for file in files], target, rater)
    with locks.writing(target, "comparison"):
        ratings_in(target).add_all(read.ratings)
    return Imported(read.raters, read.empty, rater_agreement(target))


def rater_agreement(folder: str | Path, *, judge_model: str | None = None) -> Agreements:
    """Return how far the raters of a comparison agree with its judge and with each other, by criterion.

    Ratings and judgements of answers that have changed since do not count. Raises UsageError where there are no
    ratings.
    """
    target = path_of(folder)
    ratings = ratings_now(target)
    if not ratings:
        raise UsageError(f"there are no ratings of the answers in {target}: conspectus eval people export and import")
    judged = judged_in(target, judge_model)
    return agreements(ratings, judged.sound if judged else (), (judged.judge if judged else "") or "judge")
