"""People as judges: blinded pairs of answers, their ratings, and how far these agree with the judge and each other.

Which condition is which is in a key in the folder of the comparison, which no rater gets. Each condition of a pair is
shown first half of the time. A label is which of two answers is better, or `tie`; which of a pair counts as the first
is drawn for each question, so that no label is commoner than another by how pairs are written. Intervals are
percentiles over resampled questions (Efron, 1979), since what is rated of one question hangs together.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.comparison import answers_now, questions_in
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement
from conspectus.evaluation.judge import LeftOut, criteria_of, judged_in, plan
from conspectus.evaluation.pages import packed, render
from conspectus.evaluation.questions import read_list
from conspectus.evaluation.verdicts import majority
from conspectus.readers import list_generated
from conspectus.runtime import path_of
from conspectus.storage import locks
from conspectus.tasks import Criterion
from conspectus.text.language import language_of

KEYS = "people"
"""The folder of keys, in that of the comparison."""
SAMPLE = 10
"""Questions that are rated where no number is named: people tire."""


@dataclass(frozen=True)
class Item:
    """Two answers as they are shown, and, not shown, which conditions they are of."""

    id: str
    question: str
    """The id of the question."""
    first: str
    second: str
    read: str
    """A digest of the texts of both."""


@dataclass(frozen=True)
class Shown:
    """What of an item is shown."""

    id: str
    question: str
    answer_1: str
    answer_2: str


@dataclass(frozen=True)
class Blinded:
    """Items in the order in which they are rated, and the criteria that each is rated by."""

    id: str
    items: tuple[Item, ...]
    shown: tuple[Shown, ...]
    criteria: tuple[Criterion, ...]
    equal: int = 0
    """Pairs of equal answers, which nobody need rate."""
    left_out: tuple[LeftOut, ...] = ()


def blinded(
    folder: Path,
    criteria: Sequence[str] = (),
    pairs: Sequence[str] = (),
    sample: int | None = SAMPLE,
    seed: int = 0,
) -> Blinded:
    """Return pairs of a folder's answers to rate; criteria are those that were judged by where none is named.

    `sample` draws so many questions, as judging does. Raises UsageError where there is nothing to rate.
    """
    questions = read_list(folder)
    chosen = _criteria(folder, criteria, language_of(one.text for one in questions))
    planned = plan(folder, questions, chosen[:1], pairs, 1, sample)
    rated = [one for one in planned.comparisons if not one.equal]
    if not rated:
        raise UsageError(f"there is nothing to rate: of all pairs in {folder} both answers are the same text")
    rated.sort(key=lambda one: _digest(seed, one.pair, one.question.id))
    about = [[one.name, one.description] for one in chosen]
    texts = [(one.question.text, one.first.text, one.second.text) for one in rated]
    export = _digest(seed, about, texts)[:10]
    items = tuple(
        Item(_digest(export, place)[:8], one.question.id, one.first.condition, one.second.condition, read(*text))
        for place, (one, text) in enumerate(zip(rated, texts, strict=True))
    )
    shown = tuple(Shown(item.id, *text) for item, text in zip(items, texts, strict=True))
    equal = len(planned.comparisons) - len(rated)
    return Blinded(export, items, shown, tuple(chosen), equal, planned.left_out)


def _criteria(folder: Path, said: Sequence[str], language: str) -> list[Criterion]:
    if said:
        return list(criteria_of(said, language))
    judged = judged_in(folder)
    return list(judged.plan.criteria if judged else criteria_of((), language))


def read(question: str, first: str, second: str) -> str:
    """Return a digest of two answers to a question, whichever comes first."""
    return _digest(question, sorted((first, second)))[:16]


def _digest(*parts: Any) -> str:
    return sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def write_key(made: Blinded, folder: Path) -> Path:
    """Write which condition is which into the folder of the comparison, and return the file."""
    path = folder / KEYS / f"{made.id}.key.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    list_generated(path.parent, [path.name])
    told = {
        "export": made.id,
        "criteria": {one.name: one.description for one in made.criteria},
        "items": [asdict(item) for item in made.items],
    }
    path.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Keys:
    """What the keys of a folder say: items by id, and the names of the criteria."""

    items: Mapping[str, Item]
    criteria: frozenset[str]


def keys_in(folder: Path) -> Keys:
    """Return what the keys of a folder say; UsageError where one cannot be read."""
    items: dict[str, Item] = {}
    criteria: set[str] = set()
    for path in sorted((folder / KEYS).glob("*.key.json")):
        try:
            told = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
            items |= {one["id"]: Item(**one) for one in told["items"]}
            criteria |= set(told["criteria"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"the key {path} cannot be read ({error}); export once more") from None
    return Keys(items, frozenset(criteria))


# What raters are given


COLUMNS = ("export", "item", "criterion", "rater", "choice", "comment")
"""What is read of a table of ratings; `choice` is 1, 2 or tie."""
TABLE: tuple[str, ...] = (
    "export",
    "item",
    "question",
    "answer_1",
    "answer_2",
    "criterion",
    "description",
    *COLUMNS[3:],
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for a formula."""


