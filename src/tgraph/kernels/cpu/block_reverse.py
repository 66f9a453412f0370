"""The edges of a sampled block grouped by source: a counting sort by one thread.

Blocks have some ten thousand edges and their counters fit into the cache, so this takes less time than the sort of
large graphs in `tgraph.kernels.cpu.partition`. Deterministic.
"""

from __future__ import annotations

from numba import njit

from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def fill_reverse(offsets, sources, new_offsets, new_targets, new_edges):
    """Writes offsets [S+1] by source, the targets of each ascending, and where each edge was."""
    num_sources = new_offsets.size - 1
    new_offsets[:] = 0
    for edge in range(sources.size):
        new_offsets[sources[edge] + 1] += 1
    total = 0
    for source in range(num_sources):  # new_offsets[s + 1] becomes the place of the next edge of s
        count = new_offsets[source + 1]
        new_offsets[source + 1] = total
        total += count
    for target in range(offsets.size - 1):
        for edge in range(offsets[target], offsets[target + 1]):
            source = sources[edge]
            place = new_offsets[source + 1]
            new_offsets[source + 1] = place + 1
            new_targets[place], new_edges[place] = target, edge
