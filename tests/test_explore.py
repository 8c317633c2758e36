"""Tests of exploring an index: entities, paths and reports."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_report, an_edge, an_entity, an_index

from conspectus.errors import NotFound, UsageError
from conspectus.explore import GraphPath, entity_view, find_entity, path_between, report_tree, report_view
from conspectus.index import Index
from conspectus.rows import Community

STORY = (
    "Ada Brook bought the Orran Mill. Ada Brook knew Ruben Vale.",
    "Ruben Vale opened the Tarn Bridge. Orran Mill is old.",
)


def a_story() -> Index:
    entities = ["Ada Brook", "Orran Mill", "Ruben Vale", "Tarn Bridge", "Moon"]
    edges = [("Ada Brook", "Orran Mill"), ("Ada Brook", "Ruben Vale"), ("Ruben Vale", "Tarn Bridge")]
    return an_index(*STORY, entities=entities, edges=edges)


# Entities


def test_a_thing_is_shown_with_its_neighbours_documents_and_places():
    index = a_story()

    view = entity_view("ADA  brook", index)

    assert view.name == "Ada Brook"
    assert view.degree == 2
    assert [edge.target for edge in view.relationships] == ["Orran Mill", "Ruben Vale"]
    assert all(edge.source == "Ada Brook" for edge in view.relationships)
    assert [(m.document, m.chunks) for m in view.documents] == [("0.txt", 1)]
    for source in (*view.sources, *(s for e in view.relationships for s in e.sources)):
        assert source.text == STORY[0][source.start : source.end] != ""


def test_the_strongest_relationships_come_first_and_no_more_than_asked_for():
    edges = [
        an_edge("A", name, n, weight=float(w)) for n, (name, w) in enumerate([("B", 1), ("C", 3), ("D", 2)])
    ]
    index = an_index("A B C D", entities=["A", "B", "C", "D"], edges=edges)

    view = entity_view("A", index, most=2)

    assert [edge.target for edge in view.relationships] == ["C", "D"]
    assert view.degree == 3


def test_an_alias_leads_to_its_thing_and_a_shared_one_names_all_that_share_it():
    entities = [
        an_entity("Tidal Energy Partnership", 0, aliases=("TEP", "Partnership")),
        an_entity("Rail Partnership", 1, aliases=("Partnership",)),
    ]
    index = an_index("text", entities=entities)

    assert find_entity("tep", index).number == 0
    with pytest.raises(NotFound, match="may be any of Tidal Energy Partnership, Rail Partnership"):
        find_entity("Partnership", index)


def test_an_unknown_name_is_told_with_what_is_spelt_like_it_or_shares_a_word():
    index = a_story()

    with pytest.raises(NotFound, match="did you mean Ruben Vale"):
        find_entity("Rubn Vale", index)
    with pytest.raises(NotFound, match="did you mean Orran Mill"):
        find_entity("the mill", index)
    with pytest.raises(NotFound, match="no entity has a similar name"):
        find_entity("Xyzzy", index)


# Paths


def test_a_path_goes_from_the_first_to_the_second_and_tells_each_step():
    path = path_between("tarn bridge", "orran mill", a_story())

    assert (path.source, path.target) == ("Tarn Bridge", "Orran Mill")
    assert [(s.source, s.target) for s in path.steps] == [
        ("Tarn Bridge", "Ruben Vale"),
        ("Ruben Vale", "Ada Brook"),
        ("Ada Brook", "Orran Mill"),
    ]
    assert all(s.sources for s in path.steps)


def test_what_nothing_connects_has_a_path_without_steps():
    assert path_between("Moon", "Ada Brook", a_story()) == GraphPath("Moon", "Ada Brook", ())


def test_a_thing_has_no_path_to_itself():
    with pytest.raises(UsageError, match="are one entity: Moon"):
        path_between("moon", "Moon", a_story())


def test_a_direct_step_goes_before_two_and_a_heavy_detour_before_a_light_one():
    edges = [("A", "B", 1), ("A", "C", 9), ("B", "C", 9), ("A", "D", 1), ("C", "E", 9), ("D", "E", 1)]
    index = a_graph(edges)

    assert names_of(path_between("A", "B", index)) == ["A", "B"]
    assert names_of(path_between("A", "E", index)) == ["A", "C", "E"]


def a_graph(edges: Any) -> Index:
    names = sorted({name for a, b, _ in edges for name in (a, b)})
    rows = [an_edge(a, b, n, weight=float(w)) for n, (a, b, w) in enumerate(edges)]
    return an_index("text", entities=[an_entity(name, n) for n, name in enumerate(names)], edges=rows)


def names_of(path: GraphPath) -> list[str]:
    return [path.source, *(step.target for step in path.steps)]


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("ABCDEF")).filter(lambda p: p[0] < p[1]),
        st.integers(1, 9),
        min_size=1,
    )
)
def test_no_other_path_costs_less(weights: dict[tuple[str, str], int]):
    index = a_graph([(a, b, w) for (a, b), w in sorted(weights.items())])
    both = weights | {(b, a): w for (a, b), w in weights.items()}
    names = sorted({name for pair in weights for name in pair})
    start, end = names[0], names[-1]

    def cost(path: tuple[str, ...]) -> float:
        return sum(1 + 1 / both[step] if step in both else float("inf") for step in pairwise(path))

    inner = [n for n in names if n not in (start, end)]
    least = min(
        cost((start, *part, end)) for size in range(len(inner) + 1) for part in permutations(inner, size)
    )
    found = path_between(start, end, index)

    assert (cost(tuple(names_of(found))) if found.steps else float("inf")) == pytest.approx(least)


# Reports


def a_hierarchy() -> Index:
    """Community 0 has children 2 (whose child 4 has a report) and 3 (too small for one); 1 has no children."""
    shape = {0: (0, -1, (2, 3)), 1: (0, -1, ()), 2: (1, 0, (4,)), 3: (1, 0, ()), 4: (2, 2, ())}
    communities = [
        Community(f"c{n}", n, level, parent, kids, (n,)) for n, (level, parent, kids) in shape.items()
    ]
    reports = [
        a_report(f"On {n}", place, community=n, level=shape[n][0], parent=shape[n][1], rating=rating)
        for place, (n, rating) in enumerate({0: 3.0, 1: 8.0, 2: 5.0, 4: 1.0}.items())
    ]
    return an_index("text", entities=list("ABCDE"), communities=communities, reports=reports)


def titles(branches: Any) -> list[Any]:
    return [[b.report.title, titles(b.below)] if b.below else b.report.title for b in branches]


def test_the_tree_holds_parts_below_their_wholes_the_most_important_first():
    assert titles(report_tree(a_hierarchy())) == ["On 1", ["On 0", [["On 2", ["On 4"]]]]]
    assert titles(report_tree(a_hierarchy(), deepest=1)) == ["On 1", ["On 0", ["On 2"]]]
    assert titles(report_tree(a_hierarchy(), deepest=0)) == ["On 1", "On 0"]


def test_the_parts_of_a_community_whose_report_failed_stand_in_its_place():
    index = a_hierarchy()
    without = an_index(
        "text",
        entities=list("ABCDE"),
        communities=list(index.communities),
        reports=[a_report("On 0", 0, community=0), a_report("On 4", 1, community=4, level=2, parent=2)],
    )

    assert titles(report_tree(without)) == [["On 0", ["On 4"]]]
    above = report_view("1", without).above
    assert above is not None
    assert above.title == "On 0"


def test_a_report_knows_what_is_above_and_below_it():
    view = report_view("c2", a_hierarchy())

    assert view.report.title == "On 2"
    assert view.above is not None
    assert view.above.title == "On 0"
    assert [r.title for r in view.below] == ["On 4"]


def test_a_report_is_named_by_number_community_or_the_start_of_its_id():
    index = a_hierarchy()

    for report in index.reports:
        for name in (str(report.number), f"C{report.community}", report.id, report.id[:10].upper()):
            if not name.isdecimal() or int(name) == report.number:
                assert report_view(name, index).report is report


def test_a_start_that_several_ids_have_is_not_guessed_at():
    twins = an_index("text", entities=["A", "B"], reports=[a_report("One", 0), a_report("One", 1)])

    with pytest.raises(NotFound, match="2 reports are named"):
        report_view(twins.reports[0].id, twins)


def test_a_report_that_is_not_there_is_told_with_the_ways_to_name_one():
    with pytest.raises(
        NotFound, match=r"there is no report 'xyz': give a number \(0 to 3\), c and the number"
    ):
        report_view("xyz", a_hierarchy())
    with pytest.raises(NotFound, match="this index has no reports"):
        report_view("0", Index())


def test_a_name_that_shares_but_a_german_stem_with_another_is_not_taken_for_it():
    index = an_index(entities=[an_entity("Maren")])
    cast("dict[str, str]", index.settings)["language"] = "en,de"

    with pytest.raises(NotFound):
        find_entity("Mars", index)
    assert find_entity("Marens", index).name == "Maren"


def test_a_report_that_is_not_there_is_named_as_it_was_asked_for():
    with pytest.raises(NotFound, match="'P7'"):
        report_view("P7", an_index(entities=["Ada"], reports=["Ada and others"]))
