"""One small class of settings for each stage and method, and where their values come from.

Later sources win: the defaults below, `conspectus.toml`, environment variables
(`CONSPECTUS_CHUNK_TOKENS=800` sets `tokens` of `[chunk]`), then what the caller or the command line gives.
A setting is named by its dotted key, `chunk.tokens`, in `conspectus.toml` too.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from conspectus.errors import SettingsError

FILE_NAME = "conspectus.toml"
PREFIX = "CONSPECTUS_"
RESERVED = {"CONSPECTUS_INDEX", "CONSPECTUS_LOG"}
"""Variables with our prefix that are not settings; nor is any that ends in `_API_KEY`."""
SWITCHES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Section(BaseModel):
    """The base of every class of settings: frozen, and no key is taken that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = Field(default="text", description="field of a JSON or CSV record that holds its text")
    title_field: str = Field(
        default="title", description="field of a JSON or CSV record that holds its title"
    )


class ChunkSettings(Section):
    """How documents are cut (P1 4.1.2: 600 tokens, 100 of them shared with the chunk before)."""

    tokens: int = Field(default=600, ge=10, description="tokens in a chunk")
    overlap: int = Field(default=100, ge=0, description="tokens shared by neighbouring chunks")
    encoding: Literal["cl100k_base", "o200k_base"] = Field(
        default="cl100k_base", description="the vocabulary that counts tokens"
    )
    mode: Literal["tokens", "sentence"] = Field(
        default="tokens", description="end chunks anywhere, or at the end of a sentence"
    )
    strict: bool = Field(
        default=False, description="keep a last chunk that adds no more tokens than the overlap"
    )

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> ChunkSettings:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than tokens ({self.tokens})")
        return self


class ExtractSettings(Section):
    """What is taken out of each chunk."""

    entity_types: tuple[str, ...] = Field(
        default=("person", "organization", "location", "event", "date", "work", "concept"),
        description="the types of entity to look for",
    )
    max_gleanings: int = Field(
        default=1, ge=0, description="rounds of looking again for what was missed (language models only)"
    )


class ResolveSettings(Section):
    """Which names are taken to be one entity."""

    resolve: Literal["exact", "aliases"] = Field(
        default="aliases",
        description="join equal names only, or also acronyms, last names and honorifics where unambiguous",
    )


class CommunitySettings(Section):
    """How the graph is divided (P1 3.1.4)."""

    max_size: int = Field(
        default=10, ge=2, description="split a community that has more entities than this, where it splits"
    )
    resolution: float = Field(
        default=1.0, gt=0, description="of modularity; higher gives smaller communities"
    )
    seed: int = Field(default=42, ge=0, description="of Leiden's order of moves")


class ReportSettings(Section):
    """What a report is written from (P1 3.1.5)."""

    context_tokens: int = Field(default=8000, ge=500, description="tokens of evidence for one report")
    min_report_entities: int = Field(
        default=3, ge=1, description="communities smaller than this live in their parents' reports"
    )


class GlobalSettings(Section):
    """Answers from the reports of a whole level (P1 3.1.6)."""

    level: int | None = Field(
        default=None, ge=0, description="level of the hierarchy to answer from; chosen where not given"
    )
    context_tokens: int = Field(default=8000, ge=500, description="tokens in a window of reports")
    seed: int = Field(default=42, ge=0, description="of the order in which reports are packed into windows")


class LocalSettings(Section):
    """Answers from the neighbourhood of the entities that a question names."""

    context_tokens: int = Field(
        default=8000, ge=500, description="tokens of entities, relationships, reports and chunks"
    )
    entities: int = Field(default=10, ge=1, description="entities to start from at the most")


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = Field(default=5, ge=1, description="number of chunks")
    k1: float = Field(default=1.2, ge=0, description="BM25: how fast repeating a word stops counting")
    b: float = Field(default=0.75, ge=0, le=1, description="BM25: how much long chunks are held back")


