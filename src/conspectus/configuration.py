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
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from conspectus.errors import SettingsError
from conspectus.settings import Section, Settings

FILE_NAME = "conspectus.toml"
INDEX = "the index"
"""The origin of what an index remembers."""
PREFIX = "CONSPECTUS_"
RESERVED = {"CONSPECTUS_CACHE", "CONSPECTUS_DEBUG", "CONSPECTUS_INDEX", "CONSPECTUS_LOG"}
"""Environment variables with our prefix that are not settings; neither is any that ends in `_API_KEY`."""
PATHS = ("llm.prompts", "read.password_file", "store.corrections")
"""Keys whose values are paths; in a settings file they are relative to that file."""
SWITCHES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
RENAMED = {
    "describe.context_tokens": "reports.context_tokens",
    "global.context_tokens": "answer.context_tokens",
    "global.descend": "global.level",
    "hippo.form": "hippo.variant",
    "local.context_tokens": "answer.context_tokens",
}
"""Keys of earlier versions and the keys that replace them."""
REMOVED: Mapping[str, Any] = {
    "chunk.encoding": "cl100k_base", "chunk.strict": False, "communities.resolution": 1.0,
    "drift.follow_ups": 3, "drift.reports": 5, "drilldown.relevance": 1, "drilldown.width": 3,
    "global.map_reply": "answer", "global.relevance": 1, "global.seed": 42,
    "hippo.chunk_weight": 0.05, "hippo.specificity": True, "hippo.synonyms": 0.8, "hippo.triples": 5,
    "llm.reply_format": "json", "llm.retry_seconds": 1.0, "llm.seed": None,
    "local.claim_share": 0.1, "local.entities": 10, "local.entity_share": 0.15, "local.relationship_share": 0.2,
    "local.report_share": 0.15, "raptor.cluster": 8, "raptor.levels": 3, "raptor.summary_tokens": 150,
    "read.seconds_per_file": 60.0, "rerank.depth": 20, "rollup.matches": 100, "rollup.reports": 12, "rollup.share": 0.5,
    "search.b": 0.75, "search.k1": 1.2, "tog.chunks": 10, "tog.decay": 0.4, "tog.evidence": 5, "tog.samples": 5,
    "walk.damping": 0.87, "walk.extent": "auto", "walk.form": "auto", "walk.steps": 9, "walk.vectors": True,
}  # fmt: skip
"""Keys of earlier versions that are constants now, with their values."""


class Given(NamedTuple):
    """The value that a source gives to a key; `location` is the source and, in a file, the line."""

    key: str
    value: Any
    origin: str
    location: str


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
    sources = (_from_file(file or settings_file()), _from_environment(environ), _from_overrides(overrides or {}))
    given: dict[str, Given] = {}
    nested: dict[str, Any] = {table: {} for table in TABLES}
    for item in chain.from_iterable(sources):
        if item.key not in FIELDS:
            raise _unknown(item.key, item.location)
        _set(nested, item.key, item.value)
        given[item.key] = item
    return Resolved(
        _validated(nested, given), {key: given[key].origin if key in given else "default" for key in FIELDS}
    )


