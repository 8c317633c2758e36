"""People as judges: blinded pairs, the tables that raters return, and their agreement."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus import evaluation
from conspectus.errors import UsageError
from conspectus.evaluation.comparison import (
    ConditionAnswer,
    Judgement,
    Question,
    answers_in,
    judgements_in,
    ratings_in,
    study_in,
    write_list,
)
from conspectus.evaluation.pairs import plan, save_criteria
from conspectus.evaluation.people import Exported, agreements, pairs_by_id, ratings_now
from conspectus.evaluation.statistics import kappa
from conspectus.tasks import Criterion

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=8000"
).split()
CONDITIONS = ("C0", "TS", "SS")
LABELS = ("first", "second", "tie")


class Item(NamedTuple):
    id: str
    question: str
    first: str
    second: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six questions, answered by three conditions; two conditions answer the last question identically."""
    target = tmp_path / "study"
    questions = [Question(f"q{n}", f"What happened in {1900 + n}?") for n in range(6)]
    write_list(questions, target)
    rows = [
        ConditionAnswer(c, q.id, f"## In {q.id}\n\n- <b>{c.lower()}</b> says [1]")
        for q in questions
        for c in CONDITIONS
    ]
    rows = [
        ConditionAnswer(r.condition, r.question, "Same.")
        if (r.question == "q5" and r.condition != "C0")
        else r
        for r in rows
    ]
    answers_in(target).add(*rows)
    return target


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found.group(1))))


def exported(folder: Path, name: str = "pairs", **more: Any) -> Exported:
    return evaluation.export_pairs(folder, folder.parent / name, **more)


def shown(made: Exported) -> list[dict[str, str]]:
    """Return the rows of the table for raters."""
    return list(csv.DictReader(io.StringIO(made.table.read_text(encoding="utf-8"))))


def pairs_of(folder: Path, made: Exported) -> dict[str, Item]:
    """Return the question and the conditions, in the order shown, of each exported pair by its id."""
    pairs = pairs_by_id(study_in(folder))
    items: dict[str, Item] = {}
    for row in shown(made):
        first, second = pairs[row["item"]]
        items[row["item"]] = Item(row["item"], first.question, first.condition, second.condition)
    return items


def rated(folder: Path, rater: str, choose: Any, **more: Any) -> Path:
    """Write a rater's table: `choose` returns the better condition of a pair by a criterion (None: a tie)."""
    made = exported(folder, **more)
    items = pairs_of(folder, made)
    rows: list[list[str]] = [["item", "criterion", "rater", "choice", "comment"]]
    for row in shown(made):
        item = items[row["item"]]
        better = choose((item.first, item.second), row["criterion"], item.question)
        choice = {item.first: "1", item.second: "2", None: "tie"}[better]
        rows.append([item.id, row["criterion"], rater, choice, ""])
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    file = folder.parent / f"{rater}.csv"
    file.write_text(written.getvalue(), encoding="utf-8")
    return file


# Blinded pairs


def test_no_name_of_a_condition_reaches_a_rater(folder: Path):
    made = exported(folder, criteria=["diversity"])
    page = made.page.read_text(encoding="utf-8")
    data = data_of(page)

    assert set(data) == {"export", "criteria", "items"}
    told = json.dumps(data["items"])
    assert not any(re.search(rf'"{name}"', told) for name in CONDITIONS)
    assert not any(name in page.split('id="data"')[0] for name in CONDITIONS)
    assert not any(name in made.table.read_text(encoding="utf-8") for name in CONDITIONS)


def test_each_condition_of_a_pair_is_shown_first_half_of_the_time(folder: Path):
    made = exported(folder, sample=None)
    items = pairs_of(folder, made).values()
    first = Counter((frozenset((item.first, item.second)), item.first) for item in items)
    pairs = Counter(frozenset((item.first, item.second)) for item in items)

    assert pairs == {frozenset(("C0", "TS")): 6, frozenset(("C0", "SS")): 6, frozenset(("TS", "SS")): 5}
    assert (made.equal, made.pairs) == (1, 17)
    assert all(abs(2 * n - pairs[pair]) <= 1 for (pair, _), n in first.items())


