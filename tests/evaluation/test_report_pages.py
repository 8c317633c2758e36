"""The report on a comparison: it shows what exists, names what is missing, and each cell links to its details."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest
from making import an_index

from conspectus import evaluation
from conspectus.errors import UsageError
from conspectus.evaluation import charts
from conspectus.evaluation.claims import AnswerClaims, ClaimCheck
from conspectus.evaluation.comparison import (
    CitedText,
    ConditionAnswer,
    Question,
    answers_in,
    judgements_in,
    ratings_in,
    study_in,
    write_list,
)
from conspectus.evaluation.grounding import GroundingCheck
from conspectus.evaluation.judge import judged_in
from conspectus.evaluation.pairs import plan, save_criteria
from conspectus.tasks import Criterion

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=8000"
).split()
CONDITIONS = ("C0", "TS", "SS")
CRITERIA = [Criterion("depth", "How deep?"), Criterion("a/b | <i>", "Odd?")]
QUESTIONS = [Question(f"q{n}", f"What <b>of</b> {1900 + n}?", f"Ada {n}", "To learn") for n in range(8)]
TEXT = "## On it\n\n- **{c}** says {q} of the Orran Mill. [1]\n- </script> is text. [2]"


def an_answer(condition: str, question: str, **more: Any) -> ConditionAnswer:
    cited = (
        CitedText(1, "mill.txt", f"{condition} says {question} of the Orran Mill.", ("mill.txt",)),
        CitedText(2, "other.txt", "The flood.", ("other.txt", "third.txt")),
    )
    text = TEXT.format(c=condition, q=question)
    return ConditionAnswer(condition, question, text, cited, units=3, context_tokens=900, seconds=0.5, **more)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A comparison that has only answers."""
    folder = tmp_path / "study"
    write_list(QUESTIONS, folder)
    answers_in(folder).add(*[an_answer(c, q.id) for q in QUESTIONS for c in CONDITIONS])
    return folder


@pytest.fixture
def folder(bare: Path) -> Path:
    """A comparison with judgements (C0 wins by depth, SS is always tied), claims and grounding by rules."""
    save_criteria(CRITERIA, bare)
    planned = plan(study_in(bare), CRITERIA, replicates=2)

    def winner(first: str, second: str, criterion: str) -> int:
        if "SS" in (first, second) or criterion != "depth":
            return 0
        return 1 if first == "C0" else 2

    judgements_in(bare).add(
        *[
            one.judged(
                winner(one.first.condition, one.second.condition, one.criterion.name),
                "Answer 1 is as it is, Answer 2 is not <b>so</b>.",
                by="the-judge",
            )
            for one in planned.comparisons
        ]
    )
    evaluation.extract_claims(bare, settings={})
    evaluation.check_grounding(bare, settings={})
    return bare


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found.group(1))))


def written(folder: Path, **more: Any) -> tuple[str, str]:
    made = evaluation.write_report(folder, settings={}, **more)
    return made.page.read_text(encoding="utf-8"), made.markdown.read_text(encoding="utf-8")


# Existing and missing parts


def test_what_is_missing_is_said_with_the_command_that_makes_it(bare: Path):
    made = evaluation.write_report(bare, settings={})
    page, markdown = (path.read_text(encoding="utf-8") for path in (made.page, made.markdown))

    assert set(made.missing) == {
        "What these answers were made with is not recorded: they are of an earlier version. (C0, TS, SS)",
        "What these answers were made with is not recorded: they are of an earlier version.",
        "No answers were judged.",
        "Claims were not counted.",
        "What sentences cite was not checked.",
    }
    for command in ("judge", "claims", "grounding"):
        assert f"conspectus eval {command} {bare}" in page
        assert f"`conspectus eval {command} {bare}" in markdown
    assert 'class="heat"' not in page
    assert "Tables 3 and 4" in page  # the section is there and says that it is empty


def test_a_folder_without_answers_is_no_comparison(tmp_path: Path):
    with pytest.raises(UsageError, match="there are no answers"):
        evaluation.write_report(tmp_path, settings={})


