"""Pages that need nothing beside them: one HTML file with its style, its program and its data, made by Jinja2."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from conspectus.text.language import language_of

_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def render(template: str, **values: Any) -> str:
    """Return a template of the folder `templates`, filled; in HTML values are escaped."""
    return _environment().get_template(template).render(**values)


def packed(data: Any) -> str:
    """Return data as the page's program unpacks it."""
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(content.encode("utf-8", "replace"), 6, mtime=0)).decode()


def one_line(text: str) -> str:
    """Return a text for Markdown: on one line, in which nothing is a tag."""
    return _TAG.sub(r"\\<", " ".join(text.split()))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("conspectus.evaluation"),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"line": one_line, "language": _language, "segment": _segment}
    environment.filters.update(filters)  # pyright: ignore[reportUnknownMemberType]
    environment.globals["source"] = _source  # pyright: ignore[reportUnknownMemberType]
    return environment


def _language(text: str) -> str:
    return language_of([text])


def _segment(text: str) -> str:
    return quote(text, safe="")


def _source(name: str) -> Markup:
    """Return a file of the templates as it is: our own style or program."""
    return Markup(files("conspectus.evaluation").joinpath("templates", name).read_text("utf-8"))  # noqa: S704
