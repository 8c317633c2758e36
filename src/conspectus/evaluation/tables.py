"""The tables of an evaluation, as the command line prints them and the report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conspectus.evaluation.charts import colour
from conspectus.evaluation.claims import CLAIMS, MEASURES, ClaimAgreement, ClaimCounts, Difference
from conspectus.evaluation.grounding import ConditionGrounding, Grounding
from conspectus.evaluation.people import Agreement, Bounded, Fleiss
from conspectus.evaluation.statistics import Interval, figure, probability
from conspectus.evaluation.verdicts import Compared, Matrix, Position

if TYPE_CHECKING:
    from conspectus.evaluation.answers import Summary
    from conspectus.index_status import Spending


@dataclass(frozen=True)
class Cell:
    """A cell that is emphasised, has a colour, or leads somewhere in the page of a report."""

    text: str
    link: tuple[str, ...] = ()
    """What of the page it opens, as `("pair", "comprehensiveness", "C0", "SS")`."""
    colour: str = ""
    bold: bool = False


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first `texts` columns hold texts and are aligned to the left."""

    head: Sequence[str]
    rows: Sequence[Row]
    texts: int = 1
    caption: str = ""

    def plain(self) -> Iterator[list[str]]:
        """Yield the head and the rows as texts, with a star where a cell is emphasised."""
        yield list(self.head)
        for row in self.rows:
            yield [cell if isinstance(cell, str) else f"{cell.text}{'*' if cell.bold else ''}" for cell in row]


def capital(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]


def _range(low: float, high: float, digits: int = 2, sign: str = "") -> str:
    return f"{low:{sign}.{digits}f} to {high:{sign}.{digits}f}"


def _share(interval: Interval | None) -> tuple[str, str]:
    """Return a share in percent and its interval."""
    if interval is None:
        return "-", ""
    return f"{100 * interval.mean:.1f}", _range(100 * interval.low, 100 * interval.high, 1)


# Answers


def answers(summaries: Sequence[Summary]) -> Table:
    """Return what came of each condition: counts, means of an answer, and what all answers took together."""
    asked = any(one.calls for one in summaries)
    spent = ("Calls", "Tokens asked", "Tokens written", "Seconds waited") if asked else ("CPU s",)
    rows: list[Row] = []
    for one in summaries:
        counts = [f"{n:,}" for n in (one.answers, one.nothing, one.failed)]
        mean = [f"{n:,.1f}" for n in (one.units, one.context_tokens, one.answer_tokens, one.citations)]
        took = [f"{n:,}" for n in (one.calls, one.prompt_tokens, one.completion_tokens)] if asked else []
        rows.append([one.condition, *counts, *mean, *took, f"{one.seconds:,.2f}"])
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
    return Table((*head, *spent), rows, 1, "Units, tokens and citations are means over the answers of a condition.")


