"""A language model behind a server: renders tasks, sends them, and reads the replies.

A reply that cannot be read without guessing is asked for again by the same request, then by one that
tells what was wrong with it; one that was cut off for want of room is asked for once more, with twice the
room, and one that was cut off with room left by the same request again. What then still fails is a
ModelError that names the task. What was left out of replies that could be read stands in `notices`.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from conspectus import references
from conspectus.errors import BadReply, ModelError, NotAccepted, SettingsError, Unusable
from conspectus.models.base import Tick, no_tick
from conspectus.models.llm.prompts import Prompts
from conspectus.models.llm.replies import Parsed, parse, schema_of
from conspectus.models.llm.wire import Completion, Request, ResponseFormat, Sender
from conspectus.rows import Finding
from conspectus.settings import Settings
from conspectus.tasks import (
    AnyMissed,
    DescribeElement,
    Description,
    ExtractGraph,
    Extraction,
    GleanMore,
    PartialAnswer,
    ReduceAnswer,
    ReportDraft,
    Task,
    Turn,
)
from conspectus.tasks.base import TASKS, Context
from conspectus.tokens import at_most, count, encoding

R = TypeVar("R")
SAMPLING = 0.7
"""Temperature of replies that are sampled to be compared (Graph RAG: self-consistency)."""
ROOM = 4096
"""Tokens that a reply has room for at the least where no maximum is set."""
CUTS, EARLY_CUTS, UNREAD = 2, 5, 3
"""Replies to one request after which it counts as failed: cut off, cut off with room left, and unreadable."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something of a reply that was not used, or was mended: which task, about what, and what it was."""

    task: str
    about: str
    text: str


