"""The first sections of a report: what was compared, what it was asked, what it took, and what it read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conspectus import tokens
from conspectus.evaluation.comparing.run_info import SetUp
from conspectus.evaluation.jsonl_table import ConditionAnswer
from conspectus.evaluation.report.comparison import Held
from conspectus.evaluation.report.parts import Block, Cell, Heading, Missing, Row, Section, Table
from conspectus.messages import says_nothing
from conspectus.settings import Settings

if TYPE_CHECKING:
    from conspectus.index_status import Spending

UNRECORDED = "What these answers were made with is not recorded: they are of an earlier version."
FIGURES = {
    "snapshot": "Snapshot",
    "model": "Written by",
    "documents": "Documents",
    "chunks": "Chunks",
    "chunk_tokens": "Tokens of a chunk",
    "tokens": "Tokens",
    "entities": "Entities",
    "relationships": "Relationships",
    "claims": "Claims",
    "communities": "Communities",
    "reports": "Reports",
    "levels": "Levels",
}


def set_up(held: Held) -> Section:
    """Say what was compared: indexes, models and settings."""
    blocks: list[Block] = [_counts(held)]
    indexes = {json.dumps(one.index, sort_keys=True): one.index for one in held.set_ups.values() if one.index}
    blocks += [_index(one) for one in indexes.values()]
    if missing := [name for name in held.conditions if name not in held.set_ups]:
        blocks.append(Missing(f"{UNRECORDED} ({', '.join(missing)})", f"eval answers {held.folder}"))
    if held.set_ups:
        blocks.append(_conditions(held))
    found = [held.set_ups[name] for name in held.conditions if name in held.set_ups]
    common, own = _settings(found)
    if found:
        rows = [[key, _said(value)] for key, value in sorted(common.items())]
        blocks.append(Table(("Setting of all conditions", "Value"), rows, 2, "All other settings are their defaults."))
    if own:
        blocks.append(Table(("Condition", "Settings of its own"), own, 2))
    return Section("setup", "Set-up", tuple(blocks))


def _counts(held: Held) -> str:
    told = [f"{len(held.questions):,} questions answered by {len(held.conditions)} conditions"]
    if held.unanswered:
        told.append(f"{held.unanswered:,} more questions have no answer")
    if held.judged:
        told.append(f"{len(held.judged.sound):,} judgements by {held.judged.judge or 'hand'}")
        if held.judged.others:
            told.append(f"those of {', '.join(held.judged.others)} are left out here")
    if held.ratings:
        told.append(f"{len(held.ratings):,} ratings by {len({one.rater for one in held.ratings})} people")
    return "; ".join(told) + "."


def _index(figures: Mapping[str, Any]) -> Table:
    rows = [[name, _said(figures[key])] for key, name in FIGURES.items() if figures.get(key) not in (None, "")]
    return Table(("Index", str(figures.get("folder", ""))), rows, 2)


def _conditions(held: Held) -> Table:
    rows: list[Row] = []
    for name in held.conditions:
        one = held.set_ups.get(name)
        if one is None:
            rows.append([name, "not recorded", "", "", ""])
            continue
        same = sum(row.made_with == one.made_with for row in held.of(name))
        other = len(held.of(name)) - same
        told = f"{same:,}" + (f" (and {other:,} made with something else)" if other else "")
        rows.append([name, _method(one), one.model, one.version, told])
    return Table(("Condition", "Answers by", "Model", "Version", "Answers"), rows, 4)


def _method(one: SetUp) -> str:
    known = {"source-summary": "map-reduce over the source texts", "vector": "the nearest chunks in one window"}
    if one.level is not None:
        return f"map-reduce over the reports of level {one.level}"
    return known.get(one.method, one.method)


def _settings(found: Sequence[SetUp]) -> tuple[dict[str, Any], list[Row]]:
    """Return the settings that all conditions share, the main ones in any case, and those of each alone."""
    said = [_main(one) | dict(one.settings or {}) for one in found]
    common = {k: v for k, v in said[0].items() if all(one.get(k) == v for one in said)} if said else {}
    own: list[Row] = []
    for one, values in zip(found, said, strict=True):
        rest = {k: v for k, v in values.items() if k not in common and k != "global.level"}
        if rest:
            own.append([one.condition, ", ".join(f"{k} = {_said(v)}" for k, v in sorted(rest.items()))])
    return common, own


def _main(one: SetUp) -> dict[str, Any]:
    """Return the defaults of what a reader wants to know in any case."""
    usual = Settings()
    window = {"global.context_tokens": usual.global_.context_tokens}
    if one.model == "extractive":
        return window
    return window | {"answer.response": usual.answer.response, "llm.temperature": usual.llm.temperature}


def _said(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Answers, and what they took


def answers(held: Held, spent: Sequence[Spending]) -> Section:
    """Say what came of each condition, and what it took."""
    blocks: list[Block] = [_summary(held)]
    errors = [row for row in held.answers.values() if row.error]
    for why in dict.fromkeys(row.error for row in errors):
        named = [row.condition for row in errors if row.error == why]
        told = ", ".join(f"{named.count(name)} of {name}" for name in dict.fromkeys(named))
        blocks.append(Missing(f"Failed: {told}: {why}", f"eval answers {held.folder}"))
    if held.samples:
        told = ", ".join(f"{n:,} of {name}" for name, n in held.samples.items())
        blocks.append(f"Further answers were sampled, to see what is said again: {told}.")
    if spent:
        blocks += [Heading("What all of it took of language models, judging and checking included"), _spent(spent)]
    return Section("answers", "Answers and what they took", tuple(blocks))


def _summary(held: Held) -> Table:
    asked = any(row.calls for row in held.answers.values())
    books = ("Calls", "Tokens asked", "Tokens written", "Seconds waited") if asked else ("CPU s",)
    head = (
        "Condition",
        "Answers",
        "Nothing found",
        "Failed",
        "Units read",
        "Tokens read",
        "Answer tokens",
        "Citations",
    )
    rows: list[Row] = []
    for name in held.conditions:
        every = held.of(name)
        good = [row for row in every if not row.error]
        counts = (len(good), sum(says_nothing(row.text) for row in good), len(every) - len(good))
        means = (
            _mean([row.units for row in good]),
            _mean([row.context_tokens for row in good]),
            _mean([tokens.count(row.text) for row in good]),
            _mean([len(row.cited) for row in good]),
        )
        took = [f"{sum(v):,}" for v in zip(*(_took(row) for row in every), strict=True)] if asked and every else []
        rows.append([name, *(f"{n:,}" for n in counts), *means, *took, f"{sum(row.seconds for row in every):,.1f}"])
    return Table((*head, *books), rows, 1, "Units, tokens and citations are means over the answers of a condition.")


def _took(row: ConditionAnswer) -> tuple[int, int, int]:
    return row.calls, row.prompt_tokens, row.completion_tokens


def _mean(values: Sequence[int]) -> str:
    return f"{sum(values) / len(values):,.1f}" if values else "-"


def _spent(spent: Sequence[Spending]) -> Table:
    rows: list[Row] = [_spending(one) for one in spent]
    costs = [one.cost for one in spent]
    calls, asked, written = (
        sum(getattr(one, n) for one in spent) for n in ("calls", "prompt_tokens", "completion_tokens")
    )
    cost = "unknown" if None in costs else f"{sum(one or 0 for one in costs):,.4f}"
    rows.append([Cell("All", bold=True), "", f"{calls:,}", f"{asked:,}", f"{written:,}", cost])
    return Table(("Task", "Model", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"), rows, 2)


def _spending(one: Spending) -> Row:
    figures = (one.calls, one.prompt_tokens, one.completion_tokens)
    cost = "unknown" if one.cost is None else f"{one.cost:,.4f}"
    return [one.task, one.model, *(f"{n:,}" for n in figures), cost]


# Table 2


def table2(held: Held) -> Section:
    """Say what global answers from each level read (GraphRAG Table 2)."""
    tables = {json.dumps(one.table2): one.table2 for one in held.set_ups.values() if one.table2}
    head = ("Condition", "Units", "Tokens", "% of TS", "Projected", "% of entities")
    blocks: list[Block] = [
        Table(
            head,
            [_units(row) for row in rows],
            1,
            "Units are reports, or chunks for TS. Projected: reports of communities of higher levels that have no "
            "parts here. Entities: those that belong to a community with a report.",
        )
        for rows in tables.values()
    ]
    if not blocks:
        blocks.append(Missing(UNRECORDED, "eval table2 --index DIR"))
    return Section("table2", "What each level reads (Table 2)", tuple(blocks))


def _units(row: Mapping[str, Any]) -> Row:
    counts = (f"{row['units']:,}", f"{row['tokens']:,}", f"{100 * row['share']:.1f}", f"{row['projected']:,}")
    return [str(row["condition"]), *counts, f"{100 * row['entities']:.1f}"]
