"""Tests of telling the encoding of texts that are not UTF-8."""

from __future__ import annotations

import pytest

from conspectus.formats.text import decode

FRENCH = (
    "Le conseil a décidé, après un débat animé, que l'école fermerait à la rentrée ; l'accueil est prévu à Orléans."
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
    assert decode(text.encode(encoding)) == text
