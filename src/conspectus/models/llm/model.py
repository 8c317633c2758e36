"""A language model behind a server: renders tasks as prompts, sends them, and reads the replies.

If a reply cannot be read without guessing, or is not an answer to its task (`plausible`), the same request is sent
again, and then one that says what was wrong. A reply that reached its maximum of tokens is requested once more with
twice the maximum; one that was cut off earlier is requested again unchanged. A task that still fails raises a
ModelError that names it. `notices` lists what was left out of readable replies, or changed in them.

A `Session` is such a model for one run; `check` tests which features its server supports.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice, starmap
from pathlib import Path
from typing import Any, TypeVar, cast

from conspectus import references
from conspectus.errors import (
    BadReply,
    CallFailed,
    ConspectusError,
    ModelError,
    NotAccepted,
    SettingsError,
    Unusable,
)
from conspectus.models.base import Model, Tick, no_tick, performer_of, together, when_answered, writes
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.budget import open_budget
from conspectus.models.llm.plausible import flaw, opening_flaw
from conspectus.models.llm.prompts import Prompts
from conspectus.models.llm.replies import Parsed, parse, schema_of, strict
from conspectus.models.llm.sender import CachingSender, batches, open_sender
from conspectus.models.llm.wire import Completion, Feature, Message, Request, ResponseFormat, Sender, bias_to
from conspectus.rows import Finding, Usage
from conspectus.settings import EXTRACTIVE, Settings
from conspectus.tasks import (
    AnyMissed,
    DescribeElement,
    DescribeElements,
    Description,
    ExtractGraph,
    Extraction,
    PartialAnswer,
    ReduceAnswer,
    ReportDraft,
    Task,
)
from conspectus.tasks.base import TASKS, about, first_task
from conspectus.tokens import at_most, count

R = TypeVar("R")
SAMPLING = 0.7
"""Temperature of replies that are sampled to be compared (Graph RAG: self-consistency)."""
ROOM = 4096
"""Minimum tokens that a reply can have if no maximum is set; one cut off before counts as cut off with room left."""
MOST_FAILURES = {"cut off": 2, "cut off with room left": 5, "unreadable": 3}
"""Number of bad replies, by kind, after which a task fails. Being cut off with room left is a temporary fault."""
completions: ContextVar[list[Completion]] = ContextVar("completions")
"""List, set by a caller, to which the completions of its tasks are added, including those from the cache."""
MOST_DESCRIBED, DESCRIBED_CHARACTERS = 8, 6000
"""Maximum elements described in one call, and characters of their descriptions; a reply has some 1,500 tokens."""
OPENING = 160
"""Characters of a streamed answer that are checked before any are shown: the line on whether the data suffices, some 40
characters, and two sentences. This takes a second at most, at the 40 tokens per second of a slow server."""
SHOWN = 3
"""Notices of one task that are shown in full."""


class ChatModel:
    """A language model to which a Sender sends requests."""

    generative = True

    def __init__(self, sender: Sender, settings: Settings, extractive: Model | None = None) -> None:
        """Raise SettingsError if a prompt of the user is invalid, or a task is set to a model that cannot perform it.

        `extractive` is a model of the corpus; it performs the tasks that the settings assign to the extractive model.
        """
        self.extractive = extractive or ExtractiveModel()
        self.selected = frozenset(task for task in TASKS if settings.model_of(task) == EXTRACTIVE)
        """Names of the tasks that the extractive model performs."""
        self.name = settings.model
        self.notices: dict[str, dict[str, None]] = {}
        """Notices of what was left out of replies, or changed in them, by the names of the tasks."""
        self._sender = sender
        self._llm = settings.llm
        self._describe_tokens, self._strict = settings.reports.context_tokens, settings.reports.strict
        self._prompts = Prompts(Path(settings.llm.prompts) if settings.llm.prompts else None)
        for task in self.selected.intersection(settings.llm.tasks):
            if performer_of(TASKS[task]) is None:
                raise SettingsError(
                    f"`llm.tasks`: {task} needs a language model, {EXTRACTIVE} does not perform it"
                )

    async def perform(self, task: Task[R]) -> R:
        if not writes(self, type(task)):
            return await self.extractive.perform(task)
        if isinstance(task, DescribeElement):
            task = cast("Task[R]", await self._shortened(task))
        parsed = await self._reply(task)
        for text in parsed.notes:
            self._note(task, text)
        if isinstance(parsed.reply, Extraction):
            return cast("R", self._without_leaked(task, parsed.reply))
        return self._with_references(task, parsed.reply)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        """Perform all tasks concurrently; the sender decides the order of the calls.

        Raises Unusable, once all calls in progress have ended, if the model cannot be asked anything more.
        """
        described = await self._described(tasks)

        async def one(i: int, task: Task[R]) -> R | ModelError:
            try:
                if i in described:
                    return cast("R", described[i])
                return await when_answered(partial(self.perform, task))
            except ModelError as error:
                return error
            finally:
                tick()

        replies = list(await asyncio.gather(*starmap(one, enumerate(tasks))))
        if stop := next((reply for reply in replies if isinstance(reply, Unusable)), None):
            raise stop
        return replies

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        """Yield the reply piece by piece; each reference is checked, in the index's numbers, and whole in one piece."""
        if not writes(self, type(task)):
            yield await self.extractive.perform(task)
            return
        citations = _citations(task)
        try:
            async for piece in references.translate_stream(self._pieces(task), citations.translate):
                yield piece
        finally:
            self._note_removed(task, citations.removed)

    async def _pieces(self, task: Task[str]) -> AsyncIterator[str]:
        """Yield a reply as it arrives, from OPENING characters on; if it is flawed, ask again or raise BadReply."""
        request = self.request(task)
        text, shown = "", 0
        if self._sender.accepts(request.model, "streaming") is not False:
            try:
                async for piece in self._sender.stream(request):
                    text += piece
                    if shown or (len(text) >= OPENING and not any(map(opening_flaw, task.texts(text)))):
                        yield text[shown:]
                        shown = len(text)
                if not (why := flaw(task, text, request.messages)):
                    yield text[shown:]
                    return
                await self._sender.reject(request)
                if shown:
                    raise BadReply(f"the answer of {request.model} cannot be used: {why}; ask again")
            except NotAccepted:  # streaming is refused before the first piece
                pass
        yield (await self._reply(task)).reply

    # Asking

    def request(self, task: Task[Any]) -> Request:
        """Return the first request that is sent for a task; estimates of its cost are based on it too."""
        name = task.counted_as or type(task).__name__
        model = self._llm.tasks.get(name, self.name)
        schema = schema_of(task)
        takes: ResponseFormat = "text"
        if schema:
            for feature in ("json_object", "json_schema"):
                takes = feature if self._sender.accepts(model, feature) is not False else takes
        request = Request(
            messages=self._prompts.render(task),
            model=model,
            max_tokens=self._llm.max_tokens,
            temperature=self._llm.temperature,
            response_format=takes,
            schema=schema if takes == "json_schema" else None,
            schema_name=name if takes == "json_schema" else "",
            reasoning_effort=self._llm.reasoning_effort,
            task=name,
            size_setting=task.size_setting,
            priority=task.priority,
        )
        if task.sample:  # each sample number gives a different, but repeatable, reply
            return replace(request, temperature=SAMPLING, seed=task.sample)
        if isinstance(task, AnyMissed):
            words = ("是", "否") if task.language.startswith("zh") else ("yes", "no")
            bias = bias_to(model, words)
            if bias and self._sender.accepts(model, "logit_bias") is not False:
                return replace(request, logit_bias=bias, max_tokens=1)
            if self._sender.accepts(model, "json_schema") is not False:
                # vLLM, llama.cpp and Ollama restrict a reply by its schema, not by a bias
                schema = strict({"answer": {"type": "string", "enum": list(words)}})
                request = replace(request, response_format="json_schema", schema=schema)
                return replace(request, schema_name=name)
        return request

    async def _reply(self, task: Task[R]) -> Parsed[R]:
        """Ask until a reply can be read, as the docstring of this module describes."""
        request = first = self.request(task)
        failures: Counter[str] = Counter()
        wrong = ""
        while all(failures[kind] < most for kind, most in MOST_FAILURES.items()):
            request, completion = await self._send(request)
            if completion.cut_off_for(request):
                wrong = f"it was cut off after {completion.completion_tokens} tokens"
                if 0 < completion.completion_tokens < (request.max_tokens or ROOM):
                    failures["cut off with room left"] += 1
                else:
                    failures["cut off"] += 1
                    request = replace(request, max_tokens=request.max_tokens and 2 * request.max_tokens)
                continue
            try:
                parsed = parse(task, completion.text)
                if why := flaw(task, parsed.reply, first.messages):
                    raise BadReply(why)
                if request.key != first.key:
                    await self._sender.keep(first, completion)
                return parsed
            except BadReply as error:
                wrong = str(error)
                await self._sender.reject(request)
                failures["unreadable"] += 1
                if failures["unreadable"] == MOST_FAILURES["unreadable"] - 1:
                    messages = self._prompts.render_repair(task, completion.text, wrong)
                    request = replace(request, messages=messages)
        raise BadReply(f"{request.model} gave no usable reply to {about(task)}: {wrong}")

    async def _send(self, request: Request) -> tuple[Request, Completion]:
        """Send a request, without the features that its server refuses; return the request as sent and the reply."""
        while True:
            try:
                completion = await self._sender.send(request)
                completions.get([]).append(completion)
                return request, completion
            except NotAccepted as refusal:
                lesser = _without(request, refusal.feature, self._llm.max_tokens)
                if lesser == request:
                    raise
                request = lesser

    async def _described(self, tasks: Sequence[Task[Any]]) -> dict[int, Description | ModelError]:
        """Describe several elements per call, and cache each description as if its element had been described alone.

        Returns descriptions by the indices of their tasks. Tasks with a cached reply, with long descriptions, or
        without a usable description in the reply are left to `perform`.
        """
        several = writes(self, DescribeElement) and not self._strict
        described: dict[int, Description | ModelError] = {}
        waiting = (
            (str(i), "\n".join(task.descriptions))
            for i, task in enumerate(tasks)
            if several and isinstance(task, DescribeElement) and not self._sender.peek(self.request(task))
        )

        async def ask(numbers: Sequence[int]) -> None:
            elements = cast("tuple[DescribeElement, ...]", tuple(tasks[i] for i in numbers))
            first = elements[0]
            task = DescribeElements(elements, language=first.language, priority=first.priority)
            try:
                rows = (await when_answered(partial(self._reply, task))).reply
            except CallFailed:
                return
            except ModelError as error:
                described.update(dict.fromkeys(numbers, error))
                return
            known, texts = dict(enumerate(elements, 1)), dict[int, str]()
            for row in rows:  # an element without a usable description is described alone
                element = known.get(row.number)
                if element and not flaw(element, Description(row.text), self._prompts.render(element)):
                    texts[row.number] = row.text
            described.update((i, Description(texts[n])) for n, i in enumerate(numbers, 1) if n in texts)
            pairs = ((self.request(tasks[i]), texts[n]) for n, i in enumerate(numbers, 1) if n in texts)
            await together(self._sender.keep(one, Completion(text, "stop", 0, 0)) for one, text in pairs)

        calls = batches(waiting, MOST_DESCRIBED, DESCRIBED_CHARACTERS)
        await together(ask([int(key) for key, _ in batch]) for batch in calls if len(batch) > 1)
        return described

    async def _shortened(self, task: DescribeElement) -> DescribeElement:
        """Return the task with its first descriptions combined into one, repeatedly, until all fit the context."""
        while len(task.descriptions) > 2 and not at_most("\n".join(task.descriptions), self._describe_tokens):
            totals = accumulate(count(text) + 1 for text in task.descriptions)
            first = next((max(n, 2) for n, total in enumerate(totals) if total > self._describe_tokens), None)
            if first is None:
                break
            made = await self._reply(replace(task, descriptions=task.descriptions[:first]))
            descriptions = made.reply.text, *task.descriptions[first:]
            sources = task.sources and ("", *task.sources[first:])
            task = replace(task, descriptions=descriptions, sources=sources)
        return task

    # Replies

    def _without_leaked(self, task: Task[Any], graph: Extraction) -> Extraction:
        """Return the extraction from a chunk without names that occur only in the instructions (few-shot leakage)."""
        first = first_task(task)
        if not isinstance(first, ExtractGraph):
            return graph
        text = _plain(first.chunk.text)
        unnamed = {entity.name for entity in graph.entities if _plain(entity.name) not in text}
        if not unnamed:
            return graph
        prompt = _plain("\n".join(message.content for message in self._prompts.render(first)))
        leaked = sorted(name for name in unnamed if _plain(name) in prompt)
        if not leaked:
            return graph
        self._note(task, f"left out: {', '.join(leaked)}, which the instructions name and the text does not")
        return replace(
            graph,
            entities=tuple(e for e in graph.entities if e.name not in leaked),
            relationships=tuple(
                r for r in graph.relationships if r.source not in leaked and r.target not in leaked
            ),
        )

    def _with_references(self, task: Task[R], reply: R) -> R:
        """Return the reply with its references in the index's numbers, and without references to missing rows."""
        citations = _citations(task)
        translate, result = citations.translate, cast("Any", reply)
        if isinstance(reply, ReportDraft):
            findings = (Finding(f.summary, translate(f.explanation)) for f in reply.findings)
            result = replace(reply, summary=translate(reply.summary), findings=tuple(findings))
        elif isinstance(reply, PartialAnswer):
            result = replace(reply, text=translate(reply.text))
        elif isinstance(reply, str):
            result = translate(reply)
        self._note_removed(task, citations.removed)
        return cast("R", result)

    def _note(self, task: Task[Any], text: str) -> None:
        notices = self.notices.setdefault(type(task).__name__, {})
        # A dict, so that a task that is repeated after a batch gives its notices once.
        notices[f"{about(task)}: {text}"] = None

    def _note_removed(self, task: Task[Any], count: int) -> None:
        if count:
            what = "reference that leads" if count == 1 else "references that lead"
            self._note(task, f"left out: {count} {what} nowhere")
            references.removed_by_model.get([]).append(count)


