"""`conspectus eval`: how well methods retrieve, and answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import evaluation
from conspectus.cli import eval_check, eval_compare, show
from conspectus.cli.eval_options import Flags, step
from conspectus.cli.options import (
    FOLDER,
    FOLDERS,
    OUTPUT,
    WITH_FAILURES,
    IndexFolder,
    IndexFolders,
    Where,
    parts,
)
from conspectus.errors import UsageError
from conspectus.rows import Usage

if TYPE_CHECKING:
    from conspectus.evaluation.retrieval import Measured

app = typer.Typer(help="Evaluate retrieval and answers.", no_args_is_help=True)

SHOWN = ("R@1", "R@2", "R@5", "R@10", "all@5", "all@8", "MRR", "nDCG@10")
JUDGED = "R@5"
"""The measure that intervals and differences are shown of."""


@app.callback()
def evaluate() -> None:
    """Evaluate retrieval and answers."""


@app.command("retrieval")
@step("--embedder", "--rerank", switches=["json"])
def retrieval(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Dataset in BEIR format: corpus.jsonl, queries.jsonl and qrels/test.tsv."
        ),
    ],
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Retrieval methods to compare, separated by commas.")
    ] = "bm25,walk",
    k: Annotated[
        str, typer.Option("-k", metavar="NUMBERS", help="Further values of k for recall at k, e.g. 3,20.")
    ] = "",
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="Folder of the index (default: FOLDER/.conspectus)."),
    ] = None,
    titles: Annotated[bool, typer.Option(help="Show the titles of passages to the methods.")] = True,
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
        rows.append([name, *(f"{100 * row[m]:.1f}" for m in shown), *(f"{row[m]:.1f}" for m in ("ms", "ms_p95"))])
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
    str, typer.Option("--methods", metavar="NAMES", help="Answer methods to compare, separated by commas.")
]
SavedAnswers = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help="Save answers to this file, and skip the questions that it already answers.",
    ),
]
AtMost = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Ask only the first N questions.")
]


@app.command("qa")
@step("--rerank", switches=["json"], index="folder")
def qa(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Questions with gold answers: a BEIR folder, or a file with `question` and `answer`, as of HotpotQA.",
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
@step(switches=["json"], index="folder")
def kgqa(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Questions over a knowledge graph, with gold answers.")
    ],
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
        show.as_json({s.method: s.as_row() | ({"failures": s.failures} if s.failures else {}) for s in results})
    else:
        measures = list(dict.fromkeys(name for scored in results for name in scored.means))
        rows = [["", *measures, "questions", "failed", "ms"]]
        for scored in results:
            means = [f"{100 * scored.means[name]:.1f}" if name in scored.means else "" for name in measures]
            rows.append(
                [scored.method, *means, f"{scored.questions}", f"{scored.failed}", f"{scored.milliseconds:.1f}"]
            )
        show.table(rows)
        failures = [f"{s.method}, question {id_}: {why}" for s in results for id_, why in s.failures.items()]
        show.listed(f"Failed {len(failures):,}; the same command asks them again:", failures)
        show.spent(sum((scored.usage for scored in results), Usage()))
    if any(scored.failed for scored in results):
        raise typer.Exit(WITH_FAILURES)


for command in (
    *(eval_compare.questions, eval_compare.answers, eval_compare.table2, eval_compare.judge, eval_compare.stats),
    *(eval_check.claims, eval_check.grounding, eval_check.loss, eval_check.ablate, eval_compare.report),
):
    app.command(command.__name__)(command)
app.add_typer(eval_compare.people, name="people")
