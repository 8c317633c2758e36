"""Generate pages of the documentation from the code when the documentation is built, so that they match the code.

`mkdocs.yml` names this file twice: as a hook, which adds the pages and adapts links, and as a griffe extension, which
gives mkdocstrings the signatures and docstrings that public functions have at run time.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.core import TyperArgument
from typer.main import get_command

import conspectus
from conspectus import cli, configuration
from conspectus.cli import options
from conspectus.cli.app import app, described
from conspectus.storage.tables import TABLES

ROOT = Path(__file__).parents[1]
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "reproduce/README.md": "reproduce.md",
}
"""Files outside docs/ that are also pages of the documentation, with the path of the page."""
PYTHON = {
    "Build and update": ("build", "abuild", "estimate", "preview", "embed", "Built"),
    "Ask and search": (
        "ask", "aask", "astream", "search", "asearch", "context", "acontext", "Conversation", "Answer", "Citation",
        "Hit", "QuestionContext",
    ),
    "Open and look around": (
        "open_index", "Index", "status_of", "history", "rollback", "entity_view", "EntityView", "path_between",
        "report_tree", "report_view", "Report",
    ),
    "Correct, export, import": ("correct", "draw_map", "export", "import_graphrag"),
    "Settings and errors": ("Settings", "ConspectusError"),
}  # fmt: skip
"""The public names by section, in the order in which the page documents them."""


# The command line


def command_line() -> str:
    """Return the page with every command and option."""
    lines = ["# Command line", "", "Every command also explains itself: `conspectus COMMAND --help`.", ""]
    root: Any = get_command(app)
    for group, names in cli.COMMANDS.items():
        lines += [f"## {group}", ""]
        for name in names:
            lines += _command(("conspectus", name), root.commands[name], 3)
    lines += ["## Exit codes", "", *_table(["code", "meaning"], _exit_codes())]
    return "\n".join(lines)


def _exit_codes() -> list[list[str]]:
    meanings = {
        options.DONE: "done",
        options.FAILED: "an error; nothing was written, or the message says what was",
        options.USAGE: "the command, an option or a setting makes no sense; nothing was read or written",
        options.WITH_FAILURES: "done, with failures that are listed",
        options.INTERRUPTED: "interrupted",
        options.NO_READER: "whoever read the output is gone, as after `| head`",
    }
    return [[str(code), meaning] for code, meaning in meanings.items()]


def _command(path: tuple[str, ...], command: Any, level: int) -> list[str]:
    """Return the section of a command, and of its subcommands."""
    text, examples = described(command.help)
    lines = [f"{'#' * level} `{' '.join(path)}` {{ #{'-'.join(path[1:])} }}", "", _escaped(text), ""]
    if examples:
        lines += ["```console", *(f"$ {example}" for example in examples), "```", ""]
    context = command.context_class(command, info_name=path[-1])
    by_panel: dict[str, list[list[str]]] = {name: [] for name in ("Arguments", *options.PANELS)}
    for param in command.get_params(context):
        if "--help" in param.opts or not (record := param.get_help_record(context)):
            continue
        is_argument = isinstance(param, TyperArgument)
        panel = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or options.OTHER
        name = (param.metavar or param.name).strip("[]") if is_argument else record[0]
        by_panel[panel].append([_code(name), _escaped(" ".join(record[1].split()))])
    for panel, params in by_panel.items():
        if params:
            lines += _table([panel, ""], params)
    for name, inner in getattr(command, "commands", {}).items():
        lines += _command((*path, name), inner, level + 1)
    return lines


# Settings


def settings() -> str:
    """Return the page with every setting: its allowed values, its default and its effect."""
    lines = [
        "# Settings",
        "",
        "Each setting has a dotted key. It is set in `conspectus.toml` (`conspectus init` writes one with every key),",
        "by an environment variable (`chunk.tokens` is `CONSPECTUS_CHUNK_TOKENS`), by `--set chunk.tokens=800`, or in",
        'Python by `settings={"chunk.tokens": 800}`; later ones win. `conspectus config` shows what is in force, and',
        "why.",
        "",
    ]
    by_table: dict[str, list[list[str]]] = {}
    for key, _, default, _, description in configuration.describe(configuration.overridden({})):
        allowed = configuration._allowed(configuration.FIELDS[key])
        name = f'<span id="{key}"></span>{_code(key)}'
        shown = "not set" if default is None else _code(json.dumps(default, ensure_ascii=False))
        by_table.setdefault(key.rpartition(".")[0], []).append(
            [name, shown, _escaped(allowed), _escaped(description)]
        )
    for table, found in by_table.items():
        section = configuration.TABLES.get(table)
        summary = (
            inspect.getdoc(section)
            if section
            else "Of no table: they stand before the first one in the file."
        )
        lines += [f"## {table or 'At the top'}", "", _escaped(summary or ""), ""]
        lines += _table(["key", "default", "values", "meaning"], found)
    return "\n".join([*lines, *_presets()])


def _presets() -> Iterator[str]:
    """Yield the lines on the settings of each preset of `conspectus init --preset`."""
    yield from (
        "## Presets",
        "",
        "`conspectus init --preset NAME` writes the settings by which a paper worked.",
        "",
    )
    for name in configuration.PRESETS:
        chosen = configuration.preset(name)
        yield from (f"### {name}", "", f"{_escaped(chosen.title)}. {_escaped(chosen.notes.strip())}", "")
        found = [
            [_code(key), _code(json.dumps(given.value, ensure_ascii=False)), _escaped(given.why)]
            for key, given in chosen.settings.items()
        ]
        yield from _table(["key", "value", "why"], found)


# Python


def python() -> str:
    """Return the page with every public name, for mkdocstrings to fill."""
    lines = [
        "# Python API",
        "",
        "`import conspectus` gives the names of this page; whatever else the package contains may change. [In",
        "Python](../python.md) shows them at work. `estimate` and its kin take the options of what they estimate.",
        "",
    ]
    for title, names in PYTHON.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"::: conspectus.{name}", "    options:", "      heading_level: 3", ""]
    return "\n".join([*lines, "## All errors", "", *_errors()])


def _errors() -> list[str]:
    """Return the lines of a table with the hierarchy of errors."""
    found: list[list[str]] = []

    def add(error: type[Exception], depth: int) -> None:
        indent = "&nbsp;" * 4 * depth
        summary = (inspect.getdoc(error) or "").partition("\n\n")[0]
        found.append([f"{indent}{_code(error.__name__)}", _escaped(" ".join(summary.split()))])
        for inner in error.__subclasses__():
            if inner.__module__ == "conspectus.errors":
                add(inner, depth + 1)

    add(conspectus.ConspectusError, 0)
    return ["They are in `conspectus.errors`.", "", *_table(["error", "raised where"], found)]


class PublicFunctions(griffe.Extension):
    """Documents public functions with the signature and docstring that they have at run time.

    A decorator makes `ask` from `aask`, and the options of both are defined by a typed dictionary: griffe, which reads
    only the source, finds neither.
    """

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the public functions that griffe read from the source, and format the arguments in docstrings."""
        if pkg.name != "conspectus":
            return
        for name in conspectus.__all__:
            value = getattr(conspectus, name)
            if inspect.isfunction(value):
                pkg.set_member(name, _function(name, value))
            else:
                shown = pkg[name].final_target
                for part in (shown, *shown.functions.values()):
                    _explain_arguments(part)


