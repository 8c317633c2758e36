"""Measure how many CPU seconds `conspectus --help` takes, relative to the speed of the machine.

    python benchmarks/startup.py [--runs 5]

The budget of 0.15 s is for a machine on which the calibration loop takes 1.9 CPU s, and is scaled for other machines.
The exit code is 1 if the median of the runs exceeds it. The tests measure no time: they count the imported modules.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time

BUDGET, CALIBRATED = 0.15, 1.9
"""Budget of the help in CPU seconds, and CPU seconds of the calibration loop on the machine that it applies to."""


LOOP = 20_000_000
"""Rounds of the calibration loop: enough for 1 to 2 s on the machines that the project was measured on."""


def calibration(part: int = 1) -> float:
    """Return the CPU seconds of a fixed loop, as a measure of the machine's speed.

    With `part`, only 1 / `part` of the loop is run, and its seconds are multiplied by `part`: for a machine that is
    busy with what is measured.
    """
    began = time.process_time()
    total = 0
    for i in range(LOOP // part):
        total += i * i
    return part * (time.process_time() - began)


def help_seconds() -> float:
    """Return the CPU seconds of one run of `conspectus --help`, including the start of the interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "conspectus", "--help"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how long the help takes.")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    loop, taken = calibration(), statistics.median(help_seconds() for _ in range(runs))
    budget = BUDGET * loop / CALIBRATED
    print(f"help {taken:.3f} CPU s, budget here {budget:.3f} (calibration loop {loop:.2f} s)")
    return int(taken > budget)


if __name__ == "__main__":
    raise SystemExit(main())
