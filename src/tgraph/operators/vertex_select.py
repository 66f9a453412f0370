"""vertex_select: from a mask over all vertices to the ids of the active ones.

    active_mask   F F T F T T F        vertex ids  0 1 2 3 4 5 6
                      |   | |
    active_ids        2   4 5

Work: O(V). An engine with a small frontier keeps the ids from one iteration to the next instead.
"""

from __future__ import annotations

from tgraph.dtypes import index_dtype
from tgraph.runtime import Runtime, Tensor


def vertex_select(runtime: Runtime, active_mask: Tensor) -> Tensor:
    """Return the ids of the vertices where `active_mask [V]` holds, ascending.

    >>> import numpy as np
    >>> from tgraph import runtime
    >>> vertex_select(runtime.get("numpy"), np.array([False, False, True, False, True, True, False]))
    array([2, 4, 5], dtype=int32)
    """
    return runtime.astype(runtime.nonzero(active_mask), index_dtype(int(active_mask.shape[0])))