def settings_file() -> Path | None:
    """Return the `conspectus.toml` for the working directory, or None.

    It is the nearest one from there up to a folder that contains `.git`, or to the home folder. Where neither is above,
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
    """Return settings in which some keys have new values, which come from `origin`.

    Raises SettingsError where a value is not allowed.
    """
    if not values:
        return resolved
    tables = resolved.settings.model_dump(by_alias=True)
    for key, value in values.items():
        _set(tables, key, _as_tuple(value))
    given = {key: Given(key, value, origin, origin) for key, value in values.items()}
    return Resolved(_validated(tables, given), {**resolved.origins, **dict.fromkeys(values, origin)})


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
        lines += ["", f"# {info.description}", f"# {_allowed(info)}; default: {_as_text(defaults[key])}"]
        lines += [f"# {key} is not set" if values[key] is None else f"{mark}{key} = {_as_text(values[key])}"]
    return "\n".join(lines) + "\n"


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
FORMER_TABLES = frozenset(key.partition(".")[0] for key in (*RENAMED, *REMOVED))
"""Tables of earlier versions, so that their keys are recognised."""


def variable(key: str) -> str:
    """Return the environment variable that sets a key: `CONSPECTUS_CHUNK_TOKENS` for `chunk.tokens`."""
    return PREFIX + key.upper().replace(".", "_")


def _set(tables: dict[str, Any], key: str, value: Any) -> None:
    table, _, name = key.rpartition(".")
    (tables[table] if table else tables)[name] = value


def _flat(settings: Settings) -> dict[str, Any]:
    tables = settings.model_dump(by_alias=True)
    return {key: reduce(getitem, key.split("."), tables) for key in FIELDS}


def _validated(tables: Mapping[str, Any], given: Mapping[str, Given]) -> Settings:
    try:
        return Settings.model_validate(tables, strict=True)
    except ValidationError as error:
        raise _not_allowed(error, given) from None


# Types of settings, in code and in words


def _types(info: FieldInfo) -> list[tuple[Any, Sequence[Any]]]:
    """Return the types that a field may have, None aside, each with its bounds."""
    union = get_origin(info.annotation) in (Union, UnionType)
    types = [
        kind for kind in (get_args(info.annotation) if union else (info.annotation,)) if kind is not NoneType
    ]
    return [
        (get_args(kind)[0], get_args(kind)[1].metadata)
        if get_origin(kind) is Annotated
        else (kind, info.metadata)
        for kind in types
    ]


def _allowed(info: FieldInfo) -> str:
    """Return what a field may be, in words."""
    return " or ".join(_allowed_type(kind, bounds) for kind, bounds in _types(info))


def _allowed_type(kind: Any, bounds: Sequence[Any]) -> str:
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return ("one of " if len(choices) > 1 else "") + ", ".join(map(_as_text, choices))
    if get_origin(kind) is tuple:
        return "a list of texts"
    if get_origin(kind) is dict:
        return f"a table whose values are each {_allowed_type(get_args(kind)[1], ())}"
    if issubclass(kind, Section):
        return "{ " + "; ".join(f"{name} = {_allowed(info)}" for name, info in kind.model_fields.items()) + " }"
    words = [{int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]]
    for name, phrase in {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}.items():
        words += [f"{phrase} {getattr(bound, name):g}" for bound in bounds if hasattr(bound, name)]
    return ", ".join(words)


def _as_text(value: Any) -> str:
    """Return a value as TOML writes it, which is as JSON does but for one character."""
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return "{" + ", ".join(f"{_as_text(str(name))} = {_as_text(item)}" for name, item in items) + "}"
    try:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    except TypeError:  # not a possible value of any setting: it is shown in an error
        return " ".join(repr(value).split())


def _as_tuple(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def _parsed(value: Any, info: FieldInfo) -> Any:
    """Return what a text means by the type of its field; a text that cannot be parsed is left to validation."""
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


def _from_file(path: Path | None) -> Iterator[Given]:
    if path is None:
        return
    origin = f"{path.name} ({path})"
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark, which TOML refuses
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
        value = _relative_to(path, value, key) if key in PATHS and isinstance(value, str) else _as_tuple(value)
        yield Given(key, value, origin, f"{origin}, line {line}" if line else origin)


def _relative_to(file: Path, value: str, key: str) -> str:
    path = file.parent / Path(value).expanduser()
    exists = path.exists() or key == "store.corrections"  # which is written with the first correction
    return str(path) if value and exists else value


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


def _from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    keys = {variable(key): key for key in FIELDS}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in RESERVED or name.endswith("_API_KEY"):
            continue
        if name not in keys:
            raise _unknown_variable(name)
        if environ[name].strip():
            yield Given(keys[name], _parsed(environ[name], FIELDS[keys[name]]), name, name)


def _from_overrides(overrides: Mapping[str, Any]) -> Iterator[Given]:
    for key, value in _dotted(overrides):
        yield Given(key, _parsed(value, FIELDS[key]) if key in FIELDS else value, "given", "given")


def _dotted(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if not table and (name in TABLES or name in FORMER_TABLES) and isinstance(value, Mapping):
            yield from _dotted(cast(Mapping[str, Any], value), f"{name}.")
        else:
            yield f"{table}{name}", value


# Errors, each in one line


def _unknown(key: str, location: str) -> SettingsError:
    table, _, name = key.rpartition(".")
    homes = [other for other in FIELDS if other.endswith(f".{key}") or other.replace(".", "_") == key]
    if former := _former(key):
        hint = former
    elif re.search(r"(^|[._-])(key|api_?key|api_?token|secret|password)$", key, re.IGNORECASE):
        hint = "keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on, or, for a server named by"
        hint += " its address, CONSPECTUS_API_KEY"
    elif key in TABLES:
        hint = f"it is a table, whose keys are {', '.join(TABLES[key].model_fields)}"
    elif table in TABLES:
        fields = TABLES[table].model_fields
        hint = _hint(name, {name: f"{table}.{name}" for name in fields}, fields)
    elif homes:
        hint = f"did you mean {' or '.join(f'`{home}`' for home in homes)}?"
    else:
        hint = _hint(key.partition(".")[0], {name: name for name in (*LOOSE, *TABLES)})
    return SettingsError(f"unknown setting `{key}` ({location}): {hint}")


def _former(key: str) -> str:
    """Return what to do about a key of an earlier version, "" for any other."""
    if key in RENAMED:
        return f"it is `{RENAMED[key]}` now, which takes {_allowed(FIELDS[RENAMED[key]])}"
    if key in REMOVED:
        return f"it is no longer a setting, but always {_as_text(REMOVED[key])}; remove it"
    return ""


def _unknown_variable(name: str) -> SettingsError:
    former = next(
        (former for key in (*RENAMED, *REMOVED) if variable(key) == name and (former := _former(key))), ""
    )
    rest = name.removeprefix(PREFIX).lower()
    table = next((f"{table}." for table in TABLES if rest.startswith(f"{table}_")), "")
    names = {key[len(table) :].replace(".", "_"): variable(key) for key in FIELDS if key.startswith(table)}
    families = [*map(variable, LOOSE), *(variable(f"{table}.…") for table in TABLES)]
    hint = former or _hint(rest[len(table) :], names, list(names.values()) if table else families)
    return SettingsError(f"unknown environment variable {name}: {hint}")


def _hint(name: str, known: Mapping[str, str], listed: Collection[str] = ()) -> str:
    """Name the nearest of the known names, which map to how they are written in the source, or list them all."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean `{known[near[0]]}`?" if near else f"known are {', '.join(listed or known)}"


