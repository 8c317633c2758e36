"""Corpora in several languages, from their documents to answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.index import Index
from conspectus.index_status import status_of
from conspectus.messages import wording

TONGUES: dict[str, list[dict[str, str]]] = json.loads(
    (Path(__file__).parent / "data/tongues.json").read_text(encoding="utf-8")
)
ASKED = {
    "de": ("Was sind die Hauptthemen?", "Wer gründete die Imkergenossenschaft Sonnental?", "Jürgen Weiß"),
    "fr": ("Quels sont les thèmes principaux ?", "Qui a fondé la coopérative Rivebelle ?", "Yann Le Goff"),
    "es": ("¿Cuáles son los temas principales?", "¿Quién fundó la cooperativa Valle Alto?", "Tomás Ibarra"),
    "ru": ("Каковы основные темы?", "Кто основал кооператив «Северный берег»?", "Иван Соколов"),
    "ar": ("ما هي المواضيع الرئيسية؟", "من أسس جمعية النخيل؟", "سالم الخطيب"),
    "ja": ("主なテーマは何ですか？", "青葉養蜂組合は誰が設立しましたか？", "佐藤健一"),
    "zh": ("这些文档的主要主题是什么？", "谁创办了青叶合作社？", "李晓梅"),
}
"""For each corpus: a question about all of it, a question about a fact, and a name in the expected answer."""
ENGLISH = re.compile(
    r"\b(?:sources?|quotations?|assembled|language model|report|entit(?:y|ies)|and|on|more|this|the|it stands|unnamed)\b",  # noqa: E501
    re.IGNORECASE,
)
SAME_ELSEWHERE = re.compile(r"\b(?:on|sources)\b")
"""French words with the spelling of English words."""


def documents(*languages: str) -> list[dict[str, str]]:
    return [{**row, "path": f"{code}/{n}.txt"} for code in languages for n, row in enumerate(TONGUES[code])]


@pytest.fixture(scope="module", params=ASKED)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Index]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(language)
    return language, conspectus.build(documents=documents(language), folder=folder).index


def without_english(text: str) -> bool:
    return not ENGLISH.search(SAME_ELSEWHERE.sub("", re.sub(r"\[Data: [^]]*\]", "", text)))


def test_the_language_is_told_and_kept(built: tuple[str, Index]):
    language, index = built

    assert index.languages == (language,)
    assert status_of(index).languages == {language: len(TONGUES[language])}


def test_the_graph_has_entities_and_relationships(built: tuple[str, Index]):
    _, index = built

    assert len(index.entities) >= 10
    assert len(index.relationships) >= 10
    assert len(index.reports) >= 2


def test_reports_are_in_the_language_of_the_corpus(built: tuple[str, Index]):
    _, index = built

    for report in index.reports:
        assert without_english(f"{report.title} {report.summary} {report.rating_explanation}")
        assert all(without_english(f"{f.summary} {f.explanation}") for f in report.findings)


def test_a_question_about_all_is_answered_from_the_reports_in_its_language(built: tuple[str, Index]):
    language, index = built
    answer = conspectus.ask(ASKED[language][0], index)

    assert answer.method == "global"
    assert answer.text.startswith(f"*{wording(language).assembled}*")
    assert answer.citations
    assert without_english(answer.text)


@pytest.mark.parametrize("method", ["auto", "bm25", "walk", "local"])
def test_a_fact_is_found_by_words_in_other_forms(built: tuple[str, Index], method: str):
    language, index = built
    answer = conspectus.ask(ASKED[language][1], index, method=method)

    assert ASKED[language][2] in answer.text
    assert without_english(answer.text)


def test_citations_lead_to_the_sentence_that_is_quoted(built: tuple[str, Index]):
    language, index = built
    answer = conspectus.ask(ASKED[language][1], index, method="bm25")
    cited = [source.text for citation in answer.citations for source in citation.sources]
    quoted = [
        line.removeprefix("- ").rpartition(" [")[0]
        for line in answer.text.splitlines()
        if line.startswith("- ")
    ]

    assert [" ".join(text.split()) for text in cited] == quoted


def test_nothing_found_is_said_in_the_language_of_the_question(built: tuple[str, Index]):
    _, index = built

    assert conspectus.ask(
        "¿Quién y cuándo vio a las jirafas en el zoológico?", index, method="bm25"
    ).text.startswith((wording("es").nothing, f"*{wording('es').assembled}*"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return conspectus.build(
        documents=documents("zh", "de", "fr"), folder=tmp_path_factory.mktemp("mixed")
    ).index


def test_a_mixed_corpus_is_searched_in_all_of_its_languages(mixed: Index):
    assert set(mixed.languages) == {"zh", "de", "fr"}
    for language in mixed.languages:
        _, question, name = ASKED[language]
        answer = conspectus.ask(question, mixed, method="bm25")
        assert name in answer.text
        assert answer.text.startswith(f"*{wording(language).assembled}*")
        assert answer.citations[0].sources[0].document.startswith(f"{language}/")


def test_reports_of_a_mixed_corpus_are_in_the_language_of_what_they_tell(mixed: Index):
    told = [wording(code).links.partition("{")[0] for code in ("zh", "de", "fr")]

    used = {start for report in mixed.reports for start in told if start in report.summary}
    assert used == set(told)


def settings(server: SimulatedServer, trace: Path, **more: str) -> dict[str, Any]:
    return {
        "model": "simulated", "llm.base_url": server.url, "llm.trace": str(trace), "llm.trace_texts": True,
        **more,
    }  # fmt: skip


def lines(trace: Path) -> list[str]:
    """Return the traced calls, with non-ASCII letters unescaped."""
    rows = trace.read_text(encoding="utf-8").splitlines()
    return [json.dumps(json.loads(row), ensure_ascii=False) for row in rows]


@pytest.mark.parametrize(("language", "says"), [("zh", "以下类型"), ("de", "German")])
def test_a_language_model_is_asked_in_the_language_of_the_corpus(tmp_path: Path, language: str, says: str):
    """Chinese has Chinese prompts; other languages have English prompts that name the language to write in."""
    trace = tmp_path / "trace.jsonl"
    with SimulatedServer(Behaviour()) as server:
        conspectus.build(
            documents=documents(language), folder=tmp_path / "index", settings=settings(server, trace)
        )
    asked = [line for line in lines(trace) if "ExtractGraph" in line]

    assert asked
    assert all(says in line for line in asked)


def test_a_language_that_is_set_is_that_of_the_prompts(tmp_path: Path):
    trace = tmp_path / "trace.jsonl"
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server, trace, language="zh")
        index = conspectus.build(documents=documents("de"), folder=tmp_path / "index", settings=chosen).index

    assert index.languages == ("zh", "de")
    assert any("以下类型" in line for line in lines(trace))
