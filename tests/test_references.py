"""References in texts: all common formats are parsed, one format is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.references import (
    MOST,
    TABLES,
    Reference,
    between,
    find,
    rewrite,
    strip,
    translate,
    without_numbers,
    write,
)

some_references = st.lists(st.builds(Reference, st.sampled_from(TABLES), st.integers(0, 40)), max_size=12)


def refs(**tables: list[int]) -> list[Reference]:
    return [Reference(table, n) for table, numbers in tables.items() for n in numbers]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Data: Reports (1, 3)]", refs(Reports=[1, 3])),
        ("[Data: Entities(6), Relationships (38, 43)]", refs(Entities=[6], Relationships=[38, 43])),
        ("[数据来源: Reports (2); Entities (5, 7)]", refs(Reports=[2], Entities=[5, 7])),
        ("[数据：报告 (2, 7)]", refs(Reports=[2, 7])),
        ("【数据：报告（2，7）；实体（1）】", refs(Reports=[2, 7], Entities=[1])),
        ("[数据：来源 (1)，关系 (2)、声明 (3)]", refs(Sources=[1], Relationships=[2], Claims=[3])),
        ("[Data: Reports (1, 2, +more)]", refs(Reports=[1, 2])),
        ("[Data: Reports (1, 2 +more); Sources (4+more)]", refs(Reports=[1, 2], Sources=[4])),
        (
            "[data: reports (1); SOURCES (2); Entity (3); claim (4)]",
            refs(Reports=[1], Sources=[2], Entities=[3], Claims=[4]),
        ),
        ("[Data: Text Units (9)]", refs(Sources=[9])),
        ("[Data: Reports 2, 7; Entities #3]", refs(Reports=[2, 7], Entities=[3])),
        ("[Data: Report 2 and 7, Sources: (4)]", refs(Reports=[2, 7], Sources=[4])),
        ("[数据：报告 2、7；实体 1]", refs(Reports=[2, 7], Entities=[1])),
        ("[ Data : Reports ( 1 ) ]", refs(Reports=[1])),
        ("[Data: Reports (1),\nEntities (2)]", refs(Reports=[1], Entities=[2])),
        (
            "One [Data: Reports (1)] and two [Data: Reports (2); Claims (1)].",
            refs(Reports=[1, 2], Claims=[1]),
        ),
    ],
)
def test_every_form_is_read(text: str, found: list[Reference]):
    assert find(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "Reports (1)", "[Data: Boats (1)]", "[Data: ]", "[Data: Reports]", "[Database: Reports (1)]"],
)
def test_what_is_no_reference_is_read_as_none(text: str):
    assert find(text) == []


@given(some_references)
def test_what_is_written_is_read_again(references: list[Reference]):
    kept = list(dict.fromkeys(references))
    first_five = [r for table in TABLES for r in [r for r in kept if r.table == table][:MOST]]

    assert find(write(references)) == first_five


@given(some_references)
def test_what_is_read_is_written_the_same_again(references: list[Reference]):
    written = write(references)

    assert not references or write(find(written)) == written.replace(", +more", "")


def test_one_form_is_written():
    references = refs(Entities=[5, 7, 5], Reports=[1])

    assert write(references) == "[Data: Reports (1); Entities (5, 7)]"
    assert write([]) == ""


def test_at_most_five_ids_of_a_table_are_written():
    assert write(refs(Claims=[*range(9)])) == "[Data: Claims (0, 1, 2, 3, 4, +more)]"


def test_references_that_lead_nowhere_are_removed_and_counted():
    text = "Bees swarm [Data: Reports (1, 2); Entities (3)]. They knit [Data: Reports (2)]."

    def to(reference: Reference) -> Reference | None:
        return Reference(reference.table, reference.number + 10) if reference.number != 2 else None

    assert translate(text, to) == ("Bees swarm [Data: Reports (11); Entities (13)]. They knit.", 2)


def test_stripping_takes_the_space_before_a_reference_along():
    assert strip("Bees swarm [Data: Reports (1)]. So it is.") == "Bees swarm. So it is."
    assert strip("蜜蜂飞走了【数据：报告（1）】。") == "蜜蜂飞走了。"


@given(st.text(max_size=60))
def test_text_without_references_stays_as_it_is(text: str):
    assert rewrite(text, lambda _: "") == text or "[" in text or "［" in text or "【" in text


@pytest.mark.parametrize("odd", ["\x00", "\x01", "\x1f"])
def test_control_characters_are_text_like_any_other(odd: str):
    text = f"One {odd} [Data: Reports (1)] two."

    assert strip(text) == f"One {odd} two."
    assert between(text) == [f"One {odd} ", " two."]


def test_each_block_is_replaced_on_its_own():
    text = "One [Data: Reports (1)] two [Data: Reports (2, 3)]."

    assert rewrite(text, lambda block: f"<{len(block)}>") == "One <1> two <2>."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is in argv[1] and x[3]; see ^[9].", r"It is in argv\[1] and x\[3]; see ^\[9]."),
        ("Row a[1][2] is read.", r"Row a\[1]\[2] is read."),
        ("By the study [12] it is deep.", "By the study (12) it is deep."),
        ("[12] Quenda lies low.", "(12) Quenda lies low."),
        ("Use `argv[2]` for it.", "Use `argv[2]` for it."),
        ("A year[2014], a link[7](x.html).", "A year[2014], a link[7](x.html)."),
    ],
)
def test_an_index_stays_and_a_number_in_brackets_is_no_citation(text: str, shown: str):
    assert without_numbers(text) == shown
