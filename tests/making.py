"""Small indexes and rows for tests, with fixed values for everything that a test does not specify."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from conspectus import tokens
from conspectus.algorithms.ranking import postings
from conspectus.index import Index
from conspectus.indexing.pipeline import BuildInput, build_index
from conspectus.models.base import Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Finding,
    Relationship,
    Report,
    Span,
    Usage,
    content_id,
)
from conspectus.settings import Settings
from conspectus.text.sentences import lines, sentences
from conspectus.text.words import terms

SEED = int(os.environ.get("TEST_SEED", "0"))
"""Number added to the seeds of tests with random cases: `TEST_SEED=7 make test` draws other cases."""

ANSWERING_METHODS = (
    "global",
    "local",
    "bm25",
    "walk",
    "hipporag",
    "hipporag2",
    "combined",
    "ircot",
    "tog",
    "raptor",
    "propositions",
    "source-summary",
)
"""Methods that work with every kind of index."""

FILLER = [
    f"The {a} of the {b} was {c} by the {d} after all."
    for a, b, c, d in zip(
        ("roof", "gate", "wall", "yard", "barn") * 6,
        ("mill", "farm", "inn", "forge", "chapel", "school") * 5,
        ("mended", "painted", "sold", "bought", "burned") * 6,
        ("owner", "smith", "priest", "teacher", "farmer", "miller") * 5,
        strict=True,
    )
]
BROKE = "The weir of Quenda broke in the flood of 1811, and eleven boats were lost."
BUILT = "Mara Tolan rebuilt the weir of Quenda in a single summer with twelve masons."
NEXT = "It cost her ninety pounds and a horse."


def a_document(text: str, number: int = 0, path: str = "", title: str = "") -> Document:
    path = path or f"{number}.txt"
    return Document(content_id("document", path, text), number, title or path, text, path)


def some_documents(*texts: str) -> list[Document]:
    return [a_document(text, number) for number, text in enumerate(texts)]


def whole_chunk(document: Document) -> Chunk:
    """Return a document as one chunk with the document's number."""
    size = len(document.text)
    return Chunk(
        content_id("chunk", document.id), document.number, document.id, 0, size, document.text,
        tokens.count(document.text),
    )  # fmt: skip


def an_entity(name: str, number: int = 0, type: str = "concept", **more: Any) -> Entity:
    more.setdefault("description", f"{name} is described.")
    return Entity(content_id("entity", name), number, name, type, **more)


def an_edge(source: str, target: str, number: int = 0, **more: Any) -> Relationship:
    source, target = sorted((source, target))
    more.setdefault("description", f"{source} goes with {target}.")
    return Relationship(content_id("relationship", source, target), number, source, target, **more)


def a_claim(subject: str, description: str, number: int = 0, **more: Any) -> Claim:
    return Claim(
        content_id("claim", subject, description),
        number,
        subject,
        more.pop("object", "NONE"),
        more.pop("type", "FACT"),
        more.pop("status", "TRUE"),
        description,
        **more,
    )


def a_report(title: str, number: int = 0, findings: Sequence[str] = (), **more: Any) -> Report:
    report = Report(
        content_id("report", title),
        number,
        more.pop("community", number),
        more.pop("level", 0),
        more.pop("parent", -1),
        more.pop("children", ()),
        title,
        more.pop("summary", f"{title}, in short."),
        more.pop("rating", 5.0),
        "",
        tuple(Finding(f"Finding {i}", text) for i, text in enumerate(findings)),
        more.pop("size", 3),
        more.pop("n_tokens", 0),
    )
    assert not more, f"a report has no {', '.join(more)}"
    return report if report.n_tokens else _counted(report)


def _counted(report: Report) -> Report:
    from dataclasses import replace

    return replace(report, n_tokens=tokens.count(report.text))


