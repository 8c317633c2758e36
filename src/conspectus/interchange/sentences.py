"""The sentences of documents whose graph came from elsewhere: what they mention, and where they tell of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conspectus.index import Index
from conspectus.interchange.matching import Names
from conspectus.rows import AliasDecision, Entity, Relationship, Span
from conspectus.text.quality import quality

SPANS = 10
"""Places kept for one entity or relationship."""


def with_sentences(index: Index) -> Index:
    """Add the lexical arrays, and the places in the text that entities and relationships are named at."""
    import numpy as np

    from conspectus.indexing.inverted_index import inverted_indexes
    from conspectus.indexing.merge import Element, Merged
    from conspectus.indexing.resolve import Names as Resolved
    from conspectus.indexing.sentence_graph import sentence_entity_graph, walk_terms
    from conspectus.text.lexicon import read_lexicon
    from conspectus.text.words import name_key

    lexicon = read_lexicon(index.documents)
    elements = [Element((name_key(e.name) or e.name,)) for e in index.entities]
    merged = Merged(list(index.entities), list(index.relationships), elements, [])
    words, arrays = inverted_indexes(index.documents, index.chunks, lexicon, merged, Resolved({}, {}, {}, {}, []))
    table = lexicon.sentences
    number = {word: i for i, word in enumerate(words)}
    arrays |= walk_terms(index.documents, table, lexicon.term_starts, lexicon.term_ids, number)
    arrays |= sentence_entity_graph(index.documents, index.chunks, table, lexicon.texts, lexicon.vocabulary)
    names = Names(index.entities, lexicon.texts)
    found = [names.find(text) for text in lexicon.texts]
    starts = np.cumsum([0, *map(len, found)]).astype(np.int32)
    mentions = np.array([number for row in found for number in row], np.int32)
    arrays |= {"sentences.mention_starts": starts, "sentences.mentions": mentions}
    rows = zip(table.document.tolist(), table.start.tolist(), table.end.tolist(), strict=True)
    spans = [Span(index.documents[d].id, start, end) for d, start, end in rows]
    worth = [quality(text) for text in lexicon.texts]
    entities, relationships = _placed(index, found, spans, worth, names.short)
    joins = [
        AliasDecision(word, index.entities[number].name, "last name", "no other entity has it at its end")
        for number, word in sorted(names.short.items())
        if entities[number].aliases
    ]
    return replace(index, entities=entities, relationships=relationships, joins=joins, words=words, arrays=arrays)


def _placed(
    index: Index,
    found: Sequence[Sequence[int]],
    spans: Sequence[Span],
    worth: Sequence[float],
    short: Mapping[int, str],
) -> tuple[list[Entity], list[Relationship]]:
    """Return the graph with the sentences that name each thing, or both ends, in its own chunks; the
    clearest first."""
    naming: dict[int, list[int]] = defaultdict(list)
    for sentence, numbers in enumerate(found):
        for number in numbers:
            naming[number].append(sentence)

    def places(sentences: Sequence[int], chunk_ids: Sequence[str]) -> tuple[Span, ...]:
        own = [index.chunk_of[c].span for c in chunk_ids]
        inside = [s for s in sentences if any(_holds(chunk, spans[s]) for chunk in own)]
        return tuple(spans[s] for s in sorted(inside, key=lambda s: (-worth[s], s))[:SPANS])

    entities = [
        replace(
            e,
            spans=places(naming[e.number], e.chunk_ids),
            aliases=(*e.aliases, short[e.number]) if e.number in short else e.aliases,
        )
        for e in index.entities
    ]
    number = index.entity_of_name
    relationships = [
        replace(r, spans=places(sorted({*naming[number[r.source]]} & {*naming[number[r.target]]}), r.chunk_ids))
        for r in index.relationships
    ]
    return entities, relationships


def _holds(outer: Span, inner: Span) -> bool:
    return outer.document_id == inner.document_id and outer.start <= inner.start and inner.end <= outer.end
