"""The tables of an evaluation, as printed by the command line and shown in the report; each is a list of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from conspectus.evaluation.charts import colour
from conspectus.evaluation.statistics import Interval, Measured
from conspectus.index_status import Spending

if TYPE_CHECKING:
    from conspectus.evaluation.answers import Summary
    from conspectus.evaluation.claims import ClaimAgreement, ClaimCounts, Difference
    from conspectus.evaluation.conditions import Units
    from conspectus.evaluation.grounding import Grounding
    from conspectus.evaluation.judge import Compared, Comparison
    from conspectus.evaluation.people import Agreement


@dataclass(frozen=True)
class Cell:
    """A cell that is emphasised, has a colour, or links to a part of the report's page."""

    text: str
    link: tuple[str, ...] = ()
    """The part of the page that it opens, such as `("pair", "comprehensiveness", "C0", "SS")`."""
    colour: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Rows below a head; the first `texts` columns contain texts and are aligned to the left."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    texts: int = 1
    caption: str = ""

    def plain(self) -> Iterator[list[str]]:
        """Yield the head and the rows as texts, with a star after each emphasised cell."""
        yield list(self.head)
        for row in self.rows:
            yield [
                cell if isinstance(cell, str) else f"{cell.text}{'*' if cell.bold else ''}" for cell in row
            ]


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, the name of a row's field or a function of a row, and the decimals of a figure."""

    head: str
    value: str | Callable[[Any], Any]
    digits: int = 0
    sign: str = ""

    def cell(self, row: Any) -> str | Cell:
        """Return the cell for a row: a text unchanged, a figure with its decimals, `-` for None."""
        value = attrgetter(self.value)(row) if isinstance(self.value, str) else self.value(row)
        return value if isinstance(value, str | Cell) else figure(value, self.digits, self.sign)


def table_of(rows: Sequence[Any], columns: Sequence[Column], texts: int = 1, caption: str = "") -> Table:
    """Return a table with one row for each result."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    return Table([column.head for column in columns], cells, texts, caption)


def capital(text: str) -> str:
    """Return a text with its first letter capitalised."""
    return text[:1].upper() + text[1:]


def figure(value: float | None, digits: int = 2, sign: str = "") -> str:
    """Return a figure with `digits` decimals, `-` for None."""
    return "-" if value is None else f"{value:{sign},.{digits}f}"


def probability(p: float | None) -> str:
    """Return a p value as the paper prints it."""
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}"


def bounds(interval: Any, digits: int = 2, sign: str = "", scale: int = 1) -> str:
    """Return the bounds of an interval (an object with `low` and `high`) as text; empty if there is none."""
    if interval is None or interval.low is None:
        return ""
    return f"{scale * interval.low:{sign}.{digits}f} to {scale * interval.high:{sign}.{digits}f}"


def fields(*names: str, digits: int = 0) -> list[Column]:
    """Return columns for fields, whose heads are the names of the fields."""
    return [Column(capital(name).replace("_", " "), name, digits) for name in names]


CALLS = (
    Column("Calls", "calls"),
    Column("Tokens asked", "prompt_tokens"),
    Column("Tokens written", "completion_tokens"),
)


def answers(summaries: Sequence[Summary]) -> Table:
    """Return the results of each condition: counts, means per answer, and the usage of all answers together."""
    has_calls = any(summary.calls for summary in summaries)
    columns = [
        *fields("condition", "answers"),
        Column("Nothing found", "nothing"),
        *fields("failed"),
        Column("Units read", "units", 1),
        Column("Tokens read", "context_tokens", 1),
        *fields("answer_tokens", "citations", digits=1),
        *(CALLS if has_calls else ()),
        Column("Seconds waited" if has_calls else "CPU s", "seconds", 2),
    ]
    caption = "Units, tokens and citations are means over the answers of a condition."
    return table_of(summaries, columns, caption=caption)


def units(rows: Sequence[Units]) -> Table:
    """Return how much global answers from each level read (GraphRAG Table 2)."""
    share = Column("% of TS", lambda row: 100 * row.share, 1)
    columns = [*fields("condition", "units", "tokens"), share, *fields("projected")]
    caption = (
        "Units are reports, or chunks for TS; projected ones are reports of higher levels that are not split."
    )
    return table_of(rows, columns, caption=caption)


def spending(rows: Sequence[Spending]) -> Table:
    """Return the usage of each language model by task, and the total."""
    calls, read, written = (sum(getattr(row, str(column.value)) for row in rows) for column in CALLS)
    costs = [row.cost for row in rows if row.cost is not None]
    cost = sum(costs) if len(costs) == len(rows) else None
    total = Spending("All", "", calls, read, written, cost)
    cost = Column("Cost (USD)", lambda row: "unknown" if row.cost is None else row.cost, 4)
    return table_of([*rows, total], [*fields("task", "model"), *CALLS, cost], 2)


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


P_HOLM = Column("p (Holm)", lambda row: "" if row.note else probability(row.p_holm))


def tests(results: Sequence[Compared]) -> Table:
    """Return the tests of pairs (GraphRAG Table 6), with intervals and effect sizes."""

    def pair(row: Compared) -> Cell:
        link = ("pair", row.criterion, row.first, row.second)
        return Cell(f"{row.first} - {row.second}", link, bold=row.significant)

    columns = [
        Column("Pair", pair),
        Column("First", "mean_first", 2),
        Column("Second", "mean_second", 2),
        Column("95 % of first", lambda row: bounds(row, 1)),
        Column("W / T / L", lambda row: f"{row.wins:,} / {row.ties:,} / {row.losses:,}"),
        Column("Z", lambda row: row.note or row.z, 2),
        Column("p", lambda row: "" if row.note else probability(row.p)),
        P_HOLM,
        Column("r", "rank_biserial", 2),
        Column("d", "cohens_d", 2),
        *fields("questions"),
    ]
    return table_of(results, columns)


def claim_averages(counts: ClaimCounts) -> Table:
    """Return the average numbers of claims and clusters per answer (GraphRAG Tables 3 and 4)."""
    claims, *clusters = next((one.averages for one in counts.conditions if one.averages), ["claims"])

    def average(measure: str) -> Callable[[Any], float | str]:
        return lambda row: row.averages[measure].mean if row.averages else ""

    def linked(row: Any) -> Cell:
        return Cell(f"{row.averages[claims].mean:.2f}" if row.averages else "", ("claims", row.condition))

    columns = [
        *fields("condition", "answers"),
        Column("Claims", linked),
        Column("95 %", lambda row: bounds(row.averages.get(claims))),
        *(Column(name.removeprefix("clusters "), average(name), 2) for name in clusters),
        *fields("failed"),
    ]
    caption = (
        "Averages over answers; at 0.5 to 0.8: clusters at these distances. "
        f"{counts.unique:,} different claims in all answers together."
    )
    return table_of(counts.conditions, columns, caption=caption)


def claim_differences(differences: Sequence[Difference]) -> Table:
    """Return for each pair how many more claims and clusters the first condition has, with the test of the claims."""
    claims, *clusters = dict.fromkeys(row.measure for row in differences)
    by_measure = {(row.first, row.second, row.measure): row for row in differences}

    def more(measure: str) -> Callable[[Difference], Cell]:
        def cell(row: Difference) -> Cell:
            one = by_measure[row.first, row.second, measure]
            return Cell(figure(one.mean, 2, "+"), bold=one.significant)

        return cell

    columns = [
        Column("Pair", lambda row: f"{row.first} - {row.second}"),
        *fields("questions"),
        Column("Claims", more(claims)),
        Column("95 %", lambda row: bounds(row, sign="+")),
        Column("Z", lambda row: row.note or row.z, 2),
        P_HOLM,
        *(Column(name.removeprefix("clusters "), more(name)) for name in clusters),
    ]
    caption = "How many more the first has; emphasised where p is below .05 after Holm."
    return table_of([row for row in differences if row.measure == claims], columns, caption=caption)


def claim_agreement(agreement: Sequence[ClaimAgreement]) -> Table:
    """Return how often the numbers of claims and clusters prefer the same condition as the judge's majority."""
    columns = [
        *fields("measure"),
        Column("Judged by", "criterion"),
        *fields("pairs", "compared"),
        Column("Agree", "agreeing"),
        Column("%", "rate"),
    ]
    caption = "Compared: pairs of which a majority prefers one answer, and the measure too."
    return table_of(agreement, columns, 2, caption)


