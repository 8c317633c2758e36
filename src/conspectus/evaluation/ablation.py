"""Ablations: vary any settings, keep all else, and measure what that changes (GraphRAG appendices A.2 and C).

Where a setting of indexing varies, the corpus is indexed once for each value, into one folder, so that they share its
response cache; with questions, each variant answers them too. The folder is then a comparison whose conditions are
`C2@8k`, `C2@16k`, …, so that judges, claims and the report work on it.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from conspectus import Index, __version__, build
from conspectus import estimate as estimate_build
from conspectus.errors import UsageError
from conspectus.evaluation import charts, communities, run
from conspectus.evaluation.answers import AnswerOptions, AnswerPlan, make_answers, plan_answers, possible, summary
from conspectus.evaluation.answers import estimate as estimate_answers
from conspectus.evaluation.conditions import Work, digest, model_options, snapshot_of
from conspectus.evaluation.jsonl_table import ConditionAnswer, JsonlTable, answers_in
from conspectus.evaluation.questions import Source, questions_of
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.readers import list_generated
from conspectus.rows import Usage
from conspectus.runtime import DEFAULT_FOLDER, Options, opened, path_of, public, run_of, settings_in
from conspectus.settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

NAME = "ablation"
COMMUNITIES = "communities"
"""The preset that compares Leiden with Louvain, see `compare_communities`."""
INDEXING = {"read", "chunk", "extract", "resolve", "describe", "communities", "reports", "model", "language"}
"""Tables and keys of settings by which an index changes."""
Values = Mapping[str, Any]
"""Values by dotted key of settings."""
PRESETS: Mapping[str, tuple[str, Mapping[str, Sequence[Any]], Values]] = {
    "figure3": (
        "Entity references by size of chunks and gleanings (GraphRAG Figure 3)",
        {"chunk.tokens": (600, 1200, 2400), "extract.max_gleanings": (0, 1, 2, 3)},
        {"reports.write": False},
    ),
    "window": (
        "Answers by the size of the context window (GraphRAG appendix C)",
        {"answer.context_tokens": (8000, 16000, 32000, 64000)},
        {},
    ),
    "": ("Ablation of {}", {}, {}),
}
"""Presets: the title, what varies, and what else is set."""


class AblationOptions(Options, total=False):
    """What varies, and what is measured.

    preset: `figure3` or `window`.
    varied: values by dotted key of settings; they replace those of the preset.
    sources: what is indexed for each value of a setting of indexing; left out, the documents of the index.
    questions: a file, the folder of a comparison, or questions, which each variant answers.
    conditions: what answers them; left out, the deepest of the paper's levels, TS and local.
    sample: a number of questions that are drawn by a seed.
    progress: is told what is done.
    """

    preset: str
    varied: Mapping[str, Sequence[Any]]
    sources: Sequence[str | Path]
    questions: Source
    conditions: Sequence[str]
    sample: int | None
    progress: Progress | None


@dataclass(frozen=True)
class Variant:
    """One combination of values, what was measured of its index, and what failed how often."""

    label: str
    values: dict[str, Any]
    made_with: str
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    errors: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def error(self) -> str:
        """What failed."""
        return "; ".join(self.errors)


@dataclass(frozen=True)
class Ablation:
    """One table: the first columns are what varied, the others what was measured."""

    name: str
    title: str
    rows: tuple[Values, ...]
    folder: Path
    notices: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""
    files: tuple[str, ...] = ()
    usage: Usage = run.NO_USAGE


class _Experiment:
    """The variants of an ablation, with what each needs."""

    def __init__(self, index: Index | str | Path, folder: Path, options: AblationOptions) -> None:
        built = [index.settings] if isinstance(index, Index) else settings_in(path_of(index))
        given = run_of(options, built).settings
        preset = options.get("preset", "")
        if preset not in PRESETS:
            presets = ", ".join((*filter(None, PRESETS), COMMUNITIES))
            raise UsageError(
                f"there is no ablation {preset!r}; there are {presets}, and varied={{'KEY': [V1, V2]}}"
            )
        title, varied, fixed = PRESETS[preset]
        self.varied = {**varied, **options.get("varied", {})}
        if given.model == "extractive":  # which gleans nothing
            self.varied.pop("extract.max_gleanings", None)
        if not self.varied:
            raise UsageError("name settings to vary, as varied={'chunk.tokens': [600, 1200]}, or a preset")
        self.name, self.title = preset or NAME, title.format(", ".join(self.varied))
        self.folder, self.options, self.settings = folder, options, with_values(given, fixed)
        self.rebuilds = any(key.partition(".")[0] in INDEXING for key in self.varied)
        self.questions = questions_of(options.get("questions", ()))
        if not self.questions and not self.rebuilds:
            raise UsageError(f"{', '.join(self.varied)} changes answers alone: name questions with questions=...")
        self.table = JsonlTable(folder / f"{NAME}.jsonl", Variant, lambda row: row.label)
        self._index = index

    @property
    def index(self) -> Index:
        """The index whose documents or answers are varied, opened where it is needed."""
        return opened(self._index)

    def variants(self) -> Iterator[tuple[Variant, Settings]]:
        """Yield each combination of values with its settings."""
        for values in product(*self.varied.values()):
            combination = dict(zip(self.varied, values, strict=True))
            settings = with_values(self.settings, combination)
            corpus = list(map(str, self.options.get("sources", ()))) or snapshot_of(self.index)
            asked = [
                [q.id for q in self.questions],
                self.options.get("conditions", ()),
                self.options.get("sample"),
            ]
            own = settings.model_dump(mode="json", exclude={"llm", "prices"}, exclude_defaults=True)
            made_with = digest([__version__, corpus, own, asked, *model_options(settings.model, settings)])
            yield Variant("/".join(map(short, values)), combination, made_with), settings

    def left(self) -> list[tuple[Variant, Settings]]:
        """Return the variants that have no result, a failed one, or one made with something else."""
        return [
            (variant, settings)
            for variant, settings in self.variants()
            if not self.table.done(variant.label, variant.made_with)
        ]

    def sources(self) -> dict[str, Any]:
        """Return what an index is built from, as arguments of `build`."""
        folder = self.folder / "index"
        if sources := self.options.get("sources"):
            return {"sources": list(map(str, sources)), "folder": folder}
        rows = self.index.documents
        return {
            "documents": [{"id": row.path, "title": row.title, "text": row.text} for row in rows],
            "folder": folder,
        }

    def lay_out(self, variant: Variant, index: Index, settings: Settings) -> AnswerPlan:
        """Lay out the answers of a variant, its conditions named after it."""
        names = self.options.get("conditions") or default_conditions(index, settings)
        options = AnswerOptions(conditions=names, sample=self.options.get("sample"))
        planned = plan_answers(self.folder, self.questions, options, index, settings)

        def renamed(work: Work) -> Work:
            return replace(work, condition=replace(work.condition, name=f"{work.condition.name}@{variant.label}"))

        return replace(planned, works=tuple(map(renamed, planned.works)))

    def measure(self, variant: Variant, settings: Settings) -> tuple[Usage, list[str]]:
        """Index and answer by one variant and save what was measured; return what it took, and notices."""
        usage, notices, errors = run.NO_USAGE, list[str](), Counter[str]()
        index, figures, progress = self._index, {}, self.options.get("progress")
        if self.rebuilds:
            built = build(**self.sources(), settings=settings, progress=progress)
            index, figures = built.index, index_figures(built.index)
            usage = sum(index.usage.values(), usage)
            notices += built.notices
            errors.update(failure.error for failure in built.failures)
        if self.questions:
            planned = self.lay_out(variant, opened(index), settings)
            result = make_answers(planned, _within_budget(settings, usage), None, progress)
            usage += result.usage
            notices += [*planned.notices, *result.notices]
            errors.update(
                row.error for work in planned.works if (row := planned.table.get(work.key)) and row.error
            )
        self.table.add(replace(variant, figures=figures, errors=dict(errors)))
        return usage, notices

    def cost(self, variant: Variant, settings: Settings) -> Estimate:
        """Return what a variant would take; answers from an index that is to be built, by the one that exists."""
        costs = [estimate_build(**self.sources(), settings=settings)] if self.rebuilds else []
        if self.questions:
            planned = self.lay_out(variant, self.index, settings)
            answers = run.preview(settings, self.folder, partial(estimate_answers, planned))
            costs += [answers] if answers else []
        return run.total(costs)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each variant, or for each of its conditions."""
        answers: dict[str, list[ConditionAnswer]] = {}
        for row in answers_in(self.folder).rows.values() if self.questions else ():
            answers.setdefault(row.condition, []).append(row)
        for variant in filter(None, (self.table.get(variant.label) for variant, _ in self.variants())):
            conditions = [name for name in answers if name.partition("@")[2] == variant.label]
            for name in conditions:
                condition = {"condition": name.partition("@")[0]}
                yield {**variant.values, **condition, **variant.figures, **answer_figures(answers[name])}
            if not conditions:
                yield {**variant.values, **variant.figures}


