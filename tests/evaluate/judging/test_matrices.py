"""Win rates as matrices and pictures."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import UsageError
from conspectus.evaluate.judging import heatmap
from conspectus.evaluate.judging.compared import Comparison, compare
from conspectus.evaluate.judging.matrices import Matrix, as_json, matrices
from conspectus.evaluate.judging.pairing import Plan
from conspectus.evaluate.kept import Judgement
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
    depth, style = matrices(comparison(rows))

    for i in range(3):
        assert depth.rates[i][i] == 50
        for j in range(3):
            there, back = depth.rates[i][j], depth.rates[j][i]
            assert (there is None) == (back is None)
            assert there is None or back is None or there + back == pytest.approx(100)
            assert depth.significant[i][j] == depth.significant[j][i]
    assert style.rates[0][1] is None


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
    assert [one.note for one in comparison(rows).of("style")] == ["too few questions"] * 3


def test_the_picture_is_xml_with_a_cell_for_each_rate():
    found = matrices(comparison([(("A", "B"), n, 1) for n in range(8)]))
    root = ElementTree.fromstring(heatmap.svg(found))  # noqa: S314  # our own
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]

    assert texts.count("100") == texts.count("0") == 1
    assert {"depth", "style", "A", "B", "C", "-"} <= set(texts)
    assert sum(element.tag.endswith("rect") for element in root.iter()) == 1 + 2 * 9


def test_names_are_written_safely_and_cells_are_as_wide_as_they():
    one = Matrix("a <b>", ("x", "a & a long name"), ((50.0, 60.0), (40.0, 50.0)), ((False,) * 2,) * 2)
    drawn = heatmap.svg([one])

    assert "a &lt;b&gt;" in drawn
    assert "a &amp; a long name" in drawn
    boxes = [shape for shape in heatmap.drawing([one]).shapes if isinstance(shape, heatmap.Box)]
    assert min(box.width for box in boxes) > len("a & a long name") * 7


@given(st.floats(0, 100))
def test_a_rate_is_as_strong_as_its_opposite_and_another_colour(rate: float):
    assert re.fullmatch("#[0-9a-f]{6}", heatmap.colour(rate))
    if abs(rate - 50) > 5:
        assert heatmap.colour(rate) != heatmap.colour(100 - rate)


def test_a_png_has_the_size_of_the_svg_or_tells_what_it_needs(tmp_path: Path):
    found = matrices(comparison([(("A", "B"), n, 1) for n in range(8)]))
    path = tmp_path / "win_rates.png"
    if not heatmap.can_draw():
        with pytest.raises(UsageError, match=r"conspectus\[map\]"):
            heatmap.png(found, path)
        return
    from PIL import Image  # pyright: ignore[reportMissingImports]

    heatmap.png(found, path)
    with Image.open(path) as image:
        drawn = heatmap.drawing(found)
        assert image.size == (2 * drawn.width, 2 * drawn.height)
