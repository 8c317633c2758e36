"""Prompts: the messages that ask for a task, made from `prompts/<language>/<task>.md`, whose variables are checked.

A prompt is one Markdown file. The text before the first marker is the system message; `<!-- user -->` opens the user
message. Any other marker opens a section, which replaces each `{{its name}}`; of `<!-- knowledge: on -->` and
`<!-- knowledge: off -->`, the chosen section replaces `{{knowledge}}`. The other `{{names}}` are the variables of the
task: the file must contain each of them, and no others.

The variables of a task are its fields: texts and numbers under their names, and the rows that it shows as `{{data}}`.
`VARIABLES` defines the variables that differ from fields.

The first line of the first message is `# Task: ExtractGraph`. A task that continues a conversation begins its own user
message with such a line, after the earlier turns: the last such line of all messages names the current task.

Text from documents is fenced between tags that it cannot contain, and is never searched for `{{names}}`.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from html import unescape
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, cast, get_type_hints

from conspectus import tasks
from conspectus.errors import SettingsError, did_you_mean
from conspectus.models.llm.replies import dump
from conspectus.models.llm.wire import Message
from conspectus.references import TABLES, find, strip
from conspectus.rows import Chunk, Report, Triple
from conspectus.tasks import Task
from conspectus.tasks.base import TASKS, Context, Turn, strings_in
from conspectus.text.question import is_short

OURS = Path(__file__).parents[2] / "prompts"
REPAIR = "Repair"
"""Name of the one prompt without a task: the response to a reply that cannot be read."""

_MARKER = re.compile(r"^<!--\s*([\w: -]+?)\s*-->[ \t]*\n?", re.MULTILINE)
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@cache
def load(path: Path, chosen: tuple[str, ...] = ()) -> tuple[str, str]:
    """Read a prompt's file; return the system message and the user message, with their sections inserted.

    `chosen` contains the chosen variants of sections, such as `knowledge: off`.

    Raises SettingsError, with the file and the name, if a variable is missing or unknown, or a section is not used.
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
    for name in {name.partition(":")[0] for name in sections}:
        if not re.search(rf"\{{\{{\s*{name}\s*\}}\}}", text):
            raise SettingsError(f"the prompt {path} does not use its section `{name}`: add {{{{{name}}}}}")
    sections |= {key.partition(":")[0]: sections[key] for key in chosen if key in sections}
    system, user = (_NAME.sub(lambda m: sections.get(m[1], m[0]), part.strip()) for part in (system, user))
    variables: Variables = variables_of(path.stem)
    used: set[str] = {*_NAME.findall(system), *_NAME.findall(user)}
    if unknown := sorted(used - variables.keys()):
        near = did_you_mean(unknown[0], variables)
        raise SettingsError(f"the prompt {path} has {{{{{unknown[0]}}}}}, not a field of its task{near}")
    if unused := sorted(variables.keys() - used):
        raise SettingsError(f"the prompt {path} does not use the field {{{{{unused[0]}}}}}")
    return system, user


def _chosen(knowledge: bool, thinking: bool = False, strict: bool = False) -> tuple[str, ...]:
    switches = {"knowledge": knowledge, "thinking": thinking, "strict": strict}
    return tuple(f"{name}: {'on' if on else 'off'}" for name, on in switches.items())


@dataclass(frozen=True)
class Prompts:
    """The prompts in use: those in the user's folder, if it contains them, else the built-in ones.

    A file `<task>.md` in the folder is for every language, `zh/<task>.md` for prompts in Chinese only.
    """

    folder: Path | None = None

    def __post_init__(self) -> None:
        """Read every prompt in the user's folder, so that mistakes are reported before work begins."""
        if self.folder is None:
            return
        if not self.folder.is_dir():
            raise SettingsError(f"there is no folder of prompts at {self.folder}")
        for path in sorted([*self.folder.glob("*.md"), *self.folder.glob("??/*.md")]):
            if path.stem not in (names := (*TASKS, REPAIR)):
                raise SettingsError(f"the prompt {path} belongs to no task{did_you_mean(path.stem, names)}")
            for knowledge in (False, True):
                load(path, _chosen(knowledge))

    def _messages(
        self, name: str, about: Any, language: str, chosen: tuple[str, ...] = ()
    ) -> tuple[Message, ...]:
        """Return the messages of a prompt with its variables filled in; the system message only if it has one."""
        own = "zh" if language.startswith("zh") else "en"
        theirs = [self.folder / own / f"{name}.md", self.folder / f"{name}.md"] if self.folder else []
        path = next((path for path in theirs if path.is_file()), OURS / own / f"{name}.md")
        values = {variable: inert(make(about, own)) for variable, make in variables_of(name).items()}
        system, user = (_NAME.sub(lambda m: values[m[1]], part) for part in load(path, chosen))
        return (*((Message("system", system),) if system else ()), Message("user", user))

    def render(self, task: Task[Any]) -> tuple[Message, ...]:
        """Return the messages that ask for a task, after those of the conversation that it continues."""
        names = ("general_knowledge", "stepwise", "strict")
        chosen = _chosen(*(getattr(task, name, False) for name in names))
        messages = self._messages(type(task).__name__, task, task.language, chosen)
        if isinstance(after := getattr(task, "after", None), Turn):
            reply = dump(after.task, after.reply)
            return (*self.render(after.task), Message("assistant", reply), *messages)
        return messages

    def render_repair(self, task: Task[Any], reply: str, error: str) -> tuple[Message, ...]:
        """Return the messages that ask once more for a task whose reply could not be read."""
        repair = self._messages(REPAIR, error, task.language)
        return (*self.render(task), Message("assistant", inert(reply)), *repair)


