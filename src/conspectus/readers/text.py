"""Plain text, Markdown with or without front matter, and subtitles (SRT, WebVTT)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conspectus.errors import DocumentError, EmptyDocument
from conspectus.readers import (
    EMPTY,
    Options,
    ParsedDocument,
    Prose,
    iso_date,
    line,
    section_name,
    stem_of,
    suffix_of,
)
from conspectus.readers.encodings import Decoded, decode
from conspectus.rows import EncodingWarning, Place

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n?^---[ \t]*(?:\n\s*|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([^\W\d][\w .-]*?)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_AUTHORS = ("author", "authors", "creator", "by")
_TIMING = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}\s*-->\s*\S+.*")
_VOICE = re.compile(r"<v(?:\.[^ >]*)?[ \t]+([^>]+)>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>]*>|\{\\[^{}]*\}")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield a plain text unchanged, Markdown without its front matter, or the text of subtitles.

    Raises DocumentError: there is no text.
    """
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    suffix = suffix_of(path)
    if suffix in (".md", ".markdown"):
        yield _markdown(path, decoded.text)
    elif suffix in (".srt", ".vtt"):
        yield _subtitles(path, decoded.text, options)
    else:
        yield ParsedDocument(path, decoded.text, title=stem_of(path))


def decode_text(data: bytes) -> Decoded:
    """Return the text of a file; see `encodings.decode`.

    Raises DocumentError: the text is empty (EmptyDocument), or the bytes are not text.
    """
    decoded = decode(data)
    if not decoded.text or decoded.text.isspace():
        raise EmptyDocument(EMPTY)
    return decoded


# Markdown


def _markdown(path: str, text: str) -> ParsedDocument:
    """Return the text after the front matter, with its sections as locations."""
    fields: dict[str, str] = {}
    if (front := _FRONT.match(text)) and (fields := _front_matter(front[1])):
        text = text[front.end() :] or text
    sections = list(_headings(text))
    title = fields.pop("title", "") or (sections[0][1] if sections else "") or stem_of(path)
    date = iso_date(fields["date"]) if "date" in fields else None
    if date:
        del fields["date"]
    if author := next((fields.pop(name) for name in _AUTHORS if name in fields), ""):
        fields["author"] = author
    places = tuple(Place(start, section_name(heading)) for start, heading in sections)
    return ParsedDocument(path, text, title, date, fields, places)


def _headings(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield the offset, in characters, and the text of each heading outside fenced code."""
    fence, before, start = "", "", 0
    for text in markdown.split("\n"):
        if mark := _FENCE.match(text):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not text[mark.end() :].strip():
                fence = ""
        elif not fence and (heading := _HEADING.match(text)):
            if title := _CLOSING.sub("", heading[1]).strip():
                yield start, title
        elif not fence and before.strip() and _UNDERLINE.fullmatch(text):
            yield start - len(before) - 1, before.strip()
        before = text
        start += len(text) + 1


def _front_matter(block: str) -> dict[str, str]:
    """Return the fields of front matter in YAML (scalars and lists of scalars); none if it is something else."""
    fields: dict[str, str] = {}
    name = ""
    for text in block.split("\n"):
        if field := _FIELD.fullmatch(text):
            name = field[1].lower()
            fields[name] = _scalar(field[2] or "")
        elif name and (item := _ITEM.fullmatch(text)):
            fields[name] = ", ".join(filter(None, (fields[name], _scalar(item[1]))))
        elif name and text[:1] in (" ", "\t"):  # a continuation line of a text
            fields[name] = line(f"{fields[name].lstrip('|>-')} {text}")
        elif text.strip() and not text.startswith("#"):
            return {}
    return {name: value for name, value in fields.items() if value}


def _scalar(text: str) -> str:
    """Return a scalar, or a list in brackets, without its quotation marks."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return ", ".join(filter(None, map(_scalar, text[1:-1].split(","))))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text.split(" #")[0].rstrip()


# Subtitles


def _subtitles(path: str, text: str, options: Options) -> ParsedDocument:
    """Return the text, a line for each cue with its time as location, without cues that repeat the previous one."""
    prose = Prose(path, options)
    previous = ""
    for time, cue in _cues(text):
        if cue and cue != previous:
            prose.set_location(time)
            prose.add(cue, gap="\n")
            previous = cue
    if prose.empty:
        raise DocumentError(
            "has no subtitles: there is no time, as 00:01:02,500 --> 00:01:04,000, with a text after it"
        )
    return prose.document()


def _cues(text: str) -> Iterator[tuple[str, str]]:
    time: str | None = None
    lines: list[str] = []
    for text_line in [*text.split("\n"), ""]:
        if timing := _TIMING.fullmatch(text_line):
            hours, minutes, seconds = timing.groups()
            time, lines = f"{int(hours or 0)}:{int(minutes):02}:{seconds}", []
        elif time is not None and not text_line.strip():
            yield time, line(" ".join(lines))
            time = None
        elif time is not None:
            lines.append(_TAG.sub("", _VOICE.sub(r"\1: ", text_line)))
