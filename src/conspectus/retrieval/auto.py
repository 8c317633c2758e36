"""Choose a method for a question, and give the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from conspectus.index import Index
from conspectus.models.extractive.search import Searcher
from conspectus.retrieval.local import entities_in
from conspectus.rows import Entity
from conspectus.text.question import Question, read_question

Choice = Literal["global", "rollup", "source-summary", "local", "mixed", "tog"]
"""The methods to choose from."""
COMMON = 0.25
"""Maximum share of the chunks that mention an entity; a more frequent one does not distinguish questions."""
IN_ONE = 0.6
"""Minimum share of a question's known words, weighted by squared IDF, in a sentence about the one thing asked for.
There is such a sentence for all 84 questions of MedQuAD like "What are the symptoms of asthma?", and for one of 12
similar questions on the podcasts, which ask what many sources say."""
SPECIFIC = 0.05
"""Maximum share of sentences, or chunks, about one thing: 1 % for MedQuAD's questions, 0.3 % for that on podcasts."""
LONGEST_OF_MANY = 10
"""Maximum number of content words in a question about the whole or about many sources: there are 1 to 9 in the 125
questions on the podcasts, 12 to 28 in those on the society pages, which ask for one thing in detail."""
FEW_CHUNKS = 20
"""Maximum number of chunks that one or two calls can read: as many as two windows hold at 600 tokens a chunk."""


def without_reports(index: Index) -> Choice:
    """Return the method for a question about the whole corpus that no report answers."""
    return "source-summary" if len(index.chunks) <= FEW_CHUNKS else "mixed"


def choose(question: str, index: Index) -> tuple[Choice, str]:
    """Return the method for a question, and the reason in a few words.

    A question about the whole, or about what many sources say on a subject, gets global (rollup if the index has no
    reports); one about entities of the graph gets local; one for a fact, or that combines facts, gets mixed.
    """
    if (len(index.triples) or index.graph_file) and not len(index.chunks):
        return "tog", "the index is a graph without text"
    read = read_question(question, *index.languages)
    of_all: Choice | None = "global" if index.reports else "rollup" if index.communities else None
    particular = min(len(read.focus), len(question.split())) > LONGEST_OF_MANY
    if read.about_whole and not particular:
        why = "it asks about the corpus as a whole"
        if of_all:
            return of_all, why
        return without_reports(index), f"{why}, and there are no reports"
    subjects = entities_in(question, index)
    everywhere = COMMON * len(index.chunks)
    proper = [e for e in subjects if e.type != "concept"]
    named = [e for e in proper if e.frequency <= everywhere]
    of_many = read.about_many and not particular
    if of_many and not read.about_sources:
        of_many = not _is_about_one(read, subjects, index)
    if of_all and of_many and not named and not read.names:
        return of_all, "it asks what several sources say"
    lookup: Choice = "mixed"
    if subjects and index.settings.get("imported", {}).get("format") == "triples":
        lookup = "tog"  # a given graph knows more than the texts say
    if read.asks_relation and proper and len(subjects) > 1:
        return "local", f"it asks how {_listed(subjects)} go together"
    if read.joins_facts:
        return lookup, "it joins facts"
    if named and (read.asks_description or of_many or not read.asks_fact):
        return "local", f"it is about {_listed(named)}"
    names = read.full_names if read.about_sources else read.names
    if of_all and of_many and (proper or not names):
        return of_all, "it asks what several sources say"
    if subjects and (read.asks_description or not read.asks_fact):
        return "local", f"it is about {_listed(subjects)}"
    if read.asks_fact:
        return lookup, "it asks for a fact"
    return "mixed", "it names nothing the graph knows"


def _is_about_one(question: Question, subjects: Sequence[Entity], index: Index) -> bool:
    """Return whether some sentences, but few, contain most of what a question asks for, e.g. the symptoms of asthma, or
    few chunks mention a subject of it, if it asks for something with typical wording (symptoms, causes, treatments).
    """
    few = SPECIFIC * len(index.chunks)
    if question.cues and any(e.frequency <= few for e in subjects):
        return True
    if "sentence_terms.starts" not in index.arrays:
        return False
    searcher = Searcher(index)
    known = {term: searcher.weight(term) for term in question.focus if searcher.frequency(term)}
    shares = searcher.holding(known)[1]
    return 0 < int((shares > IN_ONE).sum()) <= SPECIFIC * len(searcher.passages)


def _listed(entities: Sequence[Entity]) -> str:
    return ", ".join(entity.name for entity in entities[:3])
