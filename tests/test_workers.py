"""Tests of worker processes: results, errors, and that an index does not depend on the number of workers."""

from __future__ import annotations

import operator
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from weakref import ref

import numpy as np
import pytest

from conspectus.errors import UsageError, WorkerEnded
from conspectus.index import Index
from conspectus.indexing.arrays import map_sentences
from conspectus.indexing.pipeline import BuildInput, Silent, build_index
from conspectus.indexing.read import read
from conspectus.models.base import Model, Tick, no_tick, run_sync
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Document, content_id
from conspectus.settings import Settings
from conspectus.storage.tables import encode
from conspectus.text.lexicon import Lexicon
from conspectus.text.sentence_table import find_sentences
from conspectus.workers import Processes, ShardFiles, TextFile, Texts, Workers

SAMPLE = Path(__file__).parents[1] / "src" / "conspectus" / "sample"


@pytest.fixture(scope="module")
def two() -> Iterator[Workers]:
    with Workers(2, shard=2_000, least=0) as workers:
        yield workers


def index_by(workers: Workers, added: str = "", texts_in: Path | None = None) -> Index:
    """Index eight documents, with their texts in a file if a folder is given; `added` is put before the last text."""
    settings = Settings()
    *documents, last = read([SAMPLE], settings.read, workers=workers).documents[:8]
    documents.append(replace(last, id=content_id(last.id, added), text=f"{added}{last.text}"))
    if texts_in:
        workers.move_texts_to_file(documents, texts_in)
    build = BuildInput(documents, settings, workers=workers)
    return run_sync(build_index(build, lambda d, lexicon: ExtractiveModel(SentenceStore.read(d, lexicon))))


@pytest.fixture(scope="module")
def alone() -> Index:
    return index_by(Workers(1))


def assert_same(index: Index, other: Index):
    for name, array in index.arrays.items():
        np.testing.assert_array_equal(other.arrays[name], array, name)
    rows = {"arrays": {}, "settings": {}}
    assert replace(other, **rows) == replace(index, **rows)


@pytest.mark.parametrize("shard", [500, 5_000])
def test_an_index_does_not_depend_on_the_size_of_shards(alone: Index, shard: int):
    assert_same(index_by(Workers(1, shard=shard, least=0)), alone)


def test_an_index_does_not_depend_on_the_number_of_processes(alone: Index, two: Workers):
    assert_same(index_by(two), alone)


def test_an_index_does_not_depend_on_the_executor(alone: Index):
    with ThreadPoolExecutor(3) as threads:
        assert_same(index_by(Workers(3, threads, shard=2_000, least=0)), alone)


# Stored results


class Counted(ShardFiles):
    """Files of small shards that record the written names; `end` may interrupt the build."""

    def __init__(self, folder: Path, end: Callable[[int], None] = lambda written: None) -> None:
        super().__init__(folder, size=1_000)
        self.written: list[str] = []
        self._end = end

    def write(self, name: str, value: Any) -> None:
        self._end(len(self.written))
        super().write(name, value)
        self.written.append(name)


def stored_by(folder: Path, workers: Workers, alone: Index) -> list[str]:
    """Index with stored shards in a folder, compare with `alone`, and return the shards that were computed."""
    workers.files = files = Counted(folder)
    assert_same(index_by(workers), alone)
    return files.written


def test_nothing_that_is_stored_is_made_again_by_however_many_workers(alone: Index, tmp_path: Path):
    with ThreadPoolExecutor(3) as threads:
        first = stored_by(tmp_path, Workers(3, threads, least=0), alone)
        assert {name.partition("-")[0] for name in first} == {
            "examined",
            "windows_in",
            "speakers_in",
            "sentences_in",
            "terms_in",
            "extract_shard",
        }
        assert len(set(first)) == len(first) > 20

        assert stored_by(tmp_path, Workers(3, threads, least=0), alone) == []
    assert stored_by(tmp_path, Workers(1), alone) == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_build_that_ends_in_the_middle_goes_on_where_it_was(alone: Index, tmp_path: Path, seed: int):
    every = stored_by(tmp_path / "other", Workers(1), alone)
    last = random.Random(seed).randrange(1, len(every))

    def end(written: int) -> None:
        if written == last:
            raise KeyboardInterrupt

    files = Counted(tmp_path / "files", end)
    with pytest.raises(KeyboardInterrupt):
        index_by(Workers(1, files=files))

    assert stored_by(tmp_path / "files", Workers(1), alone) == [n for n in every if n not in files.written]