def _citations(task: Task[Any]) -> references.Translation:
    """Return the translation of the references in the reply to a task into the index's numbers."""
    question, context = str(getattr(task, "question", "")), getattr(task, "context", None)
    if isinstance(task, ReduceAnswer):  # its answers use the index's numbers already
        shown = [question, *(answer.text for answer in task.answers)]
        given = {reference for text in shown for reference in references.find(text)}
        numbers = {reference.number for reference in given}
        return references.Translation(lambda r: r if r in given else None, shown, numbers)
    if context is None:
        return references.Translation()
    rows = max((len(rows) for _, rows in context.tables()), default=0)
    return references.Translation(context.to_index, [question, context.text], range(1, rows + 1))


def _without(request: Request, feature: str, max_tokens: int | None) -> Request:
    if feature == "logit_bias" and request.logit_bias:
        return replace(request, logit_bias=None, max_tokens=max_tokens)
    # The prompt of this task asks for a word, not for JSON.
    if feature == "json_schema" and request.task == AnyMissed.__name__:
        return replace(request, response_format="text", schema=None, schema_name="")
    if feature == "json_schema" and request.response_format == "json_schema":
        return replace(request, response_format="json_object", schema=None, schema_name="")
    if feature == "json_object" and request.response_format == "json_object":
        return replace(request, response_format="text")
    return request


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# Sessions


