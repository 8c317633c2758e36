"""The papers' remaining baselines: direct answers, chains of thought, RAPTOR and propositions."""

from __future__ import annotations

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply, NotSupported
from conspectus.index import Index
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.messages import wording
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.retrieval import METHODS, RANKINGS, baselines
from conspectus.retrieval.base import WRITTEN, extractive, run_ready
from conspectus.settings import SearchSettings, Settings
from conspectus.tasks import AnswerFromContext, Draft, DraftAnswer, WritePropositions


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
    assert WRITTEN not in answer.notices  # which speaks of citations


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


def test_a_tree_of_summaries_covers_every_chunk_on_every_level(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(baselines, "CLUSTER", 2)
    index = an_index(*BARGES)
    chosen = Settings(search=SearchSettings(k=4))

    tree = run_ready(baselines.build_tree(index, extractive(index), chosen))

    assert tree.texts[:4] == BARGES
    summaries = tree.leaves[4:]
    assert {leaf for leaves in summaries for leaf in leaves} == {0, 1, 2, 3}
    assert RANKINGS["raptor"]("who hunts mice", index, chosen)[0].document == "p3"


def test_clusters_are_a_partition():
    vectors = baselines.WordVectors.of(BARGES).of_texts(BARGES)

    groups = baselines.clusters(vectors, 2)

    assert sorted(i for group in groups for i in group) == [0, 1, 2, 3]
    assert {0, 1} in map(set, groups)