def test_the_same_answers_make_the_same_page(folder: Path):
    one, same = exported(folder, "a"), exported(folder, "b")

    assert one.page.read_text(encoding="utf-8") == same.page.read_text(encoding="utf-8")
    assert one.table.read_text(encoding="utf-8") == same.table.read_text(encoding="utf-8")


def test_criteria_are_those_that_were_judged_by_where_none_is_named(folder: Path):
    assert exported(folder).criteria == ("comprehensiveness", "diversity", "empowerment", "directness")
    judge(folder, lambda *_: 1, criteria=[Criterion("candour", "Does it say what it cannot tell?")])

    assert exported(folder).criteria == ("candour",)


def test_a_sample_of_questions_is_that_of_the_judge(folder: Path):
    planned = plan(study_in(folder), [Criterion("depth", "How deep?")], replicates=1, sample=3)

    items = pairs_of(folder, exported(folder, sample=3, pairs=["C0:TS"])).values()

    assert {item.question for item in items} == {one.question.id for one in planned.comparisons}


def test_nothing_to_rate_is_told(tmp_path: Path):
    write_list([Question("q", "What?")], tmp_path)
    answers_in(tmp_path).add(*[ConditionAnswer(name, "q", "Same.") for name in CONDITIONS])

    with pytest.raises(UsageError, match="are equal"):
        exported(tmp_path)


def test_cells_that_a_spreadsheet_would_take_for_formulas_are_harmless(tmp_path: Path):
    folder = tmp_path / "study"
    write_list([Question("q", "What?")], folder)
    answers_in(folder).add(*[ConditionAnswer("A", "q", "=1+1"), ConditionAnswer("B", "q", "- a list")])

    row = shown(exported(folder))[0]

    assert {row["answer_1"], row["answer_2"]} == {"'=1+1", "'- a list"}


# Tables that raters return


def judge(folder: Path, winner: Any, criteria: Any = None, replicates: int = 3) -> None:
    """Judge every pair: `winner(first, second, criterion, question, replicate)` returns 0, 1 or 2."""
    chosen = criteria or [Criterion("depth", "How deep?")]
    save_criteria(chosen, folder)
    planned = plan(study_in(folder), chosen, replicates=replicates)
    rows: list[Judgement] = []
    for one in planned.comparisons:
        shown = one.first.condition, one.second.condition
        rows.append(
            one.judged(
                winner(*shown, one.criterion.name, one.question.id, one.replicate), "Said.", by="judge"
            )
        )
    judgements_in(folder).add(*rows)


def better(pair: tuple[str, str], *_: str) -> str:
    return min(pair, key=CONDITIONS.index)


def test_ratings_are_unblinded_by_the_key_and_kept(folder: Path):
    file = rated(folder, "ada", better)

    counts = evaluation.import_ratings(folder, [file])

    kept = list(ratings_in(folder).rows.values())
    assert counts == {"ada": len(kept)} == {"ada": 68}
    assert all((row.first, row.second)[row.winner - 1] == better((row.first, row.second)) for row in kept)
    assert evaluation.rater_agreement(folder) == []  # a single rater has no agreement
    evaluation.import_ratings(folder, [rated(folder, "ada", lambda *_: None)])
    assert {row.winner for row in ratings_in(folder).rows.values()} == {0}


