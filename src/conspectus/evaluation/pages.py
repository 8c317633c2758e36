"""Pages that need nothing beside them: one HTML file with its style, its program and its data, packed."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

SHARED = "conspectus.evaluation"
_PLACE = re.compile(r"\{\{(title|css|js|body|data|language)\}\}")


def filled(package: str, name: str, title: str, data: Any, body: str = "", language: str = "en") -> str:
    """Return the page of a package (`name`.html, .css and .js, after what all pages share) with packed data.

    `body` is what stands in it as it is, and is taken for HTML; `language` is that of the data, not of the page.
    """
    text = _file(package, f"{name}.html")
    css, js = (_file(SHARED, f"page.{end}") + _file(package, f"{name}.{end}") for end in ("css", "js"))
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(content.encode("utf-8", "replace"), 6, mtime=0)).decode()
    values = {"title": escape(title), "css": css, "js": js, "body": body, "data": packed, "language": escape(language)}
    pieces = _PLACE.split(text)  # at once, for a value may hold what looks like a place
    return "".join(values[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _file(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text("utf-8")