def test_the_set_up_of_answers_is_recorded_and_shown(tmp_path: Path):
    index = an_index("Ada met Bo.", "Bo met Cy.", entities=["Ada", "Bo", "Cy"], reports=["Meetings"])
    settings = {"answer.context_tokens": 1000, "answer.general_knowledge": True}
    evaluation.answer_questions(
        QUESTIONS[:2], index, tmp_path, conditions=["C0", "TS", "bm25"], settings=settings
    )

    page, markdown = written(tmp_path, title="A & B")

    assert "| C0 | global | 0 | extractive | 0.1.0 | 2 |" in markdown
    details = json.loads(markdown.partition("```json")[2].partition("```")[0])
    assert details["settings"]["TS"]["answer"]["context_tokens"] == 1000
    assert [index["documents"] for index in details["indexes"]] == [2]
    assert re.search(r"\| TS \| 2 \| \d+ \| 100\.0 \|", markdown)
    assert "\n# A & B\n" in markdown
    assert "<h1>A &amp; B</h1>" in page


def test_answers_made_with_something_else_are_counted_apart(tmp_path: Path):
    index = an_index("Ada met Bo.", entities=["Ada", "Bo"], reports=["Meetings"])
    evaluation.answer_questions(QUESTIONS[:3], index, tmp_path, conditions=["bm25"], settings={})
    evaluation.answer_questions(
        QUESTIONS[:1], index, tmp_path, conditions=["bm25"], settings={"answer.context_tokens": 600}
    )

    assert "2 (and 1 made with something else)" in written(tmp_path)[1]


def test_failures_are_counted_and_named(bare: Path):
    answers_in(bare).add(ConditionAnswer("SS", "q0", error="the server <fell> over"))

    page, markdown = written(bare)

    assert "Failed: 1 of SS: the server \\<fell> over" in markdown
    assert "the server &lt;fell&gt; over" in page
    assert [row["error"] for row in data_of(page)["answers"] if row["error"]] == ["the server <fell> over"]


def test_all_sections_of_a_full_comparison_have_their_figures(folder: Path):
    page, markdown = written(folder)

    assert "| **C0 - TS** | 100.00 | 0.00 |" in markdown
    assert "| C0 - SS | 50.00 | 50.00 | 50.0 to 50.0 | 0 / 16 / 0 | all tied |" in markdown
    assert "| C0 | 8 | 1.00 | 1.00 to 1.00 |" in markdown
    assert "Found by rules: a claim is a sentence as it stands" in markdown
    assert "Supported, %" in markdown
    assert 'href="#pair/depth/C0/TS"' in page
    assert 'href="#pair/a%2Fb%20%7C%20%3Ci%3E/C0/TS"' in page
    assert 'href="#claims/C0"' in page
    assert 'href="#grounding/C0"' in page
    assert "### A/b | \\<i>" in markdown
    assert "| A/b \\| \\<i> | C0 | TS | SS |" in markdown


def test_what_holds_no_more_is_left_out(folder: Path):
    answers_in(folder).add(replace(an_answer("C0", "q0"), text="Something else."))

    assert ("C0", "q0") not in ClaimCheck.current(folder)
    assert ("C0", "q0") not in GroundingCheck.current(folder)
    judged = judged_in(study_in(folder))
    assert judged
    assert not any(one.question == "q0" and "C0" in (one.first, one.second) for one in judged.judgements)
    _, markdown = written(folder)
    assert "Of 24 answers 23 were looked at; 1 were not, or have changed since." in markdown
    assert "8 judgements are not made, or of answers changed since." in markdown


def test_judgements_that_all_hold_no_more_are_of_an_earlier_prompt(folder: Path):
    save_criteria([replace(one, description="Another description.") for one in CRITERIA], folder)

    made = evaluation.write_report(folder, settings={})

    line = next(line for line in made.missing if "the-judge" in line)
    assert line.startswith("The judgements by the-judge (96) are of an earlier prompt")
    assert made.markdown.read_text(encoding="utf-8").count(line) == 2  # win rates and statistics
    assert "No answers were judged." not in made.missing
    assert (made.data["results"], made.data["outdated"]) == ([], 96)
    with pytest.raises(UsageError, match=r"the-judge .* Judge again"):
        evaluation.judge_statistics(folder)


