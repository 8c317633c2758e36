"""XML: the text of its elements; of a feed (RSS, Atom), one document for each item."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conspectus.errors import DocumentError
from conspectus.readers.dates import mail_date
from conspectus.readers.encodings import decode
from conspectus.readers.found import Options, Outcome, ParsedDocument, Prose, line
from conspectus.readers.html import html_to_text
from conspectus.readers.trees import attribute, local_name, parse_xml, stated_encoding
from conspectus.rows import Failure

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FEEDS = {"rss", "RDF", "feed"}
_ITEMS = {"item", "entry"}
_CONTENT = ("encoded", "content", "description", "summary")
_DATES = ("pubDate", "published", "date", "updated")


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the items of a feed, called `path#n`, or the text of any other XML, a block for each element.

    Raises:
        DocumentError: it is not XML, or has no text.
    """
    if stated_encoding(data) in ("", "utf-8") and not data.startswith(_UTF_16):
        decoded = decode(data)
        yield from decoded.warnings(path)
        data = decoded.text.encode()
    root = parse_xml(data)
    items = [e for e in root.iter() if local_name(e) in _ITEMS] if local_name(root) in _FEEDS else []
    if local_name(root) in _FEEDS and not items:
        raise DocumentError("is a feed without items; there is nothing in it to index")
    for number, item in enumerate(items, start=1):
        try:
            yield _item(f"{path}#{number}", item, options)
        except DocumentError as error:
            yield Failure("read", str(error), f"{path}#{number}")
    if not items:
        prose = Prose(path, options)
        _add(root, prose)
        yield prose.document(_child(root, "title"))


def _item(name: str, item: Element, options: Options) -> ParsedDocument:
    title = line(html_to_text(_child(item, "title"), options))
    texts = (html_to_text(_child(item, kind), options) for kind in _CONTENT)
    prose = Prose(name, options)
    prose.add(next(filter(None, texts), title))
    date = next((d for kind in _DATES if (d := mail_date(_child(item, kind)))), None)
    author = _child(item, "creator") or _child(item, "author")
    subjects = (_text_of(e) or attribute(e, "term") for e in item if local_name(e) == "category")
    link = next((_text_of(e) or attribute(e, "href") for e in item if local_name(e) == "link"), "")
    about = {"author": author, "link": link, "categories": ", ".join(filter(None, map(line, subjects)))}
    return prose.document(title, date, about)


def _child(element: Element, name: str) -> str:
    """Return the text of a child, one without a prefix before those of other vocabularies (`media:title`)."""
    texts = [(("}" in e.tag) and "Atom" not in e.tag, _text_of(e)) for e in element if local_name(e) == name]
    return min(texts, key=lambda found: (not found[1], found[0]), default=(False, ""))[1]


def _text_of(element: Element) -> str:
    return "".join(element.itertext()).strip()


def _add(root: Element, prose: Prose) -> None:
    """Add a block for each element that has text of its own, with what stands inside that text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        tails = (child.tail or "" for child in element)
        if (element.text or "").strip() or any(tail.strip() for tail in tails):
            prose.add(line(_text_of(element)), "\n")
        else:
            waiting += reversed(element)
