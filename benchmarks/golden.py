"""Does a change leave all results as they were? Record and compare hashes of the tables, arrays and answers.

    python benchmarks/golden.py record               # accept the results of the current code as the reference
    python benchmarks/golden.py compare              # print each difference; exit code 1 if there are any
    python benchmarks/golden.py compare --only sample --only chinese

Five indexes are made: the bundled sample without a model, the same with the simulated server (chat and embeddings), the
podcast corpus, the Christmas Carol import, and a Chinese corpus. For each index, every column of every table and every
array is hashed by its values, not by the bytes of its file: a renamed column is reported as such ("renamed, same
content"), and a new version of a library changes nothing. Then 40 questions are answered by every method that the index
supports. Text, citations and remarks (reason, notices, counts) of an answer are hashed separately, so that a reworded
notice does not look like another answer. The hashes are stored in `tests/data/golden.json`; the values are stored in
`build/golden` (not in version control), so that a comparison on the same machine can show the lines that differ.
Corpora whose data is missing are skipped with a message.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHARED = ROOT / "../shared/data"
HASHES = ROOT / "tests" / "data" / "golden.json"
VALUES = ROOT / "build" / "golden"
DIGITS = 10
"""Hexadecimal digits of a hash: with a few thousand values, two of them collide in 2 of 10^6 recordings."""
LINES = 12
"""Maximum lines shown per difference; the rest is counted."""

SAMPLE_QUESTIONS = (
    "What are the main themes?",
    "What are the main disputes in Dunmarrow?",
    "Who is Dorothea Quill?",
    "Why did the harbour committee raise the dues?",
    "What happened to the bridge?",
    "How are the council and the harbour office related?",
    "Which people appear in the gazette most often, and what do they do?",
    "When was the lighthouse built?",
    "What do the letters say about the weather?",
    "Who opposed the new railway, and what were their reasons?",
)
CAROL_QUESTIONS = (
    "What are the top themes in this story?",
    "Who is Scrooge and what are his main relationships?",
    "What does Marley's ghost warn of?",
    "How does Bob Cratchit live?",
    "What happens to Tiny Tim?",
    "Which spirits visit Scrooge, and what do they show him?",
    "Who was Fezziwig?",
    "How does Scrooge change by the end?",
)
PODCAST_OWN = (
    "Who is Kevin Scott?",
    "What did guests say about large language models in education?",
    "Which company did Sam Altman lead before OpenAI?",
)
PODCAST_ROWS = (0, 17, 34, 51, 68, 85, 102)
"""Indexes of the questions that are taken from the corpus's own file."""
CHINESE_EVERY = 97
"""Every how many of the 1,002 questions of the Chinese corpus one is asked."""

Hashes = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Record what the code computes, or compare with what was recorded."
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("--only", action="append", choices=list(CORPORA), help="a corpus; repeat for several")
    parser.add_argument("--hashes", type=Path, default=HASHES, help="the file of hashes")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at once")
    given = parser.parse_args()
    wanted = [name for name in CORPORA if not given.only or name in given.only]
    missing = [name for name in wanted if not CORPORA[name][0].exists()]
    for name in missing:
        print(f"{name}: left out, {CORPORA[name][0]} is not there", file=sys.stderr)
    began = time.monotonic()
    values = VALUES / ("recorded" if given.action == "record" else "compared")
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        names = [name for name in wanted if name not in missing]
        found = dict(zip(names, pool.map(measured, names, [values] * len(names)), strict=True))
    print(f"{len(found)} corpora in {time.monotonic() - began:.0f} s", file=sys.stderr)
    recorded: Hashes = json.loads(given.hashes.read_text(encoding="utf-8")) if given.hashes.exists() else {}
    if given.action == "record":
        merged = {name: (recorded | found)[name] for name in CORPORA if name in recorded or name in found}
        given.hashes.write_text(written(merged), encoding="utf-8")
        return 0
    lines = [line for name in found for line in differences(name, recorded.get(name, {}), found[name])]
    print("\n".join(lines) or f"The same as recorded: {', '.join(found)}.")
    return 1 if lines else 0


