"""The whole pipeline, from documents to answers, on the bundled corpus."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from making import SEED

import conspectus
from conspectus.storage import store

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "src" / "conspectus" / "sample"
WORLD = json.loads((ROOT / "tests" / "data" / "sample_world.json").read_text(encoding="utf-8"))


def build_elsewhere(folder: Path, seed: str, sources: list[Path]) -> None:
    """Build an index in a separate process, with another hash seed."""
    program = "import sys, conspectus; conspectus.build(sys.argv[2:], sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", program, str(folder), *map(str, sources)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        check=True,
    )


def tables(folder: Path) -> dict[str, str]:
    """Return the hash of every file of the current snapshot."""
    files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    return {path: facts["sha256"] for path, facts in files.items()}


@pytest.fixture(scope="module")
def index(sample_index: Path) -> conspectus.Index:
    return conspectus.open_index(sample_index)


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed_and_the_order_of_the_files(
    tmp_path: Path,
) -> None:
    files = sorted(path for path in SAMPLE.rglob("*") if path.is_file())
    build_elsewhere(tmp_path / "a", "1", files)
    build_elsewhere(tmp_path / "b", "4242", files[::-1])

    assert tables(tmp_path / "a") == tables(tmp_path / "b")


def test_a_kill_at_any_moment_leaves_the_last_snapshot_readable(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    conspectus.build(SAMPLE / "gazette", folder)
    before = tables(folder)
    program = "import sys, conspectus; conspectus.build(sys.argv[2], sys.argv[1])"
    moments = random.Random(7 + SEED)
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-c", program, str(folder), str(SAMPLE)])
        time.sleep(moments.uniform(0.1, 2.0))
        child.send_signal(signal.SIGKILL)
        child.wait()

        now = tables(folder)
        assert len(store.read(folder, verify=True).documents) in (14, 43)
        assert now == before or len(store.read(folder).documents) == 43


@pytest.mark.parametrize("question", WORLD["global_questions"] + [q["question"] for q in WORLD["lookups"]])
def test_every_citation_leads_to_the_characters_that_it_shows(index: conspectus.Index, question: str) -> None:
    answer = conspectus.ask(question, index)

    texts = {document.path: document.text for document in index.documents}
    for citation in answer.citations:
        assert f"[{citation.marker}]" in answer.text
        assert citation.sources
        for source in citation.sources:
            assert texts[source.document][source.start : source.end] == source.text
    assert answer.removed_references == 0


@pytest.mark.parametrize("question", WORLD["absent"])
def test_what_nothing_in_the_corpus_speaks_to_is_not_answered(index: conspectus.Index, question: str) -> None:
    for method in ("auto", "global", "local"):
        answer = conspectus.ask(question, index, method=method)

        assert answer.citations == (), f"{method} answered: {answer.text}"


def test_a_question_about_the_whole_is_answered_by_its_themes(index: conspectus.Index) -> None:
    answer = conspectus.ask("What are the main themes of these documents?", index)

    assert answer.method == "global"
    assert len({source.document for c in answer.citations for source in c.sources}) >= 8
    found = [
        theme["name"]
        for theme in WORLD["themes"]
        if any(k.lower() in answer.text.lower() for k in theme["keywords"])
    ]
    assert len(found) >= 5