@dataclass(frozen=True)
class Session:
    """A language model for one run, with its usage and notices."""

    model: ChatModel
    sender: CachingSender

    def model_with(self, extractive: Model) -> ChatModel:
        """Return the model, set to use `extractive`, a model of the corpus or the index, for the extractive tasks."""
        self.model.extractive = extractive
        return self.model

    @property
    def usage(self) -> dict[str, Usage]:
        """Usage of each task so far."""
        return self.sender.budget.usage()

    @property
    def total(self) -> Usage:
        """Usage of all tasks so far."""
        return self.sender.budget.total()

    @property
    def budget_notices(self) -> tuple[str, ...]:
        """Notices of models that the budget of money does not limit."""
        return tuple(self.sender.budget.notices.values())

    @property
    def notices(self) -> tuple[str, ...]:
        """The budget notices, and the first SHOWN notices of each task on what was changed in its replies."""
        lines = list(self.budget_notices)
        for task, texts in sorted(self.model.notices.items()):
            lines += islice(texts, SHOWN)
            if len(texts) > SHOWN:
                lines.append(f"{len(texts) - SHOWN} more notices on {task}")
        return tuple(lines)


@asynccontextmanager
async def open_session(
    settings: Settings, folder: Path | None, *, to_ask: bool = True
) -> AsyncGenerator[Session]:
    """Open the model of the settings; its replies are cached in `folder` (nowhere, for None).

    Without `to_ask` no model is called, so that no key is needed.

    Raises UsageError if no server is known for a model or a budget of money lacks its price, BadKey if a key is
    missing, SettingsError if a prompt of the user is invalid: all before anything is read or any model is called.
    """
    budget = open_budget(settings)
    async with open_sender(settings.llm, folder, budget) as sender:
        for name in settings.language_models if to_ask else ():
            budget.check(name)
            sender.clients.of(name)
        yield Session(ChatModel(sender, settings), sender)


