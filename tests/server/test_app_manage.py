"""Indexing, corrections and snapshots in a browser: by drag and drop, by keyboard alone, narrow, and in Chinese."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

import conspectus
from tests.server.conftest import Running, Visit, serving
from tests.server.test_app_shell import AXE, width_of
from tests.simulated_server import Behaviour, SimulatedServer

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

MILL = (
    "Ada Brook founded Orran Mill in 1901. Orran Mill stands in Tarn Works. Ada Brook lived in Carr Head.\n"
)
LETTER = (
    "Brook wrote to Edith Hale. Edith Hale of Carr Head sold the lamp to Orran Mill. Ada Brook paid for it.\n"
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of documents, with a file that cannot be parsed and one of a format that is not read."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "mill.txt").write_text(MILL, encoding="utf-8")
    (folder / "letter.md").write_text(LETTER, encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "program.exe").write_bytes(b"MZ")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two documents; tests take a copy."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "mill.txt").write_text(MILL, encoding="utf-8")
    (folder / "letter.md").write_text(LETTER, encoding="utf-8")
    conspectus.build(folder, folder / "index")
    return folder / "index"


@pytest.fixture
def own(built: Path, tmp_path: Path, serve: Callable[..., Running]) -> Running:
    """A server for an index that may be changed."""
    return serve(shutil.copytree(built, tmp_path / "own"))


def entity(running: Running, name: str) -> str:
    """Return the address of the page of an entity."""
    rows = httpx.get(running.url + "/api/entities", params={"q": name}).json()
    return f"{running.url}/entities/{rows[0]['number']}"


def names(running: Running) -> set[str]:
    return {row["name"] for row in httpx.get(running.url + "/api/entities?limit=500").json()}


def states(running: Running) -> list[tuple[str, str]]:
    return [(row["kind"], row["state"]) for row in httpx.get(running.url + "/api/corrections").json()]


def drop(page: Any, *paths: Path) -> None:
    """Drop files or folders on the page, as a desktop does."""
    box = page.locator(".drop").bounding_box()
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        at = {"x": box["x"] + 20, "y": box["y"] + 20}
        session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **at})


def tab_to(page: Any, name: str) -> None:
    """Press Tab until the element with this name has the focus."""
    called = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
    for _ in range(80):
        if page.evaluate(called) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {name!r}")


def press(page: Any, name: str) -> None:
    tab_to(page, name)
    page.keyboard.press("Enter")


# Indexing


def test_an_index_is_made_by_drag_and_drop(
    serve: Callable[..., Running], visit: Callable[..., Visit], files: Path, tmp_path: Path
) -> None:
    running = serve(tmp_path / "new")
    visited = visit(running.url)
    page = visited.page
    expect(page.locator(".drop")).to_be_visible()  # there is no index to ask yet
    drop(page, files)
    rows = page.locator(".files li")
    expect(rows).to_have_count(4)
    expect(page.locator(".files li.there")).to_have_count(3)
    expect(page.locator(".files li.refused")).to_contain_text("program.exe")
    page.get_by_role("button", name="Estimate").click()
    estimate = page.locator(".estimate")
    expect(estimate).to_contain_text("broken.pdf")
    expect(estimate).to_contain_text("no language model")
    assert not (tmp_path / "new" / "manifest.json").exists()
    page.get_by_role("button", name="Start indexing").click()
    result = page.locator(".result")
    expect(result).to_be_visible(timeout=60_000)
    expect(result.locator("dd").first).to_have_text("2")
    expect(result.locator(".unread")).to_contain_text("broken.pdf")
    expect(page.locator(".state")).to_be_focused()
    # the same page goes on with the new index
    result.get_by_role("link").first.click()
    page.locator("#question").fill("Who founded Orran Mill?")
    page.keyboard.press("Enter")
    expect(page.locator("a.marker").first).to_be_visible()
    assert "Ada Brook" in page.locator("main").inner_text()
    page.get_by_role("link", name="Manage").click()
    expect(result.locator(".unread")).to_contain_text("broken.pdf")  # a returning user sees it again
    assert visited.errors == []
    assert visited.foreign == []


def test_files_are_replaced_and_removed_and_the_index_follows(
    serve: Callable[..., Running], visit: Callable[..., Visit], files: Path, tmp_path: Path
) -> None:
    running = serve(tmp_path / "new")
    page = visit(running.url + "/build").page
    picker = page.locator("input[type=file]").first
    picker.set_input_files([files / "mill.txt", files / "letter.md"])
    expect(page.locator(".files li.there")).to_have_count(2)
    page.get_by_role("button", name="Start indexing").click()
    expect(page.locator(".result")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Remove letter.md").click()
    expect(page.locator(".files li")).to_have_count(1)
    expect(page.locator(".files h2")).to_be_focused()
    page.get_by_role("button", name="Estimate").click()
    expect(page.locator(".estimate")).to_contain_text("letter.md")
    page.get_by_role("button", name="Start indexing").click()
    expect(page.locator(".result dd").first).to_have_text("1", timeout=60_000)
    assert "Edith Hale" not in names(running)


def test_a_build_is_made_by_keyboard_alone(
    serve: Callable[..., Running], visit: Callable[..., Visit], files: Path, tmp_path: Path
) -> None:
    running = serve(tmp_path / "new")
    page = visit(running.url).page
    expect(page.locator(".drop")).to_be_visible()
    with page.expect_file_chooser() as chooser:
        press(page, "Choose files")
    chooser.value.set_files(files / "mill.txt")
    expect(page.locator(".files li.there")).to_have_count(1)
    press(page, "Start indexing")
    expect(page.locator(".state")).to_be_focused(timeout=60_000)
    expect(page.locator(".result")).to_be_visible(timeout=60_000)
    press(page, "Ask a question")
    expect(page.locator("#question")).to_be_focused()


def test_a_build_with_a_model_is_started_by_those_who_saw_what_it_takes(
    serve: Callable[..., Running], visit: Callable[..., Visit], files: Path, tmp_path: Path
) -> None:
    with SimulatedServer(Behaviour(latencies=(3600.0,))) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(tmp_path / "new", settings=settings)
        page = visit(running.url).page
        page.locator("input[type=file]").first.set_input_files([files / "mill.txt"])
        expect(page.locator(".files li.there")).to_have_count(1)
        page.locator("button.primary").click()
        expect(page.locator(".estimate")).to_contain_text("Calls of the model")
        assert httpx.get(running.url + "/api/jobs").json() == []
        page.locator("button.primary").click()
        expect(page.locator(".job")).to_be_visible()
        # a returning user finds it, and the menu mentions it
        page.get_by_role("link", name="Ask").first.click()
        expect(page.locator(".bar .running")).to_be_visible()
        expect(page.locator(".job")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".job")).to_have_count(0)
        expect(page.locator(".drop")).to_be_visible()
    assert httpx.get(running.url + "/api/jobs").json()[0]["state"] == "cancelled"


def test_a_build_that_fails_says_why_and_can_be_started_again(
    serve: Callable[..., Running], visit: Callable[..., Visit], files: Path, tmp_path: Path
) -> None:
    running = serve(tmp_path / "new")
    page = visit(running.url).page
    page.locator("input[type=file]").first.set_input_files([files / "broken.pdf"])
    expect(page.locator(".files li.there")).to_have_count(1)
    page.locator("button.primary").click()
    expect(page.get_by_role("alert").filter(has_text="broken.pdf")).to_be_visible()
    page.locator("input[type=file]").first.set_input_files([files / "mill.txt"])
    expect(page.get_by_role("alert").filter(has_text="broken.pdf")).to_have_count(0)
    expect(page.locator("button.primary")).to_be_enabled()


# Corrections


def test_a_wrong_alias_is_put_right_applied_and_undone(own: Running, visit: Callable[..., Visit]) -> None:
    page = visit(entity(own, "Ada Brook")).page
    alias = page.locator(".aliases li")
    expect(alias).to_contain_text("Brook")
    expect(alias.locator(".note")).not_to_be_empty()  # the reason of the alias decision
    alias.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("next build")
    dialog.get_by_role("button", name="Save correction").click()
    expect(page.locator(".correcting .outcome")).to_contain_text("entity of its own")
    expect(page.locator(".correcting")).to_be_focused()
    assert "Brook" not in names(own)  # nothing changed yet
    page.get_by_role("link", name="All corrections").click()
    page.get_by_role("button", name="Apply now").click()
    expect(page.get_by_role("heading", name="Applied")).to_be_visible(timeout=60_000)
    assert {"Brook", "Ada Brook"} <= names(own)
    assert states(own) == [("split", "applied")]
    page.get_by_role("link", name="Show the entity").click()
    expect(page.locator(".entries li")).to_have_count(2)  # both entities are listed
    page.go_back()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".taken-back")).to_contain_text("Brook")
    page.get_by_role("button", name="Apply now").click()
    expect(page.locator(".corrected")).to_have_count(0, timeout=60_000)
    assert "Brook" not in names(own)


def test_entities_are_merged_renamed_retyped_and_deleted(own: Running, visit: Callable[..., Visit]) -> None:
    page = visit(entity(own, "Edith Hale")).page
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("Edith Hale of Carr Head")
    page.keyboard.press("Enter")
    expect(page.locator(".corrected li")).to_have_count(1)
    page.get_by_role("button", name="Change type…").click()
    page.get_by_role("dialog").get_by_role("combobox").fill("benefactor")
    page.keyboard.press("Enter")
    expect(page.locator(".corrected li")).to_have_count(2)
    page.goto(entity(own, "Carr Head"))
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save correction").click()
    expect(page.locator(".corrected li")).to_have_count(1)
    page.goto(entity(own, "Orran Mill"))
    page.get_by_role("button", name="Merge…").click()
    page.get_by_role("dialog").get_by_role("combobox").fill("tarn")
    page.get_by_role("option", name="Tarn Works").click()
    page.get_by_role("radio", name="Tarn Works").check()
    page.get_by_role("dialog").get_by_role("button", name="Save correction").click()
    expect(page.locator(".corrected li")).to_have_count(1)
    page.goto(own.url + "/corrections")
    expect(page.locator(".corrected li")).to_have_count(4)
    page.get_by_role("button", name="Apply now").click()
    expect(page.get_by_role("button", name="Undo")).to_have_count(4, timeout=60_000)
    now = names(own)
    assert {"Edith Hale of Carr Head", "Tarn Works"} <= now
    assert not {"Edith Hale", "Carr Head", "Orran Mill"} & now


def test_what_is_refused_stays_in_the_dialog(own: Running, visit: Callable[..., Visit]) -> None:
    page = visit(entity(own, "Edith Hale")).page
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("Carr Head")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Carr Head")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Rename…")).to_be_focused()
    assert states(own) == []


def test_a_merge_is_made_and_taken_back_by_keyboard_alone(own: Running, visit: Callable[..., Visit]) -> None:
    page = visit(entity(own, "Orran Mill")).page
    expect(page.locator(".correcting")).to_be_visible()
    press(page, "Merge…")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    page.keyboard.type("tarn")
    expect(page.get_by_role("dialog").get_by_role("option", selected=True)).to_contain_text("Tarn Works")
    page.keyboard.press("Enter")
    expect(page.get_by_role("radio").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".correcting")).to_be_focused()
    assert states(own) == [("merge", "waiting")]
    page.keyboard.press("Tab")
    press(page, "All corrections")
    expect(page.get_by_role("heading", level=1)).to_have_text("Corrections")
    press(page, "Remove: Merge “Orran Mill” into “Tarn Works”")
    expect(page.get_by_text("Nothing is waiting.")).to_be_visible()
    assert states(own) == []


# Snapshots


def test_an_index_is_rolled_back_by_keyboard_alone(own: Running, visit: Callable[..., Visit]) -> None:
    httpx.post(own.url + "/api/corrections", json={"kind": "rename", "name": "Edith Hale", "to": "E. Hale"})
    page = visit(own.url + "/corrections").page
    page.get_by_role("button", name="Apply now").click()
    expect(page.get_by_role("heading", name="Applied")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Snapshots").click()
    expect(page.locator(".snapshots li")).to_have_count(2)
    expect(page.locator(".snapshots li").first).to_contain_text("Corrections")
    assert "E. Hale" in names(own)
    button = page.get_by_role("button", name="Roll back…")
    tab_to(page, button.get_attribute("aria-label"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("next build")
    press(page, "Roll back")
    expect(page.locator(".outcome")).to_be_focused()
    expect(page.locator(".snapshots li").nth(1)).to_have_attribute("aria-current", "true")
    assert "Edith Hale" in names(own)
    assert states(own) == [("rename", "waiting")]


# All pages


PAGES = ("/build", "/corrections", "/snapshots", "entity")


def check(page: Any) -> None:
    """Assert that axe finds no accessibility problem in the current state of a page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(result => result.violations)")
    assert [(row["id"], [node["html"] for node in row["nodes"]]) for row in found] == []


