"""Tests of HTML, XML, feeds and mail."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from making_files import document, outcomes, reason, where
from work import calls_of, grows_linearly

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, mail
from conspectus.readers.archive import OLE
from conspectus.rows import Failure

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bees | The Hive</title>
<meta property="og:title" content="On bees"><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-05-01T10:00:00Z">
<script>let x = "never";</script></head>
<body><header><a href="/">The Hive</a></header>
<nav><ul><li><a href="/a">Home</a></li></ul></nav>
<div class="sidebar">Subscribe!</div><div class="navheader">Next: Wasps</div>
<div><h1>On   bees</h1><p>Bees <b>dance</b>.<br>All day.</p><p hidden>secret</p>
<table><tr><th>Name<th>Age<tr><td>Bo<td>3</table>
<pre>a
  b</pre>
<h2>Sleep</h2><ul><li>They do.</li><li>Some <a href="#">snore</a><sup><a href="#n">[1]</a></sup>.</li></ul>
<ul><li><a>One more</a></li><li><a>Two more</a></li>
<li><a>Three more</a></li><li><a>Four more</a></li></ul></div>
<footer>Copyright</footer></body></html>"""


def test_the_main_text_of_a_page_is_read_without_what_stands_around_it():
    page = document("a.html", PAGE)

    assert page.text == (
        "On bees\n\nBees dance.\nAll day.\n\nName | Age\nBo | 3\n\na\nb\n\nSleep\n\nThey do.\nSome snore."
    )
    assert (page.title, page.date) == ("On bees", "2024-05-01T10:00:00Z")
    assert page.metadata == {"author": "Ann Lee", "language": "en"}
    assert (where(page, "dance"), where(page, "snore")) == ("“On bees”", "“Sleep”")


def test_the_element_that_holds_the_main_text_is_preferred_unless_it_is_nearly_empty():
    most = "<p>Bees dance all day long.</p>"

    assert document("a.html", f"<p>Aside</p><main>{most}</main>").text == "Bees dance all day long."
    assert "dance" in document("a.html", f"<main>Hi</main>{most * 5}").text


@pytest.mark.parametrize(
    "box",
    [
        "<aside>{}</aside>",
        '<div class="sidebar">{}</div>',
        '<div id="sidebar">{}</div>',
        '<div role="complementary">{}</div>',
    ],
)
def test_what_stands_aside_is_read_where_it_is_prose_and_not_where_it_is_links(box: str):
    prose = "<b>CULTURE</b> Keepers <a href='#'>tell</a> their bees what happened, or else they would leave the hive."
    links = "".join(f"<li><a href='{i}'>All that was said of bees in the year {i}</a></li>" for i in range(3))
    page = f"<div>{box}<p>{'Bees dance all day long. ' * 20}</p></div>"

    assert "or else they would" in document("a.html", page.format(prose)).text
    assert "was said" not in document("a.html", page.format(f"Archive <ul>{links}</ul>")).text


@pytest.mark.parametrize("name", ["menu", "related", "share", "ads", "banner"])
def test_a_box_with_the_name_of_navigation_is_read_unless_it_is_links(name: str):
    prose = "<p>The pie of Quenda's kitchen contains spinach and costs 12 crowns.</p>"
    links = "".join(f"<li><a href='{i}'>All pies of the year {i}</a></li>" for i in range(3))
    page = f"<p>{'Bees dance all day long. ' * 20}</p><section id={name}>{{}}</section>"

    assert "contains spinach" in document("a.html", page.format(prose)).text
    assert "All pies" not in document("a.html", page.format(f"<ul>{links}</ul>")).text


def test_a_form_is_read_where_it_is_the_page_and_not_where_it_is_controls():
    form = "<form><label>Your street</label><input><h1>Waste</h1><p>Bulky waste is collected on Fridays.</p></form>"
    page = document("a.html", f"<a href='#waste'>Skip</a>{form}")
    search = "<form>Search the pages of Quenda: <label>Find</label><input></form>"

    assert page.text == "Skip\n\nWaste\n\nBulky waste is collected on Fridays."
    assert (
        document("a.html", f"<p>{'Bees dance. ' * 20}</p>{search}").text
        == "Bees dance. " * 19 + "Bees dance."
    )


