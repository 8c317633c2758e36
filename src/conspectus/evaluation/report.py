"""The report on a comparison: one page and one Markdown file with all that its folder contains, and what is missing.

The text of its sections is in templates/report.sections.j2.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from conspectus.errors import UsageError
from conspectus.evaluation import comparison, tables
from conspectus.evaluation.answers import summary
from conspectus.evaluation.charts import packed, render
from conspectus.evaluation.claims import CLAIMS_BY_RULES, ClaimCheck, count
from conspectus.evaluation.comparison import Judgement, Study
from conspectus.evaluation.conditions import SetUp, set_ups_in
from conspectus.evaluation.grounding import GROUNDED_BY_RULES, Check, GroundingCheck, summarise
from conspectus.evaluation.judge import Judged, compare, judged_in
from conspectus.evaluation.people import KAPPA_NOTE, agreements, ratings_now
from conspectus.evaluation.statistics import plain
from conspectus.evaluation.tables import Column
from conspectus.index_status import spending
from conspectus.readers import GENERATED_MARKDOWN
from conspectus.runtime import Given, path_of, resolved
from conspectus.text.language import language_of

UNRECORDED = "What these answers were made with is not recorded: they are of an earlier version."
Ratings = Mapping[str, Sequence[Judgement]]
"""The ratings of people, by rater."""


@dataclass(frozen=True)
class Report:
    """The files of a report, the parts of the comparison that are missing, and its rows as plain values.

    data: conditions, criteria, questions, answers, judgements, results of checks, and the results by pair.
    """

    page: Path
    markdown: Path
    missing: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    title: str = "",
    judge_model: str | None = None,
    settings: Given = None,
) -> Report:
    """Write the contents of a comparison's folder as a page (`report.html`) and as Markdown; no model is asked.

    `out` names both files, whatever its suffix; by default they are written into the folder. Judgements are those of
    the named judge, by default of the one who judged most. Raises UsageError if the folder has no answers.
    """
    source = path_of(folder)
    study = comparison.study_in(source)
    judged, ratings = judged_in(study, judge_model), ratings_now(study)
    values = _answers(study) | _judgements(judged, ratings) | _checks(source, judged)
    conditions, questions = values["conditions"], values["questions"]
    missing: list[str] = []
    values |= {
        "folder": source,
        "tables": tables,
        "counts": _counts(values, judged, ratings),
        "spent": spending(source, resolved(settings)),
        "ablations": list(_ablations(source)),
        "title": title or f"{', '.join(conditions)} on {len(questions):,} questions",
        "language": language_of(one.text for one in questions),
        "generated": GENERATED_MARKDOWN,
        "sections": list[tuple[str, str]](),
        "noted": missing,
    }
    target = Path(out) if out is not None else source / "report"
    page, markdown = target.with_suffix(".html"), target.with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    data = _page_data(study, values, judged, ratings)
    page.write_text(render("report.html.j2", data=packed(data), **values), encoding="utf-8")
    text = re.sub(r"\n{3,}", "\n\n", render("report.md.j2", **values))
    markdown.write_text(text, encoding="utf-8")
    data["results"] = plain(values["compared"].results) if values["compared"] else []
    return Report(page, markdown, tuple(dict.fromkeys(missing)), data)


def _answers(study: Study) -> dict[str, Any]:
    """Return questions, answers and set-ups; the set-up of a condition is that of most of its answers."""
    rows = list(study.answers.values())
    answered = {row.question for row in rows}
    recorded = set_ups_in(study.folder)
    set_ups: list[SetUp] = []
    made: dict[str, str] = {}
    for name in study.conditions:
        digests = Counter(row.made_with for row in rows if row.condition == name)
        digest, n = digests.most_common(1)[0]
        if set_up := recorded.get((digest, name)):
            set_ups.append(set_up)
            other = digests.total() - n
            made[name] = f"{n:,}" + (f" (and {other:,} made with something else)" if other else "")
    made_as_now = Column("Answers", lambda row: made[row.condition])
    columns = [*tables.fields("condition", "method", "level", "model", "version"), made_as_now]
    indexes = {json.dumps(one.index): one.index for one in set_ups}
    details = {"indexes": [*indexes.values()], "settings": {one.condition: one.settings for one in set_ups}}
    return {
        "questions": [one for one in study.questions if one.id in answered],
        "unanswered": len(study.questions) - len(answered),
        "conditions": study.conditions,
        "unrecorded": UNRECORDED,
        "unrecorded_of": [name for name in study.conditions if name not in made],
        "set_up": tables.table_of(set_ups, columns, 5) if set_ups else None,
        "details": json.dumps(details, ensure_ascii=False, indent=1),
        "levels": list(dict.fromkeys(one.table2 for one in set_ups if one.table2)),
        "summaries": [
            summary(name, [row for row in rows if row.condition == name]) for name in study.conditions
        ],
        "errors": Counter((row.error, row.condition) for row in rows if row.error).items(),
        "answered": sum(not row.error for row in rows),
    }


def _judgements(judged: Judged | None, ratings: Ratings) -> dict[str, Any]:
    """Return the preferences of the judge and of people."""
    compared = compare(judged) if judged and judged.judgements else None
    return {
        "compared": compared,
        "not_compared": judged.outdated_notice if judged else "No answers were judged.",
        "pairs": len({(one.first, one.second) for one in compared.results}) if compared else 0,
        "people": agreements(ratings, judged),
        "kappa_note": KAPPA_NOTE,
    }


def _checks(folder: Path, judged: Judged | None) -> dict[str, Any]:
    """Return the results of the checks of the current answers: the figures, rows and failures of each check."""

    def checked(check: type[Check[Any, Any]]) -> dict[str, Any]:
        rows = list(check.current(folder).values())
        failed = Counter(row.condition for row in check.rows_in(folder).rows.values() if row.error)
        return {"current": rows, "failed": ", ".join(f"{n:,} of {name}" for name, n in failed.items())}

    claims, grounding = checked(ClaimCheck), checked(GroundingCheck)
    judgements = judged.judgements if judged else ()
    return {
        "rows": {"claims": claims, "grounding": grounding},
        "claims": count(claims["current"], judgements) if claims["current"] else None,
        "claims_by_rules": CLAIMS_BY_RULES,
        "grounding": summarise(grounding["current"]) if grounding["current"] else None,
        "grounded_by_rules": GROUNDED_BY_RULES,
    }


def _counts(values: Mapping[str, Any], judged: Judged | None, ratings: Ratings) -> str:
    """Return a sentence with the numbers of questions, answers, judgements and ratings."""
    texts = [f"{len(values['questions']):,} questions answered by {len(values['conditions'])} conditions"]
    if values["unanswered"]:
        texts.append(f"{values['unanswered']:,} more questions have no answer")
    if judged and judged.judgements:
        texts.append(f"{len(judged.successful):,} judgements by {judged.judge}")
        texts += [f"those of {', '.join(judged.others)} are left out here"] if judged.others else []
    if ratings:
        texts.append(f"{sum(map(len, ratings.values())):,} ratings by {len(ratings)} people")
    return "; ".join(texts) + "."


def _ablations(folder: Path) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield the ablations in a folder, each with the name and the SVG text of its chart."""
    for path in sorted(folder.glob("ablation*.json")):
        try:
            ablation = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{path} cannot be read ({error}); delete it, or create it again") from None
        picture = path.with_suffix(".svg")
        svg = picture.read_text(encoding="utf-8") if picture.exists() else ""
        if ablation["rows"]:
            yield ablation, picture.name, Markup(svg[max(0, svg.find("<svg")) :])  # noqa: S704  # drawn by us


def _page_data(
    study: Study, values: Mapping[str, Any], judged: Judged | None, ratings: Ratings
) -> dict[str, Any]:
    """Return the rows that the page shows when a question or a cell is opened."""
    parts = {
        "answers": study.answers.values(),
        **{name: part["current"] for name, part in values["rows"].items()},
    }
    return {
        "conditions": values["conditions"],
        "questions": [[one.id, one.text, one.persona, one.task] for one in values["questions"]],
        "criteria": [(one.name, one.description) for one in judged.plan.criteria] if judged else [],
        "judgements": [asdict(row) for row in (judged.successful if judged else ())],
        "outdated": judged.outdated if judged else 0,
        "ratings": [asdict(row) | {"rater": row.by} for rows in ratings.values() for row in rows],
        **{name: [asdict(row) for row in rows] for name, rows in parts.items()},
    }
