"""The tables of an evaluation, as the command line prints them and the report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conspectus.evaluation.charts import colour
from conspectus.evaluation.statistics import Interval

if TYPE_CHECKING:
    from conspectus.evaluation.answers import Summary
    from conspectus.evaluation.claims import ClaimAgreement, ClaimCounts, Difference
    from conspectus.evaluation.grounding import ConditionGrounding, Grounding
    from conspectus.evaluation.judge import Compared, Comparison
    from conspectus.evaluation.people import Agreement, Bounded
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


def figure(value: float | None, digits: int = 2, sign: str = "") -> str:
    """Return a figure with so many digits, `-` for none."""
    return "-" if value is None else f"{value:{sign},.{digits}f}"


def probability(p: float | None) -> str:
    """Return a p value as the paper prints it."""
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}"


def _range(low: float | None, high: float | None, digits: int = 2, sign: str = "") -> str:
    return "" if low is None or high is None else f"{low:{sign}.{digits}f} to {high:{sign}.{digits}f}"


def _share(interval: Interval | None) -> tuple[str, str]:
    """Return a share in percent and its interval."""
    if interval is None:
        return "-", ""
    return f"{100 * interval.mean:.1f}", _range(100 * interval.low, 100 * interval.high, 1)


def _counts(*numbers: float, digits: int = 0) -> list[str]:
    return [f"{number:,.{digits}f}" for number in numbers]


# Answers


def answers(summaries: Sequence[Summary]) -> Table:
    """Return what came of each condition: counts, means of an answer, and what all answers took together."""
    asked = any(one.calls for one in summaries)
    counted = ("Condition", "Answers", "Nothing found", "Failed")
    means = ("Units read", "Tokens read", "Answer tokens", "Citations")
    spent = ("Calls", "Tokens asked", "Tokens written", "Seconds waited") if asked else ("CPU s",)
    rows: list[Row] = []
    for one in summaries:
        counts = _counts(one.answers, one.nothing, one.failed)
        averages = _counts(one.units, one.context_tokens, one.answer_tokens, one.citations, digits=1)
        calls = _counts(one.calls, one.prompt_tokens, one.completion_tokens) if asked else ()
        rows.append([one.condition, *counts, *averages, *calls, f"{one.seconds:,.2f}"])
    caption = "Units, tokens and citations are means over the answers of a condition."
    return Table((*counted, *means, *spent), rows, 1, caption)


def units(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what global answers from each level read (GraphRAG Table 2)."""
    shown: list[Row] = []
    for row in rows:
        share = f"{100 * row['share']:.1f}"
        shown.append([row["condition"], *_counts(row["units"], row["tokens"]), share, f"{row['projected']:,}"])
    caption = (
        "Units are reports, or chunks for TS. Projected: reports of communities of higher levels that are not divided "
        "further."
    )
    return Table(("Condition", "Units", "Tokens", "% of TS", "Projected"), shown, 1, caption)


def spending(rows: Sequence[Spending]) -> Table:
    """Return what each task took of each language model, and all together."""

    def shown(lead: Sequence[str | Cell], spent: Sequence[Spending]) -> Row:
        columns = ([one.calls, one.prompt_tokens, one.completion_tokens] for one in spent)
        costs = [one.cost for one in spent if one.cost is not None]
        cost = f"{sum(costs):,.4f}" if len(costs) == len(spent) else "unknown"
        return [*lead, *_counts(*map(sum, zip(*columns, strict=True))), cost]

    head = ("Task", "Model", "Calls", "Tokens asked", "Tokens written", "Cost (USD)")
    return Table(
        head, [*(shown([one.task, one.model], [one]) for one in rows), shown([Cell("All"), ""], rows)], 2
    )


# Judgements


def win_rates(comparison: Comparison, criterion: str) -> Table:
    """Return how often the row's condition wins over the column's, by one criterion (GraphRAG Figure 2)."""
    rates = comparison.win_rates[criterion]

    def cell(row: str, column: str, rate: float | None) -> Cell:
        if rate is None:
            return Cell("-")
        link = () if row == column else ("pair", criterion, row, column)
        return Cell(f"{rate:.0f}", link, colour(rate), comparison.is_significant(criterion, row, column))

    rows = [[row, *(cell(row, *column) for column in cells.items())] for row, cells in rates.items()]
    return Table((capital(criterion), *rates), rows)


def tests(results: Sequence[Compared]) -> Table:
    """Return the tests of pairs (GraphRAG Table 6), with an interval and the size of the effect."""
    rows: list[Row] = []
    for one in results:
        link = ("pair", one.criterion, one.first, one.second)
        pair = Cell(f"{one.first} - {one.second}", link, bold=one.significant)
        means = (f"{one.mean_first:.2f}", f"{one.mean_second:.2f}", _range(one.low, one.high, 1))
        votes = " / ".join(_counts(one.wins, one.ties, one.losses))
        tested = (
            (figure(one.z), probability(one.p), probability(one.p_holm))
            if not one.note
            else (one.note, "", "")
        )
        rows.append(
            [pair, *means, votes, *tested, *map(figure, (one.rank_biserial, one.cohens_d)), f"{one.questions}"]
        )
    head = (
        "Pair",
        "First",
        "Second",
        "95 % of first",
        "W / T / L",
        "Z",
        "p",
        "p (Holm)",
        "r",
        "d",
        "Questions",
    )
    return Table(head, rows)


# Claims


