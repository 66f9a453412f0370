"""Links that grow by copying (Kumar, Raghavan, Rajagopalan, Sivakumar, Tomkins, Upfal 2000).

A new page takes one of the pages shortly before it as its model. Each of its links is the model's, or else leads
somewhere at random: near the page, as within a site, or anywhere. Rows depend on rows before them, so this is serial.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.counter_random import hash_number, stream_key, unit
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

LINK_STREAM = 0
MODELS = 64  # pages before a page, of which one is its model
SITE = 1000  # pages around a page that links within the site lead to


def copied_links(num_vertices: int, edges_per_vertex: int, copied_share: float, seed: int) -> Array:
    """Return the targets of every vertex, `[V, edges_per_vertex]`; a target may come twice. Deterministic.

    >>> copied_links(100, 3, 1.0, seed=1)[-1].tolist() in copied_links(100, 3, 1.0, seed=1)[:-1].tolist()
    True
    """
    targets = np.empty((num_vertices, edges_per_vertex), index_dtype(num_vertices))
    _grow(copied_share, stream_key(seed, LINK_STREAM), targets)
    return targets


@njit(**JIT)
def _grow(copied_share, key, targets):
    """Writes all targets. The first page has no model, so all its links are random."""
    count, per_vertex = targets.shape
    draw = np.uint64(0)
    for vertex in range(count):
        model = vertex - 1 - np.int64(unit(hash_number(key, draw)) * min(vertex, MODELS))
        draw += np.uint64(1)
        for link in range(per_vertex):
            chance, place = unit(hash_number(key, draw)), unit(hash_number(key, draw + np.uint64(1)))
            draw += np.uint64(2)
            if vertex > 0 and chance < copied_share:
                targets[vertex, link] = targets[model, link]
            elif chance < (1 + copied_share) / 2:
                first = min(max(vertex - SITE // 2, 0), max(count - SITE, 0))
                targets[vertex, link] = first + np.int64(place * min(SITE, count))
            else:
                targets[vertex, link] = np.int64(place * count)
