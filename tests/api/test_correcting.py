"""Corrections of an index: validated when they are made, stored, applied to every build, and undone."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_corpus import documents as llm_documents
from llm_corpus import settings as llm_settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api, interchange
from conspectus.corrections import ADDED_FACTS, AddFact, Correction, Delete, Merge, Rename, Retype, Split
from conspectus.errors import NotFound, UsageError
from conspectus.explore import entity_view
from conspectus.index import Index
from conspectus.rows import Entity, Relationship
from conspectus.runtime import read_sources
from conspectus.storage import store
from conspectus.text.mentions import hash_of, units

SAMPLE = Path(conspectus.__file__).parent / "sample"
TEXTS = {
    "mill.txt": "The Orran Mill stood on the river Tarn. Ada Brook bought the Orran Mill in 1901. She paid for it.",
    "flood.txt": "In March 1903 the river Tarn flooded Hollin. The flood broke the wheel of the Orran Mill.",
    "council.txt": "The Hollin Council met on Monday. Ruben Vale refused to pay. Ada Brook called Ruben Vale a coward.",
    "bridge.txt": "Ruben Vale opened the Tarn Bridge in 1905. The Hollin Council paid for the Tarn Bridge.",
}
TAUGHT = "Ishbel Corran taught Farida Nassar to sail in 1998."
CORRECTIONS: list[Correction] = [
    Merge(("Tamsin Garrick", "Wilf Garrick")),
    Rename("Lapwing", "MV Lapwing"),
    Retype("Tide Watch", "project"),
    Delete("Sandle Bank"),
    AddFact("Ishbel Corran", "Farida Nassar", TAUGHT),
]


def a_corpus(folder: Path) -> Path:
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small corpus in `corpus` and its index in `index`; tests do not write to it."""
    folder = tmp_path_factory.mktemp("small")
    api.build(a_corpus(folder / "corpus"), folder / "index")
    return folder


@pytest.fixture
def own(small: Path, tmp_path: Path) -> Path:
    """A copy of that folder that a test may change."""
    return Path(shutil.copytree(small, tmp_path / "own"))


@pytest.fixture(scope="module")
def before(sample_index: Path) -> Index:
    """The index of the sample without corrections."""
    return api.open_index(sample_index)


