"""Mutated files for every reader: each gives consistent documents, or a named reason, within its limits.

    python tests/readers/fuzz_readers.py                         ten minutes for each format
    python tests/readers/fuzz_readers.py --seconds 60 .pdf .eml  a minute for these
    python tests/readers/fuzz_readers.py --seeds DIR             more files to mutate, in addition to built-in ones
    python tests/readers/fuzz_readers.py --seed 7                other mutations (the default is 0)

Files that break a reader are written to `.fuzz/`, and the exit code is 1. Each format is read in a separate process
with the memory and time limits of a reader, so that a crash is noticed together with the file that caused it.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from making_files import archive, docx, message, old_workbook, paragraph, pdf, slides, workbook

from conspectus.readers import FORMATS, MEGABYTE, Options, ParsedDocument, suffix_of
from conspectus.readers.sources import parse_file
from conspectus.rows import Failure

SECONDS = 10
"""CPU seconds that a file of a few kB may take; files of real corpora take under one second each."""
OPTIONS = Options(max_bytes=10 * MEGABYTE)
"""Limits that mutated files do not approach unless one unpacks to a huge size: 530 MB of memory."""
RESERVED = 2_000 * MEGABYTE
"""Bytes of address space that Arrow reserves in addition to what it uses: 1,725 MB were measured."""
FOLDER = Path(".fuzz")
TOKENS = [
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\x1b[31m", b"\xe2\x80\xae",
    b"-1", b"9" * 400, b"9" * 5000, b"1e999", b"NaN", b"\\ud800", b"&#xD800;", b"&#0;", b"&lol;", b"<!DOCTYPE x>",
    b"<" * 3000, b"[" * 3000, b"{" * 3000, b"(" * 3000, b"<<" * 3000, b"<b>" * 3000, b'"', b"'", b"\n\n\n", b"=?",
    b"=?utf-8?b?", b"Content-Type: message/rfc822\n\n", b"Content-Transfer-Encoding: base64\n", b"boundary=\"\"\n",
    b"\\bin999999999 ", b"\\u-99999?", b"\\'", b"endobj", b"endstream", b"/Length 99999999", b"/Kids [2 0 R]",
    b"../../x", b"%2e%2e%2f", b"sep=\n", b"---\n", b"```", b"00:00:00,000 --> 99:99:99,999\n",
    b"<table><tr><td rowspan=99999999>", b"colspan='99999999'", b"r='XFD1048576'",
    b"table:number-columns-repeated='99999999'",
]  # fmt: skip
"""Byte strings that are inserted into files, besides noise: each once broke one of our readers or another library."""

MAIL = (
    "From: Ann <ann@x.org>\nTo: Bo <bo@x.org>\nSubject: =?utf-8?q?Bees?=\nDate: Wed, 1 May 2024 10:00:00 +0200\n"
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\n"
    "Content-Transfer-Encoding: quoted-printable\n\n<p>Bees =C3=A4 dance.</p>\n--b\nContent-Type: message/rfc822\n\n"
    "From: Bo <bo@x.org>\nSubject: Re\n\nBees sleep.\n--b\nContent-Type: text/plain\nContent-Disposition: attachment;"
    " filename=a.txt\nContent-Transfer-Encoding: base64\n\nQmVlcw==\n--b--\n"
)
PAGE = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>On bees</title></head><body><nav>Home</nav><main>"
    "<h1>Bees</h1><p>Bees <b>dance</b> &amp; sleep.</p><ul><li>one<li>two</ul><table><tr><th>a<td rowspan=2>b</table>"
    "<pre>code</pre><script>alert(1)</script></main></body></html>"
)
FEED = (
    "<?xml version='1.0' encoding='utf-8'?><rss><channel><title>News</title><item><title>Bees</title><description>"
    "&lt;p&gt;Bees dance.</description><pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate></item></channel></rss>"
)
OFFICE = (
    "xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' xmlns:text='urn:oasis:names:tc:opendocument:xmlns:"
    "text:1.0' xmlns:table='urn:oasis:names:tc:opendocument:xmlns:table:1.0'"
)


def opendocument(kind: str, content: str) -> bytes:
    body = f"<office:document-content {OFFICE}><office:body>{content}</office:body></office:document-content>"
    mime = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        "<manifest:manifest xmlns:manifest='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'>"
        f"<manifest:file-entry manifest:full-path='/' manifest:media-type='{mime}'/></manifest:manifest>"
    )
    return archive({"mimetype": mime, "META-INF/manifest.xml": manifest, "content.xml": body})


def book() -> bytes:
    return archive(
        {
            "META-INF/container.xml": "<container><rootfile full-path='b.opf'/></container>",
            "b.opf": "<package><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest>"
            "<spine><itemref idref='a'/></spine></package>",
            "a.xhtml": "<html><body><h1>Bees</h1><p>Bees dance.</p></body></html>",
        }
    )


def table() -> bytes:
    file = BytesIO()
    rows = [{"text": f"Bees dance {n}.", "title": "Bees", "n": n, "tags": ["a"]} for n in range(20)]
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=8)
    return file.getvalue()


SEEDS: dict[str, list[bytes]] = {
    ".txt": ["Bees dance.\n\nThe straße of Öland; 蜜蜂。\n".encode(), "Grüße an die Bienen. ".encode("cp1252") * 9],
    ".md": [b"---\ntitle: Bees\ntags:\n  - a\ndate: 2024-05-01\n---\n# Bees\n\n```py\nx\n```\n\nSleep\n=====\ntext\n"],
    ".srt": [b"1\n00:00:01,000 --> 00:00:02,000\n<v Ann>Bees dance.</v>\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.\n"],
    ".json": [b'[{"text": "Bees", "title": "a", "date": "2024", "n": 1.5}, {"text": "Wasps", "x": [1, {"y": null}]}]'],
    ".jsonl": [b'{"text": "Bees \\u00e4", "title": "a"}\n"Wasps"\n{"text": "Ants", "n": true}\n'],
    ".csv": [b'sep=;\nid;text\n1;"Bees; ""dance"""\n2;Wasps\n', b"name,price,city\nAnn,3,Ulm\nBo,4,Bonn\n"],
    ".tsv": [b'id\ttext\n1\t"Bees\n2\tWasps\n'],
    ".parquet": [table()],
    ".jsonl.gz": [gzip.compress(b'{"text": "Bees"}\n"Wasps"\n', mtime=0)],
    ".pdf": [pdf(["Bees dance.", "", "Bees sleep."], "/Title (Bees) /CreationDate (D:20240501)")],
    ".docx": [docx(paragraph("Bees", "Heading1") + paragraph("Bees dance."), footnotes="<w:footnote w:id='1'/>")],
    ".pptx": [slides("Bees", "Wasps")],
    ".odt": [opendocument("text", "<office:text><text:h>Bees</text:h><text:p>Bees dance.</text:p></office:text>")],
    ".ods": [opendocument("spreadsheet", "<office:spreadsheet><table:table table:name='a'><table:table-row>"
             "<table:table-cell office:value-type='string'><text:p>Bees</text:p></table:table-cell></table:table-row>"
             "</table:table></office:spreadsheet>")],
    ".xlsx": [workbook(one=[["name", "price"], ["Ann", 3]], two=[["Bees"]])],
    ".rtf": [rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 Bees \b dance\b0 .\par \u228? \'e4{\*\x y}}"],
    ".html": [PAGE.encode()],
    ".xml": [FEED.encode(), b"<a><b c='d'>Bees dance.</b><!-- x --><e><![CDATA[Wasps]]></e></a>"],
    ".eml": [MAIL.encode()],
    ".epub": [book()],
    ".xls": [old_workbook("Bees dance.", 3, "Wasps")],
    ".msg": [message("Bees", "Bees dance.", "bees.txt")],
}  # fmt: skip
"""Built-in files to mutate, for each suffix with its own reader."""


