"""Vectors of an index: which texts have them, by which embedder, and that each text is embedded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from making import Letters, a_document

from conspectus import index_models
from conspectus.algorithms import ranking
from conspectus.errors import IndexDamaged
from conspectus.filters import select_view
from conspectus.index import Index
from conspectus.index_models import cosines, open_embedders, question_vectors
from conspectus.indexing import embed
from conspectus.indexing.embed import texts_of, with_vectors, without_vectors
from conspectus.indexing.given_graph import OpenIe, with_openie
from conspectus.indexing.pipeline import Silent, index_passages
from conspectus.models.base import Tick
from conspectus.models.embedders import Prefixes
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.tasks import FoundTriple

TEXTS = {
    "Hens": "Hens lay eggs. They eat corn.",
    "Ships": "Ships sail. They carry corn.",
    "": "Nobody knows it.",
}


def an_index(texts: Mapping[str, str] = TEXTS) -> Index:
    documents = [a_document(text, n, title=title or " ") for n, (title, text) in enumerate(texts.items())]
    return index_passages([replace(d, title=d.title.strip()) for d in documents], Settings())


class Stages(Silent):
    """Records the stages that were opened, and counts their ticks."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []
        self.ticks = 0

    def stage(self, name: str, total: int) -> Tick:
        self.opened.append((name, total))

        def tick() -> None:
            self.ticks += 1

        return tick


def test_chunks_and_sentences_are_embedded_with_the_title_before_them():
    assert texts_of(an_index()) == {
        "vectors.chunks": [
            "Hens\nHens lay eggs. They eat corn.",
            "Ships\nShips sail. They carry corn.",
            "Nobody knows it.",
        ],
        "vectors.sentences": [
            "Hens: Hens lay eggs.",
            "Hens: They eat corn.",
            "Ships: Ships sail.",
            "Ships: They carry corn.",
            "Nobody knows it.",
        ],
    }


def test_the_index_says_whose_its_vectors_are():
    index = with_vectors(an_index(), Letters(), "letters:here")

    told = {"embedder": "letters:here", "model": "letters", "dimension": 26, "unread": 0.0}
    assert index.settings["vectors"] == told
    assert index.arrays["vectors.chunks"].dtype == np.float32
    assert index.arrays["vectors.sentences"].dtype == np.float16
    assert np.allclose(index.arrays["vectors.chunks"], Letters().embed(texts_of(index)["vectors.chunks"]))


def test_a_text_that_stands_twice_is_embedded_once():
    letters, stages = Letters(), Stages()
    same = "The same words. The same words. The same words."
    index = with_vectors(an_index({"A": same}), letters, "letters", progress=stages)

    assert sorted(letters.given) == [f"A\n{same}", "A: The same words."]
    assert len(index.arrays["vectors.sentences"]) == 3
    assert (np.diff(index.arrays["vectors.sentences"], axis=0) == 0).all()
    assert stages.opened == [("embed", 2)]
    assert stages.ticks == 2


def test_what_the_index_before_had_vectors_of_is_not_embedded_again(tmp_path: Path):
    with store.writing(tmp_path):
        before = with_vectors(an_index(), Letters(), "letters")
        store.commit(tmp_path, before, settings=before.settings, usage={})
    letters = Letters()
    changed = {"New": "Cows give milk."} | TEXTS | {"Ships": "Ships sail. They sink."}
    index = with_vectors(an_index(changed), letters, "letters", store.read(tmp_path))

    assert letters.given == [
        "New\nCows give milk.",
        "Ships\nShips sail. They sink.",
        "New: Cows give milk.",
        "Ships: They sink.",
    ]
    fresh = with_vectors(an_index(changed), Letters(), "letters")
    for name in ("vectors.chunks", "vectors.sentences"):
        assert np.allclose(index.arrays[name], fresh.arrays[name], atol=1e-3)


def test_vectors_of_another_model_are_never_taken_over():
    class Other(Letters):
        name = "other"

    other = Other()
    with_vectors(an_index(), other, "other", with_vectors(an_index(), Letters(), "letters"))

    assert len(other.given) == 8


def test_an_index_that_is_as_it_was_asks_for_nothing():
    before = with_vectors(an_index(), Letters(), "letters")
    letters = Letters()
    after = with_vectors(an_index(), letters, "letters", before)

    assert letters.given == []
    assert np.array_equal(after.arrays["vectors.chunks"], before.arrays["vectors.chunks"])


def test_the_names_of_triples_have_vectors_too():
    index = an_index()
    passage = OpenIe(
        index.documents[0].path, (FoundTriple("hens", "lay", "eggs"), FoundTriple("hens", "eat", "corn"))
    )
    before, letters = with_vectors(index, Letters(), "letters"), Letters()
    after = with_vectors(with_openie(before, [passage]), letters, "letters", before)

    assert letters.given == ["hens", "eggs", "corn", "hens lay eggs", "hens eat corn"]
    assert after.arrays["vectors.names"].shape == (3, 26)
    assert after.arrays["vectors.triples"].shape == (2, 26)


