"""When a search that ends at the first neighbour in the frontier should pull instead of push.

Push takes every edge of the frontier, and looks up a value at a random place for each, which it may have to write by an
atomic operation. Pull asks all vertices, and one looks at its neighbours until it finds one in the frontier: at all of
them, or, as edges that end in the frontier are one of `num_edges / edges`, at so many. The rule of Beamer, Asanovic,
Patterson 2012 compares with the unexplored edges alone, and pulls from small frontiers, which most vertices look for in
vain.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT

PUSHED = 4.0  # an edge that is pushed takes as long as so many that are looked at in pull; measured on R-MAT 20


@njit(**JIT)
def prefers_pull(edges, unexplored, num_vertices, num_edges):
    """Say whether pull takes less time than to push along `edges` edges.

    >>> [prefers_pull(edges, 32_000_000, 1_000_000, 32_000_000) for edges in (0, 1_000_000, 16_000_000)]
    [False, False, True]
    """
    vertices, in_vain = np.float64(num_vertices), np.float64(num_edges) / np.float64(max(edges, 1))
    return PUSHED * np.float64(edges) > vertices + min(np.float64(unexplored), vertices * in_vain)
