"""Descriptions by extraction: the most informative sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conspectus.models.extractive.graph import MOST_SENTENCES, MOST_WORDS, describe_element
from conspectus.tasks import DescribeElement, Description

DEFINES = "Quenda is a walled mill town on the upper reaches of the river Zorba."
MENTIONS = "A cart with seven barrels of salted herring went by road to Quenda."
QUESTION = "Was it not in Quenda?"


def described(*descriptions: str, name: str = "Quenda", kind: str = "entity") -> Description:
    return describe_element(DescribeElement(name, kind, descriptions))


def test_what_defines_a_thing_opens_its_description():
    assert described(MENTIONS, QUESTION, DEFINES).text.startswith(DEFINES)


def test_each_sentence_is_a_line_and_its_place_is_told():
    made = described(QUESTION, MENTIONS, DEFINES)

    assert made.text.splitlines() == [(QUESTION, MENTIONS, DEFINES)[i] for i in made.used]
    assert made.used[:2] == (2, 1)


def test_what_says_the_same_again_is_left_out():
    again = DEFINES.replace("walled", "small")

    assert described(DEFINES, again).used == (0,)


def test_what_others_say_of_somebody_comes_before_what_they_say():
    says = 'Mara Tolan: "The weir at Quenda was rebuilt by twelve masons in a single summer."'
    of_them = "The weir was rebuilt in a single summer by twelve masons under Mara Tolan."

    assert described(says, of_them, name="Mara Tolan").used[0] == 1


@given(st.lists(st.text(alphabet="aB c.", max_size=80), min_size=1, max_size=12))
def test_a_description_is_made_of_its_instances_and_stays_short(descriptions: list[str]):
    made = described(*descriptions)

    assert 1 <= len(made.used) <= MOST_SENTENCES["entity"]
    assert len(set(made.used)) == len(made.used)
    assert made.text == "\n".join(descriptions[i] for i in made.used)
    assert len(made.used) == 1 or sum(len(set(descriptions[i].split())) for i in made.used) <= MOST_WORDS
