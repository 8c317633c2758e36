"""What is said without a language model, and beside what one says: headings, links and notices, a file a language.

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
"""What most languages write alike: who says what; what is named, and its name; between a document and a place in it;
between one of several and the next."""
BARE = {
    "pair": ", ", "others": ", … (+{})", "on": "{}: {}", "this": "…", "links": "({}.)", "mentions": "({}.)",
    "no_more": "…",
}  # fmt: skip
"""Signs alone, in lines that hold words of the sources, so that no line is in two languages."""


class Wording:
    """Fixed words of one language by their keys, `words.nothing`; `{}` is where names and numbers go."""

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self.texts = texts

    def __getattr__(self, key: str) -> str:
        if key == "texts" or key not in self.texts:
            raise AttributeError(f"no message is called {key!r}")
        return self.texts[key]

    def kind(self, name: str) -> str:
        """Return what a kind of row is called, given by its English name."""
        return dict(zip(wording("en").texts["kinds"], self.texts["kinds"], strict=True)).get(name, name)

    def where(self, document: str, place: str, start: int, end: int) -> str:
        """Return where something stands: a document, a page or section of it, and the characters."""
        return self.within.join(filter(None, (document, place, self.characters.format(start, end))))

    def listed(self, names: Sequence[str]) -> str:
        """Return names as they are told one after the other."""
        return self.comma.join(names[:-1]) + (self.pair if len(names) > 1 else "") + "".join(names[-1:])

    def title(self, names: Sequence[str], topics: Sequence[str] = ()) -> str:
        """Return a title made of names and what is told of them: `Ada Byrne and Oran Mill: looms and wages`."""
        title = self.label.format(self.listed(names), self.listed(topics)) if topics else self.listed(names)
        return title[:1].upper() + title[1:] or self.unnamed


@cache
def wording(language: str) -> Wording:
    """Return the fixed words of a language, given by its code; where there are none English ones and signs."""
    code = language.partition("-")[0].lower()
    own = code in LANGUAGES
    texts = tomllib.loads((FOLDER / f"{code if own else 'en'}.toml").read_text(encoding="utf-8"))
    return Wording(SIGNS | texts | ({} if own else BARE))


def is_empty_answer(answer: str) -> bool:
    """Tell whether an answer says that nothing was found."""
    return any(answer.strip() == wording(language).nothing for language in LANGUAGES)
