"""The sentences of a corpus: their spans, their speakers, and the omission of boilerplate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import some_documents
from work import grows_linearly

from conspectus.content import excerpt
from conspectus.readers.cleaning import omitted
from conspectus.text.sentence_table import REPEATED, Lines, SentenceTable, find_sentences

SUBJECTS = ("The ferry", "A heron", "The old lock", "Every miller", "No baker", "The tall mast", "One carter")
VERBS = ("crossed the weir", "stood on the quay", "sank in the mud", "sold his oats", "left before dawn")


def told(i: int) -> str:
    """Return a sentence that differs for every number."""
    return f"{SUBJECTS[i % 7]} {VERBS[i % 5]} on day {i} of the flood."


def read(*texts: str) -> tuple[SentenceTable, list[str]]:
    documents = some_documents(*texts)
    table, *_ = find_sentences(documents)
    return table, list(Lines(documents, table))


def sentences_of(*texts: str) -> list[str]:
    return read(*texts)[1]


def said_by(*texts: str) -> dict[str, str]:
    """Return the speaker of each sentence, "" for nobody."""
    table, sentences = read(*texts)
    names = [*table.speakers, ""]
    return {text: names[i] for text, i in zip(sentences, table.speaker.tolist(), strict=True)}


@given(st.lists(st.text(alphabet="aB c.!?\n:[]()", max_size=60), max_size=6))
def test_spans_index_the_documents_exactly(texts: list[str]):
    documents = some_documents(*texts)
    table, text, _ = find_sentences(documents)
    sentences = Lines(documents, table)

    assert len(table) == len(sentences) == len(text)
    assert len(set(sentences)) == len(set(text.tolist()))
    for i, sentence in enumerate(sentences):
        document = documents[int(table.document[i])]
        assert " ".join(document.text[table.start[i] : table.end[i]].split()) == sentence
        piece = excerpt(document, int(table.start[i]), int(table.end[i]))
        assert " ".join(piece.split()) == sentence


def test_sentences_are_in_the_order_of_the_corpus():
    table, sentences = read(f"{told(1)} {told(2)}", told(3))

    assert sentences == [told(1), told(2), told(3)]
    assert table.document.tolist() == [0, 0, 1]


def test_an_empty_corpus_has_no_sentences():
    assert len(read()[0]) == 0
    assert len(read("", " \n ")[0]) == 0


def test_what_has_no_letter_is_no_sentence():
    assert sentences_of(f"{told(1)}\n\n* * *\n\n1872\n\n{told(2)}") == [told(1), told(2)]


def test_the_marks_of_headings_items_and_quoted_mail_are_no_part_of_a_sentence():
    _, sentences = read("## Tide gauge\n\n- Mara reads it.\n* Dov pays.\n2) Nell asks.\n> I agree.\n#1 wins.")

    assert sentences == ["Tide gauge", "Mara reads it.", "Dov pays.", "Nell asks.", "I agree.", "#1 wins."]


def test_a_sentence_over_several_lines_of_quoted_mail_is_whole():
    quoted = "> the tide gauge of the harbour of Quenda has been broken by\n> a storm. It rains."
    mail = f"Tolan wrote:\n> Zorba,\n>\n{quoted}"
    documents = some_documents(mail)
    documents[0] = replace(documents[0], omitted=omitted(mail))
    table, *_ = find_sentences(documents)

    whole = "the tide gauge of the harbour of Quenda has been broken by a storm."
    assert list(Lines(documents, table)) == ["Tolan wrote:", "Zorba,", whole, "It rains."]
    assert mail[table.start[2] : table.end[2]] == whole.replace("by a", "by\n> a")


def test_rows_of_figures_are_no_sentences():
    row, short = "Orrin City Proper 856 1 295 1 891 2.3 3.2 7.1 13.1", "| Lock 3 | 12.2 (0.4) | 7.5 [2] |"

    assert sentences_of(f"{told(1)}\n\n{row}\n\n{short}\n\n{told(2)}") == [told(1), told(2)]


def test_a_question_in_a_table_of_contents_is_no_sentence():
    wrapped = "1.1 Who built the quay of the town and the old gate that is beside\nit? . . . . . . 2"

    assert sentences_of(f"1 What is a quay? . . . . . . 1\n{wrapped}\n\n{told(1)}") == [told(1)]


def test_a_table_of_contents_has_no_sentences():
    contents = "How is the quay reached? ........ 1\nThe gate is old . . . . . 12\nThe lane …… 30"

    assert sentences_of(f"{contents}\n\n{told(1)}") == [told(1)]


def test_a_table_of_contents_of_long_lines_ends_where_the_text_begins():
    leaders = "." * 50
    contents = f"The quay of Orrin {leaders} MS-2\nThe gate of Orrin {leaders} MS-13\nThe lane {leaders} 12"

    assert sentences_of(f"{contents}\n{told(1)}") == [told(1)]


@pytest.mark.parametrize(
    "line",
    [
        "The depth of the quay is ........ m",
        "Chicks reared per nest: 0.31 in the year 2021, and 0.44 in 2022.",
        "The quay is 12 m long, 3 m wide and 2 m high.",
        "渡口于1999年5月3日建成，长12米，宽3米，2004年重修。",
    ],
)
def test_sentences_of_figures_stay(line: str):
    assert sentences_of(line) == [line]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_code_is_no_sentence(fence: str):
    text = f"{told(1)}\n\n{fence}python\nQuay = Gate + 1\n{fence}\n\n{told(2)}"
    assert sentences_of(text) == [told(1), told(2)]


def test_what_stands_in_brackets_for_itself_is_left_out():
    assert sentences_of(f"{told(1)}\n[laughter]\n(a bell rings)\n{told(2)}") == [told(1), told(2)]


# Who speaks


def test_a_label_that_returns_names_who_speaks():
    talk = (
        f"ZORBA: {told(1)}\nQUENDA: {told(2)}\nZORBA: {told(3)}\n"
        f"QUENDA: {told(4)} {told(5)}\nZORBA: {told(6)}\nQUENDA: {told(7)}"
    )

    assert said_by(talk) == {
        told(1): "ZORBA", told(2): "QUENDA", told(3): "ZORBA", told(4): "QUENDA", told(5): "QUENDA",
        told(6): "ZORBA", told(7): "QUENDA",
    }  # fmt: skip


def minutes(i: int, label: str, others: int) -> str:
    """Return the minutes of one meeting: two labelled lines among others."""
    first, second = (f"{label}: that {told(i * 10 + n).lower()}" for n in (1, 2))
    rest = [told(i * 10 + n) for n in range(3, 3 + others)]
    return "\n".join([*rest[:1], first, *rest[1:], second])


def test_what_labels_few_lines_of_minutes_is_no_speaker():
    assert set(said_by(*(minutes(i, "RESOLVED", 7) for i in range(5))).values()) == {""}


@pytest.mark.parametrize("name", ["ZORBA", "MARK"])
def test_a_name_in_capitals_speaks_though_most_lines_have_no_label(name: str):
    corpus = [*(minutes(i, name, 3) for i in range(5)), "They made a mark on the wall."]

    assert set(said_by(*corpus).values()) == {"", name}


@pytest.mark.parametrize("label", ["FIXME", "Note", "Misconception", "Answer", "CAUSE", "Lösung"])
def test_notes_to_readers_and_writers_are_no_speakers(label: str):
    assert set(said_by(*(minutes(i, label, 1) for i in range(5))).values()) == {""}


def test_questions_and_answers_are_said_by_nobody_but_two_letters_may_speak():
    talk = "\n".join(f"{{}}: {told(2 * n)}\n{{}}: {told(2 * n + 1)}" for n in range(3))

    assert set(said_by(talk.format(*"QAQAQA")).values()) == {""}
    assert said_by(talk.format(*"ABABAB"))[told(4)] == "A"
    assert said_by(talk.format(*"ABABAB"))[told(5)] == "B"


@pytest.mark.parametrize(
    ("before", "after"), [("[10:02] ", ":"), ("12/03/2024, 10:02 - ", ":"), ("10:02 <", ">")]
)
def test_in_a_chat_with_times_all_speak_even_once_and_briefly(before: str, after: str):
    said = [("Zorba", told(1)), ("Orrin", "fine with me"), ("Zorba", told(2)), ("Tolan", "is it open")]
    chat = "\n".join(f"{before}{name}{after} {text}" for name, text in said)

    assert said_by(chat) == {text: name for name, text in said}


def test_a_name_in_angle_brackets_may_be_in_lower_case():
    assert said_by(f"<zorba> {told(1)}\n<zorba> {told(2)}")[told(2)] == "zorba"


def test_the_levels_of_a_log_and_the_items_of_an_agenda_are_no_speakers():
    log = "\n".join(f"2024-03-12 10:02:4{n} WARN: {told(n)}" for n in range(4))
    agenda = "\n".join(
        f"10:0{n} {item}: {told(n)}" for n, item in enumerate(["Welcome", "Quenda", "Lunch", "Ships"])
    )

    assert set(said_by(log, agenda).values()) == {""}


def test_an_ordinary_word_in_capitals_speaks_where_most_lines_have_a_label():
    talk = f"The host is here.\nHOST: {told(1)}\nQUENDA: {told(2)}\nHOST: {told(3)}\nHOST: {told(4)}"

    assert said_by(talk)[told(4)] == "HOST"


def test_the_fields_of_a_list_of_settings_are_no_speakers():
    fields = "\n".join(f"Default: none\nType: Boolean\nNote: {told(n)}" for n in range(3))

    assert set(said_by(f"{fields}\n{told(7)}\n{told(8)}").values()) == {""}


def test_a_label_that_only_repeats_itself_is_no_speaker():
    menu = f"NEXT: {told(1)}"

    assert set(said_by(f"{menu}\n{told(2)}\n{menu}").values()) == {""}


def test_a_word_that_is_the_only_label_is_no_speaker():
    described = f"Zweckform: {told(1)}\nZweckform: {told(2)}"

    assert set(said_by(described).values()) == {""}
    assert (
        said_by(described, f"Zweckform: {told(3)}\nOrrin: {told(4)}\nZweckform: {told(5)}")[told(1)]
        == "Zweckform"
    )


def test_a_name_of_two_words_speaks_from_two_turns_on():
    assert said_by(f"Zorba Quenda: {told(1)}\nZorba Quenda (on a boat): {told(2)}") == {
        told(1): "Zorba Quenda", told(2): "Zorba Quenda",
    }  # fmt: skip


@pytest.mark.parametrize("label", ["Weather", "the miller", "Note that this is a rather long thing"])
def test_a_label_that_stands_once_or_is_not_written_as_a_name_is_text(label: str):
    labelled = f"{label}: {told(1)}"

    assert said_by(labelled) == {labelled: ""}


def test_labels_that_mostly_stand_once_are_those_of_a_list():
    terms = "".join(f"{term}: {told(1)}\n" for term in ("Ledger", "Budget", "Receipt", "Invoice", "Bill"))
    listed = f"Reports: {told(2)}\n{terms}Reports: {told(3)}\n"

    assert set(said_by(listed).values()) == {""}


def test_no_turn_reaches_into_the_next_document():
    talk = f"ZORBA: {told(1)}\nZORBA: {told(2)}\nZORBA: {told(3)}"

    assert said_by(talk, told(4))[told(4)] == ""


def test_where_a_document_is_cut_inside_a_turn_the_overlap_tells_who_speaks():
    talk = f"ZORBA: {told(1)}\nZORBA: {told(2)}\nZORBA: {told(3)} {told(4)}"
    second = f"{told(4)} {told(5)}"

    assert said_by(talk, second)[told(5)] == "ZORBA"


def test_who_speaks_is_known_over_several_parts_that_are_cut_anywhere():
    talk = f"ZORBA: {told(1)}\nZORBA: {told(2)}\nZORBA: {told(3)} {told(4)} {told(5)[:20]}"
    second = f"{told(3)[9:]} {told(4)} {told(5)} {told(6)}"
    third = f"{told(6)} {told(7)}\nQUENDA: {told(8)}\nQUENDA: {told(9)}"

    speakers = said_by(third, second, talk)

    assert [speakers[told(n)] for n in range(4, 10)] == ["ZORBA"] * 4 + ["QUENDA"] * 2


@pytest.mark.parametrize("where", ["first", "last", "in between"])
def test_a_sentence_that_a_speaker_says_too_tells_nothing_of_another_document(where: str):
    phrase = "That is a very good question indeed."
    talk = f"ZORBA: {told(1)}\nZORBA: {phrase} {told(2)}\nZORBA: {told(3)}"
    texts = {"first": (phrase, told(4), told(5)), "last": (told(4), told(5), phrase)}

    assert said_by(talk, " ".join(texts.get(where, (told(4), phrase, told(5)))))[told(5)] == ""


def call(*turns: tuple[str, str]) -> str:
    """Return the transcript of a call where each label is alone on a line before what is said."""
    return "\n\n".join(["The call of the mill", *(f"{label}\n\n{text}" for label, text in turns)])


@pytest.mark.parametrize(
    "label",
    ["{}", "{} -- Keeper of the Gate", "{} - Analyst, Bank of Quenda", "{} 0:12", "**{}**", "{} (10:02):"],
)
def test_a_label_alone_on_its_line_tells_who_speaks(label: str):
    mary, tolan = label.format("Mary Orrin"), label.format("Tolan Dov")
    talk = call((mary, told(1)), (tolan, f"{told(2)}\n\n{told(3)}"), (mary, told(4)), (tolan, told(5)))

    speakers = said_by(talk)

    assert [speakers[told(n)] for n in range(1, 6)] == [
        "Mary Orrin", "Tolan Dov", "Tolan Dov", "Mary Orrin", "Tolan Dov",
    ]  # fmt: skip
    assert not {mary, tolan} & speakers.keys()


def test_an_operator_and_whoever_speaks_once_are_not_taken_for_the_speaker_before():
    turns = [
        ("Mary Orrin", 1),
        ("Operator", 2),
        ("Mary Orrin", 3),
        ("Tolan Dov -- Analyst", 4),
        ("Operator", 5),
    ]
    speakers = said_by(call(*((label, told(n)) for label, n in turns)))

    assert [speakers[told(n)] for n in range(1, 6)] == ["Mary Orrin", "", "Mary Orrin", "", ""]
    labels = (
        f"ZORBA: {told(1)}\nOPERATOR: {told(2)}\nZORBA: {told(3)}\nTOLAN DOV: {told(4)}\nOPERATOR: {told(5)}"
    )
    assert said_by(labels)[f"TOLAN DOV: {told(4)}"] == said_by(labels)[told(5)] == ""


def test_headings_that_return_are_no_speakers():
    page = call(
        ("Read More", told(1)), ("Related Links", told(2)), ("Read More", told(3)), ("Related Links", told(4))
    )

    assert set(said_by(page).values()) == {""}
    assert "Related Links" in said_by(page)


def test_the_headings_of_one_document_are_no_speakers_in_another():
    talk = call(*(("Mary Orrin", told(n)) for n in range(3)), *(("Tolan Dov", told(n)) for n in range(3, 6)))

    assert said_by(talk, call(("Mary Orrin", told(7))))[told(7)] == ""


def test_a_name_in_lower_case_speaks_but_a_phrase_does_not():
    turns = [
        ("mara quenda", 1),
        ("ZORBA", 2),
        ("mara quenda", 3),
        ("ZORBA", 4),
        ("for example", 5),
        ("for example", 6),
    ]
    speakers = said_by("\n".join(f"{label}: {told(n)}" for label, n in turns))

    assert speakers[told(3)] == "mara quenda"
    assert speakers[f"for example: {told(5)}"] == "ZORBA"


def test_a_label_that_is_cut_at_the_beginning_of_a_part_is_known_by_the_overlap():
    talk = f"TOLAN ZORBA: {told(1)}\nTOLAN ZORBA: {told(2)}\nTOLAN ZORBA: {told(3)} {told(4)}"
    speakers = said_by(talk, f"ZORBA: {told(3)} {told(4)} {told(5)}\nMARY DOV: {told(6)}")

    assert speakers[told(5)] == "TOLAN ZORBA"
    assert speakers[f"MARY DOV: {told(6)}"] == ""


def test_the_headings_of_a_list_of_changes_are_no_speakers():
    changes = "\n".join(f"{label}: {told(n)}" for n, label in enumerate(["Added", "Fixed", "Added", "Fixed"]))

    assert set(said_by(changes).values()) == {""}


# Boilerplate


@pytest.mark.parametrize(("path", "left_out"), [("talks/flood diary-part2.txt", True), ("notes.txt", False)])
def test_the_name_of_the_file_that_a_part_opens_with_is_left_out(path: str, left_out: bool):
    name = "flood diary.txt"
    documents = [replace(d, path=path) for d in some_documents(f"{name} , {told(1)} {told(2)}")]

    found = list(Lines(documents, find_sentences(documents)[0]))

    assert found == [told(1) if left_out else f"{name} , {told(1)}", told(2)]


def test_what_many_documents_repeat_letter_by_letter_is_left_out():
    footer = "Zorba mills are closed on feast days."

    assert sentences_of(*(f"{told(i)} {footer}" for i in range(REPEATED))) == [
        told(i) for i in range(REPEATED)
    ]
    assert sentences_of(*(f"{told(i)} {footer}" for i in range(REPEATED - 1))).count(footer) == REPEATED - 1


def test_a_document_that_holds_nothing_else_keeps_what_is_repeated():
    footer = "Zorba mills are closed on feast days."

    assert sentences_of(*[footer] * (REPEATED + 1)) == [footer] * (REPEATED + 1)


def test_the_torn_edge_of_a_document_that_another_holds_whole_is_left_out():
    first = f"{told(1)} {told(2)} {told(3)[:30]}"
    second = f"{told(2)[12:]} {told(3)} {told(4)}"

    assert sentences_of(first, second) == [told(1), told(2), told(3), told(4)]


# Growth of the work

DISCLAIMER = "This message is meant for its addressee alone, and nobody else may read it."


@pytest.mark.parametrize(
    "text",
    [
        lambda i: f"Order {i} came from Leeds. It was shipped on the next working day. Thank you for buying.",
        lambda i: f"{told(i)}\n\n{DISCLAIMER} {DISCLAIMER}",
        lambda i: f"ZORBA {i}: {told(i)}\nZORBA {i}: {told(i + 1)}\nBA {i}: {told(i + 2)}",
        lambda i: f"CAPTAIN NUMBER {i}\n\nZorba {i} Quenda: {told(i)}\nZorba {i} Quenda: {told(i + 1)}",
    ],
    ids=[
        "rows of a template",
        "a disclaimer under every mail",
        "a speaker for every document",
        "headings in capitals",
    ],
)
def test_the_work_grows_in_proportion_to_the_documents(text: Callable[[int], str]):
    assert grows_linearly(lambda n: read(*map(text, range(n))), 100)