def _not_allowed(error: ValidationError, given: Mapping[str, Given]) -> SettingsError:
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = next((key for key in (".".join(path[:2]), path[0]) if key in given), "")
    if not key:
        return _rule_broken(path[0], first["msg"].removeprefix("Value error, "), given)
    item = given[key]
    if first["type"] == "extra_forbidden":  # in a table of tables, the only kind whose keys are not in FIELDS
        fields = get_args(_types(FIELDS[key])[0][0])[1].model_fields
        hint = _hint(path[-1], {name: name for name in fields})
        return SettingsError(f"unknown setting `{path[-1]}` in `{key}` ({item.location}): {hint}")
    value = _as_text(item.value)
    value = value if len(value) <= 80 else f"{value[:79]}…"
    return SettingsError(f"`{key}` = {value} ({item.location}) is not allowed: it takes {_allowed(FIELDS[key])}")


def _rule_broken(table: str, message: str, given: Mapping[str, Given]) -> SettingsError:
    """Return the error of a rule between the keys of one table, with the location of each key that it names."""
    names = [name for name in TABLES[table].model_fields if re.search(rf"\b{name}\b", message)]
    locations = [given[key].location if (key := f"{table}.{name}") in given else "default" for name in names]
    origins = ", ".join(f"{name}: {location}" for name, location in zip(names, locations, strict=True))
    return SettingsError(f"`{table}`: {message} ({origins})")
