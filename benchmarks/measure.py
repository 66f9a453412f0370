"""Measuring on a shared machine: candidates take turns, medians are compared, ratios are reported."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The seconds of one candidate in every round."""

    seconds: list[float]

    @property
    def median(self) -> float:
        """The median of all rounds."""
        return statistics.median(self.seconds)

    @property
    def noise(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2 / self.median


def interleave(candidates: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, Timing]:
    """Run every candidate once to warm up, then all of them in turn, `rounds` times, in another order each time."""
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    names, shuffler = list(candidates), random.Random(0)
    for _ in range(rounds):
        shuffler.shuffle(names)  # so that nobody always comes after the same one, who leaves the caches to it
        for name in names:
            started = time.perf_counter()
            candidates[name]()
            seconds[name].append(time.perf_counter() - started)
    return {name: Timing(values) for name, values in seconds.items()}


def peak_bytes(setup: str, statement: str) -> int:
    """Return the peak resident memory that `statement` adds after `setup`, in a process of its own."""
    code = f"""
import resource, threading, time
{setup}
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
before, peak, done = resident(), 0, False
def watch():
    global peak
    while not done:
        peak = max(peak, resident()); time.sleep(0.001)
watcher = threading.Thread(target=watch); watcher.start()
{statement}
done = True; watcher.join()
print(max(peak, resident()) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])
