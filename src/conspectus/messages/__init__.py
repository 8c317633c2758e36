"""Fixed texts in answers and reports, such as headings, links and notices, with one file for each language.

The keys are explained in `en.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
SIGNS = {"quote": '{}: "{}"', "label": "{}: {}", "within": ", ", "apart": "; "}
"""Texts that most languages share: a speaker with a quotation, a label with its text, the separator between a document
and a location in it, and the separator between items of a list."""
BARE = {
    "pair": ", ", "others": ", … (+{})", "on": "{}: {}", "this": "…", "links": "({}.)", "mentions": "({}.)",
    "no_more": "…",
}  # fmt: skip
"""Texts of signs only, for languages without a file: lines with words of the sources then contain no English."""


class Wording:
    """The fixed texts of one language as attributes, such as `words.nothing`; `{}` is filled with names and numbers."""

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self.texts = texts

    def __getattr__(self, key: str) -> str:
        if key == "texts" or key not in self.texts:
            raise AttributeError(f"no message is called {key!r}")
        return self.texts[key]

    def kind(self, name: str) -> str:
        """Return the name of a kind of row, given by its English name."""
        return dict(zip(wording("en").texts["kinds"], self.texts["kinds"], strict=True)).get(name, name)

    def where(self, document: str, place: str, start: int, end: int) -> str:
        """Return a location as text: a document, a page or section of it, and the characters."""
        return self.within.join(filter(None, (document, place, self.characters.format(start, end))))

    def listed(self, names: Sequence[str]) -> str:
        """Return names as an enumeration: `a, b and c`."""
        return self.comma.join(names[:-1]) + (self.pair if len(names) > 1 else "") + "".join(names[-1:])

    def title(self, names: Sequence[str], topics: Sequence[str] = ()) -> str:
        """Return a title made of names and their topics: `Ada Byrne and Oran Mill: looms and wages`."""
        title = self.label.format(self.listed(names), self.listed(topics)) if topics else self.listed(names)
        return title[:1].upper() + title[1:] or self.unnamed


@cache
def wording(language: str) -> Wording:
    """Return the fixed texts of a language, given by its code; if it has none, English ones with the signs of BARE."""
    code = language.partition("-")[0].lower()
    own = code in LANGUAGES
    texts = tomllib.loads((FOLDER / f"{code if own else 'en'}.toml").read_text(encoding="utf-8"))
    return Wording(SIGNS | texts | ({} if own else BARE))


def is_empty_answer(answer: str) -> bool:
    """Return whether an answer says, in any language, that nothing was found."""
    return any(answer.strip() == wording(language).nothing for language in LANGUAGES)
