"""Asking for memory before it is needed: what lies at random places then arrives while other work is done.

A sweep over all edges reads a value per edge at random. The processor looks a few rows ahead by itself; asking for the
value of an edge that comes `AHEAD` edges later keeps more reads in flight. Where the values fit into the cache this
makes sweeps a tenth slower. Where they do not it made them a fifth faster on one machine and a third slower on another,
whose processor looks far enough by itself (both R-MAT 22): sweeps try both ways, here by `Trial`.
"""

from __future__ import annotations

from statistics import median

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tgraph.kernels.cpu.atomics import pointer_to, trailing_zeros
from tgraph.kernels.cpu.team import JIT

AHEAD = 32  # edges
MANY_BYTES = 1 << 23  # of values from which it may pay
WORTH_IT = 0.9  # of the time without it: less is noise
TRIES = 5  # of either way, where work comes in parts


class Trial:
    """Whether to ask ahead, for work that comes in parts: the first parts are done either way, in turn.

    >>> trial = Trial()
    >>> for _ in range(2 * TRIES):
    ...     asks = trial.asks
    ...     trial.note(100, 0.5 if asks else 0.8)
    >>> trial.asks
    True
    """

    def __init__(self) -> None:
        self._rates: list[list[float]] = [[], []]  # seconds per edge, without asking and with it
        self._asks = False

    @property
    def asks(self) -> bool:
        """What to do with the next part."""
        return self._asks

    def note(self, num_edges: int, seconds: float) -> None:
        """Say how long a part took that was done so."""
        plain, asking = self._rates
        if not num_edges or len(asking) == TRIES:
            return
        self._rates[self._asks].append(seconds / num_edges)
        self._asks = len(asking) < len(plain)
        if len(asking) == TRIES:
            self._asks = median(asking) < WORTH_IT * median(plain)


@intrinsic
def prefetch(typing_context, array, index):
    """Bring array[index] into the cache some time soon; the element itself is not touched."""

    def codegen(context, builder, signature, args):
        array_type, index_type = signature.args
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        pointer = builder.bitcast(pointer_to(context, builder, array_type, args[0], index_type, args[1]), byte)
        to_read, keep_close, of_data = word(0), word(3), word(1)
        name = "llvm.prefetch.p0i8"
        builder.call(
            cgutils.get_or_insert_function(builder.module, function, name), [pointer, to_read, keep_close, of_data]
        )
        return context.get_dummy_value()

    return types.void(array, index), codegen


@njit(**JIT)
def ask_for_rows(bits, base, offsets, neighbors):
    """Bring the first neighbours of the vertices base + i, i = the places of bits, into the cache some time soon."""
    while bits != np.uint64(0):
        prefetch(neighbors, offsets[base + trailing_zeros(bits)])
        bits &= bits - np.uint64(1)