def test_of_several_judges_it_is_one_and_the_others_are_named(folder: Path):
    planned = plan(study_in(folder), CRITERIA[:1], pairs=["TS:SS"], replicates=1)
    judgements_in(folder).add(*[one.judged(1, "Well.", by="another") for one in planned.comparisons])

    most, chosen = judged_in(study_in(folder)), judged_in(study_in(folder), "another")

    assert most
    assert chosen
    assert (most.judge, most.others) == ("the-judge", ("another",))
    assert (chosen.judge, len(chosen.judgements)) == ("another", 8)
    assert "those of another are left out here" in written(folder)[1]


def test_claims_that_failed_are_told(folder: Path):
    ClaimCheck.rows_in(folder).add(AnswerClaims("TS", "q1", error="cut off"))

    assert "Failed: 1 of TS." in written(folder)[1]


def test_people_and_ablations_stand_in_the_report_where_there_are_any(folder: Path):
    assert "## People" not in written(folder)[1]
    one = plan(study_in(folder), CRITERIA, pairs=["C0:TS"], replicates=1).comparisons[0]
    better = 1 if one.first.condition == "C0" else 2
    ratings_in(folder).add(one.judged(better, "Deeper.", by="ada"))
    index = an_index("Ada met Bo.", entities=["Ada", "Bo"], reports=["Meetings"])
    evaluation.ablate(index, folder, varied={"reports.min_report_entities": [1, 2]}, settings={})

    page, markdown = written(folder)

    assert "| ada, the-judge | depth | 1 | 100 |" in markdown
    assert "### Ablation of reports.min" in markdown
    assert ("(ablation.svg)" in markdown) == ("<figure" in page) == charts.can_draw()
    assert [(row["rater"], row["winner"], row["reasoning"]) for row in data_of(page)["ratings"]] == [
        ("ada", better, "Deeper.")
    ]


def test_what_cannot_be_read_is_named(folder: Path):
    (folder / "ablation.json").write_text("{", encoding="utf-8")

    with pytest.raises(UsageError, match=r"ablation\.json cannot be read"):
        evaluation.write_report(folder, settings={})


# The page


def test_the_report_reaches_for_nothing_outside_itself_and_is_the_same_each_time(folder: Path):
    page, markdown = written(folder)

    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
    assert "http" not in re.sub(r"http-equiv", "", page.split('id="data"')[0])
    assert (page, markdown) == written(folder)


def test_the_page_is_well_formed_where_texts_are_markup(folder: Path):
    page, _ = written(folder)
    body = page[page.index("<main>") : page.index('<section id="questions"')]

    ElementTree.fromstring(body + "</main>")  # noqa: S314  # our own
    assert "<b>of</b>" not in body


def test_the_page_holds_every_answer_and_judgement(folder: Path):
    told = data_of(written(folder)[0])

    assert told["conditions"] == list(CONDITIONS)
    assert told["questions"][3] == ["q3", "What <b>of</b> 1903?", "Ada 3", "To learn"]
    row = next(row for row in told["answers"] if (row["condition"], row["question"]) == ("C0", "q3"))
    assert row["text"] == TEXT.format(c="C0", q="q3")
    assert row["cited"][1]["documents"] == ["other.txt", "third.txt"]
    assert len(told["judgements"]) == 3 * 2 * 8 * 2
    assert told["judgements"][0]["reasoning"].startswith("Answer 1 is as it is")
    assert len(told["claims"]) == 3 * 8


