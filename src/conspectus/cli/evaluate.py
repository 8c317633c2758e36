"""`conspectus eval`: how well methods retrieve, and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import eval_ablate, eval_check, eval_compare, show
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.help import MODEL, OUTPUT
from conspectus.cli.options import (
    FOLDER,
    FOLDERS,
    AsJson,
    ConfigFile,
    IndexFolder,
    IndexFolders,
    LogFile,
    ModelName,
    Rerank,
    SetKeys,
    Where,
    overrides,
    settings_of,
    settings_with_index,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.evaluation.retrieval import Measured
    from conspectus.settings import Settings

app = typer.Typer(help="Evaluate retrieval and answers.", no_args_is_help=True)

SHOWN = ("R@1", "R@2", "R@5", "R@10", "all@5", "all@8", "MRR", "nDCG@10")
JUDGED = "R@5"
"""The measure that intervals and differences are shown of."""


@app.callback()
def evaluate() -> None:
    """Evaluate retrieval and answers."""


@app.command("retrieval")
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
        Path | None, typer.Option("--index", metavar="DIR", help="Folder of the index (default: FOLDER/.conspectus).")
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=MODEL, help="Embedding model: none, local or local:FOLDER."),
    ] = None,
    titles: Annotated[bool, typer.Option(help="Show the titles of passages to the methods.")] = True,
    rerank: Rerank = None,
    model: ModelName = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Measure retrieval on a BEIR dataset: recall, MRR, nDCG.

    Indexes the passages if needed, ranks them for every question, and prints percentages with 95 % intervals.

    Example: conspectus eval retrieval data/hotpotqa --methods bm25,walk,hippo
    """
    from conspectus import evaluation

    names = [name.strip() for name in methods.split(",") if name.strip()]
    flags = {"vectors.embedder": embedder, "rerank.by": rerank, "model": model}
    settings = settings_of(overrides(set_, flags), config)
    results = evaluation.evaluate_retrieval(folder, names, _numbers(k), index, settings=settings, titles=titles)
    if json:
        show.as_json({name: measured.as_row() for name, measured in results.items()})
    else:
        _show(list(results.values()))


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"-k takes numbers with commas between, as 2,5, and not {text!r}") from None


def _show(results: list[Measured]) -> None:
    first = results[0]
    asked = [name for name in first.values if name.startswith("R@") and name not in SHOWN]
    shown = [*SHOWN, *asked]
    rows = [["", *shown, "ms", "ms p95"]]
    for measured in results:
        row = measured.as_row()
        rows.append(
            [
                measured.method,
                *(f"{100 * row[name]:.1f}" for name in shown),
                f"{row['ms']:.1f}",
                f"{row['ms_p95']:.1f}",
            ]
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
    str, typer.Option("--methods", metavar="NAMES", help="Answer methods to compare, separated by commas.")
]
KeptAnswers = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help="Save answers to this file, and skip the questions that it already answers.",
    ),
]
AtMost = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Ask only the first N questions.")]


@app.command("qa")
def qa(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Questions with gold answers: a BEIR folder, or a file in the format of HotpotQA, MuSiQue, "
            "2Wiki or SQuAD.",
        ),
    ],
    folder: IndexFolders = FOLDERS,
    where: Where = None,
    methods: AnswerMethods = "bm25,walk",
    answers: KeptAnswers = None,
    limit: AtMost = None,
    model: ModelName = None,
    rerank: Rerank = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Measure short answers: exact match, F1, accuracy.

    Scores as in SQuAD; accuracy is for yes/no questions. Failed questions are counted without a score, and asked again
    by the same command.

    Example: conspectus eval qa data/hotpotqa --methods bm25,walk --limit 100
    """
    _answers(
        file,
        folder,
        methods,
        answers,
        limit,
        json,
        _settings(folder, overrides(set_, {"model": model, "rerank.by": rerank}), config),
        "qa",
        where or (),
    )


@app.command("kgqa")
def kgqa(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Questions over a knowledge graph, with gold answers.")],
    folder: IndexFolder = FOLDER,
    methods: AnswerMethods = "tog",
    answers: KeptAnswers = None,
    limit: AtMost = None,
    model: ModelName = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Measure answers over a knowledge graph: Hits@1, EM.

    Example: conspectus eval kgqa questions.jsonl --methods tog
    """
    _answers(
        file,
        folder,
        methods,
        answers,
        limit,
        json,
        _settings([folder], overrides(set_, {"model": model}), config),
        "kgqa",
    )


def _settings(folders: Sequence[Path], given: Mapping[str, Any], config: Path | None) -> Settings:
    """Return the settings for questions to indexes, which remember their models as for `conspectus ask`."""
    from conspectus import open_index

    return settings_with_index(given, config, [open_index(folder).settings for folder in folders]).settings


def _answers(
    file: Path,
    folder: Path | list[Path],
    methods: str,
    kept: Path | None,
    limit: int | None,
    json: bool,
    settings: Settings,
    kind: str,
    where: Sequence[str] = (),
) -> None:
    from conspectus import evaluation

    names = [name.strip() for name in methods.split(",") if name.strip()]
    results = evaluation.evaluate_answers(
        file, folder, names, kind=kind, where=where, answers=kept, limit=limit, settings=settings
    )
    if json:
        show.as_json({s.method: s.as_row() | ({"failures": s.failures} if s.failures else {}) for s in results})
    else:
        measures = list(dict.fromkeys(name for scored in results for name in scored.means))
        rows = [["", *measures, "questions", "failed", "ms"]]
        for scored in results:
            shown = [f"{100 * scored.means[m]:.1f}" if m in scored.means else "" for m in measures]
            rows.append(
                [
                    scored.method,
                    *shown,
                    str(scored.questions),
                    str(scored.failed),
                    f"{scored.milliseconds:.1f}",
                ]
            )
        show.table(rows)
        failures = [f"{s.method}, question {id_}: {why}" for s in results for id_, why in s.failures.items()]
        show.listed(f"Failed {len(failures):,}; the same command asks them again:", failures)
    if any(scored.failed for scored in results):
        raise typer.Exit(WITH_FAILURES)


app.command("questions")(eval_compare.questions)
app.command("answers")(eval_compare.answers)
app.command("table2")(eval_compare.table2)
app.command("judge")(eval_compare.judge)
app.command("stats")(eval_compare.stats)
app.command("claims")(eval_check.claims)
app.command("grounding")(eval_check.grounding)
app.command("loss")(eval_check.loss)
app.command("ablate")(eval_ablate.ablate)
app.add_typer(eval_compare.people, name="people")
app.command("report")(eval_compare.report)