# Mutations


def mutated(seeds: list[bytes], draw: random.Random) -> bytes:
    """Return one of the seeds with one to eight changes; in a zip archive, mostly inside one member."""
    content = draw.choice(seeds)
    if content.startswith(b"PK") and draw.random() < 0.8:
        with suppress(zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
            with zipfile.ZipFile(BytesIO(content)) as file:
                parts = {info.filename: file.read(info) for info in file.infolist()}
            name = draw.choice(sorted(parts))
            parts[name] = changed(parts[name], [*parts.values()], draw)
            return archive(parts)
    return changed(content, seeds, draw)


def changed(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4, 8))):
        at = draw.randrange(len(data) + 1)
        size = draw.choice((1, 4, 30, 300))
        kind = draw.choice(("flip", "delete", "repeat", "token", "token", "noise", "splice", "cut", "swell"))
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == "delete":
            del data[at : at + size]
        elif kind == "repeat":
            data[at:at] = data[at : at + size] * draw.choice((1, 2, 200))
        elif kind == "token":
            data[at:at] = draw.choice(TOKENS)
        elif kind == "noise":
            data[at : at + size] = draw.randbytes(size)
        elif kind == "splice":
            other = draw.choice(others)
            data[at:] = other[draw.randrange(len(other) + 1) :]
        elif kind == "cut" and draw.random() < 0.3:
            del data[at:]
        elif kind == "swell" and draw.random() < 0.1:
            data[at:at] = data[at : at + 60] * 5000
    return bytes(data[:1_000_000])


