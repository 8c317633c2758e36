"""People as judges: blinded pairs of answers, their ratings, and how far these agree with the judge and each other.

Which condition is which is in a key in the folder of the comparison, which no rater gets. Each condition of a pair is
shown first half of the time.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter, ValidationError

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.charts import packed, render
from conspectus.evaluation.comparison import JsonlTable, answers_now, digest_of, read_list, write_text
from conspectus.evaluation.judge import Judged, judged_in, labels
from conspectus.evaluation.pairs import criteria_of, plan
from conspectus.evaluation.statistics import kappa
from conspectus.runtime import path_of
from conspectus.storage import manifests
from conspectus.text.language import language_of

KEYS = "people"
"""The folder of keys, in that of the comparison."""
SAMPLE = 10
"""Questions that are rated by default, drawn by a seed: people tire."""
CHOICES = {"1": 1, "2": 2, "tie": 0, "0": 0, "=": 0, "equal": 0, "none": 0, "neither": 0}
"""What a rater may choose, and which of the answers it prefers."""
COLUMNS = tuple("export item question answer_1 answer_2 criterion description rater choice comment".split())
"""Of the table for raters."""
TIE, ALL_CRITERIA, MAJORITY = "tie", "all criteria", "majority of raters"
RESAMPLES = 1000
"""Resamples of the questions for an interval."""
KAPPA_NOTE = (
    "A tie is a label of its own; without ties are the pairs of which nobody says one. Kappa is 1 where all agree and "
    "0 where as many do as by chance; - where nobody varies. It is Cohen's of two raters and Fleiss' kappa of more. "
    "Intervals are over questions."
)


# Pairs to rate


@dataclass(frozen=True)
class Item:
    """A pair of answers, and what raters do not see: the conditions that they are of."""

    id: str
    question: str
    """The id of the question."""
    first: str
    second: str
    read: str
    """A digest of the question and both answers: a rating does not count once one of them has changed."""


@dataclass(frozen=True)
class Key:
    """The items of one export in the order in which they are rated, and the criteria (name and description)."""

    export: str
    criteria: Mapping[str, str]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Blinded:
    """An export: its key, and the texts (question, answer 1, answer 2) of each item."""

    key: Key
    texts: tuple[tuple[str, str, str], ...]
    equal: int = 0
    """Pairs of equal answers, which nobody need rate."""
    omitted: tuple[str, ...] = ()


def blinded(
    folder: str | Path,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    sample: int | None = SAMPLE,
    seed: int = 0,
) -> Blinded:
    """Return pairs of a folder's answers to rate, by default by the criteria that were judged by.

    `sample` draws so many questions, as judging does. Raises UsageError where there is nothing to rate.
    """
    source = path_of(folder)
    questions = read_list(source)
    judged = None if criteria else judged_in(source)
    chosen = (
        judged.plan.criteria if judged else criteria_of(criteria, language_of(one.text for one in questions))
    )
    planned = plan(source, questions, chosen[:1], pairs, 1, sample)
    to_rate = [one for one in planned.comparisons if not one.equal]
    if not to_rate:
        raise UsageError(f"there is nothing to rate: of all pairs in {source} both answers are the same text")
    to_rate.sort(key=lambda one: digest_of(str(seed), *one.pair, one.question.id))
    texts = tuple((one.question.text, one.first.text, one.second.text) for one in to_rate)
    described = {one.name: one.description for one in chosen}
    export = digest_of(str(seed), *described, *described.values(), *(text for row in texts for text in row))[
        :10
    ]
    ids = (digest_of(export, str(n))[:8] for n in range(len(to_rate)))
    items = tuple(
        Item(id_, one.question.id, one.first.condition, one.second.condition, read(*row))
        for id_, one, row in zip(ids, to_rate, texts, strict=True)
    )
    equal = len(planned.comparisons) - len(to_rate)
    return Blinded(Key(export, described, items), texts, equal, planned.omitted)


def read(question: str, first: str, second: str) -> str:
    """Return a digest of two answers to a question, whichever comes first."""
    return digest_of(question, *sorted((first, second)))


def page(pairs: Blinded, title: str) -> str:
    """Return the page for raters; it saves choices in the browser and gives them back as a table."""
    items = [[item.id, *texts] for item, texts in zip(pairs.key.items, pairs.texts, strict=True)]
    data = {"export": pairs.key.export, "criteria": list(pairs.key.criteria.items()), "items": items}
    language = language_of(question for question, _, _ in pairs.texts)
    return render("rate.html.j2", title=title, data=packed(data), language=language)


def table(pairs: Blinded) -> str:
    """Return a table for raters: a row for each pair and criterion, whose choice and comment are to be filled in.

    A cell that a spreadsheet would take for a formula gets an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item, texts in zip(pairs.key.items, pairs.texts, strict=True):
        for name, description in pairs.key.criteria.items():
            cells = (pairs.key.export, item.id, *texts, name, description, "", "", "")
            writer.writerow(f"'{cell}" if cell.startswith(tuple("=+-@\t\r")) else cell for cell in cells)
    return text.getvalue()