def short(value: Any) -> str:
    """Return a value as the name of a condition has it: `8k` for 8000."""
    text = str(value)
    if text.isdigit() and text.endswith("000"):
        return f"{text[:-3]}k"
    return text.replace("/", "-").replace("@", "-")


def with_values(settings: Settings, values: Values) -> Settings:
    """Return settings with other values by dotted key; raise UsageError where there is no such key or value."""
    dumped = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key, value in values.items():
        *names, last = key.split(".")
        table = dumped
        for name in names:
            table = table.setdefault(name, {})
        table[last] = value
    try:
        return Settings.model_validate(dumped)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))} cannot be varied so: {first['msg']}") from None


def _within_budget(settings: Settings, spent: Usage) -> Settings:
    """Return settings whose budget is what earlier runs left of it."""
    left: dict[str, float] = {}
    if settings.llm.budget is not None:
        left["llm.budget"] = max(0, settings.llm.budget - spent.cost)
    if settings.llm.budget_tokens is not None:
        left["llm.budget_tokens"] = max(0, settings.llm.budget_tokens - spent.tokens)
    return with_values(settings, left)


def default_conditions(index: Index, settings: Settings) -> list[str]:
    """Return the deepest of the paper's levels, TS and local: they read the most."""
    conditions, _ = possible(index, settings, settings.model != "extractive")
    names = [condition.name for condition in conditions]
    deepest = [name for name in names if name.startswith("C")][-1:]
    return [*deepest, *(["TS"] if "TS" in names else []), "local"]


