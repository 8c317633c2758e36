"""Documents of Office that are encrypted with a password: opened by `msoffcrypto` (the extra `passwords`)."""

# msoffcrypto is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from struct import error as StructError  # noqa: N812
from typing import Any

from conspectus.errors import DocumentError
from conspectus.readers.found import Options

OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""What the compound files of older programs begin with, and those that hold an encrypted document."""
EXCEL_DEFAULT_PASSWORD = "VelvetSweatshop"
"""What Excel encrypts by when it is asked for protection and given no password; it tries that itself."""
UNLOCK = "open it with its password and save it without one"
NO_PASSWORD = "put its password on a line of a file, and name that by --password-file FILE"  # noqa: S105
WRONG_PASSWORD = "no line of the file of --password-file is its password; add it there"  # noqa: S105


def is_encrypted_office(data: bytes) -> bool:
    """Tell whether a file is a compound file that holds an encrypted document of Office 2007 or later."""
    return data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data


def decrypt(data: bytes, options: Options) -> bytes:
    """Return an encrypted document of Office as it was before, by the first of the passwords that opens it.

    Raises:
        DocumentError: none of them does, or the extra that opens it is not installed.
    """
    if find_spec("msoffcrypto") is None:
        extra = "the extra `passwords` opens it, by --password-file FILE: pip install 'conspectus[passwords]'"
        raise DocumentError(f"is encrypted; {extra}; or {UNLOCK}")
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError  # pyright: ignore[reportMissingTypeStubs]

    for password in (*options.passwords, EXCEL_DEFAULT_PASSWORD):
        try:
            return _decrypt_with(data, password)
        except InvalidKeyError:
            continue
        except DecryptionError as error:
            raise DocumentError(f"is encrypted in a way that is not known ({error}); {UNLOCK}") from None
        except (FileFormatError, ParseError, OSError, ValueError, StructError) as error:
            raise DocumentError(f"is encrypted, and cut off or damaged ({error}); copy or save it again") from None
    raise DocumentError(f"is encrypted, and {WRONG_PASSWORD}" if options.passwords else f"is encrypted; {NO_PASSWORD}")


def _decrypt_with(data: bytes, password: str) -> bytes:
    from msoffcrypto import OfficeFile  # pyright: ignore[reportMissingTypeStubs]
    from msoffcrypto.format.ooxml import OOXMLFile  # pyright: ignore[reportMissingTypeStubs]

    opened: Any = OfficeFile(BytesIO(data))
    asked = {"verify_password": True} if isinstance(opened, OOXMLFile) else {}  # others verify it in any case
    opened.load_key(password=password, **asked)
    content = BytesIO()
    opened.decrypt(content)
    return content.getvalue()
