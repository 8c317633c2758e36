"""The sections of a report on what answers state and stand on: claims, grounding, and what gets lost before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any

from conspectus.evaluation.checking import claim_counts, grounding
from conspectus.evaluation.report.comparison import Held
from conspectus.evaluation.report.parts import Block, Cell, Folded, Heading, Missing, Row, Section, Table
from conspectus.evaluation.shown import figure, probability
from conspectus.evaluation.statistics import Interval

EXTRACTIVE = "extractive"


def claims(held: Held) -> Section:
    """Show claims and clusters an answer (GraphRAG Tables 3 and 4), and how far they agree with the judge."""
    title = "Claims and clusters (Tables 3 and 4)"
    rows = [
        held.claims[name, one.id] for name in held.conditions for one in held.questions if (name, one.id) in held.claims
    ]
    if not rows:
        return Section("claims", title, (Missing("Claims were not counted.", f"eval claims {held.folder}"),))
    found = claim_counts.count(rows, held.judged.judgements if held.judged else ())
    blocks: list[Block] = [
        _found_by(found.found_by, CLAIMS_BY_RULES),
        *_unchecked(held, rows, held.claims_failed, "eval claims"),
    ]
    blocks.append(Table(_claims_head(), [_claims(one) for one in found.conditions], 1, "Averages over answers."))
    blocks.append(f"{found.unique:,} different claims in all answers together.")
    if found.differences:
        blocks.append(Heading("Differences"))
        told = "How many more the first has; * where p is below .05 after Holm."
        blocks.append(Table(_differences_head(), list(_differences(found.differences)), 1, told))
    if found.agreement:
        blocks += [Heading("Agreement with the judge's majority"), _with_judge(found.agreement)]
    return Section("claims", title, tuple(blocks))


CLAIMS_BY_RULES = (
    "Found by rules: a claim is a sentence as it stands, and nothing is taken apart. Not comparable with the paper's."
)
GROUNDED_BY_RULES = "Found by rules: a text supports a sentence if it holds 70 % of its words. The shares are floors."


def _found_by(names: Sequence[str], by_rules: str) -> str:
    return by_rules if EXTRACTIVE in names else f"Found by {', '.join(names) or 'hand'}."


def _unchecked(held: Held, found: Sized, failed: Mapping[str, int], command: str) -> Iterator[Block]:
    """Yield what was not looked at of the answers, and what failed."""
    answered = sum(not row.error for row in held.answers.values())
    if (left := answered - len(found)) > 0:
        told = f"Of {answered:,} answers {len(found):,} were looked at; {left:,} were not, or have changed since."
        yield Missing(told, f"{command} {held.folder}")
    if failed:
        told = ", ".join(f"{n:,} of {name}" for name, n in failed.items())
        yield Missing(f"Failed: {told}.", f"{command} {held.folder}")


def _claims_head() -> tuple[str, ...]:
    first, *others = (measure.partition(" at ")[2] for measure in claim_counts.MEASURES[1:])
    return "Condition", "Answers", "Claims", "95 %", f"Clusters at {first}", *(f"at {one}" for one in others)


def _claims(one: claim_counts.ConditionClaims) -> Row:
    if not one.averages:
        return [one.condition, f"{one.answers:,}", *[""] * (1 + len(claim_counts.MEASURES))]
    first, *others = (one.averages[measure] for measure in claim_counts.MEASURES)
    means = (f"{value.mean:.2f}" for value in others)
    lead = Cell(f"{first.mean:.2f}", ("claims", one.condition))
    return [one.condition, f"{one.answers:,}", lead, f"{first.low:.2f} to {first.high:.2f}", *means]


def _differences_head() -> tuple[str, ...]:
    return "Pair", "Questions", "Claims", "95 %", "Z", "p (Holm)", *_claims_head()[4:]


def _differences(found: Sequence[claim_counts.Difference]) -> Iterator[Row]:
    for one in (row for row in found if row.measure == claim_counts.CLAIMS):
        same = [row for row in found if (row.first, row.second) == (one.first, one.second) and row is not one]
        tested = (figure(one.z), probability(one.p_holm)) if not one.note else (one.note, "")
        bounds = f"{one.low:+.2f} to {one.high:+.2f}"
        yield [f"{one.first} - {one.second}", f"{one.questions:,}", _more(one), bounds, *tested, *map(_more, same)]


def _more(one: claim_counts.Difference) -> str:
    return f"{one.mean:+.2f}{'*' if one.p_holm is not None and one.p_holm < 0.05 else ''}"


def _with_judge(found: Sequence[claim_counts.Agreement]) -> Table:
    rows = [
        [
            one.measure,
            one.criterion,
            *(f"{n:,}" for n in (one.pairs, one.labelled, one.equal, one.agreeing)),
            figure(one.rate, 0),
        ]
        for one in found
    ]
    head = ("Measure", "Judged by", "Pairs", "With a majority", "Of these equal", "Agree", "%")
    return Table(head, rows, 2, "Of pairs of which a majority prefers one answer, and the measure too.")


def ground(held: Held) -> Section:
    """Show which share of sentences follows from what they cite, and from sampled answers."""
    rows = [
        held.grounding[n, one.id] for n in held.conditions for one in held.questions if (n, one.id) in held.grounding
    ]
    if not rows:
        lacks = Missing("What sentences cite was not checked.", f"eval grounding {held.folder}")
        return Section("grounding", "Grounding", (lacks,))
    found = grounding.summarise(rows)
    sampled = any(one.samples for one in found.conditions)
    head = ("Condition", "Answers", "Sentences", "Uncited", "Supported, %", "95 %", "Of cited, %")
    more = ("Consistent, %", "95 %") if sampled else ()
    blocks: list[Block] = [_found_by(found.found_by, GROUNDED_BY_RULES)]
    blocks += _unchecked(held, rows, held.grounding_failed, "eval grounding")
    caption = "Supported: sentences that follow from what they cite, the mean of answers"
    caption += "; consistent: the share of sampled answers that a sentence follows from." if sampled else "."
    blocks.append(Table((*head, *more), [_grounded(one, sampled) for one in found.conditions], 1, caption))
    return Section("grounding", "Grounding", tuple(blocks))


def _grounded(one: grounding.ConditionGrounding, sampled: bool) -> Row:
    share, bounds = _share(one.supported)
    lead = Cell(share, ("grounding", one.condition))
    counts = (f"{n:,}" for n in (one.answers, one.sentences, one.uncited))
    return [one.condition, *counts, lead, bounds, _share(one.of_cited)[0], *(_share(one.consistent) if sampled else ())]


def _share(interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return "-", ""
    return f"{100 * interval.mean:.1f}", f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def loss(held: Held) -> Section:
    """Show which share of the facts of the text each stage of the index still has."""
    title = "What gets lost between text and answer"
    if held.loss is None:
        lacks = Missing("What gets lost was not measured.", f"eval loss --index DIR --out {held.folder}")
        return Section("loss", title, (lacks,))
    told = held.loss
    rows: list[Row] = []
    for stage in told["stages"]:
        share = Interval(**stage["survive"])
        rows.append([stage["stage"], f"{stage['facts']:,}", *_share(share), f"{stage['first_lost']:,}"])
    facts: list[dict[str, Any]] = told["facts"]
    blocks: list[Block] = [
        f"{len(facts):,} facts of {told['chunks']:,} chunks. " + _found_by([told["found_by"]], GROUNDED_BY_RULES),
        Table(("Stage", "Facts", "Survive, %", "95 %", "First lost here"), rows),
        *_lost(told["stages"], facts),
        *told["notices"],
    ]
    return Section("loss", title, tuple(blocks))


def _lost(stages: Sequence[Mapping[str, Any]], facts: Sequence[Mapping[str, Any]]) -> Iterator[Folded]:
    """Yield the facts that each stage was the first to lose, with where they stand."""
    for stage in (one["stage"] for one in stages):
        lost = [one for one in facts if next((s for s, has in one["survives"].items() if not has), "") == stage]
        if lost:
            told = [(f"{one['document']}, chunk {one['chunk']:,}", one["text"]) for one in lost]
            yield Folded(f"First lost at {stage} ({len(lost):,})", told)
