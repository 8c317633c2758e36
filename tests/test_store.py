"""A folder contains one complete snapshot at any time, even with parallel readers and with writers that are killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from making import SEED

from conspectus.errors import (
    IndexBusy,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    NotFound,
    StoreError,
    UsageError,
)
from conspectus.index import Index, Rows
from conspectus.rows import Chunk, Community, Document, Entity, Failure, Report, Span, Usage
from conspectus.storage import TABLES, store
from conspectus.storage.manifests import snapshots as history
from conspectus.storage.store import EARLY, commit, put_early, read, rollback, table_files, writing


def an_index(mark: str = "a", n: int = 3, **more: Any) -> Index:
    """Return an index in which every row contains the mark."""
    return Index(
        documents=[Document(f"d{i}", i, mark, f"Text {mark}.", f"{i}.txt") for i in range(n)],
        chunks=[Chunk(f"c{i}", i, f"d{i}", 0, 7, mark, 2) for i in range(n)],
        entities=[
            Entity(f"e{i}", i, f"E{i}", "person", mark, ("c0",), (Span("d0", 0, 4),)) for i in range(n)
        ],
        communities=[Community(f"m{i}", i, 0, -1, (), (i,)) for i in range(n)],
        reports=[Report(f"p{i}", i, i, 0, -1, (), mark, mark, 5.0, "", (), 3) for i in range(n)],
        **more,
    )


def put(folder: Path, index: Index, settings: dict[str, Any] | None = None) -> str:
    with writing(folder):
        return commit(folder, index, settings=settings or {}, usage={})


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def environment() -> dict[str, str]:
    """Return an environment in which a child process can import the same modules as this one, and this file."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}


# Reading what was written


