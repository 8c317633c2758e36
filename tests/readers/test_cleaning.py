"""Which parts of a text are omitted as no content, and the mapping from content to text."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_built_index, a_document
from work import grows_linearly

from conspectus.content import content_of, without
from conspectus.index import Index
from conspectus.indexing.chunks import chunk
from conspectus.indexing.read import read_texts
from conspectus.readers.cleaning import omitted, without_markup
from conspectus.retrieval.base import cite
from conspectus.rows import Document
from conspectus.settings import ChunkSettings, ReadSettings

PROSE = "The quay is long, and its gate closes at night."


def cleaned(text: str) -> str:
    return without(text, omitted(text))


def lines_of(text: str) -> list[str]:
    """Return the non-empty lines of the content."""
    return [line for line in cleaned(text).splitlines() if line.strip()]


# Markup


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("See [the map](https://example.org/map.png) now.", "See the map now."),
        ("See [the map](map.png 'A map (old)') now.", "See the map now."),
        ('See [the map](map.png "A map\n   (old)") now.', "See the map now."),
        ("See [a law](https://example.org/Law_(act)) now.", "See a law now."),
        ("They looked at [the **old** map](map.png).", "They looked at the old map."),
        ("See [the\nmap](map.png) now.", "See the\nmap now."),
        ("It says:\n> The quay\n> is long.\n>\n> It is old.", "It says:\n> The quay\nis long.\n\nIt is old."),
        ("> > The quay\n>>is long.\n> It is old.", "> > The quay\nis long.\n> It is old."),
        (
            "> The quay\n\n> is long.\n>>> gate()\n>>> quay()",
            "> The quay\n\n> is long.\n>>> gate()\n>>> quay()",
        ),
        (
            "See [the map][] and [`gate()`] now.\n\n[The  map]: maps/m.png\n[`gate()`]: g.md#gate",
            "See the map and `gate()` now.",
        ),
        (
            "See [the map][1], it says [2].\n\n[1]: #map 'A map'\n[2]: https://example.org",
            "See the map, it says [2].",
        ),
        ("Theodor Sch¨ onemann read Erd˝os and Poincar´ e.", "Theodor Schonemann read Erdos and Poincare."),
        (
            "The students´ union of the women´s college met.",
            "The students´ union of the women´s college met.",
        ),
        ("The ![plan](plan.png)quay is long.", "The quay is long."),
        ("The ![Image 3: (Z/n)[X] to scale](plan.png)quay is long.", "The quay is long."),
        ("[![plan](plan.png)](quay.html)The quay is long.", "The quay is long."),
        ("The **quay** is _long_ and __old__.", "The quay is long and old."),
        (
            "A quay has __moor__() in quay.__all__ and __init__.py.",
            "A quay has __moor__() in quay.__all__ and __init__.py.",
        ),
        ("**The quay\nis long.** It has **3 gates**.", "The quay\nis long. It has 3 gates."),
        ("<p>The <b>quay</b> is <a href='q.html'>long</a>.</p>", "The quay is long."),
        ("The quay is long.<br/>It is<br>old.</p><p>So.", "The quay is long. It is old.  So."),
        ("<p>The quay.</p>\n<p>The gate <br/> of it.</p>", "The quay.\nThe gate  of it."),
        ("The quay<!-- a note --> is long.<script>var gate = 1;</script>", "The quay is long."),
    ],
)
def test_markup_is_omitted_and_what_it_marks_is_not(text: str, content: str):
    assert cleaned(text).strip() == content


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "If a < b and b > c then 2 * 3 * 4 = 24, and snake_case_name is f(x) [sic].",
        "He said (in [1]) that <quay> is no tag -- and **so on.",
        "Its method is `__init__(*args)`, or ``**more**``.\n\n```\ndef gate(**more): [open](more)\n```\n\nIt is old.",
        "[Anna]: Yes.\n[Ben]: It is [the map][] of 2**3 and 2**4 gates.[^1]\n\n[^1]: https://example.org",
        "# The quay\n\n# of Orrin\n\nIts file is old_quay_of_orrin.txt.",
        "Anna: It is long.\n\n- one gate\n- two gates\n\n1. The quay\n2. The lane",
        "",
    ],
)
def test_plain_text_is_untouched(text: str):
    assert omitted(text) == ()


@pytest.mark.parametrize("text", ["[Home](/)\n[News](/news)", "# Home\n[News](/news)"])
def test_a_page_of_nothing_but_links_keeps_their_texts(text: str):
    assert "News" in cleaned(text)
    assert "/news" not in cleaned(text)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("the [old **map**](m.png) shows", "the old map shows"),
        ("old map](m.png) shows [the quay](q.html)", "old map shows the quay"),
        ("the quay and [its gate", "the quay and its gate"),
        ("a list [1] of f(x)", "a list [1] of f(x)"),
        ("[the map](javascript:pop(at('m.html'), 'width=6')) shows", "the map shows"),
    ],
)
def test_a_piece_of_a_text_is_shown_without_markup(piece: str, shown: str):
    assert without_markup(piece) == shown


# Blocks


def test_a_menu_of_links_is_omitted():
    menu = "*   [Home](/)\n*   [All news](/news) |\n*   [About us](/about) [Log in](/login)\n\n"

    assert lines_of(f"{menu}{PROSE}\n\n{menu}") == [PROSE]


@pytest.mark.parametrize(
    "notice",
    [
        "We use cookies to improve your visit. By going on you agree to them.",
        "This website utilizes technologies such as cookies for its functionality.",
        "These cookies are necessary for our site to work.",
        "You may choose not to allow some types of cookies.",
        "- [x] Functional Cookies",
        "#### Strictly Necessary Cookies",
        "Cookie settings",
        "Accept all cookies Reject unnecessary cookies",
        "Wir verwenden auf dieser Seite Cookies.",
        "Nous utilisons des cookies sur ce site.",
    ],
)
def test_a_notice_about_cookies_is_omitted(notice: str):
    assert lines_of(f"{PROSE}\n\n{notice}\n\n{PROSE}") == [PROSE, PROSE]


@pytest.mark.parametrize(
    "line",
    [
        "Bake the cookies until their edges are brown.",
        "We bake cookies for the whole harbour on Sundays.",
        "We use cookies and cream for the base of the cake.",
        "That was all we could afford. You would walk to the store and buy cookies.",
        "A browser sends the cookies of a site with each request.",
        "Cookies were invented by Lou Montulli in 1994.",
        "Third-party cookies are blocked by default since version 69.",
    ],
)
def test_prose_about_cookies_stays(line: str):
    assert lines_of(f"{PROSE}\n\n{line}") == [PROSE, line]


def test_a_line_of_prose_that_is_nothing_but_links_by_label_stays():
    text = "It is closed by [`gate()`][] and\n[`lock()`][lock].\n\n[`gate()`]: #gate\n[lock]: #lock"

    assert cleaned(text).rstrip() == "It is closed by `gate()` and\n`lock()`."


def test_prose_with_links_stays():
    text = "The [quay](/q) was built by the [town council](/c) in the year of the flood."

    assert cleaned(text) == "The quay was built by the town council in the year of the flood."


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("See [the whole map](m.png).", "See the whole map."),
        ("Built by [Tolan & Brook, masons](/t)!", "Built by Tolan & Brook, masons!"),
    ],
)
def test_a_sentence_of_hardly_more_than_a_link_stays(line: str, content: str):
    assert lines_of(f"{line}\n[Home](/) | [News](/news)\n\n{PROSE}") == [content, PROSE]


def test_a_row_of_a_table_whose_cells_are_links_stays():
    assert lines_of(f"| [The old quay](/q) | 1204 | long |\n[Home](/)\n\n{PROSE}")[0].startswith(
        "| The old quay"
    )


def test_references_are_omitted_with_the_links_between_them():
    linked = REFERENCES.replace("\n", "\n[Crossref](/c)\n[PubMed](/p)\n[Web of Science](/w)\n\n")

    assert lines_of(f"{PROSE}\n\n{linked}\n{PROSE}") == [PROSE, PROSE]


def test_a_heading_that_is_a_link_stays():
    assert lines_of(f"## [The quay](/quay)\n\n{PROSE}") == ["## The quay", PROSE]


def test_a_list_of_references_is_omitted_with_its_heading_and_what_follows_is_not():
    references = "1. Tolan, M. (2004). Quays. https://example.org/q\n2. Brook, A. 1999. Gates. Orrin.\n\n"

    assert lines_of(f"{PROSE}\n\n## References\n\n{references}## Gates\n\n{PROSE}") == [
        PROSE,
        "## Gates",
        PROSE,
    ]


def test_prose_under_the_heading_of_references_stays():
    text = f"References\n\n{PROSE}\n\nIt has a lane.\n\nIt has a wall.\n\nIn 1999 it leaked."

    assert omitted(text) == ()


REFERENCES = """
1. Tolan, M. & Brook, A. (2004). The quays of the north. Harbour Studies 12(3), 45-61.
Brook A, Tolan M, et al. Gates of Orrin. J Quays. 1999;4:12-19. doi: 10.1000/q.4
3. Tolan, M. (1987). On gates. In A. Brook (ed.), Walls and gates, pp. 10-31. Orrin: North Press.
Mason, R. L., A. Brook. 2011. Lanes and their
walls. Orrin Review 7: 101–119.
5. Brook, A. (1990). Orrin. North Press.
"""


NOTES = """
1. Mara Tolan, The Quays of the North (Orrin: North Press, 2004), 76–80.
2. Tolan, Quays, 124.
3. Anna Brook and Mara Tolan, eds., Gates and Walls, 2 vols. (Orrin: Gate & Sons, 1997), 283–287.
4. Anna Brook, Lanes of Orrin (Orrin: North Press, 1991), p. 12.
5. Orrin Council, Annual Report (Orrin: The Council, 1987), www.example.org/report.
"""


WRAPPED = "\n".join(
    f"""{n}. Tolan M, Brook A, Mason R, et al. The quays of the north and their
