"""The load that `conspectus serve` takes: requests a second, latencies of askers at once, memory over many requests.

    python benchmarks/serve.py INDEX QUESTIONS.csv [--soak 20000]

Each method is asked by one asker, by 50 askers with different questions, by 50 with the same, each of whom asks again
when the answer is there (closed loop), and by arrivals at half of the capacity that was measured (open loop). No
question is asked twice except where it says so, so that no answer comes from memory.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import os
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
"""Of each load: the 95th percentile is then that of the ten slowest."""
SOLO = 20
Asker = Callable[[str], Awaitable[float]]


@contextmanager
def served(index: Path) -> Iterator[tuple[str, int]]:
    """Run a server in a process of its own; yield its address and its process id."""
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
    """Return a percentile in seconds."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


async def closed(ask: Asker, questions: Iterator[str], askers: int, total: int) -> tuple[list[float], float]:
    """Ask in a closed loop; return latencies and requests a second."""
    numbers, times, began = iter(range(total)), list[float](), time.perf_counter()

    async def asker() -> None:
        for _ in numbers:
            times.append(await ask(next(questions)))

    await asyncio.gather(*(asker() for _ in range(askers)))
    return times, total / (time.perf_counter() - began)


async def opened(ask: Asker, questions: Iterator[str], rate: float, total: int) -> list[float]:
    """Ask `rate` questions a second, whatever the answers take; return latencies."""

    async def later(number: int) -> float:
        await asyncio.sleep(number / rate)
        return await ask(next(questions))

    return await asyncio.gather(*map(later, range(total)))


async def load(url: str, questions: list[str]) -> None:
    """Print a row for each method and load."""
    number = itertools.count()
    distinct = (f"{q} ({next(number)})" for q in itertools.cycle(questions))
    async with httpx.AsyncClient(timeout=600, limits=httpx.Limits(max_connections=2 * ASKERS)) as client:
        for method in METHODS:

            async def ask(question: str, method: str = method) -> float:
                began = time.perf_counter()
                body = {"question": question, "method": method}
                (await client.post(f"{url}/api/ask", json=body)).raise_for_status()
                return time.perf_counter() - began

            await closed(ask, distinct, 8, 8)  # what is derived from the index is made
            loads = {
                "1 asker": await closed(ask, distinct, 1, SOLO),
                f"{ASKERS} askers": await closed(ask, distinct, ASKERS, REQUESTS),
                f"{ASKERS} askers, equal": await closed(
                    ask, itertools.repeat(next(distinct)), ASKERS, REQUESTS
                ),
            }
            half = loads[f"{ASKERS} askers"][1] / 2
            loads["half the capacity"] = await opened(ask, distinct, half, REQUESTS // 2), half
            for name, (times, rate) in loads.items():
                p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
                print(f"{method:6} | {name:18} | {rate:7.1f}/s | {p50:6.3f} | {p95:6.3f}")


def memory(pid: int) -> float:
    """Return the resident megabytes of a process and those it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(memory(int(child)) for child in children)


async def soak(url: str, pid: int, questions: list[str], total: int) -> None:
    """Send many requests of all kinds, a tenth of them questions; print memory after each tenth."""
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
    """Run all loads, or the soak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--soak", type=int, default=0)
    given = parser.parse_args()
    with given.questions.open(encoding="utf-8") as file:
        questions = [row[0] for row in csv.reader(file)][1:]
    with served(given.index) as (url, pid):
        asyncio.run(soak(url, pid, questions, given.soak) if given.soak else load(url, questions))


if __name__ == "__main__":
    main()
