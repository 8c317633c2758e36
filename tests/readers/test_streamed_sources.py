"""Files that are compressed, read as streams, or loaded from an address."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from making_files import pdf

from conspectus.errors import UsageError
from conspectus.indexing.read import Read, read
from conspectus.readers import Options, ParsedDocument, records, sources
from conspectus.readers.sources import parse_file
from conspectus.rows import Failure
from conspectus.settings import ReadSettings

ROWS = [
    {"text": f"Bees dance in hive {number}.", "title": f"Hive {number}", "n": number} for number in range(50)
]


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def separated(rows: list[dict[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def parquet(rows: list[dict[str, Any]], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, **options)
    return file.getvalue()


def texts(outcome: Read) -> list[str]:
    return [document.text for document in outcome.documents]


# Compressed files


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"Bees dance."),
        ("a.md", b"# Bees\n\nThey dance."),
        ("a.jsonl", jsonl(ROWS[:2])),
        ("a.pdf", pdf(["Bees."])),
    ],
)
def test_a_packed_file_is_read_as_the_one_in_it(
    name: str, data: bytes, suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
):
    plain, packed = tmp_path / name, tmp_path / f"{name}{suffix}"
    plain.write_bytes(data)
    packed.write_bytes(pack(data))

    expected, found = (read([file], ReadSettings()).documents for file in (plain, packed))

    assert [(d.text, d.title) for d in found] == [(d.text, d.title) for d in expected]
    assert all(d.path.startswith(packed.as_posix()) for d in found)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
def test_a_packed_file_that_is_cut_or_too_large_says_so(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
):
    bomb, cut = tmp_path / f"a.txt{suffix}", tmp_path / f"b.txt{suffix}"
    bomb.write_bytes(pack(b"bees " * 1_000_000))
    cut.write_bytes(pack(bytes(range(256)) * 9)[:-9])

    (too_large,), (damaged,) = (
        parse_file(str(file), file.name, Options(max_bytes=100_000)) for file in (bomb, cut)
    )

    assert isinstance(too_large, Failure)
    assert isinstance(damaged, Failure)
    assert "read.max_megabytes" in too_large.error
    assert "damaged" in damaged.error


# Streams


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'\xef\xbb\xbf{"text": "Bees"}\r\n{"text": \n\n"Ants"\n'),
        ("a.csv", separated(ROWS)),
        ("b.csv", b"name,price\n" + b"Ann,3\nBo,4\n" * 40),
        ("c.csv", b'sep=;\nid;text\n1;"Bees\ndance"\n2;"open\n'),
        ("a.tsv", b'id\ttext\n1\t"Bees" she\n2\tWasps\n'),
        ("d.csv", "id;text\n1;Bienen tanzen auf der Straße.\n".encode("cp1252")),
        ("e.csv", b"id,text\n"),
    ],
)
def test_a_stream_gives_what_the_whole_file_gives(
    name: str, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / name
    file.write_bytes(data)
    whole = parse_file(str(file), name, Options())

    monkeypatch.setattr(sources, "STREAMED", 1)

    assert parse_file(str(file), name, Options()) == whole


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
def test_a_large_file_takes_little_more_memory_than_its_documents(suffix: str, tmp_path: Path):
    rows = [
        {"text": f"{n} bees", "other": ["x" * 10_000] if suffix == ".parquet" else "x" * 10_000}
        for n in range(1000)
    ]
    content = separated(rows) if suffix == ".csv" else parquet(rows) if suffix == ".parquet" else jsonl(rows)
    file = tmp_path / f"a{suffix}"
    file.write_bytes(gzip.compress(content, 1) if suffix.endswith(".gz") else content)
    options = Options(title_field="other")

    tracemalloc.start()
    count = sum(isinstance(found, ParsedDocument) for found in parse_file(str(file), file.name, options))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 1000
    assert (
        peak < 15_000_000 if suffix != ".parquet" else peak < 3_000_000
    )  # bytes; 10 MB of titles are in documents


# Parquet


def test_rows_of_parquet_are_documents_and_are_decoded_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "a.parquet"
    file.write_bytes(parquet(ROWS))
    monkeypatch.delattr(records, "_parquet")  # in this process, which damaged Parquet could end

    found = read([file], ReadSettings()).documents

    assert (len(found), found[3].text, found[3].title) == (50, "Bees dance in hive 3.", "Hive 3")
    assert (found[3].path, found[3].metadata["n"]) == (f"{file.as_posix()}#4", "3")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (parquet([{"body": "Bees."}]), "read.text_field"),
        (parquet(ROWS)[:-40], "damaged"),
        (b"PAR1", "damaged"),
    ],
)
def test_parquet_without_the_field_of_texts_or_damaged_says_what_to_do(
    data: bytes, named: str, tmp_path: Path
):
    file = tmp_path / "a.parquet"
    file.write_bytes(data)

    (failure,) = parse_file(str(file), "a.parquet", Options())

    assert isinstance(failure, Failure)
    assert named in failure.error


# Addresses


@pytest.fixture
def store() -> Iterator[Any]:
    """A file system in memory."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