# Checking a server

NEEDED = ("chat", "embeddings")
"""Kinds of requests that a server must accept; the others have a substitute."""
MOST_TOKENS = 1500
"""Maximum tokens of a reply, including the thinking before it: a small model may not stop by itself."""
WORD = (Message("user", 'Reply with the JSON object {"word": "yes"} and nothing else.'),)
YES_OR_NO = (Message("user", "Is the sky green? Answer with one word, yes or no."),)
SCHEMA = strict({"word": {"type": "string"}})


@dataclass(frozen=True, slots=True)
class Checked:
    """The result for one kind of request: `ok` is None if it is unknown; `detail` is what was seen, or what to fix."""

    model: str
    kind: str
    ok: bool | None
    detail: str


async def check(session: Session, settings: Settings, embedder: str = "") -> list[Checked]:
    """Check every model in the settings, and the embedder if one is given; nothing is cached.

    If the request for a chat fails, the other requests to that model are skipped.
    """
    results: list[Checked] = []
    for model in settings.language_models:
        most = min(settings.llm.max_tokens or MOST_TOKENS, MOST_TOKENS)
        plain = Request(WORD, model, max_tokens=most, temperature=settings.llm.temperature)
        requests = {
            "chat": plain,
            "json_schema": replace(plain, response_format="json_schema", schema=SCHEMA, schema_name="Check"),
            "json_object": replace(plain, response_format="json_object"),
            "logit_bias": Request(YES_OR_NO, model, max_tokens=1, logit_bias=bias_to(model, ("yes", "no"))),
            "streaming": plain,
        }
        for kind, request in requests.items():
            results.append(Checked(model, kind, *await _check(session.sender, kind, request)))
            if kind == "chat" and not results[-1].ok:
                break
    if embedder:
        try:
            vectors, _ = await session.sender.clients.of(embedder).embed(["one", "two"])
            seen = True, f"vectors of {len(vectors[0])} numbers"
        except ConspectusError as error:  # also an unknown name or a missing extra
            seen = False, str(error)
        results.append(Checked(embedder, "embeddings", *seen))
    return results


