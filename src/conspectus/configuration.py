"""The sources of settings.

Later sources win: the defaults, what an index remembers of its models (`index_models`), `conspectus.toml`, environment
variables (`CONSPECTUS_CHUNK_TOKENS=800` sets `tokens` of `[chunk]`), then values from the caller or the command line. A
setting is named by its dotted key, such as `chunk.tokens`, which `conspectus.toml` also accepts.

For every command and for Python, `conspectus.toml` is the file that is named (`--config`), else the nearest one from
the working directory up to the root of its repository or the home folder; elsewhere, the one in the working directory.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from conspectus.errors import SettingsError, did_you_mean
from conspectus.rows import snippet
from conspectus.settings import Section, Settings
from conspectus.tasks.base import TASKS

FILE_NAME = "conspectus.toml"
INDEX = "the index"
"""The origin of values that an index remembers."""
PREFIX = "CONSPECTUS_"
RESERVED = {"CONSPECTUS_CACHE", "CONSPECTUS_DEBUG", "CONSPECTUS_INDEX", "CONSPECTUS_LOG", "CONSPECTUS_TOKEN"}
"""Environment variables with our prefix that are not settings; those that end in `_API_KEY` are not settings either."""
PATHS = ("extract.graph_schema", "llm.prompts")
"""Keys whose values are paths; in a settings file they are relative to that file."""
LONGEST_VALUE = 80
"""Maximum characters of a value in an error, so that the error fits on two lines of a terminal."""
_SECRET = re.compile(r"(^|[._-])(key|api_?key|api_?token|secret|password)$", re.IGNORECASE)
SWITCHES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class _Given(NamedTuple):
    """The value that a source, its `origin`, gives to a key."""

    key: str
    value: Any
    origin: str


class Described(NamedTuple):
    """One setting as `conspectus config` shows it."""

    key: str
    value: Any
    default: Any
    origin: str
    description: str


@dataclass(frozen=True)
class Resolved:
    """Settings, and the origin of the value of each key.

    An origin is `default`, `the index` (for settings of its models), `conspectus.toml (its path)`, the name of an
    environment variable, or `given`.
    """

    settings: Settings
    origins: Mapping[str, str]


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Resolved:
    """Return the settings of all sources, later ones winning: defaults, file, environment, overrides.

    The file is `file`, which has to exist if given, else that of `settings_file`. Overrides are dotted keys
    (`{"chunk.tokens": 800}`) or nested mappings. In overrides and in the environment, a text given for a number, a
    switch, a list (`a, b`) or a table (`{ a = "b" }`) is parsed; an empty environment variable counts as not set.

    Raises SettingsError, with a message of one line, if the file cannot be read, a key is unknown, or the winning value
    of a key is not allowed.
    """
    file = file or settings_file()
    return _resolved(chain(_from_file(file), _from_environment(environ), _from_overrides(overrides or {})))


def overridden(overrides: Mapping[str, Any]) -> Resolved:
    """Return the defaults with overrides, ignoring the file and the environment."""
    return _resolved(_from_overrides(overrides))


def _resolved(values: Iterable[_Given], before: Resolved | None = None) -> Resolved:
    tables: dict[str, Any] = {table: {} for table in TABLES}
    origins = dict.fromkeys(FIELDS, "default")
    if before:
        tables, origins = before.settings.model_dump(by_alias=True), dict(before.origins)
    given: dict[str, _Given] = {}
    for item in values:
        if item.key not in FIELDS:
            raise _unknown(item.key, item.origin)
        table, _, name = item.key.rpartition(".")
        home = tables[table] if table else tables
        merges = type(item.value) is type(home.get(name)) is dict  # the models of some tasks, some prices
        home[name] = home[name] | item.value if merges else item.value
        given[item.key] = item
        origins[item.key] = item.origin
    try:
        settings = Settings.model_validate(tables, strict=True)
    except ValidationError as error:
        raise _not_allowed(error, given) from None
    for task in sorted(name for name in settings.llm.tasks if name not in TASKS or TASKS[name].counted_as):
        named = f"`llm.tasks` ({origins['llm.tasks']}) names {task}"
        raise SettingsError(f"{named}, which is not a task{did_you_mean(task, TASKS)}")
    return Resolved(settings, origins)


def settings_file() -> Path | None:
    """Return the `conspectus.toml` for the working directory, or None.

    It is the nearest one from there up to a folder that contains `.git`, or to the home folder. If there is neither,
    only the working directory counts: users who can write to /tmp must not choose the servers of others.
    """
    here = Path.cwd()
    above = [here, *here.parents]
    with suppress(RuntimeError):  # there is no home folder
        home = Path.home()
        roots = (n for n, folder in enumerate(above) if folder == home or (folder / ".git").exists())
        above = above[: next(roots, 0) + 1]
    return next((path for folder in above if (path := folder / FILE_NAME).is_file()), None)


def completed(resolved: Resolved, values: Mapping[str, Any], origin: str) -> Resolved:
    """Return settings with new values for some keys, whose origin is `origin`.

    Raises SettingsError if a value is not allowed.
    """
    given = (_Given(key, _parsed(value, FIELDS[key]), origin) for key, value in values.items())
    return _resolved(given, resolved) if values else resolved


def describe(resolved: Resolved) -> list[Described]:
    """Return every setting: key, value, default, origin and description, in the order of the tables."""
    values, defaults = by_key(resolved.settings), by_key(Settings())
    return [
        Described(key, values[key], defaults[key], resolved.origins[key], info.description or "")
        for key, info in FIELDS.items()
    ]


class Preset(BaseModel):
    """The settings used in a paper, each with its source there (`presets/NAME.toml`)."""

    class Value(BaseModel):
        """The value of a setting, and the reason for it."""

        value: Any
        why: str

    title: str
    notes: str
    """Notes on what no setting expresses."""
    settings: dict[str, Value]

    @property
    def values(self) -> dict[str, Any]:
        """The values by dotted key, as `settings=` takes them."""
        return {key: given.value for key, given in self.settings.items()}


PRESETS = ("graphrag-paper", "hipporag-paper", "tog2-paper")


def preset(name: str) -> Preset:
    """Return a preset; raise SettingsError if there is none of that name."""
    if name not in PRESETS:
        near = did_you_mean(name, PRESETS)
        raise SettingsError(f"there is no preset {name!r}{near}; there are {', '.join(PRESETS)}")
    path = Path(__file__).parent / "presets" / f"{name}.toml"
    return Preset.model_validate(tomllib.loads(path.read_text("utf-8")))


def as_toml(name: str = "") -> str:
    """Return a `conspectus.toml` with every key, its description and default, commented out except for a preset's.

    Prose starts with `# `, a setting with `#` alone. Keys are dotted, so that no line depends on another. TOML cannot
    express None, so it is written as prose.
    """
    lines = ["# Settings of Conspectus. To change one, remove the # right before its key."]
    chosen = preset(name) if name else None
    if chosen:
        lines += [f"# Preset {name}: {chosen.title}."]
        lines += [f"# {line}" for line in chosen.notes.strip().splitlines()]
    set_ = chosen.settings if chosen else {}
    table = ""
    for key, value, _, _, description in describe(overridden({})):
        if key.rpartition(".")[0] != table:
            table = key.rpartition(".")[0]
            summary = (TABLES[table].__doc__ or "").partition("\n")[0]
            lines += ["", f"# --- {table}: {summary}"]
        lines += ["", f"# {description}", f"# {_allowed(FIELDS[key])}"]
        if key in set_:
            lines += [f"# Preset: {set_[key].why}", f"{key} = {_as_text(set_[key].value)}"]
            continue
        lines += [f"# {key} is not set" if value is None else f"#{key} = {_as_text(value)}"]
    return "\n".join(lines) + "\n"


TABLES: Mapping[str, type[Section]] = {
    info.serialization_alias or name: info.annotation
    for name, info in Settings.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, Section)
}
FIELDS: Mapping[str, FieldInfo] = {
    **{name: info for name, info in Settings.model_fields.items() if info.annotation not in TABLES.values()},
    **{f"{table}.{name}": info for table in TABLES for name, info in TABLES[table].model_fields.items()},
}
"""Every setting by its dotted key, those outside tables first."""


def variable(key: str) -> str:
    """Return the environment variable that sets a key: `CONSPECTUS_CHUNK_TOKENS` for `chunk.tokens`."""
    return PREFIX + key.upper().replace(".", "_")


def by_key(settings: Settings) -> dict[str, Any]:
    """Return every setting by its dotted key."""
    tables = settings.model_dump(by_alias=True)
    return {key: reduce(getitem, key.split("."), tables) for key in FIELDS}


# Types of settings, in code and in words


def _types(info: FieldInfo) -> list[tuple[Any, Sequence[Any]]]:
    """Return the types that a field may have, except None, each with its bounds."""
    union = get_origin(info.annotation) in (Union, UnionType)
    types: list[tuple[Any, Sequence[Any]]] = []
    for kind in get_args(info.annotation) if union else (info.annotation,):
        if get_origin(kind) is Annotated:
            types.append((get_args(kind)[0], get_args(kind)[1].metadata))
        elif kind is not NoneType:
            types.append((kind, info.metadata))
    return types


def _allowed(info: FieldInfo) -> str:
    """Return a text about the values that a field may have."""
    return " or ".join(_in_words(kind, bounds) for kind, bounds in _types(info))


def _in_words(kind: Any, bounds: Sequence[Any]) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(_as_text, get_args(kind)))
    if get_origin(kind) is tuple:
        return "a list of texts"
    if get_origin(kind) is dict:
        return f"a table whose values are each {_in_words(get_args(kind)[1], ())}"
    if issubclass(kind, Section):
        fields = (f"{name} = {_allowed(info)}" for name, info in kind.model_fields.items())
        return f"{{ {'; '.join(fields)} }}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    words = [names[kind]]
    for name, phrase in {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}.items():
        words += [f"{phrase} {getattr(bound, name):g}" for bound in bounds if hasattr(bound, name)]
    return ", ".join(words)


def _as_text(value: Any) -> str:
    """Return a value on one line, for most types as in TOML."""
    if value is None:
        return "not set"
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:  # not a valid value of any setting, but errors show it
        return " ".join(repr(value).split())


def _as_tuple(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def _parsed(value: Any, info: FieldInfo) -> Any:
    """Return a text parsed by the type of its field; a text that cannot be parsed is left to validation."""
    kind = _types(info)[0][0]
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


# Sources


def _from_file(path: Path | None) -> Iterator[_Given]:
    if path is None:
        return
    origin = f"{path.name} ({path})"
    try:
        # some editors write a byte order mark, which TOML refuses
        text = path.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"the settings file {path} is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, where = str(error).removesuffix(")").partition(" (at ")
        raise SettingsError(f"{origin}, {where}: not valid TOML: {reason}") from None
    for key, value in dotted(values):
        if key in PATHS and isinstance(value, str):
            relative = path.parent / Path(value).expanduser()
            if value and relative.exists():
                value = str(relative)
        yield _Given(key, _as_tuple(value), origin)


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    keys = {variable(key): key for key in FIELDS}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in RESERVED or name.endswith("_API_KEY"):
            continue
        if name not in keys:
            near = difflib.get_close_matches(name.upper(), keys, n=1, cutoff=0.8)
            hint = f"did you mean `{near[0]}`?" if near else "conspectus config lists all settings"
            raise SettingsError(f"unknown environment variable {name}: {hint}")
        if environ[name].strip():
            yield _Given(keys[name], _parsed(environ[name], FIELDS[keys[name]]), name)


def _from_overrides(overrides: Mapping[str, Any]) -> Iterator[_Given]:
    for key, value in dotted(overrides):
        value = _parsed(value, FIELDS[key]) if key in FIELDS else value
        yield _Given(key, value, "given")


def dotted(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values with their dotted keys, those of nested tables too."""
    for name, value in values.items():
        if not table and name in TABLES and isinstance(value, Mapping):
            yield from dotted(cast(Mapping[str, Any], value), f"{name}.")
        else:
            yield f"{table}{name}", value


