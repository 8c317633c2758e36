"""People as judges: blinded pairs of answers, their ratings, and the agreement of raters with the judge and each other.

A rating is a `Judgement` made by a person. Nothing that raters receive reveals which condition is which; each
condition of a pair is shown first half of the time.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.charts import packed, render
from conspectus.evaluation.comparison import (
    ConditionAnswer,
    Judgement,
    Study,
    digest_of,
    ratings_in,
    study_in,
    write_text,
)
from conspectus.evaluation.judge import Judged, Unit, judged_in, labels, plan_of
from conspectus.evaluation.pairs import HeadToHead, criteria_in, criteria_of, plan, save_criteria
from conspectus.evaluation.statistics import Figures, kappa
from conspectus.runtime import path_of
from conspectus.storage import manifests

SAMPLE = 10
"""Number of questions that are rated by default, drawn at random with a fixed seed; few, because people tire."""
CHOICES = {"1": 1, "2": 2, "tie": 0}
"""The choices of a rater, and the answer that each prefers (0 for a tie)."""
ALL_CRITERIA, MAJORITY = "all criteria", "majority of raters"
KAPPA_NOTE = (
    "A tie is a label of its own. Kappa is 1 where all agree, 0 where as many do as by chance, - where nobody varies; "
    "Cohen's for two raters, Fleiss' for more."
)


# Pairs to rate


@dataclass(frozen=True)
class Exported(Figures):
    """The files for raters, and what they contain."""

    page: Path
    table: Path
    pairs: int
    criteria: tuple[str, ...]
    equal: int = 0
    """Number of pairs of equal answers, which need no rating."""
    omitted: tuple[str, ...] = ()


def export_pairs(
    folder: str | Path,
    out: str | Path,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    sample: int | None = SAMPLE,
    title: str = "Which answer is better?",
) -> Exported:
    """Write pairs of a folder's answers as a page that works offline and as a table.

    By default the criteria are those that were judged by. `sample` is a number of questions, drawn as in judging. `out`
    names both files, whatever its suffix. Raises UsageError if there is nothing to rate.
    """
    study, target = study_in(path_of(folder)), Path(out)
    judged = None if criteria else judged_in(study)
    chosen = judged.plan.criteria if judged else criteria_of(criteria, study.language)
    planned = plan(study, chosen[:1], pairs, 1, sample)
    to_rate = [one for one in planned.comparisons if not one.equal]
    if not to_rate:
        raise UsageError(f"there is nothing to rate: in {study.folder} both answers of all pairs are equal")
    rows = [
        (_id(one.first, one.second), one.question.text, one.first.text, one.second.text) for one in to_rate
    ]
    rows.sort()  # by ids, which are in effect random
    described = [(criterion.name, criterion.description) for criterion in chosen]
    data = packed({"export": digest_of(*(row[0] for row in rows)), "criteria": described, "items": rows})
    page, table = target.with_suffix(".html"), target.with_suffix(".csv")
    write_text(page, render("rate.html.j2", title=title, data=data, language=study.language))
    write_text(table, _table([(*row, *criterion) for row in rows for criterion in described]))
    save_criteria(chosen, study.folder)
    names, equal = tuple(name for name, _ in described), len(planned.comparisons) - len(rows)
    return Exported(page, table, len(rows), names, equal, planned.omitted)


def pairs_by_id(study: Study) -> dict[str, tuple[ConditionAnswer, ConditionAnswer]]:
    """Return all pairs of answers to the same question, in both orders, by the id that raters see."""
    by_question: defaultdict[str, list[ConditionAnswer]] = defaultdict(list)
    for answer in study.answers.values():
        by_question[answer.question].append(answer)
    return {_id(*pair): pair for answers in by_question.values() for pair in permutations(answers, 2)}


def _id(first: ConditionAnswer, second: ConditionAnswer) -> str:
    """Return the id of a pair of answers in the order shown; it reveals no condition to raters."""
    conditions = first.condition, second.condition
    return digest_of(first.question, *conditions, first.text, second.text)[:10]


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in CSV for raters, with empty columns for their name, choice and comment.

    A cell that a spreadsheet would interpret as a formula gets an apostrophe.
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

    A later rating of the same pair by the same rater replaces the earlier one; rows without a choice are left out.
    `rater` is who made all ratings; by default each row, or else the name of its file, says so. Raises DocumentError
    if a file cannot be read, UsageError if it rates other answers than those in the folder; then nothing is saved.
    """
    study = study_in(path_of(folder))
    criteria = {criterion.name: criterion for criterion in criteria_in(study)}
    questions = {question.id: question for question in study.questions}
    pairs = pairs_by_id(study)
    ratings: list[Judgement] = []
    for file in map(Path, files):
        for line, row in _rows(file):
            pair, criterion, choice = row["item"], row["criterion"], row["choice"].lower()
            if choice not in CHOICES:
                raise UsageError(f"{file}, line {line}: the choice is {choice!r}, and not 1, 2 or tie")
            if pair not in pairs or criterion not in criteria:
                raise UsageError(
                    f"{file}, line {line}: {study.folder} has no pair {pair!r} by the criterion {criterion!r}; where "
                    "its answers have changed, export them again"
                )
            first, second = pairs[pair]
            rated = HeadToHead(first, second, criteria[criterion], questions[first.question], 1)
            by = rater or row.get("rater") or file.stem
            ratings.append(rated.judged(CHOICES[choice], row.get("comment", ""), by=by))
    with manifests.writing(study.folder, "comparison"):
        ratings_in(study.folder).add(*ratings)
    return dict(Counter(rating.by for rating in ratings))


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table that have a choice, with line numbers; commas, semicolons or tabs separate cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the ratings {file} cannot be read as a table in UTF-8: {error}") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = reader.fieldnames or ()
    if missing := [name for name in ("item", "criterion", "choice") if name not in columns]:
        raise UsageError(f"{file} has no column {', '.join(missing)}: it is not a table of ratings")
    for row in reader:
        cells = {name: " ".join((row[name] or "").split()) for name in columns}
        if cells["choice"]:
            yield reader.line_num, cells


