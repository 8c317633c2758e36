"""The shell of the web app in a browser: keyboard, narrow screens, themes, hostile documents, accessibility."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import conspectus
from tests.server.conftest import Running, Visit, serving

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
QUESTION = f"/ask?q={quote('Who is Dorothea Quill?')}"
PAGES = {
    "ask": "/",
    "answer": QUESTION,
    "answer over reports": f"/ask?q={quote('What are the main themes?')}",
    "conversation": f"{QUESTION}&q={quote('What did she teach?')}",
    "documents": "/documents",
    "document": "/documents/3?start=20&end=90",
    "map": "/map",
    "reports": "/reports",
    "report": "/reports/0",
    "entities": "/entities",
    "entity": "/entities/5",
    "not found": "/nowhere",
    "no such document": "/documents/99999",
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/pixel.png'>",
    "![pixel](https://evil.example/pixel.png)",
    "[click](javascript:alert(1))",
    "[click](https://evil.example)",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><image href='https://evil.example/a.svg'/></svg>",
    "<iframe src='https://evil.example'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='https://evil.example/x.swf'></object>",
    "<embed src='https://evil.example/x'>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<style>body{background:url(https://evil.example/b.png)}</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href='https://evil.example/'>",
    "<form action='https://evil.example'><button>Send</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video src='https://evil.example/v.mp4' autoplay></video>",
    "<audio src=x onerror=alert(1)>",
    "<video poster='https://evil.example/p.png'></video>",
    "<a href='javascript:alert(1)'>click</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>click</a>",
    "<math><mtext></mtext><script>alert(1)</script></math>",
    "<template><script>alert(1)</script></template>",
    "<noscript><img src=x onerror=alert(1)></noscript>",
    "<textarea><script>alert(1)</script></textarea>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<img src=x onerror=&#97;lert(1)>",
    "<img srcset='https://evil.example/1.png 1x'>",
    "<picture><source srcset='https://evil.example/2.png'><img></picture>",
    "<marquee onstart=alert(1)>",
    "<portal src='https://evil.example'></portal>",
    "'\"><script>alert(1)</script>",
    "`${alert(1)}`",
    "{{constructor.constructor('alert(1)')()}}",
    "<div style='background:url(https://evil.example/c.png)'>x</div>",
    "<https://evil.example/auto>",
    "[ref]: https://evil.example/ref.png",
    "> <img src=x onerror=alert(1)>",
    "| <img src=x onerror=alert(1)> | b |\n| --- | --- |\n| <svg onload=alert(1)> | c |",
    "```html\n<script>alert(1)</script>\n```",
    "# <img src=x onerror=alert(1)>",
]


def width_of(page: Any) -> int:
    return page.evaluate("document.documentElement.scrollWidth")


def settled(page: Any) -> None:
    """Wait until the page shows its content."""
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("[aria-busy=true], .waiting")).to_have_count(0)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(server: Running, visit: Callable[..., Visit], path: str, theme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed; npm ci in web/ installs it")
    page = visit(server.url + path, theme=theme).page
    settled(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(result => result.violations)")
    assert [(row["id"], [node["html"] for node in row["nodes"]]) for row in found] == []


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_nothing_is_wider_than_a_narrow_screen(
    server: Running, visit: Callable[..., Visit], path: str
) -> None:
    page = visit(server.url + path, width=360).page
    settled(page)
    assert width_of(page) <= 360
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Documents").first).to_be_visible()
    assert width_of(page) <= 360


def test_the_themes_differ_and_the_choice_is_remembered(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url, theme="light").page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate(background)
    assert light != dark
    page.reload()
    settled(page)
    assert page.evaluate(background) == dark


def test_from_the_question_to_the_cited_characters_and_back_by_keyboard_alone(
    server: Running, visit: Callable[..., Visit]
) -> None:
    page = visit(server.url).page
    settled(page)
    page.keyboard.type("Who is Dorothea Quill?")
    page.keyboard.press("Enter")
    expect(page.locator("a.marker").first).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className").startswith("marker"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#cited")).to_be_focused()
    while page.evaluate("document.activeElement.textContent") != "Back to the answer":
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("a.marker").first).to_be_focused()


def test_keys_lead_to_pages_and_fields(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url + "/documents").page
    settled(page)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("minutes")
    expect(page).to_have_url(re.compile("q=minutes"))
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.locator("#question")).to_be_focused()


def test_the_focus_goes_to_a_new_page(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url + "/documents").page
    settled(page)
    page.locator(".rows a").first.click()
    expect(page.locator("main")).to_be_focused()
    expect(page).to_have_title(re.compile(r".+ · Conspectus"))


def test_an_unknown_address_leads_on(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url + "/%E0%A4%A").page
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.locator("main").get_by_role("link").click()
    expect(page.locator("#question")).to_be_focused()


def test_the_app_speaks_chinese(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    page.get_by_label("Language", exact=True).select_option("zh")
    expect(page.get_by_role("button", name="提问")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("hostile")
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, fragment in enumerate(HOSTILE):
        name = re.sub(r"[/\x00\n]", "_", fragment)[:80]
        field = json.dumps(fragment)
        (corpus / f"{number:02} {name}.md").write_text(
            f"---\ntitle: {field}\nauthor: {field}\n---\n\n"
            f"Harbour master {number} of Port Sallow wrote: {fragment}\n\n{fragment}\n\nPort Sallow keeps it.\n",
            encoding="utf-8",
        )
    conspectus.build(corpus, folder / "index")
    with serving(folder / "index", read_only=True) as running:
        yield running


def nothing_runs_on(page: Any) -> None:
    """Assert that a page has no element that runs scripts or loads resources."""
    active = page.locator("main").locator(
        "img, iframe, object, embed, svg, script, style, video, form[action]"
    )
    assert active.count() == 0
    assert page.locator("a[href^='javascript:'], a[href^='data:'], a[href*='//evil']").count() == 0


def test_nothing_in_documents_runs_or_loads(hostile: Running, visit: Callable[..., Visit]) -> None:
    assert len(HOSTILE) >= 50
    visited = visit(hostile.url)
    page = visited.page
    questions = ["What are the main themes?", "What did the harbour master of Port Sallow write?", HOSTILE[1]]
    for path in [
        "/",
        "/documents",
        "/reports",
        "/entities",
        *(f"/ask?q={quote(text)}" for text in questions),
    ]:
        page.goto(hostile.url + path)
        settled(page)
        nothing_runs_on(page)
    for number in range(len(HOSTILE)):
        address = f"/documents/{number}?start=0&end=30"
        page.evaluate(
            "to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')) }", address
        )
        expect(page.locator(".document .text")).to_contain_text(f"Harbour master {number} of Port Sallow")
        nothing_runs_on(page)
    settled(page)
    assert visited.errors == []
    assert visited.foreign == []