# Variables of prompts

_TAG = re.compile(r"[<‹〈⟨«]\s*[/\\⁄∕]?\s*d\s*a\s*t\s*a(?:\s*[-‐-―_−]\s*([\d\s]+))?")
_OPENS = re.compile("[<‹〈⟨«&]")
"""Characters that open a tag, or a character reference such as `&lt;`."""
_ALIKE = str.maketrans("ɑаαԁɗтτ⟋⧸", "aaaddtt//")
"""Letters and strokes of other scripts that look like those of a tag, except those that NFKC unifies."""
_CONTROL = re.compile(r"<(?=[|｜]|/?s>|(?:start|end)_of_turn>|<?/?SYS>)|\[(?=/?INST\])")
"""The opening character of control tokens of chat models, such as Qwen, DeepSeek, Llama, Mistral and Gemma."""


def inert(text: str) -> str:
    """Return a text with a space inside control tokens (`<|im_end|>`), so that no server interprets them."""
    return _CONTROL.sub(r"\g<0> ", text)


def _tags(text: str) -> set[str]:
    """Return the numbers of the tags in a text, however they are spelled; "" for a tag without a number."""
    plain = unicodedata.normalize("NFKC", text)
    if not _OPENS.search(plain):
        return set()
    for letter in set(plain):
        if unicodedata.category(letter) == "Cf":
            plain = plain.replace(letter, "")
    plain = unescape(plain).casefold().translate(_ALIKE)
    return {"".join(number.split()) for number in _TAG.findall(plain)}


def fence(text: str, *others: str) -> str:
    """Return an inert text between `<data>` and `</data>`; the tags get a number if any of the texts has such tags."""
    taken = set[str]().union(*map(_tags, (text, *others)))
    number = next(n for n in count(2) if str(n) not in taken)
    tag = f"data-{number}" if taken else "data"
    return f"<{tag}>\n{inert(text.strip())}\n</{tag}>"


@cache
def _words(own: str) -> Mapping[str, Any]:
    """Return words in the language of a prompt: names of languages, kinds of rows, lengths of answers."""
    return tomllib.loads((OURS / own / "words.toml").read_text("utf-8"))


_EXAMPLE_IDS = ("2, 7", "5", "1, 3", "4", "6")


def _language(task: Task[Any], own: str) -> str:
    code = task.language.partition("-")[0]
    return _words(own)["languages"].get(code, code)


def _response(task: Any, own: str) -> str:
    words = _words(own)
    return words["short"] if is_short(task.response) else words["lengths"].get(task.response, task.response)


def _tables(task: Any) -> list[str]:
    """Return the tables that an answer may cite: those shown, or those cited in the partial answers it combines."""
    if isinstance(task, tasks.ReduceAnswer):
        named = {reference.table for answer in task.answers for reference in find(answer.text)}
        return [table for table in TABLES if table in named] or ["Reports"]
    return [name.capitalize() for name, _ in task.context.tables()] or ["Reports"]


def _all_tables(task: Any, own: str) -> str:
    return ", ".join(_tables(task))


def _reference(task: Any, own: str) -> str:
    parts = (f"{table} ({ids})" for table, ids in zip(_tables(task), _EXAMPLE_IDS, strict=False))
    return f"[Data: {'; '.join(parts)}]"


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))


