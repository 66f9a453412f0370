"""Where arcs are in rows with gaps: many binary searches that take their steps together.

A search waits for memory at every step. Here those of a group of arcs take a step in turn, and each asks for the cell
of its next one, so that nobody waits alone; when few cells are left, they are compared one after another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.gapped_layout import ORDERED, START, UNIT, USED, dead_bit
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import BORROWING

GROUP = 32  # arcs that are looked up together
FEW = np.uint64(16)  # cells that are compared without a search
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
        target, num_below = targets[begin + (lane >> 1)], np.uint32(0)
        for e in range(found[lane], found[lane] + sizes[lane]):
            num_below += np.uint32((cells[e] & ~dead) < target)
        found[lane] += np.uint64(num_below)
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
