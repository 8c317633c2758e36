"""The web app in a browser: ask, read, stop, follow citations to their characters, and come back."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest

import conspectus
from tests.server.conftest import Running, Visit, serving
from tests.simulated_server import Behaviour, SimulatedServer

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

THEMES = "What are the main themes?"
SCRIPTS = {
    "emoji.txt": (
        "The 👩‍👩‍👧‍👦 family 🎉 of Ada Lovelace keeps bees. 🐝🐝 Ada Lovelace wrote on the engine 🚂 "
        "of Charles Babbage. 👍🏽 Charles Babbage built the difference engine in London. "
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 letters stand in a letter of Ada Lovelace."
    ),
    "crlf.txt": (
        "Captain Rowan sailed the Meridian.\r\n\r\nThe Meridian carried tea from Canton.\r\n"
        "Captain Rowan lost the Meridian in a storm off Cape Horn.\r\n\r\nThe owners blamed Captain Rowan.\r\n"
    ),
    "chinese.txt": (
        "李明是北京大学的教授。李明研究人工智能。北京大学在海淀区。\n\n王芳是上海交通大学的工程师。"
        "王芳和李明一起发表了关于人工智能的论文。上海交通大学支持王芳的研究。"
    ),
    "hebrew.txt": (
        "דוד כהן הוא פרופסור באוניברסיטת תל אביב. דוד כהן חוקר את ההיסטוריה של ירושלים.\n\n"
        "אוניברסיטת תל אביב פרסמה את הספר של דוד כהן על ירושלים."
    ),
    "arabic.txt": "كتب أحمد حسن عن تاريخ القاهرة. درس أحمد حسن في جامعة القاهرة. جامعة القاهرة نشرت كتاب أحمد حسن.",
}
QUESTIONS = [
    "Who is Ada Lovelace?",
    "What did Charles Babbage build?",
    "What did Ada Lovelace write on?",
    "What letters stand in a letter?",
    "Who keeps bees?",
    "What did the Meridian carry?",
    "Who lost the Meridian?",
    "Who blamed Captain Rowan?",
    "Where was the Meridian lost?",
    "Who sailed the Meridian?",
    "李明研究什么？",
    "王芳是谁？",
    "北京大学在哪里？",
    "谁发表了关于人工智能的论文？",
    "上海交通大学支持谁？",
    "מי הוא דוד כהן?",
    "מה חוקר דוד כהן?",
    "מה פרסמה אוניברסיטת תל אביב?",
    "أين درس أحمد حسن؟",
    "ماذا نشرت جامعة القاهرة؟",
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("scripts")
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, text in SCRIPTS.items():
        (corpus / name).write_bytes(text.encode())
    conspectus.build(corpus, folder / "index")
    with serving(folder / "index", read_only=True) as running:
        yield running


def ask_address(running: Running, *questions: str) -> str:
    return running.url + "/ask?" + "&".join(f"q={quote(question)}" for question in questions)


def test_a_question_is_typed_at_once_and_answered_with_sources(
    server: Running, visit: Callable[..., Visit]
) -> None:
    visited = visit(server.url)
    page = visited.page
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type(THEMES)
    page.keyboard.press("Enter")
    expect(page.locator(".sources li").first).to_be_visible()
    expect(page).to_have_title(f"{THEMES} · Conspectus")
    expect(page.get_by_role("heading", level=1)).to_have_text(THEMES)
    assert "q=What" in page.url
    assert not visited.errors
    assert not visited.foreign


def test_an_example_is_a_question_and_is_answered(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    examples = page.locator(".examples button")
    expect(examples).to_have_count(4)
    question = examples.nth(1).inner_text()
    assert question.endswith("?")
    examples.nth(1).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(question)
    expect(page.locator(".sources")).to_contain_text(re.compile(r"\d"))


def test_a_citation_and_its_source_mark_each_other(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(ask_address(server, THEMES)).page
    marker, source = page.locator("a.marker").first, page.locator("#source-0-1")
    marker.hover()
    expect(source).to_have_class("marked")
    source.hover()
    expect(marker).to_have_class(re.compile("marked"))
    marker.focus()
    expect(source).to_have_class("marked")
    source.get_by_role("link").last.focus()
    expect(marker).to_have_class(re.compile("marked"))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_citation_opens_its_document_at_the_exact_characters(
    scripts: Running, visit: Callable[..., Visit], question: str
) -> None:
    answer = httpx.post(scripts.url + "/api/ask", json={"question": question}).json()
    assert answer["citations"], answer["text"]
    source = answer["citations"][0]["sources"][0]
    page = visit(ask_address(scripts, question)).page
    page.locator("a.marker").first.click()
    mark = page.locator("#cited")
    expect(mark).to_be_in_viewport()
    assert mark.evaluate("node => node.textContent") == source["text"]
    text = page.locator(".document .text").evaluate("node => node.textContent")
    assert text[source["start"] : source["end"]] == source["text"]
    before = mark.evaluate(
        "node => { const r = new Range(); r.selectNodeContents(node.parentNode); r.setEndBefore(node);"
        " return r.toString() }"
    )
    assert len(before) == source["start"]


def test_the_back_button_leads_to_the_citation_where_one_was(
    server: Running, visit: Callable[..., Visit]
) -> None:
    page = visit(ask_address(server, THEMES)).page
    marker = page.locator("a.marker").last
    marker.scroll_into_view_if_needed()
    left = page.evaluate("scrollY")
    assert left > 0
    marker.click()
    expect(page.locator("#cited")).to_be_visible()
    page.go_back()
    expect(marker).to_be_focused()
    page.wait_for_function("y => Math.abs(scrollY - y) < 3", arg=left)
    page.go_forward()
    page.get_by_role("link", name="Back to the answer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(THEMES)


def test_an_answer_survives_a_reload(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(ask_address(server, THEMES)).page
    expect(page.locator("a.marker").first).to_be_visible()
    before = page.locator(".answer > :not(footer)").all_inner_texts()
    page.reload()
    expect(page.locator("a.marker").first).to_be_visible()
    assert page.locator(".answer > :not(footer)").all_inner_texts() == before


def test_a_follow_up_question_is_read_in_the_light_of_the_one_before(
    server: Running, visit: Callable[..., Visit]
) -> None:
    page = visit(ask_address(server, "Who is Rosamund Pellow?")).page
    page.locator("#question").fill("What does she say about the chart?")
    with page.expect_request("**/api/ask?*") as asked:
        page.keyboard.press("Enter")
    assert asked.value.post_data_json["earlier"][0]["question"] == "Who is Rosamund Pellow?"
    expect(page.locator(".exchange")).to_have_count(2)
    expect(page.locator(".exchange").nth(1)).to_contain_text("Pellow")
    question = page.locator(".exchange h2", has_text="What does she say about the chart?").first
    expect(question).to_be_focused()
    expect(question).to_be_in_viewport()
    assert page.evaluate("scrollY") > 0
    page.reload()
    expect(page.locator(".exchange")).to_have_count(2)
    page.go_back()
    expect(page.locator(".exchange")).to_have_count(1)


@dataclass
class Slow:
    """An answer that pauses after its first words until the test continues it."""

    released: threading.Event
    cancelled: threading.Event


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    state = Slow(threading.Event(), threading.Event())
    original = conspectus.aask

    async def slowly(question: str, index: Any, **options: Any) -> Any:
        options["on_method"]("walk", "it asks for a fact")
        options["on_text"]("The **first** words")
        try:
            await asyncio.to_thread(state.released.wait, 30)
        except asyncio.CancelledError:
            state.cancelled.set()
            raise
        return await original(question, index, **options)

    monkeypatch.setattr(conspectus, "aask", slowly)
    yield state
    state.released.set()


def test_words_are_shown_as_they_come_and_stop_ends_the_work(
    server: Running, visit: Callable[..., Visit], slow: Slow
) -> None:
    page = visit(ask_address(server, "Who stops this answer?")).page
    expect(page.locator(".answer strong")).to_have_text("first")
    expect(page.locator(".exchange header")).to_contain_text("walk")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    slow.released.set() if slow.cancelled.wait(60) else pytest.fail("the work went on")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".foot")).to_be_visible()


def test_escape_stops_an_answer(server: Running, visit: Callable[..., Visit], slow: Slow) -> None:
    page = visit(ask_address(server, "Who escapes from this answer?")).page
    expect(page.locator(".answer strong")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_method_is_chosen_with_its_help(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    page.get_by_label("Method").select_option("bm25")
    expect(page.locator(".controls .help")).to_contain_text("words of the question")
    page.locator("#question").fill("Who is Dorothea Quill?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".exchange header")).to_contain_text("bm25")
    assert "method=bm25" in page.url


def test_a_method_that_cannot_answer_is_not_offered(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    option = page.locator(".controls option[value=vector]")
    expect(option).to_be_disabled()
    expect(option).to_contain_text("no vectors")
    page.goto(ask_address(server, "Who is Dorothea Quill?") + "&method=vector")
    expect(page.locator(".problem")).to_contain_text("no vectors")
    expect(page.locator(".problem")).not_to_contain_text("conspectus.")


def test_a_path_of_an_unknown_name_leads_to_those_like_it(
    server: Running, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{server.url}/path?source=Dorothea+Quil&target=Rosamund+Pellow").page
    page.get_by_role("link", name="Dorothea Quill").click()
    expect(page.get_by_label("From")).to_have_value("Dorothea Quill")
    page.locator(".path a").first.click()
    expect(page).to_have_url(re.compile(r"/entities/\d+"))


def test_what_was_read_is_shown_on_demand(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(ask_address(server, "Who is Dorothea Quill?")).page
    page.get_by_role("button", name="Show what was read").click()
    expect(page.locator(".context pre").first).to_contain_text("Quill")


def test_an_error_says_what_happened_and_asks_again(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    page.route("**/api/ask?*", lambda route: route.abort())
    page.locator("#question").fill(THEMES)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/api/ask?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("a.marker").first).to_be_visible()


def test_a_long_document_is_read_in_parts(
    tmp_path: Path, serve: Callable[..., Running], visit: Callable[..., Visit]
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    lines = [f"Line {n} of the log names the ship Meridian 🚢 {n}." for n in range(6000)]
    (corpus / "log.txt").write_text("\n".join(lines), encoding="utf-8")
    conspectus.build(corpus, tmp_path / "index")
    text = conspectus.open_index(tmp_path / "index").documents[0].text
    start = text.index(lines[4321])
    end = start + len(lines[4321])
    running = serve(tmp_path / "index", read_only=True)
    page = visit(f"{running.url}/documents/0?start={start}&end={end}").page
    expect(page.locator("#cited")).to_be_in_viewport()
    assert page.locator("#cited").evaluate("node => node.textContent") == lines[4321]
    shown = page.locator(".document .text").evaluate("node => node.textContent")
    assert len(shown) <= 200_000
    page.get_by_role("link", name="Earlier part").first.click()
    expect(page.locator("#cited")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Cited")).click()
    expect(page.locator("#cited")).to_be_in_viewport()


MARKDOWN = """## **Bold head** [1]

