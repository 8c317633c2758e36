"""Evidence: rows as they are shown to a model, and the mapping back to the numbers of the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_claim, a_document, a_report, an_edge, an_entity, whole_chunk

from conspectus.references import Reference
from conspectus.tasks.base import Context, render

EVIDENCE = Context(
    reports=(a_report("On bees", 7),),
    entities=(
        an_entity("Bee", 30, description="It stings."),
        an_entity("Hive", 12, description="A home, for bees."),
    ),
    relationships=(an_edge("Bee", "Hive", 99),),
    claims=(a_claim("Bee", "It left on 4 May.", 5),),
    sources=(whole_chunk(a_document("Bees swarm in May.", 3)),),
)


def test_rows_are_numbered_from_one_within_their_table_and_never_by_the_index():
    text = EVIDENCE.text

    assert "-----Entities-----\nid,entity,description\n1,Bee,It stings.\n" in text
    assert '2,Hive,"A home, for bees."\n' in text
    assert "-----Relationships-----\nid,source,target,description\n1,Bee,Hive,Bee goes with Hive.\n" in text
    assert "id,subject,object,type,status,start_date,end_date,description\n" in text
    assert "1,Bee,NONE,FACT,TRUE,,,It left on 4 May.\n" in text
    assert "-----Sources-----\nid,text\n1,\nBees swarm in May.\n" in text
    assert "1,\n# On bees\n" in text
    assert not any(number in text for number in ("30", "12", "99", "7,"))


def test_tables_without_rows_are_not_shown():
    assert Context().text == ""
    assert list(Context(claims=EVIDENCE.claims).tables()) == [("claims", EVIDENCE.claims)]


@given(st.text(max_size=40))
def test_a_row_of_a_table_is_one_line_whatever_it_says(description: str):
    line = render(an_entity("Bee", description=description), 4)

    assert line.startswith("4,Bee,")
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    ("local", "there"),
    [
        (Reference("Entities", 1), Reference("Entities", 30)),
        (Reference("Entities", 2), Reference("Entities", 12)),
        (Reference("Relationships", 1), Reference("Relationships", 99)),
        (Reference("Sources", 1), Reference("Sources", 3)),
        (Reference("Reports", 1), Reference("Reports", 7)),
        (Reference("Claims", 1), Reference("Claims", 5)),
        (Reference("Entities", 0), None),
        (Reference("Entities", 3), None),
        (Reference("Entities", 30), None),
    ],
)
def test_local_numbers_lead_back_to_the_numbers_of_the_index(local: Reference, there: Reference | None):
    assert EVIDENCE.to_index(local) == there
