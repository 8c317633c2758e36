"""Shared code of the scripts in this folder. Each script is one table or figure of a paper and has this form:

    '''GraphRAG, Table 2: what an answer from each level reads.'''
    from common import PAPER, OURS, Run, Table, main

    def table_2(run: Run) -> Iterator[Table]:
        index = run.index(run.documents(PODCAST), "podcast", run.settings("graphrag-paper"))
        yield Table("GraphRAG, Table 2", ("C0", "C1"), [("units", PAPER, ["34", "367"]), ("units", OURS, [...])],
                    differs=["what is not as in the paper"])

    if __name__ == "__main__":
        main(table_2, __doc__)

`Run` represents the command line: `settings` returns a preset of `conspectus init --preset` with the given model,
`index` builds an index, and `step` runs a function of `conspectus.evaluation` that has a `preview`. Both first show an
estimate of the model calls, ask for confirmation if it is large, stay within the common `--budget`, and resume what an
earlier run began in the same `--work` folder. `--dry-run` stops at the first step that would call a model. Scripts use
only the public functions for what they compare with the paper, so that they measure what users get.

Figures of the papers are quoted only if they are known for certain; others are left out (`-`). Our means have a 95 %
interval over the questions, in brackets (`cell`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import conspectus
from conspectus import Index, configuration
from conspectus.cli import options, show
from conspectus.configuration import Resolved
from conspectus.errors import ConspectusError, UsageError
from conspectus.rows import Usage

ROOT = Path(__file__).parents[1]
DATA = ROOT / "../shared/data"
LOCAL_EMBEDDER = ROOT / "../shared/models/all-MiniLM-L6-v2"
SAMPLE = ROOT / "src/conspectus/sample"
"""Our sample documents, for `--sample-corpus`: they show what a script does without the paper's data."""
PAPER, OURS = "paper", "ours"


@dataclass(frozen=True)
class Table:
    """A table of a paper. Each row is a label, the source of the figures (`PAPER` or `OURS`), and a cell per column."""

    name: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]
    differs: Sequence[str] = ()
    """The differences from the paper's experiment, one sentence each."""

    def markdown(self) -> Iterator[str]:
        """Yield the lines of the table, followed by the differences from the paper."""
        yield f"## {self.name}\n"
        yield f"| | | {' | '.join(self.columns)} |"
        yield f"|---|---|{'---:|' * len(self.columns)}"
        for label, whose, cells in self.rows:
            yield f"| {label} | {whose} | {' | '.join(cells)} |"
        if self.differs:
            yield "\nWhat differs:\n"
            yield from (f"- {line}" for line in self.differs)
        yield ""


def cell(interval: Any, digits: int = 2) -> str:
    """Return a mean with its 95 % interval as text, `32.21 (30.10 to 34.02)`; `-` for None."""
    if interval is None:
        return "-"
    mean, low, high = interval
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def figures(values: Iterable[float | None], digits: int = 2) -> list[str]:
    """Return figures as cells, `-` for None."""
    return ["-" if value is None else f"{value:,.{digits}f}" for value in values]


@dataclass(frozen=True)
class Corpus:
    """A data set of a paper: its path below `--data`, where to get it (`source`), and its checksum, if known."""

    name: str
    path: str
    source: str
    checksum: str = ""
    """See the function `checksum`; empty if we have not had the published files."""
    settings: Mapping[str, Any] | None = None
    """How its files are read, and settings in which the paper's two corpora differ."""
    questions: str = ""
    """Path of a file of questions below `--data`."""


def checksum(path: Path) -> str:
    """Return 16 hexadecimal digits of the hash of a file, or of the names and contents of all files of a folder."""
    digest = sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


