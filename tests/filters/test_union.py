"""Tests of questions to several indexes at once (index union)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ANSWERING_METHODS, a_built_index, an_edge, an_index

import conspectus
from conspectus import api
from conspectus.errors import NotFound, UsageError
from conspectus.filters import index_names, select_view
from conspectus.filters.combine import Part, combine
from conspectus.index import Index
from conspectus.references import find
from conspectus.retrieval import RANKINGS, bm25
from conspectus.retrieval.base import cite, row_of
from conspectus.rows import Triple, content_id
from conspectus.settings import SearchSettings, Settings
from conspectus.storage.arrays import OF_WHOLE

MILL = (
    "Ada Brook bought the Orran Mill in 1901. The Orran Mill stood on the river Tarn. Ada Brook paid for a wheel.",
    "The river Tarn flooded Hollin. The flood broke the wheel of the Orran Mill. Ada Brook asked the Hollin Council.",
    "The Hollin Council met. Ruben Vale refused to pay. Ada Brook called Ruben Vale a coward. Ruben Vale laughed.",
)
BRIDGE = (
    "Ruben Vale opened the Tarn Bridge. The Hollin Council paid for the Tarn Bridge. Mabel Finch sang there.",
    "Mabel Finch taught at the Hollin School. The Hollin School stood by the Tarn Bridge. Mabel Finch wrote songs.",
    "Edwin Sorrel kept bees at Lune Farm. Lune Farm sold honey to Mabel Finch. Ruben Vale liked Lune Farm.",
)


def union_of(indexes: dict[str, Index]) -> Index:
    return combine(
        [Part(index, [True] * len(index.documents), f"{name}:") for name, index in indexes.items()]
    )


@pytest.fixture(scope="module")
def halves() -> tuple[Index, Index]:
    small = {"max_size": 3}  # so that there are several levels
    return a_built_index(*MILL, communities=small), a_built_index(*BRIDGE, communities=small)


@pytest.fixture(scope="module")
def both(halves: tuple[Index, Index]) -> Index:
    return union_of({"mill": halves[0], "bridge": halves[1]})


def test_one_index_alone_is_what_is_asked(halves: tuple[Index, Index]):
    assert select_view([halves[0]]).index is halves[0]


def test_one_index_joined_has_its_own_rows_under_its_name(halves: tuple[Index, Index]):
    index = halves[0]

    alone = union_of({"mill": index})

    for table in (
        "chunks",
        "entities",
        "relationships",
        "communities",
        "reports",
        "claims",
        "triples",
        "words",
    ):
        assert list(getattr(alone, table)) == list(getattr(index, table)), table
    assert [d.path for d in alone.documents] == [f"mill:{d.path}" for d in index.documents]
    assert set(alone.arrays) == {name for name in index.arrays if not name.startswith(OF_WHOLE)}
    for name in alone.arrays:
        np.testing.assert_array_equal(alone.arrays[name], index.arrays[name], name)


words = st.lists(
    st.sampled_from("river mill wheel council bridge school farm honey song flood".split()), min_size=1
)
texts = st.lists(words.map(" ".join), min_size=1, max_size=4, unique=True)


@given(first=texts, second=texts, query=words.map(" ".join))
def test_bm25_ranks_two_halves_as_an_index_of_the_whole(first: list[str], second: list[str], query: str):
    second = [text for text in second if text not in first]
    settings = Settings(search=SearchSettings(k=len(first) + len(second)))
    halves = [an_index(*texts) for texts in (first, second) if texts]
    apart = [replace(half, documents=_named(half, n)) for n, half in enumerate(halves)]

    hits = bm25.rank(query, union_of({str(n): half for n, half in enumerate(apart)}), settings)

    whole = bm25.rank(query, an_index(*first, *second), settings)
    assert [(h.text, pytest.approx(h.score, rel=1e-5)) for h in whole] == [(h.text, h.score) for h in hits]


def _named(index: Index, n: int) -> Sequence[object]:
    return [replace(d, path=f"{n}/{d.path}") for d in index.documents]


def test_the_parts_of_an_index_joined_again_rank_as_it_does():
    index = a_built_index(*MILL, *BRIDGE)
    parts = [Part(index, [True, False] * 3, "a:"), Part(index, [False, True] * 3, "b:")]
    settings = Settings(search=SearchSettings(k=6))

    for question in ("Ruben Vale", "Who paid for the bridge?", "the river Tarn and the wheel"):
        apart = {hit.chunk: hit.score for hit in bm25.rank(question, combine(parts), settings)}
        whole = bm25.rank(question, index, settings)
        assert apart == {hit.chunk: pytest.approx(hit.score) for hit in whole}


def test_a_long_text_has_its_length_behind_short_ones():
    short, long = an_index("The mill."), an_index("river " * 300)

    both = union_of({"short": short, "long": long})

    lengths = [index.arrays["chunk_terms.lengths"].tolist() for index in (short, long)]
    assert both.arrays["chunk_terms.lengths"].tolist() == [*lengths[0], *lengths[1]] == [1, 300]


def test_the_halves_joined_have_the_hits_of_both(both: Index):
    for method in ("bm25", "walk"):
        hits = api.search("Ruben Vale", both, method=method, k=6, settings=Settings())
        assert {hit.document for hit in hits} >= {"mill:2.txt", "bridge:0.txt", "bridge:2.txt"}


def test_what_bears_one_name_is_one_thing(halves: tuple[Index, Index], both: Index):
    mill, bridge = halves
    (vale,) = [e for e in both.entities if e.name == "Ruben Vale"]
    (first,) = [e for e in mill.entities if e.name == "Ruben Vale"]
    (second,) = [e for e in bridge.entities if e.name == "Ruben Vale"]

    assert len({e.name for e in both.entities}) == len(both.entities)
    assert vale.chunk_ids == first.chunk_ids + second.chunk_ids
    assert vale.spans[:2] == (first.spans[0], second.spans[0])
    assert vale.description == f"{first.description}\n{second.description}"
    assert vale.degree == len(both.edges_of(vale.number)) > max(first.degree, second.degree)


def test_relationships_between_the_same_ends_are_one():
    first = an_index("Owl saw Rook.", entities=["Owl", "Rook"])
    second = an_index("Rook saw Owl.", entities=["Owl", "Rook"])
    weights = (replace(first, relationships=[an_edge("Owl", "Rook", weight=3.0, strength=4.0)]),)
    weights += (replace(second, relationships=[an_edge("Owl", "Rook", weight=1.0, strength=8.0)]),)

    (edge,) = union_of({"a": weights[0], "b": weights[1]}).relationships

    assert (edge.weight, edge.strength, edge.combined_degree) == (4.0, 5.0, 2)


def test_triples_join_and_relationships_stand_for_those_of_an_index_without():
    said = Triple(content_id("x"), 0, "Owl", "saw", "Rook", ())
    first = replace(an_index("Owl saw Rook."), triples=[replace(said, chunk_ids=("1",))])
    second = replace(an_index("Owl saw Rook once."), triples=[replace(said, chunk_ids=("2",))])
    third = replace(
        an_index("Heron ate."), relationships=[an_edge("Heron", "fish", description="Heron ate.")]
    )

    assert [t.chunk_ids for t in union_of({"a": first, "b": second}).triples] == [("1", "2")]
    assert [(t.head, t.relation, t.tail) for t in union_of({"a": first, "c": third}).triples] == [
        ("Owl", "saw", "Rook"),
        ("Heron", "Heron ate.", "fish"),
    ]
    assert not union_of({"c": third, "d": an_index("Nothing.")}).triples


def test_every_number_leads_to_the_row_that_it_led_to(halves: tuple[Index, Index], both: Index):
    for table in ("documents", "chunks", "entities", "relationships", "communities", "reports"):
        assert [row.number for row in getattr(both, table)] == list(range(len(getattr(both, table)))), table
    new = list(both.reports)
    old = [(index, report) for index in halves for report in index.reports]
    assert [report.title for report in new] == [report.title for _, report in old]
    for report, (index, before) in zip(new, old, strict=True):
        assert both.communities[report.community].id == index.communities[before.community].id
        assert both.report_of_community[report.community] == report
        for text, earlier in zip(report.findings, before.findings, strict=True):
            rows = [row_of(reference, both) for reference in find(text.explanation)]
            then = [row_of(reference, index) for reference in find(earlier.explanation)]
            assert {row.id for row in rows if row} == {row.id for row in then if row}


def test_each_level_stays_a_partition(both: Index):
    assert len(both.levels) > 1
    for level in both.levels:
        held = [e for community in both.communities_at(level) for e in community.entity_numbers]
        assert len(held) == len(set(held))
    assert sorted(e for c in both.communities_at(0) for e in c.entity_numbers) == list(
        range(len(both.entities))
    )


@pytest.mark.parametrize("method", ANSWERING_METHODS)
def test_every_method_answers_from_both_and_says_which(both: Index, method: str):
    answer = api.ask("What did Ruben Vale do?", both, method=method, settings=Settings())

    sources = [source for citation in answer.citations for source in citation.sources]
    assert {source.document.partition(":")[0] for source in sources} <= {"mill", "bridge"}
    text = {d.path: d.text for d in both.documents}
    assert sources
    assert all(source.text == text[source.document][source.start : source.end] for source in sources)
    if method in ("local", "bm25", "walk", "combined"):
        assert {source.document.partition(":")[0] for source in sources} == {"mill", "bridge"}


@pytest.mark.parametrize("method", [m for m in RANKINGS if m in ANSWERING_METHODS])
def test_every_ranking_ranks_both(both: Index, method: str):
    assert api.search("Ruben Vale and the Hollin Council", both, method=method, settings=Settings())


def test_conditions_hold_in_all_of_them_by_paths_without_their_names(halves: tuple[Index, Index]):
    view = select_view(halves, "path~0.txt")

    assert [d.path for d in view.index.documents] == ["1:0.txt", "2:0.txt"]
    assert view.remarks == ("Only 2 of 6 documents are read: those where path~0.txt.",)
    assert [d.path for d in select_view(halves, "title=1.txt").index.documents] == ["1:1.txt", "2:1.txt"]


def test_an_index_that_no_condition_leaves_anything_of_is_not_read():
    first, second = an_index("Owl hoots."), an_index("Rook caws.", "Rook flies.")

    view = select_view([first, second], "path=1.txt")

    assert [d.path for d in view.index.documents] == ["2:1.txt"]
    with pytest.raises(NotFound, match=r"no document meets path=9\.txt"):
        select_view([first, second], "path=9.txt")


def test_a_document_of_several_indexes_is_read_once():
    first, second = an_index("Owl hoots.", "Rook caws."), an_index("Owl hoots.", "Heron waits.")

    view = select_view([first, second])

    assert [d.path for d in view.index.documents] == ["1:0.txt", "1:1.txt", "2:1.txt"]
    assert view.remarks == ("1 document in several indexes is read once.",)
    assert len(view.index.chunks) == 3


def with_vectors(index: Index, model: str, size: int = 3) -> Index:
    rng = np.random.default_rng(len(index.chunks))
    sentences = len(index.arrays["sentences.start"])
    arrays = {
        "vectors.chunks": rng.normal(size=(len(index.chunks), size)).astype(np.float32),
        "vectors.sentences": rng.normal(size=(sentences, size)).astype(np.float16),
    }
    made = {"embedder": f"local:{model}", "model": model, "dimension": size}
    return replace(index, arrays={**index.arrays, **arrays}, settings={"vectors": made})


def test_vectors_of_one_embedder_follow_each_other(halves: tuple[Index, Index]):
    first, second = (with_vectors(half, "m") for half in halves)

    index = select_view([first, second]).index

    expected = np.concatenate((first.arrays["vectors.chunks"], second.arrays["vectors.chunks"]))
    np.testing.assert_array_equal(index.arrays["vectors.chunks"], expected)
    assert len(index.arrays["vectors.sentences"]) == len(index.arrays["sentences.start"])


def test_vectors_behind_different_prefixes_do_not_compare(halves: tuple[Index, Index]):
    first, second = (with_vectors(half, "m") for half in halves)
    second = replace(
        second, settings={"vectors": {**second.settings["vectors"], "passage_prefix": "passage: "}}
    )

    assert "Vectors are not used" in select_view([first, second]).remarks[0]


@pytest.mark.parametrize("other", ["n", ""])
def test_vectors_that_do_not_compare_are_left_out_and_methods_that_need_them_say_what_to_do(
    halves: tuple[Index, Index], other: str
):
    first = with_vectors(halves[0], "m")
    second = with_vectors(halves[1], other) if other else halves[1]

    view = select_view([first, second])

    assert not [name for name in view.index.arrays if name.startswith("vectors.")]
    assert "1 has m, 2 has " in view.remarks[0]
    assert "conspectus.embed('DIR', embedder='local:m')" in view.remarks[0]
    with pytest.raises(UsageError, match=r"conspectus\.embed"):
        api.search("Ruben Vale", view, method="vector", settings=Settings())
    assert api.search("Ruben Vale", view, method="walk", settings=Settings())


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["/d/a/.conspectus", "/d/b/.conspectus"], ["a", "b"]),
        (["/d/a/x", "/d/b/x"], ["a/x", "b/x"]),
        (["/d/a", "/d/a"], ["a#1", "a#2"]),
        ([None, "/d/a"], ["1", "a"]),
    ],
)
def test_an_index_is_named_by_its_folder_so_that_none_is_taken_for_another(
    folders: list[str | None], names: list[str]
):
    assert index_names([Path(folder) if folder else None for folder in folders]) == names


def test_an_index_of_a_graph_alone_joins_one_with_texts():
    graph = Index(
        triples=[Triple("t", 0, "Owl", "eats", "mouse")],
        **{k: v for k, v in vars(an_index()).items() if k in ("words", "arrays")},
    )

    index = union_of({"graph": graph, "texts": an_index("Owl hoots.")})

    assert [t.tail for t in index.triples] == ["mouse"]
    assert bm25.rank("owl", index, Settings())[0].document == "texts:0.txt"


def test_a_report_leads_to_the_documents_of_the_index_that_it_is_of(halves: tuple[Index, Index], both: Index):
    """Both indexes have Ruben Vale and the Hollin Council, and each report was written from one of them."""
    for report in both.reports:
        name = "mill" if report.number < len(halves[0].reports) else "bridge"
        text, citations, _ = cite(f"A theme [Data: Reports ({report.number})].", both)
        assert citations, text
        assert {source.document.partition(":")[0] for source in citations[0].sources} == {name}


def test_a_text_from_memory_has_its_title_in_several_indexes_too(tmp_path: Path):
    indexes = [
        conspectus.build(documents=[{"text": text, "title": f"Title {i}"}], folder=tmp_path / str(i)).index
        for i, text in enumerate((MILL[0], BRIDGE[0]))
    ]
    assert "Title 0" in str(conspectus.ask("Who bought the Orran Mill?", indexes))
