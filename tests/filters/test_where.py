"""Tests of `--where`: which documents a condition matches, and the index subset that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ANSWERING_METHODS, a_built_index, a_report, an_edge, an_index

from conspectus import api
from conspectus.errors import IndexDamaged, NotFound, UsageError
from conspectus.filters import Views, select_view
from conspectus.filters.combine import COLUMNS, LIST_OF, CombinedReports, Part, combine
from conspectus.filters.conditions import matching, read
from conspectus.index import Index
from conspectus.references import find
from conspectus.retrieval import RANKINGS, bm25
from conspectus.retrieval.base import row_of
from conspectus.rows import Community, Document
from conspectus.settings import SearchSettings, Settings
from conspectus.storage.arrays import OF_WHOLE

STORY = (
    "Ada Brook bought the Orran Mill in 1901. The Orran Mill stood on the river Tarn. Ada Brook paid for a wheel.",
    "The river Tarn flooded Hollin. The flood broke the wheel of the Orran Mill. Ada Brook asked the Hollin Council.",
    "The Hollin Council met. Ruben Vale refused to pay. Ada Brook called Ruben Vale a coward. Ruben Vale laughed.",
    "Ruben Vale opened the Tarn Bridge. The Hollin Council paid for the Tarn Bridge. Mabel Finch sang there.",
    "Mabel Finch taught at the Hollin School. The Hollin School stood by the Orran Mill. Mabel Finch wrote songs.",
    "Edwin Sorrel kept bees at Lune Farm. Lune Farm sold honey. Edwin Sorrel never saw the river Tarn.",
)


@pytest.fixture(scope="module")
def story() -> Index:
    return a_built_index(*STORY)


def documents(*rows: dict[str, Any]) -> list[Document]:
    return [
        Document(
            str(i), i, row.pop("title", "T"), "", row.pop("path", f"{i}.txt"), row.pop("date", None), row
        )
        for i, row in enumerate(rows)
    ]


def those(rows: Sequence[Document], *where: str) -> list[int]:
    return [i for i, met in enumerate(matching([rows], read(where))[0]) if met]


def subset_of(index: Index, mask: Sequence[bool]) -> Index:
    return combine([Part(index, mask)])


# The language


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ("folder=reports/2024", [0, 1]),
        ("folder=reports", [0, 1, 2]),
        ("folder=Reports/", [0, 1, 2]),
        ("folder=2024", [0, 1]),
        ("folder=/data/reports", [0, 1]),
        ("folder=/reports", [2]),
        ("folder!=reports", [3]),
        ("path=a.txt", [0]),
        ("path=2024/a.txt", [0]),
        ("path=notes.jsonl", [3]),
        ("path=notes.jsonl#3", [3]),
        ("path~*.PDF", [1]),
        ("path~2024", [0, 1]),
        ("path~*.jsonl", [3]),
        ("path!~*.txt", [1, 3]),
    ],
)
def test_folders_and_paths_are_named_by_their_parts_or_by_patterns(where: str, met: list[int]):
    rows = documents(
        {"path": "data/reports/2024/a.txt"},
        {"path": "data/reports/2024/q1/b.pdf"},
        {"path": "/reports/2023/c.txt"},
        {"path": "data/notes.jsonl#3"},
    )

    assert those(rows, where) == met


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ("date>=2023-01-01", [1, 2, 3]),
        ("date>2023", [3]),
        ("date<=2023", [0, 1, 2]),
        ("date<2023-06", [0, 1]),
        ("date=2023", [1, 2]),
        ("date=2023-06-30", [2]),
        ("date!=2023", [0, 3, 4]),
    ],
)
def test_dates_compare_as_far_as_both_are_known(where: str, met: list[int]):
    rows = documents(
        {"date": "2022-12-31"}, {"date": "2023-01-01"}, {"date": "2023-06-30T12:00:00Z"}, {"date": "2024"}, {}
    )

    assert those(rows, where) == met


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ("author=quill", [0]),
        ("Author = Quill", [0]),
        ("author!=Quill", [1, 2]),
        ("author~ill", [0, 1]),
        ("author~w*", [1]),
        ("pages>9", [1]),
        ("pages<=9", [0]),
        ("pages=9.0", [0]),
        ("title~T", [0, 1, 2]),
    ],
)
def test_metadata_compare_as_numbers_where_they_are_and_a_field_that_is_not_there_meets_negations_alone(
    where: str, met: list[int]
):
    rows = documents({"author": "Quill", "pages": "9"}, {"author": "Will", "pages": "10"}, {"pages": "many"})

    assert those(rows, where) == met


def test_all_conditions_have_to_hold():
    rows = documents(
        {"author": "Quill", "year": "2020"}, {"author": "Quill", "year": "2021"}, {"year": "2021"}
    )

    assert those(rows, "author=Quill", "year>2020") == [1]


def test_an_unknown_field_is_told_with_all_there_are():
    with pytest.raises(UsageError, match=r"'autor'; there are path, folder, title, date, author"):
        those(documents({"author": "Quill"}), "autor=Quill")


def test_a_document_that_states_no_date_has_that_of_its_files_name():
    named = documents(
        {"path": "minutes/2021-09-09-council.txt"}, {"path": "a-2021-06-25.txt", "date": "2024"}, {}
    )

    assert those(named, "date=2021") == [0]
    assert those(named, "date>=2021-06") == [0, 1]


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("speeches/1961_kennedy.txt", "1961"),
        ("2019-Q3-call.txt", "2019-Q3"),
        ("calls_2019_Q3.txt", "2019_Q3"),
        ("notes-2021-05.md", "2021-05"),
        ("1961.txt", ""),
        ("page-1999.html", ""),
        ("1961/speech.txt", ""),
        ("rfc2119.txt", ""),
    ],
)
def test_a_year_dates_a_file_whose_name_it_opens_and_a_month_or_quarter_any(path: str, day: str):
    (document,) = documents({"path": path})

    assert document.day == day


@pytest.mark.parametrize("where", ["author", "=Quill", "author=", "date>=May"])
def test_what_is_no_condition_is_refused(where: str):
    with pytest.raises(UsageError, match="2023-01"):
        those(documents({"author": "Quill", "date": "2023"}), where)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (["author=Quil"], "there are Quill, and 1 more"),
        (["author=Zeno"], "there are Quill, Vale"),
        (["date>2030"], "dates go from 2021 to 2023-05-01"),
        (["folder=minuts"], "there are minutes"),
        (["author=Quill", "date>2022"], "1 meet author=Quill, 1 meet date>2022"),
    ],
)
def test_where_no_document_is_meant_the_values_that_there_are_are_told(where: list[str], said: str):
    rows = documents(
        {"author": "Quill", "date": "2021", "path": "minutes/a.txt"}, {"author": "Vale", "date": "2023-05-01"}
    )

    with pytest.raises(NotFound) as error:
        those(rows, *where)

    assert said in str(error.value)


# The subset


def test_restricting_to_everything_is_the_index_itself(story: Index):
    assert select_view([story], "path~*.txt").index is story
    assert select_view([story], "path~*.txt").remarks == ()


def test_a_part_that_is_everything_has_the_rows_and_arrays_of_the_index(story: Index):
    part = subset_of(story, [True] * len(STORY))

    for table in (
        "documents",
        "chunks",
        "entities",
        "relationships",
        "communities",
        "claims",
        "triples",
        "reports",
    ):
        assert list(getattr(part, table)) == list(getattr(story, table)), table
    assert set(story.arrays) <= {*COLUMNS, *LIST_OF}
    assert set(part.arrays) == {name for name in story.arrays if not name.startswith(OF_WHOLE)}
    for name in part.arrays:
        assert part.arrays[name].dtype == story.arrays[name].dtype, name
        np.testing.assert_array_equal(part.arrays[name], story.arrays[name], name)


words = st.lists(
    st.sampled_from("river mill wheel council bridge school farm honey song flood".split()), min_size=1
)


@given(texts=st.lists(words.map(" ".join), min_size=2, max_size=6), query=words.map(" ".join), data=st.data())
def test_bm25_ranks_the_part_as_an_index_of_those_documents_alone(
    texts: list[str], query: str, data: st.DataObject
):
    kept = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)).filter(any))
    settings = Settings(search=SearchSettings(k=len(texts)))

    part = bm25.rank(query, subset_of(an_index(*texts), kept), settings)

    alone = bm25.rank(query, an_index(*(t for t, keep in zip(texts, kept, strict=True) if keep)), settings)
    assert [(h.text, h.score) for h in part] == [(h.text, pytest.approx(h.score, rel=1e-5)) for h in alone]


def test_filtering_leaves_as_many_hits_as_there_are(story: Index):
    for k in range(1, len(STORY) + 1):
        hits = api.search(
            "Ada Brook and the river Tarn",
            story,
            method="bm25",
            k=k,
            where="path!=0.txt",
            settings=Settings(),
        )
        assert len(hits) == min(k, 4)  # one of the remaining documents has no word of the question
        assert "0.txt" not in {hit.document for hit in hits}


MARKED = tuple(
    f"{text} {mark} Grange belongs to {mark} Stoat. Ada Brook knew {mark} Stoat well. The Orran Mill fed {mark} Grange."
    for text, mark in zip(STORY, ("Ulmo", "Varda", "Wenlock", "Xanthe", "Yorick", "Zelda"), strict=True)
)


@pytest.fixture(scope="module")
def marked() -> Index:
    return a_built_index(*MARKED)


@pytest.mark.parametrize("kept", [{0}, {1, 2}, {0, 3, 5}, {1, 2, 3, 4, 5}])
def test_no_text_of_the_part_holds_a_word_of_the_others(marked: Index, kept: set[int]):
    part = subset_of(marked, [i in kept for i in range(len(MARKED))])
    marks = ("Ulmo", "Varda", "Wenlock", "Xanthe", "Yorick", "Zelda")
    foreign = [mark for i, mark in enumerate(marks) if i not in kept]
    texts = [
        *(d.text for d in part.documents),
        *(c.text for c in part.chunks),
        *(f"{e.name} {e.description}" for e in part.entities),
        *(f"{r.source} {r.target} {r.description}" for r in part.relationships),
        *(report.text for report in part.reports),
    ]

    assert part.reports
    assert any(mark in text for text in texts for i, mark in enumerate(marks) if i in kept)
    assert not [(mark, text) for text in texts for mark in foreign if mark in text]


@pytest.mark.parametrize("kept", [{0}, {1, 2}, {0, 3, 5}])
def test_every_number_of_the_part_leads_to_a_row_of_it(marked: Index, kept: set[int]):
    part = subset_of(marked, [i in kept for i in range(len(MARKED))])
    inside = {d.id for d in part.documents}

    for table in ("documents", "chunks", "entities", "relationships", "communities", "reports"):
        assert [row.number for row in getattr(part, table)] == list(range(len(getattr(part, table)))), table
    for row in (*part.entities, *part.relationships):
        assert set(row.chunk_ids) <= part.chunk_of.keys()
        assert row.chunk_ids
        assert {span.document_id for span in row.spans} <= inside
    for community in part.communities:
        assert all(0 <= e < len(part.entities) for e in community.entity_numbers)
        names = {part.entities[e].name for e in community.entity_numbers}
        for r in community.relationship_numbers:
            assert {part.relationships[r].source, part.relationships[r].target} <= names
        for child in community.children:
            assert part.communities[child].parent == community.number
    for report in part.reports:
        references = find("\n".join([report.summary, *(f.explanation for f in report.findings)]))
        assert references
        assert all(row_of(reference, part) for reference in references)
        assert part.report_of_community[report.community] == report
    for entity in part.entities:
        assert entity.degree == len(part.edges_of(entity.number))


def test_each_level_of_the_part_is_a_partition(marked: Index):
    part = subset_of(marked, [True, False, True, False, True, False])

    for level in part.levels:
        held = [e for community in part.communities_at(level) for e in community.entity_numbers]
        assert len(held) == len(set(held))
    root = [e for community in part.communities_at(0) for e in community.entity_numbers]
    assert sorted(root) == list(range(len(part.entities)))


def test_a_row_of_several_documents_keeps_the_lines_that_stand_in_the_part():
    texts = ("Rook is a barge. It sank at Kell.", "Rook is a bird. It flew.")
    index = an_index(*texts, entities=["Rook"])
    both = replace(index.entities[0], description="Rook is a barge.\nRook is a bird.")
    index = replace(index, entities=[both])

    assert subset_of(index, [True, False]).entities[0].description == "Rook is a barge."
    assert subset_of(index, [False, True]).entities[0].description == "Rook is a bird."


def test_a_description_that_a_model_made_of_several_documents_gives_way_to_sentences_of_the_part():
    index = an_index(
        "Rook is a barge. It sank at Kell.", "Rook is a bird of Kell.", entities=["Rook", "Kell"]
    )
    told = [replace(e, description="A thing that is a barge and a bird.") for e in index.entities]
    edge = an_edge("Kell", "Rook", description="One is in the other.", weight=4.0)
    edge = replace(edge, chunk_ids=tuple(c.id for c in index.chunks))
    index = replace(index, entities=told, relationships=[edge])

    part = subset_of(index, [False, True])

    assert [e.description for e in part.entities] == ["Rook is a bird of Kell."] * 2
    assert [(r.description, r.weight) for r in part.relationships] == [("Rook is a bird of Kell.", 2.0)]


def test_a_report_that_also_stood_on_other_documents_is_written_anew_and_said_to_be():
    texts = ("Rook is a barge of Kell.", "Rook is a bird. Heron is a bird.", "Owl hoots at Heron.")
    index = an_index(*texts, entities=["Rook", "Kell", "Heron", "Owl"], reports=["All of it"])

    view = select_view([index], "path=1.txt")

    (report,) = view.index.reports
    assert "All of it" not in report.text
    assert "bird" in report.text
    assert "barge" not in report.text
    assert view.notices({"chunks"}) == ("Only 1 of 3 documents is read: those where path=1.txt.",)
    assert "rewritten, without a model" in view.notices({"reports"})[1]


def test_a_report_that_stands_on_the_part_alone_keeps_its_words_and_its_references_follow_their_rows():
    index = an_index("Owl hoots.", "Rook is a bird.", entities=["Owl", "Rook"])
    communities = [Community(str(n), n, 0, -1, (), (n,), (), (index.chunks[n].id,)) for n in (0, 1)]
    reports = [a_report(f"On {n}", n, [f"Found. [Data: Entities ({n}); Sources ({n})]"]) for n in (0, 1)]
    index = replace(index, communities=communities, reports=reports)

    part = subset_of(index, [False, True])

    (report,) = part.reports
    assert report.title == "On 1"
    assert report.findings[0].explanation == "Found. [Data: Sources (0); Entities (0)]"
    assert part.entities[0].name == "Rook"
    assert part.chunks[0].text == "Rook is a bird."


def test_vectors_go_with_their_rows(story: Index):
    rng = np.random.default_rng(1)
    of_chunks = rng.normal(size=(len(story.chunks), 4)).astype(np.float32)
    of_sentences = rng.normal(size=(len(story.arrays["sentences.start"]), 4)).astype(np.float16)
    index = replace(
        story, arrays={**story.arrays, "vectors.chunks": of_chunks, "vectors.sentences": of_sentences}
    )

    part = subset_of(index, [False, True, False, False, True, True])

    old = {c.id: of_chunks[c.number] for c in story.chunks}
    np.testing.assert_array_equal(part.arrays["vectors.chunks"], [old[c.id] for c in part.chunks])
    assert len(part.arrays["vectors.sentences"]) == len(part.arrays["sentences.start"])
    np.testing.assert_array_equal(part.arrays["vectors.sentences"][-1], of_sentences[-1])


def test_vectors_of_another_number_of_names_than_there_are_are_damage(story: Index):
    index = replace(story, arrays={**story.arrays, "vectors.names": np.zeros((1, 4), np.float16)})

    with pytest.raises(IndexDamaged, match=r"vectors\.names does not fit"):
        subset_of(index, [False, True, False, False, True, True]).arrays["vectors.names"]


def test_an_array_of_no_known_axis_is_not_carried_over(story: Index):
    index = replace(story, arrays={**story.arrays, "something.new": np.arange(9)})

    assert "something.new" not in subset_of(index, [True] + [False] * 5).arrays


# Questions


@pytest.mark.parametrize("method", ANSWERING_METHODS)
def test_every_method_answers_from_the_part_alone(marked: Index, method: str):
    where = ["path!=0.txt", "path!=3.txt"]

    answer = api.ask(
        "What did Ada Brook say to Ruben Vale?", marked, method=method, where=where, settings=Settings()
    )

    assert answer.citations
    paths = {source.document for citation in answer.citations for source in citation.sources}
    assert paths <= {"1.txt", "2.txt", "4.txt", "5.txt"}
    assert "Ulmo" not in answer.text
    assert "Xanthe" not in answer.text
    assert answer.notices[0].startswith("Only 4 of 6 documents are read")


@pytest.mark.parametrize("method", [m for m in RANKINGS if m in ANSWERING_METHODS])
def test_every_ranking_ranks_the_part_alone(marked: Index, method: str):
    hits = api.search(
        "Ruben Vale and the Hollin Council", marked, method=method, where="path=2.txt", settings=Settings()
    )

    assert [hit.document for hit in hits] == ["2.txt"]


def test_a_view_is_made_once_while_its_index_is_open(story: Index):
    assert select_view([story], "path=1.txt") is select_view([story], ["path=1.txt"])
    for i in range(1, 6):
        select_view([story], f"path={i}.txt")
    assert len(story.derive(Views).cache) == 4


def test_what_would_be_read_is_of_the_part_alone(marked: Index):
    for method in ("global", "local", "bm25"):
        context = api.context("Ada Brook", marked, method=method, where="path=2.txt", settings=Settings())
        text = "".join(window.text for window in context.windows)
        assert "Wenlock" in text
        assert not [mark for mark in ("Ulmo", "Varda", "Xanthe", "Yorick", "Zelda") if mark in text]


def test_a_view_is_asked_as_it_is(story: Index):
    view = api.viewed(story, "path=1.txt")

    assert api.search("Hollin", view, settings=Settings())[0].document == "1.txt"
    with pytest.raises(UsageError, match="when opening a view"):
        api.search("Hollin", view, where="path=2.txt", settings=Settings())


def test_the_snapshot_of_a_part_tells_it_from_the_whole():
    index = replace(an_index("One.", "Two."), snapshot="abc")

    assert select_view([index], "path=1.txt").index.snapshot == "abc where path=1.txt"


def test_the_report_of_a_community_is_found_without_making_the_others_in_copies_of_a_view_too(
    marked: Index, monkeypatch: pytest.MonkeyPatch
):
    made: list[int] = []
    make = CombinedReports._make_report  # pyright: ignore[reportPrivateUsage]

    def counted(self: CombinedReports, number: int) -> Any:
        made.append(number)
        return make(self, number)

    monkeypatch.setattr(CombinedReports, "_make_report", counted)
    part = replace(subset_of(marked, [n < 4 for n in range(len(marked.documents))]), usage={})
    reported = part.report_of_community
    first = next(iter(reported))

    assert len(reported) > 1
    assert reported[first].community == first
    assert made == [reported[first].number]