@dataclass(frozen=True)
class Exported:
    """The files that raters are given, and the key, which they are not."""

    page: Path
    table: Path
    key: Path


def export_pairs(
    folder: str | Path,
    out: str | Path,
    pairs: Blinded | None = None,
    *,
    title: str = "Which answer is better?",
) -> Exported:
    """Write blinded pairs (see `blinded`) as a page that works offline and as a table, beside each other.

    `out` names both, whatever its suffix; the key stays in the comparison's folder. Raises UsageError where there is
    nothing to rate.
    """
    pairs = pairs or blinded(folder)
    target = Path(out)
    key = path_of(folder) / KEYS / f"{pairs.key.export}.key.json"
    files = Exported(target.with_suffix(".html"), target.with_suffix(".csv"), key)
    write_text(files.page, page(pairs, title))
    write_text(files.table, table(pairs))
    write_text(files.key, TypeAdapter(Key).dump_json(pairs.key, indent=1).decode() + "\n")
    return files


# Ratings


@dataclass(frozen=True)
class Rating:
    """Which of two conditions' answers to a question a rater preferred by a criterion; `first` was shown first."""

    rater: str
    first: str
    second: str
    criterion: str
    question: str
    winner: int
    """1 or 2 as they were shown, 0 for a tie."""
    comment: str = ""
    read: str = ""
    """See `Item.read`."""


def ratings_in(folder: Path) -> JsonlTable[Rating]:
    """Return the ratings of a comparison, by rater, pair, criterion and question."""
    return JsonlTable(
        folder / "ratings.jsonl",
        Rating,
        lambda row: (row.rater, *sorted((row.first, row.second)), row.criterion, row.question),
    )


def import_ratings(
    folder: str | Path, files: Sequence[str | Path], *, rater: str | None = None
) -> dict[str, int]:
    """Save the ratings of tables that raters sent back, and return their number by rater.

    A later rating of the same by the same rater replaces the earlier one; rows without a choice are left out. `rater`
    is who made all of them; by default each row says so, or the name of its file. Raises DocumentError where a file
    cannot be read, UsageError where it rates what the folder has no key of; then nothing is saved.
    """
    target = path_of(folder)
    paths = sorted((target / KEYS).glob("*.key.json"))
    if not paths:
        raise UsageError(
            f"{target} has no key of blinded pairs: export them with conspectus eval people export"
        )
    try:
        keys = [TypeAdapter(Key).validate_json(path.read_bytes()) for path in paths]
    except ValidationError as error:
        raise UsageError(f"a key in {target / KEYS} cannot be read ({error}); export once more") from None
    items = {item.id: item for key in keys for item in key.items}
    criteria = {name for key in keys for name in key.criteria}
    ratings: list[Rating] = []
    for file in map(Path, files):
        for line, row in _rows(file):
            try:
                ratings.append(_rating(row, items, criteria, rater or row.get("rater") or file.stem))
            except UsageError as error:
                raise UsageError(f"{file}, line {line}: {error}") from None
    with manifests.writing(target, "comparison"):
        ratings_in(target).add(*ratings)
    return dict(Counter(one.rater for one in ratings))


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table that have a choice, and their lines; commas, semicolons or tabs separate its cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the ratings {file} cannot be read as a table in UTF-8: {error}") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    if missing := [name for name in ("item", "criterion", "choice") if name not in (reader.fieldnames or ())]:
        raise UsageError(f"{file} has no column {', '.join(missing)}: it is no table of ratings")
    for row in reader:
        cells = {name: " ".join((row[name] or "").split()) for name in reader.fieldnames or ()}
        if cells["choice"]:
            yield reader.line_num, cells


def _rating(row: Mapping[str, str], items: Mapping[str, Item], criteria: Iterable[str], rater: str) -> Rating:
    item, criterion, choice = items.get(row["item"]), row["criterion"], row["choice"].lower()
    if choice not in CHOICES:
        raise UsageError(f"the choice is {choice!r}, and not 1, 2 or tie")
    if item is None:
        raise UsageError(f"no key knows the pair {row['item']!r}; name the folder that it was made from")
    if criterion not in criteria:
        raise UsageError(f"there is no criterion {criterion!r}; there are {', '.join(sorted(criteria))}")
    comment = row.get("comment", "")
    return Rating(
        rater, item.first, item.second, criterion, item.question, CHOICES[choice], comment, item.read
    )


def ratings_now(folder: Path) -> list[Rating]:
    """Return the ratings of a folder that are of the answers that are in it now."""
    rows = list(ratings_in(folder).rows.values())
    if not rows:
        return []
    answers = {key: answer.text for key, answer in answers_now(folder).items()}
    texts = {question.id: question.text for question in read_list(folder)}

    def digest(row: Rating) -> str:
        first, second = answers.get((row.first, row.question)), answers.get((row.second, row.question))
        return read(texts.get(row.question, ""), first or "", second or "")

    return [row for row in rows if row.read == digest(row)]


