"""Names and concepts by the rules of languages other than English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import some_documents

from conspectus.rows import Document
from conspectus.text.language import GRAMMARS, with_languages
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.names import find_names
from conspectus.text.vocabulary import read_vocabulary

TONGUES = json.loads((Path(__file__).parents[1] / "data/tongues.json").read_text(encoding="utf-8"))


def read(*languages: str) -> Lexicon:
    texts = [row["text"] for language in languages for row in TONGUES[language]]
    return read_lexicon(with_languages(some_documents(*texts)))


def typed(lexicon: Lexicon) -> dict[str, str]:
    return dict(zip(lexicon.names, lexicon.types, strict=True))


NAMES = {
    "de": "person: Anna Becker, Jürgen Weiß, Miriam Özdemir, Karl Lindner; organization: Imkergenossenschaft "
    "Sonnental, Universität Hohenheim, Deutsche Bank, Badische Zeitung; location: Freiburg; date: 12. März 1987; "
    "work: Das stille Volk",
    "fr": "person: Hélène Dubois, Armand Kervella, Fatou Diallo; organization: Université de Rennes, Musée de la "
    "Pêche, Banque de Bretagne; concept: Yann Le Goff, énergie marémotrice; date: 4 mars 1962; work: Les Gens du vent",
    "es": "person: Lucía Fernández, Tomás Ibarra, Inés Olmedo; organization: Universidad de Salamanca, Ministerio de "
    "Agricultura; location: Sierra de Albarracín, Madrid; concept: La Voz del Júcar; work: Caminos de sal",
    "ru": "person: Анна Петрова, Иван Соколов, Мария Лебедева, Сергей Волков; organization: Музей Белого моря, "
    "Московского университета; work: Ветер с моря, Северный берег; date: 5 июня 1991",
    "ar": "person: ليلى حداد, سالم الخطيب, كمال عزيز; organization: جمعية النخيل, جامعة بغداد, بنك الرافدين; "
    "location: البصرة; work: ظل النخلة",
    "zh": "person: 李晓梅, 王建国, 周明, 陈志远; organization: 浙江大学, 金华银行, 青叶合作社, 金华蜜蜂博物馆; "
    "location: 金华市, 浙江省; work: 沉默的蜂群, 金华晚报",
    "ja": "person: 田中和子, 佐藤健一, 高橋; organization: 青葉養蜂組合, 信州大学, 長野銀行, 松本ミツバチ博物館; "
    "location: 松本市, 長野県, 安曇野市; work: 静かな群れ",
}


def told(names: str) -> dict[str, str]:
    """Parse `person: A, B; work: C` into the types of A, B and C."""
    parts = [part.split(": ") for part in names.split("; ")]
    return {name: kind for kind, listed in parts for name in listed.split(", ")}


@pytest.mark.parametrize("language", NAMES)
def test_names_are_found_with_their_types(language: str):
    found = typed(read(language))
    wanted = told(NAMES[language])

    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "de",
            "Sommer Winter Mühle Gemeinde Besucher Prüfung Gründern Königin Werkstatt Ernte Vertrag Krankheit Imker",
        ),
        ("fr", "La Le Ce Deux Une Les Elle En"),
        ("es", "La El En Hoy Los Al Cincuenta"),
        ("ru", "Его Сначала Первую Рыбаки Мастера Учёные Верфь Деньги"),
    ],
)
def test_common_words_with_a_capital_are_no_names(language: str, words: str):
    """In languages with capitalised nouns, and for the first word of a sentence."""
    found = typed(read(language))

    assert not [word for word in words.split() if found.get(word) not in (None, "concept")]
    assert not {name for name in found if " " not in name} & {
        "Mühle",
        "Gemeinde",
        "Werkstatt",
        "Его",
        "La",
        "El",
        "Le",
    }


def test_cases_of_a_name_are_one():
    assert [name for name in read("ru").names if "Петров" in name] == ["Анна Петрова"]
    assert [name for name in read("de").names if "Bank" in name] == ["Deutsche Bank"]


def test_a_german_noun_is_a_name_beside_what_tells_so():
    sentences = [
        "Der Chef der Deutschen Bank traf Frau Kling an der Universität Kassel.",
        "Die Bienen flogen über den Garten zu den Blumen.",
    ]
    found = {" ".join(m.words) for m in find_names(read_vocabulary(sentences, ["de", "de"]))}

    assert {"Deutschen Bank", "Kling"} <= found
    assert not found & {"Chef", "Bienen", "Garten", "Blumen"}


def test_two_german_nouns_side_by_side_are_no_person():
    text = (
        "In der Küche stand die Dose Bohnen neben dem Herd. Die Dose Bohnen war offen. Quorl Zorba lachte. "
        "Er gab eine Dose Bohnen an Quorl Zorba. Die Bohnen schmeckten, und die Dose war leer."
    )
    found = typed(read_lexicon(with_languages(some_documents(text))))

    assert found.get("Quorl Zorba") == "person"
    assert "person" not in {kind for name, kind in found.items() if "Bohnen" in name}


def test_each_document_of_a_mixed_corpus_is_read_by_its_own_rules():
    alone, mixed = read("de"), read("fr", "de", "ja")

    assert set(alone.names) <= set(mixed.names)
    assert {n: t for n, t in typed(mixed).items() if n in alone.names} == typed(alone)


def test_names_that_two_languages_share_are_one():
    documents = with_languages(
        some_documents(
            "The mayor of Basel met Anna Becker, and they spoke of what was to be done in Basel.",
            "Der Bürgermeister traf Anna Becker in Basel, und sie sprachen über das, was in Basel zu tun war.",
        )
    )
    lexicon = read_lexicon(documents)

    assert [d.language for d in documents] == ["en", "de"]
    assert lexicon.names.count("Anna Becker") == 1
    place = lexicon.names.index("Anna Becker")
    assert (lexicon.mentions == place).sum() == 2


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([*GRAMMARS, "zh", "th", "xx"]),
    st.lists(
        st.text(alphabet="aAäÖ ñß.,!?'’«»„“()0市局王小明。のガ서울ไทยالس והдЙ\n", max_size=60),
        min_size=1,
        max_size=3,
    ),
)
def test_no_text_in_any_language_is_too_odd_to_read(language: str, texts: list[str]):
    documents = [
        Document(str(i), i, "", text, "", metadata={"language": language}) for i, text in enumerate(texts)
    ]

    lexicon = read_lexicon(documents)

    assert len(lexicon.sentences.texts) == len(lexicon.starts) - 1 == len(lexicon.sentences.terms()[1]) - 1
