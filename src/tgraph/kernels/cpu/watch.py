"""What a long kernel shares with the thread that waits for it: a stop word, a count of what is done, counters.

A worker takes `shared` as its first argument after rank and size. It takes chunks of work from a counter, and ends
early when `is_stopped(shared)`:

    while True:
        first = fetch_add(shared, COUNTERS, CHUNK)
        if first >= num_vertices or is_stopped(shared):
            break
        ...
        fetch_add(shared, DONE, CHUNK)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import load
from tgraph.kernels.cpu.team import JIT, interrupts_postponed, watch_team

SHARED_SIZE = 512  # int64 words; those that threads write at the same time are 8 apart, each in its own cache line
ARRIVALS, STOP, DONE, COUNTERS = 0, 8, 16, 24  # COUNTERS, COUNTERS + 8, ...: the worker's own, 0 at the start


class Watch:
    """Runs workers and looks at them: `look(done)` is called now and then, Ctrl-C sets the stop word.

    >>> Watch().run(_count_to, 2, 1000).tolist()[DONE]
    1000
    """

    def __init__(self, look: Callable[[int], None] | None = None) -> None:
        self._look = look
        self.shared = np.zeros(SHARED_SIZE, np.int64)  # of the last run

    def run(self, worker: Callable[..., None], size: int, *args: Any) -> Any:
        """Run `worker(rank, size, shared, *args)` for every rank; return `shared [512] int64` as they left it."""
        shared = self.shared = np.zeros(SHARED_SIZE, np.int64)

        def stop() -> None:
            shared[STOP] = 1

        look = self._look
        watch_team(worker, size, (shared, *args), stop, None if look is None else lambda: look(int(shared[DONE])))
        return shared


def run_briefly(worker: Callable[..., None], size: int, *args: Any) -> Any:
    """Run `worker(rank, size, shared, *args)` on a block, which takes milliseconds; return `shared`.

    Nobody looks at it meanwhile, and a Ctrl-C acts when it has ended. No thread is started for it: rank 0 is run by the
    caller, the others by threads that stay for the next block. Starting one costs more than a small block does, and the
    system gives back late what it held for threads that have ended, about 30 KiB each.

    >>> run_briefly(_count_to, 1, 1000).tolist()[DONE]
    1000
    """
    shared = np.zeros(SHARED_SIZE, np.int64)
    if size == 1:
        worker(0, 1, shared, *args)
        return shared
    threads = _threads_beside(size - 1)
    with interrupts_postponed():
        others = [threads.submit(worker, rank, size, shared, *args) for rank in range(1, size)]
        worker(0, size, shared, *args)
        for other in others:
            other.result()
    return shared


_own = threading.local()  # teams of one caller must not wait for those of another, whose ranks wait for each other


def _threads_beside(count: int) -> ThreadPoolExecutor:
    """Return the threads beside this one, at least so many; a forked process has none of its parent's."""
    if getattr(_own, "process", None) != os.getpid() or _own.count < count:
        _own.process, _own.count = os.getpid(), count
        _own.threads = ThreadPoolExecutor(count, "tgraph-block")
    threads: ThreadPoolExecutor = _own.threads
    return threads


@njit(**JIT)
def is_stopped(shared):
    """Say whether the user has asked the workers to end."""
    return load(shared, STOP) != 0


@njit(**JIT)
def _count_to(rank, size, shared, limit):
    """Writes DONE, by rank 0."""
    if rank == 0:
        for _ in range(limit):
            if is_stopped(shared):
                break
            shared[DONE] += 1
