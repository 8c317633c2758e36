"""How CPU time and memory of an index grow with the corpus: a quarter, a half, the whole, and four copies of it.

    python benchmarks/scaling.py FOLDER [--json]

The copies have their names changed, letter by letter, and a small word added to each sentence, so that they add
entities and sentences and do not only repeat them (what four documents share would be taken for furniture). Each size
is indexed by the command in a process of its own; CPU seconds are user and system of that process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    files = sorted(p for p in options.folder.rglob("*") if p.is_file())
    names = proper_words(files)
    runs = [measure(files, size, names) for size in (0.25, 0.5, 1.0, 4.0)]
    if options.json:
        print(json.dumps(runs, indent=2))
        return
    whole = next(run for run in runs if run["size"] == 1.0)
    print(
        f"{'size':>6} {'files':>7} {'CPU s':>7} {'per file':>9} {'peak MB':>8} {'entities':>9} {'reports':>8}"
    )
    for run in runs:
        relative = run["cpu_seconds"] / run["files"] / (whole["cpu_seconds"] / whole["files"])
        print(
            f"{run['size']:>6} {run['files']:>7} {run['cpu_seconds']:>7.1f} {relative:>8.2f}x {run['peak_mb']:>8} "
            f"{run['entities']:>9} {run['reports']:>8}"
        )


def measure(files: list[Path], size: float, names: frozenset[str]) -> dict[str, float]:
    """Index a part of the files, or copies of them, and return what it took."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        taken = files[: max(1, round(len(files) * min(size, 1)))]
        for copy in range(max(1, int(size))):
            for file in taken:
                text = file.read_text(encoding="utf-8")
                text = renamed(text, names, copy) if copy else text
                (corpus / f"{copy}-{file.name}").write_text(text, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "conspectus",
            "index",
            str(corpus),
            "--index",
            f"{folder}/index",
            "--json",
        ]
        done = subprocess.Popen(command, stdout=subprocess.PIPE)
        output = done.stdout.read() if done.stdout else b""
        _, status, used = os.wait4(done.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            raise SystemExit(f"{' '.join(command)} failed")
        return {
            "size": size,
            "files": len(list(corpus.iterdir())),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
            "peak_mb": used.ru_maxrss // 1024,
            **_counts(json.loads(output)),
        }


def _counts(said: dict[str, object]) -> dict[str, float]:
    counts = said.get("counts", said)
    assert isinstance(counts, dict)
    return {key: counts[key] for key in ("entities", "relationships", "reports") if key in counts}


_WORD = re.compile(r"[^\W\d_]{4,}")
_END = re.compile(r"(?=[.!?][\s\"”])")
_VOWELS = "aeiou"
_MARKS = ("", " indeed", " still", " then", " again")
"""Small words at the ends of sentences, by which those of one copy are told from those of another."""


def proper_words(files: list[Path]) -> frozenset[str]:
    """Return the words that the files write with a capital more than twice as often as without."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for file in files:
        for word in _WORD.findall(file.read_text(encoding="utf-8")):
            (capital if word[0].isupper() else small)[word.lower()] += 1
    return frozenset(word for word, count in capital.items() if count > 2 * small[word])


def renamed(text: str, names: frozenset[str], copy: int) -> str:
    """Return the text with the vowels of its names moved on by `copy` places, each sentence marked as the copy's."""
    shift = str.maketrans(_VOWELS + _VOWELS.upper(), _shifted(copy) + _shifted(copy).upper())
    text = _WORD.sub(lambda m: m.group().translate(shift) if m.group().lower() in names else m.group(), text)
    return _END.sub(_MARKS[copy], text)


def _shifted(copy: int) -> str:
    return _VOWELS[copy % 5 :] + _VOWELS[: copy % 5]


if __name__ == "__main__":
    main()