def test_a_committed_index_is_read_again(tmp_path: Path):
    index = an_index(arrays={"vectors": np.arange(6, dtype=np.float32).reshape(2, 3)}, words=["a", "b"])
    used = {"ExtractGraph": Usage(3, 1, 100, 20, 0.5)}

    with writing(tmp_path / "new" / "index"):
        snapshot = commit(tmp_path / "new" / "index", index, settings={"chunk": {"tokens": 600}}, usage=used)
    found = read(tmp_path / "new" / "index", verify=True)

    for name in TABLES:
        assert list(getattr(found, name)) == list(getattr(index, name))
    assert found.arrays["vectors"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.arrays["vectors"].flags.writeable
    assert (found.settings, found.usage, found.snapshot) == ({"chunk": {"tokens": 600}}, used, snapshot)


def test_an_index_that_was_read_can_be_committed_elsewhere(tmp_path: Path):
    snapshot = put(tmp_path / "one", an_index(arrays={"v": np.ones(3)}))

    assert put(tmp_path / "two", read(tmp_path / "one")) == snapshot


def test_tables_that_are_stored_early_are_those_of_a_commit(tmp_path: Path):
    one, two, index = tmp_path / "one", tmp_path / "two", an_index(arrays={"v": np.ones(3)})
    with writing(two):
        put_early(two, an_index("of a build that failed"))
        early = put_early(two, replace(index, entities=[], reports=[], communities=[], arrays={}))
    assert {path.partition("-")[0] for path in early} == {f"objects/{name}" for name in EARLY}

    with writing(two):
        early = put_early(two, replace(index, reports=[], arrays={}))
    snapshot = put(two, replace(index, stored=early))

    assert snapshot == put(one, index)
    assert files(one) == files(two)
    assert list(read(two, verify=True).chunks) == index.chunks


names = st.from_regex(r"[a-z][a-z_.]{0,8}", fullmatch=True)
types = npst.boolean_dtypes() | npst.integer_dtypes() | npst.floating_dtypes() | npst.unicode_string_dtypes()
arrays = npst.arrays(types, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


@settings(max_examples=25)
@given(st.dictionaries(names, arrays, max_size=3))
def test_arrays_come_back_equal(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]):
    folder = tmp_path_factory.mktemp("index")
    put(folder, Index(arrays=arrays))

    found = read(folder, verify=True).arrays

    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        np.testing.assert_array_equal(np.load(next(folder.glob(f"arrays/{name}-*.npy"))), array)


def test_a_damaged_array_is_refused_where_the_damage_is_read_and_its_other_parts_are_not_compared(
    tmp_path: Path,
):
    put(tmp_path, an_index("a", arrays={"v": np.arange(200_000)}))
    [path] = (tmp_path / "arrays").glob("v-*")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    index = read(tmp_path)
    part = index.slices["v"]

    assert part[1000:1003].tolist() == [1000, 1001, 1002]
    assert part[np.array([5, 3])].tolist() == [5, 3]
    assert (part[7], len(part)) == (7, 200_000)
    for at in (slice(199_990, None), slice(None, None, -1), np.array([0, -1]), -1, ...):
        with pytest.raises(IndexDamaged, match="array v has changed since it was written"):
            part[at]
    with pytest.raises(IndexDamaged, match="array v has changed since it was written"):
        index.arrays["v"]


def test_a_search_in_an_array_compares_the_blocks_where_it_ends(tmp_path: Path):
    put(tmp_path, an_index("a", arrays={"v": np.arange(100_000) // 2}))
    [path] = (tmp_path / "arrays").glob("v-*")
    damage(path, path.read_bytes()[-9:])
    part = read(tmp_path).slices["v"]

    assert part.searchsorted((7, 8, -1)).tolist() == [14, 16, 0]
    with pytest.raises(IndexDamaged, match="array v has changed since it was written"):
        part.searchsorted((50_001,))


def test_an_array_whose_blocks_have_no_checksums_is_compared_as_a_whole(tmp_path: Path):
    put(tmp_path, an_index("a", arrays={"v": np.arange(200_000)}))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    [path] = (tmp_path / "arrays").glob("v-*")
    facts = manifest["files"][path.relative_to(tmp_path).as_posix()]
    facts |= {"crc32": crc32(path.read_bytes()), "blocks": []}
    del manifest["checksum"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))

    assert read(tmp_path).slices["v"][3] == 3

    damage(path, path.read_bytes()[-9:])
    with pytest.raises(IndexDamaged, match="arrays/v-"):
        read(tmp_path).slices["v"][3]


def test_arrays_that_cannot_be_stored_are_refused_by_name(tmp_path: Path):
    for name, array in (("objects", np.array([{}])), ("../up", np.ones(1))):
        with pytest.raises(UsageError, match=name):
            put(tmp_path, Index(arrays={name: array}))
    with pytest.raises(IndexMissing):
        read(tmp_path)


@given(st.integers(0, 30), st.data())
def test_rows_are_a_sequence_like_the_list_of_them(length: int, data: st.DataObject):
    rows: Rows[int] = Rows(lambda: length, range)
    expected = list(range(length))

    assert len(rows) == length
    for _ in range(data.draw(st.integers(0, 5))):
        part = data.draw(st.slices(length))
        assert list(rows[part]) == expected[part]
        if length:
            at = data.draw(st.integers(-length, length - 1))
            assert rows[at] == expected[at]
    for outside in (length, -length - 1):
        with pytest.raises(IndexError):
            rows[outside]
    assert list(rows) == expected
    assert list(reversed(rows)) == expected[::-1]


def test_one_row_is_built_without_the_others_until_all_would_have_been_cheaper(
    monkeypatch: pytest.MonkeyPatch,
):
    built: list[int] = []

    def make(start: int, stop: int) -> range:
        built.append(stop - start)
        return range(start, stop)

    rows: Rows[int] = Rows(lambda: 100, make)

    assert [rows[i] for i in range(50)] == list(range(50))
    assert built == [1] * 9 + [100]


# Snapshots


def test_equal_content_has_an_equal_id_and_other_content_another(tmp_path: Path):
    first = put(tmp_path / "one", an_index("a"))

    assert put(tmp_path / "two", an_index("a"), {"other": "settings"}) == first
    assert put(tmp_path / "two", an_index("b")) != first
    assert put(tmp_path / "one", an_index("a", arrays={"v": np.ones(1)})) != first


def test_files_of_equal_index_are_byte_identical_in_any_process(tmp_path: Path):
    code = (
        "from test_store import *\n"
        "index = an_index('ä', 50, arrays={'v': np.arange(9.0)}, words=[f'w{i}' for i in range(50)])\n"
        "put(Path(sys.argv[1]), index)"
    )
    for seed in ("1", "2"):
        run = [sys.executable, "-c", code, str(tmp_path / seed)]
        subprocess.run(run, check=True, env=environment() | {"PYTHONHASHSEED": seed})

    names = files(tmp_path / "1") - {"lock", "manifest.json"}
    assert names == files(tmp_path / "2") - {"lock", "manifest.json"}
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert read(tmp_path / "1").snapshot == read(tmp_path / "2").snapshot


def test_what_did_not_change_is_not_written_again(tmp_path: Path):
    put(tmp_path, an_index("a"))
    before = {p: (tmp_path / p).stat().st_mtime_ns for p in files(tmp_path) if p.startswith("objects")}

    put(tmp_path, an_index("a", failures=[Failure("read", "encrypted")]))

    after = {p: (tmp_path / p).stat().st_mtime_ns for p in files(tmp_path) if p.startswith("objects")}
    assert {p.partition("-")[0] for p in set(after) - set(before)} == {"objects/failures"}
    assert before.items() <= after.items()


@pytest.mark.parametrize(
    ("settings", "count"), [({}, 5), ({"store": {"snapshots": 2}}, 2), ({"store": {"snapshots": 1}}, 1)]
)
def test_the_last_few_snapshots_are_kept_and_no_other(tmp_path: Path, settings: dict[str, Any], count: int):
    ids = [put(tmp_path, an_index(mark), settings) for mark in "abcdefg"][-count:]

    earlier = {f"history/{snapshot}.json" for snapshot in ids[:-1]}
    named = [set(json.loads((tmp_path / name).read_text())["files"]) for name in ("manifest.json", *earlier)]
    stored = {path for path in files(tmp_path) if not path.startswith("tables/")}
    assert stored == set().union(*named, earlier, {"manifest.json", "lock"})
    assert [m.snapshot for m in history(tmp_path)] == ids[::-1]


def test_what_snapshots_share_is_stored_once(tmp_path: Path):
    for n in range(4):
        put(tmp_path, an_index("a", failures=[Failure("read", str(n))]))

    assert len(history(tmp_path)) == 4
    assert len(list((tmp_path / "objects").glob("documents-*"))) == 1
    assert len(list((tmp_path / "objects").glob("failures-*"))) == 4


# Tables under stable names


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}


def current_tables(folder: Path) -> dict[str, bytes]:
    return {f"{name}.parquet": path.read_bytes() for name, path in table_files(folder).items()}


def test_the_tables_of_the_current_snapshot_have_names_that_stay(tmp_path: Path):
    put(tmp_path, an_index("a"))
    first = published(tmp_path)
    assert first == current_tables(tmp_path)
    assert "entities.parquet" in first

    put(tmp_path, an_index("b"))
    assert published(tmp_path) == current_tables(tmp_path) != first

    back(tmp_path)
    assert published(tmp_path) == current_tables(tmp_path) == first


def test_pandas_reads_one_snapshot_by_name_and_by_folder(tmp_path: Path):
    import pandas as pd  # not at the top: pandas does not survive the forks of writers below

    for mark in "abc":
        put(tmp_path, an_index(mark, 3))

    assert list(pd.read_parquet(tmp_path / "tables" / "community_reports.parquet")["title"]) == ["c"] * 3
    assert len(list((tmp_path / "tables").glob("entities*"))) == 1


def test_names_that_a_killed_writer_left_behind_are_brought_up_to_date_by_opening(tmp_path: Path):
    put(tmp_path, an_index("a"))
    manifest, links = (tmp_path / "manifest.json").read_bytes(), published(tmp_path)
    put(tmp_path, an_index("b"))
    after = published(tmp_path)
    (tmp_path / "manifest.json").write_bytes(manifest)  # the commit of "a" again, with the names of "b"
    (tmp_path / "tables" / "documents.parquet").unlink()

    read(tmp_path)

    assert published(tmp_path) == links != after


def test_two_who_publish_the_same_tables_at_once_leave_the_stored_ones_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    link = Path.hardlink_to

    def link_after_another_reader(path: Path, stored: Path) -> None:
        name = path.with_name(path.name.partition(".")[0] + ".parquet")
        name.unlink(missing_ok=True)
        link(name, stored)
        link(path, stored)

    monkeypatch.setattr(Path, "hardlink_to", link_after_another_reader)
    snapshots = {mark: put(tmp_path, an_index(mark)) for mark in "ab"}
    for mark in "abab":
        back(tmp_path, snapshots[mark])  # compares every file with its hash
        assert read(tmp_path).documents[0].text == f"Text {mark}."
        assert published(tmp_path) == current_tables(tmp_path)
        assert not list((tmp_path / "tables").glob("*.tmp"))


def test_where_the_file_system_has_no_links_the_names_lead_to_the_tables_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    for mark in "ab":
        put(tmp_path, an_index(mark))
        assert published(tmp_path) == current_tables(tmp_path)

    before = {path: path.stat().st_ino for path in (tmp_path / "tables").iterdir()}
    read(tmp_path)
    assert {path: path.stat().st_ino for path in (tmp_path / "tables").iterdir()} == before


def test_tables_of_format_3_whose_pages_have_no_checksums_are_compared_as_a_whole(tmp_path: Path):
    put(tmp_path, an_index("a"))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    files = {
        path: {name: fact for name, fact in facts.items() if name != "footer_crc32"}
        for path, facts in manifest["files"].items()
    }
    older = {name: fact for name, fact in manifest.items() if name != "checksum"}
    (tmp_path / "manifest.json").write_text(json.dumps(older | {"version": 3, "files": files}))

    assert read(tmp_path).documents[2].text == "Text a."

    damage(table_files(tmp_path)["documents"], b"Text a.")
    with pytest.raises(IndexDamaged, match="documents"):
        read(tmp_path).documents[2]


def test_a_row_is_read_with_those_around_it_and_not_with_all(tmp_path: Path):
    texts = [f"text {number} " * 300 for number in range(400)]
    put(tmp_path, Index(documents=[Document(f"d{i}", i, "", text, f"{i}") for i, text in enumerate(texts)]))
    damage(table_files(tmp_path)["documents"], b"text 399 text 399")

    index = read(tmp_path)

    assert [index.documents[0].text, index.documents[200].text] == [texts[0], texts[200]]
    with pytest.raises(IndexDamaged, match="documents"):
        index.documents[399]


def damage(file: Path, words: bytes) -> None:
    """Change a byte after some words in a file."""
    content = bytearray(file.read_bytes())
    content[content.rindex(words) + len(words) - 1] ^= 1
    file.write_bytes(content)


def test_an_index_of_the_format_before_opens_and_is_given_the_names(tmp_path: Path):
    put(tmp_path, an_index("a"))
    shutil.rmtree(tmp_path / "tables")
    (tmp_path / "objects").rename(tmp_path / "tables")
    text = (
        (tmp_path / "manifest.json")
        .read_text()
        .replace('"objects/', '"tables/')
        .replace('"version": 4', '"version": 2')
        .replace('"checksum"', '"without"')
    )
    (tmp_path / "manifest.json").write_text(text)

    assert {r.title for r in read(tmp_path).reports} == {"a"}
    assert (tmp_path / "tables" / "entities.parquet").read_bytes() == table_files(tmp_path)[
        "entities"
    ].read_bytes()

    put(tmp_path, an_index("b"), {"store": {"snapshots": 1}})
    assert published(tmp_path) == current_tables(tmp_path)


def test_files_that_others_put_into_the_folder_stay(tmp_path: Path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.parquet").write_text("mine")
    (tmp_path / "replies.sqlite").write_text("replies")

    for mark in "abc":
        put(tmp_path, an_index(mark))

    assert {"tables/mine.parquet", "replies.sqlite"} <= files(tmp_path)


def test_a_reader_keeps_its_snapshot_whatever_is_committed_later(tmp_path: Path):
    put(tmp_path, an_index("old", arrays={"v": np.zeros(3)}))
    found = read(tmp_path)

    for mark in "abc":
        put(tmp_path, an_index(mark, arrays={"v": np.ones(3)}))

    assert {r.title for r in found.reports} == {"old"}
    assert found.arrays["v"].tolist() == [0, 0, 0]


def test_a_reader_whose_files_are_removed_while_it_opens_them_takes_the_new_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(tmp_path, an_index("old"))
    real = getattr(store, "current")  # noqa: B009

    def overtaken(folder: Path) -> Any:
        manifest = real(folder)
        monkeypatch.setattr(store, "current", real)
        put(folder, an_index("newer"), {"store": {"snapshots": 1}})
        put(folder, an_index("newest"), {"store": {"snapshots": 1}})
        return manifest

    monkeypatch.setattr(store, "current", overtaken)

    assert {r.title for r in read(tmp_path, verify=True).reports} == {"newest"}


def test_settings_and_usage_change_without_a_new_snapshot(tmp_path: Path):
    first = put(tmp_path, an_index("a"))
    second = put(tmp_path, an_index("b"))

    assert put(tmp_path, an_index("b"), {"new": 1}) == second
    assert read(tmp_path, verify=True).settings == {"new": 1}
    assert f"history/{first}.json" in files(tmp_path)


def test_a_commit_that_fails_leaves_the_snapshot_before(tmp_path: Path):
    put(tmp_path, an_index("a"))

    with pytest.raises(UsageError):
        put(tmp_path, Index(entities=[Entity("e", 0, "Ann", "person", "", spans=(Span("gone", 0, 3),))]))
    with pytest.raises(TypeError):
        put(tmp_path, an_index("b"), {"not": object()})

    assert {r.title for r in read(tmp_path, verify=True).reports} == {"a"}


# Rollback


def back(folder: Path, snapshot: str = "") -> str:
    with writing(folder):
        return rollback(folder, snapshot).snapshot


def title(folder: Path) -> str:
    (mark,) = {r.title for r in read(folder, verify=True).reports}
    return mark


def test_one_can_go_back_to_the_snapshot_before_and_forward_again(tmp_path: Path):
    old, new = put(tmp_path, an_index("old")), put(tmp_path, an_index("new"))

    assert back(tmp_path) == old
    assert title(tmp_path) == "old"
    assert [m.snapshot for m in history(tmp_path)] == [new, old]
    assert back(tmp_path, new) == new
    assert title(tmp_path) == "new"


def test_going_back_again_leads_further_back(tmp_path: Path):
    first, second, _ = (put(tmp_path, an_index(mark)) for mark in "abc")

    assert [back(tmp_path), back(tmp_path)] == [second, first]
    with pytest.raises(NotFound, match="no snapshot before"):
        back(tmp_path)


def test_a_snapshot_is_named_by_the_first_characters_of_its_id(tmp_path: Path):
    ids = [put(tmp_path, an_index(mark)) for mark in "abc"]

    assert back(tmp_path, ids[0][:6]) == ids[0]
    with pytest.raises(NotFound, match="xyz"):
        back(tmp_path, "xyz")
    assert title(tmp_path) == "a"


def test_what_comes_after_going_back_follows_on_the_snapshot_one_went_back_to(tmp_path: Path):
    first, second = put(tmp_path, an_index("a")), put(tmp_path, an_index("b"))
    back(tmp_path)
    third = put(tmp_path, an_index("c"), {"store": {"snapshots": 3}})

    assert [(m.snapshot, m.before) for m in history(tmp_path)] == [
        (third, first),
        (second, first),
        (first, ""),
    ]
    assert back(tmp_path) == first


def test_the_snapshot_one_went_back_to_is_kept_by_the_next_commit(tmp_path: Path):
    ids = [put(tmp_path, an_index(mark), {"store": {"snapshots": 4}}) for mark in "abcd"]
    back(tmp_path, ids[0])
    new = put(tmp_path, an_index("e"), {"store": {"snapshots": 2}})

    assert {m.snapshot for m in history(tmp_path)} == {new, ids[0]}


def test_content_that_comes_again_is_the_newest_snapshot_and_stands_once_in_the_history(tmp_path: Path):
    first, second, third = (put(tmp_path, an_index(mark)) for mark in "aba")

    assert first == third
    assert [m.snapshot for m in history(tmp_path)] == [third, second]


def test_a_damaged_snapshot_is_not_gone_back_to(tmp_path: Path):
    put(tmp_path, an_index("a"))
    [path] = (tmp_path / "objects").glob("entities-*")
    put(tmp_path, an_index("b"))
    path.write_bytes(path.read_bytes()[::-1])

    with pytest.raises(IndexDamaged, match=path.name):
        back(tmp_path)
    assert title(tmp_path) == "b"


def test_going_back_outside_of_writing_is_refused(tmp_path: Path):
    put(tmp_path, an_index("a"))
    put(tmp_path, an_index("b"))

    with pytest.raises(UsageError, match="writing"):
        rollback(tmp_path)


# Missing, damaged, foreign


def test_a_missing_index_says_how_to_make_one(tmp_path: Path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(IndexMissing, match=r"conspectus\.build\(.*folder="):
            read(folder)


@pytest.mark.parametrize("damage", ["truncated", "empty", "removed"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str):
    put(tmp_path, an_index("a", arrays={"v": np.ones(30)}))
    for path in [*(tmp_path / "objects").iterdir(), *(tmp_path / "arrays").iterdir()]:
        content = path.read_bytes()
        path.unlink() if damage == "removed" else path.write_bytes(
            content[:-5] if damage == "truncated" else b""
        )

        with pytest.raises(IndexDamaged, match=path.name):
            read(tmp_path)
        path.write_bytes(content)
    read(tmp_path, verify=True)


def test_a_file_of_the_right_size_and_another_content_is_found_by_its_hash_and_mended_by_a_commit(
    tmp_path: Path,
):
    put(tmp_path, an_index("a"))
    [path] = (tmp_path / "objects").glob("entities-*")
    path.write_bytes(path.read_bytes()[::-1])

    with pytest.raises(IndexDamaged, match=path.name):
        read(tmp_path, verify=True)
    with pytest.raises(IndexDamaged, match="entities"):
        list(read(tmp_path).entities)
    put(tmp_path, an_index("a"))

    assert list(read(tmp_path, verify=True).entities) == an_index("a").entities


@pytest.mark.parametrize(
    "content", ["", "[1]", "{}", '{"format": "other", "version": 1}', '{"name": "my app"}']
)
def test_a_manifest_that_is_not_ours_is_neither_read_nor_replaced(tmp_path: Path, content: str):
    (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(IndexDamaged, match=r"manifest\.json"):
        read(tmp_path)
    with pytest.raises(IndexDamaged, match=r"manifest\.json"):
        put(tmp_path, an_index())
    assert (tmp_path / "manifest.json").read_text() == content


def test_an_index_of_a_later_format_asks_for_an_upgrade(tmp_path: Path):
    put(tmp_path, an_index())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"version": 99, "wings": 2}))

    with pytest.raises(StoreError, match=r"99.*upgrade"):
        read(tmp_path)


def test_an_index_of_an_earlier_format_says_to_index_again_and_is_replaced(tmp_path: Path):
    put(tmp_path, an_index("old"))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"version": 1}))

    with pytest.raises(IndexOutdated, match=r"format 1.*index its sources again"):
        read(tmp_path)
    put(tmp_path, an_index("new"))
    assert title(tmp_path) == "new"
    assert len(history(tmp_path)) == 1


