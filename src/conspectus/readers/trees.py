"""XML as a tree of elements, read so that it does no harm: no entity is expanded, no other file is opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from conspectus.errors import DocumentError

_STATED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_KNOWN = {"utf-8", "utf-16", "us-ascii", "ascii", "iso-8859-1"}
MAX_DEPTH = 500
"""Elements inside each other, at the most: what stands deeper is not a document."""


def parse_xml(data: bytes, what: str = "") -> Element:
    """Return the root of XML; a reference to an entity that the file declares stays as it stands, `&name;`.

    Raises:
        DocumentError: it is not XML; `what` names the part of the file.
    """
    builder = TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DocumentError(f"{what}is nested too deeply, over {MAX_DEPTH} elements inside each other")
        builder.start(_universal(tag), {_universal(k): v for k, v in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_universal(tag))

    def other(text: str) -> None:
        if depth and text.startswith("&"):
            builder.data(text)

    data, encoding = _readable(data)
    parser = ParserCreate(encoding, namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.DefaultHandler = other  # where there is one, Expat hands entities to it and expands none
    try:
        parser.Parse(data, True)
    except ExpatError as error:
        if "amplification" in str(error):
            raise DocumentError(f"{what}declares entities that grow without bounds; it is not read") from None
        raise DocumentError(f"{what}is not well-formed XML: {error}; it is damaged, or cut off") from None
    return builder.close()


def stated_encoding(data: bytes) -> str:
    """Return the encoding that XML declares; empty where it declares none, or is in no superset of ASCII."""
    stated = _STATED.match(data[:200])
    return stated[1].decode().lower() if stated else ""


def _readable(data: bytes) -> tuple[bytes, str | None]:
    """Return XML in an encoding that Expat knows; it does not know those of several bytes, as GB2312."""
    encoding = stated_encoding(data) or "utf-8"
    if encoding in _KNOWN:
        return data, None
    try:
        return data.decode(encoding, "replace").encode(), "utf-8"
    except LookupError:
        return data, None


def _universal(name: str) -> str:
    return f"{{{name}" if "}" in name else name


def local_name(element: Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """Return the attribute of a name, one in a namespace before one in none; empty where there is none."""
    stated = {k: v for k, v in element.attrib.items() if k.rpartition("}")[2] == name}
    return next((v for k, v in stated.items() if "}" in k), stated.get(name, ""))


def first_text(element: Element, *names: str) -> str:
    """Return the text of the first element inside of one of the names, earlier names before later ones."""
    for name in names:
        for found in elements(element, name):
            if text := "".join(found.itertext()).strip():
                return text
    return ""


def elements(element: Element, name: str) -> Iterator[Element]:
    """Yield all elements of a name inside an element, whatever their namespace."""
    return (e for e in element.iter() if local_name(e) == name)
