"""Scores of passages for a question from a server, in the form of Cohere, Jina and vLLM, or of TEI where it wants that.

POST …/rerank {model, query, documents, top_n}   ->  {results: [{index, relevance_score}]}
POST …/rerank {query, texts, truncate}           ->  [{index, score}]
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, cast

import aiohttp

from conspectus import tokens
from conspectus.errors import ModelError, ServerFailed
from conspectus.models.base import together
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.cache import Attempt, ResponseCache
from conspectus.models.llm.calls import Call, Caller
from conspectus.models.llm.client import HttpClient
from conspectus.models.llm.http_errors import error_of_response, server_name
from conspectus.models.llm.providers import vocabulary
from conspectus.models.llm.wire import digest

PATH = "/rerank"
BATCH = 32
"""Passages in one request at the most: what servers take by default."""
_SCORE = struct.Struct("<d")


class RerankClient(HttpClient):
    """Asks one reranker, once per call: no cache, no retries, no limits."""

    _wants_texts = False

    async def rerank(self, question: str, passages: Sequence[str]) -> tuple[list[float], int]:
        """Return a score for each passage, and the tokens that it took."""
        while True:
            try:
                async with self._post(PATH, self._body(question, passages)) as response:
                    data = await response.read()
                    if response.status == 200:
                        return self._scores(data, question, passages)
                    text = data.decode("utf-8", "replace")
                    if response.status in (400, 422) and not self._wants_texts and "texts" in text:
                        self._wants_texts = True
                        continue
                    raise error_of_response(response.status, response.headers, text, self.endpoint, None)
            except (aiohttp.ClientError, OSError) as error:
                raise self._broken(error) from None

    def _body(self, question: str, passages: Sequence[str]) -> dict[str, Any]:
        if self._wants_texts:
            return {"query": question, "texts": list(passages), "truncate": True}
        body = {"query": question, "documents": list(passages), "top_n": len(passages)}
        return {"model": self.endpoint.model, **body} if self.endpoint.model else body

    def _scores(self, data: bytes, question: str, passages: Sequence[str]) -> tuple[list[float], int]:
        try:
            reply: Any = json.loads(data)
            rows = cast("list[Any]", reply if isinstance(reply, list) else reply["results"])
            by_index = {int(row["index"]): float(row.get("relevance_score", row.get("score"))) for row in rows}
            scores = [by_index[position] for position in range(len(passages))]
        except KeyError as missing:
            raise ServerFailed(f"{server_name(self.endpoint)} sent no score for some passages ({missing})") from None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._unreadable(data) from None
        return scores, _used(reply) or sum(tokens.count(text) for text in (question, *passages))


def _used(reply: Any) -> int:
    """Return the tokens that a reply tells, 0 where it tells none."""
    try:
        return int(reply["usage"]["total_tokens"])
    except (LookupError, TypeError, ValueError):
        return 0


async def scores(
    question: str,
    passages: Sequence[str],
    client: RerankClient,
    model: str,
    caller: Caller,
    replies: ResponseCache | None,
    ledger: Budget,
    task: str = "Rerank",
) -> list[float]:
    """Return a score for each passage, kept or asked for; each is paid for once for a question."""
    keys = [digest(["rerank", model, question, passage]) for passage in passages]
    cached: dict[str, bytes] = {}
    for key in keys:
        if key not in cached and replies is not None and (score := replies.get_bytes(key)) is not None:
            cached[key] = score
            ledger.count_cached(task)
    missing = [item for item in dict(zip(keys, passages, strict=True)).items() if item[0] not in cached]

    async def ask(batch: Sequence[tuple[str, str]]) -> None:
        texts = [text for _, text in batch]
        counted = sum(tokens.count(text, vocabulary(model)) for text in (question, *texts)) if caller.counted else 0
        call = Call(digest([key for key, _ in batch]), model, task, counted, 0)

        async def keep(reply: tuple[list[float], int], seconds: float) -> tuple[list[float], int]:
            data = {key: _SCORE.pack(score) for (key, _), score in zip(batch, reply[0], strict=True)}
            cached.update(data)
            if replies is not None:
                shares = [reply[1] // len(batch) + (n < reply[1] % len(batch)) for n in range(len(batch))]
                each = zip(data.items(), shares, strict=True)
                await replies.add([Attempt(key, model, task, "ok", b, "", used, 0, seconds) for (key, b), used in each])
            caller.record(call, "ok", reply[1], 0, seconds)
            return reply

        try:
            await caller.attempt(call, lambda _: client.rerank(question, texts), keep)
        except ModelError as error:
            error.args = (_named(str(error)),)
            raise

    await together(ask(missing[start : start + BATCH]) for start in range(0, len(missing), BATCH))
    return [_SCORE.unpack(cached[key])[0] for key in keys]


def _named(message: str) -> str:
    """Return an error's message with the flag that names the server of a reranker."""
    return message.replace("--base-url", "--rerank").replace("--model", "--rerank")