def units(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what global answers from each level read (GraphRAG Table 2)."""
    shown: list[Row] = []
    for row in rows:
        counts = (f"{row['units']:,}", f"{row['tokens']:,}", f"{100 * row['share']:.1f}", f"{row['projected']:,}")
        shown.append([str(row["condition"]), *counts, f"{100 * row['entities']:.1f}"])
    return Table(
        ("Condition", "Units", "Tokens", "% of TS", "Projected", "% of entities"),
        shown,
        1,
        "Units are reports, or chunks for TS. Projected: reports of communities of higher levels that are not divided "
        "further. Entities: those that belong to a community with a report.",
    )


def spending(rows: Sequence[Spending]) -> Table:
    """Return what each task took of each language model, and all together."""

    def money(cost: float | None) -> str:
        return "unknown" if cost is None else f"{cost:,.4f}"

    shown: list[Row] = []
    for one in rows:
        counts = (one.calls, one.prompt_tokens, one.completion_tokens)
        shown.append([one.task, one.model, *(f"{n:,}" for n in counts), money(one.cost)])
    totals = zip(*((one.calls, one.prompt_tokens, one.completion_tokens) for one in rows), strict=True)
    costs = [one.cost for one in rows]
    cost = None if None in costs else sum(one or 0 for one in costs)
    shown.append([Cell("All", bold=True), "", *(f"{sum(column):,}" for column in totals), money(cost)])
    return Table(("Task", "Model", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"), shown, 2)


# Judgements


def win_rates(matrix: Matrix) -> Table:
    """Return how often the row's condition wins over the column's, by one criterion (GraphRAG Figure 2)."""
    names = matrix.conditions
    rows: list[Row] = []
    for i, row in enumerate(names):
        cells: list[Cell] = []
        for j, column in enumerate(names):
            rate = matrix.rates[i][j]
            if rate is None:
                cells.append(Cell("-"))
            else:
                link = () if i == j else ("pair", matrix.criterion, row, column)
                cells.append(Cell(f"{rate:.0f}", link, colour(rate), matrix.significant[i][j]))
        rows.append([row, *cells])
    return Table((capital(matrix.criterion), *names), rows)


def tests(results: Sequence[Compared]) -> Table:
    """Return the tests of pairs (GraphRAG Table 6), with an interval and the size of the effect."""
    rows: list[Row] = []
    for one in results:
        link = ("pair", one.criterion, one.first, one.second)
        pair = Cell(f"{one.first} - {one.second}", link, bold=one.significant)
        means = (f"{one.mean_first:.2f}", f"{one.mean_second:.2f}", _range(one.low, one.high, 1))
        counts = f"{one.wins:,} / {one.ties:,} / {one.losses:,}"
        tested = (figure(one.z), probability(one.p), probability(one.p_holm)) if not one.note else (one.note, "", "")
        effect = (figure(one.rank_biserial), figure(one.cohens_d))
        rows.append([pair, *means, counts, *tested, *effect, f"{one.questions:,}"])
    head = ("Pair", "First", "Second", "95 % of first", "W / T / L", "Z", "p", "p (Holm)", "r", "d", "Questions")
    return Table(head, rows)


def position(bias: Position) -> Table | None:
    """Return how much the order of the answers counted; None where no judgement was decided."""
    if bias.first_wins is None:
        return None
    rows = [[one.condition, figure(one.first, 0), figure(one.second, 0)] for one in bias.conditions]
    caption = (
        f"The answer shown first won {bias.first_wins:.1f} % of {bias.decided:,} decided judgements; 50 is no bias."
    )
    return Table(("Condition", "Wins shown first, %", "Shown second, %"), rows, 1, caption)


# Claims


def _thresholds() -> list[str]:
    first, *others = (measure.partition(" at ")[2] for measure in MEASURES[1:])
    return [f"Clusters at {first}", *(f"at {one}" for one in others)]


def claim_averages(counts: ClaimCounts) -> Table:
    """Return claims and clusters an answer (GraphRAG Tables 3 and 4)."""
    rows: list[Row] = []
    for one in counts.conditions:
        shown: Row = [""] * (1 + len(MEASURES))
        if one.averages:
            first, *others = (one.averages[measure] for measure in MEASURES)
            lead = Cell(f"{first.mean:.2f}", ("claims", one.condition))
            shown = [lead, _range(first.low, first.high), *(f"{value.mean:.2f}" for value in others)]
        rows.append([one.condition, f"{one.answers:,}", *shown, f"{one.failed:,}"])
    head = ("Condition", "Answers", "Claims", "95 %", *_thresholds(), "Failed")
    return Table(head, rows, 1, f"Averages over answers; {counts.unique:,} different claims in all answers together.")


def claim_differences(differences: Sequence[Difference]) -> Table:
    """Return for each pair how many more claims and clusters the first has, with the test of the claims."""

    def more(one: Difference) -> Cell:
        return Cell(f"{one.mean:+.2f}", bold=one.p_holm is not None and one.p_holm < 0.05)

    rows: list[Row] = []
    for one in (row for row in differences if row.measure == CLAIMS):
        same = [row for row in differences if (row.first, row.second) == (one.first, one.second) and row is not one]
        tested = (figure(one.z), probability(one.p_holm)) if not one.note else (one.note, "")
        bounds = _range(one.low, one.high, sign="+")
        pair = f"{one.first} - {one.second}"
        rows.append([pair, f"{one.questions:,}", more(one), bounds, *tested, *map(more, same)])
    head = ("Pair", "Questions", "Claims", "95 %", "Z", "p (Holm)", *_thresholds())
    return Table(head, rows, 1, "How many more the first has; emphasised where p is below .05 after Holm.")


def claim_agreement(agreement: Sequence[ClaimAgreement]) -> Table:
    """Return how often claims prefer the condition that the judge's majority prefers."""
    rows = [
        [
            one.measure,
            one.criterion,
            *(f"{n:,}" for n in (one.pairs, one.labelled, one.equal, one.agreeing)),
            figure(one.rate, 0),
        ]
        for one in agreement
    ]
    head = ("Measure", "Judged by", "Pairs", "With a majority", "Of these equal", "Agree", "%")
    return Table(head, rows, 2, "Of pairs of which a majority prefers one answer, and the measure too.")


# Grounding and loss


def grounding(checked: Grounding) -> Table:
    """Return which share of sentences follows from what they cite, and from sampled answers."""
    sampled = any(one.samples for one in checked.conditions)
    more = ("Consistent, %", "95 %", "Samples") if sampled else ()
    head = ("Condition", "Answers", "Sentences", "Uncited", "Supported, %", "95 %", "Of cited, %", *more)
    caption = "Supported: sentences that follow from what they cite, the mean of answers"
    caption += "; consistent: the share of sampled answers that a sentence follows from." if sampled else "."
    return Table((*head, "Empty", "Failed"), [_grounded(one, sampled) for one in checked.conditions], 1, caption)


def _grounded(one: ConditionGrounding, sampled: bool) -> Row:
    share, bounds = _share(one.supported)
    counts = (f"{n:,}" for n in (one.answers, one.sentences, one.uncited))
    more = (*_share(one.consistent), f"{one.samples:,}") if sampled else ()
    lead = Cell(share, ("grounding", one.condition))
    failed = (f"{one.empty:,}", f"{one.failed:,}")
    return [one.condition, *counts, lead, bounds, _share(one.of_cited)[0], *more, *failed]


def loss(stages: Sequence[Mapping[str, Any]]) -> Table:
    """Return the share of facts that each stage of an index still has."""
    rows: list[Row] = []
    for one in stages:
        share = _share(Interval(**one["survive"]) if one["facts"] else None)
        rows.append([one["stage"], f"{one['facts']:,}", *share, f"{one['first_lost']:,}"])
    return Table(("Stage", "Facts", "Survive, %", "95 %", "First lost here"), rows)


# People


def _bounded(value: Bounded, digits: int) -> tuple[str, str]:
    if value.value is None:
        return "-", ""
    bounds = "" if value.low is None or value.high is None else _range(value.low, value.high, digits)
    return f"{value.value:.{digits}f}", bounds


def agreements(rows: Sequence[Agreement], *, raters: bool) -> Table:
    """Return how far each rater agrees with the judge, or each two raters with each other."""
    shown: list[Row] = []
    for one in rows:
        shown.append(
            [
                f"{one.one}, {one.other}" if raters else one.one,
                one.criterion,
                f"{one.units:,}",
                *_bounded(one.agree, 0),
                *_bounded(one.kappa, 2),
                f"{one.ties_of_one:,} / {one.ties_of_other:,}",
                f"{one.decided:,}",
                _bounded(one.agree_decided, 0)[0],
                *_bounded(one.kappa_decided, 2),
            ]
        )
    head = ("Raters" if raters else "Rater", "Criterion", "Pairs", "Agree, %", "95 %", "Kappa", "95 %", "Ties")
    return Table((*head, "Without ties", "Agree, %", "Kappa", "95 %"), shown, 2)


def fleiss(rows: Sequence[Fleiss]) -> Table:
    """Return Fleiss' kappa of all raters together, by criterion."""
    shown = [[one.criterion, f"{one.units:,}", *_bounded(one.kappa, 2)] for one in rows]
    return Table(("Criterion", "Pairs", "Fleiss' kappa", "95 %"), shown)


# Ablations


def ablation(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of an ablation, the values of a column with as many decimals as the longest has."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    digits = {column: max(_decimals(row.get(column)) for row in rows) for column in columns}
    shown = [[_value(row.get(column), digits[column]) for column in columns] for row in rows]
    texts = sum(isinstance(rows[0].get(column), str) for column in columns)
    return Table([column.replace("_%", ", %").replace("_", " ") for column in columns], shown, max(1, texts))


def _decimals(value: Any) -> int:
    return len(str(value).partition(".")[2]) if isinstance(value, float) and value % 1 else 0


def _value(value: Any, digits: int) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,.{digits}f}"
