"""Sources of bytes: a file, a file packed by gzip or zstd, or files at an address.

An address is one that fsspec supports (`s3://`, `gs://`, `az://`, `https://`), or `hf:OWNER/NAME`, a data set of the
Hugging Face hub. Its files are copied to this machine one by one, and read like others.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from io import TextIOWrapper
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from conspectus.errors import DocumentError, UsageError
from conspectus.lazy import lazy_module
from conspectus.readers import FORMATS, MEGABYTE, Options, Outcome, packing_of, parse, suffix_of, too_large
from conspectus.rows import Failure

fsspec = lazy_module("fsspec.core", "conspectus[remote]")

Lines = Callable[[], Iterator[str]]
"""Yields the lines of a text with their newlines, starting from the first line at each call."""
STREAMED = 8_000_000
"""Bytes of text above which a file is read line by line, twice: a smaller one as a whole takes less memory than the
libraries, 100 MB, and may be in any encoding."""
_BLOCK = 1 << 20  # bytes
_ADDRESS = re.compile(r"(?!file:)([A-Za-z][A-Za-z0-9+.-]+)://.|hf:[^/]")
_HUB = "hf://datasets/"


class Source:
    """One file on this machine, unpacked while it is read."""

    def __init__(self, file: str, name: str, options: Options) -> None:
        self.file = file
        self.packed = packing_of(name)
        self._limit = options.max_bytes

    def open(self) -> BinaryIO:
        """Open the content."""
        if self.packed == ".gz":
            return cast("BinaryIO", gzip.open(self.file))
        if self.packed == ".zst":
            pyarrow: Any = import_module("pyarrow")
            return cast("BinaryIO", pyarrow.input_stream(self.file, compression="zstd"))
        return open(self.file, "rb")

    def read(self) -> bytes:
        """Return the whole content; raise DocumentError if it is larger than the limit, or damaged."""
        return b"".join(self._blocks())

    def lines(self) -> Lines | None:
        """Return a function that yields the lines, if this is a large text in UTF-8; None for other files.

        Raises DocumentError: the content is larger than the limit, or damaged.
        """
        if not self.packed and os.path.getsize(self.file) <= STREAMED:
            return None
        size, decoder = 0, codecs.getincrementaldecoder("utf-8")()
        try:
            for block in self._blocks():
                size += len(block)
                decoder.decode(block)
                if b"\0" in block:
                    return None
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return None
        return self._decoded if size > STREAMED else None

    def _decoded(self) -> Iterator[str]:
        with TextIOWrapper(self.open(), encoding="utf-8-sig") as file:
            yield from file

    def _blocks(self) -> Iterator[bytes]:
        size = 0
        try:
            with self.open() as file:
                while block := file.read(_BLOCK):
                    size += len(block)
                    if size > self._limit:
                        raise DocumentError(too_large("unpacks to more than {}", self._limit))
                    yield block
        except (OSError, EOFError, zlib.error) as error:
            if not self.packed or not os.path.isfile(self.file):
                raise
            reason = f"is damaged after {size:,} unpacked bytes ({error}); copy or pack it again"
            raise DocumentError(reason) from error


# Files


def unreadable(name: str, error: OSError) -> Failure:
    """Return the failure for a file or folder that the operating system does not allow to be read."""
    return Failure("read", f"cannot be read: {error.strerror or error}; fix this, then run again", name)


def parse_file(file: str, name: str, options: Options) -> list[Outcome]:
    """Return the documents and failures of one file; any exception of its parser becomes a failure of this file."""
    outcomes: list[Outcome] = []
    format_, source = FORMATS[suffix_of(name)], Source(file, name, options)
    try:
        if format_.streams:
            outcomes += import_module(f"conspectus.readers.{format_.module}").stream(name, source, options)
        else:
            outcomes += parse(name, source.read(), options)
        return outcomes
    except DocumentError as error:
        reason = str(error)
    except OSError as error:
        return [*outcomes, unreadable(name, error)]
    except MemoryError:
        limit = f"{options.memory / MEGABYTE:,.0f} MB of memory"
        reason = f"needs more than the {limit}; split it, or raise read.max_megabytes"
    except RecursionError:
        reason = "is nested too deeply; open it and save it again"
    # Parsers may raise any exception for a damaged file, those in Rust a panic; only here it is turned into a failure.
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        unknown = f"is damaged, or of an unknown variant ({type(error).__name__}: {error})"
        reason = f"{unknown}; open it in its program and save it again"
    return [*outcomes, Failure("read", reason, name)]


# Addresses


def is_address(source: str) -> bool:
    """Return whether a source is an address and not a path: `s3://bucket/letters`, `hf:owner/letters`."""
    return _ADDRESS.match(source) is not None and not os.path.exists(source)


def files_at(source: str) -> Iterator[tuple[str, str]]:
    """Yield the address and the name of every file at or below an address; a single file's name is `source`.

    In a data set of the hub, files ending in `.md` or `.py` (its description and its code) are skipped.

    Raises UsageError: there is no file, they cannot be listed, or a package for such addresses is not installed.
    """
    if re.search(r"://[^/\s]*@|\?", source):
        raise UsageError(
            "an address has a password or a query, which would be stored in the index; credentials come from the"
            " environment, and a file that needs a query has to be downloaded first"
        )
    address = source.removesuffix("/")
    if not address.startswith("hf://"):
        address = re.sub("^hf:", _HUB, address)
    try:
        system, root = fsspec.url_to_fs(address)
        if address.startswith("http") or system.isfile(root):
            yield address, source
            return
        any_file = False
        for folder, _, files in system.walk(root, on_error="raise"):
            below = folder.strip("/").removeprefix(root.strip("/")).strip("/")
            for file in sorted(files):
                any_file, name = True, f"{below}/{file}".lstrip("/")
                if not address.startswith(_HUB) or not name.endswith((".md", ".py")):
                    yield f"{address}/{name}", f"{source.removesuffix('/')}/{name}"
    except (UsageError, GeneratorExit):
        raise
    except Exception as error:  # each file system raises exceptions of its own
        raise UsageError(f"{source} could not be listed ({error!r}); {_CHECK}") from error
    if not any_file:
        raise UsageError(f"there is nothing at {source}; {_CHECK}")


_CHECK = "check the address, the network, and the credentials in the environment"


def copied(address: str, name: str, folder: str, options: Options) -> str | Failure:
    """Copy a file at an address into a folder; return its path there, or a Failure."""
    try:
        system, path = fsspec.url_to_fs(address)
        if (system.info(path).get("size") or 0) > options.max_bytes:
            return Failure("read", too_large("is larger than {}", options.max_bytes), name)
        handle, target = tempfile.mkstemp(dir=folder, suffix=PurePosixPath(path).suffix)
        os.close(handle)
        system.get_file(path, target)
        return target
    except Exception as error:  # each file system has errors of its own
        return Failure("read", f"could not be fetched ({error!r}); {_CHECK}", name)
