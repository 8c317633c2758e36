"""Descriptions of what some documents alone say of a thing, by selection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from conspectus.filters.arrays import Array, Ints
from conspectus.models.extractive.describe import describe_element
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.extractive.statements import words_of
from conspectus.rows import Entity, Relationship, Span
from conspectus.tasks import DescribeElement

MOST_READ = 8
"""Sentences that a description is chosen from at the most: the first ones."""


class Resummarizer:
    """Tells anew, from some documents, what also stood on others."""

    def __init__(self, passages: SentenceStore, documents: frozenset[str], sentences: Array) -> None:
        """`documents` are the ids of those to tell from; `sentences` is a switch for each sentence of all."""
        self._passages = passages
        self._documents = documents
        self._sentences = sentences

    def entity(self, row: Entity, chunks: tuple[str, ...]) -> Entity:
        """Return an entity as those documents have it; `chunks` are theirs that name it."""
        text, spans = self._told(row.name, "entity", row.description, row.spans, self._mentioning([row.name]))
        return replace(row, description=text, spans=spans, chunk_ids=chunks)

    def relationship(self, row: Relationship, chunks: tuple[str, ...]) -> Relationship:
        """Return a relationship as those documents have it, its weight by the share of its chunks that are theirs."""
        ends = [row.source, row.target]
        text, spans = self._told(" - ".join(ends), "relationship", row.description, row.spans, self._mentioning(ends))
        weight = max(1.0, float(round(row.weight * len(chunks) / len(row.chunk_ids))))
        return replace(row, description=text, spans=spans, chunk_ids=chunks, weight=weight)

    def _told(
        self, name: str, kind: str, description: str, spans: Sequence[Span], sentences: Iterable[int]
    ) -> tuple[str, tuple[Span, ...]]:
        """Return the lines of a description that stand in the documents, else their sentences on it, with places."""
        places = tuple(span for span in spans if span.document_id in self._documents)
        texts = [_plain(self._text(span)) for span in places]
        lines = [line for line in description.splitlines() if any(_plain(words_of(line)) in text for text in texts)]
        if lines:
            return "\n".join(lines), places
        read = list(sentences)[:MOST_READ]
        if not read:
            return "", places
        quoted = {self._passages.quoted(sentence): self._passages.span(sentence) for sentence in read}
        made = describe_element(DescribeElement(name, kind, tuple(quoted)), {})
        return made.text, tuple(list(quoted.values())[i] for i in made.used)

    def _text(self, span: Span) -> str:
        return self._texts[span.document_id][span.start : span.end]

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {d.id: d.text for d in self._passages.documents if d.id in self._documents}

    def _mentioning(self, names: Sequence[str]) -> list[int]:
        """Return the sentences of the documents that mention all names, or that one of them says of the others."""
        numbers = [self._number[name] for name in names]
        found = [self._naming(number) for number in numbers]
        if len(found) == 1:
            return found[0]
        both = set(found[0]) & set(found[1])
        for number, of_other in zip(numbers, reversed(found), strict=True):
            both |= {sentence for sentence in of_other if self._passages.said_by(sentence) == number}
        return sorted(both)

    def _naming(self, number: int) -> list[int]:
        starts, sentences = self._by_name
        return sentences[starts[number] : starts[number + 1]].tolist()

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._passages.names)}

    @cached_property
    def _by_name(self) -> tuple[Ints, Ints]:
        """For each name, where its sentences are in the second array."""
        passages = self._passages
        row = np.repeat(np.arange(len(passages)), np.diff(passages.mention_starts))
        kept = self._sentences[row]
        row, name = row[kept], passages.mentions[kept]
        order = np.argsort(name, kind="stable")
        return np.searchsorted(name[order], np.arange(len(passages.names) + 1)), row[order]


def _plain(text: str) -> str:
    """Return a text by its words: openings that are left out in quotations, and signs, tell nothing apart."""
    return " ".join(re.findall(r"\w+", text.casefold()))
