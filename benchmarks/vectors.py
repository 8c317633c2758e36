"""Measure recall and speed of nearest-neighbour search: exact, by inverted lists (`VectorLists`), or by usearch.

    python benchmarks/vectors.py INDEX [INDEX…] --questions queries.jsonl [--size 200k --size 1M] [--usearch]

The vectors are those of the sentences of some indexes, all made by one embedder. If more are requested, each additional
vector is a mixture of two sentences at most ten sentences apart, with noise, so that the vectors are as close together
as those of sentences. The questions are the `text` fields of evenly spaced lines of the files. Recall is the share of
the ten nearest vectors by exact search that are among the ten nearest that a method returns.

`first` is the time of the first question of a process, which reads the stored arrays and verifies their checksums;
`next` is the mean of the others. CPU seconds are user and system; the peak memory of a build excludes the vectors.
With `--usearch`, the same vectors are searched by usearch (`pip install usearch`), with 8 bits and one thread.
"""

from __future__ import annotations

import argparse
import json
import mmap
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scaling import number  # pyright: ignore[reportMissingImports]
from startup import calibration  # pyright: ignore[reportMissingImports]

from conspectus.algorithms import ranking
from conspectus.index import LazyMapping
from conspectus.index_models import question_vectors
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.storage.arrays import BLOCK, StoredArray, write_array

Array = np.ndarray[Any, Any]
NEAREST, ASKED = 10, 200
NOISE = 0.2
"""Length of the noise that is added to a mixture of two vectors of length 1."""
WHOLE, LISTS = "vectors.sentences", "near.sentences"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("indexes", type=Path, nargs="+")
    parser.add_argument("--questions", type=Path, action="append", default=[])
    parser.add_argument("--embedder", default="none", help="where the index alone does not open it")
    parser.add_argument("--size", action="append", default=[], help="such as 200k or 1M; all there are")
    parser.add_argument("--probed", type=int, action="append", default=[])
    parser.add_argument("--centres", type=int, default=ranking.CENTRES)
    parser.add_argument("--usearch", action="store_true")
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(asked(options.indexes[0], options.ask[0], int(options.ask[1]))))
        return
    settings = Settings.model_validate({"vectors": {"embedder": options.embedder}})
    indexes = [store.read(folder) for folder in options.indexes]
    vectors = np.concatenate([index.arrays[WHOLE] for index in indexes])
    texts = [json.loads(line)["text"] for file in options.questions for line in file.open("rb")]
    texts = [texts[place] for place in np.linspace(0, len(texts) - 1, min(ASKED, len(texts))).astype(int)]
    questions = question_vectors(texts, indexes[0], settings)
    print(f"{len(vectors):,} sentences, {len(questions)} questions; calibration loop {calibration():.2f} s")
    ranking.CENTRES = options.centres
    for size in options.size or [str(len(vectors))]:
        with tempfile.TemporaryDirectory() as folder:
            measure(grown(vectors, number(size)), questions, Path(folder), options)


