"""Ablations: vary any settings, keep all else, and measure what that changes (GraphRAG appendices A.2 and C).

Where a setting of indexing varies, the corpus is indexed once for each value, into one folder, so that they share its
response cache; with questions, each variant answers them too. The folder is then a comparison whose conditions are
`C2@8k`, `C2@16k`, …, so that claims, judges and the report work on it.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from conspectus import __version__
from conspectus.api.building import build
from conspectus.api.estimating import estimate as estimate_build
from conspectus.errors import UsageError
from conspectus.evaluation import charts, communities, run
from conspectus.evaluation.answers import AnswerOptions, Laid, answer_laid, lay_out, possible, summary
from conspectus.evaluation.answers import estimate as estimate_answers
from conspectus.evaluation.claims import claims_now
from conspectus.evaluation.conditions import Condition, Work, digest, model_options, snapshot_of
from conspectus.evaluation.jsonl_table import ConditionAnswer, JsonlTable, Question, answers_in
from conspectus.evaluation.judge import judged_in
from conspectus.evaluation.questions import Source, questions_of
from conspectus.evaluation.verdicts import tally
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.readers import list_generated
from conspectus.rows import Usage
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, resolved
from conspectus.settings import Settings

NAME = "ablation"
INDEXING = {"read", "chunk", "extract", "resolve", "describe", "communities", "reports", "model", "language"}
"""Tables and keys of settings by which an index changes."""
Values = Mapping[str, Any]
"""Settings by dotted key."""


@dataclass(frozen=True)
class Preset:
    """What varies, and what else is set; `questions` says whether answers are what is measured."""

    title: str
    varied: Mapping[str, Sequence[Any]]
    fixed: Values = field(default_factory=dict[str, Any])
    questions: bool = False


PRESETS = {
    "figure3": Preset(
        "Entity references by size of chunks and gleanings (GraphRAG Figure 3)",
        {"chunk.tokens": (600, 1200, 2400), "extract.max_gleanings": (0, 1, 2, 3)},
        {"reports.write": False},
    ),
    "window": Preset(
        "Answers by the size of the context window (GraphRAG appendix C)",
        {"answer.context_tokens": (8000, 16000, 32000, 64000)},
        questions=True,
    ),
}
COMMUNITIES = "communities"
"""The preset that compares Leiden with Louvain, see `compare_communities`."""


@dataclass(frozen=True)
class AblationOptions:
    """What varies: a preset, values by dotted key, or both (the values go before those of the preset).

    `sources` are indexed anew for each value of a setting of indexing, by default the documents of the index.
    `questions` are answered by `conditions` (by default the deepest of the paper's levels, TS and local).
    """

    preset: str = ""
    varied: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    sources: Sequence[str | Path] = ()
    questions: Source = ()
    conditions: Sequence[str] = ()
    sample: int | None = None
    """Questions that are drawn by a seed."""


@dataclass(frozen=True)
class Variant:
    """One combination of values, and what was measured of its index."""

    label: str
    values: dict[str, Any]
    made_with: str
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    errors: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Ablation:
    """One table: the first columns are what varied, the others what was measured."""

    name: str
    title: str
    rows: tuple[Mapping[str, Any], ...]
    folder: Path
    files: tuple[str, ...] = ()
    set_up: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notices: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""
    usage: Usage = run.NO_USAGE


class _Experiment:
    """The variants of an ablation, with what each needs."""

    def __init__(self, options: AblationOptions, index: Index | str | Path, folder: Path, settings: Settings) -> None:
        if options.preset and options.preset not in PRESETS:
            known = ", ".join((*PRESETS, COMMUNITIES))
            raise UsageError(f"there is no ablation {options.preset!r}; there are {known}, and --set KEY=V1,V2")
        preset = PRESETS.get(options.preset, Preset("Ablation of {}", {}))
        varied = {**preset.varied, **options.varied}
        if settings.model == "extractive":  # which gleans nothing
            varied.pop("extract.max_gleanings", None)
        if not varied:
            raise UsageError("name settings to vary, as --set chunk.tokens=600,1200, or a preset")
        self.name = options.preset or NAME
        self.title = preset.title.format(", ".join(varied))
        self.folder, self.options = folder, options
        self.settings = with_values(settings, preset.fixed)
        self.varied = varied
        self.rebuilds = any(key.partition(".")[0] in INDEXING for key in varied)
        self.questions: list[Question] = questions_of(options.questions)
        if preset.questions and not self.questions:
            raise UsageError(f"the ablation {options.preset} answers questions: name them with --questions")
        if not self.rebuilds and not self.questions:
            raise UsageError(f"{', '.join(varied)} changes answers alone: name questions with --questions")
        self._given = index
        self.table = JsonlTable(folder / f"{NAME}.jsonl", Variant, lambda row: row.label)

    @property
    def index(self) -> Index:
        return run.opened(self._given)

    def variants(self) -> Iterator[tuple[Variant, Settings]]:
        """Yield each combination of values with its settings."""
        for values in product(*self.varied.values()):
            combination = dict(zip(self.varied, values, strict=True))
            settings = with_values(self.settings, combination)
            label = "/".join(short(value) for value in values)
            corpus = list(map(str, self.options.sources)) or snapshot_of(self.index)
            asked = [[one.id for one in self.questions], self.options.conditions, self.options.sample]
            own = settings.model_dump(mode="json", exclude={"llm", "prices"}, exclude_defaults=True)
            made_with = digest([__version__, corpus, own, asked, *model_options(settings.model, settings)])
            yield Variant(label, combination, made_with), settings

    def left(self) -> list[tuple[Variant, Settings]]:
        """Return the variants that have no result, a failed one, or one made with something else."""

        def is_done(variant: Variant) -> bool:
            row = self.table.get(variant.label)
            return row is not None and row.made_with == variant.made_with and not row.errors

        return [(variant, settings) for variant, settings in self.variants() if not is_done(variant)]

    def sources(self) -> dict[str, Any]:
        """Return what an index is built from, as arguments of `build`."""
        if self.options.sources:
            return {"sources": [str(source) for source in self.options.sources]}
        rows = self.index.documents
        return {"documents": [{"id": row.path, "title": row.title, "text": row.text} for row in rows]}

    def lay_out(self, variant: Variant, index: Index, settings: Settings) -> Laid:
        """Lay out the answers of a variant, its conditions named after it."""
        names = self.options.conditions or default_conditions(index, settings)
        options = AnswerOptions(names, self.options.sample)
        laid = lay_out(self.folder, self.questions, options, index, settings)
        works = tuple(_renamed(work, variant.label) for work in laid.works)
        return replace(laid, works=works)


def _renamed(work: Work, label: str) -> Work:
    condition = work.condition
    return replace(work, condition=Condition(f"{condition.name}@{label}", condition.method, condition.level))


def short(value: Any) -> str:
    """Return a value as the name of a condition has it: `8k` for 8000."""
    text = str(value)
    return f"{text[:-3]}k" if text.isdigit() and text.endswith("000") else text.replace("/", "-").replace("@", "-")


def with_values(settings: Settings, values: Values) -> Settings:
    """Return settings with other values by dotted key; raise UsageError where there is no such key or value."""
    dumped = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key, value in values.items():
        *tables, name = key.split(".")
        table = dumped
        for one in tables:
            table = table.setdefault(one, {})
        table[name] = value
    try:
        return Settings.model_validate(dumped)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))} cannot be varied so: {first['msg']}") from None


def default_conditions(index: Index, settings: Settings) -> list[str]:
    """Return the deepest of the paper's levels, TS and local: they read the most."""
    names = [condition.name for condition in possible(index, settings, settings.model != "extractive")[0]]
    return [*[name for name in names if name.startswith("C")][-1:], *(n for n in names if n == "TS"), "local"]


# Measures


def index_figures(index: Index) -> dict[str, Any]:
    """Return what an index has; a reference is one entity in one chunk."""
    references = sum(len(entity.chunk_ids) for entity in index.entities)
    usage = index.usage.values()
    calls = sum(one.calls for one in usage)
    took = {
        "calls": calls,
        "prompt_tokens": sum(one.prompt_tokens for one in usage),
        "completion_tokens": sum(one.completion_tokens for one in usage),
    }
    return {
        "chunks": len(index.chunks),
        "references": references,
        "references_per_chunk": round(references / max(1, len(index.chunks)), 1),
        "entities": len(index.entities),
        "relationships": len(index.relationships),
        "communities": len(index.communities),
        "levels": len(index.levels),
        "reports": len(index.reports),
        "report_tokens": sum(report.n_tokens for report in index.reports),
        **(took if calls else {}),
    }


def answer_figures(folder: Path, condition: str, baseline: str, rows: Sequence[ConditionAnswer]) -> dict[str, Any]:
    """Return means over the answers of a condition, claims where they were extracted, wins over another if judged."""
    one = summary(condition, rows)
    good = [row for row in rows if not row.error]
    figures: dict[str, Any] = {
        "answers": one.answers,
        "failed": one.failed,
        "nothing_found_%": round(100 * one.nothing / one.answers, 1) if one.answers else None,
        "units_read": one.units,
        "tokens_read": one.context_tokens,
        "citations": one.citations,
        "documents_cited": _mean([len({d for c in row.cited for d in c.documents}) for row in good]),
        "answer_tokens": one.answer_tokens,
    }
    claims = {key: row for key, row in claims_now(folder).items() if key[0] == condition} if good else {}
    if claims:
        figures["claims"] = _mean([len(row.claims) for row in claims.values()])
    judged = judged_in(folder) if good else None
    for criterion in judged.plan.criteria if judged else ():
        counted = tally(judged.sound if judged else (), (condition, baseline), criterion.name)
        figures[f"wins_{criterion.name}_%"] = round(counted.mean, 1) if counted.margins else None
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def _rows(experiment: _Experiment) -> Iterator[dict[str, Any]]:
    """Yield a row for each variant, or for each of its conditions; wins are over the first variant."""
    answers: dict[str, list[ConditionAnswer]] = {}
    for row in answers_in(experiment.folder).rows.values() if experiment.questions else ():
        answers.setdefault(row.condition, []).append(row)
    variants = [row for one, _ in experiment.variants() if (row := experiment.table.get(one.label)) is not None]
    for variant in variants:
        names = [name for name in answers if name.partition("@")[2] == variant.label]
        if not names:
            yield {**variant.values, **variant.figures}
        for name in names:
            condition = name.partition("@")[0]
            measured = answer_figures(experiment.folder, name, f"{condition}@{variants[0].label}", answers[name])
            yield {**variant.values, "condition": condition, **variant.figures, **measured}


# The API


def preview_ablation(
    options: AblationOptions,
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = NAME,
    *,
    settings: Given = None,
) -> tuple[int, int, dict[str, Estimate]]:
    """Return how many variants there are, how many are left, and what these would take, by variant; asks no model."""
    experiment = _Experiment(options, index, path_of(folder), resolved(settings))
    left = experiment.left()
    costs: dict[str, Estimate] = {}
    for variant, chosen in left if experiment.settings.model != "extractive" else ():
        found: list[Estimate] = []
        if experiment.rebuilds:
            found.append(estimate_build(**experiment.sources(), folder=experiment.folder / "index", settings=chosen))
        if experiment.questions:
            laid = experiment.lay_out(variant, experiment.index, chosen)  # of a new index, by the one that is there
            if cost := run.preview(chosen, laid.folder, partial(estimate_answers, laid)):
                found.append(cost)
        costs[variant.label] = run.total(found)
    return len(list(experiment.variants())), len(left), costs


def ablate(
    options: AblationOptions,
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = NAME,
    *,
    settings: Given = None,
    progress: Progress | None = None,
) -> Ablation:
    """Index, and answer, by each combination of settings; write the table as JSON, CSV and charts (extra `eval`).

    The same call goes on from what is there. A budget holds for all variants together. Raises UsageError where nothing
    varies, or a setting cannot be so.

    Example: `ablate(AblationOptions(varied={"chunk.tokens": [600, 1200]}), "idx", "study/chunks")`
    """
    experiment = _Experiment(options, index, path_of(folder), resolved(settings))
    total, notices = run.NO_USAGE, Counter[str]()
    for variant, chosen in experiment.left():
        usage, lines = _measure(experiment, variant, _within_budget(chosen, total), progress)
        total = _sum((total, usage))
        notices.update(lines)
    rows = tuple(_rows(experiment))
    if experiment.questions and not any(key.startswith("wins_") for row in rows for key in row):
        command = f"conspectus eval judge {experiment.folder} --judge-model NAME"
        notices[f"Which answers are better, a judge says: {command}, then this once more."] += 1
    counts = Counter[str]()
    for row in experiment.table.rows.values():
        counts.update(row.errors)
    name, errors = experiment.name, dict(counts)
    set_up = {"model": experiment.settings.model, "questions": len(experiment.questions)}
    return _write(
        Ablation(name, experiment.title, rows, experiment.folder, (), set_up, tuple(notices), errors, total),
        [*experiment.varied, "condition"],
    )


def _within_budget(settings: Settings, spent: Usage) -> Settings:
    """Return settings whose budget is what the runs before left of it."""
    llm, left = settings.llm, dict[str, Any]()
    if llm.budget is not None:
        left["llm.budget"] = max(0.0, llm.budget - (spent.cost or 0.0))
    if llm.budget_tokens is not None:
        left["llm.budget_tokens"] = max(0, llm.budget_tokens - spent.prompt_tokens - spent.completion_tokens)
    return with_values(settings, left) if left else settings


def _sum(usages: Iterable[Usage]) -> Usage:
    """Return what several runs took together."""
    rows = [astuple(one) for one in usages]
    return Usage(*(sum(column) for column in zip(*rows, strict=True)))


def _measure(
    experiment: _Experiment, variant: Variant, settings: Settings, progress: Progress | None
) -> tuple[Usage, list[str]]:
    """Index and answer by one variant and save what was measured."""
    usage, notices, errors = run.NO_USAGE, list[str](), Counter[str]()
    index, figures = experiment.index if not experiment.rebuilds else None, {}
    if index is None:
        built = build(**experiment.sources(), folder=experiment.folder / "index", settings=settings, progress=progress)
        index, figures = built.index, index_figures(built.index)
        usage = _sum((usage, *built.index.usage.values()))
        notices += built.notices
        errors.update(failure.error for failure in built.failures)
    if experiment.questions:
        laid = experiment.lay_out(variant, index, settings)
        result = answer_laid(laid, _within_budget(settings, usage), None, progress)
        usage = _sum((usage, result.usage))
        notices += [*laid.notices, *result.notices]
        errors.update(row.error for work in laid.works if (row := laid.kept.get(work.key)) and row.error)
    experiment.table.add(replace(variant, figures=figures, errors=dict(errors)))
    return usage, notices


def compare_communities(
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = NAME,
    *,
    seeds: int = communities.SEEDS,
    settings: Given = None,
    progress: Progress | None = None,
) -> Ablation:
    """Divide the graph of an index by Leiden and by Louvain (extra `eval`), with so many seeds each; asks no model."""
    opened, of = run.opened(index), resolved(settings).communities
    tick = run.tick_of(progress, COMMUNITIES, seeds * len(communities.METHODS))
    rows = communities.compare_methods(opened, of, seeds, tick)
    notices = (
        "Means over the seeds. A level has what is above it and is not split further.",
        "Connected: of the communities that a method returned; the others are split before they are counted.",
    )
    set_up = {"snapshot": snapshot_of(opened), "seeds": seeds, "max_size": of.max_size}
    title = "Leiden and Louvain on the same graph"
    return _write(Ablation(COMMUNITIES, title, tuple(rows), path_of(folder), (), set_up, notices), ["method", "level"])


def _write(ablation: Ablation, keys: Sequence[str]) -> Ablation:
    """Write the table of an ablation as JSON and CSV, and its charts; `keys` are the columns that varied."""
    folder, name = ablation.folder, f"{NAME}_{ablation.name}" if ablation.name != NAME else NAME
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{name}.json", f"{name}.csv"]
    list_generated(folder, files)
    values = {key: value for key, value in asdict(ablation).items() if key not in ("folder", "files", "usage")}
    (folder / files[0]).write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    table = io.StringIO()
    writer = csv.DictWriter(table, dict.fromkeys(key for row in ablation.rows for key in row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(ablation.rows)
    (folder / files[1]).write_text(table.getvalue(), encoding="utf-8")
    labels = [" ".join(short(row[key]) for key in keys if key in row) for row in ablation.rows]
    measured = [{key: value for key, value in row.items() if key not in keys} for row in ablation.rows]
    return replace(ablation, files=(*files, *charts.lines(measured, labels, folder, name)))