KILLED = """
import os, signal, sys
sys.path[:0] = [sys.argv[1]]
from pathlib import Path
from test_workers import Counted, Workers, index_by
end = lambda written: written == 7 and os.kill(os.getpid(), signal.SIGKILL)
index_by(Workers(1, files=Counted(Path(sys.argv[2]), end)))
"""


def test_a_build_that_is_killed_goes_on_where_it_was(alone: Index, tmp_path: Path):
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(tmp_path / "files")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    rest = stored_by(tmp_path / "files", Workers(1), alone)

    assert len(rest) == len(stored_by(tmp_path / "other", Workers(1), alone)) - 7


def test_what_is_damaged_is_made_again(alone: Index, tmp_path: Path):
    stored_by(tmp_path, Workers(1), alone)
    draw = random.Random(1)
    files = sorted(tmp_path.iterdir())
    for path in files:
        content = bytearray(path.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content[: draw.choice([None, 3, len(content) // 2])])

    assert sorted(stored_by(tmp_path, Workers(1), alone)) == [path.name for path in files]


def test_forged_results_that_lead_nowhere_are_made_again(alone: Index, tmp_path: Path):
    class Forged(ShardFiles):
        def write(self, name: str, value: Any) -> None:
            forged: Any = [[[0, 10**9, 1]]]
            if name.startswith("sentences_in"):
                draw = random.Random(name)
                columns = list(value["columns"])
                number = draw.randrange(len(columns))
                columns[number] = columns[number].astype(np.int64) + draw.choice([1 << 20, -(1 << 20)])
                forged = value | {"columns": columns}
            if name.startswith("extract_shard"):
                draw = random.Random(name)
                column = draw.choice(["entities", "relationships", "strengths"])
                forged = value | {column: value[column] + draw.choice([1 << 20, -(1 << 20)])}
            super().write(name, forged)

    index_by(Workers(1, files=Forged(tmp_path, size=1_000)))

    assert len(stored_by(tmp_path, Workers(1), alone)) > 20


def test_an_edited_document_changes_one_shard_of_each_stage(tmp_path: Path):
    def cut(texts: list[str]) -> list[str]:
        files = Counted(tmp_path)
        documents = [
            Document(f"{i} {t}", i, "", t, "", metadata={"language": "en"}) for i, t in enumerate(texts)
        ]
        find_sentences(documents, map_sentences(documents, Workers(1, files=files)))
        files.trim()
        return files.written

    texts = [f"Ada Brook founded mill {i} in {1800 + i}. It was her mill number {i}." * 3 for i in range(100)]
    assert len(cut(texts)) > 8

    edited = cut([*texts[:40], "Ruben Vale sold it.", *texts[41:]])
    assert sorted(name.partition("-")[0] for name in edited) == ["sentences_in", "speakers_in"]
    assert len(cut([*texts[:70], *texts[71:]])) < 20
    assert not set(cut(texts)).isdisjoint(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("added", ["It rained. ", "Orran said that the Orran Mill is a mill of orran. " * 9])
def test_what_an_edit_elsewhere_makes_of_a_text_is_extracted_again_and_nothing_else(
    alone: Index, tmp_path: Path, added: str
):
    every = [name for name in stored_by(tmp_path, Workers(1), alone) if name.startswith("extract")]
    files = Counted(tmp_path)

    assert_same(index_by(Workers(1, files=files), added), index_by(Workers(1), added))

    assert 0 < sum(name.startswith("extract") for name in files.written) < len(every)


def test_a_new_label_of_a_speaker_is_seen_in_shards_that_are_stored(tmp_path: Path):
    def speakers(last: str) -> list[str]:
        turn = (
            "ADA BROOK: The mill was mine {0} times.\nVALE: It was not so, as Orran knows these {0} years.\n"
        )
        texts = ["".join(map(turn.format, range(4)))] * 20 + [last]
        texts = [f"{text}\n{i} of them came." for i, text in enumerate(texts)]
        documents = [Document(t, i, "", t, "", metadata={"language": "en"}) for i, t in enumerate(texts)]
        stored, _, _ = find_sentences(
            documents, map_sentences(documents, Workers(1, files=ShardFiles(tmp_path, size=1_000)))
        )
        anew, _, _ = find_sentences(documents)
        assert stored.speakers == anew.speakers
        np.testing.assert_array_equal(stored.speaker, anew.speaker)
        np.testing.assert_array_equal(stored.start, anew.start)
        return list(stored.speakers)

    assert speakers("Nobody came.") == ["VALE"]
    assert speakers("NELL DRAY: So it was.\nNELL DRAY: Nobody knew.\nNELL DRAY: They do now.\n") == [
        "NELL DRAY",
        "VALE",
    ]
    assert speakers("Nobody came at all.") == ["VALE"]


def test_texts_of_a_large_corpus_are_read_from_a_file(alone: Index, tmp_path: Path):
    with Workers(1, least=0) as workers:
        index = index_by(workers, texts_in=tmp_path)
        assert dict(encode(index)) == dict(encode(alone))
        assert [len(row.text) for row in (*index.documents, *index.chunks)] == [
            len(row.text) for row in (*alone.documents, *alone.chunks)
        ]
        # other processes receive them with their texts
        assert pickle.loads(pickle.dumps([*index.documents])) == alone.documents  # noqa: S301
    with pytest.raises(ValueError, match="closed"):
        print(index.documents[0].text)
    documents = list(alone.documents)
    Workers().move_texts_to_file(documents, tmp_path)  # texts of a small corpus stay in memory
    assert all(document is row for document, row in zip(documents, alone.documents, strict=True))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file that refuses what is written")
def test_arrays_are_read_from_a_file(tmp_path: Path):
    texts, numbers = TextFile(tmp_path), np.arange(5, dtype=np.int32)
    texts.store(Document("a", 0, "A", "The barge.", "a.txt"))
    for array in (numbers, np.zeros(0, np.float32), numbers.astype(float).reshape(5, 1)):
        stored = texts.array(array)
        np.testing.assert_array_equal(stored, array)
        assert stored.dtype == array.dtype
    texts.close()


@pytest.mark.parametrize("in_file", [True, False])
def test_texts_are_read_one_by_one(tmp_path: Path, in_file: bool):
    texts, numbers = Texts(TextFile(tmp_path) if in_file else None), list[int]()
    parts = ["The barge", "", "s\u00e4iled \ud800."], [], ["It sank."]
    for part in parts:
        numbers += range(len(texts), len(texts) + len(part))
        texts.extend(part)
    assert [texts[number] for number in numbers] == [text for part in parts for text in part]


def test_texts_stay_in_memory_where_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    documents = [Document("a", 0, "A", "The barge sailed.", "a.txt")]
    with Path("/dev/full").open("wb") as full, Workers(1, least=0) as workers:
        monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: full)
        workers.move_texts_to_file(documents, tmp_path)
        assert documents[0].text == "The barge sailed."
        assert workers.texts
        assert workers.texts.array(np.arange(3)).tolist() == [0, 1, 2]
        (texts := Texts(workers.texts)).extend(["The barge", "sailed."])
        assert texts[1] == "sailed."


def test_what_was_read_of_the_texts_is_gone_before_the_graph_is_made():
    lexicons: list[ref[Lexicon]] = []
    present: dict[str, bool] = {}

    class Stages(Silent):
        def stage(self, name: str, total: int) -> Tick:
            present[name] = bool(lexicons and lexicons[0]())
            return no_tick

    def model(documents: Sequence[Document], lexicon: Lexicon) -> Model:
        lexicons.append(ref(lexicon))
        return ExtractiveModel(SentenceStore.read(documents, lexicon))

    documents = [Document("a", 0, "Mill", "Ada Brook founded Orran Mill. Ada Brook ran Orran Mill.", "a.txt")]
    run_sync(build_index(BuildInput(documents, Settings()), model, Stages()))
    assert present["extract"]
    assert not present["resolve"]


def test_results_come_in_the_order_of_the_shards(two: Workers):
    assert list(two.map(divmod, ((n, 7) for n in range(50)))) == [divmod(n, 7) for n in range(50)]


def test_a_call_beside_begins_at_once_where_others_work_and_else_when_it_is_asked_for():
    early, late = Event(), Event()
    with ThreadPoolExecutor(1) as threads:
        Workers(2, threads).beside(early.set)
        assert early.wait(10)

    done = Workers(1).beside(late.set)

    assert not late.is_set()
    done()
    assert late.is_set()


def test_few_shards_are_begun_before_the_first_is_done():
    begun: list[int] = []

    def shards() -> Iterator[tuple[int, int]]:
        for n in range(100):
            begun.append(n)
            yield n, 7

    with Workers(2) as workers:
        next(workers.map(divmod, shards()))

    assert len(begun) < 10


def meet(folder: Path, n: int) -> int:
    """In call 0, wait until call 5 is made."""
    if n == 5:
        (folder / "made").touch()
    while n == 0 and not (folder / "made").exists():
        time.sleep(0.01)
    return n


def test_others_are_done_while_one_takes_long(tmp_path: Path):
    with Workers(2) as workers:
        assert list(workers.map(meet, ((tmp_path, n) for n in range(8)))) == list(range(8))


def test_what_a_function_raises_is_raised_here():
    with Processes(1) as processes, pytest.raises(ZeroDivisionError):
        processes.submit(operator.truediv, 1, 0).result()


def test_a_process_that_dies_is_an_error_and_the_next_call_has_another_one():
    with Processes(1) as processes:
        with pytest.raises(WorkerEnded) as ended:
            processes.submit(os._exit, 3).result()
        assert ended.value.status == 3
        assert processes.submit(operator.add, 1, 2).result() == 3


def test_leaving_ends_the_processes_and_drops_what_waits():
    with Processes(2) as processes:
        waiting = [processes.submit(time.sleep, 1000) for _ in range(50)]

    assert sum(future.cancelled() for future in waiting) > 40


def test_threads_hold_the_interpreter_for_less_while_others_work():
    sys.setswitchinterval(before := 0.005)
    with Workers(2) as workers:
        assert list(workers.map(divmod, [(9, 7), (8, 7)])) == [(1, 2), (1, 1)]
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_a_corpus_is_cut_into_consecutive_shards():
    sizes = [5, 1, 1, 1, 100, 3]
    cut = Workers(1, shard=7, least=0).shards(sizes)

    assert [i for shard in cut for i in shard] == list(range(6))
    assert all(len(shard) == 1 or sum(sizes[i] for i in shard) <= 7 for shard in cut)


def test_a_small_corpus_is_one_shard():
    assert Workers(4).shards([1000] * 20) == [range(20)]


def test_nobody_at_work_is_refused():
    with pytest.raises(UsageError):
        Workers.of(0)


def die_once(mark: Path, value: int) -> int:
    """Kill the current process on the first call."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def test_an_index_is_the_same_by_the_workers_of_a_cluster(alone: Index, cluster: str):
    with Workers.of(cluster) as workers:
        assert_same(index_by(replace(workers, shard=2_000, least=0)), alone)


def test_a_worker_of_a_cluster_that_is_killed_costs_nothing_but_its_shard(cluster: str, tmp_path: Path):
    shards = [(tmp_path / ("3" if n == 3 else "."), n) for n in range(8)]
    with Workers.of(cluster) as workers:
        assert list(workers.map(die_once, shards)) == list(range(8))
    assert (tmp_path / "3").exists()


def test_a_shard_that_kills_every_worker_is_an_error(cluster: str):
    with Workers.of(cluster) as workers, pytest.raises(WorkerEnded):
        list(workers.map(os._exit, [(1,), (1,)]))


def test_where_no_scheduler_answers_the_error_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("conspectus.workers.CONNECT_SECONDS", 0.5)
    with pytest.raises(UsageError, match="dask scheduler"):
        Workers.of("tcp://127.0.0.1:9")
