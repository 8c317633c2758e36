"""The sections of a report on what judges preferred: win rates, and their tests."""

from __future__ import annotations

from collections.abc import Iterator

from conspectus.evaluation.judging import heatmap
from conspectus.evaluation.judging.compared import Compared, Comparison
from conspectus.evaluation.judging.matrices import Matrix, matrices
from conspectus.evaluation.judging.verdicts import Position
from conspectus.evaluation.report.comparison import Held
from conspectus.evaluation.report.parts import Block, Cell, Folded, Heading, Missing, Row, Section, Table
from conspectus.evaluation.shown import figure, probability


def win_rates(held: Held) -> Section:
    """Show how often a row's condition wins over a column's, by each criterion (GraphRAG Figure 2)."""
    if held.compared is None:
        lacks = Missing("No answers were judged.", f"eval judge {held.folder} --judge-model NAME")
        return Section("winrates", "Win rates (Figure 2)", (lacks,))
    found = matrices(held.compared)
    note = (
        "How often the row wins over the column, in %; a tie is half a win. Bold: it differs from 50 (p < 0.05, "
        "Wilcoxon, Holm). In the page a cell leads to the questions and judgements behind it."
    )
    blocks: list[Block] = [note, *map(_matrix, found), *_missing(held.compared, held)]
    return Section("winrates", "Win rates (Figure 2)", tuple(blocks))


def _matrix(one: Matrix) -> Table:
    rows: list[Row] = []
    for i, name in enumerate(one.conditions):
        cells = [_rate(one, i, j) for j in range(len(one.conditions))]
        rows.append([name, *cells])
    return Table((capital(one.criterion), *one.conditions), rows)


def _rate(one: Matrix, row: int, column: int) -> Cell:
    rate = one.rates[row][column]
    if rate is None:
        return Cell("-")
    if row == column:
        return Cell("50", colour=heatmap.colour(rate))
    to = ("pair", one.criterion, one.conditions[row], one.conditions[column])
    return Cell(f"{rate:.0f}", to, heatmap.colour(rate), one.significant[row][column])


def capital(text: str) -> str:
    """Return a text that opens with a capital."""
    return text[:1].upper() + text[1:]


def _missing(found: Comparison, held: Held) -> Iterator[Block]:
    if found.missing and held.judged:
        there = len({one.question for one in held.judged.sound})
        told = (
            f"Judged are {there:,} of {len(held.questions):,} questions; of all pairs and criteria {found.missing:,} "
        )
        yield Missing(
            f"{told}judgements are not made, or of answers changed since.",
            f"eval judge {held.folder} --judge-model NAME",
        )
    if found.failed:
        yield Missing(f"{found.failed:,} judgements failed.", f"eval judge {held.folder} --judge-model NAME")
    for one in found.left_out:
        pair = ":".join(one.pair)
        yield f"Left out: {one.questions:,} questions of {pair}, no answer of {one.condition} ({one.why})."


def statistics(held: Held) -> Section:
    """Show the tests of each pair by each criterion (GraphRAG Table 6), the bias to a place, and why judges
    preferred."""
    found = held.compared
    if found is None:
        lacks = Missing("No answers were judged.", f"eval judge {held.folder} --judge-model NAME")
        return Section("statistics", "Statistics (Table 6)", (lacks,))
    pairs = len({(one.first, one.second) for one in found.results})
    blocks: list[Block] = [
        "Scores of 100 for a win, 50 for a tie and 0 for a loss, averaged over replicates. Wilcoxon's signed-rank test "
        f"over questions, p corrected (Holm) for the {pairs} pairs that were judged by a criterion; r is the "
        "matched-pairs rank-biserial correlation, d Cohen's of paired scores."
    ]
    for criterion in found.criteria:
        rows = [_test(one) for one in found.of(criterion)]
        reasons = [
            (f"{one.winner} over {one.loser} ({one.judgements:,} judgements)", one.text)
            for one in found.reasons
            if one.criterion == criterion and one.text
        ]
        blocks.append(Heading(capital(criterion)))
        blocks.append(Table(TESTS, rows) if rows else "No pair was judged by it.")
        blocks += [Folded(f"Why the judge preferred what it did, by {criterion}", reasons)] if reasons else []
    tested = [one.shapiro_p for one in found.results if one.shapiro_p is not None]
    odd = sum(p < 0.05 for p in tested)
    blocks.append(f"By Shapiro and Wilk, {odd} of {len(tested)} comparisons are not normally distributed.")
    blocks += _bias(found.position)
    return Section("statistics", "Statistics (Table 6)", tuple(blocks))


TESTS = ("Pair", "First", "Second", "95 % of first", "W / T / L", "Z", "p", "p (Holm)", "r", "d", "Questions")


def _test(one: Compared) -> Row:
    pair = Cell(f"{one.first} - {one.second}", ("pair", one.criterion, one.first, one.second), bold=one.significant)
    means = (f"{one.mean_first:.2f}", f"{one.mean_second:.2f}", f"{one.low:.1f} to {one.high:.1f}")
    counts = f"{one.wins:,} / {one.ties:,} / {one.losses:,}"
    tested = (figure(one.z), probability(one.p), probability(one.p_holm)) if not one.note else (one.note, "", "")
    return [pair, *means, counts, *tested, figure(one.rank_biserial), figure(one.cohens_d), f"{one.questions:,}"]


def _bias(found: Position) -> Iterator[Block]:
    if found.first_wins is None:
        return
    rows = [[one.condition, figure(one.first, 0), figure(one.second, 0)] for one in found.conditions]
    caption = (
        f"The answer shown first won {found.first_wins:.1f} % of {found.decided:,} decided judgements; 50 is no bias."
    )
    yield Heading("Position bias")
    yield Table(("Condition", "Wins shown first, %", "Shown second, %"), rows, 1, caption)