def test_questions_on_buttons_and_hidden_answers_are_read_and_messages_and_labels_are_not():
    faq = """<h2><button>Does Quenda take cards?</button></h2>
    <div aria-hidden=true><p>Quenda takes notes and coins.</div>
    <h2>Garden <button>Copy link</button></h2><div class=tab hidden>The garden is behind the old mill.</div>
    <div id=terms-modal hidden>You have to accept the terms of this page.</div><div hidden>Loading, please wait</div>
    <div hidden>We and our partners store cookies on your device.</div>
    <a aria-hidden=true>Go to the garden's part.</a>"""

    assert document("a.html", faq).text == (
        "Does Quenda take cards?\n\nQuenda takes notes and coins.\n\nGarden\n\nThe garden is behind the old mill."
    )


@pytest.mark.parametrize(
    "links",
    [
        "<p>Next: <a rel=next>Wasps</a>, Up: <a rel=up>Insects</a> [<a>Contents</a>]</p>",
        "<ul><li><a accesskey=p>Ants</a><li><a accesskey=n>Wasps</a></ul>",
        "<table><tr><td><a accesskey=p>Ants</a><td><a accesskey=n>Wasps</a></table>",
    ],
)
def test_links_to_the_pages_before_and_after_are_not_read_and_prose_with_one_is(links: str):
    prose = "<p>Bees dance all day long, as is told in the <a rel=next>next chapter</a>.</p>"

    assert document("a.html", f"{links}{prose}").text == (
        "Bees dance all day long, as is told in the next chapter."
    )


def test_headings_are_without_the_links_to_themselves():
    page = "<h1>On bees<a class=headerlink>link</a></h1><h2>Sleep<a>¶</a></h2><h3>Dance <a>#</a></h3><p>They <a>do</a>."

    assert document("a.html", page).text == "On bees\n\nSleep\n\nDance\n\nThey do."


def test_words_are_whole_where_a_page_has_soft_hyphens():
    page = document("a.html", "<p>The bee&shy;keep&shy;ers dance.</p>")

    assert page.text == "The beekeepers dance."


def test_a_page_of_nothing_but_links_keeps_them():
    links = "".join(f"<li><a href='{i}'>Chapter {i}</a></li>" for i in range(9))

    assert "Chapter 8" in document("a.html", f"<nav><ul>{links}</ul></nav>").text


def test_code_stands_between_fences_and_preformatted_prose_does_not():
    code = "<p>Bees dance.</p><pre><code>a = 1\n\nb = 2</code></pre><pre>They sleep.</pre>"
    highlighted = '<p>Bees dance.</p><div><pre><span class="k">let</span> a</pre></div>'

    assert document("a.html", code).text == "Bees dance.\n\n```\na = 1\n\nb = 2\n```\n\nThey sleep."
    assert document("a.html", highlighted).text == "Bees dance.\n\n```\nlet a\n```"


def test_a_table_that_lays_out_a_page_is_read_as_blocks():
    page = f"<table><tr><td>{'Bees dance. ' * 30}<br><br>Second.</td><td>x</td></tr></table>"

    assert document("a.html", page).text.endswith("\n\nSecond.\n\nx")


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ("<td><pre>Quenda sells\nred pumps.</pre></td>", "Quenda sells\nred pumps."),
        ("<td>Quenda sells<br>red pumps</td>", "Quenda sells\nred pumps"),
        ("<td><p>Quenda sells pumps.</p><p>Orrin buys</p></td>", "Quenda sells pumps.\n\nOrrin buys"),
        ("<td>1</td><td><pre>Quenda sells\nred pumps.</pre></td>", "1\n\nQuenda sells\nred pumps."),
        ("<td>1</td><td>Quenda sells<br>red pumps.</td>", "1 | Quenda sells red pumps."),
        ("<td>Staff</td><td>Ada Quenda<br>Bo Orrin</td>", "Staff | Ada Quenda | Bo Orrin"),
    ],
)
def test_no_comma_is_put_between_the_lines_of_a_cell(cells: str, text: str):
    assert document("a.html", f"<table><tr>{cells}</tr></table>").text == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("Orrin has 2<sup>64</sup> rows.", "Orrin has 2^64 rows."),
        ("It is 10 m<sup>−2</sup>.", "It is 10 m^−2."),
        ("On the 1<sup>st</sup> of May.", "On the 1st of May."),
        ("The tracker<sup><a href=#f13>13</a></sup> of Orrin.", "The tracker of Orrin."),
        ("The tracker<a href=#f13><sup>13</sup></a> of Orrin[<sup>2</sup>].", "The tracker of Orrin[2]."),
    ],
)
def test_powers_are_told_from_the_numbers_of_footnotes(page: str, text: str):
    assert document("a.html", f"<p>{page}</p>").text == text


