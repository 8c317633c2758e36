"""Tests of reading documents."""

from __future__ import annotations

import codecs
import csv
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import NothingToIndex, UsageError
from conspectus.indexing.read import natural_order, read, read_texts
from conspectus.readers import Options, ParsedDocument, parse
from conspectus.readers.encodings import decode
from conspectus.readers.sources import Source
from conspectus.rows import Document, Failure, content_id
from conspectus.settings import ReadSettings

SETTINGS = ReadSettings()
ENGLISH = {"language": "en"}


def fill(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def texts(documents: Sequence[Document]) -> list[str]:
    return [d.text for d in documents]


def names(documents: Sequence[Document], folder: Path) -> list[str]:
    return [d.path.removeprefix(folder.as_posix() + "/") for d in documents]


def only_failure(folder: Path, name: str, content: str | bytes) -> Failure:
    """Return the failure of a file that cannot be read; check that the file beside it is read."""
    documents, failures, *_ = read([fill(folder, {name: content, "good.txt": "bees"})], SETTINGS)
    assert texts(documents) == ["bees"]
    (failure,) = failures
    assert failure.stage == "read"
    assert failure.document.startswith(f"{folder.as_posix()}/{name}")
    return failure


# Folders


def test_files_of_folders_come_in_natural_order_of_their_paths(tmp_path: Path):
    fill(tmp_path, {n: n for n in ("part10.txt", "Part2.txt", "b/1.txt", "a.md", "b/a/9.txt", "B2/x.txt")})
    documents, *_ = read([tmp_path], SETTINGS)

    assert names(documents, tmp_path) == [
        "a.md",
        "b/1.txt",
        "b/a/9.txt",
        "B2/x.txt",
        "Part2.txt",
        "part10.txt",
    ]
    assert [d.number for d in documents] == [0, 1, 2, 3, 4, 5]


@given(st.lists(st.text(alphabet="aB1²٣0/ .", min_size=1, max_size=8), unique=True), st.randoms())
def test_natural_order_is_an_order_of_any_paths(paths: list[str], chance: random.Random):
    expected = sorted(paths, key=natural_order)
    chance.shuffle(paths)

    assert sorted(paths, key=natural_order) == expected


def test_neither_the_order_of_sources_nor_naming_a_file_twice_changes_what_is_read(tmp_path: Path):
    fill(tmp_path, {"a/1.txt": "one", "b/2.txt": "two", "b/3.txt": "three"})
    a, b, file = tmp_path / "a", tmp_path / "b", tmp_path / "b" / "3.txt"

    assert read([a, b], SETTINGS) == read([b, str(a), file, b], SETTINGS)


def test_paths_are_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {"docs/a/1.txt": "one"})
    monkeypatch.chdir(tmp_path)

    assert [read(given, SETTINGS)[0][0].path for given in ("docs", "./docs/", ".", "docs/a/1.txt")] == [
        "docs/a/1.txt"
    ] * 4


def test_hidden_files_and_folders_are_passed_over_unless_they_are_named(tmp_path: Path):
    fill(tmp_path, {".git/a.txt": "x", ".b.txt": "hidden", "c/.d/e.txt": "x", "f.txt": "seen"})

    found = read([tmp_path], SETTINGS)

    assert texts(found.documents) == ["seen"]
    assert sorted((s.document.rpartition("/")[2], s.kind) for s in found.skipped) == [
        (".b.txt", "hidden"),
        (".d", "hidden"),
        (".git", "hidden"),
    ]
    assert texts(read([tmp_path / ".b.txt", tmp_path / ".git"], SETTINGS)[0]) == ["hidden", "x"]


def test_an_index_is_never_read(tmp_path: Path):
    manifest = json.dumps({"format": "conspectus-index", "version": 1})
    fill(tmp_path, {"index/manifest.json": manifest, "index/notes.txt": "ours", "a.txt": "a"})
    documents, _, (skipped,), _ = read([tmp_path], SETTINGS)

    assert texts(documents) == ["a"]
    assert skipped.document.endswith("/index")
    with pytest.raises(NothingToIndex, match="is an index"):
        read([tmp_path / "index"], SETTINGS)


