"""Hubs first, the others as they were: what most edges lead to lies together (HyTGraph, formula 4).

importance(v) = out_degree(v) * in_degree(v) / (largest out_degree * largest in_degree)
"""

from __future__ import annotations

import numpy as np

from tgraph.runtime import Array

HUB_SHARE = 0.08  # of the vertices


def hub_order(out_degrees: Array, in_degrees: Array, share: float = HUB_SHARE) -> Array:
    """Return the vertices: the most important share of them in descending order, then the others in their own.

    >>> hub_order(np.array([1, 5, 2, 1]), np.array([1, 4, 9, 1]), share=0.5).tolist()
    [1, 2, 0, 3]
    """
    importance = out_degrees.astype(np.float64) * in_degrees
    num_hubs = int(np.ceil(share * out_degrees.size))
    hubs = np.argsort(-importance, kind="stable")[:num_hubs]
    is_hub = np.zeros(out_degrees.size, np.bool_)
    is_hub[hubs] = True
    return np.concatenate([hubs, np.flatnonzero(~is_hub)])
