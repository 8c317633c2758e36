"""Damaged files of an index: a question has the same answer as before, or an error names the problem.

A forged index whose manifest matches its files is a valid index with other contents: it may give another answer, but
any error must be one of ours.
The mutations are drawn from a seed in a separate process, which reports the result of each, so that crashes and growing
memory are noticed. `python tests/test_damaged_indexes.py FOLDER SEED COUNT` runs more of them.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from llm_corpus import documents, settings
from making import SEED
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.errors import ConspectusError
from conspectus.indexing import embed
from conspectus.models.llm.cache import CachedReply, ResponseCache

QUESTION = "Who bought land from Bo Quill, and who wrote to Ada Byrne about it?"
METHODS = (
    "global", "local", "rollup", "drilldown", "drift", "bm25", "hybrid", "mixed", "walk", "hipporag2", "combined",
    "ircot", "tog", "raptor",
)  # fmt: skip
COUNTS = [15, pytest.param(1000, marks=pytest.mark.long)]
"""Numbers of mutations: each takes 40 ms of CPU, and as much again to copy the index."""
SECONDS, BYTES = 10, 500 << 20
"""Limits for a damaged index: seconds per question, and memory in addition to that of an undamaged index."""
VALUES: list[Any] = [None, -1, 0, 2**40, 1.5, "", "x", "../../etc/passwd", [], {}, [1], {"a": 1}, True]


# Mutations


def damage_file(folder: Path, draw: random.Random) -> str:
    """Change the bytes or the size of a file without updating the manifest."""
    path = draw.choice(sorted(p for p in folder.rglob("*") if p.is_file() and "tables" not in p.parts))
    content = bytearray(path.read_bytes())
    kind = draw.choice(("flip", "flip", "zero", "header", "cut", "grow", "empty", "remove", "swap"))
    place = draw.randrange(len(content)) if content else 0
    if kind == "flip" and content:
        content[place] ^= 1 << draw.randrange(8)
    elif kind == "zero":
        content[place : place + 64] = bytes(len(content[place : place + 64]))
    elif kind == "header":
        content[:200] = content[:200].replace(b"<i4", b"|O ").replace(b"<f4", b"|O ")
    elif kind == "cut":
        del content[place:]
    elif kind == "grow":
        content += draw.randbytes(draw.choice((1, 100, 100_000)))
    elif kind == "empty":
        content.clear()
    elif kind == "swap":
        content = bytearray(draw.choice(sorted(path.parent.glob("*.*"))).read_bytes())
    path.unlink()  # hard links and open mappings keep the old content
    if kind != "remove":
        path.write_bytes(content)
    return f"{kind} {path.name} at {place}"


def change_manifest(folder: Path, draw: random.Random) -> str:
    """Change, remove, rename or add a field of the manifest, at any depth."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    if draw.random() < 0.8:
        del content["checksum"]
    table, trail = content, []
    while True:
        key = draw.choice(sorted(table))
        trail.append(key)
        if not (isinstance(table[key], dict) and table[key]) or draw.random() < 0.2:
            break
        table = table[key]
    kind = draw.choice(("value", "value", "remove", "rename", "add"))
    if kind == "value":
        table[key] = draw.choice(VALUES)
    else:
        value = table.pop(key)
        table |= {"remove": {}, "rename": {draw.choice(("../../x", "/etc/passwd", "x")): value}, "add": {
            key: value, "x": draw.choice(VALUES)}}[kind]  # fmt: skip
    path.write_text(json.dumps(content))
    return f"{kind} of {'.'.join(trail)} to {table.get(key, 'nothing')!r}"


