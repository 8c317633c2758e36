"""Tests of detecting the encoding of texts that are not UTF-8."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conspectus.indexing.read import read
from conspectus.readers.encodings import decode
from conspectus.settings import ReadSettings

FRENCH = (
    "Le conseil a décidé, après un débat animé, que l'école fermerait "
    "à la rentrée ; l'accueil est prévu à Orléans."
)
SPANISH = "El señor Núñez vive en Málaga desde hace años. La compañía está en el corazón de la ciudad."
GERMAN = "Die Straße in München ist größer als früher, sagte Jürgen Müller."
POLISH = "Łódź jest piękna, mówi Żaneta, która od dziesięciu lat mieszka w śródmieściu."
CZECH = "Škoda v Čechách má původ v Plzni, říká ředitel závodu, který letos slaví třicáté výročí."
TURKISH = "İstanbul güzel bir şehirdir, dağlar ve deniz arasında yaşayan insanlar için, dedi Ayşe Yılmaz."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        (FRENCH * 20, "cp1252"),
        (FRENCH, "mac_roman"),
        (SPANISH, "cp1252"),
        (SPANISH[:14], "cp1252"),
        (GERMAN, "cp1252"),
        (GERMAN, "cp850"),
        ("text;title\nMüller wohnt in Köln.;Brief\n", "cp1252"),
        ("Zoë", "cp1252"),
        ("It’s a “quoted” text – for 5 €.", "cp1252"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859_2"),
        (CZECH, "cp1250"),
        (CZECH, "iso8859_2"),
        (TURKISH, "cp1254"),
        ("Привет, Москва! Это текст.", "cp1251"),
        ("Привет, Москва! Это текст.", "koi8-r"),
        ("Ελληνικά κείμενο στην Αθήνα.", "cp1253"),
        ("名前,年齢,住所\n佐藤太郎,30,東京", "cp932"),
        ("中文文本，北京大学。", "gb18030"),
    ],
)
def test_a_text_that_states_no_encoding_is_read_in_its_own(text: str, encoding: str):
    assert decode(text.encode(encoding)).text == text


# Damage affects only the damaged characters

CORPORA: dict[str, str] = {
    language: "\n".join(d if isinstance(d, str) else d["text"] for d in documents)
    for name in ("tongues.json", "short_tongues.json")
    for language, documents in json.loads(
        (Path(__file__).parents[1] / "data" / name).read_text("utf-8")
    ).items()
} | {
    "en": "The “old” weir—built in 1962—held. It cost £40, and a café lunch for Zoë. In spring it broke: “Nobody "
    "looked at the gauge,” says the miller’s report. The board asked for £900 – and got £300. Mara Tolan paid the rest."
}


def lost(text: str, other: str) -> int:
    """Return how many characters of a text are missing in the other, in order."""
    blocks = SequenceMatcher(None, text, other, autojunk=False).get_matching_blocks()
    return len(text) - sum(block.size for block in blocks)


@pytest.mark.parametrize("language", CORPORA)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_damaged_byte_of_utf8_costs_its_character_and_is_counted(language: str, data: st.DataObject):
    text = CORPORA[language][:600]
    damaged = bytearray(text.encode())
    byte = st.integers(32, 255).filter(lambda b: b != 127)  # many control characters make a file binary
    for at, value in data.draw(st.dictionaries(st.integers(0, len(damaged) - 1), byte, max_size=4)).items():
        damaged[at] = value
    changed = sum(a != b for a, b in zip(damaged, text.encode(), strict=True))
    assume(not damaged.startswith((b"\xff\xfe", b"\xfe\xff")))
    # with more damage than non-ASCII characters, the text may look like another encoding
    assume(changed <= max(sum(not c.isascii() for c in text), 1))
    decoded = decode(bytes(damaged))

    assert lost(text, decoded.text) <= changed
    assert len(decoded.text) <= len(text) + 2 * changed
    if decoded.encoding == "utf-8":
        assert bool(decoded.invalid) == ("\ufffd" in decoded.text)


def test_utf8_with_as_many_damaged_bytes_as_accents_is_not_taken_for_words_with_lines_of_boxes_inside():
    text = CORPORA["nl"][:600]
    damaged = bytearray(text.encode())
    for at in (0, 1, 385):
        damaged[at] = 128

    assert lost(text, decode(bytes(damaged)).text) <= 3


@pytest.mark.parametrize("language", CORPORA)
def test_one_invalid_byte_is_one_replacement_and_named_by_its_offset(language: str):
    text = CORPORA[language]
    at = len(text[:100].encode())
    data = text.encode()

    decoded = decode(data[:at] + b"\xff" + data[at:])
    assert decoded == (f"{text[:100]}\ufffd{text[100:]}", "utf-8", 1, at, False)
    (warning,) = decoded.warnings("a.txt")
    assert (warning.document, warning.invalid_bytes, warning.first_offset) == ("a.txt", 1, at)


@pytest.mark.parametrize("text", ["Nothing but ASCII. " * 9, "Only one é in it. " + "And more. " * 9])
def test_one_invalid_byte_in_hardly_anything_but_ascii_is_counted(text: str):
    decoded = decode(text.encode() + b"\xff")

    assert (decoded.text, decoded.invalid) == (f"{text}\ufffd", 1)


def test_a_stray_nul_is_a_damaged_byte():
    decoded = decode((GERMAN * 9).encode().replace(b"J", b"\0", 1))

    assert (decoded.text, decoded.invalid) == ((GERMAN * 9).replace("J", "\ufffd", 1), 1)


def test_a_character_that_lost_its_first_byte_is_one_replacement():
    decoded = decode("蜜蜂跳舞".encode().replace("蜂".encode(), b"\xff" + "蜂".encode()[1:]))

    assert (decoded.text, decoded.invalid) == ("蜜\ufffd跳舞", 3)


def test_a_replacement_character_that_a_file_holds_is_no_damage():
    assert decode("lost: \ufffd\ufffd".encode()) == ("lost: \ufffd\ufffd", "utf-8", 0, -1, False)


@pytest.mark.parametrize("mostly", ["utf-8", "cp1252"])
def test_a_file_of_two_encodings_is_read_as_what_most_of_it_is(mostly: str):
    seldom = "cp1252" if mostly == "utf-8" else "utf-8"
    decoded = decode((GERMAN * 20).encode(mostly) + GERMAN.encode(seldom))

    assert decoded.encoding == mostly
    assert decoded.text.startswith(GERMAN * 20)


def test_bytes_that_are_undefined_in_an_old_encoding_cost_themselves():
    decoded = decode(f"{GERMAN}#{GERMAN}".encode("cp1252").replace(b"#", b"\x81"))

    assert decoded.text == f"{GERMAN}\ufffd{GERMAN}"
    assert (decoded.encoding, decoded.invalid, decoded.guessed) == ("cp1252", 1, True)


@pytest.mark.parametrize("stated", ["utf-8", "iso-8859-1", "no-such-encoding", "hex"])
def test_what_a_page_states_of_itself_does_not_outweigh_what_most_of_it_is(stated: str):
    decoded = decode(GERMAN.encode() + b"\xe9", stated)

    assert (decoded.text, decoded.encoding) == (f"{GERMAN}\ufffd", "utf-8")


def test_an_encoding_that_is_stated_and_right_is_no_reason_to_warn():
    decoded = decode("名前と住所".encode("iso2022_jp"), "iso-2022-jp")
    assert (decoded.text, decoded.warnings("a")) == ("名前と住所", ())
    decoded = decode(POLISH.encode("iso8859_2"), "iso-8859-2")
    assert (decoded.text, decoded.warnings("a")) == (POLISH, ())


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.jsonl", "a.srt", "a.html", "a.xml", "a.eml"])
def test_every_kind_of_text_file_is_read_with_its_damage_named(tmp_path: Path, name: str):
    contents = {
        "a.csv": f"title;text\nOn it;{GERMAN * 9}\n",
        "a.jsonl": json.dumps({"text": GERMAN * 9}, ensure_ascii=False),
        "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{GERMAN * 9}\n",
        "a.html": f'<html><head><meta charset="utf-8"></head><body><p>{GERMAN * 9}</p></body></html>',
        "a.xml": f'<?xml version="1.0" encoding="UTF-8"?><a>{GERMAN * 9}</a>',
        "a.eml": f"From: a@b.c\nContent-Type: text/plain; charset=utf-8\n\n{GERMAN * 9}\n",
    }
    data = contents.get(name, GERMAN * 9).encode().replace("Jürgen".encode(), b"J\xffrgen", 1)
    (tmp_path / name).write_bytes(data)
    documents, failures, _, (warning,) = read([tmp_path], ReadSettings())

    assert not failures
    assert GERMAN.replace("Jü", "J\ufffd") + GERMAN in documents[0].text
    assert warning.document.endswith(name)
    assert warning.invalid_bytes == 1
