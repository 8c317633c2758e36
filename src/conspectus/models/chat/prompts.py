"""From a task to the messages that ask for it: `prompts/<language>/<task>.md`, filled in strictly.

A prompt is one Markdown file. What stands before the first marker is the system message; `<!-- user -->`
opens the user message; any other marker opens a section that `{{its name}}` puts in place, as often as it is
named, and of `<!-- format: json -->` and `<!-- format: tuples -->` the one that was chosen takes the place of
`{{format}}`. The other `{{names}}` are the task's fields (`FIELDS`): each must stand in the file, and nothing
else may.

The first line of the first message is `# Task: ExtractGraph`. A task that goes on with a conversation opens
its own user message so, after the earlier turns: the last such line of all messages names what is asked.

What comes from documents is fenced between tags that it cannot contain, and never searched for `{{names}}`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from conspectus.errors import SettingsError
from conspectus.evidence import Evidence
from conspectus.models.chat.parsing import dump
from conspectus.models.server.wire import Message
from conspectus.rows import Triple
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    ChooseRelations,
    DescribeElement,
    DraftAnswer,
    ExamineEvidence,
    ExtractClaims,
    ExtractGraph,
    ExtractTriples,
    GleanMore,
    MapAnswer,
    MapPoints,
    NameEntities,
    NextThought,
    ProfileCorpus,
    RateReport,
    ReduceAnswer,
    Task,
    WritePropositions,
    WriteReport,
)

ReplyFormat = Literal["json", "tuples"]
OURS = Path(__file__).parents[2] / "prompts"
REPAIR = "Repair"
"""The one prompt of no task: what is said to a reply that cannot be read."""

_MARKER = re.compile(r"^<!--\s*([\w: -]+?)\s*-->[ \t]*\n?", re.MULTILINE)
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TAG = re.compile(r"[<＜]\s*[/／]?\s*data(?:-(\d+))?", re.IGNORECASE)


# What is put into a prompt


def fence(text: str) -> str:
    """Return a text between `<data>` and `</data>`, numbered so that the text has no such tag.

    `<|` is parted, so that no server reads a model's control tokens (`<|im_end|>`) out of a document.
    """
    numbers = [int(number or 1) for number in _TAG.findall(text)]
    tag = f"data-{max(numbers) + 1}" if numbers else "data"
    return f"<{tag}>\n{text.strip().replace('<|', '< |')}\n</{tag}>"


LANGUAGES = {
    "en": {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian"}
    | {"pt": "Portuguese", "nl": "Dutch", "ru": "Russian", "ja": "Japanese", "ko": "Korean", "ar": "Arabic"},
    "zh": {"zh": "中文", "en": "英文"},
}
_KINDS_ZH = {"entity": "实体", "relationship": "关系", "claim": "声明"}


def _language(task: Task[Any], own: str) -> str:
    return LANGUAGES[own].get(task.language.partition("-")[0], task.language)


def _tables(evidence: Evidence) -> list[str]:
    return [name.capitalize() for name, _ in evidence.tables()] or ["Reports"]


def _reference(evidence: Evidence) -> str:
    parts = (f"{table} ({ids})" for table, ids in zip(_tables(evidence), _EXAMPLE_IDS, strict=False))
    return f"[Data: {'; '.join(parts)}]"


_EXAMPLE_IDS = ("2, 7", "5", "1, 3", "4", "6")


def _claims_data(task: ExtractClaims) -> str:
    return fence(f"Entities: {'; '.join(task.entities)}\n\nText:\n{task.chunk.text}")


def _element_data(task: DescribeElement) -> str:
    numbered = (f"{n}. {' '.join(text.split())}" for n, text in enumerate(task.descriptions, 1))
    return fence("\n".join((task.name, *numbered)))


def _analysts_data(task: ReduceAnswer) -> str:
    blocks = (
        f"-----Analyst {n}, helpfulness {answer.score}-----\n{answer.text}" for n, answer in enumerate(task.answers, 1)
    )
    return fence("\n\n".join(blocks))


def _trails_data(task: ExamineEvidence | DraftAnswer) -> str:
    """Return paths of triples and chunks as they are shown; empty where there are none."""
    paths = (f"{n}. {'; '.join(map(_fact, trail.triples))}" for n, trail in enumerate(task.trails, 1))
    blocks = ["-----Paths-----\n" + "\n".join(paths)] if task.trails else []
    return fence("\n".join((*blocks, task.evidence.text))) if blocks or task.evidence.text else ""


def _fact(triple: Triple) -> str:
    return f"({triple.head}, {triple.relation}, {triple.tail})"


def _topics_data(task: ChooseRelations) -> str:
    lines: list[str] = []
    for n, topic in enumerate(task.topics, 1):
        reached = f" (reached by {'; '.join(map(_fact, topic.trail.triples))})" if topic.trail.triples else ""
        lines.append(f"Entity {n}: {topic.name}{reached}")
        for place, edge in enumerate(topic.edges, 1):
            shown = f"(?, {edge.relation}, {topic.name})" if edge.inverse else f"({topic.name}, {edge.relation}, ?)"
            lines.append(f"  {place}. {shown} x {edge.count}")
    return fence("\n".join(lines))


def _numbered(texts: tuple[str, ...]) -> str:
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1)) or "-"


def _samples_data(task: ProfileCorpus) -> str:
    blocks = (f"-----Sample {n}-----\n{chunk.text.strip()}" for n, chunk in enumerate(task.samples, 1))
    return fence("\n\n".join(blocks))


Fields = Mapping[str, Callable[[Any, str], str]]
"""What each field of a prompt is made of: the task, and the language of the prompt."""

_ANSWER: Fields = {
    "question": lambda task, _: task.question,
    "response": lambda task, _: task.response,
}
FIELDS: Mapping[str, Fields] = {
    ExtractGraph.__name__: {
        "entity_types": lambda task, _: ", ".join(task.entity_types),
        "language": _language,
        "text": lambda task, _: fence(task.chunk.text),
    },
    AnyMissed.__name__: {},
    GleanMore.__name__: {},
    ExtractClaims.__name__: {"language": _language, "data": lambda task, _: _claims_data(task)},
    DescribeElement.__name__: {
        "kind": lambda task, own: _KINDS_ZH.get(task.kind, task.kind) if own == "zh" else task.kind,
        "language": _language,
        "data": lambda task, _: _element_data(task),
    },
    WriteReport.__name__: {"language": _language, "data": lambda task, _: fence(task.evidence.text)},
    MapAnswer.__name__: {
        **_ANSWER,
        "table": lambda task, _: ", ".join(_tables(task.evidence)),
        "data": lambda task, _: fence(task.evidence.text),
    },
    MapPoints.__name__: {
        **_ANSWER,
        "table": lambda task, _: ", ".join(_tables(task.evidence)),
        "data": lambda task, _: fence(task.evidence.text),
    },
    ProfileCorpus.__name__: {"language": _language, "data": lambda task, _: _samples_data(task)},
    ReduceAnswer.__name__: {**_ANSWER, "data": lambda task, _: _analysts_data(task)},
    AnswerFromContext.__name__: {
        **_ANSWER,
        "tables": lambda task, _: ", ".join(_tables(task.evidence)),
        "table": lambda task, _: _tables(task.evidence)[0],
        "reference": lambda task, _: _reference(task.evidence),
        "data": lambda task, _: fence(task.evidence.text),
    },
    RateReport.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: fence(task.report.text),
    },
    NameEntities.__name__: {"text": lambda task, _: fence(task.text)},
    ExtractTriples.__name__: {
        "data": lambda task, _: fence(f"Entities: {'; '.join(task.entities)}\n\nText:\n{task.chunk.text}")
    },
    WritePropositions.__name__: {
        "language": _language,
        "data": lambda task, _: fence(f"Title: {task.title}\n\n{task.chunk.text}"),
    },
    NextThought.__name__: {
        "question": lambda task, _: task.question,
        "thoughts": lambda task, _: " ".join(task.thoughts) or "-",
        "data": lambda task, _: fence(task.evidence.text),
    },
    ChooseRelations.__name__: {
        "question": lambda task, _: task.question,
        "clues": lambda task, _: _numbered(task.clues),
        "width": lambda task, _: str(task.width),
        "data": lambda task, _: _topics_data(task),
    },
    ExamineEvidence.__name__: {
        "question": lambda task, _: task.question,
        "clues": lambda task, _: _numbered(task.clues),
        "data": lambda task, _: _trails_data(task),
    },
    DraftAnswer.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: _trails_data(task),
    },
    REPAIR: {"error": lambda error, _: str(error)},
}


# Prompts and their files


@dataclass(frozen=True)
class Prompt:
    """One prompt with its sections in place: texts and, at the odd places, names of fields."""

    system: tuple[str, ...]
    user: tuple[str, ...]

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages with the fields' values put in; no system message where the prompt has none."""
        system, user = (_filled(part, values) for part in (self.system, self.user))
        return (*((Message("system", system),) if system else ()), Message("user", user))