def forge_array(folder: Path, draw: random.Random) -> str:
    """Replace an array by a forged one, and update the manifest."""
    path = draw.choice(sorted((folder / "arrays").iterdir()))
    array = np.load(path)
    kind = draw.choice(("value", "negative", "nan", "dtype", "shape", "short", "header", "object", "cyclic"))
    if kind in ("value", "negative") and array.size:
        array.flat[draw.randrange(array.size)] = np.array(2**30 if kind == "value" else -5).astype(
            array.dtype
        )
    elif kind == "nan" and array.dtype.kind == "f" and array.size:
        array.flat[draw.randrange(array.size)] = np.nan
    elif kind == "dtype":
        array = array.astype(draw.choice(("<i8", "<f4", "<u2", "<U3", "|b1", "<c8", ">i4")))
    elif kind == "shape":
        array = array.reshape(draw.choice(((1, -1), (-1, 1), (1, 1, -1))))
    elif kind == "short":
        array = array[: array.shape[0] // 2]
    elif kind == "cyclic":
        array = np.roll(array, 1)
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=False)
    content = sink.getvalue()
    if kind == "object":
        content = content.replace(array.dtype.str.encode(), b"|O8"[: len(array.dtype.str)], 1)
    elif kind == "header":
        place = content.index(b"(") + 1
        content = content[:place] + str(draw.choice((9, 10**9, -1))).encode() + content[place + 1 :]
    seal(folder, path, content)
    return f"forged {kind} of {path.name}"


def forge_table(folder: Path, draw: random.Random) -> str:
    """Replace a table by a forged one, and update the manifest."""
    path = draw.choice(sorted((folder / "objects").iterdir()))
    table = pq.read_table(path)
    kind = draw.choice(("rows", "column", "value", "type", "twice", "order"))
    name = draw.choice(table.column_names)
    at = table.column_names.index(name)
    if kind == "rows":
        table = table.slice(0, draw.randrange(table.num_rows + 1))
    elif kind == "twice":
        table = pa.concat_tables([table, table])
    elif kind == "order":
        table = table.take(pa.array(range(table.num_rows)[::-1], pa.int64()))
    elif kind == "column":
        table = table.drop_columns([name])
    elif kind == "type":
        table = table.set_column(at, name, pa.array([draw.choice((1, "x", 0.5, None))] * table.num_rows))
    else:
        values = table.column(name).to_pylist()
        if values:
            values[draw.randrange(len(values))] = forged(draw.choice(values), draw)
        with suppress(pa.ArrowException, TypeError):
            table = table.set_column(
                at, table.schema.field(name), pa.array(values, table.schema.field(name).type)
            )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    seal(folder, path, sink.getvalue())
    return f"forged {kind} of {path.name}.{name}"


def forged(value: Any, draw: random.Random) -> Any:
    """Return another value of the same type, such as an invalid reference."""
    if isinstance(value, int):
        return draw.choice((-1, -(10**6), 10**6, 2**31 - 1))
    if isinstance(value, list) and value:
        return [forged(draw.choice(value), draw) for _ in value]
    if isinstance(value, dict):
        return {key: forged(part, draw) for key, part in value.items()}
    return draw.choice((None, "", "nobody", "{", "9" * 5000)) if isinstance(value, str | None) else 1e308


def seal(folder: Path, path: Path, content: bytes) -> None:
    """Store a file, and update its entry in the manifest."""
    path.unlink()
    path.write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    facts = manifest["files"][path.relative_to(folder).as_posix()]
    facts |= {
        "sha256": sha256(content).hexdigest(),
        "crc32": crc32(content),
        "size": len(content),
        "blocks": [],
    }
    names = "\n".join(f"{name} {manifest['files'][name]['sha256']}" for name in sorted(manifest["files"]))
    del manifest["checksum"]
    manifest["snapshot"] = sha256(names.encode()).hexdigest()[:16]
    (folder / "manifest.json").write_text(json.dumps(manifest))


MUTATIONS: tuple[Callable[[Path, random.Random], str], ...] = (
    damage_file, damage_file, change_manifest, forge_array, forge_table,
)  # fmt: skip


# Questions


