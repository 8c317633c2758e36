"""Tests of the map as one offline page: its data, and the page in a real browser, if there is one."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from making import a_report, an_index

from conspectus.index import Index
from conspectus.indexing.given_graph import GivenGraph, index_of
from conspectus.interchange import map as maps
from conspectus.interchange.map import colours, map_data, page, stored_map, title_of
from conspectus.rows import Community

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
DRAWN = "canvas[data-frames]"


@pytest.fixture(scope="module")
def index() -> Index:
    """Two communities of three entities in one root, with names that are markup; and one entity in no community."""
    names = ["Ada", "Ruben", "Tarn", "<b>Zoë</b>", "</script>", "磨坊", "Nobody"]
    communities = [
        Community("root", 0, 0, -1, (1, 2), tuple(range(6)), (0, 1, 2)),
        Community("left", 1, 1, 0, (), (0, 1, 2), (0, 1)),
        Community("right", 2, 1, 0, (), (3, 4, 5), (2,)),
    ]
    reports = [
        a_report("The whole", 0, ["Ada met Ruben [Data: Entities (0); Reports (1)]."], children=(1, 2)),
        a_report("The <i>left</i>", 1, ["A 𝒳 of the left [Data: Sources (0)]."], level=1, parent=0),
    ]
    return an_index(
        "𝒳𝒳 stood first. Ada met Ruben at the Tarn. <b>Zoë</b> wrote </script> on 磨坊.",
        entities=names,
        edges=[("Ada", "Ruben"), ("Ruben", "Tarn"), ("<b>Zoë</b>", "磨坊"), ("Ada", "磨坊")],
        communities=communities,
        reports=reports,
    )


def texts_of(text: str) -> dict[str, Any]:
    found = re.search(r'id="texts">([^<]*)</script>', text)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found.group(1))))


# The data


def test_a_community_without_a_report_is_called_by_its_best_connected_names_each_once():
    edges = [
        ("Comedy", "Big"),
        ("Comedy", "Heat"),
        ("Comedy", "Drama"),
        ("comedy", "Big"),
        ("comedy", "Drama"),
    ]
    names = ["Comedy", "comedy", "Big", "Drama", "Heat"]
    community = Community("all", 0, 0, -1, (), tuple(range(5)))
    index = an_index("Comedy", entities=names, edges=edges, communities=[community], reports=[])

    assert title_of(index, 0) == "Comedy, Big, Drama"


def test_parts_have_shades_of_their_own_near_the_colour_of_the_whole():
    parts = tuple(range(1, 5))
    family = [Community("r", 0, 0, -1, parts, ()), *(Community(str(i), i, 1, 0, (), ()) for i in parts)]

    found = colours(family)

    assert len(set(found)) == 5
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in found)


def test_the_page_reaches_for_nothing_outside_itself(index: Index):
    text = page(index, title="A <map>")

    assert "default-src 'none'" in text
    assert "A &lt;map&gt;" in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)


def test_the_page_is_the_same_each_time(index: Index):
    assert page(index, title="A") == page(index, title="A")


def test_the_page_has_names_reports_and_texts_and_may_leave_the_texts_out(index: Index):
    texts = texts_of(page(index, title="A"))

    assert sorted(texts["names"]["entities"]) == sorted(e.name for e in index.entities)
    assert texts["names"]["communities"][:2] == [r.title for r in index.reports]
    assert texts["documents"][0][1] == index.documents[0].text
    assert texts_of(page(index, title="A", sources=False))["documents"][0][1] == ""


# The page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium to open the map in")
    with driver.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open the map of an index from disk, offline; requests and logged errors of the page fail the test."""
    trouble: list[str] = []
    context = browser.new_context(offline=True, locale="en", reduced_motion="reduce")

    def opened(index: Index, at: str = "", **options: Any) -> Any:
        file = tmp_path / "map.html"
        file.write_text(page(index, title="A map", **options), "utf-8")
        tab = context.new_page()
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        tab.on("request", lambda r: None if r.url.startswith("file:") else trouble.append(r.url))
        tab.goto(file.as_uri() + at)
        tab.wait_for_selector(DRAWN)
        return tab

    yield opened
    context.close()
    assert not trouble


