"""Prefixes of questions and passages when they are embedded."""

from __future__ import annotations

import pytest

from conspectus.models.embedders import known_prefixes


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("local:e5-small-v2@1cd06ac6cd93", "query: ", "passage: "),
        ("local:multilingual-e5-base@1cd06ac6cd93", "query: ", "passage: "),
        ("ollama/nomic-embed-text", "search_query: ", "search_document: "),
        (
            "local:bge-small-en-v1.5@1cd06ac6cd93",
            "Represent this sentence for searching relevant passages: ",
            "",
        ),
        ("local:bge-large-zh-v1.5@1cd06ac6cd93", "为这个句子生成表示以用于检索相关文章：", ""),
        ("local:bge-m3@1cd06ac6cd93", "", ""),
        ("local:all-MiniLM-L6-v2@1cd06ac6cd93", "", ""),
        ("openai/text-embedding-3-small", "", ""),
    ],
)
def test_families_that_need_prefixes_are_known_by_name(model: str, query: str, passage: str):
    assert known_prefixes(model) == (query, passage)


def test_an_instructed_model_has_its_instruction_before_questions_alone():
    query, passage = known_prefixes("local:multilingual-e5-large-instruct@1cd06ac6cd93")

    assert query.startswith("Instruct: ")
    assert passage == ""