1. First *item* [1]
   - nested `code` item
     - deeper **still** [1, 2]
   continued
2. Second

   A paragraph of it.

> A quotation
> of two lines [2]

| Name | Year |
| --- | ---: |
| Ada | 1843 [1] |

Two \\* two * three * four, snake_case_name, [link](https://evil.example) ![image](https://evil.example/a.png)
<b>not bold</b> [99]
"""


def test_markdown_of_answers_is_set_and_the_rest_stays_text(
    server: Running, visit: Callable[..., Visit]
) -> None:
    answer = httpx.post(server.url + "/api/ask", json={"question": THEMES}).json() | {"text": MARKDOWN}
    visited = visit(server.url)
    page = visited.page
    stream = f"event: done\ndata: {json.dumps(answer)}\n\n"
    page.route(
        "**/api/ask?*",
        lambda route: route.fulfill(body=stream, headers={"content-type": "text/event-stream"}),
    )
    page.locator("#question").fill("How is Markdown set?")
    page.keyboard.press("Enter")
    text = page.locator(".answer")
    expect(text.locator("h2 strong")).to_have_text("Bold head")
    expect(text.locator("ol > li")).to_have_count(2)
    expect(text.locator("ol > li > em")).to_have_text("item")
    expect(text.locator("ol > li > ul > li > ul > li strong")).to_have_text("still")
    expect(text.locator("ol > li > ul > li > ul > li a.marker")).to_have_count(2)
    expect(text.locator("ol > li > ul > li > code")).to_have_text("code")
    expect(text.locator("ol > li").nth(1).locator("p")).to_have_text("A paragraph of it.")
    expect(text.locator("blockquote > p")).to_contain_text("of two lines")
    expect(text.locator("td").first).to_have_text("Ada")
    expect(text.locator("th")).to_have_count(2)
    last = text.locator(":scope > p").first
    for part in (
        "Two * two * three * four",
        "snake_case_name",
        "[link](https://evil.example)",
        "<b>not bold</b>",
    ):
        expect(last).to_contain_text(part)
    expect(last.locator("a, em, img, b")).to_have_count(0)
    expect(last.locator("span.marker")).to_have_text("99")
    assert visited.foreign == []


# With a language model


@pytest.fixture
def modelled(sample_index: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Serve a copy of the sample index with a simulated model, whose failed calls are not retried."""
    with ExitStack() as stack:

        def serve(model: SimulatedServer, **settings: Any) -> Running:
            folder = tmp_path / "modelled"
            shutil.copytree(sample_index, folder)
            options = {"model": "openai/simulated", "llm.base_url": model.url, "llm.attempts": 1, **settings}
            return stack.enter_context(serving(folder, settings=options, read_only=True))

        yield serve


def test_what_a_question_takes_is_shown_before_it_is_asked(
    modelled: Callable[..., Running], visit: Callable[..., Visit]
) -> None:
    with SimulatedServer(Behaviour()) as model:
        page = visit(modelled(model).url).page
        estimate = page.locator("#estimate")
        expect(estimate).to_contain_text("openai/simulated")
        page.locator(".examples button").first.click()  # fills in the question without asking it
        expect(page.locator("#question")).to_have_value(THEMES)
        expect(page.locator(".composer .help")).to_contain_text("global: ")
        expect(estimate).to_contain_text(re.compile(r"\d calls · about [\d,]+ tokens"))
        over_reports = estimate.inner_text()
        page.get_by_label("Method").select_option("direct")
        expect(estimate).to_contain_text("1 call ")
        assert estimate.inner_text() != over_reports
        assert not model.counts
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator(".foot")).to_contain_text("· 1 call ·")
        assert model.counts


