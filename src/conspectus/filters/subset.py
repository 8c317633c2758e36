"""A subset of an index: some of its documents, as if there were no others.

Rows that rest only on these documents stay as they are. Rows that also rest on others are summarized again from these
documents, by selecting sentences and without a model: a description keeps the lines that occur in them, or else takes
their sentences about the element; a report is written from what is left of its community. Rows that rest on none of the
documents are dropped, and so are claims that need several documents. Numbers are reassigned, ids stay. Statistics
(document frequencies, frequencies of names, degrees) count the subset only, so that no ranking depends on the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus import tokens
from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.filters.remapping import Array, Ints, LazyReports, LazyTable, RemappedArrays, RowMap
from conspectus.index import Index
from conspectus.models.extractive.describe import describe_element
from conspectus.models.extractive.report import globalized, write_report
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.extractive.statements import words_of
from conspectus.references import Reference, translate
from conspectus.rows import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Finding,
    Relationship,
    Report,
    Span,
    Triple,
)
from conspectus.settings import ReportSettings
from conspectus.tasks import DescribeElement, WriteReport
from conspectus.triple_graph import TripleGraph

if TYPE_CHECKING:
    from collections.abc import Callable


class IndexSubset:
    """The rows that are left of an index, each table made when it is first used, and where the others' numbers went."""

    def __init__(self, index: Index, mask: Sequence[bool]) -> None:
        """`kept` tells of each document whether it is left."""
        self.index = index
        self._kept = np.array(mask, bool)

    # Rows

    @cached_property
    def documents(self) -> list[Document]:
        return _numbered(d for d, mask in zip(self.index.documents, self._kept.tolist(), strict=True) if mask)

    @cached_property
    def chunks(self) -> list[Chunk]:
        return _numbered(c for c in self.index.chunks if c.document_id in self.document_ids)

    @cached_property
    def entities(self) -> list[Entity]:
        """The entities that a chunk names; degrees count the relationships that are left."""
        degree: dict[str, int] = {}
        for row in self.relationships:
            for end in (row.source, row.target):
                degree[end] = degree.get(end, 0) + 1
        rows: list[Entity] = []
        for old in self._entities:
            summarized = self.resummarizer.entity(old, self.remaining_chunks(old)) if self.is_partial(old) else old
            rows.append(replace(summarized, number=len(rows), degree=degree.get(old.name, 0)))
        return rows

    @cached_property
    def relationships(self) -> list[Relationship]:
        """The relationships that a chunk tells of, as heavy as the share of their chunks that is left."""
        remaining: list[Relationship] = []
        degree: dict[str, int] = {}
        for old in self.index.relationships:
            if self.remaining_chunks(old):
                remaining.append(old)
                for end in (old.source, old.target):
                    degree[end] = degree.get(end, 0) + 1
        rows: list[Relationship] = []
        for old in remaining:
            summarized = (
                self.resummarizer.relationship(old, self.remaining_chunks(old)) if self.is_partial(old) else old
            )
            combined = degree[old.source] + degree[old.target]
            rows.append(replace(summarized, number=len(rows), combined_degree=combined))
        return rows

    @cached_property
    def triples(self) -> list[Triple]:
        return _numbered(
            replace(t, chunk_ids=inside) for t in self.index.triples if (inside := self.remaining_chunks(t))
        )

    @cached_property
    def claims(self) -> list[Claim]:
        return _numbered(c for c in self.index.claims if self.remaining_chunks(c) and not self.is_partial(c))

    @cached_property
    def communities(self) -> list[Community]:
        """The communities that an entity is left of; a part of one that has none left is gone."""
        entity, relationship = self.row_map("entities").numbers, self.row_map("relationships").numbers
        place = self.row_map("communities").numbers.tolist()
        return [
            replace(
                old,
                number=place[old.number],
                parent=place[old.parent] if old.parent >= 0 else -1,
                children=_left(old.children, place),
                entity_numbers=_left(old.entity_numbers, entity),
                relationship_numbers=_left(old.relationship_numbers, relationship),
                chunk_ids=tuple(chunk for chunk in old.chunk_ids if chunk in self.chunk_ids),
            )
            for old in self.index.communities
            if place[old.number] >= 0
        ]

    @cached_property
    def failures(self) -> list[Failure]:
        paths = {d.path for d in self.documents}
        return [failure for failure in self.index.failures if not failure.document or failure.document in paths]

    # What is inside

    @cached_property
    def document_ids(self) -> frozenset[str]:
        return frozenset(d.id for d in self.documents)

    @cached_property
    def chunk_ids(self) -> frozenset[str]:
        return frozenset(c.id for c in self.chunks)

    def remaining_chunks(self, row: Entity | Relationship | Triple | Claim) -> tuple[str, ...]:
        """Return the chunks of a row that are left."""
        return tuple(chunk for chunk in row.chunk_ids if chunk in self.chunk_ids)

    def is_partial(self, row: Entity | Relationship | Claim) -> bool:
        """Tell whether a row also stands on chunks that are not left."""
        return not self.chunk_ids.issuperset(row.chunk_ids)

    @cached_property
    def _entities(self) -> list[Entity]:
        return [e for e in self.index.entities if not self.chunk_ids.isdisjoint(e.chunk_ids)]

    @cached_property
    def resummarizer(self) -> Resummarizer:
        """Who describes anew what is left of a row."""
        return Resummarizer(
            SentenceStore.of_index(self.index), self.document_ids, self.row_map("sentences").numbers >= 0
        )

    # Where numbers go

    def row_map(self, axis: str) -> RowMap:
        """Return where the rows of an axis of the index go; see `layout`."""
        if axis not in self._places:
            self._places[axis] = self._placed(axis)
        return self._places[axis]

    @cached_property
    def _places(self) -> dict[str, RowMap]:
        return {}

    def _placed(self, axis: str) -> RowMap:
        arrays, index = self.index.arrays, self.index
        match axis:
            case "documents":
                return RowMap.of(self._kept)
            case "chunks":
                ids = self.document_ids
                return RowMap.of(np.array([c.document_id in ids for c in index.chunks], bool))
            case "sentences":
                return RowMap.of(self._kept[arrays["sentences.document"]])
            case "entities":
                return _of_rows(len(index.entities), (e.number for e in self._entities))
            case "relationships":
                remaining = (r.number for r in index.relationships if not self.chunk_ids.isdisjoint(r.chunk_ids))
                return _of_rows(len(index.relationships), remaining)
            case "claims":
                remaining = (c.number for c in index.claims if self.remaining_chunks(c) and not self.is_partial(c))
                return _of_rows(len(index.claims), remaining)
            case "communities":
                entity = self.row_map("entities").numbers
                holds = [bool(np.any(entity[list(c.entity_numbers)] >= 0)) for c in index.communities]
                return RowMap.of(np.array(holds, bool))
            case "names":
                starts, values = arrays["walk.in_starts"], arrays["walk.in_sentences"]
                row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
                occurrences = np.bincount(
                    row[self.row_map("sentences").numbers[values] >= 0], minlength=len(starts) - 1
                )
                return RowMap.of(occurrences > 0)
            case "triples":
                rows: Sequence[Triple] | Sequence[Relationship] = index.triples or index.relationships
                return RowMap.of(np.array([bool(self.remaining_chunks(row)) for row in rows], bool))
            case "phrases":
                return self._phrases()
            case _:  # all stay: words, which have places in a vocabulary that is not changed
                return RowMap(np.arange(len(index.words)))

    def _phrases(self) -> RowMap:
        """Return where the names of the graph of triples go: into the order of the graph that is left."""
        names = TripleGraph.of(self.index).names
        rows: Sequence[Triple] | Sequence[Relationship] = self.triples or self.relationships
        number: dict[str, int] = {}
        for row in rows:
            for name in (row.head, row.tail) if isinstance(row, Triple) else (row.source, row.target):
                number.setdefault(name, len(number))
        return RowMap(np.array([number.get(name, -1) for name in names], np.int64))

    def size(self, axis: str) -> int:
        """Return how many rows of an axis are left."""
        return int(np.count_nonzero(self.row_map(axis).numbers >= 0))


