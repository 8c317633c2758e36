"""Sources: numbered documents that are parts of one work count as one source."""

from __future__ import annotations

from conspectus.text.lexicon import sources


def test_numbered_parts_of_one_name_are_one_source():
    assert sources(["talk_part_1.txt", "talk_part_2.txt", "other_part_1.txt", "other_part_2.txt"]) == [
        0,
        0,
        1,
        1,
    ]


def test_bare_numbers_are_no_parts():
    assert sources(["log-01.txt", "log-02.txt"]) == [0, 1]
    assert sources(["2021-03-04.txt", "2021-03-11.txt"]) == [0, 1]


def test_a_part_without_another_is_a_source_of_its_own():
    assert sources(["talk_part_1.txt", "notes.txt"]) == [0, 1]


def test_records_of_one_file_are_sources_of_their_own():
    assert sources(["all.csv#1", "all.csv#2"]) == [0, 1]


def test_the_order_of_the_paths_only_renumbers():
    assert sources(["b_part_2.txt", "a.txt", "b_part_1.txt"]) == [0, 1, 0]
