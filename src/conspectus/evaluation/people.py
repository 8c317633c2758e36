"""People as judges: blinded pairs of answers, their ratings, and how far these agree with the judge and each other.

A rating is a `Judgement` that a person made. Which condition is which is in the key in the folder of the comparison,
which no rater gets. Each condition of a pair is shown first half of the time.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.charts import packed, render
from conspectus.evaluation.comparison import (
    JsonlTable,
    Judgement,
    Study,
    digest_of,
    ratings_in,
    study_in,
    write_text,
)
from conspectus.evaluation.judge import Judged, Unit, judged_in, labels, plan_of
from conspectus.evaluation.pairs import HeadToHead, criteria_of, plan, save_criteria
from conspectus.evaluation.statistics import Figures, kappa
from conspectus.runtime import path_of
from conspectus.storage import manifests
from conspectus.tasks import Criterion

KEY = "pairs.jsonl"
SAMPLE = 10
"""Questions that are rated by default, drawn by a seed: people tire."""
CHOICES = {"1": 1, "2": 2, "tie": 0}
"""What a rater may choose, and which of the answers it prefers."""
ALL_CRITERIA, MAJORITY = "all criteria", "majority of raters"
KAPPA_NOTE = (
    "A tie is a label of its own. Kappa is 1 where all agree and 0 where as many do as by chance; - where nobody "
    "varies. It is Cohen's of two raters and Fleiss' kappa of more."
)


# Pairs to rate


@dataclass(frozen=True)
class Item:
    """A pair of answers to rate by a criterion; raters see the id of the pair, and not its conditions."""

    id: str
    criterion: str
    question: str
    first: str
    second: str
    digest: str
    """Of all that raters are shown: a rating does not count once that has changed."""

    def rated(self, winner: int, comment: str, by: str) -> Judgement:
        """Return a rating of it."""
        made_with = f"{by} {self.digest}"
        return Judgement(self.first, self.second, self.criterion, self.question, 1, winner, comment, made_with)


def key_in(folder: Path) -> JsonlTable[Item]:
    """Return the key of a comparison's blinded pairs, by the id of the pair and the criterion."""
    return JsonlTable(folder / KEY, Item, lambda item: (item.id, item.criterion))


@dataclass(frozen=True)
class Exported(Figures):
    """The files that raters are given, and the key, which they are not."""

    page: Path
    table: Path
    key: Path
    pairs: int
    criteria: tuple[str, ...]
    equal: int = 0
    """Pairs of equal answers, which nobody need rate."""
    omitted: tuple[str, ...] = ()


def export_pairs(
    folder: str | Path,
    out: str | Path,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    sample: int | None = SAMPLE,
    seed: int = 0,
    title: str = "Which answer is better?",
) -> Exported:
    """Write pairs of a folder's answers as a page that works offline and as a table, by default by the criteria that
    were judged by.

    `sample` draws so many questions, as judging does; `seed` draws the order of the pairs. `out` names both files,
    whatever its suffix. Raises UsageError where there is nothing to rate.
    """
    source, target = path_of(folder), Path(out)
    study = study_in(source)
    judged = None if criteria else judged_in(study)
    chosen = judged.plan.criteria if judged else criteria_of(criteria, study.language)
    planned = plan(study, chosen[:1], pairs, 1, sample)
    ids = {_id(one, seed): one for one in planned.comparisons if not one.equal}
    if not ids:
        raise UsageError(f"there is nothing to rate: of all pairs in {source} both answers are the same text")
    to_rate = dict(sorted(ids.items()))
    page, table, key = target.with_suffix(".html"), target.with_suffix(".csv"), key_in(source)
    described = [(criterion.name, criterion.description) for criterion in chosen]
    shown = [(id, one.question.text, one.first.text, one.second.text) for id, one in to_rate.items()]
    data = {"export": digest_of(*to_rate), "criteria": described, "items": shown}
    write_text(page, render("rate.html.j2", title=title, data=packed(data), language=study.language))
    write_text(table, _table([(*row, *criterion) for row in shown for criterion in described]))
    save_criteria(chosen, source)
    items = [_item(id, one, criterion) for id, one in to_rate.items() for criterion in chosen]
    key.add(*(item for item in items if key.get((item.id, item.criterion)) != item))
    equal = len(planned.comparisons) - len(to_rate)
    names = tuple(criterion.name for criterion in chosen)
    return Exported(page, table, source / KEY, len(to_rate), names, equal, planned.omitted)


def _id(one: HeadToHead, seed: int) -> str:
    """Return the id of a pair of answers, which says nothing of it; a seed draws it."""
    return digest_of(str(seed), *one.pair, one.question.id, one.first.text, one.second.text)[:10]


def _item(id: str, one: HeadToHead, criterion: Criterion) -> Item:
    digest = replace(one, criterion=criterion).digest
    return Item(id, criterion.name, one.question.id, one.first.condition, one.second.condition, digest)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table for raters, whose choice and comment are to be filled in.

    A cell that a spreadsheet would take for a formula gets an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow("item question answer_1 answer_2 criterion description rater choice comment".split())
    for row in rows:
        cells = (f"'{cell}" if cell.startswith(tuple("=+-@\t\r")) else cell for cell in row)
        writer.writerow((*cells, "", "", ""))
    return text.getvalue()