def test_prefixes_stand_before_passages_and_questions_and_in_the_index():
    by, asked = Letters(), Letters()
    prefixes = Prefixes("ask: ", "tell: ")

    index = with_vectors(an_index(), by, "letters:here", prefixes=prefixes)
    index.derive(open_embedders)["letters:here"] = asked
    question_vectors(["Who lays eggs?"], index, Settings())

    assert all(text.startswith("tell: ") for text in by.given)
    assert asked.given == ["ask: Who lays eggs?"]
    assert index.settings["vectors"]["query_prefix"] == "ask: "
    assert index.settings["vectors"]["passage_prefix"] == "tell: "


def test_vectors_behind_another_prefix_are_made_anew():
    before = with_vectors(an_index(), Letters(), "letters:here")
    by = Letters()

    with_vectors(an_index(), by, "letters:here", before, prefixes=Prefixes("", "tell: "))
    again = Letters()
    with_vectors(an_index(), again, "letters:here", before, prefixes=Prefixes("ask: ", ""))

    assert by.given
    assert again.given == []


def test_vectors_can_be_taken_away():
    bare = without_vectors(with_vectors(an_index(), Letters(), "letters"))

    assert not [name for name in bare.arrays if name.startswith("vectors")]
    assert bare.settings["vectors"] == {"embedder": "none"}


def test_an_index_without_text_has_vectors_of_nothing():
    index = with_vectors(an_index({}), Letters(), "letters")

    assert index.arrays["vectors.chunks"].shape == index.arrays["vectors.sentences"].shape == (0, 26)


# Many vectors


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Index:
    """An index with so many sentence vectors that a search uses inverted lists."""
    monkeypatch.setattr(embed, "MANY", 4)
    texts = {
        f"Animal {n}": f"{word} eat {word} corn. They like it."
        for n, word in enumerate("Hens Cows Pigs".split())
    }
    made = with_vectors(an_index(texts), Letters(), "letters")
    with store.writing(tmp_path):
        store.commit(tmp_path, made, settings=made.settings, usage={})
    return store.read(tmp_path)


def test_an_index_of_many_vectors_has_them_in_lists_too(many: Index):
    assert {name.rpartition(".")[0] for name in many.arrays if name.startswith("near.")} == {"near.sentences"}
    query = Letters().embed(["Pigs eat"])[0]

    assert np.allclose(cosines("sentences", query, many), many.arrays["vectors.sentences"] @ query, atol=0.01)
    assert np.allclose(cosines("chunks", query, many), many.arrays["vectors.chunks"] @ query)
    assert not any(name.startswith("near.") for name in without_vectors(many).arrays)


def test_what_has_the_words_of_the_question_is_compared_wherever_it_is(
    many: Index, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ranking, "PROBED", 1)
    monkeypatch.setattr(index_models, "BY_WORDS", 2)
    query, words = Letters().embed(["Pigs eat"])[0], np.zeros(6, np.float32)
    words[[1, 5]] = 1

    found, exact = cosines("sentences", query, many, words), many.arrays["vectors.sentences"] @ query

    assert (cosines("sentences", query, many)[[1, 5]] == 0).any()
    assert np.allclose(found[[1, 5]], exact[[1, 5]])


def test_of_some_documents_all_vectors_are_compared(many: Index):
    part = select_view([many], "path!=0.txt").index
    query = Letters().embed(["Pigs eat"])[0]

    assert not any(name.startswith("near.") for name in part.arrays)
    assert np.allclose(cosines("sentences", query, part), part.arrays["vectors.sentences"] @ query)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("near.sentences.rows", lambda array: array[:-1]),
        ("near.sentences.rows", lambda array: array + 1),
        ("near.sentences.starts", lambda array: array[::-1].copy()),
        ("near.sentences.codes", lambda array: array[:, 1:]),
        ("near.sentences.codes", lambda array: array[1:]),
        ("near.sentences.centres", lambda array: array[:, 1:]),
        ("near.sentences.centres", lambda array: array[:0]),
        ("near.sentences.scales", lambda array: -array),
    ],
)
def test_lists_that_do_not_fit_the_index_are_damage(
    name: str, change: Callable[[np.ndarray], np.ndarray], many: Index, tmp_path: Path
):
    with store.writing(folder := tmp_path / "forged"):
        forged = replace(many, arrays={**many.arrays, name: change(many.arrays[name])})
        store.commit(folder, forged, settings=many.settings, usage={})

    with pytest.raises(IndexDamaged, match=r"near\.sentences"):
        cosines("sentences", Letters().embed(["Pigs eat"])[0], store.read(folder))
