"""Where arcs are in rows with gaps: many binary searches that take their steps together.

A search waits for memory at every step. Here those of a group of arcs take a step in turn, and each asks for the cell
of its next one, so that nobody waits alone. When few cells are left they are compared all at once, as one vector: how
many there are differs from search to search, and a processor that guesses where a loop over them ends is often wrong.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tgraph.kernels.cpu.atomics import pointer_to
from tgraph.kernels.cpu.gapped_layout import ORDERED, START, UNIT, USED, dead_bit
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import BORROWING

GROUP = 32  # arcs that are looked up together
LANES = 16
FEW = np.uint64(LANES)  # cells that are compared without a search
ONE = np.uint64(1)


@njit(**BORROWING)
def look_up(begin, end, sources, targets, places, place_words, cells, cell_weights, found, sizes, searching):
    """Find where the targets of arcs begin to end are, or would be, in both parts of their rows.

    Writes `found [2 * GROUP] uint64`: two places per arc. `sizes` and `searching` are scratch of the same length.
    """
    dead, num_searching = dead_bit(cells), 0
    for k in range(end, min(end + GROUP, sources.size)):
        prefetch(place_words, np.uint64(sources[k]) * np.uint64(4))
    for k in range(begin, end):
        u, lane = sources[k], 2 * (k - begin)
        start, ordered = np.uint64(places[u, START]) * np.uint64(UNIT), np.uint64(places[u, ORDERED])
        found[lane], found[lane + 1] = start, start + ordered
        sizes[lane], sizes[lane + 1] = ordered, np.uint64(places[u, USED]) - ordered
        for one in range(lane, lane + 2):
            searching[num_searching] = one
            num_searching += _ask(cells, found[one], sizes[one])
    while num_searching > 0:
        num_left = 0
        for i in range(num_searching):
            lane = searching[i]
            half = sizes[lane] >> ONE
            is_below = (cells[found[lane] + half - ONE] & ~dead) < targets[begin + (lane >> 1)]
            found[lane] += half if is_below else np.uint64(0)
            sizes[lane] -= half
            searching[num_left] = lane
            num_left += _ask(cells, found[lane], sizes[lane])
        num_searching = num_left
    for lane in range(2 * (end - begin)):
        found[lane] += count_below(cells, found[lane], sizes[lane], targets[begin + (lane >> 1)])
        if cell_weights.size:
            prefetch(cell_weights, found[lane])


@njit(**BORROWING, forceinline=True)
def _ask(cells, first, size):
    """Ask for the cells that a search among `size` cells reads next; return 1 if that is a step, 0 if it is the end."""
    if size > FEW:
        prefetch(cells, first + (size >> ONE) - ONE)
        return 1
    prefetch(cells, first)
    prefetch(cells, first + size)
    return 0


@intrinsic
def count_below(typing_context, cells, first, count, target):
    """Return how many of `count` cells, at most `LANES`, are less than a target, deleted ones included.

    No other cell is read. Needs unsigned cells, and `first` and `count` as uint64.
    """

    def codegen(context, builder, signature, args):
        bits = signature.args[0].dtype.bitwidth
        word, flags = ir.IntType(bits), ir.VectorType(ir.IntType(1), LANES)
        vector = ir.VectorType(word, LANES)

        def spread(value):
            alone = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            return builder.shuffle_vector(alone, alone, zeros)

        count = args[2] if bits == 64 else builder.trunc(args[2], word)
        is_one = builder.icmp_unsigned("<", ir.Constant(vector, list(range(LANES))), spread(count))
        place = pointer_to(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        kind = ir.FunctionType(vector, [vector.as_pointer(), ir.IntType(32), flags, vector])
        read = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.v{LANES}i{bits}.p0")
        nothing = ir.Constant(vector, [0] * LANES)
        align = ir.IntType(32)(bits // 8)
        values = builder.call(read, [builder.bitcast(place, vector.as_pointer()), align, is_one, nothing])
        alive = builder.and_(values, ir.Constant(vector, [(1 << (bits - 1)) - 1] * LANES))
        is_below = builder.and_(builder.icmp_unsigned("<", alive, spread(args[3])), is_one)
        return builder.zext(builder.ctpop(builder.bitcast(is_below, ir.IntType(LANES))), ir.IntType(64))

    return types.uint64(cells, types.uint64, types.uint64, cells.dtype), codegen