def claim_averages(counts: ClaimCounts) -> Table:
    """Return claims and clusters an answer (GraphRAG Tables 3 and 4)."""
    measures = list(next((one.averages for one in counts.conditions if one.averages), ["claims"]))
    rows: list[Row] = []
    for one in counts.conditions:
        shown: Row = [""] * (1 + len(measures))
        if one.averages:
            first, *others = one.averages.values()
            lead = Cell(f"{first.mean:.2f}", ("claims", one.condition))
            shown = [lead, _range(first.low, first.high), *(f"{value.mean:.2f}" for value in others)]
        rows.append([one.condition, f"{one.answers:,}", *shown, f"{one.failed:,}"])
    head = ("Condition", "Answers", "Claims", "95 %", *_thresholds(measures), "Failed")
    return Table(
        head, rows, 1, f"Averages over answers; {counts.unique:,} different claims in all answers together."
    )


def _thresholds(measures: Sequence[str]) -> list[str]:
    """Return the heads of the clusters by each threshold: `Clusters at 0.5`, `at 0.6`, …"""
    return [capital(name) if n == 0 else name.removeprefix("clusters ") for n, name in enumerate(measures[1:])]


def claim_differences(differences: Sequence[Difference]) -> Table:
    """Return for each pair how many more claims and clusters the first has, with the test of the claims."""

    def more(one: Difference) -> Cell:
        return Cell(figure(one.mean, 2, "+"), bold=one.significant)

    by_pair: dict[tuple[str, str], list[Difference]] = {}
    for row in differences:
        by_pair.setdefault((row.first, row.second), []).append(row)
    rows: list[Row] = []
    for (first, second), (claims, *clusters) in by_pair.items():
        tested = (claims.note, "") if claims.note else (figure(claims.z), probability(claims.p_holm))
        lead = (
            f"{first} - {second}",
            f"{claims.questions:,}",
            more(claims),
            _range(claims.low, claims.high, sign="+"),
        )
        rows.append([*lead, *tested, *map(more, clusters)])
    measures = list(dict.fromkeys(row.measure for row in differences))
    head = ("Pair", "Questions", "Claims", "95 %", "Z", "p (Holm)", *_thresholds(measures))
    return Table(head, rows, 1, "How many more the first has; emphasised where p is below .05 after Holm.")


def claim_agreement(agreement: Sequence[ClaimAgreement]) -> Table:
    """Return how often claims prefer the condition that the judge's majority prefers."""
    rows: list[Row] = []
    for one in agreement:
        counts = _counts(one.pairs, one.labelled, one.equal, one.agreeing)
        rows.append([one.measure, one.criterion, *counts, figure(one.rate, 0)])
    head = ("Measure", "Judged by", "Pairs", "With a majority", "Of these equal", "Agree", "%")
    return Table(head, rows, 2, "Of pairs of which a majority prefers one answer, and the measure too.")


# Grounding


def grounding(checked: Grounding) -> Table:
    """Return which share of sentences follows from what they cite, and from sampled answers."""
    sampled = any(one.samples for one in checked.conditions)
    more = ("Consistent, %", "95 %", "Samples") if sampled else ()
    head = ("Condition", "Answers", "Sentences", "Uncited", "Supported, %", "95 %", "Of cited, %", *more)
    caption = "Supported: sentences that follow from what they cite, the mean of answers"
    caption += "; consistent: the share of sampled answers that a sentence follows from." if sampled else "."
    return Table(
        (*head, "Empty", "Failed"), [_grounded(one, sampled) for one in checked.conditions], 1, caption
    )


def _grounded(one: ConditionGrounding, sampled: bool) -> Row:
    share, bounds = _share(one.supported)
    more = (*_share(one.consistent), f"{one.samples:,}") if sampled else ()
    lead = Cell(share, ("grounding", one.condition))
    counts = _counts(one.answers, one.sentences, one.uncited)
    return [
        one.condition,
        *counts,
        lead,
        bounds,
        _share(one.of_cited)[0],
        *more,
        *_counts(one.empty, one.failed),
    ]


# People


def agreements(rows: Sequence[Agreement]) -> Table:
    """Return how far raters, and the judge, agree by each criterion."""

    def bounded(value: Bounded, digits: int) -> tuple[str, str]:
        return figure(value.value, digits), _range(value.low, value.high, digits)

    shown: list[Row] = []
    for one in rows:
        lead = (", ".join(one.raters), one.criterion, f"{one.pairs:,}")
        agreement = (*bounded(one.agree, 0), *bounded(one.kappa, 2))
        shown.append([*lead, *agreement, f"{one.decided:,}", *bounded(one.kappa_decided, 2)])
    head = ("Raters", "Criterion", "Pairs", "Agree, %", "95 %", "Kappa", "95 %")
    return Table((*head, "Without ties", "Kappa", "95 %"), shown, 2)


# Ablations


def ablation(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of an ablation, the values of a column with as many decimals as the longest has."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    digits = dict.fromkeys(columns, 0)
    for column, value in ((column, value) for row in rows for column, value in row.items()):
        if isinstance(value, float) and value % 1:
            digits[column] = max(digits[column], len(str(value).partition(".")[2]))

    def shown(row: Mapping[str, Any]) -> Row:
        values = ((row.get(column), digits[column]) for column in columns)
        return [value if isinstance(value, str) else figure(value, places) for value, places in values]

    texts = sum(isinstance(rows[0].get(column), str) for column in columns)
    return Table(
        [column.replace("_%", ", %").replace("_", " ") for column in columns],
        [*map(shown, rows)],
        max(1, texts),
    )