# One writer


def test_a_commit_outside_of_writing_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="writing"):
        commit(tmp_path, an_index(), settings={}, usage={})


def test_a_second_writer_in_the_same_process_is_refused_until_the_first_is_done(tmp_path: Path):
    with writing(tmp_path):
        with pytest.raises(IndexBusy, match=str(os.getpid())), writing(tmp_path):
            pass
        commit(tmp_path, an_index(), settings={}, usage={})
    put(tmp_path, an_index())


def test_a_lock_that_its_first_writer_has_removed_locks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A writer that fails removes the folder that it made, but another writer may have opened the lock file in it."""
    fcntl = pytest.importorskip("fcntl")  # on Windows, open files cannot be removed
    folder, flock = tmp_path / "index", fcntl.flock

    def too_late(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        shutil.rmtree(folder)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with pytest.raises(IndexBusy), writing(folder):
        pass
    put(folder, an_index())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")


@contextmanager
def writers(folder: Path, work: str) -> Generator[Callable[[], int]]:
    """Start a process that forks writers; yield a function that requests one and returns its process id."""
    code = f"""
from test_store import *
import itertools
folder = Path(sys.argv[1])
put(folder / 'first', an_index())  # so that pyarrow has imported all that it imports on first use
for line in sys.stdin:
    if (child := os.fork()) == 0:
        with writing(folder):
            {work}
    print(child, flush=True)
    os.waitpid(child, 0)