walls, a study of forty harbours in the valley of the Orrin and its
tributaries. Harbour Stud {1990 + n};{n}:45-61."""
    for n in range(1, 7)
)


@pytest.mark.parametrize("references", [REFERENCES, NOTES, WRAPPED])
def test_a_list_of_references_without_a_heading_is_omitted(references: str):
    assert lines_of(f"{PROSE}\n\n{references}\n{PROSE}") == [PROSE, PROSE]


def test_a_page_of_nothing_but_references_keeps_them():
    assert "Harbour Studies" in cleaned(f"# 10.1000/q.4\n\nReferences\n-----\n\n{REFERENCES}")


@pytest.mark.parametrize(
    "lines",
    [
        ["J. R. Brook (1901-1980), painter", "A. Tolan (1913-1999), mason", "R. Mason (1920-2001)"] * 2,
        ["The Quay (1994)", "The Gate (1997)", "The Lane (1998)", "The Wall (2003)", "The Pier (2010)"],
        ["1204: The quay is built.", "1560: The gate burns down.", "1604: A new gate.", "1810: The lane."],
        [
            f"In {1990 + i} the council (Tolan et al., 2004) wrote that the quay was too long."
            for i in range(6)
        ],
    ],
)
def test_lists_of_people_works_and_events_stay(lines: list[str]):
    assert lines_of("\n".join(lines)) == lines


def test_references_alone_are_text_of_which_no_names_are_made():
    documents = read_texts(
        [f"References\n\n{REFERENCES}", f"{PROSE} Orrin has a mayor."], ReadSettings()
    ).documents
    index = a_built_index(*(document.text for document in documents))

    assert "Harbour Studies" in content_of(documents[0]).text
    assert {chunk.document_id for chunk in index.chunks} == {document.id for document in index.documents}
    assert not any("Tolan" in entity.name for entity in index.entities)


def test_nothing_is_omitted_where_cleaning_is_switched_off():
    text = f"[Home](/) | [News](/news)\n\n{PROSE}"

    (document,) = read_texts([text], ReadSettings(cleaning=False)).documents

    assert content_of(document).text == text


# General properties

PIECES = (
    "[", "]", "](", "(", ")", "!", "![plan](p.png)", "[the map](m.png)", "**", "_", "<p>", "</p>", "<b", "<!--", "-->",
    "<script>", "</script>", "\n", "\n\n", "# ", "## References", "1. Tolan 2004", "----", "Gate ..... 12", "* ", " ",
    "The quay is long.", "gate", "é", "🐝", "门",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A document with the spans that cleaning omits, or with random omitted spans."""
    text = draw(texts)
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    chosen = edges[: len(edges) // 2 * 2]
    return replace(a_document(text), omitted=draw(st.sampled_from([omitted(text), tuple(chosen)])))


@given(texts)
def test_what_is_omitted_ascends_inside_the_text(text: str):
    edges = omitted(text)

    assert len(edges) % 2 == 0
    assert all(a < b for a, b in pairwise(edges))
    assert not edges or (edges[0] >= 0 and edges[-1] <= len(text))


@given(texts)
def test_something_to_read_stays_where_there_was_something(text: str):
    readable = any(letter.isalnum() and not letter.isdecimal() for letter in cleaned(text))
    assert readable or omitted(text) == ()


@given(documents())
def test_content_and_what_is_omitted_are_all_of_the_text(document: Document):
    pairs = zip(document.omitted[::2], document.omitted[1::2], strict=True)
    inside = {i for start, end in pairs for i in range(start, end)}

    content = content_of(document)

    kept = "".join(c for i, c in enumerate(document.text) if i not in inside)
    assert len(content.text) == len(kept)
    assert all(a == b or (a, b) == (" ", "<") for a, b in zip(content.text, kept, strict=True))


@given(documents(), st.data())
def test_every_span_of_the_content_leads_to_the_characters_it_came_from(
    document: Document, data: st.DataObject
):
    content = content_of(document)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content.text))] * 2)))

    first, last = content.span(start, end)

    assert without(document.text, document.omitted, first, last) == content.text[start:end]
    if start < end:
        assert document.text[first] in (content.text[start], "<")
        assert document.text[last - 1] in (content.text[end - 1], "<")
        assert (content.at(first), content.at(last)) == (start, end)


