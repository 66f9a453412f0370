"""A group of processes that run the same program, each on its part of a graph.

Engines see the `Group` protocol and NumPy arrays only; `tgraph.runtime.torch.group` is the one on `torch.distributed`.
Every method is called by all ranks, in the same order. `current()` is the group of the block that runs:

```python
with tg.distributed():                    # started by torchrun
    graph = tg.read("edges.parquet")      # every rank reads a part
    ranks = tg.pagerank(graph)            # and has a part of the answer
```
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

import numpy as np

from tgraph.config import config
from tgraph.errors import InvalidArgumentError, MissingDependencyError

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

SECONDS_OF_SILENCE = 300.0  # after which a rank counts as hung


class Group(Protocol):
    """Processes, numbered from 0 to `size - 1`; this one is `rank`."""

    rank: int
    size: int
    sent_bytes: int  # that this rank has sent to others so far

    def exchange(self, values: Array, counts: Array, new_counts: Array) -> Array:
        """Send the next `counts[r]` values to rank r, for every r; return what came, `new_counts[r]` from rank r."""

    def share(self, values: Array) -> Array:
        """Return the values `[K]` of all ranks, `[P, K]`; K is the same on each."""

    def join(self, values: Array, counts: Array) -> Array:
        """Return the values of all ranks, one behind the other; rank r gives `counts[r]`."""


class Alone:
    """The group of one process, which needs no library.

    >>> Alone().share(np.array([3, 4])).tolist()
    [[3, 4]]
    """

    rank, size = 0, 1

    def __init__(self) -> None:
        self.sent_bytes = 0

    def exchange(self, values: Array, counts: Array, new_counts: Array) -> Array:
        return values.copy()

    def share(self, values: Array) -> Array:
        return values[None].copy()

    def join(self, values: Array, counts: Array) -> Array:
        return values.copy()


_current: ContextVar[Group | None] = ContextVar("tgraph group", default=None)


def current() -> Group | None:
    """Return the group of the block `with distributed():` that runs, None outside of one."""
    return _current.get()


@contextmanager
def use_group(group: Group) -> Iterator[Group]:
    """Let a block run in a group."""
    token = _current.set(group)
    try:
        yield group
    finally:
        _current.reset(token)


@contextmanager
def distributed(timeout_seconds: float = SECONDS_OF_SILENCE) -> Iterator[Group]:
    """Let the block run in the group of processes that `torchrun`, or another launcher, has started.

    Inside, `tgraph.read` gives every rank its part of the graph, and algorithms run on all parts together. All ranks
    must run the same block. A process that nobody launched is a group of one.

    Args:
        timeout_seconds: A rank that is silent for so long is given up with an error that names it.

    >>> import tgraph as tg
    >>> with tg.distributed() as group:
    ...     ranks = tg.pagerank(tg.generate.star(5))
    >>> group.size, len(ranks.gather().ranks)
    (1, 5)
    """
    if not timeout_seconds > 0:
        raise InvalidArgumentError(f"timeout_seconds={timeout_seconds!r} must be above 0")
    if current() is not None:
        raise InvalidArgumentError("distributed() is inside another one; a process is in one group at a time")
    with open_group(timeout_seconds) as group, use_group(group), _shared_cores():
        yield group


@contextmanager
def _shared_cores() -> Iterator[None]:
    """Divide this machine's cores among the ranks that a launcher has started on it."""
    before = config.num_threads
    if "TGRAPH_NUM_THREADS" not in os.environ:
        config.num_threads = max(1, before // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    try:
        yield
    finally:
        config.num_threads = before


@contextmanager
def open_group(timeout_seconds: float) -> Iterator[Group]:
    """Join the processes that a launcher has started, if one has, and leave them at the end."""
    try:
        module: Any = importlib.import_module("tgraph.runtime.torch.group")
    except ModuleNotFoundError as error:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise MissingDependencyError("torch", "a group of processes", extra="torch") from error
        yield Alone()
        return
    with module.open_group(timeout_seconds) as group:
        yield group


def exchange_uneven(group: Group, values: Array, counts: Array) -> tuple[Array, Array]:
    """Send the next `counts[r]` values to every rank r; return what came and how many came from each rank.

    >>> [array.tolist() for array in exchange_uneven(Alone(), np.array([7, 8]), np.array([2]))]
    [[7, 8], [2]]
    """
    ones = np.ones(group.size, np.int64)
    new_counts = group.exchange(counts.astype(np.int64), ones, ones)
    return group.exchange(values, counts, new_counts), new_counts


def part_ends(counts: Array) -> Array:
    """Return where parts of these sizes begin, and where the last one ends.

    >>> part_ends(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)])
