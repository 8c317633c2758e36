"""Vectors of chunks and sentences, for an index that is built or being built.

Names under which an index keeps them, rows of length 1:

- `vectors.chunks`, in the order of the chunks: float32, which is searched fast.
- `vectors.sentences`: float16, half the space, since few of them are read for a question.
- `vectors.entities`: float16, of names with descriptions, in the order of the entities, where there are any.
- `vectors.names`: float16, where the index has triples, as `triples.TripleGraph` orders them.
- `vectors.triples`: float16, of the texts of triples that chunks say, in their order.
- `near.chunks`, `near.sentences`, `near.entities`: the same in lists (`ranking.VectorLists`), where they are many.

Vectors of chunks and sentences are of the text with the title of its document before it. The `vectors` of the settings
say whose they are: `embedder` (what `open_embedder` opens), `model`, `dimension` and `unread`, the share of the letters
of the sentences that the model does not know; `query_prefix` and `passage_prefix` where there are any, of which the
latter was put before each text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.algorithms.ranking import VectorLists
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.models.embedders import Embedder, Prefixes, known_prefixes, same_model
from conspectus.rows import Chunk, Document
from conspectus.storage.arrays import NEAR
from conspectus.text.cleaning import excerpt
from conspectus.triple_graph import TripleGraph

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

Array = np.ndarray[Any, Any]

BATCH = 8192
"""Texts handed to the embedder at once."""
PREFIXES, CHUNKS, SENTENCES = ("vectors.", "near."), "vectors.chunks", "vectors.sentences"
ENTITIES = "vectors.entities"
MANY = 200_000
"""Vectors of a table beyond which a question is compared with likely ones alone. So many take 1.2 CPU s in a fresh
process and 0.5 in an open one, the likely ones 0.14 and 0.03; of fewer, it is better to miss none."""
SAMPLE = 200
"""Sentences whose letters are looked at to tell whether a model knows their script."""


def with_vectors(
    index: Index,
    embedder: Embedder,
    name: str,
    before: Index | None = None,
    progress: Progress | None = None,
    prefixes: Prefixes | None = None,
) -> Index:
    """Return an index with vectors by an embedder, in place of those it has; `name` is what `open_embedder` opens.

    Texts that an index `before` has vectors of by the same embedder are not embedded again. Without `prefixes` they are
    those that are reusable of the model.

    Raises what the embedder does.
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
    """Return what is embedded of an index, by the names of the arrays."""
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
    """Return what is embedded of chunks, and of sentences given as rows of document, start and end."""
    number = {document.id: document.number for document in documents}
    titles = [document.title for document in documents]
    return {
        CHUNKS: [_titled(titles[number[c.document_id]], "\n", c.text) for c in chunks],
        SENTENCES: list(_sentences(documents, titles, spans)),
    }


def _sentences(documents: Sequence[Document], titles: list[str], spans: Array) -> Iterator[str]:
    rows: list[tuple[int, int, int]] = spans.tolist()
    for document, start, end in rows:
        yield _titled(titles[document], ": ", " ".join(excerpt(documents[document], start, end).split()))


def _titled(title: str, joint: str, text: str) -> str:
    return f"{title}{joint}{text}" if title else text


Reusable = tuple[dict[str, int], Array]
"""Rows of texts, and the vectors in these rows."""


def _reusable(before: Index, embedder: Embedder, prefix: str) -> dict[str, Reusable]:
    """Return the texts that an index has vectors of behind a prefix, and these, by the names of the arrays."""
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
    """Return the vectors of texts: those that are reusable, and of the others each different one embedded once."""
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
