"""Measure how CPU time, wall time and memory of a build grow with the corpus, for several numbers of workers.

    python benchmarks/scaling.py FOLDER [--tokens 1M --tokens 11M] [--workers 1 --workers 2] [--json]

A corpus of the requested size consists of the files of FOLDER, of a part of them, or of several copies. Copies have the
letters of their names exchanged and a small word or two added to each sentence, so that they add entities and sentences
instead of repeating them (sentences that four documents share would count as boilerplate). Each build is a separate
process. CPU seconds are user and system time of all processes. Memory is an upper bound of their sum: the peak of the
first process, plus the peak of the largest worker for each worker. `tables` is a hash of all tables and arrays, the
same for any number of workers. CPU seconds and memory of a stage are those of the first process alone. A part of the
calibration loop of `startup.py` runs every few seconds beside the build, since a machine's speed may change within
minutes, and falls when all cores are busy. Seconds of different machines can be compared by its mean, `loop`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean
from typing import Any

from startup import calibration  # pyright: ignore[reportMissingImports]

EVERY, PART = 10.0, 20
"""Seconds between two samples of the machine's speed during a build, and the part of the calibration loop that each
sample runs: 0.05 to 0.1 s, less than 1 % of one core."""
CHARACTERS = 4.15
"""Characters per token, as chunks count tokens, in the podcast corpus."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", action="append", default=[], help="such as 250k, 1M or 11M")
    parser.add_argument("--workers", type=int, action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", nargs=2, metavar=("INDEX", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        print(json.dumps(build(options.folder, Path(options.build[0]), int(options.build[1]))))
        return
    files = sorted(path for path in options.folder.rglob("*") if path.is_file())
    rows: list[dict[str, Any]] = []
    for size in options.tokens or ["250k", "500k", "1M", "4M"]:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus"
            corpus.mkdir()
            write_corpus(files, number(size), corpus)
            for workers in options.workers or [1, 2]:
                rows.append({"size": size, **measure(corpus, workers)})
                if not options.json:
                    show(rows[-1])
    if options.json:
        print(json.dumps(rows, indent=2))


def number(text: str) -> int:
    """Return the number that a text such as 250k, 1M or 500 means."""
    factors = {"k": 1_000, "m": 1_000_000}
    factor = factors.get(text[-1].lower(), 1)
    return round(float(text.rstrip("kKmM")) * factor)


def show(row: dict[str, Any]) -> None:
    """Print the measures of one build."""
    counts = f"{row['files']:,} files, {row['entities']:,} entities, {row['reports']:,} reports"
    print(f"{row['size']}: {counts}, tables {row['tables']}")
    print(
        f"  workers {row['workers']}: wall {row['wall']:.1f} s, CPU {row['cpu']:.1f} s (first process"
        f" {row['cpu_first']:.1f} s), calibration loop {row['loop']:.2f} s, peak {row['peak_mb']:,} MB (first process"
        f" {row['peak_mb_first']:,} MB)"
    )
    stages = (f"{name} {seconds:.1f} s ({peak:,} MB)" for name, seconds, peak in row["stages"])
    print(f"  {', '.join(stages)}", flush=True)


# A build


def measure(corpus: Path, workers: int) -> dict[str, Any]:
    """Build an index of a corpus in a separate process, and return the measures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(corpus), "--build", f"{folder}/index", str(workers)]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        loops: list[float] = []
        output = None
        while output is None:
            loops.append(calibration(PART))
            try:
                output, _ = process.communicate(timeout=EVERY)
            except subprocess.TimeoutExpired:
                continue
        wall = time.perf_counter() - began
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return {
            "workers": workers,
            "files": len(os.listdir(corpus)),
            "wall": round(wall, 2),
            "loop": round(fmean(loops), 2),
            **json.loads(output),
        }


class Stages:
    """A progress display that records the CPU seconds and peak memory at the start of each stage."""

    shown = False

    def __init__(self) -> None:
        self.began: list[tuple[str, float, int]] = []

    def stage(self, name: str, total: int) -> Callable[[], None]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        self.began.append((name, time.process_time(), peak))
        return lambda: None

    def note(self, text: str) -> None: ...

    def watch(self, usage: object) -> None: ...

    def rows(self) -> list[tuple[str, float, int]]:
        """Return the name of each stage, its CPU seconds, and the peak memory until it began, in MB."""
        self.stage("end", 0)
        return [
            (name, round(end - begin, 2), peak) for (name, begin, _), (_, end, peak) in pairwise(self.began)
        ]


def build(corpus: Path, folder: Path, workers: int) -> dict[str, Any]:
    """Build an index in this process, and return the time and memory of this process and of its workers."""
    import conspectus

    stages = Stages()
    built = conspectus.build(
        corpus, folder, settings={"model": "extractive"}, progress=stages, workers=workers
    )
    rows = stages.rows()
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = [used.ru_utime + used.ru_stime for used in (own, others)]
    peak = [used.ru_maxrss // 1024 for used in (own, others)]
    return {
        "cpu": round(sum(cpu), 2),
        "cpu_first": round(cpu[0], 2),
        "peak_mb": peak[0] + (workers - 1) * peak[1],
        "peak_mb_first": peak[0],
        "stages": rows,
        "entities": len(built.index.entities),
        "reports": len(built.index.reports),
        "tables": content_hash(folder),
    }


def content_hash(folder: Path) -> str:
    """Return a hash of the tables and arrays of an index: of their file names, which contain a hash of the content."""
    files: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    return hashlib.sha256("".join(sorted(files)).encode()).hexdigest()[:12]


# A corpus

_WORD = re.compile(r"[^\W\d_]{4,}")
_END = re.compile(r"(?=[.!?][\s\"”])")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprst"
_MARKS = ("", " indeed", " still", " then", " again", " too", " now", " often", " here", " there")
"""Small words that are added to the ends of sentences, to distinguish the sentences of the copies."""


def write_corpus(files: list[Path], tokens: int, target: Path) -> None:
    """Write the files, followed by copies with other names in them, until there are enough tokens."""
    names = proper_words(files)
    room, copy = tokens * CHARACTERS, 0
    while room > 0:
        for file in files:
            if room <= 0:
                return
            text = file.read_text(encoding="utf-8")
            room -= len(text)
            text = renamed(text, names, copy) if copy else text
            (target / f"{copy}-{file.name}").write_text(text, encoding="utf-8")
        copy += 1


def proper_words(files: list[Path]) -> frozenset[str]:
    """Return the words that are capitalised more than twice as often as not."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for file in files:
        for word in _WORD.findall(file.read_text(encoding="utf-8")):
            (capital if word[0].isupper() else small)[word.lower()] += 1
    return frozenset(word for word, count in capital.items() if count > 2 * small[word])


def renamed(text: str, names: frozenset[str], copy: int) -> str:
    """Return a text with the letters of its names shifted and its sentences marked, by the number of the copy."""
    vowels, consonants = copy % 5, copy // 5
    before = _VOWELS + _CONSONANTS
    after = _moved(_VOWELS, vowels) + _moved(_CONSONANTS, consonants)
    shift = str.maketrans(before + before.upper(), after + after.upper())
    text = _WORD.sub(lambda m: m.group().translate(shift) if m.group().lower() in names else m.group(), text)
    first, second = list(product(_MARKS, _MARKS))[copy % len(_MARKS) ** 2]
    return _END.sub(second + first, text)


def _moved(letters: str, places: int) -> str:
    at = places % len(letters)
    return letters[at:] + letters[:at]


if __name__ == "__main__":
    main()
