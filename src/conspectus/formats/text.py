"""Plain text, and the encoding of bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import PurePosixPath

from conspectus.errors import DocumentError
from conspectus.formats.encodings import latin
from conspectus.formats.found import BINARY, EMPTY, Found, Options, newlines

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CONTROL = bytes(c for c in (*range(32), 127) if c not in b"\t\n\r\v\f\b\x1b")


def parse(path: str, data: bytes, options: Options) -> Iterator[Found]:
    """Yield a text as it is; its title is the stem of its path."""
    yield Found(path, filled(data), title=PurePosixPath(path).stem)


def filled(data: bytes) -> str:
    """Return the text of a file; see `decode`.

    Raises:
        DocumentError: there is none, or the bytes are no text.
    """
    text = decode(data)
    if not text or text.isspace():
        raise DocumentError(EMPTY)
    return text


def decode(data: bytes, stated: str = "") -> str:
    """Return the text of a file without its byte order mark, every newline as `\\n`.

    UTF-8, or what a byte order mark says, or the encoding that the file states, or else what a detector finds
    most likely.

    Raises:
        DocumentError: the bytes are not text, or in no encoding that could be told.
    """
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if encoding in (None, "utf-8-sig") and _is_binary(data):
        raise DocumentError(BINARY)
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            marked = encoding.removesuffix("-sig").upper()
            raise DocumentError(
                f"begins with the byte order mark of {marked} but is not valid in it at byte {error.start}; "
                "save it again as UTF-8"
            ) from error
        text = _as_stated(data, stated) or _detected(data)
    if "\0" in text:
        raise DocumentError(BINARY)
    return newlines(text)


def _is_binary(data: bytes) -> bool:
    return b"\0" in data or (len(data) - len(data.translate(None, _CONTROL))) * 10 > len(data)


def _as_stated(data: bytes, encoding: str) -> str:
    """Return the text in an encoding, empty where it is not known or not that of the bytes."""
    try:
        return data.decode(encoding) if encoding else ""
    except (LookupError, UnicodeDecodeError):
        return ""


def _detected(data: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise DocumentError(
            "is not UTF-8, and telling its encoding needs the package charset-normalizer: install it, "
            "or save the file as UTF-8"
        ) from error
    best = from_bytes(data).best()
    if not (text := latin(data, str(best or ""))):
        raise DocumentError("is in no text encoding that could be told; save it as UTF-8")
    return text
