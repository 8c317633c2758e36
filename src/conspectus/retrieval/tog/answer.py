"""Answers of the search along the graph: what was found, and the paths and chunks it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conspectus import tokens
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.retrieval.bm25 import hit
from conspectus.retrieval.finish import finish, nothing_found
from conspectus.retrieval.run_sync import extractive, run_ready
from conspectus.retrieval.tog.explore import Explored, explore
from conspectus.rows import Answer, Hit, ReasoningPath, Relationship
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext, DraftAnswer
from conspectus.tasks.context import Context
from conspectus.text.relation_words import likeness, root, roots_of_label
from conspectus.text.words import terms
from conspectus.triple_graph import TripleGraph

MOST_SHOWN = 20
"""Answers named in the text; `short` holds all."""


async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by ToG-2, over the graph and the chunks of the index.

    Raises UsageError where the index has no graph.
    """
    return await _answer(question, index, model, settings, "tog")


async def answer_on_graph(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by Think-on-Graph: the same on the graph alone."""
    return await _answer(question, index, model, settings, "tog1")


async def _answer(question: str, index: Index, model: Model, settings: Settings, method: str) -> Answer:
    if not len(TripleGraph.of(index)):
        raise UsageError(f"{method} needs a graph, and this index has no triples and no relationships")
    found = await explore(question, index, model, settings, texts=method == "tog")
    evidence = evidence_of(found, index, settings) if method == "tog" else Context()
    if not found.trails:
        return nothing_found(question, index, method=method)
    if evidence.sources:
        task = AnswerFromContext(question, evidence)
        used = tokens.count(evidence.text)
        result = await finish(task, question, index, model, method=method, context_tokens=used)
        if not model.generative and TripleGraph.of(index).given:
            result, found = _with_graph(result, found, wording(index.language_of(question)).selected)
    else:
        words = wording(index.language_of(question))
        notice = words.written if model.generative else words.selected
        result = Answer(question, _listed(found), method, notices=(notice,))
    short = found.answers or await _from_what_there_is(question, found, evidence, model)
    if not evidence.sources and not found.answers and short:
        result = replace(result, text="\n".join(f"- {name}" for name in short))
    rounds = f"{found.rounds} round{'s' * (found.rounds != 1)} from {found.trails[0].start}"
    complete = "" if found.answers else "; its facts were not found to be complete"
    return replace(result, short=short, reasoning_paths=found.trails, why=f"{rounds}{complete}")


def _with_graph(quoted: Answer, found: Explored, notice: str) -> tuple[Answer, Explored]:
    """Return what a given graph answers beside what documents say, and what counts as found.

    Without a language model nobody tells which of the two answers: what says more of the question goes first,
    and the graph, whose plans always lead somewhere, is not heard where the documents do.
    """
    texts = [source.text for citation in quoted.citations for source in citation.sources]
    name = {*terms(found.trails[0].start)}
    asked = [t for t in terms(quoted.question) if t not in name]
    said = max(
        (sum(t in held for t in asked) / len(asked) for text in texts if asked and (held := {*terms(text)})),
        default=0.0,
    )
    if not found.answers or said > _said(asked, found.trails[0]):
        return quoted, replace(found, answers=())
    told = (_listed(found), quoted.text) if texts else (_listed(found),)
    return replace(quoted, text="\n\n".join(told), notices=(*quoted.notices, notice)), found


def _said(asked: Sequence[str], trail: ReasoningPath) -> float:
    """Return the share of words that the relations of a trail say."""
    labels = {r for triple in trail.triples for r in roots_of_label(triple.relation)}
    told = (max((likeness(root(word), label) for label in labels), default=0.0) for word in asked)
    return sum(told) / (len(asked) or 1)


async def _from_what_there_is(question: str, found: Explored, evidence: Context, model: Model) -> tuple[str, ...]:
    if not model.generative:
        return ()
    draft = await model.perform(DraftAnswer(question, trails=found.trails, evidence=evidence))
    return (draft.answer,)


def _listed(found: Explored) -> str:
    """Return the answers a line each, then the paths that were gone to them."""
    names = found.answers[:MOST_SHOWN] or tuple(trail.end for trail in found.trails)
    more = len(found.answers) - MOST_SHOWN
    lines = [f"- {name}" for name in names] + ([f"- and {more} more"] if more > 0 else [])
    paths = ["; ".join(f"{t.head} – {_label(t.relation)} – {t.tail}" for t in trail.triples) for trail in found.trails]
    return "\n".join(lines) + "\n\nPaths:\n\n" + "\n".join(f"- {path}" for path in paths)


def _label(relation: str) -> str:
    """Return a relation on one line: in a graph of descriptions, the first statement of it."""
    return relation.partition("\n")[0].replace("_", " ")


def evidence_of(found: Explored, index: Index, settings: Settings) -> Context:
    """Return the best chunks of a search and the relationships of its paths, as evidence."""
    chunks = tuple(index.chunks[chunk] for chunk, _ in found.chunks[: min(settings.tog.evidence, settings.tog.chunks)])
    pairs = {frozenset((t.head, t.tail)) for trail in found.trails for t in trail.triples}
    rows: list[Relationship] = []
    for name in {name for pair in pairs for name in pair} & index.entity_of_name.keys():
        for number in index.edges_of(index.entity_of_name[name]):
            row = index.relationships[number]
            if frozenset((row.source, row.target)) in pairs and row not in rows:
                rows.append(row)
    return Context(relationships=tuple(sorted(rows, key=lambda r: r.number)), sources=chunks)


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the ranking with the extractive model, which prunes by similarity."""
    return run_ready(rank_with(question, index, extractive(index), settings))


async def rank_with(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the search found most telling."""
    found = await explore(question, index, model, settings)
    return [hit(chunk, score, index) for chunk, score in found.chunks[: settings.search.k]]