class ChatModel:
    """Any model that a Sender reaches."""

    generative = True

    def __init__(self, sender: Sender, settings: Settings) -> None:
        """Raise SettingsError where a prompt of the user's or a model of a single task is set wrong."""
        self.name = settings.model
        self.notices: list[Notice] = []
        self._sender = sender
        self._llm = settings.llm
        self._describe_tokens = settings.reports.context_tokens
        folder = Path(settings.llm.prompts) if settings.llm.prompts else None
        self._prompts = Prompts(folder)
        for task in settings.llm.tasks:
            if task not in TASKS:
                near = difflib.get_close_matches(task, TASKS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TASKS)}"
                raise SettingsError(f"`llm.tasks` names a task that there is not, {task}: {hint}")

    async def perform(self, task: Task[R]) -> R:
        if isinstance(task, DescribeElement):
            task = cast("Task[R]", await self._shortened(task))
        parsed = await self._reply(task)
        for text in (*(f"left out: {what}" for what in parsed.dropped), *parsed.repaired):
            self._note(task, text)
        if isinstance(parsed.reply, Extraction):
            return cast("R", self._without_leaked(task, parsed.reply))
        return self._with_references(task, parsed.reply)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        """Perform tasks all at once; who waits for whom is the sender's business.

        Raises Unusable, when all calls under way have ended, where nothing more can be asked of the model.
        """

        async def one(task: Task[R]) -> R | ModelError:
            try:
                return await self.perform(task)
            except ModelError as error:
                return error
            finally:
                tick()

        replies = list(await asyncio.gather(*map(one, tasks)))
        if stop := next((reply for reply in replies if isinstance(reply, Unusable)), None):
            raise stop
        return replies

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        """Yield the text piece by piece; a reference when it is whole and checked, in the index's numbers."""
        citations = _Citations(task)
        try:
            async for piece in references.translate_stream(self._pieces(task), citations.translate):
                yield piece
        finally:
            self._note_removed(task, citations)

    async def _pieces(self, task: Task[str]) -> AsyncIterator[str]:
        request = self.request(task)
        begun = False
        if self._sender.accepts(request.model, "streaming") is not False:
            try:
                async for piece in self._sender.stream(request):
                    begun = True
                    yield piece
                return
            except NotAccepted as refusal:
                if begun or refusal.feature != "streaming":
                    raise
        yield (await self._reply(task)).reply

    # Asking

    def request(self, task: Task[Any]) -> Request:
        """Return what is sent for a task first: also what an estimate of its cost stands on."""
        name = type(task).__name__
        model = self._llm.tasks.get(name, self.name)
        schema = schema_of(task)
        takes = self._format(model) if schema else "text"
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
        if task.sample:  # each number is another reply, and the same one again
            return replace(request, temperature=SAMPLING, seed=task.sample)
        if isinstance(task, AnyMissed) and self._sender.accepts(model, "logit_bias") is not False:
            words = ("是", "否") if task.language.startswith("zh") else ("yes", "no")
            if bias := bias_to(model, words):
                return replace(request, logit_bias=bias, max_tokens=1)
        return request

    def _format(self, model: str) -> ResponseFormat:
        formats: tuple[Literal["json_schema"], Literal["json_object"]] = ("json_schema", "json_object")
        for feature in formats:
            if self._sender.accepts(model, feature) is not False:
                return feature
        return "text"

    async def _reply(self, task: Task[R]) -> Parsed[R]:
        """Ask until a reply can be read, as the head of this module says."""
        request = first = self.request(task)
        rejected: tuple[str, str] | None = None
        wrong = ""
        cuts = early_cuts = unread = 0
        while cuts < CUTS and early_cuts < EARLY_CUTS and unread < UNREAD:
            if unread == UNREAD - 1 and rejected:
                request = replace(request, messages=self._prompts.render_repair(task, *rejected))
                rejected = None
            request, completion = await self._send(request)
            if completion.cut_off_for(request):
                wrong = f"it was cut off after {completion.completion_tokens} tokens"
                if 0 < completion.completion_tokens < (request.max_tokens or ROOM):
                    early_cuts += 1  # not for want of room: the server's fault, which passes
                else:
                    cuts += 1
                    request = replace(request, max_tokens=request.max_tokens and 2 * request.max_tokens)
                continue
            try:
                parsed = parse(task, completion.text)
                if request.key != first.key and not completion.cached:
                    await self._sender.keep(first, completion)
                return parsed
            except BadReply as error:
                unread += 1
                wrong = str(error)
                rejected = completion.text, wrong
                await self._sender.mark(request, "unparsable")
        raise BadReply(f"{request.model} gave no usable reply to {about(task)}: {wrong}")

    async def _send(self, request: Request) -> tuple[Request, Completion]:
        """Send a request, without what its server turns out not to take; return what was sent in the end."""
        while True:
            try:
                return request, await self._sender.send(request)
            except NotAccepted as refusal:
                lesser = _without(request, refusal.feature, self._llm.max_tokens)
                if lesser == request:
                    raise
                request = lesser

    async def _shortened(self, task: DescribeElement) -> DescribeElement:
        """Return the task with its first descriptions made into one, as often as it takes for all to fit."""
        while len(task.descriptions) > 2 and not at_most("\n".join(task.descriptions), self._describe_tokens):
            first = _fitting(task.descriptions, self._describe_tokens)
            if first == len(task.descriptions):
                break
            made: Parsed[Description] = await self._reply(replace(task, descriptions=task.descriptions[:first]))
            task = replace(task, descriptions=(made.reply.text, *task.descriptions[first:]))
        return task

    # What comes back

    def _without_leaked(self, task: Task[Any], graph: Extraction) -> Extraction:
        """Return what was found in a chunk without names that only the instructions have, as those of an example."""
        while isinstance(task, GleanMore):
            task = task.after.task
        if not isinstance(task, ExtractGraph):
            return graph
        text = _plain(task.chunk.text)
        unnamed = {entity.name for entity in graph.entities if _plain(entity.name) not in text}
        # The instructions are rendered only where a name is not in the text, which is seldom.
        prompt = _plain("\n".join(message.content for message in self._prompts.render(task))) if unnamed else ""
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
        """Return the reply with its references in the index's numbers, without those that lead nowhere."""
        citations = _Citations(task)
        translate, result = citations.translate, cast("Any", reply)
        match reply:
            case ReportDraft():
                findings = (Finding(f.summary, translate(f.explanation)) for f in reply.findings)
                result = replace(reply, summary=translate(reply.summary), findings=tuple(findings))
            case PartialAnswer():
                result = replace(reply, text=translate(reply.text))
            case str():
                result = translate(reply)
            case _:
                pass
        self._note_removed(task, citations)
        return cast("R", result)

    def _note(self, task: Task[Any], text: str) -> None:
        self.notices.append(Notice(type(task).__name__, about(task), text))

    def _note_removed(self, task: Task[Any], citations: _Citations) -> None:
        if citations.removed:
            self._note(task, f"left out: {citations.removed} references that lead nowhere")
            references.removed_by_model.get([]).append(citations.removed)


