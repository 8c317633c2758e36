"""Complete the index of an imported graph: sentences, what they mention, and spans of entities and relationships.

Names are matched regardless of case and articles. The last name of a person alone is an alias if no other entity ends
with that word and the corpus mostly writes it with a capital letter.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from conspectus.index import Index
from conspectus.indexing.arrays import inverted_indexes, sentence_entity_graph, walk_terms
from conspectus.indexing.merge import Element, Merged
from conspectus.indexing.resolve import Names as Resolved
from conspectus.rows import AliasDecision, Entity, Relationship, Span
from conspectus.text.lexicon import read_lexicon
from conspectus.text.mentions import units
from conspectus.text.sentences import quality
from conspectus.text.words import fold, name_key, stem

MAX_SPANS = 10
"""Spans stored per entity or relationship, from the clearest sentences."""


def with_sentences(index: Index) -> Index:
    """Return an index with the arrays that methods read, and with the spans that mention entities and relationships."""
    lexicon = read_lexicon(index.documents)
    elements = [Element((name_key(e.name) or e.name,)) for e in index.entities]
    merged = Merged(list(index.entities), list(index.relationships), elements, [])
    words, arrays = inverted_indexes(index.documents, index.chunks, lexicon, merged, Resolved({}, {}, {}, {}, []))
    table = lexicon.sentences
    number = {word: i for i, word in enumerate(words)}
    arrays |= walk_terms(index.documents, table, lexicon.term_starts, lexicon.term_ids, number)
    arrays |= sentence_entity_graph(index.documents, index.chunks, table, lexicon.texts, lexicon.vocabulary)
    names = Names(index.entities, lexicon.texts)
    mentioned = [names.find(text) for text in lexicon.texts]
    starts = np.cumsum([0, *map(len, mentioned)]).astype(np.int32)
    mentions = np.array([number for row in mentioned for number in row], np.int32)
    arrays |= {"sentences.mention_starts": starts, "sentences.mentions": mentions}
    rows = zip(table.document.tolist(), table.start.tolist(), table.end.tolist(), strict=True)
    spans = [Span(index.documents[d].id, start, end) for d, start, end in rows]
    clarity = [quality(text) for text in lexicon.texts]
    entities, relationships = _with_spans(index, mentioned, spans, clarity, names.last_names)
    joins = [
        AliasDecision(word, index.entities[number].name, "last name", "no other entity has it at its end")
        for number, word in sorted(names.last_names.items())
        if entities[number].aliases
    ]
    return replace(index, entities=entities, relationships=relationships, joins=joins, words=words, arrays=arrays)


def _with_spans(
    index: Index,
    mentioned: Sequence[Sequence[int]],
    spans: Sequence[Span],
    clarity: Sequence[float],
    last_names: Mapping[int, str],
) -> tuple[list[Entity], list[Relationship]]:
    """Return entities and relationships with the sentences in their chunks that mention them, the clearest first.

    A sentence mentions a relationship if it mentions both of its ends.
    """
    sentences_of: dict[int, list[int]] = defaultdict(list)
    for sentence, numbers in enumerate(mentioned):
        for number in numbers:
            sentences_of[number].append(sentence)

    def clearest(sentences: Sequence[int], chunk_ids: Sequence[str]) -> tuple[Span, ...]:
        chunks = [index.chunk_of[c].span for c in chunk_ids]
        inside = [s for s in sentences if any(_contains(chunk, spans[s]) for chunk in chunks)]
        return tuple(spans[s] for s in sorted(inside, key=lambda s: (-clarity[s], s))[:MAX_SPANS])

    entities = [
        replace(
            e,
            spans=clearest(sentences_of[e.number], e.chunk_ids),
            aliases=(*e.aliases, last_names[e.number]) if e.number in last_names else e.aliases,
        )
        for e in index.entities
    ]
    number = index.entity_of_name
    relationships = [
        replace(r, spans=clearest(sorted(both), r.chunk_ids))
        for r in index.relationships
        for both in [{*sentences_of[number[r.source]]} & {*sentences_of[number[r.target]]}]
    ]
    return entities, relationships


def _contains(outer: Span, inner: Span) -> bool:
    return outer.document_id == inner.document_id and outer.start <= inner.start and inner.end <= outer.end


Key = tuple[str, ...]
"""The words of a name, normalised."""


class Names:
    """Finds the entities of a graph in sentences."""

    def __init__(self, entities: Iterable[Entity], sentences: Iterable[str] = ()) -> None:
        """Read the names of entities; `sentences` are those of the corpus, to see which words are written as names."""
        self._by_first: dict[str, list[tuple[Key, int, str]]] = defaultdict(list)
        """By first word, the longest first: the words of a name, its entity, and a text that must occur as written."""
        people: dict[Key, int] = {}
        keys: set[Key] = set()
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                key = tuple(units(name_key(name)))
                if self._add(key, entity.number, "", keys) and entity.type == "person":
                    people[key] = entity.number
        self.last_names: dict[int, str] = {}
        """Last names that are aliases, by the number of the person."""
        lasts = Counter(key[-1] for key in keys)
        written = Counter(word for sentence in sentences for word in re.findall(r"\w+", sentence))
        for key, number in people.items():
            word = key[-1].capitalize()
            alone = lasts[key[-1]] == 1 and 2 <= len(key) <= 3 and "of" not in key
            if alone and len(word) > 2 and written[word] > written[key[-1]]:
                self.last_names[number] = word
                self._add(key[-1:], number, word, keys)
        for entries in self._by_first.values():
            entries.sort(key=lambda k: (-len(k[0]), k[1]))

    def _add(self, key: Key, number: int, required: str, keys: set[Key]) -> bool:
        if key in keys or len("".join(key)) < 2:
            return False
        keys.add(key)
        self._by_first[key[0]].append((key, number, required))
        return True

    def find(self, sentence: str) -> list[int]:
        """Return the numbers of the entities that a sentence mentions, each once, in text order."""
        words = _words(sentence)
        numbers: dict[int, None] = {}
        at = 0
        while at < len(words):
            size = 1
            for key, number, required in self._by_first.get(words[at], ()):
                if _same(tuple(words[at : at + len(key)]), key) and required in sentence:
                    numbers[number] = None
                    size = len(key)
                    break
            at += size
        return list(numbers)


def _words(sentence: str) -> Sequence[str]:
    return units(name_key.__wrapped__(sentence))  # not cached: hardly any sentence occurs twice


def _same(words: Key, key: Key) -> bool:
    """Tell whether words are a name; the last word of a longer name may be inflected."""
    if words == key:
        return True
    return len(key) > 1 and words[:-1] == key[:-1] and len(words) == len(key) and stem(words[-1]) == stem(key[-1])


def same_name(name: str) -> str:
    """Return a key that is equal for different spellings of the same name."""
    return name_key(name) or fold(name)
