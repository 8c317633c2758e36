"""Measure the cost of an update: language model calls, CPU, unchanged communities and reports (podcast corpus).

    python benchmarks/updates.py [--corpus FOLDER] [--model none simulated] [--change edited added ...] [--json]

The corpus is indexed once without a language model and once with the simulated server. For each kind of change, the
index is copied and updated from a changed corpus by a separate `conspectus index`, whose CPU seconds (user and system)
are those of the whole process. In 1 % of the files, spread evenly over the corpus, the changes are

    edited     one sentence in the middle is replaced by another
    shortened  the second half is removed
    deleted    the file is removed

and otherwise one file is `added` or `renamed`, or nothing changes (`same`). Calls are also shown as shares of those of
the first build. A community is the same as before if it has the same members on the same level; a report is the same
if its text is, too. The modularity of each level is divided by the mean modularity of five new partitions with
different seeds; their range, also divided by the mean, follows in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from conspectus import api
from conspectus.algorithms.leiden import adjacency, hierarchical_leiden, memberships, modularity
from conspectus.index import Index
from conspectus.references import strip
from conspectus.rows import Report

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "../shared/data/podcast/input"
SHARE = 0.01
SEEDS = (42, 43, 44, 45, 46)
EXTRACTION = ("ExtractGraph", "AnyMissed", "GleanMore")
NEW = (
    "The Lumen Institute opened in Oslo in 2019. Kevin Scott of Microsoft spoke at the opening. "
    "Ingrid Halvorsen leads the Lumen Institute, and she met Reid Hoffman there.\n"
)
_SENTENCE = re.compile(r"(?<=[.?!] )")


def one_percent(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    count = max(1, round(SHARE * len(files)))
    return files[:: len(files) // count][:count]


def edited(folder: Path) -> None:
    for n, path in enumerate(one_percent(folder)):
        parts = _SENTENCE.split(path.read_bytes().decode())
        parts[len(parts) // 2] = (
            f"Note {n}: Kevin Scott wrote to the Lumen Institute of Oslo about it in 2019. "
        )
        path.write_bytes("".join(parts).encode())


def shortened(folder: Path) -> None:
    for path in one_percent(folder):
        text = path.read_bytes().decode()
        path.write_bytes(text[: len(text) // 2].encode())


def deleted(folder: Path) -> None:
    for path in one_percent(folder):
        path.unlink()


def added(folder: Path) -> None:
    (folder / "a note.txt").write_text(NEW)


def renamed(folder: Path) -> None:
    path = one_percent(folder)[-1]
    path.rename(path.with_name(f"moved {path.name}"))


def same(folder: Path) -> None: ...


CHANGES: dict[str, Callable[[Path], None]] = {
    change.__name__: change for change in (edited, shortened, deleted, added, renamed, same)
}


def index(folder: Path, url: str) -> float:
    """Run `conspectus index corpus` into a folder, and return the CPU seconds of the process."""
    command = [sys.executable, "-m", "conspectus", "index", "corpus", "--index", folder.name, "--quiet"]
    model = ["--model", "simulated", "--base-url", url] if url else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    subprocess.run(
        [*command, *model], cwd=folder.parent, env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def server(model: str) -> Iterator[str]:
    """Run a simulated server in a separate process and yield its address; yield "" for the model "none"."""
    if model == "none":
        yield ""
        return
    sys.path[:0] = [str(ROOT / "tests")]
    from simulated_server import Behaviour, in_a_process  # pyright: ignore[reportMissingImports]

    with in_a_process(Behaviour()) as url:
        yield url


def calls(url: str) -> dict[str, int]:
    """Return how many calls of extraction, descriptions and reports a server received."""
    counts: dict[str, int] = {}
    if url:
        with urlopen(url.removesuffix("/v1") + "/counts") as response:  # noqa: S310  # our own server
            counts = json.load(response)
    extraction = sum(counts.get(task, 0) for task in EXTRACTION)
    return {
        "extraction": extraction,
        "descriptions": counts.get("DescribeElement", 0) + counts.get("DescribeElements", 0),
        "reports": counts.get("WriteReport", 0),
    }


def run(work: Path, model: str, changes: list[str], corpus: Path) -> Iterator[dict[str, Any]]:
    first = work / f"{model} first"
    restored(work, corpus)
    with server(model) as url:
        cpu = index(first, url)
        paid = calls(url)
    before = api.open_index(first)
    yield {
        "model": model,
        "change": "first build",
        "cpu_seconds": round(cpu, 2),
        "calls": paid,
        **figures(before),
    }
    for change in changes:
        folder = work / f"{model} {change}"
        shutil.copytree(first, folder)
        restored(work, corpus)
        CHANGES[change](work / "corpus")
        with server(model) as url:
            cpu = index(folder, url)
            asked = calls(url)
        after = api.open_index(folder)
        yield {
            "model": model,
            "change": change,
            "cpu_seconds": round(cpu, 2),
            "calls": asked,
            "shares": {task: round(asked[task] / paid[task], 4) if paid[task] else 0.0 for task in asked},
            **figures(after),
            **compared(before, after),
        }
        shutil.rmtree(folder)


def restored(work: Path, corpus: Path) -> None:
    shutil.rmtree(work / "corpus", ignore_errors=True)
    shutil.copytree(corpus, work / "corpus")


def figures(found: Index) -> dict[str, Any]:
    return {"communities": len(found.communities), "reports": len(found.reports)}


def compared(before: Index, after: Index) -> dict[str, Any]:
    known = {community.id for community in before.communities}
    written = {report.id: said(report) for report in before.reports}
    return {
        "communities_kept": round(np.mean([c.id in known for c in after.communities]), 4),
        "reports_kept": round(np.mean([written.get(r.id) == said(r) for r in after.reports]), 4),
        "modularity": (levels := modularities(after))[0],
        "new_ones": levels[1],
    }


def said(report: Report) -> tuple[str, ...]:
    """Return the texts of a report without references, because their numbers differ between snapshots."""
    return (
        report.title,
        strip(report.summary),
        *(f"{f.summary}\n{strip(f.explanation)}" for f in report.findings),
    )


def modularities(index: Index) -> tuple[list[float], list[tuple[float, float]]]:
    """Return each level's modularity, and the least and the greatest of new partitions, divided by their mean."""
    place = {entity.name: entity.number for entity in index.entities}
    edges = [(place[r.source], place[r.target], r.weight) for r in index.relationships]
    source, target, weight = (np.array(column) for column in zip(*edges, strict=True))
    n = len(place)
    graph = adjacency(source, target, weight, n)
    fresh = [memberships(hierarchical_leiden(graph, seed=seed), n) for seed in SEEDS]
    ratios: list[float] = []
    ranges: list[tuple[float, float]] = []
    for level in index.levels:
        row = np.zeros(n, np.int64)
        for community in index.communities_at(level):
            row[list(community.entity_numbers)] = community.number
        new = [modularity(source, target, weight, f[min(level, len(f) - 1)]) for f in fresh]
        mean = float(np.mean(new))
        ratios.append(round(modularity(source, target, weight, row) / mean, 4))
        ranges.append((round(min(new) / mean, 4), round(max(new) / mean, 4)))
    return ratios, ranges