def test_lists_of_links_in_a_row_with_a_heading_are_its_values():
    names = "".join(f"<li><a href='{i}'>Name {i}</a></li>" for i in range(4))
    rows = f"<tr><th>Founders</th><td><ul>{names}</ul></td></tr><tr><th>Age</th><td>3</td></tr>"
    page = f"<p>Bees.</p><table>{rows}</table>"

    assert "Founders | Name 0 | Name 1 | Name 2 | Name 3\nAge | 3" in document("a.html", page).text


def test_a_page_in_an_old_encoding_is_read_as_it_states():
    page = "<meta charset=windows-1251><p>Пчёлы танцуют</p>".encode("cp1251")

    assert document("a.html", page).text == "Пчёлы танцуют"


def test_a_page_may_be_nested_as_deeply_as_it_likes():
    assert document("a.html", "<div>" * 20_000 + "Bees" + "</div>" * 20_000).text == "Bees"


def test_tables_in_tables_take_work_in_proportion_to_their_text():
    cell = f"<table><tr><td><h2>Hive</h2><p>{'Bees dance in the hive. ' * 20}"
    assert grows_linearly(lambda n: document("a.html", cell * n), 20)


def test_lists_in_lists_take_work_in_proportion_to_their_text():
    assert grows_linearly(lambda n: document("a.html", f"<p>Bees</p>{'<ul><li><a href=x>Hive</a>' * n}"), 100)


@pytest.mark.parametrize("tag", ["main", "ul"])
def test_not_every_one_of_thousands_of_elements_in_each_other_is_read_whole(tag: str):
    def calls(tag: str) -> int:
        return calls_of(lambda: document("a.html", f"<p>Bees dance.</p>{f'<{tag}>' * 2000}"))

    assert calls(tag) < calls("div") + 1000


def test_a_page_without_text_says_so():
    assert "contains no text" in reason("a.html", "<html><body><script>1</script></body></html>")


# XML


def test_text_of_xml_is_a_line_for_each_element_that_has_some():
    found = document("a.xml", "<r><a>Bees <b>dance</b>.</a><c><d>They</d><d>sleep.</d></c></r>")

    assert found.text == "Bees dance.\nThey\nsleep."


