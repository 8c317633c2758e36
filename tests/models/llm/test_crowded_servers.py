"""A local server that works on all requests at once, so that each of them becomes slower."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Message, Request
from conspectus.settings import ModelSettings

WORK = 0.05
"""Seconds that a reply takes if there is no other request."""
STEP = 0.003


class Sharing:
    """Divides the processor equally among the running requests."""

    def __init__(self) -> None:
        self.under_way = 0
        self.asked = 0

    async def chat(self, request: web.Request) -> web.Response:
        await request.read()
        self.asked += 1
        self.under_way += 1
        try:
            left, seen = WORK, time.monotonic()
            while left > 0:
                await asyncio.sleep(STEP)
                seen, before = time.monotonic(), seen
                left -= (seen - before) / self.under_way
        finally:
            self.under_way -= 1
        message = {"role": "assistant", "content": "yes"}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}})


async def test_a_server_that_is_slow_for_being_asked_too_much_is_asked_less_until_it_answers() -> None:
    served = Sharing()
    application = web.Application()
    application.router.add_post("/v1/chat/completions", served.chat)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    settings = ModelSettings(base_url=url, concurrency=16, timeout=6 * WORK)
    try:
        async with CachingSender(settings, None, None, environ={}) as sender:
            requests = [
                Request((Message("user", str(n)),), "local/small", task="AnyMissed") for n in range(24)
            ]
            replies = await asyncio.gather(*map(sender.send, requests))
    finally:
        await site.stop()
        await runner.cleanup()

    assert [reply.text for reply in replies] == ["yes"] * 24
    assert served.asked > 24  # the first replies timed out
