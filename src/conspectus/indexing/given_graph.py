"""The sentences of documents whose graph came from elsewhere: what they mention, and where they tell of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conspectus.index import Index
from conspectus.rows import AliasDecision, Entity, Relationship, Span
from conspectus.text.mentions import units
from conspectus.text.quality import quality
from conspectus.text.words import fold, name_key, stem

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


Key = tuple[str, ...]


class Names:
    """Finds the entities of a graph in sentences."""

    def __init__(self, entities: Iterable[Entity], sentences: Iterable[str] = ()) -> None:
        """Learn the names of entities; `sentences` are those of the corpus, which tell what is written as a
        name."""
        self._by_first: dict[str, list[tuple[Key, int, str]]] = defaultdict(list)
        """The keys that begin with a word, the longest first, each with its entity and what must be in the
        text."""
        people: dict[Key, int] = {}
        known: set[Key] = set()
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                key = tuple(units(name_key(name)))
                if self._add(key, entity.number, "", known) and entity.type == "person":
                    people[key] = entity.number
        self.short: dict[int, str] = {}
        """The last names that stand for a person, by the person's number."""
        lasts = Counter(key[-1] for key in known)
        written = Counter(word for sentence in sentences for word in re.findall(r"\w+", sentence))
        for key, number in people.items():
            word = key[-1].capitalize()
            alone = lasts[key[-1]] == 1 and 2 <= len(key) <= 3 and "of" not in key
            if alone and len(word) > 2 and written[word] > written[key[-1]]:
                self.short[number] = word
                self._add(key[-1:], number, word, known)
        for keys in self._by_first.values():
            keys.sort(key=lambda k: (-len(k[0]), k[1]))

    def _add(self, key: Key, number: int, needed: str, known: set[Key]) -> bool:
        if key in known or len("".join(key)) < 2:
            return False
        known.add(key)
        self._by_first[key[0]].append((key, number, needed))
        return True

    def find(self, sentence: str) -> list[int]:
        """Return the entities that a sentence mentions, each once, in the order of the text."""
        words = _words(sentence)
        found: dict[int, None] = {}
        at = 0
        while at < len(words):
            size = 1
            for key, number, needed in self._by_first.get(words[at], ()):
                if _same(tuple(words[at : at + len(key)]), key) and needed in sentence:
                    found[number] = None
                    size = len(key)
                    break
            at += size
        return list(found)


def _words(sentence: str) -> Sequence[str]:
    return units(name_key.__wrapped__(sentence))  # not cached: no sentence comes twice


def _same(words: Key, key: Key) -> bool:
    """Tell whether words are a name; its last one may also stand in another form, where it is not all there
    is."""
    if words == key:
        return True
    return len(key) > 1 and words[:-1] == key[:-1] and len(words) == len(key) and stem(words[-1]) == stem(key[-1])


def same_name(name: str) -> str:
    """Return what two ways to write one name have in common."""
    return name_key(name) or fold(name)
