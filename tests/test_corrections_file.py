"""The file of corrections: it can be edited by people and read again, and errors are reported with their position."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.corrections import (
    AddFact,
    Correction,
    Delete,
    Merge,
    Rename,
    Retype,
    Split,
    append,
    file_of,
    next_number,
    read_file,
    remove,
    undone,
)
from conspectus.errors import NotFound, UsageError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(lambda t: " ".join(t.split()))
NAMES = TEXTS.map(lambda text: f"N{text}".strip())
FACTS = st.builds(
    AddFact,
    NAMES.map("a{}".format),
    NAMES.map("b{}".format),
    NAMES,
)
CORRECTIONS = st.one_of(
    st.builds(
        lambda names: Merge(tuple(f"{i}{n}" for i, n in enumerate(names))), st.lists(NAMES, min_size=2)
    ),
    st.builds(lambda n, where: Split(n, f"other {n}", ("x", *where)), NAMES, st.lists(NAMES)),
    st.builds(lambda name: Rename(name, f"{name}!"), NAMES),
    st.builds(Retype, NAMES, NAMES),
    st.builds(Delete, NAMES),
    FACTS,
)


def written(folder: Path, *corrections: Correction) -> Path:
    path = file_of(folder)
    path.unlink(missing_ok=True)
    for number, correction in enumerate(corrections, 1):
        append(path, replace(correction, number=number, date="2026-11-21", author="Anna", note="seen there"))
    return path


@given(st.lists(st.tuples(CORRECTIONS, st.sampled_from(["2026-11-21", "spring"]), TEXTS, TEXTS)))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Correction, str, str, str]]
):
    path = file_of(tmp_path_factory.mktemp("file"))
    numbered = [
        replace(correction, number=number, date=date, author=author, note=note)
        for number, (correction, date, author, note) in enumerate(rows, 1)
    ]
    for correction in numbered:
        append(path, correction)

    assert list(map(repr, read_file(path))) == list(map(repr, numbered))


def test_it_reads_like_what_was_said(tmp_path: Path):
    path = written(tmp_path, Merge(("Lapwing", "MV Lapwing"), "MV Lapwing"))

    assert path.read_text(encoding="utf-8").splitlines()[2:] == [
        "[[correction]]",
        "number = 1",
        'merge = ["Lapwing", "MV Lapwing"]',
        'into = "MV Lapwing"',
        'date = "2026-11-21"',
        'author = "Anna"',
        'note = "seen there"',
    ]


def test_what_is_removed_stays_as_a_comment_and_the_rest_as_people_wrote_it(tmp_path: Path):
    path = written(tmp_path, Delete("a"), Delete("b"), Delete("c"))
    edited = path.read_text(encoding="utf-8").replace(
        "[[correction]]\nnumber = 3", "# of boats\n[[ correction ]]\nnumber =  3"
    )
    path.write_text(edited, encoding="utf-8")

    assert remove(path, 2) == Delete("b")

    after = path.read_text(encoding="utf-8")
    assert "\n# of boats\n[[ correction ]]\nnumber =  3" in after
    assert '\n# [[correction]]\n# number = 2\n# delete = "b"\n' in after
    assert [entry.number for entry in read_file(path)] == [1, 3]
    assert remove(path, 3) == Delete("c")
    assert remove(path, 1) == Delete("a")
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {}


def test_what_was_undone_is_read_beside_other_comments(tmp_path: Path):
    path = tmp_path / "corrections.toml"
    append(path, Delete("a", number=1, note="[[correction]]"))
    append(path, Merge(("b", "c"), number=2))
    path.write_text(path.read_text("utf-8") + "# b and c: [[correction]] of a friend\n", encoding="utf-8")
    append(path, Delete("d", number=3))
    remove(path, 1)
    remove(path, 2)

    assert undone(path) == [Delete("a"), Merge(("b", "c"))]
    assert read_file(path) == [Delete("d")]


def test_no_number_is_given_twice(tmp_path: Path):
    path = written(tmp_path, Delete("a"), Delete("b"))

    for number in (2, 3, 4):
        remove(path, number)
        assert next_number(path) == number + 1
        append(path, Delete("c", number=number + 1))
    remove(path, 1)

    assert next_number(path) == 6
    assert [entry.number for entry in read_file(path)] == [5]
    assert next_number(tmp_path / "none.toml") == 1


def test_removing_what_is_not_there_says_what_is(tmp_path: Path):
    path = written(tmp_path, Delete("a"))

    with pytest.raises(NotFound, match="has no correction 7"):
        remove(path, 7)
    assert len(read_file(path)) == 1


def test_no_file_holds_no_corrections(tmp_path: Path):
    assert read_file(file_of(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[correction]]\nnumber = 1\ndelete =\n", "not valid TOML.*line 3"),
        ("number = 1", "list of corrections"),
        ("[[corection]]\nnumber = 1\ndelete = 'a'", "list of corrections"),
        ("[correction]\nnumber = 1\ndelete = 'a'", r"list of corrections.*\[\[correction\]\]"),
        ("correction = 3", r"list of corrections.*\[\[correction\]\]"),
        ("correction = [{ number = 1, delete = 'a' }]", r"list of corrections.*\[\[correction\]\]"),
        ("[[correction]]\ndelete = 'a'", "correction without a number: .*`number`"),
        ("[[correction]]\nnumber = 0\ndelete = 'a'", "correction 0: .*`number`"),
        (
            "[[correction]]\nnumber = 2\ndelete = 'a'\n[[correction]]\nnumber = 2\ndelete = 'b'",
            "two corrections have the number 2",
        ),
        ("[[correction]]\nnumber = 1\nremove = 'a'", "correction 1: it takes one of merge"),
        ("[[correction]]\nnumber = 1\ndelete = 'a'\nrename = 'b'", "has rename and delete"),
        ("[[correction]]\nnumber = 1\nrename = 'a'", "correction 1: rename: `to`"),
        ("[[correction]]\nnumber = 1\nrename = 'a'\nto = 3", "rename: `to`"),
        ("[[correction]]\nnumber = 1\nmerge = 'a'\ninto = 'b'", "merge: `names`"),
        ("[[correction]]\nnumber = 1\ndelete = 'a'\ninto = 'b'", "delete: `into`"),
        ("[[correction]]\nnumber = 1\nmerge = ['a', 'A']", "merge takes two names or more"),
        ("[[correction]]\nnumber = 1\nsplit = 'a'", "split: `into`"),
        ("[[correction]]\nnumber = 1\nsplit = 'a'\ninto = 'A'\ndocuments = ['x']", "needs a name other"),
        (
            "[[correction]]\nnumber = 1\nadd-fact = ''\nsource = 'a'\ntarget = 'b'",
            "`description`.*at least 1",
        ),
        ("[[correction]]\nnumber = 1\nadd-fact = 'x'\nsource = 'a'\ntarget = 'A'", "needs two entities"),
        ("[[correction]]\nnumber = 1\ndelete = ' '", "`name`.*at least 1"),
        ("[[correction]]\nnumber = 1\ndelete = 'a'\nnote = 3", "`note`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str):
    path = file_of(tmp_path)
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=said) as error:
        read_file(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_no_text_is_named(tmp_path: Path):
    path = file_of(tmp_path)
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match=r"cannot be read: .*utf-8"):
        read_file(path)
