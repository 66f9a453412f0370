"""Graphs whose rows are not ascending, as a user's own compressed rows may be."""

from __future__ import annotations

import numpy as np

import tgraph as tg


def unsorted(graph: tg.Graph, seed: int = 0) -> tg.Graph:
    """Return the same graph with the neighbours of every vertex in random order; weights are left out."""
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    owners = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    order = np.lexsort((np.random.default_rng(seed).random(targets.size), owners))
    return tg.from_csr(offsets, targets[order], directed=graph.directed, runtime=graph.runtime.name)