def subset_of(index: Index, mask: Sequence[bool], name: str = "") -> Index:
    """Return the index with some of its documents alone, `kept` a switch for each; the index itself where all are.

    `name` says which they are: it becomes part of the snapshot's.
    """
    if all(mask):
        return index
    part = IndexSubset(index, mask)
    return replace(
        index,
        documents=LazyTable(lambda: part.documents),
        chunks=LazyTable(lambda: part.chunks),
        entities=LazyTable(lambda: part.entities),
        relationships=LazyTable(lambda: part.relationships),
        triples=LazyTable(lambda: part.triples),
        claims=LazyTable(lambda: part.claims),
        communities=LazyTable(lambda: part.communities),
        reports=SubsetReports(part).rows,
        failures=LazyTable(lambda: part.failures),
        arrays=RemappedArrays(
            [(index.arrays, part.row_map)], part.size, {"walk.frequency": lambda a: _frequency(a, part)}
        ),
        snapshot=f"{index.snapshot} {name}".strip(),
    )


def _frequency(arrays: Mapping[str, Array], part: IndexSubset) -> Array:
    """Return in how many passages each name of the walk occurs that is left."""
    from scipy import sparse

    first, last = arrays["walk.first"], arrays["walk.last"]
    sizes = (last - first).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    sentences = np.arange(int(starts[-1])) + np.repeat(first - starts[:-1], sizes)
    shape = len(first), part.size("sentences")
    holding = sparse.csr_array((np.ones(len(sentences), np.float32), sentences, starts), shape=shape)
    out: Any = (arrays["walk.out_weights"], arrays["walk.out_names"], arrays["walk.out_starts"])
    names = part.size("names")
    occurrences: Any = holding @ sparse.csr_array(out, shape=(shape[1], names))
    counted = np.maximum(np.bincount(occurrences.indices, minlength=names), 1)
    places = part.row_map("names").numbers
    before = part.index.arrays["walk.frequency"][places >= 0]
    return np.minimum(counted, before).astype(before.dtype)