class _Citations:
    """Puts the references in the reply to a task in the index's numbers, and counts those that lead nowhere."""

    def __init__(self, task: Task[Any]) -> None:
        self._context: Context | None = getattr(task, "context", None)
        self._shown = [str(getattr(task, "question", ""))]
        """What the model was shown, but for the context: a `[77]` that it repeats is no reference."""
        self._given: set[references.Reference] | None = None
        """The references that an answer made of others may use, as they are: in the index's numbers already."""
        if isinstance(task, ReduceAnswer):
            self._shown += [answer.text for answer in task.answers]
            self._given = {reference for text in self._shown for reference in references.find(text)}
        self._fence: str = ""
        """What opened the code in which a piece ended."""
        self.removed = 0

    def translate(self, text: str) -> str:
        if self._context is None and self._given is None:
            return text
        fence = self._fence
        text, unknown = references.without_unknown(fence + text, self._knows)
        inline = text.rpartition("\n")[2].replace("```", "").count("`") % 2
        self._fence = "```" if text.count("```") % 2 else "`" * inline
        text, removed = references.translate(text.removeprefix(fence), self._to_index)
        self.removed += removed + unknown
        return text

    def _to_index(self, reference: references.Reference) -> references.Reference | None:
        if self._given is not None:
            return reference if reference in self._given else None
        return self._context.to_index(reference) if self._context else None

    def _knows(self, number: int) -> bool:
        """Tell whether there is a row of a number, or the model was shown the number in brackets."""
        if self._context:
            rows = max((len(rows) for _, rows in self._context.tables()), default=0)
            texts = [*self._shown, self._context.text]
        else:
            rows, texts = 0, self._shown
        given = any(reference.number == number for reference in self._given or ())
        return given or 0 < number <= rows or any(f"[{number}]" in text for text in texts)


def _without(request: Request, feature: str, max_tokens: int | None) -> Request:
    if feature == "logit_bias" and request.logit_bias:
        return replace(request, logit_bias=None, max_tokens=max_tokens)
    if feature == "json_schema" and request.response_format == "json_schema":
        return replace(request, response_format="json_object", schema=None, schema_name="")
    if feature == "json_object" and request.response_format == "json_object":
        return replace(request, response_format="text")
    return request


def _fitting(texts: Sequence[str], limit: int) -> int:
    """Return how many of the first texts fit in a limit of tokens, at least two."""
    total = 0
    for n, text in enumerate(texts):
        total += count(text) + 1
        if total > limit:
            return max(n, 2)
    return len(texts)


def about(task: Task[Any]) -> str:
    """Return what a task is about, in words that lead to it: `ExtractGraph of chunk 7 (id…)`."""
    turn = task
    while isinstance(after := getattr(turn, "after", None), Turn):
        turn = after.task
    name = type(task).__name__
    if chunk := getattr(turn, "chunk", None):
        return f"{name} of chunk {chunk.number} ({chunk.id})"
    for field in ("name", "question"):
        if value := getattr(turn, field, None):
            return f"{name} of {value!r}"
    if (context := getattr(turn, "context", None)) and context.entities:
        return f"{name} of the community of {', '.join(e.name for e in context.entities[:3])}"
    return name


STRENGTH = 100
_VOCABULARIES = {
    "o200k_base": re.compile(r"gpt-4o|gpt-4\.1|chatgpt-4o|gpt-4\.5"),
    "cl100k_base": re.compile(r"gpt-4(?![\w.])|gpt-4-|gpt-3\.5|gpt-35"),
}
"""Models that take a bias at all; reasoning models do not, whatever their vocabulary."""


def bias_to(model: str, words: Iterable[str]) -> Mapping[int, int] | None:
    """Return the bias that leaves only the words, also capitalised, as one-token replies; None if unknown."""
    base = model.rpartition("/")[2]
    vocabulary = next((name for name, known in _VOCABULARIES.items() if known.match(base)), None)
    if vocabulary is None:
        return None
    tokens = [encoding(vocabulary).encode(form) for word in words for form in {word: 0, word.capitalize(): 0}]
    if any(len(token) != 1 for token in tokens):
        return None
    return {token[0]: STRENGTH for token in tokens}


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
