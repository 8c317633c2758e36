"""Three short documents in each of further languages: no result is empty, and no line mixes two languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import conspectus
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.settings import Settings

TEXTS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "data/short_tongues.json").read_text(encoding="utf-8")
)
ASKED = {
    "it": ("Quali sono i temi principali?", "Chi fondò la Cooperativa Valverde?"),
    "pt": ("Quais são os temas principais?", "Quem fundou a Cooperativa Rio Claro?"),
    "nl": ("Wat zijn de belangrijkste thema's?", "Wie richtte de Coöperatie Waterland op?"),
    "he": ("מהם הנושאים העיקריים?", "מי ייסדה את האגודה השיתופית?"),
    "ko": ("주요 주제는 무엇입니까?", "푸른숲 협동조합을 누가 설립했습니까?"),
    "hi": ("मुख्य विषय क्या हैं?", "हिमालय सहकारी समिति की स्थापना किसने की?"),
    "tr": ("Ana konular nelerdir?", "Işıklı Kooperatifi'ni kim kurdu?"),
    "pl": ("Jakie są główne tematy?", "Kto założył Spółdzielnię Zielony Dół?"),
    "el": ("Ποια είναι τα κύρια θέματα;", "Ποιος ίδρυσε τον Συνεταιρισμό Ολύμπου;"),
}
"""For each corpus: a question about all of it, and one about a fact: who founded something."""
NAMES = {
    "it": {"Giulia Ferrante": "person", "Cooperativa Valverde": "organization"},
    "pt": {"Inês Carvalho": "person", "Cooperativa Rio Claro": "organization"},
    "nl": {"Femke de Vries": "", "Jan van der Berg": "person", "Coöperatie Waterland": "organization"},
    "he": {"מרים כהן": "", "דוד לוי": "person"},
    "ko": {"김민지": "person", "박준호": "person", "푸른숲 협동조합": "organization", "춘천시": "location"},
    "hi": {"सुनीता शर्मा": "", "रमेश गुप्ता": "person", "हिमालय सहकारी समिति": "organization"},
    "tr": {
        "Ayşe Yıldırım": "person",
        "Ege Üniversitesi": "organization",
        "Işıklı Kooperatifi": "organization",
    },
    "pl": {"Małgorzata Wiśniewska": "person", "Bank Śląski": "organization"},
    "el": {"Ελένη Παπαδοπούλου": "person", "Νίκος Γεωργίου": "person", "Τράπεζα Μακεδονίας": "organization"},
}
"""Names that must be found, with their types if the words show one; the first is the founder."""


@pytest.fixture(scope="module", params=ASKED)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Index]:
    language: str = request.param
    documents = [{"text": text, "path": f"{n}.txt"} for n, text in enumerate(TEXTS[language])]
    return language, conspectus.build(documents=documents, folder=tmp_path_factory.mktemp(language)).index


def test_names_are_whole_and_typed(built: tuple[str, Index]):
    language, index = built
    found = {entity.name: entity.type for entity in index.entities}

    assert index.languages == (language,)
    assert {name: kind and found.get(name) for name, kind in NAMES[language].items()} == NAMES[language]
    assert NAMES[language].keys() <= found.keys()


def test_reports_tell_in_the_language_what_is_linked(built: tuple[str, Index]):
    language, index = built
    linked = wording(language).links.partition("{")[0]

    least = Settings().reports.min_report_entities  # smaller communities have brief reports
    full = [r for r in index.reports if len(index.communities[r.community].entity_numbers) >= least]
    assert full
    assert all(linked in report.summary for report in full)


def test_questions_are_answered_in_their_language(built: tuple[str, Index]):
    language, index = built
    of_all, of_fact = (conspectus.ask(question, index) for question in ASKED[language])

    assert of_all.method == "global"
    assert next(iter(NAMES[language])) in of_fact.text
    for answer in (of_all, of_fact):
        assert answer.language == language
        assert answer.citations
        assert answer.text.startswith(f"*{wording(language).assembled}*")