def test_whose_ratings_they_are_can_be_said(folder: Path):
    file = rated(folder, "", better)

    assert list(evaluation.import_ratings(folder, [file], rater="Bo")) == ["Bo"]
    assert list(evaluation.import_ratings(folder, [file])) == [file.stem]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace(",tie,", ",maybe,").replace(",1,", ",maybe,"), "the choice is 'maybe'"),
        (
            lambda text: re.sub(r"^[0-9a-f]{10},", "0000,", text, flags=re.M),
            "has no pair '0000'",
        ),
        (lambda text: text.replace("diversity", "beauty"), "the criterion 'beauty'"),
        (lambda text: text.replace("choice", "verdict"), "has no column"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_whole(folder: Path, change: Any, told: str):
    file = rated(folder, "ada", better)
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")

    with pytest.raises(UsageError, match=re.escape(told)):
        evaluation.import_ratings(folder, [file])

    assert not ratings_in(folder).rows


def test_tables_as_spreadsheets_save_them_are_read(folder: Path):
    file = rated(folder, "ada", better)
    text = file.read_text(encoding="utf-8").replace(",", ";").replace("\n", "\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())

    assert evaluation.import_ratings(folder, [file]) == {"ada": 68}


def test_empty_choices_are_left_out(folder: Path):
    file = rated(folder, "ada", better)
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[1] = re.sub(r",[12],", ",,", lines[1])
    file.write_text("\n".join(lines), encoding="utf-8")

    assert evaluation.import_ratings(folder, [file]) == {"ada": 67}


def test_ratings_of_answers_that_changed_since_they_were_exported_are_refused(folder: Path):
    file = rated(folder, "ada", better)
    answers_in(folder).add(ConditionAnswer("C0", "q0", "Something else."))

    with pytest.raises(UsageError, match="export them again"):
        evaluation.import_ratings(folder, [file])


def test_ratings_of_answers_that_changed_do_not_count(folder: Path):
    evaluation.import_ratings(folder, [rated(folder, "ada", better)])
    answers_in(folder).add(ConditionAnswer("C0", "q0", "Something else."))

    left = ratings_now(study_in(folder))["ada"]

    assert 0 < len(left) < 68
    assert not any(row.question == "q0" and "C0" in (row.first, row.second) for row in left)


# Agreement


def test_a_rater_who_says_what_the_judge_says_agrees_wholly(folder: Path):
    judge(folder, lambda first, second, *_: 1 + (better((first, second)) == second))
    evaluation.import_ratings(folder, [rated(folder, "ada", better)])
    (row,) = evaluation.rater_agreement(folder)

    assert (row.raters, row.criterion, row.pairs) == (("ada", "judge"), "depth", 17)
    assert (row.agree, row.kappa) == (100.0, 1.0)


def test_ties_are_a_label(folder: Path):
    judge(folder, lambda first, second, *_: 1 + (better((first, second)) == second))
    tied = {"q0", "q1"}
    file = rated(folder, "ada", lambda pair, _, question: None if question in tied else better(pair))

    evaluation.import_ratings(folder, [file])
    (row,) = evaluation.rater_agreement(folder)

    assert row.pairs == 17
    assert row.agree == pytest.approx(100 * 11 / 17)
    assert 0 < (row.kappa or 0) < 1


def test_a_majority_of_replicates_is_the_judges_label(folder: Path):
    judge(folder, lambda first, second, criterion, question, replicate: 1 if replicate == 1 else 0)
    file = rated(folder, "ada", lambda *_: None)

    evaluation.import_ratings(folder, [file])
    (row,) = evaluation.rater_agreement(folder)

    assert row.agree == 100.0
    assert row.kappa is None  # both raters always choose the same


def test_raters_are_compared_with_each_other_and_three_of_them_together():
    def says(winner: int) -> list[Judgement]:
        return [Judgement("A", "B", "depth", str(n), 1, winner if n % 2 else 1) for n in range(8)]

    rows = agreements({"ada": says(2), "bo": says(2), "cy": says(0)})

    assert [(row.raters, row.agree) for row in rows] == [
        (("ada", "bo"), 100.0), (("ada", "cy"), 50.0), (("bo", "cy"), 50.0), (("ada", "bo", "cy"), 50.0),
    ]  # fmt: skip
    assert rows[-1].pairs == 8


def test_all_criteria_together_come_after_each():
    ratings = [Judgement("A", "B", c, str(n), 1, 1 + n % 2) for c in ("depth", "style") for n in range(4)]

    found = agreements({"a": ratings, "b": ratings})

    assert [(row.criterion, row.pairs) for row in found] == [("depth", 4), ("style", 4), ("all criteria", 8)]


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40))
def test_cohens_kappa_is_symmetric_and_at_most_1(rows: list[tuple[str, str]]):
    found = kappa(rows)

    assert found == pytest.approx(kappa([(b, a) for a, b in rows]))
    if found is not None:
        assert found <= 1 + 1e-12
        assert (found == pytest.approx(1)) == all(one == other for one, other in rows)


