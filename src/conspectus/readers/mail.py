"""Mail as it is sent (EML) and as Outlook keeps it (MSG): who wrote to whom, and the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.parser import HeaderParser
from io import BytesIO
from typing import Any, cast

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, Prose, line, mail_date
from conspectus.readers.archive import OLE
from conspectus.readers.encodings import decode
from conspectus.readers.html import html_to_text
from conspectus.rows import EncodingWarning

HEADERS = ("From", "To", "Cc", "Date", "Subject")
_SUBJECT, _SENDER, _ADDRESS, _TO, _CC = "0037", "0C1A", "0C1F", "0E04", "0E03"
_HEADERS, _BODY, _HTML, _COMPRESSED = "007D", "1000", "1013", "1009"
_FILE_NAMES = ("3707", "3704", "3001")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield the message under its headers; attachments are named in its metadata, and not read.

    Raises DocumentError: it is no message, damaged, or has its text in rich text only.
    """
    if path.lower().endswith(".msg"):
        yield _outlook(path, data, options)
        return
    mail = message_from_bytes(data, policy=policy.default)
    headers = {name: _header(mail, name) for name in HEADERS}
    if not any(headers.values()):
        raise DocumentError("is no mail message: it has none of the headers From, To, Date, Subject")
    attached = [line(part.get_filename() or part.get_content_type()) for part in mail.iter_attachments()]
    body = cast("EmailMessage | None", mail.get_body(("plain", "html")))
    text = ""
    if body is not None:
        decoded = decode(cast("bytes", body.get_payload(decode=True) or b""), body.get_content_charset(""))
        yield from decoded.warnings(path)
        text = html_to_text(decoded.text, options) if body.get_content_subtype() == "html" else decoded.text
    yield _message(path, headers, text, attached, options)


def _message(
    path: str, headers: dict[str, str], body: str, attached: list[str], options: Options
) -> ParsedDocument:
    """Return the document of a message."""
    prose = Prose(path, options)
    prose.add("\n".join(f"{name}: {value}" for name, value in headers.items() if value))
    prose.add(body)
    about = {
        "author": headers["From"],
        "to": headers["To"],
        "cc": headers["Cc"],
        "attachments": ", ".join(attached),
    }
    return prose.document(headers["Subject"], mail_date(headers["Date"]), about)


def _header(mail: EmailMessage, name: str) -> str:
    try:
        return line(str(mail.get(name, "")))
    except (
        ValueError,
        IndexError,
        AttributeError,
        TypeError,
    ):  # malformed headers make Python's parser stumble
        return line(dict(mail.raw_items()).get(name, ""))


# Outlook: properties in the streams of a compound file (MS-OXMSG)


def _outlook(path: str, data: bytes, options: Options) -> ParsedDocument:
    import olefile

    if not data.startswith(OLE):  # `isOleFile` would take short data for the name of a file, and open that
        raise DocumentError("is not what its name says: it is no message of Outlook")
    try:
        with cast("Any", olefile).OleFileIO(BytesIO(data)) as file:
            return _outlook_message(path, file, options)
    except OSError as error:  # that of olefile is one, too
        raise DocumentError(f"is cut off or damaged: {error}; save it again from Outlook") from None


def _outlook_message(path: str, file: Any, options: Options) -> ParsedDocument:
    if not file.exists("__properties_version1.0"):
        raise DocumentError("is not what its name says: it is no message of Outlook")
    sent = HeaderParser().parsestr(_property(file, _HEADERS))
    address = _property(file, _ADDRESS)
    sender = f"{_property(file, _SENDER)} <{address}>" if "@" in address else _property(file, _SENDER)
    properties = {
        "From": sender,
        "To": _property(file, _TO),
        "Cc": _property(file, _CC),
        "Subject": _property(file, _SUBJECT),
    }
    headers = {name: properties.get(name) or str(sent.get(name, "")) for name in HEADERS}
    body = _property(file, _BODY)
    if not body.strip() and (page := _stream(file, f"__substg1.0_{_HTML}0102")):
        body = html_to_text(decode(page).text, options)
    if not body.strip() and _stream(file, f"__substg1.0_{_COMPRESSED}0102"):
        raise DocumentError(
            "holds its text in rich text only, which is not read; save it from Outlook as .eml or .html"
        )
    folders = sorted({entry[0] for entry in file.listdir() if entry[0].startswith("__attach")})
    names = (filter(None, (_property(file, name, f"{folder}/") for name in _FILE_NAMES)) for folder in folders)
    return _message(path, headers, body, [next(name, "?") for name in names], options)


def _property(file: Any, tag: str, folder: str = "") -> str:
    """Return a text of the message, `tag` its number; empty where it has none."""
    if wide := _stream(file, f"{folder}__substg1.0_{tag}001F"):
        return wide.decode("utf-16-le", "replace").rstrip("\0")
    narrow = _stream(file, f"{folder}__substg1.0_{tag}001E")
    return re.sub("\0+$", "", decode(narrow.rstrip(b"\0")).text) if narrow else ""


def _stream(file: Any, name: str) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""