def page(made: Blinded, title: str) -> str:
    """Return the page; it keeps choices in the browser and gives them back as a table."""
    data = {
        "export": made.id,
        "criteria": [[one.name, one.description] for one in made.criteria],
        "items": [[one.id, one.question, one.answer_1, one.answer_2] for one in made.shown],
    }
    language = language_of(one.question for one in made.shown)
    return render("rate.html.j2", title=title, data=packed(data), language=language)


def table(made: Blinded) -> str:
    """Return a row for each pair and criterion, whose `choice` and `comment` are to be filled in."""
    told = io.StringIO()
    writer = csv.DictWriter(told, TABLE, lineterminator="\n", restval="")
    writer.writeheader()
    for one in made.shown:
        for criterion in made.criteria:
            cells = {"question": one.question, "answer_1": one.answer_1, "answer_2": one.answer_2}
            about = {"criterion": criterion.name, "description": criterion.description}
            row = {"export": made.id, "item": one.id, **cells, **about}
            writer.writerow({name: _harmless(value) for name, value in row.items()})
    return told.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


# Ratings


CHOICES = {"1": 1, "2": 2, "tie": 0, "0": 0, "=": 0, "equal": 0, "none": 0, "neither": 0}
"""What a rater may say, and which of the answers it prefers."""


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
    """A digest of the texts of both."""


def ratings_in(folder: Path) -> JsonlTable[Rating]:
    """Return the ratings of a comparison, by rater, pair, criterion and question."""
    return JsonlTable(
        folder / "ratings.jsonl",
        Rating,
        lambda row: (row.rater, *sorted((row.first, row.second)), row.criterion, row.question),
    )


@dataclass(frozen=True)
class Imported:
    """Ratings of one or more tables, by rater, and the cells of them that were left empty."""

    ratings: tuple[Rating, ...]
    raters: Mapping[str, int]
    empty: int


def read_ratings(files: Sequence[Path], folder: Path, rater: str | None = None) -> Imported:
    """Read tables of ratings of a folder's pairs; `rater` is whose they all are, else each says that itself.

    A table that does not say whose it is has the name of its file. Raises DocumentError where a file cannot be read,
    UsageError where it is no such table, or rates what the keys of the folder do not know.
    """
    keys = keys_in(folder)
    if not keys.items:
        raise UsageError(f"{folder} has no key of blinded pairs: export them with conspectus eval people export")
    found: list[Rating] = []
    empty = 0
    for file in files:
        for line, row in _rows(file):
            if not row["choice"].strip():
                empty += 1
                continue
            try:
                found.append(_rating(row, keys, rater or row.get("rater", "").strip() or file.stem))
            except UsageError as error:
                raise UsageError(f"{file}, line {line}: {error}") from None
    counts = {name: sum(one.rater == name for one in found) for name in dict.fromkeys(one.rater for one in found)}
    return Imported(tuple(found), counts, empty)