class ModelSettings(Section):
    """How language models are asked (only with a `model` other than extractive)."""

    tasks: dict[str, str] = Field(
        default={}, description='other models for single tasks, as { ExtractGraph = "openai/gpt-4.1-nano" }'
    )
    base_url: str = Field(
        default="", description="address of an OpenAI-compatible server, in place of the model's own"
    )
    embedder_base_url: str = Field(default="", description="the same for the embedder")
    concurrency: int = Field(default=25, ge=1, description="calls under way at once at the most")
    requests_per_minute: int | None = Field(default=None, ge=1, description="calls begun in any minute")
    tokens_per_minute: int | None = Field(
        default=None, ge=1, description="tokens of calls begun in any minute"
    )
    timeout: float = Field(default=300.0, gt=0, description="seconds to wait for a reply")
    attempts: int = Field(default=6, ge=1, description="times to ask before a call counts as failed")
    retry_seconds: float = Field(
        default=1.0, ge=0, description="pause before the second attempt; it doubles with each further one"
    )
    temperature: float | None = Field(
        default=0.0, ge=0, description="of sampling; left to the server if not set"
    )
    max_tokens: int | None = Field(default=None, ge=1, description="tokens of a reply at the most")
    seed: int | None = Field(default=None, ge=0, description="of sampling, where the server takes one")
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = Field(
        default=None, description="how long a reasoning model thinks"
    )
    context_window: int = Field(
        default=16384, ge=1024, description="tokens of context that Ollama is told to hold"
    )
    budget: float | None = Field(
        default=None, ge=0, description="money one run may spend, in the unit of the prices"
    )
    budget_tokens: int | None = Field(default=None, ge=0, description="tokens one run may use")


