"""The pages of an evaluation: win rates, tables, and each question with its answers and judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from conspectus.evaluation import answer_questions, judge_answers
from tests.server.conftest import Running, Visit, serving
from tests.server.test_app_shell import AXE, settled, width_of
from tests.simulated_server import Behaviour, SimulatedServer

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect
QUESTIONS = ["Which concerns run through these papers?", "Which projects were put off, and why?"]


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory, sample_index: Path) -> Iterator[Running]:
    """A server with a study: two questions by three conditions, judged by a simulated model."""
    folder = tmp_path_factory.mktemp("studies") / "harbour"
    questions = folder.parent / "questions.csv"
    questions.write_text("\n".join(["question", *(f'"{q}"' for q in QUESTIONS)]), encoding="utf-8")
    answer_questions(questions, sample_index, folder, conditions=["C0", "C1", "TS"])
    with SimulatedServer(Behaviour()) as judge:
        settings = {"llm.base_url": judge.url}
        judge_answers(folder, judge_model="openai/simulated", settings=settings)
    with serving(sample_index, studies=(folder,), read_only=True) as running:
        yield running


def test_a_study_lists_its_questions_and_each_has_its_answers(studied: Running) -> None:
    study = httpx.get(studied.url + "/api/studies/harbour", timeout=60).json()
    assert study["conditions"] == ["C0", "C1", "TS"]
    assert [text for _, text, *_ in study["questions"]] == QUESTIONS
    assert {(row["first"], row["second"]) for row in study["results"]} == {
        ("C0", "C1"),
        ("C0", "TS"),
        ("C1", "TS"),
    }
    assert "answers" not in study
    question = httpx.get(f"{studied.url}/api/studies/harbour/questions/{study['questions'][0][0]}").json()
    assert {row["condition"] for row in question["answers"]} == {"C0", "C1", "TS"}
    assert {row["question"] for part in ("answers", "judgements") for row in question[part]} == {
        question["id"]
    }
    assert httpx.get(f"{studied.url}/api/studies/harbour/questions/none").status_code == 404


def test_the_menu_leads_to_a_study_and_its_questions_to_answers_side_by_side(
    studied: Running, visit: Callable[..., Visit]
) -> None:
    visited = visit(studied.url)
    page = visited.page
    page.get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="harbour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("harbour")
    rate = page.locator(".criterion").first.locator("tbody tr").first.locator("td").nth(1)
    bar = page.locator(".criterion").first.locator(".pairs li").first
    expect(bar).to_contain_text(rate.inner_text())
    page.get_by_role("link", name=QUESTIONS[1]).click()
    expect(page.locator(".answers h3")).to_have_text(["C0", "C1"])
    page.get_by_label("with").select_option("TS")
    expect(page.locator(".answers h3")).to_have_text(["C0", "TS"])
    page.locator(".verdicts summary").first.click()
    expect(page.locator(".verdicts .reason").first).to_be_visible()
    page.reload()
    expect(page.locator(".answers h3")).to_have_text(["C0", "TS"])
    page.get_by_role("link", name="Previous question").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTIONS[0])
    assert not visited.errors
    assert not visited.foreign


def test_a_server_without_studies_says_how_to_get_one(server: Running, visit: Callable[..., Visit]) -> None:
    page = visit(server.url + "/studies").page
    expect(page.locator(".empty")).to_contain_text("--study")
    expect(page.get_by_role("link", name="Studies")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_too_wide(
    studied: Running, visit: Callable[..., Visit], theme: str
) -> None:
    study = httpx.get(studied.url + "/api/studies/harbour", timeout=60).json()
    for path in ("/studies", "/studies/harbour", f"/studies/harbour/{study['questions'][0][0]}"):
        page = visit(studied.url + path, theme=theme, width=360).page
        settled(page)
        assert width_of(page) <= 360
        if AXE.exists():
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found = page.evaluate("axe.run().then(result => result.violations)")
            assert [(row["id"], [node["html"] for node in row["nodes"]]) for row in found] == []
