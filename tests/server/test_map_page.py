"""The map, the reports and the entities of the web app, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import conspectus

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

DRAWN = "canvas[data-frames]"
INK = """canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.reduce((sum, value, i) => sum + (i % 4 == 3 && value > 0), 0);
}"""


@pytest.fixture
def page(browser: Any, server: Any) -> Iterator[Any]:
    """A browser tab on the server; logged errors and requests to other origins fail the test."""
    errors: list[str] = []
    context = browser.new_context(base_url=server.url, locale="en", reduced_motion="reduce")
    tab = context.new_page()
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.on("request", lambda r: None if r.url.startswith(server.url) else errors.append(r.url))
    yield tab
    context.close()
    assert not errors


@pytest.fixture(scope="module")
def index(sample_index: Any) -> conspectus.Index:
    return conspectus.open_index(sample_index)


def hub(index: conspectus.Index) -> Any:
    return max(index.entities, key=lambda e: e.degree)


def opened(page: Any, address: str = "/map") -> Any:
    page.goto(address)
    page.wait_for_selector(DRAWN)
    return page


def focus_of(page: Any) -> str:
    found = re.search(r"focus=(\w+)", page.url)
    return found.group(1) if found else ""


def focused_on(focus: str) -> re.Pattern[str]:
    return re.compile(rf"[?&]focus={focus}(&|$)")


def test_the_map_is_drawn_and_lists_its_communities(page: Any, index: conspectus.Index):
    opened(page)

    assert page.eval_on_selector(DRAWN, INK) > 500  # labels
    painted = "canvas => new Set(canvas.toDataURL()).size > 20 && canvas.width > 100"
    assert page.eval_on_selector(".canvas canvas:first-of-type", painted)
    roots = [c for c in index.communities if c.parent < 0]
    expect(page.locator("[role=treeitem]")).to_have_count(len(roots))


def test_search_goes_to_an_entity_and_says_what_it_is(page: Any, index: conspectus.Index):
    entity = hub(index)
    opened(page)

    page.fill("input[data-search]", entity.name)
    page.keyboard.press("Enter")

    page.wait_for_selector(f".selected h2:text-is({entity.name!r})")
    page.wait_for_selector(".selected .results li")
    expect(page).to_have_url(focused_on(f"e{entity.number}"))
    expect(page.locator(".crumbs button").nth(1)).to_be_visible()


def test_search_finds_another_name_of_an_entity_and_says_so(page: Any, index: conspectus.Index):
    entity, alias = next(
        (e, a) for e in index.entities for a in e.aliases if a.casefold() not in e.name.casefold()
    )
    opened(page)

    page.fill("input[data-search]", alias)
    row = page.locator(".results li", has=page.get_by_role("button", name=entity.name, exact=True))
    expect(row).to_contain_text(alias)
    row.get_by_role("button").click()

    expect(page.locator(".selected h2")).to_have_text(entity.name)
    expect(page.locator(".selected")).to_contain_text(alias)


def test_a_click_selects_what_is_under_it_and_hovering_names_it(page: Any, index: conspectus.Index):
    entity = hub(index)
    opened(page, f"/map?focus=e{entity.number}")
    page.wait_for_selector(".selected")
    box = page.locator(DRAWN).bounding_box()
    page.locator("input[data-search]").click()
    page.keyboard.press("Escape")

    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".tip")).to_contain_text(entity.name)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 60)

    expect(page.locator(".selected h2")).not_to_have_text(entity.name)
    expect(page).not_to_have_url(focused_on(f"e{entity.number}"))


def test_the_level_is_in_the_address(page: Any):
    opened(page, "/map?level=0")

    page.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")

    page.wait_for_url("**/map?level=1*")


def test_the_keyboard_opens_a_community_and_selects_its_part(page: Any, index: conspectus.Index):
    opened(page)
    first = page.locator("[role=treeitem]").first
    first.focus()
    number = int(first.get_attribute("data-community"))

    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[aria-level='2']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_selector(".selected h2")
    chosen = int(focus_of(page)[1:])
    assert focus_of(page)[0] == "c"
    assert chosen in index.communities[number].children


def test_a_path_between_two_entities_is_listed_with_its_sources(page: Any, index: conspectus.Index):
    source = hub(index)
    near = {
        r.target if r.source == source.name else r.source
        for r in index.relationships
        if source.name in (r.source, r.target)
    }
    target = next(
        e for e in sorted(index.entities, key=lambda e: -e.degree) if e.name not in near | {source.name}
    )

    opened(page, f"/map?focus=e{source.number}&to=e{target.number}")

    steps = conspectus.path_between(source.name, target.name, index).steps
    expect(page.locator(".steps li")).to_have_count(len(steps))
    expect(page.locator(".steps blockquote")).to_have_count(len(steps))


def test_a_pinch_zooms(page: Any):
    opened(page)
    frames = int(page.get_attribute(DRAWN, "data-frames"))
    touches = """canvas => {
        const send = (type, pointerId, clientX) => canvas.dispatchEvent(new PointerEvent(type,
            {pointerId, clientX, clientY: 300, pointerType: 'touch', bubbles: true, isPrimary: pointerId === 11}));
        canvas.setPointerCapture = () => {};
        send('pointerdown', 11, 200); send('pointerdown', 12, 260);
        send('pointermove', 12, 420); send('pointerup', 12, 420); send('pointerup', 11, 200);
    }"""
    page.eval_on_selector(DRAWN, touches)

    page.wait_for_function(
        "n => document.querySelector('canvas[data-frames]').dataset.frames > n", arg=frames
    )
    assert focus_of(page) == ""  # two fingers select nothing


def test_a_report_opens_the_characters_that_it_cites(page: Any, index: conspectus.Index):
    page.goto("/reports")
    page.locator(".branch a").first.click()
    page.locator("button.marker").first.click()
    source = page.locator(".reference .passage").first
    quoted = source.locator("blockquote").inner_text()
    source.locator("a").click()

    expect(page.locator("mark").first).to_be_visible()
    assert " ".join(page.locator("mark").first.inner_text().split())[:60] == " ".join(quoted.split())[:60]


def test_an_entity_says_why_its_names_were_joined(page: Any, index: conspectus.Index):
    entity = next(e for e in index.entities if e.aliases and any(j.into == e.name for j in index.joins))
    join = next(j for j in index.joins if j.into == entity.name and j.name in entity.aliases)

    page.goto(f"/entities/{entity.number}")

    expect(page.locator("h1")).to_have_text(entity.name)
    expect(page.locator("article")).to_contain_text(join.name)
    expect(page.locator("article")).to_contain_text(join.evidence or join.rule)
