"""Ablations: vary some settings, fix all others, and measure the effect (GraphRAG appendices A.2 and C).

If a setting of indexing varies, the corpus is indexed once for each variant, always into one folder, so that all
share its response cache. With questions, each variant also answers them; the folder is then a comparison whose
conditions are `C2@8k`, `C2@16k`, …, so that judges, claims and the report work on it. Communities are compared
separately: Leiden and Louvain on the graph of an index.
"""

# networkx is an optional dependency, which is not installed where types are checked:
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError
from scipy.sparse import csr_array

from conspectus import Index, __version__, build
from conspectus import estimate as estimate_build
from conspectus.algorithms.leiden import Graph, Ints, Partition, adjacency, connected, leiden, modularity
from conspectus.errors import UsageError
from conspectus.evaluation import charts, comparison
from conspectus.evaluation.answers import AnswerOptions, AnswerStep, summary
from conspectus.evaluation.comparison import ConditionAnswer, JsonlTable, Source
from conspectus.evaluation.conditions import digest, model_options, possible, snapshot_of
from conspectus.evaluation.run import NO_USAGE, Preview, Result, Runs, StepFunction
from conspectus.evaluation.statistics import Figures
from conspectus.indexing.estimate import Estimate, TaskEstimate
from conspectus.indexing.pipeline import Progress
from conspectus.lazy import lazy_module
from conspectus.rows import Usage
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, Options, opened, path_of, run_of
from conspectus.settings import Settings

if TYPE_CHECKING:
    import networkx
    from typing_extensions import Unpack
else:
    networkx = lazy_module("networkx", "conspectus[eval]")

NAME = "ablation"
COMMUNITIES = "communities"
"""The preset that compares Leiden with Louvain, see `CommunityStep`."""
INDEXING = {"read", "chunk", "extract", "resolve", "describe", "communities", "reports", "model", "language"}
"""Tables and keys of settings that affect an index."""
Values = Mapping[str, Any]
"""Values by dotted key of settings, or by column of a table."""
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
"""Presets by name: the title, the values that vary, and the settings that are fixed."""


class AblationOptions(Options, total=False):
    """What varies, and what is measured.

    preset: `figure3`, `window` or `communities` (Leiden and Louvain on the graph of the index; asks no model).
    varied: lists of values by dotted key of settings; they replace those of the preset.
    questions: a file, the folder of a comparison, or a list of questions that each variant answers.
    conditions: what answers them; if left out, the lowest of the paper's levels, TS, SS (with vectors) and local.
    sample: a number of questions, drawn at random with a fixed seed.
    seeds: the number of seeds of `communities`; 10 if left out.
    progress: True shows progress on standard error; or an object that shows it.
    """

    preset: str
    varied: Mapping[str, Sequence[Any]]
    questions: Source
    conditions: Sequence[str]
    sample: int | None
    seeds: int
    progress: Progress | bool | None


@dataclass(frozen=True)
class Variant:
    """One combination of values, the figures of its index, and the number of failures by message."""

    label: str
    values: dict[str, Any]
    made_with: str
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    errors: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def error(self) -> str:
        """The messages of all failures."""
        return "; ".join(self.errors)


