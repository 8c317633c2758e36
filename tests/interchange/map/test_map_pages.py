"""Tests of the map as a page, in a real browser where there is one."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from html import escape
from pathlib import Path
from typing import Any

import pytest
from making import a_report, an_index

from conspectus.index import Index
from conspectus.indexing.given_graph import GivenGraph, index_of
from conspectus.interchange import map as pages
from conspectus.interchange.map import Scene, colours, page, scene_of
from conspectus.rows import Community

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=8000"
).split()


@pytest.fixture(scope="module")
def index() -> Index:
    """Two communities of three, in one root, with things whose names are markup; and one thing in none."""
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


@pytest.fixture(scope="module")
def scene(index: Index) -> Scene:
    return scene_of(index)


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found.group(1))))


# The scene and its colours


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
    scene = scene_of(an_index("Comedy", entities=names, edges=edges, communities=[community], reports=[]))

    assert scene.title(0) == "Comedy, Big, Drama"


def test_parts_have_shades_of_their_own_near_the_colour_of_the_whole():
    parts = tuple(range(1, 5))
    family = [Community("r", 0, 0, -1, parts, ()), *(Community(str(i), i, 1, 0, (), ()) for i in parts)]

    found = colours(family)

    assert len(set(found)) == 5
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in found)


def test_better_connected_things_are_larger(scene: Scene, index: Index):
    degrees = [e.degree for e in index.entities]

    assert sorted(range(7), key=lambda i: degrees[i]) == sorted(
        range(7), key=lambda i: (float(scene.radius[i]), i)
    ) or (len(set(degrees)) == 1)


# The page


def test_the_page_reaches_for_nothing_outside_itself(scene: Scene):
    text = page(scene, title="A <map>")

    assert "default-src 'none'" in text
    assert "A &lt;map&gt;" in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)
    assert "http" not in re.sub(r"http-equiv", "", text.split('id="data"')[0])


def test_the_page_is_the_same_each_time(scene: Scene):
    assert page(scene, title="A") == page(scene, title="A")


def test_the_page_holds_things_reports_and_texts_and_may_leave_the_texts_out(scene: Scene, index: Index):
    held = data_of(page(scene, title="A"))

    assert held["entities"]["name"] == [e.name for e in index.entities]
    assert held["documents"][0][1] == index.documents[0].text
    assert held["home"][1] == [1, 1, 1, 2, 2, 2, -1]
    assert [c["report"] for c in held["communities"]] == [0, 1, -1]
    assert data_of(page(scene, title="A", sources=False))["documents"][0][1] == ""


def test_a_large_graph_opens_as_communities(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "MAX_OPEN_ENTITIES", 3)

    assert data_of(page(scene, title="A"))["folded"]


def in_browser(text: str, tmp_path: Path, acts: str = "", at: str = "") -> str:
    """Open a page in the browser, do what `acts` says in it, and return its document as it then is."""
    if BROWSER is None:
        pytest.skip("there is no chromium to open the map in")
    once = f"if (!window.conspectusMap || window.done) return; window.done = 1; {acts}"
    wait = f"<script>setInterval(() => {{ {once} }}, 20)</script>"
    (tmp_path / "map.html").write_text(text.replace("</body>", wait + "</body>"), "utf-8")
    command = [BROWSER, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    ended = subprocess.run(
        [*command, f"{(tmp_path / 'map.html').as_uri()}{at}"], capture_output=True, timeout=120, check=False
    )
    return ended.stdout.decode("utf-8")


def panel(dom: str) -> str:
    found = re.search(r'<div id="text">(.*?)</div></aside>', dom, re.DOTALL)
    return found.group(1) if found else ""


def test_a_browser_draws_every_thing(scene: Scene, tmp_path: Path):
    dom = in_browser(page(scene, title="A"), tmp_path)

    assert 'data-ready="7"' in dom
    assert re.search(r'<p id="note" hidden', dom)


def test_a_thing_tells_its_sources_and_its_name_stays_text(scene: Scene, tmp_path: Path):
    _, start, end = scene.index.entities[3].spans[0]

    told = panel(in_browser(page(scene, title="A"), tmp_path, at="#e3"))

    assert "<h2>&lt;b&gt;Zoë&lt;/b&gt;</h2>" in told
    assert (
        f"<mark>{escape(scene.index.documents[0].text[start:end])}</mark>" in told
    )  # behind two that count double


def test_a_report_links_what_it_cites_and_its_parts(scene: Scene, tmp_path: Path):
    told = panel(in_browser(page(scene, title="A"), tmp_path, at="#c0"))

    assert "[Data:" not in told
    assert ">Ada</a>" in told
    assert "The &lt;i&gt;left&lt;/i&gt;</a>" in told


def test_a_source_leads_back_to_what_it_was_opened_from(scene: Scene, tmp_path: Path):
    acts = (
        "conspectusMap.choose('entity', 3, false);"
        "document.querySelector('#text blockquote a').click(); document.body.dataset.opened = $('#text pre') !== null;"
        "[...document.querySelectorAll('#text a')].find((a) => a.textContent.startsWith('←')).click();"
    ).replace("$(", "document.querySelector(")

    dom = in_browser(page(scene, title="A"), tmp_path, acts)

    assert 'data-opened="true"' in dom
    assert "<h2>&lt;b&gt;Zoë&lt;/b&gt;</h2>" in panel(dom)


def test_a_graph_without_text_is_told_by_its_triples(tmp_path: Path):
    graph = index_of(GivenGraph([("Rook", "built_at", "Kell"), ("Rook", "owned_by", "Ada")]))

    told = panel(in_browser(page(scene_of(graph), title="A"), tmp_path, at="#e0"))

    assert "Rook built at Kell" in told
    assert "Told in" not in told
    assert ">Rook, Kell, Ada</a>" in told  # their community, which has no report


def test_search_finds_a_thing_and_goes_to_it(scene: Scene, tmp_path: Path):
    acts = (
        "const s = document.getElementById('search'); s.value = 'zoe'; s.oninput();"
        "document.querySelector('#found button').click();"
    )

    dom = in_browser(page(scene, title="A"), tmp_path, acts)

    assert "<h2>&lt;b&gt;Zoë&lt;/b&gt;</h2>" in panel(dom)


def test_the_slider_changes_the_level_and_with_it_the_colours(scene: Scene, tmp_path: Path):
    acts = (
        "const l = document.getElementById('level'), M = conspectusMap;"
        "const c = () => new Set(M.items().map((i) => i.colour)).size;"
        "const before = c(); l.value = 1; l.oninput(); document.body.dataset.colours = before + ' ' + c();"
    )

    dom = in_browser(page(scene, title="A"), tmp_path, acts)

    assert 'data-colours="2 3"' in dom
    assert ">1 of 1</output>" in dom


def test_a_folded_map_opens_a_community_on_demand(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "MAX_OPEN_ENTITIES", 3)
    acts = (
        "const M = conspectusMap, n = () => M.items().length, seen = [n()];"
        "const links = () => [...document.querySelectorAll('#text a')];"
        "const open = () => links().find((a) => a.textContent.startsWith('Open')).click();"
        "for (const c of [0, 1]) { M.choose('community', c, false); open(); seen.push(n()); }"
        "document.body.dataset.seen = seen.join(' ');"
    )

    dom = in_browser(page(scene, title="A"), tmp_path, acts)

    assert 'data-seen="1 2 4"' in dom
