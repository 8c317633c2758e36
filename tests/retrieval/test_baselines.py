"""The papers' remaining baselines: direct answers, chains of thought, RAPTOR and propositions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply, NotSupported
from conspectus.index import Index
from conspectus.index_models import open_embedders
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.messages import wording
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import METHODS, RANKINGS, baselines
from conspectus.retrieval.base import extractive, run_ready
from conspectus.settings import SearchSettings, Settings
from conspectus.storage import store
from conspectus.tasks import AnswerFromContext, Draft, DraftAnswer, SummarizePassages, WritePropositions


def an_index(*texts: str) -> Index:
    documents = [{"id": f"p{i}", "title": "", "text": text} for i, text in enumerate(texts)]
    return index_passages(read_texts(documents, Settings().read)[0], Settings())


BARGES = (
    "Rook is a barge. It sank at Kell.",
    "Heron is a barge. It burnt.",
    "Owls hoot at night.",
    "Owls hunt mice.",
)


async def test_what_most_chains_of_thought_come_to_is_the_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(baselines, "SAMPLES", 4)
    model = ScriptedModel(
        {DraftAnswer: [Draft("Kell", "a"), Draft("Lune", "b"), BadReply("x"), Draft("the Lune", "c")]}
    )

    answer = await baselines.self_consistency("Where?", Index(), model, Settings())

    assert answer.short == ("Lune",)
    assert answer.why == "2 of 3 chains of thought say so"
    assert [(task.stepwise, task.sample) for task in model.all_seen(DraftAnswer)] == [
        (True, n) for n in (1, 2, 3, 4)
    ]


async def test_a_failure_of_every_chain_is_a_failure_and_no_empty_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(baselines, "SAMPLES", 2)
    model = ScriptedModel({DraftAnswer: [BadReply("x"), BadReply("y")]})

    with pytest.raises(BadReply):
        await baselines.self_consistency("Where?", Index(), model, Settings())


async def test_what_a_model_knows_cannot_be_asked_without_one():
    index = an_index(*BARGES)
    for method in ("direct", "cot", "cot-sc"):
        with pytest.raises(NotSupported, match="model="):
            await METHODS[method]("Where?", index, ExtractiveModel.of_index(index), Settings())


async def test_a_direct_answer_says_that_it_stands_on_nothing():
    answer = await baselines.direct(
        "Where?", Index(), ScriptedModel({DraftAnswer: [Draft("Kell")]}), Settings()
    )

    assert (answer.text, answer.short) == ("Kell", ("Kell",))
    assert wording("en").unread in answer.notices
    assert wording("en").written not in answer.notices  # the notice about citations


def test_a_proposition_that_is_found_leads_to_its_chunk():
    hits = RANKINGS["propositions"]("what sank at Kell", an_index(*BARGES), Settings())

    assert hits[0].document == "p0"


async def test_a_language_model_rewrites_every_chunk_once_and_failed_ones_keep_their_sentences():
    index = an_index(*BARGES[:2])
    model = ScriptedModel(
        {
            WritePropositions: [("The barge Rook sank at Kell.",), BadReply("x")],
            AnswerFromContext: lambda _: "Yes.",
        }
    )

    for question in ("which barge sank", "what burnt"):
        await METHODS["propositions"](question, index, model, Settings())

    assert len(model.all_seen(WritePropositions)) == 2
    assert model.all_seen(AnswerFromContext)[-1].context.sources == (index.chunks[1],)


class Initials:
    """An embedder whose vectors depend on the beginning of a text."""

    name, dimension = "initials", 26

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str], tick: Any = None) -> np.ndarray[Any, Any]:
        self.calls.append(len(texts))
        return np.array([np.eye(26)[ord(text[0].lower()) - 97] for text in texts], np.float32)


async def test_propositions_of_a_language_model_are_ranked_by_vectors_and_embedded_once(tmp_path: Path):
    index = stored(an_index(*BARGES), tmp_path)
    arrays = {**index.arrays, "vectors.chunks": Initials().embed(BARGES)}
    rows = {"embedder": "here", "model": "initials"}
    index = replace(index, arrays=arrays, settings={**index.settings, "vectors": rows})

    def rewritten(task: WritePropositions) -> tuple[str, ...]:
        return (f"{'zq'[task.chunk.number % 2]} of {task.chunk.number}",)

    for embeds in (True, False):
        opened = replace(index)
        embedder = Initials()
        opened.derive(open_embedders)["here"] = embedder  # type: ignore[assignment]
        rank = METHODS["propositions"].rank_with
        assert rank is not None
        hits = await rank("q?", opened, ScriptedModel({WritePropositions: rewritten}), Settings())
        assert {hit.document for hit in hits} == {"p1", "p3"}
        assert (len(BARGES) in embedder.calls) == embeds


def stored(index: Index, folder: Path) -> Index:
    with store.writing(folder):
        store.commit(folder, index, settings={}, usage={})
    return store.read(folder)


@pytest.fixture
def without_scikit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_scikit", lambda: None)


@pytest.mark.usefixtures("without_scikit")
def test_a_tree_of_summaries_covers_every_chunk_on_every_level(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(baselines, "CLUSTER", 2)
    index = an_index(*BARGES)
    chosen = Settings(search=SearchSettings(k=4))

    tree = run_ready(baselines.build_tree(index, extractive(index), chosen))

    assert tree.texts[:4] == BARGES
    summaries = tree.leaves[4:]
    assert {leaf for leaves in summaries for leaf in leaves} == {0, 1, 2, 3}
    assert RANKINGS["raptor"]("who hunts mice", index, chosen)[0].document == "p3"


def test_clusters_of_k_means_are_a_partition():
    vectors = baselines.WordVectors.of(BARGES).of_texts(BARGES)

    groups = baselines.k_means(vectors, 2)

    assert sorted(i for group in groups for i in group) == [0, 1, 2, 3]
    assert {0, 1} in map(set, groups)


def two_topics(between: int) -> np.ndarray[Any, Any]:
    """Return vectors near two directions, and some half way between these."""
    random = np.random.default_rng(7)
    ends = np.eye(20)[[0] * 40 + [1] * 40] + random.normal(0, 0.05, (80, 20))
    middle = (np.eye(20)[0] + np.eye(20)[1]) / 2 + random.normal(0, 0.3, (between, 20))
    return np.concatenate([ends, middle]).astype(np.float32)


def test_clusters_are_soft_and_cover_every_text():
    pytest.importorskip("sklearn")
    vectors = two_topics(between=20)

    groups = baselines.clusters(vectors, [100] * len(vectors))

    assert {i for group in groups for i in group} == set(range(len(vectors)))
    assert not any({0, 79} <= set(group) for group in groups)
    assert sum(map(len, groups)) > len(vectors)  # some vectors are in two clusters


def test_a_cluster_too_long_for_one_summary_is_divided():
    pytest.importorskip("sklearn")
    vectors = two_topics(between=0)

    groups = baselines.clusters(vectors, [600] * len(vectors))

    assert max(map(len, groups)) * 600 <= baselines.CLUSTER_TOKENS


async def test_a_tree_is_written_by_a_task_of_its_own_once_for_an_index(tmp_path: Path, without_scikit: None):
    index = stored(an_index(*(text + " " + text for text in BARGES * 5)), tmp_path)
    model = ScriptedModel({SummarizePassages: lambda task: f"{len(task.passages)} passages on barges."})

    first, second = [await baselines.tree_of(replace(index), model, Settings()) for _ in range(2)]

    assert len(model.all_seen(SummarizePassages)) == len(first.texts) - len(index.chunks) > 0
    assert (first.texts, first.leaves) == (second.texts, second.leaves)
    assert (first.vectors != second.vectors).nnz == 0


async def test_what_stands_in_for_a_model_in_an_estimate_leaves_no_tree(tmp_path: Path, without_scikit: None):
    index = stored(an_index(*BARGES * 5), tmp_path)
    model = ScriptedModel({SummarizePassages: lambda task: "Barges."})
    model.name = ""

    await baselines.tree_of(index, model, Settings())

    assert not (tmp_path / "derived").exists()


async def test_a_tree_goes_with_its_snapshot(tmp_path: Path, without_scikit: None):
    model = ScriptedModel({SummarizePassages: lambda task: "Barges."})
    for texts in (BARGES * 5, BARGES * 6):
        await baselines.tree_of(stored(an_index(*texts), tmp_path), model, Settings())
    assert len(list((tmp_path / "derived").iterdir())) == 2  # so that a rollback is possible

    with store.writing(tmp_path):
        store.trim(tmp_path, {"store": {"snapshots": 1}})

    (path,) = (tmp_path / "derived").iterdir()
    assert store.read(tmp_path).snapshot in path.name


async def test_a_damaged_file_of_a_tree_is_written_anew(tmp_path: Path, without_scikit: None):
    index = stored(an_index(*BARGES * 5), tmp_path)
    model = ScriptedModel({SummarizePassages: lambda task: "Barges."})
    await baselines.tree_of(replace(index), model, Settings())
    (path,) = (tmp_path / "derived").iterdir()
    path.write_bytes(path.read_bytes()[:50])

    tree = await baselines.tree_of(replace(index), model, Settings())

    assert "Barges." in tree.texts


async def test_clusters_that_are_not_the_papers_are_told(without_scikit: None):
    index = an_index(*BARGES)

    answer = await METHODS["raptor"]("who hunts mice", index, extractive(index), Settings())

    assert baselines.HARD in answer.notices