async def _check(sender: CachingSender, kind: str, request: Request) -> tuple[bool | None, str]:
    """Send a request; return whether the server accepts it, and what was seen or the error that says what to fix."""
    if kind == "logit_bias" and not request.logit_bias:
        return None, "not used: the vocabulary of this model is not known"
    in_json = kind.startswith("json")
    if in_json and sender.accepts(request.model, cast("Feature", kind)) is False:
        return False, "this kind of server does not support it"
    try:
        client = sender.clients.of(request.model)
        *pieces, last = [piece async for piece in client.reply(request, stream=kind == "streaming")]
    except ConspectusError as error:
        passes = isinstance(error, CallFailed) and error.passing  # says nothing about the feature
        return None if passes and kind not in NEEDED else False, str(error)
    reply = cast("Completion", last)
    if kind == "streaming":
        return True, f"{len(pieces)} pieces"
    if in_json:
        try:
            json.loads(reply.text)
        except ValueError:
            return False, f"the server accepts it, but the reply is not JSON ({reply.text[:40]!r})"
        return True, "the reply is JSON"
    endless = ", where it was cut off: it may not know where to stop (llm.max_tokens)"
    cut = endless if reply.cut_off_for(request) else ""
    return True, f"{reply.prompt_tokens} tokens in, {reply.completion_tokens} out{cut}"
