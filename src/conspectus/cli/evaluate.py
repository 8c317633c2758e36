"""`conspectus eval`: how well methods retrieve and answer, and the effect of settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import evaluation
from conspectus.cli import eval_compare, show
from conspectus.cli.eval_options import MODELS, Conditions, Flags, Questions, Sample, carry_out, step, table
from conspectus.cli.options import (
    FOLDER,
    FOLDERS,
    OUTPUT,
    WITH_FAILURES,
    IndexFolder,
    IndexFolders,
    Where,
    argument,
    option,
    parts,
)
from conspectus.errors import UsageError
from conspectus.lazy import lazy_module
from conspectus.rows import Usage

if TYPE_CHECKING:
    from conspectus.evaluation import charts, tables
    from conspectus.evaluation.ablation import Ablation
    from conspectus.evaluation.statistics import Measured
else:
    charts, tables = (lazy_module(f"conspectus.evaluation.{name}") for name in ("charts", "tables"))

app = typer.Typer(help="Evaluate retrieval and answers.", no_args_is_help=True)

SHOWN = ("R@1", "R@2", "R@5", "R@10", "all@5", "all@8", "MRR", "nDCG@10")
JUDGED = "R@5"
"""The measure that intervals and differences are shown of."""


@app.command("retrieval")
@step(*MODELS, "--embedder", "--rerank", switches=["json"])
def retrieval(
    folder: Annotated[
        Path, argument("FOLDER", "Dataset in BEIR format: corpus.jsonl, queries.jsonl and qrels/test.tsv.")
    ],
    methods: Annotated[
        str, option("Retrieval methods to compare, separated by commas.", metavar="NAMES")
    ] = "bm25,walk",
    k: Annotated[str, option("Further values of k for recall at k, e.g. 3,20.", "-k", metavar="NUMBERS")] = "",
    index: Annotated[
        Path | None, option("Folder of the index (default: FOLDER/.conspectus).", "--index", metavar="DIR")
    ] = None,
    titles: Annotated[bool, option("Show the titles of passages to the methods.")] = True,
    *,
    flags: Flags,
) -> None:
    """Measure retrieval on a BEIR dataset: recall, MRR, nDCG.

    Indexes the passages if needed, ranks them for every question, and prints percentages with 95 % intervals.

    Example: conspectus eval retrieval data/hotpotqa --methods bm25,walk,hippo
    """
    try:
        ks = [int(part) for part in parts(k)]
    except ValueError:
        raise UsageError(f"-k takes numbers with commas between, as 2,5, and not {k!r}") from None
    results = evaluation.evaluate_retrieval(
        folder, parts(methods), ks, index, settings=flags.settings, titles=titles
    )
    if flags.json:
        show.as_json({name: measured.as_row() for name, measured in results.items()})
    else:
        _show_ranked(list(results.values()))


def _show_ranked(results: list[Measured]) -> None:
    first = results[0]
    shown = [*SHOWN, *(name for name in first.values if name.startswith("R@") and name not in SHOWN)]
    rows = [["", *shown, "ms", "ms p95"]]
    for row, name in ((measured.as_row(), measured.method) for measured in results):
        rows.append(
            [name, *(f"{100 * row[m]:.1f}" for m in shown), *(f"{row[m]:.1f}" for m in ("ms", "ms_p95"))]
        )
    show.table(rows)
    show.out(f"\n{show.counted(first.queries, 'question')}; {JUDGED}, with 95 % intervals:")
    for measured in results:
        mean, low, high = (100 * bound for bound in measured.interval(JUDGED))
        line = f"{measured.method}: {mean:.1f} ({low:.1f} to {high:.1f})"
        if measured is not first:
            more, least, most = (100 * bound for bound in measured.over(first, JUDGED))
            line += f", {more:+.1f} ({least:+.1f} to {most:+.1f}) over {first.method}"
        show.out(line)


AnswerMethods = Annotated[
    str, option("Answer methods to compare, separated by commas.", "--methods", metavar="NAMES")
]
SavedAnswers = Annotated[
    Path | None,
    option(
        "Save answers to this file, and skip the questions that it already answers.", "--answers",
        metavar="FILE", panel=OUTPUT,
    ),
]  # fmt: skip
AtMost = Annotated[int | None, option("Ask only the first N questions.", "--limit", metavar="N", min=1)]


@app.command("qa")
@step(*MODELS, "--rerank", switches=["json"], index="folder")
def qa(
    file: Annotated[
        Path,
        argument(
            "FILE",
            "Questions with gold answers: a BEIR folder, or a file with `question` and `answer`, as of HotpotQA.",
        ),
    ],
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    methods: AnswerMethods = "bm25,walk",
    answers: SavedAnswers = None,
    limit: AtMost = None,
    *,
    flags: Flags,
) -> None:
    """Measure short answers: exact match, F1, accuracy.

    Scores as in SQuAD; accuracy is for yes/no questions. Failed questions are counted without a score, and asked again
    by the same command.

    Example: conspectus eval qa data/hotpotqa --methods bm25,walk --limit 100
    """
    _answer(file, folder, methods, flags, where=where or (), answers=answers, limit=limit)


@app.command("kgqa")
@step(*MODELS, switches=["json"], index="folder")
def kgqa(
    file: Annotated[Path, argument("FILE", "Questions over a knowledge graph, with gold answers.")],
    folder: IndexFolder = FOLDER,
    methods: AnswerMethods = "tog",
    answers: SavedAnswers = None,
    limit: AtMost = None,
    *,
    flags: Flags,
) -> None:
    """Measure answers over a knowledge graph: Hits@1, EM.

    Example: conspectus eval kgqa questions.jsonl --methods tog
    """
    _answer(file, folder, methods, flags, kind="kgqa", answers=answers, limit=limit)


def _answer(file: Path, folder: Path | list[Path], methods: str, flags: Flags, **options: Any) -> None:
    """Answer and print the measures; end with the exit code of that."""
    results = evaluation.evaluate_answers(file, folder, parts(methods), settings=flags.settings, **options)
    if flags.json:
        show.as_json({one.method: one.as_row() | {"failures": one.failures} for one in results})
    else:
        measures = list(dict.fromkeys(name for one in results for name in one.values))
        rows = [["", *measures, "questions", "failed", "ms"]]
        for one in results:
            means = [f"{100 * one.means[name]:.1f}" if name in one.values else "" for name in measures]
            row = one.as_row()
            rows.append([one.method, *means, f"{row['queries']}", f"{row['failed']}", f"{row['ms']:.1f}"])
        show.table(rows)
        failures = [
            f"{one.method}, question {id_}: {why}" for one in results for id_, why in one.failures.items()
        ]
        show.listed(f"Failed {len(failures):,}; the same command asks them again:", failures)
        show.spent(sum((one.usage for one in results), Usage()))
    if any(one.failures for one in results):
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
    sources: Annotated[
        list[Path] | None,
        option("Files and folders to index (default: those of the index).", "--source", metavar="PATH"),
    ] = None,
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
        preset=preset, varied=flags.varied, sources=sources or (), questions=questions or (),
        conditions=parts(conditions), sample=sample, seeds=seeds,
    )  # fmt: skip


for command in (
    *(eval_compare.questions, eval_compare.answers, eval_compare.table2, eval_compare.judge_),
    *(eval_compare.stats, eval_compare.claims, eval_compare.grounding, eval_compare.report),
):
    app.command(command.__name__.strip("_"))(command)
app.add_typer(eval_compare.people_app, name="people")