def test_a_folder_with_a_manifest_of_something_else_is_read(tmp_path: Path):
    fill(tmp_path, {"manifest.json": '{"name": "an app", "text": "bees"}', "a.txt": "a"})

    assert texts(read([tmp_path], SETTINGS)[0]) == ["a", "bees"]


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path):
    fill(tmp_path, {"in/a.txt": "a", "in/.hidden/h.txt": "h", "out/secret.txt": "secret"})
    try:
        (tmp_path / "in" / "file.txt").symlink_to(tmp_path / "out" / "secret.txt")
    except OSError:
        pytest.skip("this system does not let us make links")
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "circle").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "same.txt").symlink_to(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "visible.txt").symlink_to(tmp_path / "in" / ".hidden" / "h.txt")
    (tmp_path / "in" / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    documents, failures, skipped, _ = read([tmp_path / "in"], SETTINGS)

    assert names(documents, tmp_path / "in") == ["a.txt", "visible.txt"]
    assert failures == []
    assert sorted(Path(s.document).name for s in skipped) == [".hidden", "file.txt", "folder", "gone.txt"]
    assert texts(read([tmp_path / "in" / "folder"], SETTINGS)[0]) == ["secret"]


pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pipes
def test_a_pipe_is_not_waited_for(tmp_path: Path):
    pipe = fill(tmp_path, {"a.txt": "a"}) / "pipe.txt"
    os.mkfifo(pipe)
    for sources in ([tmp_path], [pipe, tmp_path / "a.txt"]):
        documents, _, (skipped,), _ = read(sources, SETTINGS)
        assert texts(documents) == ["a"]
        assert "not a regular file" in skipped.reason


@pipes
@pytest.mark.parametrize("name", [".gitignore", ".conspectusignore", ".conspectus-vault", "sub/.gitignore"])
def test_a_pipe_in_place_of_a_list_of_files_is_not_waited_for(name: str, tmp_path: Path):
    folder = fill(tmp_path, {"a.txt": "a", "sub/b.txt": "b", ".git/HEAD": ""})
    os.mkfifo(folder / name)
    assert texts(read([folder], SETTINGS)[0]) == ["a", "b"]
    assert texts(read([folder / "sub"], SETTINGS)[0]) == ["b"]


def test_formats_that_are_not_known_are_listed_as_skipped(tmp_path: Path):
    fill(tmp_path, {"a.bin": "x", "README": "x", "b.TXT": "read"})
    documents, failures, skipped, _ = read([tmp_path], SETTINGS)

    assert (texts(documents), failures) == (["read"], [])
    assert [Path(s.document).name for s in skipped] == ["a.bin", "README"]
    assert skipped[0].reason == ".bin files are not read"
    with pytest.raises(NothingToIndex, match=r"supported are \.atom \.csv \.docm"):
        read([tmp_path / "a.bin"], SETTINGS)


def test_a_path_that_does_not_exist_is_an_error_before_anything_is_read(tmp_path: Path):
    with pytest.raises(UsageError, match=r"there is no file or folder '.*gone"):
        read([fill(tmp_path, {"a.txt": "a"}), tmp_path / "gone"], SETTINGS)


def test_where_nothing_can_be_read_the_first_reasons_are_told(tmp_path: Path):
    fill(tmp_path, {"1.json": "7", "2.bin": "x", "3.json": "{", "4.json": "8"})
    with pytest.raises(NothingToIndex, match=r"(?s)1\.json#1: is neither.*3\.json: is not JSON.*and 1 more"):
        read([tmp_path], SETTINGS)


def test_an_empty_folder_has_nothing_to_index(tmp_path: Path):
    with pytest.raises(NothingToIndex, match=r"there is none in .*; supported are .*\.md"):
        read([tmp_path], SETTINGS)


def test_a_file_that_may_not_be_read_is_a_failure_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened = Source.open

    def open_unless_locked(self: Source) -> BinaryIO:
        if self.file.endswith("locked.txt"):
            raise PermissionError(13, "Permission denied")
        return opened(self)

    monkeypatch.setattr(Source, "open", open_unless_locked)

    assert "Permission denied" in only_failure(tmp_path, "locked.txt", "x").error


def test_a_folder_that_may_not_be_opened_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {"locked/a.txt": "x", "b.txt": "b"})
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    documents, (failure,), *_ = read([tmp_path], SETTINGS)

    assert texts(documents) == ["b"]
    assert failure.document.endswith("/locked")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets file names be any bytes")
