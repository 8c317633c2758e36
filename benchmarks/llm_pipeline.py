"""Measure CPU, wall time, tokens and memory of the whole pipeline with a language model, against a simulated server.

    python benchmarks/llm_pipeline.py [--corpus FOLDER] [--files N] [--latency 0 500 uneven] [--json]
    python benchmarks/llm_pipeline.py --base-url http://localhost:8000/v1 --model my-model

The corpus and settings are those that other tools were measured with: the first 230 podcast files in sorted order
(600 KB), chunks of 600 tokens with 100 shared, one gleaning, concurrency 25, no claims, a report on every community of
3 or more entities. Each run is a separate process, so that CPU seconds (user and system) and peak memory are those of a
whole `conspectus index`; the server is another process. `--files 0` takes all files of the corpus, for sizes that other
tools were not measured on (`benchmarks/scaling.py` makes such corpora).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "../shared/data/podcast/input"
FILES = 230
CONCURRENCY = 25
LATENCIES = {"0": (0.0,), "500": (0.5,), "uneven": (0.25, 0.5, 1.1)}
COLUMNS = (
    "latency cpu_seconds wall_seconds ideal_seconds calls failures prompt_tokens completion_tokens entities"
    " relationships peak_mb"
).split()


def one_run(given: dict[str, Any]) -> dict[str, Any]:
    """Index in this process and return the measures; `given["began"]` is the time at which the process was started."""
    import conspectus

    files = [Path(given["corpus"]) / name for name in sorted(os.listdir(given["corpus"]))]
    if given["files"]:
        files = files[: given["files"]]
    settings = {
        "model": given["model"],
        "llm.base_url": given["base_url"],
        "llm.concurrency": CONCURRENCY,
        "reports.min_report_entities": 3,
    }
    with tempfile.TemporaryDirectory() as folder:
        built = conspectus.build(files, folder, settings=settings)
        seconds = calls_seconds(Path(folder)) if given["latency"] is None else 0.0
    used = built.index.usage.values()
    taken = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "latency": given["latency"],
        "cpu_seconds": round(taken.ru_utime + taken.ru_stime, 2),
        "wall_seconds": round(time.time() - given["began"], 2),
        "ideal_seconds": round(seconds / CONCURRENCY, 2),
        "calls": sum(u.calls for u in used),
        "failures": len(built.failures),
        "prompt_tokens": sum(u.prompt_tokens for u in used),
        "completion_tokens": sum(u.completion_tokens for u in used),
        "entities": len(built.index.entities),
        "relationships": len(built.index.relationships),
        "peak_mb": round(taken.ru_maxrss / 1024),
        "by_task": {
            task: [u.calls, u.prompt_tokens, u.completion_tokens] for task, u in built.index.usage.items()
        },
    }


def calls_seconds(folder: Path) -> float:
    """Return the sum of the measured latencies of all calls, in seconds, from the response cache."""
    import sqlite3

    with sqlite3.connect(folder / "replies.sqlite") as connection:
        return float(connection.execute("SELECT sum(seconds) FROM replies").fetchone()[0])


@contextmanager
def server(latencies: tuple[float, ...]) -> Iterator[str]:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    from simulated_server import Behaviour, in_a_process  # pyright: ignore[reportMissingImports]

    with in_a_process(Behaviour(latencies=latencies)) as url:
        yield url


def counts_of(url: str) -> dict[str, Any]:
    from urllib.request import urlopen

    with urlopen(url.removesuffix("/v1") + "/counts") as response:  # noqa: S310  # our own server
        return json.load(response)


def measured(given: dict[str, Any]) -> dict[str, Any]:
    """Run `one_run` in a separate process and return its measures."""
    command = [sys.executable, __file__, "--run", json.dumps({**given, "began": time.time()})]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--files", type=int, default=FILES, help="the first N files; 0: all")
    parser.add_argument("--latency", nargs="+", choices=LATENCIES, default=list(LATENCIES))
    parser.add_argument("--base-url", help="another server; its latency is what it is")
    parser.add_argument("--model", default="simulated")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(one_run(json.loads(options.run))))
        return
    if not options.corpus.is_dir():
        sys.exit(f"there is no corpus at {options.corpus}: name one with --corpus")
    runs: list[dict[str, Any]] = []
    given = {"corpus": str(options.corpus), "files": options.files, "model": options.model}
    for latency in [None] if options.base_url else options.latency:
        if latency is None:
            runs.append(measured({**given, "base_url": options.base_url, "latency": None}))
            continue
        with server(LATENCIES[latency]) as url:
            run = measured({**given, "base_url": url, "latency": latency})
            run["ideal_seconds"] = round(counts_of(url)["latency seconds"] / CONCURRENCY, 2)
            runs.append(run)
        if not options.json:
            print_row(run, first=len(runs) == 1)
    if options.json:
        print(json.dumps(runs, indent=1))
    elif options.base_url:
        for n, run in enumerate(runs):
            print_row(run, first=n == 0)


def print_row(run: dict[str, Any], *, first: bool) -> None:
    if first:
        print("  ".join(f"{name:>10}" for name in COLUMNS))
    cells = (f"{run[name]!s:>{max(10, len(name))}}" for name in COLUMNS)
    print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
