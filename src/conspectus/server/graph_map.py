"""The map of an index for the web app: positions as arrays, and names. The layout is computed once per snapshot."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from conspectus import Index
from conspectus.errors import ConspectusError
from conspectus.interchange.map import MapData, stored_map
from conspectus.server.indexes import ServedIndex
from conspectus.server.rest import Snapshot

router = APIRouter(prefix="/api/map")
MAX_MAPS = 4
"""Snapshots whose maps stay in memory: 20 bytes per entity and 28 per community, 5 MB at 100,000 entities."""


class Maps:
    """The maps that were requested last; requests that wait for the same map occupy only one thread."""

    def __init__(self, *, write: bool) -> None:
        self._write = write
        self._maps: OrderedDict[str, asyncio.Future[MapData]] = OrderedDict()

    async def of(self, index: Index) -> MapData:
        """Return the map of a snapshot; if the server may write, the map is stored with the index."""
        asked = self._maps.get(index.snapshot)
        if asked is None or (asked.done() and asked.exception()):
            made = run_in_threadpool(stored_map, index, write=self._write)
            asked = self._maps[index.snapshot] = asyncio.ensure_future(made)
            while len(self._maps) > MAX_MAPS:
                self._maps.popitem(last=False)
        return await asyncio.shield(asked)

    async def prepare(self, served: ServedIndex) -> None:
        """Compute the map of an index before the first request, if there is an index."""
        with suppress(ConspectusError):
            await self.of(await served.latest())


@router.get("", summary="Positions of communities and entities, as arrays", response_class=Response)
async def arrays(request: Request, index: Snapshot) -> Response:
    """Return the map as binary data: a JSON header and little-endian arrays of 32-bit numbers."""
    return Response((await request.app.state.maps.of(index)).arrays, media_type="application/octet-stream")


@router.get("/names", summary="Names of what is on the map")
async def names(request: Request, index: Snapshot) -> JSONResponse:
    """Return the titles of communities and the names of entities, in the order of the arrays."""
    return JSONResponse((await request.app.state.maps.of(index)).names)
