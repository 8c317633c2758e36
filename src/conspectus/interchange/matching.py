"""Which entities the sentences of a corpus mention, found by their names: for a graph that others extracted.

A name is found however it is cased and whatever article stands before it. A person's last name alone stands
for the person where no other entity has that word at its end and the corpus mostly writes it with a capital.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from conspectus.rows import Entity
from conspectus.text.mentions import units
from conspectus.text.words import fold, name_key, stem

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