def ratings_now(study: Study) -> dict[str, list[Judgement]]:
    """Return the ratings of the current answers, by rater."""
    table = ratings_in(study.folder)
    planned = plan_of(study, table)
    raters = dict.fromkeys(row.by for row in table.rows.values())
    ratings = {rater: planned.judgements(table, rater) for rater in raters} if planned else {}
    return {rater: rows for rater, rows in ratings.items() if rows}


# Agreement


@dataclass(frozen=True)
class Agreement:
    """The agreement of two or more raters, one of whom may be the judge, by one criterion."""

    raters: tuple[str, ...]
    criterion: str
    pairs: int
    """Number of pairs of answers that all of them rated."""
    agree: float
    """The percentage of pairs to which all of them gave the same label."""
    kappa: float | None
    """Kappa, see `statistics.kappa`; None if all of them always give the same label."""


def rater_agreement(folder: str | Path, *, judge_model: str | None = None) -> list[Agreement]:
    """Return the agreement of the raters of a comparison with its judge and with each other, by criterion.

    Ratings and judgements of answers that have changed since do not count. Raises UsageError if there are no ratings.
    """
    study = study_in(path_of(folder))
    ratings = ratings_now(study)
    if not ratings:
        raise UsageError(f"there are no ratings in {study.folder}: conspectus eval people import")
    return agreements(ratings, judged_in(study, judge_model))


def agreements(ratings: Mapping[str, Sequence[Judgement]], judged: Judged | None = None) -> list[Agreement]:
    """Return the agreement of each rater, and of their majority, with the majority of a judge's replicates (GraphRAG
    §4.2), then of each two raters, then of all raters together, each by criterion.
    """
    raters = {name: labels(rows) for name, rows in ratings.items()}
    groups = [{one: raters[one], other: raters[other]} for one, other in combinations(raters, 2)]
    if len(raters) > 2:
        groups.append(raters)
    if judged:
        compared = dict(raters)
        if len(raters) > 1:
            compared[MAJORITY] = labels(row for rows in ratings.values() for row in rows)
        judge = labels(judged.successful)
        groups = [*({rater: own, judged.judge: judge} for rater, own in compared.items()), *groups]
    return [row for group in groups for row in _agreement(group)]


def _agreement(raters: Mapping[str, Mapping[Unit, str | None]]) -> Iterator[Agreement]:
    """Yield the agreement of raters by each criterion, and, if there are several, by all criteria together."""
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

    Which condition is called the first is random, so that the order in which pairs are written favours no label.
    """
    if winner is None:
        return "tie"
    pair, _, question = unit
    turned = int(digest_of(*pair, question)[:2], 16) % 2
    return "first" if winner == pair[turned] else "second"