class Run:
    """The command line of a script, and the steps that a script runs with it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.work: Path = arguments.work
        self.spent = Usage()
        self.differs: list[str] = []
        """Differences from the paper that apply to every table of this run."""
        if self.asks:
            self.differs.append(f"The model is {arguments.model}.")

    @property
    def asks(self) -> bool:
        """Whether the command line names a language model."""
        return self.arguments.model != "extractive"

    @property
    def sample(self) -> int | None:
        """The number of questions to ask, or None for all."""
        return self.arguments.sample

    # Data

    def documents(self, corpus: Corpus) -> Path:
        """Return the path of a corpus; raise UsageError, with the place to get it from, if it is missing."""
        if self.arguments.sample_corpus:
            self.note("The documents are our sample corpus, and not the paper's: nothing compares.")
            return SAMPLE
        path = self.arguments.data / corpus.path
        if not path.exists():
            raise UsageError(
                f"{corpus.name} is not in {self.arguments.data}: get it from {corpus.source}, put it at {path}"
                " (or name another folder with --data), or try the script with --sample-corpus"
            )
        if corpus.checksum and (seen := checksum(path)) != corpus.checksum:
            self.note(f"{path} has the checksum {seen}, and the published files {corpus.checksum}.")
        if not corpus.checksum:
            self.note(f"The published files of {corpus.name} were not there to take a checksum of.")
        return path

    def note(self, line: str) -> None:
        """Add a line to the differences from the paper, unless it is already there."""
        if line not in self.differs:
            self.differs.append(line)

    # Settings

    def settings(self, preset: str, more: Mapping[str, Any] | None = None) -> Resolved:
        """Return the settings of a preset with the models of the command line, ignoring `conspectus.toml`."""
        embedder = self.arguments.embedder
        given = {
            **configuration.preset(preset).values,
            "model": self.arguments.model,
            "llm.base_url": self.arguments.base_url,
            "llm.embedder_base_url": "" if embedder.startswith("local") else self.arguments.base_url,
            "vectors.embedder": embedder,
            **(more or {}),
        }
        return self.within_budget(configuration.overridden(given))

    def within_budget(self, settings: Resolved) -> Resolved:
        """Return settings whose budget is the part of `--budget` that earlier steps have not spent."""
        if self.arguments.budget is None:
            return settings
        left = max(0.0, self.arguments.budget - (self.spent.cost or 0.0))
        return configuration.completed(settings, {"llm.budget": left}, "given")

    # Work

    def index(self, documents: Path, name: str, settings: Resolved) -> Index:
        """Return the index of documents in the work folder; build it, or the missing parts of it, if necessary."""

        def agree(estimate: Any) -> None:
            if estimate.tasks:
                self.agree(f"index {name}", estimate, settings)

        built = conspectus.build(documents, self.work / name, settings=settings, agree=agree)
        if not built.update.up_to_date:
            self.spent += sum(built.index.usage.values(), Usage())
        return built.index

    def step(self, function: Any, *arguments: Any, settings: Resolved, **more: Any) -> Any:
        """Run a function of `conspectus.evaluation` that has a `preview`, and return the value of its result."""
        more["settings"] = self.within_budget(settings)
        if self.asks:
            preview = function.preview(*arguments, **more)
            if preview.estimate and preview.estimate.tasks:
                self.agree(function.__name__, preview.estimate, more["settings"])
        result = function(*arguments, **more)
        self.spent += result.usage
        for error, count in result.errors.items():
            self.note(f"{count} calls of {function.__name__} failed: {error}")
        return result.value

    def study(self, name: str) -> Path:
        """Return the folder of a comparison; if `--study` names one, a fresh copy of it in the work folder."""
        given: Path | None = self.arguments.study
        if not given:
            return self.work / name
        if not (given / "answers.jsonl").exists():
            raise UsageError(
                f"{given} is no comparison: it has no answers.jsonl; conspectus eval answers makes one"
            )
        folder = self.work / f"{name}-{given.resolve().name}"
        shutil.copytree(given, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
        folder.chmod(0o755)
        return folder

    def agree(self, name: str, estimate: Any, settings: Resolved) -> None:
        """Show the estimated calls and cost of a step, and ask whether to go on; with `--dry-run`, exit."""
        show.note(f"{name}: {show.estimate_text(estimate)}")
        show.table(show.costs(estimate), show.note)
        if self.arguments.dry_run:
            raise SystemExit(0)
        options.agree_to(estimate, settings.settings, yes=self.arguments.yes)


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every script has."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument(
        "--model", default="extractive", help="language model; without one, only what needs none"
    )
    made.add_argument("--judge", default="", help="language model that judges (default: the same)")
    made.add_argument("--base-url", default="", help="address of an OpenAI-compatible server")
    local = f"local:{LOCAL_EMBEDDER}" if LOCAL_EMBEDDER.is_dir() else "none"
    made.add_argument(
        "--embedder", default="none", help=f"embedding model, as local or {local}; SS needs one"
    )
    made.add_argument("--sample", type=int, metavar="N", help="ask only N of the questions")
    made.add_argument("--budget", type=float, metavar="USD", help="most that all steps together may cost")
    made.add_argument("--yes", action="store_true", help="go on without asking")
    made.add_argument(
        "--dry-run", action="store_true", help="show what would be asked first, and ask nothing"
    )
    made.add_argument("--data", type=Path, default=DATA, help="folder of the papers' data sets")
    made.add_argument(
        "--sample-corpus", action="store_true", help="use our sample corpus in place of the paper's"
    )
    made.add_argument("--study", type=Path, help="take the answers and judgements of this comparison")
    made.add_argument("--work", type=Path, default=Path("reproduction"), help="folder of indexes and answers")
    made.add_argument("--json", type=Path, metavar="FILE", help="also write the tables there")
    return made


def main(
    script: Callable[[Run], Iterable[Table]],
    doc: str | None,
    extend: Callable[[argparse.ArgumentParser], object] = lambda _: None,
) -> None:
    """Run a script: parse the command line (`extend` adds options to the parser), print its tables and the usage."""
    made = parser(doc)
    extend(made)
    run = Run(made.parse_args())
    try:
        # the differences that a script notes apply to all tables
        tables = [replace(table, differs=[*table.differs, *run.differs]) for table in script(run)]
    except ConspectusError as error:
        sys.exit(f"error: {show.with_options(str(error))}")
    for table in tables:
        print("\n".join(table.markdown()))
    if run.spent.calls:
        show.spent(run.spent)
    if run.arguments.json:
        run.arguments.json.write_text(json.dumps([asdict(table) for table in tables], indent=1), "utf-8")
