"""Mail as it is sent (EML): who wrote to whom, and the text."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, Prose, line, mail_date
from conspectus.readers.encodings import decode
from conspectus.readers.html import html_to_text
from conspectus.rows import EncodingWarning

HEADERS = ("From", "To", "Cc", "Date", "Subject")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield the message under its headers; attachments are named in its metadata, and not read.

    Raises DocumentError: it is no message, or has no text.
    """
    mail = message_from_bytes(data, policy=policy.default)
    headers = {name: _header(mail, name) for name in HEADERS}
    if not any(headers.values()):
        raise DocumentError("is no mail message: it has none of the headers From, To, Date, Subject")
    attached = [line(part.get_filename() or part.get_content_type()) for part in mail.iter_attachments()]
    prose = Prose(path, options)
    prose.add("\n".join(f"{name}: {value}" for name, value in headers.items() if value))
    body = cast("EmailMessage | None", mail.get_body(("plain", "html")))
    if body is not None:
        decoded = decode(cast("bytes", body.get_payload(decode=True) or b""), body.get_content_charset(""))
        yield from decoded.warnings(path)
        is_html = body.get_content_subtype() == "html"
        prose.add(html_to_text(decoded.text, options) if is_html else decoded.text)
    about = {
        "author": headers["From"],
        "to": headers["To"],
        "cc": headers["Cc"],
        "attachments": ", ".join(attached),
    }
    yield prose.document(headers["Subject"], mail_date(headers["Date"]), about)


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
