"""The report on a comparison: one page and one Markdown file of all that its folder has, and of what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from markupsafe import Markup

from conspectus.errors import UsageError
from conspectus.evaluation import tables
from conspectus.evaluation.answers import summary
from conspectus.evaluation.claims import CLAIMS_BY_RULES, AnswerClaims, claims_in, claims_now, count
from conspectus.evaluation.comparison import Key, answers_now, check_questions
from conspectus.evaluation.conditions import SetUp, condition_order, set_ups_in
from conspectus.evaluation.grounding import (
    GROUNDED_BY_RULES,
    AnswerGrounding,
    grounding_in,
    grounding_now,
    summarise,
)
from conspectus.evaluation.jsonl_table import ConditionAnswer, JsonlTable, Question
from conspectus.evaluation.judge import judged_in
from conspectus.evaluation.loss import LOSS_FILE
from conspectus.evaluation.pages import packed, render
from conspectus.evaluation.people import KAPPA_NOTE, Rating, agreements, ratings_now
from conspectus.evaluation.questions import read_list
from conspectus.evaluation.tables import Table, capital
from conspectus.evaluation.verdicts import Judged, compare, named
from conspectus.index_status import spending
from conspectus.readers import GENERATED_MARKDOWN
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.text.language import language_of

UNRECORDED = "What these answers were made with is not recorded: they are of an earlier version."


@dataclass(frozen=True)
class Block:
    """A part of a section; `kind` says how the templates show it: as `text`, `heading`, `table`, `picture`, `missing`
    (what is not there, and the command that makes it) or `folded` (paragraphs, each with what it is about).
    """

    kind: str
    text: str = ""
    command: str = ""
    table: Table | None = None
    svg: str = ""
    file: str = ""
    paragraphs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Section:
    """A part of the report; `id` is its address in the page."""

    id: str
    title: str
    make: Callable[[Contents], Iterator[Block]]
    missing: str = ""
    """What is said where there is nothing to show (nothing: the section is left out), and the command that makes it."""
    command: str = ""


def _text(text: str) -> Block:
    return Block("text", text)


def _table(table: Table, heading: str = "") -> Iterator[Block]:
    if heading:
        yield Block("heading", heading)
    yield Block("table", table=table)


@dataclass(frozen=True)
class Contents:
    """What a folder has for its answers as they are now; what is not there is empty or None."""

    folder: Path
    settings: Settings | None
    questions: tuple[Question, ...]
    """Those that have an answer."""
    unanswered: int
    conditions: tuple[str, ...]
    answers: Mapping[Key, ConditionAnswer]
    set_ups: Mapping[str, SetUp]
    """By condition, of most of its answers."""
    judged: Judged | None
    claims: Mapping[Key, AnswerClaims]
    grounding: Mapping[Key, AnswerGrounding]
    ratings: tuple[Rating, ...]

    def of(self, condition: str) -> list[ConditionAnswer]:
        """Return the answers of a condition, failed ones among them, in the order of questions."""
        return [row for one in self.questions if (row := self.answers.get((condition, one.id))) is not None]


def contents_of(folder: Path, judge: str | None = None, settings: Settings | None = None) -> Contents:
    """Read a folder; raise UsageError where it is no comparison with answers."""
    answers = answers_now(folder)
    if not answers:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    questions = read_list(folder)
    check_questions(folder, answers, questions)
    answered = {question for _, question in answers}
    any_good = any(not row.error for row in answers.values())
    set_ups = set_ups_in(folder)
    counts = Counter((condition, row.made_with) for (condition, _), row in answers.items())
    made = ((name, set_ups.get((digest, name))) for (name, digest), _ in reversed(counts.most_common()))
    return Contents(
        folder,
        settings,
        tuple(one for one in questions if one.id in answered),
        len(questions) - len(answered),
        tuple(sorted({condition for condition, _ in answers}, key=condition_order)),
        answers,
        {name: row for name, row in made if row is not None},
        judged_in(folder, judge),
        claims_now(folder) if any_good else {},
        grounding_now(folder) if any_good else {},
        tuple(ratings_now(folder)),
    )


# The sections


def set_up(contents: Contents) -> Iterator[Block]:
    """Yield what was compared: indexes, models and settings."""
    yield _text(_counts(contents))
    set_ups = [contents.set_ups[name] for name in contents.conditions if name in contents.set_ups]
    if missing := [name for name in contents.conditions if name not in contents.set_ups]:
        yield Block("missing", f"{UNRECORDED} ({', '.join(missing)})", f"eval answers {contents.folder}")
    if not set_ups:
        return
    for figures in {json.dumps(one.index): one.index or {} for one in set_ups}.values():
        rows = [
            [capital(key.replace("_", " ")), _shown(value)] for key, value in figures.items() if value is not None
        ]
        yield from _table(Table(("Index", ""), rows, 2))
    rows = [_condition(one, contents.of(one.condition)) for one in set_ups]
    yield from _table(Table(("Condition", "Method", "Level", "Model", "Version", "Answers"), rows, 5))
    settings = [(one.condition, dict(one.settings or {})) for one in set_ups]
    common = {k: v for k, v in settings[0][1].items() if all(own.get(k) == v for _, own in settings)}
    rows = [["all", key, _shown(value)] for key, value in sorted(common.items())]
    rows += [[name, k, _shown(v)] for name, own in settings for k, v in sorted(own.items()) if k not in common]
    yield from _table(Table(("Condition", "Setting", "Value"), rows, 3, "All other settings are their defaults."))


def _counts(contents: Contents) -> str:
    texts = [f"{len(contents.questions):,} questions answered by {len(contents.conditions)} conditions"]
    if contents.unanswered:
        texts.append(f"{contents.unanswered:,} more questions have no answer")
    if judged := contents.judged:
        texts.append(f"{len(judged.sound):,} judgements by {judged.judge or 'hand'}")
        texts += [f"those of {', '.join(judged.others)} are left out here"] if judged.others else []
    if contents.ratings:
        texts.append(
            f"{len(contents.ratings):,} ratings by {len({one.rater for one in contents.ratings})} people"
        )
    return "; ".join(texts) + "."


def _condition(one: SetUp, rows: Sequence[ConditionAnswer]) -> list[str]:
    other = sum(row.made_with != one.made_with for row in rows)
    count = f"{len(rows) - other:,}" + (f" (and {other:,} made with something else)" if other else "")
    return [one.condition, one.method, _shown(one.level), one.model, one.version, count]


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def answers(contents: Contents) -> Iterator[Block]:
    """Yield what came of each condition, and what it took."""
    yield from _table(tables.answers([summary(name, contents.of(name)) for name in contents.conditions]))
    errors = Counter((row.error, row.condition) for row in contents.answers.values() if row.error)
    for (error, condition), n in errors.items():
        yield Block("missing", f"Failed: {n:,} of {condition}: {error}", f"eval answers {contents.folder}")
    if spent := spending(contents.folder, contents.settings):
        yield from _table(tables.spending(spent), "What all of it took of language models")


def table2(contents: Contents) -> Iterator[Block]:
    """Yield what global answers from each level read (GraphRAG Table 2)."""
    for rows in {json.dumps(one.table2): one.table2 for one in contents.set_ups.values() if one.table2}.values():
        yield from _table(tables.units(rows))


def win_rates(contents: Contents) -> Iterator[Block]:
    """Yield how often a row's condition wins over a column's, by each criterion (GraphRAG Figure 2)."""
    if contents.judged is None:
        return
    compared = compare(contents.judged)
    yield _text(
        "How often the row wins over the column, in %; a tie is half a win. Bold: it differs from 50 (p < 0.05, "
        "Wilcoxon, Holm). In the page a cell leads to the questions and judgements behind it."
    )
    for criterion in compared.win_rates:
        yield from _table(tables.win_rates(compared, criterion))
    command = f"eval judge {contents.folder} --judge-model NAME"
    if compared.missing:
        yield Block(
            "missing", f"{compared.missing:,} judgements are not made, or of answers changed since.", command
        )
    if compared.failed:
        yield Block("missing", f"{compared.failed:,} judgements failed.", command)
    yield from (_text(f"Left out: {line}.") for line in compared.omitted)


def statistics(contents: Contents) -> Iterator[Block]:
    """Yield the tests of each pair (GraphRAG Table 6), and the position bias."""
    if contents.judged is None:
        return
    compared = compare(contents.judged)
    pairs = len({(one.first, one.second) for one in compared.results})
    yield _text(
        "Scores of 100 for a win, 50 for a tie and 0 for a loss, averaged over replicates. Wilcoxon's signed-rank "
        f"test over questions, p corrected (Holm) for the {pairs} pairs that were judged by a criterion; r is the "
        "matched-pairs rank-biserial correlation, d Cohen's of paired scores."
    )
    for criterion in compared.win_rates:
        yield from _table(tables.tests(compared.of(criterion)), capital(criterion))
    yield _text(f"{compared.normality} {compared.position_bias}")


def claims(contents: Contents) -> Iterator[Block]:
    """Yield claims and clusters an answer (GraphRAG Tables 3 and 4), and how far they agree with the judge."""
    if not (rows := list(contents.claims.values())):
        return
    counts = count(rows, contents.judged.judgements if contents.judged else ())
    yield _found_by(counts.found_by, CLAIMS_BY_RULES)
    yield from _unchecked(contents, len(rows), claims_in(contents.folder), f"eval claims {contents.folder}")
    yield from _table(tables.claim_averages(counts))
    if counts.differences:
        yield from _table(tables.claim_differences(counts.differences), "Differences")
    if counts.agreement:
        yield from _table(tables.claim_agreement(counts.agreement), "Agreement with the judge's majority")


def grounding(contents: Contents) -> Iterator[Block]:
    """Yield which share of sentences follows from what they cite, and from sampled answers."""
    if not (rows := list(contents.grounding.values())):
        return
    checked = summarise(rows)
    yield _found_by(checked.found_by, GROUNDED_BY_RULES)
    yield from _unchecked(contents, len(rows), grounding_in(contents.folder), f"eval grounding {contents.folder}")
    yield from _table(tables.grounding(checked))


def _found_by(names: Sequence[str], by_rules: str) -> Block:
    return _text(by_rules if "extractive" in names else f"Found by {', '.join(names) or 'hand'}.")


def _unchecked(
    contents: Contents, checked: int, table: JsonlTable[AnswerClaims] | JsonlTable[AnswerGrounding], command: str
) -> Iterator[Block]:
    """Yield the number of answers that were not checked, and of those whose check failed."""
    answered = sum(not row.error for row in contents.answers.values())
    if answered > checked:
        text = f"Of {answered:,} answers {checked:,} were looked at; {answered - checked:,} were not, or have changed"
        yield Block("missing", f"{text} since.", command)
    if failed := Counter(row.condition for row in table.rows.values() if row.error):
        yield Block("missing", f"Failed: {', '.join(f'{n:,} of {name}' for name, n in failed.items())}.", command)


def loss(contents: Contents) -> Iterator[Block]:
    """Yield which share of the facts of the text each stage of the index still has."""
    if (measured := _json(contents.folder / LOSS_FILE)) is None:
        return
    facts: list[dict[str, Any]] = measured["facts"]
    by = _found_by([measured["found_by"]], GROUNDED_BY_RULES).text
    yield _text(f"{len(facts):,} facts of {measured['chunks']:,} chunks. {by}")
    yield from _table(tables.loss(measured["stages"]))
    for stage in (one["stage"] for one in measured["stages"]):
        lost = [one for one in facts if next((s for s, has in one["survives"].items() if not has), "") == stage]
        if lost:
            texts = [(f"{one['document']}, chunk {one['chunk']:,}", one["text"]) for one in lost]
            yield Block("folded", f"First lost at {stage} ({len(lost):,})", paragraphs=texts)
    yield from map(_text, measured["notices"])


def people(contents: Contents) -> Iterator[Block]:
    """Yield how far raters agree with the judge and each other."""
    if rows := agreements(contents.ratings, contents.judged):
        yield from _table(tables.agreements(rows))
        yield _text(KAPPA_NOTE)


def ablations(contents: Contents) -> Iterator[Block]:
    """Yield the ablations that the folder has."""
    for path in sorted(contents.folder.glob("ablation*.json")):
        ablation = _json(path)
        if not ablation or not ablation["rows"]:
            continue
        yield from _table(tables.ablation(ablation["rows"]), ablation["title"])
        picture = path.with_suffix(".svg")
        if picture.exists():
            svg = picture.read_text(encoding="utf-8")
            markup = Markup(svg[max(0, svg.find("<svg")) :])  # noqa: S704  # drawn by us
            yield Block("picture", ablation["title"], svg=markup, file=picture.name)
        yield from map(_text, ablation["notices"])


def _json(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} cannot be read ({error}); remove it, or make it once more") from None
    return cast("dict[str, Any]", values) if isinstance(values, dict) else None


UNJUDGED = ("No answers were judged.", "eval judge {folder} --judge-model NAME")
SECTIONS = (
    Section("setup", "Set-up", set_up),
    Section("answers", "Answers and what they took", answers),
    Section("table2", "What each level reads (Table 2)", table2, UNRECORDED, "eval table2 --index DIR"),
    Section("winrates", "Win rates (Figure 2)", win_rates, *UNJUDGED),
    Section("statistics", "Statistics (Table 6)", statistics, *UNJUDGED),
    Section("claims", "Claims and clusters (Tables 3 and 4)", claims, "Claims were not counted.",
            "eval claims {folder}"),
    Section("grounding", "Grounding", grounding, "What sentences cite was not checked.", "eval grounding {folder}"),
    Section("loss", "What gets lost between text and answer", loss, "What gets lost was not measured.",
            "eval loss --index DIR --out {folder}"),
    Section("people", "People", people),
    Section("ablations", "Ablations", ablations),
)  # fmt: skip


def sections_of(contents: Contents) -> list[tuple[Section, list[Block]]]:
    """Return the sections with their blocks; what is missing is said with the command that makes it."""
    made: list[tuple[Section, list[Block]]] = []
    for section in SECTIONS:
        blocks = list(section.make(contents))
        if not blocks and section.missing:
            blocks = [Block("missing", section.missing, section.command.format(folder=contents.folder))]
        made += [(section, blocks)] if blocks else []
    return made


def page_data(contents: Contents) -> dict[str, Any]:
    """Return the rows that the page looks up when somebody opens a question or a cell."""
    judged = contents.judged
    rows = {name: list(getattr(contents, name).values()) for name in ("answers", "claims", "grounding")}
    return {
        "conditions": contents.conditions,
        "questions": [[one.id, one.text, one.persona, one.task] for one in contents.questions],
        "criteria": [(one.name, one.description) for one in judged.plan.criteria] if judged else [],
        "judgements": [asdict(row) | {"reasoning": named(row)} for row in (judged.sound if judged else ())],
        "ratings": [asdict(row) for row in contents.ratings],
        **{name: [asdict(row) for row in part] for name, part in rows.items()},
    }


# The API


@dataclass(frozen=True)
class Report:
    """The files of a report, and the parts of a comparison that are not there to report on."""

    page: Path
    markdown: Path
    missing: tuple[str, ...]


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    title: str = "",
    judge_model: str | None = None,
    settings: Given = None,
) -> Report:
    """Write what a comparison's folder has as a page (`report.html`) and as Markdown; no model is asked.

    `out` names both files, whatever its suffix; they go into the folder where none is named. Of several judges it is
    the one named, or who judged most. Raises UsageError where the folder has no answers.
    """
    source = path_of(folder)
    contents = contents_of(source, judge_model, resolved(settings))
    sections, questions = sections_of(contents), contents.questions
    values: dict[str, Any] = {
        "title": title or f"{', '.join(contents.conditions)} on {len(questions):,} questions",
        "sections": sections,
        "questions": questions,
        "language": language_of(one.text for one in questions),
        "generated": GENERATED_MARKDOWN,
    }
    target = Path(out) if out is not None else source / "report"
    page, markdown = target.with_suffix(".html"), target.with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render("report.html.j2", data=packed(page_data(contents)), **values), encoding="utf-8")
    markdown.write_text(render("report.md.j2", **values), encoding="utf-8")
    missing = (block.text for _, blocks in sections for block in blocks if block.kind == "missing")
    return Report(page, markdown, tuple(dict.fromkeys(missing)))