@given(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=1, max_size=30))
def test_fleiss_kappa_depends_on_the_labels_and_not_on_whose_they_are(rows: list[tuple[str, str, str]]):
    turned = [row[n % 3 :] + row[: n % 3] for n, row in enumerate(rows)]

    assert kappa(turned) == pytest.approx(kappa(rows))


def test_kappas_are_those_of_the_textbooks():
    both = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    rows = [tuple(str(label) for label, n in enumerate(row) for _ in range(n)) for row in counts]

    assert kappa(both) == pytest.approx(0.4)
    assert kappa(rows) == pytest.approx(0.210, abs=5e-4)


# The page


def test_the_page_reaches_for_nothing_outside_itself(folder: Path):
    text = exported(folder, title="A <title> & {{data}}").page.read_text(encoding="utf-8")

    assert "default-src 'none'" in text
    assert "A &lt;title&gt; &amp; {{data}}" in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)
    assert "http" not in re.sub(r"http-equiv", "", text.split('id="data"')[0])


def in_browser(text: str, tmp_path: Path, acts: str = "") -> str:
    """Open a page in the browser, run the script `acts` in it, and return the resulting document."""
    if BROWSER is None:
        pytest.skip("there is no chromium to open the page in")
    once = f"if (!window.conspectusRating || window.done) return; window.done = 1; {acts}"
    wait = f"<script>setInterval(() => {{ {once} }}, 20)</script>"
    (tmp_path / "rate.html").write_text(text.replace("</body>", wait + "</body>"), "utf-8")
    command = [BROWSER, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    ended = subprocess.run(
        [*command, (tmp_path / "rate.html").as_uri()], capture_output=True, timeout=120, check=False
    )
    return ended.stdout.decode("utf-8")


CHOOSE = (
    "for (const f of document.querySelectorAll('fieldset')) f.querySelectorAll('input[type=radio]')[2].click();"
    "const c = document.querySelector('fieldset > input'); c.value = 'more, \"said\"'; c.oninput({ target: c });"
    "const r = document.getElementById('rater'); r.value = 'Ada B.'; r.oninput({ target: r });"
    "document.body.dataset.table = conspectusRating.table();"
)


def test_a_browser_shows_a_pair_and_what_is_chosen_comes_back_as_a_table(folder: Path, tmp_path: Path):
    made = exported(folder, criteria=["diversity", "directness"])

    dom = in_browser(made.page.read_text(encoding="utf-8"), tmp_path, CHOOSE)

    assert f'data-ready="{made.pairs}"' in dom
    assert 'data-made="2"' in dom
    assert "&lt;b&gt;" in dom  # answers are shown as text, not as markup
    assert "<li>" in dom
    found = re.search(r'data-table="([^"]*)"', dom)
    assert found
    text = found[1].replace("&quot;", '"').replace("&amp;", "&")
    (tmp_path / "back.csv").write_text(text, encoding="utf-8")
    assert evaluation.import_ratings(folder, [tmp_path / "back.csv"]) == {"Ada B.": 2}
    rows = list(ratings_in(folder).rows.values())
    first = next(iter(pairs_of(folder, made).values()))
    assert {(row.winner, row.question) for row in rows} == {(2, first.question)}
    assert rows[0].reasoning == 'more, "said"'


def test_choices_outlive_the_page_and_a_saved_table_is_read_again(folder: Path, tmp_path: Path):
    text = exported(folder, criteria=["diversity"]).page.read_text(encoding="utf-8")
    in_browser(text, tmp_path, CHOOSE)

    dom = in_browser(
        text, tmp_path,
        "const R = conspectusRating; document.body.dataset.again = R.read(R.table()).length; R.go(R.state.at + 1);",
    )  # fmt: skip

    assert 'data-made="1"' in dom
    assert 'data-again="1"' in dom
    assert "Pair 2 of" in dom
