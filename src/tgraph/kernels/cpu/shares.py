"""Who does which part of the work that comes again in every sweep: everyone the same, and help at the end.

A thread that works on the same vertices in every sweep finds their values in its own cache. So places 0 to count - 1
are divided into equal shares; a thread takes those of its own share first, one after the other, then those that are
left of the others'. Where two cores have no cache in common, sweeps that gave every place to whoever came next took
up to twice as long.

A turn is one division. Counters of three turns rotate, so that threads have to meet once per turn.
"""

from __future__ import annotations

from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, store
from tgraph.kernels.cpu.team import BORROWING, part
from tgraph.kernels.cpu.watch import SHARES


@njit(**BORROWING, forceinline=True)
def begin_turn(shared, turn, rank, size):
    """Make the next turn ready: call it once per thread and turn; between two turns threads have met."""
    store(shared, SHARES + 8 * ((turn + 1) % 3 * size + rank), 0)


@njit(**BORROWING, forceinline=True)
def take(shared, turn, rank, size, count, owner):
    """Return a place that nobody has taken in this turn, `count` if there is none, and in whose share it is.

    `owner` is what the last call returned, at first the thread itself.
    """
    while True:
        first, last = part(owner, size, count)
        place = first + fetch_add(shared, SHARES + 8 * (turn % 3 * size + owner), 1)
        if place < last:
            return place, owner
        owner = (owner + 1) % size
        if owner == rank:
            return count, owner
