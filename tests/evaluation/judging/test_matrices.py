"""Win rates as matrices and pictures."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import UsageError
from conspectus.evaluation import drawing
from conspectus.evaluation.jsonl_table import Judgement
from conspectus.evaluation.judging import heatmap
from conspectus.evaluation.judging.compared import Comparison, compare
from conspectus.evaluation.judging.matrices import Matrix, as_json, matrices
from conspectus.evaluation.judging.pairing import Plan
from conspectus.tasks import Criterion

CONDITIONS = ("A", "B", "C")
PAIRS = (("A", "B"), ("A", "C"), ("C", "B"))
CRITERIA = (Criterion("depth", "Is it deep?"), Criterion("style", "Is it <well> written?"))

winners = st.lists(st.tuples(st.sampled_from(PAIRS), st.integers(0, 9), st.integers(0, 2)), max_size=60)


def comparison(rows: list[tuple[tuple[str, str], int, int]]) -> Comparison:
    judgements = [
        Judgement(*pair, "depth", f"q{question}", n, winner) for n, (pair, question, winner) in enumerate(rows)
    ]
    return compare(Plan(CONDITIONS, PAIRS, CRITERIA, 10, 5, (), ()), judgements, ("judge",))


@given(winners)
def test_a_matrix_and_its_transpose_add_up_to_100(rows: list[tuple[tuple[str, str], int, int]]):
    found = matrices(comparison(rows))

    assert [one.criterion for one in found] == ["depth"] * bool(rows)
    for depth in found:
        size = range(len(depth.conditions))
        for i, j in product(size, size):
            there, back = depth.rates[i][j], depth.rates[j][i]
            assert (there is None) == (back is None)
            assert there is None or back is None or there + back == pytest.approx(100)
            assert depth.significant[i][j] == depth.significant[j][i]
            assert i != j or there == 50


def test_the_row_wins_over_the_column():
    found = matrices(comparison([(("A", "B"), n, 1) for n in range(8)] + [(("C", "B"), 0, 2)]))

    assert as_json(found)["depth"] == {
        "A": {"A": 50, "B": 100, "C": None},
        "B": {"A": 0, "B": 50, "C": 100},
        "C": {"A": None, "B": 0, "C": 50},
    }
    assert found[0].significant == ((False, True, False), (True, False, False), (False, False, False))


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


def test_the_picture_is_xml_with_a_cell_for_each_rate():
    found = matrices(comparison([(pair, n, 1) for n in range(8) for pair in (("A", "B"), ("B", "C"))]))
    root = ElementTree.fromstring(drawing.svg(heatmap.drawing(found)))  # noqa: S314  # our own
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]

    assert texts.count("100") == texts.count("0") == 2
    assert {"depth", "A", "B", "C", "-"} <= set(texts)
    assert sum(element.tag.endswith("rect") for element in root.iter()) == 1 + 9


def test_names_are_written_safely_and_cells_are_as_wide_as_they():
    one = Matrix("a <b>", ("x", "a & a long name"), ((50.0, 60.0), (40.0, 50.0)), ((False,) * 2,) * 2)
    drawn = drawing.svg(heatmap.drawing([one]))

    assert "a &lt;b&gt;" in drawn
    assert "a &amp; a long name" in drawn
    boxes = [shape for shape in heatmap.drawing([one]).shapes if isinstance(shape, drawing.Box)]
    assert min(box.width for box in boxes) > len("a & a long name") * 7


@given(st.floats(0, 100))
def test_a_rate_is_as_strong_as_its_opposite_and_another_colour(rate: float):
    assert re.fullmatch("#[0-9a-f]{6}", heatmap.colour(rate))
    if abs(rate - 50) > 5:
        assert heatmap.colour(rate) != heatmap.colour(100 - rate)


def test_a_png_is_left_out_where_its_font_lacks_the_letters(tmp_path: Path):
    one = Matrix("坦率", ("A", "B"), ((50.0, 60.0), (40.0, 50.0)), ((False,) * 2,) * 2)

    assert drawing.write(heatmap.drawing([one]), tmp_path, "win_rates") == ("win_rates.svg",)
    assert "坦率" in (tmp_path / "win_rates.svg").read_text(encoding="utf-8")


def test_a_png_has_the_size_of_the_svg_or_tells_what_it_needs(tmp_path: Path):
    found = matrices(comparison([(("A", "B"), n, 1) for n in range(8)]))
    path = tmp_path / "win_rates.png"
    if not drawing.can_draw():
        with pytest.raises(UsageError, match=r"conspectus\[map\]"):
            drawing.png(heatmap.drawing(found), path)
        return
    from PIL import Image  # pyright: ignore[reportMissingImports]

    drawing.png(heatmap.drawing(found), path)
    with Image.open(path) as image:
        drawn = heatmap.drawing(found)
        assert image.size == (2 * drawn.width, 2 * drawn.height)