# Results


class TookTooLong(BaseException):
    """Raised by the alarm; as a BaseException, no reader mistakes it for damage of the file."""


def wrong_with(document: ParsedDocument) -> str:
    """Return what is wrong with a parsed document; "" if it is consistent."""
    starts = [place.start for place in document.places]
    texts = (document.text, document.title, document.path, document.date or "", *document.metadata.values())
    if any("\0" in text for text in texts):
        return "a text holds a zero"
    if any("\ud800" <= c <= "\udfff" for text in texts for c in text):
        return "a text holds half a character"
    if "\n" in document.title:
        return "a title has two lines"
    if starts != sorted(starts) or any(not 0 <= start <= len(document.text) for start in starts):
        return "places are not in the text, in its order"
    return ""


def read_mutations(suffix: str, seeds: list[bytes], number: int, until: float) -> None:
    """Read mutated files until the time `until`, and print the result of each as a line of JSON."""
    file = FOLDER / f"now{suffix}"

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong

    signal.signal(signal.SIGPROF, give_up)
    while time.time() < until:
        file.write_bytes(mutated(seeds, random.Random(number)))
        print(json.dumps([number]), flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        faulthandler.dump_traceback_later(OPTIONS.seconds, exit=True)  # compiled code may ignore signals
        try:
            outcomes = parse_file(str(file), f"a{suffix}", OPTIONS)
            signal.setitimer(signal.ITIMER_PROF, 0)
            wrong = next(filter(None, (wrong_with(o) for o in outcomes if isinstance(o, ParsedDocument))), "")
            failures = [o.error for o in outcomes if isinstance(o, Failure)]
            kind = "read" if not failures else "reason"
            if any("an unknown variant" in text or "MB of memory" in text for text in failures):
                kind = failures[0].partition("(")[2].partition(":")[0] or "memory"
        except TookTooLong:
            kind, wrong = "", f"more than {SECONDS} s"
        except Exception as error:
            kind, wrong = "", f"raised {type(error).__name__}: {error}"[:200]
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([number, kind, wrong]), flush=True)
        number += 1


def limit_memory(suffix: str) -> None:
    if sys.platform == "linux":
        import resource

        limit = OPTIONS.memory + (RESERVED if suffix == ".parquet" else 0)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def fuzz(suffix: str, seconds: float, seed: int, more: str) -> list[str]:
    """Read mutated files of a suffix for some seconds; print the number of each result, and return the errors."""
    until, number = time.time() + seconds, seed * 10_000_000
    ends: Counter[str] = Counter()
    found: dict[str, str] = {}
    while time.time() < until:
        command = [
            sys.executable,
            __file__,
            "--child",
            str(number),
            "--until",
            str(until),
            "--seeds",
            more,
            suffix,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, preexec_fn=partial(limit_memory, suffix)
        )
        lines: list[list[Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.endswith("]")]
        for number, *end in lines:
            if end:
                ends[end[0]] += 1
                if end[1]:
                    found.setdefault(end[1], keep(suffix, number, more))
        if done.returncode == -signal.SIGABRT and "memory allocation of" in done.stderr:
            ends["memory"] += 1  # compiled code without memory ends its process
        elif done.returncode or (not lines and time.time() < until):
            what = f"the process ended with {done.returncode} {done.stderr.strip().rpartition(chr(10))[2]}"
            found.setdefault(what, keep(suffix, number, more))
            if not lines:
                break
        number += 1
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in ends.most_common() if kind)
    print(f"{suffix:7}{ends.total():10,} files: {kinds}", flush=True)
    return [f"{suffix}: {what} ({file})" for what, file in found.items()]


def keep(suffix: str, number: int, more: str) -> str:
    file = FOLDER / f"{number}{suffix}"
    file.write_bytes(mutated(seeds_of(suffix, more), random.Random(number)))
    return str(file)


def seeds_of(suffix: str, more: str) -> list[bytes]:
    others = sorted(Path(more).rglob(f"*{suffix}")) if more else []
    return [*SEEDS[suffix], *(file.read_bytes() for file in others if file.stat().st_size < MEGABYTE)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suffixes", nargs="*", default=list(SEEDS))
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    if given.child is not None:
        read_mutations(given.suffixes[0], seeds_of(given.suffixes[0], given.seeds), given.child, given.until)
        return
    assert all(suffix_of(f"a{suffix}") in FORMATS for suffix in given.suffixes)
    found = [
        line for suffix in given.suffixes for line in fuzz(suffix, given.seconds, given.seed, given.seeds)
    ]
    print("\n".join(found) or "nothing was found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
