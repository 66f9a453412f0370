"""A place where all threads of a team meet, inside compiled code.

One int64 counts arrivals and never goes back: the n-th meeting is over when `n * size` threads have arrived. Threads
spin for a while, which is fastest where each has a core, and then give way, so that more threads than cores work too.
"""

from __future__ import annotations

from numba import njit

from tgraph.kernels.cpu.atomics import arrive, give_way, load, relax
from tgraph.kernels.cpu.team import JIT

SPINS = 4000  # before giving way


@njit(**JIT)
def meet(arrivals, meeting, size):
    """Wait until all `size` threads are here for the `meeting`-th time (from 1); return the next meeting's number.

    arrivals is an int64 array whose element 0 starts at 0. Orders all memory of all threads.
    """
    arrive(arrivals, 0)
    spins = 0
    while load(arrivals, 0) < meeting * size:
        spins += 1
        if spins < SPINS:
            relax()
        else:
            give_way()
    return meeting + 1
