"""The graph of an index as triples over numbered names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conspectus.index import Index
from conspectus.indexing.given_graph import GivenGraph, index_of
from conspectus.rows import ReasoningPath, Relationship, Triple
from conspectus.triple_graph import TripleGraph

NAMES = st.sampled_from("abcdef")
SAID = st.lists(st.tuples(NAMES, st.sampled_from("rst"), NAMES), max_size=20, unique=True)


@given(SAID)
def test_every_triple_is_a_step_from_both_its_ends(said: list[tuple[str, str, str]]):
    graph = TripleGraph.of(index_of(GivenGraph(said)))

    steps = {
        (graph.names[n], graph.relations[s.relation], s.inverse, graph.names[s.to])
        for n in range(len(graph.names))
        for s in graph.steps(n)
    }

    assert steps == {(h, r, False, t) for h, r, t in said} | {(t, r, True, h) for h, r, t in said}


@given(SAID)
def test_the_ways_that_follow_a_way_are_those_of_the_names_it_arrives_at(said: list[tuple[str, str, str]]):
    graph = TripleGraph.of(index_of(GivenGraph(said)))
    for way in range(graph.ways.size):
        arrived = {
            s.to for n in range(len(graph.names)) for s in graph.steps(n) if 2 * s.relation + s.inverse == way
        }

        assert set(graph.ways.names(way ^ 1).tolist()) == arrived
        shares = graph.ways.follow(way)
        assert set(shares) == {w for n in arrived for w in graph.ways.of(n)}
        for onward, share in shares.items():
            assert share == sum(onward in graph.ways.of(n) for n in arrived) / len(arrived)


def test_an_index_without_triples_is_a_graph_of_its_relationships():
    index = Index(relationships=[Relationship("r", 0, "Ann", "Bob", "Ann met Bob.")])

    graph = TripleGraph.of(index)

    assert graph.names == ("Ann", "Bob")
    assert graph.relations == ("Ann met Bob.",)


def test_a_trail_passes_the_other_end_of_each_triple_whichever_way_it_points():
    made, found = Triple("0", 0, "Rook", "built at", "Kell"), Triple("1", 1, "Heron", "built at", "Kell")

    assert ReasoningPath("Rook", (made, found)).names == ("Rook", "Kell", "Heron")
    assert ReasoningPath("Rook").end == "Rook"
