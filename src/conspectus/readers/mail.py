"""Mail as it is sent (EML) and as Outlook stores it (MSG): the headers and the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.parser import HeaderParser
from io import BytesIO
from typing import Any, cast

from conspectus.errors import DocumentError
from conspectus.lazy import lazy_module
from conspectus.readers import Options, ParsedDocument, Prose, line, mail_date
from conspectus.readers.archive import OLE
from conspectus.readers.encodings import decode
from conspectus.readers.html import html_to_text
from conspectus.rows import EncodingWarning

olefile: Any = lazy_module("olefile")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
HEADERS = ("From", "To", "Cc", "Date", "Subject")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield a document with a message's headers, its text and attached messages; metadata names all attachments.

    Raises DocumentError: the file is not a message, is encrypted, or has no text.
    """
    if path.lower().endswith(".msg"):
        headers, text, attached = _outlook(data, options)
    else:
        mail = message_from_bytes(data, policy=policy.default)
        headers, text = {name: _header(mail, name) for name in HEADERS}, ""
        if not any(headers.values()):
            raise DocumentError("is not a mail message: it has none of the headers From, To, Date, Subject")
        if mail.get_content_type() in _ENCRYPTED:
            raise DocumentError("is encrypted (OpenPGP, S/MIME): save it decrypted from its program")
        attached = [line(part.get_filename() or part.get_content_type()) for part in mail.iter_attachments()]
        parts = (part for part in mail.walk() if part.is_multipart())
        inside = (part.get_content() for part in parts if part.get_content_type() == "message/rfc822")
        for message in (mail, *inside):
            if message is not mail:
                text += f"\n\n{_shown({name: _header(message, name) for name in HEADERS})}\n\n"
            body = cast("EmailMessage | None", message.get_body(("plain", "html")))
            if body is not None:
                payload = cast("bytes", body.get_payload(decode=True) or b"")
                decoded = decode(payload, body.get_content_charset(""))
                yield from decoded.warnings(path)
                is_html = body.get_content_subtype() == "html"
                text += html_to_text(decoded.text, options) if is_html else decoded.text
    prose = Prose(path, options)
    prose.add(_shown(headers))
    prose.add(text)
    about = {
        "author": headers["From"],
        "to": headers["To"],
        "cc": headers["Cc"],
        "attachments": ", ".join(attached),
    }
    yield prose.document(headers["Subject"], mail_date(headers["Date"]), about)


def _shown(headers: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers.items() if value)


def _header(mail: EmailMessage, name: str) -> str:
    try:
        return line(str(mail.get(name, "")))
    except Exception:  # the parser may raise any exception for a malformed header
        return line(dict(mail.raw_items()).get(name, ""))


# Outlook keeps a message as properties in the streams of a compound file (MS-OXMSG).
_SENDER, _TO, _CC, _SUBJECT, _HEADERS, _FILE_NAME = "0C1A", "0E04", "0E03", "0037", "007D", "3707"
_BODY, _HTML, _RICH_TEXT = "1000", "10130102", "10090102"


def _outlook(data: bytes, options: Options) -> tuple[dict[str, str], str, list[str]]:
    """Return the headers and the text of an Outlook message, and the names of its attachments."""

    def stream(name: str) -> bytes:
        return file.openstream(name).read() if file.exists(name) else b""

    def text(tag: str, folder: str = "") -> str:
        name = f"{folder}__substg1.0_{tag}"
        wide = stream(f"{name}001F").decode("utf-16-le", "replace")
        return (wide or decode(stream(f"{name}001E").rstrip(b"\0")).text).rstrip("\0")

    try:
        # olefile would take short data for a file name, and open that file
        if not data.startswith(OLE):
            raise DocumentError("is not an Outlook message, despite its name")
        with olefile.OleFileIO(BytesIO(data)) as file:
            sent = HeaderParser(policy=policy.default).parsestr(text(_HEADERS))
            own = {"To": text(_TO), "Cc": text(_CC), "Subject": text(_SUBJECT)}
            headers = {name: line(own.get(name, "")) or _header(sent, name) for name in HEADERS}
            headers["From"] = headers["From"] or line(text(_SENDER))  # a name without an address
            body = text(_BODY).strip() or html_to_text(decode(stream(f"__substg1.0_{_HTML}")).text, options)
            if not body and stream(f"__substg1.0_{_RICH_TEXT}"):
                raise DocumentError("has its text in rich text only; save it from Outlook as .eml or .html")
            folders = sorted({entry[0] for entry in file.listdir() if entry[0].startswith("__attach")})
            return headers, body, [text(_FILE_NAME, f"{folder}/") or "?" for folder in folders]
    except OSError as error:  # olefile's errors are OSErrors too
        raise DocumentError(f"is cut off or damaged: {error}; save it again from Outlook") from None