def test_an_entity_has_its_sources_and_its_name_stays_text(show: Callable[..., Any], index: Index):
    tab = show(index, "#focus=e3")

    tab.wait_for_selector(".selected blockquote")
    assert tab.inner_text(".selected h2") == "<b>Zoë</b>"
    _, start, end = index.entities[3].spans[0]
    assert (
        tab.inner_text(".selected blockquote") == index.documents[0].text[start:end]
    )  # after two characters that JavaScript counts double


def test_a_page_without_texts_says_so_and_where_they_are(show: Callable[..., Any], index: Index):
    tab = show(index, "#focus=e3", sources=False)

    tab.wait_for_selector(".selected .quote")
    assert "not in this file" in tab.inner_text(".selected")
    assert tab.locator(".selected blockquote").count() == 0
    assert index.documents[0].title in tab.inner_text(".selected .quote >> nth=0")


def test_a_report_links_what_it_cites(show: Callable[..., Any], index: Index):
    tab = show(index, "#focus=c0")

    tab.locator(".selected details summary").click()
    assert "[Data:" not in tab.inner_text(".selected")
    tab.locator(".selected .refs button", has_text="Ada").first.click()

    tab.wait_for_selector(".selected h2:text-is('Ada')")


def test_search_finds_a_name_without_its_accents(show: Callable[..., Any], index: Index):
    tab = show(index)

    tab.fill("input[type=search]", "zoe")
    tab.locator(".results button").first.click()

    tab.wait_for_selector(".selected h2:text-is('<b>Zoë</b>')")
    assert "focus=e3" in tab.url


def test_a_path_has_the_fewest_steps(show: Callable[..., Any], index: Index):
    tab = show(index, "#focus=e2&to=e5")

    tab.wait_for_selector(".steps li")
    rows = [" ".join(row.split()) for row in tab.locator(".steps li").all_inner_texts()]
    assert [row.split(" → ")[0] for row in rows] == ["Tarn", "Ruben", "Ada"]


def test_the_communities_are_a_tree_for_the_keyboard(show: Callable[..., Any], index: Index):
    tab = show(index)

    tab.locator("[role=treeitem]").first.focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        tab.keyboard.press(key)

    tab.wait_for_selector(".selected h2:text-is('The <i>left</i>')")


def test_a_graph_without_text_is_described_by_its_triples(show: Callable[..., Any]):
    graph = index_of(GivenGraph([("Rook", "built_at", "Kell"), ("Rook", "owned_by", "Ada")]))
    number = graph.entity_of_name["Rook"]

    tab = show(graph, f"#focus=e{number}")

    tab.wait_for_selector(".selected .results li")
    assert "Rook built at Kell" in tab.inner_text(".selected")


def test_a_map_is_laid_out_once_for_each_snapshot(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(index: Index) -> maps.MapData:
        made.append(index.snapshot)
        return map_data(index)

    monkeypatch.setattr(maps, "map_data", counted)
    first, second = (replace(index, folder=tmp_path, snapshot=name) for name in ("first", "second"))
    for row in (first, first, second, second):
        assert stored_map(row, write=True) == map_data(index)
    assert made == ["first", "second"]
    assert [path.name for path in tmp_path.iterdir()] == [maps.STORED]
    (tmp_path / maps.STORED).write_bytes(b"{}")
    assert stored_map(second, write=True) == map_data(index)


def test_a_map_of_a_folder_that_is_not_written_to_is_made(index: Index, tmp_path: Path) -> None:
    for folder, write in ((tmp_path, False), (tmp_path / "missing", True)):
        assert stored_map(replace(index, folder=folder), write=write) == map_data(index)
    assert not list(tmp_path.iterdir())