@pytest.fixture(scope="module")
def corrected(before: Index, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The index of the sample with corrections of every kind."""
    assert before.folder
    folder = Path(shutil.copytree(before.folder, tmp_path_factory.mktemp("after") / "index"))
    for correction in CORRECTIONS:
        api.correct(folder, replace(correction, author="Anna"))
    made = api.apply_corrections(folder)
    assert not made.failures
    return api.open_index(folder)


# Effects on the sample


def test_a_question_about_a_fact_is_answered_by_who_said_it(corrected: Index):
    answer = api.ask("Who taught Farida Nassar to sail?", corrected)

    assert f'A person: "{TAUGHT}" [1]' in answer.text
    assert [(s.document, s.place, s.text) for s in answer.citations[0].sources] == [
        (ADDED_FACTS, "correction 5 by Anna", f'A person: "{TAUGHT}"')
    ]


@pytest.mark.parametrize("method", ["local", "global", "bm25", "walk"])
def test_every_method_finds_the_fact(corrected: Index, method: str):
    assert TAUGHT in api.ask("Who taught Farida Nassar to sail?", corrected, method=method).text


def test_answers_from_documents_alone_do_not_say_that_people_spoke(corrected: Index):
    answer = api.ask("Who taught Farida Nassar to sail?", corrected, where="path!~said by people")

    assert TAUGHT not in answer.text


def test_a_merged_entity_has_what_both_had(before: Index, corrected: Index):
    old = [before.entities[before.entity_of_name[name]] for name in ("Tamsin Garrick", "Wilf Garrick")]
    now = corrected.entities[corrected.entity_of_name["Tamsin Garrick"]]

    assert "Wilf Garrick" in now.aliases
    assert "Wilf Garrick" not in corrected.entity_of_name
    assert set(now.chunk_ids) == set(old[0].chunk_ids) | set(old[1].chunk_ids)
    assert ("Wilf Garrick", "Tamsin Garrick", "person") in {(j.name, j.into, j.rule) for j in corrected.joins}


def test_a_renamed_entity_keeps_its_places_and_weights(before: Index, corrected: Index):
    old, now = (
        before.entities[before.entity_of_name["Lapwing"]],
        corrected.entities[corrected.entity_of_name["MV Lapwing"]],
    )
    weights = {
        r.weight: r.spans
        for r in map(before.relationships.__getitem__, before.edges_of(old.number))
        if r.weight > 1
    }

    assert (now.spans, now.chunk_ids, now.description, now.degree) == (
        old.spans,
        old.chunk_ids,
        old.description,
        old.degree,
    )
    assert weights == {
        r.weight: r.spans
        for r in map(corrected.relationships.__getitem__, corrected.edges_of(now.number))
        if r.weight > 1
    }
    assert entity_view("the Lapwing", corrected).name == "MV Lapwing"
    assert "MV Lapwing" in api.ask("What is the Lapwing?", corrected, method="local").why


def test_an_entity_has_the_type_that_it_was_given(corrected: Index):
    assert entity_view("Tide Watch", corrected).type == "project"


def test_a_deleted_entity_leaves_no_trace(before: Index, corrected: Index):
    gone = before.entities[before.entity_of_name["Sandle Bank"]]
    names = {gone.name, *gone.aliases}

    assert hash_of(units("sandle bank")) in before.arrays["walk.names"]
    assert hash_of(units("sandle bank")) not in corrected.arrays["walk.names"]
    for table in ("entities", "relationships", "claims", "joins", "triples", "failures"):
        for row in getattr(corrected, table):
            held = {
                getattr(row, f.name)
                for f in fields(row)
                if f.name in ("name", "into", "source", "target", "subject")
            }
            assert held.isdisjoint(names), row
    assert not any(set(report.title.split(", ")) & names for report in corrected.reports)
    for window in api.context("What is said of Sandle Bank?", corrected, method="local").windows:
        assert names.isdisjoint(entity.name for entity in window.entities)
    with pytest.raises(NotFound):
        entity_view("Sandle Bank", corrected)


def test_the_walk_of_a_sentence_still_goes_on_to_all_of_its_names(corrected: Index):
    arrays = corrected.arrays
    starts, weights = arrays["walk.out_starts"], arrays["walk.out_weights"]
    sums = np.add.reduceat(weights, starts[:-1][np.diff(starts) > 0])

    assert starts[-1] == len(weights) == len(arrays["walk.out_names"])
    assert arrays["walk.in_starts"][-1] == len(arrays["walk.in_sentences"])
    assert len(arrays["walk.in_starts"]) == len(arrays["walk.names"]) + 1
    assert arrays["walk.out_names"].max() < len(arrays["walk.names"])
    np.testing.assert_allclose(sums, 1, rtol=1e-4)


def test_a_fact_changes_nothing_else(before: Index, tmp_path: Path):
    assert before.folder
    folder = Path(shutil.copytree(before.folder, tmp_path / "index"))
    api.correct(
        folder, AddFact("Ishbel Corran", "Corsey Viaduct", "Ishbel Corran painted the Corsey Viaduct.")
    )
    api.apply_corrections(folder)
    after = api.open_index(folder)

    def told(row: Entity | Relationship) -> dict[str, Any]:
        numbered = ("number", "degree", "combined_degree")
        return {f.name: getattr(row, f.name) for f in fields(row) if f.name not in numbered}

    assert list(map(told, after.entities)) == list(map(told, before.entities))
    assert [
        told(r) for r in after.relationships if {r.source, r.target} != {"Ishbel Corran", "Corsey Viaduct"}
    ] == [told(r) for r in before.relationships]
    assert [*after.documents][:-1] == [*before.documents]
    assert [*after.chunks][:-1] == [*before.chunks]


# Later builds and updates


def test_corrections_are_applied_by_every_run_and_a_run_that_changes_nothing_does_nothing(own: Path):
    api.correct(own / "index", Rename("Ada Brook", "Dame Ada"))

    first = api.build(own / "corpus", own / "index")
    again = api.build(own / "corpus", own / "index")
    (own / "corpus" / "bridge.txt").unlink()
    updated = api.build(own / "corpus", own / "index")
    fresh = api.build(own / "corpus", own / "index", fresh=True)

    assert not first.update.up_to_date
    assert again.update.up_to_date
    assert again.snapshot == first.snapshot
    for made in (first, updated, fresh):
        assert "Dame Ada" in made.index.entity_of_name
        assert "Ada Brook" not in made.index.entity_of_name


def test_a_correction_that_is_undone_leaves_the_index_as_it_was(own: Path):
    was = api.build(own / "corpus", own / "index", fresh=True).snapshot
    for correction in (
        Merge(("Ada Brook", "Ruben Vale")),
        Rename("Tarn", "River Tarn"),
        AddFact("Tarn Bridge", "Orran Mill", "Stones of the Orran Mill are in the Tarn Bridge."),
        Delete("Hollin"),
    ):
        api.correct(own / "index", correction)
    changed = api.build(own / "corpus", own / "index", fresh=True).snapshot
    for number in (4, 3, 2, 1):
        api.undo(own / "index", number)

    assert changed != was
    assert api.build(own / "corpus", own / "index", fresh=True).snapshot == was
    assert api.corrections(own / "index").rows == ()


def test_applying_at_once_is_the_same_as_indexing_again(own: Path):
    api.build(own / "corpus", own / "index")
    other = Path(shutil.copytree(own / "index", own / "other"))
    for folder in (own / "index", other):
        api.correct(folder, Delete("Hollin Council", date="2026-11-21"))

    assert api.apply_corrections(other).snapshot == api.build(own / "corpus", own / "index").snapshot


def test_the_same_corrections_give_the_same_index_whatever_came_before(own: Path, tmp_path: Path):
    api.correct(own / "index", Rename("Ada Brook", "Dame Ada"))
    once = api.build(own / "corpus", own / "index", fresh=True)
    shutil.copytree(own / "index", tmp_path / "new", ignore=shutil.ignore_patterns("*.json", "*.sqlite"))
    new = api.build(own / "corpus", tmp_path / "new", fresh=True)

    assert new.snapshot == once.snapshot


def test_what_no_longer_applies_is_told_by_every_run(own: Path):
    api.correct(own / "index", Merge(("Tarn Bridge", "Hollin Council")))
    api.correct(own / "index", Retype("Ada Brook", "miller"))
    api.build(own / "corpus", own / "index")
    (own / "corpus" / "bridge.txt").unlink()

    changed = api.build(own / "corpus", own / "index")
    again = api.build(own / "corpus", own / "index")

    for made in (changed, again):
        assert [(f.stage, f.error) for f in made.failures] == [
            (
                "correction 1",
                "merge Tarn Bridge, Hollin Council into Tarn Bridge: nothing is called 'Tarn Bridge'",
            )
        ]
    assert again.update.up_to_date
    rows = api.corrections(own / "index").rows
    assert [row.state for row in rows] == ["failing", "applied"]
    assert rows[0].reason == "nothing is called 'Tarn Bridge'"


def test_what_waits_and_what_was_undone_is_told(own: Path):
    api.correct(own / "index", Retype("Ada Brook", "miller"))
    api.apply_corrections(own / "index")
    api.undo(own / "index", 1)

    assert not api.corrections(own / "index").rows
    assert api.corrections(own / "index").undone == (Retype("Ada Brook", "miller"),)
    api.apply_corrections(own / "index")
    assert not api.corrections(own / "index").undone
    api.correct(own / "index", Delete("Hollin"))
    assert [row.state for row in api.corrections(own / "index").rows] == ["waiting"]


def test_a_file_that_is_wrong_stops_a_run_before_anything_is_read(own: Path):
    (own / "index" / "corrections.toml").write_text("[[correction]]\nnumber = 1\n", encoding="utf-8")

    with pytest.raises(UsageError, match=r"corrections\.toml, correction 1: it takes one of"):
        api.build(own / "nowhere", own / "index")


def test_an_imported_graph_is_not_corrected(tmp_path: Path):
    (tmp_path / "graph.csv").write_text("head,relation,tail\nAda,owns,Mill\n", encoding="utf-8")
    interchange.import_triples(tmp_path / "graph.csv", tmp_path / "index")

    with pytest.raises(UsageError, match="imported and cannot be corrected here"):
        api.correct(tmp_path / "index", Rename("Ada", "Dame Ada"))
    with pytest.raises(UsageError, match="imported"):
        api.apply_corrections(tmp_path / "index")


# Corrections that are refused at once


@pytest.mark.parametrize(
    ("correction", "said"),
    [
        (Rename("Ada Brok", "Dame Ada"), "there is no 'Ada Brok' in the graph; did you mean Ada Brook"),
        (Rename("Ada Brook", "Ruben Vale"), "there is already an entity Ruben Vale; if both are"),
        (Rename("Ada Brook", "Ada Brook"), "the name is already Ada Brook"),
        (Merge(("Ada Brook", "ada brook", "the Ada Brook")), "merge takes two names or more"),
        (Split("Ada Brook", "Ada"), "Ada is not an alias of Ada Brook"),
        (Split("Ada Brook", "Ada", documents=("*.pdf",)), r"no document is at \*.pdf"),
        (AddFact("Ada Brook", "Zork", "They met."), "there is no 'Zork' in the graph"),
        (AddFact("Ada Brook", "Ruben Vale", " "), "`description` is wrong"),
    ],
)
def test_what_makes_no_sense_is_added_facts_at_once_and_not_kept(
    own: Path, correction: Correction, said: str
):
    with pytest.raises((UsageError, NotFound), match=said):
        api.correct(own / "index", correction)
    assert api.corrections(own / "index").rows == ()


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (Delete("Hollin"), Rename("Hollin", "Tuesday"), "there is no 'Hollin'"),
        (Retype("Tarn", "river"), Retype("Tarn", "river"), "correction 1 already says so"),
        (
            Merge(("Ada Brook", "Ruben Vale")),
            Merge(("Ruben Vale", "Ada Brook")),
            "are already one entity: Ada Brook",
        ),
    ],
)
def test_what_applied_corrections_did_already_or_made_impossible_is_refused(
    own: Path, first: Correction, second: Correction, said: str
):
    api.correct(own / "index", first)
    api.apply_corrections(own / "index")

    with pytest.raises((UsageError, NotFound), match=said):
        api.correct(own / "index", second)


def test_names_are_those_of_the_index_or_those_that_the_corrections_before_will_give(own: Path):
    api.correct(own / "index", Rename("ADA BROOK", "Dame Ada"))
    api.correct(own / "index", Merge(("dame ada", "the ruben vale")))
    api.correct(own / "index", AddFact("dame ada", "hollin", "Dame Ada left Hollin."))
    api.correct(own / "index", Retype("ada brook", "miller"))

    corrections = [row.correction for row in api.corrections(own / "index").rows]
    made = api.apply_corrections(own / "index")

    assert corrections == [
        Rename("Ada Brook", "Dame Ada"),
        Merge(("Dame Ada", "Ruben Vale"), "Dame Ada"),
        AddFact("Dame Ada", "Hollin", "Dame Ada left Hollin."),
        Retype("Ada Brook", "miller"),
    ]
    assert not made.failures
    assert entity_view("Ruben Vale", made.index).name == "Dame Ada"
    assert entity_view("Dame Ada", made.index).type == "miller"


def test_what_a_later_correction_takes_back_is_taken_back(own: Path):
    for correction in (
        Rename("Tarn", "River Tarn"),
        Rename("tarn", "The Tarn"),
        AddFact("Hollin", "Ada Brook", "She swam there."),
        Delete("Hollin"),
    ):
        api.correct(own / "index", correction)

    made = api.apply_corrections(own / "index")

    assert {"The Tarn", "Ada Brook"} <= made.index.entity_of_name.keys()
    states = [row.state for row in api.corrections(own / "index").rows]
    assert states == ["applied", "applied", "failing", "applied"]


def test_a_correction_whose_name_was_undone_fails_visibly(own: Path):
    api.correct(own / "index", Rename("Ada Brook", "Dame Ada"))
    api.correct(own / "index", Retype("Dame Ada", "miller"))

    api.undo(own / "index", 1)
    api.apply_corrections(own / "index")

    assert [(row.state, row.reason) for row in api.corrections(own / "index").rows] == [
        ("failing", "nothing is called 'Dame Ada'")
    ]
    with pytest.raises(NotFound, match="has no correction 9"):
        api.undo(own / "index", 9)


# With a language model


def test_a_language_model_is_asked_only_for_what_a_correction_changes(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        made = api.build(
            documents=llm_documents(),
            folder=tmp_path,
            settings=llm_settings(server.url, extract__claims=True),
        )
        first = server.counts["requests"]
        asked: list[int] = []
        for correction in (
            Retype("Vera Stone", "ship"),
            Rename("Ada Byrne", "Augusta Byrne"),
            AddFact("Sam Orr", "Rosa Field", "Sam Orr married Rosa Field."),
        ):
            api.correct(tmp_path, correction)
            made = api.apply_corrections(tmp_path)
            asked.append(server.counts["requests"] - first - sum(asked))

    assert not made.failures
    assert not made.update.rebuild_reasons
    assert asked[0] == 0, "no prompt holds a type"
    assert 0 < asked[1] <= 1 + len(made.index.edges_of(made.index.entity_of_name["Augusta Byrne"])) + 3
    assert asked[2] <= 3, "the reports that tell of it, none for a community of two"
    assert any("Sam Orr" in report.text for report in made.index.reports)
    assert {claim.subject for claim in made.index.claims} & {"Augusta Byrne"}
    assert not {claim.subject for claim in made.index.claims} & {"Ada Byrne"}


def test_an_estimate_knows_what_people_corrected(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = llm_settings(server.url)
        api.build(documents=llm_documents(), folder=tmp_path, settings=chosen)
        before = api.estimate(documents=llm_documents(), folder=tmp_path, settings=chosen)
        api.correct(tmp_path, Rename("Ada Byrne", "Augusta Byrne"))
        told = api.estimate(documents=llm_documents(), folder=tmp_path, settings=chosen)
        first = server.counts["requests"]
        api.build(documents=llm_documents(), folder=tmp_path, settings=chosen)
        asked = server.counts["requests"] - first

    assert not before.tasks
    assert told.calls.low <= asked <= told.calls.high


def test_the_number_of_an_undone_correction_is_not_given_again(own: Path):
    api.correct(own / "index", Retype("Ada Brook", "ship"))
    api.undo(own / "index", 1)

    assert api.correct(own / "index", Retype("Ada Brook", "place")).number == 2


# Several at once


def test_corrections_that_several_add_at_once_are_all_stored_with_numbers_of_their_own(own: Path):
    names = ["Ada Brook", "Ruben Vale", "Orran Mill", "Hollin Council", "Tarn Bridge", "Tarn"]
    together = threading.Barrier(len(names))

    def add(name: str) -> Correction:
        together.wait()
        return api.correct(own / "index", Retype(name, "thing"))

    with ThreadPoolExecutor(len(names)) as pool:
        made = list(pool.map(add, names))

    stored = [row.correction for row in api.corrections(own / "index").rows]
    assert sorted(correction.number for correction in made) == list(range(1, len(names) + 1))
    assert sorted(stored, key=str) == sorted(made, key=str)


def test_a_correction_that_comes_while_documents_are_read_is_applied_by_that_build(
    own: Path, monkeypatch: pytest.MonkeyPatch
):
    (own / "corpus/new.txt").write_text("Ada Brook sold the Orran Mill to Ruben Vale in 1910.")

    def read_and_correct(*arguments: Any, **options: Any) -> Any:
        api.correct(own / "index", Rename("Ruben Vale", "R. Vale"))
        return read_sources(*arguments, **options)

    monkeypatch.setattr("conspectus.api.building.read_sources", read_and_correct)
    index = api.build(own / "corpus", own / "index").index

    assert "R. Vale" in {entity.name for entity in index.entities}
    assert [row.state for row in api.corrections(own / "index").rows] == ["applied"]


def test_applying_corrections_keeps_documents_that_another_process_has_just_indexed(
    own: Path, monkeypatch: pytest.MonkeyPatch
):
    api.correct(own / "index", Rename("Ruben Vale", "R. Vale"))
    (own / "corpus/new.txt").write_text("Ada Brook sold the Orran Mill to Ruben Vale in 1910.")
    writing = store.writing

    def build_first(folder: Path) -> Any:
        monkeypatch.setattr(store, "writing", writing)
        api.build(own / "corpus", own / "index")
        return writing(folder)

    monkeypatch.setattr(store, "writing", build_first)
    index = api.apply_corrections(own / "index").index

    assert "new.txt" in {Path(document.path).name for document in index.documents}