def test_a_file_name_that_is_not_unicode_can_still_be_stored(tmp_path: Path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "w") as file:
        file.write("coffee")
    (document,) = read([tmp_path], SETTINGS)[0]

    assert document.path.endswith("/caf\ufffd.txt")
    document.title.encode()


# Text


@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_newlines_become_line_feeds_and_the_byte_order_mark_is_dropped(tmp_path: Path, bom: bytes):
    (document,) = read([fill(tmp_path, {"a.txt": bom + b"one\r\ntwo\rthree\x0bfour\n\r"})], SETTINGS)[0]

    assert document.text == "one\ntwo\nthree\x0bfour\n\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@given(text=st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_text_with_a_byte_order_mark_is_read_as_it_says(encoding: str, text: str):
    assert decode(text.encode(encoding)).text == text


def test_big_endian_text_is_read_by_its_mark():
    assert decode(codecs.BOM_UTF16_BE + "bees".encode("utf-16-be")).text == "bees"
    assert decode(codecs.BOM_UTF32_BE + "bees".encode("utf-32-be")).text == "bees"


def test_text_in_an_old_encoding_is_read_by_a_detector(tmp_path: Path):
    russian = "Пчёлы танцуют, чтобы показать другим пчёлам дорогу к цветам. Это знают все пасечники. " * 5
    (document,) = read([fill(tmp_path, {"a.txt": russian.encode("cp1251")})], SETTINGS)[0]

    assert document.text == russian


@pytest.mark.parametrize("content", ["", codecs.BOM_UTF8, " \r\n\t\u3000"])
def test_an_empty_file_is_skipped_and_no_failure(tmp_path: Path, content: str | bytes):
    found = read([fill(tmp_path, {"a.txt": content, "b.txt": "bees"})], SETTINGS)

    assert texts(found.documents) == ["bees"]
    assert not found.failures
    assert [s.kind for s in found.skipped] == ["empty"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04\0\0text", "is binary"),
        (bytes(range(1, 32)) * 9, "is binary"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "byte order mark of UTF-16"),
        (codecs.BOM_UTF16_LE + b"a\x00\x00\x00", "is binary"),
    ],
)
def test_what_is_not_text_is_a_failure_that_says_why(tmp_path: Path, content: str | bytes, reason: str):
    assert reason in only_failure(tmp_path, "a.txt", content).error


def test_the_title_of_a_text_is_its_stem_and_that_of_markdown_its_first_heading(tmp_path: Path):
    fill(tmp_path, {"a.b.txt": "# no", "c.md": "text\n\n## On bees ##\n\n# Later", "d.md": "no heading"})

    assert [d.title for d in read([tmp_path], SETTINGS)[0]] == ["a.b", "On bees", "d"]


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("```sh\n# a comment\n```\n# C#", "C#"),
        ("~~~\n# a\n```\n# b\n~~~\n# Real", "Real"),
        ("On bees\n=======\n", "On bees"),
        ("#hashtag\n    # code\n", "bees"),
        ("# \n# Bees", "Bees"),
    ],
)
def test_headings_are_those_of_markdown(markdown: str, title: str):
    [document] = parse("bees.md", markdown.encode(), Options())

    assert isinstance(document, ParsedDocument)
    assert document.title == title


# Records


def test_a_json_file_is_an_object_a_list_of_objects_or_a_list_of_texts(tmp_path: Path):
    fill(
        tmp_path, {"a.json": '{"text": "one"}', "b.json": '[{"text": "two"}, "three"]', "c.json": '["four"]'}
    )
    documents, *_ = read([tmp_path], SETTINGS)

    assert texts(documents) == ["one", "two", "three", "four"]
    assert names(documents, tmp_path) == ["a.json#1", "b.json#1", "b.json#2", "c.json#1"]


def test_fields_of_a_record_go_to_title_date_and_metadata(tmp_path: Path):
    record = {
        "body": "one\r\ntwo\ud800",
        "head": " On\nbees ",
        "date": "2024-05-01",
        "n": 3,
        "ok": True,
        "none": None,
        "list": [1],
        "title": "x",
    }
    fill(tmp_path, {"a.jsonl": json.dumps(record)})
    (document,) = read([tmp_path], ReadSettings(text_field="body", title_field="head"))[0]

    assert (document.text, document.title, document.date) == ("one\ntwo\ufffd", "On bees", "2024-05-01")
    assert document.metadata == {"n": "3", "ok": "true", "title": "x", **ENGLISH}