def letters(texts: list[str]) -> list[list[float]]:
    """Return the counts of letters in each text, as vectors that need no model."""
    return [[1.0 + text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]


def asked(method: str) -> Callable[[Path], object]:
    return lambda folder: (
        conspectus.ask(QUESTION, folder, method=method, model="extractive", embedder=letters).text
    )


def asked_of_a_part(folder: Path) -> object:
    answer = conspectus.ask(QUESTION, folder, method="combined", model="extractive", where="title=Paper 1")
    return answer.text


def asked_with_another(folder: Path) -> object:
    both = [folder, folder.with_name("index")]
    return conspectus.ask(QUESTION, both, method="combined", model="extractive", embedder=letters).text


def seen(folder: Path) -> object:
    index = conspectus.open_index(folder)
    views = [conspectus.entity_view(entity.name, index) for entity in index.entities[:3]]
    return conspectus.status_of(index), conspectus.history(folder), views, conspectus.report_tree(index)


def exported(folder: Path) -> object:
    with tempfile.TemporaryDirectory() as target:
        conspectus.export(folder, "json", Path(target) / "all.json")
        return Path(target, "all.json").read_text("utf-8")


def drawn(folder: Path) -> object:
    with tempfile.TemporaryDirectory() as target:
        return len(conspectus.draw_map(folder, Path(target) / "map.html").read_bytes())


def replies(folder: Path) -> object:
    with closing(ResponseCache(folder / "replies.sqlite")) as cache:
        return cache.get("key"), cache.stats().by_status, cache.spent(), cache.longest(), cache.refused()


ACTIONS: dict[str, Callable[[Path], object]] = {
    **{method: asked(method) for method in METHODS},
    **{f.__name__: f for f in (asked_of_a_part, asked_with_another, seen, exported, drawn, replies)},
}


def outcome(folder: Path, action: str) -> str:
    """Return the result of an action, or the error if it is one of ours; any other error is raised."""
    try:
        answer = ACTIONS[action](folder)
    except ConspectusError as error:
        return f"{type(error).__name__}: {error}"
    return f"answer: {answer}"


def run(folder: Path, seed: int, count: int) -> None:
    """Mutate a fresh copy of an index `count` times, and print the result of each mutation as a line of JSON."""
    if not folder.exists():
        make(folder)
    copy = folder.with_name("mutated")
    sound = {action: outcome(folder, action) for action in ACTIONS}
    assert {answer.partition(":")[0] for answer in sound.values()} == {"answer"}
    before = peak_memory()
    for number in range(seed * 1_000_000, seed * 1_000_000 + count):
        draw = random.Random(number)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        mutate = draw.choice(MUTATIONS)
        what = mutate(copy, draw)
        action = draw.choice(sorted(ACTIONS))
        print(json.dumps([number, f"{mutate.__name__}: {what}; {action}"]), flush=True)
        signal.alarm(SECONDS)
        try:
            ended = outcome(copy, action)
        except Exception as error:
            ended = f"raw {type(error).__name__}: {error}"
        signal.alarm(0)
        kind = "same answer" if ended == sound[action] else ended.partition(":")[0]
        print(json.dumps([number, kind, ended[:300]]), flush=True)
    print(json.dumps([-1, "memory", peak_memory() - before]), flush=True)


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


async def one_reply(folder: Path) -> None:
    cache = ResponseCache(folder / "replies.sqlite")
    await cache.add([CachedReply("key", "model", "WriteReport", "ok", "text " * 1000)])
    await cache.aclose()


def make(folder: Path) -> None:
    """Build an index in which every table has rows and every array numbers."""
    embed.MANY = 1  # so that vectors are also in lists
    with SimulatedServer(Behaviour()) as server:
        given = settings(server.url, extract__style="both", extract__claims=True)
        conspectus.build(documents=documents(6), folder=folder, settings=given, embedder=letters)
    asyncio.run(one_reply(folder))


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals, and files that are replaced while mapped")
@pytest.mark.parametrize("count", COUNTS)
def test_damaged_and_forged_indexes_give_the_same_answer_or_a_named_error(count: int, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path / "index"), str(SEED), str(count)],
        capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process ended with {done.returncode} after {lines[-1:]}{done.stderr}"
    *lines, (_, _, memory) = lines
    mutations, ends = lines[::2], lines[1::2]
    allowed = {
        number: {"same answer"} | ({"answer"} if what.startswith(("forge", "change")) else set[str]())
        for number, what in mutations
    }
    wrong = [
        (what, end)
        for (number, what), (_, kind, end) in zip(mutations, ends, strict=True)
        if kind not in allowed[number] and (kind == "answer" or kind.startswith("raw"))
    ]

    assert not wrong
    assert memory < BYTES
    seen = Counter(kind for _, kind, _ in ends)
    assert seen["same answer"] < count / 2 < seen["IndexDamaged"], "most of the mutations are seen"


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
