"""The report on a comparison: one page and one Markdown file of all that its folder has, and of what it lacks.

What its sections say is in templates/report.sections.j2.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from markupsafe import Markup

from conspectus.errors import UsageError
from conspectus.evaluation import comparison, tables
from conspectus.evaluation.answers import summary
from conspectus.evaluation.charts import packed, render
from conspectus.evaluation.claims import CLAIMS_BY_RULES, AnswerClaims, ClaimCheck, count
from conspectus.evaluation.comparison import ConditionAnswer, Judgement, Key, Question
from conspectus.evaluation.conditions import SetUp, set_ups_in
from conspectus.evaluation.grounding import (
    GROUNDED_BY_RULES,
    AnswerGrounding,
    AnswerRow,
    GroundingCheck,
    summarise,
)
from conspectus.evaluation.judge import Judged, compare, judged_in, named
from conspectus.evaluation.people import KAPPA_NOTE, agreements, ratings_now
from conspectus.evaluation.tables import Column, Table
from conspectus.index_status import spending
from conspectus.readers import GENERATED_MARKDOWN
from conspectus.runtime import Given, path_of, resolved
from conspectus.text.language import language_of

UNRECORDED = "What these answers were made with is not recorded: they are of an earlier version."


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
    claims: Mapping[Key, AnswerClaims]
    grounding: Mapping[Key, AnswerGrounding]
    ratings: Mapping[str, Sequence[Judgement]]
    """By rater."""

    def of(self, condition: str) -> list[ConditionAnswer]:
        """Return the answers of a condition, failed ones among them, in the order of questions."""
        return [row for one in self.questions if (row := self.answers.get((condition, one.id))) is not None]


def contents_of(folder: Path, judge: str | None = None) -> Contents:
    """Read a folder; raise UsageError where it is no comparison with answers."""
    study = comparison.study_in(folder)
    answered = {question for _, question in study.answers}
    set_ups = set_ups_in(folder)
    counts = Counter((condition, row.made_with) for (condition, _), row in study.answers.items())
    made = ((name, set_ups.get((digest, name))) for (name, digest), _ in reversed(counts.most_common()))
    return Contents(
        folder,
        tuple(one for one in study.questions if one.id in answered),
        len(study.questions) - len(answered),
        study.conditions,
        study.answers,
        {name: row for name, row in made if row is not None},
        judged_in(study, judge),
        ClaimCheck.current(folder),
        GroundingCheck.current(folder),
        ratings_now(study),
    )


def _values(contents: Contents) -> dict[str, Any]:
    """Return what the sections of a report show, see templates/report.sections.j2."""
    folder, judged = contents.folder, contents.judged
    set_ups = [contents.set_ups[name] for name in contents.conditions if name in contents.set_ups]
    compared = compare(judged) if judged else None
    claims, grounding = list(contents.claims.values()), list(contents.grounding.values())
    return {
        "folder": folder,
        "tables": tables,
        "counts": _counts(contents),
        "unrecorded": UNRECORDED,
        "unrecorded_of": [name for name in contents.conditions if name not in contents.set_ups],
        "set_up": _set_up(contents, set_ups) if set_ups else None,
        "details": _details(set_ups),
        "summaries": [summary(name, contents.of(name)) for name in contents.conditions],
        "errors": Counter((r.error, r.condition) for r in contents.answers.values() if r.error).items(),
        "levels": list(dict.fromkeys(one.table2 for one in set_ups if one.table2)),
        "compared": compared,
        "pairs": len({(one.first, one.second) for one in compared.results}) if compared else 0,
        "answered": sum(not row.error for row in contents.answers.values()),
        "rows": {
            "claims": _checked(claims, ClaimCheck.rows_in(folder).rows.values()),
            "grounding": _checked(grounding, GroundingCheck.rows_in(folder).rows.values()),
        },
        "claims": count(claims, judged.judgements if judged else ()) if claims else None,
        "claims_by_rules": CLAIMS_BY_RULES,
        "grounding": summarise(grounding) if grounding else None,
        "grounded_by_rules": GROUNDED_BY_RULES,
        "people": agreements(contents.ratings, judged),
        "kappa_note": KAPPA_NOTE,
        "ablations": list(_ablations(folder)),
    }


def _counts(contents: Contents) -> str:
    texts = [f"{len(contents.questions):,} questions answered by {len(contents.conditions)} conditions"]
    if contents.unanswered:
        texts.append(f"{contents.unanswered:,} more questions have no answer")
    if judged := contents.judged:
        texts.append(f"{len(judged.sound):,} judgements by {judged.judge}")
        texts += [f"those of {', '.join(judged.others)} are left out here"] if judged.others else []
    if ratings := contents.ratings:
        texts.append(f"{sum(map(len, ratings.values())):,} ratings by {len(ratings)} people")
    return "; ".join(texts) + "."


def _set_up(contents: Contents, set_ups: Sequence[SetUp]) -> Table:
    """Return what each condition is, and how many answers were made by it as it is."""

    def made(one: SetUp) -> str:
        answers = contents.of(one.condition)
        other = sum(row.made_with != one.made_with for row in answers)
        return f"{len(answers) - other:,}" + (f" (and {other:,} made with something else)" if other else "")

    columns = [
        tables.CONDITION, Column("Method", "method"), Column("Level", "level"), Column("Model", "model"),
        Column("Version", "version"), Column("Answers", made),
    ]  # fmt: skip
    return tables.table_of(set_ups, columns, 5)


def _details(set_ups: Sequence[SetUp]) -> str:
    """Return the indexes and the settings that answers were made with, as JSON."""
    indexes = {json.dumps(one.index): one.index for one in set_ups}
    values = {"indexes": list(indexes.values()), "settings": {one.condition: one.settings for one in set_ups}}
    return json.dumps(values, ensure_ascii=False, indent=1)


def _checked(current: Sequence[AnswerRow], rows: Iterable[AnswerRow]) -> dict[str, Any]:
    """Return how many answers were checked as they are now, and of which conditions a check failed."""
    failed = Counter(row.condition for row in rows if row.error)
    return {"current": len(current), "failed": ", ".join(f"{n:,} of {name}" for name, n in failed.items())}


def _ablations(folder: Path) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield the ablations of a folder, each with the name and the text of its picture."""
    for path in sorted(folder.glob("ablation*.json")):
        ablation, picture = _json(path), path.with_suffix(".svg")
        svg = picture.read_text(encoding="utf-8") if picture.exists() else ""
        if ablation and ablation["rows"]:
            yield ablation, picture.name, Markup(svg[max(0, svg.find("<svg")) :])  # noqa: S704  # drawn by us


