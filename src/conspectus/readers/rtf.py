"""RTF."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from conspectus.errors import DocumentError
from conspectus.readers.base import Options, ParsedDocument, Prose

_INFO = re.compile(r"\{\\info\b")
_CREATED = re.compile(r"\\creatim\s*\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument]:
    """Yield the text, a block for each paragraph.

    Raises DocumentError: it is no RTF, cut off, or without text.
    """
    source = data.decode("cp1252", "replace")
    if not source.lstrip("\ufeff \r\n").startswith("{\\rtf"):
        raise DocumentError("is not RTF, whatever its name says: it does not begin as such")
    if not source.rstrip("\0 \r\n\t").endswith("}"):
        raise DocumentError("is cut off: the end of the RTF is missing; copy or save it again")
    prose = Prose(path, options)
    for paragraph in _text(source).split("\n"):
        text = paragraph.strip()
        is_row = text.endswith("|")
        prose.add(text.strip("|").replace("|", " | ") if is_row else text, "\n" if is_row else "\n\n")
    info = _INFO.search(source)
    head = source[info.start() : info.start() + 4000] if info else ""
    created = _CREATED.search(head)
    date = "-".join((created[1], created[2].zfill(2), created[3].zfill(2))) if created else None
    yield prose.document(_field(head, "title"), date, {"author": _field(head, "author")})


def _field(head: str, name: str) -> str:
    found = re.search(rf"\{{\\{name}\s+((?:[^{{}}\\]|\\.)*)\}}", head, re.DOTALL)
    return _text("{\\rtf1\\ansi " + found[1] + "}").strip() if found else ""


def _text(source: str) -> str:
    from striprtf import striprtf

    return str(cast("Any", striprtf).rtf_to_text(source, errors="replace"))
