"""Nearest neighbours by inner product: exact, block by block, so that memory does not grow with the number of
pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]

BLOCK = 1 << 22
"""Products held at once: 16 MB."""


def nearest(vectors: Floats, queries: Floats, k: int) -> tuple[Ints, Floats]:
    """Return for each query the places of the `k` vectors of the highest inner product, and these, the best
    first.

    `vectors` is of shape (n, d) and `queries` of shape (m, d); both results are of shape (m, min(k, n)).
    Equal products are in the order of their places.
    """
    k = min(k, len(vectors))
    rows = max(1, BLOCK // max(len(queries), 1))
    best = np.zeros((len(queries), 0), np.int64)
    products = np.zeros((len(queries), 0), np.float32)
    for start in range(0, len(vectors), rows):
        part = np.asarray(vectors[start : start + rows], np.float32)
        block: Floats = queries @ part.T
        places = np.tile(np.arange(start, start + len(part)), (len(queries), 1))
        products, best = np.hstack((products, block)), np.hstack((best, places))
        if products.shape[1] > k:
            # a stable sort of what is near the top alone: ties at the edge must not depend on the partition
            products, best = _top(products, best, k)
    order = np.argsort(-products, axis=1, kind="stable")
    return np.take_along_axis(best, order, 1), np.take_along_axis(products, order, 1)


def _top(products: Floats, places: Ints, k: int) -> tuple[Floats, Ints]:
    """Return the k largest columns of each row, of equal ones the first, in the order of their places."""
    edge = -np.partition(-products, k - 1, axis=1)[:, k - 1 : k]
    larger, equal = products > edge, products == edge
    room = k - larger.sum(axis=1, keepdims=True)
    kept = larger | (equal & (np.cumsum(equal, axis=1) <= room))
    return products[kept].reshape(len(products), k), places[kept].reshape(len(products), k)
