"""EPUB: the chapters of a book in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, Prose, iso_date
from conspectus.readers.archive import Archive, resolve_path
from conspectus.readers.encodings import decode
from conspectus.readers.html import add_main_text, parse_html
from conspectus.readers.xml import attribute, elements, first_text

_CONTAINER = "META-INF/container.xml"
_VOID = r"(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b"
_CLOSED = re.compile(rf"<(?!{_VOID})([a-zA-Z][\w:-]*)((?:\s[^<>]*)?)/>")
"""Self-closing elements of XML; HTML would treat them as open."""


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument]:
    """Yield the book; its locations are headings, or chapter numbers for chapters without headings.

    Raises DocumentError: it is protected, damaged, too large, or without text.
    """
    archive = Archive(path, data, options)
    root = next((attribute(e, "full-path") for e in elements(archive.tree(_CONTAINER), "rootfile")), "")
    package = archive.tree(root)
    encryption = archive.optional("META-INF/encryption.xml")
    encrypted = elements(encryption, "CipherReference") if encryption is not None else ()
    protected = {attribute(reference, "URI") for reference in encrypted}
    prose = Prose(path, options)
    for number, part in enumerate(_chapters(package, root), start=1):
        if part in protected:
            raise DocumentError("is protected against copying (DRM); only the shop's own program can read it")
        prose.set_location(f"chapter {number}")
        add_main_text(parse_html(_CLOSED.sub(r"<\1\2></\1>", decode(archive.read(part)).text)), prose)
    authors = ("".join(creator.itertext()).strip() for creator in elements(package, "creator"))
    about = {"author": ", ".join(filter(None, authors)), "publisher": first_text(package, "publisher")}
    yield prose.document(first_text(package, "title"), iso_date(first_text(package, "date")), about)


def _chapters(package: Element, root: str) -> Iterator[str]:
    """Yield the names of the parts to read, in reading order, without the table of contents."""
    items = {item.get("id", ""): item for item in elements(package, "item")}
    for part in elements(package, "itemref"):
        item = items.get(part.get("idref", ""))
        if (
            item is not None
            and "html" in item.get("media-type", "")
            and "nav" not in item.get("properties", "").split()
        ):
            yield resolve_path(root, item.get("href", ""))