"""
    run = [sys.executable, "-c", code, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(run, stdin=pipe, stdout=pipe, text=True, env=environment()) as process:
        assert process.stdin
        assert process.stdout

        def start() -> int:
            print(file=process.stdin, flush=True)
            return int(process.stdout.readline())  # type: ignore[union-attr]

        yield start
        process.stdin.close()


@needs_fork
def test_a_writer_that_was_killed_does_not_keep_the_next_one_out(tmp_path: Path):
    with writers(tmp_path, "open(folder / 'started', 'w').close(); time.sleep(60)") as start:
        writer = start()
        while not (tmp_path / "started").exists():
            time.sleep(0.005)
        try:
            with pytest.raises(IndexBusy, match=rf"{writer}.*wait"), writing(tmp_path):
                pass
        finally:
            os.kill(writer, signal.SIGKILL)
    put(tmp_path, an_index())


@needs_fork
def test_a_worker_that_outlives_the_killed_writer_that_forked_it_does_not_keep_the_lock(tmp_path: Path):
    work = """if os.fork() == 0:
                (folder / 'new').write_text(str(os.getpid()))
                (folder / 'new').rename(folder / 'worker')
            time.sleep(60)"""
    with writers(tmp_path, work) as start:
        writer = start()
        while not (tmp_path / "worker").exists():
            time.sleep(0.005)
        os.kill(writer, signal.SIGKILL)
    try:
        put(tmp_path, an_index())
    finally:
        os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)


def generation(number: int) -> Index:
    return an_index(str(number), arrays={"mark": np.full(9, number)})


def mark_of(folder: Path) -> str:
    """Return the generation of a folder's index; check that all parts have the same."""
    index = read(folder, verify=True)
    marks = {d.title for d in index.documents} | {c.text for c in index.chunks}
    marks |= {e.description for e in index.entities} | {r.title for r in index.reports}
    marks |= {str(int(m)) for m in index.arrays["mark"]} | {str(index.settings["mark"])}
    (mark,) = marks
    return mark


