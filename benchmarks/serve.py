"""Measure `conspectus serve` under load: requests per second, latencies with many clients, memory over many requests.

    python benchmarks/serve.py INDEX QUESTIONS.csv [--soak 20000]

Each method has four loads: one client; 50 people, each of whom waits 10 seconds on average before the next question;
50 clients that ask different questions without pausing; and 50 clients that ask the same question without pausing.
Except for the last load, no question is asked twice, so that no answer comes from a cache. CPU is that of the server
alone. A calibration loop shows how fast the machine is and how busy other programs keep it.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

METHODS = ("walk", "local", "global")
ASKERS = 50
REQUESTS = 200
"""Requests per load with 50 clients: only ten are then slower than the 95th percentile."""
SOLO = 60
THINKING = 10.0
"""Mean seconds between an answer and the next question of the same person, in the load with 50 people."""
Asker = Callable[[str], Awaitable[float]]


@contextmanager
def served(index: Path) -> Iterator[tuple[str, int]]:
    """Run a server in a separate process; yield its address and its process id."""
    command = [sys.executable, "-m", "conspectus", "serve", "-i", str(index), "--port", "0", "--no-browser"]
    command += ["--read-only"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        lines = (re.search(r"http://\S+", line) for line in process.stderr)
        url = next(match[0] for match in lines if match)
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
        yield url, process.pid
        drain.kill()
    finally:
        process.terminate()
        process.wait(30)


def percentile(times: list[float], share: float) -> float:
    """Return a percentile of latencies, in seconds; `share` is 0 to 1."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


async def closed(
    ask: Asker, questions: Iterator[str], askers: int, total: int, thinking: float = 0.0
) -> tuple[list[float], float]:
    """Let parallel clients ask until there are `total` answers; return the latencies and the requests per second.

    thinking: mean of the random seconds that a client waits before each question.
    """
    numbers, times, began = iter(range(total)), list[float](), time.perf_counter()
    pauses = random.Random(1)

    async def asker() -> None:
        for _ in numbers:
            if thinking:
                await asyncio.sleep(pauses.expovariate(1 / thinking))
            times.append(await ask(next(questions)))

    await asyncio.gather(*(asker() for _ in range(askers)))
    return times, total / (time.perf_counter() - began)


async def load(url: str, pid: int, questions: list[str]) -> None:
    """Print a row for each method and load."""
    number = itertools.count()
    distinct = (f"{q} ({next(number)})" for q in itertools.cycle(questions))
    print("method | load               | answers/s | p50 s  | p95 s  | p95 / p50 of one | CPU ms an answer")
    limits = httpx.Limits(max_connections=2 * ASKERS, keepalive_expiry=2.0)  # the server's is 5 s
    async with httpx.AsyncClient(timeout=600, limits=limits) as client:
        for method in METHODS:

            async def ask(question: str, method: str = method) -> float:
                began = time.perf_counter()
                body = {"question": question, "method": method}
                (await client.post(f"{url}/api/ask", json=body)).raise_for_status()
                return time.perf_counter() - began

            await closed(ask, distinct, 8, 40)  # warms up the data that is derived from the index
            same = itertools.repeat(next(distinct))
            one = 0.0
            for name, asked, askers, total, thinking in (
                ("1 asker", distinct, 1, SOLO, 0.0),
                (f"{ASKERS} people", distinct, ASKERS, REQUESTS, THINKING),
                (f"{ASKERS} at once", distinct, ASKERS, REQUESTS, 0.0),
                (f"{ASKERS} at once, equal", same, ASKERS, REQUESTS, 0.0),
            ):
                before = cpu_seconds(pid)
                times, rate = await closed(ask, asked, askers, total, thinking)
                cpu = 1000 * (cpu_seconds(pid) - before) / total
                p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
                one = one or p50
                figures = f"{rate:9.1f} | {p50:6.3f} | {p95:6.3f} | {p95 / one:16.1f} | {cpu:6.1f}"
                print(f"{method:6} | {name:18} | {figures}", flush=True)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def calibrate() -> None:
    """Print the CPU and wall time of a Python loop; wall time is longer on a machine that other programs keep busy."""
    began, cpu, total = time.perf_counter(), time.process_time(), 0
    for step in range(5_000_000):
        total += step * step % 7
    took = f"{time.process_time() - cpu:.2f} s of CPU, {time.perf_counter() - began:.2f} s by the clock"
    print(f"calibration: {took} for five million steps of Python", flush=True)


def memory(pid: int) -> float:
    """Return the resident memory of a process and its children, in MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(memory(int(child)) for child in children)


async def soak(url: str, pid: int, questions: list[str], total: int) -> None:
    """Send many requests of all kinds, a tenth of them questions, and print the memory after each tenth."""
    number = itertools.count()

    async with httpx.AsyncClient(timeout=600) as client:

        async def request(_: str) -> float:
            n = next(number)
            paths = [
                "reports",
                f"entities/{n % 500}",
                f"documents/{n % 50}?end=2000",
                "status",
                "entities?q=a",
            ]
            if n % 10 == 0:
                body = {"question": f"{questions[n // 10 % len(questions)]} ({n})", "method": "walk"}
                response = await client.post(f"{url}/api/ask", json=body)
            elif n % 10 == 5:
                response = await client.get(f"{url}/api/search", params={"q": questions[n % len(questions)]})
            else:
                response = await client.get(f"{url}/api/{paths[n % len(paths)]}")
            response.raise_for_status()
            return 0.0

        for part in range(11):
            await closed(request, itertools.repeat(""), 8, total // 10)
            if part:
                print(f"soak | {part * total // 10:6,} requests | {memory(pid):6.0f} MB", flush=True)
            else:
                print(f"soak | warm, {total // 10:,} before | {memory(pid):6.0f} MB", flush=True)


def main() -> None:
    """Run all loads, and the soak test if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--soak", type=int, default=0)
    given = parser.parse_args()
    with given.questions.open(encoding="utf-8") as file:
        questions = [row[0] for row in csv.reader(file)][1:]
    calibrate()
    with served(given.index) as (url, pid):
        asyncio.run(load(url, pid, questions))
    calibrate()
    if given.soak:
        with served(given.index) as (url, pid):
            asyncio.run(soak(url, pid, questions, given.soak))


if __name__ == "__main__":
    main()