def test_a_stream_that_breaks_says_so_and_is_tried_again(
    modelled: Callable[..., Running], visit: Callable[..., Visit]
) -> None:
    question = "Who is Dorothea Quill?"
    with SimulatedServer(Behaviour(drops=1.0)) as model:
        running = modelled(model)
        page = visit(ask_address(running, question)).page
        expect(page.get_by_role("alert")).to_contain_text("broke the connection")
        model.behaviour = Behaviour()
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".sources li").first).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_have_text(question)


def test_a_spent_budget_and_a_dead_server_are_told(
    modelled: Callable[..., Running], visit: Callable[..., Visit]
) -> None:
    with SimulatedServer(Behaviour()) as model:
        running = modelled(model, **{"llm.budget_tokens": 100})
        page = visit(ask_address(running, THEMES)).page
        expect(page.get_by_role("alert")).to_contain_text("budget")
    with serving(
        running.app.app.app.state.indexes[""].folder,
        settings={"model": "openai/simulated", "llm.base_url": model.url, "llm.attempts": 1},
    ) as other:
        page = visit(ask_address(other, "Who is Dorothea Quill?")).page
        expect(page.get_by_role("alert")).to_contain_text(model.url.removesuffix("/v1"))
        expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_methods_and_reasons_are_told_in_chinese(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url).page
    page.get_by_label("Language", exact=True).select_option("zh")
    page.locator("#question").fill("What are the main themes?")
    expect(page.locator(".composer .help")).to_have_text("global: 问题针对全部文档")
    page.locator(".composer select").select_option("bm25")
    expect(page.locator(".composer .help")).to_have_text(re.compile(r"[\u4e00-\u9fff]{4}"))
