"""What people say that no document says: facts without a quotation, as one document of the index, each its own chunk.

So whatever stands on such a fact leads back to characters like anything else, and these say who speaks. Nothing is
extracted from it: the facts are what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conspectus import tokens
from conspectus.corrections import SAID
from conspectus.indexing.correction_results import Fact
from conspectus.indexing.entity_assignment import key_of
from conspectus.rows import Chunk, Document, Place, Span, content_id

FORMS: Mapping[str, tuple[str, str]] = {
    "en": ('A person{}: "{}"', " ({}, {})"),
    "zh": ("一位编者{}：“{}”", "（{}、{}）"),
}
"""How a fact is told as somebody's words, and the names that it joins where it does not use them, by language."""


@dataclass(frozen=True)
class FactDocument:
    """The document, if anything is said, and its chunks."""

    documents: tuple[Document, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    chunk_of: Mapping[int, Chunk] = field(default_factory=dict[int, Chunk])
    """By the number of the correction."""

    def place(self, fact: Fact) -> tuple[Span, str, str]:
        """Return the characters that a fact stands on, their chunk, and the fact as it is told."""
        if fact.quoted:
            return fact.quoted, fact.chunk_id, fact.description
        chunk = self.chunk_of[fact.entry.number]
        return chunk.span, chunk.id, chunk.text


def facts_as_document(facts: Sequence[Fact], documents: int, chunks: int, language: str = "en") -> FactDocument:
    """Return the document of the facts that no document says; it comes after so many documents and chunks."""
    said = [fact for fact in facts if fact.quoted is None]
    if not said:
        return FactDocument()
    lines = [_line(fact, language) for fact in said]
    text = "\n".join(lines)
    starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
    id_ = content_id(SAID, text)
    cut = {
        fact.entry.number: Chunk(
            content_id(id_, str(start), str(start + len(line))), chunks + i, id_, start, start + len(line), line,
            tokens.count(line),
        )
        for i, (fact, line, start) in enumerate(zip(said, lines, starts, strict=True))
    }  # fmt: skip
    places = tuple(Place(start, _named(fact)) for fact, start in zip(said, starts, strict=True))
    document = Document(id_, documents, SAID.capitalize(), text, SAID, None, {"language": language}, places)
    return FactDocument((document,), tuple(cut.values()), cut)


def _line(fact: Fact, language: str) -> str:
    form, of = FORMS.get(language, FORMS["en"])
    used = key_of(fact.description)
    named = all(key_of(name) in used for name in fact.names)
    return form.format("" if named else of.format(*fact.names), fact.description)


def _named(fact: Fact) -> str:
    by = f" by {fact.entry.author}" if fact.entry.author else ""
    return f"correction {fact.entry.number}{by}"
