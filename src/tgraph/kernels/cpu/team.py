"""A team of threads that run one compiled worker.

`worker(rank, size, *args)` is compiled with `JIT`, releases the GIL and touches only what its rank owns. Plain Python
threads are used: no threading layer has to be installed, and a launch costs about 30 microseconds.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
from numba import njit

from tgraph.config import config
from tgraph.runtime.protocol import Array

JIT = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}

SECONDS_BETWEEN_LOOKS = 0.05
MIN_WORK_PER_THREAD = 50_000  # below this many edges a second thread costs more than it brings


def team_size(work: int, num_threads: int | None = None) -> int:
    """Return how many threads `work` elements deserve, at most the configured number."""
    limit = config.num_threads if num_threads is None else num_threads
    return max(1, min(limit, work // MIN_WORK_PER_THREAD))


def run_team(worker: Callable[..., None], size: int, *args: Any) -> None:
    """Run `worker(rank, size, *args)` for every rank and wait for all.

    A Ctrl-C that arrives meanwhile acts after the workers have ended, so that no array is left half-written by a
    thread that nobody waits for.
    """
    if size == 1:
        worker(0, 1, *args)
    else:
        watch_team(worker, size, args)


def watch_team(
    worker: Callable[..., None],
    size: int,
    args: tuple[Any, ...],
    stop: Callable[[], None] | None = None,
    look: Callable[[], None] | None = None,
) -> None:
    """Run a team and stay beside it: `look()` is called now and then, `stop()` at once when Ctrl-C is pressed.

    `stop` asks the workers to end early, in a way that they understand; the interrupt is raised when they have ended.
    """
    failures: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            worker(rank, size, *args)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    with interrupts_postponed(stop):
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(SECONDS_BETWEEN_LOOKS)
                if look is not None:
                    look()
        if failures:
            raise failures[0]


@contextmanager
def interrupts_postponed(stop: Callable[[], None] | None = None) -> Iterator[None]:
    """Remember a Ctrl-C that arrives inside and act on it at the end, after the last thread has been waited for.

    `stop` is called at once. Catching KeyboardInterrupt would not do: it can come between any two steps, also while
    threads are being started.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[tuple[int, FrameType | None]] = []

    def remember(number: int, frame: FrameType | None) -> None:
        pressed.append((number, frame))
        if stop is not None:
            stop()

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pressed:
        handler(*pressed[0])


@njit(**JIT)
def part(rank, size, total):
    """Return the first and the last + 1 of the elements that `rank` owns, from inside a worker."""
    return total * rank // size, total * (rank + 1) // size


def as_unsigned(ids: Array) -> Array:
    """View ids as unsigned: Numba then leaves out the wrap-around of negative indices. The ids must not be negative."""
    contiguous = np.ascontiguousarray(ids)
    return contiguous.view(f"u{contiguous.dtype.itemsize}")