def line(run: dict[str, Any]) -> str:
    shares = run.get("shares", {})
    cells = [f"{run['model']:9}", f"{run['change']:11}", f"{run['cpu_seconds']:6.2f}"]
    for task, count in run["calls"].items():
        cells.append(f"{count:>7,}" + (f" {100 * shares[task]:5.1f} %" if shares else "        "))
    cells.append(f"{run['reports']:>7,}")
    if "communities_kept" in run:
        cells += [f"{100 * run['communities_kept']:6.1f} %", f"{100 * run['reports_kept']:6.1f} %"]
        levels = zip(run["modularity"], run["new_ones"], strict=True)
        cells.append("  ".join(f"{ratio:.3f} ({low:.2f}-{high:.2f})" for ratio, (low, high) in levels))
    return "  ".join(cells)


HEAD = (
    "model      change       CPU s  extraction calls  descriptions      report calls    reports  "
    "same comm.  same rep.  modularity by level, of new ones"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--model", nargs="+", choices=("none", "simulated"), default=["none", "simulated"])
    parser.add_argument("--change", nargs="+", choices=CHANGES, default=list(CHANGES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.corpus.is_dir():
        sys.exit(f"there is no corpus at {options.corpus}: name one with --corpus")
    runs: list[dict[str, Any]] = []
    if not options.json:
        print(HEAD)
    with tempfile.TemporaryDirectory() as work:
        for model in options.model:
            for one in run(Path(work), model, options.change, options.corpus.resolve()):
                runs.append(one)
                if not options.json:
                    print(line(one), flush=True)
    if options.json:
        print(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