def _numbered(rows: Iterable[Any]) -> list[Any]:
    return [replace(row, number=i) for i, row in enumerate(rows)]


def _of_rows(size: int, numbers: Iterable[int]) -> RowMap:
    mask = np.zeros(size, bool)
    mask[list(numbers)] = True
    return RowMap.of(mask)


def _left(numbers: Sequence[int], place: Ints | Sequence[int]) -> tuple[int, ...]:
    return tuple(int(place[n]) for n in numbers if place[n] >= 0)


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
        sentences_by_name = [self._naming(number) for number in numbers]
        if len(sentences_by_name) == 1:
            return sentences_by_name[0]
        both = set(sentences_by_name[0]) & set(sentences_by_name[1])
        for number, of_other in zip(numbers, reversed(sentences_by_name), strict=True):
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
        mask = self._sentences[row]
        row, name = row[mask], passages.mentions[mask]
        order = np.argsort(name, kind="stable")
        return np.searchsorted(name[order], np.arange(len(passages.names) + 1)), row[order]


def _plain(text: str) -> str:
    """Return a text by its words: openings that are left out in quotations, and signs, tell nothing apart."""
    return " ".join(re.findall(r"\w+", text.casefold()))


class SubsetReports:
    """Which reports are left of an index, and what each says."""

    def __init__(self, part: IndexSubset) -> None:
        self._part = part

    @cached_property
    def _settings(self) -> ReportSettings:
        made: Mapping[str, Any] = self._part.index.settings.get("reports", {})
        stored_settings = {name: made[name] for name in ReportSettings.model_fields if name in made}
        return ReportSettings.model_validate(stored_settings)

    @cached_property
    def _left(self) -> list[Report]:
        """The old reports of the communities that are left and large enough; those of the root are always."""
        least = self._settings.min_report_entities
        place = self._part.row_map("communities").numbers
        remaining = [report for report in self._part.index.reports if place[report.community] >= 0]
        return [
            report
            for report in remaining
            if self._whole(report) or report.level == 0 or self._community(report).size >= least
        ]

    @cached_property
    def communities(self) -> list[int]:
        """The community of each report that is left, by its new number."""
        place = self._part.row_map("communities").numbers
        return [int(place[report.community]) for report in self._left]

    def counts(self) -> tuple[int, int, int]:
        """Return how many reports stand on the part alone, on it and on more, and not on it."""
        whole = sum(map(self._whole, self._left))
        return whole, len(self._left) - whole, len(self._part.index.reports) - len(self._left)

    def _community(self, report: Report) -> Community:
        return self._part.communities[int(self._part.row_map("communities").numbers[report.community])]

    def _whole(self, report: Report) -> bool:
        """Tell whether all that a report was written from stands on the part alone."""
        return report.community in self._whole_communities

    @cached_property
    def _whole_communities(self) -> frozenset[int]:
        part, index = self._part, self._part.index
        entities = {e.number for e in index.entities if part.is_partial(e) or not e.chunk_ids}
        relationships = {r.number for r in index.relationships if part.is_partial(r) or not r.chunk_ids}
        named = {name for c in index.claims if part.is_partial(c) for name in (c.subject, c.object)}
        entities |= {e.number for e in index.entities if e.name in named} if named else set()
        return frozenset(
            c.number
            for c in index.communities
            if entities.isdisjoint(c.entity_numbers) and relationships.isdisjoint(c.relationship_numbers)
        )

    def _report(self, place: int) -> Report:
        old = self._left[place]
        return self._moved(old, place) if self._whole(old) else self._written(old, place)

    def _written(self, old: Report, place: int) -> Report:
        community = self._community(old)
        evidence = self._gatherer.build(community, self.rows.by_community)
        draft = globalized(write_report(WriteReport(evidence), self._worth), evidence)
        return replace(report_of(community, place, draft), id=old.id)

    @cached_property
    def rows(self) -> LazyReports:
        """The reports, each made when it is first read."""
        return LazyReports(lambda: self.communities, self._report, self.counts)

    @cached_property
    def _gatherer(self) -> CommunityContextBuilder:
        part = self._part
        limit = self._settings.context_tokens
        return CommunityContextBuilder(part.communities, part.entities, part.relationships, limit, part.claims)

    @cached_property
    def _worth(self) -> Mapping[str, float]:
        return SentenceStore.of_index(self._part.index).worth

    def _moved(self, old: Report, place: int) -> Report:
        community = self._community(old)
        moved = translated(old, self._to)
        return replace(
            moved, number=place, community=community.number, parent=community.parent, children=community.children
        )

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        return {old.number: place for place, old in enumerate(self._left)}

    def _to(self, reference: Reference) -> Reference | None:
        if reference.table == "Reports":
            number = self._numbers.get(reference.number, -1)
        else:
            axis = "chunks" if reference.table == "Sources" else reference.table.lower()
            places = self._part.row_map(axis).numbers
            number = int(places[reference.number]) if reference.number < len(places) else -1
        return Reference(reference.table, number) if number >= 0 else None


def translated(report: Report, to: Callable[[Reference], Reference | None]) -> Report:
    """Return a report with its references in other numbers, without those that lead nowhere."""
    findings = tuple(Finding(f.summary, translate(f.explanation, to)[0]) for f in report.findings)
    made = replace(report, summary=translate(report.summary, to)[0], findings=findings)
    return replace(made, n_tokens=tokens.count(made.text))