@contextmanager
def opened(visited: Visit, name: str) -> Iterator[Any]:
    """Open a dialog of an entity's page."""
    visited.page.get_by_role("button", name=name).first.click()
    expect(visited.page.get_by_role("dialog")).to_be_visible()
    yield visited.page
    visited.page.keyboard.press("Escape")


def of(own: Running, path: str) -> str:
    return entity(own, "Ada Brook") if path == "entity" else own.url + path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed; npm ci in web/ installs it")
def test_axe_finds_nothing_on_the_pages_that_change_an_index(
    own: Running, visit: Callable[..., Visit], theme: str
) -> None:
    httpx.put(own.url + "/api/uploads/mill.txt", content=MILL)
    httpx.post(own.url + "/api/corrections", json={"kind": "retype", "name": "Ada Brook", "type": "miller"})
    for path in PAGES:
        visited = visit(of(own, path), theme=theme)
        expect(visited.page.locator("main h1").first).to_be_visible()
        visited.page.wait_for_load_state("networkidle")
        check(visited.page)
    for name in ("Merge…", "Change type…", "Delete…", "Not the same…"):
        with opened(visited, name) as page:
            check(page)
    page = visit(own.url + "/build", theme=theme).page
    page.get_by_role("button", name="Estimate").click()
    expect(page.locator(".estimate")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Start indexing").click()
    expect(page.locator(".result")).to_be_visible(timeout=60_000)
    check(page)
    page.goto(own.url + "/snapshots")
    page.get_by_role("button", name="Roll back…").first.click()
    check(page)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_a_narrow_screen_in_either_language(
    own: Running, visit: Callable[..., Visit], language: str
) -> None:
    long = "a-very-long-name-without-any-place-to-break-" * 3
    httpx.put(f"{own.url}/api/uploads/{long}.txt", content=MILL)
    httpx.post(own.url + "/api/corrections", json={"kind": "rename", "name": "Ada Brook", "to": long})
    for path in PAGES:
        page = visit(of(own, path), width=360).page
        page.evaluate(f"localStorage.setItem('language', '{language}')")
        page.reload()
        expect(page.locator("main h1").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert width_of(page) <= 360, path


def test_the_pages_speak_chinese(own: Running, visit: Callable[..., Visit]) -> None:
    page = visit(own.url + "/corrections").page
    page.get_by_label("Language", exact=True).select_option("zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("更正")
    page.get_by_role("link", name="快照").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("快照")
    page.goto(entity(own, "Ada Brook"))
    page.get_by_role("button", name="改名…").click()
    page.get_by_label("新名称").fill("Ada B.")
    page.keyboard.press("Enter")
    expect(page.locator(".corrected")).to_contain_text("改名为“Ada B.”")


def test_a_server_that_only_reads_says_so_and_has_no_controls(
    built: Path, visit: Callable[..., Visit]
) -> None:
    with serving(built, read_only=True) as running:
        for path in ("/build", "/corrections", "/snapshots"):
            page = visit(running.url + path).page
            expect(page.locator(".readonly")).to_be_visible()
            assert page.locator("main button").count() == 0
        page = visit(entity(running, "Ada Brook")).page
        expect(page.locator(".aliases")).to_be_visible()
        assert page.locator("main button").count() == 0