def _described(elements: Sequence[tasks.DescribeElement], own: str = "") -> str:
    """Return elements, each with its descriptions below their sources; with `own` also their numbers and kinds."""
    kinds: Mapping[str, str] = _words(own)["kinds"] if own else {}
    lines: list[str] = []
    for n, task in enumerate(elements, 1):
        lines.append(f"\n{n}. {task.name} ({kinds.get(task.kind, task.kind)})" if own else task.name)
        before = ""
        for text, source in zip_longest(task.descriptions, task.sources, fillvalue=""):
            lines += [f"{source or '-'}:"] if source != before else []
            lines.append(f"- {' '.join(text.split())}")
            before = source
    return "\n".join(lines)


def _blocks(title: str, texts: Sequence[str]) -> str:
    return "\n\n".join(f"-----{title} {n}-----\n{text.strip()}" for n, text in enumerate(texts, 1))


def _fact(triple: Triple) -> str:
    return f"({triple.head}, {triple.relation}, {triple.tail})"


def _analysts(task: tasks.ReduceAnswer) -> str:
    return "\n\n".join(
        f"-----Analyst {n}, helpfulness {answer.score}-----\n{answer.text}"
        for n, answer in enumerate(task.answers, 1)
    )


def _paths(task: tasks.ExamineEvidence | tasks.DraftAnswer, own: str) -> str:
    """Return the reasoning paths and chunks of a task, fenced; empty if there are none."""
    lines = (f"{n}. {'; '.join(map(_fact, path.triples))}" for n, path in enumerate(task.paths, 1))
    blocks = ["-----Paths-----\n" + "\n".join(lines)] if task.paths else []
    text = "\n".join((*blocks, task.context.text))
    return fence(text, *strings_in(task)) if text else ""


def _topics(task: tasks.ChooseRelations) -> str:
    lines: list[str] = []
    for n, topic in enumerate(task.topics, 1):
        reached = f" (reached by {'; '.join(map(_fact, topic.path.triples))})" if topic.path.triples else ""
        lines.append(f"Entity {n}: {topic.name}{reached}")
        for number, edge in enumerate(topic.edges, 1):
            head, tail = ("?", topic.name) if edge.inverse else (topic.name, "?")
            lines.append(f"  {number}. ({head}, {edge.relation}, {tail}) x {edge.count}")
    return "\n".join(lines)


def _pair(first: str, one: str, second: str, other: str) -> str:
    """Return two texts, each fenced alone, so that no line of one can be taken for the beginning of the other.

    Servers cache the beginning of a prompt that many requests share, so the text that varies most comes last.
    """
    return f"{first}:\n{fence(one, other)}\n\n{second}:\n{fence(other, one)}"


_UNDER_THEIR_NAMES = (str, int, float, tasks.Persona, tuple[str, ...], tuple[int, ...])
"""Types of fields that are variables under their own names; fields of other types, with rows, become `data`."""
Variable = Callable[[Any, str], str]
"""Returns the text of a variable for a task and the language of the prompt (`en` or `zh`)."""
Variables = Mapping[str, Variable]


def _data(make: Callable[[Any], str]) -> Variable:
    return lambda task, _: fence(make(task), *strings_in(task))


def _fenced(name: str) -> Variable:
    """Return the variable of a field that a model derived from documents, such as clues; it is fenced like them."""
    return _data(lambda task: _text_of(getattr(task, name)))


def _dated(date: str, data: str, own: str) -> str:
    return f"{_words(own)['date'].format(date)}\n{data}" if date else data


def _of_entities(task: tasks.ExtractClaims | tasks.ExtractTriples) -> str:
    return f"Entities: {'; '.join(task.entities)}\n\nText:\n{task.chunk.text}"


