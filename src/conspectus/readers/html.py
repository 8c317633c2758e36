"""HTML: the main text without navigation, with headings as locations and rows of tables as lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from conspectus.readers import Options, ParsedDocument, Prose, iso_date, line
from conspectus.readers.encodings import decode
from conspectus.rows import EncodingWarning

_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_SKIPPED = """script, style, noscript, template, svg, math annotation, iframe, object, canvas, head, button, select,
    input, textarea, dialog, datalist, a.headerlink"""
_HIDDEN = "[hidden], [aria-hidden=true]"
_NAVIGATION = """nav, footer, menu, form label, form legend, [role=navigation], [role=banner], [role=contentinfo],
    [role=search], [role^=menu], [role=dialog], header:not(:has(h1))"""
_LISTS = ":is(ul, ol, table, dl):not(tr:has(> th) > td > *, tr:has(> th) > td > * > *)"
"""Lists and tables, but for those that are the values of a row with a header cell (or in a box there)."""
_ASIDE = """aside, form, .sidebar, #sidebar, [role=complementary], .menu, #menu, .related, #related, .share, #share,
    .sharing, .social, #social, .banner, #banner, .ad, .ads, #ads, :is(p, div):has(> a:is([rel~=next], [rel~=prev])),
    p:has(> [rel=up]), :is(tr, ul):has(> * > a:is([accesskey=n], [accesskey=p]))"""
_NAVIGATION_CLASS = re.compile(
    r"""(?xi) (?:top|bottom|sub|site|main|page)?-?nav-?(?:bar|box|igation|header|footer|links|menu)?|breadcrumbs?|toc|
    footer|cookies?|cookie-.*|advert\w*|comments?-form|newsletter|noprint|catlinks|printfooter|after-portlet|
    mw-editsection|mw-jump-link"""
)
_MESSAGE = re.compile(
    "(?i)modal|dialog|popup|cookie|consent|overlay|toast|tooltip|lightbox|alert|loading|status"
)
"""What the attributes of a hidden block say that is a message to the reader of the page, not a part of the page."""
_BLOCKS = frozenset(
    """address article blockquote body caption center dd details div dl dt fieldset figcaption figure footer form header
    hr main nav ol p pre section summary table tbody tfoot thead ul""".split()
)
_LINES = frozenset(("li", "tr", "option", "br"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_HEADING = "\x01"
"""Marks a heading until the text is split into blocks; text itself contains no control characters."""
_MAX_LINE_CHARS = 200
"""Maximum characters of a line in a cell of a data table; a table with longer lines is used for page layout."""
_MOST_NESTED = 20
"""Maximum total length of a page's lists (nested ones counted again) relative to the page; hostile pages have more."""
_MOST_MAIN = 20
"""Maximum number of elements marked as main text that are compared: hostile pages have thousands."""
MAIN_SHARE = 0.2
"""Share of a page's text that an element marked as main, or a form, must exceed: others hold a teaser, or controls."""
_PROSE_CHARS = 25
"""Characters by which text outside links must exceed that inside in an aside of prose: boxes of Debian's handbook have
49 and more, short answers in hidden panels 29."""
_SPACE = re.compile(r"[ \t\r\n\f\x00-\x08\x0e-\x1f]+")
_ENDS = tuple(".!?:;…。！？；：۔।")
"""The end of a sentence, and of a cell whose lines are prose."""
_NOTE_CHARS = 20
"""Maximum characters of a superscript that refers to a footnote ("[note 3]"); a longer one is text."""
_NOTE = re.compile(rf"\[[^\]\n]{{1,{_NOTE_CHARS}}}\]")
_POWER = re.compile(r"[+\-−–]?\d+")
_DATES = """article:published_time date dc.date dcterms.created dcterms.date pubdate datepublished
    citation_publication_date""".split()


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield the main text of a page, with its title, date, author and language.

    Raises DocumentError: the page has no text.
    """
    stated = _CHARSET.search(data[:4096])
    decoded = decode(data, stated[1].decode() if stated else "")
    yield from decoded.warnings(path)
    page = parse_html(decoded.text)
    metas = _metas(page)
    head = page.css_first("title")
    title = metas.get("og:title") or (head.text() if head else "")
    date = next((d for name in _DATES if name in metas and (d := iso_date(metas[name]))), None)
    if date is None and (node := page.css_first("time[datetime]")):
        date = iso_date(node.attributes.get("datetime") or "")
    author = metas.get("author") or metas.get("article:author") or metas.get("dc.creator") or ""
    root = page.root.attributes if page.root else {}
    prose = Prose(path, options)
    add_main_text(page, prose)
    yield prose.document(title, date, {"author": author, "language": root.get("lang")})


def parse_html(text: str) -> LexborHTMLParser:
    """Return the parsed page; raise MemoryError if memory is short."""
    try:
        return LexborHTMLParser(text)
    except SelectolaxError as error:  # any text is valid HTML, so the only reason is a lack of memory
        raise MemoryError from error


def html_to_text(text: str, options: Options) -> str:
    """Return all the text of a piece of HTML, as in mails and feeds."""
    prose = Prose("", options)
    page = parse_html(text)
    _drop(page.css(f"{_SKIPPED}, {_HIDDEN}"))
    if page.body is not None:
        _add(page.body, prose)
    return "" if prose.empty else prose.document().text


def add_main_text(page: LexborHTMLParser, prose: Prose) -> None:
    """Add the main text of a page, or all of its text if there would be none."""
    body = page.body
    if body is None:
        return
    for heading in _elements(body, "h1, h2, h3, h4, h5, h6, dt"):  # a button that shows an answer
        if (button := heading.css_first("button")) and button.text(strip=True) == heading.text(strip=True):
            button.unwrap()
    _drop(page.css(_SKIPPED))
    _drop(link for link in page.css("a") if link.text(strip=True) in ("¶", "#", "§"))  # permalinks
    _drop(node for node in _elements(body, _HIDDEN) if not _is_answer(node))
    whole = body.html or ""
    total = len(body.text(strip=True))
    articles = body.css("article")
    candidates = [*body.css("main, [role=main]")[:_MOST_MAIN], *(articles if len(articles) == 1 else ())]
    root = next((node for node in candidates if len(node.text(strip=True)) > MAIN_SHARE * total), body)
    _drop(root.css(_NAVIGATION))
    # a form with less holds controls and a note on privacy, not the page
    least = {"form": MAIN_SHARE * total}
    _drop(box for box in _elements(root, _ASIDE) if _own_text(box) < least.get(box.tag or "", _PROSE_CHARS))
    _drop(node for node in root.css("[class], [id]") if _is_navigation(node, root))
    _drop(node for node in _elements(root, _LISTS) if _is_links(node))
    _add(root, prose)
    if prose.empty and (again := parse_html(whole).body) is not None:
        _add(again, prose)


def _metas(page: LexborHTMLParser) -> dict[str, str]:
    metas: dict[str, str] = {}
    for node in page.css("meta[content]"):
        own = node.attributes
        name = own.get("property") or own.get("name") or own.get("itemprop") or ""
        metas.setdefault(name.lower(), line(own.get("content") or ""))
    return metas


def _is_navigation(node: LexborNode, root: LexborNode) -> bool:
    own = node.attributes
    names = [*(own.get("class") or "").split(), own.get("id") or ""]
    return any(map(_NAVIGATION_CLASS.fullmatch, names)) and len(node.text()) * 2 < len(root.text())


def _is_answer(node: LexborNode) -> bool:
    """Return whether a hidden element is a block of prose: the panel of an accordion or a tab, and no message."""
    text = node.text().strip()
    message = _MESSAGE.search(str(node.attributes)) or "cookie" in text.lower()
    return node.tag in _BLOCKS and not message and text.endswith(_ENDS) and _own_text(node) >= _PROSE_CHARS


def _own_text(node: LexborNode) -> int:
    """Return the number of characters of an element outside its links minus the number inside them."""
    linked = sum(len(a.text(strip=True)) for a in node.css("a"))
    return len(node.text(strip=True)) - 2 * linked


def _elements(root: LexborNode, selector: str) -> Iterator[LexborNode]:
    """Yield elements of a page in order, until their total length exceeds _MOST_NESTED times that of the page."""
    room = _MOST_NESTED * len(root.text())
    for node in root.css(selector):
        room -= len(node.text()) + 1
        if room < 0:
            return
        yield node


def _is_links(node: LexborNode) -> bool:
    """Return whether a list or table is navigation: at least four links with over 75 % of the text."""
    links = node.css("a")
    return len(links) > 3 and sum(len(a.text(strip=True)) for a in links) > 0.75 * len(node.text(strip=True))


def _drop(nodes: Any) -> None:
    for node in list(nodes):
        if node.parent is not None:
            node.decompose()


# From the tree to blocks of text


def _add(root: LexborNode, prose: Prose) -> None:
    for block in re.split(r"\n[ \t]*\n\s*", "".join(_text(root))):
        lines = "\n".join(filter(None, (text.strip() for text in block.split("\n"))))
        add = prose.add_heading if lines.startswith(_HEADING) else prose.add
        add(lines.replace(_HEADING, ""))


def _text(root: LexborNode) -> list[str]:
    """Return pieces of text: blocks between empty lines, items and rows on lines of their own, code between fences."""
    texts: list[list[str]] = [[]]  # of the page, and of every open table cell
    laid_out = [0]  # the number of paragraphs of each; preformatted text and page layout count twice
    rows: list[list[tuple[str, bool]]] = []  # the cells of every open row, and whether each is page layout
    pre = 0
    for node, entered in _walk(root):
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            texts[-1].append(text.replace(_HEADING, "") if pre else _SPACE.sub(" ", text))
        elif tag == "sup" and entered and "".join(texts[-1][-1:])[-1:].isalnum():
            texts[-1].append("^" if _POWER.fullmatch(node.text().strip()) else "")
        elif tag == "tr":
            if entered:
                rows.append([])
            elif rows:
                row, lays_out = _row(rows.pop())
                texts[-1].append(row)
                laid_out[-1] += 2 * lays_out
        elif tag in ("td", "th") and rows:
            if entered:
                texts.append([])
                laid_out.append(0)
            else:
                rows[-1].append(("".join(texts.pop()).strip(), laid_out.pop() > 1))
        elif tag in _HEADINGS:
            texts[-1].append(f"\n\n{_HEADING}" if entered else "\n\n")
        elif tag in _BLOCKS:
            inside = next(node.iter(), None) if tag == "pre" else None
            fence = "```" if inside and inside.tag in ("code", "span") else ""  # as highlighters write it
            texts[-1].append(f"\n\n{fence}\n" if entered else f"\n{fence}\n\n")
            pre += (tag == "pre") * (1 if entered else -1)
            laid_out[-1] += {"pre": 2, "p": 1}.get(tag, 0) if entered else 0
        elif tag in _LINES and entered:
            texts[-1].append("\n")
    return texts[0]


def _row(cells: list[tuple[str, bool]]) -> tuple[str, bool]:
    """Return a row as a line, or its cells as blocks if the row is page layout, and whether it is.

    A row that contains a layout row is layout too; its lines are not examined again, as tables may be nested deeply.
    Lines of prose in a cell follow each other; values stand apart as cells do, since a space would unite names.
    """
    if not any(lays_out for _, lays_out in cells):
        lines = [[shown for text in cell.split("\n") if (shown := text.strip())] for cell, _ in cells]
        if not any(len(shown) > _MAX_LINE_CHARS or _HEADING in shown for cell in lines for shown in cell):
            gap = "\n" if len(cells) == 1 else " | "
            one = [(" " if cell and cell[-1].endswith(_ENDS) else gap).join(cell) for cell in lines]
            return f"\n{' | '.join(one)}" if any(lines) else "", False
    return "\n\n" + "\n\n".join(cell for cell, _ in cells) + "\n\n", True


def _is_note(node: LexborNode) -> bool:
    """Return whether a superscript refers to a footnote: it is in brackets, or all of it is a link."""
    text = node.text().strip()
    link = node.parent if node.parent and node.parent.tag == "a" else node.css_first("a")
    linked = link is not None and len(text) <= _NOTE_CHARS and link.text().strip() == text
    return linked or _NOTE.fullmatch(text) is not None


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield every node twice, with True when entering it and False when leaving; pages may be too deep to recurse."""
    waiting: list[tuple[LexborNode, bool]] = [(root, True)]
    while waiting:
        node, entered = waiting.pop()
        if entered and node.tag == "sup" and _is_note(node):
            continue
        yield node, entered
        if entered and node.tag != "-text":
            children = list(node.iter(include_text=True))
            waiting += [(node, False), *((child, True) for child in reversed(children))]
