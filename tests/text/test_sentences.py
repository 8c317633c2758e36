"""Lines and sentences, and the characters that they span."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.sentences import lines, sentences

prose = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.text(alphabet="aB. !?\n\"')", max_size=40),
        st.text(alphabet="你好。！？”\n", max_size=20),
        st.sampled_from(
            [
                "Dr. Stave",
                "e.g. ",
                "MARA: ",
                "- one",
                ". - Two",
                "\n\n",
                "A long line that may be wrapped " * 3,
            ]
        ),
    ),
    max_size=10,
).map("".join)


def cut(text: str) -> list[str]:
    return [text[a:b] for a, b in sentences(text)]


def cut_lines(text: str) -> list[str]:
    return [text[a:b] for a, b in lines(text)]


@given(prose)
def test_sentences_follow_one_another_and_leave_out_nothing_but_white_space_and_bullets(text: str):
    spans = list(sentences(text))

    assert all(a < b for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    between = [text[before[1] : after[0]].strip() for before, after in pairwise(spans)]
    assert set(between) <= {"", "-"}
    assert not spans or not text[: spans[0][0]].strip() + text[spans[-1][1] :].strip()


@given(prose)
def test_lines_follow_one_another_and_leave_out_nothing_but_white_space(text: str):
    spans = list(lines(text))

    assert all(a < b for a, b in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert "".join("".join(cut_lines(text)).split()) == "".join(text.split())


@given(prose, prose)
def test_a_part_of_a_text_is_cut_as_if_it_stood_there(before: str, text: str):
    whole = f"{before}\n\n{text}"
    start = len(before) + 2

    inside = [(a - start, b - start) for a, b in sentences(whole, start)]

    assert inside == list(sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Stave counted the nests.",
        "She asked Mr. Orrin about it.",
        "The chart by J. Tolan hangs there.",
        "They met J. R. Tolan there.",
        "The U.S. Navy came.",
        "Bring tools, e.g. Spanners and ropes.",
        "It is No. 9 of the list.",
        "Sample no. 3 of Quenda, see fig. 2, broke by Art. 5 of the law.",
        "NO. 7 stands in Marktstr. 5 at Messrs. Orrin.",
        "It rose by 3.5 Metres in a day.",
        "She said hm... and left.",
        "(Prof. Orrin agreed.)",
        "J. Tolan drew it.",
    ],
)
def test_abbreviations_initials_and_decimals_end_no_sentence(text: str):
    assert cut(text) == [text]
    assert [f"A line\n{text}"[a:b] for a, b in sentences(f"A line\n{text}", 7)] == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rained. We left.", ["It rained.", "We left."]),
        ("Did it? It did! Good.", ["Did it?", "It did!", "Good."]),
        ('"It rained." We left.', ['"It rained."', "We left."]),
        ("It rained (much). “We left.”", ["It rained (much).", "“We left.”"]),
        ("She said no. We studied art. The end.", ["She said no.", "We studied art.", "The end."]),
        ("It was in 1951. 27 came.", ["It was in 1951.", "27 came."]),
        ("Wait… Élan came.", ["Wait…", "Élan came."]),
        ("It was in 1951.[12] We left.", ["It was in 1951.[12]", "We left."]),
        ("It was in the north.[3][4] We left.", ["It was in the north.[3][4]", "We left."]),
        ("It was seen in fish.8 We left.", ["It was seen in fish.8", "We left."]),
        ("It is worse.177,404-406 We left.", ["It is worse.177,404-406", "We left."]),
        ("It cost 4.8 Swiss francs.", ["It cost 4.8 Swiss francs."]),
    ],
)
def test_an_end_mark_before_what_opens_a_sentence_ends_one(text: str, parts: list[str]):
    assert cut(text) == parts


def test_items_in_one_line_are_sentences_but_those_that_a_colon_opens_stay_with_it():
    stated = "Oak rot is a disease. - It spreads by water. - Tar is no cure."
    listed = "It is spread by: - Wet boots. - Old tar. Both are common."

    assert cut(stated) == ["Oak rot is a disease.", "It spreads by water.", "Tar is no cure."]
    assert cut(listed) == ["It is spread by: - Wet boots. - Old tar.", "Both are common."]


def test_cells_of_a_row_that_are_sentences_are_cut_and_values_are_not():
    told = "It was bought in 2019. | The blue pump stands in hall 4. | No. | It is new."
    values = "Quenda Tar Works. | 1976 | Orrin Ltd. | Is it open? | Yes"

    assert cut(told) == ["It was bought in 2019.", "The blue pump stands in hall 4.", "No. | It is new."]
    assert cut(values) == [values]


def test_chinese_end_marks_need_no_space_after_them():
    assert cut("潮水很急。他们等着！为什么？“没有船。”他说；天黑了") == [
        "潮水很急。", "他们等着！", "为什么？", "“没有船。”", "他说；", "天黑了",
    ]  # fmt: skip


def test_a_long_line_without_an_end_mark_goes_on_in_the_next():
    wrapped = "The harbour office was told that the tide gauge had been\nread twice a day since May."
    shortened = "The harbour office was told that the tide gauge had been read (i.e.\nlooked at) twice a day."

    assert cut_lines(wrapped) == [wrapped]
    assert cut_lines(shortened) == [shortened]


def test_a_line_longer_than_wrapped_ones_ends_before_a_capital():
    items = "- bread from the mill and honey from the hives - salted fish from the weir"
    paragraph = f"{items} - hemp for the nets of the boats - a barrel of lamp oil"

    assert cut_lines(f"{paragraph}\nThe ferry brought all of them.") == [
        paragraph, "The ferry brought all of them.",
    ]  # fmt: skip


def test_a_line_that_ends_in_a_letter_ends_before_a_capital():
    ended = "The harbour office was told that the ships had been moored at the old quay B."

    assert cut_lines(f"{ended}\nIt was closed.") == [ended, "It was closed."]


@pytest.mark.parametrize(
    "next_line", ["\nBut", "- a list item", "3) another", "MARA: she speaks", "# a heading"]
)
def test_a_blank_line_an_item_or_a_label_ends_a_line_however_long(next_line: str):
    first = "The harbour office was told that the tide gauge had been"

    assert cut_lines(f"{first}\n{next_line}\nmore")[0] == first


def test_a_line_goes_on_in_lower_case_below_a_blank_line_as_in_a_scan_with_double_spacing():
    scan = "The harbour office was told that the tide gauge had been \n\nread twice a day since May."

    assert cut_lines(scan) == [scan]
    assert len(cut_lines(scan.replace("read", "mara: I read"))) == 2
    assert len(cut_lines("a heading of a few words\n\nread twice a day")) == 2


def test_a_shorter_line_goes_on_in_one_that_opens_with_a_small_letter():
    wrapped = "The port of Quenda was closed on\nMonday, when a ship ran aground."
    small = wrapped.replace("on\nMonday", "today\nwhen a tide")

    assert cut_lines(small) == [small]
    assert cut_lines(small.replace("\n", "\n    ")) == [small.replace("\n", "\n    ")]
    assert len(cut_lines(wrapped)) == 2
    assert len(cut_lines("a few planks\ntwo ropes")) == 2


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Die Sitzung des Rates von Quenda findet im Mai, und zwar am\n1. Mai um acht, statt."),
        ("de", "Die Sitzung des Rates von Quenda findet im Mai, und zwar am\n12. Mai um acht, statt."),
        ("de", "Der Rat von Quenda tagt im Sommer an einem andern Orte, und\nz. B. der Saal bleibt leer."),
        ("en", "The treaty of the port of Quenda was signed by the mayor in\n1998. It was short."),
        ("en", "The treaty of the port of Quenda was explained by Orrin (on\np. 12 of the book)."),
    ],
)
def test_a_wrapped_line_goes_on_in_a_number_or_an_abbreviation(language: str, text: str):
    assert [text[a:b] for a, b in lines(text, language)] == [text]


@pytest.mark.parametrize("language", ["de", "en"])
def test_a_number_that_continues_or_begins_a_list_opens_an_item(language: str):
    first = "1. the harbour office that reads the tide gauge twice a day"
    items = [first, "2. the port", "3. the quay"]

    text = "\n".join(items)

    assert [text[a:b] for a, b in lines(text, language)] == items


def test_a_list_begins_after_a_long_heading_except_where_its_number_may_be_an_ordinal():
    heading = "The duties of the members of the rowing club of the port Quenda"

    assert cut_lines(f"{heading}\n1. They pay.\n2. They row.") == [heading, "1. They pay.", "2. They row."]
    assert cut_lines(f"{heading}\n   7.   They pay.") == [heading, "   7.   They pay."]


@pytest.mark.parametrize("time", ["[10:02]", "[2024-03-12 10:02:41]", "12/03/2024, 10:02 -", "(10:02 AM)"])
def test_a_time_before_a_label_or_in_brackets_opens_a_line_but_not_one_in_a_sentence(time: str):
    first = f"{time} Zorba: the tide gauge of the harbour of Quenda has been broken"

    assert cut_lines(f"{first}\n{time} Orrin: by whom") == [first, f"{time} Orrin: by whom"]
    assert cut_lines(f"{first}\n{time} <orrin> by whom") == [first, f"{time} <orrin> by whom"]
    assert (
        len(cut_lines("The ship that Zorba has waited for so long leaves the port at\n10:02 and is late."))
        == 1
    )


def test_a_wrapped_line_goes_on_though_a_colon_stands_in_its_next_sentence():
    item = (
        "1. The board bought the line for EUR 480,000, to be paid in "
        "three\n   instalments. Dov was against: too dear."
    )

    assert cut_lines(item) == [item]
    assert cut_lines("user: how is it that the tide gauge has been read twice a day\nassistant: by hand") == [
        "user: how is it that the tide gauge has been read twice a day",
        "assistant: by hand",
    ]


def test_short_lines_and_finished_ones_stand_alone():
    text = (
        "Tide gauge\nRead by Mara\nThe harbour office was told that the gauge had been read.\nThen it broke."
    )

    assert cut_lines(text) == text.split("\n")


def test_each_row_of_a_table_stands_alone_however_long():
    text = (
        "The packages that the harbour office installs on each machine of its own are\n"
        "tide-gauge | 12 | reads the gauge of the harbour and sends a message when it is high\n"
        "tide-log | 3 | stores what was read, by day, and prints a report at the end of a year\n"
        "and nothing else"
    )

    assert cut_lines(text) == text.split("\n")


def test_an_ellipsis_before_the_word_for_and_so_on_ends_no_sentence():
    assert cut("由 Wants, Requires, … 等指示来配置。然后启动。") == [
        "由 Wants, Requires, … 等指示来配置。",
        "然后启动。",
    ]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Am 3. Oktober kam er. Friedrich II. schlief.", ["Am 3. Oktober kam er.", "Friedrich II. schlief."]),
        ("de", "Er war 12. Das war jung.", ["Er war 12.", "Das war jung."]),
        ("de", "Sie kam, bzw. Karl kam. „Das Buch“ ist alt.", ["Sie kam, bzw. Karl kam.", "„Das Buch“ ist alt."]),
        ("de", "Frl. Tolan wohnt Ca. 3 km von der Fa. Orrin.", ["Frl. Tolan wohnt Ca. 3 km von der Fa. Orrin."]),
        ("it", "Il sig. Tolan e l'ing. Orrin. Due anni fa.", ["Il sig. Tolan e l'ing. Orrin.", "Due anni fa."]),
        ("fr", "Mme Diallo habite ici. « Les Gens » parut.", ["Mme Diallo habite ici.", "« Les Gens » parut."]),
        ("es", "¿Quién vino? ¡Nadie! La Sra. Ibarra.", ["¿Quién vino?", "¡Nadie!", "La Sra. Ibarra."]),
        ("es", "La casa núm. 3 es de EE. UU. y de Dña. Ana.", ["La casa núm. 3 es de EE. UU. y de Dña. Ana."]),
        ("ru", "Он жил на ул. Ленина. Потом уехал.", ["Он жил на ул. Ленина.", "Потом уехал."]),
        ("ar", "من أسس الجمعية؟ لا نعرف.", ["من أسس الجمعية؟", "لا نعرف."]),
        ("hi", "वह आया। वह गया।", ["वह आया।", "वह गया।"]),
        ("el", "Ποιος ήρθε; Κανένας.", ["Ποιος ήρθε;", "Κανένας."]),
        ("ja", "雨が降った。風も吹いた！", ["雨が降った。", "風も吹いた！"]),
        ("en", "He was first in 3. October came.", ["He was first in 3.", "October came."]),
    ],
)  # fmt: skip
def test_sentences_end_as_their_language_ends_them(language: str, text: str, expected: list[str]):
    assert [text[a:b] for a, b in sentences(text, language=language)] == expected


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("Wait... Ada came. Bo went.", 5, ["..", "Ada came.", "Bo went."]),
        ("他走了！…. Ada came.", 0, ["他走了！….", "Ada came."]),
        ('Is it?! "Yes." No.', 0, ["Is it?!", '"Yes."', "No."]),
        ("....", 0, ["...."]),
    ],
)
def test_a_run_of_marks_is_one_end_wherever_the_text_begins(text: str, start: int, expected: list[str]):
    assert [text[a:b] for a, b in sentences(text, start)] == expected
