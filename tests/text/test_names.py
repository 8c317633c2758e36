"""Names: which words form one, by their use in the corpus."""

from __future__ import annotations

from collections import Counter

from conspectus.text.names import Mention, find_names
from conspectus.text.vocabulary import read_vocabulary


def mentions(*sentences: str) -> list[Mention]:
    return list(find_names(read_vocabulary(sentences)))


def names(*sentences: str) -> list[str]:
    return [" ".join(mention.words) for mention in mentions(*sentences)]


def test_a_run_of_capitalised_words_inside_a_sentence_is_a_name():
    assert names("In spring we met Mara Orrin at Quenda.") == ["Mara Orrin", "Quenda"]


def test_a_word_that_only_opens_its_sentence_is_no_name():
    assert names("Boats came in.", "The boats left.") == []


def test_a_word_that_opens_a_sentence_is_a_name_where_the_corpus_writes_it_so_inside_others():
    assert names("Quenda was full.", "We sailed to Quenda.") == ["Quenda", "Quenda"]


def test_two_words_that_open_a_sentence_are_a_name_where_the_corpus_writes_both_so_inside_others():
    new = [f"We saw new {what}." for what in ("boats", "nets", "ropes")]

    assert names("New Quenda was full.", "We sailed to New Quenda.", *new) == ["New Quenda", "New Quenda"]
    assert names("New Quenda was full.", *new) == ["Quenda"]


def test_mentions_say_where_they_stand():
    vocabulary = read_vocabulary(["We met Mara Orrin there."])
    (mention,) = find_names(vocabulary)

    assert [vocabulary.forms[f] for f in vocabulary.form[mention.start : mention.end]] == ["Mara", "Orrin"]


def test_titles_are_no_part_of_the_name_that_they_stand_before():
    (mention,) = mentions("We met Dr. Mara Orrin there.")

    assert mention.words == ("Mara", "Orrin")
    assert mention.titled


def test_the_office_before_a_title_is_no_part_of_the_name():
    assert names("Then the Quenda Harbour Minister Mara Orrin spoke.") == ["Mara Orrin"]
    assert names("They wrote to the Foreign Secretary in May.") == []
    assert names("In Quenda the Deputy Commissioner met Orrin.") == ["Quenda", "Orrin"]


def test_initials_stay_with_their_dot():
    assert names("It was drawn by J. Tolan in ink.") == ["J. Tolan"]


def test_the_o_that_calls_somebody_is_no_part_of_the_name():
    assert names("We cried, O Mara, come home.") == ["Mara"]
    assert names("We read O. Henry at night.") == ["O. Henry"]


def test_particles_hold_a_name_together():
    assert names("She read Ana de la Torre and Lennard & Sons there.") == [
        "Ana de la Torre",
        "Lennard & Sons",
    ]


def test_a_particle_may_open_a_name():
    assert names("They wrote to von Zorba and to al Quenda.") == ["von Zorba", "al Quenda"]


def test_of_joins_a_name_whose_first_word_seldom_stands_alone():
    assert names("He led the Guild of Orrin in spring.") == ["Guild of Orrin"]


def test_of_joins_nothing_where_the_first_word_mostly_stands_alone():
    found = Counter(names("We saw Zorba of Quenda.", "And Zorba left.", "Then Zorba came.", "So Zorba sang."))

    assert found["Zorba"] == 4
    assert found["Quenda"] == 1


def test_in_joins_names_only_where_the_corpus_keeps_writing_them_together():
    once = names("They worked for Tolan in Quenda.")
    often = names(*["We went to the Fair in Quenda."] * 3)

    assert once == ["Tolan", "Quenda"]
    assert often == ["Fair in Quenda"] * 3


def test_a_possessive_that_belongs_to_the_name_stays_inside():
    assert names("The tide ran over Zorba's Ledge.") == ["Zorba's Ledge"]


def test_a_possessive_of_somebody_known_splits():
    found = names("We heard Zorba's Mother.", "And Zorba left.", "Then Zorba came.", "So Zorba sang.")

    assert found.count("Zorba") == 4
    assert "Zorba's Mother" not in found


def test_and_stands_between_two_names():
    assert names("We met Mara and Tolan there.") == ["Mara", "Tolan"]


def test_and_stands_inside_a_name_that_is_written_so_again_and_again():
    assert set(names(*["They ask at Mara and Tolan for rope."] * 3)) == {"Mara and Tolan"}


def test_somebody_with_a_title_is_not_the_first_half_of_a_longer_name():
    assert names("We asked Dr Orrin of Quenda.") == ["Orrin", "Quenda"]


def test_a_number_may_close_a_name():
    assert names("They sank Heron 2 in the race.") == ["Heron 2"]


def test_a_day_of_the_week_before_a_number_is_no_part_of_a_name():
    assert names("They met in the Quenda Rooms Thursday 11 April at seven.") == ["Quenda Rooms", "April"]


def test_a_heading_gives_a_name_known_from_elsewhere_where_it_stands_alone():
    found = Counter(names("Storm Takes: Mara Orrin!", "We met Mara Orrin there, in the storm."))

    assert found["Mara Orrin"] == 2


def test_a_longer_run_than_any_name_is_none():
    assert names("we saw Aa Bb Cc Dd Ee Ff Gg Hh then and it was a very long day for us all") == []


def test_a_word_that_numbers_figures_or_chapters_is_no_name():
    captions = [f"It is drawn in Figure {n} by Ada Marl." for n in (1, 2, 3, 4)]
    assert set(names(*captions, "A figure of bronze stands there.")) == {"Ada Marl"}


def test_two_letters_that_mostly_follow_a_number_are_a_unit_and_no_name():
    ages = [f"The layer is {n} Ka old, as Ada Marl saw." for n in (2, 3, 40)]
    assert set(names(*ages)) == {"Ada Marl"}
    assert "Ka" in names(*ages, *["They saw Ka there."] * 3)


def test_a_roman_numeral_is_part_of_a_name_and_none_by_itself():
    found = set(names("They saw stage III in May.", "He met Queen Marl II there."))

    assert "III" not in found
    assert any(name.endswith("Marl II") for name in found)


def test_a_name_that_also_stands_alone_has_its_number():
    launches = [f"They watched Apollo {n} from afar." for n in (1, 2, 3, 11)]
    alone = ["He built Apollo with them."] * 8
    assert set(names(*launches, *alone, "An apollo is a butterfly.")) == {
        "Apollo", "Apollo 1", "Apollo 2", "Apollo 3", "Apollo 11",
    }  # fmt: skip