def test_a_folder_at_an_address_is_read_as_one_on_disk(store: Any):
    for name, data in {
        "b/2.txt": b"Wasps sting.",
        "b/10.txt": b"Ants dig.",
        "a.pdf": pdf(["Bees dance."]),
    }.items():
        store.pipe(f"/letters/{name}", data)
    store.pipe("/letters/.hidden/c.txt", b"Hidden.")
    store.pipe("/letters/drafts/d.txt", b"A draft.")

    outcome = read(["memory://letters"], ReadSettings(exclude=("drafts/",)))

    assert texts(outcome) == ["Bees dance.", "Wasps sting.", "Ants dig."]
    assert [d.path for d in outcome.documents][1:] == [
        "memory://letters/b/2.txt",
        "memory://letters/b/10.txt",
    ]
    assert {row.kind for row in outcome.skipped} == {"hidden", "excluded"}


def test_a_file_at_an_address_may_be_packed(store: Any):
    store.pipe("/rows.jsonl.gz", gzip.compress(jsonl(ROWS)))

    assert len(read(["memory://rows.jsonl.gz"], ReadSettings()).documents) == 50


def test_a_file_that_cannot_be_fetched_is_a_failure_and_the_others_are_read(
    store: Any, monkeypatch: pytest.MonkeyPatch
):
    store.pipe("/letters/a.txt", b"Bees dance.")
    store.pipe("/letters/b.txt", b"Ants dig.")
    fetch = type(store).get_file

    def refuse(self: Any, path: str, *arguments: Any, **options: Any) -> None:
        if path.endswith("b.txt"):
            raise PermissionError("403")
        fetch(self, path, *arguments, **options)

    monkeypatch.setattr(type(store), "get_file", refuse)
    outcome = read(["memory://letters"], ReadSettings())

    assert texts(outcome) == ["Bees dance."]
    assert [(f.document, "403" in f.error) for f in outcome.failures] == [("memory://letters/b.txt", True)]


@pytest.mark.parametrize(
    "source",
    ["memory://nothing", "nosuch://a/b", "https://user:secret@example.org/a.txt", "s3://a/b.txt?key=secret"],
)
def test_an_address_that_cannot_be_read_is_refused_without_its_secrets(source: str, store: Any):
    with pytest.raises(UsageError) as refused:
        read([source], ReadSettings())

    assert "secret" not in str(refused.value)


def test_a_data_set_of_the_hub_is_its_files(store: Any, monkeypatch: pytest.MonkeyPatch):
    fsspec = pytest.importorskip("fsspec")
    strip = type(store)._strip_protocol
    own = {
        "protocol": "hf",
        "_strip_protocol": staticmethod(lambda path: strip(path.replace("hf://", "memory://"))),
    }
    hub = type("Hub", (type(store),), own)
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "hf", hub)
    system = fsspec.filesystem("hf")
    system.pipe("/datasets/owner/bees/data/train.parquet", parquet(ROWS))
    system.pipe("/datasets/owner/bees/README.md", b"# A card")

    outcome = read(["hf:owner/bees"], ReadSettings())

    assert len(outcome.documents) == 50
    assert outcome.documents[0].path == "hf:owner/bees/data/train.parquet#1"
