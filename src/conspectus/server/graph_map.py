"""The data of the map: positions and hierarchy as arrays of 32-bit numbers, and the names that label them.

Entities are points, the best connected first, so that the first points of the array are those that a small map shows.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from conspectus import Index
from conspectus.algorithms.layout import nested_discs
from conspectus.server.rest import Snapshot

router = APIRouter(prefix="/api/map")
MAX_EDGES = 60_000
"""Relationships that are sent, the strongest first: 480 kB. The page draws at most 12,000 of them at once."""
MAX_MAPS = 4
"""Snapshots whose maps stay in memory: 20 bytes an entity and 28 a community, 5 MB at 100,000 entities."""


@dataclass(frozen=True)
class MapData:
    """A map as it is sent, and its names."""

    arrays: bytes
    names: dict[str, list[str]]


_maps: OrderedDict[str, MapData] = OrderedDict()
_lock = Lock()


def map_of(index: Index) -> MapData:
    """Return the map of a snapshot, laid out once."""
    with _lock:
        if index.snapshot not in _maps:
            _maps[index.snapshot] = lay_out(index)
            while len(_maps) > MAX_MAPS:
                _maps.popitem(last=False)
        return _maps[index.snapshot]


def lay_out(index: Index) -> MapData:
    """Lay out an index and encode the result."""
    order = sorted(range(len(index.entities)), key=lambda n: (-index.entities[n].degree, n))
    point_of = np.empty(len(order), np.int64)
    point_of[order] = np.arange(len(order))
    strongest = sorted(index.relationships, key=lambda r: (-r.weight, r.number))
    number = index.entity_of_name
    ends = np.array([(number[r.source], number[r.target]) for r in strongest], np.int64).reshape(-1, 2)
    weights = np.array([r.weight for r in strongest], np.float64)
    members = {
        c.number: sorted(c.entity_numbers, key=lambda n: int(point_of[n]))
        for c in index.communities
        if not c.children
    }
    roots = [c.number for c in index.communities if c.parent < 0]
    layout = nested_discs(
        [c.children for c in index.communities], roots, members, (ends[:, 0], ends[:, 1], weights), len(order)
    )
    home = np.full(len(order), -1, np.int32)
    for community, entities in members.items():
        home[list(entities)] = community
    rows = np.array([(n, index.entities[n].degree, home[n]) for n in order], np.int32)
    pairs = point_of[ends[:MAX_EDGES]].astype(np.uint32)
    head = {
        "communities": len(index.communities),
        "entities": len(order),
        "edges": len(pairs),
        "levels": len(index.levels),
    }
    arrays = [layout.discs.astype("<f4"), _hierarchy(index), layout.points[order].astype("<f4"), rows, pairs]
    names = {
        "communities": [title_of(index, n) for n in range(len(index.communities))],
        "entities": [index.entities[n].name for n in order],
    }
    return MapData(_encoded(head, arrays), names)


def _hierarchy(index: Index) -> np.ndarray[Any, Any]:
    """Return level, parent, report and root of each community."""
    root: dict[int, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    for community in index.communities:
        parent = community.parent
        root[community.number] = community.number if parent < 0 else root[parent]
        report = index.report_of_community.get(community.number)
        rows.append((community.level, parent, report.number if report else -1, root[community.number]))
    return np.array(rows, np.int32).reshape(-1, 4)


def title_of(index: Index, community: int) -> str:
    """Return the title of a community's report, else the names of its three best connected entities."""
    if report := index.report_of_community.get(community):
        return report.title
    members = (index.entities[n] for n in index.communities[community].entity_numbers)
    best = sorted(members, key=lambda e: (-e.degree, e.number))[:3]
    return ", ".join(entity.name for entity in best)


def _encoded(head: dict[str, int], arrays: list[np.ndarray[Any, Any]]) -> bytes:
    """Return a header of JSON, its length before it, padded so that the arrays after it are aligned."""
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    return b"".join(
        [len(text).to_bytes(4, "little"), text, *(np.ascontiguousarray(a).tobytes() for a in arrays)]
    )


@router.get("", summary="Positions of communities and entities, as arrays", response_class=Response)
def arrays(index: Snapshot) -> Response:
    """Return the map as binary data: a JSON header and little-endian arrays of 32-bit numbers."""
    return Response(map_of(index).arrays, media_type="application/octet-stream")


@router.get("/names", summary="Names of what is on the map")
def names(request: Request, index: Snapshot) -> JSONResponse:
    """Return titles of communities and names of entities, in the order of the arrays."""
    return JSONResponse(map_of(index).names)