def index_figures(index: Index) -> dict[str, Any]:
    """Return what an index has; a reference is one entity in one chunk."""
    chunks, references = len(index.chunks), sum(len(entity.chunk_ids) for entity in index.entities)
    tables = ("entities", "relationships", "communities", "levels", "reports")
    usage = sum(index.usage.values(), run.NO_USAGE)
    took = {key: getattr(usage, key) for key in ("calls", "prompt_tokens", "completion_tokens")}
    return {
        "chunks": chunks,
        "references": references,
        "references_per_chunk": round(references / max(1, chunks), 1),
        **{name: len(getattr(index, name)) for name in tables},
        "report_tokens": sum(report.n_tokens for report in index.reports),
        **(took if usage.calls else {}),
    }


def answer_figures(rows: Sequence[ConditionAnswer]) -> dict[str, Any]:
    """Return means over the answers of a condition; answers that failed are counted."""
    means = summary("", rows)
    documents = [len({document for cited in row.cited for document in cited.documents}) for row in rows]
    return {
        "answers": means.answers,
        "failed": means.failed,
        "nothing_found_%": round(100 * means.nothing / max(1, means.answers), 1),
        "units_read": means.units,
        "tokens_read": means.context_tokens,
        "citations": means.citations,
        "documents_cited": round(sum(documents) / max(1, means.answers), 2),
        "answer_tokens": means.answer_tokens,
    }


# The API


@public
def preview_ablation(
    index: Index | str | Path = DEFAULT_FOLDER, folder: str | Path = NAME, **options: Unpack[AblationOptions]
) -> tuple[int, int, dict[str, Estimate]]:
    """Return how many variants there are, how many are left, and what these would take, by variant; asks no model."""
    experiment = _Experiment(index, path_of(folder), options)
    left = experiment.left()
    asked = left if experiment.settings.model != "extractive" else []
    costs = {variant.label: experiment.cost(variant, chosen) for variant, chosen in asked}
    return len(list(experiment.variants())), len(left), costs


@public
def ablate(
    index: Index | str | Path = DEFAULT_FOLDER, folder: str | Path = NAME, **options: Unpack[AblationOptions]
) -> Ablation:
    """Index, and answer, by each combination of settings; write the table as JSON, CSV and charts (extra `eval`).

    The same call continues from what is there. A budget holds for all variants together. Raises UsageError where
    nothing varies, or a setting cannot be so.

    Example: `ablate("idx", "study/chunks", varied={"chunk.tokens": [600, 1200]})`
    """
    experiment = _Experiment(index, path_of(folder), options)
    usage, notices, errors = run.NO_USAGE, dict[str, None](), Counter[str]()
    for variant, chosen in experiment.left():
        spent, lines = experiment.measure(variant, _within_budget(chosen, usage))
        usage += spent
        notices |= dict.fromkeys(lines)
    if experiment.questions:
        notices[f"Which answers are better: conspectus eval judge {experiment.folder} --judge-model NAME"] = None
    for row in experiment.table.rows.values():
        errors.update(row.errors)
    rows = tuple(experiment.rows())
    done = Ablation(experiment.name, experiment.title, rows, experiment.folder, tuple(notices), dict(errors))
    return _write(replace(done, usage=usage), [*experiment.varied, "condition"])


@public
def compare_communities(
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = NAME,
    *,
    seeds: int = 10,
    **options: Unpack[Options],
) -> Ablation:
    """Divide the graph of an index by Leiden and by Louvain (extra `eval`), with so many seeds each; asks no model."""
    rows = communities.compare_methods(opened(index), run_of(options).settings.communities, seeds)
    notices = (
        "Connected: of the communities that a method returned; the others are split before they are counted.",
    )
    title = f"Leiden and Louvain on the same graph, {seeds} seeds each"
    return _write(Ablation(COMMUNITIES, title, tuple(rows), path_of(folder), notices), ["method"])


def _write(ablation: Ablation, keys: Sequence[str]) -> Ablation:
    """Write the table of an ablation as JSON and CSV, and its charts; `keys` are the columns that varied."""
    folder, name = ablation.folder, f"{NAME}_{ablation.name}" if ablation.name != NAME else NAME
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{name}.json", f"{name}.csv"]
    list_generated(folder, files)
    values = {key: value for key, value in asdict(ablation).items() if key not in ("folder", "files", "usage")}
    (folder / files[0]).write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    with (folder / files[1]).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, dict.fromkeys(key for row in ablation.rows for key in row), lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(ablation.rows)
    labels = [" ".join(short(row[key]) for key in keys if key in row) for row in ablation.rows]
    measured = [{key: value for key, value in row.items() if key not in keys} for row in ablation.rows]
    return replace(ablation, files=(*files, *charts.lines(measured, labels, folder, name)))
