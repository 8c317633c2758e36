"""Subtitles (SRT, WebVTT): what is said, with the time of each cue as its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conspectus.errors import DocumentError
from conspectus.readers.base import Options, ParsedDocument, Prose, line
from conspectus.readers.text import decode_text
from conspectus.rows import EncodingWarning

_TIMING = re.compile(r"\s*(?:(\d+):)?(\d{1,2}):(\d{2})[.,]\d{1,3}\s*-->\s*\S+.*")
_VOICE = re.compile(r"<v(?:\.[^ >]*)?[ \t]+([^>]+)>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>]*>|\{\\[^{}]*\}")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield what is said, a line for each cue, without those that repeat the one before (rolling captions).

    Raises DocumentError: there is no cue with a text.
    """
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    prose = Prose(path, options)
    before = ""
    for time, said in _cues(decoded.text):
        if said and said != before:
            prose.set_location(time)
            prose.add(said, gap="\n")
            before = said
    if prose.empty:
        raise DocumentError(
            "has no subtitles: there is no time, as 00:01:02,500 --> 00:01:04,000, with a text after it"
        )
    yield prose.document()


def _cues(text: str) -> Iterator[tuple[str, str]]:
    time: str | None = None
    said: list[str] = []
    for text_line in [*text.split("\n"), ""]:
        if timing := _TIMING.fullmatch(text_line):
            hours, minutes, seconds = timing.groups()
            time, said = f"{int(hours or 0)}:{int(minutes):02}:{seconds}", []
        elif time is not None and not text_line.strip():
            yield time, line(" ".join(said))
            time = None
        elif time is not None:
            said.append(_TAG.sub("", _VOICE.sub(r"\1: ", text_line)))