# Errors, each with a message of one line


REPLACED = {
    "hippo.variant": "each form is a method: hipporag, hipporag2 or combined; `extract.strict` asks as the paper does"
}
"""Former settings, and what replaces them."""


def _unknown(key: str, origin: str) -> SettingsError:
    if _SECRET.search(key):
        hint = (
            "keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on,"
            " or, for a server named by its address, CONSPECTUS_API_KEY"
        )
    elif key in REPLACED:
        hint = REPLACED[key]
    elif key in TABLES:
        hint = f"it is a table, whose keys are {', '.join(TABLES[key].model_fields)}"
    else:
        homes = [known for known in FIELDS if known.endswith(f".{key}")]
        near = homes or difflib.get_close_matches(key, [*FIELDS, *TABLES], n=1)
        names = " or ".join(f"`{name}`" for name in near)
        hint = f"did you mean {names}?" if near else "conspectus config lists all settings"
    return SettingsError(f"unknown setting `{key}` ({origin}): {hint}")


def _not_allowed(error: ValidationError, given: Mapping[str, _Given]) -> SettingsError:
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = next((key for key in (".".join(path[:2]), path[0]) if key in given), "")
    if not key:  # a rule about several keys of a table: name the origin of each
        table, message = path[0], first["msg"].removeprefix("Value error, ")
        names = [name for name in TABLES[table].model_fields if re.search(rf"\b{name}\b", message)]
        values = ((name, given.get(f"{table}.{name}")) for name in names)
        origins = ", ".join(f"{name}: {item.origin if item else 'default'}" for name, item in values)
        return SettingsError(f"`{table}`: {message} ({origins})")
    item = given[key]
    value, allowed = snippet(_as_text(item.value), LONGEST_VALUE), _allowed(FIELDS[key])
    if first["type"] == "value_error" or key in PATHS:  # a rule of its own, or a part of a file
        part, message = ".".join(path[2:]), first["msg"].removeprefix("Value error, ")
        where = f"`{key}` = {value} ({item.origin}) is not allowed"
        return SettingsError(f"{where}: {part}{': ' if part else ''}{message}")
    return SettingsError(f"`{key}` = {value} ({item.origin}) is not allowed: it takes {allowed}")
