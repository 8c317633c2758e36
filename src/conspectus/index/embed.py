"""Vectors of chunks and sentences, for an index that is built or being built.

Names under which an index keeps them, rows of length 1: `vectors.chunks` (float32, in the order of the
chunks) and `vectors.sentences` (float16, half the space, since few of them are read for a question). Both are
of the text with the title of its document before it. The `vectors` of the settings say whose they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from conspectus.index.triples import triple_vectors
from conspectus.models.base import Tick, no_tick
from conspectus.models.embedders import Embedder
from conspectus.tables import Index

BATCH = 256
"""Texts handed to the embedder at once."""


def embedded(index: Index, embedder: Embedder, name: str, tick: Tick = no_tick) -> Index:
    """Return an index with vectors by an embedder, in place of those it has; `name` is what `open_embedder`
    opens.

    The tick is called for each chunk and each sentence.
    """
    titles = [document.title for document in index.documents]
    number = {document.id: document.number for document in index.documents}
    chunks = (_titled(titles[number[c.document_id]], "\n", c.text) for c in index.chunks)
    vectors: dict[str, np.ndarray[Any, Any]] = {
        "vectors.chunks": _vectors(chunks, embedder, tick),
        "vectors.sentences": _vectors(_sentences(index, titles), embedder, tick).astype(np.float16),
    }
    if len(index.triples):
        vectors |= triple_vectors(index, embedder)
    made: Mapping[str, Any] = {"embedder": name, "model": embedder.name, "dimension": embedder.dimension}
    return replace(index, arrays={**index.arrays, **vectors}, settings={**index.settings, "vectors": made})


def _sentences(index: Index, titles: list[str]) -> Iterator[str]:
    spans = np.stack([index.arrays[f"sentences.{part}"] for part in ("document", "start", "end")], axis=1)
    for document, start, end in spans.tolist():
        text = index.documents[int(document)].text[int(start) : int(end)]
        yield _titled(titles[int(document)], ": ", " ".join(text.split()))


def _titled(title: str, joint: str, text: str) -> str:
    return f"{title}{joint}{text}" if title else text


def _vectors(texts: Iterable[str], embedder: Embedder, tick: Tick) -> np.ndarray[Any, np.dtype[np.float32]]:
    parts = [np.zeros((0, embedder.dimension), np.float32)]
    remaining = iter(texts)
    while batch := list(islice(remaining, BATCH)):
        parts.append(embedder.embed(batch))
        for _ in batch:
            tick()
    return np.concatenate(parts)
