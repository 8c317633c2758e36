"""Blinded pairs: two answers to one question, without what they are of, in an order that is drawn by a seed.

Which condition is which stands in a key that stays in the folder of the comparison and is handed to nobody who rates.
Each condition of a pair is shown first half of the time, as for a judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from conspectus.errors import UsageError
from conspectus.evaluation.comparing.current_results import judged_in
from conspectus.evaluation.comparing.question_files import read_list
from conspectus.evaluation.judging.criteria import criteria_of
from conspectus.evaluation.judging.pairing import LeftOut, plan
from conspectus.readers import list_generated
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
