"""What answers are compared by: the paper's four criteria (GraphRAG appendix F.2), and those that a file defines."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conspectus.errors import UsageError
from conspectus.readers import list_generated
from conspectus.tasks import Criterion

FILE = "criteria.json"
"""In a comparison's folder: the description of each criterion that was judged by, the last of each name."""
PAPER: Mapping[str, Mapping[str, str]] = {
    "comprehensiveness": {
        "en": "How much detail does the answer give on all sides of the question? It should leave out nothing that "
        "matters, and neither repeat itself nor pad.",
        "zh": "回答在多大程度上详细涵盖了问题的各个方面？不应遗漏重要内容，也不应重复或凑字数。",
    },
    "diversity": {
        "en": "How varied and rich is the answer in perspectives on the question, and in the sources and the evidence "
        "that it brings?",
        "zh": "回答对问题给出的视角是否多样而丰富，所引来源和证据是否多样？",
    },
    "empowerment": {
        "en": "How well does the answer help its reader to understand the subject and to come to a judgement of their "
        "own? It should give its reasons and its sources, and not mislead.",
        "zh": "回答在多大程度上帮助读者理解主题并作出自己的判断？应说明理由和来源，且不误导读者。",
    },
    "directness": {
        "en": "How specifically and clearly does the answer say what was asked for, without anything that is not "
        "needed for it?",
        "zh": "回答是否具体、清楚地回答了所问，而没有多余的内容？",
    },
}
"""The description of each criterion by language. Directness is the control: it goes against the first two."""


def criteria_of(said: Sequence[str] = (), language: str = "en") -> tuple[Criterion, ...]:
    """Return criteria by name and from files, in the order said; all of the paper's where nothing is said.

    A file is TOML or JSON that maps names to descriptions. Raises UsageError where one cannot be read, or a name is
    neither the paper's nor a file.
    """
    papers = _papers(language)
    found: dict[str, str] = {}
    for one in said or PAPER:
        if one in PAPER:
            found[one] = papers[one]
        elif Path(one).suffix or Path(one).exists():
            found |= _in_file(Path(one))
        else:
            raise UsageError(
                f"there is no criterion {one!r}; there are {', '.join(PAPER)}, or name a file .toml or .json of more"
            )
    return tuple(Criterion(name, description) for name, description in found.items())


def keep_criteria(criteria: Iterable[Criterion], folder: Path) -> None:
    """Write criteria into a comparison's folder, beside those that are there."""
    told = _kept(folder) | {one.name: one.description for one in criteria}
    list_generated(folder, [FILE])
    (folder / FILE).write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def criteria_in(folder: Path, names: Iterable[str], language: str) -> list[Criterion]:
    """Return criteria, the paper's first, as they were described when they were judged by.

    One that only people judged by is described as in the paper, or not at all. Raises UsageError where the folder's
    file of them cannot be read.
    """
    told, named = _papers(language) | _kept(folder), dict.fromkeys(names)
    ordered = [*(name for name in PAPER if name in named), *(name for name in named if name not in PAPER)]
    return [Criterion(name, told.get(name, "")) for name in ordered]


def _papers(language: str) -> dict[str, str]:
    own = "zh" if language.startswith("zh") else "en"
    return {name: texts[own] for name, texts in PAPER.items()}


def _kept(folder: Path) -> dict[str, str]:
    return _in_file(folder / FILE) if (folder / FILE).exists() else {}


def _in_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        values: Any = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"the criteria {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise UsageError(f"the criteria {path} are not {kind}: {error}") from None
    wrong = f'the criteria {path} are not names with descriptions, as candour = "Does the answer say what it …?"'
    if not isinstance(values, dict) or not values:
        raise UsageError(wrong)
    found: dict[str, str] = {}
    for name, description in values.items():  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(name, str) or not isinstance(description, str) or not (name.strip() and description.strip()):
            raise UsageError(wrong)
        found[" ".join(name.split())] = description.strip()
    return found
