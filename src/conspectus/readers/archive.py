"""Documents that are zip archives, unpacked in memory up to a limit."""

from __future__ import annotations

import posixpath
import zlib
from contextlib import suppress
from io import BytesIO
from pathlib import PurePosixPath
from urllib.parse import unquote
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile

from conspectus.errors import DocumentError
from conspectus.readers import MEGABYTE, Options, too_large
from conspectus.readers.xml import decode_xml, parse_xml

OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of compound files: documents of older programs, and encrypted documents of newer ones."""
ENCRYPTED = "is encrypted; open it with its password and save it without one"
ARCHIVE_ERRORS = (BadZipFile, zlib.error, EOFError, NotImplementedError, OSError)
"""Errors that reading a part of an archive may raise."""
_MANIFEST = "META-INF/manifest.xml"


class Archive:
    """The parts of one document.

    Every method raises DocumentError for a part that is damaged, encrypted or too large.
    """

    def __init__(self, path: str, data: bytes, options: Options) -> None:
        self._limit = self._rest = options.max_bytes
        refuse_encrypted(data)
        if data.startswith(OLE):
            raise DocumentError(
                "is in an old binary format of Office, despite its name; save it in the new one"
            )
        if not data.startswith(b"PK"):
            raise DocumentError(
                f"does not match its name: {PurePosixPath(path).suffix} files are zip archives"
            )
        try:
            self._zip = ZipFile(BytesIO(data))
        except (BadZipFile, ValueError, OSError) as error:
            raise DocumentError(f"is cut off or damaged: {error}; copy or save it again") from None
        self.names = frozenset(self._zip.namelist())
        if _MANIFEST in self.names and not self._zip.getinfo(_MANIFEST).flag_bits & 1:  # of OpenDocument
            with suppress(*ARCHIVE_ERRORS), self._zip.open(_MANIFEST) as manifest:
                if b"encryption-data" in manifest.read(MEGABYTE):
                    raise DocumentError(ENCRYPTED)
        self.size = sum(part.file_size for part in self._zip.infolist())
        """Unpacked size of all parts in bytes, according to the archive."""
        if self.size > 10 * self._limit:
            raise self._too_large()

    def read(self, name: str) -> bytes:
        """Return the content of a part."""
        name = unquote(name) if name not in self.names else name
        if name not in self.names:
            raise DocumentError(f"is damaged: it lacks its part {name}; save it again")
        if self._zip.getinfo(name).flag_bits & 1:
            raise DocumentError(ENCRYPTED)
        try:
            with self._zip.open(name) as part:
                content = part.read(self._rest + 1)
        except ARCHIVE_ERRORS as error:
            raise DocumentError(f"is damaged at its part {name}: {error}; copy or save it again") from None
        self._rest -= len(content)
        if self._rest < 0:
            raise self._too_large()
        return content

    def tree(self, name: str) -> Element:
        """Return the root element of an XML part."""
        return parse_xml(decode_xml(self.read(name)).text, f"its part {name} ")

    def optional(self, name: str) -> Element | None:
        """Return the root element of an XML part, None if the archive lacks it."""
        return self.tree(name) if name in self.names else None

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """Return, for each id of a relationship of a part (OOXML), its kind and the name of the target part."""
        folder, file = posixpath.split(name)
        root = self.optional(f"{folder}/_rels/{file}.rels".lstrip("/"))
        return {
            r.get("Id", ""): (r.get("Type", "").rpartition("/")[2], resolve_path(name, r.get("Target", "")))
            for r in (root if root is not None else ())
            if r.get("TargetMode") != "External"
        }

    def _too_large(self) -> DocumentError:
        return DocumentError(too_large("unpacks to more than {}", self._limit))


def refuse_encrypted(data: bytes) -> None:
    """Raise DocumentError for an encrypted document of Office 2007 or later, which is in a compound file."""
    if data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentError(ENCRYPTED)


def resolve_path(part: str, target: str) -> str:
    """Return the name of the part to which a reference in another part points."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip("/")
