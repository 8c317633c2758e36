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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from conspectus.errors import SettingsError
from conspectus.models.llm.fencing import inert
from conspectus.models.llm.parsing import dump
from conspectus.models.llm.prompt_variables import FIELDS, REPAIR, Fields
from conspectus.models.llm.wire import Message
from conspectus.tasks import (
    AnyMissed,
    GleanMore,
    Task,
)

ReplyFormat = Literal["json", "tuples"]
OURS = Path(__file__).parents[2] / "prompts"

_MARKER = re.compile(r"^<!--\s*([\w: -]+?)\s*-->[ \t]*\n?", re.MULTILINE)
_CONTROL = re.compile(r"<\|(?!>|COMPLETE\|>)")
"""What opens a control token in a reply, beside the marks of the tuple format."""
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")


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
                near = difflib.get_close_matches(path.stem, FIELDS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIELDS)}"
                raise SettingsError(f"the prompt {path} is of no task: {hint}")
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
        # Not all that comes from documents is fenced: what a model made of them, as follow-up questions, is not.
        return prompt.messages({field: inert(make(about, own)) for field, make in FIELDS[name].items()})

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
        return (*self.render(task), Message("assistant", _CONTROL.sub("< |", said)), *repair)