def _rating(row: Mapping[str, str], keys: Keys, rater: str) -> Rating:
    choice, criterion = row["choice"].strip().lower(), row["criterion"].strip()
    item = keys.items.get(row["item"].strip())
    if choice not in CHOICES:
        raise UsageError(f"the choice is {choice!r}, and not 1, 2 or tie")
    if item is None:
        raise UsageError(f"no key knows the pair {row['item']!r}; name the folder that it was made from")
    if criterion not in keys.criteria:
        raise UsageError(f"there is no criterion {criterion!r}; there are {', '.join(sorted(keys.criteria))}")
    comment = " ".join(row.get("comment", "").split())
    return Rating(rater, item.first, item.second, criterion, item.question, CHOICES[choice], comment, item.read)


def ratings_now(folder: Path) -> list[Rating]:
    """Return the ratings of a folder that are of the answers that are in it now."""
    answers, questions = answers_now(folder), questions_in(folder)
    found: list[Rating] = []
    for row in ratings_in(folder).rows.values():
        one, other = (answers.get((name, row.question)) for name in (row.first, row.second))
        asked = questions.get(row.question)
        if one and other and asked and row.read == read(asked.text, one.text, other.text):
            found.append(row)
    return found


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table with the lines that they end on; commas, semicolons or tabs stand between its cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DocumentError(f"the ratings {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"the ratings {file} are not UTF-8 (byte {error.start}); save them as CSV UTF-8") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    needed = ("item", "criterion", "choice")
    if missing := [name for name in needed if name not in (reader.fieldnames or ())]:
        raise UsageError(f"{file} has no column {', '.join(missing)}; ratings have {', '.join(COLUMNS)}")
    for row in reader:
        yield reader.line_num, {name: value or "" for name, value in row.items() if isinstance(name, str)}


# Agreement


TIE, FIRST, SECOND = "tie", "first", "second"
ALL = "all criteria"
JUDGE, MAJORITY = "judge", "majority of raters"
SAMPLES = 1000
"""Resamples of the questions for an interval."""
KAPPA_NOTE = (
    "A tie is a label of its own; without ties are the pairs of which neither says one. Kappa is 1 where all agree "
    "and 0 where as many do as by chance; - where nobody varies. Intervals are over questions."
)

Unit = tuple[str, str, str, str]
"""What is labelled: the pair in alphabetical order, the criterion and the question."""
Labels = Mapping[Unit, str]


@dataclass(frozen=True)
class Bounded:
    """A figure with its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """Two who labelled the same units by one criterion: with a tie as a label of its own, and without all ties."""

    one: str
    other: str
    criterion: str
    units: int
    agree: Bounded
    """The share of units with the same label, in %."""
    kappa: Bounded
    """Cohen's (1960), of the three labels."""
    ties_of_one: int
    ties_of_other: int
    decided: int
    """Units of which neither says a tie."""
    agree_decided: Bounded
    kappa_decided: Bounded


@dataclass(frozen=True)
class Fleiss:
    """More than two raters together: Fleiss' kappa (1971) over what all of them labelled."""

    raters: tuple[str, ...]
    criterion: str
    units: int
    kappa: Bounded


@dataclass(frozen=True)
class Agreements:
    """All of it for one folder."""

    raters: Mapping[str, int]
    """Ratings of each."""
    judge: str
    """Empty where there are no judgements."""
    with_judge: tuple[Agreement, ...]
    between: tuple[Agreement, ...]
    together: tuple[Fleiss, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what goes into JSON; figures have four places."""
        return _rounded(asdict(self))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return round(value, 4) if isinstance(value, float) else value


def agreements(ratings: Iterable[Rating], judgements: Sequence[Judgement], judge: str = JUDGE) -> Agreements:
    """Compare what raters say with each other, and with the majority of a judge's replicates (GraphRAG §4.2)."""
    by_rater: defaultdict[str, dict[Unit, str]] = defaultdict(dict)
    for one in ratings:
        unit = _unit(one.first, one.second, one.criterion, one.question)
        by_rater[one.rater][unit] = _label((None, one.first, one.second)[one.winner], unit)
    judged = _judged(judgements)
    with_judge = [row for rater, labels in by_rater.items() for row in _compared(rater, labels, judge, judged)]
    if len(by_rater) > 1:
        with_judge += _compared(MAJORITY, _majority(by_rater.values()), judge, judged)
    pairs = combinations(by_rater, 2)
    between = [row for one, other in pairs for row in _compared(one, by_rater[one], other, by_rater[other])]
    together = _together(by_rater) if len(by_rater) > 2 else []
    counts = {rater: len(labels) for rater, labels in by_rater.items()}
    return Agreements(counts, judge if judged else "", tuple(with_judge), tuple(between), tuple(together))


def _unit(first: str, second: str, criterion: str, question: str) -> Unit:
    low, high = sorted((first, second))
    return low, high, criterion, question


def _label(winner: str | None, unit: Unit) -> str:
    """Return the label of a unit; which condition is its first is drawn from its pair and question."""
    if winner is None:
        return TIE
    turned = sha256("\x00".join((unit[0], unit[1], unit[3])).encode("utf-8", "surrogatepass")).digest()[0] % 2
    return FIRST if winner == unit[turned] else SECOND


def _judged(judgements: Sequence[Judgement]) -> dict[Unit, str]:
    groups: defaultdict[Unit, list[Judgement]] = defaultdict(list)
    for one in judgements:
        if not one.error:
            groups[_unit(one.first, one.second, one.criterion, one.question)].append(one)
    return {unit: _label(majority(group), unit) for unit, group in groups.items()}


def _majority(raters: Iterable[Labels]) -> dict[Unit, str]:
    """Return what more than half of those say who labelled a unit, else a tie."""
    votes: defaultdict[Unit, Counter[str]] = defaultdict(Counter)
    for labels in raters:
        for unit, label in labels.items():
            votes[unit][label] += 1
    return {
        unit: next((label for label, n in counts.items() if 2 * n > counts.total()), TIE)
        for unit, counts in votes.items()
    }


def _compared(one: str, labels: Labels, other: str, others: Labels) -> list[Agreement]:
    """Return the agreement of two by each criterion, and by all together where there are several."""
    shared = [unit for unit in labels if unit in others]
    criteria = list(dict.fromkeys(unit[2] for unit in shared))
    found: list[Agreement] = []
    for criterion in [*criteria, *([ALL] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if criterion in (ALL, unit[2])]
        pairs = [(labels[unit], others[unit]) for unit in units]
        places = [place for place, pair in enumerate(pairs) if TIE not in pair]
        questions = [unit[3] for unit in units]
        decided, asked = [pairs[p] for p in places], [questions[p] for p in places]
        found.append(
            Agreement(
                one,
                other,
                criterion,
                len(units),
                bounded(share, pairs, questions),
                bounded(cohens_kappa, pairs, questions),
                sum(a == TIE for a, _ in pairs),
                sum(b == TIE for _, b in pairs),
                len(decided),
                bounded(share, decided, asked),
                bounded(cohens_kappa, decided, asked),
            )
        )
    return found


def _together(by_rater: Mapping[str, Labels]) -> list[Fleiss]:
    shared = [u for u in next(iter(by_rater.values())) if all(u in labels for labels in by_rater.values())]
    criteria = list(dict.fromkeys(unit[2] for unit in shared))
    found: list[Fleiss] = []
    for criterion in [*criteria, *([ALL] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if criterion in (ALL, unit[2])]
        rows = [tuple(labels[unit] for labels in by_rater.values()) for unit in units]
        kappa = bounded(fleiss_kappa, rows, [unit[3] for unit in units])
        found.append(Fleiss(tuple(by_rater), criterion, len(units), kappa))
    return found


# The measures


Row = tuple[str, ...]


def share(rows: Sequence[Row]) -> float | None:
    """Return the share of rows whose labels are all the same, in %; None of none."""
    return 100 * sum(len(set(row)) == 1 for row in rows) / len(rows) if rows else None


def cohens_kappa(rows: Sequence[Row]) -> float | None:
    """Return Cohen's kappa (1960) of pairs of labels: 1 where all agree, 0 where as many do as by chance.

    None where there is nothing to tell from chance: no rows, or both always say the same one label.
    """
    if not rows:
        return None
    one, other = Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    observed = sum(row[0] == row[1] for row in rows) / len(rows)
    expected = sum(one[label] * other[label] for label in one) / len(rows) ** 2
    return (observed - expected) / (1 - expected) if expected < 1 else None


def fleiss_kappa(rows: Sequence[Row]) -> float | None:
    """Return Fleiss' kappa (1971) of rows of as many labels each; None as for `cohens_kappa`."""
    if not rows:
        return None
    size = len(rows[0])
    counts = [Counter(row) for row in rows]
    observed = sum((sum(n * n for n in c.values()) - size) / (size * (size - 1)) for c in counts) / len(rows)
    every = Counter(label for row in rows for label in row)
    expected = sum((n / every.total()) ** 2 for n in every.values())
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else None


def bounded(measure: Callable[[Sequence[Row]], float | None], rows: Sequence[Row], groups: Sequence[str]) -> Bounded:
    """Return a measure of rows, and its 95 % interval over resampled groups of them."""
    value = measure(rows)
    by_group: defaultdict[str, list[Row]] = defaultdict(list)
    for row, group in zip(rows, groups, strict=True):
        by_group[group].append(row)
    if value is None or len(by_group) < 2:
        return Bounded(value)
    listed = list(by_group.values())
    drawn: list[list[int]] = np.random.default_rng(0).integers(0, len(listed), (SAMPLES, len(listed))).tolist()
    found = (measure([row for place in places for row in listed[place]]) for places in drawn)
    known = [one for one in found if one is not None]
    low, high = np.percentile(known, (2.5, 97.5))
    return Bounded(value, float(low), float(high))


# The API


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


def export_pairs(
    folder: str | Path, out: str | Path, pairs: Blinded | None = None, *, title: str = "Which answer is better?"
) -> Exported:
    """Write blinded pairs (see `blinded`) as a page that works offline and as a table, beside each other.

    `out` names both, whatever its suffix; the key that says which condition is which stays in the comparison's folder.
    Raises UsageError where there is nothing to rate.
    """
    made = pairs or blinded(path_of(folder))
    target = Path(out)
    files = target.with_suffix(".html"), target.with_suffix(".csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    list_generated(target.parent, [files[1].name])  # the page says so itself
    for file, text in zip(files, (page(made, title), table(made)), strict=True):
        file.write_text(text, encoding="utf-8", newline="")
    names = tuple(one.name for one in made.criteria)
    return Exported(
        made.id, len(made.items), names, *files, write_key(made, path_of(folder)), made.equal, made.left_out
    )


def import_ratings(folder: str | Path, files: Sequence[str | Path], *, rater: str | None = None) -> Imported:
    """Save the ratings of tables that raters sent back.

    A later rating of the same by the same rater replaces the earlier one. Raises DocumentError where a file cannot be
    read, UsageError where it rates what the folder has no key of; then nothing is saved.
    """
    target = path_of(folder)
    imported = read_ratings([Path(file) for file in files], target, rater)
    with locks.writing(target, "comparison"):
        ratings_in(target).add_all(imported.ratings)
    return imported


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