@given(documents(), st.data())
def test_as_much_content_is_before_a_character_as_stands_there(document: Document, data: st.DataObject):
    place = data.draw(st.integers(0, len(document.text)))

    before = without(document.text, document.omitted, 0, place)

    assert content_of(document).at(place) == len(before)


@given(documents())
def test_the_text_of_a_chunk_is_the_content_of_its_characters(document: Document):
    for each in chunk([document], ChunkSettings(tokens=10, overlap=2)):
        assert each.text == without(document.text, document.omitted, each.start, each.end)


MARKS = ("{}", "[{}](https://example.org/{})", "**{}**", "_{}_", "<b>{}</b>")


@given(
    st.lists(
        st.tuples(st.sampled_from(PROSE.lower().split()), st.sampled_from(MARKS)), min_size=6, max_size=15
    )
)
def test_a_quotation_leads_to_its_characters_though_markup_is_inside(words: list[tuple[str, str]]):
    quoted = " ".join(word for word, _ in words)
    marked = " ".join(mark.replace("{}", word) for word, mark in words)
    text = f"[Home](/) | [News](/news)\n\nAt first it rained. Mara said {marked}, and left."
    document = replace(a_document(text), omitted=omitted(text))
    index = Index(documents=[document], chunks=chunk([document], ChunkSettings()))

    _, (citation,), _ = cite(f'"{quoted}" [Data: Sources (0)]', index)
    (source,) = citation.sources

    assert source.text == text[source.start : source.end]
    shown = without(text, document.omitted, source.start, source.end)
    assert shown in (quoted, f"Mara said {quoted}, and left.")


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "<",
        "[[a] ",
        "[a](",
        "*",
        "_a ",
        "<a ",
        "<!--",
        " ",
        ".",
        "```\n",
        "1. A. B. 2004, 3-4\n",
        "x 3\n",
        "# A\n",
    ],
)
@pytest.mark.parametrize("around", ["", "[the map](m.png) "])
def test_the_work_grows_in_proportion_to_the_text(piece: str, around: str):
    fresh = count()  # a new text each time: the omitted spans are cached
    assert grows_linearly(lambda n: omitted(f"{around}{piece * n}{around}\n\n{next(fresh)}"), 500)


def test_a_long_line_with_a_bracket_that_is_never_closed_takes_little_memory():
    text = f"He said [and {PROSE * 4000}"

    tracemalloc.start()
    omitted(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 * len(text)  # bytes; the pattern once took 80 per character
