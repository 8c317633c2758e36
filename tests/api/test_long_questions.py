"""A question above the limit (a setting) is refused; below it, the cost is proportional to the length."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from making import a_built_index
from work import grows_linearly

import conspectus
from conspectus.conversation import Conversation
from conspectus.errors import UsageError
from conspectus.evaluation.qa import read_questions
from conspectus.index import Index
from conspectus.runtime import LONGEST_QUESTION

TOO_LONG = "Who rebuilt the weir? " * (LONGEST_QUESTION // 22 + 1)
SENTENCES = [
    f"Mara Tolan rebuilt weir {n} of Quenda{n} with mason Bruno{n} in the year {1700 + n}."
    for n in range(120)
]


@pytest.fixture(scope="module")
def index() -> Index:
    return a_built_index(*(" ".join(SENTENCES[at : at + 6]) for at in range(0, len(SENTENCES), 6)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: conspectus.ask(TOO_LONG, index),
        lambda index: conspectus.context(TOO_LONG, index, method="local"),
        lambda index: conspectus.search(TOO_LONG, index),
        lambda index: Conversation(index).ask(TOO_LONG),
    ],
    ids=["ask", "context", "search", "conversation"],
)
def test_a_question_over_the_limit_is_refused_with_the_limit(
    ask: Callable[[Index], object], index: Index
) -> None:
    with pytest.raises(UsageError, match=f"{LONGEST_QUESTION:,}"):
        ask(index)


@pytest.mark.parametrize("method", ["bm25", "local"])
def test_more_tokens_of_evidence_allow_a_longer_question(method: str, index: Index) -> None:
    settings = {"answer.context_tokens": len(TOO_LONG)}

    answer = conspectus.ask(TOO_LONG, index, method=method, settings=settings)

    assert "rebuilt weir" in answer.text
    assert conspectus.search(TOO_LONG, index, settings=settings)


def test_a_list_of_questions_with_one_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"_id": "1", "text": TOO_LONG, "answers": ["Mara Tolan"]}) + "\n")
    with pytest.raises(UsageError, match=f"{LONGEST_QUESTION:,}"):
        read_questions(path)


@pytest.mark.parametrize("length", [300, 900, 5000])
def test_a_question_longer_than_a_file_name_is_asked(length: int, index: Index) -> None:
    question = ("Who rebuilt the weir of Quenda3 " * (length // 30))[:length]
    assert conspectus.ask(question, index, method="local").question == question


@pytest.mark.parametrize("method", ["local", "global", "drift", "walk", "bm25", "tog"])
def test_the_work_grows_in_proportion_to_the_words_of_a_question(method: str, index: Index) -> None:
    calls = count()

    def ask(n: int) -> None:
        call = next(
            calls
        )  # other words in each call, because data about the words of earlier questions is cached
        words = " ".join(f"zorb{call}x{i}alp" for i in range(n))
        conspectus.ask(f"Who rebuilt weir 3 of Quenda3 by {words}?", index, method=method)

    assert grows_linearly(ask, 60)
