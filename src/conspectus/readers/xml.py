"""XML: the text of its elements, or one document for each item of a feed (RSS, Atom)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

from conspectus.errors import DocumentError
from conspectus.readers import Options, Outcome, ParsedDocument, Prose, line, mail_date
from conspectus.readers.encodings import Decoded, decode
from conspectus.readers.html import html_to_text
from conspectus.rows import Failure

_FEEDS = {"rss", "RDF", "feed"}
_ITEMS = {"item", "entry"}
_CONTENT = ("encoded", "content", "description", "summary")
_DATES = ("pubDate", "published", "date", "updated")


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the items of a feed, named `path#n`, or the text of any other XML, with a block for each element.

    Raises DocumentError: the file is not XML, or has no text.
    """
    decoded = decode_xml(data)
    yield from decoded.warnings(path)
    root = parse_xml(decoded.text)
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
    """Return the text of a child; one without a prefix is preferred to those of other vocabularies (`media:title`)."""
    texts = [(("}" in e.tag) and "Atom" not in e.tag, _text_of(e)) for e in element if local_name(e) == name]
    return min(texts, key=lambda candidate: (not candidate[1], candidate[0]), default=(False, ""))[1]


def _text_of(element: Element) -> str:
    return "".join(element.itertext()).strip()


def _add(root: Element, prose: Prose) -> None:
    """Add a block for each element that has text of its own, including the elements inside that text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        tails = (child.tail or "" for child in element)
        if (element.text or "").strip() or any(tail.strip() for tail in tails):
            prose.add(line(_text_of(element)), "\n")
        else:
            waiting += reversed(element)


_STATED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
MAX_DEPTH = 500
"""Maximum depth of nested elements: a file with deeper ones is not a document."""


def parse_xml(text: str, what: str = "") -> Element:
    """Return the root element of XML; references to entities that the file declares are not expanded: `&name;`.

    Raises DocumentError: the text is not XML, or is nested too deeply; `what` names the part of the file.
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

    def other(markup: str) -> None:
        if depth and markup.startswith("&"):
            builder.data(markup)

    parser = ParserCreate("utf-8", namespace_separator="}")  # overrides the encoding that the file declares
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.DefaultHandler = other  # with such a handler, Expat passes entities to it and expands none
    run_parser(parser, text.encode(errors="replace"), what)
    return builder.close()


def run_parser(parser: XMLParserType, content: bytes, what: str) -> None:
    """Parse XML to its end; raise DocumentError if it is not well-formed; `what` names the part of the file."""
    try:
        parser.Parse(content, True)
    except ExpatError as error:
        if "amplification" in str(error):
            raise DocumentError(f"{what}declares entities that grow without bounds; it is not read") from None
        raise DocumentError(f"{what}is not well-formed XML: {error}; it is damaged, or cut off") from None


def decode_xml(data: bytes) -> Decoded:
    """Return the text of XML, by its byte order mark or the encoding that it declares; see `encodings.decode`."""
    stated = _STATED.match(data[:200])
    return decode(data, stated[1].decode() if stated else "")


def _universal(name: str) -> str:
    return f"{{{name}" if "}" in name else name


def local_name(element: Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """Return the value of an attribute, preferably one in a namespace; empty if there is none."""
    stated = {k: v for k, v in element.attrib.items() if k.rpartition("}")[2] == name}
    return next((v for k, v in stated.items() if "}" in k), stated.get(name, ""))


def first_text(element: Element, *names: str) -> str:
    """Return the text of the first element inside with one of the names; earlier names are preferred."""
    for name in names:
        for candidate in elements(element, name):
            if text := "".join(candidate.itertext()).strip():
                return text
    return ""


def elements(element: Element, name: str) -> Iterator[Element]:
    """Return all elements with a name inside an element, in any namespace."""
    return (e for e in element.iter() if local_name(e) == name)
