"""Plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from conspectus.errors import DocumentError
from conspectus.readers.base import EMPTY, Options, ParsedDocument
from conspectus.readers.encodings import Decoded, decode
from conspectus.rows import EncodingWarning


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield a text as it is; its title is the stem of its path."""
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    yield ParsedDocument(path, decoded.text, title=PurePosixPath(path).stem)


def decode_text(data: bytes) -> Decoded:
    """Return the text of a file; see `encodings.decode`.

    Raises DocumentError: there is none, or the bytes are no text.
    """
    decoded = decode(data)
    if not decoded.text or decoded.text.isspace():
        raise DocumentError(EMPTY)
    return decoded
