"""Look up in an index: its entities by a name, an alias, or words of a name; and questions, read in its languages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from conspectus.algorithms.ranking import positions
from conspectus.algorithms.statistics import Ints
from conspectus.index import Arrays, Index
from conspectus.rows import column
from conspectus.text.language import language_of
from conspectus.text.mentions import hash_of, units
from conspectus.text.words import INFLECTING, name_key, stem, terms, undeclined


def question_language(question: str, index: Index) -> str:
    """Return the language of a question, or that of the index if it cannot be determined."""
    return language_of([question], index.languages)


def search_terms(text: str, index: Index) -> list[str]:
    """Return the search terms of a text for an index: stemmed in all of its languages."""
    return terms(text, *index.languages)


def entity_keys(index: Index) -> Mapping[str, int]:
    """Return the numbers of entities by the keys of their names and aliases (see `name_key`).

    A name also has a key with its last word stemmed; a name of one word that is no concept has it only if the word
    ends in s, since "main" is not Maine. An alias shared by several entities has no entity. A name takes precedence
    over an alias, and an alias over the stem of another name.
    """
    names = [name_key(name) for name in column(index.entities, "name")]
    keys: dict[str, int] = {key: number for number, key in reversed([*enumerate(names)])}
    aliases: dict[str, set[int]] = {}
    for number, own in enumerate(column(index.entities, "aliases")):
        for alias in own:
            aliases.setdefault(name_key(alias), set()).add(number)
    for key, numbers in aliases.items():
        if len(numbers) == 1:
            keys.setdefault(key, min(numbers))
    for number, (key, kind) in enumerate(zip(names, column(index.entities, "type"), strict=True)):
        *head, last = key.split() or [""]
        if head or kind == "concept" or last.endswith("s"):
            keys.setdefault(" ".join((*head, stem(last))), number)
    for key, number in list(keys.items()):
        for stems in declined_stems(key, index.languages):
            keys.setdefault(stems, number)
    return keys


def declined_stems(key: str, languages: Sequence[str]) -> Iterator[str]:
    """Yield a key with the case endings of its words removed, for each language that declines names."""
    for language in sorted(INFLECTING.intersection(languages)):
        yield " ".join(_ending_removed(word, language) for word in key.split())


LEAST_STEM = 4
"""Minimum letters of the stem of a German name; with fewer, Mars and Maren would both be mar."""


def _ending_removed(word: str, language: str) -> str:
    bare = undeclined(word, language)
    return word.removesuffix("s") if language == "de" and len(bare) < LEAST_STEM else bare


def hashes_of_keys(index: Index) -> Arrays:
    """Return the hashes of all keys (`entity_keys`), ascending, and the number of each one's entity."""
    hashes: dict[int, int] = {}
    for key, number in entity_keys(index).items():
        hashes.setdefault(hash_of(units(key)), number)
    ascending = sorted(hashes)
    entities = np.array([hashes[code] for code in ascending], np.int32)
    return {"keys.hash": np.array(ascending, np.uint64), "keys.entity": entities}


def entity_of_key(key: str, index: Index) -> int | None:
    """Return the number of the entity that has a key, or None."""
    hashes, entities = index.looked_up(hashes_of_keys, "keys.hash", "keys.entity")
    at = int(positions(hashes[:], np.array([hash_of(units(key))], np.uint64))[0])
    return int(entities[at]) if at >= 0 else None


def words_of_names(index: Index) -> Arrays:
    """Return the hashes of the words of entity names, ascending, and the number of each one's entity."""
    names = column(index.entities, "name")
    words = [(word, number) for number, name in enumerate(names) for word in set(name_key(name).split())]
    hashes = np.array([hash_of([word]) for word, _ in words], np.uint64)
    order = np.argsort(hashes, kind="stable")
    entities = np.array([number for _, number in words], np.int32)
    return {"keys.part": hashes[order], "keys.part_entity": entities[order]}


def entities_with(words: Collection[str], index: Index) -> set[int]:
    """Return the numbers of the entities whose names contain all the words (at least one must be given)."""
    hashes, entities = index.looked_up(words_of_names, "keys.part", "keys.part_entity")
    codes: Ints = np.array([hash_of([word]) for word in words], np.uint64)
    first, last = (np.searchsorted(hashes[:], codes, side).tolist() for side in ("left", "right"))
    named: list[list[int]] = [entities[a:b].tolist() for a, b in zip(first, last, strict=True)]
    return set(named[0]).intersection(*named)
