"""A question about a name is answered in every language that has wordings, whatever the language of the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

import conspectus
from conspectus.index import Index
from conspectus.messages import LANGUAGES

WHO = {
    "ar": "من هي Dorothea Quill؟",
    "de": "Wer ist Dorothea Quill?",
    "el": "Ποια είναι η Dorothea Quill;",
    "en": "Who is Dorothea Quill?",
    "es": "¿Quién es Dorothea Quill?",
    "fr": "Qui est Dorothea Quill ?",
    "he": "מי זאת Dorothea Quill?",
    "hi": "Dorothea Quill कौन है?",
    "it": "Chi è Dorothea Quill?",
    "ja": "Dorothea Quillとは誰ですか？",
    "ko": "Dorothea Quill은 누구입니까?",
    "nl": "Wie is Dorothea Quill?",
    "pl": "Kim jest Dorothea Quill?",
    "pt": "Quem é Dorothea Quill?",
    "ru": "Кто такая Dorothea Quill?",
    "tr": "Dorothea Quill kimdir?",
    "zh": "谁是 Dorothea Quill?",
}
WHEN = {
    "ar": "متى توفيت Dorothea Quill؟",
    "de": "Wann starb Dorothea Quill?",
    "el": "Πότε πέθανε η Dorothea Quill;",
    "en": "When did Dorothea Quill die?",
    "es": "¿Cuándo murió Dorothea Quill?",
    "fr": "Quand Dorothea Quill est-elle morte ?",
    "he": "מתי מתה Dorothea Quill?",
    "hi": "Dorothea Quill की मृत्यु कब हुई?",
    "it": "Quando è morta Dorothea Quill?",
    "ja": "Dorothea Quillはいつ亡くなりましたか？",
    "ko": "Dorothea Quill은 언제 죽었습니까?",
    "nl": "Wanneer stierf Dorothea Quill?",
    "pl": "Kiedy zmarła Dorothea Quill?",
    "pt": "Quando morreu Dorothea Quill?",
    "ru": "Когда умерла Dorothea Quill?",
    "tr": "Dorothea Quill ne zaman öldü?",
    "zh": "Dorothea Quill 什么时候去世?",
}
WHAT = {
    "ar": "ما هو Sandle Bank؟",
    "de": "Was ist Sandle Bank?",
    "el": "Τι είναι το Sandle Bank;",
    "en": "What is Sandle Bank?",
    "es": "¿Qué es Sandle Bank?",
    "fr": "Qu'est-ce que Sandle Bank ?",
    "he": "מה זה Sandle Bank?",
    "hi": "Sandle Bank क्या है?",
    "it": "Che cos'è Sandle Bank?",
    "ja": "Sandle Bankとは何ですか？",
    "ko": "Sandle Bank는 무엇입니까?",
    "nl": "Wat is Sandle Bank?",
    "pl": "Co to jest Sandle Bank?",
    "pt": "O que é Sandle Bank?",
    "ru": "Что такое Sandle Bank?",
    "tr": "Sandle Bank nedir?",
    "zh": "Sandle Bank 是什么?",
}


@pytest.fixture(scope="module")
def index(sample_index: Path) -> Index:
    return conspectus.open_index(sample_index)


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_somebody_is_can_be_asked_in_every_language(language: str, index: Index) -> None:
    answer = conspectus.ask(WHO[language], index)
    assert answer.language == language
    assert "Dorothea Quill" in answer.text
    assert answer.citations
    assert not answer.notices


@pytest.mark.parametrize("language", LANGUAGES)
def test_when_something_happened_can_be_asked_in_every_language(language: str, index: Index) -> None:
    answer = conspectus.ask(WHEN[language], index)
    assert answer.language == language
    assert "Quill" in answer.text
    assert answer.citations


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_something_is_can_be_asked_in_every_language(language: str, index: Index) -> None:
    answer = conspectus.ask(WHAT[language], index)
    assert answer.language == language
    assert "Sandle Bank" in answer.text
    assert answer.citations


@pytest.mark.parametrize(
    "question", ["Wer ist Albert Einstein?", "¿Quién es Albert Einstein?", "Кто такой Einstein?"]
)
def test_who_is_in_no_document_is_told_by_name(question: str, index: Index) -> None:
    answer = conspectus.ask(question, index)
    assert not answer.citations
    assert any("Einstein" in notice for notice in answer.notices)
    assert not any("Quién" in notice for notice in answer.notices)


def test_a_subject_that_no_document_has_is_not_answered_with_the_whole_corpus(index: Index) -> None:
    assert not conspectus.ask("Was ist Photosynthese?", index).citations


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Dagny Voß trat im Herbst als Kassenwartin zurück.", "Was geschah mit Dagny Voß?"),
        ("Dagny Voss a quitté la caisse du port en automne.", "Qu'est-il arrivé à Dagny Voss ?"),
        ("Dagny Voss dejó la caja del puerto en otoño.", "¿Qué le pasó a Dagny Voss?"),
        ("Dagny Voss ha lasciato la cassa del porto in autunno.", "Che cosa è successo a Dagny Voss?"),
        ("Dagny Voss odeszła jesienią ze stanowiska skarbnika.", "Co się stało z Dagny Voss?"),
        ("Дагни Восс осенью ушла с должности казначея порта.", "Что случилось с Дагни Восс?"),
    ],
)
def test_what_happened_to_somebody_is_answered_by_what_names_them(
    text: str, question: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    index = conspectus.build(str(tmp_path), tmp_path / "index").index
    assert text in conspectus.ask(question, index).text