class Price(Section):
    """What a model costs for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(default=0.0, ge=0)


class Settings(Section):
    """All settings, by stage and method; each name is a table of `conspectus.toml`."""

    read: ReadSettings = ReadSettings()
    chunk: ChunkSettings = ChunkSettings()
    extract: ExtractSettings = ExtractSettings()
    resolve: ResolveSettings = ResolveSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    global_: GlobalSettings = Field(
        default=GlobalSettings(), validation_alias="global", serialization_alias="global"
    )
    local: LocalSettings = LocalSettings()
    search: SearchSettings = SearchSettings()
    llm: ModelSettings = ModelSettings()
    model: str = Field(
        default="extractive", description="who performs the language tasks; extractive needs no key"
    )
    prices: dict[str, Price] = Field(
        default={},
        description="per million tokens, "
        'as { "openai/gpt-4.1-mini" = { input = 0.4, output = 1.6 } }; none are known',
    )


class Given(NamedTuple):
    """The value that a source gives to a key; `place` is the source and, in a file, the line."""

    key: str
    value: Any
    origin: str
    place: str


class Described(NamedTuple):
    """One setting as `conspectus config` shows it."""

    key: str
    value: Any
    default: Any
    origin: str
    description: str


@dataclass(frozen=True)
class Resolved:
    """Settings, and where the value of each key came from.

    An origin is `default`, `conspectus.toml (its path)`, the name of an environment variable, or `given`.
    """

    settings: Settings
    origins: Mapping[str, str]


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    beside: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Resolved:
    """Return the settings of all sources, later ones winning: defaults, file, environment, overrides.

    The file is `file`, else `conspectus.toml` in the folder `beside`, else the one in the working directory;
    only a `file` that is named has to exist. Overrides are dotted keys (`{"chunk.tokens": 800}`) or nested
    mappings. A text given for a number, a switch, a list (`a, b`) or a table (`{ a = "b" }`) is read as one,
    in overrides and in the environment; an empty environment variable counts as not set.

    Raises SettingsError, in one line, where a file cannot be read, a key is unknown, or the winning value of
    a key is not allowed.
    """
    sources = (_in_file(file, beside), _in_environment(environ), _in_overrides(overrides or {}))
    given: dict[str, Given] = {}
    nested: dict[str, Any] = {table: {} for table in TABLES}
    for item in chain.from_iterable(sources):
        if item.key not in FIELDS:
            raise _unknown(item.key, item.place)
        table, _, name = item.key.rpartition(".")
        (nested[table] if table else nested)[name] = item.value
        given[item.key] = item
    try:
        settings = Settings.model_validate(nested, strict=True)
    except ValidationError as error:
        raise _not_allowed(error, given) from None
    return Resolved(settings, {key: given[key].origin if key in given else "default" for key in FIELDS})


def describe(resolved: Resolved) -> list[Described]:
    """Return every setting: key, value, default, origin and description, in the order of the tables."""
    values, defaults = _flat(resolved.settings), _flat(Settings())
    return [
        Described(key, values[key], defaults[key], resolved.origins[key], info.description or "")
        for key, info in FIELDS.items()
    ]


def as_toml(settings: Settings | Resolved, commented: bool) -> str:
    """Return a `conspectus.toml` with every key, its description, what it may be, and its default.

    Prose starts with `# `, a setting that is commented out with `#` alone; `commented` comments out all of
    them, so that the file changes nothing. Keys are written dotted: no line depends on another, so one that
    is uncommented cannot end up in the wrong table. None has no form in TOML and stays prose.
    """
    values = _flat(settings.settings if isinstance(settings, Resolved) else settings)
    defaults = _flat(Settings())
    mark = "#" if commented else ""
    lines = ["# Settings of Conspectus. To change one, take away the # right before its key."]
    table = ""
    for key, info in FIELDS.items():
        if key.rpartition(".")[0] != table:
            table = key.rpartition(".")[0]
            summary = (TABLES[table].__doc__ or "").partition("\n")[0]
            lines += ["", f"# --- {table}: {summary}"]
        lines += ["", f"# {info.description}", f"# {_allowed(info)}; default: {_shown(defaults[key])}"]
        lines += [f"# {key} is not set" if values[key] is None else f"{mark}{key} = {_shown(values[key])}"]
    return "\n".join(lines) + "\n"


# What there is to set, read off the classes above


TABLES: Mapping[str, type[Section]] = {
    info.serialization_alias or name: info.annotation
    for name, info in Settings.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, Section)
}
LOOSE: Mapping[str, FieldInfo] = {
    name: info
    for name, info in Settings.model_fields.items()
    if (info.serialization_alias or name) not in TABLES
}
FIELDS: Mapping[str, FieldInfo] = {
    **LOOSE,
    **{f"{table}.{name}": info for table in TABLES for name, info in TABLES[table].model_fields.items()},
}
"""Every setting by its dotted key, those of no table first."""


def variable(key: str) -> str:
    """Return the environment variable that sets a key: `CONSPECTUS_CHUNK_TOKENS` for `chunk.tokens`."""
    return PREFIX + key.upper().replace(".", "_")


def _flat(settings: Settings) -> dict[str, Any]:
    tables = settings.model_dump(by_alias=True)
    return {key: reduce(getitem, key.split("."), tables) for key in FIELDS}


def _kind(info: FieldInfo) -> Any:
    """Return the type of a field, without the None that it may allow as well."""
    options = [option for option in get_args(info.annotation) if option is not type(None)]
    return options[0] if type(None) in get_args(info.annotation) else info.annotation


def _allowed(info: FieldInfo) -> str:
    kind = _kind(info)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(_shown(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of texts"
    if get_origin(kind) is dict:
        return f"a table whose values are each {_allowed_in(get_args(kind)[1])}"
    words = [{int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]]
    for name, said in {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}.items():
        words += [f"{said} {getattr(bound, name):g}" for bound in info.metadata if hasattr(bound, name)]
    return ", ".join(words)


def _allowed_in(kind: Any) -> str:
    if kind is str:
        return "a text"
    return "{ " + "; ".join(f"{name} = {_allowed(info)}" for name, info in kind.model_fields.items()) + " }"


def _shown(value: Any) -> str:
    """Return a value as TOML writes it, which is as JSON does but for one character."""
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return "{" + ", ".join(f"{_shown(str(name))} = {_shown(item)}" for name, item in items) + "}"
    try:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    except TypeError:  # nothing that a setting can hold: it is shown only to be refused
        return " ".join(repr(value).split())


# Where values come from


def _in_file(file: Path | None, beside: Path | None) -> Iterator[Given]:
    usual = [folder / FILE_NAME for folder in (beside, Path.cwd()) if folder is not None]
    path = file or next((path for path in usual if path.is_file()), None)
    if path is None:
        return
    origin = f"{path.name} ({path})"
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a byte order mark, which TOML refuses
        values = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"the settings file {path} is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, where = str(error).removesuffix(")").partition(" (at ")
        raise SettingsError(f"{origin}, {where}: not valid TOML: {reason}") from None
    for key, value in _dotted(values):
        line = _line_of(key, text)
        yield Given(key, _as_tuple(value), origin, f"{origin}, line {line}" if line else origin)


def _in_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    known = {variable(key): key for key in FIELDS}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in RESERVED or name.endswith("_API_KEY"):
            continue
        if name not in known:
            raise _unknown_variable(name)
        if environ[name].strip():
            yield Given(known[name], _read(environ[name], FIELDS[known[name]]), name, name)


def _in_overrides(overrides: Mapping[str, Any]) -> Iterator[Given]:
    for key, value in _dotted(overrides):
        yield Given(key, _read(value, FIELDS[key]) if key in FIELDS else value, "given", "given")


def _dotted(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if not table and name in TABLES and isinstance(value, Mapping):
            yield from _dotted(cast(Mapping[str, Any], value), f"{name}.")
        else:
            yield f"{table}{name}", value


def _as_tuple(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def _read(value: Any, info: FieldInfo) -> Any:
    """Return what a text says by the type of its field; what says nothing, validation will refuse."""
    kind = _kind(info)
    if not isinstance(value, str):
        return _as_tuple(value)
    if get_origin(kind) is tuple:
        words = (word.strip(" '\"") for word in value.strip(" []").split(","))
        return tuple(word for word in words if word)
    if kind is bool:
        return SWITCHES.get(value.strip().lower(), value)
    try:
        if get_origin(kind) is dict:
            return tomllib.loads(f"it = {value}")["it"]
        return kind(value) if kind in (int, float) else value
    except ValueError:  # TOMLDecodeError is one
        return value


# What is wrong, in one line


def _unknown(key: str, place: str) -> SettingsError:
    table, _, name = key.rpartition(".")
    homes = [known for known in FIELDS if known.endswith(f".{key}")]
    if key in TABLES:
        hint = f"it is a table, whose keys are {', '.join(TABLES[key].model_fields)}"
    elif table in TABLES:
        hint = _hint(name, {name: name for name in TABLES[table].model_fields})
    elif homes:
        hint = f"did you mean {' or '.join(f'`{home}`' for home in homes)}?"
    else:
        hint = _hint(key.partition(".")[0], {name: name for name in (*LOOSE, *TABLES)})
    return SettingsError(f"unknown setting `{key}` ({place}): {hint}")


def _unknown_variable(name: str) -> SettingsError:
    rest = name.removeprefix(PREFIX).lower()
    table = next((f"{table}." for table in TABLES if rest.startswith(f"{table}_")), "")
    known = {key[len(table) :].replace(".", "_"): variable(key) for key in FIELDS if key.startswith(table)}
    families = [*map(variable, LOOSE), *(variable(f"{table}.…") for table in TABLES)]
    hint = _hint(rest[len(table) :], known, list(known.values()) if table else families)
    return SettingsError(f"unknown environment variable {name}: {hint}")


def _hint(name: str, known: Mapping[str, str], listed: Sequence[str] = ()) -> str:
    """Name what is nearest; `known` maps what can be meant to how it is written where the mistake is."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean `{known[near[0]]}`?" if near else f"known are {', '.join(listed or known)}"