def _function(name: str, function: Any) -> griffe.Function:
    """Return griffe's description of a function, from its run-time signature and docstring."""
    signature = inspect.signature(function)
    kinds = {kind.name.lower(): kind for kind in griffe.ParameterKind}
    parameters = [
        griffe.Parameter(
            parameter.name,
            annotation=str(parameter.annotation),
            kind=kinds[parameter.kind.name.lower()],
            default=None if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in signature.parameters.values()
    ]
    made = griffe.Function(
        name, parameters=griffe.Parameters(*parameters), returns=str(signature.return_annotation)
    )
    if inspect.iscoroutinefunction(function):
        made.labels.add("async")
    made.docstring = griffe.Docstring(
        inspect.getdoc(function) or "", parent=made, parser=griffe.Parser.google
    )
    _explain_arguments(made)
    return made


def _explain_arguments(shown: Any) -> None:
    """Put the paragraphs of a docstring that explain arguments, `name: text`, under the heading that griffe expects."""
    if not shown.docstring:
        return
    names = {parameter.name for parameter in getattr(shown, "parameters", ())}
    paragraphs: list[str] = []
    for paragraph in shown.docstring.value.split("\n\n"):
        first = re.match(r"(\w+): ", paragraph)
        is_arguments = first and first[1] in names
        paragraphs.append("Args:\n" + re.sub("(?m)^", "    ", paragraph) if is_arguments else paragraph)
    shown.docstring.value = "\n\n".join(paragraphs)


# The server


def rest() -> str:
    """Return the page with every route of the server, from its OpenAPI description."""
    from conspectus.server.app import ServerOptions, create_app
    from conspectus.server.security import Access

    served: Any = create_app(ServerOptions([".conspectus"], Access()))
    while not hasattr(served, "openapi"):  # unwrap middleware
        served = served.app
    schema = served.openapi()
    lines = [
        "# REST API",
        "",
        "Routes of `conspectus serve`; a running server has this description at `/api/openapi.json`.",
        "[Server](../server.md) says how to start one, and who is let in. Bodies and replies are JSON, errors too.",
        "",
    ]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            lines += [
                f"## `{method.upper()} {path}`",
                "",
                _escaped(route.get("description") or route["summary"]),
                "",
            ]
            found = [
                [_code(p["name"]), p["in"], _type_of(p["schema"]), _escaped(p.get("description", ""))]
                for p in route.get("parameters", ())
            ]
            lines += _table(["parameter", "in", "type", ""], found) if found else []
            for kind, content in _contents(route):
                lines += [f"{kind}: {content}", ""]
    lines += ["## Types", ""]
    for name, type_ in schema["components"]["schemas"].items():
        lines += [f"### {name}", "", _escaped(type_.get("description", "")), ""]
        required = type_.get("required", ())
        found = [
            [
                _code(field),
                _type_of(info),
                "yes" if field in required else "",
                _escaped(info.get("description", "")),
            ]
            for field, info in type_.get("properties", {}).items()
        ]
        lines += _table(["field", "type", "always there", ""], found) if found else []
    return "\n".join(lines)


def _contents(route: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the body that a route accepts and its reply, each with media type and schema type."""
    bodies = [("Body", route.get("requestBody", {})), ("Reply", route["responses"].get("200", {}))]
    for kind, body in bodies:
        for media, content in body.get("content", {}).items():
            schema = content.get("schema", {})
            yield kind, f"`{media}`" + (f", {_type_of(schema)}" if schema else "")


def _type_of(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema type in words, with links to the types on the page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type_of(part) for part in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(_code(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {}))}"
    return schema.get("type", "any")


def tools() -> str:
    """Return the page with every tool and resource of the MCP server."""
    from conspectus.server.indexes import Indexes
    from conspectus.server.mcp import create_mcp

    server = create_mcp(Indexes([".conspectus"]))
    lines = [
        "# MCP tools",
        "",
        "What agents see of `conspectus mcp`, and at `/mcp` of `conspectus serve`. All tools only read.",
        "[Server](../server.md) says how an agent is told of them.",
        "",
    ]
    for tool in asyncio.run(server.list_tools()):
        lines += [f"## `{tool.name}`", "", _escaped(tool.description or ""), ""]
        schema = tool.input_schema
        found = [
            [
                _code(name),
                _type_of(info),
                "required" if name in schema.get("required", ()) else _code(json.dumps(info.get("default"))),
                _escaped(info.get("description", "")),
            ]
            for name, info in schema.get("properties", {}).items()
        ]
        lines += _table(["argument", "type", "default", ""], found) if found else []
    found = [
        [_code(template.uri_template), _escaped(template.description or "")]
        for template in asyncio.run(server.list_resource_templates())
    ]
    return "\n".join([*lines, "## Resources", "", *_table(["address", ""], found)])


# Tables

COLUMNS = {
    "id": "of 32 hexadecimal digits, from the content",
    "human_readable_id": "the position in the table, from 0: what `[Data: Entities (5)]` names",
    "title": "title, or name",
    "text": "text",
    "text_unit_ids": "ids of the chunks it occurs in, or that it has",
    "text_unit_id": "id of the first chunk that says it",
    "creation_date": "date that the document states, ISO 8601",
    "raw_data": "always empty",
    "path": "path as it was given to `index`; a record of a file is `path#n`",
    "metadata": "fields of the document as a JSON object, for `--where`",
    "places": "pages, sections or times, each with the character it starts at",
    "omitted": "characters that are no content (menus, references), as starts and ends in turn",
    "n_tokens": "tokens of the text, counted as `cl100k_base`",
    "document_id": "id of the document",
    "entity_ids": "ids of entities in it",
    "relationship_ids": "ids of relationships in it",
    "covariate_ids": "ids of claims in it",
    "start": "first character in the document",
    "end": "character of the document after the last one",
    "type": "type",
    "description": "description, with references where a model wrote it from several",
    "frequency": "number of chunks it occurs in",
    "degree": "number of relationships",
    "spans": "characters `[start, end)` of documents where it stands, the most telling first",
    "aliases": "other names",
    "source": "name of the entity at one end",
    "target": "name of the entity at the other end",
    "weight": "number of places that state it",
    "combined_degree": "sum of the degrees of both ends",
    "strength": "mean of what the model gave the places, 1 to 10",
    "head": "subject of the statement",
    "relation": "predicate of the statement",
    "tail": "object of the statement",
    "covariate_type": "always `claim`",
    "subject_id": "name of the entity that the claim is on",
    "object_id": "name of the other party",
    "status": "whether it is true, false or suspected",
    "start_date": "from when it holds, if stated",
    "end_date": "until when it holds, if stated",
    "source_text": "text that the claim stands on",
    "community": "number of the community",
    "level": "depth in the hierarchy, 0 the root",
    "parent": "number of the community above, -1 at the root",
    "children": "numbers of the communities below",
    "period": "always empty",
    "size": "number of entities",
    "entity_numbers": "positions of its entities in the table of entities",
    "relationship_numbers": "positions of the relationships that are within it",
    "unsplit": "why a community above the largest size was not split; else empty",
    "summary": "summary",
    "full_content": "the report as Markdown",
    "rank": "importance of the community, 0 to 10",
    "rating_explanation": "why it has this rank",
    "findings": "findings: a heading and an explanation that ends in references",
    "full_content_json": "the report as JSON",
    "name": "a name",
    "into": "name of the entity that it was joined to",
    "rule": "rule that joined them",
    "evidence": "why, in words",
    "stage": "stage that failed",
    "error": "what happened and what to do",
    "document": "document it happened to",
    "word": "word of the inverted index",
}
"""Meaning of each column by its name; a name has the same meaning in every table."""


def tables() -> str:
    """Return the page with the columns of every table of an index."""
    lines = [
        "# Tables",
        "",
        "An index is a folder; `tables/NAME.parquet` in it are its tables, for pandas, Polars, DuckDB and others to",
        "read. A table begins with the columns of Microsoft GraphRAG 3, in its names and types. Only read them:",
        "`conspectus export` writes copies.",
        "",
    ]
    for name, table in TABLES.items():
        lines += [f"## {table.file}", ""]
        if table.file != name:
            lines += [f"`Index.{name}` in Python.", ""]
        found = [
            [_code(column.name), _code(str(column.kind.type).replace("element: ", "")), COLUMNS[column.name]]
            for column in table.columns
        ]
        lines += _table(["column", "type", "meaning"], found)
    return "\n".join(lines)


# Markdown


def _table(head: Sequence[str], found: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    cells = [head, ["---"] * len(head), *found]
    return [*(f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in cells), ""]


def _code(text: str) -> str:
    """Return a text as Markdown code for a table cell."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def _escaped(text: str) -> str:
    """Return a text with Markdown's special characters escaped, except inside backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(_code(part[1:-1]) if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return re.sub(r"[|<*_\[\]{}]", lambda match: f"&#{ord(match[0])};", text)


# The hook

GENERATED = {
    "reference/cli.md": command_line,
    "reference/settings.md": settings,
    "reference/python.md": python,
    "reference/rest.md": rest,
    "reference/mcp.md": tools,
    "reference/tables.md": tables,
}
"""The generated pages, with the function that makes each."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the files outside docs/ as pages."""
    for path, page in GENERATED.items():
        files.append(File.generated(config, path, content=page()))
    for source, path in COPIED.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages."""
    source = {page: source for source, page in COPIED.items()}.get(
        page.file.src_uri, f"docs/{page.file.src_uri}"
    )

    def linked(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        target = COPIED.get(target, target.removeprefix("docs/"))
        here = posixpath.dirname(page.file.src_uri)
        return f"{match[1]}{posixpath.relpath(target, here or '.')}{match[3]}"

    return re.sub(r"(\]\()(?![a-z]+:|#)([^)#\s]+)([)#])", linked, markdown)
