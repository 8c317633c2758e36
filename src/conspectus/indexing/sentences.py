"""Read the sentences of a corpus shard by shard, and store those of each shard for the next build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from conspectus.algorithms.statistics import Ints
from conspectus.rows import Document
from conspectus.text.sentence_table import RawSentences, SentenceTable, sentences_in, speakers_in
from conspectus.text.vocabulary import TokenRows
from conspectus.workers import Workers


def map_sentences(documents: Sequence[Document], workers: Workers | None = None) -> Iterator[RawSentences]:
    """Start reading the sentences of documents; yield them shard by shard."""
    workers = workers or Workers()
    labels = _speakers(documents, workers)
    return workers.map_stored(
        sentences_in,
        [len(document.text) for document in documents],
        (f"{d.id} {d.omitted} {d.language} {d.path}" for d in documents),
        lambda shard: (shard, [documents[i] for i in shard], labels),
        lambda stored, shard: _loaded(stored, shard, [documents[i] for i in shard], labels),
        _stored,
    )


def _speakers(documents: Sequence[Document], workers: Workers) -> set[str]:
    """Return the labels of all speakers: written as names and recurring at the start of lines (see `speakers_in`)."""
    parts = workers.map_stored(
        speakers_in,
        [len(document.text) for document in documents],
        (f"{d.id} {d.omitted} {d.language} {d.path}" for d in documents),
        lambda shard: ([documents[i] for i in shard],),
        lambda stored, _: list(map(str, stored)),
    )
    return set(chain.from_iterable(parts))


def _stored(raw: RawSentences, shard: range) -> dict[str, Any]:
    """Return the sentences of a shard as integers of few bytes, without what the documents themselves contain."""
    table, tokens = raw.table, raw.tokens
    spans = table.document - shard.start, table.start, table.end, table.speaker + 1
    columns = *spans, tokens.form, tokens.sizes, tokens.rows
    small = [column.astype(np.min_scalar_type(column.max(initial=0))) for column in columns]
    marks = raw.marks[0], *(mark.astype(np.uint32) for mark in raw.marks[1:])
    texts = {"names": ("", *table.speakers), "forms": tokens.forms, "labels": raw.labels}
    return {"columns": small, "marks": marks, **texts}


def _loaded(
    stored: Mapping[str, Any], shard: range, documents: Sequence[Document], labels: set[str]
) -> RawSentences:
    """Return the stored sentences of a shard; raise ValueError if its labels have changed or the data is invalid."""
    if any((key in labels) != known for key, known in stored["labels"].items()):
        raise ValueError("the labels of speakers are others now")
    columns: list[Ints] = [column.astype(np.int32) for column in stored["columns"]]
    document, start, end, speaker, form, sizes, rows = columns
    names, forms = list(map(str, stored["names"])), list(map(str, stored["forms"]))
    ends = (document, len(documents)), (speaker, len(names)), (form, len(forms)), (rows, len(sizes))
    inside = all(not len(column) or 0 <= column.min() <= column.max() < n for column, n in ends)
    if not (inside and all(forms) and sizes.min(initial=0) >= 0 and sizes.sum() == len(form)):
        raise ValueError("there are no such tokens")
    length = np.array([len(document.text) for document in documents])[document]
    if (np.diff(document) < 0).any() or not ((start >= 0) & (start < end) & (end <= length)).all():
        raise ValueError("a sentence is not in its document")
    marks: list[Ints] = [mark.astype(np.int64) for mark in stored["marks"]]
    if [len(document), len(speaker), *map(len, marks)] != [len(rows)] * 6:
        raise ValueError("there are no such sentences")
    speaker = np.array([i if name else -1 for i, name in enumerate(names)], np.int32)[speaker]
    table = SentenceTable(document, start, end, speaker, tuple(names))
    tokens = TokenRows(forms, form, sizes, rows)
    return RawSentences(replace(table, document=document + shard.start), marks, tokens, {})