def in_browser(folder: Path, tmp_path: Path, acts: str = "", at: str = "") -> str:
    """Open the report in the browser, run the script `acts`, and return the resulting document."""
    if BROWSER is None:
        pytest.skip("there is no chromium to open the report in")
    text = written(folder)[0]
    once = f"if (!document.body.dataset.ready || window.done) return; window.done = 1; {acts}"
    wait = f"<script>setInterval(() => {{ {once} }}, 20)</script>"
    (tmp_path / "r.html").write_text(text.replace("</body>", wait + "</body>"), "utf-8")
    command = [BROWSER, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    ended = subprocess.run(
        [*command, f"{(tmp_path / 'r.html').as_uri()}{at}"], capture_output=True, timeout=120, check=False
    )
    return ended.stdout.decode("utf-8")


def inside(dom: str) -> str:
    found = re.search(r'<dialog id="panel"[^>]*open=[^>]*>(.*?)</dialog>', dom, re.DOTALL)
    return found.group(1) if found else ""


def test_what_was_asked_and_answered_is_marked_with_its_language(tmp_path: Path):
    write_list([Question("q", "这批文档的主要主题是什么？")], tmp_path)
    answers_in(tmp_path).add(*[ConditionAnswer(name, "q", "主题是水坝。") for name in ("C0", "TS")])
    page = written(tmp_path)[0]

    assert '<html lang="en">' in page
    assert '<div id="listed" lang="zh">' in page
    assert '<div id="inside" lang="zh">' in page


def test_a_cell_opens_the_questions_behind_it(folder: Path, tmp_path: Path):
    dom = in_browser(folder, tmp_path, "document.querySelector('td.heat a').click();")

    assert 'data-ready="8"' in dom
    panel = inside(dom)
    assert "C0 over TS by depth" in panel
    assert "C0 scores 100.00 of 100 over 8 questions" in panel
    assert panel.count("<details") == 8
    assert "C0 2 : 0 TS" in panel


def test_a_question_in_a_cell_shows_reasons_and_both_answers(folder: Path, tmp_path: Path):
    panel = inside(in_browser(folder, tmp_path, at="#pair/depth/C0/TS/q3"))

    assert panel.count('class="answer"') == 2
    assert panel.count("is as it is") == 2
    assert "shown first" in panel
    assert escape(QUESTIONS[3].text) in panel
    assert "&lt;/script&gt; is text." in panel
    assert "not &lt;b&gt;so&lt;/b&gt;." in panel


def test_odd_names_of_criteria_lead_to_their_cells_too(folder: Path, tmp_path: Path):
    panel = inside(in_browser(folder, tmp_path, at="#pair/a%2Fb%20%7C%20%3Ci%3E/SS/C0"))

    assert "SS over C0 by a/b | &lt;i&gt;" in panel
    assert "SS scores 50.00 of 100" in panel


def test_questions_are_made_when_they_are_opened_and_references_lead_to_their_texts(
    folder: Path, tmp_path: Path
):
    acts = (
        "document.body.dataset.before = document.querySelectorAll('#listed .answer').length;"
        "const box = document.querySelector('#listed details'); box.open = true;"
        "setTimeout(() => { document.body.dataset.after = document.querySelectorAll('#listed .answer').length;"
        "box.querySelector('a.cite').click();"
        "document.body.dataset.lit = box.querySelector('.lit blockquote').textContent; }, 50);"
    )

    dom = in_browser(folder, tmp_path, acts)

    assert 'data-before="0"' in dom
    assert 'data-after="3"' in dom
    assert 'data-lit="C0 says q0 of the Orran Mill."' in dom


def test_a_condition_can_be_hidden_and_questions_be_found(folder: Path, tmp_path: Path):
    acts = (
        "document.querySelector('#listed details').open = true;"
        "setTimeout(() => { document.querySelectorAll('.chip input')[1].click();"
        "const heads = [...document.querySelectorAll('#listed .answer h3')];"
        "document.body.dataset.shown = heads.map((h) => h.firstChild.textContent).join(' ');"
        "const s = document.getElementById('search'); s.value = '1905'; s.oninput();"
        "document.body.dataset.found = document.querySelectorAll('#listed > details:not([hidden])').length; }, 50);"
    )

    dom = in_browser(folder, tmp_path, acts)

    assert 'data-shown="C0 SS"' in dom
    assert 'data-found="1"' in dom


def test_claims_and_sentences_of_a_condition_open_by_question(folder: Path, tmp_path: Path):
    claims = inside(in_browser(folder, tmp_path, at="#claims/TS"))
    sentences = inside(in_browser(folder, tmp_path, at="#grounding/TS"))

    assert "Claims of TS" in claims
    assert claims.count("<details") == 8
    assert "1 of 2 supported" in sentences


def test_a_question_has_an_address_of_its_own(folder: Path, tmp_path: Path):
    panel = inside(in_browser(folder, tmp_path, at="#question/q5"))

    assert escape(QUESTIONS[5].text) in panel
    assert panel.count('class="answer"') == 3
    assert "Ada 5 · To learn" in panel


def test_a_page_of_answers_alone_opens_too(bare: Path, tmp_path: Path):
    dom = in_browser(bare, tmp_path, at="#question/q0")

    assert 'data-ready="8"' in dom
    assert inside(dom).count('class="answer"') == 3
