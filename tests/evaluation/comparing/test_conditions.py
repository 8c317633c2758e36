"""Conditions to compare: their definitions, their common window, and the context of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from making import an_index

from conspectus.errors import UsageError
from conspectus.evaluation.conditions import Condition, check, conditions_of, made_with, settings_for, table2
from conspectus.index import Index
from conspectus.rows import Community, Finding, Report
from conspectus.settings import Settings


def tree() -> Index:
    """Two communities at the root; the second has two children, of which only the first has a report."""
    shape = {
        0: (-1, (), 0, (0, 1)),
        1: (-1, (2, 3), 0, (2, 3, 4)),
        2: (1, (), 1, (2, 3)),
        3: (1, (), 1, (4,)),
    }
    communities = [
        Community(f"c{n}", n, level, parent, children, entities)
        for n, (parent, children, level, entities) in shape.items()
    ]
    reports = [
        Report(f"r{n}", n, n, communities[n].level, communities[n].parent, communities[n].children, f"Report {n}", "s",
               5.0, "", (Finding("f", "x"),), 3, 10 * (n + 1))
        for n in range(3)
    ]  # fmt: skip
    texts = an_index("Ada met Bo. Cy met Di. Ed was away.", entities=["Ada", "Bo", "Cy", "Di", "Ed"])
    return replace(texts, communities=communities, reports=reports)


def test_levels_source_texts_and_nearest_chunks_have_the_names_of_the_paper():
    assert conditions_of(["C0", " C12", "TS", "SS", "walk", "C0"]) == [
        Condition("C0", "global", 0),
        Condition("C12", "global", 12),
        Condition("TS", "source-summary"),
        Condition("SS", "semantic-search"),
        Condition("walk", "walk"),
    ]


@pytest.mark.parametrize("names", [["C"], ["c0"], ["X"], []])
def test_what_is_no_condition_is_refused(names: list[str]):
    with pytest.raises(UsageError, match=r"no condition|name conditions"):
        conditions_of(names)


def test_a_level_is_the_one_that_reports_are_read_of():
    assert settings_for(conditions_of(["C3"])[0], Settings()).global_.level == 3
    assert settings_for(conditions_of(["bm25"])[0], Settings()) == Settings()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("C2", "C2: this index has levels 0 to 1, and no level 2"),
        ("SS", "SS: the index has no vectors; make them: conspectus.embed"),
        ("hybrid", "hybrid: the index has no vectors"),
        ("cot", "cot asks for what a language model knows"),
    ],
)
def test_what_an_index_cannot_be_asked_by_is_told_before_anything_is_asked(name: str, said: str):
    index = tree()
    condition = conditions_of([name])[0]

    with pytest.raises(UsageError, match=said):
        check(condition, index, settings_for(condition, Settings()), generative=False)


def test_an_answer_holds_for_its_index_model_and_settings_alone():
    index, (c0, ts) = tree(), conditions_of(["C0", "TS"])
    usual = Settings()
    base = made_with(c0, index, "m", usual)

    assert base == made_with(
        c0, index, "m", Settings.model_validate({"llm": {"concurrency": 3, "budget": 1.0}})
    )
    others = [
        made_with(ts, index, "m", usual),
        made_with(c0, index, "n", usual),
        made_with(c0, replace(index, snapshot="other"), "m", usual),
        made_with(c0, replace(index, reports=index.reports[:2]), "m", usual),
        made_with(c0, index, "m", Settings.model_validate({"answer": {"context_tokens": 9000}})),
        made_with(c0, index, "m", Settings.model_validate({"answer": {"response": "one line"}})),
        made_with(c0, index, "m", Settings.model_validate({"llm": {"temperature": 1.0}})),
    ]
    assert len({base, *others}) == 8


def test_prompts_of_the_users_are_a_part_of_what_an_answer_was_made_with(tmp_path: Any):
    settings = Settings.model_validate({"llm": {"prompts": str(tmp_path)}})
    (tmp_path / "MapAnswer.md").write_text("one")
    first = made_with(conditions_of(["C0"])[0], tree(), "m", settings)
    (tmp_path / "MapAnswer.md").write_text("two")

    assert made_with(conditions_of(["C0"])[0], tree(), "m", settings) != first


# Table 2


def test_a_community_without_parts_stands_for_itself_further_down():
    root, below, everything = table2(tree())

    assert (root.condition, root.units, root.tokens, root.projected) == ("C0", 2, 30, 0)
    assert (below.condition, below.units, below.tokens, below.projected) == ("C1", 2, 40, 1)
    chunk = tree().chunks[0]
    assert (everything.condition, everything.units, everything.tokens) == ("TS", 1, chunk.n_tokens)
    assert root.share == 30 / chunk.n_tokens


def test_an_index_without_reports_has_source_texts_only():
    assert [row.condition for row in table2(an_index("Ada met Bo."))] == ["TS"]
    assert table2(Index())[0].share == 0
