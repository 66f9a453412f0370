"""Graphs whose vertices share sequences of neighbours, for tests of compression."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tgraph as tg


@st.composite
def shared_rows(draw: Any) -> tg.Graph:
    """Small graphs made of a few lists of neighbours that come again, ascending or not, directed or not."""
    num_vertices = draw(st.integers(1, 12))
    lists = draw(st.lists(st.lists(st.integers(0, num_vertices - 1), max_size=7), min_size=1, max_size=4))
    rows = [list(chain(*draw(st.lists(st.sampled_from(lists), max_size=4)))) for _ in range(num_vertices)]
    sources = np.repeat(np.arange(num_vertices), [len(row) for row in rows])
    targets = np.array([target for row in rows for target in row], np.int64)
    if draw(st.booleans()):
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        return tg.from_csr(offsets, targets)
    return tg.from_edges(sources, targets, None, draw(st.booleans()), num_vertices, labels=None)


def copies(num_vertices: int = 400, *, directed: bool = True, seed: int = 0) -> tg.Graph:
    """Return a graph in which most neighbours come in lists that many rows have, nested several times."""
    random = np.random.default_rng(seed)
    lists = [random.integers(0, num_vertices, 6) for _ in range(8)]
    for _ in range(8):
        lists.append(np.concatenate([lists[one] for one in random.integers(0, len(lists), 2)]))
    rows = [
        np.concatenate([lists[random.integers(0, 16)], random.integers(0, num_vertices, 2)])
        for _ in range(num_vertices)
    ]
    sources = np.repeat(np.arange(num_vertices), [row.size for row in rows])
    return tg.from_edges(sources, np.concatenate(rows), None, directed, num_vertices, labels=None)
