"""Choose a method by the question, and say why."""

from __future__ import annotations

from conspectus.query.local import entities_in
from conspectus.tables import Index
from conspectus.text.question import read_question

COMMON = 0.25
"""What a larger share of the chunks mentions does not tell one question from another."""


def choose(question: str, index: Index) -> tuple[str, str]:
    """Return the method for a question, and the reason in a few words.

    What asks for the whole, or for what many say of a subject, is global; what names a thing that the graph
    knows, or asks for one fact, is local.
    """
    if len(index.triples) and not len(index.chunks):
        return "tog", "the index is a graph without text"
    read = read_question(question)
    if index.reports and read.about_whole:
        return "global", "it asks about the corpus as a whole"
    everywhere = COMMON * len(index.chunks)
    named = [e for e in entities_in(question, index) if e.type != "concept" and e.frequency <= everywhere]
    if named:
        return "local", f"it names {', '.join(e.name for e in named[:3])}"
    if index.reports and read.about_many:
        return "global", "it asks what several sources say"
    if read.about_fact:
        return "local", "it asks for a fact"
    subjects = entities_in(question, index)
    if subjects:
        return "local", f"it is about {', '.join(e.name for e in subjects[:3])}"
    return ("global", "it names nothing that the graph knows") if index.reports else ("bm25", "there are no reports")
