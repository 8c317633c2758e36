"""Tests of the status of an index: its counts and figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from making import a_report, an_index

from conspectus.index import Index
from conspectus.index_status import folders_of, status_of
from conspectus.indexing.given_graph import GivenGraph, index_of
from conspectus.rows import Community, Failure, Report, Usage


def a_community(number: int, level: int = 0, parent: int = -1, children: tuple[int, ...] = ()) -> Community:
    return Community(f"community-{number}", number, level, parent, children, (number,))


def a_hierarchy() -> Index:
    """Communities 0 (children 2 and 3, of which 3 is too small for a report) and 1 (no children)."""
    communities = [
        a_community(0, children=(2, 3)),
        a_community(1),
        a_community(2, 1, 0),
        a_community(3, 1, 0),
    ]
    reports: list[Report] = [
        a_report("First", 0, community=0, children=(2, 3), n_tokens=5),
        a_report("Second", 1, community=1, n_tokens=3),
        a_report("Part", 2, community=2, level=1, parent=0, n_tokens=2),
    ]
    return an_index(
        "one two three four",
        "five six",
        entities=["A", "B", "C", "D"],
        communities=communities,
        reports=reports,
    )


def test_a_community_that_is_not_split_further_counts_in_the_view_of_each_deeper_level():
    index = a_hierarchy()
    total = sum(c.n_tokens for c in index.chunks)

    root, deeper = status_of(index).levels

    assert (root.level, root.communities, root.own, root.tokens) == (0, 2, 2, 8)
    assert (deeper.level, deeper.communities, deeper.own, deeper.tokens) == (1, 2, 1, 5)
    assert root.share == pytest.approx(8 / total)


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (["docs/a.txt", "docs/2024/b.txt"], ["docs"]),
        (["/data/docs/a.txt", "/data/docs/x/b.jsonl#2"], ["/data/docs"]),
        (["mail/a/1.txt", "notes/b.txt"], ["mail", "notes"]),
        (["/srv/a/1.txt", "notes/b.txt"], ["/srv", "notes"]),
        (["memory#1", "a.txt"], []),
    ],
)
def test_the_folders_of_the_documents_are_named(paths: list[str], folders: list[str]):
    assert folders_of(paths) == folders


def test_tokens_are_the_sum_over_the_chunks():
    index = a_hierarchy()

    assert status_of(index).tokens == sum(c.n_tokens for c in index.chunks) == 6


def test_usage_is_the_sum_over_the_tasks_and_failures_are_as_they_were_recorded():
    failures = [Failure("read", "it is empty", "a.txt"), Failure("reports", "the reply was cut off")]
    usage = {"ExtractGraph": Usage(3, 1, 100, 20, 0.5), "WriteReport": Usage(2, 0, 50, 30, 0.25)}

    status = status_of(replace(a_hierarchy(), failures=failures, usage=usage))

    assert status.usage == Usage(5, 1, 150, 50, 0.75)
    assert status.failures == tuple(failures)


def test_nothing_is_known_of_what_made_an_imported_graph():
    of_triples = index_of(GivenGraph([("Big", "directed_by", "Penny Marshall")]))

    assert status_of(of_triples).models == {}


def test_an_empty_index_has_figures_too():
    status = status_of(Index())

    assert (status.documents, status.tokens, status.levels, status.usage) == (0, 0, (), Usage())
