"""The cost of indexing is proportional to the corpus, whatever its content: in executed lines, not in seconds."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from making import a_document, whole_chunk

import conspectus
from conspectus.indexing.graph import resolve
from conspectus.settings import ResolveSettings
from conspectus.tasks import Extraction, FoundEntity

LINEAR = 4.3
"""Limit of the ratio of executed lines for four times the input. The kinds of input below need 2.8 to 4.0; the first
needed 5 when persons who share a name were searched among all names."""


def lines_executed(work: Callable[[], object]) -> int:
    """Return how many lines of the package are executed, in all threads."""
    counts: dict[int, int] = {}

    def count(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            thread = threading.get_ident()
            counts[thread] = counts.get(thread, 0) + 1
        return count

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        return count if "conspectus" in frame.f_code.co_filename else None

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return sum(counts.values())


def statements(count: int) -> list[str]:
    draw = random.Random(1)
    syllables = "ba de ki lo mu na po ri sa tu ve wo".split()
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(5000)]
    names = ["".join(draw.choices(syllables, k=draw.randint(2, 3))).title() for _ in range(1000)]

    def one() -> str:
        a, b, c = draw.choices(names, k=3)
        verb, thing = draw.choice(("visited", "praised", "sold", "joined")), draw.choice(words)
        return f"{a} {b} {verb} the {thing} of {c} with a {draw.choice(words)} in {draw.randint(1800, 2000)}."

    return [one() for _ in range(count)]


def table_of_texts(folder: Path, size: int) -> None:
    rows = [f'{number},"{text}"' for number, text in enumerate(statements(size))]
    (folder / "a.csv").write_text("\n".join(["id,text", *rows]))


def templated_table(folder: Path, size: int) -> None:
    names = statements(size)
    rows = [f'{n},"Customer {n} bought item {n % 71} in {name.split()[0]}."' for n, name in enumerate(names)]
    (folder / "a.csv").write_text("\n".join(["id,text", *rows]))


def table_without_texts(folder: Path, size: int) -> None:
    rows = [f"{n},{name.split()[0]},{n % 83}" for n, name in enumerate(statements(size))]
    (folder / "a.csv").write_text("\n".join(["id,name,price", *rows]))


def one_line(folder: Path, size: int) -> None:
    (folder / "a.txt").write_text(" ".join(statements(size)))


def one_line_without_ends(folder: Path, size: int) -> None:
    (folder / "a.txt").write_text(" ".join(statements(size)).replace(".", ""))


def one_word(folder: Path, size: int) -> None:
    (folder / "a.txt").write_text("banana" * 20 * size)


def dots(folder: Path, size: int) -> None:
    (folder / "a.txt").write_text("Hello there. " + "." * 100 * size)


def same_paragraph(folder: Path, size: int) -> None:
    (folder / "a.txt").write_text("\n\n".join(["Anna Brandt opened the bridge of Dunmarrow in 1990."] * size))


def same_disclaimer(folder: Path, size: int) -> None:
    for number, text in enumerate(statements(size)):
        (folder / f"{number}.txt").write_text(
            f"{text}\n\nThis message is confidential. If you are not its addressee, please delete it at once."
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("write", "size"),
    [
        (table_of_texts, 500),
        (templated_table, 600),
        (table_without_texts, 1000),
        (one_line, 400),
        (one_line_without_ends, 400),
        (one_word, 1000),
        (dots, 1000),
        (same_paragraph, 1000),
        (same_disclaimer, 200),
    ],
)
def test_four_times_the_input_costs_four_times_as_much(
    write: Callable[[Path, int], None], size: int, tmp_path: Path
) -> None:
    lines: list[int] = []
    for times in (1, 4):
        folder = tmp_path / f"in{times}"
        folder.mkdir()
        write(folder, size * times)

        def build(folder: Path = folder, times: int = times) -> object:
            return conspectus.build(folder, tmp_path / f"index{times}", model="extractive")

        lines.append(lines_executed(build))

    assert lines[1] < LINEAR * lines[0], f"{lines[0]:,} lines, then {lines[1]:,}"


def test_joining_names_that_are_titled_costs_as_much_more_as_there_are_more() -> None:
    def join(count: int) -> None:
        letters = str.maketrans("0123456789", "abcdefghij")
        names = [f"Zo Vu{str(number).translate(letters)}berg" for number in range(count)]
        people = [FoundEntity(title + name, "person", "") for name in names for title in ("", "Mr ")]
        document = a_document("-")
        graph = Extraction(tuple(people), ())
        resolved = resolve([whole_chunk(document)], [graph], [document], ResolveSettings())
        assert len(resolved.joins) == count

    join(10)
    small, large = (lines_executed(lambda count=count: join(count)) for count in (100, 400))

    assert large < LINEAR * small
