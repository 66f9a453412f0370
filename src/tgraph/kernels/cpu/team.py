"""A team of threads that run one compiled worker.

`worker(rank, size, *args)` is compiled with `JIT`, releases the GIL and touches only what its rank owns. Plain Python
threads are used: no threading layer has to be installed. They are kept and wait for more work, since starting one takes
three times as long as waking it (180 and 60 microseconds here).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
from numba import njit

from tgraph.config import config
from tgraph.runtime.protocol import Array

JIT = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
BORROWING = {**JIT, "_nrt": False}  # makes no arrays: it need not count who uses those it is given, which takes longest

SECONDS_BETWEEN_LOOKS = 0.05
MIN_WORK_PER_THREAD = 50_000  # below this many edges a second thread costs more than it brings

_alone = threading.local()


def work_alone() -> None:
    """Let teams of the calling thread have one member from now on, since others compute on the cores meanwhile."""
    _alone.is_set = True


def team_size(work: int, num_threads: int | None = None) -> int:
    """Return how many threads `work` elements deserve, at most the configured number, and 1 where it works alone."""
    if getattr(_alone, "is_set", False):
        return 1
    limit = config.num_threads if num_threads is None else num_threads
    return max(1, min(limit, work // MIN_WORK_PER_THREAD))


class _Helper(threading.Thread):
    """A thread that does one call after another, and waits meanwhile."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="tgraph helper")
        self._call: Callable[[], None] | None = None
        self._failure: BaseException | None = None
        self._ready, self._done = threading.Lock(), threading.Lock()  # released = there is something to do, it is done
        self._ready.acquire()
        self._done.acquire()

    def run(self) -> None:
        while True:
            self._ready.acquire()
            assert self._call is not None
            try:
                self._call()
            except BaseException as failure:
                self._failure = failure
            self._call = None  # its arrays must not live longer
            self._done.release()

    def begin(self, call: Callable[[], None]) -> None:
        """Have a call done."""
        self._call = call
        self._ready.release()

    def is_done(self, seconds: float = -1) -> bool:
        """Wait for the call to end, at most so long (-1 = to the end), and say whether it has."""
        return self._done.acquire(timeout=seconds)

    def pop_failure(self) -> BaseException | None:
        """Return what the call raised, once."""
        failure, self._failure = self._failure, None
        return failure


_idle_helpers: list[_Helper] = []
os.register_at_fork(after_in_child=_idle_helpers.clear)  # threads do not live on in a child


def _begin(worker: Callable[..., None], ranks: range, size: int, args: tuple[Any, ...]) -> list[_Helper]:
    """Have helpers run a worker, one for each rank."""
    helpers = []
    for rank in ranks:
        try:
            helper = _idle_helpers.pop()
        except IndexError:
            helper = _Helper()
            helper.start()
        helper.begin(partial(worker, rank, size, *args))
        helpers.append(helper)
    return helpers


def _end(helpers: list[_Helper], look: Callable[[], None] | None = None) -> None:
    """Wait for helpers, and look around meanwhile; raise the first of their failures."""
    for helper in helpers:
        while not helper.is_done(-1 if look is None else SECONDS_BETWEEN_LOOKS):
            if look is not None:
                look()
    failures = [helper.pop_failure() for helper in helpers]
    _idle_helpers.extend(reversed(helpers))  # each gets the same rank again, and finds in its cache what it wrote
    for failure in failures:
        if failure is not None:
            raise failure


def run_team(worker: Callable[..., None], size: int, *args: Any) -> None:
    """Run `worker(rank, size, *args)` for every rank, the first in the calling thread, and wait for all.

    A Ctrl-C that arrives meanwhile acts after the workers have ended, so that no array is left half-written by a
    thread that nobody waits for.
    """
    if size == 1:
        worker(0, 1, *args)
        return
    with interrupts_postponed():
        helpers = _begin(worker, range(1, size), size, args)
        try:
            worker(0, size, *args)
        finally:
            _end(helpers)


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
    with interrupts_postponed(stop):
        _end(_begin(worker, range(size), size, args), look)


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
