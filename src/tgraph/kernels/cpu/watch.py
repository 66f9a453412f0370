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

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import load
from tgraph.kernels.cpu.team import JIT, run_team, team_size, watch_team
from tgraph.runtime.protocol import Array

SHARED_SIZE = 512  # int64 words; those that threads write at the same time are 8 apart, each in its own cache line
ARRIVALS, STOP, DONE, COUNTERS = 0, 8, 16, 24  # COUNTERS, COUNTERS + 8, ...: the worker's own, 0 at the start
SHARES = SHARED_SIZE  # behind these there are three counters of every thread, see `shares`
WORK_IN_BLOCKS = 4  # times as many edges as in a whole run, until another thread is worth it


def new_shared(size: int) -> Array:
    """Return the words that `size` threads share, with room for all that a worker may count."""
    return np.zeros(SHARES + 24 * size, np.int64)


class Watch:
    """Runs workers and looks at them: `look(done)` is called now and then, Ctrl-C sets the stop word.

    >>> Watch().run(_count_to, 2, 1000).tolist()[DONE]
    1000
    """

    def __init__(self, look: Callable[[int], None] | None = None) -> None:
        self._look = look
        self.shared = new_shared(0)  # of the last run

    def run(self, worker: Callable[..., None], size: int, *args: Any) -> Any:
        """Run `worker(rank, size, shared, *args)` for every rank; return `shared [N] int64` as they left it."""
        shared = self.shared = new_shared(size)

        def stop() -> None:
            shared[STOP] = 1

        look = self._look
        watch_team(worker, size, (shared, *args), stop, None if look is None else lambda: look(int(shared[DONE])))
        return shared


def brief_team_size(work: int) -> int:
    """Return how many threads a block of `work` edges deserves: they start for it alone, and few rows may be active."""
    return team_size(work // WORK_IN_BLOCKS)


def run_briefly(worker: Callable[..., None], size: int, args: list[Any]) -> Any:
    """Run `worker(rank, size, shared, *args)` on a block, which takes milliseconds; return `shared`.

    Nobody looks at it meanwhile, and a Ctrl-C acts when it has ended. One rank needs no thread: starting one costs more
    than a small block does, and the system gives back late what it held for threads that have ended, about 30 KiB each.
    Arguments are a list, and not a tuple until the call: Python 3.11 keeps up to 2000 tuples of 20 for later and then
    makes new ones, which took 360 KiB of a budget.

    >>> run_briefly(_count_to, 1, [1000]).tolist()[DONE]
    1000
    """
    shared = new_shared(size)
    if size == 1:
        worker(0, 1, shared, *args)
    else:
        run_team(worker, size, shared, *args)
    return shared


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
