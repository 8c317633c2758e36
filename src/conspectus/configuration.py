"""Where the values of the settings come from.

Later sources win: the defaults, what an index remembers of its models (`index_models`), `conspectus.toml`, environment
variables (`CONSPECTUS_CHUNK_TOKENS=800` sets `tokens` of `[chunk]`), then what the caller or the command line gives. A
setting is named by its dotted key, `chunk.tokens`, in `conspectus.toml` too.

For every command and for Python, `conspectus.toml` is the file that is named (`--config`), else the nearest one from
the working directory up to the root of its repository or the home folder; elsewhere, the one in the working directory.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from conspectus.errors import SettingsError
from conspectus.settings import Section, Settings

FILE_NAME = "conspectus.toml"
INDEX = "the index"
"""The origin of what an index remembers."""
PREFIX = "CONSPECTUS_"
RESERVED = {"CONSPECTUS_CACHE", "CONSPECTUS_DEBUG", "CONSPECTUS_INDEX", "CONSPECTUS_LOG"}
"""Variables with our prefix that are not settings; nor is any that ends in `_API_KEY`."""
PATHS = ("llm.prompts", "read.password_file", "store.corrections")
"""Keys of what is read from a place, which a settings file names from where it stands itself."""
SWITCHES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


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

    An origin is `default`, `the index` (see `index_models`), `conspectus.toml (its path)`, the name of an environment
    variable, or `given`.
    """

    settings: Settings
    origins: Mapping[str, str]

    @property
    def remembers_model(self) -> bool:
        """Whether the language model is named by nothing but an index that was built with it."""
        return self.origins.get("model") == INDEX


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Resolved:
    """Return the settings of all sources, later ones winning: defaults, file, environment, overrides.

    The file is `file`, which then has to exist, else that of `settings_file`. Overrides are dotted keys
    (`{"chunk.tokens": 800}`) or nested mappings. A text given for a number, a switch, a list (`a, b`) or a table
    (`{ a = "b" }`) is read as one, in overrides and in the environment; an empty environment variable counts as
    not set.

    Raises SettingsError, in one line, where a file cannot be read, a key is unknown, or the winning value of
    a key is not allowed.
    """
    sources = (_in_file(file or settings_file()), _in_environment(environ), _in_overrides(overrides or {}))
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


def settings_file() -> Path | None:
    """Return the `conspectus.toml` that goes for the working directory; None where there is none.

    It is the nearest one from there up to a folder that holds `.git`, or to the home folder. Where neither is above,
    only the working directory counts: who can write to /tmp must not choose the server of others.
    """
    here = Path.cwd()
    above = [here, *here.parents]
    with suppress(RuntimeError):  # there is no home folder
        home = Path.home()
        last = next((n for n, folder in enumerate(above) if folder == home or (folder / ".git").exists()), 0)
        above = above[: last + 1]
    return next((path for folder in above if (path := folder / FILE_NAME).is_file()), None)


def completed(resolved: Resolved, values: Mapping[str, Any], origin: str) -> Resolved:
    """Return settings with the values of some keys, which then come from an origin.

    Raises SettingsError where a value is not allowed.
    """
    if not values:
        return resolved
    tables = resolved.settings.model_dump(by_alias=True)
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        (tables[table] if table else tables)[name] = _as_tuple(value)
    try:
        settings = Settings.model_validate(tables, strict=True)
    except ValidationError as error:
        given = {key: Given(key, value, origin, origin) for key, value in values.items()}
        raise _not_allowed(error, given) from None
    return Resolved(settings, {**resolved.origins, **dict.fromkeys(values, origin)})


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
    name: info for name, info in Settings.model_fields.items() if (info.serialization_alias or name) not in TABLES
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


def _in_file(path: Path | None) -> Iterator[Given]:
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
        yield Given(key, _beside(path, key, _as_tuple(value)), origin, f"{origin}, line {line}" if line else origin)


def _beside(file: Path, key: str, value: Any) -> Any:
    """Return the value of a key; a path that leads somewhere from the settings file starts there."""
    if key not in PATHS or not isinstance(value, str) or not value:
        return value
    place = file.parent / Path(value).expanduser()
    return str(place) if place.exists() or key == "store.corrections" else value  # made with the first correction


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

RENAMED = {"hippo.form": "hippo.variant", "walk.form": "walk.extent"}
"""Keys that had another name before, and had other values under it."""


def _unknown(key: str, place: str) -> SettingsError:
    table, _, name = key.rpartition(".")
    homes = [known for known in FIELDS if known.endswith(f".{key}") or known.replace(".", "_") == key]
    if key in RENAMED:
        hint = f"it is `{RENAMED[key]}` now, which takes {_allowed(FIELDS[RENAMED[key]])}"
    elif re.search(r"(^|[._-])(key|api_?key|api_?token|secret|password)$", key, re.IGNORECASE):
        hint = "keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on, or, for a server named by"
        hint += " its address, CONSPECTUS_API_KEY"
    elif key in TABLES:
        hint = f"it is a table, whose keys are {', '.join(TABLES[key].model_fields)}"
    elif table in TABLES and name in TABLES[table].__class_vars__:
        hint = f"it is no setting any more, but always {getattr(TABLES[table], name)}; remove the line"
    elif table in TABLES:
        hint = _hint(name, {name: f"{table}.{name}" for name in TABLES[table].model_fields}, TABLES[table].model_fields)
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


def _hint(name: str, known: Mapping[str, str], listed: Collection[str] = ()) -> str:
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