_CITING: Mapping[str, Variable | None] = {
    "response": _response,
    "table": lambda task, _: _tables(task)[0],
    "reference": _reference,
}
_SENTENCES: Mapping[str, Variable | None] = {
    "sentences": None,
    "data": _data(lambda task: _numbered(task.sentences)),
}
VARIABLES: Mapping[type[Task[Any]], Mapping[str, Variable | None]] = {
    tasks.ExtractGraph: {
        "entity_types": lambda task, _: ", ".join(task.entity_types),
        "guidance": lambda task, _: f" ({'; '.join(task.guidance)})" if task.guidance else "",
        "relations": lambda task, own: (
            _words(own)["relations"].format("; ".join(task.relations)) if task.relations else ""
        ),
        "language": _language,
        "text": lambda task, own: _dated(task.date, fence(task.chunk.text), own),
        "date": None,
        "data": None,
    },
    tasks.ExtractClaims: {"entities": None, "language": _language, "data": _data(_of_entities)},
    tasks.ExtractTriples: {
        "entities": None,
        "date": None,
        "data": lambda task, own: _dated(task.date, fence(_of_entities(task)), own),
    },
    tasks.WritePropositions: {
        "title": None,
        "language": _language,
        "data": _data(lambda task: f"Title: {task.title}\n\n{task.chunk.text}"),
    },
    tasks.SummarizePassages: {
        "passages": None,
        "language": _language,
        "data": _data(lambda task: _blocks("Passage", task.passages)),
    },
    tasks.ProfileCorpus: {
        "language": _language,
        "data": _data(lambda task: _blocks("Sample", [chunk.text for chunk in task.samples])),
    },
    tasks.ConfirmJoins: {"data": _data(lambda task: _numbered([" <> ".join(pair) for pair in task.pairs]))},
    tasks.DescribeElement: {
        "name": None,
        "descriptions": None,
        "sources": None,
        "kind": lambda task, own: _words(own)["kinds"].get(task.kind, task.kind),
        "language": _language,
        "data": _data(lambda task: _described([task])),
    },
    tasks.DescribeElements: {
        "language": _language,
        "data": lambda task, own: fence(_described(task.elements, own)),
    },
    tasks.WriteReport: {"language": _language},
    tasks.MapAnswer: {"response": _response, "table": _all_tables},
    tasks.ReduceAnswer: {**_CITING, "data": _data(_analysts)},
    tasks.AnswerFromContext: {**_CITING, "tables": _all_tables},
    tasks.PursueFollowUp: {
        "follow_up": _fenced("follow_up"),
        "asked": _fenced("asked"),
        "reference": _reference,
    },
    tasks.StandaloneQuestion: {
        "data": _data(
            lambda task: "\n\n".join(f"Question: {e.question}\nAnswer: {e.answer}" for e in task.exchanges)
        )
    },
    tasks.RatePassages: {"passages": None, "data": _data(lambda task: _blocks("Passage", task.passages))},
    tasks.NameEntities: {"text": lambda task, _: fence(task.text)},
    tasks.RecognizeTriples: {"triples": None, "data": _data(lambda task: _numbered(task.triples))},
    tasks.NextThought: {"thoughts": _data(lambda task: " ".join(task.thoughts) or "-")},
    tasks.ChooseRelations: {"clues": _fenced("clues"), "data": _data(_topics)},
    tasks.ExamineEvidence: {"clues": _fenced("clues"), "data": _paths},
    tasks.DraftAnswer: {"data": _paths},
    tasks.Personas: {"description": lambda task, _: fence(task.description)},
    tasks.UserTasks: {"description": lambda task, _: fence(task.description)},
    tasks.GlobalQuestions: {"description": lambda task, _: fence(task.description)},
    tasks.Judge: {
        "first": None,
        "second": None,
        "criterion": lambda task, _: task.criterion.name,
        "description": lambda task, _: task.criterion.description,
        "data": lambda task, _: _pair("Answer 1", task.first, "Answer 2", task.second),
    },
    tasks.SelectFactual: _SENTENCES,
    tasks.ClearSentences: _SENTENCES,
    tasks.FactualClaims: _SENTENCES,
    tasks.Entails: {
        "text": None,
        "statement": None,
        "data": lambda task, _: _pair("Text", task.text, "Statement", task.statement),
    },
}
"""The variables that differ from the fields of their tasks; None for a field that is part of another variable."""


def _shown(name: str) -> Variable:
    """Return the variable of a field: rows are fenced, other values are shown as text."""
    fenced = _fenced(name)
    rows = Context | Chunk | Report
    return lambda task, own: (
        fenced(task, own) if isinstance(getattr(task, name), rows) else _text_of(getattr(task, name))
    )


def _text_of(value: Any) -> str:
    match value:
        case Context() | Chunk():
            return value.text
        case Report():
            return strip(value.text)
        case tasks.Persona():
            return f"{value.name}: {value.description}"
        case (str(), *_):
            return _numbered(value)
        case tuple():
            return ", ".join(map(str, cast("tuple[Any, ...]", value))) or "-"
        case _:
            return str(value)


@cache
def variables_of(name: str) -> Variables:
    """Return the variables of a prompt, by the name of its task."""
    if name == REPAIR:
        return {"error": lambda error, _: fence(str(error))}
    kind, variables = TASKS[name], dict[str, Variable | None]()
    hints = get_type_hints(kind)
    for field in fields(kind):
        shown = hints[field.name]
        if field.name in Task.__dataclass_fields__ or shown in (bool, Turn):
            continue  # these fields control the prompt and choose sections
        key = field.name if shown in _UNDER_THEIR_NAMES else "data"
        variables[key] = _shown(field.name)
    own = VARIABLES.get(kind, {})
    return {key: make for key, make in {**variables, **own}.items() if make is not None}
