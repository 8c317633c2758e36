"""Choose a method by the question, and say why."""

from __future__ import annotations

from conspectus.query.local import entities_in
from conspectus.tables import Index
from conspectus.text.question import read_question


def choose(question: str, index: Index) -> tuple[str, str]:
    """Return the method for a question, and the reason in a few words.

    What asks for the whole, or for what many say of a subject, is global; what names a thing that the graph knows is
    local; the rest is a look-up of words.
    """
    read = read_question(question)
    if index.reports and read.about_whole:
        return "global", "it asks about the corpus as a whole"
    named = [e for e in entities_in(question, index) if e.type != "concept"]
    if named:
        return "local", f"it names {', '.join(e.name for e in named[:3])}"
    if index.reports and read.about_many:
        return "global", "it asks what several sources say"
    if read.about_fact:
        return "local", "it asks for a fact"
    subjects = entities_in(question, index)
    if subjects:
        return "local", f"it is about {', '.join(e.name for e in subjects[:3])}"
    return "bm25", "it names nothing that the graph knows"