def test_a_date_that_states_none_is_metadata(tmp_path: Path):
    fill(tmp_path, {"a.csv": "text,date\none,unknown\ntwo,1998\nthree,\n"})
    documents, *_ = read([tmp_path], SETTINGS)

    assert [(d.date, dict(d.metadata)) for d in documents] == [
        (None, {"date": "unknown", **ENGLISH}),
        ("1998", ENGLISH),
        (None, ENGLISH),
    ]


def test_csv_fields_may_hold_commas_newlines_and_a_whole_book(tmp_path: Path):
    book = "bees, bees\n" * 20_000
    before = csv.field_size_limit()
    content = codecs.BOM_UTF8 + f'title,text,year\r\n\r\nOne,"{book}",1998\r\nTwo,two,\r\n'.encode()
    one, two = read([fill(tmp_path, {"a.csv": content})], SETTINGS)[0]

    assert (one.text, one.title, one.metadata) == (book, "One", {"year": "1998", **ENGLISH})
    assert (two.text, two.title, two.metadata) == ("two", "Two", ENGLISH)
    assert csv.field_size_limit() == before


def test_a_bad_line_of_jsonl_is_a_failure_and_the_others_go_on(tmp_path: Path):
    fill(
        tmp_path,
        {"a.jsonl": '{"text": "one"}\n\n{"text": \n"two \u2028 lines"\n7\n{"text": 5}\n{"text": " "}'},
    )
    documents, failures, skipped, _ = read([tmp_path], SETTINGS)

    assert texts(documents) == ["one", "two \u2028 lines"]
    assert names(documents, tmp_path) == ["a.jsonl#1", "a.jsonl#3"]
    assert [(f.document[-2:], f.error) for f in failures] == [
        ("#2", "is not JSON: line 3, column 10: Expecting value"),
        ("#4", "is neither a text nor an object with fields"),
        ("#5", "its field 'text' contains no text"),
    ]
    assert [(s.document[-2:], s.kind) for s in skipped] == [("#6", "empty")]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", '{"text":\n "x",}', "is not JSON: line 2, column"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", "7", "neither a text nor an object"),
        ("a.csv", "text\n", "has no records"),
        ("a.csv", 'text\n"open', "is not CSV: line 2"),
        ("a.csv", "text,n\none, two,3\n", r"has 3 fields (line 2) where the first line of the file names 2"),
    ],
)
def test_malformed_records_are_a_failure_that_says_where(
    tmp_path: Path, name: str, content: str, reason: str
):
    assert reason in only_failure(tmp_path, name, content).error


def test_records_before_a_broken_one_of_csv_are_kept(tmp_path: Path):
    fill(tmp_path, {"a.csv": 'text\none\n"two'})
    documents, (failure,), *_ = read([tmp_path], SETTINGS)

    assert texts(documents) == ["one"]
    assert failure.document.endswith("a.csv#2")


def test_records_without_the_text_field_are_one_failure_with_their_fields_and_the_option(tmp_path: Path):
    body = "Bees dance to tell each other where flowers are, and how far it is to fly to them. " * 2
    fill(
        tmp_path, {"a.csv": f"id,body\n1,{body}\n2,{body}\n3,{body}\n".replace("are, ", "are "), "b.txt": "b"}
    )
    _, (failure,), *_ = read([tmp_path], SETTINGS)

    assert failure.document.endswith("a.csv#1")
    assert "no field 'text' (and 2 records after it, too); it has 'id', 'body'" in failure.error
    assert "read.text_field" in failure.error
    assert len(read([tmp_path], ReadSettings(text_field="body"))[0]) == 4


def test_a_table_without_texts_is_a_document_with_a_line_for_each_row(tmp_path: Path):
    fill(tmp_path, {"cities.csv": 'city;people\nOslo;"717,710"\n\nBergen;291189\n'})
    (document,), failures, *_ = read([tmp_path], SETTINGS)

    assert not failures
    assert (document.title, document.text) == ("cities", "city | people\nOslo | 717,710\nBergen | 291189")


def test_a_table_is_no_document_of_its_own_where_the_field_of_its_texts_was_named(tmp_path: Path):
    fill(tmp_path, {"cities.csv": "city,people\nOslo,717710\n", "b.txt": "b"})
    _, (failure,), *_ = read([tmp_path], ReadSettings(text_field="city name"))

    assert "has no field 'city name'" in failure.error


