"""Vectors of chunks, sentences, entities and triples, for an index that is built or being built.

An index stores them as arrays with these names, whose rows are vectors of length 1:

- `vectors.chunks`, in the order of the chunks: float32, which is fast to search.
- `vectors.sentences`: float16, which takes half the space, since few of them are read for a question.
- `vectors.entities`: float16, of names with descriptions, in the order of the entities, if there are any.
- `vectors.names`: float16, in the order of `triple_graph.TripleGraph`, if the index has triples.
- `vectors.triples`: float16, of the texts of triples, in their order, if chunks state the triples.
- `near.chunks`, `near.sentences`, `near.entities`: the same in lists (`ranking.VectorLists`), if there are many.

The text of a chunk or sentence is embedded with the title of its document before it. The `vectors` of the settings
describe the model: `embedder` (as for `open_embedder`), `model`, `dimension` and `unread`, the share of the letters of
the sentences that the model does not know; and, if there are any, `query_prefix` and `passage_prefix`, the latter of
which was put before each text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.algorithms.ranking import VectorLists
from conspectus.content import excerpt
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.models.embedders import Embedder, Prefixes, known_prefixes, same_model
from conspectus.rows import Chunk, Document
from conspectus.storage.arrays import NEAR
from conspectus.triple_graph import TripleGraph

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

Array = np.ndarray[Any, Any]

BATCH = 8192
"""Number of texts that are passed to the embedder at once."""
PREFIXES, CHUNKS, SENTENCES = ("vectors.", "near."), "vectors.chunks", "vectors.sentences"
ENTITIES = "vectors.entities"
MANY = 200_000
"""Number of vectors of a table above which a question is compared only with likely ones. Comparing this many takes 1.2
CPU s in a fresh process and 0.5 in a running one, the likely ones 0.14 and 0.03; with fewer, none should be missed."""
SAMPLE = 200
"""Number of sentences whose letters are examined to determine whether a model knows their script."""


def with_vectors(
    index: Index,
    embedder: Embedder,
    name: str,
    before: Index | None = None,
    progress: Progress | None = None,
    prefixes: Prefixes | None = None,
) -> Index:
    """Return an index with vectors by an embedder, which replace existing ones; `name` is that for `open_embedder`.

    Vectors of an index `before` by the same embedder are reused for equal texts. `prefixes` defaults to the known
    prefixes of the model.

    Raises the errors of the embedder.
    """
    query, passage = prefixes if prefixes is not None else known_prefixes(embedder.name)
    texts = texts_of(index)
    reusable = _reusable(before, embedder, passage) if before else {}
    tick = no_tick
    if progress:
        new = (
            set(contents).difference(reusable[array][0] if array in reusable else ())
            for array, contents in texts.items()
        )
        tick = progress.stage("embed", sum(map(len, new)))
    arrays = {key: array for key, array in index.arrays.items() if not key.startswith(PREFIXES)}
    for array, contents in texts.items():
        kind = np.float32 if array == CHUNKS else np.float16
        arrays[array] = _vectors(contents, embedder, kind, reusable.get(array), tick, passage)
        lists = array.replace("vectors.", "near.")
        if lists in NEAR and len(contents) > MANY:
            arrays |= VectorLists.made(arrays[array]).arrays(lists)
    sentences = texts[SENTENCES]
    sample = np.linspace(0, len(sentences) - 1, min(SAMPLE, len(sentences)))  # at equal distances
    unread = round(embedder.unread([sentences[int(row)] for row in sample]), 3)
    made: dict[str, Any] = {
        "embedder": name, "model": embedder.name, "dimension": embedder.dimension, "unread": unread
    }  # fmt: skip
    made |= {"query_prefix": query, "passage_prefix": passage} if query or passage else {}
    return replace(index, arrays=arrays, settings={**index.settings, "vectors": made})


def without_vectors(index: Index) -> Index:
    """Return an index without its vectors."""
    arrays = {key: array for key, array in index.arrays.items() if not key.startswith(PREFIXES)}
    return replace(index, arrays=arrays, settings={**index.settings, "vectors": {"embedder": "none"}})


def texts_of(index: Index) -> dict[str, list[str]]:
    """Return the texts of an index to embed, by the names of the arrays of their vectors."""
    spans = np.stack([index.arrays[f"sentences.{part}"] for part in ("document", "start", "end")], axis=1)
    texts = texts_of_sources(index.documents, index.chunks, spans)
    if len(index.entities):
        texts[ENTITIES] = [_titled(entity.name, ": ", entity.description) for entity in index.entities]
    if len(index.triples):
        graph = TripleGraph.of(index)
        texts["vectors.names"] = list(graph.names)
        if not graph.given:
            texts["vectors.triples"] = [f"{t.head} {t.relation} {t.tail}" for t in index.triples]
    return texts


def texts_of_sources(
    documents: Sequence[Document], chunks: Sequence[Chunk], spans: Array
) -> dict[str, list[str]]:
    """Return the texts to embed for chunks and for sentences; `spans` has rows of document number, start and end."""
    number_of = {document.id: document.number for document in documents}
    titles = [document.title for document in documents]
    rows: list[tuple[int, int, int]] = spans.tolist()
    return {
        CHUNKS: [_titled(titles[number_of[c.document_id]], "\n", c.text) for c in chunks],
        SENTENCES: [
            _titled(titles[number], ": ", " ".join(excerpt(documents[number], start, end).split()))
            for number, start, end in rows
        ],
    }


def _titled(title: str, joint: str, text: str) -> str:
    return f"{title}{joint}{text}" if title else text


Reusable = tuple[dict[str, int], Array]
"""The rows of texts, and the array whose rows are their vectors."""


def _reusable(before: Index, embedder: Embedder, prefix: str) -> dict[str, Reusable]:
    """Return the reusable vectors of an index by the names of the arrays, if it has the same embedder and prefix."""
    made: Mapping[str, Any] = before.settings.get("vectors", {})
    if not same_model(made.get("model", ""), embedder.name) or made.get("dimension") != embedder.dimension:
        return {}
    if made.get("passage_prefix", "") != prefix:
        return {}
    reusable: dict[str, Reusable] = {}
    for array, contents in texts_of(before).items():
        if array in before.arrays and len(before.arrays[array]) == len(contents):
            reusable[array] = {text: row for row, text in enumerate(contents)}, before.arrays[array]
    return reusable


def _vectors(
    texts: Sequence[str], embedder: Embedder, kind: Any, reusable: Reusable | None, tick: Tick, prefix: str
) -> Array:
    """Return the vectors of texts: reusable ones, and those of the other texts, each distinct one embedded once."""
    vectors = np.zeros((len(texts), embedder.dimension), kind)
    rows, old = reusable or ({}, vectors)
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text in rows:
            vectors[row] = old[rows[text]]
        else:
            first.setdefault(text, row)
    new = list(first)
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        vectors[[first[text] for text in batch]] = embedder.embed([prefix + text for text in batch], tick)
    for row, text in enumerate(texts):
        if first.get(text, row) != row:
            vectors[row] = vectors[first[text]]
    return vectors