# Agreement


Unit = tuple[tuple[str, str], str, str]
"""What is labelled: the pair in alphabetical order, the criterion and the question."""
Labels = Mapping[Unit, str]


class Bounded(NamedTuple):
    """A figure with its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """How far two raters or more, the judge among them, agree by one criterion."""

    raters: tuple[str, ...]
    criterion: str
    pairs: int
    """Pairs of answers that all of them rated."""
    agree: Bounded
    """The share of pairs with the same label, in %."""
    kappa: Bounded
    decided: int
    """Pairs of which nobody says a tie, and the kappa of these."""
    kappa_decided: Bounded


def rater_agreement(folder: str | Path, *, judge_model: str | None = None) -> list[Agreement]:
    """Return how far the raters of a comparison agree with its judge and with each other, by criterion.

    Ratings and judgements of answers that have changed since do not count. Raises UsageError where there are no
    ratings.
    """
    target = path_of(folder)
    ratings = ratings_now(target)
    if not ratings:
        raise UsageError(
            f"there are no ratings of the answers in {target}: conspectus eval people export and import"
        )
    return agreements(ratings, judged_in(target, judge_model))


def agreements(ratings: Iterable[Rating], judged: Judged | None = None) -> list[Agreement]:
    """Compare raters, and their majority, with the majority of a judge's replicates (GraphRAG §4.2), then each two
    raters with each other, then all of them.
    """
    by_rater: defaultdict[str, dict[Unit, str]] = defaultdict(dict)
    votes: defaultdict[Unit, Counter[str]] = defaultdict(Counter)
    for row in ratings:
        low, high = sorted((row.first, row.second))
        unit = ((low, high), row.criterion, row.question)
        label = _label((None, row.first, row.second)[row.winner], unit)
        by_rater[row.rater][unit] = label
    for own in by_rater.values():
        for unit, label in own.items():
            votes[unit][label] += 1
    groups: list[Mapping[str, Labels]] = []
    if judged:
        judge = {unit: _label(winner, unit) for unit, winner in labels(judged.sound).items()}
        compared: dict[str, Labels] = {**by_rater}
        if len(by_rater) > 1:
            compared[MAJORITY] = {
                unit: next((label for label, n in counts.items() if 2 * n > counts.total()), TIE)
                for unit, counts in votes.items()
            }
        groups += [{rater: own, judged.judge or "judge": judge} for rater, own in compared.items()]
    groups += [{one: by_rater[one], other: by_rater[other]} for one, other in combinations(by_rater, 2)]
    groups += [by_rater] if len(by_rater) > 2 else []
    return [row for group in groups for row in _agreement(group)]


def _label(winner: str | None, unit: Unit) -> str:
    """Return the label of a unit: `tie`, or which of its conditions is better.

    Which of them is the first is drawn, so that no label is commoner than another by how pairs are written.
    """
    if winner is None:
        return TIE
    pair, _, question = unit
    turned = int(digest_of(*pair, question)[:2], 16) % 2
    return "first" if winner == pair[turned] else "second"


def _agreement(raters: Mapping[str, Labels]) -> Iterator[Agreement]:
    """Yield the agreement of raters by each criterion, and by all together where there are several."""
    first, *others = raters.values()
    shared = [unit for unit in first if all(unit in other for other in others)]
    criteria = list(dict.fromkeys(criterion for _, criterion, _ in shared))
    for name in [*criteria, *([ALL_CRITERIA] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if name in (ALL_CRITERIA, unit[1])]
        rows = [(unit[2], tuple(own[unit] for own in raters.values())) for unit in units]
        decided = [row for row in rows if TIE not in row[1]]
        figures = (bounded(share, rows), bounded(kappa, rows), len(decided), bounded(kappa, decided))
        yield Agreement(tuple(raters), name, len(rows), *figures)


Rows = Sequence[tuple[str, tuple[str, ...]]]
"""A question, and the labels that raters gave to a pair of answers to it."""


def share(rows: Sequence[Sequence[str]]) -> float | None:
    """Return the share of rows whose labels are all the same, in %; None of none."""
    return 100 * sum(len(set(row)) == 1 for row in rows) / len(rows) if rows else None


def bounded(measure: Callable[[Sequence[tuple[str, ...]]], float | None], rows: Rows) -> Bounded:
    """Return a measure of the labels of rows, and its 95 % interval over resampled questions."""
    value = measure([row for _, row in rows])
    by_question: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for question, row in rows:
        by_question[question].append(row)
    if value is None or len(by_question) < 2:
        return Bounded(value)
    groups = list(by_question.values())
    drawn: list[list[int]] = (
        np.random.default_rng(0).integers(0, len(groups), (RESAMPLES, len(groups))).tolist()
    )
    values = (measure([row for n in numbers for row in groups[n]]) for numbers in drawn)
    low, high = np.percentile([value for value in values if value is not None], (2.5, 97.5))
    return Bounded(value, float(low), float(high))
