"""What is said without a language model, and beside what one says: headings, links and notices, a file a language."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Wording:
    """Fixed words of one language; `{}` is where names and numbers go."""

    assembled: str
    """The notice of an answer that is quotations."""
    assembled_with_reports: str
    """The same over an index whose reports a language model wrote."""
    nothing: str
    """The answer where nothing was found."""
    absent: str
    """The notice of names in a question that no document has."""
    written: str
    """The notice of an answer that a language model wrote."""
    uncited: str
    """The same where it cites nothing."""
    selected: str
    """The notice of an answer that was read off the graph."""
    unread: str
    """The notice of an answer that a model gave without reading."""
    crossing: str
    """The notice of an answer whose follow-up questions no model asked."""
    spelt: str
    """The notice of an answer over phrases without vectors."""
    sources: str
    characters: str
    more_places: str
    kinds: tuple[str, str, str, str, str]
    """Report, source, entity, relationship and claim."""
    comma: str
    pair: str
    """Between the last two of several."""
    others: str
    """After some of many."""
    on: str
    """Who speaks, on what."""
    this: str
    """What is spoken of, where it has no name."""
    unnamed: str
    links: str
    mentions: str
    no_more: str
    """In place of a name, where there is none."""
    rating: str
    """Relationships, entities, how often they are stated, and `rating_parts`."""
    rating_parts: str
    told_of: str
    """The question of what is told of a name."""
    crossed: str
    """A question with a name that it is crossed with."""
    quote: str = '{}: "{}"'
    """Who says what."""
    label: str = "{}: {}"
    """What is named, and its name."""
    within: str = ", "
    """Between a document and a place in it."""
    apart: str = "; "
    """Between one of several and the next."""

    def kind(self, name: str) -> str:
        """Return what a kind of row is called, given by its English name."""
        return dict(zip(_of("en").kinds, self.kinds, strict=True)).get(name, name)

    def where(self, document: str, place: str, start: int, end: int) -> str:
        """Return where something stands: a document, a page or section of it, and the characters."""
        return self.within.join(filter(None, (document, place, self.characters.format(start, end))))

    def listed(self, names: Sequence[str]) -> str:
        """Return names as they are told one after the other."""
        return self.comma.join(names[:-1]) + (self.pair if len(names) > 1 else "") + "".join(names[-1:])


FOLDER = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def _of(language: str) -> Wording:
    read: dict[str, Any] = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    read["kinds"] = tuple(read["kinds"])
    return Wording(**read)


@cache
def wording(language: str) -> Wording:
    """Return the fixed words of a language, given by its code; where there are none English ones.

    Those have signs alone in lines that hold words of the sources, so that no line is in two languages.
    """
    code = language.partition("-")[0].lower()
    if code in LANGUAGES:
        return _of(code)
    return replace(
        _of("en"),
        pair=", ",
        others=", … (+{})",
        on="{}: {}",
        this="…",
        links="({}.)",
        mentions="({}.)",
        no_more="…",
    )


@cache
def _nothings() -> frozenset[str]:
    return frozenset(_of(language).nothing for language in LANGUAGES)


def is_empty_answer(answer: str) -> bool:
    """Tell whether an answer says that nothing was found."""
    return answer.strip() in _nothings()