# Memory


def test_texts_and_objects_from_memory_are_documents():
    documents, (failure,), *_ = read_texts(
        [
            "one",
            {"text": "two", "path": "x/2", "id": 7},
            {"text": "three", "id": 8, "title": "T"},
            {"body": "four"},
            {"text": "five"},
        ],
        SETTINGS,
    )

    assert [(d.text, d.path, d.title) for d in documents] == [
        ("one", "memory#1", ""),
        ("two", "x/2", ""),
        ("three", "8", "T"),
        ("five", "memory#5", ""),
    ]
    assert documents[1].metadata == {"id": "7", **ENGLISH}
    assert failure.document == "memory#4"


def test_read_takes_objects_beside_paths(tmp_path: Path):
    documents, *_ = read([{"text": "from memory"}, fill(tmp_path, {"a.txt": "from a file"})], SETTINGS)

    assert texts(documents) == ["from a file", "from memory"]
    assert texts(read({"text": "alone"}, SETTINGS)[0]) == ["alone"]
    assert texts(read_texts("alone", SETTINGS)[0]) == ["alone"]


def test_anything_with_to_dict_is_a_data_frame():
    class Frame:
        def to_dict(self, orient: str) -> list[dict[str, object]]:
            assert orient == "records"
            return [{"text": "one", "year": 1998.0, "note": float("nan")}]

    (document,) = read(Frame(), SETTINGS)[0]

    assert (document.text, document.path, document.metadata) == (
        "one",
        "memory#1",
        {"year": "1998.0", **ENGLISH},
    )


def test_a_real_data_frame_is_read_without_its_gaps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "text": ["one", "two", None],
            "date": [pandas.Timestamp("2024-05-01"), pandas.NaT, pandas.NaT],
            "n": pandas.array([1, None, 3], dtype="Int64"),
        }
    )
    documents, (failure,), *_ = read(frame, SETTINGS)

    assert [(d.text, d.date, dict(d.metadata)) for d in documents] == [
        ("one", "2024-05-01T00:00:00", {"n": "1", **ENGLISH}),
        ("two", None, ENGLISH),
    ]
    assert failure.document == "memory#3"


def test_arrays_in_the_cells_of_a_data_frame_are_metadata():
    documents, *_ = read_texts([{"text": "one", "tags": np.array(["a", "b"]), "n": np.int64(3)}], SETTINGS)

    assert documents[0].metadata == {"tags": '["a", "b"]', "n": "3", **ENGLISH}


def test_nothing_in_memory_is_nothing_to_index():
    with pytest.raises(NothingToIndex):
        read_texts([], SETTINGS)


# Ids


def test_ids_depend_on_the_text_and_equal_texts_have_different_ones(tmp_path: Path):
    fill(tmp_path, {"a.txt": "same", "b.txt": "other", "c.txt": "same"})
    documents, *_ = read([tmp_path], SETTINGS)

    assert [d.id for d in documents] == [
        content_id("same", "0"),
        content_id("other", "0"),
        content_id("same", "1"),
    ]


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=8))
def test_any_texts_are_documents_failures_or_skipped_and_can_be_stored(given_texts: list[str]):
    try:
        documents, failures, skipped, _ = read_texts(given_texts, SETTINGS)
    except NothingToIndex:
        documents, failures, skipped = [], [t for t in given_texts if not t.strip() or "\0" in t], []

    assert len(documents) + len(failures) + len(skipped) == len(given_texts)
    assert len({d.id for d in documents}) == len(documents)
    assert not any("\r" in d.text for d in documents)
    "".join(texts(documents)).encode()


# Real files


def test_the_podcast_corpus_is_read_whole(shared: Path):
    documents, *_ = read([shared / "podcast" / "input"], SETTINGS)

    assert len(documents) == 1669
    assert documents[1].path.endswith("part2.txt")
    assert not any("\r" in d.text for d in documents)


def test_a_collection_in_the_beir_layout_is_read_with_its_titles(shared: Path):
    documents, failures, *_ = read([shared / "docqa" / "musique" / "corpus.jsonl"], SETTINGS)

    assert (len(documents), failures) == (1890, [])
    assert all(d.title and d.metadata["_id"] for d in documents)
