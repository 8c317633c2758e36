"""`conspectus eval`: retrieval, answers, ablations; and what all eval commands share: options, and running a step."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from conspectus import api, evaluation
from conspectus.cli import show
from conspectus.cli.options import (
    COST,
    DONE,
    FOLDER,
    FOLDERS,
    INTERRUPTED,
    MODEL,
    OUTPUT,
    SERVER,
    WITH_FAILURES,
    AsJson,
    Given,
    IndexFolder,
    IndexFolders,
    Quiet,
    Where,
    Yes,
    agree_to,
    argument,
    confirmed,
    option,
    parts,
    takes,
    with_parameters,
)
from conspectus.errors import UsageError
from conspectus.lazy import lazy_module
from conspectus.rows import Usage

if TYPE_CHECKING:
    from conspectus.api import Estimate
    from conspectus.evaluation import charts, tables
    from conspectus.evaluation.ablation import Ablation
    from conspectus.evaluation.run import Result, StepFunction
    from conspectus.evaluation.statistics import Measured
    from conspectus.settings import Settings
else:
    charts, tables = (lazy_module(f"conspectus.evaluation.{name}") for name in ("charts", "tables"))

app = typer.Typer(help="Evaluate retrieval and answers.", no_args_is_help=True)
COMPARISON = Path("comparison")
JUDGED = "R@5"
"""The measure for which intervals and differences are shown."""


# Options


Folder = Annotated[Path, argument("DIR", "Folder of a comparison, with questions.json and answers.jsonl.")]
Conditions = Annotated[
    str,
    option(
        "Conditions, separated by commas: C0, C1, ... (reports of a level), TS (map-reduce over source texts), SS "
        "(vector search) or any method (default: all available).",
        metavar="NAMES",
        show_default=False,
    ),
]
Questions = Annotated[
    Path | None,
    option("List of questions, or the folder of a comparison.", "--questions", metavar="FILE|DIR"),
]
Criteria = Annotated[
    str,
    option(
        "Criteria, separated by commas: comprehensiveness, diversity, empowerment, directness (default: all four),"
        ' and .toml or .json files of your own, e.g. candour = "Does the answer say what it cannot tell?"',
        metavar="NAMES",
        show_default=False,
    ),
]
Pairs = Annotated[
    str,
    option(
        "Pairs of conditions to compare, e.g. C0:TS,C2:SS (default: all).",
        metavar="A:B,..",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None, option("Take a random sample of N questions. A later run may take more.", metavar="N", min=1)
]
DryRun = Annotated[bool, option("Show estimated calls and cost, and call no model.", "--dry-run", panel=COST)]
ShownJudge = Annotated[
    str | None, option("Judge whose judgements are shown, if there are several.", metavar="NAME", panel=MODEL)
]
STEP = {"dry_run": DryRun, "yes": Yes, "json": AsJson, "quiet": Quiet}
"""The switches of a step that asks a model."""
MODELS = ("--model", *SERVER)
"""Options of FLAGS for a step that asks a model."""


@dataclass(frozen=True)
class Flags:
    """The values of the options that `step` adds to a command."""

    settings: Settings
    dry_run: bool = False
    yes: bool = False
    json: bool = False
    quiet: bool = False
    varied: Mapping[str, list[str]] | None = None
    """The settings to vary: those for which `--set` gives several values with commas."""


def step(
    *names: str, switches: Sequence[str] = tuple(STEP), index: str = "", vary: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the parameter `flags`, from switches of STEP and options of `FLAGS`.

    `index` names the parameter with the folders of indexes, whose models are used unless others are named.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, localns={"Flags": Flags}, include_extras=True)
        parameters = inspect.signature(command).parameters.values()
        own = [p.replace(annotation=hints[p.name]) for p in parameters if p.name != "flags"]
        own += [Parameter(n, Parameter.KEYWORD_ONLY, default=False, annotation=STEP[n]) for n in switches]
        own.append(Parameter("given", Parameter.KEYWORD_ONLY, annotation=Given))

        @functools.wraps(command)
        def run(given: Given, **arguments: Any) -> None:
            chosen = {name: arguments.pop(name) for name in switches}
            varied = {key: parts(value) for key, value in given.flags.items() if vary and "," in str(value)}
            fixed = {key: value for key, value in given.flags.items() if key not in varied}
            folder: Any = arguments.get(index, [])
            folders: list[Path] = [*folder] if isinstance(folder, list) else [folder]
            built = [settings for folder in folders for settings in api.settings_in(folder)]
            quiet = bool(chosen.get("quiet") or chosen.get("json"))
            settings = Given(fixed, given.config).with_index(built, quiet=quiet or not built).settings
            command(**arguments, flags=Flags(settings, varied=varied, **chosen))

        return takes(*names)(with_parameters(run, own))

    return decorate


# How a step runs


def carry_out(
    function: StepFunction[..., Any],
    *arguments: Any,
    flags: Flags,
    noun: str,
    folder: Path,
    display: Callable[[Any], None],
    **options: Any,
) -> None:
    """Show the estimate of a step and ask for consent; run the step, show its result, and end with its exit code.

    A dry run ends after the estimate. `folder` contains the results, `noun` is a word for one piece of work.
    """
    options["settings"] = flags.settings
    if flags.dry_run or flags.settings.model != "extractive":
        preview = function.preview(*arguments, **options)
        estimate = preview.estimate if preview.estimate and preview.estimate.tasks else None
        write = show.out if flags.dry_run else show.note
        if flags.dry_run and flags.json:
            show.as_json(preview)
        elif flags.dry_run or (estimate and not flags.quiet):
            done = preview.total - preview.remaining
            size = f"; {done:,} are done, {preview.remaining:,} are left" if done else ""
            write(f"{show.counted(preview.total, noun)}{size}.")
            if preview.estimate:
                show.table(show.costs(preview.estimate), write)
        if flags.dry_run:
            raise typer.Exit
        if estimate and not flags.quiet:
            confirmed(yes=flags.yes)
    try:
        with show.Bars(quiet=flags.quiet or flags.json) as bars:
            result = function(*arguments, progress=bars, **options)
    except KeyboardInterrupt:
        show.note(f"interrupted: the results so far are in {folder}; run it again to go on")
        raise typer.Exit(INTERRUPTED) from None
    ended(result, display, flags)


def ended(result: Result[Any], display: Callable[[Any], None], flags: Flags) -> None:
    """Show the result of a step, its failures and its usage; end with the exit code for that."""
    if flags.json:
        show.as_json(result.value.as_json())
    else:
        display(result.value)
    if not flags.quiet:
        failed = [f"{n:,} x {error}" for error, n in result.errors.items()]
        show.listed(f"Failed {sum(result.errors.values()):,}; the same command tries again:", failed)
        show.listed("Notes:", result.notices)
        show.spent(result.usage)
    raise typer.Exit(WITH_FAILURES if result.errors else DONE)


def table(shown: tables.Table, title: str = "") -> None:
    """Print a table of an evaluation under a title, with its caption."""
    if title:
        show.out(f"\n{show.bold(title)}\n")
    show.table(shown.plain(), texts=shown.texts)
    if shown.caption:
        show.out(f"\n{shown.caption}")


# Commands


@app.command("retrieval")
@step(*MODELS, "--embedder", "--rerank")
def retrieval(
    folder: Annotated[
        Path, argument("FOLDER", "Dataset in BEIR format: corpus.jsonl, queries.jsonl and qrels/test.tsv.")
    ],
    methods: Annotated[
        str, option("Retrieval methods to compare, separated by commas.", metavar="NAMES")
    ] = "bm25,walk",
    k: Annotated[
        list[int] | None, option("A further k of recall at k. Repeatable.", "-k", metavar="K", min=1)
    ] = None,
    index: Annotated[
        Path | None, option("Folder of the index (default: FOLDER/.conspectus).", "--index", metavar="DIR")
    ] = None,
    titles: Annotated[bool, option("Show the titles of passages to the methods.")] = True,
    *,
    flags: Flags,
) -> None:
    """Measure retrieval on a BEIR dataset: recall, MRR, nDCG.

    Indexes the passages if needed, ranks them for every question, and prints percentages with 95 % intervals. With
    --model, the model does what each method needs one for: triples of the passages, summaries, propositions, thoughts.

    Example: conspectus eval retrieval data/hotpotqa --methods bm25,walk,hipporag
    """

    results = evaluation.evaluate_retrieval(
        folder, parts(methods), k or (), index, settings=flags.settings, titles=titles, agree=_agree(flags)
    )
    if flags.json:
        show.as_json({name: one.as_row() | {"failures": one.failures} for name, one in results.items()})
    else:
        _compared([*results.values()], JUDGED)
    if flags.settings.language_models and not flags.quiet:
        _asked(results)
    _failed([*results.values()], shown=True)


def _agree(flags: Flags) -> Callable[[Estimate], None]:
    """Return a function that shows an estimate and asks for consent; in a dry run it ends the command."""
    if flags.dry_run and not flags.settings.language_models:
        raise UsageError("--dry-run needs a model: name one with --model")

    def agree(estimate: Estimate) -> None:
        if flags.dry_run or (estimate.tasks and not flags.quiet):
            show.table(show.costs(estimate), show.out if flags.dry_run else show.note)
        if flags.dry_run:
            raise typer.Exit
        agree_to(estimate, flags.settings, yes=flags.yes)

    return agree


def _asked(results: Mapping[str, Measured]) -> None:
    """Print the usage of language models by all methods, and which methods made no calls."""
    idle = [name for name, one in results.items() if not (one.usage.calls or one.usage.cached_calls)]
    if idle:
        show.note(f"{', '.join(idle)}: the model was not called; the figures are those without one.")
    show.spent(sum((one.usage for one in results.values()), Usage()))


def _compared(results: Sequence[Measured], measure: str) -> None:
    """Print the measures of methods, and one measure with intervals and differences from the first method."""
    first = results[0]
    table(tables.measures(results))
    show.out(f"\n{measure}, with 95 % intervals:")
    for measured in results:
        mean, low, high = (100 * bound for bound in measured.interval(measure))
        line = f"{measured.method}: {mean:.1f} ({low:.1f} to {high:.1f})"
        if measured.failures.keys() != first.failures.keys():
            line += f"; not compared with {first.method}: other questions failed"
        elif measured is not first:
            more, least, most = (100 * bound for bound in measured.over(first, measure))
            line += f", {more:+.1f} ({least:+.1f} to {most:+.1f}) over {first.method}"
        show.out(line)


@app.command("context")
@step(*MODELS, "--embedder", "--rerank", switches=["json"])
def context(
    file: Annotated[
        Path,
        argument(
            "FILE", "Questions with `documents` that answer them: JSON, JSON lines or .csv, or a BEIR folder."
        ),
    ],
    methods: Annotated[
        str, option("Answer methods to compare, separated by commas.", metavar="NAMES")
    ] = "auto,walk,bm25",
    index: Annotated[
        Path | None,
        option("Folder of the index (default: .conspectus, in a BEIR folder if it is one).", metavar="DIR"),
    ] = None,
    limit: Annotated[int | None, option("Take only the first N questions.", metavar="N", min=1)] = None,
    *,
    flags: Flags,
) -> None:
    """Measure evidence recall: is what answers in the context?

    That is how often an answer's context has every document that answers the question.

    Asks for no answer. Percentages with 95 % intervals, by kind of question: its `kind` or `type`, else the number of
    its documents.

    Example: conspectus eval context data/hotpotqa --methods auto,walk,local
    """
    results = evaluation.evaluate_context(file, parts(methods), index, settings=flags.settings, limit=limit)
    if flags.json:
        rows = {
            method: {
                kind: one.as_row() | {"evidence_95": one.interval("evidence")[1:]}
                for kind, one in kinds.items()
            }
            for method, kinds in results.items()
        }
        show.as_json(rows)
        return
    for kind in dict.fromkeys(kind for kinds in results.values() for kind in kinds):
        show.out(f"\n{show.bold(kind)}\n")
        _compared([kinds[kind] for kinds in results.values()], "evidence")


@app.command("qa")
@step(*MODELS, "--rerank", index="folder")
def qa(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "Questions with gold answers: JSON lines or .csv of `question` and `answer`, or a BEIR folder.",
        ),
    ],
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    methods: Annotated[
        str, option("Answer methods to compare, separated by commas.", metavar="NAMES")
    ] = "bm25,walk",
    answers: Annotated[
        Path | None,
        option(
            "Save answers to this file, and skip the questions that it already answers.",
            metavar="FILE",
            panel=OUTPUT,
        ),
    ] = None,
    limit: Annotated[int | None, option("Ask only the first N questions.", metavar="N", min=1)] = None,
    *,
    flags: Flags,
) -> None:
    """Measure short answers: exact match, F1, Hits@1, accuracy.

    Scores as in SQuAD; accuracy is for yes/no questions and claims; `all` counts lists of answers that are complete,
    as over a knowledge graph (--methods tog). Failed questions have no score; the same command tries them again.

    Example: conspectus eval qa data/hotpotqa --methods bm25,walk --limit 100
    """
    results = evaluation.evaluate_answers(
        file, folder, parts(methods), settings=flags.settings, where=where or (), answers=answers, limit=limit,
        agree=_agree(flags),
    )  # fmt: skip
    if flags.json:
        show.as_json({one.method: one.as_row() | {"failures": one.failures} for one in results})
    else:
        table(tables.measures(results))
        if not flags.quiet:
            show.spent(sum((one.usage for one in results), Usage()))
    _failed(results, shown=not flags.json)


def _failed(results: Sequence[Measured], *, shown: bool) -> None:
    """Print the questions that failed; if there are any, end with the exit code for failures."""
    rows = [f"{one.method}, question {id_}: {why}" for one in results for id_, why in one.failures.items()]
    if shown:
        show.listed(f"Failed {len(rows):,}; the same command tries again:", rows)
    if rows:
        raise typer.Exit(WITH_FAILURES)


@app.command("ablate")
@step(*MODELS, index="folder", vary=True)
def ablate(
    preset: Annotated[
        str,
        argument(
            "PRESET",
            "Preset: figure3 (chunk sizes, gleanings), window (context windows) or communities (Leiden, Louvain).",
        ),
    ] = "",
    folder: IndexFolder = FOLDER,
    questions: Questions = None,
    conditions: Conditions = "",
    sample: Sample = None,
    seeds: Annotated[int, option("Random seeds of `communities`.", metavar="N", min=1)] = 10,
    out: Annotated[Path, option("Folder of the ablation.", metavar="DIR", panel=OUTPUT)] = Path("ablation"),
    *,
    flags: Flags,
) -> None:
    """Vary settings and measure the effect.

    --set KEY=V1,V2 varies any setting, and may be repeated; a single value is set for all. A setting of indexing is
    varied by indexing again, any other by answering --questions again. Writes a table (JSON, CSV) and charts (extra
    eval) to DIR; run it again to continue. With questions, DIR can be given to eval judge, claims and report.

    Example: conspectus eval ablate --set chunk.tokens=600,1200 --index idx
    """

    def display(done: Ablation) -> None:
        show.out(f"{show.bold(done.title)}\n")
        table(tables.ablation(done.rows))
        if not flags.quiet:
            show.note(f"Written to {done.folder}: {', '.join(done.files)}")
            if not charts.can_draw():
                show.note("Charts need matplotlib: pip install 'conspectus[eval]'")

    carry_out(
        evaluation.ablate, folder, out, flags=flags, noun="variant", folder=out, display=display,
        preset=preset, varied=flags.varied, questions=questions or (),
        conditions=parts(conditions), sample=sample, seeds=seeds,
    )  # fmt: skip