def test_entities_are_not_expanded_and_nothing_outside_is_read(tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    laughs = "".join(f"<!ENTITY e{i + 1} '{f'&e{i};' * 10}'>" for i in range(12))
    declared = f"<!DOCTYPE r [<!ENTITY e0 'ha'>{laughs}<!ENTITY x SYSTEM '{secret.as_uri()}'>]>"
    found = document("a.xml", f"{declared}<r>Bees &amp; &e12; &x; &#233;.</r>")

    assert found.text == "Bees & &e12; &x; é."


def test_xml_in_an_encoding_of_several_bytes_is_read():
    assert (
        document("a.xml", '<?xml version="1.0" encoding="GB2312"?><r>蜜蜂</r>'.encode("gb2312")).text
        == "蜜蜂"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [("<r><a></r>", "not well-formed"), ("<r/>", "contains no text"), ("<a>" * 600, "nested too deeply")],
)
def test_xml_that_cannot_be_read_says_why(data: str, why: str):
    assert why in reason("a.xml", data)


def test_items_of_a_feed_are_documents_with_their_title_date_and_author():
    feed = """<rss version="2.0" xmlns:c="content" xmlns:d="dc" xmlns:m="media"><channel><title>Hive</title>
    <item><m:title>other</m:title><title>On bees</title><link>http://x/1</link><d:creator>Ann</d:creator>
    <pubDate>Mon, 09 Dec 2024 20:26:59 +0000</pubDate><description>Short.</description>
    <c:encoded><![CDATA[<p>Bees <b>dance</b>.</p>]]></c:encoded><category>Bees</category></item>
    <item><title>Only a title</title></item><item/></channel></rss>"""
    one, two, empty = outcomes("a.rss", feed)

    assert isinstance(one, ParsedDocument)
    assert isinstance(two, ParsedDocument)
    assert (one.path, one.title, one.text, one.date) == (
        "a.rss#1",
        "On bees",
        "Bees dance.",
        "2024-12-09T20:26:59+00:00",
    )
    assert one.metadata == {"author": "Ann", "link": "http://x/1", "categories": "Bees"}
    assert two.text == "Only a title"
    assert isinstance(empty, Failure)


def test_entries_of_atom_are_documents():
    feed = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>On bees</title><link href="http://x/1"/>
    <author><name>Ann</name></author><updated>2024-12-09</updated>
    <content type="html">&lt;p&gt;Bees.&lt;/p&gt;</content>
    </entry></feed>"""
    found = document("a.atom", feed)

    assert (found.text, found.date, found.metadata) == (
        "Bees.",
        "2024-12-09",
        {"author": "Ann", "link": "http://x/1"},
    )


# Mail

MAIL = """From: =?utf-8?q?Ren=C3=A9?= <rene@example.org>
To: Ann <ann@example.org>
Date: Mon, 09 Dec 2024 20:26:59 +0000
Subject: Bees
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: {type}

{body}
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename="report.pdf"

x
--b--
"""


@pytest.mark.parametrize(("kind", "body"), [("plain", "They dance."), ("html", "<p>They <b>dance</b>.</p>")])
def test_a_mail_is_its_headers_and_its_text_and_names_its_attachments(kind: str, body: str):
    mail = document("a.eml", MAIL.format(type=f"text/{kind}; charset=utf-8", body=body))
    head = (
        "From: René <rene@example.org>\nTo: Ann <ann@example.org>\nDate: "
        "Mon, 09 Dec 2024 20:26:59 +0000\nSubject: Bees"
    )

    assert mail.text == f"{head}\n\nThey dance."
    assert (mail.title, mail.date) == ("Bees", "2024-12-09T20:26:59+00:00")
    assert mail.metadata["attachments"] == "report.pdf"


def test_a_mail_or_a_feed_with_a_year_of_many_digits_is_read_all_the_same():
    day = f"Mon, 09 Dec {'2' * 20} 20:26:59 +0000"
    mail = MAIL.format(type="text/plain", body="They dance.").replace("Mon, 09 Dec 2024 20:26:59 +0000", day)
    feed = f"<rss><channel><item><title>Bees</title><pubDate>{day}</pubDate><description>Dance.</description></item>"

    assert day in document("a.eml", mail).text
    assert "Dance." in document("a.xml", f"{feed}</channel></rss>").text


def test_a_mail_of_an_unknown_encoding_or_with_broken_headers_is_read_all_the_same():
    odd = MAIL.format(type="text/plain; charset=klingon", body="They dance.").replace(
        "Mon, 09 Dec", "Someday,"
    )

    assert "They dance." in document("a.eml", odd).text
    assert document("a.eml", odd).date is None


def test_a_text_that_is_no_mail_says_so():
    assert "is not a mail message" in reason("a.eml", "Just text.\n\nMore.")


def of_outlook(monkeypatch: pytest.MonkeyPatch, streams: dict[str, bytes]) -> ParsedDocument:
    """Return the document of a message of Outlook with these streams."""

    class File(SimpleNamespace):
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def exists(self, name: str) -> bool:
            return name in streams

        def listdir(self) -> list[list[str]]:
            return [name.split("/") for name in streams]

        def openstream(self, name: str) -> Any:
            return SimpleNamespace(read=lambda: streams[name])

    monkeypatch.setattr(pytest.importorskip("olefile"), "OleFileIO", lambda data: File())
    (made,) = mail.parse("a.msg", OLE, Options())
    assert isinstance(made, ParsedDocument)
    return made


def test_a_message_of_outlook_is_read_with_its_headers(monkeypatch: pytest.MonkeyPatch):
    made = of_outlook(
        monkeypatch,
        {
            "__substg1.0_0037001F": "Über Bienen".encode("utf-16-le"),
            "__substg1.0_0E04001E": b"Ben Cole; Cy Dunn\0",
            "__substg1.0_007D001F": "From: Ada <ada@b.de>\r\nDate: Fri, 3 May 2024 12:30:00 +0200\r\n".encode(
                "utf-16-le"
            ),
            "__substg1.0_10130102": b"<p>The hive is <b>full</b>.</p>",
            "__attach_version1.0_#00000000/__substg1.0_3707001F": "hive.pdf".encode("utf-16-le"),
        },
    )
    assert made.title == "Über Bienen"
    assert made.date == "2024-05-03T12:30:00+02:00"
    assert made.text.startswith("From: Ada <ada@b.de>\nTo: Ben Cole; Cy Dunn\n")
    assert made.text.endswith("The hive is full.")
    assert made.metadata["attachments"] == "hive.pdf"


def test_a_message_in_rich_text_only_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DocumentError, match="rich text only"):
        of_outlook(monkeypatch, {"__substg1.0_0037001E": b"Bees\0", "__substg1.0_10090102": b"LZFu"})


def test_what_is_no_message_of_outlook_says_so():
    assert "not an Outlook message" in reason("a.msg", b"From: me")