def grown(vectors: Array, size: int) -> Array:
    """Return `size` vectors: evenly spaced ones of the given vectors, or all of them and mixtures."""
    if size <= len(vectors):
        return vectors[np.linspace(0, len(vectors) - 1, size).astype(int)]
    random = np.random.default_rng(42)
    more = np.zeros((size - len(vectors), vectors.shape[1]), vectors.dtype)
    for places in np.array_split(np.arange(len(more)), 1 + len(more) // 10_000):
        first = random.integers(len(vectors), size=len(places))
        second = np.clip(first + random.integers(-10, 11, len(places)), 0, len(vectors) - 1)
        part = random.random((len(places), 1), np.float32)
        noise = random.standard_normal((len(places), vectors.shape[1]), np.float32)
        mixed = part * vectors[first] + (1 - part) * vectors[second]
        mixed += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        more[places] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.concatenate((vectors, more))


def measure(vectors: Array, questions: Array, folder: Path, options: argparse.Namespace) -> None:
    """Print a line for exact search and one for each other method."""
    print(f"\n{len(vectors):,} vectors of {vectors.shape[1]} numbers")
    scores = ranking.products(vectors, questions.T).T
    exact = [ranking.highest(of_all, NEAREST) for of_all in scores]
    lists, built = spent(lambda: ranking.VectorLists.made(vectors))
    made = {WHOLE: vectors, **lists.arrays(LISTS), "sentences.document": np.zeros(len(vectors), np.int32)}
    sizes = {name: write(name, array, folder) for name, array in made.items()}
    np.save(folder / "questions", questions)
    show("all compared", "", sizes[WHOLE], exact, exact, run(folder, "exact", 0))
    more = sum(size for name, size in sizes.items() if name.startswith(LISTS))
    for probed in options.probed or [ranking.PROBED]:
        ranking.PROBED = probed
        found = [ranking.highest(lists.products(question), NEAREST) for question in questions]
        label = f"{probed} of {len(lists.centres):,} lists"
        show(label, built, more, exact, found, run(folder, "lists", probed))
    if options.usearch:
        measure_usearch(vectors, exact, folder)


def write(name: str, array: Array, folder: Path) -> int:
    """Write an array and its checksums, as a commit does, and return the size of its file in bytes."""
    with (folder / f"{name}.npy").open("wb+") as file:
        write_array(name, array, file)
        size = file.tell()
        file.seek(0)
        head = file.read(10)
        head += file.read(int.from_bytes(head[8:], "little"))
        blocks = [crc32(head), *map(crc32, iter(partial(file.read, BLOCK), b""))]
    (folder / f"{name}.json").write_text(json.dumps(blocks))
    return size


def measure_usearch(vectors: Array, exact: list[Array], folder: Path) -> None:
    """Print a line for usearch with each number of candidates."""
    from usearch.index import Index  # pyright: ignore[reportMissingImports]

    graph = Index(ndim=vectors.shape[1], metric="cos", dtype="i8", connectivity=16, expansion_add=128)
    _, built = spent(lambda: graph.add(np.arange(len(vectors)), vectors.astype(np.float32), threads=1))
    graph.save(str(folder / "graph"))
    questions = np.load(folder / "questions.npy")
    for expansion in (64, 256, 1024):
        graph.expansion_search = expansion
        found = [graph.search(question, NEAREST, threads=1).keys.astype(np.int64) for question in questions]
        taken = run(folder, "usearch", expansion)
        show(f"usearch, {expansion}", built, (folder / "graph").stat().st_size, exact, found, taken)


def spent(work: Callable[[], Any]) -> tuple[Any, str]:
    """Run `work`; return its result, and its time and memory as text."""
    before, began, peak = resource.getrusage(resource.RUSAGE_SELF), time.time(), resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory
    result = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, f"{cpu:.0f} CPU s, {time.time() - began:.0f} s, {resident('VmHWM') - peak:,.0f} MB"


def resident(which: str) -> float:
    """Return the memory of this process in MB: resident (`VmRSS`), its peak (`VmHWM`), or anonymous (`RssAnon`)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))


def run(folder: Path, kind: str, probed: int) -> dict[str, float]:
    """Search for all questions in a separate process, and return its measures."""
    command = [sys.executable, __file__, str(folder), "--ask", kind, str(probed)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def asked(folder: Path, kind: str, probed: int) -> dict[str, float]:
    """Return the time of the first question and of the others in this process, in ms, and anonymous memory in MB."""
    questions = np.load(folder / "questions.npy")[: 10 if kind == "exact" else ASKED]
    ranking.PROBED = probed
    anonymous, began = resident("RssAnon"), time.process_time()
    search = opened(folder, kind, probed)
    ranking.highest(search(questions[0]), NEAREST)
    first, clock, wall = time.process_time(), time.process_time(), time.time()
    for question in questions[1:]:
        ranking.highest(search(question), NEAREST)
    number = len(questions) - 1
    return {
        "first": 1000 * (first - began),
        "next": 1000 * (time.process_time() - clock) / number,
        "wall": 1000 * (time.time() - wall) / number,
        "mb": resident("RssAnon") - anonymous,
    }


def opened(folder: Path, kind: str, probed: int) -> Callable[[Array], Array]:
    """Return a function that scores all vectors for a question; arrays are opened like those of an index."""
    if kind == "usearch":
        from usearch.index import Index  # pyright: ignore[reportMissingImports]

        graph = Index.restore(str(folder / "graph"), view=True)
        graph.expansion_search = probed
        scores = np.zeros(len(graph), np.float32)

        def near(question: Array) -> Array:
            found = graph.search(question, NEAREST, threads=1)
            scores[:] = 0
            scores[found.keys.astype(np.int64)] = 1 - found.distances
            return scores

        return near
    arrays: LazyMapping[str, StoredArray] = LazyMapping(
        [path.stem for path in folder.glob("*.json")], lambda name: stored(name, folder, arrays)
    )
    if kind == "lists":
        return ranking.VectorLists.of(arrays, LISTS).products
    vectors = arrays[WHOLE][...]
    return lambda question: ranking.products(vectors, question)


def stored(name: str, folder: Path, arrays: Mapping[str, StoredArray]) -> StoredArray:
    """Open an array that `write` stored."""
    with (folder / f"{name}.npy").open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return StoredArray(
        name, content, json.loads((folder / f"{name}.json").read_text()), arrays, {"documents": 1}
    )


def show(
    label: str, built: str, size: int, exact: list[Array], found: list[Array], taken: dict[str, float]
) -> None:
    """Print the recall, time and memory of a search."""
    recall = np.mean([len(np.intersect1d(a, b)) / NEAREST for a, b in zip(exact, found, strict=True)])
    missed = np.mean([one[0] not in other for one, other in zip(exact, found, strict=True)])
    print(f"  {label:24} recall {100 * recall:5.1f} %, the nearest missed {100 * missed:4.1f} %", end="; ")
    print(
        f"first {taken['first']:6.0f} CPU ms, next {taken['next']:6.1f} (wall {taken['wall']:.1f})", end=", "
    )
    print(f"{taken['mb']:6.0f} MB; {size / 1e6:,.0f} MB of file; built {built or 'not at all'}", flush=True)


if __name__ == "__main__":
    main()