def written(hashes: Hashes) -> str:
    """Return hashes as JSON with one line per table and per question, so that version control shows what changed."""
    lines: list[str] = []
    for name, parts in hashes.items():
        groups: list[str] = []
        for part, rows in parts.items():
            inner = ",\n".join(
                f"   {json.dumps(k, ensure_ascii=False)}: {json.dumps(v)}" for k, v in rows.items()
            )
            groups.append(f'  "{part}": {{\n{inner}\n  }}')
        lines.append(f' "{name}": {{\n' + ",\n".join(groups) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


# Corpora


def build_sample(folder: Path, _: str) -> None:
    import conspectus

    conspectus.build(CORPORA["sample"][0], folder)


def build_served(folder: Path, url: str) -> None:
    import conspectus

    conspectus.build(CORPORA["served"][0], folder, settings=served_settings(url))


def build_podcast(folder: Path, _: str) -> None:
    import conspectus

    conspectus.build(CORPORA["podcast"][0], folder)


def import_carol(folder: Path, _: str) -> None:
    import conspectus

    conspectus.import_graphrag(CORPORA["carol"][0], folder)


def build_chinese(folder: Path, _: str) -> None:
    import conspectus

    rows = map(json.loads, (CORPORA["chinese"][0] / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    texts = [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in rows]
    conspectus.build(documents=texts, folder=folder)


def podcast_questions() -> dict[str, str]:
    with (CORPORA["podcast"][0].parent / "questions.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [row["question_text"] for row in csv.DictReader(file)]
    return {**{f"question {n + 1}": rows[n] for n in PODCAST_ROWS}, **{q: q for q in PODCAST_OWN}}


def chinese_questions() -> dict[str, str]:
    lines = (CORPORA["chinese"][0] / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::CHINESE_EVERY]]
    return {row["_id"]: row["text"] for row in rows}


def of_sample() -> dict[str, str]:
    return {question: question for question in SAMPLE_QUESTIONS}


def of_carol() -> dict[str, str]:
    return {question: question for question in CAROL_QUESTIONS}


def served_settings(url: str) -> dict[str, Any]:
    address = {"llm.base_url": url}
    return {"model": "simulated", "vectors.embedder": "openai/simulated", **address}


Corpus = tuple[Path, Callable[[Path, str], None], Callable[[], dict[str, str]]]
CORPORA: dict[str, Corpus] = {  # the slowest first
    "podcast": (SHARED / "podcast" / "input", build_podcast, podcast_questions),
    "served": (ROOT / "src" / "conspectus" / "sample", build_served, of_sample),
    "chinese": (SHARED / "docqa" / "cmrc-zh", build_chinese, chinese_questions),
    "sample": (ROOT / "src" / "conspectus" / "sample", build_sample, of_sample),
    "carol": (SHARED / "graphrag-index" / "christmas-carol", import_carol, of_carol),
}


# Measuring


def measured(name: str, values: Path) -> Hashes:
    """Build the index of a corpus, ask all questions, write the answers to a file in `values`; return the hashes."""
    import conspectus

    _, build, questions = CORPORA[name]
    with tempfile.TemporaryDirectory() as work, server() if name == "served" else nullcontext("") as url:
        folder = Path(work) / "index"
        build(folder, url)
        tables, arrays = table_hashes(folder), array_hashes(folder)
        index = conspectus.open_index(folder)
        settings = served_settings(url) if name == "served" else {"model": "extractive"}
        hidden = {str(folder): "INDEX", url or "URL": "URL"}
        answers = asked(index, questions(), settings, hidden)
    values.mkdir(parents=True, exist_ok=True)
    (values / f"{name}.json").write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
    hashed = {q: {m: {k: of(v) for k, v in a.items()} for m, a in by.items()} for q, by in answers.items()}
    return {"tables": tables, "arrays": arrays, "answers": hashed}


def server() -> AbstractContextManager[str]:
    sys.path[:0] = [str(ROOT / "tests")]
    from simulated_server import Behaviour, in_a_process  # pyright: ignore[reportMissingImports]

    return in_a_process(Behaviour())


def files(folder: Path, suffix: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of the current snapshot with a suffix: each name without folder and hash, and the path."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for path in sorted(map(Path, manifest["files"])):
        if path.suffix == suffix:
            yield re.sub(r"-[0-9a-f]{12}$", "", path.stem), folder / path


def table_hashes(folder: Path) -> Hashes:
    from pyarrow import parquet

    tables: Hashes = {}
    for name, path in files(folder, ".parquet"):
        table = parquet.read_table(path)  # pyright: ignore[reportUnknownMemberType]
        columns = {column: of(table[column].to_pylist()) for column in sorted(table.column_names)}
        tables[name] = {"rows": table.num_rows, **columns}
    return tables


def array_hashes(folder: Path) -> Hashes:
    import numpy as np

    arrays: Hashes = {}
    for name, path in files(folder, ".npy"):
        array = np.load(path)
        facts = f"{array.dtype.kind}{array.dtype.itemsize} {array.shape}"
        arrays[name] = sha256(facts.encode() + np.ascontiguousarray(array).tobytes()).hexdigest()[:DIGITS]
    return arrays


def of(value: Any) -> str:
    """Return the hash of a JSON value, with the paths in it made relative to the checkout."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    for folder in (ROOT.resolve(), ROOT.resolve().parent):
        text = text.replace(f"{folder}/", "")
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def asked(
    index: Any, questions: Mapping[str, str], settings: Mapping[str, Any], hidden: Mapping[str, str]
) -> Any:
    """Return the answer of every method to every question, in parts: text, citations, remarks."""
    from conspectus.retrieval import METHODS

    lacking = {"model"} if "vectors.chunks" in index.arrays else {"model", "vectors"}
    methods = ["auto", *(name for name in METHODS if not METHODS[name].needs & lacking)]
    return {
        name: {method: answered(question, index, method, settings, hidden) for method in methods}
        for name, question in questions.items()
    }


def answered(
    question: str, index: Any, method: str, settings: Mapping[str, Any], hidden: Mapping[str, str]
) -> Any:
    import conspectus

    try:
        answer = conspectus.ask(question, index, method=method, settings=dict(settings))
    except conspectus.ConspectusError as error:
        return {"error": without(f"{type(error).__name__}: {error}", hidden)}
    citations = [
        [c.marker, c.kind, c.id, *(f"{s.document}:{s.start}-{s.end}" for s in c.sources)]
        for c in answer.citations
    ]
    remarks = [
        answer.method, answer.level, answer.why, answer.notices, answer.short, answer.context_tokens,
        answer.removed_references, [[t.start, *t.names] for t in answer.reasoning_paths],
        answer.usage.prompt_tokens, answer.usage.completion_tokens,
    ]  # fmt: skip
    return {
        "text": answer.text,
        "citations": citations,
        "remarks": json.loads(without(json.dumps(remarks), hidden)),
    }


def without(text: str, hidden: Mapping[str, str]) -> str:
    """Return a text with the parts that differ between runs (folders, addresses) replaced by fixed names."""
    for part, name in hidden.items():
        text = text.replace(part, name)
    return text


# Comparing


def differences(name: str, before: Hashes, after: Hashes) -> Iterator[str]:
    """Yield the differences in a corpus, one line each, and the changed lines of answers if both values are stored."""
    if not before:
        yield f"{name}: nothing was recorded of it"
        return
    for table in sorted({*before["tables"], *after["tables"]}):
        yield from of_columns(f"{name}: {table}", before["tables"].get(table), after["tables"].get(table))
    yield from of_columns(f"{name}: arrays", before["arrays"], after["arrays"])
    texts = [read_values(VALUES / kind / f"{name}.json") for kind in ("recorded", "compared")]
    for question in sorted({*before["answers"], *after["answers"]}):
        old, new = (side["answers"].get(question, {}) for side in (before, after))
        for method in sorted({*old, *new}):
            if old.get(method) != new.get(method):
                parts = sorted({*old.get(method, {}), *new.get(method, {})})
                differing = [p for p in parts if old.get(method, {}).get(p) != new.get(method, {}).get(p)]
                yield f"{name}: {method}: {question!r}: {', '.join(differing)} differ"
                sides = [side.get(question, {}).get(method, {}) for side in texts]
                # values of another recording would show wrong differences
                if {p: of(v) for p, v in sides[0].items()} == old.get(method):
                    yield from lines_of(sides, differing)


def of_columns(
    where: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yield the differences between hashes by name; the same content under another name is reported as renamed."""
    if before is None or after is None:
        yield f"{where} is {'new' if before is None else 'gone'}"
        return
    gone = {value: name for name, value in before.items() if name not in after}
    new = {name: value for name, value in after.items() if name not in before}
    renamed = {gone[value]: name for name, value in new.items() if value in gone}
    for name in before:
        if name in renamed:
            yield f"{where}.{name} is renamed {renamed[name]}, same content"
        elif name not in after:
            yield f"{where}.{name} is gone"
        elif before[name] != after[name]:
            yield f"{where}.{name} differs" + (f": {before[name]} -> {after[name]}" if name == "rows" else "")
    yield from (f"{where}.{name} is new" for name in new if name not in renamed.values())


def read_values(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def lines_of(sides: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of an answer that differ."""
    old, new = ([line for part in parts for line in as_lines(side.get(part, ""))] for side in sides)
    shown = [
        line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:3] not in ("---", "+++")
    ]
    shown = [line for line in shown if not line.startswith("@@")]
    yield from (f"    {line[:240]}" for line in shown[:LINES])
    if len(shown) > LINES:
        yield f"    and {len(shown) - LINES} lines more"


def as_lines(value: Any) -> list[str]:
    return (
        value.splitlines()
        if isinstance(value, str)
        else [json.dumps(row, ensure_ascii=False) for row in value]
    )


if __name__ == "__main__":
    raise SystemExit(main())