def grounding(checked: Grounding) -> Table:
    """Return the share of sentences that are supported by what they cite, by condition."""

    def mean(interval: Interval | None) -> str:
        return figure(100 * interval.mean if interval else None, 1)

    columns = [
        *fields("condition", "answers", "sentences", "uncited"),
        Column("Supported, %", lambda row: Cell(mean(row.supported), ("grounding", row.condition))),
        Column("95 %", lambda row: bounds(row.supported, 1, scale=100)),
        Column("Of cited, %", lambda row: mean(row.of_cited)),
        *fields("empty", "failed"),
    ]
    caption = "Supported: sentences that follow from what they cite, the mean of answers."
    return table_of(checked.conditions, columns, caption=caption)


def agreements(rows: Sequence[Agreement]) -> Table:
    """Return the agreement of raters and the judge by criterion."""
    raters = Column("Raters", lambda row: ", ".join(row.raters))
    agree = Column("Agree, %", "agree")
    columns = [raters, *fields("criterion", "pairs"), agree, *fields("kappa", digits=2)]
    return table_of(rows, columns, 2)


def measures(results: Sequence[Measured]) -> Table:
    """Return the means of each method's measures in percent, and the milliseconds per question."""

    def percent(name: str) -> Column:
        return Column(name, lambda row: f"{100 * row.means[name]:.1f}" if name in row.values else "")

    names = dict.fromkeys(name for one in results for name in one.values)
    columns = [
        Column("", "method"),
        *map(percent, names),
        Column("Questions", "queries"),
        Column("Failed", lambda row: len(row.failures)),
        Column("ms", lambda row: row.as_row()["ms"], 1),
        Column("ms p95", lambda row: row.as_row()["ms_p95"], 1),
    ]
    return table_of(results, columns)


def ablation(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of an ablation; each column has as many decimals as its longest value."""

    def column(name: str) -> Column:
        floats = [row[name] for row in rows if isinstance(row.get(name), float) and row[name] % 1]
        digits = max((len(str(value).partition(".")[2]) for value in floats), default=0)
        return Column(name.replace("_%", ", %").replace("_", " "), lambda row: row.get(name), digits)

    names = dict.fromkeys(name for row in rows for name in row)
    texts = sum(isinstance(rows[0].get(name), str) for name in names)
    return table_of(rows, [column(name) for name in names], max(1, texts))
