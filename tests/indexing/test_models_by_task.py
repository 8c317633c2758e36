"""Each task uses the model of the settings: rules may extract while a language model writes the reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.configuration import load
from conspectus.errors import SettingsError
from conspectus.tasks.base import TASKS

FAST = {"ExtractGraph": "extractive", "DescribeElement": "extractive"}


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour()) as server:
        yield server


def asked(server: SimulatedServer) -> dict[str, int]:
    """Return how often each task was requested."""
    return {task: n for task, n in server.counts.items() if task in TASKS}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for document in documents():
        (folder / f"{document['id']}.txt").write_text(document["text"], encoding="utf-8")
    return folder


def test_rules_extract_and_the_model_writes_the_reports_as_estimated(
    server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"folder": tmp_path / "index", "settings": settings(server.url, llm__tasks=FAST)}
    estimate = conspectus.estimate(corpus, **how)
    assert asked(server) == {}

    index = conspectus.build(corpus, **how).index

    assert asked(server) == {"WriteReport": sum(not report.brief for report in index.reports)}
    (row,) = estimate.tasks
    assert (row.task, row.calls) == ("WriteReport", (server.counts["WriteReport"],) * 2)
    took = index.usage["WriteReport"].prompt_tokens
    assert row.prompt_tokens.low <= 1.05 * took
    assert row.prompt_tokens.high >= 0.95 * took


def test_the_graph_is_that_of_an_index_without_a_model(
    server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    chosen = settings(server.url, llm__tasks=FAST)
    fast = conspectus.build(corpus, tmp_path / "fast", settings=chosen).index
    plain = conspectus.build(
        corpus, tmp_path / "plain", settings={k: v for k, v in chosen.items() if "." in k[:6]}
    ).index

    assert list(fast.entities) == list(plain.entities)
    assert list(fast.relationships) == list(plain.relationships)


def test_one_task_may_have_a_language_model_where_rules_do_the_others(
    server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    chosen = settings(server.url, llm__tasks={"WriteReport": "simulated"}) | {"model": "extractive"}
    index = conspectus.build(corpus, tmp_path / "index", settings=chosen).index

    assert set(asked(server)) == {"WriteReport"}
    assert conspectus.status_of(index).models == {
        "extractive": ("ExtractGraph", "DescribeElement"),
        "simulated": ("WriteReport",),
    }
    (snapshot,) = api.history(tmp_path / "index")
    assert snapshot.models == conspectus.status_of(index).models


def test_an_index_remembers_which_model_did_what(
    server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    by = {"WriteReport": "simulated"}
    chosen = settings(server.url, llm__tasks=by) | {"model": "extractive"}
    conspectus.build(corpus, tmp_path / "index", settings=chosen)
    calls = server.counts["WriteReport"]
    sizes = {key: value for key, value in chosen.items() if key.startswith("chunk.")}

    assert conspectus.build(corpus, tmp_path / "index", settings=sizes).update.up_to_date

    (corpus / "new.txt").write_text("Ada Byrne met Bo Quill and Dora Pask in Otter Bank.", encoding="utf-8")
    updated = conspectus.build(corpus, tmp_path / "index", settings=sizes)
    assert not updated.update.rebuild_reasons
    assert calls < server.counts["WriteReport"] < 2 * calls
    assert set(asked(server)) == {"WriteReport"}


def test_an_answer_that_is_selected_is_not_told_as_written(
    server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    index = conspectus.build(corpus, tmp_path / "index").index
    by = {"AnswerFromContext": "extractive"}

    answer = index.ask("What did Ada Byrne do?", method="local", settings=settings(server.url, llm__tasks=by))

    assert asked(server) == {}
    assert answer.notices == ()
    assert answer.citations


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ({"WriteReports": "extractive"}, "given.*WriteReports.*did you mean WriteReport"),
        ({"ExtractTriples": "extractive"}, "ExtractTriples needs a language model"),
    ],
)
def test_a_task_that_is_none_or_that_rules_cannot_do_is_an_error_before_anything_is_asked(
    by: dict[str, str], reason: str, server: SimulatedServer, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=reason):
        conspectus.build(corpus, tmp_path / "index", settings=settings(server.url, llm__tasks=by))
    assert asked(server) == {}


def test_the_models_of_tasks_come_from_all_sources_together(tmp_path: Path) -> None:
    file = tmp_path / "conspectus.toml"
    file.write_text('[llm]\ntasks = { WriteReport = "a/x", MapAnswer = "a/y" }\n')
    environ = {"CONSPECTUS_LLM_TASKS": '{ ExtractGraph = "extractive" }'}

    loaded = load({"llm.tasks": '{ MapAnswer = "a/z" }'}, file=file, environ=environ)

    assert loaded.settings.llm.tasks == {
        "WriteReport": "a/x",
        "MapAnswer": "a/z",
        "ExtractGraph": "extractive",
    }
