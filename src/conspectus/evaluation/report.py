"""The report on a comparison: one page and one Markdown file of all that its folder has, and of what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from markupsafe import Markup

from conspectus.errors import UsageError
from conspectus.evaluation import tables
from conspectus.evaluation.answers import summary
from conspectus.evaluation.claims import CLAIMS_BY_RULES, AnswerClaims, claims_in, claims_now, count
from conspectus.evaluation.comparison import Key, answers_now
from conspectus.evaluation.conditions import SetUp, place_of, set_ups_in
from conspectus.evaluation.grounding import GROUNDED_BY_RULES, AnswerGrounding, grounding_in, grounding_now, summarise
from conspectus.evaluation.jsonl_table import (
    ConditionAnswer,
    Question,
    answers_in,
)
from conspectus.evaluation.judge import Judged, judged_in
from conspectus.evaluation.judging import comparison_of
from conspectus.evaluation.loss import LOSS_FILE
from conspectus.evaluation.pages import packed, render
from conspectus.evaluation.people import KAPPA_NOTE, Rating, agreements, ratings_now
from conspectus.evaluation.questions import read_list
from conspectus.evaluation.tables import Table
from conspectus.evaluation.verdicts import Comparison, matrices, named
from conspectus.index_status import spending
from conspectus.readers import GENERATED_MARKDOWN
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.text.language import language_of

FILE = "report"
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


# What a report is made of


@dataclass(frozen=True)
class TableBlock:
    table: Table
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Picture:
    """An SVG of ours."""

    svg: Markup
    file: str
    title: str
    kind: ClassVar = "picture"


@dataclass(frozen=True)
class Missing:
    """What is not there, and the command that makes it."""

    what: str
    command: str = ""
    kind: ClassVar = "missing"


@dataclass(frozen=True)
class Heading:
    text: str
    kind: ClassVar = "heading"


@dataclass(frozen=True)
class Folded:
    """Paragraphs, each with what it is about, that a reader opens."""

    title: str
    paragraphs: Sequence[tuple[str, str]]
    kind: ClassVar = "folded"


Block = str | TableBlock | Picture | Missing | Heading | Folded


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Contents:
    """What a folder has for its answers as they are now; what is not there is empty or None."""

    folder: Path
    questions: tuple[Question, ...]
    """Those that have an answer."""
    unanswered: int
    conditions: tuple[str, ...]
    answers: Mapping[Key, ConditionAnswer]
    set_ups: Mapping[str, SetUp]
    """By condition, of most of its answers."""
    judged: Judged | None
    compared: Comparison | None
    claims: Mapping[Key, AnswerClaims]
    grounding: Mapping[Key, AnswerGrounding]
    ratings: tuple[Rating, ...]

    @property
    def keys(self) -> list[Key]:
        """All conditions and questions, condition by condition."""
        return [(name, one.id) for name in self.conditions for one in self.questions]

    def of(self, condition: str) -> list[ConditionAnswer]:
        """Return the answers of a condition, failed ones among them, in the order of questions."""
        return [row for one in self.questions if (row := self.answers.get((condition, one.id))) is not None]


def contents_of(folder: Path, judge: str | None = None) -> Contents:
    """Read a folder; raise UsageError where it is no comparison with answers."""
    answers = answers_now(folder)
    if not answers:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    listed = read_list(folder)
    answered = {question for _, question in answers}
    if unknown := answered - {one.id for one in listed}:
        raise UsageError(f"{folder / 'answers.jsonl'} answers {len(unknown)} questions that are not in questions.json")
    any_good = any(not row.error for row in answers.values())
    judged = judged_in(folder, judge)
    return Contents(
        folder,
        tuple(one for one in listed if one.id in answered),
        len(listed) - len(answered),
        tuple(sorted({condition for condition, _ in answers}, key=place_of)),
        answers,
        _set_ups(folder, answers),
        judged,
        comparison_of(folder, judged) if judged else None,
        claims_now(folder) if any_good else {},
        grounding_now(folder) if any_good else {},
        tuple(ratings_now(folder)),
    )


def _set_ups(folder: Path, answers: Mapping[Key, ConditionAnswer]) -> dict[str, SetUp]:
    table = set_ups_in(folder)
    counts = Counter((condition, row.made_with) for (condition, _), row in answers.items())
    rows = ((condition, table.get((digest, condition))) for (condition, digest), _ in reversed(counts.most_common()))
    return {condition: row for condition, row in rows if row is not None}


# The sections


def set_up(contents: Contents) -> Section:
    """Say what was compared: indexes, models and settings."""
    blocks: list[Block] = [_counts(contents)]
    set_ups = [contents.set_ups[name] for name in contents.conditions if name in contents.set_ups]
    for figures in {json.dumps(one.index, sort_keys=True): one.index for one in set_ups if one.index}.values():
        rows = [[name, _shown(figures[key])] for key, name in FIGURES.items() if figures.get(key) not in (None, "")]
        blocks.append(TableBlock(Table(("Index", str(figures.get("folder", ""))), rows, 2)))
    if missing := [name for name in contents.conditions if name not in contents.set_ups]:
        blocks.append(Missing(f"{UNRECORDED} ({', '.join(missing)})", f"eval answers {contents.folder}"))
    if set_ups:
        rows = [_condition(name, contents) for name in contents.conditions]
        blocks.append(TableBlock(Table(("Condition", "Answers by", "Model", "Version", "Answers"), rows, 4)))
        blocks += _settings(set_ups)
    return Section("setup", "Set-up", blocks)


def _counts(contents: Contents) -> str:
    texts = [f"{len(contents.questions):,} questions answered by {len(contents.conditions)} conditions"]
    if contents.unanswered:
        texts.append(f"{contents.unanswered:,} more questions have no answer")
    if judged := contents.judged:
        texts.append(f"{len(judged.sound):,} judgements by {judged.judge or 'hand'}")
        if judged.others:
            texts.append(f"those of {', '.join(judged.others)} are left out here")
    if contents.ratings:
        texts.append(f"{len(contents.ratings):,} ratings by {len({one.rater for one in contents.ratings})} people")
    return "; ".join(texts) + "."


def _condition(name: str, contents: Contents) -> list[str]:
    one = contents.set_ups.get(name)
    if one is None:
        return [name, "not recorded", "", "", ""]
    methods = {"source-summary": "map-reduce over the source texts", "vector": "the nearest chunks in one window"}
    by_level = f"map-reduce over the reports of level {one.level}"
    rows = contents.of(name)
    same = sum(row.made_with == one.made_with for row in rows)
    other = len(rows) - same
    count = f"{same:,}" + (f" (and {other:,} made with something else)" if other else "")
    method = methods.get(one.method, one.method) if one.level is None else by_level
    return [name, method, one.model, one.version, count]


def _settings(set_ups: Sequence[SetUp]) -> Iterator[Block]:
    """Yield the settings that all conditions share, the main ones in any case, and those of each alone."""
    usual = Settings()
    main = {"global.context_tokens": usual.global_.context_tokens}
    with_model = main | {"answer.response": usual.answer.response, "llm.temperature": usual.llm.temperature}
    values = [(main if one.model == "extractive" else with_model) | dict(one.settings or {}) for one in set_ups]
    common = {k: v for k, v in values[0].items() if all(one.get(k) == v for one in values)}
    rows = [[key, _shown(value)] for key, value in sorted(common.items())]
    yield TableBlock(Table(("Setting of all conditions", "Value"), rows, 2, "All other settings are their defaults."))
    own: list[list[str]] = []
    for one, settings in zip(set_ups, values, strict=True):
        rest = {k: v for k, v in sorted(settings.items()) if k not in common and k != "global.level"}
        own += [[one.condition, ", ".join(f"{k} = {_shown(v)}" for k, v in rest.items())]] if rest else []
    if own:
        yield TableBlock(Table(("Condition", "Settings of its own"), own, 2))


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def answers(contents: Contents, settings: Settings) -> Section:
    """Say what came of each condition, and what it took."""
    rows = [summary(name, contents.of(name)) for name in contents.conditions]
    blocks: list[Block] = [TableBlock(tables.answers(rows))]
    errors = [row for row in contents.answers.values() if row.error]
    for error in dict.fromkeys(row.error for row in errors):
        counts = Counter(row.condition for row in errors if row.error == error)
        text = ", ".join(f"{n} of {name}" for name, n in counts.items())
        blocks.append(Missing(f"Failed: {text}: {error}", f"eval answers {contents.folder}"))
    rows_of_samples = (row for row in answers_in(contents.folder).rows.values() if row.sample and not row.error)
    if samples := Counter(row.condition for row in rows_of_samples):
        text = ", ".join(f"{samples[name]:,} of {name}" for name in contents.conditions if name in samples)
        blocks.append(f"Further answers were sampled for self-consistency: {text}.")
    if spent := spending(contents.folder, settings):
        blocks += [Heading("What all of it took of language models, judging and checking included")]
        blocks.append(TableBlock(tables.spending(spent)))
    return Section("answers", "Answers and what they took", blocks)


def table2(contents: Contents) -> Section:
    """Say what global answers from each level read (GraphRAG Table 2)."""
    rows = {json.dumps(one.table2): one.table2 for one in contents.set_ups.values() if one.table2}
    blocks: list[Block] = [TableBlock(tables.units(one)) for one in rows.values()]
    title = "What each level reads (Table 2)"
    return Section("table2", title, blocks or [Missing(UNRECORDED, "eval table2 --index DIR")])


def win_rates(contents: Contents) -> Section:
    """Show how often a row's condition wins over a column's, by each criterion (GraphRAG Figure 2)."""
    title, command = "Win rates (Figure 2)", f"eval judge {contents.folder} --judge-model NAME"
    compared = contents.compared
    if compared is None or contents.judged is None:
        return Section("winrates", title, [Missing("No answers were judged.", command)])
    blocks: list[Block] = [
        "How often the row wins over the column, in %; a tie is half a win. Bold: it differs from 50 (p < 0.05, "
        "Wilcoxon, Holm). In the page a cell leads to the questions and judgements behind it."
    ]
    blocks += [TableBlock(tables.win_rates(matrix)) for matrix in matrices(compared)]
    if compared.missing:
        judged = len({one.question for one in contents.judged.sound})
        text = f"Judged are {judged:,} of {len(contents.questions):,} questions; of all pairs and criteria "
        text += f"{compared.missing:,} judgements are not made, or of answers changed since."
        blocks.append(Missing(text, command))
    if compared.failed:
        blocks.append(Missing(f"{compared.failed:,} judgements failed.", command))
    for one in compared.left_out:
        pair = ":".join(one.pair)
        blocks.append(f"Left out: {one.questions:,} questions of {pair}, no answer of {one.condition} ({one.why}).")
    return Section("winrates", title, blocks)


def statistics(contents: Contents) -> Section:
    """Show the tests of each pair (GraphRAG Table 6), the position bias, and why the judge preferred."""
    title, compared = "Statistics (Table 6)", contents.compared
    if compared is None:
        command = f"eval judge {contents.folder} --judge-model NAME"
        return Section("statistics", title, [Missing("No answers were judged.", command)])
    pairs = len({(one.first, one.second) for one in compared.results})
    blocks: list[Block] = [
        "Scores of 100 for a win, 50 for a tie and 0 for a loss, averaged over replicates. Wilcoxon's signed-rank test "
        f"over questions, p corrected (Holm) for the {pairs} pairs that were judged by a criterion; r is the "
        "matched-pairs rank-biserial correlation, d Cohen's of paired scores."
    ]
    for criterion in compared.criteria:
        rows = compared.of(criterion)
        reasons = [
            (f"{one.winner} over {one.loser} ({one.judgements:,} judgements)", one.text)
            for one in compared.reasons
            if one.criterion == criterion and one.text
        ]
        blocks.append(Heading(tables.capital(criterion)))
        blocks.append(TableBlock(tables.tests(rows)) if rows else "No pair was judged by it.")
        blocks += [Folded(f"Why the judge preferred what it did, by {criterion}", reasons)] if reasons else []
    blocks.append(compared.normality)
    if bias := tables.position(compared.position):
        blocks += [Heading("Position bias"), TableBlock(bias)]
    return Section("statistics", title, blocks)


def claims(contents: Contents) -> Section:
    """Show claims and clusters an answer (GraphRAG Tables 3 and 4), and how far they agree with the judge."""
    title, command = "Claims and clusters (Tables 3 and 4)", f"eval claims {contents.folder}"
    rows = [contents.claims[key] for key in contents.keys if key in contents.claims]
    if not rows:
        return Section("claims", title, [Missing("Claims were not counted.", command)])
    counts = count(rows, contents.judged.judgements if contents.judged else ())
    failed = Counter(row.condition for row in claims_in(contents.folder).rows.values() if row.error)
    blocks: list[Block] = [
        _by(counts.found_by, CLAIMS_BY_RULES),
        *_unchecked(contents, len(rows), failed, command),
        TableBlock(tables.claim_averages(counts)),
    ]
    if counts.differences:
        blocks += [Heading("Differences"), TableBlock(tables.claim_differences(counts.differences))]
    if counts.agreement:
        blocks += [Heading("Agreement with the judge's majority"), TableBlock(tables.claim_agreement(counts.agreement))]
    return Section("claims", title, blocks)


def grounding(contents: Contents) -> Section:
    """Show which share of sentences follows from what they cite, and from sampled answers."""
    command = f"eval grounding {contents.folder}"
    rows = [contents.grounding[key] for key in contents.keys if key in contents.grounding]
    if not rows:
        return Section("grounding", "Grounding", [Missing("What sentences cite was not checked.", command)])
    checked = summarise(rows)
    failed = Counter(row.condition for row in grounding_in(contents.folder).rows.values() if row.error)
    missing = _unchecked(contents, len(rows), failed, command)
    blocks = [_by(checked.found_by, GROUNDED_BY_RULES), *missing, TableBlock(tables.grounding(checked))]
    return Section("grounding", "Grounding", blocks)


def _by(names: Sequence[str], by_rules: str) -> str:
    return by_rules if "extractive" in names else f"Found by {', '.join(names) or 'hand'}."


def _unchecked(contents: Contents, checked: int, failed: Mapping[str, int], command: str) -> Iterator[Block]:
    """Yield what was not looked at of the answers, and what failed."""
    answered = sum(not row.error for row in contents.answers.values())
    if (left := answered - checked) > 0:
        text = f"Of {answered:,} answers {checked:,} were looked at; {left:,} were not, or have changed since."
        yield Missing(text, command)
    if failed:
        yield Missing(f"Failed: {', '.join(f'{n:,} of {name}' for name, n in failed.items())}.", command)


def loss(contents: Contents) -> Section:
    """Show which share of the facts of the text each stage of the index still has."""
    title, measured = "What gets lost between text and answer", _json(contents.folder / LOSS_FILE)
    if measured is None:
        command = f"eval loss --index DIR --out {contents.folder}"
        return Section("loss", title, [Missing("What gets lost was not measured.", command)])
    facts: list[dict[str, Any]] = measured["facts"]
    text = f"{len(facts):,} facts of {measured['chunks']:,} chunks. " + _by([measured["found_by"]], GROUNDED_BY_RULES)
    blocks: list[Block] = [text, TableBlock(tables.loss(measured["stages"]))]
    for stage in (one["stage"] for one in measured["stages"]):
        lost = [one for one in facts if next((s for s, has in one["survives"].items() if not has), "") == stage]
        if lost:
            texts = [(f"{one['document']}, chunk {one['chunk']:,}", one["text"]) for one in lost]
            blocks.append(Folded(f"First lost at {stage} ({len(lost):,})", texts))
    return Section("loss", title, [*blocks, *measured["notices"]])


def people(contents: Contents) -> Section | None:
    """Show how far raters agree with the judge and each other; None where nobody rated."""
    if not contents.ratings:
        return None
    judged = contents.judged
    by = (judged.judge if judged else "") or "judge"
    agreement = agreements(contents.ratings, judged.sound if judged else (), by)
    blocks: list[Block] = ["; ".join(f"{n:,} ratings by {name}" for name, n in agreement.raters.items()) + "."]
    if agreement.with_judge:
        blocks += [Heading("With the judge"), TableBlock(tables.agreements(agreement.with_judge, raters=False))]
    if agreement.between:
        blocks += [Heading("Between raters"), TableBlock(tables.agreements(agreement.between, raters=True))]
    if agreement.together:
        blocks += [Heading("All raters"), TableBlock(tables.fleiss(agreement.together))]
    return Section("people", "People", [*blocks, KAPPA_NOTE])


def ablations(contents: Contents) -> Section | None:
    """Show the ablations that the folder has; None where there are none."""
    blocks: list[Block] = []
    for path in sorted(contents.folder.glob("ablation*.json")):
        ablation = _json(path)
        if not ablation or not ablation["rows"]:
            continue
        blocks += [Heading(ablation["title"]), TableBlock(tables.ablation(ablation["rows"]))]
        picture = path.with_suffix(".svg")
        if picture.exists():
            svg = picture.read_text(encoding="utf-8")
            markup = Markup(svg[max(0, svg.find("<svg")) :])  # noqa: S704  # drawn by us
            blocks.append(Picture(markup, picture.name, ablation["title"]))
        blocks += ablation["notices"]
    return Section("ablations", "Ablations", blocks) if blocks else None


def _json(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} cannot be read ({error}); remove it, or make it once more") from None
    return cast("dict[str, Any]", values) if isinstance(values, dict) else None


# What the page looks up when somebody opens a question or a cell


def page_data(contents: Contents) -> dict[str, Any]:
    """Return answers, claims, sentences, judgements and ratings, with conditions and questions by their positions."""
    judged = contents.judged
    criteria = [(one.name, one.description) for one in judged.plan.criteria] if judged else []
    condition = {name: place for place, name in enumerate(contents.conditions)}
    question = {one.id: place for place, one in enumerate(contents.questions)}
    criterion = {name: place for place, (name, _) in enumerate(criteria)}
    return {
        "conditions": contents.conditions,
        "questions": [[one.id, one.text, one.persona, one.task] for one in contents.questions],
        "answers": _grid(contents, contents.answers, _answer),
        "claims": _grid(contents, contents.claims, lambda row: row.claims),
        "grounding": _grid(contents, contents.grounding, _sentences),
        "criteria": criteria,
        "judgements": [
            [criterion[row.criterion], condition[row.first], condition[row.second], question[row.question],
             row.replicate, row.winner, named(row)]
            for row in (judged.sound if judged else ())
        ],
        "ratings": [
            [row.criterion, condition[row.first], condition[row.second], question[row.question], row.rater, row.winner,
             row.comment]
            for row in contents.ratings
        ],
    }  # fmt: skip


def _grid(contents: Contents, rows: Mapping[Key, Any], values: Callable[[Any], Any]) -> list[list[Any]]:
    """Return for each condition a value for each question; an empty list where a condition has none."""
    grid = [[rows.get((name, one.id)) for one in contents.questions] for name in contents.conditions]
    return [[row and values(row) for row in line] if any(line) else [] for line in grid]


def _answer(row: ConditionAnswer) -> list[Any]:
    cited = [[one.marker, one.title, one.text, one.documents] for one in row.cited]
    took = [row.units, row.context_tokens, row.calls, row.prompt_tokens, row.completion_tokens, round(row.seconds, 2)]
    return [row.text, cited, took, row.error]


def _sentences(row: AnswerGrounding) -> list[Any]:
    return [row.samples, [[one.text, int(one.supported), one.markers, one.samples] for one in row.sentences]]


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
    contents = contents_of(source, judge_model)
    made = [set_up(contents), answers(contents, resolved(settings))]
    made += [section(contents) for section in (table2, win_rates, statistics, claims, grounding, loss)]
    sections = [*made, *filter(None, (people(contents), ablations(contents)))]
    questions = contents.questions
    values: dict[str, Any] = {
        "title": title or f"{', '.join(contents.conditions)} on {len(questions):,} questions",
        "sections": sections,
        "questions": questions,
    }
    links = [(section.id, section.title) for section in sections]
    links.append(("questions", f"Questions and answers ({len(questions):,})"))
    data, language = packed(page_data(contents)), language_of(one.text for one in questions)
    target = Path(out) if out is not None else source / FILE
    page, markdown = target.with_suffix(".html"), target.with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    html = render("report.html.j2", links=links, data=data, language=language, **values)
    page.write_text(html, encoding="utf-8")
    markdown.write_text(render("report.md.j2", generated=GENERATED_MARKDOWN, **values), encoding="utf-8")
    lacks = (block.what for section in sections for block in section.blocks if isinstance(block, Missing))
    return Report(page, markdown, tuple(dict.fromkeys(lacks)))
