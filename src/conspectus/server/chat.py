"""The endpoint for chat clients under `/v1`, compatible with OpenAI's chat completions.

Each index is a model, `NAME`; a suffix selects a method, `NAME:walk`. The last message of the user is the question.
Citations are annotations of type `url_citation`, whose address opens the source in the web app.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from conspectus import api
from conspectus.errors import NotFound, UsageError
from conspectus.server.answers import Answers, Asking
from conspectus.server.errors import as_error
from conspectus.server.indexes import Indexes, ServedIndex
from conspectus.server.rest import finished

router = APIRouter(prefix="/v1")
Row = Mapping[str, Any]
"""A row of an answer as JSON."""


class TextPart(BaseModel):
    """A text part of a message; parts of other types are refused."""

    type: Literal["text"]
    text: str = Field(max_length=100_000)


class Message(BaseModel):
    """A message of a conversation; unused fields, such as names, are ignored."""

    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The text of the message, its parts joined by line breaks."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(BaseModel):
    """Options of a stream: whether it ends with the token usage."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a chat completion; sampling parameters are accepted and have no effect."""

    model_config = ConfigDict(extra="ignore")
    model: str = Field(max_length=300)
    messages: list[Message] = Field(min_length=1, max_length=2_000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None

    @property
    def question(self) -> str:
        """The last message of the user."""
        texts = [message.text for message in self.messages if message.role == "user" and message.text.strip()]
        if not texts:
            raise UsageError("there is no message with the role user")
        return texts[-1]

    @property
    def earlier(self) -> tuple[tuple[str, str], ...]:
        """The earlier questions with their answers."""
        spoken = [
            (m.role, m.text) for m in self.messages if m.role in ("user", "assistant") and m.text.strip()
        ]
        return tuple((a[1], b[1]) for a, b in pairwise(spoken) if (a[0], b[0]) == ("user", "assistant"))


@router.get("/models", summary="The indexes as models")
def models(request: Request) -> dict[str, Any]:
    """Return a model for each index, and one for each of its methods."""
    indexes: Indexes = request.app.state.indexes
    suffixes = ["", *(f":{method}" for method in api.METHODS)]
    rows = [model_row(name + suffix) for name in indexes for suffix in suffixes]
    return {"object": "list", "data": rows}


@router.get("/models/{model:path}", summary="One model")
def model(request: Request, model: str) -> dict[str, Any]:
    """Return a model by its name."""
    split_model(request.app.state.indexes, model)
    return model_row(model)


def model_row(name: str) -> dict[str, Any]:
    """Return a model in OpenAI's format."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "conspectus"}


def split_model(indexes: Indexes, model: str) -> tuple[ServedIndex, str]:
    """Return the index and method in a model's name; raise NotFound if either is unknown."""
    name, _, method = model.partition(":")
    served = indexes[name]
    if method and method not in api.METHODS:
        raise NotFound(f"there is no method {method!r}; methods are {', '.join(api.METHODS)}")
    return served, method


@router.post("/chat/completions", summary="Answer the last message of a conversation")
async def complete(request: Request, body: ChatRequest) -> Any:
    """Answer as a chat completion, at once or as a stream of chunks."""
    answers: Answers = request.app.state.answers
    served, method = split_model(request.app.state.indexes, body.model)
    index = await served.latest()
    asking = answers.start(body.question, served, index, {"method": method} if method else {}, body.earlier)
    if body.stream:
        usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = chunks_of(asking, body.model, str(request.base_url), usage=usage)
        return StreamingResponse(
            chunks, media_type="text/event-stream", headers={"cache-control": "no-store"}
        )
    answer = json.loads((await finished(request, asking)).body)
    message = {
        "role": "assistant",
        "content": shown_text(answer),
        "refusal": None,
        "annotations": list(citation_annotations(answer, served.name, str(request.base_url))),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = completion_head(asking, body.model, "chat.completion")
    return JSONResponse({**head, "choices": [choice], "usage": usage_of(answer)})


def completion_head(asking: Asking, model: str, kind: str) -> dict[str, Any]:
    """Return the fields that every completion and chunk begins with."""
    return {"id": f"chatcmpl-{asking.ask.id}", "object": kind, "created": int(time.time()), "model": model}


def shown_text(answer: Row) -> str:
    """Return the text of an answer followed by its sources, for clients that do not show annotations."""
    cited = [row for row in answer["citations"] if row["sources"]]
    lines = [f"- [{c['marker']}] {c['title'] or c['kind']}: {c['sources'][0]['document']}" for c in cited]
    return "\n".join([answer["text"], "", *lines] if lines else [answer["text"]])


def citation_annotations(answer: Row, index: str, base_url: str) -> Iterator[Row]:
    """Yield the citations of an answer as annotations: where its marker is, and the address of its first source."""
    for citation in answer["citations"]:
        marker = f"[{citation['marker']}]"
        start = answer["text"].replace("\\[", "\\(").find(marker)  # an escaped one is no marker
        if start < 0 or not citation["sources"]:
            continue
        source = citation["sources"][0]
        query = urlencode({"index": index, "start": source["start"], "end": source["end"]})
        url = f"{base_url.rstrip('/')}/documents/{quote(source['document'], safe='/')}?{query}"
        cited = {"start_index": start, "end_index": start + len(marker), "url": url}
        yield {
            "type": "url_citation",
            "url_citation": {**cited, "title": citation["title"] or source["document"]},
        }


def usage_of(answer: Row) -> dict[str, int]:
    """Return the tokens that an answer used of language models."""
    counts = {name: answer["usage"][name] for name in ("prompt_tokens", "completion_tokens")}
    return {**counts, "total_tokens": sum(counts.values())}


async def chunks_of(asking: Asking, model: str, base_url: str, *, usage: bool) -> AsyncGenerator[str]:
    """Yield an answer as the chunks of a stream; the final chunk of text has the citations."""
    head = completion_head(asking, model, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    sent = ""
    async for event in asking.follow():
        if event.kind == "text":
            sent += event.text
            yield chunk({"content": event.text})
        elif event.kind == "done":
            answer = json.loads(asking.body)
            text = shown_text(answer)
            rest = text.removeprefix(sent) if text.startswith(sent) else ""
            links = list(citation_annotations(answer, asking.ask.index, base_url))
            yield chunk({"content": rest, "annotations": links}, "stop")
            if usage:
                last: dict[str, Any] = {**head, "choices": [], "usage": usage_of(answer)}
                yield f"data: {json.dumps(last)}\n\n"
        elif event.kind == "error":
            yield f"data: {json.dumps(as_error(event.error)[1])}\n\n"
    yield "data: [DONE]\n\n"
