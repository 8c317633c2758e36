"""The map of an index for the web app: positions as arrays, and names. Each snapshot is laid out once."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from conspectus import Index
from conspectus.interchange.map import MapData, map_data
from conspectus.server.rest import Snapshot

router = APIRouter(prefix="/api/map")
MAX_MAPS = 4
"""Snapshots whose maps stay in memory: 20 bytes an entity and 28 a community, 5 MB at 100,000 entities."""

_maps: OrderedDict[str, MapData] = OrderedDict()
_lock = Lock()


def map_of(index: Index) -> MapData:
    """Return the map of a snapshot, laid out once."""
    with _lock:
        if index.snapshot not in _maps:
            _maps[index.snapshot] = map_data(index)
            while len(_maps) > MAX_MAPS:
                _maps.popitem(last=False)
        return _maps[index.snapshot]


@router.get("", summary="Positions of communities and entities, as arrays", response_class=Response)
def arrays(index: Snapshot) -> Response:
    """Return the map as binary data: a JSON header and little-endian arrays of 32-bit numbers."""
    return Response(map_of(index).arrays, media_type="application/octet-stream")


@router.get("/names", summary="Names of what is on the map")
def names(index: Snapshot) -> JSONResponse:
    """Return titles of communities and names of entities, in the order of the arrays."""
    return JSONResponse(map_of(index).names)