@dataclass(frozen=True)
class Ablation(Figures):
    """The table of an ablation: the first columns contain the settings that varied, the others the measurements."""

    name: str
    title: str
    rows: tuple[Values, ...]
    folder: Path
    notices: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of failures by message."""
    files: tuple[str, ...] = ()


class AblationStep:
    """The variants of an ablation, which are measured one after the other."""

    def __init__(self, index: Index, folder: Path, options: AblationOptions) -> None:
        """Raise UsageError if nothing varies, or if a setting cannot have one of the values."""
        preset = options.get("preset", "")
        if preset not in PRESETS:
            presets = ", ".join((*filter(None, PRESETS), COMMUNITIES))
            raise UsageError(
                f"there is no ablation {preset!r}; there are {presets}, and varied={{'KEY': [V1, V2]}}"
            )
        given = run_of(options, [index.settings]).settings
        title, varied, fixed = PRESETS[preset]
        self.varied = {**varied, **options.get("varied", {})}
        if given.model == "extractive":  # it makes no gleanings
            self.varied.pop("extract.max_gleanings", None)
        if not self.varied:
            raise UsageError("name settings to vary, as varied={'chunk.tokens': [600, 1200]}, or a preset")
        self.name, self.title = preset or NAME, title.format(", ".join(self.varied))
        self.index, self.folder, self.options = index, folder, options
        self.settings = with_values(given, fixed)
        self.rebuilds = any(key.partition(".")[0] in INDEXING for key in self.varied)
        self.questions = comparison.questions_of(options.get("questions", ()))
        if not self.questions and not self.rebuilds:
            raise UsageError(
                f"{', '.join(self.varied)} changes answers alone: name questions with questions=..."
            )
        self.table = JsonlTable(folder / f"{NAME}.jsonl", Variant, lambda row: row.label)
        self.usage, self.notices = NO_USAGE, dict[str, None]()
        self.variants = list(self._variants())
        self.remaining = [
            (variant, settings)
            for variant, settings in self.variants
            if not self.table.done(variant.label, variant.made_with)
        ]

    def _variants(self) -> Iterator[tuple[Variant, Settings]]:
        """Yield each combination of values with its settings."""
        corpus = snapshot_of(self.index)
        questions = [question.id for question in self.questions]
        measured = [questions, self.options.get("conditions", ()), self.options.get("sample")]
        for combination in product(*self.varied.values()):
            values = dict(zip(self.varied, combination, strict=True))
            settings = with_values(self.settings, values)
            own = settings.model_dump(mode="json", exclude={"llm", "prices"}, exclude_defaults=True)
            made_with = digest([__version__, corpus, own, measured, *model_options(settings.model, settings)])
            yield Variant("/".join(map(short, combination)), values, made_with), settings

    def corpus(self) -> dict[str, Any]:
        """Return the documents of the index and the folder of each variant's index, as arguments of `build`."""
        rows = self.index.documents
        documents = [{"id": row.path, "title": row.title, "text": row.text} for row in rows]
        return {"documents": documents, "folder": self.folder / "index"}

    def answer_step(self, variant: Variant, index: Index, settings: Settings) -> AnswerStep:
        """Return the step that answers the questions with a variant.

        Its conditions are the given `conditions`, or the lowest of the paper's levels, TS, SS and local.
        """
        names = list(self.options.get("conditions", ()))
        if not names:
            available = [
                condition.name for condition in possible(index, settings, settings.model != "extractive")[0]
            ]
            lowest_level = [name for name in available if name.startswith("C")][-1:]
            names = [*lowest_level, *(name for name in ("TS", "SS") if name in available), "local"]
        options = AnswerOptions(
            conditions=names, sample=self.options.get("sample"), progress=self.options.get("progress")
        )
        run = run_of({"settings": settings})
        return AnswerStep(self.questions, index, self.folder, options, run, f"@{variant.label}")

    def cost(self, variant: Variant, settings: Settings) -> Iterator[TaskEstimate]:
        """Yield the estimate of a variant; if its index is not built yet, the existing one is used for its answers."""
        if self.rebuilds:
            yield from estimate_build(**self.corpus(), settings=settings).tasks
        if self.questions:
            answers = self.answer_step(variant, self.index, settings).preview().estimate
            yield from answers.tasks if answers else ()

    def preview(self) -> Preview:
        """Return the number of variants, the number that remain, and an estimate of these; no model is asked."""
        tasks: list[TaskEstimate] = []
        if self.settings.model == "extractive":
            return Preview(len(self.variants), len(self.remaining))
        for variant, settings in self.remaining:
            rows = self.cost(variant, settings)
            tasks += (replace(row, model=f"{variant.label}: {row.model}") for row in rows)
        return Preview(len(self.variants), len(self.remaining), Estimate(tuple(tasks)))

    def measure(self, variant: Variant, settings: Settings) -> None:
        """Build the index of one variant and answer with it, as far as either varies, and save the figures."""
        errors, figures, index = Counter[str](), dict[str, Any](), self.index
        if self.rebuilds:
            progress = self.options.get("progress")
            built = build(**self.corpus(), settings=_within_budget(settings, self.usage), progress=progress)
            index, figures = built.index, index_figures(built.index)
            self.usage = sum(index.usage.values(), self.usage)
            self.notices |= dict.fromkeys(built.notices)
            errors.update(failure.error for failure in built.failures)
        if self.questions:
            result = self.answer_step(variant, index, _within_budget(settings, self.usage)).perform()
            self.usage += result.usage
            self.notices |= dict.fromkeys(result.notices)
            errors.update(result.errors)
        self.table.add(replace(variant, figures=figures, errors=dict(errors)))

    def perform(self) -> Result[Ablation]:
        """Measure the remaining variants, and write the table of all; a budget applies to all of them together."""
        for variant, settings in self.remaining:
            self.measure(variant, settings)
        notices = list(self.notices)
        if self.questions:
            notices.append(f"Which is better: conspectus eval judge {self.folder} --judge-model NAME")
        errors = sum((Counter(row.errors) for row in self.table.rows.values()), Counter[str]())
        done = Ablation(self.name, self.title, tuple(self.rows()), self.folder, tuple(notices), dict(errors))
        return Result(_written(done, [*self.varied, "condition"]), self.usage, done.notices, done.errors)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each variant, or for each of its conditions."""
        answers: dict[str, list[ConditionAnswer]] = {}
        for row in comparison.answers_in(self.folder).rows.values() if self.questions else ():
            answers.setdefault(row.condition, []).append(row)
        for variant in (self.table.rows[variant.label] for variant, _ in self.variants):
            conditions = [name for name in answers if name.partition("@")[2] == variant.label]
            for name in conditions:
                means = asdict(summary(name.partition("@")[0], answers[name]))
                del means["seconds"]  # the time differs from run to run
                yield {**variant.values, "condition": means["condition"], **variant.figures, **means}
            if not conditions:
                yield {**variant.values, **variant.figures}


def short(value: Any) -> str:
    """Return a value as it is written in the name of a condition, such as `8k` for 8000."""
    text = str(value)
    if text.isdigit() and text.endswith("000"):
        return f"{text[:-3]}k"
    return text.replace("/", "-").replace("@", "-")


def with_values(settings: Settings, values: Values) -> Settings:
    """Return settings with other values by dotted key; raise UsageError for an unknown key or an invalid value."""
    tables = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        owner = tables.setdefault(table, {}) if table else tables
        if not isinstance(owner, dict):
            raise UsageError(f"{key} cannot be varied: {table} has no parts")
        owner[name] = value
    try:
        return Settings.model_validate(tables)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))} cannot be varied so: {first['msg']}") from None


def _within_budget(settings: Settings, spent: Usage) -> Settings:
    """Return settings whose budget is reduced by what earlier runs spent."""
    budgets: dict[str, float] = {}
    if settings.llm.budget is not None:
        budgets["llm.budget"] = max(0, settings.llm.budget - spent.cost)
    if settings.llm.budget_tokens is not None:
        budgets["llm.budget_tokens"] = max(0, settings.llm.budget_tokens - spent.tokens)
    return with_values(settings, budgets)


def index_figures(index: Index) -> dict[str, Any]:
    """Return the sizes of an index and its usage of a language model; a reference is one entity in one chunk."""
    chunks, references = len(index.chunks), sum(len(entity.chunk_ids) for entity in index.entities)
    tables = ("entities", "relationships", "communities", "levels", "reports")
    usage = sum(index.usage.values(), NO_USAGE)
    took = {f"index_{key}": getattr(usage, key) for key in ("calls", "prompt_tokens", "completion_tokens")}
    return {
        "chunks": chunks,
        "references": references,
        "references_per_chunk": round(references / max(1, chunks), 1),
        **{name: len(getattr(index, name)) for name in tables},
        "report_tokens": sum(report.n_tokens for report in index.reports),
        **(took if usage.calls else {}),
    }


def _written(ablation: Ablation, keys: Sequence[str]) -> Ablation:
    """Write the table of an ablation as JSON, CSV and charts, and add their names to it; `keys` are what varied."""
    folder, name = ablation.folder, f"{NAME}_{ablation.name}" if ablation.name != NAME else NAME
    values = {key: value for key, value in asdict(ablation).items() if key not in ("folder", "files")}
    comparison.write_json(folder / f"{name}.json", values)
    text = io.StringIO()
    columns = dict.fromkeys(key for row in ablation.rows for key in row)
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(ablation.rows)
    comparison.write_text(folder / f"{name}.csv", text.getvalue())
    labels = [" ".join(short(row[key]) for key in keys if key in row) for row in ablation.rows]
    measured = [{key: value for key, value in row.items() if key not in keys} for row in ablation.rows]
    drawn = charts.lines(measured, labels, folder, name)
    return replace(ablation, files=(f"{name}.json", f"{name}.csv", *drawn))


# Communities

RESOLUTION = 1.0
"""Resolution of the modularity that both methods optimise, the same as in indexing."""


def louvain(graph: Graph, resolution: float, seed: int) -> Ints:
    """Return the community of each node as computed by the Louvain method (Blondel et al. 2008)."""
    matrix = csr_array((graph.data, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    drawn = networkx.from_scipy_sparse_array(matrix)
    communities = networkx.community.louvain_communities(drawn, resolution=resolution, seed=seed)
    labels = np.empty(graph.n, np.int64)
    for label, members in enumerate(sorted(map(sorted, communities))):
        labels[members] = label
    return labels


METHODS: Mapping[str, Partition] = {"Leiden": leiden, "Louvain": louvain}


def partition_figures(graph: Graph, labels: Ints) -> dict[str, float]:
    """Return the number, modularity and sizes of communities, and the percentage of them that are connected.

    Louvain may return disconnected communities (Traag et al. 2019). For the other figures, each community is first
    split into its connected components, as in indexing.
    """
    components = connected(graph, labels)
    pairs = np.unique(np.stack((labels, components)), axis=1)
    _, pieces = np.unique(pairs[0], return_counts=True)
    sizes = np.bincount(components).tolist()
    return {
        "communities": len(sizes),
        "modularity": modularity(graph.rows, graph.indices, graph.data, components, RESOLUTION),
        "median_size": median(sizes),
        "largest": max(sizes),
        "singletons": sizes.count(1),
        "connected_%": 100 * float((pieces == 1).mean()),
    }


@dataclass(frozen=True)
class CommunityStep:
    """The comparison of Leiden and Louvain on the graph of an index, with several seeds."""

    index: Index
    folder: Path
    options: AblationOptions

    def preview(self) -> Preview:
        """Return the number of methods; no model is asked."""
        return Preview(len(METHODS), len(METHODS))

    def perform(self) -> Result[Ablation]:
        """Compare the methods by means over the seeds; raise UsageError without a graph or without networkx."""
        if not len(self.index.relationships):
            raise UsageError("this index has no graph to divide")
        numbers = {entity.name: entity.number for entity in self.index.entities}
        edges = list(self.index.relationships)
        ends = ([numbers[row.source] for row in edges], [numbers[row.target] for row in edges])
        graph = adjacency(*ends, [row.weight for row in edges], len(numbers))
        first, count = run_of(self.options).settings.communities.seed, self.options.get("seeds", 10)
        rows: list[Values] = []
        for method, partition in METHODS.items():
            runs = [partition_figures(graph, partition(graph, RESOLUTION, first + n)) for n in range(count)]
            means = {name: round(mean(run[name] for run in runs), 4) for name in runs[0]}
            rows.append({"method": method, **means})
        notice = "Connected is counted before the communities that are not connected are split."
        title = f"Leiden and Louvain on the same graph, {count} seeds each"
        done = _written(Ablation(COMMUNITIES, title, tuple(rows), self.folder, (notice,)), ["method"])
        return Result(done, notices=done.notices)


@StepFunction
def ablate(
    index: AnyIndex = DEFAULT_FOLDER, folder: str | Path = NAME, **options: Unpack[AblationOptions]
) -> Runs[Ablation]:
    """Index and answer with each combination of settings; write the table as JSON, CSV and charts (extra `eval`).

    The same call, made again, continues with the remaining variants. A budget applies to all variants together. Raises
    UsageError if nothing varies, or if a setting cannot have one of the values.

    Example: `ablate("idx", "study/chunks", varied={"chunk.tokens": [600, 1200]})`
    """
    step = CommunityStep if options.get("preset") == COMMUNITIES else AblationStep
    return step(opened(index), path_of(folder), options)