def test_readers_in_another_process_see_one_whole_snapshot_while_snapshots_come_and_go(tmp_path: Path):
    put(tmp_path, generation(0), {"mark": 0})
    code = """
from test_store import *
folder = Path(sys.argv[1])
for i in range(1, 25):
    put(folder, generation(i), {"mark": i, "store": {"snapshots": 3}})
    if i % 3 == 0:
        back(folder)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment()) as writer:
        seen = {mark_of(tmp_path)}
        while writer.poll() is None:
            seen.add(mark_of(tmp_path))
    assert writer.returncode == 0
    assert mark_of(tmp_path) == "23"
    assert len(seen) > 1


@needs_fork
def test_a_writer_killed_at_any_moment_leaves_one_whole_snapshot_and_readers_never_see_less(tmp_path: Path):
    work = """for i in itertools.count(random.SystemRandom().randrange(10**9)):
                commit(folder, generation(i), settings={'mark': i}, usage={})"""
    with writing(tmp_path):
        commit(tmp_path, generation(0), settings={"mark": 0}, usage={})
    moments = random.Random(7 + SEED)
    seen: set[str] = set()

    def check() -> None:
        seen.add(mark_of(tmp_path))

    with writers(tmp_path, work) as start:
        for n in range(60):
            if n >= 15 and len(seen) > 1:
                break
            # later on a slow or busy machine, where the first commit takes longer
            writer, end = start(), time.monotonic() + moments.uniform(0.01, 0.2) * max(1, n - 10)
            try:
                while time.monotonic() < end:
                    check()
            finally:
                os.kill(writer, signal.SIGKILL)
            check()
    assert len(seen) > 1  # some writers reached a commit, even on a slow machine
    put(tmp_path, an_index("a"))
    put(tmp_path, an_index("b"))
    assert not [name for name in files(tmp_path) if name.endswith(".tmp")]