def _filled(parts: tuple[str, ...], values: Mapping[str, str]) -> str:
    return "".join(values[part] if n % 2 else part for n, part in enumerate(parts))


@cache
def load(path: Path, chosen: tuple[tuple[str, str], ...] = ()) -> Prompt:
    """Read a prompt's file; `chosen` says which section of several is taken, `("format", "json")`.

    Raises SettingsError, naming the file and the field, where a field is missing, unknown or put to no use.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the prompt {path} cannot be read: {error}") from None
    system, *rest = _MARKER.split(text.replace("\r\n", "\n"))
    sections = {name: body.strip() for name, body in zip(rest[::2], rest[1::2], strict=True)}
    if "user" not in sections:
        raise SettingsError(f"the prompt {path} has no part `<!-- user -->`")
    user = sections.pop("user")
    whole = {name: body for name, body in sections.items() if ":" not in name}
    for name, option in chosen:
        if (body := sections.get(f"{name}: {option}")) is not None:
            whole[name] = body
    system, user = (_NAME.sub(lambda m: whole.get(m[1], m[0]), part.strip()) for part in (system, user))
    for name in {name.partition(":")[0] for name in sections}:
        if not re.search(rf"\{{\{{\s*{name}\s*\}}\}}", text):
            raise SettingsError(f"the prompt {path} puts its section `{name}` nowhere: write {{{{{name}}}}}")
    _check(path, FIELDS[path.stem], {*_NAME.findall(system), *_NAME.findall(user)})
    return Prompt(tuple(_NAME.split(system)), tuple(_NAME.split(user)))


def _check(path: Path, fields: Fields, used: set[str]) -> None:
    if unknown := sorted(used - fields.keys()):
        near = difflib.get_close_matches(unknown[0], fields, n=1)
        known = f"did you mean {near[0]}?" if near else f"it has {', '.join(fields) or 'no fields'}"
        raise SettingsError(f"the prompt {path} has {{{{{unknown[0]}}}}}, no field of its task: {known}")
    if unused := sorted(fields.keys() - used):
        raise SettingsError(f"the prompt {path} does not use the field {{{{{unused[0]}}}}}")


@dataclass(frozen=True)
class Prompts:
    """The prompts in use: those of the user's folder where it has them, else ours.

    A file `<task>.md` of the folder is for every language, `zh/<task>.md` for prompts in Chinese only.
    """

    folder: Path | None = None
    reply_format: ReplyFormat = "json"

    def __post_init__(self) -> None:
        """Read every prompt of the user's folder, so that its mistakes are told before work begins."""
        if self.folder is None:
            return
        if not self.folder.is_dir():
            raise SettingsError(f"there is no folder of prompts at {self.folder}")
        for path in sorted([*self.folder.glob("*.md"), *self.folder.glob("??/*.md")]):
            if path.stem not in FIELDS:
                raise SettingsError(f"the prompt {path} is of no task; there are {', '.join(FIELDS)}")
            for knowledge in ("off", "on"):
                load(path, self._chosen(knowledge))

    def _chosen(self, knowledge: str, thinking: str = "off") -> tuple[tuple[str, str], ...]:
        return ("format", self.reply_format), ("knowledge", knowledge), ("thinking", thinking)

    def _path(self, name: str, own: str) -> Path:
        theirs = [self.folder / own / f"{name}.md", self.folder / f"{name}.md"] if self.folder else []
        return next((path for path in theirs if path.is_file()), OURS / own / f"{name}.md")

    def _own(self, name: str, about: Any, language: str, knowledge: str, thinking: str = "off") -> tuple[Message, ...]:
        own = "zh" if language.startswith("zh") else "en"
        prompt = load(self._path(name, own), self._chosen(knowledge, thinking))
        return prompt.messages({field: make(about, own) for field, make in FIELDS[name].items()})

    def render(self, task: Task[Any]) -> tuple[Message, ...]:
        """Return the messages that ask for a task, after those of the conversation that it goes on with."""
        knowledge = "on" if getattr(task, "general_knowledge", False) else "off"
        thinking = "on" if getattr(task, "stepwise", False) else "off"
        messages = self._own(type(task).__name__, task, task.language, knowledge, thinking)
        if isinstance(task, AnyMissed | GleanMore):
            said = dump(task.after.task, task.after.reply, self.reply_format)
            return (*self.render(task.after.task), Message("assistant", said), *messages)
        return messages

    def render_repair(self, task: Task[Any], said: str, error: str) -> tuple[Message, ...]:
        """Return the messages that ask once more for a task whose reply could not be read."""
        repair = self._own(REPAIR, error, task.language, "off")
        return (*self.render(task), Message("assistant", said), *repair)
