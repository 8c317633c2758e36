"""Names in a question that no document has: who asks is told, since what is found then speaks of something else."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from conspectus.index import Index
from conspectus.messages import wording
from conspectus.text.question import read_question
from conspectus.text.words import name_key

ALIKE = 0.8
"""How like a known word a name has to be to be taken for it misspelt."""


def unknown_names(question: str, index: Index) -> list[str]:
    """Return the capitalised words inside a question that neither the documents nor the graph have."""
    known = index.number_of_word
    return [
        name
        for name in read_question(question, *index.languages).written_names
        if not any(term in known for term in index.terms(name)) and name_key(name) not in index.entity_of_key
    ]


def unknown_name_notice(question: str, index: Index) -> Iterator[str]:
    """Yield a notice of the names that are absent, if any, each with the known one that it is most like."""
    if absent := unknown_names(question, index):
        words = {name_key(word): word for entity in index.entities for word in entity.name.split()}
        words.pop("", None)
        shown: list[str] = []
        for name in absent:
            near = difflib.get_close_matches(name_key(name), words, n=1, cutoff=ALIKE)
            shown.append(f"{name} ({words[near[0]]}?)" if near else name)
        said = wording(index.language_of(question))
        yield said.absent.format(said.comma.join(shown))