# Ratings


def import_ratings(
    folder: str | Path, files: Sequence[str | Path], *, rater: str | None = None
) -> dict[str, int]:
    """Save the ratings of tables that raters sent back, and return their number by rater.

    A later rating of the same by the same rater replaces the earlier one; rows without a choice are left out. `rater`
    is who made all of them; by default each row says so, or the name of its file. Raises DocumentError where a file
    cannot be read, UsageError where it rates what the folder has no key of; then nothing is saved.
    """
    target = path_of(folder)
    key = key_in(target)
    if not key.rows:
        raise UsageError(
            f"{target} has no key of blinded pairs: export them with conspectus eval people export"
        )
    ratings: list[Judgement] = []
    for file in map(Path, files):
        for line, row in _rows(file):
            choice, item = row["choice"].lower(), key.get((row["item"], row["criterion"]))
            if choice not in CHOICES:
                raise UsageError(f"{file}, line {line}: the choice is {choice!r}, and not 1, 2 or tie")
            if item is None:
                raise UsageError(
                    f"{file}, line {line}: no key knows the pair {row['item']!r} with the criterion "
                    f"{row['criterion']!r}; name the folder that it was made from"
                )
            by = rater or row.get("rater") or file.stem
            rating = item.rated(CHOICES[choice], row.get("comment", ""), by)
            ratings.append(rating)
    with manifests.writing(target, "comparison"):
        ratings_in(target).add(*ratings)
    return dict(Counter(rating.by for rating in ratings))


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table that have a choice, and their lines; commas, semicolons or tabs separate its cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the ratings {file} cannot be read as a table in UTF-8: {error}") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = reader.fieldnames or ()
    if missing := [name for name in ("item", "criterion", "choice") if name not in columns]:
        raise UsageError(f"{file} has no column {', '.join(missing)}: it is no table of ratings")
    for row in reader:
        cells = {name: " ".join((row[name] or "").split()) for name in columns}
        if cells["choice"]:
            yield reader.line_num, cells


def ratings_now(study: Study) -> dict[str, list[Judgement]]:
    """Return the ratings of the answers as they are now, by rater."""
    table = ratings_in(study.folder)
    planned = plan_of(study, table)
    raters = dict.fromkeys(row.by for row in table.rows.values())
    ratings = {rater: planned.judgements(table, rater) for rater in raters} if planned else {}
    return {rater: rows for rater, rows in ratings.items() if rows}


# Agreement


@dataclass(frozen=True)
class Agreement:
    """How far two raters or more, the judge among them, agree by one criterion."""

    raters: tuple[str, ...]
    criterion: str
    pairs: int
    """Pairs of answers that all of them rated."""
    agree: float
    """The share of pairs with the same label, in %."""
    kappa: float | None
    """None where all of them always give the same label."""


def rater_agreement(folder: str | Path, *, judge_model: str | None = None) -> list[Agreement]:
    """Return how far the raters of a comparison agree with its judge and with each other, by criterion.

    Ratings and judgements of answers that have changed since do not count. Raises UsageError where there are no
    ratings.
    """
    study = study_in(path_of(folder))
    ratings = ratings_now(study)
    if not ratings:
        raise UsageError(
            f"there are no ratings of the answers in {study.folder}: conspectus eval people export and import"
        )
    return agreements(ratings, judged_in(study, judge_model))


def agreements(ratings: Mapping[str, Sequence[Judgement]], judged: Judged | None = None) -> list[Agreement]:
    """Compare raters, and their majority, with the majority of a judge's replicates (GraphRAG §4.2), then each two
    raters with each other, then all of them.
    """
    raters = {name: labels(rows) for name, rows in ratings.items()}
    groups = [{one: raters[one], other: raters[other]} for one, other in combinations(raters, 2)]
    if len(raters) > 2:
        groups.append(raters)
    if judged:
        compared = dict(raters)
        if len(raters) > 1:
            compared[MAJORITY] = labels(row for rows in ratings.values() for row in rows)
        judge = labels(judged.sound)
        groups = [*({rater: own, judged.judge: judge} for rater, own in compared.items()), *groups]
    return [row for group in groups for row in _agreement(group)]


def _agreement(raters: Mapping[str, Mapping[Unit, str | None]]) -> Iterator[Agreement]:
    """Yield the agreement of raters by each criterion, and by all together where there are several."""
    first, *others = raters.values()
    shared = [unit for unit in first if all(unit in other for other in others)]
    criteria = list(dict.fromkeys(criterion for _, criterion, _ in shared))
    for name in [*criteria, *([ALL_CRITERIA] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if name in (ALL_CRITERIA, unit[1])]
        rows = [[_label(own[unit], unit) for own in raters.values()] for unit in units]
        same = sum(len(set(row)) == 1 for row in rows)
        yield Agreement(tuple(raters), name, len(rows), 100 * same / len(rows), kappa(rows))


def _label(winner: str | None, unit: Unit) -> str:
    """Return the label of a unit: a tie, or which of its conditions is better.

    Which of them is the first is drawn, so that no label is commoner than another by how pairs are written.
    """
    if winner is None:
        return "tie"
    pair, _, question = unit
    turned = int(digest_of(*pair, question)[:2], 16) % 2
    return "first" if winner == pair[turned] else "second"