def an_index(
    *texts: str,
    entities: Sequence[str | Entity] = (),
    edges: Sequence[tuple[str, str] | Relationship] = (),
    claims: Sequence[Claim] = (),
    reports: Sequence[str | Report] = (),
    communities: Sequence[Community] = (),
) -> Index:
    """Return an index of texts, one chunk each; spans of entities and edges are where their names occur.

    Without `communities`, each report is on its own community on level 0 with all entities.
    """
    documents = some_documents(*texts)
    chunks = [whole_chunk(document) for document in documents]
    nodes = [_placed(e, i, documents) if isinstance(e, str) else e for i, e in enumerate(entities)]
    pairs = [_together(e, i, documents) if isinstance(e, tuple) else e for i, e in enumerate(edges)]
    written = [a_report(r, i) if isinstance(r, str) else r for i, r in enumerate(reports)]
    everything = tuple(range(len(nodes)))
    holders = communities or [
        Community(content_id("community", r.id), r.community, 0, -1, (), everything, tuple(range(len(pairs))))
        for r in written
    ]
    words, arrays = _arrays(documents, nodes)
    return Index(
        documents=documents,
        chunks=chunks,
        entities=nodes,
        relationships=pairs,
        claims=claims,
        communities=holders,
        reports=written,
        words=words,
        arrays=arrays,
    )


def a_built_index(*texts: str, **settings: Any) -> Index:
    """Build an index of texts without a language model; settings as `{"chunk": {"tokens": 100}}`."""
    return asyncio.run(
        build_index(
            BuildInput(some_documents(*texts), Settings.model_validate(settings)),
            lambda documents, lexicon: ExtractiveModel(SentenceStore.read(documents, lexicon)),
        )
    )


def _placed(name: str, number: int, documents: Sequence[Document]) -> Entity:
    places = [(d, d.text.find(name)) for d in documents if name in d.text]
    return an_entity(
        name,
        number,
        chunk_ids=tuple(whole_chunk(d).id for d, _ in places),
        spans=tuple(_sentence_at(d, at) for d, at in places),
    )


def _together(ends: tuple[str, str], number: int, documents: Sequence[Document]) -> Relationship:
    places = [d for d in documents if all(end in d.text for end in ends)]
    spans = tuple(_sentence_at(d, d.text.find(ends[0])) for d in places)
    return an_edge(*ends, number=number, chunk_ids=tuple(whole_chunk(d).id for d in places), spans=spans)


def _sentence_at(document: Document, at: int) -> Span:
    return next(
        Span(document.id, start, end) for _, start, end in _sentences([document]) if start <= at < end
    )


def _sentences(documents: Sequence[Document]) -> list[tuple[int, int, int]]:
    return [
        (i, a, b)
        for i, document in enumerate(documents)
        for start, end in lines(document.text)
        for a, b in sentences(document.text, start, end)
    ]


def _arrays(
    documents: Sequence[Document], entities: Sequence[Entity]
) -> tuple[tuple[str, ...], dict[str, np.ndarray[Any, Any]]]:
    rows = _sentences(documents)
    texts = [documents[d].text[a:b] for d, a, b in rows]
    number: dict[str, int] = {}
    of_sentence = [[number.setdefault(t, len(number)) for t in terms(text)] for text in texts]
    of_chunk = [[number.setdefault(t, len(number)) for t in terms(d.text)] for d in documents]
    mentions = [
        sorted(
            (e.number for e in entities if e.name in text),
            key=lambda n, text=text: text.find(entities[n].name),
        )
        for text in texts
    ]
    columns = np.array(rows, np.int32).reshape(-1, 3)
    return tuple(number), {
        "sentences.document": columns[:, 0],
        "sentences.start": columns[:, 1],
        "sentences.end": columns[:, 2],
        "sentences.speaker": np.full(len(rows), -1, np.int32),
        "sentences.mention_starts": np.cumsum([0, *map(len, mentions)]).astype(np.int32),
        "sentences.mentions": np.array([m for each in mentions for m in each], np.int32),
        **_postings(of_sentence, len(number)).arrays("sentence_terms"),
        **_postings(of_chunk, len(number)).arrays("chunk_terms"),
    }


def _postings(texts: Sequence[Sequence[int]], size: int) -> Any:
    flat = np.array([t for text in texts for t in text], np.int32)
    sizes = np.array([len(text) for text in texts], np.int32)
    return postings(flat, sizes, size=size)


class Letters:
    """An embedder whose vectors are the counts of letters in a text. It records the texts that it was given."""

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.given: list[str] = []
        self.usage = Usage()

    def unread(self, texts: Sequence[str]) -> float:
        return sum(letter > "z" for text in texts for letter in text) / max(sum(map(len, texts)), 1)

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.given += texts
        for _ in texts:
            tick()
        counts = [[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]
        vectors = np.array(counts, np.float32).reshape(-1, 26) + 1e-3
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def an_index_of_quenda(*texts: str) -> Index:
    return an_index(" ".join(FILLER), *texts, entities=["Quenda", "Mara Tolan"])
