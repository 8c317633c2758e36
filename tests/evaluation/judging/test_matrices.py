"""Win rates as matrices and charts."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation import charts
from conspectus.evaluation.comparison import Judgement
from conspectus.evaluation.judge import Comparison, Judged, compare
from conspectus.evaluation.pairs import Plan
from conspectus.tasks import Criterion

CONDITIONS = ("A", "B", "C")
PAIRS = (("A", "B"), ("A", "C"), ("C", "B"))
CRITERIA = (Criterion("depth", "Is it deep?"), Criterion("style", "Is it <well> written?"))

winners = st.lists(st.tuples(st.sampled_from(PAIRS), st.integers(0, 9), st.integers(0, 2)), max_size=60)


def comparison(rows: list[tuple[tuple[str, str], int, int]]) -> Comparison:
    judgements = [
        Judgement(*pair, "depth", f"q{question}", n, winner)
        for n, (pair, question, winner) in enumerate(rows)
    ]
    return compare(Judged(Plan(CONDITIONS, PAIRS, CRITERIA, 10, 5, (), ()), tuple(judgements), "judge"))


@given(winners)
def test_a_matrix_and_its_transpose_add_up_to_100(rows: list[tuple[tuple[str, str], int, int]]):
    found = comparison(rows)

    assert list(found.win_rates) == ["depth"] * bool(rows)
    for cells in found.win_rates.values():
        for one, other in product(cells, cells):
            there, back = cells[one][other], cells[other][one]
            assert (there is None) == (back is None)
            assert there is None or back is None or there + back == pytest.approx(100)
            assert found.is_significant("depth", one, other) == found.is_significant("depth", other, one)
            assert one != other or there == 50


def test_the_row_wins_over_the_column():
    found = comparison([(("A", "B"), n, 1) for n in range(8)] + [(("C", "B"), 0, 2)])

    assert found.win_rates["depth"] == {
        "A": {"A": 50, "B": 100, "C": None},
        "B": {"A": 0, "B": 50, "C": 100},
        "C": {"A": None, "B": 0, "C": 50},
    }
    significant = {pair for pair in product(CONDITIONS, CONDITIONS) if found.is_significant("depth", *pair)}
    assert significant == {("A", "B"), ("B", "A")}


def test_all_pairs_of_a_criterion_are_one_family():
    rows = [(pair, n, 1 if n else 2) for pair in PAIRS for n in range(9)]
    depth = comparison(rows).of("depth")

    assert depth[0].p == pytest.approx(0.01963, abs=1e-5)
    assert [one.p_holm for one in depth] == pytest.approx([3 * (depth[0].p or 0)] * 3)
    assert comparison(rows).of("style") == []


def test_pairs_that_were_not_judged_by_a_criterion_are_not_of_its_family():
    depth = comparison([(("A", "B"), n, 1) for n in range(9)]).of("depth")

    assert [(one.first, one.second) for one in depth] == [("A", "B")]
    assert depth[0].p_holm == depth[0].p


@given(st.floats(0, 100))
def test_a_rate_is_as_strong_as_its_opposite_and_another_colour(rate: float):
    assert re.fullmatch("#[0-9a-f]{6}", charts.colour(rate))
    if abs(rate - 50) > 5:
        assert charts.colour(rate) != charts.colour(100 - rate)


def test_pictures_of_win_rates_are_drawn_where_matplotlib_is_there(tmp_path: Path):
    found = comparison([(("A", "B"), n, 1) for n in range(8)])
    files = charts.heat_maps(found.win_rates, found.is_significant, tmp_path)

    assert files == (("win_rates.svg", "win_rates.png") if charts.can_draw() else ())
    assert all((tmp_path / file).stat().st_size for file in files)
