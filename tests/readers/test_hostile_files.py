"""Tests of files whose parsers hang, crash or use too much memory, and of limits on files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fuzz_readers import OPTIONS, SEEDS
from making_files import archive, docx, old_workbook, paragraph

from conspectus.errors import NothingToIndex
from conspectus.indexing.read import read
from conspectus.readers import ParsedDocument
from conspectus.readers.sources import parse_file
from conspectus.rows import Failure
from conspectus.settings import ReadSettings


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a stand-in for the RTF library `striprtf`: a test writes the behaviour of a hostile file there."""
    package = tmp_path / "lib" / "striprtf"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "lib")
    return package / "striprtf.py"


def read_beside_a_good_file(folder: Path, settings: ReadSettings) -> list[Failure]:
    folder.mkdir()
    for name in ("a.rtf", "b.rtf", "c.rtf"):
        (folder / name).write_text(r"{\rtf1 Bees}")
    (folder / "good.docx").write_bytes(docx(paragraph("Bees dance.")))
    (folder / "good.txt").write_text("Bees sleep.")
    documents, failures, *_ = read([folder], settings)
    assert [d.text for d in documents] == ["Bees dance.", "Bees sleep."]
    assert [Path(f.document).name for f in failures] == ["a.rtf", "b.rtf", "c.rtf"]
    return failures


def test_a_file_that_hangs_its_parser_is_given_up_and_the_others_are_read(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("conspectus.readers.SECONDS_PER_FILE", 2)
    hostile.write_text("while True: pass")
    failures = read_beside_a_good_file(tmp_path / "in", ReadSettings())

    assert "took more than 2 s" in failures[0].error


@pytest.mark.parametrize("suffix", SEEDS)
def test_what_is_mutated_to_fuzz_a_reader_can_be_read_itself(suffix: str, tmp_path: Path):
    file = tmp_path / f"a{suffix}"
    for seed in SEEDS[suffix]:
        file.write_bytes(seed)
        found = [o for o in parse_file(str(file), file.name, OPTIONS) if isinstance(o, ParsedDocument)]
        assert found[0].text


def test_a_panic_of_a_parser_in_rust_is_damage_of_its_file(tmp_path: Path):
    (tmp_path / "a.xls").write_bytes(old_workbook("Bees dance.")[:-600])
    (failure,) = parse_file(str(tmp_path / "a.xls"), "a.xls", OPTIONS)
    assert isinstance(failure, Failure)
    assert "is damaged" in failure.error


def test_a_spreadsheet_with_an_end_tag_that_is_none_is_refused_before_its_library_hangs(tmp_path: Path):
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = f"<m:manifest xmlns:m='m'><m:file-entry m:full-path='/' m:media-type='{mime}'/></m:manifest>"
    table = (
        "<table:table table:name='a'><table:table-row><table:table-cell/></table:table-row></table:tab le>"
    )
    content = f"<office:document-content><office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    parts = {"mimetype": mime, "META-INF/manifest.xml": manifest, "content.xml": content}

    assert "content.xml is not well-formed XML" in only(tmp_path, "a.ods", archive(parts))


@pytest.mark.parametrize("group", [r"{\f0 Arial;}", r"{\f0\fcharset0", r'{\field{\*\fldinst{HYPERLINK "a" '])
def test_rtf_of_half_a_megabyte_with_groups_that_do_not_end_is_read_within_the_limit(
    tmp_path: Path, group: str
):
    source = r"{\rtf1 Bees dance.{\fonttbl{" + group * (500_000 // len(group)) + "}"
    (tmp_path / "a.rtf").write_text(source)
    documents, *_ = read([tmp_path], ReadSettings())

    assert [d.text for d in documents] == ["Bees dance."]


def test_a_file_that_crashes_its_parser_is_a_failure_and_the_others_are_read(hostile: Path, tmp_path: Path):
    hostile.write_text("import os; os.abort()")

    assert "ended its parser" in read_beside_a_good_file(tmp_path / "in", ReadSettings())[0].error


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process as we ask")
def test_a_file_that_swells_its_parser_is_a_failure_and_the_others_are_read(hostile: Path, tmp_path: Path):
    hostile.write_text("hoard = bytearray(10**11)")
    failures = read_beside_a_good_file(tmp_path / "in", ReadSettings(max_megabytes=10))

    assert "needs more than the 530 MB of memory" in failures[0].error


def test_whatever_a_parser_raises_or_prints_is_a_failure_of_one_file(hostile: Path, tmp_path: Path):
    hostile.write_text("print('{}', flush=True); raise KeyError('gone')")

    assert "(KeyError: 'gone')" in read_beside_a_good_file(tmp_path / "in", ReadSettings())[0].error


def test_where_no_process_can_be_started_every_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    for n in range(12):
        (tmp_path / f"{n}.rtf").write_text(r"{\rtf1 Bees}")
    (tmp_path / "good.txt").write_text("Bees sleep.")
    _, failures, *_ = read([tmp_path], ReadSettings())

    assert len(failures) == 12
    assert all("no worker process could be started" in failure.error for failure in failures)


def only(folder: Path, name: str, data: bytes, **settings: float) -> str:
    (folder / name).write_bytes(data)
    with pytest.raises(NothingToIndex) as raised:
        read([folder / name], ReadSettings.model_validate(settings))
    return str(raised.value)


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused_before_it_fills_memory(tmp_path: Path):
    bomb = archive({"word/document.xml": "<r>" + " " * 9_000_000})

    assert len(bomb) < 20_000
    assert "unpacks to more than 1 MB" in only(tmp_path, "a.docx", bomb, max_megabytes=1)


def test_a_file_over_the_limit_is_not_even_opened(tmp_path: Path):
    with open(tmp_path / "a.txt", "wb") as file:
        file.truncate(1_000_000_000)  # a line of 1 GB, which takes no room on disk
    with pytest.raises(NothingToIndex, match="is larger than 200 MB; split it"):
        read([tmp_path], ReadSettings())


def test_following_links_out_of_a_folder_has_to_be_asked_for(tmp_path: Path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    (outside / "deep").mkdir(parents=True)
    inside.mkdir()
    (outside / "deep" / "b.txt").write_text("secret")
    (inside / "a.txt").write_text("bees")
    try:
        (inside / "link").symlink_to(outside)
        (outside / "back").symlink_to(inside)
        (outside / "round").symlink_to(outside)
    except OSError:
        pytest.skip("this system does not let us make links")
    closed, _, (skipped,), _ = read([inside], ReadSettings())
    opened, *_ = read([inside], ReadSettings(follow_symlinks=True))

    assert [d.text for d in closed] == ["bees"]
    assert "read.follow_symlinks" in skipped.reason
    assert sorted(Path(d.path).relative_to(inside).as_posix() for d in opened) == ["a.txt", "link/deep/b.txt"]