def _json(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} cannot be read ({error}); remove it, or make it once more") from None
    return cast("dict[str, Any]", values) if isinstance(values, dict) else None


def page_data(contents: Contents) -> dict[str, Any]:
    """Return the rows that the page looks up when somebody opens a question or a cell."""
    judged = contents.judged
    rows = {name: list(getattr(contents, name).values()) for name in ("answers", "claims", "grounding")}
    return {
        "conditions": contents.conditions,
        "questions": [[one.id, one.text, one.persona, one.task] for one in contents.questions],
        "criteria": [(one.name, one.description) for one in judged.plan.criteria] if judged else [],
        "judgements": [asdict(row) | {"reasoning": named(row)} for row in (judged.sound if judged else ())],
        "ratings": [asdict(row) | {"rater": row.by} for rows in contents.ratings.values() for row in rows],
        **{name: [asdict(row) for row in part] for name, part in rows.items()},
    }


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
    questions = contents.questions
    missing: dict[str, None] = {}
    sections: dict[tuple[str, str], None] = {}

    def listed(id: str, title: str) -> str:
        sections[id, title] = None
        return ""

    def noted(text: str) -> str:
        missing[text] = None
        return ""

    values = _values(contents) | {
        "spent": spending(source, resolved(settings)),
        "title": title or f"{', '.join(contents.conditions)} on {len(questions):,} questions",
        "questions": questions,
        "language": language_of(one.text for one in questions),
        "generated": GENERATED_MARKDOWN,
        "sections": sections,
        "listed": listed,
        "noted": noted,
    }
    target = Path(out) if out is not None else source / "report"
    page, markdown = target.with_suffix(".html"), target.with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render("report.html.j2", data=packed(page_data(contents)), **values), encoding="utf-8")
    text = re.sub(r"\n{3,}", "\n\n", render("report.md.j2", **values))
    markdown.write_text(text, encoding="utf-8")
    return Report(page, markdown, tuple(missing))
