"""Ranks as threads of one process: what `tgraph.group` asks for, without a network."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.group import use_group


class _Meeting:
    def __init__(self, size: int) -> None:
        self.barrier, self.slots = threading.Barrier(size, timeout=60), [None] * size

    def swap(self, rank: int, given: Any) -> list[Any]:
        """Put something down, and take what all have put down."""
        self.slots[rank] = given
        self.barrier.wait()
        found = list(self.slots)
        self.barrier.wait()
        return found


class ThreadGroup:
    def __init__(self, meeting: _Meeting, rank: int, size: int) -> None:
        self._meeting, self.rank, self.size, self.sent_bytes = meeting, rank, size, 0

    def exchange(self, values: np.ndarray, counts: np.ndarray, new_counts: np.ndarray) -> np.ndarray:
        assert values.size == counts.sum()
        self.sent_bytes += (int(counts.sum()) - int(counts[self.rank])) * values.dtype.itemsize
        parts = np.split(values.copy(), np.cumsum(counts)[:-1])
        came = [given[self.rank] for given in self._meeting.swap(self.rank, parts)]
        assert [part.size for part in came] == new_counts.tolist()
        assert len({part.dtype for part in came}) == 1
        return np.concatenate(came)

    def share(self, values: np.ndarray) -> np.ndarray:
        self.sent_bytes += values.nbytes * (self.size - 1)
        return np.stack(self._meeting.swap(self.rank, values.copy()))

    def join(self, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
        assert counts[self.rank] == values.size
        self.sent_bytes += values.nbytes * (self.size - 1)
        return np.concatenate(self._meeting.swap(self.rank, values.copy()))


def on_ranks(size: int, function: Callable[[], Any]) -> list[Any]:
    """Call a function on every rank of a group and return what each found; the first error is raised."""
    meeting, found, failures = _Meeting(size), [None] * size, []

    def run(rank: int) -> None:
        try:
            with use_group(ThreadGroup(meeting, rank, size)):
                found[rank] = function()
        except threading.BrokenBarrierError:
            pass
        except BaseException as failure:
            failures.append(failure)
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found
