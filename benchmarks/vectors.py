"""How well and how fast are the nearest of many vectors found: all compared, or likely ones (`VectorLists`)?

    python benchmarks/vectors.py INDEX [INDEX…] --questions queries.jsonl [--size 200k --size 1M] [--usearch]

The vectors are those of the sentences of some indexes, all by one embedder. Where more are asked for, each further one
lies between that of a sentence and that of another one at most ten sentences away, with noise, so that they are as
crowded as sentences are. The questions are the `text` of lines of the files, at equal distances. Recall
is the share of the ten nearest by exact search that are among the ten nearest found.

`first` is the first question of a process, which reads the stored arrays and compares them with their checksums, `next`
the mean of the others. CPU seconds are user and system; the peak of a build is beyond the vectors themselves. With
`--usearch` the same vectors go through usearch (`pip install usearch`), as 8 bits, with one thread.
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
"""The length of what is random in a vector between two others, which are of length 1."""
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
    """Return so many vectors: some of those there are, or all and others between them."""
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
    """Print a line for exact search and one for each other."""
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
    """Write an array and its checksums, as a commit does, and return the bytes of its file."""
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
    """Print lines for usearch, by how many candidates it looks at."""
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
    """Return what some work returns, and what it took."""
    before, began, peak = resource.getrusage(resource.RUSAGE_SELF), time.time(), resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    result = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, f"{cpu:.0f} CPU s, {time.time() - began:.0f} s, {resident('VmHWM') - peak:,.0f} MB"


def resident(which: str) -> float:
    """Return the memory of this process in MB: `VmRSS`, or its peak, `VmHWM`, or the part in no file, `RssAnon`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))


def run(folder: Path, kind: str, probed: int) -> dict[str, float]:
    """Ask all questions in a process of its own."""
    command = [sys.executable, __file__, str(folder), "--ask", kind, str(probed)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def asked(folder: Path, kind: str, probed: int) -> dict[str, float]:
    """Return what the first question and the others take in this process, in ms, and the memory beside files in MB."""
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
    """Return what scores all vectors for a question; its arrays are read as those of an index are."""
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
    """Open an array that was written."""
    with (folder / f"{name}.npy").open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return StoredArray(
        name, content, json.loads((folder / f"{name}.json").read_text()), arrays, {"documents": 1}
    )


def show(
    label: str, built: str, size: int, exact: list[Array], found: list[Array], taken: dict[str, float]
) -> None:
    """Print what a search found, and what it took."""
    recall = np.mean([len(np.intersect1d(a, b)) / NEAREST for a, b in zip(exact, found, strict=True)])
    missed = np.mean([one[0] not in other for one, other in zip(exact, found, strict=True)])
    print(f"  {label:24} recall {100 * recall:5.1f} %, the nearest missed {100 * missed:4.1f} %", end="; ")
    print(
        f"first {taken['first']:6.0f} CPU ms, next {taken['next']:6.1f} (wall {taken['wall']:.1f})", end=", "
    )
    print(f"{taken['mb']:6.0f} MB; {size / 1e6:,.0f} MB of file; built {built or 'not at all'}", flush=True)


if __name__ == "__main__":
    main()