def _not_allowed(error: ValidationError, given: Mapping[str, Given]) -> SettingsError:
    first = error.errors(include_url=False)[0]
    loc = [str(part) for part in first["loc"]]
    key = next((key for key in (".".join(loc[:2]), loc[0]) if key in given), "")
    if not key:
        return _at_odds(loc[0], first["msg"].removeprefix("Value error, "), given)
    item = given[key]
    if first["type"] == "extra_forbidden":  # in a table of tables, the only kind whose keys are not in FIELDS
        known = get_args(_kind(FIELDS[key]))[1].model_fields
        hint = _hint(loc[-1], {name: name for name in known})
        return SettingsError(f"unknown setting `{loc[-1]}` in `{key}` ({item.place}): {hint}")
    shown = _shown(item.value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    said = f"is not allowed: it takes {_allowed(FIELDS[key])}"
    return SettingsError(f"`{key}` = {shown} ({item.place}) {said}")


def _at_odds(table: str, said: str, given: Mapping[str, Given]) -> SettingsError:
    """A rule between the keys of one table does not hold: tell where each key that it names comes from."""
    names = [name for name in TABLES[table].model_fields if re.search(rf"\b{name}\b", said)]
    places = [given[key].place if (key := f"{table}.{name}") in given else "default" for name in names]
    told = ", ".join(f"{name}: {place}" for name, place in zip(names, places, strict=True))
    return SettingsError(f"`{table}`: {said} ({told})")


def _line_of(key: str, text: str) -> int | None:
    """Return the line of a TOML text where a key is set or a table begins, as far as its look tells."""
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r"[\s\"']", "", line)
        if header := re.match(r"\[+([^\]]+)\]", bare):
            table = f"{header[1]}."
        if any(f"{path}.".startswith(f"{key}.") for path in (table[:-1], table + bare.partition("=")[0])):
            return number
    return None
